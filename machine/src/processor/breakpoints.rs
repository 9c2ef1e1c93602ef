//! Breakpoints and watchpoints of a debugger, and instructions that are run one by one.

use super::stop::NEAR_LIMIT;
use super::{Processor, Stop};
use crate::engine::{Architecture, Exit};
use crate::powerpc::msr;

/// Addresses whose accesses stop the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    pub address: u32,
    pub length: u32,
    pub reads: bool,
    pub writes: bool,
}

impl Watchpoint {
    fn covers(&self, ea: u32, bytes: u32) -> bool {
        let (start, end) = (
            u64::from(self.address),
            u64::from(self.address) + u64::from(self.length),
        );
        u64::from(ea) < end && u64::from(ea) + u64::from(bytes) > start
    }
}

impl Processor {
    /// True if instructions must be run one by one.
    pub(crate) fn single_steps(&self) -> bool {
        let near_limit = self.limits.instructions.wrapping_sub(self.hot.instructions) < NEAR_LIMIT;
        self.registers.msr & (msr::SE | msr::BE) != 0
            || !self.breakpoints.is_empty()
            || !self.watchpoints.is_empty()
            || near_limit
    }

    /// The instruction `word` at `ea` has been run alone; `traced` is [`Architecture::traced`] before it.
    pub(crate) fn after_single(&mut self, ea: u32, word: u32, traced: u32) {
        self.passing = None;
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
        let hit = self
            .watchpoints
            .iter()
            .any(|w| (if write { w.writes } else { w.reads }) && w.covers(ea, bytes));
        if hit {
            self.halt(Stop::Watchpoint { address: ea, write });
        }
    }

    /// True if accesses to the page are watched and must not take shortcuts.
    pub(crate) fn watched(&self, page: u32) -> bool {
        let broken = self.registers.dabr & 3 != 0 && self.registers.dabr & !0xfff == page;
        broken || self.watchpoints.iter().any(|w| w.covers(page, 4096))
    }

    /// Stops the machine before the instruction at `address`.
    pub fn add_breakpoint(&mut self, address: u32) {
        self.breakpoints.push(address);
    }

    /// True if there was one.
    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        let found = self.breakpoints.iter().position(|&a| a == address);
        found.is_some_and(|n| {
            self.breakpoints.swap_remove(n);
            true
        })
    }

    /// Removes breakpoints and watchpoints.
    pub fn clear_breakpoints(&mut self) {
        self.breakpoints.clear();
        self.watchpoints.clear();
        self.drop_shortcuts();
    }

    /// Stops the machine after the instruction that accesses these addresses.
    pub fn add_watchpoint(&mut self, watchpoint: Watchpoint) {
        self.watchpoints.push(watchpoint);
        self.drop_shortcuts();
    }

    /// True if there was one.
    pub fn remove_watchpoint(&mut self, watchpoint: &Watchpoint) -> bool {
        let found = self.watchpoints.iter().position(|w| w == watchpoint);
        found.is_some_and(|n| {
            self.watchpoints.swap_remove(n);
            true
        })
    }
}
