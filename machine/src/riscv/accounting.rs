//! Who is charged, and what is counted apart from the account.

use super::csr::menvcfg;
use super::processor::Processor;
use crate::account::Event;
use crate::computer::{Progress, Progressing};

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        let [instruction, data] = &mut self.look_ups;
        for (event, count) in [
            (Event::InstructionTlbAccess, instruction),
            (Event::DataTlbAccess, data),
            (Event::InstructionCacheAccess, &mut self.line_fetches),
            (Event::DataCacheAccess, &mut self.accesses),
        ] {
            self.account.add(event, std::mem::take(count));
        }
        let branches = std::mem::take(&mut self.branches);
        let mispredicted = std::mem::take(&mut self.mispredicted);
        self.settle_time(branches, mispredicted);
    }
}

impl Progressing for Processor {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn space(&self) -> u32 {
        self.csr.satp as u32
    }

    fn stack_pointer(&self) -> u64 {
        self.x(2)
    }

    fn return_point(&self) -> Option<(u64, u64)> {
        Some((self.told(self.x(1)), self.x(2)))
    }

    fn set_clock(&mut self, cycle: u64) {
        self.cycles = cycle;
        self.used = 0;
    }

    /// That of a device of the board, or of the timer of supervisor mode.
    fn next_poll(&self) -> Option<u64> {
        let timer = (self.csr.menvcfg & menvcfg::STCE != 0)
            .then(|| self.config.cycle_of(self.csr.stimecmp))
            .filter(|&cycle| cycle > self.cycles && cycle != u64::MAX);
        let board = self.memory.uncore.board.deadline(self.cycles);
        board.into_iter().chain(timer).min()
    }

    /// An interrupt ends WFI, whether or not it is taken.
    fn waits(&mut self) -> bool {
        self.waiting = self.waiting && self.mip() & self.csr.mie == 0;
        self.waiting
    }

    fn falls_asleep(&mut self) {
        self.memory.uncore.board.wait_for(self.number, self.csr.mie);
    }
}
