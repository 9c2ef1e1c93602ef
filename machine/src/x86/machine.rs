//! The whole computer of x86 processors.
//!
//! Several processors take turns as those of a PowerPC machine do ([`crate::machine`]): the one whose clock is furthest
//! behind runs next, until it is `lead` cycles ahead of the next. Who has the turn holds the uncore, the decoded blocks
//! and the observers.

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::dump::Dump;
use super::processor::Processor;
use super::stop::{Fatal, Pause, Stop};
use crate::board::{Board, Effect, Instant};
use crate::engine::pages;
use crate::loader::CauseRange;
use crate::machine::Limits;
use crate::memory::{Held, Memory, Notice, Uncore};
use crate::observe::Counters;
use crate::observe::sanitizers::{Freed, SanitizerSet};

/// What a snapshot keeps of the turns.
#[derive(Serialize, Deserialize)]
pub(super) struct Turns {
    current: usize,
    turn_over: bool,
    contexts: Vec<u32>,
    held: Vec<bool>,
}

/// A simulated computer.
pub struct Machine {
    processors: Vec<Processor>,
    /// The number of the one whose turn it is.
    current: usize,
    turn_over: bool,
    /// The address spaces in which those run whose turn it is not.
    contexts: Vec<u32>,
    /// Which wait to be started.
    held: Vec<bool>,
    /// Only this one has turns, as long as it can go on: [`Machine::run_alone`].
    alone: Option<usize>,
}

/// FEATURES of the control device: CONTEXT, COMMAND and FORK are used, so that recording a profile does not change what
/// the guest does.
const FEATURES: u32 = 4 | 8;

impl Machine {
    /// Makes a machine with empty RAM, whose first processor is in real mode at address 0.
    ///
    /// # Errors
    /// When the models cannot build what the machine file asks for.
    pub fn new(config: &Config, board: Board, causes: &[CauseRange]) -> Result<Machine, String> {
        let mut uncore = Uncore::of_x86(config, board)?;
        pages::large(uncore.ram.bytes_mut());
        uncore.board.set_features(FEATURES);
        let mut processors = Vec::new();
        for number in 0..config.processors {
            let memory = Memory::of_x86(config, uncore)?;
            let mut processor = Processor::new(number, config.clone(), memory, causes)?;
            let held = std::mem::take(&mut processor.memory.uncore);
            uncore = held.release().ok_or("a new processor holds the uncore")?;
            if config.processors > 1 {
                uncore.join(number, &processor.memory);
            }
            processors.push(processor);
        }
        let mut held = Held::new(uncore);
        for processor in processors.iter_mut().skip(1) {
            processor.memory.uncore = held;
            processor.park();
            held = std::mem::take(&mut processor.memory.uncore);
        }
        processors[0].memory.uncore = held;
        let number = processors.len();
        Ok(Machine {
            processors,
            current: 0,
            turn_over: true,
            contexts: vec![0; number],
            held: (0..number).map(|number| number != 0).collect(),
            alone: None,
        })
    }

    /// The configuration that the machine was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        self.processors[0].config()
    }

    /// The processor whose turn it is: the one that stopped the last run.
    #[must_use]
    pub fn processor(&self) -> &Processor {
        &self.processors[self.current]
    }

    /// The processor, to change it.
    pub fn processor_mut(&mut self) -> &mut Processor {
        &mut self.processors[self.current]
    }

    /// All processors, by number.
    #[must_use]
    pub fn processors(&self) -> &[Processor] {
        &self.processors
    }

    /// True if the processor with this number has not been started.
    #[must_use]
    pub fn is_held(&self, number: usize) -> bool {
        self.held.get(number).is_some_and(|&held| held)
    }

    /// RAM, L2, bus and board: everything behind the processors.
    #[must_use]
    pub fn uncore(&self) -> &Uncore {
        &self.processor().memory.uncore
    }

    /// The uncore, to change it.
    pub fn uncore_mut(&mut self) -> &mut Uncore {
        &mut self.processor_mut().memory.uncore
    }

    /// Turns always-probe mode on or off: see [`Processor::set_oracle`].
    pub fn set_oracle(&mut self, on: bool) {
        for processor in &mut self.processors {
            processor.set_oracle(on);
        }
    }

    /// Switches the sanitizer of translations on. Its report ends the run.
    pub fn sanitize(&mut self) {
        let set = SanitizerSet {
            translation: true,
            ..SanitizerSet::default()
        };
        let board = &mut self.uncore_mut().board;
        board.set_features(FEATURES | set.features());
        self.processor_mut().observers.freed = Some(Freed::default());
        for processor in &mut self.processors {
            processor.sanitized = true;
            processor.look_up_all();
        }
    }

    /// Runs until something stops the machine, or a limit is reached.
    pub fn run(&mut self, limits: Limits) -> Stop {
        if self.processors.len() > 1 {
            return self.run_in_turns(limits);
        }
        let processor = &mut self.processors[0];
        loop {
            if let Pause::Stopped(stop) = processor.turn(limits) {
                processor.settle();
                return stop;
            }
        }
    }

    /// As [`Machine::run`], but the other processors stand still: for a debugger. They run while this one waits to be
    /// started or sleeps, since it may wait for them.
    pub fn run_alone(&mut self, number: usize, limits: Limits) -> Stop {
        self.turn_over |= self.current != number;
        self.alone = Some(number);
        let stop = self.run(limits);
        self.alone = None;
        stop
    }

    /// Looks at a processor, or changes it. Whose turn it is does not change.
    pub(super) fn at<T>(&mut self, number: usize, look: impl FnOnce(&mut Processor) -> T) -> T {
        let current = self.current;
        let seen = look(self.select(number));
        self.select(current);
        seen
    }

    /// Stops the machine before the instruction at `address`, whichever processor comes to it.
    pub fn add_breakpoint(&mut self, address: u32) {
        for processor in &mut self.processors {
            processor.breakpoints.push(address);
        }
    }

    /// True if there was one.
    pub fn remove_breakpoint(&mut self, address: u32) -> bool {
        let mut found = false;
        for processor in &mut self.processors {
            let all = &mut processor.breakpoints;
            if let Some(place) = all.iter().position(|&other| other == address) {
                all.swap_remove(place);
                found = true;
            }
        }
        found
    }

    /// Removes all breakpoints.
    pub fn clear_breakpoints(&mut self) {
        for processor in &mut self.processors {
            processor.breakpoints.clear();
        }
    }

    /// Gives the turn to that processor.
    pub(super) fn select(&mut self, number: usize) -> &mut Processor {
        if number != self.current {
            let (low, high) = (number.min(self.current), number.max(self.current));
            let (before, from) = self.processors.split_at_mut(high);
            let (mut old, mut new) = (&mut before[low], &mut from[0]);
            if number == low {
                std::mem::swap(&mut old, &mut new);
            }
            old.park();
            std::mem::swap(&mut old.memory.uncore, &mut new.memory.uncore);
            std::mem::swap(&mut old.observers, &mut new.observers);
            std::mem::swap(&mut old.blocks, &mut new.blocks);
            let context = self.contexts[number];
            self.contexts[self.current] = new.observers.select(number as u8, context);
            new.park();
            self.current = number;
        }
        &mut self.processors[number]
    }

    /// What `take` gives of each processor, which holds the uncore meanwhile.
    pub(super) fn each<T>(&mut self, mut take: impl FnMut(&mut Processor) -> T) -> Vec<T> {
        let current = self.current;
        let numbers = 0..self.processors.len();
        let all = numbers.map(|number| take(self.select(number))).collect();
        self.select(current);
        all
    }

    fn settle_all(&mut self) {
        self.each(Processor::settle);
    }

    pub(super) fn turns(&self) -> Turns {
        Turns {
            current: self.current,
            turn_over: self.turn_over,
            contexts: self.contexts.clone(),
            held: self.held.clone(),
        }
    }

    /// Puts back what [`Machine::turns`] gave. False if no machine like this one can have come to it.
    #[must_use]
    pub(super) fn set_turns(&mut self, turns: &Turns) -> bool {
        let count = self.processors.len();
        let numbers = turns.held.len() == count && turns.contexts.len() == count;
        if !numbers || turns.current >= count {
            return false;
        }
        self.select(turns.current);
        self.turn_over = turns.turn_over;
        self.contexts.clone_from(&turns.contexts);
        self.held.clone_from(&turns.held);
        true
    }

    fn run_in_turns(&mut self, limits: Limits) -> Stop {
        let stop = loop {
            if self.turn_over {
                if let Some(stop) = self.next_turn(limits) {
                    break stop;
                }
                self.turn_over = false;
            }
            let all: u64 = (self.processors.iter())
                .map(|processor| processor.instant().instructions)
                .sum();
            let processor = &mut self.processors[self.current];
            let own = processor.instant().instructions;
            let left = limits.instructions.saturating_sub(all);
            let pause = processor.turn(Limits {
                cycles: limits.cycles,
                instructions: own.saturating_add(left),
            });
            if let Pause::Stopped(stop) = pause {
                break stop;
            }
            self.turn_over = true;
            self.end_turn();
        };
        self.deliver();
        self.enter_accounts();
        stop
    }

    /// Enters in each account what its processor has done, and how long it has been halted: until the clock that is
    /// furthest behind, before which nobody can wake it.
    fn enter_accounts(&mut self) {
        let running = (self.processors.iter().zip(&self.held)).filter(|&(_, held)| !held);
        let behind = running.map(|(processor, _)| processor.goes_on()).min();
        let behind = behind.filter(|&cycle| cycle != u64::MAX);
        for (processor, held) in self.processors.iter_mut().zip(&self.held) {
            if let Some(cycle) = behind.filter(|_| !held) {
                processor.sleep_until(cycle);
            }
        }
        self.settle_all();
    }

    /// Chooses who is next: the one that is furthest behind.
    fn next_turn(&mut self, limits: Limits) -> Option<Stop> {
        let (mut first, mut second) = (None, u64::MAX);
        for (number, processor) in self.processors.iter().enumerate() {
            if self.held[number] {
                continue;
            }
            let at = processor.goes_on();
            if self.alone == Some(number) && at != u64::MAX {
                (first, second) = (Some((number, at)), u64::MAX);
                break;
            }
            match first {
                Some((_, earliest)) if at >= earliest => second = second.min(at),
                _ => {
                    second = first.map_or(second, |(_, at)| at);
                    first = Some((number, at));
                }
            }
        }
        let Some((number, _)) = first.filter(|&(_, at)| at != u64::MAX) else {
            let eip = self.processor().registers.eip;
            return Some(Stop::Fatal(Fatal::Asleep { eip }));
        };
        let lead = u64::from(self.config().lead);
        let end = second.saturating_add(lead);
        self.select(number).begin_turn(end, limits.cycles);
        None
    }

    /// A turn is over: the others learn what the processor has done.
    fn end_turn(&mut self) {
        let current = self.current;
        let now = self.processors[current].now();
        self.deliver();
        for number in 0..self.processors.len() {
            let line = number as u8;
            let held = self.uncore().board.holds(line);
            if self.held[number] && !held {
                let page = self.uncore().board.start_page(line);
                self.select(number).start(page, now);
            }
            self.held[number] = held;
            if self.processors[number].sleeps() && self.uncore().board.interrupt(line) {
                self.processors[number].rouse(now);
            }
        }
    }

    /// The others learn what this turn has told them. Regions of interest begin and end, and dumps are taken.
    fn deliver(&mut self) {
        let current = self.current;
        let notices = std::mem::take(&mut self.uncore_mut().notices);
        for notice in notices {
            for (number, processor) in self.processors.iter_mut().enumerate() {
                if number != current
                    && let Notice::Instruction(physical) = notice
                {
                    processor.memory.instruction.invalidate(physical);
                    processor.fetched = super::processor::NOWHERE;
                }
            }
        }
        let effects = std::mem::take(&mut self.uncore_mut().effects);
        if effects.is_empty() {
            return;
        }
        self.enter_accounts();
        let counters = self.counters();
        for effect in effects {
            if let Effect::Dump(label) = effect {
                let states = self.states(label);
                self.processor_mut().observers.add_dumps(states);
            } else {
                self.processor_mut().observers.region(effect, &counters);
            }
        }
    }

    /// The state of each processor's MMU, in order. Where there are several, a state says whose it is.
    #[must_use]
    pub fn states(&self, label: u32) -> Vec<Dump> {
        let several = self.processors.len() > 1;
        let all = self.processors.iter();
        all.map(|processor| {
            let Processor { registers, mmu, .. } = processor;
            Dump {
                processor: several.then(|| processor.instant().processor),
                ..Dump::take(label, processor.now(), registers, mmu)
            }
        })
        .collect()
    }

    /// The counters of all processors in sum.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = self.processors[0].account.counters.clone();
        for processor in &self.processors[1..] {
            sum.accumulate(&processor.account.counters);
        }
        if self.processors.len() > 1 {
            sum.set_elapsed(self.instant().cycles);
        }
        sum
    }

    /// Cycles since reset on the clock that is furthest ahead, and completed instructions of all processors.
    #[must_use]
    pub fn instant(&self) -> Instant {
        let all = self.processors.iter().map(Processor::instant);
        let own = self.processor().instant();
        all.fold(
            Instant {
                instructions: 0,
                ..own
            },
            |sum, now| Instant {
                cycles: sum.cycles.max(now.cycles),
                instructions: sum.instructions + now.instructions,
                ..sum
            },
        )
    }
}

impl Processor {
    /// The cycle at which the processor goes on: its clock, or when it wakes.
    fn goes_on(&self) -> u64 {
        self.wake.unwrap_or_else(|| self.now())
    }

    /// True if it is halted.
    pub(super) fn sleeps(&self) -> bool {
        self.wake.is_some()
    }

    /// Its interrupt input has been raised by cycle `now`.
    fn rouse(&mut self, now: u64) {
        let at = now.max(self.now());
        if self.registers.system & super::registers::eflags::IF != 0
            && let Some(wake) = &mut self.wake
        {
            *wake = (*wake).min(at);
        }
    }

    /// Has been halted until `cycle`, if it is.
    fn sleep_until(&mut self, cycle: u64) {
        if self.sleeps() && cycle > self.now() {
            self.pass(cycle);
        }
    }

    /// Its turn begins, and lasts until cycle `end`. A processor that sleeps has done so until it wakes, at `latest`
    /// until that cycle.
    fn begin_turn(&mut self, end: u64, latest: u64) {
        self.turn_end = self.slots_at(end);
        if let Some(wake) = self.wake.take() {
            self.pass(wake.min(latest).max(self.now()));
        }
        self.due_at_once();
    }

    /// Ends its turn at the next block: others must see at once what it does.
    pub(super) fn end_turn(&mut self) {
        self.turn_end = 0;
        self.due_at_once();
    }

    /// Puts what others reach of a processor that does not run into the uncore, or takes it out again. The processor
    /// holds the uncore.
    fn park(&mut self) {
        self.memory
            .exchange(self.number, &mut None, &mut self.account);
    }
}
