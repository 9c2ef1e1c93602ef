//! Memory as an x86 machine's file describes it.

use super::config::{Config, Kind};
use crate::board::Board;
use crate::config::{Broadcast, CacheConfig, Forward, L2Place, TouchedLine};
use crate::memory::{BusTiming, CacheGeometry, L2Timing, Memory, MemoryTiming, Ram, Uncore};

fn geometry(cache: &CacheConfig) -> CacheGeometry {
    CacheGeometry {
        size: cache.size,
        ways: cache.ways,
        line: cache.line,
        replacement: cache.replacement,
    }
}

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(super) fn of_x86(machine: &Config, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        let l2 = machine.cache.l2.as_ref().map(|l2| {
            let shape = CacheGeometry {
                size: l2.size,
                ways: l2.ways,
                line: l2.line,
                replacement: l2.replacement,
            };
            let timing = match l2.place {
                L2Place::BackSide | L2Place::InLine => L2Timing::InLine {
                    hit: l2.first_beat,
                    miss: l2.miss.unwrap_or_default(),
                    beat: l2.next_beat,
                },
                L2Place::LookAside => L2Timing::LookAside {
                    first: l2.first_beat,
                    next: l2.next_beat,
                },
            };
            (shape, timing)
        });
        Self::new(
            Ram::new(machine.memory.size as usize),
            l2,
            BusTiming {
                ratio_x2: bus.core_per_two_bus() as u32,
                request: bus.request,
                turnaround: bus.turnaround,
                return_path: bus.return_path,
                read_first: bus.read_first,
                read_next: bus.read_next,
                write_first: bus.write_first,
                write_next: bus.write_next,
                single_read: bus.read_first,
                single_write: bus.write_first,
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
            Some(cache) => geometry(cache),
            None => CacheGeometry {
                size: data.line,
                ways: 1,
                ..geometry(data)
            },
        };
        let forward = |cache: &Option<CacheConfig>| {
            cache.as_ref().map_or(Forward::Line, |cache| cache.forward)
        };
        Self::new(
            uncore,
            instruction,
            geometry(data),
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
                several: machine.processors > 1,
            },
        )
    }
}
