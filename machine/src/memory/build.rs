//! Memory as a machine file describes it.

use super::{
    Beside, BusTiming, CacheGeometry, DramTiming, L2Timing, Memory, MemoryPace, MemoryTiming,
    PartsTiming, Pattern, Places, Ram, Uncore,
};
use crate::board::Board;
use crate::config::{
    Broadcast, Bus, CacheConfig, Forward, L2Allocate, L2Config, L2Place, L2Policy, MachineConfig,
    MemoryConfig, PageMode, Parts, TouchedLine, bus_clocks,
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
fn l2(l2: &L2Config) -> (CacheGeometry, L2Timing) {
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

/// The keys of a machine file that say what is behind the processors.
pub(crate) struct Behind<'a> {
    pub bus: Bus,
    /// Transactions on the bus at a time.
    pub depth: u32,
    /// No dead clock between the data of two burst reads.
    pub streaming: bool,
    /// Bus clocks of a transaction without data.
    pub address_only: u32,
    pub memory: &'a MemoryConfig,
    /// L2 and L3. One of them at most stands beside memory.
    pub levels: [Option<&'a L2Config>; 2],
    /// Hz of the core clock.
    pub clock: u64,
    /// Bytes of a line.
    pub line: u32,
}

/// What memory takes.
fn pace(of: &Behind<'_>) -> MemoryPace {
    let Some(parts) = of.memory.parts() else {
        let [first, next, write_first, write_next] =
            of.bus.pattern.map(|(_, clocks)| clocks.unwrap_or(1));
        return MemoryPace::Constant(Pattern {
            read_first: first,
            read_next: next,
            write_first,
            write_next,
        });
    };
    MemoryPace::Parts(PartsTiming {
        dram: dram(&parts, &of.bus, of.clock),
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

fn dram(parts: &Parts, bus: &Bus, core_clock: u64) -> DramTiming {
    let clocks = |nanoseconds| bus_clocks(nanoseconds, bus.clock(core_clock));
    DramTiming {
        access: clocks(parts.access),
        column_access: clocks(parts.column_access),
        page_cycle: clocks(parts.page_cycle),
        precharge: clocks(parts.precharge),
        cycle: clocks(parts.cycle),
        banks: parts.banks,
        row: parts.row,
        group: (parts.width / bus.width.max(1)).max(1),
        open_page: parts.page_mode == PageMode::Open,
        refresh_interval: clocks(parts.refresh_interval).max(1),
        refresh_length: clocks(parts.refresh_length),
    }
}

impl Uncore {
    /// What is behind the processors of a PowerPC machine: zeroed RAM, an empty L2, `board`.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub fn from_config(machine: &MachineConfig, board: Board) -> Result<Self, String> {
        let bus = &machine.bus;
        let behind = Behind {
            bus: bus.shared(),
            depth: bus.depth.unwrap_or(1),
            streaming: bus.streaming.unwrap_or(false),
            address_only: bus.address_only.unwrap_or_default(),
            memory: &machine.memory,
            levels: [machine.cache.l2.as_ref(), machine.cache.l3.as_ref()],
            clock: machine.core.clock,
            line: machine.cache.data.line,
        };
        Self::of(&behind, Ram::new(machine.memory.size as usize), board)
    }

    /// As [`Uncore::from_config`], of any architecture.
    ///
    /// # Errors
    /// What the machine file asks for and cannot be had.
    pub(crate) fn of(behind: &Behind<'_>, ram: Ram, board: Board) -> Result<Self, String> {
        let bus = behind.bus;
        let timing = BusTiming {
            ratio_x2: bus.core_per_two_bus as u32,
            request: bus.request,
            turnaround: bus.turnaround,
            return_path: bus.return_path,
            depth: behind.depth,
            streaming: behind.streaming,
            memory: pace(behind),
            address_only: behind.address_only,
            beat: bus.width,
            line: behind.line,
        };
        Self::new(ram, behind.levels.map(|level| level.map(l2)), timing, board)
    }
}

impl MemoryTiming {
    /// Of a core whose stores' buffers serve write-backs too, and which broadcasts no instruction.
    #[must_use]
    pub fn plain(instruction: Forward, data: Forward, store_queue: u32) -> Self {
        MemoryTiming {
            instruction_forward: instruction,
            data_forward: data,
            store_queue,
            write_back_buffers: store_queue,
            touch_buffers: 0,
            touched_line: TouchedLine::Cache,
            icbi_whole_set: false,
            broadcast: Broadcast::Never,
            tlb_broadcast: false,
            shared_state: true,
            stores_through: false,
            data_blocked: false,
            fills_wait: false,
            loads_ahead: false,
            several: false,
        }
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
