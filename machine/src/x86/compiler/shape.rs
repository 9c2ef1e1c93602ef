//! What of a processor its code is compiled for: where accesses and fetches find pages and lines, and in what an i486
//! and a P6 differ.

use std::mem::offset_of;

use super::calls::{Lines, Shared};
use super::emit::shared;
use crate::memory::Cache;
use crate::memory::cache::{DIRTY, SHARED, VALID};
use crate::x86::clocks;
use crate::x86::config::Kind;
use crate::x86::predictor::Entry;
use crate::x86::processor::Processor;
use crate::x86::tlb::{Shortcut, Tlb};

/// The shape of a processor.
#[derive(Clone, Copy)]
pub struct Shape {
    /// See [`Shortcut::mark`].
    pub mark: u32,
    /// Bytes of a line.
    pub line: u32,
    /// What an access looks at, and what a fetch does. Of an i486 both are the same.
    pub data: Side,
    pub code: Side,
    pub memory: Access,
    /// What a conditional jump takes longer that is taken.
    pub taken: u64,
    /// A multiplication takes a clock for each significant bit of the multiplier.
    pub counts_bits: bool,
    /// `None`: nothing is predicted.
    pub predictor: Option<Prediction>,
}

/// What an access to memory does that finds no shortcut to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Lines are never modified. A thunk asks the model how long a load, or any store, waits, and the block goes on.
    Through,
    /// Lines are modified, and loads that miss let later instructions run. A store that finds its line at hand takes
    /// no time. A load, or an instruction that loads and stores, whose line is not in the cache is run by the
    /// interpreter's function. For a store alone, a thunk asks the model how long the store waits.
    Back,
}

/// A TLB and a cache.
#[derive(Clone, Copy)]
pub struct Side {
    /// The distance of the TLB in the processor.
    tlb: usize,
    /// See [`Tlb::shortcut_mask`].
    pub shortcuts: u32,
    /// The distance of its [`Lines`] in the processor.
    lines: usize,
    /// The cache's tags, and how the place of one follows from an address: [`Cache::places`].
    tags: usize,
    pub rotation: u32,
    pub set_mask: u32,
    /// The lines of a set, if compiled code can make one of them the one used last ([`Cache::trees`]); otherwise 1.
    pub ways: u32,
    line: u32,
}

/// A predictor of branches.
#[derive(Clone, Copy)]
pub struct Prediction {
    entries: usize,
    mask: u32,
    /// The slots that a wrong prediction takes.
    pub penalty: i32,
}

/// Bits of a tag that a read does not look at.
pub const READABLE: u32 = DIRTY | SHARED;

/// The same of a write.
pub const WRITABLE: u32 = DIRTY;

impl Side {
    /// The distance of a field of a shortcut, in this place.
    pub fn shortcut(&self, place: u32, field: usize) -> i32 {
        (self.tlb + Tlb::SHORTCUTS + place as usize * size_of::<Shortcut>() + field) as i32
    }

    /// The distance of what [`Tlb::fetches_again`] asks.
    pub fn fetched(&self) -> i32 {
        (self.tlb + Tlb::FETCHED) as i32
    }

    /// The distance of a field of its [`Lines`].
    pub fn lines(&self, field: usize) -> i32 {
        shared(self.lines + field)
    }

    /// The bits of an address that a tag has.
    pub fn line_mask(&self) -> i32 {
        -(self.line as i32)
    }

    /// Where the tag of the line used last in the set of `pa` is.
    pub fn tag_at(&self, pa: u32) -> usize {
        self.tags + 4 * (pa.rotate_right(self.rotation) & self.set_mask) as usize
    }

    /// What it is if that is the line of `pa`, all of which has come.
    pub fn tag(&self, pa: u32) -> u32 {
        pa & self.line_mask().cast_unsigned() | VALID
    }
}

impl Prediction {
    /// Where the buffer has the branch at `branch`.
    pub fn entry(&self, branch: u32) -> i64 {
        let place = (branch ^ branch >> 9) & self.mask;
        (self.entries + place as usize * size_of::<Entry>()) as i64
    }
}

impl Processor {
    /// What the compiler must know of this processor: compiled code is for this shape alone.
    pub(super) fn shape(&self) -> Shape {
        let side = |tlb: &Tlb, cache: &Cache, lines: usize| {
            let (rotation, set_mask) = cache.places();
            Side {
                tlb: std::ptr::from_ref(tlb) as usize - std::ptr::from_ref(self) as usize,
                shortcuts: tlb.shortcut_mask(),
                lines,
                tags: cache.tags().pointer() as usize,
                rotation,
                set_mask,
                ways: cache.trees().map_or(1, |_| cache.geometry().ways),
                line: self.line,
            }
        };
        let memory = &self.memory;
        let data = side(&self.mmu.data, &memory.data, offset_of!(Shared, data));
        let code = self.mmu.instruction.as_ref().map_or(data, |tlb| {
            side(tlb, &memory.instruction, offset_of!(Shared, code))
        });
        let i486 = self.kind == Kind::I486;
        let penalty = self.config.branch.as_ref().map_or(0, |b| b.mispredict);
        let predictor = self.predictor.pointer().filter(|_| !i486);
        Shape {
            mark: self.mark,
            line: self.line,
            data,
            code,
            memory: if i486 { Access::Through } else { Access::Back },
            taken: if i486 { clocks::TAKEN } else { 0 },
            counts_bits: i486,
            predictor: predictor.map(|entries| Prediction {
                entries: entries as usize,
                mask: self.predictor.mask(),
                penalty: self.slots_at(penalty.into()) as i32,
            }),
        }
    }

    /// Where compiled code finds the tags, ways and trees of a cache.
    pub(super) fn lines(cache: &Cache) -> Lines {
        let none = (std::ptr::null_mut(), std::ptr::null_mut());
        let (ways, trees) = cache.trees().unwrap_or(none);
        Lines {
            tags: cache.tags().pointer(),
            ways,
            trees,
        }
    }
}
