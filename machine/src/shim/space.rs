//! The address space of a program: its areas and their frames. The architecture maps them.

use std::collections::BTreeMap;

use super::Hosted;
use super::areas::{Areas, PAGE, parts};

/// An address space.
pub struct Space<C: Hosted> {
    areas: Areas,
    /// Frame of each page that was touched.
    frames: BTreeMap<u32, u32>,
    /// Frames given back.
    free: Vec<u32>,
    /// First frame never given out.
    next: u32,
    /// What the architecture remembers.
    pub pages: C::Pages,
}

impl<C: Hosted> Space<C> {
    /// An empty one, which gives out frames from `first` on.
    pub(super) fn new(pages: C::Pages, first: u32) -> Self {
        Space {
            areas: Areas::default(),
            frames: BTreeMap::new(),
            free: Vec::new(),
            next: first,
            pages,
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
    pub fn remove(&mut self, processor: &mut C, start: u32, end: u32) {
        self.areas.remove(start, end);
        let pages = self.frames.range(start..end);
        let pages: Vec<u32> = pages.map(|(&page, _)| page).collect();
        for page in pages {
            if let Some(frame) = self.frames.remove(&page) {
                self.free.push(frame);
            }
            processor.unmap(page);
        }
    }

    /// A fresh frame of zeroes. None: RAM is full.
    pub fn fresh(&mut self, processor: &mut C) -> Option<u32> {
        let used = self.free.pop();
        let frame = used.unwrap_or(self.next);
        let ram = &mut processor.memory_mut().uncore.ram;
        // If RAM is full, the next call must fail, too.
        if !ram.zero(frame, PAGE as usize) {
            return None;
        }
        processor.frame_written(frame);
        if used.is_none() {
            self.next += PAGE;
        }
        Some(frame)
    }

    /// True if the page of `address` has been touched.
    pub fn has(&self, address: u32) -> bool {
        self.frames.contains_key(&(address & !(PAGE - 1)))
    }

    /// The frame of `address`'s page; a fresh one is zero. None: not allowed, or RAM is full.
    pub fn frame(&mut self, processor: &mut C, address: u32) -> Option<u32> {
        let page = address & !(PAGE - 1);
        if let Some(&frame) = self.frames.get(&page) {
            return Some(frame);
        }
        if !self.areas.allow(address) {
            return None;
        }
        let frame = self.fresh(processor)?;
        if !processor.map(self, page, frame) {
            return None;
        }
        self.frames.insert(page, frame);
        Some(frame)
    }

    /// Writes the program's memory. False: it may not use all of it.
    pub fn write(&mut self, processor: &mut C, address: u32, bytes: &[u8]) -> bool {
        let mut at = address;
        for part in parts(address, bytes.len()) {
            let Some(frame) = self.frame(processor, at) else {
                return false;
            };
            let start = (frame + at % PAGE) as usize;
            let ram = processor.memory_mut().uncore.ram.bytes_mut();
            ram[start..start + part.len()].copy_from_slice(&bytes[part.clone()]);
            processor.frame_written(frame);
            at = at.wrapping_add(part.len() as u32);
        }
        true
    }

    /// Reads the program's memory. False: it may not use all of it.
    pub fn read(&mut self, processor: &mut C, address: u32, bytes: &mut [u8]) -> bool {
        let mut at = address;
        for part in parts(address, bytes.len()) {
            let Some(frame) = self.frame(processor, at) else {
                return false;
            };
            let start = (frame + at % PAGE) as usize;
            let length = part.len();
            bytes[part]
                .copy_from_slice(&processor.memory().uncore.ram.bytes()[start..start + length]);
            at = at.wrapping_add(length as u32);
        }
        true
    }
}
