//! Static ELF executables: for 32-bit big-endian PowerPC, for the i386, and for RISC-V of 64 bits.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use object::elf;
use object::read::elf::{ElfFile, ElfFile32, ElfFile64, FileHeader, ProgramHeader as _};
use object::{BigEndian, LittleEndian, Object as _, ObjectSymbol as _, SymbolKind, SymbolSection};

use serde::{Deserialize, Serialize};

use super::linux::{self, LOG, OLD_LOG};
use super::{LoadError, Symbol, SymbolTable};
use crate::config::MEMORY_MOST;

/// Bytes for a range of memory; the part behind `data` is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub physical: u32,
    pub virtual_address: u32,
    pub data: Vec<u8>,
    /// Bytes in memory, at least `data.len()`.
    pub size: u32,
}

/// Code whose events are charged to a cause, by physical address (docs/interfaces.md, section 3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseRange {
    pub start: u32,
    /// First address behind the range.
    pub end: u32,
    /// The cause's name, as in the section `.text.cause.<name>`; several ranges may have it.
    pub name: String,
}

/// An executable, not yet placed in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfImage {
    /// The name used in messages.
    pub file: String,
    pub entry: u32,
    pub segments: Vec<Segment>,
    pub symbols: SymbolTable,
    /// All labels at their virtual addresses; several can have the same.
    pub labels: Vec<Symbol>,
    pub causes: Vec<CauseRange>,
}

impl ElfImage {
    /// Takes an ELF file for a PowerPC apart; `file` is the name used in messages.
    ///
    /// # Errors
    /// When the bytes are not a whole static PowerPC executable, or a cause's symbols do not pair.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, LoadError> {
        let bad = |message: String| LoadError::NotExecutable {
            file: file.to_owned(),
            message,
        };
        check_identity(bytes).map_err(bad)?;
        let image = ElfFile32::<BigEndian>::parse(bytes).map_err(|error| bad(error.to_string()))?;
        let machine = image.elf_header().e_machine(BigEndian);
        if machine != elf::EM_PPC {
            return Err(bad(format!(
                "is for ELF machine {machine}, not PowerPC (20)"
            )));
        }
        // The boot wrapper's section for the compressed kernel (Linux arch/powerpc/boot).
        if image.section_by_name(".kernel:vmlinux.strip").is_some() {
            return Err(bad(WRAPPED.to_owned()));
        }
        Self::take_apart(&image, bytes, file, bad, true)
    }

    /// The same for an i386.
    ///
    /// # Errors
    /// When the bytes are not a whole static i386 executable, or a cause's symbols do not pair.
    pub fn parse_i386(bytes: &[u8], file: &str) -> Result<Self, LoadError> {
        let bad = |message: String| LoadError::NotForI386 {
            file: file.to_owned(),
            message,
        };
        check_identity_i386(bytes).map_err(bad)?;
        let image =
            ElfFile32::<LittleEndian>::parse(bytes).map_err(|error| bad(error.to_string()))?;
        let machine = image.elf_header().e_machine(LittleEndian);
        if machine != elf::EM_386 {
            return Err(bad(format!("is for ELF machine {machine}, not i386 (3)")));
        }
        Self::take_apart(&image, bytes, file, bad, true)
    }

    /// The same for RISC-V of 64 bits. All addresses are given by their lower 32 bits: RAM, and programs, lie below 4
    /// GB, and kernels in the uppermost 4 GB.
    ///
    /// # Errors
    /// When the bytes are not a whole static executable for it, or a cause's symbols do not pair.
    pub fn parse_riscv(bytes: &[u8], file: &str) -> Result<Self, LoadError> {
        let bad = |message: String| LoadError::NotForRiscv {
            file: file.to_owned(),
            message,
        };
        check_identity_riscv(bytes).map_err(bad)?;
        let image =
            ElfFile64::<LittleEndian>::parse(bytes).map_err(|error| bad(error.to_string()))?;
        let machine = image.elf_header().e_machine(LittleEndian);
        if machine != elf::EM_RISCV {
            return Err(bad(format!(
                "is for ELF machine {machine}, not RISC-V (243)"
            )));
        }
        let loads = (image.elf_program_headers().iter()).filter(|header| {
            header.p_type(LittleEndian) == elf::PT_LOAD && header.p_memsz(LittleEndian) != 0
        });
        let segments: Vec<(u64, u64)> = loads
            .map(|header| (header.p_vaddr(LittleEndian), header.p_paddr(LittleEndian)))
            .collect();
        let all = |half: u64| segments.iter().all(|&(at, _)| at >> 32 == half);
        if !all(0) && !all(0xffff_ffff) {
            return Err(bad(
                "has addresses above 4 GB that are not a kernel's".to_owned()
            ));
        }
        let entry = image.elf_header().e_entry(LittleEndian);
        if !all(entry >> 32) {
            return Err(bad(format!(
                "begins at {entry:#x}, outside of its segments"
            )));
        }
        // A kernel goes where its virtual addresses say.
        let beyond = |&&(at, physical): &&(u64, u64)| at >> 32 == 0 && physical >> 32 != 0;
        if let Some((_, physical)) = segments.iter().find(beyond) {
            return Err(bad(format!(
                "has a segment for physical address {physical:#x}, where no machine has memory"
            )));
        }
        Self::take_apart(&image, bytes, file, bad, false)
    }

    /// `old`: linkers of the architecture have written virtual addresses for physical ones.
    fn take_apart<F: FileHeader>(
        image: &ElfFile<'_, F>,
        bytes: &[u8],
        file: &str,
        bad: impl Fn(String) -> LoadError + Copy,
        old: bool,
    ) -> Result<Self, LoadError> {
        let low = |address: F::Word| -> u32 {
            let address: u64 = address.into();
            address as u32
        };
        let endian = image.endian();
        let header = image.elf_header();
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(bad(format!("is of ELF type {kind}, not an executable (2)")));
        }
        let mut segments = Vec::new();
        let mut total = 0;
        for program_header in image.elf_program_headers() {
            if program_header.p_type(endian) == elf::PT_INTERP {
                return Err(bad("is dynamically linked".to_owned()));
            }
            let memory: u64 = program_header.p_memsz(endian).into();
            let size = u32::try_from(memory)
                .map_err(|_| bad("a segment has an impossible size".to_owned()))?;
            if program_header.p_type(endian) != elf::PT_LOAD || size == 0 {
                continue;
            }
            let data = program_header
                .data(endian, bytes)
                .map_err(|()| bad("a segment reaches past the end of the file".to_owned()))?;
            let physical = low(program_header.p_paddr(endian));
            if data.len() > size as usize || physical.checked_add(size - 1).is_none() {
                return Err(bad("a segment has an impossible size".to_owned()));
            }
            total += u64::from(size);
            if total > u64::from(MEMORY_MOST) {
                return Err(bad(format!(
                    "needs more memory than a machine can have, {MEMORY_MOST:#x} bytes"
                )));
            }
            segments.push(Segment {
                physical,
                virtual_address: low(program_header.p_vaddr(endian)),
                data: data.to_vec(),
                size,
            });
        }
        if segments.is_empty() {
            return Err(bad("has nothing to load".to_owned()));
        }
        if old && linux::is_wrapped(&segments) {
            return Err(bad(WRAPPED.to_owned()));
        }
        if old {
            move_to_physical(&mut segments);
        }
        let named = named_symbols(image);
        let physical = |address: u32| in_segments(&segments, address);
        let causes = cause_ranges(&named, physical, file)?;
        // While translation is off, code runs at its physical addresses, so its symbols are entered there too.
        let mut labels = named;
        labels.retain(|symbol| !symbol.name.starts_with("__cause_"));
        let mut functions = Vec::with_capacity(labels.len());
        for symbol in &labels {
            if let Some(address) = physical(symbol.address)
                && address != symbol.address
            {
                functions.push(Symbol {
                    address,
                    ..symbol.clone()
                });
            }
            functions.push(symbol.clone());
        }
        let end = |address: u32| {
            segments.iter().find_map(|segment| {
                [segment.virtual_address, segment.physical]
                    .into_iter()
                    .find(|&start| address.wrapping_sub(start) < segment.size)
                    .map(|start| start.saturating_add(segment.size))
            })
        };
        let symbols = SymbolTable::new(functions).within(end);
        Ok(ElfImage {
            file: file.to_owned(),
            entry: low(header.e_entry(endian)),
            segments,
            symbols,
            labels,
            causes,
        })
    }

    /// Checks that every segment lies in RAM of `ram` bytes.
    ///
    /// # Errors
    /// Names the segment that does not fit.
    pub fn check_fits(&self, ram: u32) -> Result<(), LoadError> {
        for segment in &self.segments {
            let end = u64::from(segment.physical) + u64::from(segment.size);
            if end > u64::from(ram) {
                return Err(LoadError::unfit(
                    &self.file,
                    format!(
                        "segment {:#010x}..{end:#010x} does not fit RAM, 0..{ram:#010x} (memory.size)",
                        segment.physical
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The physical address of the first instruction: Linux names it by its virtual one.
    pub fn physical_entry(&self) -> u32 {
        let inside = |start: u32, size: u32| self.entry.wrapping_sub(start) < size;
        let segments = &self.segments;
        if segments.iter().any(|s| inside(s.physical, s.size)) {
            return self.entry;
        }
        let segment = segments.iter().find(|s| inside(s.virtual_address, s.size));
        segment.map_or(self.entry, |s| {
            self.entry
                .wrapping_sub(s.virtual_address)
                .wrapping_add(s.physical)
        })
    }

    /// The physical address that the virtual `address` of code or data is loaded at.
    pub fn physical(&self, address: u32) -> Option<u32> {
        in_segments(&self.segments, address)
    }

    /// First physical address behind the image.
    pub fn end(&self) -> u32 {
        self.segments
            .iter()
            .map(|segment| segment.physical + segment.size)
            .max()
            .unwrap_or(0)
    }
}

/// The physical address of a virtual one. An address at a segment's end belongs to it, because a range of code may end
/// there.
fn in_segments(segments: &[Segment], address: u32) -> Option<u32> {
    segments.iter().find_map(|segment| {
        let offset = address.checked_sub(segment.virtual_address)?;
        (offset <= segment.size).then(|| segment.physical.wrapping_add(offset))
    })
}

/// Where kernels map physical address 0: Linux at 0xc0000000, early Linux 2.1 for PReP at 0x90000000 (Linux 2.1.53
/// arch/ppc/Makefile). No RAM reaches there.
const KERNEL_BASES: RangeInclusive<u32> = 0x8000_0000..=0xc000_0000;

/// A kernel's base is a multiple of this, the size of a segment.
const BASE_STEP: u32 = 0x1000_0000;

/// The ELF headers lie at most this far below the base.
const HEADERS: u32 = 0x1_0000;

/// Old linkers wrote virtual addresses into both address fields of a program header. If all headers are like that, this
/// subtracts the kernel's base. It removes what lies below the base: the ELF headers, which linkers of today put into
/// the first segment and nothing needs.
fn move_to_physical(segments: &mut Vec<Segment>) {
    let lowest = segments.iter().map(|segment| segment.physical).min();
    // Anything above the highest base belongs to that.
    let base =
        (lowest.unwrap_or(0).saturating_add(HEADERS) & !(BASE_STEP - 1)).min(*KERNEL_BASES.end());
    let virtual_only = |segment: &Segment| segment.physical == segment.virtual_address;
    if !KERNEL_BASES.contains(&base) || !segments.iter().all(virtual_only) {
        return;
    }
    segments.retain(|segment| segment.physical + (segment.size - 1) >= base);
    for segment in segments {
        let below = base.saturating_sub(segment.physical);
        segment.data.drain(..segment.data.len().min(below as usize));
        segment.size -= below;
        segment.virtual_address += below;
        segment.physical = segment.virtual_address - base;
    }
}

/// A boot loader with the kernel in it.
const WRAPPED: &str =
    "is a zImage, a boot loader around a compressed kernel: give the vmlinux that it was made from";

/// How packed files begin, and what unpacks them (file(1) has these numbers, and Linux lib/decompress.c).
const PACKED: [(&[u8], &str); 8] = [
    (b"\x1f\x8b", "gunzip"),
    (b"\xfd7z", "unxz"),
    (b"BZh", "bunzip2"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
    (b"\x02\x21\x4c\x18", "unlz4"),
    (b"\x04\x22\x4d\x18", "unlz4"),
    (b"\x89LZO", "lzop -d"),
    (b"\x5d\0\0", "unlzma"),
];

/// What a message says of a packed file.
pub(crate) fn packed(bytes: &[u8]) -> Option<String> {
    let (_, by) = (PACKED.iter()).find(|(magic, _)| bytes.starts_with(magic))?;
    Some(format!("is compressed: unpack it first, with {by}"))
}

/// What a file is that is no ELF file.
fn no_elf(bytes: &[u8]) -> Result<(), String> {
    Err(packed(bytes).unwrap_or_else(|| "is not an ELF file".to_owned()))
}

/// The machine number of a little-endian ELF file is that of an i386.
fn for_i386(bytes: &[u8]) -> bool {
    bytes.get(18..20) == Some(&elf::EM_386.to_le_bytes())
}

fn check_identity_i386(bytes: &[u8]) -> Result<(), String> {
    match bytes {
        [0x7f, b'E', b'L', b'F', class, data, ..] => match (*class, *data) {
            (elf::ELFCLASS32, elf::ELFDATA2LSB) => Ok(()),
            (elf::ELFCLASS64, _) => Err("is a 64-bit ELF file".to_owned()),
            (_, elf::ELFDATA2MSB) if bytes.get(18..20) == Some(&elf::EM_PPC.to_be_bytes()) => {
                Err("is for a PowerPC: choose a PowerPC machine".to_owned())
            }
            (_, elf::ELFDATA2MSB) => Err("is a big-endian ELF file".to_owned()),
            _ => Err("has a damaged ELF header".to_owned()),
        },
        // The boot sector's signature, and "HdrS" (Linux Documentation/x86/boot.rst).
        _ if bytes.get(0x202..0x206) == Some(b"HdrS") => Err(
            "is a bzImage, a boot loader around a compressed kernel: give an ELF with a Multiboot header"
                .to_owned(),
        ),
        _ => no_elf(bytes),
    }
}

fn check_identity_riscv(bytes: &[u8]) -> Result<(), String> {
    match bytes {
        [0x7f, b'E', b'L', b'F', class, data, ..] => match (*class, *data) {
            (elf::ELFCLASS64, elf::ELFDATA2LSB) => Ok(()),
            (elf::ELFCLASS32, _) => Err("is a 32-bit ELF file".to_owned()),
            (_, elf::ELFDATA2MSB) => Err("is a big-endian ELF file".to_owned()),
            _ => Err("has a damaged ELF header".to_owned()),
        },
        // A boot loader for EFI around a compressed kernel (Linux drivers/firmware/efi/libstub/zboot-header.S).
        [b'M', b'Z', ..] => Err(
            "is a program for EFI: give the vmlinux or the Image that it was made from".to_owned(),
        ),
        _ => no_elf(bytes),
    }
}

fn check_identity(bytes: &[u8]) -> Result<(), String> {
    match bytes {
        [0x7f, b'E', b'L', b'F', class, data, ..] => match (*class, *data) {
            (elf::ELFCLASS32, elf::ELFDATA2MSB) => Ok(()),
            (elf::ELFCLASS64, _) => Err("is a 64-bit ELF file".to_owned()),
            (_, elf::ELFDATA2LSB) if for_i386(bytes) => {
                Err("is for an i386: choose an x86 machine".to_owned())
            }
            (_, elf::ELFDATA2LSB) => Err("is a little-endian ELF file".to_owned()),
            _ => Err("has a damaged ELF header".to_owned()),
        },
        // Images as distributions and U-Boot have them (U-Boot image.h).
        [0x27, 0x05, 0x19, 0x56, ..] => Err("is a uImage: give the vmlinux inside".to_owned()),
        [0xd0, 0x0d, 0xfe, 0xed, ..] => {
            Err("is a device tree or a FIT image: give the vmlinux inside".to_owned())
        }
        [0x01, 0xdf, ..] => Err(
            "is an XCOFF boot image for Open Firmware: give the vmlinux that it was made from"
                .to_owned(),
        ),
        // The boot record of a PReP boot image (PowerPC Reference Platform Specification 1.1, boot record format).
        _ if bytes.get(510..512) == Some(&[0x55, 0xaa]) => Err(
            "is a disk or PReP boot image (zImage.prep): give the vmlinux that it was made from"
                .to_owned(),
        ),
        _ => no_elf(bytes),
    }
}

fn named_symbols<F: FileHeader>(image: &ElfFile<'_, F>) -> Vec<Symbol> {
    image
        .symbols()
        .filter(|symbol| {
            symbol.is_definition()
                || symbol.kind() == SymbolKind::Label
                || symbol.kind() == SymbolKind::Unknown
        })
        .filter_map(|symbol| {
            // A name with $ tells which instruction set follows, as on RISC-V, and no function.
            let named = |name: &&str| !name.is_empty() && !name.starts_with('$');
            let name = symbol.name().ok().filter(named)?;
            match symbol.kind() {
                SymbolKind::Section | SymbolKind::File | SymbolKind::Tls => return None,
                SymbolKind::Data if !LOG.contains(&name) && name != OLD_LOG => return None,
                _ => {}
            }
            // Absolute symbols of the linker script name no code, even if their value equals an address.
            if symbol.section() == SymbolSection::Absolute && !name.starts_with("__cause_") {
                return None;
            }
            Some(Symbol {
                address: symbol.address() as u32,
                size: u32::try_from(symbol.size()).ok()?,
                name: name.to_owned(),
            })
        })
        .collect()
}

fn cause_ranges(
    symbols: &[Symbol],
    physical: impl Fn(u32) -> Option<u32>,
    file: &str,
) -> Result<Vec<CauseRange>, LoadError> {
    let bad = |name: &str, message: &str| LoadError::BadCause {
        file: file.to_owned(),
        name: name.to_owned(),
        message: message.to_owned(),
    };
    let ends: HashMap<&str, u32> = symbols
        .iter()
        .filter_map(|symbol| {
            let name = symbol.name.strip_prefix("__cause_")?;
            Some((name.strip_suffix("_end")?, symbol.address))
        })
        .collect();
    let mut ranges = Vec::new();
    for symbol in symbols {
        let Some(name) = symbol
            .name
            .strip_prefix("__cause_")
            .and_then(|rest| rest.strip_suffix("_start"))
        else {
            continue;
        };
        let end = *ends
            .get(name)
            .ok_or_else(|| bad(name, "has a start symbol but no end symbol"))?;
        if end < symbol.address {
            return Err(bad(name, "ends before it starts"));
        }
        if end > symbol.address {
            let start = physical(symbol.address).ok_or_else(|| bad(name, "lies in no segment"))?;
            let end = start
                .checked_add(end - symbol.address)
                .ok_or_else(|| bad(name, "reaches past the end of memory"))?;
            ranges.push(CauseRange {
                start,
                end,
                name: name.split('.').next().unwrap_or(name).to_owned(),
            });
        }
    }
    ranges.sort_by_key(|range| range.start);
    Ok(ranges)
}
