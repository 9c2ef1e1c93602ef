//! Who is charged, and what the control device asks for.

use super::csr::privilege;
use super::processor::{Processor, Stop};
use crate::account::{Cause, Event, Plain};
use crate::board::Effect;
use crate::computer::Cpu as _;

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        let account = &mut self.account;
        account.add(Event::Cycles, self.cycles - self.settled.cycles);
        account.add(
            Event::Instructions,
            self.instructions - self.settled.instructions,
        );
        for (event, count) in [
            (Event::InstructionTlbAccess, &mut self.instruction_look_ups),
            (Event::DataTlbAccess, &mut self.data_look_ups),
            (Event::InstructionCacheAccess, &mut self.line_fetches),
            (Event::DataCacheAccess, &mut self.accesses),
        ] {
            account.add(event, std::mem::take(count));
        }
        account.add_plain(Plain::Branch, std::mem::take(&mut self.branches));
        account.add_plain(
            Plain::BranchMispredict,
            std::mem::take(&mut self.mispredicted),
        );
        self.settled.cycles = self.cycles;
        self.settled.instructions = self.instructions;
    }

    /// Selects the cause of what follows. Machine mode is a part of the kernel.
    pub(super) fn choose_cause(&mut self) {
        self.settle();
        let user = self.privilege == privilege::USER;
        let by_mode = if user { Cause::User } else { Cause::Kernel };
        self.account.user = user;
        self.account.cause = self.dynamic_cause.unwrap_or(by_mode);
    }

    /// Charges the cycles since the last call to the address where that code began. What comes next begins now.
    pub(super) fn tell_observers(&mut self) {
        let settled = self.settled;
        let (until, ran) = (
            self.cycles,
            self.instructions - settled.watched_instructions,
        );
        if until > settled.watched_cycles || ran > 0 {
            let code = (
                settled.watched_pc as u32,
                self.account.user,
                self.account.cause,
            );
            let from = settled.watched_cycles;
            self.observers.ran(code, from, until, ran, &self.account);
        }
        self.begin_watch();
    }

    /// Observers are told of everything from now on.
    pub(super) fn begin_watch(&mut self) {
        self.settled.watched_cycles = self.cycles;
        self.settled.watched_instructions = self.instructions;
        self.settled.watched_pc = self.pc;
    }

    /// Tells the observers of everything so far.
    pub(super) fn close_watch(&mut self) {
        if self.observers.watch_time() {
            self.tell_observers();
        }
    }

    /// The clock now says `cycle`: what was before is charged to nobody.
    pub(super) fn start_clock(&mut self, cycle: u64) {
        self.settle();
        self.cycles = cycle;
        self.used = 0;
        self.settled.cycles = cycle;
        self.begin_watch();
    }

    /// Carries out a write to a device that asks something of the machine.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        self.close_watch();
        self.settle();
        if let Effect::Context(context) = effect {
            self.observers.name_space(self.csr.satp as u32, context);
        }
        match effect {
            Effect::PowerOff(status) => {
                self.stop.get_or_insert(Stop::PowerOff { status });
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
