//! Time base and decrementer: both count ticks of the bus clock divided by four (PEM 2.2, 2.3.13). [`embedded`] holds
//! those that a 405 has in place of the decrementer.

pub mod embedded;

use serde::{Deserialize, Serialize};

use crate::config::{Family, MachineConfig};
use embedded::Embedded;

/// The two timers of a core, as functions of its cycle count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// Core cycles in two ticks. Of two, because a bus clock may be one and a half core clocks.
    cycles_per_two_ticks: u64,
    /// Time base minus ticks since reset.
    base: u64,
    /// Decrementer plus ticks since reset, modulo 2^32.
    decrementer: u32,
    /// Tick at which the decrementer next passes from zero to minus one.
    expires: u64,
    /// A decrementer exception waits to be taken.
    pending: bool,
    /// A 405's timers. It has no decrementer.
    pub embedded: Option<Embedded>,
}

impl Timers {
    pub fn new(config: &MachineConfig) -> Self {
        let embedded = config.core.kind.core().family == Family::Ppc405;
        Timers {
            cycles_per_two_ticks: config.cycles_per_two_ticks(),
            base: 0,
            decrementer: u32::MAX,
            expires: 1 << 32,
            pending: false,
            embedded: embedded.then(Embedded::default),
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self, cycles: u64) -> bool {
        if self.cycles_per_two_ticks != fresh.cycles_per_two_ticks {
            return false;
        }
        if self.embedded.is_some() || fresh.embedded.is_some() {
            let now = self.ticks(cycles);
            let fits = |own: &Embedded| own.fits(now);
            return fresh.embedded.is_some() && self.embedded.as_ref().is_some_and(fits);
        }
        // An expiry is at most one turn of the decrementer away, and may be overdue by the length of a block.
        self.expires.abs_diff(self.ticks(cycles)) <= 1 << 33
    }

    fn ticks(&self, cycles: u64) -> u64 {
        cycles * 2 / self.cycles_per_two_ticks
    }

    /// The 64-bit time base at `cycles`.
    pub fn time_base(&self, cycles: u64) -> u64 {
        self.ticks(cycles).wrapping_add(self.base)
    }

    pub fn set_time_base_lower(&mut self, value: u32, cycles: u64) {
        let old = self.time_base(cycles);
        self.set_time_base(old & !0xffff_ffff | u64::from(value), cycles);
    }

    pub fn set_time_base_upper(&mut self, value: u32, cycles: u64) {
        let old = self.time_base(cycles);
        self.set_time_base(u64::from(value) << 32 | old & 0xffff_ffff, cycles);
    }

    fn set_time_base(&mut self, value: u64, cycles: u64) {
        let now = self.ticks(cycles);
        if let Some(own) = &mut self.embedded {
            own.advance(now, self.base);
            own.time_base_written(now, value);
        }
        self.base = value.wrapping_sub(now);
    }

    pub fn decrementer(&self, cycles: u64) -> u32 {
        self.decrementer.wrapping_sub(self.ticks(cycles) as u32)
    }

    /// A write that turns bit 0 from 0 to 1 raises the exception at once, as counting would.
    pub fn set_decrementer(&mut self, value: u32, cycles: u64) {
        let old = self.decrementer(cycles);
        self.pending |= !old & value & 0x8000_0000 != 0;
        let now = self.ticks(cycles);
        self.decrementer = value.wrapping_add(now as u32);
        self.expires = now + u64::from(value) + 1;
    }

    /// The clock of both stood still from cycle `from` to `until`.
    pub fn stand_still(&mut self, from: u64, until: u64) {
        let ticks = self.ticks(until) - self.ticks(from);
        self.base = self.base.wrapping_sub(ticks);
        self.decrementer = self.decrementer.wrapping_add(ticks as u32);
        self.expires = self.expires.saturating_add(ticks);
    }

    /// First core cycle at which the decrementer has expired again, or a timer of a 405; the last number if none will.
    pub fn next_expiry(&self) -> u64 {
        if let Some(own) = &self.embedded {
            let ticks = own.next();
            return ticks.map_or(u64::MAX, |ticks| {
                ticks.saturating_mul(self.cycles_per_two_ticks).div_ceil(2)
            });
        }
        (self.expires * self.cycles_per_two_ticks).div_ceil(2)
    }

    /// Notes an expiry up to `cycles`.
    pub fn advance(&mut self, cycles: u64) {
        let now = self.ticks(cycles);
        if let Some(own) = &mut self.embedded {
            own.advance(now, self.base);
            return;
        }
        while now >= self.expires {
            self.pending = true;
            self.expires += 1 << 32;
        }
    }

    /// Reads a register of a 405's timers.
    pub fn read_embedded(&mut self, register: embedded::Register, cycles: u64) -> Option<u32> {
        self.advance(cycles);
        let now = self.ticks(cycles);
        Some(self.embedded.as_ref()?.read(register, now))
    }

    /// Writes such a register; nothing on other cores.
    pub fn write_embedded(&mut self, register: embedded::Register, value: u32, cycles: u64) {
        self.advance(cycles);
        let now = self.ticks(cycles);
        if let Some(own) = &mut self.embedded {
            own.write(register, value, now, self.base);
        }
    }

    pub fn pending(&self) -> bool {
        self.pending
    }

    /// The exception is being taken.
    pub fn acknowledge(&mut self) {
        self.pending = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timers() -> Timers {
        Timers {
            cycles_per_two_ticks: 16,
            base: 0,
            decrementer: u32::MAX,
            expires: 1 << 32,
            pending: false,
            embedded: None,
        }
    }

    #[test]
    fn a_tick_is_eight_cycles_at_two_to_one() {
        let mut t = timers();
        assert_eq!(t.time_base(7), 0);
        assert_eq!(t.time_base(8), 1);
        t.set_time_base_upper(5, 8);
        assert_eq!(t.time_base(16), 5 << 32 | 2);
    }

    #[test]
    fn the_decrementer_expires_one_tick_after_zero() {
        let mut t = timers();
        t.set_decrementer(10, 80);
        assert_eq!(t.decrementer(80), 10);
        assert_eq!(t.decrementer(160), 0);
        assert_eq!(t.next_expiry(), 168);
        t.advance(167);
        assert!(!t.pending());
        t.advance(168);
        assert!(t.pending());
        assert_eq!(t.decrementer(168), u32::MAX);
    }

    #[test]
    fn writing_a_negative_value_expires_at_once() {
        let mut t = timers();
        t.set_decrementer(5, 0);
        t.set_decrementer(0x8000_0000, 0);
        assert!(t.pending());
    }
}
