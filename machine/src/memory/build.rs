//! Memory as a machine file describes it.

use super::{BusTiming, CacheGeometry, Forward, L2Timing, Memory, MemoryTiming, Ram, Replacement};
use crate::config::{self, CacheConfig, MachineConfig};

impl From<config::Replacement> for Replacement {
    fn from(replacement: config::Replacement) -> Self {
        match replacement {
            config::Replacement::Lru => Self::Lru,
            config::Replacement::PseudoLru => Self::Plru,
        }
    }
}

fn geometry(cache: &CacheConfig) -> CacheGeometry {
    CacheGeometry {
        size: cache.size,
        ways: cache.ways,
        line: cache.line,
        replacement: cache.replacement.into(),
    }
}

fn forward(cache: &CacheConfig) -> Forward {
    if cache.critical_word_first {
        Forward::Critical
    } else {
        Forward::Whole
    }
}

impl Memory {
    /// The memory of a machine: zeroed RAM, empty and disabled caches.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig) -> Result<Self, String> {
        let bus = &machine.bus;
        let l2 = machine.cache.l2.as_ref().map(|l2| {
            (
                CacheGeometry {
                    size: l2.size,
                    ways: l2.ways,
                    line: l2.line,
                    replacement: l2.replacement.into(),
                },
                L2Timing::Backside {
                    hit: l2.first_beat,
                    miss: l2.miss,
                    beat: l2.next_beat,
                },
            )
        });
        Self::new(
            Ram::new(machine.memory.size as usize),
            geometry(&machine.cache.instruction),
            geometry(&machine.cache.data),
            l2,
            BusTiming {
                ratio_x2: bus.core_per_two_bus() as u32,
                request: bus.request,
                read_first: bus.read_first,
                read_next: bus.read_next,
                write_first: bus.write_first,
                write_next: bus.write_next,
                single_read: bus.read_first,
                single_write: bus.write_first,
                beat: bus.width,
            },
            MemoryTiming {
                instruction_forward: forward(&machine.cache.instruction),
                data_forward: forward(&machine.cache.data),
                store_queue: machine.cache.store_queue,
                write_back_buffers: machine.cache.write_back_buffers,
                touch_buffers: machine.cache.touch_buffers,
                touched_line: machine.cache.touched_line,
                icbi_whole_set: machine.core.kind.core().icbi_by_index,
            },
        )
    }
}
