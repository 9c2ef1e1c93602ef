//! Checks the bus and the memory behind it.

use super::Checker;
use super::levels::look_aside;
use crate::config::parts::{Around, check as check_memory};
use crate::config::{BusKind, CoreKind, Family, MachineConfig};

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    let bus = &config.bus;
    checker.core_to_bus(bus.core_to_bus);
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
    if bus.streaming == Some(true) && !matches!(kind, CoreKind::Ppc604 | CoreKind::Ppc604e) {
        checker.fail(
            "bus.streaming",
            format!(
                "is true: core.kind \"{}\" has no data streaming mode, as a 604 has: remove it",
                kind.name()
            ),
        );
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
        clock: config.core.clock.saturating_mul(2) / bus.core_per_two_bus().max(1),
        look_aside: look_aside([config.cache.l2.as_ref(), config.cache.l3.as_ref()]),
        depth: bus.depth.unwrap_or(1),
        pattern: bus.pattern(),
    };
    check_memory(checker, &config.memory, &around);
}
