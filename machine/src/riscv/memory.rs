//! Memory as a RISC-V machine's file describes it.

use super::config::Config;
use crate::board::{Board, VIRT_RAM};
use crate::memory::{Behind, Memory, MemoryTiming, Ram, Uncore};

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_riscv(machine: &Config, board: Board) -> Result<Self, String> {
        let behind = Behind {
            bus: machine.bus.shared(),
            depth: 1,
            streaming: false,
            address_only: machine.bus.address_only,
            memory: &machine.memory,
            levels: [machine.cache.l2.as_ref(), None],
            clock: machine.core.clock,
            line: machine.cache.data.line,
        };
        Self::of(
            &behind,
            Ram::in_pieces(&[(VIRT_RAM, machine.memory.size)])?,
            board,
        )
    }
}

impl Memory {
    /// A processor's memory: empty caches before `uncore`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_riscv(machine: &Config, uncore: Uncore) -> Result<Self, String> {
        let (code, data) = (&machine.cache.instruction, &machine.cache.data);
        let timing = MemoryTiming {
            fills_wait: machine.memory.kind.is_some(),
            several: machine.processors > 1,
            ..MemoryTiming::plain(code.forward, data.forward, machine.cache.store_queue)
        };
        Self::new(uncore, code.into(), data.into(), timing)
    }
}
