//! A TLB: set-associative or fully associative, with pages of all sizes, numbers of address spaces and global pages.
//! A set is chosen by the page's number, and a look-up tries one size after another.

use serde::{Deserialize, Serialize};

use super::Slot;
use super::replacement::AnyReplacement;
use crate::account::tlb_events::{Space, TlbPage};
use crate::account::{Account, Plain};
use crate::config::TlbConfig;
use crate::memory::Fixed;

/// One translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The page's virtual address.
    pub page: u64,
    /// The page's physical address.
    pub frame: u64,
    /// The page has `1 << shift` bytes.
    pub shift: u8,
    /// The page-table entry maps `1 << leaf` bytes, if these are more.
    pub leaf: u8,
    /// What the page-table entry says of the page, as the architecture has it; of an entry without a translation 0.
    pub bits: u8,
    /// It is good in all address spaces.
    pub global: bool,
    /// What else the architecture has found of the page.
    pub rights: u8,
    pub asid: u16,
    pub way: u8,
    /// The sanitizer must see the next use.
    #[serde(skip)]
    pub suspect: bool,
}

impl Slot for Entry {
    fn valid(&self) -> bool {
        self.bits != 0
    }

    fn way(&self) -> u8 {
        self.way
    }
}

impl Entry {
    /// The physical address of `va`, which is in its page.
    #[inline(always)]
    #[must_use]
    pub fn physical(&self, va: u64) -> u64 {
        self.frame | va & ((1 << self.shift) - 1)
    }

    /// Is it a part of what its page-table entry maps?
    fn is_part(&self) -> bool {
        self.leaf > self.shift
    }

    /// Does it translate this address?
    fn holds(&self, va: u64, asid: u16) -> bool {
        self.valid() && (va ^ self.page) >> self.shift == 0 && (self.asid == asid || self.global)
    }
}

/// A page of 4 KB whose entry needs no search.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageShortcut {
    /// The page's virtual address, with the number of a mode from bit 8 on: [`PageShortcut::wanted`].
    page: u64,
    /// The same if stores may use it.
    stores: u64,
    /// Physical minus virtual address.
    delta: u64,
    /// Its entry: [`place`].
    place: u32,
    /// Bits of rights.
    rights: u8,
}

/// What compiled code has to know.
impl PageShortcut {
    pub const PAGE: usize = std::mem::offset_of!(PageShortcut, page);
    pub const STORES: usize = std::mem::offset_of!(PageShortcut, stores);
    pub const DELTA: usize = std::mem::offset_of!(PageShortcut, delta);
    pub const PLACE: usize = std::mem::offset_of!(PageShortcut, place);
    /// The logarithm of its size.
    pub const SHIFT: u32 = size_of::<PageShortcut>().trailing_zeros();

    /// What stands in a shortcut of the page of `va` in the mode of this number, below 16.
    #[inline(always)]
    #[must_use]
    pub fn wanted(va: u64, mode: u8) -> u64 {
        va & !0xfff | u64::from(mode) << 8
    }

    #[must_use]
    pub fn delta(&self) -> u64 {
        self.delta
    }

    /// Is it for what [`PageShortcut::wanted`] gives, with this right?
    #[inline(always)]
    #[must_use]
    pub fn is_for(&self, wanted: u64, right: u8) -> bool {
        self.page == wanted && self.rights & right != 0
    }
}

/// No address of a page.
const NO_PAGE: u64 = 0xff;

const NO_SHORTCUT: PageShortcut = PageShortcut {
    page: NO_PAGE,
    stores: NO_PAGE,
    delta: 0,
    place: 0,
    rights: 0,
};

/// Shortcuts of a TLB, by the page's number.
pub const SHORTCUTS: usize = 256;

/// A set and a way as one number.
fn place(set: usize, way: u8) -> u32 {
    (set as u32) << 8 | u32::from(way)
}

/// Which ways of a fully associative TLB can have the page of an address: a search looks at these alone. It finds what
/// a search of all would find, because both begin with the lowest way.
#[derive(Clone, Debug, Default)]
struct Index {
    /// Of pages of 4 KB, by the page's number: a bit for each way. Empty: there is no index.
    small: Vec<u64>,
    /// The same of all larger pages, and of all pages.
    large: u64,
    all: u64,
}

impl Index {
    const GROUPS: usize = 64;

    /// The index of these entries, if a word has a bit for each.
    fn of(entries: &[Entry]) -> Index {
        let mut index = Index::default();
        if entries.len() <= u64::BITS as usize {
            index.small = vec![0; Index::GROUPS];
            for (way, entry) in entries.iter().enumerate() {
                index.toggle(way, entry);
            }
        }
        index
    }

    fn group(va: u64) -> usize {
        (va >> 12) as usize % Index::GROUPS
    }

    /// Counts in an entry that comes to a way, or counts out one that leaves it: both change the same bits.
    fn toggle(&mut self, way: usize, entry: &Entry) {
        let Some(small) = self.small.get_mut(Index::group(entry.page)) else {
            return;
        };
        if entry.valid() {
            let of_size = if entry.shift > 12 {
                &mut self.large
            } else {
                small
            };
            *of_size ^= 1 << way;
            self.all ^= 1 << way;
        }
    }

    /// The lowest way whose entry `is` accepts, among the ways that can have the page of `va`. Without an index it
    /// looks at all ways.
    fn first(&self, va: u64, entries: &[Entry], is: impl Fn(&Entry) -> bool) -> Option<usize> {
        let Some(small) = self.small.get(Index::group(va)) else {
            return entries.iter().position(is);
        };
        let mut ways = small | self.large;
        while ways != 0 {
            let way = ways.trailing_zeros() as usize;
            if entries.get(way).is_some_and(&is) {
                return Some(way);
            }
            ways &= ways - 1;
        }
        None
    }

    /// Does each entry translate a page?
    fn is_full(&self, entries: &[Entry]) -> bool {
        if self.small.is_empty() {
            return entries.iter().all(Slot::valid);
        }
        self.all.count_ones() as usize == entries.len()
    }
}

/// Sizes of pages: so many bits of an address are inside of them.
const SIZES: [u8; 5] = [12, 16, 21, 30, 39];

/// The TLB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tlb {
    /// One set after another.
    entries: Vec<Entry>,
    ways: u32,
    replacement: AnyReplacement,
    /// Sizes of pages that it has had entries of, as bits; a fully associative one needs no such list.
    shifts: u64,
    /// It has had parts of larger pages.
    parts: bool,
    #[serde(skip)]
    shortcuts: Fixed<PageShortcut>,
    /// Of a fully associative one.
    #[serde(skip)]
    index: Index,
    /// The [`place`] that was used last, or [`NOT_USED`]. To use it again changes nothing.
    #[serde(skip)]
    used: u32,
}

const NOT_USED: u32 = u32::MAX;

impl Tlb {
    /// An empty one.
    ///
    /// # Errors
    /// When there is no such replacement policy.
    pub fn new(config: &TlbConfig) -> Result<Tlb, String> {
        let sets = config.entries / config.ways;
        let name = config.replacement.as_deref().unwrap_or("pseudo-lru");
        let ways = 0..config.entries;
        let mut tlb = Tlb {
            entries: ways
                .map(|n| Entry {
                    way: (n % config.ways) as u8,
                    ..Entry::default()
                })
                .collect(),
            ways: config.ways,
            replacement: AnyReplacement::named(name, sets, config.ways)?,
            shifts: 0,
            parts: false,
            shortcuts: Fixed::default(),
            index: Index::default(),
            used: NOT_USED,
        };
        tlb.make_derived();
        Ok(tlb)
    }

    /// Can a TLB like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Tlb) -> bool {
        self.entries.len() == fresh.entries.len()
            && self.ways == fresh.ways
            && self.replacement.fits(&fresh.replacement)
            && (self.entries.iter().zip(&fresh.entries)).all(|(entry, fresh)| {
                let sizes = SIZES.contains(&entry.shift) && u32::from(entry.leaf) < u64::BITS;
                entry.way == fresh.way && (!entry.valid() || sizes)
            })
    }

    fn is_fully_associative(&self) -> bool {
        self.entries.len() == self.ways as usize
    }

    fn sets(&self) -> usize {
        self.entries.len() / self.ways as usize
    }

    fn set_of(&self, va: u64, shift: u8) -> usize {
        (va >> shift) as usize & (self.sets() - 1)
    }

    /// Where the entry for `va` is, if there is one: its set and its way.
    fn find(&self, va: u64, asid: u16) -> Option<(usize, usize)> {
        if self.is_fully_associative() {
            let holds = |entry: &Entry| entry.holds(va, asid);
            return Some((0, self.index.first(va, &self.entries, holds)?));
        }
        let ways = self.ways as usize;
        self.sizes().find_map(|shift| {
            let set = self.set_of(va, shift);
            let mut entries = self.entries[set * ways..][..ways].iter();
            let way = entries.position(|entry| entry.holds(va, asid) && entry.shift == shift)?;
            Some((set, way))
        })
    }

    /// The sizes of pages that it has had entries of.
    fn sizes(&self) -> impl Iterator<Item = u8> + use<> {
        let shifts = self.shifts;
        (SIZES.into_iter()).filter(move |&shift| shifts >> shift & 1 != 0)
    }

    /// Puts an entry in a place. Returns the one that was there.
    fn put(&mut self, place: usize, new: Entry) -> Entry {
        let old = std::mem::replace(&mut self.entries[place], new);
        self.index.toggle(place, &old);
        self.index.toggle(place, &new);
        old
    }

    /// The entry in a place goes. Returns it.
    fn remove(&mut self, place: usize) -> Entry {
        let way = self.entries[place].way;
        let none = Entry {
            way,
            ..Entry::default()
        };
        self.put(place, none)
    }

    /// The entry is used.
    #[inline(always)]
    pub fn use_place(&mut self, place: u32) {
        if self.used != place {
            self.used = place;
            self.replacement.used((place >> 8) as usize, place as u8);
        }
    }

    /// How far into it the place that was used last is, for compiled code.
    pub const USED: usize = std::mem::offset_of!(Tlb, used);

    /// Its shortcuts, by the lower bits of the page's number.
    #[must_use]
    pub fn shortcuts(&self) -> &Fixed<PageShortcut> {
        &self.shortcuts
    }

    /// The only tree of a TLB that replaces by [`PseudoLru`], and what a use of each way does to it: see
    /// [`PseudoLru::tree`].
    pub(crate) fn tree(&self) -> Option<(*mut u64, *const [u64; 2])> {
        match &self.replacement {
            AnyReplacement::PseudoLru(policy) => policy.tree(),
            _ => None,
        }
    }

    /// Looks `va` up, which is a use of the entry.
    pub fn look_up(&mut self, va: u64, asid: u16) -> Option<Entry> {
        let (set, way) = self.find(va, asid)?;
        self.use_place(place(set, way as u8));
        Some(self.entries[set * self.ways as usize + way])
    }

    /// As [`Tlb::look_up`], but not a use.
    #[must_use]
    pub fn peek(&self, va: u64, asid: u16) -> Option<Entry> {
        let (set, way) = self.find(va, asid)?;
        Some(self.entries[set * self.ways as usize + way])
    }

    /// The physical address of `va`, if its page has a shortcut with this right in the mode of this number, below 16.
    #[inline(always)]
    pub fn quick(&mut self, va: u64, right: u8, mode: u8) -> Option<u64> {
        let shortcut = self.shortcuts.get((va >> 12) as usize % SHORTCUTS)?;
        if !shortcut.is_for(PageShortcut::wanted(va, mode), right) {
            return None;
        }
        let (place, delta) = (shortcut.place, shortcut.delta);
        self.use_place(place);
        Some(va.wrapping_add(delta))
    }

    /// The page of `va`, which has an entry, gets a shortcut for accesses with these rights in the mode of this number,
    /// if `needs` is one of them. `stores`: the right of stores.
    pub fn make_shortcut(
        &mut self,
        va: u64,
        asid: u16,
        mode: u8,
        (needs, stores): (u8, u8),
        rights: impl FnOnce(&Entry) -> u8,
    ) {
        let Some((set, way)) = self.find(va, asid) else {
            return;
        };
        let entry = self.entries[set * self.ways as usize + way];
        if entry.suspect {
            return;
        }
        let (page, rights) = (PageShortcut::wanted(va, mode), rights(&entry));
        if rights & needs == 0 {
            return;
        }
        self.shortcuts[(va >> 12) as usize % SHORTCUTS] = PageShortcut {
            page,
            stores: if rights & stores == 0 { NO_PAGE } else { page },
            delta: entry.physical(va).wrapping_sub(va),
            place: place(set, way as u8),
            rights,
        };
    }

    /// Whatever was found without a search is looked up again.
    pub fn drop_shortcuts(&mut self) {
        if self.shortcuts.is_empty() {
            self.shortcuts = Fixed::from(vec![NO_SHORTCUT; SHORTCUTS]);
        }
        self.shortcuts.fill(NO_SHORTCUT);
    }

    /// Makes what a snapshot does not hold.
    pub fn make_derived(&mut self) {
        self.drop_shortcuts();
        self.used = NOT_USED;
        if self.is_fully_associative() {
            self.index = Index::of(&self.entries);
        }
    }

    /// The next use of this entry, if it is there, does not go by a shortcut.
    pub fn suspect(&mut self, page: u64, shift: u8, asid: u16) {
        let same = |entry: &Entry| entry.valid() && entry.page == page && entry.shift == shift;
        for entry in &mut self.entries {
            entry.suspect |= same(entry) && (entry.asid == asid || entry.global);
        }
        self.drop_shortcuts();
    }

    /// The entry of `va`, and whether it was suspect; it is an ordinary one from now on. Not a use.
    pub fn take_suspect(&mut self, va: u64, asid: u16) -> Option<(Entry, bool)> {
        let (set, way) = self.find(va, asid)?;
        let entry = &mut self.entries[set * self.ways as usize + way];
        let suspect = std::mem::take(&mut entry.suspect);
        Some((*entry, suspect))
    }

    /// No entry is suspect.
    pub fn trust_all(&mut self) {
        for entry in &mut self.entries {
            entry.suspect = false;
        }
    }

    fn drop_shortcut(&mut self, entry: Entry) {
        if entry.shift > 12 {
            self.drop_shortcuts();
        } else if let Some(shortcut) = self
            .shortcuts
            .get_mut((entry.page >> 12) as usize % SHORTCUTS)
            && shortcut.page & !0xfff == entry.page
        {
            *shortcut = NO_SHORTCUT;
        }
    }

    /// Enters a translation. One of the same page is replaced; otherwise a place is chosen. `evicted` counts a page
    /// that had to go.
    pub fn enter(&mut self, new: Entry, account: &mut Account, evicted: Plain) {
        let ways = self.ways as usize;
        let set = if self.is_fully_associative() {
            0
        } else {
            self.set_of(new.page, new.shift)
        };
        self.shifts |= 1 << new.shift;
        self.parts |= new.is_part();
        let entries = &self.entries[set * ways..][..ways];
        let same = |old: &Entry| old.holds(new.page, new.asid) && old.shift == new.shift;
        let way = match self.index.first(new.page, entries, same) {
            Some(way) => way,
            None if !self.index.is_full(entries) => self.replacement.free(entries).into(),
            None => {
                account.add_plain(evicted, 1);
                usize::from(self.replacement.victim(set, entries))
            }
        };
        let new = Entry {
            way: way as u8,
            ..new
        };
        let old = self.put(set * ways + way, new);
        if old.valid() {
            self.drop_shortcut(old);
        }
        // A look-up may find the new one from now on where a shortcut leads to another.
        if self.overlaps(&new) {
            self.drop_shortcuts();
        }
        self.replacement.loaded(set, way as u8);
        self.used = place(set, way as u8);
    }

    /// A walk begins: notes the entries that there are, while walks are recorded.
    pub fn begin_walk(&self, account: &mut Account) {
        if let Some(note) = &mut account.tlb.walk {
            let page = |(_, entry): (usize, Entry)| TlbPage {
                address: entry.page as u32,
                space: Some(Space::Asid(entry.asid)),
            };
            note.begin(self.valid().map(|entry| Some(page(entry))));
        }
    }

    /// Can an address be in the page of this entry and in that of another?
    fn overlaps(&self, new: &Entry) -> bool {
        if !self.is_fully_associative() {
            return self.sizes().count() > 1;
        }
        let other = |old: &Entry| {
            let shift = old.shift.max(new.shift);
            old.valid() && old.way != new.way && (old.page ^ new.page) >> shift == 0
        };
        if new.shift > 12 {
            self.entries.iter().any(other)
        } else {
            self.index.first(new.page, &self.entries, other).is_some()
        }
    }

    /// The entries of a set leave: its number is this one, modulo the sets.
    pub fn leave(&mut self, set: u32) {
        let ways = self.ways as usize;
        let first = set as usize % self.sets() * ways;
        for place in first..first + ways {
            self.remove(place);
        }
        self.drop_shortcuts();
    }

    /// Removes what a fence reaches: all of the page-table entry of an address or of all, an address space or all with
    /// their global pages. Returns how many entries went.
    pub fn fence(&mut self, va: Option<u64>, asid: Option<u16>) -> u64 {
        let reached = |entry: &Entry| {
            let mapped = entry.leaf.max(entry.shift);
            let page = va.is_none_or(|va| (va ^ entry.page) >> mapped == 0);
            let space = asid.is_none_or(|asid| entry.asid == asid && !entry.global);
            entry.valid() && page && space
        };
        let mut removed = 0;
        let mut fence = |tlb: &mut Tlb, places: std::ops::Range<usize>| {
            for place in places {
                if reached(&tlb.entries[place]) {
                    let old = tlb.remove(place);
                    if va.is_some() {
                        tlb.drop_shortcut(old);
                    }
                    removed += 1;
                }
            }
        };
        match va {
            // The entry is in one set for each size of pages; parts of a page are in several.
            Some(va) if !self.is_fully_associative() && !self.parts => {
                let ways = self.ways as usize;
                for shift in self.sizes() {
                    let first = self.set_of(va, shift) * ways;
                    fence(self, first..first + ways);
                }
            }
            _ => fence(self, 0..self.entries.len()),
        }
        if removed != 0 && va.is_none() {
            self.drop_shortcuts();
        }
        removed
    }

    /// All translations, with their sets.
    pub fn valid(&self) -> impl Iterator<Item = (usize, Entry)> {
        let ways = self.ways as usize;
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| entry.valid())
            .map(move |(n, entry)| (n / ways, *entry))
    }
}
