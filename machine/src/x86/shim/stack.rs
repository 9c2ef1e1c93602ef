//! The initial stack of a program (System V ABI for the i386, chapter 3; Linux's auxiliary vector).

use object::LittleEndian;
use object::elf::{FileHeader32, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::Program;
use crate::loader::ElfImage;
use crate::shim::areas::PAGE;
use crate::shim::stack::{BOTTOM, TOP, USER, auxiliary};

impl Program {
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
        let mut place = |texts: &[Vec<u8>], program: &mut Program| -> Option<Vec<u32>> {
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
        for (name, value) in vector(image, elf, random) {
            words.extend([name, value]);
        }
        let pointer = top.checked_sub(4 * words.len() as u32)? & !15;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.push(pointer, &bytes)
    }

    fn push(&mut self, address: u32, bytes: &[u8]) -> Option<u32> {
        self.space
            .write(self.machine.processor_mut(), address, bytes)
            .then_some(address)
    }
}

fn vector(image: &ElfImage, elf: &[u8], random: u32) -> Vec<(u32, u32)> {
    use auxiliary as a;
    let (headers, size, count) = program_headers(elf).unwrap_or_default();
    vec![
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
    ]
}

/// Address, entry size and number of the program headers, if a segment holds them.
fn program_headers(elf: &[u8]) -> Option<(u32, u32, u32)> {
    let header = FileHeader32::<LittleEndian>::parse(elf).ok()?;
    let offset = header.e_phoff(LittleEndian);
    let headers = header.program_headers(LittleEndian, elf).ok()?;
    let segment = headers.iter().find(|segment| {
        let start = segment.p_offset(LittleEndian);
        segment.p_type(LittleEndian) == PT_LOAD
            && (start..start.saturating_add(segment.p_filesz(LittleEndian))).contains(&offset)
    })?;
    let start = segment.p_vaddr(LittleEndian);
    Some((
        start.wrapping_add(offset - segment.p_offset(LittleEndian)),
        header.e_phentsize(LittleEndian).into(),
        headers.len() as u32,
    ))
}
