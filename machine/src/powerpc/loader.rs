//! Places kernel, device tree and initramfs in memory, and sets the registers, before the first instruction.

mod linux;
mod protocol;
mod tree;

use std::ops::Range;

pub use crate::board::Target;
pub use protocol::Protocol;
pub use tree::device_tree;

use crate::board::ROM_SIZE;
use crate::config::MachineConfig;
use crate::loader::{CauseRange, ElfImage, LoadError, SymbolTable};
use protocol::{board_information, records, records_at, residual_data};
use tree::device_tree_of;

const PAGE: u32 = 4096;

/// Kernels map this much RAM at least, so that an initramfs may lie there.
const INITRAMFS_REACH: u32 = 512 << 20;

/// Kernels that read no device tree map this much RAM at first: an 8xx one page of 8 MB.
const EARLY_REACH: u32 = 8 << 20;

/// Bytes that such kernels have for their command line and its NUL (`cmd_line`, Linux 2.1.79 to 2.6.11).
const COMMAND_LINE: usize = 512;

/// Bytes of the smallest stack frame that the ABI allows.
const STACK_FRAME: u32 = 16;

/// Bytes for physical memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub physical: u32,
    pub bytes: Vec<u8>,
}

/// What a kernel is given beside the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// `None`: the one that the image shows, or the board's usual one.
    pub protocol: Option<Protocol>,
    /// Which computer a device tree describes.
    pub target: Target,
    /// An initramfs, or an initrd of any format.
    pub initramfs: Option<&'a [u8]>,
    /// The command line.
    pub arguments: &'a str,
}

/// The content of memory and registers at the first instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// The content of RAM; everything else is zero.
    pub chunks: Vec<Chunk>,
    /// Image for the ROM at 0xfff00000; the machine then starts at its reset vector, 0xfff00100,
    /// with MSR[IP] set.
    pub rom: Option<Vec<u8>>,
    /// First instruction.
    pub entry: u32,
    /// r3: physical address of the structure that the protocol hands over, such as a device tree; 0 with a ROM.
    pub structure: u32,
    /// r4 to r7.
    pub handed: [u32; 4],
    /// r1: a stack for the kernel's first steps, or 0.
    pub stack: u32,
    pub initramfs: Option<Range<u32>>,
    /// What the user should know: what the loader chose by the image, and what the image may lack.
    pub notes: Vec<String>,
    pub symbols: SymbolTable,
    pub causes: Vec<CauseRange>,
}

impl Boot {
    /// A kernel, placed at its physical addresses, with what its protocol hands over.
    ///
    /// # Errors
    /// When RAM is too small, when the kernel is a Linux for another machine or does not go with the protocol, or when
    /// the command line cannot be handed over.
    pub fn kernel(
        config: &MachineConfig,
        image: &ElfImage,
        given: &Given,
    ) -> Result<Self, LoadError> {
        let choice = protocol::choose(config, image, given.protocol)?;
        let boot = match choice.protocol {
            Protocol::DeviceTree => Self::with_tree(config, image, given),
            Protocol::BoardInformation => {
                Self::with_registers(config, image, &board_information(config), given)
            }
            Protocol::ResidualData => {
                let version = choice.version.as_deref();
                let structure = residual_data(config, version);
                let mut boot = Self::with_registers(config, image, &structure, given)?;
                boot.mark_as_prep(image);
                boot.add_records(config, image, version, given)?;
                Ok(boot)
            }
        };
        Ok(Boot {
            notes: choice.notes,
            ..boot?
        })
    }

    /// The device tree is at the top of RAM, or of what kernels of the board map early, and the initramfs is below it,
    /// both at page boundaries.
    fn with_tree(
        config: &MachineConfig,
        image: &ElfImage,
        given: &Given,
    ) -> Result<Self, LoadError> {
        let ram = config.memory.size;
        image.check_fits(ram)?;
        let (name, reach, stack) = config.board.kind.tree().map_or(("", 0, false), |tree| {
            (linux::board(image, tree.boards), tree.reach, tree.stack)
        });
        let described = |range| device_tree_of(name, config, given.target, given.arguments, range);
        let tree_size = described(Some(0..0))?.len();
        let mut top = ram.min(reach);
        let tree_at = take(&mut top, tree_size, image, "the device tree", ram)?;
        let stack = if stack {
            take(&mut top, PAGE as usize, image, "the first stack", ram)? + PAGE - STACK_FRAME
        } else {
            0
        };
        // Below the tree, or at the top of RAM where the tree must lie lower.
        let mut top = if reach < ram.min(INITRAMFS_REACH) {
            ram.min(INITRAMFS_REACH)
        } else {
            top
        };
        let mut boot = Self::program(config, image)?;
        boot.place_initramfs(given.initramfs, &mut top, image, ram)?;
        let range = boot.initramfs.clone();
        boot.chunks.push(Chunk {
            physical: tree_at,
            bytes: described(range)?,
        });
        boot.structure = tree_at;
        boot.stack = stack;
        Ok(boot)
    }

    /// Puts the initramfs below `top`, at a page boundary.
    fn place_initramfs(
        &mut self,
        initramfs: Option<&[u8]>,
        top: &mut u32,
        image: &ElfImage,
        ram: u32,
    ) -> Result<(), LoadError> {
        let Some(bytes) = initramfs else {
            return Ok(());
        };
        let start = take(top, bytes.len(), image, "the initramfs", ram)?;
        self.initramfs = Some(start..start + bytes.len() as u32);
        self.chunks.push(Chunk {
            physical: start,
            bytes: bytes.to_vec(),
        });
        Ok(())
    }

    /// As the boot loaders of Linux's arch/ppc/boot hand over (Linux 2.2.14 arch/ppc/boot/head.S): r3 is the address of
    /// `structure`, r4 and r5 are beginning and end of the initrd, r6 and r7 those of the command line, or 0. The
    /// structure, the command line and a stack are in the pages behind the kernel, which maps 8 MB early and copies
    /// the first two before it uses other memory (arch/ppc/kernel/head_8xx.S, `platform_init`).
    fn with_registers(
        config: &MachineConfig,
        image: &ElfImage,
        structure: &[u8],
        given: &Given,
    ) -> Result<Self, LoadError> {
        let ram = config.memory.size;
        let mut boot = Self::program(config, image)?;
        let refuse = |message: String| LoadError::unfit(&image.file, message);
        let words = given.arguments.as_bytes();
        if words.contains(&0) {
            return Err(refuse("the command line holds a NUL byte".to_owned()));
        }
        if words.len() >= COMMAND_LINE {
            return Err(refuse(format!(
                "the command line has {} bytes; these kernels have room for {}",
                words.len(),
                COMMAND_LINE - 1
            )));
        }
        let at = image.end().next_multiple_of(PAGE);
        let line = at + (structure.len() as u32).next_multiple_of(16);
        let stack = (line + COMMAND_LINE as u32).next_multiple_of(PAGE);
        let end = stack + PAGE;
        if end > ram.min(EARLY_REACH) {
            return Err(refuse(format!(
                "ends at {:#x}: behind it, below {:#x}, there is no room for what the kernel is handed",
                image.end(),
                ram.min(EARLY_REACH)
            )));
        }
        let mut bytes = structure.to_vec();
        bytes.resize((line - at) as usize, 0);
        bytes.extend(words);
        // The kernel writes a NUL at the end of its command line.
        bytes.push(0);
        boot.chunks.push(Chunk {
            physical: at,
            bytes,
        });
        let mut top = ram.min(INITRAMFS_REACH);
        boot.place_initramfs(given.initramfs, &mut top, image, ram)?;
        if top < end {
            return Err(refuse(format!(
                "RAM of {ram:#x} bytes (memory.size) has no room for the initramfs beside the kernel, which ends at {end:#x}"
            )));
        }
        let initrd = boot.initramfs.clone().unwrap_or_default();
        let command_line = if words.is_empty() {
            [0, 0]
        } else {
            [line, line + words.len() as u32]
        };
        boot.structure = at;
        boot.handed = [initrd.start, initrd.end, command_line[0], command_line[1]];
        boot.stack = end - STACK_FRAME;
        Ok(boot)
    }

    /// As PReP boot loaders do: the kernel's first word is a mark that says so, and the kernel begins behind the three
    /// words that are there for its format (Linux 2.1.130 and 2.2.14 arch/ppc/boot/head.S and kernel/head.S).
    fn mark_as_prep(&mut self, image: &ElfImage) {
        const MARK: u32 = 0xdead_c0de;
        const HEADER: u32 = 12;
        let first = image.physical_entry();
        if first != 0 {
            return;
        }
        self.chunks.push(Chunk {
            physical: first,
            bytes: MARK.to_be_bytes().to_vec(),
        });
        self.entry = first + HEADER;
    }

    /// Puts boot information records where a kernel that reads them looks for them.
    fn add_records(
        &mut self,
        config: &MachineConfig,
        image: &ElfImage,
        version: Option<&str>,
        given: &Given,
    ) -> Result<(), LoadError> {
        let Some(at) = records_at(image, version) else {
            return Ok(());
        };
        let initrd = self.initramfs.clone().unwrap_or_default();
        let bytes = records(config, given.arguments.as_bytes(), &initrd);
        let end = at + bytes.len() as u32;
        let meets =
            |chunk: &Chunk| chunk.physical < end && at < chunk.physical + chunk.bytes.len() as u32;
        let stack = self.stack & !(PAGE - 1);
        if at < image.end() || (stack < end && at < stack + PAGE) || self.chunks.iter().any(meets) {
            return Err(LoadError::unfit(
                &image.file,
                format!(
                    "looks for boot information at {at:#x}, where there is no room for it; a smaller kernel, or more memory (memory.size), may help"
                ),
            ));
        }
        self.chunks.push(Chunk {
            physical: at,
            bytes,
        });
        Ok(())
    }

    /// A bare-metal program alone: no device tree, no initramfs.
    ///
    /// # Errors
    /// When it does not fit RAM.
    pub fn program(config: &MachineConfig, image: &ElfImage) -> Result<Self, LoadError> {
        image.check_fits(config.memory.size)?;
        let chunks = image
            .segments
            .iter()
            .map(|segment| Chunk {
                physical: segment.physical,
                bytes: segment.data.clone(),
            })
            .collect();
        Ok(Boot {
            chunks,
            entry: image.physical_entry(),
            symbols: image.symbols.clone(),
            causes: image.causes.clone(),
            ..Boot::default()
        })
    }

    /// A raw ROM image; `file` is the name used in messages.
    ///
    /// # Errors
    /// When it is empty, or longer than the ROM.
    pub fn rom(image: &[u8], file: &str) -> Result<Self, LoadError> {
        if image.is_empty() || image.len() > ROM_SIZE {
            return Err(LoadError::unfit(
                file,
                format!("has {} bytes; a ROM image has 1 to {ROM_SIZE}", image.len()),
            ));
        }
        Ok(Boot {
            rom: Some(image.to_vec()),
            entry: 0xfff0_0100,
            ..Boot::default()
        })
    }
}

/// Takes whole pages off the top of free RAM.
fn take(
    top: &mut u32,
    size: usize,
    image: &ElfImage,
    what: &str,
    ram: u32,
) -> Result<u32, LoadError> {
    let start = u32::try_from(size)
        .ok()
        .and_then(|size| top.checked_sub(size))
        .map(|start| start & !(PAGE - 1))
        .filter(|&start| start >= image.end());
    let start = start.ok_or_else(|| LoadError::unfit(&image.file, format!(
            "{what} of {size} bytes does not fit RAM of {ram:#x} bytes (memory.size) beside the kernel, which ends at {:#x}",
            image.end()
        )))?;
    *top = start;
    Ok(start)
}
