//! Several processors' caches on one bus, one of which runs at a time, for the tests.

use super::*;
use crate::board::{Board, Console};
use crate::config::MachineConfig;
use crate::memory::Loan;

pub(super) const PROCESSORS: usize = 3;

pub(super) fn account() -> Account {
    Account::new(1 << 20, 32)
}

pub(super) struct Machine {
    pub all: Vec<Memory>,
    /// The processor that holds the uncore.
    pub current: usize,
    pub reservations: [Option<u32>; PROCESSORS],
    pub now: u64,
    pub account: Account,
}

impl Machine {
    /// Processors with the D-cache that `config` names, whose lines can be shared unless `mei`.
    pub fn new(config: &MachineConfig, mei: bool) -> Self {
        let board = Board::new(config, Console::memory());
        let mut uncore = Uncore::from_config(config, board).expect("valid shapes");
        let mut all: Vec<Memory> = Vec::new();
        for number in 0..PROCESSORS {
            let mut memory = Memory::from_config(config, uncore).expect("valid shapes");
            memory.timing.shared_state = !mei;
            memory.timing.several = true;
            (memory.fills_are_seen, memory.known_shape) = (true, false);
            memory.enable_caches();
            uncore = std::mem::take(&mut memory.uncore).release().expect("held");
            uncore.write_l2cr(crate::memory::l2::l2cr::L2E);
            uncore.join(number as u8, &memory);
            all.push(memory);
        }
        all[0].uncore = Loan::new(uncore);
        for number in 1..PROCESSORS {
            let held = std::mem::take(&mut all[0].uncore);
            all[number].uncore = held;
            all[number].exchange(number as u8, &mut None, &mut account());
            all[0].uncore = std::mem::take(&mut all[number].uncore);
        }
        Machine {
            all,
            current: 0,
            reservations: [None; PROCESSORS],
            now: 0,
            account: account(),
        }
    }

    /// Lets a processor run: it gets the uncore from the one that ran.
    pub fn select(&mut self, number: usize) -> &mut Memory {
        let old = self.current;
        if number != old {
            let account = &mut self.account;
            self.all[old].exchange(old as u8, &mut self.reservations[old], account);
            let held = std::mem::take(&mut self.all[old].uncore);
            self.all[number].uncore = held;
            self.all[number].exchange(number as u8, &mut self.reservations[number], account);
            self.current = number;
        }
        &mut self.all[number]
    }
}
