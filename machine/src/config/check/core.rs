//! Checks the core, its table walk, the board that it stands on, and several processors.

use crate::config::{Options, WALKERS, Walkers, walk_options};

use super::{Checker, MEMORY_MOST, families};
use crate::config::{BoardKind, Family, L2Config, L2Place, MachineConfig};

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    checker.range("core.clock", config.core.clock, 1_000_000, 4_000_000_000);
    processors(checker, config);
    let kind = config.core.kind;
    match (&config.walk, kind.hash_walk()) {
        (None, true) => checker.fail(
            "core.kind",
            format!("is \"{}\", which walks the hash table in hardware: add [walk] with start, access, finish, whole-line, cached", kind.name()),
        ),
        (Some(_), false) => checker.table("walk", kind),
        (Some(walk), true) => {
            checker.range("walk.start", walk.start.into(), 0, 1000);
            checker.range("walk.access", walk.access.into(), 0, 1000);
            checker.range("walk.finish", walk.finish.into(), 0, 1000);
            walker(checker, WALKERS, &walk.walker, &walk.options);
        }
        (None, false) => {}
    }
    if kind.software_reload() {
        // SRR1[WAY] is one bit and names a way of either TLB.
        for (path, tlb) in [
            ("tlb.instruction.ways", &config.tlb.instruction),
            ("tlb.data.ways", &config.tlb.data),
        ] {
            // TLBs that keep their entries have more, and the handler names one of the first two.
            if tlb.ways > 2 && config.tlb.extreme.keep.is_none() {
                checker.fail(path, format!("is {}: core.kind \"{}\" names a way by the single bit SRR1[WAY]; allowed are 1 and 2", tlb.ways, kind.name()));
            }
        }
    }
    match kind.core().family {
        Family::Mpc8xx => families::mpc8xx(checker, config),
        Family::Ppc405 => families::ppc405(checker, config),
        Family::Ppc970 => families::ppc970(checker, config),
        Family::Classic => {}
    }
    if config.tlb.unified.is_some() {
        checker.table("tlb.unified", kind);
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
    dead_processor(checker, config.board.dead_processor, config.processors);
}

/// A processor that does not start must be there, and must not be the first.
pub(crate) fn dead_processor(checker: &mut Checker, dead: Option<u8>, processors: u8) {
    let Some(dead) = dead else {
        return;
    };
    if processors <= 1 {
        let message = format!(
            "is {dead}, and processors is {processors}: processor 0 must start, so it needs several"
        );
        checker.fail("board.dead-processor", message);
    } else {
        checker.range(
            "board.dead-processor",
            dead.into(),
            1,
            u64::from(processors) - 1,
        );
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

/// Checks the name of a walker, and its options.
pub(crate) fn walker(checker: &mut Checker, walkers: Walkers, name: &str, options: &Options) {
    if let Err(problem) = walk_options(walkers, name, options) {
        checker.fail("walk.walker", problem);
    }
}
