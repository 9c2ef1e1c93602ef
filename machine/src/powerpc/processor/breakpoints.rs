//! Breakpoints and watchpoints of a debugger, and instructions that are run one by one.

use super::stop::NEAR_LIMIT;
use super::{Processor, Stop};
use crate::observe::recorder::{Branch, Instruction};
use crate::powerpc::engine::Exit;
use crate::powerpc::msr;

impl Processor {
    /// True if instructions must be run one by one.
    pub(crate) fn single_steps(&self) -> bool {
        let recorded = self.observers.recorder.is_some();
        self.steps_now() || !self.running.breakpoints.is_empty() || recorded
    }

    /// True if instructions must be run one by one for a reason that may come and go within a turn.
    #[inline(always)]
    pub(crate) fn steps_now(&self) -> bool {
        let near_limit = self
            .running
            .limits
            .instructions
            .wrapping_sub(self.hot.instructions)
            < NEAR_LIMIT;
        let traced = self.registers.msr & (msr::SE | msr::BE) != 0;
        traced || near_limit
    }

    /// True if, in this turn, the oracle is off, and neither a debugger nor an observer wants to know of each line that
    /// is fetched.
    pub(crate) fn fetches_unseen(&self) -> bool {
        !self.running.oracle
            && self.running.breakpoints.is_empty()
            && self.observers.recorder.is_none()
            && self.observers.sanitizers.is_none()
            && !self.observers.watch_time()
    }

    /// The instruction `word` at `ea` is about to be run alone.
    pub(crate) fn before_single(&mut self, ea: u32, word: u32) {
        if let Some(recorder) = &mut self.observers.recorder {
            let state = self.registers.msr;
            let mode = (state & msr::PR != 0, state & msr::IR == 0);
            let instruction = Instruction {
                pc: ea,
                size: 4,
                branch: branch(word),
                repeats: false,
            };
            let symbols = &self.observers.symbols;
            recorder.begins(instruction, mode, symbols, self.hot.instructions);
        }
    }

    /// The instruction `word` at `ea` has been run alone; `traced` is [`Processor::traced`] before it.
    pub(crate) fn after_single(&mut self, ea: u32, word: u32, traced: u32) {
        self.running.breakpoints.passed();
        let (next, completed) = (self.pc(), self.hot.instructions);
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.ends(next, completed);
        }
        let completed = self
            .last_exception
            .is_none_or(|(_, count)| count != self.hot.instructions);
        if !completed || self.running.stop.is_some() {
            return;
        }
        if let Some(trace) = self.trace_of(ea, word, traced)
            && !self.take(trace, 0)
        {
            self.hot.exit = Exit::Stopped;
        }
    }

    /// Stops the machine if the access is watched.
    #[inline(always)]
    pub(crate) fn watch(&mut self, ea: u32, bytes: u32, write: bool) {
        if self.observers.recorder.is_some() || !self.running.breakpoints.is_empty() {
            self.watch_closely(ea, bytes, write);
        }
    }

    #[cold]
    #[inline(never)]
    fn watch_closely(&mut self, ea: u32, bytes: u32, write: bool) {
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.accesses(ea, bytes, write, self.registers.msr & msr::DR == 0);
        }
        if self.running.breakpoints.watches(ea, bytes, write) {
            let address = ea.into();
            self.halt(Stop::Watchpoint { address, write });
        }
    }

    /// True if accesses to the page are watched and must not take shortcuts.
    #[inline(always)]
    pub(crate) fn watched(&self, page: u32) -> bool {
        let broken = self.registers.dabr & 3 != 0 && self.registers.dabr & !0xfff == page;
        let breakpoints = &self.running.breakpoints;
        broken || !breakpoints.is_empty() && breakpoints.watches_some(page, 4096)
    }
}

/// How an instruction goes on (PEM 4.2.4).
fn branch(word: u32) -> Branch {
    let link = word & 1 != 0;
    match (word >> 26, word >> 1 & 0x3ff) {
        (18, _) if link => Branch::Call,
        (18, _) => Branch::Jump,
        (16, _) => Branch::Conditional,
        (19, 16) if !link => Branch::Return,
        (19, 16 | 528) if link => Branch::IndirectCall,
        // bcctr, rfi, rfid
        (19, 528 | 50 | 18) => Branch::Indirect,
        _ => Branch::None,
    }
}
