//! Breakpoints and watchpoints of a debugger, and instructions that are run one by one.

use super::stop::NEAR_LIMIT;
use super::{Processor, Stop};
use crate::engine::{Architecture, Exit};
use crate::powerpc::msr;

impl Processor {
    /// True if instructions must be run one by one.
    pub(crate) fn single_steps(&self) -> bool {
        let near_limit = self.limits.instructions.wrapping_sub(self.hot.instructions) < NEAR_LIMIT;
        self.registers.msr & (msr::SE | msr::BE) != 0 || !self.breakpoints.is_empty() || near_limit
    }

    /// The instruction `word` at `ea` has been run alone; `traced` is [`Architecture::traced`] before it.
    pub(crate) fn after_single(&mut self, ea: u32, word: u32, traced: u32) {
        self.breakpoints.passed();
        let completed = self
            .last_exception
            .is_none_or(|(_, count)| count != self.hot.instructions);
        if !completed || self.stop.is_some() {
            return;
        }
        if let Some(trace) = self.trace_of(ea, word, traced)
            && !self.take(trace, 0)
        {
            self.hot.exit = Exit::Stopped;
        }
    }

    /// Stops the machine if the access is watched.
    pub(crate) fn watch(&mut self, ea: u32, bytes: u32, write: bool) {
        if self.breakpoints.watches(ea, bytes, write) {
            let address = ea.into();
            self.halt(Stop::Watchpoint { address, write });
        }
    }

    /// True if accesses to the page are watched and must not take shortcuts.
    pub(crate) fn watched(&self, page: u32) -> bool {
        let broken = self.registers.dabr & 3 != 0 && self.registers.dabr & !0xfff == page;
        broken || self.breakpoints.watches_some(page, 4096)
    }
}
