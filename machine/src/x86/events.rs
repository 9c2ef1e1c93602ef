//! The work between two blocks: interrupts, limits, sleep; and the way into exceptions.

use super::exception::Exception;
use super::processor::Processor;
use super::registers::eflags;
use super::stop::{Fatal, Raised, Stop};
use super::transfer::Reason;
use crate::account::Plain;
use crate::computer::{Limits, Pause, Progressing as _};

/// Blocks that begin with fewer instructions left than these are run one by one: a block has no more.
const NEAR_LIMIT: u64 = super::blocks::INSTRUCTIONS_MOST as u64 + 1;

/// The vector of an interrupt that cannot be masked.
pub(super) const NMI: u8 = 2;

/// How an exception combines with one that is raised while it is delivered (SDM volume 3, table 6-5).
fn doubles(first: u8, second: u8) -> bool {
    let contributes = |vector| matches!(vector, 0 | 10..=13);
    match first {
        14 => contributes(second) || second == 14,
        _ => contributes(first) && contributes(second),
    }
}

impl Processor {
    /// Runs until something stops the machine, a limit is reached, or the turn is over.
    pub(super) fn run_turn(&mut self, limits: Limits) -> Pause<Stop> {
        self.running.limits = limits;
        self.alarm = limits.instructions.saturating_sub(NEAR_LIMIT);
        self.due_at_once();
        self.begin_watch();
        loop {
            if self.time >= self.running.deadline || self.instructions >= self.alarm {
                if let Some(pause) = self.events() {
                    self.close_watch();
                    return pause;
                }
                if self.go_on_repeating() {
                    continue;
                }
            }
            self.run();
        }
    }

    /// Handles interrupts, limits and stops before the next block, and sets the next deadline.
    fn events(&mut self) -> Option<Pause<Stop>> {
        let (stop, turn_over) = (
            self.running.stop.take(),
            self.time >= self.running.times.end,
        );
        if let Some(pause) = self.pauses(stop, self.running.limits, turn_over) {
            return Some(pause);
        }
        // A repeated instruction, too, must stop after each element.
        let alone = self.registers.system & eflags::TF != 0 || self.inhibited;
        self.single = alone || self.instructions >= self.alarm;
        if self.inhibited {
            self.inhibited = false;
        } else {
            self.take_interrupt();
            if let Some(stop) = self.running.stop.take() {
                return Some(Pause::Stopped(stop));
            }
        }
        self.running.deadline = if alone {
            0
        } else {
            let quiet = self.quiet_until(self.running.limits);
            self.slots_at(quiet).min(self.running.times.end)
        };
        let eip = self.registers.eip;
        if !self.running.breakpoints.is_empty() {
            let begins = self.repeating.is_none();
            if begins && self.running.breakpoints.stops_at(eip) {
                let address = eip.into();
                return Some(Pause::Stopped(Stop::Breakpoint { address }));
            }
            self.running.breakpoints.passed();
            self.single = true;
            self.due_at_once();
        }
        None
    }

    pub(super) fn interruptible(&self) -> bool {
        self.registers.system & eflags::IF != 0
            && !self.running.hosted
            && self.memory.uncore.board.interrupt(self.number)
    }

    fn take_interrupt(&mut self) {
        if self.memory.uncore.board.non_maskable(self.number) {
            self.interrupt(NMI);
        } else if self.interruptible() {
            self.settle();
            self.add_clocks(self.config.clocks.acknowledge.into());
            let now = self.instant();
            let vector = self.memory.uncore.board.acknowledge(self.number, now);
            self.interrupt(vector);
        }
    }

    pub(super) fn interrupt(&mut self, vector: u8) {
        self.close_window();
        self.halted = false;
        if let Err(exception) = self.deliver(vector, None, Reason::External) {
            self.raise_after(exception, vec![vector]);
        }
    }

    /// HLT.
    pub(super) fn sleep(&mut self) {
        self.close_window();
        self.halted = true;
        self.due_at_once();
    }

    /// The processor sleeps until cycle `next`.
    pub(super) fn pass(&mut self, next: u64) {
        let now = self.now();
        self.time = self.slots_at(next).max(self.time);
        self.account
            .add_plain(Plain::IdleCycles, next.saturating_sub(now));
    }

    /// Raises an exception whose handler returns to EIP.
    pub(super) fn raise_here(&mut self, exception: Exception) {
        self.close_window();
        if self.running.hosted {
            self.halt_for_host(exception.vector(), exception.code());
            return;
        }
        if self.is_stuck() {
            let (eip, vector) = (self.registers.eip, exception.vector());
            self.running.stop = Some(Stop::Fatal(Fatal::Stuck { eip, vector }));
            self.due_at_once();
            return;
        }
        self.raise_after(exception, Vec::new());
    }

    /// The same while `before` were being delivered.
    fn raise_after(&mut self, exception: Exception, mut before: Vec<u8>) {
        let mut next = exception;
        loop {
            let vector = next.vector();
            if let Some(&first) = before.last() {
                if first == Exception::DOUBLE_FAULT.vector() {
                    before.push(vector);
                    let eip = self.registers.eip;
                    self.running.stop = Some(Stop::Fatal(Fatal::TripleFault {
                        eip,
                        vectors: before,
                    }));
                    self.due_at_once();
                    return;
                }
                if doubles(first, vector) {
                    before.push(vector);
                    next = Exception::DOUBLE_FAULT;
                }
            }
            before.push(next.vector());
            match self.deliver(next.vector(), next.code(), Reason::Exception) {
                Ok(()) => return,
                Err(nested) => next = nested,
            }
        }
    }

    /// A program that runs without a kernel has raised an exception, or asks for a system call.
    pub(super) fn halt_for_host(&mut self, vector: u8, code: Option<u16>) {
        self.close_window();
        self.account.counters.exception[usize::from(vector)] += 1;
        self.breaks_off();
        self.running.stop = Some(Stop::Exception(Raised { vector, code }));
        self.due_at_once();
    }
}
