//! What a computer asks of a processor. Each architecture implements [`Cpu`] for its own.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::breakpoints::Breakpoints;
use super::stop::{Limits, Pause, Stop};
use crate::account::Account;
use crate::board::{Console, Effect, Instant};
use crate::loader::CauseRange;
use crate::memory::{Memory, Notice, Uncore};
use crate::observe::{Observers, Shown};

/// What a machine file says of the whole computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many processors there are.
    pub processors: u8,
    /// Core cycles by which a processor may be ahead of the next one when its turn ends.
    pub lead: u32,
    /// The core's clock in Hz.
    pub clock: u64,
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

    /// Cycles and completed instructions since reset.
    fn instant(&self) -> Instant;

    /// Enters in the account the cycles and events since the last call.
    fn settle(&mut self);

    /// Must be called after a change from outside to registers, translations, memory, observers or breakpoints.
    fn state_changed(&mut self) {}

    /// Must be called after a change of what observes the run.
    fn observers_changed(&mut self) {}

    /// Turns always-probe mode on or off: no shortcut is taken. Cycles and counters must not change.
    fn set_oracle(&mut self, on: bool);

    /// Compiles code to the host's as soon as it was seen so often: 1 is at once, `None` never. What a program does and
    /// what is counted does not depend on it. A processor without a compiler ignores it.
    fn set_compiler(&mut self, _seen: Option<u32>) {}

    /// Why code is not compiled that should be, if the host does not allow it.
    fn compiler_refused(&self) -> Option<&str> {
        None
    }

    /// With `on`, an exception stops the machine, and the caller of the run handles it.
    fn set_hosted(&mut self, on: bool);

    fn breakpoints_mut(&mut self) -> &mut Breakpoints;

    /// Makes ready to run, after whatever was done to it from outside.
    fn make_ready(&mut self) {}

    /// Runs until something stops the machine, a limit is reached, or the turn is over.
    fn turn(&mut self, limits: Limits) -> Pause<StopOf<Self>>;

    /// The cycle at which the processor goes on: its clock, or when it wakes.
    fn goes_on(&self) -> u64;

    /// True if it waits for an interrupt.
    fn sleeps(&self) -> bool {
        false
    }

    /// Its external interrupt input has been raised by cycle `now`.
    fn rouse(&mut self, now: u64) {
        let _ = now;
    }

    /// Has slept until `cycle`, if it sleeps.
    fn sleep_until(&mut self, cycle: u64) {
        let _ = cycle;
    }

    /// Its turn begins, and lasts until cycle `end`. A processor that sleeps has done so until it wakes, at `latest`
    /// until that cycle.
    fn begin_turn(&mut self, end: u64, latest: u64);

    /// The end of its turn in its own unit of time, and when it wakes: for a snapshot.
    fn turn_state(&self) -> (u64, Option<u64>);

    fn set_turn_state(&mut self, state: (u64, Option<u64>));

    /// Puts what others reach of a processor that does not run into the uncore, or takes it out again. The processor
    /// holds the uncore.
    fn park(&mut self);

    /// Gives `next` what the processor whose turn it is has: the uncore, the observers, what else is there once only.
    fn hand_over(&mut self, next: &mut Self);

    /// Does what another processor has broadcast. `held`: this one is held in reset.
    fn told(&mut self, notice: Notice, held: bool) {
        let _ = (notice, held);
    }

    /// Leaves the reset in which the board has held it, at cycle `now`. It holds the uncore.
    fn start(&mut self, now: u64);

    /// The state of a processor that nothing can wake.
    fn asleep(&self) -> Self::Fatal;

    /// The state of translation, and of the caches with `caches`. `several`: it says of which processor it is.
    fn state(&self, label: u32, caches: bool, several: bool) -> Self::Dump;

    /// A region of interest begins or ends. `counters` are those of all processors.
    fn region(&mut self, effect: Effect, counters: &crate::account::Counters) {
        let now = self.instant().cycles;
        self.observers_mut().region(effect, counters, now);
    }
}

/// The parts of a processor that [`Cpu`] asks for, of one that has them in fields with these names.
#[macro_export]
macro_rules! cpu_parts {
    () => {
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

        fn observers(&self) -> &$crate::observe::Observers<Self::Dump> {
            &self.observers
        }

        fn observers_mut(&mut self) -> &mut $crate::observe::Observers<Self::Dump> {
            &mut self.observers
        }
    };
}

pub use cpu_parts;
