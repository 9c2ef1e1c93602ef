//! What a snapshot holds of an x86 processor ([`crate::computer::snapshot`]).
//!
//! Decoded blocks are not in a snapshot: they are made anew, which costs no cycle.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::Config;
use super::decode::Repeating;
use super::paging::Mmu;
use super::predictor::Predictor;
use super::processor::Processor;
use super::registers::{Registers, Segment, gpr};
use super::tlb::pte;
use super::wide_paging::FIRST_RESERVED;
use super::window::Window;
use super::x87::Fpu;
use crate::board::Instant;
use crate::computer::{Progress, Saved};
use crate::config::LATEST;

/// A processor's state beside its caches and its account.
#[derive(Serialize, Deserialize)]
pub struct State {
    registers: Registers,
    fpu: Option<Box<Fpu>>,
    mmu: Mmu,
    core: CoreState,
}

/// The processor's state beside registers, TLBs, caches and account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CoreState {
    /// Issue slots since reset.
    time: u64,
    instructions: u64,
    predictor: Predictor,
    fetched: u32,
    fetched_page: u32,
    wrote: u8,
    repeating: Option<Repeating>,
    inhibited: bool,
    halted: bool,
    code_cause: u8,
    progress: Progress,
    window: Window,
}

impl Saved for Processor {
    type State = State;
    /// The pieces of pages that an I-cache may hold.
    type Shared = Vec<u64>;

    fn problem(config: &Config) -> Option<String> {
        config.problem()
    }

    fn saved(&mut self) -> State {
        State {
            core: self.core_state(),
            registers: self.registers.clone(),
            fpu: self.fpu.clone(),
            mmu: self.mmu.clone(),
        }
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        if !registers_fit(&state.registers) {
            return Err("registers");
        }
        if !state.fpu.as_ref().is_some_and(|fpu| fpu.fits()) {
            return Err("floating-point unit");
        }
        self.mmu.set_wide(state.registers.wide_entries());
        if !state.mmu.fits(&self.mmu) {
            return Err("TLBs");
        }
        self.registers = state.registers;
        self.fpu = state.fpu;
        self.mmu = state.mmu;
        if !self.set_core_state(state.core) {
            return Err("processor");
        }
        Ok(())
    }

    fn shared(&self) -> Vec<u64> {
        self.blocks.fetched().to_vec()
    }

    fn set_shared(&mut self, fetched: Vec<u64>) -> bool {
        self.blocks.set_fetched(&fetched)
    }
}

/// Can a processor have these registers? What a descriptor said is looked at when it is used.
fn registers_fit(registers: &Registers) -> bool {
    let whole = |segment: &Segment| {
        *segment
            == Segment::new(
                segment.selector,
                segment.base,
                segment.limit,
                segment.access,
            )
    };
    let none = &registers.gpr[usize::from(gpr::NONE)..];
    let directories = registers.directories.iter();
    let mut directories = directories.filter(|&entry| entry & u64::from(pte::PRESENT) != 0);
    directories.all(|entry| entry & FIRST_RESERVED == 0)
        && none.iter().all(|&zero| zero == 0)
        && registers.cpl < 4
        && registers.segments.iter().all(whole)
}

impl Processor {
    /// Copies the processor's state out. The machine must not be running.
    fn core_state(&mut self) -> CoreState {
        self.settle();
        CoreState {
            time: self.time,
            instructions: self.instructions,
            predictor: self.predictor.clone(),
            fetched: self.fetched,
            fetched_page: self.fetched_page,
            wrote: self.wrote,
            repeating: self.repeating,
            inhibited: self.inhibited,
            halted: self.halted,
            code_cause: self.code_cause,
            progress: self.progress,
            window: self.window.clone(),
        }
    }

    /// Puts the processor into a state that [`Processor::core_state`] gave; the rest must have been put back before.
    /// False, with nothing changed, if no machine like this one can be in that state.
    fn set_core_state(&mut self, state: CoreState) -> bool {
        let now = Instant {
            processor: self.number,
            cycles: state.time / u64::from(self.kind.slots()),
            instructions: state.instructions,
        };
        let fits = state.time < LATEST
            && state.progress.fits(now)
            && state.predictor.fits(&self.predictor)
            && state.window.fits(self.config.window.as_ref());
        if !fits {
            return false;
        }
        self.time = state.time;
        self.instructions = state.instructions;
        self.predictor = state.predictor;
        self.inhibited = state.inhibited;
        self.halted = state.halted;
        self.code_cause = state.code_cause;
        self.progress = state.progress;
        self.window = state.window;
        self.modes_changed();
        // That line must be fetched again after a change of modes, and not after a snapshot.
        self.fetched = state.fetched;
        self.fetched_page = state.fetched_page & !0xfff;
        self.wrote = state.wrote;
        self.repeating = state.repeating;
        true
    }
}
