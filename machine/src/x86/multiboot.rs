//! Loads a kernel as Multiboot 1 says (Multiboot Specification 0.6.96): QEMU's PC does the same with `-kernel`.

use super::Machine;
use super::mp_table;
use super::registers::gpr;
use crate::loader::{ElfImage, LoadError};

/// The header's first word, and what EAX holds at the kernel's first instruction.
const HEADER_MAGIC: u32 = 0x1bad_b002;
const HANDED_MAGIC: u32 = 0x2bad_b002;

/// The header lies in the first bytes of the file.
const HEADER_REACH: usize = 8192;

/// Where the loader puts the descriptor table, the information, the module's entry, the memory map and the texts.
const DESCRIPTORS: u32 = 0x0800;
const INFORMATION: u32 = 0x1000;
const MODULES: u32 = 0x1100;
const MAP: u32 = 0x1200;
const NAME: u32 = 0x1300;
const COMMAND_LINE: u32 = 0x2000;
/// Bytes for the command line, with its end.
const COMMAND_LINE_MOST: usize = 4096;

pub(super) const PAGE: u32 = 4096;

/// Flags of the information: memory sizes, command line, modules, memory map, the loader's name.
const GIVEN: u32 = 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 9;
const WITHOUT_MODULES: u32 = GIVEN & !(1 << 3);

/// Conventional memory ends here, and RAM goes on at [`EXTENDED`].
pub(super) const CONVENTIONAL: u32 = 640 << 10;
pub(super) const EXTENDED: u32 = 1 << 20;

/// Puts a kernel, its initramfs and its command line into a machine's RAM, and the first processor at its first
/// instruction.
///
/// # Errors
/// When the file has no Multiboot header, or something does not fit.
pub fn load(
    machine: &mut Machine,
    image: &ElfImage,
    file: &[u8],
    initramfs: Option<&[u8]>,
    arguments: &str,
) -> Result<(), LoadError> {
    check_header(file, &image.file)?;
    let ram = machine.config().memory.size;
    image.check_fits(ram)?;
    let refuse = |message: String| LoadError::unfit(&image.file, message);
    if let Some(low) = image
        .segments
        .iter()
        .find(|s| s.physical < COMMAND_LINE + PAGE)
    {
        return Err(refuse(format!(
            "segment {:#010x} lies where the boot information goes, below {:#x}",
            low.physical,
            COMMAND_LINE + PAGE
        )));
    }
    if arguments.len() >= COMMAND_LINE_MOST {
        return Err(refuse(format!(
            "the command line has {} bytes: allowed are {}",
            arguments.len(),
            COMMAND_LINE_MOST - 1
        )));
    }
    let module = initramfs
        .map(|bytes| place_module(ram, image.end(), bytes.len()))
        .transpose()
        .map_err(refuse)?;
    let table = mp_table::build(machine.config(), mp_table::BASE);
    let mut put = |at: u32, bytes: &[u8]| {
        let at = at as usize;
        machine.uncore_mut().ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    };
    for segment in &image.segments {
        put(segment.physical, &segment.data);
    }
    put(COMMAND_LINE, arguments.as_bytes());
    put(NAME, b"pagewalk\0");
    if let (Some(start), Some(bytes)) = (module, initramfs) {
        put(start, bytes);
        let end = start + bytes.len() as u32;
        put(MODULES, &words(&[start, end, COMMAND_LINE, 0]));
    }
    if let Some(table) = table {
        put(mp_table::BASE, &table);
    }
    put(DESCRIPTORS, &flat_descriptors());
    let map = memory_map(ram);
    put(MAP, &words(&map));
    put(
        INFORMATION,
        &words(&information(ram, module.is_some(), &map)),
    );
    let entry = image.physical_entry();
    let processor = machine.processor_mut();
    processor.enter_flat(DESCRIPTORS, entry);
    processor.registers.set(gpr::EAX, HANDED_MAGIC);
    processor.registers.set(gpr::EBX, INFORMATION);
    processor.registers.set(gpr::EDX, 0);
    Ok(())
}

/// Null, code, data: flat.
pub(super) fn flat_descriptors() -> Vec<u8> {
    words(&[0, 0, 0xffff, 0x00cf_9b00, 0xffff, 0x00cf_9300])
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Has the file a header: magic, flags, and a sum that is zero with both?
pub(super) fn has_header(file: &[u8]) -> bool {
    let head = &file[..file.len().min(HEADER_REACH)];
    head.chunks_exact(4).enumerate().any(|(n, _)| {
        let word = |k: usize| {
            let at = 4 * (n + k);
            let bytes = head.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (Some(magic), Some(flags), Some(sum)) = (word(0), word(1), word(2)) else {
            return false;
        };
        magic == HEADER_MAGIC && magic.wrapping_add(flags).wrapping_add(sum) == 0
    })
}

fn check_header(file: &[u8], name: &str) -> Result<(), LoadError> {
    if has_header(file) {
        return Ok(());
    }
    Err(LoadError::NotForI386 {
        file: name.to_owned(),
        message: "is no Linux, and has no Multiboot header in its first 8192 bytes".to_owned(),
    })
}

/// The module lies at the top of RAM, on a page boundary, above the kernel.
pub(super) fn place_module(ram: u32, kernel_end: u32, bytes: usize) -> Result<u32, String> {
    let start = u32::try_from(bytes)
        .ok()
        .and_then(|bytes| ram.checked_sub(bytes))
        .map(|start| start & !(PAGE - 1))
        .filter(|&start| start >= kernel_end.max(EXTENDED));
    start.ok_or_else(|| {
        format!("the initramfs of {bytes} bytes does not fit RAM above the kernel (memory.size)")
    })
}

/// Entries of the memory map: size of the rest, base and length of 64 bits, type 1.
fn memory_map(ram: u32) -> [u32; 12] {
    const AVAILABLE: u32 = 1;
    [
        20,
        0,
        0,
        CONVENTIONAL,
        0,
        AVAILABLE,
        20,
        EXTENDED,
        0,
        ram - EXTENDED,
        0,
        AVAILABLE,
    ]
}

fn information(ram: u32, module: bool, map: &[u32]) -> [u32; 22] {
    let mut words = [0; 22];
    words[0] = if module { GIVEN } else { WITHOUT_MODULES };
    words[1] = CONVENTIONAL >> 10;
    words[2] = (ram - EXTENDED) >> 10;
    words[4] = COMMAND_LINE;
    words[5] = module.into();
    words[6] = MODULES;
    words[11] = 4 * map.len() as u32;
    words[12] = MAP;
    words[16] = NAME;
    words
}
