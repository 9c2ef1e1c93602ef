//! Checks sizes and combinations in a machine file: only what hardware could have is allowed.

use std::fmt;

use crate::pipeline::predictor::TARGETS_MOST;
use crate::powerpc::mmu::replacement::AnyReplacement;
use crate::powerpc::mmu::walker::AnyWalker;

use super::parts::{Around, check as check_memory};
use super::shape::{self, Misfit};
use super::{
    BoardKind, BusKind, CacheConfig, Cost, Family, L2Config, L2Place, L2Policy, MachineConfig,
    Part, Replacement,
};

/// The largest RAM, in bytes.
pub(crate) const MEMORY_MOST: u32 = 1 << 30;

/// A value that is out of range or does not fit another.
pub(crate) struct Problem {
    /// Dotted path of the key.
    pub path: &'static str,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` {}", self.path, self.message)
    }
}

pub(crate) struct Checker {
    pub problems: Vec<Problem>,
}

impl Checker {
    pub fn fail(&mut self, path: &'static str, message: impl Into<String>) {
        self.problems.push(Problem {
            path,
            message: message.into(),
        });
    }

    pub fn power_of_two(&mut self, path: &'static str, value: u32, low: u32, high: u32) {
        if let Err(misfit) = shape::power_of_two(path, value, &(low..=high)) {
            self.fail(path, misfit.message);
        }
    }

    /// A cache or TLB whose keys are `paths`.
    pub fn shape(&mut self, paths: &[&'static str], rule: Result<(), Misfit>) {
        if let Err(misfit) = rule {
            let path = paths.iter().find(|path| path.ends_with(misfit.key));
            self.fail(path.unwrap_or(&paths[0]), misfit.message);
        }
    }

    pub fn range(&mut self, path: &'static str, value: u64, low: u64, high: u64) -> bool {
        let good = (low..=high).contains(&value);
        if !good {
            self.fail(path, format!("is {value}: allowed are {low} to {high}"));
        }
        good
    }
}

pub(super) fn problems(config: &MachineConfig) -> Vec<Problem> {
    let mut checker = Checker {
        problems: Vec::new(),
    };
    core(&mut checker, config);
    tlbs(&mut checker, config);
    caches(&mut checker, config);
    bus(&mut checker, config);
    pipeline(&mut checker, config);
    version(&mut checker, config);
    checker.problems
}

fn version(checker: &mut Checker, config: &MachineConfig) {
    let kind = config.core.kind;
    if !kind.versions().contains(&((config.core.pvr >> 16) as u16)) {
        checker.fail(
            "core.pvr",
            format!(
                "is {:#010x}: its upper half is none of core.kind \"{}\"",
                config.core.pvr,
                kind.name()
            ),
        );
    }
}

fn tlbs(checker: &mut Checker, config: &MachineConfig) {
    let tlb = &config.tlb;
    for (paths, tlb) in [
        (
            ["tlb.instruction.entries", "tlb.instruction.ways"],
            &tlb.instruction,
        ),
        (["tlb.data.entries", "tlb.data.ways"], &tlb.data),
    ] {
        let rule = if config.core.kind.core().is_970() {
            shape::erat(tlb.entries, tlb.ways)
        } else {
            shape::tlb(tlb.entries, tlb.ways)
        };
        checker.shape(&paths, rule);
    }
    if let Some(second) = &tlb.l2 {
        let paths = ["tlb.l2.entries", "tlb.l2.ways"];
        checker.shape(&paths, shape::tlb(second.entries, second.ways));
        checker.range("tlb.l2.hit", second.hit.into(), 0, 1000);
        checker.range("tlb.l2.miss", second.miss.into(), 0, 1000);
    }
    let second = tlb
        .l2
        .as_ref()
        .and_then(|second| second.replacement.as_deref());
    for (path, name) in [
        (
            "tlb.instruction.replacement",
            tlb.instruction.replacement.as_deref(),
        ),
        ("tlb.data.replacement", tlb.data.replacement.as_deref()),
        ("tlb.l2.replacement", second),
    ] {
        let Some(name) = name else { continue };
        if let Err(problem) = AnyReplacement::named(name, 1, 1) {
            checker.fail(path, problem);
        } else if config.core.kind.core().is_8xx() {
            checker.fail(
                path,
                "does not go with core.kind \"8xx\", where software chooses the entry by Mx_CTR: remove it",
            );
        } else if config.core.kind.core().family == Family::Ppc405 {
            checker.fail(
                path,
                "does not go with core.kind \"405\", whose shadow TLBs are replaced round robin: remove it",
            );
        } else if config.core.kind.core().is_970() {
            checker.fail(
                path,
                "does not go with core.kind \"970\", whose ERATs are replaced round robin: remove it",
            );
        }
    }
}

fn core(checker: &mut Checker, config: &MachineConfig) {
    checker.range("core.clock", config.core.clock, 1_000_000, 4_000_000_000);
    processors(checker, config);
    let kind = config.core.kind;
    match (&config.walk, kind.hash_walk()) {
        (None, true) => checker.fail(
            "core.kind",
            format!("is \"{}\", which walks the hash table in hardware: add [walk] with start, access, finish, whole-line, cached", kind.name()),
        ),
        (Some(_), false) => checker.fail(
            "walk",
            format!("does not go with core.kind \"{}\", whose TLBs software reloads: remove [walk]", kind.name()),
        ),
        (Some(walk), true) => {
            checker.range("walk.start", walk.start.into(), 0, 1000);
            checker.range("walk.access", walk.access.into(), 0, 1000);
            checker.range("walk.finish", walk.finish.into(), 0, 1000);
            if let Err(problem) = AnyWalker::from_config(&walk.walker, &walk.options) {
                checker.fail("walk.walker", problem);
            }
        }
        (None, false) => {}
    }
    if kind.software_reload() {
        // SRR1[WAY] is one bit and names a way of either TLB.
        for (path, tlb) in [
            ("tlb.instruction.ways", &config.tlb.instruction),
            ("tlb.data.ways", &config.tlb.data),
        ] {
            if tlb.ways > 2 {
                checker.fail(path, format!("is {}: core.kind \"{}\" names a way by the single bit SRR1[WAY]; allowed are 1 and 2", tlb.ways, kind.name()));
            }
        }
    }
    match kind.core().family {
        Family::Mpc8xx => mpc8xx(checker, config),
        Family::Ppc405 => ppc405(checker, config),
        Family::Ppc970 => ppc970(checker, config),
        Family::Classic => {}
    }
    let unified = matches!(kind.core().family, Family::Ppc405 | Family::Ppc970);
    if !unified && config.tlb.unified.is_some() {
        checker.fail(
            "tlb.unified",
            format!(
                "does not go with core.kind \"{}\": only a 405 or 970 has one; remove [tlb.unified]",
                kind.name()
            ),
        );
    }
    if kind.core().family != Family::Ppc405 && config.board.kind == BoardKind::Ppc405gp {
        checker.fail(
            "board.kind",
            format!(
                "is \"ppc405gp\", the board of a 405: core.kind is \"{}\"; allowed is \"prep\" among others",
                kind.name()
            ),
        );
    }
    if !kind.core().is_8xx() && config.board.kind == BoardKind::Fads {
        checker.fail(
            "board.kind",
            format!(
                "is \"fads\", the board of an 8xx: core.kind is \"{}\"; allowed is \"prep\" among others",
                kind.name()
            ),
        );
    }
    if config.memory.size < 1 << 20
        || config.memory.size > MEMORY_MOST
        || !config.memory.size.is_multiple_of(4096)
    {
        checker.fail(
            "memory.size",
            format!(
                "is {}: allowed are multiples of 4096 from 1 MiB to 1 GiB",
                config.memory.size
            ),
        );
    }
    checker.range(
        "board.uart-clock",
        config.board.uart_clock.into(),
        1,
        100_000_000,
    );
}

/// Rules of several processors, and of one that does not start: there must be such a processor.
fn processors(checker: &mut Checker, config: &MachineConfig) {
    several(checker, config);
    let Some(dead) = config.board.dead_processor else {
        return;
    };
    if config.processors <= 1 {
        checker.fail(
            "board.dead-processor",
            format!(
                "is {dead}, and processors is {}: processor 0 must start, so it needs several",
                config.processors
            ),
        );
    } else {
        let last = u64::from(config.processors) - 1;
        checker.range("board.dead-processor", dead.into(), 1, last);
    }
}

/// They need interrupts between them, a start, and caches that see each other.
fn several(checker: &mut Checker, config: &MachineConfig) {
    checker.range("lead", config.lead.into(), 1, 1_000_000);
    let kind = config.core.kind;
    if config.tlb.broadcast == Some(true) && !kind.broadcasts_translations() {
        checker.fail(
            "tlb.broadcast",
            format!(
                "is true: tlbie of core.kind \"{}\" reaches its own TLBs only; allowed is false",
                kind.name()
            ),
        );
    }
    if !checker.range("processors", config.processors.into(), 1, 8) || config.processors == 1 {
        return;
    }
    let number = config.processors;
    if !kind.core().is_classic() {
        checker.fail(
            "processors",
            format!(
                "is {number}: core.kind \"{}\" does not snoop; allowed is 1",
                kind.name()
            ),
        );
    } else if !config.board.joins_processors() {
        checker.fail(
            "processors",
            format!("is {number}: several need board.kind \"mpc86xx\", or board.interrupt-controller \"openpic\" on \"prep\""),
        );
    }
    let back_side = |l2: &L2Config| l2.place == L2Place::BackSide;
    if config.cache.l2.as_ref().is_some_and(back_side) && !kind.core().registers.l2_and_thermal {
        checker.fail(
            "cache.l2.place",
            format!(
                "is \"back-side\", and processors is {number}: core.kind \"{}\" has no register that enables it; \
                 allowed are \"in-line\" (each its own) and \"look-aside\" (one for all)",
                kind.name()
            ),
        );
    }
}

/// Rules of the 8xx. Mx_CTR\[INDX\] has five bits, so a TLB has at most 32 entries. Two or four of them can be
/// reserved, so it has at least eight. Lines have 16 bytes; the bus has 32 bits.
fn mpc8xx(checker: &mut Checker, config: &MachineConfig) {
    for (entries_path, ways_path, tlb) in [
        (
            "tlb.instruction.entries",
            "tlb.instruction.ways",
            &config.tlb.instruction,
        ),
        ("tlb.data.entries", "tlb.data.ways", &config.tlb.data),
    ] {
        checker.power_of_two(entries_path, tlb.entries, 8, 32);
        if tlb.ways != tlb.entries {
            checker.fail(
                ways_path,
                format!(
                    "is {}: the TLBs of core.kind \"8xx\" are fully associative; allowed is {entries_path}, which is {}",
                    tlb.ways, tlb.entries
                ),
            );
        }
    }
    if config.tlb.l2.is_some() {
        checker.fail(
            "tlb.l2",
            "does not go with core.kind \"8xx\", whose software loads and numbers the entries of its TLBs: remove [tlb.l2]",
        );
    }
    let cache = &config.cache;
    for (path, side) in [
        ("cache.instruction.replacement", &cache.instruction),
        ("cache.data.replacement", &cache.data),
    ] {
        if side.replacement != Replacement::Lru {
            checker.fail(path, "is not \"lru\", which core.kind \"8xx\" has");
        }
    }
    for (path, line) in [
        ("cache.instruction.line", cache.instruction.line),
        ("cache.data.line", cache.data.line),
    ] {
        if line != 16 {
            checker.fail(
                path,
                format!("is {line}: core.kind \"8xx\" has lines of 16"),
            );
        }
    }
    if cache.l2.is_some() {
        checker.fail(
            "cache.l2",
            "does not go with core.kind \"8xx\", which has none: remove [cache.l2]",
        );
    }
    if config.bus.width != 4 {
        checker.fail(
            "bus.width",
            format!(
                "is {}: the bus of core.kind \"8xx\" has 4 bytes",
                config.bus.width
            ),
        );
    }
}

/// Rules of the 405: a UTLB of 64 entries, fully associative shadow TLBs, lines of 32 bytes, the PLB of 8 bytes, no L2.
fn ppc405(checker: &mut Checker, config: &MachineConfig) {
    match &config.tlb.unified {
        None => checker.fail(
            "core.kind",
            "is \"405\", whose software loads one TLB: add [tlb.unified] with entries, instruction-refill, data-refill",
        ),
        Some(unified) => {
            if unified.ways.is_some() {
                checker.fail(
                    "tlb.unified.ways",
                    "does not go with core.kind \"405\", whose unified TLB is fully associative: remove it",
                );
            }
            if unified.entries != crate::powerpc::mmu::ppc405::ENTRIES {
                checker.fail(
                    "tlb.unified.entries",
                    format!("is {}: core.kind \"405\" has 64", unified.entries),
                );
            }
            for (path, cycles) in [
                ("tlb.unified.instruction-refill", unified.instruction_refill),
                ("tlb.unified.data-refill", unified.data_refill),
            ] {
                checker.range(path, cycles.into(), 0, 1000);
            }
        }
    }
    for (entries_path, ways_path, tlb) in [
        (
            "tlb.instruction.entries",
            "tlb.instruction.ways",
            &config.tlb.instruction,
        ),
        ("tlb.data.entries", "tlb.data.ways", &config.tlb.data),
    ] {
        checker.power_of_two(entries_path, tlb.entries, 2, 64);
        if tlb.ways != tlb.entries {
            checker.fail(
                ways_path,
                format!(
                    "is {}: the shadow TLBs of core.kind \"405\" are fully associative; allowed is {entries_path}, which is {}",
                    tlb.ways, tlb.entries
                ),
            );
        }
    }
    if config.tlb.l2.is_some() {
        checker.fail(
            "tlb.l2",
            "does not go with core.kind \"405\", whose unified TLB is behind the others: remove [tlb.l2]",
        );
    }
    let cache = &config.cache;
    for (path, side) in [
        ("cache.instruction.replacement", &cache.instruction),
        ("cache.data.replacement", &cache.data),
    ] {
        if side.replacement != Replacement::Lru {
            checker.fail(path, "is not \"lru\", which core.kind \"405\" has");
        }
    }
    for (path, line) in [
        ("cache.instruction.line", cache.instruction.line),
        ("cache.data.line", cache.data.line),
    ] {
        if line != 32 {
            checker.fail(
                path,
                format!("is {line}: core.kind \"405\" has lines of 32"),
            );
        }
    }
    let instruction = &cache.instruction;
    if instruction.ways == 1 {
        checker.fail(
            "cache.instruction.ways",
            "is 1: kernels for core.kind \"405\" invalidate a line at the places that a cache of two ways has",
        );
    }
    let has_sets = instruction.ways.is_power_of_two() && instruction.size.is_power_of_two();
    if has_sets && crate::memory::places(config).is_none() {
        checker.fail(
            "cache.instruction.size",
            format!(
                "is {}: core.kind \"405\" indexes its ways of {} bytes by effective addresses, and has too many places \
                 for lines with a memory.size of {}: lower one of them, or raise cache.instruction.ways",
                instruction.size,
                instruction.size / instruction.ways,
                config.memory.size
            ),
        );
    }
    if cache.l2.is_some() {
        checker.fail(
            "cache.l2",
            "does not go with core.kind \"405\", which has none: remove [cache.l2]",
        );
    }
    if config.bus.width != 8 {
        checker.fail(
            "bus.width",
            format!(
                "is {}: the bus of core.kind \"405\" has 8 bytes",
                config.bus.width
            ),
        );
    }
}

/// Sets of a 970's TLB, 1024 entries in four ways. Its kernels empty the whole of it set by set, and know no more.
const MOST_SETS: u32 = 256;

/// Rules of the 970: a TLB behind its ERATs, lines of 128 bytes, and an L2 that includes the L1 D-cache, because that
/// writes through to it. Its hash table has a form of its own, so that the other walkers do not know it.
fn ppc970(checker: &mut Checker, config: &MachineConfig) {
    match &config.tlb.unified {
        None => checker.fail(
            "core.kind",
            "is \"970\", which has a TLB behind its ERATs: add [tlb.unified] with entries, ways, instruction-refill, data-refill",
        ),
        Some(unified) => {
            match unified.ways {
                None => checker.fail(
                    "tlb.unified.ways",
                    "is missing: the TLB of core.kind \"970\" is set-associative",
                ),
                Some(ways) => {
                    checker.shape(
                        &["tlb.unified.entries", "tlb.unified.ways"],
                        shape::tlb(unified.entries, ways),
                    );
                    let sets = unified.entries / ways.max(1);
                    if sets > MOST_SETS {
                        checker.fail(
                            "tlb.unified.ways",
                            format!("is {ways}: {} entries then have {sets} sets, and kernels for core.kind \"970\" empty {MOST_SETS}", unified.entries),
                        );
                    }
                }
            }
            for (path, cycles) in [
                ("tlb.unified.instruction-refill", unified.instruction_refill),
                ("tlb.unified.data-refill", unified.data_refill),
            ] {
                checker.range(path, cycles.into(), 0, 1000);
            }
        }
    }
    if config.tlb.l2.is_some() {
        checker.fail(
            "tlb.l2",
            "does not go with core.kind \"970\", whose TLB is behind its ERATs: remove [tlb.l2]",
        );
    }
    if let Some(walk) = &config.walk
        && walk.walker != "hash"
    {
        checker.fail(
            "walk.walker",
            format!(
                "is \"{}\": allowed is \"hash\", the only one that knows the hash table of core.kind \"970\"",
                walk.walker
            ),
        );
    }
    for (path, line) in [
        ("cache.instruction.line", config.cache.instruction.line),
        ("cache.data.line", config.cache.data.line),
    ] {
        if line != 128 {
            checker.fail(
                path,
                format!("is {line}: core.kind \"970\" has lines of 128"),
            );
        }
    }
    match &config.cache.l2 {
        None => checker.fail(
            "core.kind",
            "is \"970\", whose data cache writes through to a second level: add [cache.l2]",
        ),
        Some(l2) if l2.place != L2Place::InLine => checker.fail(
            "cache.l2.place",
            "is not \"in-line\", as core.kind \"970\" has it",
        ),
        Some(_) => {}
    }
    if config.board.kind != BoardKind::Prep {
        checker.fail(
            "board.kind",
            format!(
                "is \"{}\": no kernel for it runs on core.kind \"970\"; allowed is \"prep\"",
                config.board.kind.name()
            ),
        );
    }
}

fn caches(checker: &mut Checker, config: &MachineConfig) {
    let set = &config.cache;
    checker.range("cache.store-queue", set.store_queue.into(), 0, 16);
    checker.range(
        "cache.write-back-buffers",
        set.write_back_buffers.into(),
        0,
        16,
    );
    checker.range("cache.touch-buffers", set.touch_buffers.into(), 0, 16);
    cache(
        checker,
        [
            "cache.instruction.size",
            "cache.instruction.ways",
            "cache.instruction.line",
        ],
        &set.instruction,
    );
    cache(
        checker,
        ["cache.data.size", "cache.data.ways", "cache.data.line"],
        &set.data,
    );
    if set.instruction.blocked.is_some() {
        checker.fail(
            "cache.instruction.blocked",
            "goes with cache.data only: remove it",
        );
    }
    if set.instruction.line != set.data.line {
        checker.fail(
            "cache.instruction.line",
            format!(
                "is {}: allowed is cache.data.line, which is {}",
                set.instruction.line, set.data.line
            ),
        );
    }
    if let Some(l2) = &set.l2 {
        let parts = config.memory.kind.is_some();
        l2_cache(checker, l2, ("cache.data.line", set.data.line), parts);
    }
}

pub(crate) fn cache(checker: &mut Checker, paths: [&'static str; 3], cache: &CacheConfig) {
    let rule = shape::cache(cache.size, cache.ways, cache.line, shape::L1_MOST);
    checker.shape(&paths, rule);
}

/// `l1_key` names the line of the cache before it, in bytes, in messages.
/// `parts`: the file tells the memory's parts.
pub(crate) fn l2_cache(
    checker: &mut Checker,
    l2: &L2Config,
    (l1_key, l1_line): (&str, u32),
    parts: bool,
) {
    let paths = ["cache.l2.size", "cache.l2.ways", "cache.l2.line"];
    let rule = shape::cache(l2.size, l2.ways, l2.line, shape::CACHE_MOST);
    checker.shape(&paths, rule);
    if l2.line != l1_line {
        checker.fail(
            "cache.l2.line",
            format!("is {}: allowed is {l1_key}, which is {l1_line}", l2.line),
        );
    }
    checker.range("cache.l2.first-beat", l2.first_beat.into(), 1, 1000);
    checker.range("cache.l2.next-beat", l2.next_beat.into(), 0, 1000);
    match (l2.place, l2.miss) {
        (L2Place::BackSide | L2Place::InLine, Some(miss)) => {
            checker.range("cache.l2.miss", miss.into(), 0, 1000);
        }
        (L2Place::BackSide, None) => checker.fail(
            "cache.l2.place",
            "is \"back-side\": add cache.l2.miss, the core cycles from a level-one miss to the bus request",
        ),
        (L2Place::InLine, None) => checker.fail(
            "cache.l2.place",
            "is \"in-line\": add cache.l2.miss, the core cycles from a level-one miss to the bus request",
        ),
        (L2Place::LookAside, Some(_)) => checker.fail(
            "cache.l2.miss",
            "does not go with cache.l2.place \"look-aside\", which delays no bus request: remove it",
        ),
        (L2Place::LookAside, None) => {}
    }
    let beside = [
        ("cache.l2.policy", l2.policy.is_some()),
        ("cache.l2.allocate", l2.allocate.is_some()),
        ("cache.l2.look-up", l2.look_up.is_some()),
        ("cache.l2.copy-back", l2.copy_back.is_some()),
    ];
    for (path, here) in beside {
        match (here, l2.place == L2Place::LookAside) {
            (true, false) => checker.fail(
                path,
                "goes with cache.l2.place \"look-aside\" only: remove it",
            ),
            (true, true) if !parts => checker.fail(path, "needs memory.kind and its other keys"),
            (false, true) if parts => checker.fail(
                path,
                "is missing: cache.l2.place is \"look-aside\" and the file has memory.kind",
            ),
            _ => {}
        }
    }
    if let Some(clocks) = l2.look_up {
        checker.range("cache.l2.look-up", clocks.into(), 0, 100);
    }
    if let Some(lines) = l2.copy_back {
        let most = crate::memory::parts::BUFFER_MOST;
        checker.range("cache.l2.copy-back", lines.into(), 0, most.into());
    }
    if l2.policy == Some(L2Policy::WriteThrough) && l2.copy_back.is_some_and(|lines| lines > 0) {
        checker.fail(
            "cache.l2.copy-back",
            "is for modified lines, which cache.l2.policy \"write-through\" has none of: allowed is 0",
        );
    }
}

fn bus(checker: &mut Checker, config: &MachineConfig) {
    let bus = &config.bus;
    let halves = bus.core_to_bus * 2.0;
    if !(1.0..=20.0).contains(&bus.core_to_bus) || halves.fract() != 0.0 {
        checker.fail(
            "bus.core-to-bus",
            format!(
                "is {}: allowed are multiples of 0.5 from 1 to 20",
                bus.core_to_bus
            ),
        );
    }
    checker.power_of_two("bus.width", bus.width, 4, 32);
    if bus.width > config.cache.data.line {
        checker.fail(
            "bus.width",
            format!(
                "is {}: a beat is not wider than cache.data.line, which is {}",
                bus.width, config.cache.data.line
            ),
        );
    }
    checker.range("bus.request", bus.request.into(), 0, 1000);
    memory(checker, config);
    checker.range("bus.device", bus.device.into(), 1, 100_000);
    checker.range("bus.turnaround", bus.turnaround.into(), 0, 1000);
    checker.range("bus.return-path", bus.return_path.into(), 0, 1000);
    let kind = config.core.kind;
    match (bus.address_only, kind.broadcasts()) {
        (Some(clocks), true) => {
            checker.range("bus.address-only", clocks.into(), 1, 1000);
        }
        (None, true) => checker.fail(
            "core.kind",
            format!(
                "is \"{}\", which broadcasts what its caches and TLBs do: add bus.address-only",
                kind.name()
            ),
        ),
        (Some(_), false) => checker.fail(
            "bus.address-only",
            format!(
                "does not go with core.kind \"{}\", which broadcasts nothing: remove it",
                kind.name()
            ),
        ),
        (None, false) => {}
    }
    checker.range("bus.timebase-divider", bus.timebase_divider.into(), 1, 1024);
}

fn memory(checker: &mut Checker, config: &MachineConfig) {
    let bus = &config.bus;
    let around = Around {
        bus: match config.core.kind.core().family {
            Family::Classic => BusKind::Sixty,
            Family::Mpc8xx | Family::Ppc405 | Family::Ppc970 => BusKind::Other,
        },
        width: bus.width,
        clock: 2 * config.core.clock / bus.core_per_two_bus().max(1),
        look_aside: look_aside(config.cache.l2.as_ref()),
        depth: bus.depth.unwrap_or(1),
        pattern: bus.pattern(),
    };
    check_memory(checker, &config.memory, &around);
}

/// True if the L2 stands on the processor bus.
pub(crate) fn look_aside(l2: Option<&L2Config>) -> bool {
    l2.is_some_and(|l2| l2.place == L2Place::LookAside)
}

fn pipeline(checker: &mut Checker, config: &MachineConfig) {
    let pipeline = &config.pipeline;
    checker.range("pipeline.fetch", pipeline.fetch.into(), 1, 16);
    checker.range("pipeline.dispatch", pipeline.dispatch.into(), 1, 16);
    checker.range("pipeline.complete", pipeline.complete.into(), 1, 16);
    checker.range(
        "pipeline.completion-queue",
        pipeline.completion_queue.into(),
        1,
        256,
    );
    for (path, cost) in config.latency.all() {
        latency(checker, path, cost);
    }
    checker.range(
        "latency.multiple-word",
        config.latency.multiple_word.into(),
        0,
        1000,
    );
    let kind = config.core.kind;
    for (path, part, cost) in config.latency.of_parts() {
        let (there, name) = match part {
            Part::Float => (kind.core().has_float(), "floating-point unit"),
            Part::Segments => (kind.core().has_float(), "segment registers"),
            Part::Wide => (kind.core().is_970(), "64-bit instructions"),
            Part::TlbLoad if kind.core().family == Family::Ppc405 => {
                (true, "tlbre, tlbsx and tlbwe")
            }
            Part::TlbLoad => (kind.software_reload(), "tlbld and tlbli"),
        };
        match cost {
            Some(cost) if there => latency(checker, path, cost),
            None if there => checker.fail(
                path,
                format!(
                    "is missing: core.kind \"{}\" has {name}; add latency and interval",
                    kind.name()
                ),
            ),
            Some(_) => checker.fail(
                path,
                format!(
                    "does not go with core.kind \"{}\", which has no {name}: remove it",
                    kind.name()
                ),
            ),
            None => {}
        }
    }
    let branch = &config.branch;
    if branch.history_entries != 0 {
        checker.power_of_two("branch.history-entries", branch.history_entries, 2, 65536);
    }
    if branch.target_entries != 0 {
        checker.power_of_two(
            "branch.target-entries",
            branch.target_entries,
            2,
            TARGETS_MOST,
        );
    }
    checker.range("branch.taken", branch.taken.into(), 0, 100);
    checker.range(
        "branch.taken-target-miss",
        branch.taken_target_miss.into(),
        0,
        100,
    );
    checker.range("branch.mispredict", branch.mispredict.into(), 0, 100);
    let exception = &config.exception;
    checker.range("exception.entry", exception.entry.into(), 0, 1000);
    checker.range(
        "exception.tlb-miss-entry",
        exception.tlb_miss_entry.into(),
        0,
        1000,
    );
    checker.range("exception.leave", exception.leave.into(), 0, 1000);
}

fn latency(checker: &mut Checker, path: &'static str, cost: Cost) {
    if cost.latency > 1000 || cost.interval > 1000 {
        checker.fail(
            path,
            "is out of range: latency and interval are 0 to 1000 core cycles",
        );
    }
}
