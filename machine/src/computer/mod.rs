//! The whole computer, of any architecture. It owns the processors and the uncore behind them, and runs them.

pub mod breakpoints;
pub mod cpu;
pub mod guest;
pub(crate) mod pages;
mod progress;
mod running;
mod sanitized;
pub mod session;
pub mod snapshot;
pub mod stop;
mod turns;

pub use breakpoints::{Breakpoints, Watchpoint};
pub(crate) use cpu::cpu_calls;
pub use cpu::{Cpu, Shape, StopOf, TurnTimes, cpu_parts};
pub use guest::Guest;
pub use progress::{Progress, Progressing};
pub use running::Running;
pub(crate) use sanitized::Sanitized;
pub use session::{Session, SessionError};
pub(crate) use snapshot::state_of;
pub use snapshot::{Saved, SnapshotError, shared_blocks};
pub use stop::{EXCEPTIONS_MOST, Limits, Pause, Stop};
pub(crate) use turns::TurnsState;

use crate::account::causes::{CAUSES, NAME_MOST};
use crate::account::{CauseNames, Counters};
use crate::board::{Console, Instant};
use crate::loader::CauseRange;
use crate::memory::{Loan, Uncore};
use crate::observe::sanitizers::{SanitizerSet, Sanitizers};

/// A simulated computer.
///
/// The processor whose turn it is holds the uncore ([`Loan`]): docs/machine.md.
pub struct Computer<C: Cpu> {
    processors: Vec<C>,
    /// The number of the one whose turn it is.
    current: usize,
    /// Its turn is over. Otherwise a run goes on with it.
    turn_over: bool,
    /// Only this one has turns, as long as it can go on: [`Computer::run_alone`].
    alone: Option<usize>,
    /// The address spaces in which those run whose turn it is not.
    contexts: Vec<u32>,
    /// Which processors the board keeps in reset.
    in_reset: Vec<bool>,
}

impl<C: Cpu> Computer<C> {
    /// Makes a computer with zeroed RAM and its processors in their state after reset, of which the first one runs.
    /// `causes` says which code has its own cost category.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    pub fn build(
        config: &C::Config,
        console: Console,
        causes: &[CauseRange],
    ) -> Result<Self, String> {
        let names = CauseNames::with(causes.iter().map(|range| range.name.as_str()));
        let names = names.map_err(|name| {
            format!(
                "code cannot have the cause `{name}`: a name has at most {NAME_MOST} of a to z, 0 to 9 and -, and \
                 there are {CAUSES} causes at most"
            )
        })?;
        let mut uncore = C::uncore(config, console)?;
        pages::large(uncore.ram.bytes_mut());
        let count = C::shape(config).processors;
        let mut processors = Vec::new();
        for number in 0..count {
            let memory = C::caches(config, uncore)?;
            let mut processor = C::with_memory(number, config, memory, causes)?;
            let loan = std::mem::take(&mut processor.memory_mut().uncore);
            uncore = loan.release().ok_or("a new processor holds the uncore")?;
            if count > 1 {
                uncore.join(number, processor.memory());
            }
            processors.push(processor);
        }
        // All but the first are parked: what others reach of them is in the uncore.
        let mut loan = Loan::new(uncore);
        for processor in processors.iter_mut().skip(1) {
            processor.memory_mut().uncore = loan;
            processor.park();
            loan = std::mem::take(&mut processor.memory_mut().uncore);
        }
        // On a board that holds none, all begin at once.
        let holds = |number| number != 0 && loan.board.holds(number);
        let resets = (0..count).map(holds).collect();
        processors[0].memory_mut().uncore = loan;
        processors[0].observers_mut().symbols.causes = names;
        Ok(Computer {
            current: 0,
            turn_over: true,
            alone: None,
            contexts: vec![0; processors.len()],
            in_reset: resets,
            processors,
        })
    }

    /// The configuration that the computer was made from.
    #[must_use]
    pub fn config(&self) -> &C::Config {
        self.processors[0].config()
    }

    /// What that says of the whole computer.
    #[must_use]
    pub fn shape(&self) -> Shape {
        C::shape(self.config())
    }

    /// The processor whose turn it is: the one that stopped the last run.
    #[must_use]
    pub fn processor(&self) -> &C {
        &self.processors[self.current]
    }

    /// The processor, to change it.
    pub fn processor_mut(&mut self) -> &mut C {
        &mut self.processors[self.current]
    }

    /// All processors, by number. One whose turn it is not holds no uncore, and its D-cache's tags are there.
    #[must_use]
    pub fn processors(&self) -> &[C] {
        &self.processors
    }

    /// True if the board keeps the processor with this number in reset: no guest has started it.
    #[must_use]
    pub fn is_in_reset(&self, number: usize) -> bool {
        self.in_reset.get(number).is_some_and(|&in_reset| in_reset)
    }

    /// RAM, L2, bus and board: everything behind the processors.
    #[must_use]
    pub fn uncore(&self) -> &Uncore {
        &self.processor().memory().uncore
    }

    /// The uncore, to change it.
    pub fn uncore_mut(&mut self) -> &mut Uncore {
        &mut self.processor_mut().memory_mut().uncore
    }

    /// Runs until something stops the machine, or a limit is reached.
    pub fn run(&mut self, limits: Limits) -> StopOf<C> {
        if self.processors.len() > 1 {
            return self.run_in_turns(limits);
        }
        let processor = &mut self.processors[0];
        processor.make_ready();
        loop {
            if let Pause::Stopped(stop) = processor.turn(limits) {
                processor.settle();
                return stop;
            }
        }
    }

    /// As [`Computer::run`], but the other processors stand still: for a debugger. They run while this one is held in
    /// reset or sleeps, since it may wait for them.
    pub fn run_alone(&mut self, number: usize, limits: Limits) -> StopOf<C> {
        self.turn_over |= self.current != number;
        self.alone = Some(number);
        let stop = self.run(limits);
        self.alone = None;
        stop
    }

    /// Switches sanitizers on and off. Those that are on already keep what they know; one that is switched on knows
    /// nothing of earlier events. The check of fetches knows one I-cache and one D-cache: several processors do
    /// without it.
    pub fn sanitize(&mut self, mut set: SanitizerSet) {
        set.fetch &= self.processors.len() == 1;
        let processor = self.processor_mut();
        let known = &processor.observers().sanitizers;
        if known.as_ref().is_some_and(|old| old.set == set) {
            return;
        }
        let sanitizers = (set.any()).then(|| Sanitizers::new(set, processor.memory()));
        processor.observers_mut().sanitizers = sanitizers;
        processor.observers_changed();
    }

    /// Sets which code is compiled to the host's: see [`Cpu::set_compiler`].
    pub fn set_compiler(&mut self, seen: Option<u32>) {
        for processor in &mut self.processors {
            processor.set_compiler(seen);
        }
    }

    /// Why code is not compiled that should be, if the host does not allow it.
    #[must_use]
    pub fn compiler_refused(&self) -> Option<&str> {
        self.processors.iter().find_map(Cpu::compiler_refused)
    }

    /// Turns always-probe mode on or off: see [`Cpu::set_oracle`].
    pub fn set_oracle(&mut self, on: bool) {
        for processor in &mut self.processors {
            processor.set_oracle(on);
        }
    }

    /// Turns running a program without a kernel on or off: see [`Cpu::set_hosted`].
    pub fn set_hosted(&mut self, on: bool) {
        for processor in &mut self.processors {
            processor.set_hosted(on);
        }
    }

    /// Changes the breakpoints and watchpoints of each processor in the same way: they stop the machine whichever
    /// processor comes to them. Returns what `change` gives, which is the same of each.
    pub fn breakpoints<T>(&mut self, mut change: impl FnMut(&mut Breakpoints) -> T) -> T {
        let (first, others) = self.processors.split_at_mut(1);
        for processor in others {
            change(processor.breakpoints_mut());
        }
        change(first[0].breakpoints_mut())
    }

    /// The state of each processor, in order. Where there are several, a state says whose it is.
    pub fn states(&mut self, label: u32, caches: bool) -> Vec<C::Dump> {
        let several = self.processors.len() > 1;
        self.each(|processor| processor.state(label, caches, several))
    }

    /// The counters of all processors in sum.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = self.processors[0].account().counters.clone();
        for processor in &self.processors[1..] {
            sum.accumulate(&processor.account().counters);
        }
        if self.processors.len() > 1 {
            sum.set_elapsed(self.instant().cycles);
        }
        sum
    }

    /// The same with their names.
    #[must_use]
    pub fn named_counters(&self) -> Vec<(String, u64)>
    where
        C: Guest,
    {
        self.named(&self.counters())
    }

    /// These counters with their names on the machine.
    #[must_use]
    pub fn named(&self, counters: &Counters) -> Vec<(String, u64)>
    where
        C: Guest,
    {
        let causes = &self.processor().observers().symbols.causes;
        counters.named(&C::NAMES, causes)
    }

    /// Cycles since reset on the clock that is furthest ahead, and completed instructions of all processors.
    #[must_use]
    pub fn instant(&self) -> Instant {
        let all = self.processors.iter().map(C::instant);
        let none = Instant {
            instructions: 0,
            ..self.processor().instant()
        };
        all.fold(none, |sum, now| Instant {
            cycles: sum.cycles.max(now.cycles),
            instructions: sum.instructions + now.instructions,
            ..sum
        })
    }
}
