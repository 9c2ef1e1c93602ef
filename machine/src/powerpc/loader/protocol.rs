//! Boot protocols: which structure a kernel is handed at its first instruction, and the structures of the years before
//! device trees. `tree.rs` builds the device tree.

use std::ops::Range;
use std::str::FromStr;

use super::linux::{self, Kernel};
use crate::board::{MPC8XX_IMMR, NVRAM_SIZE, clocks};
use crate::config::{BoardKind, EmptyBus, MachineConfig};
use crate::loader::{ElfImage, LoadError};

/// How a kernel learns what it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// r3 is the address of a flattened device tree (docs/interfaces.md, section 4).
    DeviceTree,
    /// r3 is the address of a board information structure, r4 to r7 name initrd and command line: Linux 2.4 and 2.6 of
    /// arch/ppc on an 8xx.
    BoardInformation,
    /// r3 is the address of residual data, r4 to r7 name initrd and command line: Linux 2.1 to 2.6 of arch/ppc on a
    /// PReP machine.
    ResidualData,
}

impl Protocol {
    const ALL: [Protocol; 3] = [
        Protocol::DeviceTree,
        Protocol::BoardInformation,
        Protocol::ResidualData,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::DeviceTree => "device-tree",
            Protocol::BoardInformation => "board-information",
            Protocol::ResidualData => "residual-data",
        }
    }

    /// The structure, in words.
    fn structure(self) -> &'static str {
        match self {
            Protocol::DeviceTree => "a device tree",
            Protocol::BoardInformation => "a board information structure",
            Protocol::ResidualData => "residual data",
        }
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Protocol::ALL.into_iter();
        all.find(|protocol| protocol.name() == text)
            .ok_or_else(|| format!("allowed are {}", names(&Protocol::ALL)))
    }
}

fn names(protocols: &[Protocol]) -> String {
    let names: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
    names.join(", ")
}

/// The protocols that a board's kernels use. The first is used when neither the user nor the image says otherwise; the
/// last is that of Linux 2.x of arch/ppc.
fn of_board(board: BoardKind) -> &'static [Protocol] {
    match board {
        BoardKind::Prep => &[Protocol::DeviceTree, Protocol::ResidualData],
        BoardKind::Fads => &[Protocol::BoardInformation],
        BoardKind::Mpc83xx | BoardKind::Mpc86xx | BoardKind::Mpc8xx | BoardKind::Ppc405gp => {
            &[Protocol::DeviceTree]
        }
    }
}

/// The protocol for an image.
pub(super) struct Choice {
    pub protocol: Protocol,
    /// The kernel's version, if it is a Linux of the years before device trees.
    pub version: Option<String>,
    /// What the user should know of the choice.
    pub notes: Vec<String>,
}

/// Chooses the protocol: the one that was asked for, or that the image shows, or the board's first.
///
/// # Errors
/// When image, board and protocol do not go together; the message says what the image is and what to try.
pub(super) fn choose(
    config: &MachineConfig,
    image: &ElfImage,
    asked: Option<Protocol>,
) -> Result<Choice, LoadError> {
    let other = |message: String| LoadError::OtherMachine {
        file: image.file.clone(),
        message,
    };
    let kernel = linux::check(image, config)?;
    let board = config.board.kind;
    let takes = of_board(board);
    if let Some(asked) = asked.filter(|asked| !takes.contains(asked)) {
        let family = config.core.kind.core().family;
        let mut boards = BoardKind::ALL.into_iter();
        let fits =
            boards.find(|board| board.family() == family && of_board(*board).contains(&asked));
        let fits = fits.map_or(String::new(), |board| {
            format!("; board.kind = \"{}\" with {}", board.name(), asked.name())
        });
        return Err(other(format!(
            "cannot be given {}: board.kind = \"{}\" goes with --protocol {}{fits}",
            asked.structure(),
            board.name(),
            names(takes),
        )));
    }
    let (expected, version) = match kernel {
        Kernel::Unknown => {
            return Ok(Choice {
                protocol: asked.unwrap_or(takes[0]),
                version: None,
                notes: Vec::new(),
            });
        }
        Kernel::ReadsTree => (Protocol::DeviceTree, None),
        Kernel::Old { version } => (takes[takes.len() - 1], Some(version)),
    };
    if let Some(asked) = asked.filter(|asked| *asked != expected) {
        return Err(other(format!(
            "reads {}, not {}: give --protocol {}",
            expected.structure(),
            asked.structure(),
            expected.name()
        )));
    }
    if !takes.contains(&expected) {
        return Err(other(format!(
            "reads {}, which board.kind = \"{}\" does not hand over; set board.kind",
            expected.structure(),
            board.name()
        )));
    }
    let mut notes = Vec::new();
    if let Some(version) = &version
        && asked.is_none()
        && expected != takes[0]
    {
        notes.push(format!(
            "{} is Linux {version} for this board: --protocol {}",
            image.file,
            expected.name()
        ));
    }
    if expected == Protocol::ResidualData && config.board.empty_bus == EmptyBus::MachineCheck {
        notes.push(format!(
            "{} looks for devices: set board.empty-bus to \"ones\", or an empty address raises a machine check",
            image.file
        ));
    }
    if version.is_some() && image.labels.is_empty() {
        notes.push(format!(
            "{} has no symbols: messages, profiles and causes cannot name its functions; give the vmlinux before it was stripped",
            image.file
        ));
    }
    Ok(Choice {
        protocol: expected,
        version,
        notes,
    })
}

/// Big-endian fields, one behind the other.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn word(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn words(&mut self, values: &[u32]) -> &mut Self {
        for &value in values {
            self.word(value);
        }
        self
    }

    fn half(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    /// Text with NULs behind it.
    fn text(&mut self, text: &str, size: usize) -> &mut Self {
        let text = &text.as_bytes()[..text.len().min(size - 1)];
        self.bytes(text).zeroes(size - text.len())
    }

    fn zeroes(&mut self, count: usize) -> &mut Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }
}

const PAGE: u32 = 4096;

/// The console's speed, in bits a second, if the kernel's command line names none. The line itself takes no time.
const BAUD: u32 = 115_200;

/// The board information structure of PPCBoot and U-Boot for an 8xx, as Linux reads it (Linux 2.4.31
/// include/asm-ppc/ppcboot.h). There is no flash and no Ethernet.
pub(super) fn board_information(config: &MachineConfig) -> Vec<u8> {
    let (clock, _, bus) = clocks(config);
    let mut fields = Fields::default();
    fields
        // Beginning and size of memory.
        .words(&[0, config.memory.size])
        // Flash: beginning, size, the boot loader's part. Static RAM: beginning, size.
        .words(&[0, 0, 0, 0, 0])
        // The internal memory map; flags; the IP address.
        .words(&[MPC8XX_IMMR, 0, 0])
        // The Ethernet address and the speed in Mbit/s.
        .zeroes(6)
        .half(0)
        // Clocks in Hz, the console's speed.
        .words(&[clock, bus, BAUD]);
    fields.0
}

/// The sizes of the tables in residual data.
const PROCESSORS: usize = 32;
const SEGMENTS: usize = 64;
const MEMORIES: usize = 64;
const DEVICES: usize = 256;
const DEVICE_SIZE: usize = 36;
const HEAP_SIZE: usize = 2 * DEVICES * 32;

/// Residual data, the structure of PReP firmware (PowerPC Reference Platform Specification 1.1, appendix on residual
/// data; the order of the fields is that of Linux 2.2.14 include/asm-ppc/residual.h). The list of devices is empty.
pub(super) fn residual_data(config: &MachineConfig, version: Option<&str>) -> Vec<u8> {
    let (clock, _, bus) = clocks(config);
    let (instruction, data) = (&config.cache.instruction, &config.cache.data);
    let tlb = &config.tlb;
    let size = config.memory.size;
    /// Split I and D, of caches and of TLBs.
    const SPLIT: u32 = 1;
    /// A memory segment's use: free.
    const FREE: u32 = 0x10;
    let mut fields = Fields::default();
    fields
        // The length follows at the end; version, revision, engineering change.
        .word(0)
        .bytes(&[0, 0])
        .half(0)
        // Vital product data: model, serial number.
        .text(model(version), 32)
        .text("1", 16)
        .zeroes(48)
        // Firmware: supplier, what it supports. Size of NVRAM, SIMM slots.
        .words(&[1, 1, NVRAM_SIZE as u32, 1])
        // Ways to switch endianness and to spread I/O: port 0x92, port 0x850.
        .half(1)
        .half(0)
        .words(&[0; 4])
        // Clocks in Hz; 1000 times the bus clocks of a time base tick; word and page size.
        .words(&[clock, bus, 0, 1000 * config.bus.timebase_divider])
        .words(&[32, 4096, data.line, data.line])
        // L1 caches: KB in all, split; of I and D size, ways and line.
        .words(&[(instruction.size + data.size) >> 10, SPLIT, 0, 0])
        .words(&[instruction.size >> 10, instruction.ways, instruction.line])
        .words(&[data.size >> 10, data.ways, data.line])
        // TLBs: the entries of both, "split", then entries and ways of I and of D.
        .words(&[tlb.instruction.entries + tlb.data.entries, SPLIT, 0])
        .words(&[tlb.instruction.entries, tlb.instruction.ways])
        .words(&[tlb.data.entries, tlb.data.ways])
        .word(0)
        // Processors: the PVR, number and state (0: good) of each.
        .half(config.processors.into())
        .half(config.processors.into());
    for number in 0..config.processors {
        fields.word(config.core.pvr).bytes(&[number, 0, 0, 0]);
    }
    fields
        .zeroes((PROCESSORS - usize::from(config.processors)) * 8)
        // Memory: all, the good part; segments; SIMMs in MB.
        .words(&[size, size, 1, FREE, 0, size >> 12])
        .zeroes((SEGMENTS - 1) * 12)
        .words(&[1, size >> 20])
        .zeroes((MEMORIES - 1) * 4)
        .word(0)
        .zeroes(DEVICES * DEVICE_SIZE + HEAP_SIZE);
    let length = fields.0.len() as u32;
    fields.0[..4].copy_from_slice(&length.to_be_bytes());
    fields.0
}

/// Boot information records of Linux from 2.3 on: tag, size of the whole record, data (Linux 2.4.19
/// include/asm-ppc/bootinfo.h, arch/ppc/boot/prep/misc.c). They repeat what registers and residual data say: kernels
/// that know these records find the command line and the initrd nowhere else.
pub(super) fn records(config: &MachineConfig, line: &[u8], initrd: &Range<u32>) -> Vec<u8> {
    const FIRST: u32 = 0x1010;
    const LAST: u32 = 0x1011;
    const COMMAND_LINE: u32 = 0x1012;
    const INITRD: u32 = 0x1014;
    const MACHINE: u32 = 0x1016;
    const MEMORY: u32 = 0x1017;
    /// PReP among the machines that such a kernel runs on (`_MACH_prep`).
    const PREP: u32 = 1;
    const HEAD: u32 = 8;
    let mut fields = Fields::default();
    fields.words(&[FIRST, HEAD]);
    fields.words(&[MACHINE, HEAD + 8, PREP, 0]);
    fields.words(&[MEMORY, HEAD + 4, config.memory.size]);
    let padded = (line.len() + 1).next_multiple_of(4);
    fields.words(&[COMMAND_LINE, HEAD + padded as u32]);
    fields.bytes(line).zeroes(padded - line.len());
    if !initrd.is_empty() {
        fields.words(&[INITRD, HEAD + 8, initrd.start, initrd.end - initrd.start]);
    }
    fields.words(&[LAST, HEAD]);
    fields.0
}

/// Where the kernel looks for these records: at the first boundary of 1 MB that is 1 MB behind the beginning of its
/// data without initial values (Linux 2.4.19 arch/ppc/kernel/setup.c, `parse_bootinfo`). `None`: its version reads no
/// records, or the image does not show its version.
pub(super) fn records_at(image: &ElfImage, version: Option<&str>) -> Option<u32> {
    const BOUNDARY: u32 = 1 << 20;
    let version = version?;
    if ["2.0.", "2.1.", "2.2."]
        .iter()
        .any(|old| version.starts_with(old))
    {
        return None;
    }
    let mut labels = image.labels.iter();
    let label = labels.find(|label| label.name == "__bss_start");
    let begin = label
        .and_then(|label| image.physical(label.address))
        .or_else(|| {
            let ends = image.segments.iter();
            let end = ends
                .map(|segment| segment.physical + segment.data.len() as u32)
                .max()?;
            Some(end.next_multiple_of(PAGE))
        })?;
    (begin.checked_add(BOUNDARY - 1)?).checked_next_multiple_of(BOUNDARY)
}

/// The model in residual data. Linux chooses by its first letters. With IBM's, the clock and the timer are those of
/// a PC. Linux 2.2 measures the time base wrongly by that timer, because it never acknowledges the interrupt to the
/// 8259s and so gets it twice (Linux 2.2.14 arch/ppc/kernel/i8259.c, `i8259_irq`); with Radstone's it takes the
/// clocks from residual data (prep_setup.c, `prep_init`).
fn model(version: Option<&str>) -> &'static str {
    match version {
        Some(version) if version.starts_with("2.2.") => "Radstone PPC",
        _ => "IBM PPS Model 6015",
    }
}
