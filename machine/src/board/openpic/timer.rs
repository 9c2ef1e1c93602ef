//! A timer of an OpenPIC, in ticks: an eighth of the bridge's clock (Raven, 2-50: a divide-by-eight prescaler).

use serde::{Deserialize, Serialize};

const INHIBIT: u32 = 0x8000_0000;
const COUNT: u32 = 0x7fff_ffff;

/// A counter of 31 bits that counts down, starts again from its base, and toggles a bit each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Timer {
    /// Base count register: CI, count inhibit, and the count.
    base: u32,
    toggle: bool,
    /// The tick at which a counting timer comes to zero.
    zero: Option<u64>,
    /// The count of a timer that stands still.
    still: u32,
}

impl Timer {
    pub fn new() -> Self {
        Timer {
            base: INHIBIT,
            toggle: false,
            zero: None,
            still: 0,
        }
    }

    /// Could a timer have come to this before core cycle `latest`?
    pub fn fits(&self, latest: u64) -> bool {
        let counting = self.zero.is_none_or(|zero| {
            zero <= latest + u64::from(COUNT) && self.base & INHIBIT == 0 && self.still == 0
        });
        counting && self.still & !COUNT == 0
    }

    /// Counts until tick `now`. True if it came to zero on the way. From a base of 0 it does not start again.
    pub fn advance(&mut self, now: u64) -> bool {
        let Some(zero) = self.zero.filter(|&zero| zero <= now) else {
            return false;
        };
        let base = u64::from(self.base & COUNT);
        let times = (now - zero).checked_div(base).map_or(1, |more| more + 1);
        self.toggle ^= times & 1 != 0;
        self.zero = (base != 0).then_some(zero + times * base);
        true
    }

    /// Current count register: the toggle bit and the count.
    pub fn current(&self, now: u64) -> u32 {
        let count = self.zero.map_or(self.still, |zero| (zero - now) as u32);
        u32::from(self.toggle) << 31 | count & COUNT
    }

    pub fn base(&self) -> u32 {
        self.base
    }

    /// When the inhibit bit is cleared, the timer counts from the base again. A base that is written while it counts is
    /// used from the next zero on.
    pub fn set_base(&mut self, value: u32, now: u64) {
        match (self.base & INHIBIT != 0, value & INHIBIT != 0) {
            (true, false) => {
                let count = value & COUNT;
                self.toggle = false;
                self.still = 0;
                self.zero = (count != 0).then_some(now + u64::from(count));
            }
            (false, true) => {
                self.still = self.current(now) & COUNT;
                self.zero = None;
            }
            _ => {}
        }
        self.base = value;
    }

    pub fn next_zero(&self) -> Option<u64> {
        self.zero
    }
}
