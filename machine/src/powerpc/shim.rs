//! A PowerPC that runs a program without a kernel: how its pages are mapped, and which calls it knows (Linux/PPC32).

use super::registers::Register;
use super::{Exception, msr};
use crate::config::UNIFIED_405 as ENTRIES;
use crate::powerpc::mmu::hash64::{Page, table};
use crate::powerpc::mmu::mpc8xx::number;
use crate::powerpc::mmu::mpc8xx::tlb::{PageSize, epn, rpn, twc};
use crate::powerpc::mmu::ppc405::{high, low};
use crate::powerpc::mmu::{Invalidation, Kind, hash};
use crate::powerpc::processor::Processor;
use crate::shim::stack::auxiliary;
use crate::shim::{self, Asked, Call, Hosted, StatusLayout};

/// A program on a PowerPC machine.
pub type Program = shim::Program<Processor>;

type Space = shim::Space<Processor>;

/// PTE word 1 besides the frame: R, C, M, PP = 2.
const ATTRIBUTES: u32 = hash::R | hash::C | 0x12;

/// AT_HWCAP: 32-bit, with an MMU; and with a floating-point unit, where there is one.
const HWCAP: u32 = 0x8400_0000;
const HWCAP_FLOAT: u32 = 0x0800_0000;

/// VSID of a segment. There is one process, so any distinct numbers will do.
const fn vsid(segment: u32) -> u32 {
    0x100 + 0x111 * segment
}

/// What is replaced next.
#[derive(Default)]
pub struct Pages {
    /// Slot of a PTEG that the next insertion into a full one takes.
    victim: u32,
    /// Entry of a 405's TLB that is loaded next.
    next_entry: u32,
}

impl Hosted for Processor {
    const BIG_ENDIAN: bool = true;
    const MACHINE: &'static str = "ppc";
    const STATUS: StatusLayout = StatusLayout {
        bytes: 104,
        size: (48, 52),
        block: 56,
        blocks: 68,
    };
    type Pages = Pages;

    /// The hash table goes to the lowest megabytes of RAM, with a slot for each frame at least.
    fn pages(&mut self) -> (Pages, u32) {
        let processor = self;
        processor.enable_l2();
        processor.memory.enable_caches();
        // Group 0 of the 8xx, to which every page belongs: the page decides about access.
        const CLIENT: u32 = 0x4000_0000;
        for register in [number::MI_AP, number::MD_AP] {
            if let Some(unit) = processor.mmu.mpc8xx_mut() {
                let reaches = unit.write(register, CLIENT, &mut processor.account);
                processor.forget(reaches);
            }
        }
        // The same of a 405's zones.
        if let Some(unit) = processor.mmu.ppc405_mut() {
            unit.set_zpr(0x5555_5555);
        }
        let table = (processor.memory.uncore.ram.size() as u32 / 512)
            .next_power_of_two()
            .max(0x1_0000);
        if let Some(front) = processor.mmu.front_mut() {
            front.sdr1 = table | (table / 0x1_0000 - 1);
            for segment in 0..16 {
                front.segments.write(segment, vsid(segment));
            }
        }
        if let Some(unit) = processor.mmu.hash64_mut() {
            // A PTE has twice the bytes, so the table has as many slots for the frames of half a frame's pages.
            unit.sdr1 = u64::from(table) | u64::from((table / 128).ilog2() - 11);
            for segment in 0..16 {
                unit.write_segment(segment, vsid(segment));
            }
        }
        (Pages::default(), 2 * table)
    }

    /// Software loads the entry, with the size, when an access misses it.
    fn map_large(&mut self, _: &mut Space, _: u32, _: u32, size: u32) -> bool {
        page_sizes(self).contains(&size)
    }

    fn unmap(&mut self, page: u32) {
        forget(self, page);
        self.state_changed();
    }

    fn enter_user(&mut self, entry: u32, stack: u32) {
        let registers = &mut self.registers;
        registers.gpr.set(Register::new(1), stack);
        registers.pc = entry;
        registers.msr = msr::PR | msr::FP | msr::ME | msr::IR | msr::DR;
    }

    fn answer(&mut self, space: &mut Space, exception: &Exception) -> Asked {
        let pc = self.registers.pc;
        let wide = self.registers.wide.there;
        let mapped = match *exception {
            Exception::SystemCall => return Asked::Call,
            Exception::Program { .. } => self.emulate(space, pc),
            Exception::DataStorage { address, .. } if wide => fault_wide(self, space, address),
            Exception::InstructionStorage { .. } if wide => fault_wide(self, space, pc),
            Exception::DataStorage { address, .. } => fault(self, space, address),
            Exception::InstructionStorage { .. } => fault(self, space, pc),
            Exception::InstructionTlbMiss { srr1 } => reload(self, space, srr1, true),
            Exception::DataLoadTlbMiss { srr1 } | Exception::DataStoreTlbMiss { srr1 } => {
                reload(self, space, srr1, false)
            }
            Exception::ItlbMiss => load(self, space, true),
            Exception::DtlbMiss => load(self, space, false),
            Exception::InstructionMiss => load_unified(self, space, pc),
            Exception::DataMiss { address, .. } => load_unified(self, space, address),
            _ => false,
        };
        if mapped {
            return Asked::Done;
        }
        Asked::Wrong(match *exception {
            Exception::DataStorage { address, .. }
            | Exception::DataMiss { address, .. }
            | Exception::Alignment { address } => Some(address),
            _ => None,
        })
    }

    fn call(&self) -> (u32, [u32; 6]) {
        let gpr = self.registers.gpr.all();
        (gpr[0], std::array::from_fn(|n| gpr[3 + n]))
    }

    fn known(number: u32) -> Option<Call> {
        Some(match number {
            1 | 234 => Call::Exit,
            3 => Call::Read,
            4 => Call::Write,
            5 => Call::Open,
            6 => Call::Close,
            13 => Call::Time,
            20 | 207 | 232 => Call::Process,
            24 | 47 | 49 | 50 => Call::User,
            33 => Call::Access,
            45 => Call::Brk,
            54 => Call::Ioctl,
            78 => Call::TimeOfDay,
            85 => Call::ReadLink,
            91 => Call::Unmap,
            122 => Call::Name,
            140 => Call::Seek,
            145 => Call::ReadVector,
            146 => Call::WriteVector,
            125 | 173 | 174 | 205 | 221 | 300 => Call::Nothing,
            182 => Call::WorkingDirectory,
            190 => Call::Limit,
            192 => Call::Map,
            195 | 196 => Call::Status,
            197 => Call::StatusOfFile,
            246 => Call::Clock,
            250 => Call::KillInGroup,
            286 => Call::OpenAt,
            325 => Call::LimitOf,
            359 => Call::Random,
            403 => Call::Clock64,
            _ => return None,
        })
    }

    fn give(&mut self, result: Result<u32, u32>) {
        let (value, failed) = match result {
            Ok(value) => (value, false),
            Err(error) => (error, true),
        };
        self.registers.gpr.set(Register::new(3), value);
        // CR0[SO]
        self.registers.cr.set_bit(3, failed);
    }

    fn auxiliary(&self) -> Vec<(u32, u32)> {
        use auxiliary as a;
        let config = &self.config;
        let hwcap = if config.core.kind.core().has_float() {
            HWCAP | HWCAP_FLOAT
        } else {
            HWCAP
        };
        vec![
            (a::DCACHEBSIZE, config.cache.data.line),
            (a::ICACHEBSIZE, config.cache.instruction.line),
            (a::UCACHEBSIZE, 0),
            (a::HWCAP, hwcap),
        ]
    }
}

impl Processor {
    /// `mfpvr`, which Linux answers for user programs.
    fn emulate(&mut self, space: &mut Space, pc: u32) -> bool {
        const MFPVR: u32 = 0x7c1f_42a6;
        const TARGET: u32 = 0x03e0_0000;
        let mut word = [0; 4];
        if !space.read(self, pc, &mut word) {
            return false;
        }
        let word = u32::from_be_bytes(word);
        if word & !TARGET != MFPVR {
            return false;
        }
        let pvr = self.config.core.pvr;
        let target = Register::new((word & TARGET) >> 21);
        self.registers.gpr.set(target, pvr);
        self.registers.pc = pc.wrapping_add(4);
        true
    }
}

/// A 604's or 750's access to `address` finds no PTE.
pub(super) fn fault(processor: &mut Processor, space: &mut Space, address: u32) -> bool {
    let Some(frame) = space.frame(processor, address) else {
        return false;
    };
    let Some(front) = processor.mmu.front() else {
        return false;
    };
    let segment = front.segments.get(address);
    let (primary, secondary) = hash::groups(front.sdr1, segment, address);
    let ram = &mut processor.memory.uncore.ram;
    let free = [(primary, false), (secondary, true)]
        .into_iter()
        .flat_map(|(group, second)| (0..hash::PTEG_SLOTS).map(move |n| (group + 8 * n, second)))
        .find(|&(pte, _)| ram.read_u32(pte).is_some_and(|word| word & hash::V == 0));
    let (pte, second) = free.unwrap_or_else(|| {
        space.pages.victim = (space.pages.victim + 1) % hash::PTEG_SLOTS;
        (primary + 8 * space.pages.victim, false)
    });
    ram.write_u32(pte + 4, frame | ATTRIBUTES)
        && ram.write_u32(pte, hash::word0(segment, address, second))
}

/// A 970's access to `address` finds no PTE.
pub(super) fn fault_wide(processor: &mut Processor, space: &mut Space, address: u32) -> bool {
    let Some(frame) = space.frame(processor, address) else {
        return false;
    };
    let Some((sdr1, page)) = wide_page(processor, address) else {
        return false;
    };
    let ram = &mut processor.memory.uncore.ram;
    let groups = table::Place::of(sdr1).groups(&page);
    let free = groups
        .into_iter()
        .flat_map(|(group, second)| {
            (0..table::SLOTS).map(move |n| (group as u32 + table::PTE_BYTES * n, second))
        })
        .find(|&(pte, _)| {
            ram.read_u64(pte)
                .is_some_and(|word| word & table::first::V == 0)
        });
    let (pte, second) = free.unwrap_or_else(|| {
        space.pages.victim = (space.pages.victim + 1) % table::SLOTS;
        (
            groups[0].0 as u32 + table::PTE_BYTES * space.pages.victim,
            false,
        )
    });
    let word = page.first(second);
    ram.write_u32(pte + 8, 0)
        && ram.write_u32(pte + 12, frame | ATTRIBUTES)
        && ram.write_u32(pte, (word >> 32) as u32)
        && ram.write_u32(pte + 4, word as u32)
}

/// A 603's miss.
fn reload(processor: &mut Processor, space: &mut Space, srr1: u32, instruction: bool) -> bool {
    let Some(miss) = processor.mmu.soft6xx().map(|unit| unit.miss) else {
        return false;
    };
    let address = if instruction { miss.imiss } else { miss.dmiss };
    let Some(frame) = space.frame(processor, address) else {
        return false;
    };
    if let Some(unit) = processor.mmu.soft6xx_mut() {
        unit.miss.rpa = frame | ATTRIBUTES;
        let reaches = unit.load(address, srr1, instruction, &mut processor.account);
        processor.forget(reaches);
    }
    true
}

/// An 8xx's miss.
fn load(processor: &mut Processor, space: &mut Space, instruction: bool) -> bool {
    const SUBPAGES: u32 = 0xf0;
    /// Mx_TWC\[PS\] of a page of 512 KB.
    const HALF_MEGABYTE: u32 = 1 << 2;
    const ALL_MAY_WRITE: u32 = 0x800;
    const REGISTERS: [[u32; 3]; 2] = [
        [number::MD_EPN, number::MD_TWC, number::MD_RPN],
        [number::MI_EPN, number::MI_TWC, number::MI_RPN],
    ];
    let [missed, level_one, level_two] = REGISTERS[usize::from(instruction)];
    let unit = processor.mmu.mpc8xx();
    let Some(address) = unit.and_then(|unit| unit.read(missed)) else {
        return false;
    };
    let page = address & epn::PAGE & !(space.size(address) - 1);
    let Some(frame) = space.frame(processor, page) else {
        return false;
    };
    let (size_one, size_two) = match space.size(page) {
        size if size == PageSize::K16.bytes() => (0, rpn::SMALL_16K),
        size if size == PageSize::K512.bytes() => (HALF_MEGABYTE, 0),
        _ => (0, 0),
    };
    let word = frame | ALL_MAY_WRITE | rpn::CHANGED | SUBPAGES | rpn::VALID | size_two;
    for (register, value) in [(level_one, twc::VALID | size_one), (level_two, word)] {
        if let Some(unit) = processor.mmu.mpc8xx_mut() {
            let reaches = unit.write(register, value, &mut processor.account);
            processor.forget(reaches);
        }
    }
    true
}

/// A 405's miss. The entries are replaced in turn.
fn load_unified(processor: &mut Processor, space: &mut Space, address: u32) -> bool {
    let size = space.size(address);
    let page = address & !(size - 1);
    let Some(frame) = space.frame(processor, page) else {
        return false;
    };
    let number = space.pages.next_entry;
    space.pages.next_entry = (number + 1) % ENTRIES;
    if let Some(unit) = processor.mmu.ppc405_mut() {
        unit.write_low(number, frame | low::EXECUTE | low::WRITE);
        // The code of 1 KB is 0, and each further one means four times as much.
        let code = (size.ilog2() - 10) / 2;
        let high = page | code << 7 | high::VALID;
        unit.write_high(number, high, &mut processor.account);
    }
    true
}

/// The sizes of pages that the processor can be given here, the smallest first.
pub(super) fn page_sizes(processor: &Processor) -> &'static [u32] {
    const K: u32 = 1 << 10;
    match processor.mmu.kind() {
        Kind::Mpc8xx(_) => &[4 * K, 16 * K, 512 * K],
        Kind::Ppc405(_) => &[4 * K, 16 * K, 64 * K, 256 * K, 1024 * K, 4096 * K],
        Kind::Hash32(_) | Kind::Soft6xx(_) | Kind::Hash64(_) => &[4 * K],
    }
}

/// SDR1 and the page of an address of a 970.
fn wide_page(processor: &Processor, address: u32) -> Option<(u64, Page)> {
    let unit = processor.mmu.hash64()?;
    let segment = unit.slb.find(address.into())?;
    let page = Page {
        ea: address.into(),
        vsid: segment.vsid(),
        large: false,
    };
    Some((unit.sdr1, page))
}

/// No PTE and no TLB entry for `page` remains.
fn forget(processor: &mut Processor, page: u32) {
    if let Kind::Hash32(unit) = processor.mmu.kind() {
        let (sdr1, segment) = (unit.front.sdr1, unit.front.segments.get(page));
        let found = hash::peek(sdr1, segment, page, &processor.memory.uncore.ram);
        if let Some(found) = found {
            processor.memory.uncore.ram.write_u32(found.pa, 0);
        }
    }
    if let Some((sdr1, page)) = wide_page(processor, page) {
        let found = table::peek(sdr1, &page, &processor.memory.uncore.ram);
        if let Some(found) = found {
            processor.memory.uncore.ram.write_u32(found.pa + 4, 0);
        }
    }
    let reaches = processor
        .mmu
        .invalidate(Invalidation::Address(page), &mut processor.account);
    processor.forget(reaches);
}
