//! How a run gets on, and whom its time is charged to: of processors that count cycles and instructions one by one. A
//! PowerPC takes counts of blocks back, and does this in powerpc/processor.

use serde::{Deserialize, Serialize};

use super::cpu::StopOf;
use super::guest::Guest;
use super::stop::{EXCEPTIONS_MOST, Limits, Pause, Stop};
use crate::account::tlb_events::Tables;
use crate::account::{Cause, Event, Plain, Settled};
use crate::board::{Effect, Instant};
use crate::config::LATEST;
use crate::observe::Interruption;

/// How far a processor is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// What the account and the observers have been told of.
    pub(crate) settled: Settled,
    /// Exceptions in a row since an instruction completed, and how many had completed by the last one.
    pub in_a_row: (u32, u64),
    /// The cycle at which a device of the board does something by itself, when this was looked up last.
    pub polled_at: u64,
    /// The cause that the control device was given.
    pub dynamic_cause: Option<Cause>,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            settled: Settled::default(),
            in_a_row: (0, u64::MAX),
            polled_at: u64::MAX,
            dynamic_cause: None,
        }
    }
}

impl Progress {
    /// Can a processor be so far that has just settled at `now`?
    pub(crate) fn fits(&self, now: Instant) -> bool {
        now.cycles < LATEST
            && now.instructions < LATEST
            && self.in_a_row.0 <= EXCEPTIONS_MOST + 1
            && self.settled.fits(now.cycles, now.instructions)
    }
}

/// A processor whose run is followed by its [`Progress`].
pub trait Progressing: Guest {
    /// How far it is.
    fn progress(&mut self) -> &mut Progress;

    /// The number of the address space that runs, as the observers know it.
    fn space(&self) -> u32;

    /// The clock says `cycle` from now on.
    fn set_clock(&mut self, cycle: u64);

    /// The machine stops before the next instruction, unless it has a reason to stop already.
    fn stop_for(&mut self, stop: StopOf<Self>) {
        self.running_mut().stop.get_or_insert(stop);
        self.look_around();
    }

    /// The cause of the code that runs, if it has one.
    fn code_cause(&self) -> Option<Cause> {
        None
    }

    /// For a processor whose calls queries count.
    fn stack_pointer(&self) -> u64 {
        0
    }

    /// Of a function that begins here: the address that it returns to, and the stack pointer there.
    fn return_point(&self) -> Option<(u64, u64)> {
        None
    }

    /// The observers have begun to watch, or have been told of a part of the run.
    fn watch_goes_on(&mut self) {}

    /// Enters in the account the cycles and instructions since the last call, and these branches.
    fn settle_time(&mut self, branches: u64, mispredicted: u64) {
        let Instant {
            cycles,
            instructions,
            ..
        } = self.instant();
        let before = self.progress().settled;
        let account = self.account_mut();
        account.add(Event::Cycles, cycles - before.cycles);
        account.add(Event::Instructions, instructions - before.instructions);
        account.add_plain(Plain::Branch, branches);
        account.add_plain(Plain::BranchMispredict, mispredicted);
        let settled = &mut self.progress().settled;
        (settled.cycles, settled.instructions) = (cycles, instructions);
    }

    /// Selects the cause of what follows (docs/interfaces.md, section 3).
    fn choose_cause(&mut self) {
        let user = self.is_user();
        let own = if user { None } else { self.code_cause() };
        let dynamic = self.progress().dynamic_cause;
        let account = self.account_mut();
        account.user = user;
        account.cause = dynamic.or(own).unwrap_or(Cause::of_mode(user));
    }

    /// Charges the cycles since the last call to the address where that code began. `next` begins now.
    fn tell_observers(&mut self, next: u64) {
        let Instant {
            cycles,
            instructions,
            ..
        } = self.instant();
        let before = self.progress().settled;
        let (from, ran) = (before.watched_cycles, before.watched_instructions);
        if (cycles, instructions) > (from, ran) {
            let (observers, account, _) = self.parts();
            let code = (before.watched_pc as u32, account.user, account.cause);
            observers.ran(code, from, cycles, instructions - ran, account);
        }
        let settled = &mut self.progress().settled;
        settled.watched_cycles = cycles;
        settled.watched_instructions = instructions;
        settled.watched_pc = next;
        if self.observers().calls.is_some() {
            let (place, stack) = ((next, self.is_user()), self.stack_pointer());
            if let Some(entered) = self.observers_mut().enters(place, stack, cycles)
                && let Some(back) = self.return_point()
            {
                self.observers_mut().begin_call(entered, back);
            }
        }
    }

    /// Observers are told of everything from now on.
    fn begin_watch(&mut self) {
        let Instant {
            cycles,
            instructions,
            ..
        } = self.instant();
        let pc = self.next_instruction();
        let settled = &mut self.progress().settled;
        settled.watched_cycles = cycles;
        settled.watched_instructions = instructions;
        settled.watched_pc = pc;
        self.watch_goes_on();
    }

    /// Tells the observers of everything so far.
    fn close_watch(&mut self) {
        if self.observers().watch_time() {
            let next = self.next_instruction();
            self.tell_observers(next);
        }
    }

    /// The clock now says `cycle`: what was before is charged to nobody.
    fn start_clock(&mut self, cycle: u64) {
        self.settle();
        self.set_clock(cycle);
        self.progress().settled.cycles = cycle;
        self.begin_watch();
    }

    /// The kernel has given the MMU another address space. One that CONTEXT has named runs under that name again.
    fn note_space(&mut self) {
        self.close_watch();
        let (space, now) = (self.space(), self.instant().cycles);
        self.observers_mut().space_runs(space, now);
    }

    /// Carries out a write to the control device.
    fn carry_out(&mut self, effect: Effect) {
        self.close_watch();
        self.settle();
        match effect {
            Effect::Context(context) => {
                let space = self.space();
                self.observers_mut().name_space(space, context);
            }
            Effect::PowerOff(status) => self.stop_for(Stop::PowerOff { status }),
            Effect::Cause(number) => {
                let cause = self.observers().symbols.causes.numbered(number);
                self.progress().dynamic_cause = cause.filter(|_| number != 0);
                self.choose_cause();
            }
            _ => {}
        }
        self.observe(effect);
    }

    /// A write to a device has had this effect on the machine.
    fn device_was_written(&mut self, effect: Option<Effect>) {
        if let Some(effect) = effect {
            self.carry_out(effect);
        }
        self.look_around();
        if Self::shape(self.config()).processors > 1 {
            // The others see at once what the device does.
            self.end_turn();
        }
    }

    /// Tells the observers of an exception, or of an interrupt, that is about to be taken.
    fn note_exception(&mut self, name: &'static str) {
        let Instant { cycles, .. } = self.instant();
        let pc = self.next_instruction() as u32;
        let (observers, account, _) = self.parts();
        let which = Interruption {
            name,
            counter: name,
        };
        observers.exception(which, (pc, account.user, account.cause), cycles);
    }

    /// Tells the observers of a miss of the TLB of fetches, or of data, at `va`, for which the tables have been walked
    /// since cycle `from`.
    fn note_walk(&mut self, fetch: bool, va: u64, from: u64, tables: Tables) {
        let walk = self.instant().cycles - from;
        let pc = self.next_instruction() as u32;
        let (observers, account, _) = self.parts();
        account.note_miss(fetch, (va as u32, 0), Some(walk), tables);
        observers.tlb(&mut account.tlb, pc, from);
    }

    /// Counts an exception. True if too many have come without an instruction that completes between them.
    fn is_stuck(&mut self) -> bool {
        let completed = self.instant().instructions;
        let (count, last) = self.progress().in_a_row;
        // A machine that is run on after this stop stays within what its snapshot may hold.
        let count = if last == completed {
            EXCEPTIONS_MOST.min(count) + 1
        } else {
            0
        };
        self.progress().in_a_row = (count, completed);
        count > EXCEPTIONS_MOST
    }

    /// The next cycle at which something happens by itself that the processor must see.
    fn next_poll(&self) -> Option<u64> {
        self.memory().uncore.board.deadline(self.instant().cycles)
    }

    /// The cycle up to which nothing has to be looked at, under these limits.
    fn quiet_until(&mut self, limits: Limits) -> u64 {
        let next = self.next_poll().unwrap_or(u64::MAX);
        self.progress().polled_at = next;
        next.min(limits.cycles)
    }

    /// It waits for an interrupt, and none asks.
    fn waits(&mut self) -> bool {
        false
    }

    /// It begins to sleep, as one of several.
    fn falls_asleep(&mut self) {}

    /// Why nothing runs now: a stop that is due, a limit, a full batch of events, the end of the turn, something that a
    /// device did, or sleep. Time passes in which one processor sleeps.
    fn pauses(
        &mut self,
        stop: Option<StopOf<Self>>,
        limits: Limits,
        turn_over: bool,
    ) -> Option<Pause<StopOf<Self>>> {
        let now = self.instant();
        if let Some(stop) = stop {
            return Some(Pause::Stopped(stop));
        }
        if now.cycles >= limits.cycles || now.instructions >= limits.instructions {
            return Some(Pause::Stopped(Stop::Limit));
        }
        if self.observers().batch_is_full() {
            return Some(Pause::Stopped(Stop::Batch));
        }
        if turn_over {
            return Some(Pause::TurnOver);
        }
        self.poll();
        let several = Self::shape(self.config()).processors > 1;
        if several && now.cycles >= self.progress().polled_at {
            // What a device did, such as the delivery of a message, may start another processor, or wake it.
            self.progress().polled_at = u64::MAX;
            return Some(Pause::TurnOver);
        }
        while self.waits() {
            let now = self.instant().cycles;
            if now >= limits.cycles {
                return Some(Pause::Stopped(Stop::Limit));
            }
            let next = self.next_poll();
            if several {
                self.falls_asleep();
                self.times_mut().wake = Some(next.map_or(u64::MAX, |next| next.max(now + 1)));
                return Some(Pause::TurnOver);
            }
            let Some(next) = next.filter(|_| self.hears_interrupts()) else {
                return Some(Pause::Stopped(Stop::Fatal(self.asleep())));
            };
            self.pass(next.clamp(now + 1, limits.cycles));
            self.poll();
        }
        None
    }

    /// Tells a listener which other processors a write to the board has interrupted: those that are asked now and were
    /// not. `path` are the calls that led to it, if they are known.
    fn tell_of_interrupts(&mut self, asked: u8, path: &[u32]) {
        if self.observers().listener.is_none() {
            return;
        }
        let Instant {
            processor, cycles, ..
        } = self.instant();
        let here = [self.next_instruction() as u32];
        let path = if path.is_empty() { &here } else { path };
        let (observers, account, memory) = self.parts();
        let targets = memory.uncore.board.asked() & !asked & !(1 << processor);
        observers.interrupts(targets, path, (account.user, account.cause), cycles);
    }

    /// Lets the devices do what is due.
    fn poll(&mut self) {
        let now = self.instant().cycles;
        let board = &mut self.memory_mut().uncore;
        if board.board.deadline(now).is_some() {
            board.poll_devices(now);
        }
    }
}
