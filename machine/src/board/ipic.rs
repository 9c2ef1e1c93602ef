//! Integrated programmable interrupt controller of the MPC83xx (MPC8313E RM chapter 8). Only the sources in the upper
//! half of the internal ones can be raised here; all are level-triggered. Priorities are fixed: the lowest number
//! first. The priority registers have no effect.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Sense of an interrupt in the device tree: active low level.
pub(super) const LOW_LEVEL: u32 = 8;

/// Offsets of registers (Linux asm/ipic.h).
mod offset {
    pub const SIVCR: u32 = 0x04;
    pub const SIPNR_H: u32 = 0x08;
    pub const SIPNR_L: u32 = 0x0c;
    pub const SIMSR_H: u32 = 0x20;
    pub const SERSR: u32 = 0x40;
    /// SCVCR and SMVCR: the vectors of critical and system management interrupts, which never occur here.
    pub const SCVCR: u32 = 0x60;
    pub const SMVCR: u32 = 0x64;
}

/// Words that keep what is written, from SICFR (0x00) to SERFR (0x5c).
const WORDS: usize = 0x18;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ipic {
    words: Vec<u32>,
    /// SIPNR_H: levels of the internal sources in its order.
    pending: u32,
}

/// The bit of a source in SIPNR_H and SIMSR_H (Linux sysdev/ipic.c); a source that no board wires has none here.
fn bit(source: u8) -> u32 {
    // UART1.
    if source == 9 { 0x80 } else { 0 }
}

impl Ipic {
    pub fn new() -> Self {
        Ipic {
            words: vec![0; WORDS],
            pending: 0,
        }
    }

    fn word(&self, offset: u32) -> u32 {
        self.words[(offset / 4) as usize % WORDS]
    }

    /// Sources that are pending and not masked.
    fn requests(&self) -> u32 {
        self.pending & self.word(offset::SIMSR_H)
    }

    /// SIVCR: the vector of the source of highest priority, or 0. It stands in the low bits and, for branch tables,
    /// in the high ones.
    fn vector(&self) -> u32 {
        let source = (0..16).find(|&source| self.requests() & bit(source) != 0);
        source.map_or(0, |source| u32::from(source) << 26 | u32::from(source))
    }
}

impl Device for Ipic {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        let value = match at.offset {
            offset::SIVCR => self.vector(),
            offset::SIPNR_H => self.pending,
            offset::SIPNR_L | offset::SERSR | offset::SCVCR | offset::SMVCR => 0,
            other if other.is_multiple_of(4) && other < 4 * WORDS as u32 => self.word(other),
            _ => return Err("there is no register"),
        };
        Ok(value.into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        match at.offset {
            // A write does not clear a level.
            offset::SIVCR | offset::SIPNR_H | offset::SIPNR_L | offset::SERSR => {}
            other if other.is_multiple_of(4) && other < 4 * WORDS as u32 => {
                self.words[(other / 4) as usize] = value as u32;
            }
            _ => return Err("there is no writable register"),
        }
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.requests() != 0
    }

    fn set_input(&mut self, source: u8, high: bool) {
        if high {
            self.pending |= bit(source);
        } else {
            self.pending &= !bit(source);
        }
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |ipic: &Ipic| ipic.words.len() == WORDS)
    }
}
