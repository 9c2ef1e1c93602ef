//! The address space of a program: its areas, their pages, and the page tables.

use std::collections::BTreeMap;

use crate::shim::areas::{Areas, PAGE, parts};
use crate::x86::processor::Processor;
use crate::x86::tlb::pte;

/// Physical address of the page directory.
pub const DIRECTORY: u32 = 0x1000;
/// Physical address of the descriptor table.
const DESCRIPTORS_FRAME: u32 = 0x2000;
/// Its linear address, in the kernel's part of the address space.
pub const DESCRIPTORS: u32 = 0xffff_f000;
/// Entries of the table: those of Linux up to the user's data, of which 6 to 8 are the program's own.
pub const DESCRIPTORS_LIMIT: u16 = 8 * 16 - 1;
/// The first frame that programs get.
const FIRST: u32 = 0x10_0000;

pub struct Space {
    areas: Areas,
    /// Frame of each page that was touched.
    frames: BTreeMap<u32, u32>,
    /// Frames given back.
    free: Vec<u32>,
    /// First frame never given out.
    next: u32,
}

impl Space {
    /// An empty one.
    pub fn new(processor: &mut Processor) -> Self {
        let mut space = Space {
            areas: Areas::default(),
            frames: BTreeMap::new(),
            free: Vec::new(),
            next: FIRST,
        };
        // Flat code and data of ring 3, at the places where Linux has them: 14 and 15.
        for (number, high) in [(14, 0x00cf_fb00), (15, 0x00cf_f300)] {
            space.set_descriptor(processor, number, (0xffff, high));
        }
        let supervisor = pte::PRESENT | pte::WRITE;
        space.map(processor, DESCRIPTORS, DESCRIPTORS_FRAME, supervisor);
        space
    }

    /// Writes a descriptor.
    pub fn set_descriptor(
        &mut self,
        processor: &mut Processor,
        number: u32,
        (low, high): (u32, u32),
    ) {
        let ram = &mut processor.memory.uncore.ram;
        let at = DESCRIPTORS_FRAME + 8 * number;
        ram.write_u32(at, low.swap_bytes());
        ram.write_u32(at + 4, high.swap_bytes());
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
            if let Some(entry) = entry_of(processor, page) {
                processor.memory.uncore.ram.write_u32(entry, 0);
            }
            processor.drop_translation(page);
        }
    }

    /// A fresh frame of zeroes.
    fn fresh(&mut self, processor: &mut Processor) -> Option<u32> {
        let used = self.free.pop();
        let frame = used.unwrap_or(self.next);
        // If RAM is full, the next call must fail, too.
        if !processor.memory.uncore.ram.zero(frame, PAGE as usize) {
            return None;
        }
        processor.code_changed(frame);
        if used.is_none() {
            self.next += PAGE;
        }
        Some(frame)
    }

    /// Enters a page in the tables. False: RAM is full.
    fn map(&mut self, processor: &mut Processor, page: u32, frame: u32, bits: u32) -> bool {
        if entry_of(processor, page).is_none() {
            let Some(table) = self.fresh(processor) else {
                return false;
            };
            const ALL: u32 = pte::PRESENT | pte::WRITE | pte::USER;
            let slot = DIRECTORY + 4 * (page >> 22);
            let ram = &mut processor.memory.uncore.ram;
            ram.write_u32(slot, (table | ALL).swap_bytes());
        }
        let Some(entry) = entry_of(processor, page) else {
            return false;
        };
        let ram = &mut processor.memory.uncore.ram;
        ram.write_u32(entry, (frame | bits).swap_bytes())
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
        let frame = self.fresh(processor)?;
        let bits = pte::PRESENT | pte::WRITE | pte::USER;
        if !self.map(processor, page, frame, bits) {
            return None;
        }
        self.frames.insert(page, frame);
        Some(frame)
    }

    /// An access to `address` found no page. False if there cannot be one, or if there is one already.
    pub fn fault(&mut self, processor: &mut Processor, address: u32) -> bool {
        let page = address & !(PAGE - 1);
        !self.frames.contains_key(&page) && self.frame(processor, address).is_some()
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
            processor.code_changed(frame);
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

/// Physical address of a page's entry, if there is a table for it.
fn entry_of(processor: &Processor, page: u32) -> Option<u32> {
    let directory = processor.ram_word(DIRECTORY + 4 * (page >> 22))?;
    (directory & pte::PRESENT != 0).then(|| (directory & !0xfff) + 4 * (page >> 12 & 0x3ff))
}
