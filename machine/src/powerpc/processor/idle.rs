//! Power saving: a processor that waits for an interrupt does nothing until one can come.

use super::{Fatal, Processor, Stop};
use crate::account::Plain;
use crate::computer::Pause;
use crate::config::Power;
use crate::powerpc::{hid0, msr};

/// Which clocks run while the processor saves power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doze and nap: time base and decrementer count. They differ on hardware in whether caches snoop;
    /// here they always do.
    Nap,
    /// Only an external interrupt wakes the processor: time base and decrementer stand still.
    Sleep,
}

impl Processor {
    /// The mode that setting MSR\[POW\] enters now, if any.
    fn power_mode(&self) -> Option<Mode> {
        let value = self.registers.hid0;
        match self.config.core.kind.core().power {
            Power::Nap => Some(Mode::Nap),
            Power::Hid0 if value & (hid0::DOZE | hid0::NAP) != 0 => Some(Mode::Nap),
            Power::Hid0 if value & hid0::SLEEP != 0 => Some(Mode::Sleep),
            Power::Hid0 | Power::None => None,
        }
    }

    /// MSR\[POW\] as `mtmsr` sets it: the bit stays set only while the processor saves power.
    pub(crate) fn power_bit(&self, value: u32) -> u32 {
        if self.power_mode().is_some() {
            value & msr::POW
        } else {
            0
        }
    }

    /// Skips the time until something can wake the processor, while it saves power. Called between two blocks, after
    /// all due events were noted. Returns the reason if the machine stops.
    pub(super) fn save_power(&mut self) -> Option<Pause<Stop>> {
        while self.registers.msr & msr::POW != 0 && !self.interrupted() {
            let Some(mode) = self.power_mode() else {
                self.registers.msr &= !msr::POW;
                return None;
            };
            let now = self.hot.cycles;
            if now >= self.running.limits.cycles {
                return Some(Pause::Stopped(Stop::Limit));
            }
            let next = self.next_wake(mode);
            if self.several {
                self.running.times.wake = Some(next.map_or(u64::MAX, |next| next.max(now + 1)));
                return Some(Pause::TurnOver);
            }
            let Some(next) = next else {
                let pc = self.registers.pc;
                return Some(Pause::Stopped(Stop::Fatal(Fatal::Asleep { pc })));
            };
            self.pass(next.clamp(now + 1, self.running.limits.cycles));
            self.take_notice();
        }
        None
    }

    /// The processor saves power until cycle `next`.
    pub(super) fn pass(&mut self, next: u64) {
        let now = self.hot.cycles;
        if self.power_mode() == Some(Mode::Sleep) {
            self.timers.stand_still(now, next);
        }
        self.hot.cycles = next;
        self.account.add_plain(Plain::IdleCycles, next - now);
    }

    /// The next cycle at which an interrupt can come; `None` if none ever can.
    fn next_wake(&self, mode: Mode) -> Option<u64> {
        let critical = if self.registers.embedded.is_some() {
            msr::CE
        } else {
            0
        };
        if self.registers.msr & (msr::EE | critical) == 0 {
            return None;
        }
        let timers = (mode == Mode::Nap)
            .then(|| self.timers.next_expiry())
            .filter(|&expiry| expiry != u64::MAX);
        let counters = self
            .performance
            .period()
            .map(|period| self.hot.cycles + period);
        [
            timers,
            counters.filter(|_| mode == Mode::Nap),
            self.next_poll(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
