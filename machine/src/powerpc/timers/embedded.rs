//! The timers that a 405 has in place of a decrementer: programmable interval timer (PIT), fixed interval timer (FIT)
//! and watchdog. All count the time base's clock (PPC405 UM chapter 6, PPC405GP UM pages 261 to 270).
//!
//! A reset by the watchdog ends the run: [`Embedded::reset`].

use serde::{Deserialize, Serialize};

/// Bits of TCR.
pub mod control {
    /// WP: period of the watchdog.
    pub const WATCHDOG_PERIOD: u32 = 0xc000_0000;
    /// WRC: what the second time-out resets. Only a reset clears it.
    pub const WATCHDOG_RESET: u32 = 0x3000_0000;
    /// WIE
    pub const WATCHDOG_INTERRUPT: u32 = 0x0800_0000;
    /// PIE
    pub const PIT_INTERRUPT: u32 = 0x0400_0000;
    /// FP: period of the FIT.
    pub const FIT_PERIOD: u32 = 0x0300_0000;
    /// FIE
    pub const FIT_INTERRUPT: u32 = 0x0080_0000;
    /// ARE: the PIT reloads itself.
    pub const RELOAD: u32 = 0x0040_0000;
    /// All of them.
    pub const ALL: u32 = 0xffc0_0000;
}

/// Bits of TSR; writing ones clears them.
pub mod status {
    /// ENW: the next time-out of the watchdog is the first one.
    pub const WATCHDOG_NEXT: u32 = 0x8000_0000;
    /// WIS: the watchdog has timed out.
    pub const WATCHDOG: u32 = 0x4000_0000;
    /// WRS: the watchdog's reset.
    pub const RESET: u32 = 0x3000_0000;
    /// PIS
    pub const PIT: u32 = 0x0800_0000;
    /// FIS
    pub const FIT: u32 = 0x0400_0000;
}

/// The registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    Pit,
    Control,
    Status,
}

/// The timers. Times are ticks since reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedded {
    control: u32,
    status: u32,
    /// What the PIT was last loaded with.
    load: u32,
    /// When the PIT is zero; `None` while it stands still at zero.
    zero: Option<u64>,
    /// When the FIT's bit of the time base next turns from 0 to 1. `None` while that would change nothing.
    fit: Option<u64>,
    /// The same of the watchdog.
    watchdog: Option<u64>,
    /// The watchdog has reset the processor.
    pub reset: bool,
}

/// The tick after `now` at which the bit of weight 2^`bit` of the time base turns from 0 to 1.
fn edge(now: u64, base: u64, bit: u32) -> u64 {
    let period = 2_u64 << bit;
    let at = now.wrapping_add(base) & (period - 1);
    let left = (1_u64 << bit).wrapping_sub(at) & (period - 1);
    now + if left == 0 { period } else { left }
}

impl Embedded {
    /// True if a 405's timers can be in this state at tick `now`.
    pub(super) fn fits(&self, now: u64) -> bool {
        // An expiry may be overdue by the length of a block.
        let near = |at: Option<u64>| at.is_none_or(|at| at.abs_diff(now) <= 1 << 33);
        near(self.zero) && near(self.fit) && near(self.watchdog)
    }

    fn fit_bit(&self) -> u32 {
        8 + 4 * ((self.control & control::FIT_PERIOD) >> 24)
    }

    fn watchdog_bit(&self) -> u32 {
        16 + 4 * (self.control >> 30)
    }

    /// Finds the next edges anew, because a register or the time base has changed. While FIS is set, the FIT needs no
    /// deadline. Nor does the watchdog while both of its bits are set and no reset follows.
    fn seek(&mut self, now: u64, base: u64) {
        let watched = self.status & (status::WATCHDOG_NEXT | status::WATCHDOG)
            != status::WATCHDOG_NEXT | status::WATCHDOG
            || self.control & control::WATCHDOG_RESET != 0;
        self.fit = (self.status & status::FIT == 0).then(|| edge(now, base, self.fit_bit()));
        self.watchdog = (watched && !self.reset).then(|| edge(now, base, self.watchdog_bit()));
    }

    /// The time base has been set to `value`.
    pub(super) fn time_base_written(&mut self, now: u64, value: u64) {
        self.seek(now, value.wrapping_sub(now));
    }

    /// Notes what has happened up to tick `now`; `base` is the time base less that.
    pub(super) fn advance(&mut self, now: u64, base: u64) {
        while let Some(at) = self.zero.filter(|&at| at <= now) {
            self.status |= status::PIT;
            let again = self.control & control::RELOAD != 0 && self.load != 0;
            self.zero = again.then(|| at + u64::from(self.load));
        }
        if let Some(at) = self.fit.filter(|&at| at <= now) {
            self.status |= status::FIT;
            self.seek_from(at, base);
        } else if self.fit.is_none() && self.watchdog.is_none() && self.control == 0 {
            // After a reset.
            self.seek(now, base);
        }
        while let Some(at) = self.watchdog.filter(|&at| at <= now) {
            if self.status & status::WATCHDOG_NEXT == 0 {
                self.status |= status::WATCHDOG_NEXT;
            } else if self.status & status::WATCHDOG == 0 {
                self.status |= status::WATCHDOG;
            } else {
                self.status |= self.control & control::WATCHDOG_RESET;
                self.reset = true;
            }
            self.seek_from(at, base);
        }
    }

    /// As [`Embedded::seek`], after an event at tick `at`; the other timer may have one that is not noted yet.
    fn seek_from(&mut self, at: u64, base: u64) {
        let (fit, watchdog) = (self.fit, self.watchdog);
        self.seek(at, base);
        if fit.is_some_and(|fit| fit > at) {
            self.fit = fit;
        }
        if watchdog.is_some_and(|watchdog| watchdog != at) && self.watchdog.is_some() {
            self.watchdog = watchdog;
        }
    }

    /// The next tick at which something happens.
    pub(super) fn next(&self) -> Option<u64> {
        [self.zero, self.fit, self.watchdog]
            .into_iter()
            .flatten()
            .min()
    }

    /// Reads a register; everything up to tick `now` has been noted.
    pub(super) fn read(&self, register: Register, now: u64) -> u32 {
        match register {
            Register::Pit => self.zero.map_or(0, |at| {
                u32::try_from(at.saturating_sub(now)).unwrap_or(u32::MAX)
            }),
            Register::Control => self.control,
            Register::Status => self.status,
        }
    }

    /// Writes a register. A PIT of zero stands still.
    pub(super) fn write(&mut self, register: Register, value: u32, now: u64, base: u64) {
        match register {
            Register::Pit => {
                self.load = value;
                self.zero = (value != 0).then(|| now + u64::from(value));
            }
            Register::Control => {
                let kept = self.control & control::WATCHDOG_RESET;
                self.control = value & control::ALL | kept;
            }
            Register::Status => self.status &= !value,
        }
        if register != Register::Pit {
            self.seek(now, base);
        }
    }

    /// The PIT interrupts.
    pub fn programmable(&self) -> bool {
        self.control & control::PIT_INTERRUPT != 0 && self.status & status::PIT != 0
    }

    /// The FIT interrupts.
    pub fn fixed(&self) -> bool {
        self.control & control::FIT_INTERRUPT != 0 && self.status & status::FIT != 0
    }

    /// The watchdog interrupts.
    pub fn watchdog(&self) -> bool {
        self.control & control::WATCHDOG_INTERRUPT != 0 && self.status & status::WATCHDOG != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pit_reloads_if_it_is_told_to() {
        let mut timers = Embedded::default();
        timers.write(
            Register::Control,
            control::RELOAD | control::PIT_INTERRUPT,
            0,
            0,
        );
        timers.write(Register::Pit, 100, 10, 0);
        timers.advance(109, 0);
        assert!(!timers.programmable());
        assert_eq!(timers.read(Register::Pit, 109), 1);
        timers.advance(110, 0);
        assert!(timers.programmable());
        assert_eq!(timers.read(Register::Pit, 110), 100);
        timers.write(Register::Status, status::PIT, 110, 0);
        assert!(!timers.programmable());
        timers.write(Register::Control, control::PIT_INTERRUPT, 111, 0);
        timers.advance(500, 0);
        assert!(timers.programmable());
        assert_eq!(timers.read(Register::Pit, 500), 0);
    }

    #[test]
    fn fit_and_watchdog_follow_bits_of_the_time_base() {
        let mut timers = Embedded::default();
        timers.write(
            Register::Control,
            control::FIT_INTERRUPT | control::WATCHDOG_INTERRUPT,
            0,
            0,
        );
        timers.advance(255, 0);
        assert!(!timers.fixed());
        timers.advance(256, 0);
        assert!(timers.fixed());
        timers.write(Register::Status, status::FIT, 300, 0);
        timers.advance(767, 0);
        assert!(!timers.fixed());
        timers.advance(768, 0);
        assert!(timers.fixed());
        timers.advance(0x1_0000, 0);
        assert_eq!(timers.read(Register::Status, 0x1_0000) >> 30, 2);
        timers.advance(0x3_0000, 0);
        assert!(timers.watchdog());
        timers.advance(0x9_0000, 0);
        assert!(!timers.reset);
        timers.write(Register::Control, control::WATCHDOG_RESET, 0x9_0000, 0);
        timers.advance(0xb_0000, 0);
        assert!(timers.reset);
    }
}
