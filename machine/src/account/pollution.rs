//! The pollution matrix: which cause evicted the lines and TLB entries that another one misses later.
//!
//! Each physical line has a byte for each cache, which holds the cause that evicted it last. TLB entries have a
//! direct-mapped table of fixed size, in which a collision drops the older eviction. An eviction is forgotten when its
//! line or entry is loaded again. A line that another processor takes counts as evicted by that one's cause, in a
//! matrix of its own; a translation that another one's `tlbie` removes does too.

use super::causes::{CAUSES, Cause};
use super::counters::{Counters, named};
use serde::{Deserialize, Serialize};

named! {
    /// The arrays that have a pollution matrix.
    #[derive(Serialize, Deserialize)]
    #[repr(usize)]
    Array, ARRAYS {
        /// Instruction TLB.
        InstructionTlb = "tlb.instruction",
        /// Data TLB.
        DataTlb = "tlb.data",
        /// L1 instruction cache.
        InstructionCache = "cache.instruction",
        /// L1 data cache.
        DataCache = "cache.data",
        /// L2 cache.
        L2 = "cache.l2",
        /// L1 data cache: lines that another processor took. The evictor is what that one did.
        DataCacheTaken = "cache.data.taken",
        /// The processor's own L2: the same.
        L2Taken = "cache.l2.taken",
        /// Instruction TLB: entries that another processor's `tlbie` removed. The evictor is what that one did.
        InstructionTlbTaken = "tlb.instruction.taken",
        /// Data TLB: the same.
        DataTlbTaken = "tlb.data.taken",
    }
}

impl Array {
    /// The TLB of fetches, or of data.
    #[inline]
    #[must_use]
    pub fn tlb(fetch: bool) -> Self {
        if fetch {
            Array::InstructionTlb
        } else {
            Array::DataTlb
        }
    }
}

/// Entries of the table that remembers evicted translations, for each TLB.
const REMEMBERED: usize = 4096;

/// No evictor is known.
const NOBODY: u8 = 0;

/// With an evictor of a line of the D-cache or the L2, or of a translation: it ran on another processor.
const OTHER: u8 = 0x80;

/// Who evicted what, last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pollution {
    line_shift: u32,
    /// By physical line, then cache (I, D, L2): evictor + 1, or [`NOBODY`].
    lines: Box<[[u8; 3]]>,
    /// By TLB (I, D), then hash: tag and evictor + 1.
    entries: [Box<[(u64, u8)]>; 2],
}

impl Pollution {
    /// Remembers evictions of lines of `line_bytes` (a power of two) in `ram_bytes` of RAM.
    #[must_use]
    pub fn new(ram_bytes: usize, line_bytes: usize) -> Self {
        let entries = || vec![(0, NOBODY); REMEMBERED].into_boxed_slice();
        Self {
            line_shift: line_bytes.trailing_zeros(),
            lines: vec![[NOBODY; 3]; ram_bytes / line_bytes.max(1)].into_boxed_slice(),
            entries: [entries(), entries()],
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let entries = |p: &Self| p.entries.each_ref().map(|entries| entries.len());
        self.line_shift == fresh.line_shift
            && self.lines.len() == fresh.lines.len()
            && entries(self) == entries(fresh)
    }

    /// The notes of the line at `pa`, for each cache.
    #[inline(always)]
    fn line(&mut self, pa: u32) -> Option<&mut [u8; 3]> {
        self.lines.get_mut((pa >> self.line_shift) as usize)
    }

    /// `evictor` evicts the line at `pa`.
    #[inline(always)]
    pub fn line_evicted(&mut self, array: Array, pa: u32, evictor: Cause) {
        if let Some(caches) = self.line(pa) {
            caches[cache(array)] = evictor.number() + 1;
        }
    }

    /// Another processor takes the line at `pa`, for `taker`.
    pub fn line_taken(&mut self, array: Array, pa: u32, taker: Cause) {
        if let Some(caches) = self.line(pa) {
            caches[cache(array)] = (taker.number() + 1) | OTHER;
        }
    }

    /// A `victim` with this number misses on the line at `pa`.
    #[inline(always)]
    pub(super) fn line_missed(
        &mut self,
        counters: &mut Counters,
        array: Array,
        pa: u32,
        victim: usize,
    ) {
        let Some(caches) = self.line(pa) else {
            return;
        };
        let evictor = std::mem::replace(&mut caches[cache(array)], NOBODY);
        if evictor & OTHER == 0 {
            charge(counters, array, evictor, victim);
        } else {
            let taken = match array {
                Array::L2 => Array::L2Taken,
                _ => Array::DataCacheTaken,
            };
            charge_taken(counters, taken, evictor, victim);
        }
    }

    /// What a miss on the line at `pa` looks at.
    #[inline(always)]
    #[must_use]
    pub fn of_line(&self, pa: u32) -> Option<&[u8; 3]> {
        self.lines.get((pa >> self.line_shift) as usize)
    }

    fn entry(&mut self, array: Array, tag: u64) -> Option<&mut (u64, u8)> {
        // The kernel scatters VSIDs by multiplication; page numbers are dense: the exclusive-or of both halves
        // spreads either over the entries.
        let hash = (tag ^ (tag >> 16)) as usize % REMEMBERED;
        self.entries[array as usize].get_mut(hash)
    }

    /// `evictor` evicts the translation with `tag`.
    #[inline]
    pub fn entry_evicted(&mut self, array: Array, tag: u64, evictor: Cause) {
        if let Some(slot) = self.entry(array, tag) {
            *slot = (tag, evictor.number() + 1);
        }
    }

    /// Another processor's `tlbie` removes the translation with `tag`, for `taker`.
    pub fn entry_taken(&mut self, array: Array, tag: u64, taker: Cause) {
        if let Some(slot) = self.entry(array, tag) {
            *slot = (tag, (taker.number() + 1) | OTHER);
        }
    }

    /// `victim` misses on the translation with `tag`. False if nobody is known to have evicted it.
    #[inline]
    pub fn entry_missed(
        &mut self,
        counters: &mut Counters,
        array: Array,
        tag: u64,
        victim: Cause,
    ) -> bool {
        let mut evictor = NOBODY;
        if let Some(slot) = self.entry(array, tag)
            && slot.0 == tag
        {
            evictor = std::mem::replace(&mut slot.1, NOBODY);
        }
        let array = match array {
            Array::InstructionTlb if evictor & OTHER != 0 => Array::InstructionTlbTaken,
            Array::DataTlb if evictor & OTHER != 0 => Array::DataTlbTaken,
            own => own,
        };
        charge(counters, array, evictor & !OTHER, victim.index());
        evictor != NOBODY
    }
}

/// The place of a cache among the notes of a line.
#[inline(always)]
fn cache(array: Array) -> usize {
    array as usize - Array::InstructionCache as usize
}

/// As [`charge`], where another processor took the line.
#[cold]
#[inline(never)]
fn charge_taken(counters: &mut Counters, array: Array, evictor: u8, victim: usize) {
    charge(counters, array, evictor & !OTHER, victim);
}

#[inline(always)]
fn charge(counters: &mut Counters, array: Array, evictor: u8, victim: usize) {
    let evictor = usize::from(evictor).wrapping_sub(1);
    if let Some(victims) = counters.pollution[array as usize].get_mut(evictor) {
        victims[victim % CAUSES] += 1;
    }
}
