//! A RISC-V processor that runs a program without a kernel: pages are mapped by page tables in the machine's RAM, which
//! its MMU walks; and which calls it knows (Linux's numbers for RISC-V of 64 bits). The program lies below 4 GB.

use super::csr::{mstatus, privilege, satp};
use super::processor::Processor;
use super::tlb::pte;
use super::trap::{Trap, cause};
use crate::board::VIRT_RAM;
use crate::shim::{self, Asked, Call, Hosted, StatusLayout};

/// A program on a RISC-V machine.
pub type Program = shim::Program<Processor>;

type Space = shim::Space<Processor>;

/// In RAM: the root, then a table for each GB.
const ROOT: u32 = 0x1000;
const TABLES: u32 = 0x2000;
/// The first frame that programs get.
const FIRST: u32 = 0x1_0000;

/// a0, and a7.
const A0: usize = 10;
const A7: usize = 17;
const SP: usize = 2;

/// The entry for what lies at this place in RAM.
fn entry(place: u32, bits: u64) -> u64 {
    (VIRT_RAM + u64::from(place)) >> 12 << 10 | bits | pte::VALID
}

/// Where the entry of a page's table is in RAM.
fn slot_of(page: u32) -> u32 {
    TABLES + 0x1000 * (page >> 30) + 8 * (page >> 21 & 511)
}

impl Hosted for Processor {
    const BIG_ENDIAN: bool = false;
    const WIDE: bool = true;
    const MACHINE: &'static str = "riscv64";
    const STATUS: StatusLayout = StatusLayout {
        bytes: 128,
        size: (52, 48),
        block: 56,
        blocks: 64,
    };
    type Pages = ();

    fn pages(&mut self) -> ((), u32) {
        for gigabyte in 0..4 {
            self.put_entry(ROOT + 8 * gigabyte, entry(TABLES + 0x1000 * gigabyte, 0));
        }
        ((), FIRST)
    }

    fn map(&mut self, space: &mut Space, page: u32, frame: u32) -> bool {
        if self.leaf_of(page).is_none() {
            let Some(table) = space.fresh(self) else {
                return false;
            };
            self.put_entry(slot_of(page), entry(table, 0));
        }
        const ALL: u64 =
            pte::READ | pte::WRITE | pte::EXECUTE | pte::USER | pte::ACCESSED | pte::DIRTY;
        let place = self.leaf_of(page);
        place.is_some_and(|place| self.put_entry(place, entry(frame, ALL)))
    }

    fn unmap(&mut self, page: u32) {
        if let Some(place) = self.leaf_of(page) {
            self.put_entry(place, 0);
        }
        let va = Some(u64::from(page));
        self.mmu.fence(va, None);
        self.fetched = super::processor::NOWHERE;
    }

    fn frame_written(&mut self, frame: u32) {
        self.blocks.forget(frame, 0x1000);
    }

    fn enter_user(&mut self, entry: u32, stack: u32) {
        const COUNTERS: u64 = 7;
        let root = (VIRT_RAM + u64::from(ROOT)) >> 12;
        self.csr.satp = satp::SV39 << satp::MODE_SHIFT | root;
        self.csr.pmp.open();
        self.csr.mstatus |= mstatus::FS;
        for level in &mut self.csr.levels {
            level.counteren = COUNTERS;
        }
        self.privilege = privilege::USER;
        self.registers.fill(0);
        self.registers[SP] = stack.into();
        self.pc = entry.into();
        self.modes_changed();
    }

    fn answer(&mut self, space: &mut Space, &Trap { cause, value }: &Trap) -> Asked {
        match cause {
            cause::CALL => Asked::Call,
            cause::FETCH_PAGE | cause::LOAD_PAGE | cause::STORE_PAGE => {
                let address = u32::try_from(value).ok();
                address.map_or(Asked::Wrong(None), |address| space.missed(self, address))
            }
            _ => Asked::Wrong(None),
        }
    }

    /// What does not fit 32 bits, with or without a sign, is out of every range.
    fn call(&self) -> (u32, [u32; 6]) {
        let narrow = |n: usize| {
            let value = self.registers[A0 + n];
            let signed = i32::try_from(value.cast_signed()).map(i32::cast_unsigned);
            u32::try_from(value).or(signed).unwrap_or(u32::MAX)
        };
        let number = u32::try_from(self.registers[A7]).unwrap_or(u32::MAX);
        (number, std::array::from_fn(narrow))
    }

    fn known(number: u32) -> Option<Call> {
        Some(match number {
            17 => Call::WorkingDirectory,
            29 => Call::Ioctl,
            48 => Call::AccessAt,
            56 => Call::OpenAt,
            57 => Call::Close,
            62 => Call::SeekHere,
            63 => Call::Read,
            64 => Call::Write,
            65 => Call::ReadVector,
            66 => Call::WriteVector,
            78 => Call::ReadLinkAt,
            79 => Call::StatusAt,
            80 => Call::StatusOfFile,
            93 | 94 => Call::Exit,
            96 | 172 | 178 => Call::Process,
            98 | 99 | 134 | 135 | 226 | 233 => Call::Nothing,
            113 => Call::Clock64,
            130 => Call::Kill,
            131 => Call::KillInGroup,
            160 => Call::Name,
            169 => Call::TimeOfDay,
            174..=177 => Call::User,
            214 => Call::Brk,
            215 => Call::Unmap,
            222 => Call::Map,
            261 => Call::LimitOf,
            278 => Call::Random,
            _ => return None,
        })
    }

    /// Goes on behind the call, which has run.
    fn give(&mut self, result: Result<u32, u32>) {
        self.registers[A0] = match result {
            Ok(value) => value.into(),
            Err(error) => u64::from(error).wrapping_neg(),
        };
        self.pc = self.pc.wrapping_add(4);
        self.instructions += 1;
    }
}

impl Processor {
    fn put_entry(&mut self, place: u32, entry: u64) -> bool {
        self.memory.uncore.ram.put(place, entry.to_le_bytes())
    }

    /// Where a page's entry is in RAM, if there is a table for it.
    fn leaf_of(&self, page: u32) -> Option<u32> {
        let slot = slot_of(page);
        let table = self.memory.uncore.ram.get(slot).map(u64::from_le_bytes)?;
        let place = self.ram_address((table >> 10 & satp::PPN) << 12, 0x1000)?;
        (table & pte::VALID != 0).then(|| place + 8 * (page >> 12 & 511))
    }
}
