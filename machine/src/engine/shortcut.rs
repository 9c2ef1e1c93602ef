//! Shortcuts past BATs, segment registers and TLB, for pages that were translated before.

use crate::mmu::mpc8xx::tlb::Reach;
use crate::mmu::{Source, Tlb};

/// A page whose accesses of one kind need no look at BATs, segments or TLB. It is good for as long as
/// the TLB entry behind it, if there is one, stays in its way.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shortcut {
    /// Effective page that loads (or fetches) may use; [`NO_PAGE`]: none.
    pub load: u32,
    /// Effective page that stores may use.
    pub store: u32,
    /// Physical minus effective address.
    pub delta: u32,
    /// Where to write down that the TLB entry was used: its congruence class, or for a BAT or real
    /// mode the index behind the last class.
    pub class: u16,
    /// What to write there: the entry's way.
    pub way: u8,
}

/// No effective page: its low bits are not zero.
pub const NO_PAGE: u32 = 0xfff;

impl Shortcut {
    pub const NONE: Shortcut = Shortcut {
        load: NO_PAGE,
        store: NO_PAGE,
        delta: 0,
        class: 0,
        way: 0,
    };
}

/// Index of the shortcut of the page of `ea` among `mask` + 1. Pages a power of two apart, as arrays are
/// that are walked together, do not fall on the same one.
#[inline(always)]
pub fn place(ea: u32, mask: u32) -> usize {
    ((ea >> 12 ^ ea >> 20) & mask) as usize
}

/// The modes that have shortcuts of their own: supervisor, user, each with and without translation.
pub const MODES: usize = 4;

/// The shortcuts of fetches, or of data accesses.
#[derive(Debug)]
pub struct Shortcuts {
    tables: [Box<[Shortcut]>; MODES],
    empty: bool,
    /// The page behind each entry of the TLB that may have shortcuts: `ways` for each class.
    held: Box<[u32]>,
    classes: u32,
    /// Entries of a class that may have shortcuts at a time, a power of two: all, if writing down the
    /// way used last is all that LRU needs; else the most recently used one alone.
    ways: u32,
}

impl Shortcuts {
    /// No shortcuts yet; `length`, a power of two, is how many a mode has at most.
    pub fn new(length: usize, tlb: &Tlb) -> Shortcuts {
        let table = || vec![Shortcut::NONE; length].into_boxed_slice();
        let (classes, ways) = (tlb.geometry().sets(), tlb.free_ways());
        Shortcuts {
            tables: [table(), table(), table(), table()],
            empty: true,
            held: vec![NO_PAGE; (classes * ways) as usize].into_boxed_slice(),
            classes,
            ways,
        }
    }

    /// Are these shortcuts for a TLB of this size, whose table of ways used last has every class and one more?
    pub fn are_for(&self, tlb: &mut Tlb) -> bool {
        let (classes, ways) = (tlb.geometry().sets(), tlb.free_ways());
        let recent = tlb.recent_mut().len();
        (self.classes, self.ways) == (classes, ways) && recent == classes as usize + 1
    }

    /// Shortcuts of a mode, less one: for [`place`].
    pub fn mask(&self) -> u32 {
        self.tables[0].len() as u32 - 1
    }

    /// The shortcuts of `mode`, for the fast path.
    pub fn table(&mut self, mode: usize) -> *mut Shortcut {
        self.tables[mode].as_mut_ptr()
    }

    fn index(&self, ea: u32) -> usize {
        place(ea, self.mask())
    }

    /// The place of `page`'s shortcut.
    pub fn of(&self, mode: usize, page: u32) -> &Shortcut {
        &self.tables[mode][self.index(page)]
    }

    /// Makes `shortcut`, whose page is `load`, the one of that page.
    pub fn set(&mut self, mode: usize, shortcut: Shortcut) {
        let index = self.index(shortcut.load);
        self.tables[mode][index] = shortcut;
        self.empty = false;
    }

    /// Class and way for a shortcut of a page whose entry, if any, keeps no account of its use.
    pub fn unordered(&self) -> (u16, u8) {
        (self.classes as u16, 0)
    }

    /// `page` has been translated by `source`; an entry of `tlb` is now its class's most recently used
    /// one. Drops the shortcuts of the page that the entry's way held before. Returns class and way for
    /// a shortcut.
    pub fn translated(&mut self, page: u32, source: Source, tlb: &Tlb) -> (u16, u8) {
        if source != Source::Tlb {
            return self.unordered();
        }
        let class = page >> 12 & (self.classes - 1);
        let way = tlb.recent_way(page);
        self.hold(class * self.ways + (u32::from(way) & (self.ways - 1)), page);
        (class as u16, way)
    }

    fn hold(&mut self, place: u32, page: u32) {
        let old = std::mem::replace(&mut self.held[place as usize], page);
        if old == page || old == NO_PAGE {
            return;
        }
        self.drop_page(old);
    }

    fn drop_page(&mut self, page: u32) {
        let index = self.index(page);
        for table in &mut self.tables {
            if table[index].load == page {
                table[index] = Shortcut::NONE;
            }
        }
    }

    /// The translation of `reach` has changed.
    pub fn drop_reach(&mut self, reach: Reach) {
        let pages = reach.bytes >> 12;
        if pages <= self.mask() {
            for page in 0..pages {
                self.drop_page(reach.ea + (page << 12));
            }
        } else {
            for shortcut in self.tables.iter_mut().flatten() {
                if shortcut.load & !(reach.bytes - 1) == reach.ea {
                    *shortcut = Shortcut::NONE;
                }
            }
        }
    }

    /// The entries of `ea`'s congruence class have changed.
    pub fn drop_class(&mut self, ea: u32) {
        let class = ea >> 12 & (self.classes - 1);
        for way in 0..self.ways {
            self.hold(class * self.ways + way, NO_PAGE);
        }
    }

    /// Takes away the shortcuts of stores to the page of physical memory at `pa`.
    pub fn drop_stores(&mut self, pa: u32) {
        for shortcut in self.tables.iter_mut().flatten() {
            let physical = shortcut.store.wrapping_add(shortcut.delta);
            if shortcut.store != NO_PAGE && physical == pa & !0xfff {
                shortcut.store = NO_PAGE;
            }
        }
    }

    /// Translations have changed.
    pub fn drop_all(&mut self) {
        if !self.empty {
            for table in &mut self.tables {
                table.fill(Shortcut::NONE);
            }
            self.empty = true;
        }
    }
}
