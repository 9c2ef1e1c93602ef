//! Writes that wait for the bus while the core goes on.

use serde::{Deserialize, Serialize};

/// Longest queue that a machine file may ask for.
pub const POSTED_MAX: u32 = 16;

const PLACES: usize = POSTED_MAX as usize;

/// A ring of the cycles at which posted writes are done.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PostedWrites {
    done: [u64; PLACES],
    /// Where the oldest is.
    first: usize,
    /// How many there are.
    used: usize,
}

impl PostedWrites {
    /// Posts a write that is done at cycle `done`, and not before those posted earlier, into a queue of
    /// `entries`; returns how long the core waits.
    #[inline]
    pub fn post(&mut self, now: u64, done: u64, entries: usize) -> u64 {
        if entries == 0 {
            return done.saturating_sub(now);
        }
        // In an empty queue this is one that has left, or 0.
        let newest = self.done[(self.first + self.used).wrapping_sub(1) % PLACES];
        if newest <= now {
            // All are done.
            (self.first, self.used) = (0, 1);
            self.done[0] = done.max(newest);
            return 0;
        }
        self.post_behind(now, done, entries)
    }

    /// [`PostedWrites::post`] of a write before which others may not be done.
    #[inline(never)]
    fn post_behind(&mut self, now: u64, done: u64, entries: usize) -> u64 {
        let (mut first, mut used) = (self.first, self.used);
        while used != 0 && self.done[first % PLACES] <= now {
            (first, used) = (first + 1, used - 1);
        }
        let mut wait = 0;
        if used >= entries {
            wait = self.done[first % PLACES] - now;
            (first, used) = (first + 1, used - 1);
        }
        let newest = match used {
            0 => 0,
            used => self.done[(first + used - 1) % PLACES],
        };
        self.done[(first + used) % PLACES] = done.max(newest);
        (self.first, self.used) = (first % PLACES, used + 1);
        wait
    }

    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        let possible = |at: u64| at < crate::config::LATEST;
        self.first < PLACES
            && self.used <= PLACES
            && (0..self.used).map(|n| self.at(n)).is_sorted()
            && (0..self.used).all(|n| possible(self.at(n)))
    }

    /// When write `number` in the queue is done, counted from the oldest.
    #[inline(always)]
    fn at(&self, number: usize) -> u64 {
        self.done[(self.first + number) % PLACES]
    }
}
