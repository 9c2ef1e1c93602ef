//! The initial stack of a program (System V ABI for PowerPC and for the i386, chapter 3; of RISC-V psABI 1.0; Linux's
//! auxiliary vector).

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader as _};

use super::areas::PAGE;
use super::{Hosted, Program};
use crate::loader::ElfImage;

/// The stack is between these; Linux's default limit is 8 MB.
pub const BOTTOM: u32 = 0xbf80_0000;
pub const TOP: u32 = 0xc000_0000;

/// Entries of the auxiliary vector (Linux's and glibc's elf.h).
pub(crate) mod auxiliary {
    pub const NULL: u32 = 0;
    pub const PHDR: u32 = 3;
    pub const PHENT: u32 = 4;
    pub const PHNUM: u32 = 5;
    pub const PAGESZ: u32 = 6;
    pub const ENTRY: u32 = 9;
    pub const UID: u32 = 11;
    pub const EUID: u32 = 12;
    pub const GID: u32 = 13;
    pub const EGID: u32 = 14;
    pub const HWCAP: u32 = 16;
    pub const CLKTCK: u32 = 17;
    pub const DCACHEBSIZE: u32 = 19;
    pub const ICACHEBSIZE: u32 = 20;
    pub const UCACHEBSIZE: u32 = 21;
    pub const SECURE: u32 = 23;
    pub const RANDOM: u32 = 25;
}

/// User and group that the program runs as.
pub const USER: u32 = 1000;

impl<C: Hosted> Program<C> {
    /// Builds the stack; returns the stack pointer. None: it does not fit.
    pub(super) fn build_stack(
        &mut self,
        image: &ElfImage,
        elf: &[u8],
        arguments: &[Vec<u8>],
        environment: &[Vec<u8>],
    ) -> Option<u32> {
        self.space.add_area(BOTTOM, TOP);
        // The random bytes of AT_RANDOM: fixed here, so that runs are repeatable.
        let random = self.push(TOP - 16, &[0x5a; 16])?;
        let mut top = random;
        let mut place = |texts: &[Vec<u8>], program: &mut Program<C>| -> Option<Vec<u32>> {
            texts
                .iter()
                .map(|text| {
                    let mut bytes = text.clone();
                    bytes.push(0);
                    top = program.push(top.checked_sub(bytes.len() as u32)?, &bytes)?;
                    Some(top)
                })
                .collect()
        };
        let arguments = place(arguments, self)?;
        let environment = place(environment, self)?;
        let mut words = vec![arguments.len() as u32];
        words.extend(&arguments);
        words.push(0);
        words.extend(&environment);
        words.push(0);
        for (name, value) in self.vector_of(image, elf, random) {
            words.extend([name, value]);
        }
        let bytes = Self::long_words(&words);
        let pointer = top.checked_sub(bytes.len() as u32)? & !15;
        self.push(pointer, &bytes)
    }

    fn push(&mut self, address: u32, bytes: &[u8]) -> Option<u32> {
        self.space
            .write(self.machine.processor_mut(), address, bytes)
            .then_some(address)
    }

    fn vector_of(&self, image: &ElfImage, elf: &[u8], random: u32) -> Vec<(u32, u32)> {
        use auxiliary as a;
        let headers = if C::WIDE {
            program_headers::<FileHeader64<Endianness>>(elf)
        } else {
            program_headers::<FileHeader32<Endianness>>(elf)
        };
        let (headers, size, count) = headers.unwrap_or_default();
        let mut all = self.machine.processor().auxiliary();
        all.extend([
            (a::PAGESZ, PAGE),
            (a::CLKTCK, 100),
            (a::PHDR, headers),
            (a::PHENT, size),
            (a::PHNUM, count),
            (a::ENTRY, image.entry),
            (a::UID, USER),
            (a::EUID, USER),
            (a::GID, USER),
            (a::EGID, USER),
            (a::SECURE, 0),
            (a::RANDOM, random),
            (a::NULL, 0),
        ]);
        all
    }
}

/// Address, entry size and number of the program headers, if a segment holds them.
fn program_headers<H: FileHeader<Endian = Endianness>>(elf: &[u8]) -> Option<(u32, u32, u32)> {
    let header = H::parse(elf).ok()?;
    let order = header.endian().ok()?;
    let offset: u64 = header.e_phoff(order).into();
    let headers = header.program_headers(order, elf).ok()?;
    let segment = headers.iter().find(|segment| {
        let start: u64 = segment.p_offset(order).into();
        let size: u64 = segment.p_filesz(order).into();
        segment.p_type(order) == PT_LOAD && (start..start.saturating_add(size)).contains(&offset)
    })?;
    let start: u64 = segment.p_vaddr(order).into();
    let before: u64 = segment.p_offset(order).into();
    Some((
        start.wrapping_add(offset - before) as u32,
        header.e_phentsize(order).into(),
        headers.len() as u32,
    ))
}
