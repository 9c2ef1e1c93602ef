//! A set-associative TLB with LRU sets.
//!
//! Each set is stored most recently used first, and an entry keeps the number of its physical way. A
//! hit on element 0 of a set changes nothing, so a faster lookup may compare with it alone. Entries
//! are tagged by VSID: a changed segment register leaves them in place.

use super::segment;
use crate::memory::cache::to_front;
use crate::memory::wimg;
use serde::{Deserialize, Serialize};

/// Shape of a TLB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbGeometry {
    /// Entries in all: ways times a power of two.
    pub entries: u32,
    /// Entries a set, 1 to 128.
    pub ways: u32,
}

impl TlbGeometry {
    /// Number of sets.
    #[must_use]
    pub fn sets(&self) -> u32 {
        self.entries / self.ways
    }

    /// What is wrong with this shape, if anything.
    ///
    /// # Errors
    /// A sentence that says what is allowed.
    pub fn check(&self) -> Result<(), String> {
        if self.ways == 0 || self.ways > 128 {
            return Err(format!("ways is {}: 1 to 128 are allowed", self.ways));
        }
        if self.entries == 0
            || !self.entries.is_multiple_of(self.ways)
            || !self.sets().is_power_of_two()
            || self.sets() > 1024
        {
            return Err(format!(
                "entries is {}: {} (ways) times a power of two up to 1024 is allowed",
                self.entries, self.ways
            ));
        }
        Ok(())
    }
}

/// A tag of a valid entry has this bit.
const VALID: u64 = 1 << 63;

/// The tag that an entry for `ea` in `segment` has: valid, VSID, page index (EA\[4-19\]).
#[inline]
#[must_use]
pub fn tag(segment: u32, ea: u32) -> u64 {
    VALID | u64::from(segment & segment::VSID) << 16 | u64::from(ea >> 12 & 0xffff)
}

/// Does PP permit an access with this key (PEM table 7-9)?
#[inline]
#[must_use]
pub fn permits(pp: u8, key: bool, store: bool) -> bool {
    match pp {
        0 => !key,
        1 => !(key && store),
        2 => true,
        _ => !store,
    }
}

/// Bit in [`TlbEntry::fast`] of an access with `key`.
#[inline]
#[must_use]
pub const fn fast_bit(key: bool, store: bool) -> u8 {
    1 << (key as u8 * 2 + store as u8)
}

/// Bit in [`TlbEntry::fast`] of a fetch with `key`.
#[inline]
#[must_use]
pub const fn fast_fetch_bit(key: bool) -> u8 {
    1 << (4 + key as u8)
}

/// C bit of a PTE's word 1.
pub const CHANGED: u32 = 0x80;

/// One translation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbEntry {
    tag: u64,
    /// As a PTE's word 1: RPN, C, WIMG, PP.
    pte: u32,
    way: u8,
    fast: u8,
}

impl TlbEntry {
    /// An entry with `tag` from a PTE's word 1.
    #[must_use]
    pub fn new(tag: u64, word1: u32) -> Self {
        let mut entry = Self {
            tag,
            pte: word1 & 0xffff_f0fb,
            way: 0,
            fast: 0,
        };
        entry.decide();
        entry
    }

    /// Works out which accesses need nothing but this entry and a cache hit.
    fn decide(&mut self) {
        let cached = self.wimg() & wimg::I == 0;
        self.fast = 0;
        for key in [false, true] {
            if cached && permits(self.pp(), key, false) {
                self.fast |= fast_bit(key, false);
                if self.wimg() & wimg::G == 0 {
                    self.fast |= fast_fetch_bit(key);
                }
            }
            let written_back = cached && self.wimg() & wimg::W == 0;
            if written_back && self.changed() && permits(self.pp(), key, true) {
                self.fast |= fast_bit(key, true);
            }
        }
    }

    /// Its tag: compare with [`tag`].
    #[inline]
    #[must_use]
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// Valid?
    #[inline]
    #[must_use]
    pub fn valid(&self) -> bool {
        self.tag & VALID != 0
    }

    /// VSID.
    #[must_use]
    pub fn vsid(&self) -> u32 {
        (self.tag >> 16) as u32 & segment::VSID
    }

    /// Page index, EA\[4-19\].
    #[must_use]
    pub fn page(&self) -> u32 {
        self.tag as u32 & 0xffff
    }

    /// Address of the physical page.
    #[inline]
    #[must_use]
    pub fn rpn(&self) -> u32 {
        self.pte & 0xffff_f000
    }

    /// C bit.
    #[inline]
    #[must_use]
    pub fn changed(&self) -> bool {
        self.pte & CHANGED != 0
    }

    /// Storage control bits.
    #[inline]
    #[must_use]
    pub fn wimg(&self) -> u8 {
        (self.pte >> 3 & 15) as u8
    }

    /// Page protection bits.
    #[inline]
    #[must_use]
    pub fn pp(&self) -> u8 {
        (self.pte & 3) as u8
    }

    /// Physical way.
    #[inline]
    #[must_use]
    pub fn way(&self) -> u8 {
        self.way
    }

    /// Accesses that need nothing beyond this entry and an L1 hit: permitted, cacheable, for stores
    /// C = 1 and write-back, for fetches not guarded. Bits by [`fast_bit`] and [`fast_fetch_bit`].
    #[inline]
    #[must_use]
    pub fn fast(&self) -> u8 {
        self.fast
    }
}

/// A TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tlb {
    geometry: TlbGeometry,
    /// Set after set, most recently used first.
    entries: Box<[TlbEntry]>,
    set_mask: u32,
    generation: u64,
}

impl Tlb {
    /// An empty TLB.
    ///
    /// # Errors
    /// What is wrong with the geometry; see [`TlbGeometry::check`].
    pub fn new(geometry: TlbGeometry) -> Result<Self, String> {
        geometry.check()?;
        let mut tlb = Self {
            geometry,
            entries: vec![TlbEntry::default(); geometry.entries as usize].into_boxed_slice(),
            set_mask: geometry.sets() - 1,
            generation: 0,
        };
        tlb.invalidate_all();
        Ok(tlb)
    }

    /// Size and shape.
    #[must_use]
    pub fn geometry(&self) -> TlbGeometry {
        self.geometry
    }

    /// A number that changes whenever an element 0 of any set may have changed, in order or content:
    /// a shortcut made from element 0 is good for as long as this stays.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Index in [`Tlb::entries`] of element 0 of the set of `page` (an EA >> 12, or a tag's low bits).
    #[inline]
    fn first(&self, page: u32) -> usize {
        (page & self.set_mask) as usize * self.geometry.ways as usize
    }

    /// The most recently used entry of `ea`'s set.
    #[inline]
    #[must_use]
    pub fn mru(&self, ea: u32) -> &TlbEntry {
        &self.entries[self.first(ea >> 12)]
    }

    /// All entries: set after set, most recently used first.
    #[inline]
    #[must_use]
    pub fn entries(&self) -> &[TlbEntry] {
        &self.entries
    }

    fn set(&self, tag: u64) -> (usize, &[TlbEntry]) {
        let first = self.first(tag as u32);
        (
            first,
            &self.entries[first..first + self.geometry.ways as usize],
        )
    }

    /// The entry with this tag; recency is not touched.
    #[inline]
    #[must_use]
    pub fn find(&self, tag: u64) -> Option<&TlbEntry> {
        self.set(tag).1.iter().find(|entry| entry.tag == tag)
    }

    /// Looks a tag up as an access: a hit becomes most recently used.
    #[inline]
    pub fn access(&mut self, tag: u64) -> Option<TlbEntry> {
        let (first, set) = self.set(tag);
        let element = set.iter().position(|entry| entry.tag == tag)?;
        self.promote(first, element);
        Some(self.entries[first])
    }

    fn promote(&mut self, first: usize, element: usize) {
        if element != 0 {
            let entry = self.entries[first + element];
            self.put_first(first, element, entry);
        }
    }

    /// Replaces the least recently used entry of its set by `entry`, which becomes most recently
    /// used. Returns the entry that had to go, if it was valid.
    pub fn fill(&mut self, entry: TlbEntry) -> Option<TlbEntry> {
        let first = self.first(entry.tag as u32);
        let last = first + self.geometry.ways as usize - 1;
        let way = self.entries[last].way;
        self.replace(first, last - first, way, entry)
    }

    /// Writes `entry` into the named way of its set (`tlbld`, `tlbli`), most recently used then.
    /// Returns the valid entry that had to go.
    pub fn write_way(&mut self, ea: u32, way: u8, entry: TlbEntry) -> Option<TlbEntry> {
        let first = self.first(ea >> 12);
        let ways = self.geometry.ways as usize;
        let way = way % self.geometry.ways as u8;
        let element = self.entries[first..first + ways]
            .iter()
            .position(|old| old.way == way)?;
        self.replace(first, element, way, entry)
    }

    fn replace(
        &mut self,
        first: usize,
        element: usize,
        way: u8,
        entry: TlbEntry,
    ) -> Option<TlbEntry> {
        let old = self.entries[first + element];
        self.put_first(first, element, TlbEntry { way, ..entry });
        (old.valid() && old.tag != entry.tag).then_some(old)
    }

    /// Puts `entry` first into the set at `first`; `element` gives up its place.
    #[inline]
    fn put_first(&mut self, first: usize, element: usize, entry: TlbEntry) {
        let set = &mut self.entries[first..=first + element];
        set[element] = entry;
        to_front(set);
        self.generation += 1;
    }

    /// Physical way of the least recently used entry of `ea`'s set.
    #[must_use]
    pub fn victim_way(&self, ea: u32) -> u8 {
        let first = self.first(ea >> 12);
        self.entries[first + self.geometry.ways as usize - 1].way
    }

    /// Sets the C bit of the entry with this tag, if there is one.
    pub fn set_changed(&mut self, tag: u64) {
        let first = self.first(tag as u32);
        let ways = self.geometry.ways as usize;
        let set = &mut self.entries[first..first + ways];
        if let Some(entry) = set.iter_mut().find(|entry| entry.tag == tag) {
            entry.pte |= CHANGED;
            entry.decide();
            self.generation += 1;
        }
    }

    /// Invalidates every entry of `ea`'s set.
    pub fn invalidate_class(&mut self, ea: u32) {
        let first = self.first(ea >> 12);
        let ways = self.geometry.ways as usize;
        for entry in &mut self.entries[first..first + ways] {
            *entry = TlbEntry {
                way: entry.way,
                ..TlbEntry::default()
            };
        }
        self.generation += 1;
    }

    /// Invalidates every entry and forgets recency.
    pub fn invalidate_all(&mut self) {
        let ways = self.geometry.ways as usize;
        for (n, entry) in self.entries.iter_mut().enumerate() {
            // Way 0 is least recently used, hence the first victim.
            *entry = TlbEntry {
                way: (ways - 1 - n % ways) as u8,
                ..TlbEntry::default()
            };
        }
        self.generation += 1;
    }

    /// Every valid entry with its set.
    pub fn valid_entries(&self) -> impl Iterator<Item = (u32, &TlbEntry)> + '_ {
        let ways = self.geometry.ways as usize;
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.valid())
            .map(move |(n, entry)| ((n / ways) as u32, entry))
    }
}
