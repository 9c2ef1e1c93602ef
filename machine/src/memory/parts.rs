//! Memory as its controller runs it: the parts, and the writes that wait for them.
//!
//! A controller may take a write before the parts do (its write buffer), and a modified line that goes out of a
//! look-aside L2 (the copy-back buffer). What waits is written in order, each when the parts are free; a read goes
//! first if it comes before that. A read of a line that waits comes after its write.

use super::RamAddress;
use super::dram::{Dram, DramTiming};
use serde::{Deserialize, Serialize};

/// The parts and their controller; clocks are bus clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartsTiming {
    /// The parts.
    pub dram: DramTiming,
    /// From the start of a read to the row strobe, and from the parts to the bus.
    pub read_delay: u32,
    /// The same of a write.
    pub write_delay: u32,
    /// Writes that can wait for the parts; 0: the bus waits for them.
    pub write_buffer: u32,
    /// Lines out of a look-aside L2 that can wait; 0: the line that takes such a line's place waits.
    pub copy_back: u32,
    /// The parts may be strobed while the data bus is busy with another transfer.
    pub overlap: bool,
    /// Bytes of a line.
    pub line: u32,
}

impl PartsTiming {
    /// True if the write buffer has one place, and the copy-back buffer none, and if the parts are not strobed while
    /// the data bus is busy.
    pub(super) fn posts_one(&self) -> bool {
        (self.write_buffer, self.copy_back, self.overlap) == (1, 0, false)
    }
}

/// A write that waits for the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Posted {
    pa: RamAddress,
    beats: u32,
    /// The edge at which all of it has been taken.
    ready: u64,
    /// It is in the copy-back buffer.
    copy_back: bool,
}

/// The parts of memory, and what waits for them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Parts {
    timing: PartsTiming,
    /// Half core cycles of a bus clock.
    ratio: u32,
    pub(super) dram: Dram,
    /// The oldest first.
    waiting: Vec<Posted>,
    /// The edges at which the last writes out of the write buffer and out of the copy-back buffer end: their places are
    /// taken until then.
    written: [u64; 2],
}

impl Parts {
    /// Memory with precharged banks and empty buffers. `ratio`: half core cycles of a bus clock.
    #[must_use]
    pub fn new(timing: PartsTiming, ratio: u32) -> Self {
        Self {
            timing,
            ratio,
            dram: Dram::new(timing.dram, ratio),
            waiting: Vec::new(),
            written: [0; 2],
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self, ram: usize) -> bool {
        let edge = |at: u64| at < crate::config::LATEST && at.is_multiple_of(self.ratio.into());
        let places = |copy_back: bool| {
            self.waiting
                .iter()
                .filter(|posted| posted.copy_back == copy_back)
                .count()
        };
        let may_be = |posted: &Posted| {
            (posted.pa as usize) < ram
                && (1..=self.timing.line).contains(&posted.beats)
                && edge(posted.ready)
        };
        self.timing == fresh.timing
            && self.ratio == fresh.ratio
            && self.dram.fits(&fresh.dram)
            && places(false) <= self.timing.write_buffer as usize
            && places(true) <= self.timing.copy_back as usize
            && self.waiting.iter().all(may_be)
            && self.written.iter().all(|&at| edge(at))
    }

    /// The parts may be strobed while the data bus is busy.
    #[inline]
    pub(super) fn overlaps(&self) -> bool {
        self.timing.overlap
    }

    /// The oldest write that waits goes to the parts. `data` is the edge of the last beat on the data bus, which the
    /// parts share unless they overlap. Returns the edge of its last beat.
    #[inline(never)]
    fn write_oldest(&mut self, data: u64) -> Option<u64> {
        // As a rule one waits, and needs no move of others.
        let posted = match self.waiting.len() {
            0 | 1 => self.waiting.pop()?,
            _ => self.waiting.remove(0),
        };
        let start = self.start(&posted, data);
        let delay = u64::from(self.timing.write_delay) * u64::from(self.ratio);
        let beats = (posted.beats, self.dram.span(posted.beats));
        self.dram
            .access::<false>(posted.pa, (start + delay, 0), beats);
        let last = self.dram.busy();
        self.written[usize::from(posted.copy_back)] = last;
        Some(last)
    }

    /// [`Parts::room`] and [`Parts::post`] of a single beat, where [`PartsTiming::posts_one`] is true. What waits is
    /// written after `delay` half core cycles; `ready` says from the edge of its last beat when the new one is taken.
    /// Returns that edge.
    #[inline(always)]
    pub(super) fn replace(
        &mut self,
        pa: RamAddress,
        (data, delay): (u64, u64),
        ready: impl Fn(u64) -> u64,
    ) -> u64 {
        let Some(posted) = self.waiting.first_mut().filter(|posted| posted.beats == 1) else {
            self.write_oldest(data);
            let ready = ready(self.written[0]);
            self.post(pa, 1, ready, false);
            return ready;
        };
        let start = data.max(posted.ready).max(self.dram.busy());
        let (_, last) = (self.dram).access::<false>(posted.pa, (start + delay, 0), (1, 0));
        self.written[0] = last;
        (posted.pa, posted.ready) = (pa, ready(last));
        posted.ready
    }

    /// The edge at which the controller begins a write that waits.
    fn start(&self, posted: &Posted, data: u64) -> u64 {
        let start = posted.ready.max(self.dram.busy());
        if self.timing.overlap {
            start
        } else {
            start.max(data)
        }
    }

    /// Writes what can begin before `until`, and in any case what waits for the line of `pa`. Returns the edge of the
    /// last beat written, if there was any.
    #[inline(always)]
    pub(super) fn write_posted(&mut self, until: u64, pa: Option<u32>, data: u64) -> Option<u64> {
        if self.waiting.is_empty() {
            return None;
        }
        self.write_waiting(until, pa, data)
    }

    #[inline(never)]
    fn write_waiting(&mut self, until: u64, pa: Option<u32>, data: u64) -> Option<u64> {
        let line = |pa: RamAddress| pa & !(self.timing.line - 1);
        let same = |posted: &Posted| pa.is_some_and(|pa| line(posted.pa) == line(pa));
        let mut must = self
            .waiting
            .iter()
            .rposition(same)
            .map_or(0, |place| place + 1);
        let mut last = None;
        while let Some(oldest) = self.waiting.first() {
            let data = data.max(last.unwrap_or_default());
            if must == 0 && self.start(oldest, data) >= until {
                break;
            }
            last = self.write_oldest(data);
            must = must.saturating_sub(1);
        }
        last
    }

    /// The edge from which a buffer has a place for a transaction at `from`, and the edge of the last beat that was
    /// written meanwhile, if there was any.
    #[inline(always)]
    pub(super) fn room(&mut self, from: u64, copy_back: bool, data: u64) -> (u64, Option<u64>) {
        if !copy_back && (self.timing.write_buffer, self.timing.copy_back) == (1, 0) {
            // What waits is written in any case: before `from`, or for its place.
            debug_assert!(self.waiting.len() <= 1, "the buffer has one place");
            let last = self.write_oldest(data);
            let written = self.written[0];
            return (if written > from { written } else { 0 }, last);
        }
        let mut last = self.write_posted(from, None, data);
        let places = if copy_back {
            self.timing.copy_back
        } else {
            self.timing.write_buffer
        } as usize;
        let mut room = 0;
        // Ends, because each turn either waits for a place that is being written, or writes the oldest.
        loop {
            let waiting = self
                .waiting
                .iter()
                .filter(|posted| posted.copy_back == copy_back);
            let written = self.written[usize::from(copy_back)];
            let under_way = written > from.max(room);
            if waiting.count() + usize::from(under_way) < places {
                return (room, last);
            }
            if under_way {
                room = written;
            } else {
                let data = data.max(last.unwrap_or_default());
                last = self.write_oldest(data).or(last);
            }
        }
    }

    /// A buffer takes a write whose last beat is at the edge `ready`.
    #[inline(always)]
    pub(super) fn post(&mut self, pa: RamAddress, beats: u32, ready: u64, copy_back: bool) {
        self.waiting.push(Posted {
            pa,
            beats,
            ready,
            copy_back,
        });
    }
}

#[cfg(test)]
pub(super) mod tests;
