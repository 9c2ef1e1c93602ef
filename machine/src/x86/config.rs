//! The machine file of an x86 machine.
//!
//! Shapes of TLBs and caches, the bus and the costs of what the system does are keys. What each instruction of a
//! program costs is a table of the core ([`super::clocks`]).

use serde::{Deserialize, Serialize};

use crate::config::{
    AroundBus, Before, BusKind, CODE, CacheConfig, Checker, DATA, Extreme, L2Config, L2Place,
    MachineFile, MemoryConfig, Options, Problem, SecondTlbConfig, TlbConfig, WALKERS_X86,
    bus_config, check_bus, check_cache, check_levels, check_lines, check_replacement,
    check_second_tlb, check_walker, machine_file, numbers, sections, shape, tlb_keys,
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
    /// Present exactly on a P6.
    pub branch: Option<BranchConfig>,
    /// Of a P6: what runs while loads wait. Left out, nothing does.
    pub window: Option<WindowConfig>,
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
    #[serde(default)]
    pub extreme: Extreme,
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

bus_config! {
    /// Transactions on the bus at a time; 1 if the key is left out.
    depth: Option<u32>,
    /// An access to an I/O port.
    port: u32,
    /// A transaction without data. Present exactly on a P6.
    address_only: Option<u32>,
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

numbers! {
    /// What the system's instructions and interrupts cost when all accesses hit, in core cycles.
    ClockConfig;
    /// Interrupt, exception or INT n through a gate, to an inner ring.
    interrupt_inner "clocks.interrupt-inner",
    /// The same in the same ring.
    interrupt_same "clocks.interrupt-same",
    /// IRET to an outer ring.
    return_outer "clocks.return-outer",
    /// IRET in the same ring.
    return_same "clocks.return-same",
    /// What an external interrupt takes besides: the bus cycles that ask for its vector.
    acknowledge "clocks.acknowledge",
    /// Far CALL without a gate.
    far_call "clocks.far-call",
    /// Far CALL through a gate, in the same ring.
    gate_same "clocks.gate-same",
    /// Far CALL through a gate, to an inner ring.
    gate_inner "clocks.gate-inner",
    /// Far RET in the same ring.
    far_return_same "clocks.far-return-same",
    /// Far RET to an outer ring.
    far_return_outer "clocks.far-return-outer",
    /// Far JMP.
    far_jump "clocks.far-jump",
    /// MOV or POP to a segment register in protected mode.
    load_segment "clocks.load-segment",
    /// MOV to CR3.
    write_cr3 "clocks.write-cr3",
    /// MOV to another control register.
    write_cr "clocks.write-cr",
    /// MOV from a control register.
    read_cr "clocks.read-cr",
    /// INVLPG.
    invalidate_page "clocks.invalidate-page",
    /// LGDT, LIDT.
    load_table "clocks.load-table",
    /// LLDT.
    load_local "clocks.load-local",
    /// LTR.
    load_task "clocks.load-task",
    /// What the LOCK prefix adds.
    lock "clocks.lock",
    /// WBINVD, without what it writes.
    write_back "clocks.write-back",
    /// An access that is not aligned, in addition.
    misaligned "clocks.misaligned",
    ;
    /// Of a P6: from a load to an address of the next instruction that needs the loaded register. Left out, there is no
    /// such wait.
    load: Option<u32>,
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

machine_file!(Config, board "pc", cores &[Kind::I486.name(), Kind::P6.name()]);

impl Config {
    /// Bytes of a line of the caches.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line_and_key().1
    }

    /// The key of the line of the cache of data, and that line in bytes.
    fn line_and_key(&self) -> (&'static str, u32) {
        match (&self.cache.unified, &self.cache.data) {
            (Some(cache), _) => ("cache.unified.line", cache.line),
            (_, Some(cache)) => ("cache.data.line", cache.line),
            _ => ("cache.data.line", 32),
        }
    }
}

impl MachineFile for Config {
    fn complete(&mut self) {
        let tlbs = &mut self.tlb;
        let all = [
            &mut tlbs.unified,
            &mut tlbs.instruction,
            &mut tlbs.data,
            &mut tlbs.instruction_large,
            &mut tlbs.data_large,
        ];
        for tlb in all.into_iter().flatten() {
            tlbs.extreme.grow(tlb, false);
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut checker = Checker::default();
        core(&mut checker, self);
        tlbs(&mut checker, self);
        self.tlb.extreme.check(&mut checker);
        caches(&mut checker, self);
        bus(&mut checker, self);
        for (path, clocks) in self.clocks.all() {
            checker.range(path, clocks.into(), 0, 10_000);
        }
        let load = self.clocks.load;
        if load.is_some() {
            belongs(&mut checker, "clocks.load", true, self.core.kind);
        }
        checker.range("clocks.load", load.unwrap_or(1).into(), 1, 100);
        if let Some(window) = self.window {
            belongs(&mut checker, "window", true, self.core.kind);
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

    fn refusal(kind: &str, path: &str) -> Option<String> {
        let kind = toml::Value::from(kind).try_into().ok()?;
        refusal(kind, path)
    }
}

/// Tables and keys that one kind of core has and the other has not.
const OWNERS: [(&str, Kind); 14] = [
    ("tlb.unified", Kind::I486),
    ("tlb.instruction", Kind::P6),
    ("tlb.data", Kind::P6),
    ("tlb.instruction-large", Kind::P6),
    ("tlb.data-large", Kind::P6),
    ("cache.unified", Kind::I486),
    ("cache.instruction", Kind::P6),
    ("cache.data", Kind::P6),
    ("cache.l3", Kind::P6),
    ("bus.address-only", Kind::P6),
    ("board.apic-clock", Kind::P6),
    ("clocks.load", Kind::P6),
    ("branch", Kind::P6),
    ("window", Kind::P6),
];

/// Why a core of this kind cannot have what is at `path`, if it cannot.
fn refusal(kind: Kind, path: &str) -> Option<String> {
    let (_, owner) = OWNERS.iter().find(|(owned, _)| *owned == path)?;
    let (name, owner_name) = (kind.name(), owner.name());
    (kind != *owner)
        .then(|| format!("does not go with core.kind \"{name}\", only with \"{owner_name}\""))
}

/// Checks what [`OWNERS`] lists: it is `here` if the kind of core has it, and only then.
fn belongs(checker: &mut Checker, path: &'static str, here: bool, kind: Kind) {
    match (here, refusal(kind, path)) {
        (false, None) => {
            let message = format!("is missing: core.kind \"{}\" has it", kind.name());
            checker.fail(path, message);
        }
        (true, Some(reason)) => checker.fail(path, format!("{reason}: remove it")),
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
    checker.memory_size(config.memory.size, 2 << 20, (4096, "4096"));
    let apic = config.board.apic_clock;
    belongs(checker, "board.apic-clock", apic.is_some(), kind);
    if let Some(clock) = apic {
        checker.range("board.apic-clock", clock.into(), 1_000_000, 1_000_000_000);
    }
    let branch = config.branch.as_ref();
    belongs(checker, "branch", branch.is_some(), kind);
    if let Some(branch) = branch {
        checker.power_of_two("branch.entries", branch.entries, 1, 65536);
        checker.range("branch.mispredict", branch.mispredict.into(), 0, 1000);
    }
}

fn tlbs(checker: &mut Checker, config: &Config) {
    let (tlb, kind) = (&config.tlb, config.core.kind);
    for ([path, entries, ways, replacement], tlb) in [
        (tlb_keys!("tlb.unified"), &tlb.unified),
        (tlb_keys!("tlb.instruction"), &tlb.instruction),
        (tlb_keys!("tlb.data"), &tlb.data),
        (tlb_keys!("tlb.instruction-large"), &tlb.instruction_large),
        (tlb_keys!("tlb.data-large"), &tlb.data_large),
    ] {
        belongs(checker, path, tlb.is_some(), kind);
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
    const UNIFIED: [&str; 4] = [
        "cache.unified.size",
        "cache.unified.ways",
        "cache.unified.line",
        "cache.unified.blocked",
    ];
    for (path, keys, cache) in [
        ("cache.unified", UNIFIED, &set.unified),
        ("cache.instruction", CODE, &set.instruction),
        ("cache.data", DATA, &set.data),
    ] {
        belongs(checker, path, cache.is_some(), kind);
        if let Some(cache) = cache {
            check_cache(checker, keys, cache);
        }
    }
    if let (Some(instruction), Some(data)) = (&set.instruction, &set.data) {
        check_lines(checker, instruction, data);
    }
    if set.l3.is_some() {
        belongs(checker, "cache.l3", true, kind);
    }
    let before = Before {
        line: config.line_and_key(),
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
    let (bus, kind) = (&config.bus, config.core.kind);
    let around = AroundBus {
        kind: match kind {
            Kind::I486 => BusKind::I486,
            Kind::P6 => BusKind::P6,
        },
        widest: 32,
        clock: config.core.clock,
        line: config.line_and_key(),
        levels: [config.cache.l2.as_ref(), config.cache.l3.as_ref()],
        depth: bus.depth.unwrap_or(1),
        processors: config.processors,
        memory: &config.memory,
    };
    check_bus(checker, &bus.shared(), &around);
    checker.range("bus.device", bus.device.into(), 0, 100_000);
    checker.range("bus.port", bus.port.into(), 0, 100_000);
    let signals = bus.address_only.is_some();
    belongs(checker, "bus.address-only", signals, kind);
}
