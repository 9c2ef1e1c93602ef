//! Which code is hot, and where the run loop enters compiled code.

use std::mem::offset_of;

use rustc_hash::FxHashMap;

use super::calls::{self, Shared};
use super::code::{Code, Places, Site};
use crate::engine::compiler::pays::Pays;
use crate::engine::compiler::{FEW, GONE_TO, MOST, PERIOD};
use crate::x86::blocks::COMPILED;
use crate::x86::chain::Here;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::{Segment, segment};

/// A block seen so often by the run loop is compiled: to compile it takes as long as to run it some hundred times.
const SEEN: u32 = 16;

/// What a call costs: see [`Pays::cost`]. Measured: with half as many a program of much code is slower than by the
/// interpreter.
pub(super) const CALL: u64 = 64;

/// In [`Op::issued`] of a head: the block is not to be compiled.
const COLD: u16 = COMPILED - 1;

/// Addresses at most of which is known how often the code there was compiled.
const TIMED: usize = 1 << 16;

/// How often the code at one address is compiled, until all code is dropped: code that changes again and again is left
/// to the interpreter.
const TIMES: u8 = 8;

/// The compiler of one processor.
pub struct Compiler {
    pub(super) shared: Shared,
    /// A block seen so often is compiled.
    pub(super) seen: Option<u32>,
    /// Blocks until the run loop looks at one.
    left: u32,
    /// Compiled blocks at most.
    pub(super) most: usize,
    pub(super) code: Option<Box<Code>>,
    pub(super) pays: Pays<CALL>,
    /// Why there cannot be any.
    pub(super) refused: Option<String>,
    /// How often the block at an address was compiled.
    pub(super) times: FxHashMap<u32, u8>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            shared: Shared::NEW,
            seen: Some(SEEN),
            left: PERIOD,
            most: MOST,
            code: None,
            pays: Pays::default(),
            refused: None,
            times: FxHashMap::default(),
        }
    }
}

impl Compiler {
    /// Nothing is compiled yet. Of several processors, nothing will be.
    pub(in crate::x86) fn new(processors: u8) -> Self {
        Compiler {
            seen: (processors == 1).then_some(SEEN),
            ..Compiler::default()
        }
    }

    /// Where the data is that compiled code uses.
    pub(super) const SHARED: usize = offset_of!(Compiler, shared);

    /// Blocks that were compiled so far.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.code.as_ref().map_or(0, |code| code.made)
    }

    /// Jumps between blocks that are noted now, to be taken back with what they lead to.
    #[must_use]
    pub fn links(&self) -> usize {
        self.code.as_ref().map_or(0, |code| code.incoming.count())
    }

    /// Why hot code is not compiled, if the host does not allow it.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// See [`Code::learn`].
    pub(super) fn learn(&mut self, site: &Site) {
        let at_once = self.seen == Some(1);
        let Some(code) = &mut self.code else {
            return;
        };
        let pa = code.version(site.version).pa;
        if self.times.get(&pa).is_some_and(|&times| times >= TIMES) {
            return;
        }
        if let Some(head) = code.learn(site, at_once) {
            // It is compiled when it is seen next.
            // SAFETY: the head is that of a block, and nothing else refers to it now.
            unsafe { (*head.cast_mut()).issued = COLD - 1 };
        }
    }
}

impl Processor {
    /// Compiles blocks that were seen so often from now on.
    pub(in crate::x86) fn set_compiled(&mut self, seen: Option<u32>) {
        let able = self.config.processors == 1;
        self.compiler.seen = seen.filter(|_| able);
        self.compiler.most = if seen == Some(1) { FEW } else { MOST };
        self.compiler.left = 1;
        self.forget_compiled();
    }

    /// Drops all compiled code.
    pub(super) fn forget_compiled(&mut self) {
        if let Some(code) = &mut self.compiler.code {
            let now = (self.blocks.resets(), self.blocks.pointer() as usize);
            code.clear((code.places.resets, code.places.blocks) == now);
        }
        self.compiler.times.clear();
    }

    /// The addresses that stand in compiled code.
    pub(super) fn places(&self) -> Places {
        Places {
            blocks: self.blocks.pointer() as usize,
            tags: [&self.memory.data, &self.memory.instruction]
                .map(|c| c.tags().pointer() as usize),
            branches: self
                .predictor
                .pointer()
                .map_or(0, |entries| entries as usize),
            ram: self.memory.uncore.ram.pointer() as usize,
            resets: self.blocks.resets(),
        }
    }

    /// Drops what may no longer run. False if all compiled code has been dropped.
    #[inline]
    pub(super) fn compiled_code_is_good(&mut self) -> bool {
        let places = self.places();
        let Some(code) = &mut self.compiler.code else {
            return true;
        };
        if code.places != places {
            self.forget_compiled();
            if let Some(code) = &mut self.compiler.code {
                code.places = places;
            }
            return false;
        }
        if self.blocks.has_dropped() {
            for head in self.blocks.take_dropped() {
                code.drop_block(head);
            }
        }
        true
    }

    /// Is the processor in the state that compiled code is for, of a ring with this mark?
    pub(super) fn runs_compiled(&self, mark: u32) -> bool {
        const ALL: u64 = 1 << 32;
        let flat = |number: u8| {
            let segment: &Segment = self.registers.segment(number);
            segment.base == 0 && segment.read_end == ALL && segment.write_end == ALL
        };
        let cs = self.registers.segment(segment::CS);
        self.mark == mark
            && self.paging
            && self.caches_on
            && !self.noting
            && !self.window.is_open()
            && !self.sanitized
            && (cs.base, cs.limit) == (0, u32::MAX)
            && self.registers.segment(segment::SS).big()
            && flat(segment::SS)
            && flat(segment::DS)
            && flat(segment::ES)
    }

    fn compiled_code_pays(&mut self) -> bool {
        self.compiler.seen == Some(1) || self.compiler.pays.now(self.instructions)
    }

    /// The run loop is about to run the block at `head`, which has been entered.
    #[inline(always)]
    pub(in crate::x86) fn look_for_hot_code(&mut self, head: *const Op) {
        self.compiler.left -= 1;
        if self.compiler.left == 0 {
            self.look_at(head);
        }
    }

    #[inline(never)]
    fn look_at(&mut self, head: *const Op) {
        self.compiler.left = match self.compiler.seen {
            None => u32::MAX,
            Some(1) => 1,
            Some(_) => PERIOD,
        };
        if self.compiler.seen.is_some() && self.compiled_code_is_good() && self.compiled_code_pays()
        {
            // SAFETY: it is the head of a block.
            unsafe { self.compiled(head, false) };
        }
    }

    /// The code of the block at `head`, which has been entered. If there is none, and the block was often seen, it is
    /// compiled. `from_compiled`: compiled code goes there.
    ///
    /// # Safety
    /// `head` must be the head of a block.
    pub(super) unsafe fn compiled(&mut self, head: *const Op, from_compiled: bool) -> Option<u32> {
        // SAFETY: the caller's.
        let compiled = unsafe { (*head).issued & COMPILED != 0 };
        if compiled
            && let Some(code) = &mut self.compiler.code
            && let Some(number) = code.find(head)
        {
            let version = code.version(number);
            let same = (version.eip, version.linear, version.mark)
                == (self.block_eip, self.block_linear, self.mark);
            return same.then_some(number);
        }
        let seen = match self.compiler.seen? {
            1 => 1,
            seen if from_compiled => seen * GONE_TO,
            seen => seen,
        };
        let seen = seen.min(COLD.into()) as u16;
        // SAFETY: the caller's; nothing else refers to the head. The pointer comes from `Blocks`, and so may be written
        // through.
        let heat = unsafe { &mut (*head.cast_mut()).issued };
        if *heat == COLD {
            return None;
        }
        *heat += 1;
        if *heat < seen {
            return None;
        }
        if !self.runs_compiled(self.mark) {
            *heat = 0;
            return None;
        }
        *heat = COLD;
        if self.compiler.times.len() >= TIMED {
            self.compiler.times.clear();
        }
        let times = self.compiler.times.entry(self.block_pa).or_insert(0);
        if *times >= TIMES {
            return None;
        }
        *times += 1;
        // SAFETY: the caller's.
        unsafe { self.compile(head) }
    }
}

/// The chain of the first op of a compiled block.
///
/// # Safety
/// As [`crate::x86::chain::Chain`]; the block has just begun.
pub(super) unsafe fn run_compiled(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's: the first op stands behind the head.
    unsafe {
        let head = op.sub(1);
        let good = p.compiled_code_is_good();
        let Some(code) = &mut p.compiler.code else {
            unreachable!("the block was compiled");
        };
        let Some(number) = code.find(head).filter(|_| good) else {
            // The code has just been dropped, and the op has its chain again.
            return ((*op).chain)(p, op);
        };
        if !p.compiled_code_pays() {
            p.forget_compiled();
            return ((*op).chain)(p, op);
        }
        let Some(code) = &p.compiler.code else {
            unreachable!("the block was compiled");
        };
        let version = *code.version(number);
        let enter = code.thunks.enter;
        let same = (version.eip, version.linear) == (p.block_eip, p.block_linear);
        if same
            && p.time < p.compiled_until()
            && p.runs_compiled(version.mark)
            && p.head_cause == u32::from((*head).extra)
        {
            p.here = Here::NONE;
            p.compiler.pays.cost += CALL;
            return calls::enter(p, enter, version.body);
        }
        (version.original)(p, op)
    }
}
