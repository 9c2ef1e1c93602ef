//! Loads Linux by its 32-bit boot protocol (Linux kernel documentation, "The Linux/x86 Boot Protocol"): an uncompressed
//! kernel (vmlinux), with the parameters that a boot loader fills in.

use super::Machine;
use super::mp_table;
use super::multiboot::{self, CONVENTIONAL, EXTENDED, PAGE, place_module};
use super::registers::gpr;
use crate::loader::{ElfImage, LoadError};

/// Where the loader puts the descriptor table, the parameters and the command line.
const DESCRIPTORS: u32 = 0x0800;
const PARAMETERS: u32 = 0x1000;
const COMMAND_LINE: u32 = 0x2000;
/// Bytes for the command line with its end: COMMAND_LINE_SIZE of arch/x86.
const COMMAND_LINE_MOST: usize = 2048;

/// Firmware's part of conventional memory: RAM, but not free.
const FIRMWARE: u32 = 0x000f_0000;

/// A field of the parameters: offset and value, of as many bytes as its type has ("zero page" and "setup header").
fn fill(page: &mut [u8; PAGE as usize], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// True for an image that contains Linux's banner.
pub(super) fn is_linux(image: &ElfImage) -> bool {
    const BANNER: &[u8] = b"Linux version ";
    let mut segments = image.segments.iter();
    segments.any(|segment| (segment.data.windows(BANNER.len())).any(|bytes| bytes == BANNER))
}

/// Puts a kernel, its initramfs and its command line into a machine's RAM, and the first processor at its first
/// instruction.
///
/// # Errors
/// When something does not fit.
pub(super) fn load(
    machine: &mut Machine,
    image: &ElfImage,
    initramfs: Option<&[u8]>,
    arguments: &str,
) -> Result<(), LoadError> {
    let refuse = |message: String| LoadError::unfit(&image.file, message);
    let ram = machine.config().memory.size;
    image.check_fits(ram)?;
    if let Some(low) = (image.segments.iter()).find(|segment| segment.physical < EXTENDED) {
        return Err(refuse(format!(
            "segment {:#010x} lies below {EXTENDED:#x}, where boot parameters and firmware's tables go (CONFIG_PHYSICAL_START)",
            low.physical
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
    let parameters = parameters(ram, module.zip(initramfs.map(<[u8]>::len)));
    let table = mp_table::build(machine.config(), mp_table::BASE);
    let mut put = |at: u32, bytes: &[u8]| {
        let at = at as usize;
        machine.uncore_mut().ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    };
    for segment in &image.segments {
        put(segment.physical, &segment.data);
    }
    if let (Some(start), Some(bytes)) = (module, initramfs) {
        put(start, bytes);
    }
    put(COMMAND_LINE, arguments.as_bytes());
    put(PARAMETERS, &parameters);
    if let Some(table) = table {
        put(mp_table::BASE, &table);
    }
    put(DESCRIPTORS, &multiboot::flat_descriptors());
    let entry = image.physical_entry();
    let processor = machine.processor_mut();
    processor.enter_flat(DESCRIPTORS, entry);
    processor.registers.set(gpr::ESI, PARAMETERS);
    Ok(())
}

/// The parameters: everything that is not named here is zero.
fn parameters(ram: u32, initramfs: Option<(u32, usize)>) -> [u8; PAGE as usize] {
    const ALT_MEMORY: usize = 0x1e0;
    const MAP_ENTRIES: usize = 0x1e8;
    const BOOT_FLAG: usize = 0x1fe;
    const MAGIC: usize = 0x202;
    const VERSION: usize = 0x206;
    const LOADER: usize = 0x210;
    const LOAD_FLAGS: usize = 0x211;
    const RAMDISK: usize = 0x218;
    const RAMDISK_SIZE: usize = 0x21c;
    const COMMAND_LINE_POINTER: usize = 0x228;
    const MAP: usize = 0x2d0;
    const FREE: u32 = 1;
    const RESERVED: u32 = 2;
    let mut page = [0; PAGE as usize];
    let mut word = |at: usize, value: u32| fill(&mut page, at, &value.to_le_bytes());
    word(ALT_MEMORY, (ram - EXTENDED) >> 10);
    word(COMMAND_LINE_POINTER, COMMAND_LINE);
    if let Some((start, bytes)) = initramfs {
        word(RAMDISK, start);
        word(RAMDISK_SIZE, bytes as u32);
    }
    // Base and length of 64 bits each, and the type.
    let map = [
        (0, CONVENTIONAL, FREE),
        (FIRMWARE, EXTENDED - FIRMWARE, RESERVED),
        (EXTENDED, ram - EXTENDED, FREE),
    ];
    for (n, (base, length, kind)) in map.into_iter().enumerate() {
        let at = MAP + 20 * n;
        word(at, base);
        word(at + 8, length);
        word(at + 16, kind);
    }
    fill(&mut page, MAP_ENTRIES, &[map.len() as u8]);
    fill(&mut page, BOOT_FLAG, &0xaa55_u16.to_le_bytes());
    fill(&mut page, MAGIC, b"HdrS");
    fill(&mut page, VERSION, &0x020f_u16.to_le_bytes());
    // A loader without a number of its own; the kernel lies high.
    fill(&mut page, LOADER, &[0xff]);
    fill(&mut page, LOAD_FLAGS, &[1]);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_say_what_linux_looks_for() {
        let page = parameters(32 << 20, Some((0x01f0_0000, 0x1234)));
        let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four"));
        assert_eq!(&page[0x202..0x206], b"HdrS");
        assert_eq!((word(0x218), word(0x21c)), (0x01f0_0000, 0x1234));
        assert_eq!(word(0x228), COMMAND_LINE);
        // Three ranges: conventional memory, the firmware's, and the rest.
        assert_eq!(page[0x1e8], 3);
        let range = |n: usize| {
            (
                word(0x2d0 + 20 * n),
                word(0x2d8 + 20 * n),
                word(0x2e0 + 20 * n),
            )
        };
        assert_eq!(range(0), (0, CONVENTIONAL, 1));
        assert_eq!(range(1), (FIRMWARE, 0x1_0000, 2));
        assert_eq!(range(2), (EXTENDED, 31 << 20, 1));
    }

    #[test]
    fn without_an_initramfs_there_is_none() {
        let page = parameters(32 << 20, None);
        assert_eq!(page[0x218..0x220], [0; 8]);
    }
}
