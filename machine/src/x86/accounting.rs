//! Attribution: the current cause, and the counts that blocks add up; what the control device asks for.

use super::processor::Processor;
use super::stop::Stop;
use crate::account::{Cause, Event, Plain};
use crate::board::Effect;
use crate::computer::Cpu as _;
use crate::engine::line::NO_CAUSE;

/// No head has this as its cause.
const EVERY_BLOCK: u32 = u32::MAX;

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        let now = self.now();
        let completed = self.completed();
        let instructions = completed - self.settled.instructions;
        let (accesses, fetches) = (
            std::mem::take(&mut self.accesses),
            std::mem::take(&mut self.fetches),
        );
        let account = &mut self.account;
        account.add(Event::Cycles, now - self.settled.cycles);
        account.add(Event::Instructions, instructions);
        account.add(Event::InstructionCacheAccess, fetches);
        account.add(Event::DataCacheAccess, accesses);
        if self.paging {
            account.add(Event::InstructionTlbAccess, fetches);
            account.add(Event::DataTlbAccess, accesses);
        }
        account.add_plain(Plain::Branch, std::mem::take(&mut self.branches));
        account.add_plain(
            Plain::BranchMispredict,
            std::mem::take(&mut self.mispredicted),
        );
        self.settled.cycles = now;
        self.settled.instructions = completed;
    }

    /// Selects the cause of the following code (docs/interfaces.md, section 3).
    pub(super) fn choose_cause(&mut self) {
        let user = self.registers.cpl == 3;
        let own = if user || self.code_cause == NO_CAUSE {
            None
        } else {
            Cause::from_number(self.code_cause.into())
        };
        let by_mode = if user { Cause::User } else { Cause::Kernel };
        self.account.user = user;
        self.account.cause = self.dynamic_cause.or(own).unwrap_or(by_mode);
    }

    /// From now on the code at `eip` runs, whose own cause is `cause`.
    #[inline(never)]
    pub(super) fn code_runs(&mut self, cause: u8, eip: u32) {
        if self.observers.watch_time() {
            self.tell_observers(eip);
        }
        if cause != self.code_cause {
            self.settle();
            self.code_cause = cause;
            self.choose_cause();
        }
        self.watch_blocks();
    }

    /// Each block that is entered tells the observers from now on, if they watch.
    fn watch_blocks(&mut self) {
        self.head_cause = if self.observers.watch_time() {
            EVERY_BLOCK
        } else {
            self.code_cause.into()
        };
    }

    /// Charges the cycles since the last call to the address where that code began. `next` begins now.
    fn tell_observers(&mut self, next: u32) {
        let settled = self.settled;
        let (until, instructions) = (self.now(), self.completed());
        let code = (
            settled.watched_pc as u32,
            self.account.user,
            self.account.cause,
        );
        if (until, instructions) > (settled.watched_cycles, settled.watched_instructions) {
            self.observers.ran(
                code,
                settled.watched_cycles,
                until,
                instructions - settled.watched_instructions,
                &self.account,
            );
        }
        self.settled.watched_cycles = until;
        self.settled.watched_instructions = instructions;
        self.settled.watched_pc = next.into();
    }

    /// Observers are told of everything from now on.
    pub(super) fn begin_watch(&mut self) {
        self.settled.watched_cycles = self.now();
        self.settled.watched_instructions = self.completed();
        self.settled.watched_pc = self.registers.eip.into();
        self.watch_blocks();
    }

    /// Tells the observers of everything so far.
    pub(super) fn close_watch(&mut self) {
        if self.observers.watch_time() {
            self.tell_observers(self.registers.eip);
        }
    }

    /// The clock now says `cycle`: what was before is charged to nobody.
    pub(super) fn start_clock(&mut self, cycle: u64) {
        self.settle();
        self.time = self.slots_at(cycle);
        self.settled.cycles = cycle;
        self.begin_watch();
    }

    /// The kernel has given CR3 another address space. One that CONTEXT has named runs under that name again.
    pub(super) fn note_space(&mut self) {
        self.close_watch();
        self.observers.space_runs(self.registers.cr3, self.now());
    }

    /// Carries out a write to the control device.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        self.close_watch();
        self.settle();
        if let Effect::Context(context) = effect {
            self.observers.name_space(self.registers.cr3, context);
        }
        match effect {
            Effect::PowerOff(status) => {
                self.stop.get_or_insert(Stop::PowerOff { status });
                self.due_at_once();
            }
            Effect::Cause(number) => {
                self.dynamic_cause = match number {
                    0 => None,
                    other => Cause::from_number(other),
                };
                self.choose_cause();
            }
            _ => {}
        }
        self.observe(effect);
    }
}
