//! Writes that wait for the bus while the core goes on.

use serde::{Deserialize, Serialize};

/// Longest queue that a machine file may ask for.
pub const POSTED_MAX: u32 = 16;

/// Cycles at which posted writes are done, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PostedWrites {
    done: [u64; POSTED_MAX as usize],
    used: usize,
}

impl PostedWrites {
    /// Posts a write that is done at cycle `done`, and not before those posted earlier, into a queue of
    /// `entries`; returns how long the core waits.
    pub fn post(&mut self, now: u64, done: u64, entries: usize) -> u64 {
        if entries == 0 {
            return done.saturating_sub(now);
        }
        let finished = self.done[..self.used].partition_point(|&at| at <= now);
        self.drop_first(finished);
        let mut wait = 0;
        if self.used >= entries {
            wait = self.done[0] - now;
            self.drop_first(1);
        }
        let before = self.done[..self.used].last().copied();
        self.done[self.used] = done.max(before.unwrap_or_default());
        self.used += 1;
        wait
    }

    /// Could a run have come to this? A snapshot is asked before use.
    pub(crate) fn fits(&self) -> bool {
        self.done.get(..self.used).is_some_and(|done| {
            done.is_sorted() && done.iter().all(|&at| at < crate::config::LATEST)
        })
    }

    fn drop_first(&mut self, count: usize) {
        self.done.copy_within(count..self.used, 0);
        self.used -= count;
    }
}
