//! The fast execution of instructions.
//!
//! Instructions are decoded once into [`line::Op`]s, which are kept by physical cache line ([`line`]). Each op calls
//! the next, until the line or the block ends. Counts and issue cycles are added once for each block, when it is
//! entered. The checks are:
//!
//! - once a block: the deadline, which stands for every event to come, and that its op knows what it
//!   takes in the state that the pipeline is in ([`timing`]);
//! - once a line entered: that the page is the one fetched from last, and that the line is the most
//!   recently used one of its I-cache set. An op that goes on elsewhere in its page is *linked* to the
//!   op there: these checks are then all that entering takes;
//! - each load and store: that its line has a shortcut ([`crate::memory::LineShortcut`]), which it gets at the first
//!   access that finds a shortcut of the page ([`shortcut`]) and the line as the most recently used one of its D-cache
//!   set.
//!
//! These shortcuts are exact. An access to the most recently used line changes no state. In a TLB set of two ways the
//! way used last is the whole state, and a shortcut writes it. If a check fails, the slow path through `mmu` and
//! `memory` runs; for a line that is not the most recently used one, that is only the cache's own search. A line that
//! is still being filled has a mark in its tag word, so that every access to it leaves the fast path and waits for its
//! beat; while such a line runs, each of its blocks waits for its first and its last instruction. With the oracle on,
//! no shortcut is made, and every block is entered by the slow path: translated, looked up in the I-cache, and timed
//! by the schedule.
//!
//! A load or a store that misses the data TLB runs its walk as one function if `powerpc/foreseen.rs` knows the end of
//! the walk. The oracle compares that function with the slow path.
//!
//! Every access that a sanitizer must see takes the slow path. A page that a sanitizer would report gets no shortcut,
//! and a page loses its shortcut when its frame is freed. A page with lines in the I-cache gets no shortcut for
//! stores. A store that makes a line modified takes the slow path. A line that was written while the I-cache held it
//! is watched there, so that its tag word never compares equal.
//!
//! Compiled code (`powerpc/compiler`) is one more [`Handler`]: it runs an op, whose block has begun, and the following
//! ones, with the same account and the same checks, and returns the next op. Outside this folder, `processor` and
//! `powerpc` use the data of the fast path ([`Hot`]); the rest of the machine does not know how instructions are run.

pub mod data;
pub mod fetch;
pub mod line;
pub mod shortcut;
pub mod timing;

use crate::memory::LineShortcut;
use crate::powerpc::processor::Processor;
use line::Op;
use shortcut::Shortcut;
use timing::State;

/// Runs one op and those that follow it in its line. Returns the next op to run, whose block is
/// already accounted for, or null to leave the inner loop with the program counter set.
///
/// # Safety
/// `op` must point into the decoded lines of this processor.
pub type Handler = unsafe fn(&mut Processor, *const Op) -> *const Op;

/// Why the inner loop was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The deadline has come.
    Deadline,
    /// The next instruction must be run on its own: it is not in the I-cache, or is traced.
    Single,
    /// The machine has stopped; the reason is in [`Processor::stop`].
    Stopped,
}

/// The data of the fast path, in one place.
#[derive(Debug)]
#[repr(C)]
pub struct Hot {
    /// Core cycles since reset.
    pub cycles: u64,
    /// A block entered at or after this cycle is entered the slow way.
    pub deadline: u64,
    /// The inner loop is left at or after this cycle. It equals `deadline`, unless every block must be entered the
    /// slow way: then `deadline` is 0. That is so while the running line is incomplete or watched, and with the
    /// oracle on.
    pub due: u64,
    /// Instructions begun since reset, less those that took an exception.
    pub instructions: u64,
    /// Data accesses since reset.
    pub accesses: u64,
    /// Where the block that runs began.
    pub block: *const Op,
    /// What is unfinished in the pipeline before the next block.
    pub pipeline: State,
    /// Effective page that was fetched from last, or [`NO_PAGE`].
    pub page: u32,
    /// Physical minus effective address of that page.
    pub page_delta: u32,
    /// Effective address of the line that runs.
    pub line: u32,
    /// Cause of the code that runs, as in a line's header.
    pub code_cause: u32,
    /// Tags of the I-cache, and where a line's set is among them.
    pub instruction_tags: CacheProbe,
    /// Tags of the D-cache.
    pub data_tags: CacheProbe,
    /// Decoded lines.
    pub line_index: *const u32,
    pub line_base: *const u8,
    pub line_stride: usize,
    /// RAM.
    pub ram: *mut u8,
    /// [`DIRTY`](crate::memory::cache::DIRTY), or 0 while an observer wants to know of every line that a
    /// store makes modified.
    pub may_modify: u32,
    /// Shortcuts of data accesses in the current mode.
    pub shortcuts: *mut Shortcut,
    /// Shortcuts to lines of the D-cache in the current mode.
    pub lines: *const LineShortcut,
    /// Number of shortcuts of a mode, less one.
    pub shortcut_mask: u32,
    /// The data TLB's way used last of each class, for shortcuts to write.
    pub data_recent: *mut u8,
    /// The same of the instruction TLB.
    pub fetch_recent: *mut u8,
    /// Walks for data accesses may be foreseen ([`Processor::foresees`]).
    pub foresees: bool,
    /// Nobody wants to know of each line that is fetched ([`Processor::fetches_unseen`]).
    pub unseen: bool,
    /// Why the inner loop was left.
    pub exit: Exit,
}

impl Hot {
    /// Makes the inner loop end at the first block that is entered at or after cycle `at`.
    pub fn set_deadline(&mut self, at: u64) {
        self.due = at;
        self.deadline = at;
    }
}

/// A cache's tags as the fast path sees them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CacheProbe {
    pub tags: *mut u32,
    /// An address rotated to the right by this has the place of its set in `tags` under the mask.
    set_rotation: u32,
    set_mask: u32,
    pub line_shift: u32,
    /// Bits of an address within a line.
    pub offset_mask: u32,
}

impl CacheProbe {
    /// A probe without a cache; it must get one before use.
    pub const NONE: CacheProbe = CacheProbe {
        tags: std::ptr::null_mut(),
        set_rotation: 0,
        set_mask: 0,
        line_shift: 0,
        offset_mask: 0,
    };

    /// A probe of `cache`.
    ///
    /// # Panics
    /// When the cache's tags do not match its geometry.
    pub fn of(cache: &crate::memory::Cache) -> CacheProbe {
        let geometry = cache.geometry();
        let (set_rotation, set_mask) = cache.places();
        let tags = cache.tags();
        assert_eq!(tags.len(), (geometry.sets() * geometry.ways) as usize);
        CacheProbe {
            tags: tags.pointer(),
            set_rotation,
            set_mask,
            line_shift: geometry.line.trailing_zeros(),
            offset_mask: geometry.line - 1,
        }
    }

    /// Index in `tags` of the most recently used line of `physical`'s set.
    #[inline(always)]
    pub fn place(&self, physical: u32) -> u32 {
        physical.rotate_right(self.set_rotation) & self.set_mask
    }

    /// The tag word of the most recently used line of `physical`'s set.
    ///
    /// # Safety
    /// The cache that the probe was made of must still be where it was.
    #[inline(always)]
    pub unsafe fn most_recent(&self, physical: u32) -> u32 {
        // SAFETY: the mask has the place of the last set at most.
        unsafe { *self.tags.add(self.place(physical) as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::CacheProbe;
    use crate::memory::cache::{Cache, CacheGeometry, DIRTY, Replacement, VALID};

    #[test]
    fn a_probe_sees_what_its_cache_does() {
        let mut cache = Cache::new(CacheGeometry {
            size: 1024,
            ways: 2,
            line: 32,
            replacement: Replacement::Lru,
        })
        .expect("a cache of 16 sets");
        let probe = CacheProbe::of(&cache);
        cache.set_enabled(true);
        cache.fill(0x1240, false);
        // SAFETY: the cache is where it was.
        assert_eq!(unsafe { probe.most_recent(0x1244) }, 0x1240 | VALID);
        // SAFETY: as above; no reference to a tag lives.
        unsafe { *probe.tags.add(probe.place(0x1244) as usize) |= DIRTY };
        assert!(cache.is_dirty(0x1240));
        cache.fill(0x5240, false);
        // SAFETY: as above.
        assert_eq!(unsafe { probe.most_recent(0x1244) }, 0x5240 | VALID);
        assert!(cache.access(0x1240, false));
        // SAFETY: as above.
        assert_eq!(unsafe { probe.most_recent(0x5244) }, 0x1240 | VALID | DIRTY);
        cache.invalidate(0x1240);
        // SAFETY: as above.
        assert_eq!(unsafe { probe.most_recent(0x1244) }, 0);
    }
}
