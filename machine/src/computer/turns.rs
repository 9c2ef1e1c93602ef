//! Several processors take turns on one thread of the host.
//!
//! The processor that is furthest behind has the next turn. The turn is over when its clock is `lead` cycles ahead of
//! the next one's, at the first block from there on. It is over at once when a processor writes to a device, or has
//! another's TLB or I-cache changed: then the others see that before they go on. A processor that saves power is where
//! its clock will be when it wakes. Of equal clocks the lower number goes first. So the order depends on the machine
//! and its input alone.
//!
//! What a processor does is seen by the others in the order of turns. Within the lead that is not the order of the
//! clocks: a line may be taken from a processor that, by its clock, has used it before.
//!
//! A processor that the board holds in reset has no turn and costs nothing. When it is released, its clock begins where
//! that of the releasing processor is, so that time bases are in step.

use serde::{Deserialize, Serialize};

use super::{Computer, Cpu, Limits, Pause, Stop, StopOf, TurnTimes};
use crate::board::Effect;
use crate::memory::Notice;

/// Whose turn it is, and which processors are in reset, in a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct TurnsState {
    current: usize,
    turn_over: bool,
    in_reset: Vec<bool>,
    contexts: Vec<u32>,
    turns: Vec<TurnTimes>,
}

impl<C: Cpu> Computer<C> {
    /// Makes processor `number` the one that holds the uncore.
    pub(crate) fn select(&mut self, number: usize) -> &mut C {
        if number != self.current {
            let (low, high) = (number.min(self.current), number.max(self.current));
            let (before, from) = self.processors.split_at_mut(high);
            let (mut old, mut new) = (&mut before[low], &mut from[0]);
            if number == low {
                std::mem::swap(&mut old, &mut new);
            }
            old.park();
            old.hand_over(new);
            let context = self.contexts[number];
            self.contexts[self.current] = new.observers_mut().select(number as u8, context);
            new.park();
            self.current = number;
        }
        &mut self.processors[number]
    }

    /// Looks at processor `number`, or changes it. Whose turn it is does not change.
    pub(crate) fn at<T>(&mut self, number: usize, look: impl FnOnce(&mut C) -> T) -> T {
        let current = self.current;
        let seen = look(self.select(number));
        self.select(current);
        seen
    }

    /// What `take` gives of each processor, in order. Whose turn it is does not change.
    pub(crate) fn each<T>(&mut self, mut take: impl FnMut(&mut C) -> T) -> Vec<T> {
        let current = self.current;
        let all = 0..self.processors.len();
        let taken = all.map(|number| take(self.select(number))).collect();
        self.select(current);
        taken
    }

    /// [`Computer::run`] of several processors.
    pub(super) fn run_in_turns(&mut self, limits: Limits) -> StopOf<C> {
        self.each(C::make_ready);
        let stop = self.take_turns(limits);
        self.deliver();
        self.enter_accounts();
        stop
    }

    /// Enters in each account what its processor has done, and how long it has saved power: until the clock that is
    /// furthest behind, before which nobody can wake it. So the sums do not depend on when it last looked for an event.
    fn enter_accounts(&mut self) {
        let running =
            (self.processors.iter().zip(&self.in_reset)).filter(|&(_, in_reset)| !in_reset);
        let behind = running.map(|(processor, _)| processor.goes_on()).min();
        let behind = behind.filter(|&cycle| cycle != u64::MAX);
        for (processor, in_reset) in self.processors.iter_mut().zip(&self.in_reset) {
            if let Some(cycle) = behind.filter(|_| !in_reset) {
                processor.sleep_until(cycle);
            }
        }
        // What a processor did because of others is entered in its account when it is selected.
        self.each(C::settle);
    }

    fn take_turns(&mut self, limits: Limits) -> StopOf<C> {
        loop {
            if self.turn_over {
                if let Some(stop) = self.next_turn(limits) {
                    return stop;
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
                return stop;
            }
            self.turn_over = true;
            self.end_turn();
        }
    }

    /// Chooses who is next.
    fn next_turn(&mut self, limits: Limits) -> Option<StopOf<C>> {
        let asleep = || Some(Stop::Fatal(self.processors[self.current].asleep()));
        // The two furthest behind, with the lower number first.
        let (mut first, mut second) = (None, u64::MAX);
        for (number, processor) in self.processors.iter().enumerate() {
            if self.in_reset[number] {
                continue;
            }
            let at = processor.goes_on();
            match first {
                Some((_, earliest)) if at >= earliest => second = second.min(at),
                _ => {
                    second = first.map_or(second, |(_, at)| at);
                    first = Some((number, at));
                }
            }
        }
        // A debugger's choice, to the bound that any processor gets at that clock.
        if let Some(number) = self.alone
            && !self.in_reset[number]
            && !self.processors[number].sleeps()
        {
            let at = self.processors[number].goes_on();
            first = Some((number, at));
            second = second.max(at);
        }
        let Some((number, at)) = first else {
            return asleep();
        };
        if at == u64::MAX {
            return asleep();
        }
        let lead = u64::from(self.shape().lead);
        self.select(number)
            .begin_turn(second.saturating_add(lead), limits.cycles);
        None
    }

    /// A turn is over: the others learn what the processor has done.
    fn end_turn(&mut self) {
        let now = self.processor().instant().cycles;
        self.deliver();
        for number in 0..self.processors.len() {
            let line = number as u8;
            let in_reset = self.uncore().board.holds(line);
            if self.in_reset[number] && !in_reset {
                self.select(number).start(now);
            }
            self.in_reset[number] = in_reset;
            if self.processors[number].sleeps() && self.uncore().board.interrupt(line) {
                self.processors[number].rouse(now);
            }
        }
    }

    /// The others learn what this turn has broadcast. Regions of interest begin and end, and dumps are taken.
    fn deliver(&mut self) {
        let current = self.current;
        let notices = std::mem::take(&mut self.uncore_mut().notices);
        for notice in notices {
            let all = self.processors.iter_mut().zip(&self.in_reset).enumerate();
            for (_, (processor, &in_reset)) in all.filter(|&(number, _)| number != current) {
                processor.told(notice, in_reset);
            }
            if let Notice::Translation(address, _) = notice {
                self.record_broadcast(address);
            }
        }
        let effects = std::mem::take(&mut self.uncore_mut().effects);
        if !effects.is_empty() {
            self.carry_out(effects);
        }
    }

    /// The others have dropped the translation of `address`, which the current one has broadcast.
    fn record_broadcast(&mut self, address: u32) {
        let current = self.current;
        let numbers = (0..)
            .zip(self.in_reset.clone())
            .filter(|&(number, in_reset)| usize::from(number) != current && !in_reset);
        if let Some(recorder) = &mut self.processor_mut().observers_mut().recorder {
            for (number, _) in numbers {
                recorder.told(number, address);
            }
        }
    }

    /// Carries out what this turn has asked for that concerns all processors. Apart, because its accounts take so much
    /// of the stack that the host would touch page after page of it at each turn.
    #[cold]
    #[inline(never)]
    fn carry_out(&mut self, effects: Vec<Effect>) {
        self.enter_accounts();
        let counters = self.counters();
        for effect in effects {
            match effect {
                Effect::Dump(label) => self.add_dumps(label),
                Effect::RegionBegin(number) | Effect::RegionEnd(number) => {
                    if self.processor().observers().wants_states(effect) {
                        let states = self.states(number, false);
                        let observers = self.processor_mut().observers_mut();
                        observers.keep_states(effect, states);
                    }
                    self.processor_mut().region(effect, &counters);
                }
                _ => {}
            }
        }
    }

    fn add_dumps(&mut self, label: u32) {
        let count = self.processors.len();
        if self.processor_mut().observers_mut().admits_dumps(count) {
            let states = self.states(label, true);
            self.processor_mut().observers_mut().dumps.extend(states);
        }
    }

    pub(crate) fn turns_state(&self) -> TurnsState {
        TurnsState {
            current: self.current,
            turn_over: self.turn_over,
            in_reset: self.in_reset.clone(),
            contexts: self.contexts.clone(),
            turns: self
                .processors
                .iter()
                .map(|processor| *processor.times())
                .collect(),
        }
    }

    /// Puts back what [`Computer::turns_state`] gave. False if no machine like this one can have come to it.
    #[must_use]
    pub(crate) fn set_turns_state(&mut self, state: &TurnsState) -> bool {
        let count = self.processors.len();
        let numbers = state.in_reset.len() == count
            && state.turns.len() == count
            && state.contexts.len() == count;
        if !numbers || state.current >= count || (count == 1 && state.in_reset[0]) {
            return false;
        }
        self.select(state.current);
        self.turn_over = state.turn_over;
        self.contexts.clone_from(&state.contexts);
        self.in_reset.clone_from(&state.in_reset);
        for (processor, &turn) in self.processors.iter_mut().zip(&state.turns) {
            if count > 1 {
                *processor.times_mut() = turn;
            }
        }
        true
    }
}
