//! Branch prediction: a table of two-bit counters, a buffer of the targets of indirect jumps, and a stack of return
//! addresses.

use serde::{Deserialize, Serialize};

use crate::memory::Fixed;
use crate::pipeline::{Returns, train};

/// Return addresses at a time.
pub const CALLS: usize = 6;

/// The predictor's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predictor {
    /// 2 and 3 predict taken.
    pub(super) counters: Fixed<u8>,
    /// An indirect jump, and where it went.
    pub(super) targets: Fixed<[u64; 2]>,
    /// Return addresses.
    pub returns: Returns<CALLS>,
}

impl Predictor {
    /// One that knows nothing: `entries` counters and `targets` targets, powers of two.
    #[must_use]
    pub fn new(entries: u32, targets: u32) -> Predictor {
        Predictor {
            counters: Fixed::from(vec![1; entries as usize]),
            targets: Fixed::from(vec![[0; 2]; targets as usize]),
            returns: Returns::default(),
        }
    }

    /// Can a predictor like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Predictor) -> bool {
        self.counters.len() == fresh.counters.len()
            && self.targets.len() == fresh.targets.len()
            && self.returns.fits()
            && self.counters.iter().all(|&counter| counter < 4)
    }

    /// A conditional branch at `pc` is taken or not. True if that was predicted.
    #[inline(always)]
    pub fn predicts(&mut self, pc: u64, taken: bool) -> bool {
        let mask = self.counters.len().wrapping_sub(1);
        let Some(counter) = self.counters.get_mut((pc >> 1) as usize & mask) else {
            return true;
        };
        train(counter, taken) == taken
    }

    /// An indirect jump at `pc` goes to `target`. True if that was predicted.
    pub fn goes_to(&mut self, pc: u64, target: u64) -> bool {
        let mask = self.targets.len().wrapping_sub(1);
        let Some(entry) = self.targets.get_mut((pc >> 1) as usize & mask) else {
            return false;
        };
        let right = *entry == [pc, target];
        *entry = [pc, target];
        right
    }
}
