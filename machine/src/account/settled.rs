//! What of a processor's totals stands in its account already.

use serde::{Deserialize, Serialize};

/// The totals that have been entered in the account, and those that the observers have been told of.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// As `cycles` and `instructions`, for the observers.
    pub(crate) watched_cycles: u64,
    pub(crate) watched_instructions: u64,
    /// Address of the first code that they have not been told of.
    pub(crate) watched_pc: u64,
}

impl Settled {
    /// Can these be the totals of a processor that has just settled?
    pub(crate) fn fits(&self, cycles: u64, instructions: u64) -> bool {
        (self.cycles, self.instructions) == (cycles, instructions)
            && self.watched_cycles <= cycles
            && self.watched_instructions <= instructions
    }
}
