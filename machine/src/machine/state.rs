//! What a snapshot must keep of the processor beside its registers, MMU, memory, board and account.

use serde::{Deserialize, Serialize};

use super::Machine;
use super::accounting::Settled;
use crate::pipeline::{Pending, Predictor};
use crate::powerpc::Vector;
use crate::powerpc::performance::PerformanceMonitor;
use crate::powerpc::timers::Timers;

/// The processor's state beside its registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreState {
    cycles: u64,
    instructions: u64,
    accesses: u64,
    uncached_next: u32,
    dynamic_cause: u32,
    code_cause: u8,
    settled: Settled,
    /// Offset of the vector last taken, and the instruction count then.
    last_exception: Option<(u32, u64)>,
    timers: Timers,
    performance: PerformanceMonitor,
    predictor: Predictor,
    /// What the last block has left unfinished.
    pending: Pending,
    /// The lines that the I-cache holds, by physical address, as they were filled.
    code: Vec<(u32, Vec<u8>)>,
}

impl Machine {
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
            dynamic_cause: self.dynamic_cause.map_or(0, |cause| cause as u32),
            code_cause: self.code_cause,
            settled: self.settled,
            last_exception: self
                .last_exception
                .map(|(vector, count)| (vector as u32, count)),
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

    /// Puts the processor into a state that [`Machine::core_state`] gave; registers, MMU, memory,
    /// board and account must have been put back before.
    pub fn set_core_state(&mut self, state: CoreState) {
        self.hot.cycles = state.cycles;
        self.hot.instructions = state.instructions;
        self.hot.accesses = state.accesses;
        self.uncached_next = state.uncached_next;
        self.dynamic_cause = match state.dynamic_cause {
            0 => None,
            number => crate::observe::Cause::from_number(number),
        };
        self.code_cause = state.code_cause;
        self.settled = state.settled;
        self.last_exception = state.last_exception.and_then(|(offset, count)| {
            let vector = Vector::ALL.iter().find(|v| **v as u32 == offset)?;
            Some((*vector, count))
        });
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
    }
}
