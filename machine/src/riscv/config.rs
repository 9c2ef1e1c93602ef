//! The machine file of a RISC-V machine.

use serde::{Deserialize, Serialize};

use super::op::{CLASSES, Class};
use crate::config::{
    AroundBus, Before, BusKind, CODE, CacheConfig, Checker, DATA, Extreme, L2Config, L2Place,
    MachineFile, MemoryConfig, Problem, TlbConfig, bus_config, check_bus, check_cache,
    check_levels, check_lines, dead_processor, machine_file, numbers, sections, tlb_keys,
};

/// Which instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// RV64IMAFDC with Zicsr, Zifencei and Zicntr; machine, supervisor and user mode.
    Rv64gc,
}

/// What an access does that is not aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Misaligned {
    /// It raises an exception, and firmware does it byte by byte.
    Trap,
    /// The core does it.
    Hardware,
}

/// Who sets the A and D bits of page-table entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// The access raises a page fault (Svade).
    Software,
    /// The walk (Svadu).
    Hardware,
}

/// A whole machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The line that a listing of machines prints.
    pub description: String,
    /// Processors, all alike.
    #[serde(default = "sections::one_processor")]
    pub processors: u8,
    /// Core cycles by which a processor may run ahead of the slowest one, plus one block of instructions.
    #[serde(default = "sections::default_lead")]
    pub lead: u32,
    pub core: CoreConfig,
    pub tlb: Tlbs,
    pub walk: WalkConfig,
    pub cache: Caches,
    pub bus: BusConfig,
    pub memory: MemoryConfig,
    pub board: BoardConfig,
    pub clocks: ClockConfig,
    pub latency: LatencyConfig,
    pub branch: BranchConfig,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoreConfig {
    pub kind: Kind,
    /// The core's name in the device tree.
    pub model: String,
    /// Core clock in Hz.
    pub clock: u64,
    /// Ticks of mtime in a second.
    pub timebase: u64,
    /// Instructions that are issued in a cycle at most: 1, or 2 by a pipe A (memory, integers) and a pipe B (integers,
    /// branches, multiplies, floating point).
    pub issue: u32,
    pub misaligned: Misaligned,
    /// Page tables of four levels are there, too.
    pub sv48: bool,
    /// Extensions beyond RV64GC, as the ISA string has them: `svinval_svnapot`.
    #[serde(default)]
    pub extensions: String,
    /// Bytes of the smallest region that physical memory protection can tell from its neighbours.
    #[serde(default = "smallest_region")]
    pub pmp_granularity: u32,
    /// Counters of events, which have the numbers of SiFive's cores.
    #[serde(default)]
    pub event_counters: u32,
    #[serde(with = "identity")]
    pub mvendorid: u64,
    #[serde(with = "identity")]
    pub marchid: u64,
    #[serde(with = "identity")]
    pub mimpid: u64,
}

/// A number of all 64 bits. TOML has none above 2^63 - 1: such a number is text there.
mod identity {
    use serde::de::{Deserializer, Error, Visitor};
    use serde::{Deserialize as _, Serializer};

    struct Reader;

    impl Visitor<'_> for Reader {
        type Value = u64;

        fn expecting(&self, words: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            words.write_str("a whole number of 64 bits; above 0x7fffffffffffffff in quotes")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            u64::try_from(number)
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            let found = match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => text.parse(),
            };
            found.map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Reader)
        } else {
            u64::deserialize(deserializer)
        }
    }

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() && i64::try_from(*number).is_err() {
            serializer.serialize_str(&format!("{number:#x}"))
        } else {
            serializer.serialize_u64(*number)
        }
    }
}

fn smallest_region() -> u32 {
    4
}

macro_rules! extensions {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {
        /// An extension that a machine file can switch on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Extension { $($(#[$doc])* $name,)* }

        impl Extension {
            const ALL: &[(&str, Extension)] = &[$(($word, Extension::$name),)*];
        }
    };
}

extensions! {
    /// Shifts that are added: sh1add and the like.
    Zba "zba";
    /// Logic, counts, rotations and bytes in registers.
    Zbb "zbb";
    /// Files of interrupts that arrive as stores, of supervisor mode and of machine mode (Smaia).
    Ssaia "ssaia";
    /// A timer of supervisor mode: stimecmp.
    Sstc "sstc";
    /// Walks set A and D bits where menvcfg.ADUE is set, and nowhere else.
    Svadu "svadu";
    /// sinval.vma and its two fences.
    Svinval "svinval";
    /// Pages of 64 KB, of 16 equal entries.
    Svnapot "svnapot";
    /// Page-table entries say how memory is ordered and cached. All of it is in order and cached here, as it is anyway.
    Svpbmt "svpbmt";
    /// An entry that becomes valid is seen without a fence. The device tree says so; it is software that relies on it.
    Svvptc "svvptc";
}

impl Extension {
    fn named(word: &str) -> Option<Extension> {
        let mut all = Extension::ALL.iter();
        all.find(|(name, _)| *name == word).map(|&(_, found)| found)
    }
}

/// Those that are switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions(u32);

impl Extensions {
    /// Is it one of them?
    #[inline(always)]
    #[must_use]
    pub fn has(self, extension: Extension) -> bool {
        self.0 >> extension as u32 & 1 != 0
    }
}

impl CoreConfig {
    fn words(&self) -> impl Iterator<Item = &str> {
        self.extensions.split('_').filter(|word| !word.is_empty())
    }

    /// Those that are switched on.
    #[must_use]
    pub fn set(&self) -> Extensions {
        let all = self.words().filter_map(Extension::named);
        Extensions(all.fold(0, |set, extension| set | 1 << extension as u32))
    }

    /// What the device tree says of the instruction set: the ISA string, then the extensions one by one.
    #[must_use]
    pub fn isa(&self) -> (String, Vec<String>) {
        let list = |base: &str| {
            base.split('_')
                .chain(self.words())
                .map(str::to_owned)
                .collect()
        };
        let string: Vec<String> = list("rv64imafdc");
        (
            string.join("_"),
            list("i_m_a_f_d_c_zicntr_zicsr_zifencei_zihpm"),
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tlbs {
    /// Bits of satp that number an address space.
    pub asid_bits: u32,
    /// An entry of the page table that is not valid is kept until a fence, too.
    #[serde(default)]
    pub keeps_invalid: bool,
    /// sfence.vma reaches the TLBs of all processors.
    #[serde(default)]
    pub broadcast: bool,
    pub instruction: TlbConfig,
    pub data: TlbConfig,
    pub l2: Option<SecondTlb>,
    #[serde(default)]
    pub extreme: Extreme,
}

/// A TLB behind the two others. Times in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecondTlb {
    pub entries: u32,
    pub ways: u32,
    pub replacement: Option<String>,
    /// It holds superpages, too.
    pub superpages: bool,
    /// From the miss of a first-level TLB to the access, if this one has the entry.
    pub hit: u32,
    /// It is looked up for one size of pages after another: what each further size takes.
    #[serde(default)]
    pub next_size: u32,
    /// From that miss to the start of the walk, if it has not.
    pub miss: u32,
}

impl SecondTlb {
    pub(super) fn shape(&self) -> TlbConfig {
        TlbConfig {
            entries: self.entries,
            ways: self.ways,
            replacement: self.replacement.clone(),
        }
    }
}

numbers! {
    /// The walk of the page table, in core cycles. Reads that miss the cache pay the fill on top.
    WalkConfig;
    /// From the miss to the first read.
    begin "walk.begin",
    /// Each entry that is read.
    level "walk.level",
    /// With `update = "hardware"`: setting a bit, on top of the write.
    #[serde(default)]
    set "walk.set",
    ;
    /// Entries that point to tables which the walker remembers; 0: none.
    cache: u32,
    update: Update,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Caches {
    /// How many writes can wait for the bus while the core goes on.
    pub store_queue: u32,
    pub instruction: CacheConfig,
    pub data: CacheConfig,
    pub l2: Option<L2Config>,
}

bus_config! {
    /// A transaction without data.
    address_only: u32,
}

/// Which board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardKind {
    /// QEMU's board `virt`: CLINT, PLIC, a 16550, a device that powers off.
    Virt,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoardConfig {
    pub kind: BoardKind,
    /// The control device is fitted.
    pub control: bool,
    /// A processor that stays in reset.
    #[serde(default)]
    pub dead_processor: Option<u8>,
}

numbers! {
    /// What the system's instructions cost when all accesses hit, in core cycles beside their issue.
    ClockConfig;
    /// The way into a trap.
    trap "clocks.trap",
    /// mret and sret.
    #[serde(rename = "return")]
    return_ "clocks.return",
    /// A CSR instruction.
    csr "clocks.csr",
    /// sfence.vma of an address.
    fence_page "clocks.fence-page",
    /// sfence.vma of all addresses.
    fence_all "clocks.fence-all",
    /// fence.i.
    fence_i "clocks.fence-i",
    /// An access that is not aligned, with `core.misaligned = "hardware"`.
    #[serde(default)]
    misaligned "clocks.misaligned",
    ;
    /// sfence.vma of all addresses of one address space; left out, it is that of all.
    fence_space: Option<u32>,
}

numbers! {
    /// Core cycles from the issue of an instruction to that of one which needs its result.
    LatencyConfig;
    load "latency.load",
    multiply "latency.multiply",
    divide "latency.divide",
    divide_word "latency.divide-word",
    float "latency.float",
    float_divide_single "latency.float-divide-single",
    float_divide_double "latency.float-divide-double",
    atomic "latency.atomic",
}

/// Branch prediction; the penalty in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BranchConfig {
    /// Two-bit counters: a power of two.
    pub entries: u32,
    /// Indirect jumps whose target is remembered: a power of two.
    pub targets: u32,
    /// A wrong prediction.
    pub mispredict: u32,
}

/// What an instruction of a class costs, and which pipes it can have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub latency: u16,
    /// [`PIPE_A`] and [`PIPE_B`]; none for an instruction that is issued alone.
    pub pipes: u8,
    /// What the first instruction of a cycle leaves used.
    pub first: u8,
}

pub const PIPE_A: u8 = 1;
pub const PIPE_B: u8 = 2;
/// No further instruction is issued in this cycle.
pub const FULL: u8 = 4;

machine_file!(Config, board "virt", cores &["rv64gc"]);

impl Config {
    /// The first cycle by which mtime has ticked so often.
    #[must_use]
    pub fn cycle_of(&self, ticks: u64) -> u64 {
        let cycles = u128::from(ticks) * u128::from(self.core.clock);
        u64::try_from(cycles.div_ceil(self.core.timebase.into())).unwrap_or(u64::MAX)
    }

    /// Ticks of mtime by this cycle.
    #[must_use]
    pub fn ticks(&self, cycles: u64) -> u64 {
        let ticks = u128::from(cycles) * u128::from(self.core.timebase);
        (ticks / u128::from(self.core.clock)) as u64
    }

    /// What the classes of instructions cost, in their order.
    pub(super) fn costs(&self) -> [Cost; CLASSES] {
        const EITHER: u8 = PIPE_A | PIPE_B;
        let latency = &self.latency;
        let mut all = [Cost::default(); CLASSES];
        let (single, double) = (latency.float_divide_single, latency.float_divide_double);
        for (class, cycles, pipes) in [
            (Class::Integer, 1, EITHER),
            (Class::Load, latency.load, PIPE_A),
            (Class::Store, 1, PIPE_A),
            (Class::Branch, 1, PIPE_B),
            (Class::Multiply, latency.multiply, PIPE_B),
            (Class::Divide, latency.divide, PIPE_B),
            (Class::DivideWord, latency.divide_word, PIPE_B),
            (Class::Float, latency.float, PIPE_B),
            (Class::FloatDivideSingle, single, PIPE_B),
            (Class::FloatDivideDouble, double, PIPE_B),
            (Class::Atomic, latency.atomic, PIPE_A),
            (Class::System, 1, 0),
            (Class::Fence, 1, 0),
        ] {
            let alone = self.core.issue == 1 || pipes == 0;
            all[class as usize] = Cost {
                latency: cycles as u16,
                pipes: if alone { 0 } else { pipes },
                first: if alone { FULL } else { pipes },
            };
        }
        all
    }
}

impl MachineFile for Config {
    fn complete(&mut self) {
        let tlbs = &mut self.tlb;
        tlbs.extreme.grow(&mut tlbs.instruction, false);
        tlbs.extreme.grow(&mut tlbs.data, false);
    }

    fn problems(&self) -> Vec<Problem> {
        let mut checker = Checker::default();
        core(&mut checker, self);
        tlbs(&mut checker, self);
        self.tlb.extreme.check(&mut checker);
        caches(&mut checker, self);
        bus(&mut checker, self);
        let others = [
            (
                "clocks.fence-space",
                self.clocks.fence_space.unwrap_or_default(),
            ),
            ("branch.mispredict", self.branch.mispredict),
        ];
        for (path, cycles) in self.clocks.all().chain(self.walk.all()).chain(others) {
            checker.range(path, cycles.into(), 0, 10_000);
        }
        for (path, cycles) in self.latency.all() {
            checker.range(path, cycles.into(), 1, 10_000);
        }
        checker.range("walk.cache", self.walk.cache.into(), 0, 64);
        checker.power_of_two("branch.entries", self.branch.entries, 1, 65536);
        checker.power_of_two("branch.targets", self.branch.targets, 1, 65536);
        checker.problems
    }
}

fn core(checker: &mut Checker, config: &Config) {
    let core = &config.core;
    checker.range("core.clock", core.clock, 1_000_000, 10_000_000_000);
    let most = core.clock.min(u32::MAX.into());
    checker.range("core.timebase", core.timebase, 1000, most);
    checker.range("core.issue", core.issue.into(), 1, 2);
    checker.power_of_two("core.pmp-granularity", core.pmp_granularity, 4, 4096);
    checker.range("core.event-counters", core.event_counters.into(), 0, 28);
    checker.range("processors", config.processors.into(), 1, 8);
    dead_processor(checker, config.board.dead_processor, config.processors);
    checker.range("lead", config.lead.into(), 1, 100_000);
    let plain = |c: char| c.is_ascii_alphanumeric() || ",.-_".contains(c);
    if !(1..=64).contains(&core.model.len()) || !core.model.chars().all(plain) {
        let message = "has to be 1 to 64 letters, digits and \",.-_\", as device trees name a core";
        checker.fail("core.model", message);
    }
    if let Some(word) = core.words().find(|word| Extension::named(word).is_none()) {
        let all: Vec<_> = Extension::ALL.iter().map(|&(name, _)| name).collect();
        let message = format!("names {word:?}: allowed are {}", all.join("_"));
        checker.fail("core.extensions", message);
    }
    let words: Vec<_> = core.words().collect();
    if let Some(word) =
        (1..words.len()).find_map(|n| words[..n].contains(&words[n]).then_some(words[n]))
    {
        checker.fail("core.extensions", format!("names {word:?} twice"));
    }
    if core.set().has(Extension::Svvptc) && config.tlb.keeps_invalid {
        let message =
            "names svvptc, and tlb.keeps-invalid is true: such a core needs a fence for a new page";
        checker.fail("core.extensions", message);
    }
    checker.memory_size(config.memory.size, 4 << 20, (2 << 20, "2 MB"));
}

/// Replacement policies that need no order of uses beside their own state.
const POLICIES: [&str; 3] = ["pseudo-lru", "fifo", "random"];

fn tlbs(checker: &mut Checker, config: &Config) {
    let tlb = &config.tlb;
    checker.range("tlb.asid-bits", tlb.asid_bits.into(), 0, 16);
    let second = tlb.l2.as_ref().map(SecondTlb::shape);
    for ([_, entries, ways, replacement], tlb) in [
        (tlb_keys!("tlb.instruction"), Some(&tlb.instruction)),
        (tlb_keys!("tlb.data"), Some(&tlb.data)),
        (tlb_keys!("tlb.l2"), second.as_ref()),
    ] {
        let Some(tlb) = tlb else { continue };
        let good = checker.range(entries, tlb.entries.into(), 1, 65536);
        if checker.range(ways, tlb.ways.into(), 1, 64)
            && good
            && !(tlb.entries.is_multiple_of(tlb.ways) && tlb.sets().is_power_of_two())
        {
            let message = format!(
                "is {}: the entries, which are {}, divided by it have to be a power of two",
                tlb.ways, tlb.entries
            );
            checker.fail(ways, message);
        }
        if let Some(name) = tlb.replacement.as_deref()
            && !POLICIES.contains(&name)
        {
            let allowed = POLICIES.join(", ");
            checker.fail(replacement, format!("is \"{name}\": allowed are {allowed}"));
        }
    }
    if let Some(l2) = &tlb.l2 {
        checker.range("tlb.l2.hit", l2.hit.into(), 0, 1000);
        checker.range("tlb.l2.next-size", l2.next_size.into(), 0, 1000);
        checker.range("tlb.l2.miss", l2.miss.into(), 0, 1000);
    }
}

fn caches(checker: &mut Checker, config: &Config) {
    let set = &config.cache;
    checker.range("cache.store-queue", set.store_queue.into(), 0, 16);
    check_cache(checker, CODE, &set.instruction);
    check_cache(checker, DATA, &set.data);
    check_lines(checker, &set.instruction, &set.data);
    let before = Before {
        line: ("cache.data.line", set.data.line),
        parts: config.memory.kind.is_some(),
        processors: config.processors,
    };
    check_levels(checker, [set.l2.as_ref(), None], &before);
    if let Some(l2) = &set.l2
        && l2.place != L2Place::InLine
    {
        let message = "of core.kind \"rv64gc\" can only be \"in-line\"";
        checker.fail("cache.l2.place", message);
    }
}

fn bus(checker: &mut Checker, config: &Config) {
    let bus = &config.bus;
    let around = AroundBus {
        kind: BusKind::Other,
        widest: 64,
        clock: config.core.clock,
        line: ("cache.data.line", config.cache.data.line),
        levels: [config.cache.l2.as_ref(), None],
        depth: 1,
        processors: config.processors,
        memory: &config.memory,
    };
    check_bus(checker, &bus.shared(), &around);
    checker.range("bus.address-only", bus.address_only.into(), 0, 1000);
    checker.range("bus.device", bus.device.into(), 0, 100_000);
}
