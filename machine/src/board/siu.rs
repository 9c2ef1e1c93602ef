//! Interrupt controller of the MPC8xx's system interface unit (MPC885 RM chapter 10): 8 pins and 8 internal levels;
//! number 0 has the highest priority. All are level-triggered here; edges of pins (SIEL) are not modelled.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Senses of an interrupt in the device tree.
pub(super) const LOW_LEVEL: u32 = 1;
pub(super) const HIGH_LEVEL: u32 = 2;

/// The offset of its registers in the internal memory map, and their size in bytes.
pub(super) const FIRST: u32 = 0x10;
pub(super) const SIZE: u32 = 0x10;

/// Offsets of registers from [`FIRST`].
mod offset {
    pub const SIPEND: u32 = 0;
    pub const SIMASK: u32 = 4;
    pub const SIEL: u32 = 8;
    pub const SIVEC: u32 = 12;
}

/// The code that SIVEC reads if no interrupt is pending (Linux platforms/8xx/pic.c).
const SPURIOUS: u32 = 15;

/// Sources.
const SOURCES: u32 = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Siu {
    /// Number n at bit n from the most significant one.
    pending: u32,
    mask: u32,
    edges: u32,
}

impl Siu {
    pub fn new() -> Self {
        Siu {
            pending: 0,
            mask: 0,
            edges: 0,
        }
    }

    /// SIVEC: the code of the interrupt of highest priority in bits 0 to 5.
    fn vector(&self) -> u32 {
        let number = (self.pending & self.mask).leading_zeros();
        (if number < SOURCES { number } else { SPURIOUS }) << 26
    }
}

impl Device for Siu {
    fn widths(&self) -> &'static [u32] {
        &[4]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        Ok(match at.offset {
            offset::SIPEND => self.pending,
            offset::SIMASK => self.mask,
            offset::SIEL => self.edges,
            offset::SIVEC => self.vector(),
            _ => return Err("there is no register"),
        }
        .into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        match at.offset {
            // Writing a one clears an edge, but not a level.
            offset::SIPEND => {}
            offset::SIMASK => self.mask = value as u32 & 0xffff_0000,
            offset::SIEL => self.edges = value as u32 & 0xffff_0000,
            _ => return Err("there is no writable register"),
        }
        Ok(None)
    }

    fn interrupt(&self) -> bool {
        self.pending & self.mask != 0
    }

    fn set_input(&mut self, number: u8, high: bool) {
        let bit = 0x8000_0000_u32 >> (number & 15);
        if high {
            self.pending |= bit;
        } else {
            self.pending &= !bit;
        }
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |_| true)
    }
}
