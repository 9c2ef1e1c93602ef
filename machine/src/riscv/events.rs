//! The work between two instructions: interrupts, limits, sleep.

use super::csr::menvcfg;
use super::processor::{Processor, Stop};
use super::trap::Fatal;
use crate::computer::{Pause, Progressing as _};

impl Processor {
    /// Handles interrupts, limits and stops before the next instruction, and sets the next deadline.
    pub(super) fn events(&mut self) -> Option<Pause<Stop>> {
        if let Some(stop) = self.stop.take() {
            return Some(Pause::Stopped(stop));
        }
        if self.cycles >= self.limits.cycles || self.instructions >= self.limits.instructions {
            return Some(Pause::Stopped(Stop::Limit));
        }
        if self.observers.batch_is_full() {
            return Some(Pause::Stopped(Stop::Batch));
        }
        if self.cycles >= self.times.end {
            return Some(Pause::TurnOver);
        }
        self.poll();
        if self.several && self.cycles >= self.progress.polled_at {
            // What a device did may wake another processor.
            self.progress.polled_at = u64::MAX;
            return Some(Pause::TurnOver);
        }
        if let Some(pause) = self.rest() {
            return Some(pause);
        }
        self.take_interrupt();
        let next = self.next_poll().unwrap_or(u64::MAX);
        self.progress.polled_at = next;
        self.due = next.min(self.limits.cycles).min(self.times.end);
        if !self.breakpoints.is_empty() {
            let address = self.pc;
            if self.breakpoints.stops_at(address) {
                return Some(Pause::Stopped(Stop::Breakpoint { address }));
            }
            self.breakpoints.passed();
        }
        None
    }

    /// The next cycle at which a device of the board, or the timer of supervisor mode, does something by itself.
    fn next_poll(&self) -> Option<u64> {
        let timer = (self.csr.menvcfg & menvcfg::STCE != 0)
            .then(|| self.config.cycle_of(self.csr.stimecmp))
            .filter(|&cycle| cycle > self.cycles && cycle != u64::MAX);
        let board = self.memory.uncore.board.deadline(self.cycles);
        board.into_iter().chain(timer).min()
    }

    /// WFI.
    pub(super) fn wait(&mut self) {
        self.waiting = true;
        self.due = 0;
    }

    /// Skips the time until something can wake the processor, while it waits.
    fn rest(&mut self) -> Option<Pause<Stop>> {
        while self.waiting && !self.is_roused() {
            if self.cycles >= self.limits.cycles {
                return Some(Pause::Stopped(Stop::Limit));
            }
            let next = self.next_poll();
            if self.several {
                self.memory.uncore.board.wait_for(self.number, self.csr.mie);
                self.times.wake = Some(next.map_or(u64::MAX, |next| next.max(self.cycles + 1)));
                return Some(Pause::TurnOver);
            }
            let Some(next) = next else {
                return Some(Pause::Stopped(Stop::Fatal(Fatal::Asleep { pc: self.pc })));
            };
            self.pass(next.clamp(self.cycles + 1, self.limits.cycles));
            self.poll();
        }
        self.waiting = false;
        None
    }
}
