//! The address space of a program: its areas, their pages, and their entries in hash table and TLBs.

use std::collections::BTreeMap;

use crate::mmu::hash64::{Page, table};
use crate::mmu::mpc8xx::number;
use crate::mmu::mpc8xx::tlb::{epn, rpn, twc};
use crate::mmu::ppc405::{ENTRIES, high, low};
use crate::mmu::{Invalidation, Kind, hash};
use crate::processor::Processor;

use super::areas::Areas;
pub use super::areas::{PAGE, page_up, parts};

/// PTE word 1 besides the frame: R, C, M, PP = 2.
const ATTRIBUTES: u32 = hash::R | hash::C | 0x12;

/// VSID of a segment. There is one process, so any distinct numbers will do.
const fn vsid(segment: u32) -> u32 {
    0x100 + 0x111 * segment
}

pub struct Space {
    areas: Areas,
    /// Frame of each page that was touched.
    frames: BTreeMap<u32, u32>,
    /// Frames given back.
    free: Vec<u32>,
    /// First frame never given out.
    next: u32,
    /// Slot of a PTEG that the next insertion into a full one takes.
    victim: u32,
    /// Entry of a 405's TLB that is loaded next.
    next_entry: u32,
}

impl Space {
    /// An empty one. The hash table goes to the lowest megabytes of RAM, with a slot for each frame at least.
    pub fn new(processor: &mut Processor) -> Self {
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
        Space {
            areas: Areas::default(),
            frames: BTreeMap::new(),
            free: Vec::new(),
            next: 2 * table,
            victim: 0,
            next_entry: 0,
        }
    }

    /// Addresses from `start` to `end` may be used; overlapping areas do no harm.
    pub fn add_area(&mut self, start: u32, end: u32) {
        self.areas.add(start, end);
    }

    /// A free range of `length` bytes, page by page, below the stack and above the heap's reach.
    pub fn find(&self, length: u32) -> Option<u32> {
        self.areas.find(length)
    }

    /// Removes pages from the areas that contain them.
    pub fn remove(&mut self, processor: &mut Processor, start: u32, end: u32) {
        self.areas.remove(start, end);
        let pages: Vec<u32> = self
            .frames
            .range(start..end)
            .map(|(&page, _)| page)
            .collect();
        for page in pages {
            if let Some(frame) = self.frames.remove(&page) {
                self.free.push(frame);
            }
            forget(processor, page);
        }
        processor.state_changed();
    }

    /// The frame of `address`'s page; a fresh one is zero. None: not allowed, or RAM is full.
    fn frame(&mut self, processor: &mut Processor, address: u32) -> Option<u32> {
        let page = address & !(PAGE - 1);
        if let Some(&frame) = self.frames.get(&page) {
            return Some(frame);
        }
        if !self.areas.allow(address) {
            return None;
        }
        let fresh = self.free.is_empty();
        let frame = self.free.pop().unwrap_or(self.next);
        // If RAM is full, the next call must fail, too.
        if !processor.memory.uncore.ram.zero(frame, PAGE as usize) {
            return None;
        }
        if fresh {
            self.next += PAGE;
        }
        self.frames.insert(page, frame);
        Some(frame)
    }

    /// A 604's or 750's access to `address` found no PTE.
    pub fn fault(&mut self, processor: &mut Processor, address: u32) -> bool {
        let Some(frame) = self.frame(processor, address) else {
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
            self.victim = (self.victim + 1) % hash::PTEG_SLOTS;
            (primary + 8 * self.victim, false)
        });
        ram.write_u32(pte + 4, frame | ATTRIBUTES)
            && ram.write_u32(pte, hash::word0(segment, address, second))
    }

    /// A 970's access to `address` found no PTE.
    pub fn fault_wide(&mut self, processor: &mut Processor, address: u32) -> bool {
        let Some(frame) = self.frame(processor, address) else {
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
            self.victim = (self.victim + 1) % table::SLOTS;
            (groups[0].0 as u32 + table::PTE_BYTES * self.victim, false)
        });
        let word = page.first(second);
        ram.write_u32(pte + 8, 0)
            && ram.write_u32(pte + 12, frame | ATTRIBUTES)
            && ram.write_u32(pte, (word >> 32) as u32)
            && ram.write_u32(pte + 4, word as u32)
    }

    /// A 603's miss.
    pub fn reload(&mut self, processor: &mut Processor, srr1: u32, instruction: bool) -> bool {
        let Some(miss) = processor.mmu.soft6xx().map(|unit| unit.miss) else {
            return false;
        };
        let address = if instruction { miss.imiss } else { miss.dmiss };
        let Some(frame) = self.frame(processor, address) else {
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
    pub fn load(&mut self, processor: &mut Processor, instruction: bool) -> bool {
        const SUBPAGES: u32 = 0xf0;
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
        let Some(frame) = self.frame(processor, address & epn::PAGE) else {
            return false;
        };
        let word = frame | ALL_MAY_WRITE | rpn::CHANGED | SUBPAGES | rpn::VALID;
        for (register, value) in [(level_one, twc::VALID), (level_two, word)] {
            if let Some(unit) = processor.mmu.mpc8xx_mut() {
                let reaches = unit.write(register, value, &mut processor.account);
                processor.forget(reaches);
            }
        }
        true
    }

    /// A 405's miss. The entries are replaced in turn.
    pub fn load_unified(&mut self, processor: &mut Processor, address: u32) -> bool {
        const PAGE_4K: u32 = 0x80;
        let Some(frame) = self.frame(processor, address) else {
            return false;
        };
        let number = self.next_entry;
        self.next_entry = (number + 1) % ENTRIES;
        if let Some(unit) = processor.mmu.ppc405_mut() {
            unit.write_low(number, frame | low::EXECUTE | low::WRITE);
            let high = address & !(PAGE - 1) | PAGE_4K | high::VALID;
            unit.write_high(number, high, &mut processor.account);
        }
        true
    }

    /// Writes the program's memory. False: it may not use all of it.
    pub fn write(&mut self, processor: &mut Processor, address: u32, bytes: &[u8]) -> bool {
        let mut at = address;
        for part in parts(address, bytes.len()) {
            let Some(frame) = self.frame(processor, at) else {
                return false;
            };
            let start = (frame + at % PAGE) as usize;
            processor.memory.uncore.ram.bytes_mut()[start..start + part.len()]
                .copy_from_slice(&bytes[part.clone()]);
            at = at.wrapping_add(part.len() as u32);
        }
        true
    }

    /// Reads the program's memory. False: it may not use all of it.
    pub fn read(&mut self, processor: &mut Processor, address: u32, bytes: &mut [u8]) -> bool {
        let mut at = address;
        for part in parts(address, bytes.len()) {
            let Some(frame) = self.frame(processor, at) else {
                return false;
            };
            let start = (frame + at % PAGE) as usize;
            let length = part.len();
            bytes[part]
                .copy_from_slice(&processor.memory.uncore.ram.bytes()[start..start + length]);
            at = at.wrapping_add(length as u32);
        }
        true
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
