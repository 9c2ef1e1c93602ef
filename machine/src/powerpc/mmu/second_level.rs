//! The second-level TLB of a 603, 604 or 750. No core of the family has one.
//!
//! It needs nothing of software: `tlbie` removes all entries that are in the same class of a first-level TLB, so that a
//! loop over the classes of those empties it as well.

use super::{Invalidation, Tlb, TlbEntry};
use crate::tlb::second_level::{Level, SecondLevel};

impl Level for Tlb {
    type Key = u64;
    type Entry = TlbEntry;

    fn look_up(&mut self, tag: u64) -> Option<TlbEntry> {
        self.access(tag)
    }

    fn keep(&mut self, entry: TlbEntry) -> bool {
        let held = self.find(entry.tag()).map(TlbEntry::way);
        let old = match held {
            Some(way) => self.write_way(entry.page() << 12, way, entry),
            None => self.fill(entry),
        };
        old.is_some()
    }
}

/// `tlbie` and `tlbia`. `classes`: sets of the first-level TLB that has fewer.
pub(super) fn invalidate(second: &mut SecondLevel<Tlb>, classes: u32, what: Invalidation) {
    let tlb = &mut second.tlb;
    match what {
        Invalidation::Address(ea) | Invalidation::Large(ea) => {
            let sets = tlb.geometry().sets();
            let first = ea >> 12 & (classes.min(sets) - 1);
            for set in (first..sets).step_by(classes as usize) {
                tlb.invalidate_class(set << 12);
            }
        }
        Invalidation::All => tlb.invalidate_all(),
    }
}
