//! Memory as an x86 machine's file describes it.

use super::config::{Config, Kind};
use crate::board::Board;
use crate::config::{Broadcast, CacheConfig, Forward, TouchedLine};
use crate::memory::{
    BusTiming, CacheGeometry, Memory, MemoryTiming, PaceOf, Ram, Uncore, l2_of, pace,
};

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_x86(machine: &Config, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        Self::new(
            Ram::new(machine.memory.size as usize),
            [&machine.cache.l2, &machine.cache.l3].map(|level| level.as_ref().map(l2_of)),
            BusTiming {
                ratio_x2: bus.core_per_two_bus() as u32,
                request: bus.request,
                turnaround: bus.turnaround,
                return_path: bus.return_path,
                depth: bus.depth.unwrap_or(1),
                streaming: false,
                memory: pace(&PaceOf {
                    memory: &machine.memory,
                    levels: [machine.cache.l2.as_ref(), machine.cache.l3.as_ref()],
                    pattern: bus.pattern(),
                    clock: 2 * machine.core.clock / bus.core_per_two_bus().max(1),
                    width: bus.width,
                    line: machine.line(),
                }),
                address_only: bus.address_only.unwrap_or_default(),
                beat: bus.width,
            },
            board,
        )
    }
}

impl Memory {
    /// A processor's memory: empty caches before `uncore`. A unified cache is the D-cache, and the I-cache is as small
    /// as can be and never used.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_x86(machine: &Config, uncore: Uncore) -> Result<Self, String> {
        let set = &machine.cache;
        let data = set.unified.as_ref().or(set.data.as_ref());
        let data = data.ok_or("the machine file has no cache for data")?;
        let instruction = match &set.instruction {
            Some(cache) => cache.into(),
            None => CacheGeometry {
                size: data.line,
                ways: 1,
                ..data.into()
            },
        };
        let forward = |cache: &Option<CacheConfig>| {
            cache.as_ref().map_or(Forward::Line, |cache| cache.forward)
        };
        Self::new(
            uncore,
            instruction,
            data.into(),
            MemoryTiming {
                instruction_forward: forward(&set.instruction),
                data_forward: data.forward,
                store_queue: set.store_queue,
                // The stores' buffers serve write-backs too.
                write_back_buffers: set.store_queue,
                touch_buffers: 0,
                touched_line: TouchedLine::Cache,
                icbi_whole_set: false,
                broadcast: Broadcast::Never,
                tlb_broadcast: false,
                shared_state: machine.core.kind == Kind::P6,
                stores_through: false,
                data_blocked: false,
                fills_wait: machine.memory.kind.is_some(),
                loads_ahead: machine.window.is_some(),
                several: machine.processors > 1,
            },
        )
    }
}
