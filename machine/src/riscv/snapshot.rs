//! What a snapshot holds of a RISC-V processor ([`crate::computer::snapshot`]). Decoded blocks are made anew.

use super::Config;
use super::config::FULL;
use super::csr::{Csr, privilege};
use super::mmu::Mmu;
use super::op::register;
use super::predictor::Predictor;
use super::processor::Processor;
use crate::board::Instant;
use crate::computer::{Progress, Saved, state_of};
use crate::config::LATEST;
use crate::memory::RamAddress;

state_of! {
    /// A processor's state beside its caches and its account.
    State of Processor;
    #[serde(with = "serde_big_array::BigArray")]
    registers: [u64; register::ALL],
    pc: u64,
    privilege: u8,
    csr: Csr,
    mmu: Mmu,
    predictor: Predictor,
    cycles: u64,
    used: u8,
    #[serde(with = "serde_big_array::BigArray")]
    ready: [u64; register::ALL],
    instructions: u64,
    fetched: (u64, RamAddress),
    reservation: Option<RamAddress>,
    waiting: bool,
    progress: Progress,
}

impl Saved for Processor {
    type State = State;

    crate::computer::shared_blocks!();

    fn problem(config: &Config) -> Option<String> {
        config.problem()
    }

    fn saved(&mut self) -> State {
        self.settle();
        State::of(self)
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let now = Instant {
            processor: self.number,
            cycles: state.cycles,
            instructions: state.instructions,
        };
        let modes = [privilege::USER, privilege::SUPERVISOR, privilege::MACHINE];
        let processor = state.progress.fits(now)
            && state.ready.iter().all(|&cycle| cycle < LATEST)
            && modes.contains(&state.privilege)
            && state.used <= FULL
            && state.pc & 1 == 0;
        let registers =
            state.csr.fits() && state.csr.pmp.fits(&self.csr.pmp) && state.registers[0] == 0;
        let ram = self.memory.uncore.ram.size();
        let mut places = state.reservation.into_iter().chain([state.fetched.1]);
        for (fits, part) in [
            (processor, "processor"),
            (registers, "registers"),
            (state.mmu.fits(&self.mmu), "TLBs"),
            (state.predictor.fits(&self.predictor), "branch predictor"),
            (places.all(|at| (at as usize) < ram), "addresses"),
        ] {
            if !fits {
                return Err(part);
            }
        }
        let fetched = state.fetched;
        state.put_into(self);
        self.mmu.make_derived();
        self.schedules.lose();
        self.modes_changed();
        self.protection_changed();
        // That line must be fetched again after a change of modes, and not after a snapshot.
        self.fetched = fetched;
        Ok(())
    }
}
