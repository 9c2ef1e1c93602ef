//! The work between two blocks: interrupts, limits, and the next deadline.

use super::stop::NEAR_LIMIT;
use super::{Processor, Stop};
use crate::computer::Pause;
use crate::powerpc::{Exception, msr};

impl Processor {
    /// Handles interrupts, limits and stops before the next block, and sets the next deadline.
    pub(super) fn events(&mut self) -> Option<Pause<Stop>> {
        if let Some(stop) = self.running.stop.take() {
            return Some(Pause::Stopped(stop));
        }
        let now = self.hot.cycles;
        if now >= self.running.limits.cycles
            || self.hot.instructions >= self.running.limits.instructions
        {
            return Some(Pause::Stopped(Stop::Limit));
        }
        if self.observers.batch_is_full() {
            return Some(Pause::Stopped(Stop::Batch));
        }
        if now >= self.running.times.end {
            return Some(Pause::TurnOver);
        }
        self.take_notice();
        if let Some(pause) = self.save_power() {
            return Some(pause);
        }
        if let Some(exception) = self.pending_405() {
            if !self.take(exception, 0) {
                return self.running.stop.take().map(Pause::Stopped);
            }
        } else if self.registers.msr & msr::EE != 0 && self.registers.embedded.is_none() {
            // External interrupts come before the decrementer (PEM table 6-3).
            let pending = if self.memory.uncore.board.interrupt(self.number) {
                Some(Exception::External)
            } else if self.performance.interrupt() {
                self.performance.acknowledge();
                Some(Exception::PerformanceMonitor)
            } else if self.timers.pending() {
                self.timers.acknowledge();
                Some(Exception::Decrementer)
            } else {
                None
            };
            if let Some(exception) = pending
                && !self.take(exception, 0)
            {
                return self.running.stop.take().map(Pause::Stopped);
            }
        }
        self.hot.set_deadline(self.next_deadline());
        let pc = self.registers.pc;
        if self.running.breakpoints.stops_at(pc) {
            let address = pc.into();
            return Some(Pause::Stopped(Stop::Breakpoint { address }));
        }
        None
    }

    /// Updates the sources of interrupts to the current cycle.
    pub(super) fn take_notice(&mut self) {
        self.timers.advance(self.hot.cycles);
        let embedded = self.timers.embedded.as_ref();
        if embedded.is_some_and(|own| own.reset) {
            // The watchdog: the machine begins anew, so this run is over.
            self.halt(Stop::PowerOff { status: 0 });
        }
        self.watch_performance();
        if self.next_poll().is_some() {
            self.memory.uncore.poll_devices(self.hot.cycles);
        }
    }

    /// True if an interrupt would be taken before the next instruction.
    pub(super) fn interrupted(&self) -> bool {
        if self.registers.embedded.is_some() {
            return self.pending_405().is_some();
        }
        self.registers.msr & msr::EE != 0
            && (self.memory.uncore.board.interrupt(self.number)
                || self.timers.pending()
                || self.performance.interrupt())
    }

    /// The interrupt that a 405 takes next (priorities: PPC405 UM 5.3, recalled).
    fn pending_405(&self) -> Option<Exception> {
        let timers = self.timers.embedded.as_ref()?;
        let state = self.registers.msr;
        if state & msr::CE != 0 {
            if self.memory.uncore.board.critical(self.number) {
                return Some(Exception::CriticalInput);
            }
            if timers.watchdog() {
                return Some(Exception::Watchdog);
            }
        }
        if state & msr::EE == 0 {
            None
        } else if self.memory.uncore.board.interrupt(self.number) {
            Some(Exception::External)
        } else if timers.fixed() {
            Some(Exception::Fit)
        } else if timers.programmable() {
            Some(Exception::Pit)
        } else {
            None
        }
    }

    /// The cycle of the next poll of the board, if it changes by itself.
    pub(super) fn next_poll(&self) -> Option<u64> {
        self.memory.uncore.board.deadline(self.hot.cycles)
    }

    fn next_deadline(&self) -> u64 {
        let now = self.hot.cycles;
        let mut next = self.running.limits.cycles.min(self.timers.next_expiry());
        next = next.min(self.running.times.end);
        if self.running.limits.instructions != u64::MAX {
            // A block runs at most as many instructions in a cycle as are dispatched and folded. So no block that
            // begins before this cycle is near the limit.
            let left = self.running.limits.instructions - self.hot.instructions;
            let width = u64::from(self.config.pipeline.dispatch) + 1;
            next = next.min(now + left.saturating_sub(NEAR_LIMIT) / width + 1);
        }
        if let Some(poll) = self.next_poll() {
            next = next.min(poll);
        }
        if let Some(period) = self.performance.period() {
            next = next.min(now + period);
        }
        next
    }

    /// An interrupt may be pending now: makes the processor check before the next block.
    pub(crate) fn look_at_interrupts(&mut self) {
        if self.interrupted() || self.registers.msr & msr::POW != 0 {
            self.hot.set_deadline(0);
        } else {
            self.hot.due = self.hot.due.min(self.timers.next_expiry());
            self.hot.deadline = self.hot.deadline.min(self.hot.due);
        }
    }

    /// A device was accessed: it may interrupt now, or need an earlier poll.
    pub(crate) fn look_at_board(&mut self) {
        self.look_at_interrupts();
        if let Some(poll) = self.next_poll() {
            self.hot.due = self.hot.due.min(poll);
            self.hot.deadline = self.hot.deadline.min(poll);
        }
    }
}
