//! An x86 processor that runs a program without a kernel: pages are mapped by page tables in the machine's RAM, which
//! its MMU walks; and which calls it knows (Linux/i386).

use super::processor::Processor;
use super::registers::{Segment, Table, cr0, cr4, eflags, segment};
use super::stop::Raised;
use super::tlb::pte;
use crate::shim::{self, Asked, Call, Hosted, StatusLayout};

/// A program on an x86 machine.
pub type Program = shim::Program<Processor>;

type Space = shim::Space<Processor>;

/// INT 0x80: a system call.
const SYSTEM_CALL: u8 = 0x80;
const PAGE_FAULT: u8 = 14;

/// Physical address of the page directory.
const DIRECTORY: u32 = 0x1000;
/// Physical address of the descriptor table.
const DESCRIPTORS_FRAME: u32 = 0x2000;
/// Its linear address, in the kernel's part of the address space.
const DESCRIPTORS: u32 = 0xffff_f000;
/// Entries of the table: those of Linux up to the user's data, of which 6 to 8 are the program's own.
const DESCRIPTORS_LIMIT: u16 = 8 * 16 - 1;
/// The first frame that programs get.
const FIRST: u32 = 0x10_0000;

/// Bytes of a page that an entry of the directory maps.
pub(super) const LARGE_PAGE: u32 = 1 << 22;

/// The first descriptor that set_thread_area gives out, and how many there are.
const THREAD_FIRST: u32 = 6;
const THREAD_MOST: u32 = 3;

impl Hosted for Processor {
    const BIG_ENDIAN: bool = false;
    const MACHINE: &'static str = "i486";
    const STATUS: StatusLayout = StatusLayout {
        bytes: 96,
        size: (48, 44),
        block: 52,
        blocks: 56,
    };
    type Pages = ();

    fn pages(&mut self) -> ((), u32) {
        // Flat code and data of ring 3, at the places where Linux has them: 14 and 15.
        for (number, high) in [(14, 0x00cf_fb00), (15, 0x00cf_f300)] {
            set_descriptor(self, number, (0xffff, high));
        }
        let table = FIRST;
        enter_table(self, DESCRIPTORS, table);
        let supervisor = pte::PRESENT | pte::WRITE;
        enter_page(self, DESCRIPTORS, DESCRIPTORS_FRAME | supervisor);
        ((), FIRST + shim::areas::PAGE)
    }

    fn map(&mut self, space: &mut Space, page: u32, frame: u32) -> bool {
        if entry_of(self, page).is_none() {
            let Some(table) = space.fresh(self) else {
                return false;
            };
            enter_table(self, page, table);
        }
        enter_page(self, page, frame | pte::PRESENT | pte::WRITE | pte::USER)
    }

    /// An entry of the page directory maps 4 MB, if the processor has TLBs for them.
    fn map_large(&mut self, _: &mut Space, page: u32, frame: u32, size: u32) -> bool {
        const ALL: u32 = pte::PRESENT | pte::WRITE | pte::USER | pte::LARGE;
        if size != LARGE_PAGE || self.mmu.data_large.is_none() {
            return false;
        }
        self.registers.cr4 |= cr4::PSE;
        let ram = &mut self.memory.uncore.ram;
        ram.put(DIRECTORY + 4 * (page >> 22), (frame | ALL).to_le_bytes())
    }

    fn unmap(&mut self, page: u32) {
        if let Some(entry) = entry_of(self, page) {
            self.memory.uncore.ram.write_u32(entry, 0);
        }
        self.drop_translation(page);
    }

    fn frame_written(&mut self, frame: u32) {
        self.code_changed(frame);
    }

    /// Ring 3, flat segments, paging on.
    fn enter_user(&mut self, entry: u32, stack: u32) {
        const CODE: u32 = 0xc0fb;
        const DATA: u32 = 0xc0f3;
        let registers = &mut self.registers;
        registers.cr0 |= cr0::PE | cr0::PG | cr0::NE | cr0::WP;
        registers.cr3 = DIRECTORY;
        registers.cpl = 3;
        registers.gpr = [0; 16];
        registers.gpr[4] = stack;
        registers.eip = entry;
        registers.set_eflags(eflags::IF, !0);
        registers.gdtr = Table {
            base: DESCRIPTORS,
            limit: DESCRIPTORS_LIMIT,
        };
        // As Linux numbers them.
        registers.segments = [Segment::new(0x7b, 0, u32::MAX, DATA); 8];
        registers.segments[usize::from(segment::CS)] = Segment::new(0x73, 0, u32::MAX, CODE);
        registers.segments[usize::from(segment::FS)] = Segment::default();
        registers.segments[usize::from(segment::GS)] = Segment::default();
    }

    fn answer(&mut self, space: &mut Space, &Raised { vector, code }: &Raised) -> Asked {
        if vector == SYSTEM_CALL {
            return Asked::Call;
        }
        if vector != PAGE_FAULT {
            return Asked::Wrong(None);
        }
        let address = self.registers.cr2;
        if code.is_none() {
            return Asked::Wrong(Some(address));
        }
        space.missed(self, address)
    }

    fn call(&self) -> (u32, [u32; 6]) {
        let gpr = self.registers.gpr;
        (gpr[0], [gpr[3], gpr[1], gpr[2], gpr[6], gpr[7], gpr[5]])
    }

    fn known(number: u32) -> Option<Call> {
        Some(match number {
            1 | 252 => Call::Exit,
            3 => Call::Read,
            4 => Call::Write,
            5 => Call::Open,
            6 => Call::Close,
            13 => Call::Time,
            20 | 224 | 258 => Call::Process,
            24 | 47 | 49 | 50 | 199..=202 => Call::User,
            33 => Call::Access,
            45 => Call::Brk,
            54 => Call::Ioctl,
            78 => Call::TimeOfDay,
            85 => Call::ReadLink,
            90 => Call::OldMap,
            91 => Call::Unmap,
            122 => Call::Name,
            140 => Call::Seek,
            145 => Call::ReadVector,
            146 => Call::WriteVector,
            125 | 174 | 175 | 219 | 240 | 311 => Call::Nothing,
            183 => Call::WorkingDirectory,
            191 => Call::Limit,
            192 => Call::Map,
            195 | 196 => Call::Status,
            197 => Call::StatusOfFile,
            238 => Call::Kill,
            243 => Call::ThreadArea,
            265 => Call::Clock,
            270 => Call::KillInGroup,
            295 => Call::OpenAt,
            340 => Call::LimitOf,
            355 => Call::Random,
            403 => Call::Clock64,
            _ => return None,
        })
    }

    fn give(&mut self, result: Result<u32, u32>) {
        self.registers.gpr[0] = match result {
            Ok(value) => value,
            Err(error) => error.wrapping_neg(),
        };
    }

    fn set_thread_area(&mut self, entry: u32, base: u32, limit: u32, flags: u32) -> Option<u32> {
        let entry = if entry == u32::MAX {
            THREAD_FIRST
        } else {
            entry
        };
        if !(THREAD_FIRST..THREAD_FIRST + THREAD_MOST).contains(&entry) {
            return None;
        }
        // Data of ring 3 that may be written, 32 bits; bit 4 of the flags: the limit counts pages.
        const RIGHTS: u32 = 0x0040_f300;
        let granular = (flags >> 4 & 1) << 23;
        let low = base << 16 | limit & 0xffff;
        let high = base & 0xff00_0000 | base >> 16 & 0xff | limit & 0x000f_0000 | RIGHTS | granular;
        set_descriptor(self, entry, (low, high));
        Some(entry)
    }
}

fn set_descriptor(processor: &mut Processor, number: u32, (low, high): (u32, u32)) {
    let ram = &mut processor.memory.uncore.ram;
    let at = DESCRIPTORS_FRAME + 8 * number;
    ram.put(at, low.to_le_bytes());
    ram.put(at + 4, high.to_le_bytes());
}

/// Enters the page table at `table` for the addresses around `page`.
fn enter_table(processor: &mut Processor, page: u32, table: u32) {
    const ALL: u32 = pte::PRESENT | pte::WRITE | pte::USER;
    let slot = DIRECTORY + 4 * (page >> 22);
    let ram = &mut processor.memory.uncore.ram;
    ram.put(slot, (table | ALL).to_le_bytes());
}

/// Enters a page in its table. False if it has none.
fn enter_page(processor: &mut Processor, page: u32, entry: u32) -> bool {
    let Some(place) = entry_of(processor, page) else {
        return false;
    };
    let ram = &mut processor.memory.uncore.ram;
    ram.put(place, entry.to_le_bytes())
}

/// Physical address of a page's entry, if there is a table for it.
fn entry_of(processor: &Processor, page: u32) -> Option<u32> {
    let directory = processor.ram_word(DIRECTORY + 4 * (page >> 22))?;
    (directory & pte::PRESENT != 0).then(|| (directory & !0xfff) + 4 * (page >> 12 & 0x3ff))
}
