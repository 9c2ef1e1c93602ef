//! The section `[memory]`: RAM, and the parts that it is made of.

use super::controller::Controller;
use super::{BusKind, Checker};
use serde::{Deserialize, Serialize};

/// What the memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartsKind {
    /// Fast page mode DRAM.
    Fpm,
    /// DRAM whose data outlasts the column strobe.
    Edo,
    /// Synchronous DRAM.
    Sdram,
}

impl PartsKind {
    /// The name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PartsKind::Fpm => "fpm",
            PartsKind::Edo => "edo",
            PartsKind::Sdram => "sdram",
        }
    }
}

/// Whether a row stays open after an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageMode {
    /// It is closed after each access.
    Closed,
    /// It stays open until an access needs another row of the bank, or a refresh comes.
    Open,
}

/// RAM. Either `size` stands alone, and the times are those of the bus (`read-first` and the like); or all other keys
/// are there too. Times of the parts are in nanoseconds, each of which becomes a whole number of bus clocks; the
/// controller's are in bus clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryConfig {
    /// Bytes of RAM at physical address 0.
    pub size: u32,
    pub kind: Option<PartsKind>,
    pub controller: Option<Controller>,
    /// From the row strobe to the first data (tRAC; SDRAM: from activation to the first data).
    pub access: Option<u32>,
    /// From the column strobe to the data (tCAC; SDRAM: the CAS latency).
    pub column_access: Option<u32>,
    /// From column strobe to column strobe of an open row (tPC; SDRAM: the clock's period).
    pub page_cycle: Option<u32>,
    /// From the end of a row to the next row strobe of the bank (tRP).
    pub precharge: Option<u32>,
    /// From row strobe to row strobe of a bank (tRC).
    pub cycle: Option<u32>,
    /// Banks, each of which has a row of its own open; consecutive rows lie in consecutive banks.
    pub banks: Option<u32>,
    /// Bytes of a row, over the whole width.
    pub row: Option<u32>,
    /// Bytes that one column access moves.
    pub width: Option<u32>,
    pub page_mode: Option<PageMode>,
    /// Bus clocks of the controller in a read: from the start of the transaction to the row strobe, and from the parts
    /// to the bus.
    pub read_delay: Option<u32>,
    /// The same of a write.
    pub write_delay: Option<u32>,
    /// From refresh to refresh.
    pub refresh_interval: Option<u32>,
    /// How long a refresh holds all banks.
    pub refresh_length: Option<u32>,
    /// Writes that the controller takes at the pace of the bus, and hands to the parts when these are free.
    pub write_buffer: Option<u32>,
    /// The controller may strobe the parts while the data bus is busy with another transfer.
    pub overlap: Option<bool>,
}

/// [`MemoryConfig`] with all keys of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub kind: PartsKind,
    pub controller: Controller,
    pub access: u32,
    pub column_access: u32,
    pub page_cycle: u32,
    pub precharge: u32,
    pub cycle: u32,
    pub banks: u32,
    pub row: u32,
    pub width: u32,
    pub page_mode: PageMode,
    pub read_delay: u32,
    pub write_delay: u32,
    pub refresh_interval: u32,
    pub refresh_length: u32,
    pub write_buffer: u32,
    pub overlap: bool,
}

impl MemoryConfig {
    /// RAM of `size` bytes whose times are those of the bus.
    #[must_use]
    pub fn plain(size: u32) -> Self {
        Self {
            size,
            kind: None,
            controller: None,
            access: None,
            column_access: None,
            page_cycle: None,
            precharge: None,
            cycle: None,
            banks: None,
            row: None,
            width: None,
            page_mode: None,
            read_delay: None,
            write_delay: None,
            refresh_interval: None,
            refresh_length: None,
            write_buffer: None,
            overlap: None,
        }
    }

    /// The parts, if all of their keys are here.
    #[must_use]
    pub fn parts(&self) -> Option<Parts> {
        Some(Parts {
            kind: self.kind?,
            controller: self.controller?,
            access: self.access?,
            column_access: self.column_access?,
            page_cycle: self.page_cycle?,
            precharge: self.precharge?,
            cycle: self.cycle?,
            banks: self.banks?,
            row: self.row?,
            width: self.width?,
            page_mode: self.page_mode?,
            read_delay: self.read_delay?,
            write_delay: self.write_delay?,
            refresh_interval: self.refresh_interval?,
            refresh_length: self.refresh_length?,
            write_buffer: self.write_buffer?,
            overlap: self.overlap?,
        })
    }

    /// Each key of the parts, and whether it is here.
    fn given(&self) -> [(&'static str, bool); 17] {
        [
            ("memory.kind", self.kind.is_some()),
            ("memory.controller", self.controller.is_some()),
            ("memory.access", self.access.is_some()),
            ("memory.column-access", self.column_access.is_some()),
            ("memory.page-cycle", self.page_cycle.is_some()),
            ("memory.precharge", self.precharge.is_some()),
            ("memory.cycle", self.cycle.is_some()),
            ("memory.banks", self.banks.is_some()),
            ("memory.row", self.row.is_some()),
            ("memory.width", self.width.is_some()),
            ("memory.page-mode", self.page_mode.is_some()),
            ("memory.read-delay", self.read_delay.is_some()),
            ("memory.write-delay", self.write_delay.is_some()),
            ("memory.refresh-interval", self.refresh_interval.is_some()),
            ("memory.refresh-length", self.refresh_length.is_some()),
            ("memory.write-buffer", self.write_buffer.is_some()),
            ("memory.overlap", self.overlap.is_some()),
        ]
    }
}

/// What the checks of the memory need of the rest of a machine file.
pub(crate) struct Around {
    /// Which bus the core has.
    pub bus: BusKind,
    /// Bytes of a beat.
    pub width: u32,
    /// Hz of the bus clock.
    pub clock: u64,
    /// The key of the place of a look-aside cache, if the machine has one.
    pub look_aside: Option<&'static str>,
    /// Transactions on the bus at a time.
    pub depth: u32,
    pub processors: u8,
    /// The key of the lines of a look-aside cache's copy-back buffer, and how many there are.
    pub copy_back: Option<(&'static str, u32)>,
    /// The bus's own times of memory, and their keys.
    pub pattern: [(&'static str, Option<u32>); 4],
}

/// Checks that the memory is what a controller and its parts can be.
pub(crate) fn check(checker: &mut Checker, memory: &MemoryConfig, around: &Around) {
    let given = memory.given();
    checker.range("bus.depth", around.depth.into(), 1, 8);
    let Some(first) = given.iter().find(|(_, here)| *here) else {
        for (path, value) in around.pattern {
            match value {
                Some(clocks) => {
                    checker.range(path, clocks.into(), 1, 1000);
                }
                None => checker.fail(
                    path,
                    "is missing: add it, or tell the memory's parts by memory.kind and its other keys",
                ),
            }
        }
        if around.depth != 1 {
            checker.fail(
                "bus.depth",
                format!(
                    "is {}: without memory.kind and memory.controller it is 1",
                    around.depth
                ),
            );
        }
        return;
    };
    if let Some((missing, _)) = given.iter().find(|(_, here)| !*here) {
        checker.fail(
            missing,
            format!("is missing: it is needed beside {}", first.0),
        );
        return;
    }
    for (path, value) in around.pattern {
        if value.is_some() {
            checker.fail(
                path,
                "does not go with memory.kind: the parts and their controller say how long memory takes; remove it",
            );
        }
    }
    if let Some(parts) = memory.parts() {
        check_parts(checker, memory.size, &parts, around);
    }
}

fn check_parts(checker: &mut Checker, size: u32, parts: &Parts, around: &Around) {
    for (path, nanoseconds, least) in [
        ("memory.access", parts.access, 1),
        ("memory.column-access", parts.column_access, 1),
        ("memory.page-cycle", parts.page_cycle, 1),
        ("memory.precharge", parts.precharge, 0),
        ("memory.cycle", parts.cycle, 1),
        ("memory.refresh-length", parts.refresh_length, 1),
    ] {
        checker.range(path, nanoseconds.into(), least, 1000);
    }
    checker.range(
        "memory.refresh-interval",
        parts.refresh_interval.into(),
        2000,
        1_000_000,
    );
    checker.range("memory.read-delay", parts.read_delay.into(), 0, 100);
    checker.range("memory.write-delay", parts.write_delay.into(), 0, 100);
    checker.power_of_two("memory.banks", parts.banks, 1, 16);
    checker.power_of_two("memory.row", parts.row, 512, 1 << 16);
    if u64::from(parts.banks) * u64::from(parts.row) > u64::from(size) {
        checker.fail(
            "memory.banks",
            format!(
                "is {}: a row of {} bytes in each is more than memory.size, which is {size}",
                parts.banks, parts.row
            ),
        );
    }
    for ((path, part), (whole_path, whole)) in [
        (
            ("memory.column-access", parts.column_access),
            ("memory.access", parts.access),
        ),
        (
            ("memory.page-cycle", parts.page_cycle),
            ("memory.cycle", parts.cycle),
        ),
        (
            ("memory.access", parts.access),
            ("memory.cycle", parts.cycle),
        ),
    ] {
        if part > whole {
            let message = format!("is {part}: it is a part of {whole_path}, which is {whole}");
            checker.fail(path, message);
        }
    }
    if parts.precharge >= parts.cycle {
        let message = format!(
            "is {}: memory.cycle, which is {}, has it and an access",
            parts.precharge, parts.cycle
        );
        checker.fail("memory.precharge", message);
    }
    // The period of an SDRAM's clock is shorter than its CAS latency. Of the other parts the next column strobe comes
    // after the data of the one before.
    if parts.kind != PartsKind::Sdram && parts.page_cycle < parts.column_access {
        let message = format!(
            "is {}: the data of a column come {} ns after its strobe (memory.column-access)",
            parts.page_cycle, parts.column_access
        );
        checker.fail("memory.page-cycle", message);
    }
    if ![1, 2, 4].contains(&(parts.width / around.width.max(1)))
        || !parts.width.is_multiple_of(around.width.max(1))
    {
        checker.fail(
            "memory.width",
            format!(
                "is {}: allowed are 1, 2 and 4 times bus.width, which is {}",
                parts.width, around.width
            ),
        );
    }
    if around.clock < 1_000_000 {
        checker.fail(
            "bus.core-to-bus",
            "makes a bus clock of less than 1 MHz: memory.kind needs more",
        );
    }
    parts.controller.check(checker, parts, around);
}

/// Bus clocks in which `nanoseconds` pass, rounded up.
#[must_use]
pub(crate) fn clocks(nanoseconds: u32, hz: u64) -> u32 {
    let clocks = (u64::from(nanoseconds) * hz).div_ceil(1_000_000_000);
    u32::try_from(clocks).unwrap_or(u32::MAX)
}
