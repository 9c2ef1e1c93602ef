//! Branch prediction: a table of two-bit counters, a buffer of the targets of indirect jumps, and a stack of return
//! addresses.

use serde::{Deserialize, Serialize};

/// Return addresses that the core remembers.
const RETURNS: usize = 6;

/// The predictor's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predictor {
    /// 2 and 3 predict taken.
    counters: Vec<u8>,
    /// An indirect jump, and where it went.
    targets: Vec<(u64, u64)>,
    returns: [u64; RETURNS],
    top: usize,
}

impl Predictor {
    /// One that knows nothing: `entries` counters and `targets` targets, powers of two.
    #[must_use]
    pub fn new(entries: u32, targets: u32) -> Predictor {
        Predictor {
            counters: vec![1; entries as usize],
            targets: vec![(0, 0); targets as usize],
            returns: [0; RETURNS],
            top: 0,
        }
    }

    /// Can a predictor like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Predictor) -> bool {
        self.counters.len() == fresh.counters.len()
            && self.targets.len() == fresh.targets.len()
            && self.top < RETURNS
            && self.counters.iter().all(|&counter| counter < 4)
    }

    /// A conditional branch at `pc` is taken or not. True if that was predicted.
    #[inline(always)]
    pub fn predicts(&mut self, pc: u64, taken: bool) -> bool {
        let mask = self.counters.len().wrapping_sub(1);
        let Some(counter) = self.counters.get_mut((pc >> 1) as usize & mask) else {
            return true;
        };
        let right = (*counter >= 2) == taken;
        *counter = if taken {
            (*counter + 1).min(3)
        } else {
            counter.saturating_sub(1)
        };
        right
    }

    /// An indirect jump at `pc` goes to `target`. True if that was predicted.
    pub fn goes_to(&mut self, pc: u64, target: u64) -> bool {
        let mask = self.targets.len().wrapping_sub(1);
        let Some(entry) = self.targets.get_mut((pc >> 1) as usize & mask) else {
            return false;
        };
        let right = *entry == (pc, target);
        *entry = (pc, target);
        right
    }

    /// A call whose return address is `back`.
    #[inline]
    pub fn call(&mut self, back: u64) {
        self.top = (self.top + 1) % RETURNS;
        self.returns[self.top] = back;
    }

    /// A return to `target`. True if that was predicted.
    pub fn returns_to(&mut self, target: u64) -> bool {
        let right = self.returns[self.top] == target;
        self.top = (self.top + RETURNS - 1) % RETURNS;
        right
    }
}
