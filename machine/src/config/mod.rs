//! Machine files: every geometry, latency and clock of a simulated computer.
//!
//! A machine is one TOML file. Keys are kebab-case; dotted paths name them on the command line
//! (`tlb.data.entries`). A [`MachineConfig`] that came out of this module has passed every check.

mod board;
mod check;
mod controller;
mod cores;
mod error;
mod extreme;
mod inputs;
mod names;
mod parse;
mod parts;
pub(crate) mod sections;
pub mod shape;
mod wording;

pub use board::{BoardConfig, BoardKind, EmptyBus, InterruptController};
pub(crate) use check::{
    AroundBus, Before, CODE, Checker, DATA, MEMORY_MOST, Problem, bus as check_bus, dead_processor,
    levels as check_levels, lines as check_lines, plain_cache as check_cache,
    replacement as check_replacement, second_tlb as check_second_tlb, walker as check_walker,
};
pub use controller::{BusKind, Controller};
pub use cores::{Broadcast, Core, CoreKind, Family, Monitor, Power, Reloader};
pub use error::ConfigError;
pub use extreme::Extreme;
pub use names::{
    Options, REPLACEMENTS, TARGETS_MOST, UNIFIED_405, WALKERS, WALKERS_X86, Walkers, walk_options,
};
pub use parse::Override;
pub(crate) use parse::{MachineFile, read, text_of};
pub(crate) use parts::clocks as bus_clocks;
pub use parts::{MemoryConfig, PageMode, Parts, PartsKind};
pub(crate) use sections::{Bus, bus_config, machine_file, numbers, tlb_keys};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Every cycle and every count of a run is below this bound, so that sums of a few do not overflow.
pub(crate) const LATEST: u64 = 1 << 56;

/// A whole machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineConfig {
    /// The line that a listing of machines prints.
    pub description: String,
    /// Processors, all alike.
    #[serde(default = "sections::one_processor")]
    pub processors: u8,
    /// Core cycles by which a processor may run ahead of the slowest one, plus one block of instructions.
    #[serde(default = "sections::default_lead")]
    pub lead: u32,
    pub core: CoreConfig,
    pub tlb: TlbPair,
    /// Hardware hash-table walk; present exactly when the core walks in hardware.
    pub walk: Option<WalkConfig>,
    pub cache: CacheSet,
    pub bus: BusConfig,
    pub memory: MemoryConfig,
    pub board: BoardConfig,
    pub pipeline: PipelineConfig,
    pub latency: LatencyConfig,
    pub branch: BranchConfig,
    pub exception: ExceptionConfig,
}

impl MachineConfig {
    /// Core cycles in two ticks of the time base. Of two, because a bus clock may be one and a half core clocks.
    pub(crate) fn cycles_per_two_ticks(&self) -> u64 {
        let per_two = if self.core.kind.core().family == Family::Ppc405 {
            2
        } else {
            self.bus.core_per_two_bus()
        };
        per_two * u64::from(self.bus.timebase_divider)
    }
}

machine_file!(MachineConfig);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoreConfig {
    /// Which processor: chooses the instruction set, the MMU and the pipeline.
    pub kind: CoreKind,
    /// Core clock in Hz.
    pub clock: u64,
    /// Processor version register.
    pub pvr: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlbPair {
    /// `tlbie` reaches the other processors. If the key is left out, the kind of core decides.
    #[serde(default)]
    pub broadcast: Option<bool>,
    pub instruction: TlbConfig,
    pub data: TlbConfig,
    /// A TLB behind both of a 603, 604 or 750.
    #[serde(default)]
    pub l2: Option<SecondTlbConfig>,
    /// The TLB that a 405's software loads, or a 970's walk; `instruction` and `data` are then its shadow TLBs, of a
    /// 970 its ERATs.
    #[serde(default)]
    pub unified: Option<UnifiedTlbConfig>,
    #[serde(default)]
    pub extreme: Extreme,
}

impl TlbPair {
    fn grow(&mut self) {
        let extreme = &self.extreme;
        let Some(unified) = &mut self.unified else {
            extreme.grow(&mut self.instruction, true);
            extreme.grow(&mut self.data, true);
            return;
        };
        if let Some(ways) = &mut unified.ways {
            (unified.entries, *ways) = extreme.shape((unified.entries, *ways), true);
        }
    }
}

/// The unified TLB of a 405 or 970. Times in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UnifiedTlbConfig {
    /// How many translations it holds.
    pub entries: u32,
    /// Entries of a set; the 405's is fully associative, and has no such key.
    #[serde(default)]
    pub ways: Option<u32>,
    /// From a miss of the instruction shadow TLB to the fetch, if this one has the entry.
    pub instruction_refill: u32,
    /// The same of the data shadow TLB.
    pub data_refill: u32,
}

/// One TLB: set-associative; of the 8xx fully associative, replaced by a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlbConfig {
    /// How many translations it holds: a power of two.
    pub entries: u32,
    /// Entries of a set: those that one page can be in. Of an 8xx, whose TLBs are fully associative, all of them.
    pub ways: u32,
    /// How the entry to replace is chosen: a name of [`REPLACEMENTS`]. The cores' own, if the key
    /// is left out, is LRU, of x86 pseudo-LRU.
    #[serde(default)]
    pub replacement: Option<String>,
}

/// A second-level TLB. No core of these families has one, so that every value is an input. Times in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecondTlbConfig {
    /// How many translations it holds: a power of two.
    pub entries: u32,
    /// Entries of a set: those that one page can be in.
    pub ways: u32,
    /// From the miss of a first-level TLB to the access that missed, if this one has the entry.
    pub hit: u32,
    /// From that miss to the start of the walk, or to the exception, if it has not.
    pub miss: u32,
    /// As [`TlbConfig::replacement`].
    pub replacement: Option<String>,
}

impl Default for SecondTlbConfig {
    /// A hit takes less than the shortest walk of a 750GX, which is 7 cycles (docs/memory.md).
    fn default() -> Self {
        Self {
            entries: 512,
            ways: 4,
            hit: 4,
            miss: 2,
            replacement: None,
        }
    }
}

impl TlbConfig {
    pub fn sets(&self) -> u32 {
        self.entries / self.ways
    }
}

/// Costs of the hardware hash-table search, in core cycles. PTE reads that miss the data cache pay
/// the fill on top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WalkConfig {
    /// From the TLB miss to the first PTE read.
    pub start: u32,
    /// Each PTE read and compared, when it hits the data cache.
    pub access: u32,
    /// From the matching PTE to the access that missed.
    pub finish: u32,
    /// A PTE read that misses waits for the whole line, even if loads wait for less.
    pub whole_line: bool,
    /// PTE reads go through the data cache. No core has such a switch: `false` models a walker with its own path to
    /// the bus.
    pub cached: bool,
    /// The part that searches the page table: a name of [`crate::powerpc::mmu::walker`].
    #[serde(default = "hash_search")]
    pub walker: String,
    /// Options of the walker, all numbers.
    #[serde(default)]
    pub options: BTreeMap<String, u32>,
}

fn hash_search() -> String {
    "hash".to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheSet {
    /// How many stores can wait for the bus while the core goes on; 0: the core waits for each.
    pub store_queue: u32,
    /// How many modified lines, written back by `dcbz`, `dcbst` and `dcbf`, can wait for the bus while the core goes
    /// on; 0: the core waits for each.
    pub write_back_buffers: u32,
    /// How many lines `dcbt` can fetch at a time; 0: it does nothing.
    pub touch_buffers: u32,
    /// Where such a line goes: into the cache, or into a buffer until an access needs it.
    pub touched_line: TouchedLine,
    pub instruction: CacheConfig,
    pub data: CacheConfig,
    pub l2: Option<L2Config>,
    /// Behind an L2 of the processor's own. A look-aside L3 is shared by all processors.
    pub l3: Option<L2Config>,
}

/// Where a line that `dcbt` fetched goes when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TouchedLine {
    /// Into the D-cache.
    Cache,
    /// It stays in the buffer until an access needs it; another touch may replace it (603e UM 3.2.4).
    Buffer,
}

/// How a set of a cache chooses its victim. Invalid lines are always filled first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// Least recently used (603, 604).
    Lru,
    /// Pseudo-LRU: a tree of bits, one for each pair (750: 8 ways, 7 bits).
    PseudoLru,
    /// By numbers that look random, and are the same in each run.
    Random,
}

/// Which beats of a line the core gets while the line is being filled. The first beat holds the address that missed;
/// the others follow in order and wrap around within the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forward {
    /// None: it waits for the whole line.
    Line,
    /// The first beat; for any other it waits for the whole line.
    Critical,
    /// Each beat as it arrives.
    Beats,
}

/// A level-one cache. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheConfig {
    /// Bytes in all.
    pub size: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// How the line to replace is chosen.
    pub replacement: Replacement,
    /// Which beats an access gets while the line is being filled.
    pub forward: Forward,
    /// Of a D-cache: while a line is being filled, no other access gets at the cache (603e). Left out, it is not so.
    pub blocked: Option<bool>,
}

impl CacheConfig {
    pub fn sets(&self) -> u32 {
        self.size / (self.ways * self.line)
    }
}

/// Where a second-level cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L2Place {
    /// On a bus of its own. The core looks there before it uses the processor bus. Times in core cycles.
    BackSide,
    /// Between the processor's own bus and that of all processors. Times in core cycles.
    InLine,
    /// On the processor bus, beside the memory, which answers if this cache misses. Times in bus clocks.
    LookAside,
}

/// When a look-aside L2 writes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L2Policy {
    /// When a modified line goes out of it.
    WriteBack,
    /// With each write.
    WriteThrough,
}

/// Which bursts get a place in a look-aside L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L2Allocate {
    /// Reads.
    Reads,
    /// Reads and writes.
    Bursts,
}

/// A unified second-level or third-level cache; write-back, unless it is look-aside and its policy says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct L2Config {
    /// On a bus of its own, between two buses, or on the processor bus beside the memory.
    pub place: L2Place,
    /// Bytes in all.
    pub size: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// How the line to replace is chosen.
    pub replacement: Replacement,
    /// To the first beat of a hit: from the address tenure (look-aside), or from the level-one miss.
    pub first_beat: u32,
    /// Each further beat of a line that hits.
    pub next_beat: u32,
    /// Back-side and in-line: from a level-one miss to the bus request when this cache misses too.
    pub miss: Option<u32>,
    /// Look-aside, as are the next three: whether what is written to it goes to memory at once.
    pub policy: Option<L2Policy>,
    /// Which bursts that miss get a place in it.
    pub allocate: Option<L2Allocate>,
    /// Bus clocks from the start of a transaction until it is known whether this cache answers: memory is asked no
    /// earlier.
    pub look_up: Option<u32>,
    /// Modified lines that go out of it and can wait for memory.
    pub copy_back: Option<u32>,
}

bus_config! {
    /// Transactions on the bus at a time; 1 if the key is left out.
    depth: Option<u32>,
    /// No dead clock between the data of two burst reads (604, data streaming mode).
    streaming: Option<bool>,
    /// A transaction without data: `tlbie`, `tlbsync`, `sync`, `eieio` and cache instructions, if the core broadcasts
    /// them. Present exactly when the core broadcasts.
    address_only: Option<u32>,
    /// Bus clocks in one tick of time base and decrementer; of a 405 core clocks in one tick of its timers.
    timebase_divider: u32,
}

/// Widths and depths of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PipelineConfig {
    /// Instructions fetched in a cycle.
    pub fetch: u32,
    /// Instructions dispatched in a cycle, folded branches not counted.
    pub dispatch: u32,
    /// Instructions completed in a cycle.
    pub complete: u32,
    /// Instructions in flight between dispatch and completion.
    pub completion_queue: u32,
    /// Branches take no dispatch slot.
    pub fold_branches: bool,
}

/// Latency and initiation interval of an instruction class, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cost {
    /// From issue until a dependent instruction can issue.
    pub latency: u32,
    /// From issue until the unit takes the next one.
    pub interval: u32,
}

/// What not every core has, but some instructions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Float,
    Segments,
    /// tlbld and tlbli
    TlbLoad,
    /// Registers of 64 bits.
    Wide,
}

macro_rules! latencies {
    ($($(#[$doc:meta])* $name:ident $path:literal,)* ;
     $($(#[$part_doc:meta])* $part_name:ident $part_path:literal $part:ident,)*) => {
        /// Instruction costs by class.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct LatencyConfig {
            $($(#[$doc])* pub $name: Cost,)*
            /// Core cycles for each register of a multiple or string instruction.
            pub multiple_word: u32,
            $($(#[$part_doc])* #[serde(default)] pub $part_name: Option<Cost>,)*
        }

        impl LatencyConfig {
            /// The costs that every core has, with their dotted paths.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, Cost)> {
                [$(($path, self.$name),)*].into_iter()
            }

            /// The costs of what only some cores have, with their dotted paths.
            pub fn of_parts(&self) -> impl Iterator<Item = (&'static str, Part, Option<Cost>)> {
                [$(($part_path, Part::$part, self.$part_name),)*].into_iter()
            }
        }
    };
}

latencies! {
    /// Add, logical, shift, rotate, count leading zeros.
    simple "latency.simple",
    /// From a compare to the branch that reads its result.
    compare "latency.compare",
    multiply_immediate "latency.multiply-immediate",
    multiply "latency.multiply",
    multiply_high_unsigned "latency.multiply-high-unsigned",
    divide "latency.divide",
    load "latency.load",
    store "latency.store",
    /// Load multiple and string: before the first word.
    load_multiple "latency.load-multiple",
    /// Store multiple and string: before the first word.
    store_multiple "latency.store-multiple",
    /// lwarx
    load_reserve "latency.load-reserve",
    /// stwcx.
    store_conditional "latency.store-conditional",
    move_from_spr "latency.move-from-spr",
    move_to_spr "latency.move-to-spr",
    /// mtlr and mtctr
    move_to_branch_register "latency.move-to-branch-register",
    move_from_msr "latency.move-from-msr",
    move_to_msr "latency.move-to-msr",
    move_from_cr "latency.move-from-cr",
    move_to_cr "latency.move-to-cr",
    cr_logical "latency.cr-logical",
    move_from_timebase "latency.move-from-timebase",
    /// tw and twi that do not trap.
    trap "latency.trap",
    isync "latency.isync",
    sync "latency.sync",
    eieio "latency.eieio",
    tlbie "latency.tlbie",
    tlbsync "latency.tlbsync",
    /// dcbt and dcbtst
    dcbt "latency.dcbt",
    dcbz "latency.dcbz",
    /// dcbst and dcbf
    dcbf "latency.dcbf",
    dcbi "latency.dcbi",
    icbi "latency.icbi",
    ;
    load_float "latency.load-float" Float,
    move_from_segment "latency.move-from-segment" Segments,
    move_to_segment "latency.move-to-segment" Segments,
    /// tlbld and tlbli
    tlb_load "latency.tlb-load" TlbLoad,
    /// fmr, fneg, fabs, fnabs, fsel
    float_move "latency.float-move" Float,
    /// fadd, fsub, frsp, fctiw in either precision.
    float_add "latency.float-add" Float,
    float_multiply_single "latency.float-multiply-single" Float,
    float_multiply_double "latency.float-multiply-double" Float,
    float_divide_single "latency.float-divide-single" Float,
    float_divide_double "latency.float-divide-double" Float,
    float_compare "latency.float-compare" Float,
    /// fres and frsqrte
    float_estimate "latency.float-estimate" Float,
    /// mffs, mtfsf, mtfsfi, mtfsb0, mtfsb1, mcrfs
    float_status "latency.float-status" Float,
    /// mulld, mulhd, mulhdu
    multiply_doubleword "latency.multiply-doubleword" Wide,
    /// divd, divdu
    divide_doubleword "latency.divide-doubleword" Wide,
    /// fsqrt, fsqrts
    float_square_root "latency.float-square-root" Wide,
    /// slbmte, slbmfee, slbmfev, slbie, slbia
    slb "latency.slb" Wide,
}

/// Branch prediction; penalties in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BranchConfig {
    /// Two-bit counters; 0 makes prediction static (y bit and displacement sign).
    pub history_entries: u32,
    /// Entries of the branch target cache; 0 if the core has none.
    pub target_entries: u32,
    /// A taken branch that hits the target cache, or any taken branch if there is no such cache.
    pub taken: u32,
    /// A taken branch that misses the target cache.
    pub taken_target_miss: u32,
    /// A wrong prediction.
    pub mispredict: u32,
}

/// Exceptions, in core cycles; the handler's own instructions and fetch misses come on top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExceptionConfig {
    /// From recognition to the first instruction of the handler.
    pub entry: u32,
    /// The same after a failed translation: the TLB-miss vectors of the 603, and on the others the
    /// storage exceptions that a hash search without a match raises.
    pub tlb_miss_entry: u32,
    /// rfi: to the first instruction of the interrupted code.
    pub leave: u32,
}
