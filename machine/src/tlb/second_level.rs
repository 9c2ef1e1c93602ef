//! A second-level TLB behind the instruction and the data TLB. A machine file adds it by `[tlb.l2]`.
//!
//! It is searched when a TLB misses, before hardware walks or software is told of the miss. What a walk or software
//! loads goes into both levels; neither includes the other.

use crate::account::{Account, Plain};
use crate::config::SecondTlbConfig;
use serde::{Deserialize, Serialize};

/// An architecture's TLB, as a second level.
pub trait Level {
    /// What names a page.
    type Key;
    /// A translation.
    type Entry;

    /// Looks a page up as an access.
    fn look_up(&mut self, key: Self::Key) -> Option<Self::Entry>;

    /// Loads `entry`, in place of one for the same page. True if a valid entry of another page had to go.
    fn keep(&mut self, entry: Self::Entry) -> bool;
}

/// A second-level TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecondLevel<T> {
    /// Its entries.
    pub tlb: T,
    /// Core cycles from the miss of a first-level TLB to the retry of the access, with a hit.
    hit: u32,
    /// Core cycles from that miss to the start of the walk, or to the exception, without one.
    miss: u32,
}

impl<T: Level> SecondLevel<T> {
    /// An empty one, of entries as `tlb` has them.
    #[must_use]
    pub fn new(tlb: T, config: &SecondTlbConfig) -> Self {
        Self {
            tlb,
            hit: config.hit,
            miss: config.miss,
        }
    }

    /// True if the times are those of `fresh`.
    #[must_use]
    pub fn times_fit(&self, fresh: &Self) -> bool {
        (self.hit, self.miss) == (fresh.hit, fresh.miss)
    }

    /// Looks a page up. Returns the entry, if there is one, and the core cycles that this took.
    pub fn look_up(&mut self, key: T::Key, account: &mut Account) -> (Option<T::Entry>, u64) {
        let entry = self.tlb.look_up(key);
        let cycles = if entry.is_some() {
            self.hit
        } else {
            account.add_plain(Plain::SecondTlbMiss, 1);
            self.miss
        };
        account.add_plain(Plain::SecondTlbAccess, 1);
        account.add_plain(Plain::SecondTlbCycles, cycles.into());
        (entry, cycles.into())
    }

    /// An entry was loaded into a first-level TLB from the page table.
    pub fn keep(&mut self, entry: T::Entry, account: &mut Account) {
        if self.tlb.keep(entry) {
            account.add_plain(Plain::SecondTlbEvicted, 1);
        }
    }
}
