//! Memory as an x86 machine's file describes it.

use super::config::{Config, Kind};
use crate::board::Board;
use crate::config::{CacheConfig, Forward};
use crate::memory::{Behind, CacheGeometry, Memory, MemoryTiming, Ram, Uncore};

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_x86(machine: &Config, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        let behind = Behind {
            bus: bus.shared(),
            depth: bus.depth.unwrap_or(1),
            streaming: false,
            address_only: bus.address_only.unwrap_or_default(),
            memory: &machine.memory,
            levels: [machine.cache.l2.as_ref(), machine.cache.l3.as_ref()],
            clock: machine.core.clock,
            line: machine.line(),
        };
        Self::of(&behind, Ram::new(machine.memory.size as usize), board)
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
                shared_state: machine.core.kind == Kind::P6,
                fills_wait: machine.memory.kind.is_some(),
                loads_ahead: machine.window.is_some(),
                several: machine.processors > 1,
                ..MemoryTiming::plain(forward(&set.instruction), data.forward, set.store_queue)
            },
        )
    }
}
