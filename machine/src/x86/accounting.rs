//! Attribution: the current cause, and the counts that blocks add up; what the control device asks for.

use super::events::NMI;
use super::processor::Processor;
use crate::account::NO_CAUSE;
use crate::account::{Cause, Event};
use crate::computer::{Progress, Progressing};

/// No head has this as its cause.
const EVERY_BLOCK: u32 = u32::MAX;

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        let (accesses, fetches) = (
            std::mem::take(&mut self.accesses),
            std::mem::take(&mut self.fetches),
        );
        let account = &mut self.account;
        account.add(Event::InstructionCacheAccess, fetches);
        account.add(Event::DataCacheAccess, accesses);
        if self.paging {
            account.add(Event::InstructionTlbAccess, fetches);
            account.add(Event::DataTlbAccess, accesses);
        }
        let branches = std::mem::take(&mut self.branches);
        let mispredicted = std::mem::take(&mut self.mispredicted);
        self.settle_time(branches, mispredicted);
    }

    /// From now on the code at `eip` runs, whose own cause is `cause`.
    #[inline(never)]
    pub(super) fn code_runs(&mut self, cause: u8, eip: u32) {
        if self.observers.watch_time() {
            self.tell_observers(eip.into());
        }
        if cause != self.code_cause {
            self.settle();
            self.code_cause = cause;
            self.choose_cause();
        }
        self.watch_goes_on();
    }
}

impl Progressing for Processor {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn space(&self) -> u32 {
        self.registers.cr3
    }

    fn stack_pointer(&self) -> u64 {
        self.registers.gpr[4].into()
    }

    fn return_point(&self) -> Option<(u64, u64)> {
        let esp = self.registers.gpr[4];
        Some((self.word_at(esp)?.into(), esp.wrapping_add(4).into()))
    }

    fn set_clock(&mut self, cycle: u64) {
        self.time = self.slots_at(cycle);
    }

    /// An interrupt that cannot be masked ends HLT at once.
    fn waits(&mut self) -> bool {
        if self.halted
            && !self.interruptible()
            && self.memory.uncore.board.non_maskable(self.number)
        {
            self.interrupt(NMI);
        }
        self.halted = self.halted && !self.interruptible();
        self.halted
    }

    fn code_cause(&self) -> Option<Cause> {
        let has = self.code_cause != NO_CAUSE;
        Cause::from_number(self.code_cause.into()).filter(|_| has)
    }

    /// Each block that is entered tells the observers from now on, if they watch.
    fn watch_goes_on(&mut self) {
        self.head_cause = if self.observers.watch_time() {
            EVERY_BLOCK
        } else {
            self.code_cause.into()
        };
    }
}
