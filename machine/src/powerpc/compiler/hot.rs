//! Which code is hot, and where the run loop enters compiled code.

use std::mem::offset_of;

use rustc_hash::FxHashMap;

use super::calls::{self, Shared};
use super::code::Code;
use crate::engine::compiler::heat::{Heat, NEVER, Sight};
use crate::engine::compiler::pays::Pays;
use crate::engine::compiler::{FEW, MOST, PERIOD};
use crate::powerpc::engine::Handler;
use crate::powerpc::engine::line::Op;
use crate::powerpc::processor::Processor;

/// A block seen so often by the run loop is compiled.
const SEEN: u32 = 3;

/// The least [`lead`](crate::config::MachineConfig::lead) of several processors with which hot code is compiled.
const LEAD: u32 = 2000;

/// See [`Compiler::short`].
const SHORT: u64 = 150;

/// Versions of a block at most.
pub(super) const VERSIONS: u8 = 12;

/// The compiler of one processor.
pub struct Compiler {
    pub(super) shared: Shared,
    /// A block seen so often is compiled.
    seen: Option<u32>,
    /// Blocks until the run loop looks at one.
    left: u32,
    /// Versions at most.
    pub(super) most: usize,
    /// Compiled code is not entered when there are only so many cycles until the deadline.
    short: u64,
    pub(super) code: Option<Box<Code>>,
    pub(super) pays: Pays<{ calls::OTHER_CALL }>,
    /// The physical address of a line with a shortcut for the instruction that runs alone next ([`calls::access`]).
    pub(super) lent: Option<u32>,
    /// The processor's instructions when compiled code was left last.
    pub(super) left_at: u64,
    /// Why there cannot be any.
    pub(super) refused: Option<String>,
    /// The handlers of ops that have [`run_compiled`], by the op's address. An op whose line has been decoded anew has
    /// another handler; what stands here of it means nothing then.
    pub(super) originals: FxHashMap<usize, Handler>,
    /// How often a block was seen.
    pub(super) heat: Heat,
    /// See [`Compiler::check`].
    tables: (usize, [usize; 3]),
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
            lent: None,
            left_at: 0,
            refused: None,
            originals: FxHashMap::default(),
            heat: Heat::default(),
            tables: Default::default(),
        }
    }
}

impl Compiler {
    /// Nothing is compiled yet. Of several processors whose turns are short, nothing will be, unless it is asked for.
    pub(crate) fn new(processors: u8, lead: u32) -> Self {
        Compiler {
            seen: (processors == 1 || lead >= LEAD).then_some(SEEN),
            ..Compiler::default()
        }
    }

    /// True if code is not run by compiled code shortly before the deadline.
    pub(super) fn leaves_early(&self) -> bool {
        self.short != 0
    }

    /// Where the data is that compiled code uses.
    pub(super) const SHARED: usize = offset_of!(Compiler, shared);

    /// Compiles blocks that were seen so often from now on.
    pub fn set(&mut self, seen: Option<u32>) {
        self.seen = seen;
        // Where all code is compiled, all that is to be checked happens often.
        (self.short, self.most) = match seen {
            Some(1) => (0, FEW),
            _ => (SHORT, MOST),
        };
        self.left = 1;
        self.forget();
    }

    /// Blocks that were compiled so far, each version of them.
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

    /// The I-cache's tags and the predictor's tables are here. Code that was compiled for others is dropped.
    pub(crate) fn check(&mut self, tags: *const u32, predictor: [usize; 3]) {
        let tables = (tags as usize, predictor);
        if self.tables != tables {
            self.tables = tables;
            self.forget();
        }
    }

    /// Drops all compiled code.
    fn forget(&mut self) {
        if let Some(code) = &mut self.code {
            code.clear();
        }
        self.heat.clear();
    }
}

/// Whether an op begins a block with versions.
///
/// # Safety
/// `op` must point to an op.
pub(super) unsafe fn is_compiled(op: *const Op) -> bool {
    // SAFETY: the caller's.
    unsafe { std::ptr::fn_addr_eq((*op).run, run_compiled as Handler) }
}

/// A block with versions.
///
/// # Safety
/// As [`Handler`].
pub(super) unsafe fn run_compiled(m: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        // An op in the middle of another block is run without having been begun. To go in and out again takes longer
        // than a few blocks.
        if m.hot.block == op
            && m.hot.cycles + m.compiler.short < m.hot.deadline
            && let Some(version) = m.compiled(op, false)
        {
            return calls::enter(m, version);
        }
        let original = m.compiler.originals.get(&(op as usize));
        // Where compiled code has just been given up, the op has its handler again.
        let run = original.copied().unwrap_or((*op).run);
        run(m, op)
    }
}

impl Processor {
    /// The run loop is about to run `op`.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    #[inline(always)]
    pub(crate) unsafe fn look_for_hot_code(&mut self, op: *const Op) {
        self.compiler.left -= 1;
        if self.compiler.left == 0 {
            // SAFETY: the caller's.
            unsafe { self.look_at(op) }
        }
    }

    /// # Safety
    /// As [`Processor::look_for_hot_code`].
    #[inline(never)]
    unsafe fn look_at(&mut self, op: *const Op) {
        self.compiler.left = match self.compiler.seen {
            None => u32::MAX,
            Some(1) => 1,
            Some(_) => PERIOD,
        };
        if self.compiler.seen.is_some() && self.hot.block == op {
            // SAFETY: the caller's. The block at `op` has just begun.
            unsafe { self.compiled(op, false) };
        }
    }

    /// The version that can run `op`, whose block has just begun. If there is none, and the block was often seen, it is
    /// compiled. `from_compiled`: compiled code goes there.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor.
    pub(super) unsafe fn compiled(&mut self, op: *const Op, from_compiled: bool) -> Option<u32> {
        self.drop_stale();
        if self.compiler.seen != Some(1) && !self.compiler.pays.now(self.hot.instructions) {
            self.give_up();
            return None;
        }
        // SAFETY: the caller's.
        let (block, state) = unsafe { (self.lines.key(op), (*op).timing.before) };
        let key = block | u64::from(state) << 48;
        if let Some(number) = self
            .compiler
            .code
            .as_mut()
            .and_then(|code| code.known.find(key))
        {
            let Some(code) = &self.compiler.code else {
                unreachable!("it has a version");
            };
            if number == NEVER {
                return None;
            }
            // SAFETY: the caller's.
            let can = unsafe { code.version(number).can_run(&self.hot, self.fetch_mode, op) };
            return can.then_some(number);
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
        // SAFETY: the caller's.
        let number = unsafe { self.compile(op, key) }?;
        // There may be less time left than all of its blocks take.
        let code = self.compiler.code.as_ref()?;
        code.version(number).is_early(&self.hot).then_some(number)
    }

    /// Gives every op its handler again, and drops all compiled code.
    fn give_up(&mut self) {
        if self.compiler.originals.is_empty() {
            return;
        }
        for (op, run) in self.compiler.originals.drain() {
            let op = op as *mut Op;
            // SAFETY: places of ops stay where they are, and hold an op once they have held one; nothing else refers to
            // it. A line that has been decoded anew has other handlers until its ops are compiled, and noted, again.
            unsafe {
                if is_compiled(op) {
                    (*op).run = run;
                }
            }
        }
        self.compiler.forget();
    }

    /// Drops the versions of lines that have been decoded anew.
    fn drop_stale(&mut self) {
        if !self.lines.has_stale() {
            return;
        }
        let (all, lines) = self.lines.take_stale();
        if all {
            self.compiler.forget();
        } else if let Some(code) = &mut self.compiler.code {
            for line in lines {
                for key in code.drop_line(line) {
                    self.compiler.heat.forget(key);
                }
            }
        }
    }
}
