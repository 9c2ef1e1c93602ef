//! The address space of a program: its areas and their frames. The architecture maps them.

use std::collections::BTreeMap;

use super::areas::{Areas, PAGE, parts};
use super::{Asked, Hosted};

/// An address space.
pub struct Space<C: Hosted> {
    areas: Areas,
    /// Frame of each page that was touched.
    frames: BTreeMap<u32, u32>,
    /// Bytes of each page of more than 4 KB, by its first address.
    large: BTreeMap<u32, u32>,
    /// Frames given back.
    free: Vec<u32>,
    /// First frame never given out.
    next: u32,
    /// What the architecture remembers.
    pub pages: C::Pages,
}

impl<C: Hosted> Space<C> {
    /// An empty one, which gives out frames from `first` on.
    pub(crate) fn new(pages: C::Pages, first: u32) -> Self {
        Space {
            areas: Areas::default(),
            frames: BTreeMap::new(),
            large: BTreeMap::new(),
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

    /// Bytes of the page around `address`, as it is mapped.
    pub fn size(&self, address: u32) -> u32 {
        let below = self.large.range(..=address).next_back();
        match below {
            Some((&start, &size)) if address - start < size => size,
            _ => PAGE,
        }
    }

    /// How many frames are in use.
    pub fn touched(&self) -> usize {
        self.frames.len()
    }

    /// Makes the `size` bytes around `address` one page, whose frames follow one another; none of it has been touched.
    /// False: RAM is full, or the processor has no such page.
    pub(crate) fn make_large(&mut self, processor: &mut C, address: u32, size: u32) -> bool {
        let page = address & !(size - 1);
        let Some(frame) = self.next.checked_next_multiple_of(size) else {
            return false;
        };
        if frame as usize + size as usize > processor.memory().uncore.ram.size() {
            return false;
        }
        self.free.extend((self.next..frame).step_by(PAGE as usize));
        self.next = frame + size;
        if !processor.map_large(self, page, frame, size) {
            return false;
        }
        let pages = (0..size).step_by(PAGE as usize);
        self.frames.extend(pages.map(|at| (page + at, frame + at)));
        self.large.insert(page, size);
        true
    }

    /// True if the page of `address` has been touched.
    pub fn has(&self, address: u32) -> bool {
        self.frames.contains_key(&(address & !(PAGE - 1)))
    }

    /// Answers an access whose page is not mapped: maps it, unless there cannot be one, or is one already.
    pub fn missed(&mut self, processor: &mut C, address: u32) -> Asked {
        if !self.has(address) && self.frame(processor, address).is_some() {
            Asked::Done
        } else {
            Asked::Wrong(Some(address))
        }
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
