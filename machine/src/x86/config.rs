//! The machine file of an x86 machine.
//!
//! Shapes of TLBs and caches, the bus and the costs of what the system does are keys. What each instruction of a
//! program costs is a table of the core ([`super::clocks`]).

use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::de::DeTable;

use crate::config::{
    Around, Before, BusKind, CacheConfig, Checker, ConfigError, L2Config, L2Place, MEMORY_MOST,
    MachineFile, MemoryConfig, Options, Override, Problem, SecondTlbConfig, TlbConfig, WALKERS_X86,
    check_cache, check_levels, check_memory, check_replacement, check_second_tlb, check_walker,
    look_aside, read, shape, text_of,
};

/// Which processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// i486DX: one unified cache, written through, and one unified TLB.
    I486,
    /// Pentium Pro, II and III: split caches, a second-level cache of its own, split TLBs, CPUID, large pages.
    P6,
}

impl Kind {
    /// The name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::I486 => "i486",
            Kind::P6 => "p6",
        }
    }

    /// Issue slots in a cycle. The P6 decodes and retires three micro-operations in a cycle (recalled).
    #[inline(always)]
    #[must_use]
    pub fn slots(self) -> u32 {
        match self {
            Kind::I486 => 1,
            Kind::P6 => 3,
        }
    }
}

/// A whole machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The line that a listing of machines prints.
    pub description: String,
    /// Processors, all alike.
    #[serde(default = "one_processor")]
    pub processors: u8,
    /// Core cycles by which a processor may run ahead of the slowest one, plus one block of instructions.
    #[serde(default = "default_lead")]
    pub lead: u32,
    pub core: CoreConfig,
    pub tlb: Tlbs,
    pub walk: WalkConfig,
    pub cache: Caches,
    pub bus: BusConfig,
    pub memory: MemoryConfig,
    pub board: BoardConfig,
    pub clocks: ClockConfig,
    /// Present exactly on a P6.
    pub branch: Option<BranchConfig>,
    /// Of a P6: what runs while loads wait. Left out, nothing does.
    pub window: Option<WindowConfig>,
}

fn one_processor() -> u8 {
    1
}

/// As of a PowerPC machine.
fn default_lead() -> u32 {
    100
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoreConfig {
    /// Which processor: chooses instructions, MMU and the table of clocks.
    pub kind: Kind,
    /// Core clock in Hz.
    pub clock: u64,
    /// EDX after reset: family, model and stepping.
    pub signature: u32,
}

/// The TLBs of a core: one of an i486, four of a P6.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tlbs {
    pub unified: Option<TlbConfig>,
    pub instruction: Option<TlbConfig>,
    pub data: Option<TlbConfig>,
    /// Of 4 MB pages.
    pub instruction_large: Option<TlbConfig>,
    /// Of 4 MB pages.
    pub data_large: Option<TlbConfig>,
    /// A TLB of 4 KB pages behind those of code and of data.
    #[serde(default)]
    pub l2: Option<SecondTlbConfig>,
}

/// The walk of page directory and page table, in core cycles. Reads that miss the cache pay the fill on top.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WalkConfig {
    /// A whole walk whose reads hit the cache.
    pub cycles: u32,
    /// The first entry whose A or D bit a walk sets: a locked read and write.
    pub first_update: u32,
    /// Each further entry.
    pub next_update: u32,
    /// What walks: a name of [`WALKERS_X86`].
    #[serde(default = "tables")]
    pub walker: String,
    /// Options of the walker, all numbers.
    #[serde(default)]
    pub options: Options,
}

fn tables() -> String {
    "tables".to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Caches {
    /// How many writes can wait for the bus while the core goes on.
    pub store_queue: u32,
    /// Of an i486.
    pub unified: Option<CacheConfig>,
    /// Of a P6.
    pub instruction: Option<CacheConfig>,
    /// Of a P6.
    pub data: Option<CacheConfig>,
    pub l2: Option<L2Config>,
    /// Behind the L2 of a P6; all processors share it.
    pub l3: Option<L2Config>,
}

/// The processor bus. Times are in bus clocks; a beat moves `width` bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BusConfig {
    /// Core clocks in one bus clock: a multiple of a half.
    pub core_to_bus: f64,
    /// Bytes in a beat.
    pub width: u32,
    /// From a miss to the start of its bus cycle on an idle bus.
    pub request: u32,
    /// From the last beat of a transfer until the next one can begin.
    pub turnaround: u32,
    /// From a beat of a read on the bus to the core.
    pub return_path: u32,
    /// Transactions on the bus at a time; 1 if the key is left out.
    pub depth: Option<u32>,
    /// Read: to the first beat; also a read of one beat. This and the next three are there exactly if the file does not
    /// tell the memory's parts.
    pub read_first: Option<u32>,
    /// Read: each further beat of a burst.
    pub read_next: Option<u32>,
    /// Write: to the first beat; also a write of one beat.
    pub write_first: Option<u32>,
    /// Write: each further beat of a burst.
    pub write_next: Option<u32>,
    /// An access to a register of a device in memory, such as the local APIC's.
    pub device: u32,
    /// An access to an I/O port.
    pub port: u32,
    /// A transaction without data. Present exactly on a P6.
    pub address_only: Option<u32>,
}

impl BusConfig {
    /// The times of memory, and their keys.
    pub(super) fn pattern(&self) -> [(&'static str, Option<u32>); 4] {
        [
            ("bus.read-first", self.read_first),
            ("bus.read-next", self.read_next),
            ("bus.write-first", self.write_first),
            ("bus.write-next", self.write_next),
        ]
    }

    /// Core clocks in two bus clocks: the ratio as an integer.
    #[must_use]
    pub fn core_per_two_bus(&self) -> u64 {
        (self.core_to_bus * 2.0).round() as u64
    }

    /// Core cycles that `bus_clocks` take, rounded up to a whole core cycle.
    #[must_use]
    pub fn core_cycles(&self, bus_clocks: u64) -> u64 {
        (bus_clocks * self.core_per_two_bus()).div_ceil(2)
    }
}

/// Which board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardKind {
    /// A PC: a pair of 8259s, an 8254, a 16550; with a P6 local APICs and an I/O APIC.
    Pc,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoardConfig {
    pub kind: BoardKind,
    /// Clock of the bus that joins the APICs, in Hz. Present exactly on a P6.
    pub apic_clock: Option<u32>,
    /// The control device is fitted.
    pub control: bool,
}

/// What the system's instructions and interrupts cost when all accesses hit, in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClockConfig {
    /// Interrupt, exception or INT n through a gate, to an inner ring.
    pub interrupt_inner: u32,
    /// The same in the same ring.
    pub interrupt_same: u32,
    /// IRET to an outer ring.
    pub return_outer: u32,
    /// IRET in the same ring.
    pub return_same: u32,
    /// What an external interrupt takes besides: the bus cycles that ask for its vector.
    pub acknowledge: u32,
    /// Far CALL without a gate.
    pub far_call: u32,
    /// Far CALL through a gate, in the same ring.
    pub gate_same: u32,
    /// Far CALL through a gate, to an inner ring.
    pub gate_inner: u32,
    /// Far RET in the same ring.
    pub far_return_same: u32,
    /// Far RET to an outer ring.
    pub far_return_outer: u32,
    /// Far JMP.
    pub far_jump: u32,
    /// MOV or POP to a segment register in protected mode.
    pub load_segment: u32,
    /// MOV to CR3.
    pub write_cr3: u32,
    /// MOV to another control register.
    pub write_cr: u32,
    /// MOV from a control register.
    pub read_cr: u32,
    /// INVLPG.
    pub invalidate_page: u32,
    /// LGDT, LIDT.
    pub load_table: u32,
    /// LLDT.
    pub load_local: u32,
    /// LTR.
    pub load_task: u32,
    /// What the LOCK prefix adds.
    pub lock: u32,
    /// Of a P6: from a load to an address of the next instruction that needs the loaded register. Left out, there is no
    /// such wait.
    pub load: Option<u32>,
    /// WBINVD, without what it writes.
    pub write_back: u32,
    /// An access that is not aligned, in addition.
    pub misaligned: u32,
}

impl ClockConfig {
    fn all(&self) -> [(&'static str, u32); 22] {
        [
            ("clocks.interrupt-inner", self.interrupt_inner),
            ("clocks.interrupt-same", self.interrupt_same),
            ("clocks.return-outer", self.return_outer),
            ("clocks.return-same", self.return_same),
            ("clocks.acknowledge", self.acknowledge),
            ("clocks.far-call", self.far_call),
            ("clocks.gate-same", self.gate_same),
            ("clocks.gate-inner", self.gate_inner),
            ("clocks.far-return-same", self.far_return_same),
            ("clocks.far-return-outer", self.far_return_outer),
            ("clocks.far-jump", self.far_jump),
            ("clocks.load-segment", self.load_segment),
            ("clocks.write-cr3", self.write_cr3),
            ("clocks.write-cr", self.write_cr),
            ("clocks.read-cr", self.read_cr),
            ("clocks.invalidate-page", self.invalidate_page),
            ("clocks.load-table", self.load_table),
            ("clocks.load-local", self.load_local),
            ("clocks.load-task", self.load_task),
            ("clocks.lock", self.lock),
            ("clocks.write-back", self.write_back),
            ("clocks.misaligned", self.misaligned),
        ]
    }
}

/// Branch prediction of a P6; penalties in core cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BranchConfig {
    /// Branches whose direction and target are remembered: a power of two.
    pub entries: u32,
    /// A wrong prediction.
    pub mispredict: u32,
}

/// What a P6 does while loads wait for their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WindowConfig {
    /// Micro-operations that can wait behind a load: a P6's reorder buffer has 40 (Intel, "A Tour of the P6
    /// Microarchitecture", 1995).
    pub entries: u32,
    /// Lines under way for loads at a time: a P6 has four fill buffers (recalled).
    pub misses: u32,
}

impl Config {
    /// True if `text` is the file of an x86 machine, as far as it can be read: by its core, or by its board, so that a
    /// core without a name or with a wrong one is told of with the names of these.
    #[must_use]
    pub fn is_of(text: &str) -> bool {
        // Numbers are not looked at: one that is too large is for the reader of such a file to name.
        let Ok(table) = DeTable::parse(text) else {
            return false;
        };
        let kind = |section| {
            let section = table.get_ref().get(section)?;
            section.get_ref().get("kind")?.get_ref().as_str()
        };
        kind("board") == Some("pc")
            || kind("core")
                .is_some_and(|name| [Kind::I486, Kind::P6].iter().any(|own| own.name() == name))
    }

    /// [`Config::is_of`] of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_of_file(path: &Path) -> Result<bool, ConfigError> {
        Ok(Self::is_of(&text_of(path)?))
    }

    /// Reads a machine file and applies `overrides` in order.
    ///
    /// # Errors
    /// Names file, line, key and what is allowed, or the override at fault.
    pub fn from_file(path: &Path, overrides: &[Override]) -> Result<Self, ConfigError> {
        Self::from_toml(&text_of(path)?, &path.display().to_string(), overrides)
    }

    /// As [`Config::from_file`], from text; `file` is the name used in messages.
    ///
    /// # Errors
    /// As [`Config::from_file`].
    pub fn from_toml(text: &str, file: &str, overrides: &[Override]) -> Result<Self, ConfigError> {
        read(text, file, overrides)
    }

    /// What is wrong with the machine, if anything is.
    pub(super) fn problem(&self) -> Option<String> {
        let first = self.problems().into_iter().next();
        first.map(|problem| problem.to_string())
    }

    /// Bytes of a line of the caches.
    #[must_use]
    pub fn line(&self) -> u32 {
        let data = self.cache.unified.as_ref().or(self.cache.data.as_ref());
        data.map_or(32, |cache| cache.line)
    }
}

impl MachineFile for Config {
    fn problems(&self) -> Vec<Problem> {
        let mut checker = Checker {
            problems: Vec::new(),
        };
        core(&mut checker, self);
        tlbs(&mut checker, self);
        caches(&mut checker, self);
        bus(&mut checker, self);
        for (path, clocks) in self.clocks.all() {
            checker.range(path, clocks.into(), 0, 10_000);
        }
        let load = self.clocks.load;
        if load.is_some() && self.core.kind != Kind::P6 {
            belongs(&mut checker, "clocks.load", true, self.core.kind, Kind::P6);
        }
        checker.range("clocks.load", load.unwrap_or(1).into(), 1, 100);
        if let Some(window) = self.window {
            belongs(&mut checker, "window", true, self.core.kind, Kind::P6);
            checker.range("window.entries", window.entries.into(), 1, 256);
            checker.range("window.misses", window.misses.into(), 1, 16);
        }
        checker.range("walk.cycles", self.walk.cycles.into(), 0, 1000);
        checker.range("walk.first-update", self.walk.first_update.into(), 0, 1000);
        checker.range("walk.next-update", self.walk.next_update.into(), 0, 1000);
        let walk = &self.walk;
        check_walker(&mut checker, WALKERS_X86, &walk.walker, &walk.options);
        checker.problems
    }
}

/// A key that one kind of core has and the other has not.
fn belongs(checker: &mut Checker, path: &'static str, here: bool, kind: Kind, owner: Kind) {
    let (name, owner_name) = (kind.name(), owner.name());
    match (here, kind == owner) {
        (false, true) => checker.fail(path, format!("is missing: core.kind \"{name}\" has it")),
        (true, false) => checker.fail(
            path,
            format!("does not go with core.kind \"{name}\", only with \"{owner_name}\": remove it"),
        ),
        _ => {}
    }
}

fn core(checker: &mut Checker, config: &Config) {
    let kind = config.core.kind;
    checker.range("core.clock", config.core.clock, 1_000_000, 10_000_000_000);
    checker.range("lead", config.lead.into(), 1, 100_000);
    let most = if kind == Kind::P6 { 4 } else { 1 };
    if checker.range("processors", config.processors.into(), 1, 4) && config.processors > most {
        checker.fail(
            "processors",
            format!(
                "is {}: core.kind \"i486\" has no local APIC to start others by, so that allowed is 1",
                config.processors
            ),
        );
    }
    checker.range(
        "memory.size",
        config.memory.size.into(),
        2 << 20,
        MEMORY_MOST.into(),
    );
    if !config.memory.size.is_multiple_of(4096) {
        checker.fail(
            "memory.size",
            format!("is {}: allowed are multiples of 4096", config.memory.size),
        );
    }
    let apic = config.board.apic_clock;
    belongs(checker, "board.apic-clock", apic.is_some(), kind, Kind::P6);
    if let Some(clock) = apic {
        checker.range("board.apic-clock", clock.into(), 1_000_000, 1_000_000_000);
    }
    let branch = config.branch.as_ref();
    belongs(checker, "branch", branch.is_some(), kind, Kind::P6);
    if let Some(branch) = branch {
        checker.power_of_two("branch.entries", branch.entries, 1, 65536);
        checker.range("branch.mispredict", branch.mispredict.into(), 0, 1000);
    }
}

fn tlbs(checker: &mut Checker, config: &Config) {
    let (tlb, kind) = (&config.tlb, config.core.kind);
    macro_rules! keys {
        ($path:literal) => {
            [
                $path,
                concat!($path, ".entries"),
                concat!($path, ".ways"),
                concat!($path, ".replacement"),
            ]
        };
    }
    for ([path, entries, ways, replacement], tlb, owner) in [
        (keys!("tlb.unified"), &tlb.unified, Kind::I486),
        (keys!("tlb.instruction"), &tlb.instruction, Kind::P6),
        (keys!("tlb.data"), &tlb.data, Kind::P6),
        (
            keys!("tlb.instruction-large"),
            &tlb.instruction_large,
            Kind::P6,
        ),
        (keys!("tlb.data-large"), &tlb.data_large, Kind::P6),
    ] {
        belongs(checker, path, tlb.is_some(), kind, owner);
        let Some(tlb) = tlb else { continue };
        checker.shape(&[entries, ways], shape::tlb(tlb.entries, tlb.ways));
        if let Some(name) = &tlb.replacement {
            check_replacement(checker, replacement, name);
        }
    }
    if let Some(second) = &tlb.l2 {
        check_second_tlb(checker, second);
        if let Some(name) = &second.replacement {
            check_replacement(checker, "tlb.l2.replacement", name);
        }
    }
}

fn caches(checker: &mut Checker, config: &Config) {
    let (set, kind) = (&config.cache, config.core.kind);
    checker.range("cache.store-queue", set.store_queue.into(), 0, 16);
    belongs(
        checker,
        "cache.unified",
        set.unified.is_some(),
        kind,
        Kind::I486,
    );
    belongs(
        checker,
        "cache.instruction",
        set.instruction.is_some(),
        kind,
        Kind::P6,
    );
    belongs(checker, "cache.data", set.data.is_some(), kind, Kind::P6);
    for (paths, cache) in [
        (
            [
                "cache.unified.size",
                "cache.unified.ways",
                "cache.unified.line",
            ],
            &set.unified,
        ),
        (
            [
                "cache.instruction.size",
                "cache.instruction.ways",
                "cache.instruction.line",
            ],
            &set.instruction,
        ),
        (
            ["cache.data.size", "cache.data.ways", "cache.data.line"],
            &set.data,
        ),
    ] {
        if let Some(cache) = cache {
            check_cache(checker, paths, cache);
            if cache.blocked.is_some() {
                checker.fail(
                    paths[0],
                    "has a key `blocked` beside it, which is of the 603's D-cache: remove that",
                );
            }
        }
    }
    if let (Some(instruction), Some(data)) = (&set.instruction, &set.data)
        && instruction.line != data.line
    {
        checker.fail(
            "cache.instruction.line",
            format!(
                "is {}: allowed is cache.data.line, which is {}",
                instruction.line, data.line
            ),
        );
    }
    let key = match kind {
        Kind::I486 => "cache.unified.line",
        Kind::P6 => "cache.data.line",
    };
    let before = Before {
        line: (key, config.line()),
        parts: config.memory.kind.is_some(),
        processors: config.processors,
    };
    check_levels(checker, [set.l2.as_ref(), set.l3.as_ref()], &before);
    if let Some(l2) = &set.l2 {
        let place = match kind {
            Kind::I486 => L2Place::LookAside,
            Kind::P6 => L2Place::InLine,
        };
        if l2.place != place {
            let name = match kind {
                Kind::I486 => "look-aside",
                Kind::P6 => "in-line",
            };
            checker.fail(
                "cache.l2.place",
                format!("of core.kind \"{}\" can only be \"{name}\"", kind.name()),
            );
        }
    }
}

fn bus(checker: &mut Checker, config: &Config) {
    let bus = &config.bus;
    checker.core_to_bus(bus.core_to_bus);
    checker.power_of_two("bus.width", bus.width, 4, 32);
    if bus.width > config.line() {
        checker.fail(
            "bus.width",
            format!(
                "is {}: a beat is not wider than a line, which has {}",
                bus.width,
                config.line()
            ),
        );
    }
    for (path, clocks) in [
        ("bus.request", bus.request),
        ("bus.turnaround", bus.turnaround),
        ("bus.return-path", bus.return_path),
    ] {
        checker.range(path, clocks.into(), 0, 1000);
    }
    let around = Around {
        bus: match config.core.kind {
            Kind::I486 => BusKind::I486,
            Kind::P6 => BusKind::P6,
        },
        width: bus.width,
        clock: config.core.clock.saturating_mul(2) / bus.core_per_two_bus().max(1),
        look_aside: look_aside([config.cache.l2.as_ref(), config.cache.l3.as_ref()]),
        depth: bus.depth.unwrap_or(1),
        pattern: bus.pattern(),
    };
    check_memory(checker, &config.memory, &around);
    checker.range("bus.device", bus.device.into(), 0, 100_000);
    checker.range("bus.port", bus.port.into(), 0, 100_000);
    let kind = config.core.kind;
    belongs(
        checker,
        "bus.address-only",
        bus.address_only.is_some(),
        kind,
        Kind::P6,
    );
}
