//! Attribution: the current cause, and the counts that blocks add up.

use serde::{Deserialize, Serialize};

use crate::account::NO_CAUSE;
use crate::account::counters::slot;
use crate::account::tlb_events::Step;
use crate::account::{Cause, Event, Plain};
use crate::powerpc::calls::Calls;
use crate::powerpc::mmu::{Kind, Source};
use crate::powerpc::msr;
use crate::powerpc::processor::Processor;

/// The totals that have been entered in the account already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTotals {
    cycles: u64,
    instructions: u64,
    accesses: u64,
    branches: u64,
    mispredicted: u64,
    /// Who was charged.
    user: bool,
    cause: Cause,
    /// As `cycles` and `instructions`, for the observers.
    watched_cycles: u64,
    watched_instructions: u64,
    /// Address of the first code that they have not been told of.
    watched_pc: u32,
}

impl BlockTotals {
    /// True if these can be the totals of a machine in this state. A snapshot is checked by this before use.
    pub(super) fn fits(&self, now: [u64; 5]) -> bool {
        let settled = [
            self.cycles,
            self.instructions,
            self.accesses,
            self.branches,
            self.mispredicted,
        ];
        settled == now
            && self.watched_cycles <= self.cycles
            && self.watched_instructions <= self.instructions
    }
}

/// A value that is no line's cause, so that every line is entered the slow way.
const EVERY_LINE: u32 = u32::MAX;

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        if self.performance.running() {
            self.count_performance();
        }
        let state = self.registers.msr;
        let hot = &self.hot;
        let cycles = hot.cycles - self.settled.cycles;
        let instructions = hot.instructions - self.settled.instructions;
        let accesses = hot.accesses - self.settled.accesses;
        self.account.add(Event::Cycles, cycles);
        self.account.add(Event::Instructions, instructions);
        self.account
            .add(Event::InstructionCacheAccess, instructions);
        self.account.add(Event::DataCacheAccess, accesses);
        if state & msr::IR != 0 {
            self.account.add(Event::InstructionTlbAccess, instructions);
        }
        if state & msr::DR != 0 {
            self.account.add(Event::DataTlbAccess, accesses);
        }
        let (branches, mispredicted) = (self.predictor.branches, self.predictor.mispredicted);
        self.account
            .add_plain(Plain::Branch, branches - self.settled.branches);
        self.account.add_plain(
            Plain::BranchMispredict,
            mispredicted - self.settled.mispredicted,
        );
        // If nothing was charged, mode and cause of the last charge stay, because an exception takes back from those.
        let charged = (cycles, instructions, accesses) != (0, 0, 0);
        let (user, cause) = if charged {
            (self.account.user, self.account.cause)
        } else {
            (self.settled.user, self.settled.cause)
        };
        self.settled = BlockTotals {
            cycles: hot.cycles,
            instructions: hot.instructions,
            accesses: hot.accesses,
            branches,
            mispredicted,
            user,
            cause,
            ..self.settled
        };
    }

    /// An exception has taken back the rest of a block. If an instruction of the block changed mode or cause, that
    /// rest has been charged already: this takes it off the mode and cause that it was charged to.
    pub(crate) fn unsettle(&mut self) {
        let (hot, settled) = (&self.hot, self.settled);
        if self.observers.watch_time() {
            let cycles = settled.watched_cycles.saturating_sub(hot.cycles);
            let instructions = settled
                .watched_instructions
                .saturating_sub(hot.instructions);
            self.observers.took_back(cycles, instructions);
            self.settled.watched_cycles -= cycles;
            self.settled.watched_instructions -= instructions;
        }
        let cycles = settled.cycles.saturating_sub(hot.cycles);
        let instructions = settled.instructions.saturating_sub(hot.instructions);
        let accesses = settled.accesses.saturating_sub(hot.accesses);
        if cycles == 0 && instructions == 0 && accesses == 0 {
            return;
        }
        let state = self.registers.msr;
        let translated = |bit: u32, count: u64| if state & bit != 0 { count } else { 0 };
        for (event, count) in [
            (Event::Cycles, cycles),
            (Event::Instructions, instructions),
            (Event::InstructionCacheAccess, instructions),
            (Event::DataCacheAccess, accesses),
            (
                Event::InstructionTlbAccess,
                translated(msr::IR, instructions),
            ),
            (Event::DataTlbAccess, translated(msr::DR, accesses)),
        ] {
            let slot = slot(settled.user, settled.cause);
            self.account.counters.split[event as usize][slot] -= count;
        }
        self.settled.cycles -= cycles;
        self.settled.instructions -= instructions;
        self.settled.accesses -= accesses;
    }

    /// Selects the cause of the following code (docs/interfaces.md, section 3).
    pub(crate) fn choose_cause(&mut self) {
        let user = self.registers.msr & msr::PR != 0;
        let own = if user || self.code_cause == NO_CAUSE {
            None
        } else {
            Cause::from_number(self.code_cause.into())
        };
        self.account.user = user;
        self.account.cause = self.dynamic_cause.or(own).unwrap_or(Cause::of_mode(user));
    }

    /// From now on the code at `ea` runs, whose own cause is `cause`.
    #[inline(always)]
    pub(crate) fn charge_code(&mut self, cause: u8, ea: u32) {
        let watched = !self.hot.unseen && self.observers.watch_time();
        if cause == self.code_cause && !watched {
            self.hot.code_cause = u32::from(cause);
        } else {
            self.charge_code_anew(cause, ea);
        }
    }

    #[inline(never)]
    fn charge_code_anew(&mut self, cause: u8, ea: u32) {
        let watched = self.observers.watch_time();
        if watched {
            self.tell_observers(ea);
            self.tell_calls(ea);
        }
        if cause != self.code_cause {
            self.settle();
            self.code_cause = cause;
            self.choose_cause();
        }
        self.hot.code_cause = if watched {
            EVERY_LINE
        } else {
            u32::from(cause)
        };
    }

    /// Charges the cycles since the last call to the address where that code began. `next` begins now.
    fn tell_observers(&mut self, next: u32) {
        let s = self.settled;
        let (until, instructions) = (self.hot.cycles, self.hot.instructions);
        if (until, instructions) > (s.watched_cycles, s.watched_instructions) {
            self.settle();
            self.observers.ran(
                (s.watched_pc, self.account.user, self.account.cause),
                s.watched_cycles,
                until,
                instructions - s.watched_instructions,
                &self.account,
            );
        }
        self.settled.watched_cycles = until;
        self.settled.watched_instructions = instructions;
        self.settled.watched_pc = next;
    }

    /// Tells a profile which calls lead to the code at `next`, which runs from now on.
    fn tell_calls(&mut self, next: u32) {
        if let Some(profile) = &mut self.observers.profile {
            let calls = Calls {
                registers: &self.registers,
                mmu: &self.mmu,
                memory: &self.memory,
            };
            profile.enters(&self.observers.symbols, next, &calls);
        }
    }

    /// True if what runs may be a handler that walks the page tables, and walks are recorded: then its accesses take
    /// the slow path, where they are noted.
    #[inline(always)]
    pub(crate) fn follows_handler(&self) -> bool {
        self.account.tlb.walk.is_some()
            && self.registers.msr & msr::PR == 0
            && !matches!(self.mmu.kind(), Kind::Hash32(_) | Kind::Hash64(_))
    }

    /// Notes an access that began at cycle `from` and has ended, if it may be a part of a handler's walk.
    #[inline(always)]
    pub(crate) fn note_step(
        &mut self,
        source: Source,
        (pa, bytes, value): (u32, u32, u64),
        from: u64,
        store: bool,
    ) {
        if self.follows_handler() {
            let step = Step {
                cycle: from,
                took: self.hot.cycles - from,
                pa,
                bytes,
                value,
                store,
            };
            self.observers.walked(step, source == Source::Real);
        }
    }

    /// Sets the cause that the control device names.
    pub(super) fn set_dynamic_cause(&mut self, number: u32) {
        self.settle();
        let named = self.observers.symbols.causes.numbered(number);
        self.dynamic_cause = named.filter(|_| number != 0);
        self.choose_cause();
    }

    /// The clock now says `cycle`: what was before is charged to nobody.
    pub(super) fn start_clock(&mut self, cycle: u64) {
        self.settle();
        self.hot.cycles = cycle;
        self.settled.cycles = cycle;
        self.begin_watch();
    }

    /// Observers are told of everything from now on.
    pub(crate) fn begin_watch(&mut self) {
        self.settled.watched_cycles = self.hot.cycles;
        self.settled.watched_instructions = self.hot.instructions;
        self.settled.watched_pc = self.registers.pc;
    }

    /// Tells the observers of everything so far, before mode or cause changes. The code at the program counter is
    /// next.
    pub(crate) fn close_watch(&mut self) {
        self.close_watch_before(self.registers.pc);
    }

    /// As [`Processor::close_watch`], within a block, which goes on in the line that runs.
    pub(super) fn close_watch_in_line(&mut self) {
        self.close_watch_before(self.hot.line);
    }

    fn close_watch_before(&mut self, next: u32) {
        if self.observers.watch_time() {
            self.tell_observers(next);
            self.hot.code_cause = EVERY_LINE;
        }
    }
}
