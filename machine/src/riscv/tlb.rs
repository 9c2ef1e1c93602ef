//! A TLB: set-associative or fully associative, with pages of all sizes, numbers of address spaces and global pages.
//! A set is chosen by the page's number, and a look-up tries one size after another.

use serde::{Deserialize, Serialize};

use super::csr::mstatus;
use super::pmp::right;
use crate::account::{Account, Plain};
use crate::config::TlbConfig;
use crate::tlb::Slot;
use crate::tlb::replacement::AnyReplacement;

/// Bits of a page-table entry.
pub mod pte {
    pub const VALID: u64 = 1;
    pub const READ: u64 = 1 << 1;
    pub const WRITE: u64 = 1 << 2;
    pub const EXECUTE: u64 = 1 << 3;
    pub const USER: u64 = 1 << 4;
    pub const GLOBAL: u64 = 1 << 5;
    pub const ACCESSED: u64 = 1 << 6;
    pub const DIRTY: u64 = 1 << 7;
    /// Reserved, as no extension is there that uses them.
    pub const RESERVED: u64 = 0x1ff << 54;
    /// One of several equal entries, which stand for a larger page (Svnapot).
    pub const NAPOT: u64 = 1 << 63;
    /// What a TLB keeps of an entry that is not valid: no right, and not nothing.
    pub const NONE: u64 = ACCESSED;
}

/// One translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The page's virtual address.
    pub page: u64,
    /// The page's physical address.
    pub frame: u64,
    /// The page has `1 << shift` bytes.
    pub shift: u8,
    /// Bits of [`pte`]; of an entry without a translation 0.
    pub bits: u8,
    /// What physical memory protection allows there, for modes below machine mode.
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
    fn is_global(&self) -> bool {
        u64::from(self.bits) & pte::GLOBAL != 0
    }

    /// Does it translate this address?
    fn holds(&self, va: u64, asid: u16) -> bool {
        self.valid()
            && (va ^ self.page) >> self.shift == 0
            && (self.asid == asid || self.is_global())
    }

    /// How many of the other sizes of leaves are smaller than this one.
    #[must_use]
    pub fn larger(shift: u8) -> u32 {
        u32::from(shift).saturating_sub(12) / 9
    }

    /// What an access with these rights may do.
    #[must_use]
    pub fn allows(&self, right: u8, mode: Mode) -> bool {
        let bits = u64::from(self.bits);
        let user = bits & pte::USER != 0;
        let belongs = match mode {
            Mode::User => user,
            Mode::Supervisor { sum, .. } => !user || sum && right != right::EXECUTE,
        };
        let allowed = match right {
            right::READ => {
                let readable = pte::READ
                    | if mode.executable_reads() {
                        pte::EXECUTE
                    } else {
                        0
                    };
                bits & readable != 0
            }
            right::WRITE => bits & pte::WRITE != 0,
            _ => bits & pte::EXECUTE != 0,
        };
        belongs && allowed
    }
}

/// Who accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    User,
    Supervisor { sum: bool, mxr: bool },
}

impl Mode {
    /// The mode of accesses with this privilege, under this mstatus.
    #[must_use]
    pub fn new(supervisor: bool, status: u64) -> Mode {
        if supervisor {
            Mode::Supervisor {
                sum: status & mstatus::SUM != 0,
                mxr: status & mstatus::MXR != 0,
            }
        } else {
            Mode::User
        }
    }

    fn executable_reads(self) -> bool {
        matches!(self, Mode::Supervisor { mxr: true, .. })
    }
}

/// A page of 4 KB whose entry needs no search.
#[derive(Clone, Copy, Debug)]
struct Shortcut {
    /// The page's virtual address, with bits of [`right`] that are allowed in the mode of this TLB.
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

/// A TLB.
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

    /// The page of `va`, which has an entry, gets a shortcut for accesses of this mode.
    pub fn make_shortcut(&mut self, va: u64, asid: u16, mode: Mode) {
        let Some((set, way)) = self.find(va, asid) else {
            return;
        };
        let entry = self.entries[set * self.ways as usize + way];
        if entry.suspect {
            return;
        }
        let dirty = u64::from(entry.bits) & pte::DIRTY != 0;
        let may = |right: u8| {
            entry.rights & right != 0
                && entry.allows(right, mode)
                && (right != right::WRITE || dirty)
        };
        let rights = [right::READ, right::WRITE, right::EXECUTE].into_iter();
        let rights = rights
            .filter(|&right| may(right))
            .fold(0, |all, right| all | right);
        let inside = (1_u64 << entry.shift) - 1;
        self.shortcuts[(va >> 12) as usize % SHORTCUTS] = Shortcut {
            page: va & !0xfff | u64::from(rights),
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
            entry.suspect |= same(entry) && (entry.asid == asid || entry.is_global());
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

    /// Removes what a fence reaches: the page of an address or all, an address space or all with their global pages.
    /// Returns how many entries went.
    pub fn fence(&mut self, va: Option<u64>, asid: Option<u16>) -> u64 {
        let mut removed = 0;
        for entry in &mut self.entries {
            let page = va.is_none_or(|va| (va ^ entry.page) >> entry.shift == 0);
            let space = asid.is_none_or(|asid| entry.asid == asid && !entry.is_global());
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

/// A cache of entries that point to tables, by their physical address: fully associative, pseudo-LRU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WalkCache {
    entries: Vec<Pointer>,
    replacement: AnyReplacement,
}

/// Where an entry lies, and the table that it points to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pointer {
    valid: bool,
    at: u64,
    table: u64,
    way: u8,
}

impl Slot for Pointer {
    fn valid(&self) -> bool {
        self.valid
    }

    fn way(&self) -> u8 {
        self.way
    }
}

impl WalkCache {
    /// An empty one.
    ///
    /// # Errors
    /// When the policy of its replacement is not there.
    pub fn new(entries: u32) -> Result<WalkCache, String> {
        Ok(WalkCache {
            entries: (0..entries)
                .map(|n| Pointer {
                    way: n as u8,
                    ..Pointer::default()
                })
                .collect(),
            replacement: AnyReplacement::named("pseudo-lru", 1, entries.max(1))?,
        })
    }

    /// Can one like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &WalkCache) -> bool {
        self.entries.len() == fresh.entries.len()
            && self.replacement.fits(&fresh.replacement)
            && (self.entries.iter().zip(&fresh.entries))
                .all(|(entry, fresh)| entry.way == fresh.way)
    }

    /// True if there is none.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.entries.is_empty()
    }

    /// The table that the entry at `at` points to.
    pub fn look_up(&mut self, at: u64) -> Option<u64> {
        let way = self
            .entries
            .iter()
            .position(|entry| entry.valid && entry.at == at)?;
        self.replacement.used(0, way as u8);
        Some(self.entries[way].table)
    }

    /// Remembers an entry. True if another one had to go.
    pub fn enter(&mut self, at: u64, table: u64) -> bool {
        let full = self.entries.iter().all(|entry| entry.valid);
        let way = if full {
            self.replacement.victim(0, &self.entries)
        } else {
            self.replacement.free(&self.entries)
        };
        self.entries[usize::from(way)] = Pointer {
            valid: true,
            at,
            table,
            way,
        };
        self.replacement.loaded(0, way);
        full
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        for entry in &mut self.entries {
            entry.valid = false;
        }
    }
}
