//! A second-level TLB behind the instruction and the data TLB, of 603, 604 or 750. No core of the family has one: a
//! machine file adds it by `[tlb.l2]`.
//!
//! It is searched when a TLB misses, before the hardware's walk or the miss exception. What a walk or software loads
//! goes into both levels; neither includes the other. It needs nothing of software: `tlbie` removes all entries that
//! are in the same class of a first-level TLB, so that a loop over the classes of those empties it as well.

use super::front6xx::Page;
use super::{Invalidation, Tlb, TlbEntry, TlbGeometry};
use crate::account::{Account, Plain};
use serde::{Deserialize, Serialize};

/// Core cycles of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupTiming {
    /// From the miss of a first-level TLB to the retry of the access, with a hit.
    pub hit: u32,
    /// From that miss to the start of the walk, or to the exception, without one.
    pub miss: u32,
}

/// A second-level TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecondLevel {
    tlb: Tlb,
    timing: LookupTiming,
    /// Sets of the first-level TLB that has fewer.
    classes: u32,
}

impl SecondLevel {
    /// An empty one behind TLBs of these shapes.
    ///
    /// # Errors
    /// What is wrong with the shape or the name of the replacement policy.
    pub fn new(
        geometry: TlbGeometry,
        replacement: Option<&str>,
        timing: LookupTiming,
        first: [TlbGeometry; 2],
    ) -> Result<Self, String> {
        let mut tlb = Tlb::new(geometry)?;
        if let Some(name) = replacement {
            tlb.set_replacement(name)?;
        }
        let classes = first[0].sets().min(first[1].sets());
        Ok(Self {
            tlb,
            timing,
            classes,
        })
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.timing == fresh.timing && self.classes == fresh.classes && self.tlb.fits(&fresh.tlb)
    }

    /// Its entries.
    #[must_use]
    pub fn tlb(&self) -> &Tlb {
        &self.tlb
    }

    /// Looks `page` up. Returns the entry, if there is one, and the core cycles that this took.
    pub(super) fn look_up(
        &mut self,
        page: &Page,
        account: &mut Account,
    ) -> (Option<TlbEntry>, u64) {
        let entry = self.tlb.access(page.tag());
        let cycles = if entry.is_some() {
            self.timing.hit
        } else {
            account.add_plain(Plain::SecondTlbMiss, 1);
            self.timing.miss
        };
        account.add_plain(Plain::SecondTlbAccess, 1);
        account.add_plain(Plain::SecondTlbCycles, cycles.into());
        (entry, cycles.into())
    }

    /// An entry was loaded into a first-level TLB from the page table.
    pub(super) fn keep(&mut self, entry: TlbEntry, account: &mut Account) {
        let held = self.tlb.find(entry.tag()).map(TlbEntry::way);
        let old = match held {
            Some(way) => self.tlb.write_way(entry.page() << 12, way, entry),
            None => self.tlb.fill(entry),
        };
        if old.is_some() {
            account.add_plain(Plain::SecondTlbEvicted, 1);
        }
    }

    /// Sets the C bit of the entry with this tag, if there is one.
    pub(super) fn set_changed(&mut self, tag: u64) {
        self.tlb.set_changed(tag);
    }

    /// `tlbie` and `tlbia`.
    pub(super) fn invalidate(&mut self, what: Invalidation) {
        match what {
            Invalidation::Address(ea) | Invalidation::Large(ea) => {
                let sets = self.tlb.geometry().sets();
                let first = ea >> 12 & (self.classes.min(sets) - 1);
                for set in (first..sets).step_by(self.classes as usize) {
                    self.tlb.invalidate_class(set << 12);
                }
            }
            Invalidation::All => self.tlb.invalidate_all(),
        }
    }
}
