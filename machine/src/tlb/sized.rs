//! A TLB: set-associative or fully associative, with pages of all sizes, numbers of address spaces and global pages.
//! A set is chosen by the page's number, and a look-up tries one size after another.

use serde::{Deserialize, Serialize};

use super::Slot;
use super::replacement::AnyReplacement;
use crate::account::tlb_events::{Space, TlbPage};
use crate::account::{Account, Plain};
use crate::config::TlbConfig;

/// One translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The page's virtual address.
    pub page: u64,
    /// The page's physical address.
    pub frame: u64,
    /// The page has `1 << shift` bytes.
    pub shift: u8,
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

    /// Does it translate this address?
    fn holds(&self, va: u64, asid: u16) -> bool {
        self.valid() && (va ^ self.page) >> self.shift == 0 && (self.asid == asid || self.global)
    }
}

/// A page of 4 KB whose entry needs no search.
#[derive(Clone, Copy, Debug)]
struct Shortcut {
    /// The page's virtual address, with bits of rights in its lower 12 bits.
    page: u64,
    frame: u64,
    set: u32,
    way: u8,
}

const NO_SHORTCUT: Shortcut = Shortcut {
    page: 0,
    frame: 0,
    set: 0,
    way: 0,
};

const SHORTCUTS: usize = 256;

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
    #[serde(skip)]
    shortcuts: Vec<Shortcut>,
}

impl Tlb {
    /// An empty one.
    ///
    /// # Errors
    /// When there is no such replacement policy.
    pub fn new(config: &TlbConfig) -> Result<Tlb, String> {
        let sets = config.entries / config.ways;
        let name = config.replacement.as_deref().unwrap_or("pseudo-lru");
        let ways = 0..config.entries;
        Ok(Tlb {
            entries: ways
                .map(|n| Entry {
                    way: (n % config.ways) as u8,
                    ..Entry::default()
                })
                .collect(),
            ways: config.ways,
            replacement: AnyReplacement::named(name, sets, config.ways)?,
            shifts: 0,
            shortcuts: vec![NO_SHORTCUT; SHORTCUTS],
        })
    }

    /// Can a TLB like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Tlb) -> bool {
        self.entries.len() == fresh.entries.len()
            && self.ways == fresh.ways
            && self.replacement.fits(&fresh.replacement)
            && (self.entries.iter().zip(&fresh.entries)).all(|(entry, fresh)| {
                entry.way == fresh.way && (!entry.valid() || SIZES.contains(&entry.shift))
            })
    }

    fn sets(&self) -> usize {
        self.entries.len() / self.ways as usize
    }

    fn set_of(&self, va: u64, shift: u8) -> usize {
        (va >> shift) as usize & (self.sets() - 1)
    }

    /// Where the entry for `va` is, if there is one: its set and its way.
    fn find(&self, va: u64, asid: u16) -> Option<(usize, usize)> {
        let ways = self.ways as usize;
        let sizes: &[u8] = if self.sets() == 1 { &[0] } else { &SIZES };
        sizes.iter().find_map(|&shift| {
            if shift != 0 && self.shifts >> shift & 1 == 0 {
                return None;
            }
            let set = if shift == 0 {
                0
            } else {
                self.set_of(va, shift)
            };
            let entries = &self.entries[set * ways..][..ways];
            let mut found = entries.iter();
            let way = found
                .position(|entry| entry.holds(va, asid) && (shift == 0 || entry.shift == shift))?;
            Some((set, way))
        })
    }

    /// Looks `va` up, which is a use of the entry.
    pub fn look_up(&mut self, va: u64, asid: u16) -> Option<Entry> {
        let (set, way) = self.find(va, asid)?;
        self.replacement.used(set, way as u8);
        Some(self.entries[set * self.ways as usize + way])
    }

    /// As [`Tlb::look_up`], but not a use.
    #[must_use]
    pub fn peek(&self, va: u64, asid: u16) -> Option<Entry> {
        let (set, way) = self.find(va, asid)?;
        Some(self.entries[set * self.ways as usize + way])
    }

    /// The physical address of `va`, if its page has a shortcut with this right.
    #[inline(always)]
    pub fn quick(&mut self, va: u64, right: u8) -> Option<u64> {
        let shortcut = self.shortcuts.get((va >> 12) as usize % SHORTCUTS)?;
        if shortcut.page & !0xfff != va & !0xfff || shortcut.page as u8 & right == 0 {
            return None;
        }
        let (set, way, frame) = (shortcut.set as usize, shortcut.way, shortcut.frame);
        self.replacement.used(set, way);
        Some(frame | va & 0xfff)
    }

    /// The page of `va`, which has an entry, gets a shortcut for accesses with these rights.
    pub fn make_shortcut(&mut self, va: u64, asid: u16, rights: impl FnOnce(&Entry) -> u8) {
        let Some((set, way)) = self.find(va, asid) else {
            return;
        };
        let entry = self.entries[set * self.ways as usize + way];
        if entry.suspect {
            return;
        }
        let inside = (1_u64 << entry.shift) - 1;
        self.shortcuts[(va >> 12) as usize % SHORTCUTS] = Shortcut {
            page: va & !0xfff | u64::from(rights(&entry)),
            frame: entry.frame | va & inside & !0xfff,
            set: set as u32,
            way: way as u8,
        };
    }

    /// Whatever was found without a search is looked up again.
    pub fn drop_shortcuts(&mut self) {
        self.shortcuts.clear();
        self.shortcuts.resize(SHORTCUTS, NO_SHORTCUT);
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
        let set = if self.sets() == 1 {
            0
        } else {
            self.set_of(new.page, new.shift)
        };
        self.shifts |= 1 << new.shift;
        let entries = &self.entries[set * ways..][..ways];
        let same = entries
            .iter()
            .position(|old| old.holds(new.page, new.asid) && old.shift == new.shift);
        let way = match same {
            Some(way) => way,
            None if entries.iter().any(|old| !old.valid()) => self.replacement.free(entries).into(),
            None => {
                account.add_plain(evicted, 1);
                usize::from(self.replacement.victim(set, entries))
            }
        };
        let old = self.entries[set * ways + way];
        if old.valid() {
            self.drop_shortcut(old);
        }
        self.entries[set * ways + way] = Entry {
            way: way as u8,
            ..new
        };
        self.replacement.loaded(set, way as u8);
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

    /// The entries of a set leave: its number is this one, modulo the sets.
    pub fn leave(&mut self, set: u32) {
        let ways = self.ways as usize;
        let first = set as usize % self.sets() * ways;
        for entry in &mut self.entries[first..first + ways] {
            *entry = Entry {
                way: entry.way,
                ..Entry::default()
            };
        }
        self.drop_shortcuts();
    }

    /// Removes what a fence reaches: the page of an address or all, an address space or all with their global pages.
    /// Returns how many entries went.
    pub fn fence(&mut self, va: Option<u64>, asid: Option<u16>) -> u64 {
        let mut removed = 0;
        for entry in &mut self.entries {
            let page = va.is_none_or(|va| (va ^ entry.page) >> entry.shift == 0);
            let space = asid.is_none_or(|asid| entry.asid == asid && !entry.global);
            if entry.valid() && page && space {
                removed += 1;
                *entry = Entry {
                    way: entry.way,
                    ..Entry::default()
                };
            }
        }
        if removed != 0 {
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
