//! What a snapshot holds of an x86 processor ([`crate::computer::snapshot`]).
//!
//! Decoded blocks are not in a snapshot: they are made anew, which costs no cycle.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::Config;
use super::decode::Repeating;
use super::mmu::Mmu;
use super::predictor::Predictor;
use super::processor::Processor;
use super::registers::{Registers, Segment, gpr};
use super::tlb::pte;
use super::wide_paging::FIRST_RESERVED;
use super::window::Window;
use super::x87::Fpu;
use crate::board::Instant;
use crate::computer::{Progress, Saved, state_of};
use crate::config::LATEST;

/// A processor's state beside its caches and its account.
#[derive(Serialize, Deserialize)]
pub struct State {
    registers: Registers,
    fpu: Option<Box<Fpu>>,
    mmu: Mmu,
    core: CoreState,
}

state_of! {
    /// The processor's state beside registers, TLBs, caches and account.
    CoreState of Processor;
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

    crate::computer::shared_blocks!();

    fn problem(config: &Config) -> Option<String> {
        config.problem()
    }

    fn saved(&mut self) -> State {
        self.settle();
        State {
            core: CoreState::of(self),
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
    /// Puts the processor into a state that [`CoreState::of`] gave; the rest must have been put back before.
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
        let (fetched, page, wrote) = (state.fetched, state.fetched_page, state.wrote);
        let repeating = state.repeating;
        state.put_into(self);
        self.modes_changed();
        // That line must be fetched again after a change of modes, and not after a snapshot.
        self.fetched = fetched;
        self.fetched_page = page & !0xfff;
        self.wrote = wrote;
        self.repeating = repeating;
        true
    }
}
