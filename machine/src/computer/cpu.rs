//! What a computer asks of a processor. Each architecture implements [`Cpu`] for its own.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::breakpoints::Breakpoints;
use super::running::Running;
use super::stop::{Limits, Pause, Stop};
use crate::account::Account;
use crate::board::{Console, Effect, Instant};
use crate::loader::CauseRange;
use crate::memory::{Memory, Notice, Uncore};
use crate::observe::{Observers, Shown};

/// What a machine file says of the whole computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// How many processors there are.
    pub processors: u8,
    /// Core cycles by which a processor may be ahead of the next one when its turn ends.
    pub lead: u32,
    /// The core's clock in Hz.
    pub clock: u64,
}

/// When the turn of a processor ends, and when it wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnTimes {
    /// The end of the turn in the processor's unit of time.
    pub end: u64,
    /// The cycle until which the processor waits for an interrupt, if it does.
    pub wake: Option<u64>,
}

impl Default for TurnTimes {
    /// A turn without an end.
    fn default() -> Self {
        TurnTimes {
            end: u64::MAX,
            wake: None,
        }
    }
}

/// Why a run of this processor ended.
pub type StopOf<C> = Stop<<C as Cpu>::Exception, <C as Cpu>::Fatal>;

/// A processor, as the computer that it belongs to sees it. It has access to the uncore in its turn only.
pub trait Cpu: Sized {
    /// A machine file.
    type Config: Clone + PartialEq + Serialize + DeserializeOwned;
    /// What stops a program that runs without a kernel.
    type Exception: Clone + Debug + PartialEq + Eq;
    /// A state from which the guest cannot go on.
    type Fatal: Clone + Debug + PartialEq + Eq;
    /// The state of translation and caches, as a dump shows it.
    type Dump: Shown;

    /// What `config` says of the computer.
    fn shape(config: &Self::Config) -> Shape;

    /// What is behind the processors: zeroed RAM, an empty L2, the bus, and the board that `config` names.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    fn uncore(config: &Self::Config, console: Console) -> Result<Uncore, String>;

    /// One processor's caches, empty, before `uncore`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    fn caches(config: &Self::Config, uncore: Uncore) -> Result<Memory, String>;

    /// A processor in its state after reset. `causes` says which code has its own cost category.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    fn with_memory(
        number: u8,
        config: &Self::Config,
        memory: Memory,
        causes: &[CauseRange],
    ) -> Result<Self, String>;

    /// The configuration that the processor was made from.
    fn config(&self) -> &Self::Config;

    fn memory(&self) -> &Memory;

    fn memory_mut(&mut self) -> &mut Memory;

    /// The counters, as of the last call of [`Cpu::settle`].
    fn account(&self) -> &Account;

    fn account_mut(&mut self) -> &mut Account;

    /// The computer's observers: the processor that holds the uncore has them.
    fn observers(&self) -> &Observers<Self::Dump>;

    fn observers_mut(&mut self) -> &mut Observers<Self::Dump>;

    /// Observers, account and memory at once.
    fn parts(&mut self) -> (&mut Observers<Self::Dump>, &mut Account, &mut Memory);

    /// How it is run.
    fn running(&self) -> &Running<Self>;

    fn running_mut(&mut self) -> &mut Running<Self>;

    /// Cycles and completed instructions since reset.
    fn instant(&self) -> Instant;

    /// Enters in the account the cycles and events since the last call.
    fn settle(&mut self);

    /// Must be called after a change from outside to registers, translations, memory, observers or breakpoints.
    fn state_changed(&mut self) {}

    /// Must be called after a change of what observes the run.
    fn observers_changed(&mut self) {}

    /// Turns always-probe mode on or off: no shortcut is taken. Cycles and counters must not change.
    fn set_oracle(&mut self, on: bool) {
        self.running_mut().oracle = on;
    }

    /// Compiles code to the host's as soon as it was seen so often: 1 is at once, `None` never. What a program does and
    /// what is counted does not depend on it. A processor without a compiler ignores it.
    fn set_compiler(&mut self, _seen: Option<u32>) {}

    /// Why code is not compiled that should be, if the host does not allow it.
    fn compiler_refused(&self) -> Option<&str> {
        None
    }

    /// With `on`, an exception stops the machine, and the caller of the run handles it.
    fn set_hosted(&mut self, on: bool) {
        self.running_mut().hosted = on;
    }

    fn breakpoints_mut(&mut self) -> &mut Breakpoints {
        &mut self.running_mut().breakpoints
    }

    /// Makes ready to run, after whatever was done to it from outside.
    fn make_ready(&mut self) {}

    /// Runs until something stops the machine, a limit is reached, or the turn is over.
    fn turn(&mut self, limits: Limits) -> Pause<StopOf<Self>>;

    fn times(&self) -> &TurnTimes {
        &self.running().times
    }

    fn times_mut(&mut self) -> &mut TurnTimes {
        &mut self.running_mut().times
    }

    /// `cycle` in the processor's unit of time.
    fn in_units(&self, cycle: u64) -> u64 {
        cycle
    }

    /// An external interrupt wakes it.
    fn hears_interrupts(&self) -> bool {
        true
    }

    /// The processor looks at the end of its turn, at interrupts and at events before its next block.
    fn look_around(&mut self) {
        self.running_mut().deadline = 0;
    }

    /// The clock goes on to `cycle` while the processor waits.
    fn pass(&mut self, cycle: u64);

    /// The cycle at which the processor goes on: its clock, or when it wakes.
    fn goes_on(&self) -> u64 {
        self.times().wake.unwrap_or_else(|| self.instant().cycles)
    }

    /// True if it waits for an interrupt.
    fn sleeps(&self) -> bool {
        self.times().wake.is_some()
    }

    /// Its external interrupt input has been raised by cycle `now`.
    fn rouse(&mut self, now: u64) {
        let at = now.max(self.instant().cycles);
        if self.hears_interrupts()
            && let Some(wake) = &mut self.times_mut().wake
        {
            *wake = (*wake).min(at);
        }
    }

    /// Has slept until `cycle`, if it sleeps.
    fn sleep_until(&mut self, cycle: u64) {
        if self.sleeps() && cycle > self.instant().cycles {
            self.pass(cycle);
        }
    }

    /// Its turn begins, and lasts until cycle `end`. A processor that sleeps has done so until it wakes, at `latest`
    /// until that cycle.
    fn begin_turn(&mut self, end: u64, latest: u64) {
        self.times_mut().end = self.in_units(end);
        if let Some(wake) = self.times_mut().wake.take() {
            self.pass(wake.min(latest).max(self.instant().cycles));
        }
        self.look_around();
    }

    /// Ends its turn at the next block: others must see at once what it does.
    fn end_turn(&mut self) {
        self.times_mut().end = 0;
        self.look_around();
    }

    /// Puts what others reach of a processor that does not run into the uncore, or takes it out again. The processor
    /// holds the uncore.
    fn park(&mut self) {
        let number = self.instant().processor;
        let (_, account, memory) = self.parts();
        memory.exchange(number, &mut None, account);
    }

    /// Gives `next` what the processor whose turn it is has: the uncore, the observers, and other state that a machine
    /// has once.
    fn hand_over(&mut self, next: &mut Self) {
        let (memory, next_memory) = (self.memory_mut(), next.memory_mut());
        std::mem::swap(&mut memory.uncore, &mut next_memory.uncore);
        self.hand_over_more(next);
    }

    /// Gives `next` the observers, and other state that a machine has once and that is not in the uncore.
    fn hand_over_more(&mut self, next: &mut Self);

    /// Does what another processor has broadcast. `in_reset`: the board keeps this processor in reset.
    fn told(&mut self, notice: Notice, in_reset: bool) {
        let _ = (notice, in_reset);
    }

    /// Ends its reset at cycle `now`. It has the uncore.
    fn start(&mut self, now: u64);

    /// The state of a processor that nothing can wake.
    fn asleep(&self) -> Self::Fatal;

    /// The state of translation, and of the caches with `caches`. `several`: it says of which processor it is.
    fn state(&self, label: u32, caches: bool, several: bool) -> Self::Dump;

    /// Tells the observers of a write to the control device. What concerns all processors of several waits for the end
    /// of this turn.
    fn observe(&mut self, effect: Effect) {
        let everyone = matches!(
            effect,
            Effect::RegionBegin(_) | Effect::RegionEnd(_) | Effect::Dump(_)
        );
        if everyone && Self::shape(self.config()).processors > 1 {
            self.memory_mut().uncore.effects.push(effect);
            self.end_turn();
            return;
        }
        match effect {
            Effect::Dump(label) if self.observers_mut().admits_dumps(1) => {
                let state = self.state(label, true, false);
                self.observers_mut().dumps.push(state);
            }
            Effect::RegionBegin(number) | Effect::RegionEnd(number)
                if self.observers().wants_states(effect) =>
            {
                let state = self.state(number, false, false);
                self.observers_mut().keep_states(effect, vec![state]);
            }
            _ => {}
        }
        let now = self.instant().cycles;
        let (observers, account, memory) = self.parts();
        observers.effect(effect, now, &account.counters, &memory.uncore.ram);
    }

    /// A region of interest begins or ends. `counters` are those of all processors.
    fn region(&mut self, effect: Effect, counters: &crate::account::Counters) {
        let now = self.instant().cycles;
        self.observers_mut().region(effect, counters, now);
    }
}

/// The parts of a processor that [`Cpu`] asks for, of one that has them in fields with these names. `$once` is the
/// field of other state that a machine has once ([`Cpu::hand_over_more`]).
#[macro_export]
macro_rules! cpu_parts {
    ($once:ident) => {
        fn config(&self) -> &Self::Config {
            &self.config
        }

        fn memory(&self) -> &$crate::memory::Memory {
            &self.memory
        }

        fn memory_mut(&mut self) -> &mut $crate::memory::Memory {
            &mut self.memory
        }

        fn account(&self) -> &$crate::account::Account {
            &self.account
        }

        fn account_mut(&mut self) -> &mut $crate::account::Account {
            &mut self.account
        }

        fn running(&self) -> &$crate::computer::Running<Self> {
            &self.running
        }

        fn running_mut(&mut self) -> &mut $crate::computer::Running<Self> {
            &mut self.running
        }

        fn observers(&self) -> &$crate::observe::Observers<Self::Dump> {
            &self.observers
        }

        fn observers_mut(&mut self) -> &mut $crate::observe::Observers<Self::Dump> {
            &mut self.observers
        }

        fn parts(
            &mut self,
        ) -> (
            &mut $crate::observe::Observers<Self::Dump>,
            &mut $crate::account::Account,
            &mut $crate::memory::Memory,
        ) {
            (&mut self.observers, &mut self.account, &mut self.memory)
        }

        fn hand_over_more(&mut self, next: &mut Self) {
            // Swapped, not taken: a new set of observers would cost more than the rest of the move.
            std::mem::swap(&mut self.observers, &mut next.observers);
            std::mem::swap(&mut self.$once, &mut next.$once);
        }

        fn with_memory(
            number: u8,
            config: &Self::Config,
            memory: $crate::memory::Memory,
            causes: &[$crate::loader::CauseRange],
        ) -> Result<Self, String> {
            Self::new(number, config.clone(), memory, causes)
        }

        fn turn(
            &mut self,
            limits: $crate::computer::Limits,
        ) -> $crate::computer::Pause<$crate::computer::StopOf<Self>> {
            self.run_turn(limits)
        }
    };
}

pub use cpu_parts;

/// What [`Cpu`] asks for, of a processor that has functions with these names, and whose machine file has these keys.
macro_rules! cpu_calls {
    () => {
        fn shape(config: &Self::Config) -> $crate::computer::Shape {
            $crate::computer::Shape {
                processors: config.processors,
                lead: config.lead,
                clock: config.core.clock,
            }
        }

        #[inline(always)]
        fn instant(&self) -> $crate::board::Instant {
            Processor::instant(self)
        }

        fn settle(&mut self) {
            Processor::settle(self);
        }

        fn pass(&mut self, cycle: u64) {
            Processor::pass(self, cycle);
        }
    };
}

pub(crate) use cpu_calls;
