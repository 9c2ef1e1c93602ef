//! What a snapshot holds of a RISC-V processor ([`crate::computer::snapshot`]). Decoded blocks are made anew.

use serde::{Deserialize, Serialize};

use super::Config;
use super::config::FULL;
use super::csr::{Csr, privilege};
use super::mmu::Mmu;
use super::op::register;
use super::predictor::Predictor;
use super::processor::Processor;
use crate::account::Cause;
use crate::account::Settled;
use crate::computer::{EXCEPTIONS_MOST, Saved};
use crate::config::LATEST;
use crate::memory::RamAddress;

/// A processor's state beside its caches and its account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    registers: Vec<u64>,
    pc: u64,
    privilege: u8,
    csr: Csr,
    mmu: Mmu,
    predictor: Predictor,
    cycles: u64,
    used: u8,
    ready: Vec<u64>,
    instructions: u64,
    fetched: (u64, RamAddress),
    reservation: Option<RamAddress>,
    in_a_row: (u32, u64),
    waiting: bool,
    polled_at: u64,
    dynamic_cause: u32,
    settled: Settled,
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
            registers: self.registers.to_vec(),
            pc: self.pc,
            privilege: self.privilege,
            csr: self.csr.clone(),
            mmu: self.mmu.clone(),
            predictor: self.predictor.clone(),
            cycles: self.cycles,
            used: self.used,
            ready: self.ready.to_vec(),
            instructions: self.instructions,
            fetched: self.fetched,
            reservation: self.reservation,
            in_a_row: self.in_a_row,
            waiting: self.waiting,
            polled_at: self.polled_at,
            dynamic_cause: self.dynamic_cause.map_or(0, |cause| cause as u32),
            settled: self.settled,
        }
    }

    fn put_back(&mut self, state: State) -> Result<(), &'static str> {
        let counts = [state.cycles, state.instructions];
        let modes = [privilege::USER, privilege::SUPERVISOR, privilege::MACHINE];
        let fits = counts.iter().all(|&count| count < LATEST)
            && state.ready.iter().all(|&cycle| cycle < LATEST)
            && state.in_a_row.0 <= EXCEPTIONS_MOST + 1
            && modes.contains(&state.privilege)
            && state.used <= FULL
            && state.pc & 1 == 0
            && state.settled.fits(state.cycles, state.instructions);
        if !fits {
            return Err("processor");
        }
        if !state.csr.fits() || state.registers.first() != Some(&0) {
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
        let registers = <[u64; register::ALL]>::try_from(state.registers);
        let ready = <[u64; register::ALL]>::try_from(state.ready);
        let (Ok(registers), Ok(ready)) = (registers, ready) else {
            return Err("registers");
        };
        (self.registers, self.ready) = (registers, ready);
        (self.pc, self.privilege) = (state.pc, state.privilege);
        self.csr = state.csr;
        self.mmu = state.mmu;
        self.mmu.drop_shortcuts();
        self.predictor = state.predictor;
        (self.cycles, self.used) = (state.cycles, state.used);
        self.instructions = state.instructions;
        self.reservation = state.reservation;
        self.in_a_row = state.in_a_row;
        self.waiting = state.waiting;
        self.polled_at = state.polled_at;
        self.dynamic_cause = match state.dynamic_cause {
            0 => None,
            number => Cause::from_number(number),
        };
        self.settled = state.settled;
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
