//! Checks what only one family of cores has: an MPC8xx, a 405, a 970.

use super::Checker;
use crate::config::{BoardKind, L2Place, MachineConfig, Replacement, shape};

/// Rules of the 8xx. Mx_CTR\[INDX\] has five bits, so a TLB has at most 32 entries. Two or four of them can be
/// reserved, so it has at least eight. Lines have 16 bytes; the bus has 32 bits.
pub(super) fn mpc8xx(checker: &mut Checker, config: &MachineConfig) {
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
        checker.table("tlb.l2", config.core.kind);
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
        checker.table("cache.l2", config.core.kind);
    }
    if cache.l3.is_some() {
        checker.table("cache.l3", config.core.kind);
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
pub(super) fn ppc405(checker: &mut Checker, config: &MachineConfig) {
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
            if unified.entries != crate::config::UNIFIED_405 {
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
        checker.table("tlb.l2", config.core.kind);
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
    let numbered = || shape::place_bits(instruction.size / instruction.ways, config.memory.size);
    if has_sets && numbered().is_none() {
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
        checker.table("cache.l2", config.core.kind);
    }
    if cache.l3.is_some() {
        checker.table("cache.l3", config.core.kind);
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
pub(super) fn ppc970(checker: &mut Checker, config: &MachineConfig) {
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
        checker.table("tlb.l2", config.core.kind);
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
