//! Shortcuts to lines that a data cache used last, for an engine.
//!
//! A shortcut says of an effective address: its page has a translation that may be used without a look-up, and its line
//! is the most recently used one of its set and complete. So an access there changes nothing but RAM and the TLB's note
//! of the way used last, and both places are in the shortcut. The engine makes one when it has found this out. The
//! cache drops the shortcuts of a set as soon as the set's first element changes, or may no longer be written; the
//! engine those of a page as soon as its translation may have changed.
//!
//! They are found by the offset of an effective address in its page, in pieces of 16 bytes, the length of the shortest
//! line: that part of an address is the same before and after translation. So the cache finds the shortcuts of a set
//! where a way has 4 KB or less. Where a way is larger (604e, 970), the sets whose lines have the same offset share
//! their shortcuts: the line that was used last of them has them, and a change of any of these sets drops them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr;

/// A shortcut. Its place among those of its mode is that of the piece in its page.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LineShortcut {
    /// Effective address of the piece, for loads; [`LineShortcut::NOWHERE`]: none.
    load: u32,
    /// The same for stores: the line is modified already, and no other processor's.
    store: u32,
    /// The host's address of the byte at effective address 0, if the page went on to there.
    origin: *mut u8,
    /// Where the TLB notes the way used last, and which one that is.
    recent: *mut u8,
    way: u8,
}

/// Bytes that a shortcut is for.
const PIECE: usize = 16;

const PAGE: usize = 4096;

/// Where compiled code finds a shortcut's parts.
impl LineShortcut {
    /// The place of a shortcut in its table, in bytes, for each byte of the offset of its piece in the page.
    pub const SCALE: usize = size_of::<LineShortcut>() / PIECE;
    pub const LOAD: usize = std::mem::offset_of!(LineShortcut, load);
    pub const STORE: usize = std::mem::offset_of!(LineShortcut, store);
    pub const ORIGIN: usize = std::mem::offset_of!(LineShortcut, origin);
    pub const RECENT: usize = std::mem::offset_of!(LineShortcut, recent);
    pub const WAY: usize = std::mem::offset_of!(LineShortcut, way);
}

impl LineShortcut {
    /// No address of a piece, and no address in one that is a multiple of the size of an access.
    const NOWHERE: u32 = 12;

    const NONE: LineShortcut = LineShortcut {
        load: Self::NOWHERE,
        store: Self::NOWHERE,
        origin: ptr::null_mut(),
        recent: ptr::null_mut(),
        way: 0,
    };

    /// Where the byte at `ea` is in the host's memory, if this shortcut is for an access to `bytes` there, a power of
    /// two and 8 at most. Notes that the page was used.
    ///
    /// # Safety
    /// The TLB's note must be where it was when the shortcut was made.
    #[inline(always)]
    pub unsafe fn host(&self, ea: u32, bytes: u32, store: bool) -> Option<*mut u8> {
        let piece = if store { self.store } else { self.load };
        // One comparison for piece and alignment: an unaligned address has low bits that no piece has.
        if ea & (!(PIECE as u32 - 1) | (bytes - 1)) != piece {
            return None;
        }
        // SAFETY: the caller's.
        unsafe { *self.recent = self.way };
        Some(self.origin.wrapping_add(ea as usize))
    }
}

/// What a new shortcut needs to know.
#[derive(Clone, Copy, Debug)]
pub struct NewLine {
    /// An address in the line, and where the byte there is in the host's memory.
    pub ea: u32,
    pub host: *mut u8,
    /// Stores may use it too.
    pub store: bool,
    /// Where the TLB notes the way used last, and which one that is.
    pub recent: *mut u8,
    pub way: u8,
}

/// Modes with shortcuts of their own. The table after the last one is always empty.
pub const LINE_MODES: usize = 4;

/// All shortcuts of a cache.
#[repr(C)]
struct Tables {
    modes: [[LineShortcut; PAGE / PIECE]; LINE_MODES + 1],
    /// The modes in which lines of the set whose first line begins in this piece may have shortcuts, a bit for each.
    made: [u8; PAGE / PIECE],
}

/// The shortcuts of a cache. A copy has none, nor has a cache of which an engine has not asked for them.
pub struct LineShortcuts {
    /// Its own allocation, or null. No `&mut` to it is ever made, because an engine has pointers to it.
    tables: *mut Tables,
    /// Bytes of a line.
    line: usize,
    /// Bytes of a way, or 4096 if it is larger: so far apart are the offsets of the lines of a set.
    span: usize,
    /// A mask for the number of the first piece of a set's first line.
    sets: usize,
    /// Shortcuts were to be dropped, and there are none here ([`LineShortcuts::catch_up`]).
    missed: Cell<bool>,
}

// SAFETY: `tables` is this structure's own allocation.
unsafe impl Send for LineShortcuts {}

impl std::fmt::Debug for LineShortcuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineShortcuts")
    }
}

impl Default for LineShortcuts {
    fn default() -> Self {
        LineShortcuts {
            tables: ptr::null_mut(),
            line: PIECE,
            span: PAGE,
            sets: PAGE / PIECE - 1,
            missed: Cell::new(false),
        }
    }
}

impl Clone for LineShortcuts {
    fn clone(&self) -> Self {
        LineShortcuts::default()
    }
}

impl Drop for LineShortcuts {
    fn drop(&mut self) {
        if !self.tables.is_null() {
            // SAFETY: allocated in `make` with the same layout.
            unsafe { dealloc(self.tables.cast(), Layout::new::<Tables>()) }
        }
    }
}

impl LineShortcuts {
    /// Makes room for the shortcuts of a cache with lines of `line` bytes and ways of `way`. There are none from now
    /// on.
    pub fn make(&mut self, line: u32, way: u32) {
        if self.tables.is_null() {
            // SAFETY: the layout's size is not zero.
            self.tables = unsafe { alloc(Layout::new::<Tables>()) }.cast();
            if self.tables.is_null() {
                handle_alloc_error(Layout::new::<Tables>());
            }
        }
        (self.line, self.span) = (line as usize, PAGE.min(way as usize));
        self.sets = ((self.span - 1) & !(self.line - 1)) / PIECE;
        for mode in 0..=LINE_MODES {
            for piece in 0..PAGE / PIECE {
                // SAFETY: `tables` has so many modes and pieces.
                unsafe { (*self.tables).modes[mode][piece] = LineShortcut::NONE };
            }
        }
        for piece in 0..PAGE / PIECE {
            // SAFETY: as above.
            unsafe { (*self.tables).made[piece] = 0 };
        }
    }

    /// The shortcuts of `mode`, for [`LineShortcuts::of`]; after the last mode there are never any. Null before
    /// [`LineShortcuts::make`].
    #[must_use]
    pub fn table(&self, mode: usize) -> *const LineShortcut {
        if self.tables.is_null() {
            return ptr::null();
        }
        // SAFETY: `tables` is allocated; the place of a mode is checked.
        unsafe { (&raw const (*self.tables).modes[mode]).cast() }
    }

    /// The shortcut of `ea` in a table.
    ///
    /// # Safety
    /// `table` must be of a cache that has its shortcuts still.
    #[inline(always)]
    pub unsafe fn of<'a>(table: *const LineShortcut, ea: u32) -> &'a LineShortcut {
        let offset = ea as usize & (PAGE - PIECE);
        // SAFETY: a table has a shortcut for each piece of a page. Nothing is written to it while an access uses it.
        unsafe { &*table.byte_add(offset * LineShortcut::SCALE) }
    }

    /// Stores the shortcuts of a line in `mode`.
    pub fn set(&self, mode: usize, new: &NewLine) {
        if self.tables.is_null() || mode >= LINE_MODES {
            return;
        }
        let start = new.ea & !(self.line as u32 - 1);
        let origin = new.host.wrapping_sub(new.ea as usize);
        let first = start as usize % PAGE / PIECE;
        for n in 0..self.line / PIECE {
            let ea = start + (n * PIECE) as u32;
            let shortcut = LineShortcut {
                load: ea,
                store: if new.store { ea } else { LineShortcut::NOWHERE },
                origin,
                recent: new.recent,
                way: new.way,
            };
            // SAFETY: `tables` is allocated; the line lies in a page.
            unsafe { (*self.tables).modes[mode][first + n] = shortcut };
        }
        let set = first & self.sets;
        // SAFETY: as above.
        unsafe { (*self.tables).made[set] |= 1 << mode };
    }

    /// Drops the shortcuts of the lines of the set of `pa`.
    #[inline(always)]
    pub fn drop_set(&self, pa: u32) {
        if self.tables.is_null() {
            return;
        }
        let first = (pa as usize / PIECE) & self.sets;
        // SAFETY: `tables` is allocated and has every piece of a page.
        let made = unsafe { (*self.tables).made[first % (PAGE / PIECE)] };
        if made != 0 {
            self.drop_lines(first);
        }
    }

    /// As [`LineShortcuts::drop_set`], of the set whose first line is in this piece. There are tables.
    #[inline(never)]
    fn drop_lines(&self, first: usize) {
        // SAFETY: `tables` is allocated and has every piece of a page.
        let mut made = unsafe { std::mem::take(&mut (*self.tables).made[first]) };
        while made != 0 {
            for first in (first..PAGE / PIECE).step_by(self.span / PIECE) {
                self.drop_pieces(made.trailing_zeros() as usize, first, self.line / PIECE);
            }
            made &= made - 1;
        }
    }

    /// These are the shortcuts of a cache that was elsewhere, while `absent` stood in its place: they missed what was
    /// to be dropped there.
    pub fn catch_up(&self, absent: &LineShortcuts) {
        if absent.missed.replace(false) {
            self.drop_all();
        }
    }

    /// Drops the shortcuts of `mode` in these parts of pages: one bit for each [`LineShortcuts::PART`] bytes.
    #[inline]
    pub fn drop_parts(&self, mode: usize, mut parts: u64) {
        if self.tables.is_null() {
            self.missed.set(true);
            return;
        }
        if mode >= LINE_MODES {
            return;
        }
        while parts != 0 {
            let first = parts.trailing_zeros() as usize * (Self::PART / PIECE);
            self.drop_pieces(mode, first, Self::PART / PIECE);
            parts &= parts - 1;
        }
    }

    /// Bytes of a part of a page.
    const PART: usize = PAGE / u64::BITS as usize;

    /// The parts that the line of `ea` lies in.
    #[inline]
    #[must_use]
    pub fn parts(&self, ea: u32) -> u64 {
        let first = ea as usize & (PAGE - 1) & !(self.line - 1);
        let count = self.line.div_ceil(Self::PART);
        (u64::MAX >> (u64::BITS as usize - count)) << (first / Self::PART)
    }

    #[inline(always)]
    fn drop_pieces(&self, mode: usize, first: usize, count: usize) {
        for piece in first..first + count {
            // SAFETY: `tables` is allocated, and the callers' pieces lie in a page.
            unsafe {
                let shortcut = &raw mut (*self.tables).modes[mode][piece];
                (*shortcut).load = LineShortcut::NOWHERE;
                (*shortcut).store = LineShortcut::NOWHERE;
            }
        }
    }

    /// Drops all shortcuts.
    pub fn drop_all(&self) {
        for mode in 0..LINE_MODES {
            self.drop_parts(mode, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fixed;

    /// Shortcuts of a cache with 32-byte lines and ways of `way` bytes, and what the host and the TLB have.
    fn shortcuts(way: u32) -> (LineShortcuts, Fixed<u8>, Fixed<u8>) {
        let mut shortcuts = LineShortcuts::default();
        shortcuts.make(32, way);
        (shortcuts, vec![0; 32].into(), vec![9].into())
    }

    fn at(shortcuts: &LineShortcuts, mode: usize, ea: u32, bytes: u32, store: bool) -> bool {
        // SAFETY: the tables live, and the notes of the tests do.
        unsafe { LineShortcuts::of(shortcuts.table(mode), ea).host(ea, bytes, store) }.is_some()
    }

    fn line(ea: u32, store: bool, host: &Fixed<u8>, recent: &Fixed<u8>) -> NewLine {
        NewLine {
            ea,
            host: host.pointer().wrapping_add(ea as usize & 31),
            store,
            recent: recent.pointer(),
            way: 1,
        }
    }

    #[test]
    fn a_line_is_found_in_its_mode_by_aligned_accesses() {
        let (shortcuts, host, recent) = shortcuts(4096);
        let new = line(0x1234_5668, false, &host, &recent);
        shortcuts.set(1, &new);
        assert!(at(&shortcuts, 1, 0x1234_5660, 8, false));
        assert!(at(&shortcuts, 1, 0x1234_567f, 1, false));
        assert!(!at(&shortcuts, 1, 0x1234_567e, 4, false), "not aligned");
        assert!(!at(&shortcuts, 1, 0x1234_5680, 4, false), "the next line");
        assert!(!at(&shortcuts, 1, 0x1235_5660, 4, false), "another page");
        assert!(!at(&shortcuts, 0, 0x1234_5660, 4, false), "another mode");
        assert!(!at(&shortcuts, 1, 0x1234_5660, 4, true), "loads only");
        assert!(!at(&shortcuts, LINE_MODES, 0x1234_5660, 4, false));
        // SAFETY: the tables live, and `recent` does.
        let place = unsafe {
            LineShortcuts::of(shortcuts.table(1), 0x1234_5664).host(0x1234_5664, 4, false)
        };
        assert_eq!(place, Some(new.host.wrapping_sub(4)));
        assert_eq!(*recent, [1]);
    }

    #[test]
    fn a_set_drops_its_lines_in_every_mode() {
        for (way, other, shared) in [(4096, 0x660 + 2048, false), (2048, 0x660 + 2048, true)] {
            let (shortcuts, host, recent) = shortcuts(way);
            for mode in 0..LINE_MODES {
                shortcuts.set(mode, &line(0x1000 + other, true, &host, &recent));
            }
            shortcuts.drop_set(0x7_0660);
            for mode in 0..LINE_MODES {
                assert_eq!(at(&shortcuts, mode, 0x1000 + other, 4, true), !shared);
            }
        }
        // A way of 16 KB has four sets with the same offset in a page.
        let (shortcuts, host, recent) = shortcuts(16384);
        shortcuts.set(0, &line(0x1660, true, &host, &recent));
        shortcuts.drop_set(0x3660);
        assert!(!at(&shortcuts, 0, 0x1660, 4, false));
    }

    #[test]
    fn a_page_drops_its_lines_by_parts() {
        let (shortcuts, host, recent) = shortcuts(4096);
        shortcuts.set(0, &line(0x1660, true, &host, &recent));
        shortcuts.set(0, &line(0x1fe0, true, &host, &recent));
        shortcuts.drop_parts(0, shortcuts.parts(0x1fe0));
        assert!(at(&shortcuts, 0, 0x1660, 4, true) && !at(&shortcuts, 0, 0x1fe0, 4, false));
        shortcuts.drop_all();
        assert!(!at(&shortcuts, 0, 0x1660, 4, true));
        assert!(shortcuts.clone().table(0).is_null());
    }
}
