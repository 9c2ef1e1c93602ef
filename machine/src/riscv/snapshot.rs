//! What a snapshot holds of a RISC-V processor ([`crate::computer::snapshot`]). Decoded blocks are made anew.

use serde::{Deserialize, Serialize};

use super::Config;
use super::config::FULL;
use super::csr::{Csr, privilege};
use super::mmu::Mmu;
use super::op::register;
use super::predictor::Predictor;
use super::processor::Processor;
use crate::board::Instant;
use crate::computer::{Progress, Saved};
use crate::config::LATEST;
use crate::memory::RamAddress;

/// A processor's state beside its caches and its account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
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
    /// The pieces of pages that an I-cache may hold: none has to be known.
    type Shared = Vec<u64>;

    fn problem(config: &Config) -> Option<String> {
        config.problem()
    }

    fn saved(&mut self) -> State {
        self.settle();
        State {
            registers: self.registers,
            pc: self.pc,
            privilege: self.privilege,
            csr: self.csr.clone(),
            mmu: self.mmu.clone(),
            predictor: self.predictor.clone(),
            cycles: self.cycles,
            used: self.used,
            ready: self.ready,
            instructions: self.instructions,
            fetched: self.fetched,
            reservation: self.reservation,
            waiting: self.waiting,
            progress: self.progress,
        }
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let now = Instant {
            processor: self.number,
            cycles: state.cycles,
            instructions: state.instructions,
        };
        let modes = [privilege::USER, privilege::SUPERVISOR, privilege::MACHINE];
        let fits = state.progress.fits(now)
            && state.ready.iter().all(|&cycle| cycle < LATEST)
            && modes.contains(&state.privilege)
            && state.used <= FULL
            && state.pc & 1 == 0;
        if !fits {
            return Err("processor");
        }
        if !state.csr.fits() || !state.csr.pmp.fits(&self.csr.pmp) || state.registers[0] != 0 {
            return Err("registers");
        }
        if !state.mmu.fits(&self.mmu) {
            return Err("TLBs");
        }
        if !state.predictor.fits(&self.predictor) {
            return Err("branch predictor");
        }
        let line = self.memory.uncore.ram.size();
        if state.fetched.1 as usize >= line
            || state.reservation.is_some_and(|at| at as usize >= line)
        {
            return Err("addresses");
        }
        (self.registers, self.ready) = (state.registers, state.ready);
        (self.pc, self.privilege) = (state.pc, state.privilege);
        self.csr = state.csr;
        self.mmu = state.mmu;
        self.mmu.drop_shortcuts();
        self.predictor = state.predictor;
        (self.cycles, self.used) = (state.cycles, state.used);
        self.instructions = state.instructions;
        self.reservation = state.reservation;
        self.waiting = state.waiting;
        self.progress = state.progress;
        self.modes_changed();
        // That line must be fetched again after a change of modes, and not after a snapshot.
        self.fetched = state.fetched;
        Ok(())
    }

    fn shared(&self) -> Vec<u64> {
        self.blocks.fetched().to_vec()
    }

    fn set_shared(&mut self, fetched: Vec<u64>) -> bool {
        self.blocks.set_fetched(&fetched)
    }
}
