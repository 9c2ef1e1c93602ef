//! What is written over the bus: lines and single beats, to memory and to what stands beside it.

use super::{Bus, MemoryPace, TAKEN};
use crate::account::{Account, Plain};
use crate::memory::RamAddress;

impl Bus {
    /// Writes the line at `pa` to the L3 or to memory, posted at `now`; returns the cycle of its last beat.
    #[inline(always)]
    pub fn write_line(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        if let Some(mut third) = self.third.take() {
            let done = third.write_line(pa, now, self, account.cause, account);
            self.third = Some(third);
            return done;
        }
        let start = self.begin(now, account);
        self.write_memory(start, start, pa, self.pace.burst, account)
    }

    /// A write of `beats` that began at `start` and goes to memory, which is asked at the edge `from`. Returns the
    /// cycle of its last beat.
    #[inline(always)]
    pub(in crate::memory) fn write_memory(
        &mut self,
        start: u64,
        from: u64,
        pa: RamAddress,
        beats: u32,
        account: &mut Account,
    ) -> u64 {
        self.write_both((start, (0, 0)), from, pa, beats, account)
    }

    /// [`Bus::write_memory`] of what something beside memory takes too, at its own pace: the first beat `first` half
    /// core cycles after the start at the earliest, a beat every `next` clocks at most.
    #[inline(always)]
    pub(in crate::memory) fn write_both(
        &mut self,
        (start, (first, next)): (u64, (u64, u32)),
        from: u64,
        pa: RamAddress,
        beats: u32,
        account: &mut Account,
    ) -> u64 {
        let free = self.data_free(false).max(start + first);
        let last = match self.timing.memory {
            MemoryPace::Constant(t) => {
                let first = self.after(from, t.write_first).max(free);
                self.after(first, (beats - 1) * t.write_next)
            }
            MemoryPace::Parts(t) if t.write_buffer > 0 => {
                let room = self.room(from, false);
                let first = self.after(from, TAKEN).max(free).max(room);
                let last = self.after(first, (beats - 1) * next.max(1));
                self.post(pa, beats, last, false);
                last
            }
            MemoryPace::Parts(t) => {
                let (first, last) = self.access::<false>(
                    pa,
                    (from, self.after(0, t.write_delay)),
                    free,
                    (beats, self.span(beats)),
                );
                last.max(self.after(first, (beats - 1) * next))
            }
        };
        account.add_plain(Plain::BusWrite, 1);
        self.end::<false, false>(start, last, (false, 0), account)
    }

    /// [`Bus::write_both`] of a beat or less. `ONE`: [`super::super::Uncore::posts_one`] is true.
    #[inline(always)]
    pub(in crate::memory) fn write_beat<const ONE: bool>(
        &mut self,
        (start, first): (u64, u64),
        from: u64,
        pa: RamAddress,
        account: &mut Account,
    ) -> u64 {
        let free = self.data_free(false).max(start + first);
        let taken = self.after(from, TAKEN).max(free);
        let on_bus = (self.data_edge, self.pace.write);
        match &mut self.parts {
            Some(parts) if ONE => {
                // It has room when what waited has been written.
                let last = parts.replace(pa, on_bus, |written| taken.max(written));
                account.add_plain(Plain::BusWrite, 1);
                self.end::<false, ONE>(start, last, (false, 0), account)
            }
            _ => self.write_both((start, (first, 0)), from, pa, 1, account),
        }
    }

    /// A write of `beats` that began at `start` and is taken by something beside memory: the first beat after `first`
    /// clocks, a beat every `next`. Returns the cycle of its last beat.
    pub(in crate::memory) fn write_beside(
        &mut self,
        start: u64,
        (first, next): (u32, u32),
        beats: u32,
        account: &mut Account,
    ) -> u64 {
        let first = self.after(start, first).max(self.data_free(false));
        let last = self.after(first, (beats - 1) * next);
        account.add_plain(Plain::BusWrite, 1);
        self.end::<false, false>(start, last, (false, 0), account)
    }

    /// A line goes out of a look-aside L2 over the data bus, within the transaction that takes its place, and that
    /// began at `start`: its first beat after `first` clocks, a beat every `next`. It waits in the copy-back buffer, or
    /// goes to memory at once where there is none. Returns the edge of its last beat.
    pub(in crate::memory) fn cast_out(
        &mut self,
        pa: RamAddress,
        start: u64,
        (first, next): (u32, u32),
    ) -> u64 {
        let beats = self.pace.burst;
        let free = self.data_free(false);
        let first = self.after(start, first).max(free);
        let last = match self.timing.memory {
            MemoryPace::Parts(t) if t.copy_back == 0 => {
                let (first, last) = self.access::<false>(
                    pa,
                    (start, self.after(0, t.write_delay)),
                    first,
                    (beats, self.span(beats)),
                );
                last.max(self.after(first, (beats - 1) * next))
            }
            _ => {
                let first = first.max(self.room(start, true));
                let last = self.after(first, (beats - 1) * next);
                self.post(pa, beats, last, true);
                last
            }
        };
        self.data_edge = last;
        self.was_read = false;
        last
    }

    /// The edge from which the write buffer, or the copy-back buffer, has a place, for a transaction at `from`.
    #[inline(never)]
    fn room(&mut self, from: u64, copy_back: bool) -> u64 {
        let Some(parts) = &mut self.parts else {
            return 0;
        };
        let (room, last) = parts.room(from, copy_back, self.data_edge);
        if let Some(last) = last
            && !parts.overlaps()
        {
            self.data_edge = self.data_edge.max(last);
        }
        room
    }

    /// How long the parts take from the first of `beats` to the last.
    fn span(&self, beats: u32) -> u64 {
        self.parts
            .as_ref()
            .map_or(0, |parts| parts.dram.span(beats))
    }

    #[inline(always)]
    fn post(&mut self, pa: RamAddress, beats: u32, ready: u64, copy_back: bool) {
        if let Some(parts) = &mut self.parts {
            parts.post(pa, beats, ready, copy_back);
        }
    }

    /// Writes a beat or less at `pa`; returns the cycle at which it is done.
    #[inline]
    pub fn write_single<const ONE: bool>(
        &mut self,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let start = self.begin(now, account);
        self.write_beat::<ONE>((start, 0), start, pa, account)
    }
}
