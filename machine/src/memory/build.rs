//! Memory as a machine file describes it.

use super::{
    Beside, BusTiming, CacheGeometry, DramTiming, L2Timing, Memory, MemoryPace, MemoryTiming,
    PartsTiming, Pattern, Places, Ram, Uncore,
};
use crate::board::Board;
use crate::config::{
    CacheConfig, L2Allocate, L2Config, L2Place, L2Policy, MachineConfig, MemoryConfig, PageMode,
    Parts, bus_clocks,
};

impl From<&CacheConfig> for CacheGeometry {
    fn from(cache: &CacheConfig) -> Self {
        CacheGeometry {
            size: cache.size,
            ways: cache.ways,
            line: cache.line,
            replacement: cache.replacement,
        }
    }
}

/// Shape and times of a machine file's L2, or L3.
pub(crate) fn l2(l2: &L2Config) -> (CacheGeometry, L2Timing) {
    let shape = CacheGeometry {
        size: l2.size,
        ways: l2.ways,
        line: l2.line,
        replacement: l2.replacement,
    };
    let (first, next, miss) = (l2.first_beat, l2.next_beat, l2.miss.unwrap_or_default());
    let timing = match l2.place {
        L2Place::BackSide => L2Timing::Backside {
            hit: first,
            miss,
            beat: next,
        },
        L2Place::InLine => L2Timing::InLine {
            hit: first,
            miss,
            beat: next,
        },
        L2Place::LookAside => L2Timing::LookAside {
            first,
            next,
            beside: l2.look_up.map(|look_up| Beside {
                look_up,
                through: l2.policy == Some(L2Policy::WriteThrough),
                allocates_writes: l2.allocate == Some(L2Allocate::Bursts),
            }),
        },
    };
    (shape, timing)
}

/// The keys of a machine file that say how long memory takes.
pub(crate) struct PaceOf<'a> {
    pub memory: &'a MemoryConfig,
    /// L2 and L3. One of them at most stands beside memory.
    pub levels: [Option<&'a L2Config>; 2],
    /// The bus's times of memory: `read-first`, `read-next`, `write-first`, `write-next`.
    pub pattern: [(&'static str, Option<u32>); 4],
    /// Hz of the bus clock.
    pub clock: u64,
    /// Bytes of a beat, and of a line.
    pub width: u32,
    pub line: u32,
}

/// What memory takes.
pub(crate) fn pace(of: &PaceOf<'_>) -> MemoryPace {
    let Some(parts) = of.memory.parts() else {
        let [first, next, write_first, write_next] =
            of.pattern.map(|(_, clocks)| clocks.unwrap_or(1));
        return MemoryPace::Constant(Pattern {
            read_first: first,
            read_next: next,
            write_first,
            write_next,
        });
    };
    MemoryPace::Parts(PartsTiming {
        dram: dram(&parts, of),
        read_delay: parts.read_delay,
        write_delay: parts.write_delay,
        write_buffer: parts.write_buffer,
        copy_back: (of.levels.into_iter().flatten())
            .find_map(|level| level.copy_back)
            .unwrap_or_default(),
        overlap: parts.overlap,
        line: of.line,
    })
}

fn dram(parts: &Parts, of: &PaceOf<'_>) -> DramTiming {
    let clocks = |nanoseconds| bus_clocks(nanoseconds, of.clock);
    DramTiming {
        access: clocks(parts.access),
        column_access: clocks(parts.column_access),
        page_cycle: clocks(parts.page_cycle),
        precharge: clocks(parts.precharge),
        cycle: clocks(parts.cycle),
        banks: parts.banks,
        row: parts.row,
        group: (parts.width / of.width.max(1)).max(1),
        open_page: parts.page_mode == PageMode::Open,
        refresh_interval: clocks(parts.refresh_interval).max(1),
        refresh_length: clocks(parts.refresh_length),
    }
}

impl Uncore {
    /// What is behind the processors of a machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        Self::new(
            Ram::new(machine.memory.size as usize),
            [&machine.cache.l2, &machine.cache.l3].map(|level| level.as_ref().map(l2)),
            BusTiming {
                ratio_x2: bus.core_per_two_bus() as u32,
                request: bus.request,
                turnaround: bus.turnaround,
                return_path: bus.return_path,
                depth: bus.depth.unwrap_or(1),
                streaming: bus.streaming.unwrap_or(false),
                memory: pace(&PaceOf {
                    memory: &machine.memory,
                    levels: [machine.cache.l2.as_ref(), machine.cache.l3.as_ref()],
                    pattern: bus.pattern(),
                    clock: 2 * machine.core.clock / bus.core_per_two_bus().max(1),
                    width: bus.width,
                    line: machine.cache.data.line,
                }),
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
            (&machine.cache.instruction).into(),
            (&machine.cache.data).into(),
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
                fills_wait: machine.memory.kind.is_some(),
                loads_ahead: false,
                data_blocked: machine.cache.data.blocked == Some(true),
                several: machine.processors > 1,
            },
        )?;
        memory.places = places;
        Ok(memory)
    }
}

/// Where the I-cache of a machine holds the lines of RAM. `None` if there are too many places.
fn places(machine: &MachineConfig) -> Option<Places> {
    if machine.core.kind.core().effective_index {
        let shape = (&machine.cache.instruction).into();
        Places::indexed_by_effective(shape, machine.memory.size)
    } else {
        Some(Places::PHYSICAL)
    }
}
