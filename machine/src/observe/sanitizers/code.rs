//! Checks that instructions are fetched as they were written. The machine's memory holds only the newest data, so
//! older data in memory and in the I-cache is kept here.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::memory::{Cache, Memory};

/// The state of the `fetch` sanitizer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Code {
    modified: Modified,
    /// Lines whose bytes in the I-cache are not the newest, with these bytes. Such a line was stored to while the
    /// I-cache held it, or the I-cache was filled while the D-cache held it modified. The I-cache watches these
    /// lines. By their places.
    behind: HashMap<u32, Box<[u8]>>,
    /// For each page of RAM: the place of a line that the I-cache held when this was written, with [`NOTED`]; or 0 if
    /// it holds none of the page.
    pages: Box<[u32]>,
}

/// Bit of a line's address in [`Code::pages`].
const NOTED: u32 = 1;

const PAGE: u32 = 4096;

impl Code {
    /// Begins with what the caches hold now.
    #[must_use]
    pub fn new(memory: &Memory) -> Code {
        let pages = memory.uncore.ram.size().div_ceil(PAGE as usize);
        let mut code = Code {
            modified: Modified::new(&memory.data),
            behind: HashMap::new(),
            pages: vec![0; pages].into_boxed_slice(),
        };
        for (_, _, line, _) in memory.instruction.lines() {
            let page = memory.places.physical(line) / PAGE;
            if let Some(page) = code.pages.get_mut(page as usize) {
                *page = line | NOTED;
            }
        }
        code
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self, memory: &Memory) -> bool {
        let (modified, new) = (&self.modified, &fresh.modified);
        let line = new.line as usize;
        let (ram, places) = (&memory.uncore.ram, memory.places);
        let in_ram = |&at: &u32| {
            (at as usize).is_multiple_of(line)
                && (at as usize) < places.size(ram.size())
                && ram.contains(places.physical(at), line)
        };
        (modified.sets, modified.ways, modified.line) == (new.sets, new.ways, new.line)
            && modified.lines.len() == new.lines.len()
            && modified.bytes.len() == new.bytes.len()
            && self.behind.keys().all(in_ram)
            && self.behind.values().all(|bytes| bytes.len() == line)
            && self.pages.len() == fresh.pages.len()
    }

    /// A store, or `dcbz`, is about to write the line at `pa`.
    pub fn storing(&mut self, pa: u32, memory: &mut Memory) {
        let line = memory.data.line_address(pa);
        if !memory.data.is_dirty(line) {
            self.modified
                .keep(line, content(line, memory), &memory.data);
        }
        for place in memory.places.all(line) {
            if memory.instruction.find(place).is_some() {
                self.left_behind(line, place, memory);
            }
        }
    }

    /// The I-cache holds `line`, which is about to be written, in `place`.
    fn left_behind(&mut self, line: u32, place: u32, memory: &mut Memory) {
        // There is no call when a line leaves the I-cache.
        let shape = memory.instruction.geometry();
        if self.behind.len() > 2 * (shape.size / shape.line) as usize {
            self.behind
                .retain(|&line, _| memory.instruction.find(line).is_some());
        }
        self.behind
            .entry(place)
            .or_insert_with(|| content(line, memory).into());
        memory.instruction.watch(place);
    }

    /// Instructions are about to be fetched from the place `at` on; call before the I-cache looks. Reports the line if
    /// its words from there on are not the newest.
    pub fn fetched(&mut self, at: u32, memory: &Memory) -> Option<String> {
        let place = memory.instruction.line_address(at);
        let line = memory.places.physical(place);
        let held = memory.instruction.enabled() && memory.instruction.find(place).is_some();
        if !held {
            // A fill: the I-cache now holds what memory holds.
            let memory_has = if memory.data.is_dirty(line) {
                self.modified.find(line)
            } else {
                None
            };
            match memory_has {
                Some(bytes) => self.behind.insert(place, bytes.into()),
                None => self.behind.remove(&place),
            };
        }
        let from = (at - place) as usize;
        if self.behind.get(&place)?[from..] == content(line, memory)[from..] {
            return None;
        }
        Some(if held {
            format!(
                "stale fetch: the instruction cache holds line {line:#010x} as it was before it was written; no icbi came between"
            )
        } else {
            format!(
                "incoherent fetch: the data cache holds line {line:#010x} modified; no dcbst came between"
            )
        })
    }

    /// The I-cache has filled the line in the place `at`. True if it held no line of this page before.
    pub fn filled(&mut self, at: u32, memory: &mut Memory) -> bool {
        let place = memory.instruction.line_address(at);
        if self.behind.contains_key(&place) {
            memory.instruction.watch(place);
        }
        self.pages
            .get_mut((memory.places.physical(place) / PAGE) as usize)
            .is_some_and(|page| std::mem::replace(page, place | NOTED) == 0)
    }

    /// True if the I-cache holds a line of the page at `pa`.
    pub fn holds(&mut self, pa: u32, memory: &Memory) -> bool {
        let Some(page) = self.pages.get_mut((pa / PAGE) as usize) else {
            return false;
        };
        let cache = &memory.instruction;
        if *page == 0 || cache.find(*page).is_some() {
            return *page != 0;
        }
        let bytes = cache.geometry().line;
        let lines = (0..PAGE / bytes).map(|n| (pa & !(PAGE - 1)) + n * bytes);
        let mut lines = lines.flat_map(|line| memory.places.all(line));
        *page = lines
            .find(|&line| cache.find(line).is_some())
            .map_or(0, |line| line | NOTED);
        *page != 0
    }
}

/// The contents in memory of lines that the D-cache holds modified: one place for each line of the D-cache, set by
/// set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Modified {
    sets: u32,
    ways: u32,
    /// Bytes in a line.
    line: u32,
    /// A line's address and [`NOTED`], or 0.
    lines: Box<[u32]>,
    bytes: Box<[u8]>,
}

impl Modified {
    fn new(cache: &Cache) -> Modified {
        let shape = cache.geometry();
        Modified {
            sets: shape.sets(),
            ways: shape.ways,
            line: shape.line,
            lines: vec![0; (shape.sets() * shape.ways) as usize].into_boxed_slice(),
            bytes: vec![0; shape.size as usize].into_boxed_slice(),
        }
    }

    /// The places of `line`'s set.
    fn places(&self, line: u32) -> std::ops::Range<usize> {
        let first = ((line / self.line) & (self.sets - 1)) * self.ways;
        first as usize..(first + self.ways) as usize
    }

    fn place(&self, line: u32) -> Option<usize> {
        self.places(line)
            .find(|&place| self.lines[place] == line | NOTED)
    }

    fn span(&self, place: usize) -> std::ops::Range<usize> {
        let bytes = self.line as usize;
        place * bytes..(place + 1) * bytes
    }

    /// `line`, which `cache` does not hold modified, is about to be written.
    fn keep(&mut self, line: u32, content: &[u8], cache: &Cache) {
        let free = |place: &usize| {
            let held = self.lines[*place];
            held == 0 || !cache.is_dirty(held)
        };
        // If there is no place, the store bypasses the cache, which will not hold the line modified.
        let found = self.place(line).or_else(|| self.places(line).find(free));
        if let Some(place) = found {
            self.lines[place] = line | NOTED;
            let span = self.span(place);
            self.bytes[span].copy_from_slice(content);
        }
    }

    /// The contents in memory of `line`, which the cache holds modified. `None` if it was modified before the
    /// sanitizer began.
    fn find(&self, line: u32) -> Option<&[u8]> {
        self.place(line).map(|place| &self.bytes[self.span(place)])
    }
}

/// A line of RAM, its newest data.
fn content(line: u32, memory: &Memory) -> &[u8] {
    let bytes = memory.instruction.geometry().line as usize;
    &memory.uncore.ram.bytes()[line as usize..line as usize + bytes]
}
