//! Memory as a machine file describes it.

use super::{BusTiming, CacheGeometry, L2Timing, Memory, MemoryTiming, Places, Ram, Uncore};
use crate::board::Board;
use crate::config::{CacheConfig, L2Place, MachineConfig};

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
    pub fn from_config(machine: &MachineConfig, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        let l2 = machine.cache.l2.as_ref().map(|l2| {
            (
                CacheGeometry {
                    size: l2.size,
                    ways: l2.ways,
                    line: l2.line,
                    replacement: l2.replacement,
                },
                match l2.place {
                    L2Place::BackSide => L2Timing::Backside {
                        hit: l2.first_beat,
                        miss: l2.miss.unwrap_or_default(),
                        beat: l2.next_beat,
                    },
                    L2Place::InLine => L2Timing::InLine {
                        hit: l2.first_beat,
                        miss: l2.miss.unwrap_or_default(),
                        beat: l2.next_beat,
                    },
                    L2Place::LookAside => L2Timing::LookAside {
                        first: l2.first_beat,
                        next: l2.next_beat,
                    },
                },
            )
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
    /// A processor's memory: empty and disabled caches before `uncore`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig, uncore: Uncore) -> Result<Self, String> {
        let places = places(machine).ok_or("the instruction cache has too many places")?;
        let mut memory = Self::new(
            uncore,
            geometry(&machine.cache.instruction),
            geometry(&machine.cache.data),
            MemoryTiming {
                instruction_forward: machine.cache.instruction.forward,
                data_forward: machine.cache.data.forward,
                store_queue: machine.cache.store_queue,
                write_back_buffers: machine.cache.write_back_buffers,
                touch_buffers: machine.cache.touch_buffers,
                touched_line: machine.cache.touched_line,
                icbi_whole_set: machine.core.kind.core().icbi_by_index,
                broadcast: machine.core.kind.core().broadcast,
                tlb_broadcast: machine.tlb.broadcast.unwrap_or(true),
                shared_state: machine.core.kind.core().shared_state,
                stores_through: machine.core.kind.core().stores_through,
                several: machine.processors > 1,
            },
        )?;
        memory.places = places;
        Ok(memory)
    }
}

/// Where the I-cache of a machine holds the lines of RAM. `None` if there are too many places.
pub(crate) fn places(machine: &MachineConfig) -> Option<Places> {
    if machine.core.kind.core().effective_index {
        Places::indexed_by_effective(geometry(&machine.cache.instruction), machine.memory.size)
    } else {
        Some(Places::PHYSICAL)
    }
}
