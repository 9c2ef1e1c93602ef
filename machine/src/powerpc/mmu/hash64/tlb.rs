//! The TLB of the 970: for instructions and data, tagged by virtual addresses, loaded by the walk of the hash table.

use serde::{Deserialize, Serialize};

use super::table::Page;
use crate::memory::cache::{is_order, to_front};
use crate::powerpc::mmu::TlbGeometry;

/// A translation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// VSID.
    pub vsid: u64,
    /// Number of the page in its segment: of 4 KB, or of 16 MB.
    pub page: u32,
    /// A page of 16 MB.
    pub large: bool,
    /// Valid.
    pub valid: bool,
    /// First physical address.
    pub physical: u32,
    /// WIMG.
    pub attributes: u8,
    /// PP.
    pub pp: u8,
    /// Nothing may be fetched from the page.
    pub no_execute: bool,
    /// C.
    pub changed: bool,
    /// Physical way.
    pub(super) way: u8,
}

impl Entry {
    /// The logarithm of the page's size.
    #[must_use]
    pub fn shift(&self) -> u32 {
        if self.large { 24 } else { 12 }
    }

    /// Physical way.
    #[must_use]
    pub fn way(&self) -> u8 {
        self.way
    }

    #[inline]
    fn holds(&self, page: &Page) -> bool {
        self.valid && (self.vsid, self.page, self.large) == (page.vsid, page.index(), page.large)
    }

    /// The name of the entry among those that have been evicted.
    pub(super) fn key(&self) -> u64 {
        self.vsid << 17 | u64::from(self.page) << 1 | u64::from(self.large)
    }
}

/// The TLB: set-associative, LRU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tlb {
    geometry: TlbGeometry,
    /// Set after set, most recently used first.
    entries: Vec<Entry>,
}

impl Tlb {
    pub(super) fn new(geometry: TlbGeometry) -> Self {
        let ways = geometry.ways;
        let empty = |n: u32| Entry {
            way: (ways - 1 - n % ways) as u8,
            ..Entry::default()
        };
        Self {
            geometry,
            entries: (0..geometry.entries).map(empty).collect(),
        }
    }

    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let ways = self.geometry.ways as usize;
        let possible = |(n, entry): (usize, &Entry)| {
            let pages = if entry.large { 16 } else { 0x1_0000 };
            let bytes = 1u32 << entry.shift();
            !entry.valid
                || entry.page < pages
                    && entry.pp < 4
                    && entry.attributes < 16
                    && entry.physical & (bytes - 1) == 0
                    && self.set(entry.page) == n / ways
        };
        self.geometry == fresh.geometry
            && self.entries.len() == fresh.entries.len()
            && self.entries.chunks(ways).all(|set| {
                let order: Vec<u8> = set.iter().map(|entry| entry.way).collect();
                is_order(&order)
            })
            && self.entries.iter().enumerate().all(possible)
    }

    /// Its shape.
    #[must_use]
    pub fn geometry(&self) -> TlbGeometry {
        self.geometry
    }

    /// The set of a page: the low bits of its number.
    pub(super) fn set(&self, page: u32) -> usize {
        page as usize & (self.geometry.sets() as usize - 1)
    }

    fn ways_mut(&mut self, set: usize) -> &mut [Entry] {
        let ways = self.geometry.ways as usize;
        &mut self.entries[set * ways..][..ways]
    }

    /// The entries of a set, most recently used first.
    pub(in crate::powerpc::mmu) fn ways(&self, set: usize) -> &[Entry] {
        let ways = self.geometry.ways as usize;
        &self.entries[set * ways..][..ways]
    }

    /// The entry with this number: the ways of the first set, then those of the second, and so on.
    #[must_use]
    pub fn entry(&self, number: u32) -> Option<&Entry> {
        let (set, way) = (number / self.geometry.ways, number % self.geometry.ways);
        if set >= self.geometry.sets() {
            return None;
        }
        let set = self.ways(set as usize);
        set.iter().find(|entry| u32::from(entry.way) == way)
    }

    /// Every valid entry with its set, in the order of [`Tlb::entry`].
    pub fn valid_entries(&self) -> impl Iterator<Item = (u32, &Entry)> + '_ {
        (0..self.geometry.entries)
            .filter_map(|number| Some((number / self.geometry.ways, self.entry(number)?)))
            .filter(|(_, entry)| entry.valid)
    }

    /// The entry of a page, for an observer.
    pub(super) fn find(&self, page: &Page) -> Option<&Entry> {
        let set = self.set(page.index());
        self.ways(set).iter().find(|entry| entry.holds(page))
    }

    /// Looks a page up: a hit becomes most recently used.
    pub(super) fn access(&mut self, page: &Page) -> Option<Entry> {
        let set = self.ways_mut(self.set(page.index()));
        let element = set.iter().position(|entry| entry.holds(page))?;
        to_front(&mut set[..=element]);
        Some(set[0])
    }

    /// Replaces the least recently used entry of a set, or one that is not valid. Returns the new entry's way, and the
    /// old entry if it was valid.
    pub(super) fn fill(&mut self, entry: Entry) -> (u8, Option<Entry>) {
        let set = self.ways_mut(self.set(entry.page));
        let free = set.iter().rposition(|entry| !entry.valid);
        let element = free.unwrap_or(set.len() - 1);
        let old = set[element];
        set[element] = Entry {
            way: old.way,
            ..entry
        };
        to_front(&mut set[..=element]);
        (old.way, old.valid.then_some(old))
    }

    /// Sets C of a page's entry, if there is one.
    pub(super) fn set_changed(&mut self, page: &Page) {
        let set = self.ways_mut(self.set(page.index()));
        for entry in set.iter_mut().filter(|entry| entry.holds(page)) {
            entry.changed = true;
        }
    }

    /// Empties the set of a page number.
    pub(super) fn invalidate_set(&mut self, page: u32) {
        let set = self.ways_mut(self.set(page));
        for entry in set {
            entry.valid = false;
        }
    }

    /// Empties all sets.
    pub(super) fn invalidate_all(&mut self) {
        for entry in &mut self.entries {
            entry.valid = false;
        }
    }
}
