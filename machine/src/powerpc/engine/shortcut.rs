//! Shortcuts around whatever the MMU would look up, for pages that were translated before.

use crate::memory::{Fixed, LineShortcuts};
use crate::powerpc::mmu::{Reach, Reached, Recency, Used};

/// A page whose accesses of one kind need no look-up in the MMU. It is valid as long as its TLB entry,
/// if it has one, stays in its way.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shortcut {
    /// Effective page that loads (or fetches) may use; [`NO_PAGE`]: none.
    pub load: u32,
    /// Effective page that stores may use; with [`SHOWN`], of those alone that the sanitizer is shown.
    pub store: u32,
    /// Physical minus effective address.
    pub delta: u32,
    /// Where to note that its TLB entry was used ([`Recency`]). If no TLB entry translates the page, this is the index
    /// after the last set.
    pub used: Used,
    /// Parts of the page whose lines may have shortcuts ([`LineShortcuts::parts`]).
    pub lines: u64,
}

/// No effective page: its low bits are not zero.
pub const NO_PAGE: u32 = 0xfff;

/// A bit of [`Shortcut::store`]: the sanitizer watches a piece of the page, so that no fast store may use it. It is
/// above the bits that tell an unaligned address.
pub const SHOWN: u32 = 0x800;

impl Shortcut {
    pub const NONE: Shortcut = Shortcut {
        load: NO_PAGE,
        store: NO_PAGE,
        delta: 0,
        used: Used {
            set: 0,
            way: 0,
            large: 0,
        },
        lines: 0,
    };
}

/// Index of the shortcut of the page of `ea` among `mask` + 1. Pages a power of two apart, as in arrays that are
/// walked together, get different ones.
#[inline(always)]
pub fn place(ea: u32, mask: u32) -> usize {
    ((ea >> 12 ^ ea >> 20) & mask) as usize
}

/// The modes that have shortcuts of their own: supervisor, user, each with and without translation; and [`FAR`].
pub const MODES: usize = 5;

/// Accesses to addresses of more than 32 bits, whose pages have no shortcuts.
pub const FAR: usize = 4;

const _: () = assert!(FAR == crate::memory::LINE_MODES);

/// The modes with translation come first: how many there are.
pub const TRANSLATED_MODES: usize = 2;

/// True if the pages of two elements of [`Shortcuts::held`] share an address.
fn overlap(one: u32, other: u32) -> bool {
    let kept = |page: u32| u32::MAX << (12 + (page & 0xfff));
    one != NO_PAGE && (one ^ other) & kept(one) & kept(other) == 0
}

/// The page of a TLB entry.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// [`NO_PAGE`]: none. The low bits are the logarithm of the number of 4 KB pages in it.
    page: u32,
    /// The modes in which the entry may have shortcuts, a bit for each. [`Shortcuts::set`] sets the bit whenever it
    /// makes a shortcut that notes this entry.
    modes: u32,
}

impl Held {
    const NONE: Held = Held {
        page: NO_PAGE,
        modes: 0,
    };
}

/// Drops the shortcuts of lines in these parts of a page. Most pages that go have none.
#[inline(always)]
fn drop_lines(mode: usize, parts: u64, lines: &LineShortcuts) {
    #[inline(never)]
    fn drop_some(mode: usize, parts: u64, lines: &LineShortcuts) {
        lines.drop_parts(mode, parts);
    }
    if parts != 0 {
        drop_some(mode, parts, lines);
    }
}

/// A bit for each mode.
const ALL_MODES: u32 = (1 << MODES) - 1;

/// The shortcuts of fetches, or of data accesses. When one goes, those of the page's lines in the D-cache go, too.
#[derive(Debug)]
pub struct Shortcuts {
    tables: [Fixed<Shortcut>; MODES],
    empty: bool,
    /// The page of each TLB entry that may have shortcuts: `ways` for each set.
    held: Box<[Held]>,
    sets: u32,
    /// Entries of a set that may have shortcuts at a time, a power of two ([`Recency::ways`]).
    ways: u32,
    /// Notes for a TLB that keeps no order of use.
    unread: Fixed<u8>,
}

impl Shortcuts {
    /// No shortcuts yet; `length`, a power of two, is how many a mode has at most.
    pub fn new(length: usize, tlb: &Recency<'_>) -> Shortcuts {
        let table = || Fixed::from(vec![Shortcut::NONE; length]);
        let (sets, ways) = (tlb.sets, tlb.ways);
        Shortcuts {
            tables: std::array::from_fn(|_| table()),
            empty: true,
            held: vec![Held::NONE; (sets * ways) as usize].into_boxed_slice(),
            sets,
            ways,
            unread: Fixed::from(vec![0; sets as usize + 1]),
        }
    }

    /// True if these shortcuts are for a TLB of this size, whose table of ways used last has one more element than it
    /// has sets.
    pub fn are_for(&self, tlb: &Recency<'_>) -> bool {
        let notes = |recent: &Fixed<u8>| recent.len() == self.unread.len();
        (self.sets, self.ways) == (tlb.sets, tlb.ways) && tlb.recent.is_none_or(notes)
    }

    /// Where to note the way used last of each class.
    pub fn recent(&self, tlb: &Recency<'_>) -> *mut u8 {
        tlb.recent.unwrap_or(&self.unread).pointer()
    }

    /// Shortcuts of a mode, less one: for [`place`].
    pub fn mask(&self) -> u32 {
        self.tables[0].len() as u32 - 1
    }

    /// The shortcuts of `mode`, for the fast path.
    pub fn table(&self, mode: usize) -> *mut Shortcut {
        self.tables[mode].pointer()
    }

    fn index(&self, ea: u32) -> usize {
        place(ea, self.mask())
    }

    /// The place of `page`'s shortcut.
    pub fn of(&self, mode: usize, page: u32) -> &Shortcut {
        &self.tables[mode][self.index(page)]
    }

    /// Where the entry that a shortcut notes is among `held`, if it notes one; else behind the last.
    #[inline(always)]
    fn place_of(&self, used: Used) -> usize {
        let way = u32::from(used.way) & (self.ways - 1);
        (u32::from(used.set) * self.ways + way) as usize
    }

    /// Stores `shortcut` for its page, `load`. `place` is what [`Shortcuts::translated`] has returned for the page.
    #[inline(always)]
    pub fn set(&mut self, mode: usize, shortcut: Shortcut, place: usize, lines: &LineShortcuts) {
        if let Some(held) = self.held.get_mut(place) {
            held.modes |= 1 << mode;
        }
        let index = self.index(shortcut.load);
        let old = std::mem::replace(&mut self.tables[mode][index], shortcut);
        drop_lines(mode, old.lines, lines);
        self.empty = false;
    }

    /// `page` has been translated, and `used` is now its set's most recently used entry. Drops the shortcuts of the
    /// page that the entry held before. Returns the place that a shortcut of `page` has to note, and where the entry is
    /// among `held`, for [`Shortcuts::set`].
    #[inline(always)]
    pub fn translated(
        &mut self,
        page: u32,
        used: Option<Used>,
        lines: &LineShortcuts,
    ) -> (Used, usize) {
        let Some(used) = used else {
            let nowhere = Used {
                set: self.sets as u16,
                way: 0,
                large: 0,
            };
            return (nowhere, self.held.len());
        };
        let page = page & u32::MAX << (12 + u32::from(used.large)) | u32::from(used.large);
        let place = self.place_of(used);
        self.hold(place, page, lines);
        (used, place)
    }

    /// [`Shortcuts::translated`] and [`Shortcuts::set`] of a page of 4 KB whose TLB entry has just been loaded. Nearly
    /// always the entry held another such page, with a shortcut in this mode and in no further one.
    #[inline(always)]
    pub fn loaded(&mut self, mode: usize, shortcut: Shortcut, lines: &LineShortcuts) {
        let page = shortcut.load;
        let (number, modes) = (self.place_of(shortcut.used), 1 << mode);
        let old = std::mem::replace(&mut self.held[number], Held { page, modes });
        if old.page & 0xfff != 0 || old.modes & !modes != 0 {
            self.drop_held(old, lines);
        }
        self.empty = false;
        let table = &mut *self.tables[mode];
        let mask = table.len() as u32 - 1;
        let before = &mut table[place(old.page, mask)];
        if before.load == old.page {
            let parts = before.lines;
            *before = Shortcut::NONE;
            drop_lines(mode, parts, lines);
        }
        let before = std::mem::replace(&mut table[place(page, mask)], shortcut);
        drop_lines(mode, before.lines, lines);
    }

    /// As [`Shortcuts::translated`], of a page that has no shortcuts.
    pub fn translated_far(&mut self, used: Option<Used>, lines: &LineShortcuts) {
        if let Some(used) = used {
            self.release(self.place_of(used), lines);
        }
    }

    #[inline(always)]
    fn hold(&mut self, place: usize, page: u32, lines: &LineShortcuts) {
        let held = &mut self.held[place];
        if held.page == page {
            return;
        }
        let old = std::mem::replace(held, Held { page, modes: 0 });
        self.empty = false;
        if (old.page | page) & 0xfff == 0 {
            self.drop_page(old.page, old.modes, lines);
        } else {
            self.held_large(place, page, old, lines);
        }
    }

    /// `page` has taken the place of `old`, where it or the old one has more than 4 KB, or there was no old one.
    #[inline(never)]
    fn held_large(&mut self, place: usize, page: u32, old: Held, lines: &LineShortcuts) {
        // Addresses of smaller pages may go by the large page from now on. A smaller page that comes replaces its own
        // shortcut.
        if page & 0xfff != 0 {
            let ways = self.ways as usize;
            let set = place & !(ways - 1);
            for other in (set..set + ways).filter(|&other| other != place) {
                if overlap(self.held[other].page, page) {
                    self.release(other, lines);
                }
            }
        }
        self.drop_held(old, lines);
    }

    /// Drops the shortcuts of the page that an entry held.
    fn release(&mut self, place: usize, lines: &LineShortcuts) {
        let old = std::mem::replace(&mut self.held[place], Held::NONE);
        self.drop_held(old, lines);
    }

    /// Drops the shortcuts of a page that an entry held, if it held one.
    #[inline(never)]
    fn drop_held(&mut self, old: Held, lines: &LineShortcuts) {
        if old.page == NO_PAGE {
            return;
        }
        match old.page & 0xfff {
            0 => self.drop_page(old.page, old.modes, lines),
            large => self.drop_reach(
                Reach::Page {
                    ea: old.page & !0xfff,
                    bytes: 4096 << large,
                },
                lines,
            ),
        }
    }

    /// Drops the shortcuts of a page in these modes.
    #[inline(always)]
    fn drop_page(&mut self, page: u32, mut modes: u32, lines: &LineShortcuts) {
        let index = self.index(page);
        while modes != 0 {
            let mode = modes.trailing_zeros() as usize;
            let shortcut = &mut self.tables[mode][index];
            if shortcut.load == page {
                let old = std::mem::replace(shortcut, Shortcut::NONE);
                drop_lines(mode, old.lines, lines);
            }
            modes &= modes - 1;
        }
    }

    /// The translation of these addresses may have changed.
    pub fn forget(&mut self, reached: Reached, lines: &LineShortcuts) {
        match reached {
            Reached::Nothing => {}
            Reached::These(reaches) => {
                for reach in reaches.into_iter().flatten() {
                    self.drop_reach(reach, lines);
                }
            }
            Reached::Everything => self.drop_all(lines),
        }
    }

    /// The translation of `reach` may have changed.
    pub fn drop_reach(&mut self, reach: Reach, lines: &LineShortcuts) {
        match reach {
            Reach::Set(ea) => {
                let set = ea >> 12 & (self.sets - 1);
                for way in 0..self.ways {
                    self.release((set * self.ways + way) as usize, lines);
                }
            }
            Reach::Page { ea, bytes } if bytes >> 12 <= self.mask() => {
                for page in 0..bytes >> 12 {
                    self.drop_page(ea + (page << 12), ALL_MODES, lines);
                }
            }
            Reach::Page { ea, bytes } => {
                for (mode, table) in self.tables.iter_mut().enumerate() {
                    for shortcut in table.iter_mut() {
                        if shortcut.load & !(bytes - 1) == ea {
                            lines.drop_parts(mode, shortcut.lines);
                            *shortcut = Shortcut::NONE;
                        }
                    }
                }
            }
        }
    }

    /// Drops the shortcuts for stores to the physical page at `pa`, but those of stores that are shown.
    pub fn drop_stores(&mut self, pa: u32, lines: &LineShortcuts) {
        for (mode, table) in self.tables.iter_mut().enumerate() {
            for shortcut in table.iter_mut() {
                let physical = shortcut.store.wrapping_add(shortcut.delta);
                if shortcut.store != NO_PAGE && physical == pa & !0xfff {
                    lines.drop_parts(mode, std::mem::take(&mut shortcut.lines));
                    shortcut.store = NO_PAGE;
                }
            }
        }
    }

    /// Translations have changed.
    pub fn drop_all(&mut self, lines: &LineShortcuts) {
        if !self.empty {
            lines.drop_all();
            for table in &mut self.tables {
                table.fill(Shortcut::NONE);
            }
            self.held.fill(Held::NONE);
            self.empty = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortcut that the fast path finds for `ea`.
    ///
    /// # Safety
    /// `table` must be of shortcuts that live, with `mask` + 1 of them in a mode, and no reference to one may live.
    unsafe fn found<'a>(table: *mut Shortcut, mask: u32, ea: u32) -> &'a mut Shortcut {
        // SAFETY: the caller's.
        unsafe { &mut *table.add(place(ea, mask)) }
    }

    #[test]
    fn a_table_is_written_by_both_paths() {
        let recent = Fixed::from(vec![0; 5]);
        let tlb = Recency {
            sets: 4,
            ways: 2,
            recent: Some(&recent),
        };
        let mut shortcuts = Shortcuts::new(16, &tlb);
        let lines = LineShortcuts::default();
        let (table, mask) = (shortcuts.table(1), shortcuts.mask());
        let notes = shortcuts.recent(&tlb);
        let used = Used {
            set: 2,
            way: 1,
            large: 0,
        };
        let page = |page, used| Shortcut {
            load: page,
            store: page,
            delta: 0x1000,
            used,
            lines: 0,
        };
        let (noted, place) = shortcuts.translated(0x2000, Some(used), &lines);
        shortcuts.set(1, page(0x2000, noted), place, &lines);
        // SAFETY: the shortcuts and the notes live, and each reference ends before the next statement.
        unsafe {
            let known = found(table, mask, 0x2004);
            assert_eq!((known.load, known.store), (0x2000, 0x2000));
            known.lines |= 2;
            *notes.add(usize::from(known.used.set)) = known.used.way;
        }
        assert_eq!(shortcuts.of(1, 0x2000).lines, 2);
        assert_eq!(*recent, [0, 0, 1, 0, 0]);
        shortcuts.drop_stores(0x3000, &lines);
        // SAFETY: as above.
        unsafe {
            let known = found(table, mask, 0x2004);
            assert_eq!((known.load, known.store, known.lines), (0x2000, NO_PAGE, 0));
            known.lines = 1;
        }
        // Another page takes the entry.
        let (noted, place) = shortcuts.translated(0x6000, Some(used), &lines);
        // SAFETY: as above.
        assert_eq!(unsafe { found(table, mask, 0x2004).load }, NO_PAGE);
        shortcuts.set(1, page(0x6000, noted), place, &lines);
        // SAFETY: as above.
        assert_eq!(unsafe { found(table, mask, 0x6000).load }, 0x6000);
        // A large page that comes to another entry of the set may translate it.
        let large = Used {
            way: 0,
            large: 4,
            ..used
        };
        shortcuts.translated(0x12_0000, Some(large), &lines);
        // SAFETY: as above.
        assert_eq!(unsafe { found(table, mask, 0x6000).load }, 0x6000);
        let (noted, place) = shortcuts.translated(0x1000, Some(large), &lines);
        // SAFETY: as above.
        assert_eq!(unsafe { found(table, mask, 0x6000).load }, NO_PAGE);
        shortcuts.set(1, page(0x1000, noted), place, &lines);
        shortcuts.forget(Reached::Everything, &lines);
        // SAFETY: as above.
        assert_eq!(unsafe { found(table, mask, 0x1000).load }, NO_PAGE);
    }
}
