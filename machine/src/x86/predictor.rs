//! Branch prediction of a P6: a buffer of branches with two-bit counters and last targets, and a stack of return
//! addresses. A branch that the buffer does not have is predicted by its direction: backwards taken, forwards not. The
//! P6's own buffer keeps the history of each branch too; that it does so is recalled, and not modelled.

use serde::{Deserialize, Serialize};

use crate::memory::Fixed;
use crate::pipeline::{Returns, train};

/// A branch of the buffer. Compiled code reads and writes it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(C, align(16))]
pub struct Entry {
    pub target: u32,
    /// The branch's address.
    pub branch: u32,
    /// 2 and [`Entry::SUREST`] predict taken. [`Entry::EMPTY`]: there is no branch.
    pub counter: u8,
}

impl Entry {
    /// The counter of a branch that has been taken again and again.
    pub const SUREST: u8 = 3;
    /// The counter of a new branch.
    pub const NEW: u8 = 2;
    pub const EMPTY: u8 = u8::MAX;

    const NONE: Entry = Entry {
        target: 0,
        branch: 0,
        counter: Self::EMPTY,
    };
}

/// The predictor's state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Predictor {
    entries: Fixed<Entry>,
    /// Return addresses: 8 (recalled).
    pub returns: Returns<8>,
}

impl Predictor {
    /// An empty buffer.
    #[must_use]
    pub fn new(entries: u32) -> Self {
        Predictor {
            entries: vec![Entry::NONE; entries as usize].into(),
            returns: Returns::default(),
        }
    }

    /// Can a predictor like `fresh` be in this state?
    pub(super) fn fits(&self, fresh: &Predictor) -> bool {
        let possible = |entry: &Entry| matches!(entry.counter, 0..=Entry::SUREST | Entry::EMPTY);
        self.entries.len() == fresh.entries.len()
            && self.entries.iter().all(possible)
            && self.returns.fits()
    }

    /// Where the buffer is, if there is one.
    pub(super) fn pointer(&self) -> Option<*const Entry> {
        (!self.entries.is_empty()).then(|| self.entries.pointer().cast_const())
    }

    /// The place of a branch in the buffer is `branch ^ branch >> 9` under this.
    #[inline(always)]
    pub(super) fn mask(&self) -> u32 {
        (self.entries.len() as u32).wrapping_sub(1)
    }

    /// A branch at `branch` goes to `target` if `taken`. True if that was predicted.
    pub fn predicts(&mut self, branch: u32, target: u32, taken: bool, conditional: bool) -> bool {
        let place = (branch ^ branch >> 9) & self.mask();
        let Some(entry) = self.entries.get_mut(place as usize) else {
            return true;
        };
        if entry.counter == Entry::EMPTY || entry.branch != branch {
            let guess = conditional && target <= branch;
            if taken {
                *entry = Entry {
                    target,
                    branch,
                    counter: Entry::NEW,
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
