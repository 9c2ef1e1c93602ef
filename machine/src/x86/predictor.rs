//! Branch prediction of a P6: a buffer of branches with two-bit counters and last targets, and a stack of return
//! addresses. A branch that the buffer does not have is predicted by its direction: backwards taken, forwards not. The
//! P6's own buffer keeps the history of each branch too; that it does so is recalled, and not modelled.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Entry {
    /// The branch's address, and one more than zero if there is one.
    branch: Option<u32>,
    target: u32,
    /// 2 and 3 predict taken.
    counter: u8,
}

use crate::pipeline::{Returns, train};

/// The predictor's state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Predictor {
    entries: Box<[Entry]>,
    /// Return addresses: 8 (recalled).
    pub returns: Returns<8>,
}

impl Predictor {
    /// An empty buffer.
    #[must_use]
    pub fn new(entries: u32) -> Self {
        Predictor {
            entries: vec![Entry::default(); entries as usize].into_boxed_slice(),
            returns: Returns::default(),
        }
    }

    /// Can a predictor like `fresh` be in this state?
    pub(super) fn fits(&self, fresh: &Predictor) -> bool {
        self.entries.len() == fresh.entries.len() && self.returns.fits()
    }

    /// A branch at `branch` goes to `target` if `taken`. True if that was predicted.
    pub fn predicts(&mut self, branch: u32, target: u32, taken: bool, conditional: bool) -> bool {
        let mask = self.entries.len().wrapping_sub(1);
        let Some(entry) = self.entries.get_mut((branch ^ branch >> 9) as usize & mask) else {
            return true;
        };
        if entry.branch != Some(branch) {
            let guess = conditional && target <= branch;
            if taken {
                *entry = Entry {
                    branch: Some(branch),
                    target,
                    counter: 2,
                };
            }
            return guess == taken;
        }
        let right = train(&mut entry.counter, taken) == taken && (!taken || entry.target == target);
        if taken {
            entry.target = target;
        }
        right
    }
}
