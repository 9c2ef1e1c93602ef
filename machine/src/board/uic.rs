//! Universal interrupt controller of the 405GP (PPC405GP UM pages 220 to 239): 32 sources, each for the external or the
//! critical interrupt input. Software reaches it by device control registers.
//!
//! Sources are numbered from the most significant bit. Those without a device here are inactive: the chip's own are
//! low, and the pins (25 to 31) are high.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// Sense of an interrupt in the device tree: level, active high.
pub(super) const HIGH_LEVEL: u32 = 4;

/// Number of its first device control register, and how many there are.
pub(super) const FIRST: u32 = 0xc0;
pub(super) const REGISTERS: u32 = 9;

/// Numbers of registers from [`FIRST`].
mod register {
    /// Status: ones clear.
    pub const SR: u32 = 0;
    /// Status: ones set.
    pub const SRS: u32 = 1;
    pub const ENABLE: u32 = 2;
    /// Critical.
    pub const CRITICAL: u32 = 3;
    /// Polarity: 1 is active high.
    pub const POLARITY: u32 = 4;
    /// Trigger: 1 is an edge.
    pub const TRIGGER: u32 = 5;
    /// Status of the sources that are enabled.
    pub const MASKED: u32 = 6;
    pub const VECTOR: u32 = 7;
    pub const VECTOR_BASE: u32 = 8;
}

/// Pins.
const PINS: u32 = 0x7f;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Uic {
    /// Levels of the sources.
    levels: u32,
    /// SR: what edges have set. Levels are read as they are.
    status: u32,
    enable: u32,
    critical: u32,
    polarity: u32,
    trigger: u32,
    vector_base: u32,
}

impl Uic {
    pub fn new() -> Self {
        Uic {
            levels: PINS,
            status: 0,
            enable: 0,
            critical: 0,
            polarity: 0,
            trigger: 0,
            vector_base: 0,
        }
    }

    /// Sources that are at their active level.
    fn active(&self) -> u32 {
        !(self.levels ^ self.polarity)
    }

    /// The status becomes that of a level that is active; it stays when the level ends, until software clears it.
    fn note(&mut self) {
        self.status |= self.active() & !self.trigger;
    }

    fn pending(&self) -> u32 {
        self.status & self.enable
    }

    /// VR: base and 512 bytes for each source between the highest priority and the critical interrupt that is pending.
    /// The last bit of VCR says which end has the highest priority.
    fn vector(&self) -> u32 {
        let pending = self.pending() & self.critical;
        if pending == 0 {
            return 0;
        }
        let distance = if self.vector_base & 1 != 0 {
            pending.leading_zeros()
        } else {
            pending.trailing_zeros()
        };
        (self.vector_base & !3).wrapping_add(512 * distance)
    }
}

impl Device for Uic {
    /// It has no addresses.
    fn widths(&self) -> &'static [u32] {
        &[]
    }

    fn read(&mut self, _: At, _: &mut Console) -> Result<u64, &'static str> {
        Err("the controller has device control registers only")
    }

    fn write(&mut self, _: At, _: u64, _: &mut Console) -> Result<Option<Effect>, &'static str> {
        Err("the controller has device control registers only")
    }

    fn read_control_register(&mut self, number: u32) -> Option<u32> {
        Some(match number.checked_sub(FIRST)? {
            register::SR | register::SRS => self.status,
            register::ENABLE => self.enable,
            register::CRITICAL => self.critical,
            register::POLARITY => self.polarity,
            register::TRIGGER => self.trigger,
            register::MASKED => self.pending(),
            register::VECTOR => self.vector(),
            register::VECTOR_BASE => self.vector_base,
            _ => return None,
        })
    }

    fn write_control_register(&mut self, number: u32, value: u32) -> bool {
        let Some(register) = number.checked_sub(FIRST).filter(|&n| n < REGISTERS) else {
            return false;
        };
        match register {
            register::SR => self.status &= !value,
            register::SRS => self.status |= value,
            register::ENABLE => self.enable = value,
            register::CRITICAL => self.critical = value,
            register::POLARITY => self.polarity = value,
            register::TRIGGER => self.trigger = value,
            register::VECTOR_BASE => self.vector_base = value,
            // MSR and VR are read-only.
            _ => {}
        }
        self.note();
        true
    }

    fn interrupt(&self) -> bool {
        self.pending() & !self.critical != 0
    }

    fn critical(&self, processor: u8) -> bool {
        processor == 0 && self.pending() & self.critical != 0
    }

    fn set_input(&mut self, line: u8, high: bool) {
        let before = self.active();
        let bit = 1 << (31 - line);
        if high {
            self.levels |= bit;
        } else {
            self.levels &= !bit;
        }
        self.status |= self.active() & !before & self.trigger;
        self.note();
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        restored(self, state, |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(uic: &mut Uic, register: u32) -> u32 {
        uic.read_control_register(FIRST + register).unwrap()
    }

    #[test]
    fn a_level_comes_back_until_its_source_ends() {
        let mut uic = Uic::new();
        assert!(uic.write_control_register(FIRST + register::POLARITY, u32::MAX << 7));
        assert!(uic.write_control_register(FIRST + register::SR, u32::MAX));
        assert!(uic.write_control_register(FIRST + register::ENABLE, u32::MAX));
        assert!(!uic.interrupt());
        uic.set_input(0, true);
        assert!(uic.interrupt());
        assert_eq!(read(&mut uic, register::MASKED), 1 << 31);
        uic.write_control_register(FIRST + register::SR, 1 << 31);
        assert!(uic.interrupt());
        uic.set_input(0, false);
        assert!(uic.interrupt());
        uic.write_control_register(FIRST + register::SR, 1 << 31);
        assert!(!uic.interrupt());
    }

    #[test]
    fn critical_sources_have_vectors() {
        let mut uic = Uic::new();
        for (number, value) in [
            (register::POLARITY, u32::MAX << 7),
            (register::SR, u32::MAX),
            (register::ENABLE, u32::MAX),
            (register::CRITICAL, u32::MAX),
            (register::VECTOR_BASE, 0x10_0001),
        ] {
            uic.write_control_register(FIRST + number, value);
        }
        assert_eq!(read(&mut uic, register::VECTOR), 0);
        uic.set_input(3, true);
        assert!(uic.critical(0) && !uic.interrupt());
        assert_eq!(read(&mut uic, register::VECTOR), 0x10_0600);
        uic.write_control_register(FIRST + register::VECTOR_BASE, 0x10_0000);
        assert_eq!(read(&mut uic, register::VECTOR), 0x10_0000 + 28 * 512);
    }

    #[test]
    fn an_edge_is_kept() {
        let mut uic = Uic::new();
        for (number, value) in [
            (register::POLARITY, u32::MAX << 7),
            (register::TRIGGER, 1 << 31),
            (register::SR, u32::MAX),
            (register::ENABLE, u32::MAX),
        ] {
            uic.write_control_register(FIRST + number, value);
        }
        uic.set_input(0, true);
        uic.set_input(0, false);
        assert!(uic.interrupt());
        uic.write_control_register(FIRST + register::SR, 1 << 31);
        assert!(!uic.interrupt());
    }
}
