//! A set-associative TLB. Its sets are LRU, unless a machine file names another policy ([`crate::tlb::replacement`]).
//!
//! Each set is stored most recently used first; each entry holds the number of its physical way. A second table holds
//! the way used last in each set. For two ways that is the whole LRU state, so an engine that knows the entry only
//! writes its way there, without a look-up. A look-up of two ways does the same, and moves no entry. Entries are tagged
//! by VSID, so a change of a segment register leaves them in place.

use super::segment;
use crate::config::shape::{self, Misfit};
use crate::memory::Fixed;
use crate::memory::cache::{is_order, to_front};
use crate::tlb::Slot;
use crate::tlb::replacement::AnyReplacement;
use serde::{Deserialize, Serialize};

/// Shape of a TLB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbGeometry {
    /// Entries in all.
    pub entries: u32,
    /// Entries a set.
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
    pub fn check(&self) -> Result<(), Misfit> {
        shape::tlb(self.entries, self.ways)
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

/// True if PP permits an access with this key (PEM table 7-9)?
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

/// C bit of a PTE's word 1.
pub const CHANGED: u32 = 0x80;

/// One translation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlbEntry {
    tag: u64,
    /// As a PTE's word 1: RPN, C, WIMG, PP.
    pte: u32,
    way: u8,
}

impl Slot for TlbEntry {
    fn valid(&self) -> bool {
        TlbEntry::valid(self)
    }

    fn way(&self) -> u8 {
        self.way
    }
}

impl TlbEntry {
    /// An entry with `tag` from a PTE's word 1.
    #[must_use]
    pub fn new(tag: u64, word1: u32) -> Self {
        Self {
            tag,
            pte: word1 & 0xffff_f0fb,
            way: 0,
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

    /// As a PTE's word 1: RPN, C, WIMG, PP.
    #[must_use]
    pub fn word1(&self) -> u32 {
        self.pte
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
    pub fn attributes(&self) -> u8 {
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
}

/// A TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tlb {
    geometry: TlbGeometry,
    /// Set after set, most recently used first as of when the set was put in order.
    entries: Box<[TlbEntry]>,
    /// Way of each set's most recently used entry, and one more byte, which belongs to no set.
    recent: Fixed<u8>,
    set_mask: u32,
    replacement: AnyReplacement,
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
            recent: Fixed::from(vec![0; geometry.sets() as usize + 1]),
            set_mask: geometry.sets() - 1,
            replacement: AnyReplacement::default(),
        };
        tlb.invalidate_all();
        Ok(tlb)
    }

    /// Sets how an entry to replace is chosen, by a name of [`crate::tlb::replacement`].
    ///
    /// # Errors
    /// There is no such name.
    pub fn set_replacement(&mut self, name: &str) -> Result<(), String> {
        let TlbGeometry { ways, .. } = self.geometry;
        self.replacement = AnyReplacement::named(name, self.geometry.sets(), ways)?;
        Ok(())
    }

    /// Size and shape.
    #[must_use]
    pub fn geometry(&self) -> TlbGeometry {
        self.geometry
    }

    /// For an engine that knows which entry an access hits: writing that entry's way at the set's index has the same
    /// effect as [`Tlb::access`]. If [`Tlb::free_ways`] is 1, this holds only for the most recently used entry, whose
    /// way is there already. The index after the last set is for accesses that no entry translates.
    #[must_use]
    pub fn order(&self) -> &Fixed<u8> {
        &self.recent
    }

    /// Ways of which an engine may write in any order to [`Tlb::order`]; else 1.
    #[must_use]
    pub fn free_ways(&self) -> u32 {
        self.replacement.free_ways(self.geometry.ways)
    }

    /// Way of the most recently used entry of `ea`'s set.
    #[inline]
    #[must_use]
    pub fn recent_way(&self, ea: u32) -> u8 {
        self.recent[self.set(ea) as usize]
    }

    /// The number of `ea`'s set.
    #[inline]
    #[must_use]
    pub fn set(&self, ea: u32) -> u32 {
        ea >> 12 & self.set_mask
    }

    /// The set of `page` (an EA >> 12, or a tag's low bits).
    #[inline]
    fn set_of(&self, page: u32) -> usize {
        (page & self.set_mask) as usize
    }

    /// The entries of a set.
    #[inline]
    fn ways(&self, set: usize) -> &[TlbEntry] {
        let ways = self.geometry.ways as usize;
        &self.entries[set * ways..][..ways]
    }

    #[inline]
    fn ways_mut(&mut self, set: usize) -> &mut [TlbEntry] {
        let ways = self.geometry.ways as usize;
        &mut self.entries[set * ways..][..ways]
    }

    /// The entries that `tlbie` of `ea` invalidates, by their ways: this order does not depend on use.
    pub fn class(&self, ea: u32) -> impl Iterator<Item = &TlbEntry> {
        let entries = self.ways(self.set_of(ea >> 12));
        (0..entries.len()).filter_map(|way| entries.iter().find(|e| usize::from(e.way) == way))
    }

    /// The most recently used entry of `ea`'s set.
    #[must_use]
    pub fn mru(&self, ea: u32) -> &TlbEntry {
        let set = self.set_of(ea >> 12);
        &self.ways(set)[self.recent_element(set)]
    }

    /// Element of a set that was used last: 0, unless another one's way was written since the set was put in order.
    #[inline(always)]
    fn recent_element(&self, set: usize) -> usize {
        let way = self.recent[set];
        let entries = self.ways(set);
        if entries[0].way == way {
            return 0;
        }
        let found = entries.iter().position(|entry| entry.way == way);
        found.unwrap_or(0)
    }

    /// Puts a set in order, most recently used first.
    #[inline(always)]
    fn arrange(&mut self, set: usize) {
        let element = self.recent_element(set);
        if element != 0 {
            to_front(&mut self.ways_mut(set)[..=element]);
        }
    }

    /// All entries: set after set, each in some order.
    #[must_use]
    pub fn entries(&self) -> &[TlbEntry] {
        &self.entries
    }

    /// The entry with this number, independent of use: sets in order, and the ways of each set in order.
    #[must_use]
    pub fn entry(&self, number: u32) -> Option<&TlbEntry> {
        let (set, way) = (number / self.geometry.ways, number % self.geometry.ways);
        if set >= self.geometry.sets() {
            return None;
        }
        let entries = self.ways(set as usize);
        entries.iter().find(|entry| u32::from(entry.way) == way)
    }

    /// The entry with this tag; recency is not touched.
    #[inline]
    #[must_use]
    pub fn find(&self, tag: u64) -> Option<&TlbEntry> {
        let set = self.set_of(tag as u32);
        self.ways(set).iter().find(|entry| entry.tag == tag)
    }

    /// True if sets have two ways, and the one used longest ago is replaced.
    #[must_use]
    pub fn is_of_pairs(&self) -> bool {
        self.geometry.ways == 2 && self.replacement.takes_last()
    }

    /// True if there is no entry with this tag, of a TLB of pairs. Recency is not touched.
    #[inline(always)]
    #[must_use]
    pub fn pair_lacks(&self, tag: u64) -> bool {
        let (pairs, _) = self.entries.as_chunks();
        let pair = pairs.get(self.set_of(tag as u32));
        pair.is_some_and(|[one, other]: &[_; 2]| one.tag != tag && other.tag != tag)
    }

    /// [`Tlb::fill`] of a TLB of pairs that lacks the entry. Returns the tag of the old entry, if it was valid, and the
    /// way.
    #[inline(always)]
    pub fn replace_in_pair(&mut self, entry: TlbEntry) -> (Option<u64>, u8) {
        let set = self.set_of(entry.tag as u32);
        let old = self.take_place_in_pair(set, entry).unwrap_or_default();
        (old.valid().then_some(old.tag), old.way)
    }

    /// The entry of a set of two ways that was used longest ago gives its place to `entry`, which becomes most recently
    /// used. Returns the old entry; `None` if sets have other numbers of ways.
    #[inline(always)]
    fn take_place_in_pair(&mut self, set: usize, entry: TlbEntry) -> Option<TlbEntry> {
        let recent = self.recent[set];
        let [one, other] = self.pair(set)?;
        let place = if one.way == recent { other } else { one };
        let way = place.way;
        let old = std::mem::replace(place, TlbEntry { way, ..entry });
        self.recent[set] = way;
        Some(old)
    }

    /// Looks a tag up as an access: a hit becomes most recently used.
    #[inline(always)]
    pub fn access(&mut self, tag: u64) -> Option<TlbEntry> {
        let set = self.set_of(tag as u32);
        let Some([one, other]) = self.pair(set) else {
            return self.access_many(set, tag);
        };
        let entry = *if one.tag == tag { one } else { other };
        if entry.tag != tag {
            return None;
        }
        self.recent[set] = entry.way;
        self.replacement.used(set, entry.way);
        Some(entry)
    }

    /// The entries of a set, if sets have two.
    #[inline(always)]
    fn pair(&mut self, set: usize) -> Option<&mut [TlbEntry; 2]> {
        if self.geometry.ways != 2 {
            return None;
        }
        self.entries.as_chunks_mut().0.get_mut(set)
    }

    /// [`Tlb::access`] where sets have another number of ways than two.
    #[inline(never)]
    fn access_many(&mut self, set: usize, tag: u64) -> Option<TlbEntry> {
        self.arrange(set);
        let entries = self.ways(set);
        let element = entries.iter().position(|entry| entry.tag == tag)?;
        let entry = entries[element];
        if element != 0 {
            self.put_first(set, element, entry);
        }
        self.replacement.used(set, entry.way);
        Some(entry)
    }

    /// Replaces an entry of its set by `entry`, which becomes most recently used. Returns the replaced entry if it was
    /// valid and for another page.
    #[inline(always)]
    pub fn fill(&mut self, entry: TlbEntry) -> Option<TlbEntry> {
        let set = self.set_of(entry.tag as u32);
        if self.replacement.takes_last() {
            return self.replace_last(set, entry);
        }
        self.fill_otherwise(set, entry)
    }

    /// [`Tlb::fill`] where the entry used longest ago goes, valid or not.
    #[inline(always)]
    fn replace_last(&mut self, set: usize, entry: TlbEntry) -> Option<TlbEntry> {
        let Some(old) = self.take_place_in_pair(set, entry) else {
            return self.replace_last_of_many(set, entry);
        };
        (old.valid() && old.tag != entry.tag).then_some(old)
    }

    #[inline(never)]
    fn replace_last_of_many(&mut self, set: usize, entry: TlbEntry) -> Option<TlbEntry> {
        self.arrange(set);
        let entries = self.ways_mut(set);
        let old = *entries.last()?;
        to_front(entries);
        entries[0] = TlbEntry {
            way: old.way,
            ..entry
        };
        self.recent[set] = old.way;
        (old.valid() && old.tag != entry.tag).then_some(old)
    }

    #[inline(never)]
    fn fill_otherwise(&mut self, set: usize, entry: TlbEntry) -> Option<TlbEntry> {
        let way = self.victim(set);
        self.replace(set, way, entry)
    }

    /// Writes `entry` into the named way of its set (`tlbld`, `tlbli`), most recently used then. Returns the replaced
    /// entry if it was valid and for another page.
    pub fn write_way(&mut self, ea: u32, way: u8, entry: TlbEntry) -> Option<TlbEntry> {
        let set = self.set_of(ea >> 12);
        self.arrange(set);
        self.replace(set, way % self.geometry.ways as u8, entry)
    }

    /// Writes `entry` into `way` of a set that is in order.
    fn replace(&mut self, set: usize, way: u8, entry: TlbEntry) -> Option<TlbEntry> {
        let element = self.ways(set).iter().position(|old| old.way == way)?;
        let old = self.ways(set)[element];
        self.put_first(set, element, TlbEntry { way, ..entry });
        self.replacement.loaded(set, way);
        (old.valid() && old.tag != entry.tag).then_some(old)
    }

    /// Puts `entry` first in a set, in place of `element`.
    #[inline]
    fn put_first(&mut self, set: usize, element: usize, entry: TlbEntry) {
        let entries = &mut self.ways_mut(set)[..=element];
        entries[element] = entry;
        to_front(entries);
        self.recent[set] = entry.way;
    }

    /// Physical way that the next entry of `ea`'s set goes to.
    pub fn victim_way(&mut self, ea: u32) -> u8 {
        self.victim(self.set_of(ea >> 12))
    }

    /// Puts a set in order, and chooses the way to replace. Invalid entries are last, because only a valid one is used.
    #[inline]
    fn victim(&mut self, set: usize) -> u8 {
        self.arrange(set);
        let ways = self.geometry.ways as usize;
        let entries = &self.entries[set * ways..][..ways];
        match entries.last() {
            Some(last) if !last.valid() => self.replacement.free(entries),
            _ => self.replacement.victim(set, entries),
        }
    }

    /// Sets the C bit of the entry with this tag, if there is one.
    pub fn set_changed(&mut self, tag: u64) {
        let set = self.set_of(tag as u32);
        let entries = self.ways_mut(set);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.tag == tag) {
            entry.pte |= CHANGED;
        }
    }

    /// Invalidates every entry of `ea`'s set.
    pub fn invalidate_class(&mut self, ea: u32) {
        let set = self.set_of(ea >> 12);
        for entry in self.ways_mut(set) {
            *entry = TlbEntry {
                way: entry.way,
                ..TlbEntry::default()
            };
        }
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
        for (set, recent) in self.recent.iter_mut().enumerate() {
            *recent = self.entries.get(set * ways).map_or(0, TlbEntry::way);
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let ways = self.geometry.ways as usize;
        self.geometry == fresh.geometry
            && self.replacement.fits(&fresh.replacement)
            && self.entries.len() == fresh.entries.len()
            && self.recent.len() == fresh.recent.len()
            && self.set_mask == fresh.set_mask
            && self.recent.iter().all(|&way| usize::from(way) < ways)
            && self.entries.chunks(ways).all(|set| {
                let order: Vec<u8> = set.iter().map(TlbEntry::way).collect();
                is_order(&order)
            })
            && self
                .entries
                .iter()
                .enumerate()
                .all(|(n, entry)| !entry.valid() || self.set_of(entry.page()) == n / ways)
    }

    /// Every valid entry with its set, in the order of [`Tlb::entry`].
    pub fn valid_entries(&self) -> impl Iterator<Item = (u32, &TlbEntry)> + '_ {
        (0..self.entries.len() as u32)
            .filter_map(|number| Some((number / self.geometry.ways, self.entry(number)?)))
            .filter(|(_, entry)| entry.valid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tlbie_takes_comes_in_an_order_that_no_use_changes() {
        let geometry = TlbGeometry {
            entries: 8,
            ways: 4,
        };
        let mut tlb = Tlb::new(geometry).unwrap();
        tlb.set_replacement("random").unwrap();
        let tags = [0x0000_0000, 0x0000_4000].map(|ea| tag(0, ea));
        for tag in tags {
            assert_eq!(tlb.fill(TlbEntry::new(tag, 0)), None);
        }
        let class = |tlb: &Tlb| -> Vec<u64> { tlb.class(0).map(TlbEntry::tag).collect() };
        let before = class(&tlb);
        for tag in tags {
            assert!(tlb.access(tag).is_some());
            assert_eq!(class(&tlb), before);
        }
    }
}
