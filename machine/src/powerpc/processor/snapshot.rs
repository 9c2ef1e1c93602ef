//! The part of the processor's state that a snapshot holds beside registers, MMU, memory, board and account.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::Processor;
use super::accounting::BlockTotals;
use crate::computer::{EXCEPTIONS_MOST, Saved};
use crate::config::{LATEST, MachineConfig};
use crate::pipeline::{Pending, Predictor};
use crate::powerpc::mmu::Mmu;
use crate::powerpc::performance::PerformanceMonitor;
use crate::powerpc::timers::Timers;
use crate::powerpc::{Registers, Vector};

/// The processor's state beside its caches and its account.
#[derive(Serialize, Deserialize)]
pub struct State {
    registers: Registers,
    mmu: Mmu,
    core: CoreState,
}

impl Saved for Processor {
    type State = State;
    type Shared = ();

    fn problem(config: &MachineConfig) -> Option<String> {
        config.problem()
    }

    fn saved(&mut self) -> State {
        State {
            core: self.core_state(),
            registers: self.registers.clone(),
            mmu: self.mmu.clone(),
        }
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let own = &self.registers;
        let same_bits =
            state.registers.msr_absent == own.msr_absent && state.registers.wide.fits(&own.wide);
        if !same_bits {
            return Err("registers");
        }
        if !state.mmu.fits(&self.mmu) {
            return Err("MMU");
        }
        self.registers = state.registers;
        self.mmu = state.mmu;
        if !self.set_core_state(state.core) {
            return Err("processor");
        }
        Ok(())
    }

    fn shared(&self) {}

    fn set_shared(&mut self, (): ()) -> bool {
        true
    }
}

/// The processor's state beside its registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreState {
    cycles: u64,
    instructions: u64,
    accesses: u64,
    uncached_next: u32,
    dynamic_cause: u32,
    code_cause: u8,
    settled: BlockTotals,
    /// Number of the vector last taken, and the instruction count then.
    last_exception: Option<(u32, u64)>,
    in_a_row: u32,
    timers: Timers,
    performance: PerformanceMonitor,
    predictor: Predictor,
    /// The pipeline's state after the last block.
    pending: Pending,
    /// The lines that the I-cache holds, by their places, as they were filled.
    code: Vec<(u32, Vec<u8>)>,
}

impl Processor {
    /// Copies the processor's state out. The machine must not be running.
    pub fn core_state(&mut self) -> CoreState {
        self.settle();
        let lines: Vec<u32> = self
            .memory
            .instruction
            .lines()
            .map(|(_, _, physical, _)| physical)
            .collect();
        CoreState {
            cycles: self.hot.cycles,
            instructions: self.hot.instructions,
            accesses: self.hot.accesses,
            uncached_next: self.uncached_next,
            dynamic_cause: self.dynamic_cause.map_or(0, |cause| cause.number().into()),
            code_cause: self.code_cause,
            settled: self.settled,
            last_exception: self
                .last_exception
                .map(|(vector, count)| (vector as u32, count)),
            in_a_row: self.in_a_row,
            timers: self.timers.clone(),
            performance: self.performance.clone(),
            predictor: self.predictor.clone(),
            pending: self.pending(),
            code: lines
                .into_iter()
                .filter_map(|physical| Some((physical, self.lines.content(physical)?)))
                .collect(),
        }
    }

    /// Can the processor be put into `state`? It must be one that [`Processor::core_state`] can give with the memory
    /// that the machine has now, and come with the decoded form of each line of the I-cache.
    fn accepts(&self, state: &CoreState) -> bool {
        let counts = [
            state.cycles,
            state.instructions,
            state.accesses,
            state.predictor.branches,
            state.predictor.mispredicted,
        ];
        let memory = &self.memory;
        let cache = &memory.instruction;
        let line = cache.geometry().line;
        let whole = |(place, content): &(u32, Vec<u8>)| {
            place.is_multiple_of(line)
                && content.len() == line as usize
                && (*place as usize) < memory.places.size(memory.uncore.ram.size())
                && (memory.uncore.ram).contains(memory.places.physical(*place), content.len())
        };
        let held: FxHashSet<u32> = state.code.iter().map(|(physical, _)| *physical).collect();
        counts.iter().all(|&count| count < LATEST)
            && state.in_a_row <= EXCEPTIONS_MOST + 1
            && state.settled.fits(counts)
            && state.timers.fits(&self.timers, state.cycles)
            && state.predictor.fits(&self.predictor)
            && state.pending.fits(self.config.pipeline.completion_queue)
            && state.code.len() <= (cache.geometry().size / line) as usize
            && state.code.iter().all(whole)
            && cache
                .lines()
                .all(|(_, _, physical, _)| held.contains(&physical))
    }

    /// Puts the processor into a state that [`Processor::core_state`] gave; registers, MMU, memory, board and account
    /// must have been put back before. False, with nothing changed, if no machine like this one can be in that state.
    #[must_use]
    pub fn set_core_state(&mut self, state: CoreState) -> bool {
        if !self.accepts(&state) {
            return false;
        }
        self.hot.cycles = state.cycles;
        self.hot.instructions = state.instructions;
        self.hot.accesses = state.accesses;
        self.uncached_next = state.uncached_next;
        self.dynamic_cause = match state.dynamic_cause {
            0 => None,
            number => crate::account::Cause::from_number(number),
        };
        self.code_cause = state.code_cause;
        self.settled = state.settled;
        self.last_exception = state.last_exception.and_then(|(number, count)| {
            let vector = *Vector::ALL.get(number as usize)?;
            Some((vector, count))
        });
        self.in_a_row = state.in_a_row;
        self.timers = state.timers;
        self.performance = state.performance;
        self.predictor = state.predictor;
        self.set_pending(state.pending);
        for (physical, content) in state.code {
            let cause = self.causes.of(physical);
            let cache = &self.memory.instruction;
            self.lines.fill(physical, &content, cause, |other| {
                cache.find(other).is_some()
            });
        }
        self.state_changed();
        true
    }
}
