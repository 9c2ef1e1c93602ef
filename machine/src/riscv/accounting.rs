//! Who is charged, and what is counted apart from the account.

use super::processor::{Processor, Stop};
use crate::account::Event;
use crate::computer::{Progress, Progressing};

impl Processor {
    /// Enters in the account the cycles and events since the last call.
    pub fn settle(&mut self) {
        for (event, count) in [
            (Event::InstructionTlbAccess, &mut self.instruction_look_ups),
            (Event::DataTlbAccess, &mut self.data_look_ups),
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

    fn set_clock(&mut self, cycle: u64) {
        self.cycles = cycle;
        self.used = 0;
    }

    fn stop_for(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
        self.due = 0;
    }
}
