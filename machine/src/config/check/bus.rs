//! Checks the bus and the memory behind it.

use super::Checker;
use super::levels::look_aside;
use crate::config::parts::{Around, check as check_memory};
use crate::config::{Bus, BusKind, CoreKind, Family, L2Config, MachineConfig, MemoryConfig};

/// What the checks of a bus need of the rest of a machine file.
pub(crate) struct AroundBus<'a> {
    pub kind: BusKind,
    /// Bytes of the widest beat.
    pub widest: u32,
    /// Hz of the core clock.
    pub clock: u64,
    /// The key of the data cache's line, and that line in bytes.
    pub line: (&'a str, u32),
    pub levels: [Option<&'a L2Config>; 2],
    /// Transactions on the bus at a time.
    pub depth: u32,
    pub processors: u8,
    pub memory: &'a MemoryConfig,
}

/// Checks what the buses of all architectures have, and the memory behind them.
pub(crate) fn shared(checker: &mut Checker, bus: &Bus, around: &AroundBus<'_>) {
    checker.core_to_bus(bus.core_to_bus);
    checker.power_of_two("bus.width", bus.width, 4, around.widest);
    let (key, line) = around.line;
    if bus.width > line {
        checker.fail(
            "bus.width",
            format!(
                "is {}: a beat is not wider than {key}, which is {line}",
                bus.width
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
    let copy_back = ["cache.l2.copy-back", "cache.l3.copy-back"]
        .into_iter()
        .zip(around.levels)
        .find_map(|(key, level)| Some((key, level?.copy_back?)));
    let known = Around {
        bus: around.kind,
        width: bus.width,
        clock: bus.clock(around.clock),
        look_aside: look_aside(around.levels),
        depth: around.depth,
        processors: around.processors,
        copy_back,
        pattern: bus.pattern,
    };
    check_memory(checker, around.memory, &known);
}

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    let bus = &config.bus;
    let (bus_kind, widest) = match config.core.kind.core().family {
        Family::Classic => (BusKind::Sixty, 8),
        Family::Mpc8xx | Family::Ppc405 | Family::Ppc970 => (BusKind::Other, 32),
    };
    let around = AroundBus {
        kind: bus_kind,
        widest,
        clock: config.core.clock,
        line: ("cache.data.line", config.cache.data.line),
        levels: [config.cache.l2.as_ref(), config.cache.l3.as_ref()],
        depth: bus.depth.unwrap_or(1),
        processors: config.processors,
        memory: &config.memory,
    };
    shared(checker, &bus.shared(), &around);
    checker.range("bus.device", bus.device.into(), 1, 100_000);
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
    // Recalled: the 603 and the 750 can use 32 of the bus's 64 data bits, the 604 cannot.
    if bus.width == 4 && matches!(kind, CoreKind::Ppc604 | CoreKind::Ppc604e) {
        checker.fail(
            "bus.width",
            format!("is 4: the bus of core.kind \"{}\" has 8 bytes", kind.name()),
        );
    }
    if bus.streaming == Some(true) && !matches!(kind, CoreKind::Ppc604 | CoreKind::Ppc604e) {
        checker.fail(
            "bus.streaming",
            format!(
                "is true: core.kind \"{}\" has no data streaming mode, as a 604 has: remove it",
                kind.name()
            ),
        );
    }
    // Bus Interface for 32-Bit Microprocessors 6-3: DRTRY, which may cancel a beat, is not sampled in this mode.
    if bus.streaming == Some(true) && bus.return_path > 0 {
        let message = format!(
            "is {}: with bus.streaming a beat is used as it comes; allowed is 0",
            bus.return_path
        );
        checker.fail("bus.return-path", message);
    }
    checker.range("bus.timebase-divider", bus.timebase_divider.into(), 1, 1024);
}
