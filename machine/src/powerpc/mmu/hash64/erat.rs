//! An effective-to-real address table: what a 970 looks into first. Its entries are for 4 KB of effective addresses,
//! also where the page is a large one (recalled).

use serde::{Deserialize, Serialize};

use crate::powerpc::mmu::TlbGeometry;
use crate::powerpc::mmu::tlb::permits;

/// An entry: 4 KB of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EratEntry {
    /// First effective address.
    pub ea: u64,
    /// First physical address.
    pub physical: u32,
    /// WIMG as [`crate::memory::attribute`] numbers them.
    pub attributes: u8,
    /// PP of the page.
    pub pp: u8,
    /// Keys of the segment, of supervisor and user.
    pub keys: [bool; 2],
    /// C of the page.
    pub changed: bool,
    /// The page is a large one.
    pub large: bool,
    /// VSID of the segment.
    pub vsid: u64,
}

impl EratEntry {
    /// Does it permit a load, a store or a fetch? Of what may not be fetched the instruction side has no entries.
    #[inline]
    #[must_use]
    pub fn permits(&self, user: bool, store: bool) -> bool {
        permits(self.pp, self.keys[usize::from(user)], store)
    }
}

/// The table: set-associative, replaced round robin in each set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Erat {
    geometry: TlbGeometry,
    /// Set after set.
    entries: Vec<Option<EratEntry>>,
    /// The way of each set that is filled next.
    next: Vec<u8>,
}

impl Erat {
    pub(super) fn new(geometry: TlbGeometry) -> Self {
        let sets = geometry.sets() as usize;
        Self {
            geometry,
            entries: vec![None; geometry.entries as usize],
            next: vec![0; sets],
        }
    }

    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let ways = self.geometry.ways as usize;
        let in_place = |(n, entry): (usize, &Option<EratEntry>)| {
            entry.is_none_or(|entry| {
                entry.ea & 0xfff == 0
                    && entry.physical & 0xfff == 0
                    && entry.pp < 4
                    && self.set(entry.ea) == n / ways
            })
        };
        self.geometry == fresh.geometry
            && self.entries.len() == fresh.entries.len()
            && self.next.len() == fresh.next.len()
            && self.next.iter().all(|&way| usize::from(way) < ways)
            && self.entries.iter().enumerate().all(in_place)
    }

    /// Its shape.
    #[must_use]
    pub fn geometry(&self) -> TlbGeometry {
        self.geometry
    }

    /// Its entries, set after set, as they are held.
    #[must_use]
    pub fn entries(&self) -> &[Option<EratEntry>] {
        &self.entries
    }

    /// The number of `ea`'s set.
    #[inline]
    pub(super) fn set(&self, ea: u64) -> usize {
        (ea >> 12) as usize & (self.geometry.sets() as usize - 1)
    }

    /// The entry of `ea`, and its way.
    #[inline]
    pub(in crate::powerpc::mmu) fn find(&self, ea: u64) -> Option<(u8, &EratEntry)> {
        let ways = self.geometry.ways as usize;
        let page = ea & !0xfff;
        let set = &self.entries[self.set(ea) * ways..][..ways];
        let held = |entry: &&EratEntry| entry.ea == page;
        (0..)
            .zip(set)
            .find_map(|(way, entry)| entry.as_ref().filter(held).map(|entry| (way, entry)))
    }

    /// Replaces an entry of a set that has none of this page; returns the way.
    pub(super) fn fill(&mut self, entry: EratEntry) -> u8 {
        let (set, ways) = (self.set(entry.ea), self.geometry.ways as usize);
        let way = self.next[set];
        self.entries[set * ways + usize::from(way)] = Some(entry);
        self.next[set] = (way + 1) % ways as u8;
        way
    }

    /// Sets C of the entry of `ea`, if there is one.
    pub(super) fn set_changed(&mut self, ea: u64) {
        let page = ea & !0xfff;
        for entry in self.entries.iter_mut().flatten() {
            if entry.ea == page {
                entry.changed = true;
            }
        }
    }

    /// Removes the entries for which `gone` is true, and tells `each` of them.
    pub(super) fn remove(
        &mut self,
        gone: impl Fn(&EratEntry) -> bool,
        mut each: impl FnMut(&EratEntry),
    ) {
        for place in &mut self.entries {
            if let Some(entry) = place.as_ref().filter(|entry| gone(entry)) {
                each(entry);
                *place = None;
            }
        }
    }
}
