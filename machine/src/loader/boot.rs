//! Places kernel, device tree and initramfs in memory, and sets the registers, before the first instruction.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use super::linux;
use super::{CauseRange, ElfImage, LoadError, SymbolTable, Target, device_tree};
use crate::board::ROM_SIZE;
use crate::config::{MEMORY_MOST, MachineConfig};

const PAGE: u32 = 4096;

/// Kernels map this much RAM at least, so that an initramfs may lie there.
const INITRAMFS_REACH: u32 = 512 << 20;

/// Bytes of the smallest stack frame that the ABI allows.
const STACK_FRAME: u32 = 16;

/// Bytes for physical memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub physical: u32,
    pub bytes: Vec<u8>,
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
    /// r3: physical address of the device tree, 0 with a ROM.
    pub device_tree: u32,
    /// r1: a stack for the kernel's first steps, or 0.
    pub stack: u32,
    pub initramfs: Option<Range<u32>>,
    pub symbols: SymbolTable,
    pub causes: Vec<CauseRange>,
}

impl Boot {
    /// A kernel, placed at its physical addresses; the device tree at the top of RAM, or of what kernels of the board
    /// map early, and the initramfs below it, both at page boundaries.
    ///
    /// # Errors
    /// When RAM is too small for the three, when the kernel is a Linux for another machine, or `arguments` holds a NUL
    /// byte.
    pub fn kernel(
        config: &MachineConfig,
        target: Target,
        image: &ElfImage,
        initramfs: Option<&[u8]>,
        arguments: &str,
    ) -> Result<Self, LoadError> {
        let ram = config.memory.size;
        linux::check(image, config)?;
        image.check_fits(ram)?;
        let board = config.board.kind.tree();
        let tree_size = device_tree(config, target, arguments, Some(0..0))?.len();
        let mut top = ram.min(board.reach);
        let tree_at = take(&mut top, tree_size, image, "the device tree", ram)?;
        let stack = if board.stack {
            take(&mut top, PAGE as usize, image, "the first stack", ram)? + PAGE - STACK_FRAME
        } else {
            0
        };
        // Below the tree, or at the top of RAM where the tree must lie lower.
        let mut top = if board.reach < ram.min(INITRAMFS_REACH) {
            ram.min(INITRAMFS_REACH)
        } else {
            top
        };
        let range = match initramfs {
            Some(bytes) => {
                let start = take(&mut top, bytes.len(), image, "the initramfs", ram)?;
                Some(start..start + bytes.len() as u32)
            }
            None => None,
        };
        let tree = device_tree(config, target, arguments, range.clone())?;
        let mut boot = Self::program(config, image)?;
        boot.chunks.push(Chunk {
            physical: tree_at,
            bytes: tree,
        });
        if let (Some(range), Some(bytes)) = (&range, initramfs) {
            boot.chunks.push(Chunk {
                physical: range.start,
                bytes: bytes.to_vec(),
            });
        }
        boot.device_tree = tree_at;
        boot.stack = stack;
        boot.initramfs = range;
        Ok(boot)
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
            return Err(LoadError::DoesNotFit {
                file: file.to_owned(),
                message: format!("has {} bytes; a ROM image has 1 to {ROM_SIZE}", image.len()),
            });
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
    let start = start.ok_or_else(|| LoadError::DoesNotFit {
        file: image.file.clone(),
        message: format!(
            "{what} of {size} bytes does not fit RAM of {ram:#x} bytes (memory.size) beside the kernel, which ends at {:#x}",
            image.end()
        ),
    })?;
    *top = start;
    Ok(start)
}

/// Bytes of a file at most: more than the largest RAM, so a larger file could not be loaded.
const FILE_MOST: u64 = MEMORY_MOST as u64 + (64 << 20);

/// Reads a file, naming it in the error.
///
/// # Errors
/// When it cannot be read, or is larger than any machine can take (`/dev/zero`).
pub fn read_file(path: &Path) -> Result<Vec<u8>, LoadError> {
    let unreadable = |message: String| LoadError::Unreadable {
        file: path.display().to_string(),
        message,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_MOST {
        let message = format!("has more than {FILE_MOST} bytes, which no machine has memory for");
        return Err(unreadable(message));
    }
    Ok(bytes)
}
