//! What a RISC-V machine begins with: a kernel or a program for the bare machine, firmware, device tree, initramfs.

use std::ops::Range;

use vm_fdt::{Error, FdtWriter};

use super::Machine;
use super::config::Config;
use super::counters;
use super::csr::privilege;
use crate::board::{DISK_MOST, VIRT_CONSOLE, VIRT_RAM, processor_handle, virt_nodes};
use crate::loader::{ElfImage, LoadError, Segment, packed};

/// Where a Linux is loaded, from the beginning of RAM on (Linux Documentation/riscv/boot-image-header.rst; OpenSBI
/// docs/firmware/fw_dynamic.md).
const KERNEL: u64 = 0x20_0000;
/// The magic number at 0x38 of a Linux Image.
const IMAGE_MAGIC: &[u8; 4] = b"RSC\x05";
/// Firmware adds to the device tree in its place.
const TREE_PLACE: u64 = 0x2_0000;
/// Behind that: what fw_dynamic is told.
const INFORMATION: u64 = 0x1000;
/// The upper end of what the first page tables of a kernel reach.
const REACH: u64 = 512 << 20;

/// What is loaded beside the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// OpenSBI's fw_dynamic.bin, and its name in messages.
    pub firmware: Option<(&'a [u8], &'a str)>,
    pub initramfs: Option<&'a [u8]>,
    /// The image of a disk, which is copied.
    pub disk: Option<&'a [u8]>,
    /// The command line.
    pub arguments: &'a str,
}

/// A kernel, or a program for the bare machine.
enum Kernel {
    /// At its physical addresses.
    Program(ElfImage),
    /// A Linux, as bytes from [`KERNEL`] on, and how many it needs.
    Linux(Vec<u8>, u64),
}

fn quad(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Takes a kernel apart. In words what is wrong with it.
fn kernel(bytes: &[u8], image: Option<&ElfImage>, ram: u64) -> Result<Kernel, &'static str> {
    let Some(image) = image else {
        let size = quad(bytes, 16).unwrap_or(0).max(bytes.len() as u64);
        return match quad(bytes, 8) {
            Some(KERNEL) => Ok(Kernel::Linux(bytes.to_vec(), size)),
            _ => Err(
                "is a Linux that is loaded at another place than 2 MB behind the beginning of RAM",
            ),
        };
    };
    // The entry's upper half is not in the image.
    if quad(bytes, 24).unwrap_or(0) < 1 << 32 {
        return Ok(Kernel::Program(image.clone()));
    }
    let starts = image.segments.iter().map(|segment| segment.virtual_address);
    let start = starts.min().unwrap_or(0);
    if image.entry != start {
        return Err("is no Linux: it does not begin at its lowest address");
    }
    let mut memory = Vec::new();
    let mut size = 0;
    for segment in &image.segments {
        let at = (segment.virtual_address - start) as usize;
        size = size.max(at as u64 + u64::from(segment.size));
        // A larger one is refused, and needs no memory of the host.
        if size <= ram {
            memory.resize(memory.len().max(at + segment.data.len()), 0);
            memory[at..at + segment.data.len()].copy_from_slice(&segment.data);
        }
    }
    Ok(Kernel::Linux(memory, size))
}

/// True if these are the bytes of a Linux Image.
pub fn is_image(bytes: &[u8]) -> bool {
    bytes.get(0x38..0x3c) == Some(IMAGE_MAGIC)
}

/// Puts everything in its place, and every processor at its first instruction.
///
/// # Errors
/// What does not fit RAM, or does not go together.
pub fn load(
    machine: &mut Machine,
    (bytes, name): (&[u8], &str),
    image: Option<&ElfImage>,
    given: &Given<'_>,
) -> Result<(), LoadError> {
    let config = machine.config().clone();
    let ram = u64::from(config.memory.size);
    let unfit = |message: &str| Err(LoadError::unfit(name, message));
    let kernel = match kernel(bytes, image, ram) {
        Ok(Kernel::Linux(..)) if given.firmware.is_none() => {
            return unfit(
                "is a Linux, which calls firmware: give --firmware with fw_dynamic.bin of OpenSBI",
            );
        }
        Ok(kernel) => kernel,
        Err(message) => return unfit(message),
    };
    let mut place = Place { machine, name };
    let (entry, end) = match &kernel {
        Kernel::Program(image) => {
            let mut end = 0;
            for segment in &image.segments {
                let Some(at) = u64::from(segment.physical).checked_sub(VIRT_RAM) else {
                    let at = segment.physical;
                    return unfit(&format!(
                        "has a segment at {at:#x}: RAM begins at {VIRT_RAM:#x}"
                    ));
                };
                place.put(at, &segment.data, segment.size.into())?;
                end = end.max(at + u64::from(segment.size));
            }
            let entry = image.physical_entry();
            let within = |s: &Segment| entry.wrapping_sub(s.physical) < s.size;
            if entry & 1 != 0 || !image.segments.iter().any(within) {
                return unfit(&format!(
                    "begins at {entry:#x}, where it has no instruction"
                ));
            }
            (u64::from(entry), end)
        }
        Kernel::Linux(memory, size) => {
            place.put(KERNEL, memory, *size)?;
            (VIRT_RAM + KERNEL, KERNEL + size)
        }
    };
    if let Some((firmware, file)) = given.firmware {
        let size = firmware.len() as u64;
        if let Some(message) = packed(firmware) {
            return Err(LoadError::unfit(file, message));
        }
        if size > KERNEL || firmware.starts_with(b"\x7fELF") {
            let message = "is no firmware: allowed is fw_dynamic.bin of OpenSBI, of 2 MB at most";
            return Err(LoadError::unfit(file, message));
        }
        if end <= size || entry - VIRT_RAM < KERNEL {
            return unfit("lies where the firmware goes: run it without --firmware");
        }
        place.put(0, firmware, size)?;
    }
    let tree_at = (ram.min(REACH) - TREE_PLACE - INFORMATION) & !0x1f_ffff;
    let mut initramfs = None;
    if let Some(archive) = given.initramfs {
        let size = archive.len() as u64;
        let at = tree_at.checked_sub(size).map(|at| at & !0xfff);
        let Some(at) = at.filter(|&at| at >= end) else {
            return unfit("and its initramfs do not fit RAM (memory.size)");
        };
        place.put(at, archive, size)?;
        initramfs = Some(VIRT_RAM + at..VIRT_RAM + at + size);
    }
    if end > tree_at {
        return unfit("does not fit RAM together with its device tree (memory.size)");
    }
    if let Some(image) = given.disk {
        if image.is_empty() || image.len() as u64 > DISK_MOST {
            let size = image.len();
            let problem = format!("has {size} bytes: a disk has 1 to {DISK_MOST}");
            return Err(LoadError::unfit("the image of the disk", problem));
        }
        place.machine.uncore_mut().board.insert_disk(image);
    }
    let tree = tree(&config, given, initramfs)?;
    place.put(tree_at, &tree, tree.len() as u64)?;
    let information = tree_at + TREE_PLACE;
    // struct fw_dynamic_info: magic "OSBI", version, where to go on, in which mode, options, the first processor.
    let mode = u64::from(privilege::SUPERVISOR);
    let fields = [0x4942_534f, 2, entry, mode, 0, 0].map(u64::to_le_bytes);
    let fields = fields.concat();
    place.put(information, &fields, fields.len() as u64)?;
    let begin = given.firmware.map_or(entry, |_| VIRT_RAM);
    machine.each(|processor| {
        let number = u64::from(processor.number);
        let given = [number, VIRT_RAM + tree_at, VIRT_RAM + information];
        processor.pc = begin;
        processor.registers[A0..A0 + given.len()].copy_from_slice(&given);
        processor.modes_changed();
    });
    Ok(())
}

/// The first register for arguments.
const A0: usize = 10;

/// Where bytes go.
struct Place<'a> {
    machine: &'a mut Machine,
    name: &'a str,
}

impl Place<'_> {
    /// `at`: from the beginning of RAM on.
    fn put(&mut self, at: u64, bytes: &[u8], size: u64) -> Result<(), LoadError> {
        let ram = self.machine.uncore_mut().ram.bytes_mut();
        let (all, end) = (ram.len() as u64, at.saturating_add(size));
        if end > all {
            let [first, end, top] = [at, end, all].map(|at| VIRT_RAM.saturating_add(at));
            let message = format!(
                "needs {first:#x}..{end:#x}, and RAM is {VIRT_RAM:#x}..{top:#x} (memory.size)"
            );
            return Err(LoadError::unfit(self.name, message));
        }
        ram[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// The device tree.
///
/// # Errors
/// When `arguments` holds a NUL byte.
fn tree(
    config: &Config,
    given: &Given<'_>,
    initramfs: Option<Range<u64>>,
) -> Result<Vec<u8>, Error> {
    let mut fdt = FdtWriter::new()?;
    let root = fdt.begin_node("")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_string("compatible", "riscv-virtio")?;
    fdt.property_string("model", "riscv-virtio,qemu")?;
    let chosen = fdt.begin_node("chosen")?;
    fdt.property_string("bootargs", given.arguments)?;
    fdt.property_string("stdout-path", VIRT_CONSOLE)?;
    if let Some(range) = initramfs {
        fdt.property_u64("linux,initrd-start", range.start)?;
        fdt.property_u64("linux,initrd-end", range.end)?;
    }
    fdt.end_node(chosen)?;
    let memory = fdt.begin_node(&format!("memory@{VIRT_RAM:x}"))?;
    fdt.property_string("device_type", "memory")?;
    fdt.property_array_u64("reg", &[VIRT_RAM, config.memory.size.into()])?;
    fdt.end_node(memory)?;
    processors(&mut fdt, config)?;
    counters::node(&mut fdt, config)?;
    virt_nodes(&mut fdt, &config.virt(), given.disk.is_some())?;
    fdt.end_node(root)?;
    fdt.finish()
}

fn processors(fdt: &mut FdtWriter, config: &Config) -> Result<(), Error> {
    let cpus = fdt.begin_node("cpus")?;
    fdt.property_u32("#address-cells", 1)?;
    fdt.property_u32("#size-cells", 0)?;
    let timebase = u32::try_from(config.core.timebase).unwrap_or(u32::MAX);
    fdt.property_u32("timebase-frequency", timebase)?;
    for number in 0..config.processors {
        let cpu = fdt.begin_node(&format!("cpu@{number:x}"))?;
        fdt.property_string("device_type", "cpu")?;
        fdt.property_u32("reg", number.into())?;
        fdt.property_string("status", "okay")?;
        let names = [&config.core.model, "riscv"].map(str::to_owned);
        fdt.property_string_list("compatible", names.to_vec())?;
        let (isa, extensions) = config.core.isa();
        fdt.property_string("riscv,isa", &isa)?;
        fdt.property_string("riscv,isa-base", "rv64i")?;
        fdt.property_string_list("riscv,isa-extensions", extensions)?;
        let mmu = if config.core.sv48 {
            "riscv,sv48"
        } else {
            "riscv,sv39"
        };
        fdt.property_string("mmu-type", mmu)?;
        for (name, cache) in [("i", &config.cache.instruction), ("d", &config.cache.data)] {
            fdt.property_u32(&format!("{name}-cache-size"), cache.size)?;
            fdt.property_u32(&format!("{name}-cache-sets"), cache.sets())?;
            fdt.property_u32(&format!("{name}-cache-block-size"), cache.line)?;
        }
        for (name, tlb) in [("i", &config.tlb.instruction), ("d", &config.tlb.data)] {
            fdt.property_u32(&format!("{name}-tlb-size"), tlb.entries)?;
            fdt.property_u32(&format!("{name}-tlb-sets"), tlb.entries / tlb.ways)?;
        }
        let controller = fdt.begin_node("interrupt-controller")?;
        fdt.property_u32("#interrupt-cells", 1)?;
        fdt.property_null("interrupt-controller")?;
        fdt.property_string("compatible", "riscv,cpu-intc")?;
        fdt.property_phandle(processor_handle(number))?;
        fdt.end_node(controller)?;
        fdt.end_node(cpu)?;
    }
    fdt.end_node(cpus)
}
