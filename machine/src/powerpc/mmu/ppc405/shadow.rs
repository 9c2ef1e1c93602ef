//! The shadow TLBs: copies of entries of the unified TLB, with the permissions as they were when a copy was made.

use serde::{Deserialize, Serialize};

use super::{Entry, Permission};
use crate::memory::attribute;
use crate::powerpc::mmu::{Access, Source, Translation};

/// A copy of a UTLB entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shadow {
    pub(super) page: u32,
    /// Code of the page size.
    pub(super) size: u8,
    pub(super) physical: u32,
    pub(super) attributes: u8,
    pub(super) supervisor: Permission,
    pub(super) user: Permission,
}

impl Shadow {
    pub(super) fn of(entry: &Entry, zpr: u32) -> Self {
        Self {
            page: entry.page(),
            size: entry.size() as u8,
            physical: entry.physical(),
            attributes: entry.attributes(),
            supervisor: Permission::of(entry, zpr, false),
            user: Permission::of(entry, zpr, true),
        }
    }

    pub(super) fn bytes(&self) -> u32 {
        1024 << (2 * u32::from(self.size))
    }

    pub(super) fn holds(&self, ea: u32) -> bool {
        ea & !(self.bytes() - 1) == self.page
    }

    /// The translation of `ea`, if it permits the access.
    pub(super) fn translate(
        &self,
        ea: u32,
        access: Access,
        user: bool,
    ) -> Result<Translation, u32> {
        let permission = if user { self.user } else { self.supervisor };
        if let Some(esr) = permission.refuses(access) {
            return Err(esr);
        }
        // Nothing may be fetched from guarded memory (recalled).
        if access.is_fetch() && self.attributes & attribute::GUARDED != 0 {
            return Err(0);
        }
        Ok(Translation {
            pa: self.physical | ea & (self.bytes() - 1),
            attributes: self.attributes,
            source: Source::Tlb,
            cycles: 0,
        })
    }
}

/// A shadow TLB: fully associative, replaced round robin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ShadowTlb {
    pub(super) entries: Vec<Option<Shadow>>,
    /// The entry that is refilled next.
    pub(super) next: usize,
    /// Core cycles of a refill.
    pub(super) refill: u32,
}

impl ShadowTlb {
    pub(super) fn new(entries: u32, refill: u32) -> Self {
        Self {
            entries: vec![None; entries as usize],
            next: 0,
            refill,
        }
    }

    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let possible = |entry: &Shadow| entry.size < 8 && entry.page & (entry.bytes() - 1) == 0;
        self.entries.len() == fresh.entries.len()
            && self.next < self.entries.len()
            && self.refill == fresh.refill
            && self.entries.iter().flatten().all(possible)
    }

    pub(super) fn find(&self, ea: u32) -> Option<(usize, &Shadow)> {
        let mut entries = self.entries.iter().enumerate();
        entries.find_map(|(way, entry)| entry.as_ref().filter(|e| e.holds(ea)).map(|e| (way, e)))
    }

    /// The translation of `ea` by an entry of this TLB: of a part of its 4 KB, if an entry of 1 KB is among those that
    /// translate the 4 KB.
    pub(super) fn sourced(&self, translation: Translation, ea: u32) -> Translation {
        let mut entries = self.entries.iter().flatten();
        let source = if entries.any(|entry| entry.size == 0 && (entry.page ^ ea) >> 12 == 0) {
            Source::Subpage
        } else {
            Source::Tlb
        };
        Translation {
            source,
            ..translation
        }
    }

    pub(super) fn fill(&mut self, entry: Shadow) {
        self.entries[self.next] = Some(entry);
        self.next = (self.next + 1) % self.entries.len();
    }

    /// The counter that chooses the entry to replace goes on.
    pub(super) fn clear(&mut self) {
        self.entries.fill(None);
    }
}
