//! Which code is hot, and where the run loop enters compiled code.

use std::mem::offset_of;

use rustc_hash::FxHashMap;

use super::calls::{self, Shared};
use super::code::{self, Code, Part, Places};
use super::thunks::Notes;
use crate::engine::compiler::heat::{Heat, NEVER, Sight};
use crate::engine::compiler::memory;
use crate::engine::compiler::pays::Pays;
use crate::engine::compiler::{FEW, MOST, PERIOD};
use crate::engine::schedule::{IDLE, Number, Scheduled as _};
use crate::engine::straight::Straight;
use crate::riscv::mmu::Translation;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;
use crate::riscv::trap::Raised;

/// Instructions that the run loop has seen so often are compiled: to compile it takes as long as to run it some hundred
/// times.
const SEEN: u32 = 16;

/// What a call costs: see [`Pays::cost`]. With a few calls for each hundred instructions a program of much code is
/// slower than by the interpreter.
pub(super) const CALL: u64 = 64;

/// Compiled code is not entered when there are only so many cycles until the deadline.
const SHORT: u64 = 150;

/// Addresses at most of which is known how often the code there was compiled.
const TIMED: usize = 1 << 16;

/// How often the code at one address is compiled for one state, until all code is dropped: code that changes again and
/// again is left to the interpreter.
const TIMES: u8 = 8;

/// The compiler of one processor.
pub struct Compiler {
    pub(super) shared: Shared,
    /// What was seen so often is compiled.
    seen: Option<u32>,
    /// Blocks until the run loop looks at one.
    left: u32,
    /// Versions at most.
    pub(super) most: usize,
    /// See [`SHORT`].
    short: u64,
    code: Option<Box<Code>>,
    pub(super) pays: Pays<CALL>,
    /// Why there cannot be any.
    refused: Option<String>,
    /// The state of the pipeline as of which the registers' times are entered, while compiled code runs.
    pub(super) entered: Number,
    /// How often something was seen, by its key.
    heat: Heat,
    /// How often code was compiled, by its address in RAM and its state.
    times: FxHashMap<u64, u8>,
}

impl Default for Compiler {
    fn default() -> Self {
        Compiler {
            shared: Shared::NEW,
            seen: Some(SEEN),
            left: PERIOD,
            most: MOST,
            short: SHORT,
            code: None,
            pays: Pays::default(),
            refused: None,
            entered: IDLE,
            heat: Heat::default(),
            times: FxHashMap::default(),
        }
    }
}

impl Compiler {
    /// Nothing is compiled yet. Of several processors, nothing will be.
    pub(in crate::riscv) fn new(processors: u8) -> Self {
        Compiler {
            seen: (processors == 1).then_some(SEEN),
            ..Compiler::default()
        }
    }

    /// Where the data is that compiled code uses.
    pub(super) const SHARED: usize = offset_of!(Compiler, shared);

    /// Versions of blocks that were compiled so far.
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

    /// The code, of which some runs.
    pub(super) fn code(&self) -> &Code {
        match &self.code {
            Some(code) => code,
            None => unreachable!("compiled code runs"),
        }
    }

    pub(super) fn code_mut(&mut self) -> &mut Code {
        match &mut self.code {
            Some(code) => code,
            None => unreachable!("compiled code runs"),
        }
    }

    /// Makes room for code where there is none. False: the host gives none.
    pub(super) fn makes_room(&mut self, places: Places) -> bool {
        if self.code.is_none() && self.refused.is_none() {
            match Code::new(places) {
                Ok(code) => self.code = Some(code),
                Err(error) => {
                    self.refused = Some(memory::refusal(&error));
                }
            }
        }
        self.code.is_some()
    }
}

impl Processor {
    /// Compiles what was seen so often from now on.
    pub(in crate::riscv) fn set_compiled(&mut self, seen: Option<u32>) {
        self.compiler.seen = seen.filter(|_| self.config.processors == 1);
        // Where all code is compiled, all that is to be checked happens often.
        (self.compiler.short, self.compiler.most) = match seen {
            Some(1) => (0, FEW),
            _ => (SHORT, MOST),
        };
        self.compiler.left = 1;
        self.forget_compiled();
    }

    /// Drops all compiled code.
    pub(super) fn forget_compiled(&mut self) {
        let places = self.places();
        if let Some(code) = &mut self.compiler.code {
            code.clear(places);
        }
        self.compiler.heat.clear();
        self.compiler.times.clear();
    }

    pub(super) fn places(&self) -> Places {
        let notes = |tlb: &crate::riscv::tlb::Tlb| {
            tlb.tree().map(|(tree, paths)| Notes {
                tree: tree as usize,
                paths: paths as usize,
            })
        };
        let [fetches, data] = &self.mmu.first;
        Places {
            blocks: self.blocks.pointer() as usize,
            resets: self.blocks.resets(),
            age: self.schedules.age(),
            instruction_tags: self.memory.instruction.tags().pointer() as usize,
            counters: self.predictor.counters.pointer() as usize,
            targets: self.predictor.targets.pointer() as usize,
            fetches: fetches.shortcuts().pointer() as usize,
            notes: [notes(fetches), notes(data)],
        }
    }

    /// Drops compiled code that may no longer run.
    fn drop_stale(&mut self) {
        let places = self.places();
        let Some(code) = &mut self.compiler.code else {
            return;
        };
        if code.places != places {
            if code.places.notes != places.notes {
                // The addresses of the trees stand in the thunks, so that these go, too. The trees move only between
                // runs, when no compiled code is on the stack.
                self.compiler.code = None;
            }
            self.forget_compiled();
            return;
        }
        if self.blocks.has_dropped() {
            for head in self.blocks.take_dropped() {
                code.drop_block(head);
            }
        }
    }

    /// The modes of fetches and of data, if compiled code can run in them.
    pub(super) fn compiled_mode(&self) -> Option<u8> {
        match (self.fetches_by, self.data_by) {
            (Translation::By(fetches), Translation::By(data)) => {
                Some(code::mode(fetches.number(), data.number()))
            }
            _ => None,
        }
    }

    /// What is behind `part` is about to run. Runs it, and what follows, by compiled code, if there is some for it.
    ///
    /// # Safety
    /// `part` must be the head of a block, at which the processor is, or a part that has been reached.
    #[inline(always)]
    pub(in crate::riscv) unsafe fn run_compiled(
        &mut self,
        part: Part,
    ) -> Option<Result<(), Raised>> {
        self.compiler.left -= 1;
        // SAFETY: the caller's.
        let kept = matches!(unsafe { &*part }, Straight::Head { kept: true, .. });
        if !kept && self.compiler.left != 0 {
            return None;
        }
        // SAFETY: the caller's.
        unsafe { self.look_at(part, kept) }
    }

    /// # Safety
    /// As [`Processor::run_compiled`].
    #[inline(never)]
    unsafe fn look_at(&mut self, part: Part, kept: bool) -> Option<Result<(), Raised>> {
        let looks = self.compiler.left == 0;
        if looks {
            self.compiler.left = match self.compiler.seen {
                None => u32::MAX,
                Some(1) => 1,
                Some(_) => PERIOD,
            };
        }
        // SAFETY: the caller's.
        let head = matches!(unsafe { &*part }, Straight::Head { .. });
        if self.compiler.seen.is_none()
            || !head
            || !self.page_fetched
            || self.observers.watch_time()
            || self.cycles + self.compiler.short >= self.running.deadline
        {
            return None;
        }
        if kept && !looks && !self.may_have_version(part) {
            return None;
        }
        // SAFETY: the caller's.
        let number = unsafe { self.compiled(part, part, false) }?;
        let begin = self.begins(number)?;
        self.compiler.pays.cost += CALL;
        // SAFETY: it has just been given.
        Some(unsafe { calls::enter(self, begin) })
    }

    /// Is there a version of this head for the state that the pipeline is in? `true` also if this is not known.
    fn may_have_version(&mut self, head: Part) -> bool {
        let pipeline = (self.cycles, self.used);
        let state = self.schedules.state(pipeline, &self.ready, Op::SINK);
        self.schedules.now_in(state, self.cycles);
        let code = self.compiler.code.as_mut();
        code.is_some_and(|code| code.known.find(code::key(head, state, false)).is_some())
    }

    /// The version that runs what is behind `part` of the block at `head`, at which the processor is. If there is none,
    /// and it was often seen, it is compiled. `from_compiled`: compiled code goes there.
    ///
    /// # Safety
    /// They must be parts of a block that lives.
    pub(super) unsafe fn compiled(
        &mut self,
        part: Part,
        head: Part,
        from_compiled: bool,
    ) -> Option<u32> {
        let pipeline = (self.cycles, self.used);
        let state = self.schedules.state(pipeline, &self.ready, Op::SINK);
        self.schedules.now_in(state, self.cycles);
        self.drop_stale();
        if self.compiler.seen != Some(1) && !self.compiler.pays.now(self.instructions) {
            self.give_up();
            return None;
        }
        let fetches = (self.pc ^ self.fetched.0) & !(self.line - 1) != 0;
        let key = code::key(part, state, fetches);
        let mode = self.compiled_mode()?;
        if let Some(code) = &mut self.compiler.code
            && let Some(number) = code.known.find(key)
        {
            if number == NEVER {
                return None;
            }
            let version = code.version(number);
            return ((version.va, version.mode) == (self.pc, mode)).then_some(number);
        }
        let enough = self.compiler.seen?;
        match self.compiler.heat.see(key, enough, from_compiled) {
            Sight::Cold => return None,
            Sight::Done => {
                if let Some(code) = &mut self.compiler.code {
                    code.known.note(key, NEVER);
                }
                return None;
            }
            Sight::Hot => {}
        }
        let place = u64::from(self.fetched.1 & !0xfff | (self.pc & 0xfff) as u32) << 16;
        if self.compiler.times.len() >= TIMED {
            self.compiler.times.clear();
        }
        let times = (self.compiler.times)
            .entry(place | u64::from(state))
            .or_insert(0);
        *times = (*times + 1).min(TIMES + 1);
        if *times > TIMES {
            return None;
        }
        // SAFETY: the caller's.
        unsafe { self.compile((part, head), key, state, mode) }
    }

    /// Compiled code does not pay: the interpreter runs everything for a while.
    fn give_up(&mut self) {
        if self
            .compiler
            .code
            .as_ref()
            .is_some_and(|code| !code.versions.is_empty())
        {
            self.give_back();
            self.forget_compiled();
        }
    }

    /// The heads of blocks with versions are ordinary ones from now on.
    fn give_back(&mut self) {
        let Some(code) = &self.compiler.code else {
            return;
        };
        if (code.places.blocks, code.places.resets)
            != (self.blocks.pointer() as usize, self.blocks.resets())
        {
            return;
        }
        for version in &code.versions {
            // SAFETY: the head is that of a block, valid or not, and nothing else refers to it now. The pointer comes
            // from `Blocks`, and so may be written through.
            unsafe { keep(version.head, false) };
        }
    }
}

/// Says in a head whether there are versions of its block.
///
/// # Safety
/// `head` must be a head that comes from a processor's blocks, to which nothing refers.
pub(super) unsafe fn keep(head: Part, is: bool) {
    // SAFETY: the caller's.
    if let Straight::Head { kept, .. } = unsafe { &mut *head.cast_mut() } {
        *kept = is;
    }
}
