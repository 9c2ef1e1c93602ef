//! Memory as a RISC-V machine's file describes it.

use super::config::Config;
use crate::board::{Board, VIRT_RAM};
use crate::config::{Broadcast, TouchedLine};
use crate::memory::{BusTiming, Memory, MemoryTiming, PaceOf, Ram, Uncore, l2_of, pace};

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_riscv(machine: &Config, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        Self::new(
            Ram::in_pieces(&[(VIRT_RAM, machine.memory.size)])?,
            [machine.cache.l2.as_ref().map(l2_of), None],
            BusTiming {
                ratio_x2: bus.core_per_two_bus() as u32,
                request: bus.request,
                turnaround: bus.turnaround,
                return_path: bus.return_path,
                depth: 1,
                streaming: false,
                memory: pace(&PaceOf {
                    memory: &machine.memory,
                    levels: [machine.cache.l2.as_ref(), None],
                    pattern: bus.pattern(),
                    clock: 2 * machine.core.clock / bus.core_per_two_bus().max(1),
                    width: bus.width,
                    line: machine.cache.data.line,
                }),
                address_only: bus.address_only,
                beat: bus.width,
            },
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
        let set = &machine.cache;
        Self::new(
            uncore,
            (&set.instruction).into(),
            (&set.data).into(),
            MemoryTiming {
                instruction_forward: set.instruction.forward,
                data_forward: set.data.forward,
                store_queue: set.store_queue,
                // The stores' buffers serve write-backs too.
                write_back_buffers: set.store_queue,
                touch_buffers: 0,
                touched_line: TouchedLine::Cache,
                icbi_whole_set: false,
                broadcast: Broadcast::Never,
                tlb_broadcast: false,
                shared_state: true,
                stores_through: false,
                data_blocked: false,
                fills_wait: machine.memory.kind.is_some(),
                loads_ahead: false,
                several: machine.processors > 1,
            },
        )
    }
}
