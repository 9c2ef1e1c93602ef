//! The processor bus: when a transaction begins, and when its data is transferred.
//!
//! Bus clock edge k is at core cycle floor(k × ratio). A transaction begins `request` clocks after the first edge at
//! or after its request, or when the bus takes another address, whichever is later. With a `depth` of 1 that is
//! `turnaround` clocks after the last beat of the transaction before it. With a greater one an address tenure may
//! begin while the data of up to `depth` less one transactions before it is still to come; data follows data in the
//! order of the addresses, with `turnaround` dead clocks between. A beat of a read reaches the core `return_path`
//! clocks after it was on the bus. Transactions are served in the order of their requests.

use super::RamAddress;
use super::delivery::Delivery;
use super::l2::L2;
use super::parts::{Parts, PartsTiming};
use crate::account::{Account, Plain};
use serde::{Deserialize, Serialize};

/// The most processors that a machine has (config/check/core.rs).
const PROCESSORS: usize = 8;

/// Bus timing in bus clocks; the sources are beside the values in the machine files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusTiming {
    /// Core clocks per bus clock, times two (2:1 is 4, 2.5:1 is 5).
    pub ratio_x2: u32,
    /// From a request to the start of its address tenure on an idle bus.
    pub request: u32,
    /// Dead clocks between two data tenures; with a `depth` of 1, clocks from the last beat of a transfer until the
    /// next one can begin.
    pub turnaround: u32,
    /// From a beat of a read on the bus to the core that waits for it.
    pub return_path: u32,
    /// Transactions on the bus at a time: 1 to [`DEPTH_MOST`].
    pub depth: u32,
    /// No dead clock between the data of two burst reads.
    pub streaming: bool,
    /// What memory takes.
    pub memory: MemoryPace,
    /// A transaction without data, whole.
    pub address_only: u32,
    /// Bytes a beat (8 on the 60x bus).
    pub beat: u32,
}

/// Transactions on a bus at a time, at most: a P6's.
pub const DEPTH_MOST: u32 = 8;

/// What memory takes for a transfer, in bus clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryPace {
    /// The same at all times.
    Constant(Pattern),
    /// What its parts and their controller need.
    Parts(PartsTiming),
}

/// The clocks of a memory that always takes the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// From the start of a read to its first beat.
    pub read_first: u32,
    /// Between further beats of a burst read.
    pub read_next: u32,
    /// From the start of a write to its first beat.
    pub write_first: u32,
    /// Between further beats of a burst write.
    pub write_next: u32,
}

/// What of [`BusTiming`] each transaction needs, in half core cycles. A bus that was read from a snapshot has it from
/// [`Bus::restore`].
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    /// A clock.
    clock: u64,
    /// A clock less one, if it is a power of two; else 0.
    within: u64,
    request: u64,
    turnaround: u64,
    /// From a beat to the next that another transfer can have, and to that of a burst read after another one.
    next: u64,
    next_read: u64,
    return_path: u64,
    /// From an address tenure to the next.
    address: u64,
    /// Bytes of a beat: 1 << this.
    shift: u32,
}

impl Pace {
    fn new(timing: &BusTiming) -> Self {
        let clock = u64::from(timing.ratio_x2);
        let clocks = |number: u32| u64::from(number) * clock;
        let next = clocks(1 + timing.turnaround);
        Self {
            clock,
            within: if clock.is_power_of_two() {
                clock - 1
            } else {
                0
            },
            request: clocks(timing.request),
            turnaround: clocks(timing.turnaround),
            next,
            next_read: if timing.streaming { clock } else { next },
            return_path: clocks(timing.return_path),
            address: clocks(ADDRESS),
            shift: timing.beat.trailing_zeros(),
        }
    }
}

/// The bus and when it is free.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bus {
    timing: BusTiming,
    #[serde(skip)]
    pace: Pace,
    /// The parts of memory, if it has any.
    parts: Option<Parts>,
    /// The L3, if there is one. Lines go through it.
    third: Option<Box<L2>>,
    /// The edge from which an address tenure can begin, in half core cycles: a multiple of the ratio.
    free_edge: u64,
    /// The edge of the last beat on the data bus.
    data_edge: u64,
    /// The last data tenure was a burst read.
    was_read: bool,
    /// The edges at which the last transfers end, the newest first; as many as [`BusTiming::depth`] counts.
    ends: [u64; DEPTH_MOST as usize],
    /// The core cycle at which the last transfer is over, for reads at the core.
    done: u64,
    /// The core cycle at which each processor's last `tlbie` is over.
    invalidated: [u64; PROCESSORS],
}

/// The clocks from an address tenure to the next: TS, AACK, ARTRY (Bus Interface for 32-Bit Microprocessors 3-18); the
/// request phase of a P6's bus takes three, too (recalled).
const ADDRESS: u32 = 3;

/// The clocks from the start of a write to its first beat, if whoever takes it has a place for it: the address, then
/// the data (60x bus, i486; a P6's data waits for nothing else).
const TAKEN: u32 = 2;

impl Bus {
    /// A bus that is free from cycle 0.
    #[must_use]
    pub fn new(timing: BusTiming) -> Self {
        let parts = match timing.memory {
            MemoryPace::Constant(_) => None,
            MemoryPace::Parts(parts) => Some(Parts::new(parts, timing.ratio_x2)),
        };
        Self {
            timing,
            pace: Pace::new(&timing),
            parts,
            third: None,
            free_edge: 0,
            data_edge: 0,
            was_read: false,
            ends: [0; DEPTH_MOST as usize],
            done: 0,
            invalidated: [0; PROCESSORS],
        }
    }

    /// Takes over a state that [`Bus::fits`].
    pub(crate) fn restore(&mut self, state: Bus) {
        let pace = self.pace;
        *self = Bus { pace, ..state };
    }

    /// Puts an L3 between those on the bus and memory.
    pub(super) fn stand_before_memory(&mut self, l3: L2) {
        self.third = Some(Box::new(l3));
    }

    /// The L3, if there is one.
    #[must_use]
    pub fn third(&self) -> Option<&L2> {
        self.third.as_deref()
    }

    /// Its timing.
    #[must_use]
    pub fn timing(&self) -> &BusTiming {
        &self.timing
    }

    /// The core cycle from which the bus is free, which tests compare.
    #[inline]
    #[must_use]
    pub fn free_at(&self) -> u64 {
        self.free_edge / 2
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self, ram: usize) -> bool {
        let latest = crate::config::LATEST;
        let ratio = u64::from(self.timing.ratio_x2);
        let edge = |at: u64| at < latest && at.is_multiple_of(ratio);
        let parts = match (&self.parts, &fresh.parts) {
            (Some(parts), Some(fresh)) => parts.fits(fresh, ram),
            (None, None) => true,
            _ => false,
        };
        let third = match (&self.third, &fresh.third) {
            (Some(third), Some(fresh)) => third.fits(fresh, ram),
            (None, None) => true,
            _ => false,
        };
        self.timing == fresh.timing
            && parts
            && third
            && edge(self.free_edge)
            && edge(self.data_edge)
            && self.ends.iter().all(|&end| edge(end))
            && self.done < latest
    }

    /// The core cycle at which all transfers are done.
    #[must_use]
    pub fn done_at(&self) -> u64 {
        self.done
    }

    /// An address tenure that is asked for at `now`; returns the edge at which it begins, in half core cycles.
    #[inline(always)]
    pub(super) fn begin(&mut self, now: u64, account: &mut Account) -> u64 {
        // Edge k is at cycle floor(k × ratio / 2), which is not before `now` exactly if
        // k × ratio >= 2 × now.
        let asked = match self.pace.within {
            0 => self.edge_from(now),
            within => (2 * now + within) & !within,
        };
        let ready = asked + self.pace.request;
        let edge = ready.max(self.free_edge);
        if edge > ready {
            account.add_plain(Plain::BusWait, (edge - ready) / 2);
        }
        edge
    }

    /// The first edge that is not before `now`, where a clock is no power of two.
    #[inline(never)]
    fn edge_from(&self, now: u64) -> u64 {
        let ratio = self.timing.ratio_x2;
        // It is counted from where the bus is free, which is near as a rule.
        match (2 * now).checked_sub(self.free_edge).map(u32::try_from) {
            Some(Ok(idle)) => self.free_edge + u64::from(idle.next_multiple_of(ratio)),
            _ => (2 * now).next_multiple_of(u64::from(ratio)),
        }
    }

    /// The transaction that began at `start` has its last beat at `last`, and is over for the core `back` half core
    /// cycles later.
    #[inline(always)]
    pub(super) fn end(
        &mut self,
        start: u64,
        last: u64,
        (read, back): (bool, u64),
        account: &mut Account,
    ) {
        let held = last + self.pace.turnaround;
        if self.timing.depth == 1 {
            account.add_plain(Plain::BusCycles, (held - start) / 2);
            self.free_edge = held;
        } else {
            let from = start.max(self.data_edge + self.pace.turnaround);
            account.add_plain(Plain::BusCycles, held.saturating_sub(from) / 2);
            let oldest = if self.timing.depth == 2 {
                self.ends[1] = std::mem::replace(&mut self.ends[0], last);
                self.ends[1]
            } else {
                self.another_end(last)
            };
            self.free_edge = (start + self.pace.address).max(oldest + self.pace.clock);
        }
        self.data_edge = last;
        self.was_read = read;
        self.done = (last + back) / 2;
    }

    /// A transfer ends at `last`; returns when the oldest of those on the bus ends then.
    #[inline(never)]
    fn another_end(&mut self, last: u64) -> u64 {
        let depth = self.timing.depth as usize;
        self.ends.copy_within(0..depth - 1, 1);
        self.ends[0] = last;
        self.ends[depth - 1]
    }

    /// A transaction of `clocks` without data, asked for at `now`. Returns the cycle at which it is done.
    fn address_tenure(&mut self, now: u64, clocks: u32, account: &mut Account) -> u64 {
        let start = self.begin(now, account);
        self.free_edge = self.after(start, clocks);
        let over = self.free_edge / 2;
        // Data of the transactions before it may still be to come.
        self.done = if self.timing.depth == 1 {
            over
        } else {
            self.done.max(over)
        };
        account.add_plain(Plain::BusCycles, (self.free_edge - start) / 2);
        over
    }

    /// The edge `clocks` after `edge`.
    #[inline(always)]
    pub(super) fn after(&self, edge: u64, clocks: u32) -> u64 {
        edge + u64::from(clocks) * self.pace.clock
    }

    /// The first edge at which the next data tenure can have a beat.
    #[inline(always)]
    pub(super) fn data_free(&self, burst_read: bool) -> u64 {
        if self.data_edge == 0 {
            return 0;
        }
        let next = if burst_read && self.was_read {
            self.pace.next_read
        } else {
            self.pace.next
        };
        self.data_edge + next
    }

    /// Reads the line of `bytes` at `pa`, whose request is made at `now`, from the L3 or from memory.
    #[inline(always)]
    pub fn read_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        bytes: u32,
        account: &mut Account,
    ) -> Delivery {
        if self.third.is_some() {
            return self.read_by_third(pa, now, account);
        }
        let start = self.begin(now, account);
        self.read_memory(start, start, pa, bytes, account)
    }

    /// [`Bus::read_line`] from the L3, which there is.
    #[inline(never)]
    fn read_by_third(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> Delivery {
        let Some(mut third) = self.third.take() else {
            unreachable!("there is an L3");
        };
        let delivery = third.read_line(pa, now, self, account.cause, account);
        self.third = Some(third);
        delivery
    }

    /// A burst read that began at `start` and is served by memory, which is asked at the edge `from`.
    #[inline(always)]
    pub(super) fn read_memory(
        &mut self,
        start: u64,
        from: u64,
        pa: RamAddress,
        bytes: u32,
        account: &mut Account,
    ) -> Delivery {
        let beats = self.beats(bytes);
        let free = self.data_free(true);
        let (first, last, steps, group) = match &self.timing.memory {
            MemoryPace::Constant(t) => {
                let first = self.after(from, t.read_first).max(free);
                let last = self.after(first, (beats - 1) * t.read_next);
                (first, last, (t.read_next, 0), 1)
            }
            MemoryPace::Parts(t) => {
                let (steps, group) = (t.dram.steps(), t.dram.group);
                let (first, last) = self.access(pa, from, (t.read_delay, free), beats);
                (first, last, steps, group)
            }
        };
        let delivery = self.delivery(first, steps, group, bytes);
        self.end(start, last, (true, self.pace.return_path), account);
        account.add_plain(Plain::BusRead, 1);
        delivery
    }

    /// The parts' access of `beats` at `pa`, asked for at the edge `from`, after `delay` clocks of the controller and
    /// with the first beat at `free` at the earliest; returns the edges of the first beat and of the last. What was
    /// posted and had time to be written before has been written.
    #[inline(always)]
    fn access(
        &mut self,
        pa: RamAddress,
        from: u64,
        (delay, free): (u32, u64),
        beats: u32,
    ) -> (u64, u64) {
        let ratio = self.pace.clock;
        let mut from = from;
        let Some(parts) = &mut self.parts else {
            return (from, from);
        };
        if !parts.overlaps() {
            from = from.max(self.data_edge);
        }
        if let Some(last) = parts.write_posted(from, Some(pa), self.data_edge)
            && !parts.overlaps()
        {
            self.data_edge = self.data_edge.max(last);
            from = from.max(last);
        }
        let free = free.max(if self.data_edge == 0 {
            0
        } else {
            self.data_edge + ratio
        });
        parts
            .dram
            .access(pa, from + u64::from(delay) * ratio, free, beats)
    }

    /// When the beats of a line reach the core whose first one is on the bus at `first`.
    #[inline(always)]
    pub(super) fn delivery(
        &self,
        first: u64,
        (next, gap): (u32, u32),
        group: u32,
        bytes: u32,
    ) -> Delivery {
        Delivery {
            first: first + self.pace.return_path,
            step: self.after(0, next),
            gap: self.after(0, gap),
            group: group.trailing_zeros(),
            beats: self.beats(bytes),
            shift: self.pace.shift,
        }
    }

    /// Beats of `bytes`.
    #[inline(always)]
    pub(super) fn beats(&self, bytes: u32) -> u32 {
        (bytes >> self.pace.shift).max(1)
    }

    /// Reads a line of `bytes` from something on the bus that has its own beats (a look-aside L2).
    #[inline(always)]
    pub fn read_burst(
        &mut self,
        now: u64,
        bytes: u32,
        first: u32,
        next: u32,
        account: &mut Account,
    ) -> Delivery {
        let start = self.begin(now, account);
        self.read_beside(start, (first, next), bytes, account)
    }

    /// A burst read that began at `start` and is served by something beside memory, `first` clocks later and a beat
    /// every `next` clocks.
    #[inline(always)]
    pub(super) fn read_beside(
        &mut self,
        start: u64,
        (first, next): (u32, u32),
        bytes: u32,
        account: &mut Account,
    ) -> Delivery {
        let first = self.after(start, first).max(self.data_free(true));
        let last = self.after(first, (self.beats(bytes) - 1) * next);
        let delivery = self.delivery(first, (next, 0), 1, bytes);
        self.end(start, last, (true, self.pace.return_path), account);
        account.add_plain(Plain::BusRead, 1);
        delivery
    }

    /// Writes the line of `bytes` at `pa` to the L3 or to memory, posted at `now`; returns the cycle of its last beat.
    #[inline(always)]
    pub fn write_line(
        &mut self,
        pa: RamAddress,
        now: u64,
        bytes: u32,
        account: &mut Account,
    ) -> u64 {
        if let Some(mut third) = self.third.take() {
            let done = third.write_line(pa, now, self, account.cause, account);
            self.third = Some(third);
            return done;
        }
        let start = self.begin(now, account);
        self.write_memory(start, start, pa, bytes, account)
    }

    /// A write of `bytes` that began at `start` and goes to memory, which is asked at the edge `from`. Returns the
    /// cycle of its last beat.
    #[inline(always)]
    pub(super) fn write_memory(
        &mut self,
        start: u64,
        from: u64,
        pa: RamAddress,
        bytes: u32,
        account: &mut Account,
    ) -> u64 {
        self.write_both((start, (0, 0)), from, pa, bytes, account)
    }

    /// [`Bus::write_memory`] of what something beside memory takes too, at its own pace: the first beat `first` clocks
    /// after the start at the earliest, a beat every `next` clocks at most.
    #[inline(always)]
    pub(super) fn write_both(
        &mut self,
        (start, (first, next)): (u64, (u32, u32)),
        from: u64,
        pa: RamAddress,
        bytes: u32,
        account: &mut Account,
    ) -> u64 {
        let beats = self.beats(bytes);
        let free = self.data_free(false).max(self.after(start, first));
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
                let (first, last) = self.access(pa, from, (t.write_delay, free), beats);
                last.max(self.after(first, (beats - 1) * next))
            }
        };
        self.end(start, last, (false, 0), account);
        account.add_plain(Plain::BusWrite, 1);
        self.done
    }

    /// A write of `bytes` that began at `start` and is taken by something beside memory: the first beat after `first`
    /// clocks, a beat every `next`. Returns the cycle of its last beat.
    pub(super) fn write_beside(
        &mut self,
        start: u64,
        (first, next): (u32, u32),
        bytes: u32,
        account: &mut Account,
    ) -> u64 {
        let first = self.after(start, first).max(self.data_free(false));
        let last = self.after(first, (self.beats(bytes) - 1) * next);
        self.end(start, last, (false, 0), account);
        account.add_plain(Plain::BusWrite, 1);
        self.done
    }

    /// A line goes out of a look-aside L2 over the data bus, within the transaction that takes its place, and that
    /// began at `start`: its first beat after `first` clocks, a beat every `next`. It waits in the copy-back buffer, or
    /// goes to memory at once where there is none. Returns the edge of its last beat.
    pub(super) fn cast_out(
        &mut self,
        pa: RamAddress,
        start: u64,
        (first, next): (u32, u32),
        bytes: u32,
    ) -> u64 {
        let beats = self.beats(bytes);
        let free = self.data_free(false);
        let first = self.after(start, first).max(free);
        let last = match self.timing.memory {
            MemoryPace::Parts(t) if t.copy_back == 0 => {
                let (first, last) = self.access(pa, start, (t.write_delay, first), beats);
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

    #[inline(always)]
    fn post(&mut self, pa: RamAddress, beats: u32, ready: u64, copy_back: bool) {
        if let Some(parts) = &mut self.parts {
            parts.post(pa, beats, ready, copy_back);
        }
    }

    /// Reads a beat or less at `pa`; returns the cycle at which the data is there.
    pub fn read_single(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let start = self.begin(now, account);
        let free = self.data_free(false);
        let first = match self.timing.memory {
            MemoryPace::Constant(t) => self.after(start, t.read_first).max(free),
            MemoryPace::Parts(t) => self.access(pa, start, (t.read_delay, free), 1).0,
        };
        self.end(start, first, (false, self.pace.return_path), account);
        account.add_plain(Plain::BusRead, 1);
        self.done
    }

    /// Writes a beat or less at `pa`; returns the cycle at which it is done.
    #[inline]
    pub fn write_single(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let start = self.begin(now, account);
        self.write_memory(start, start, pa, 1, account)
    }

    /// An address tenure that another processor retries: TS, AACK, ARTRY, the shortest that there is (MPC7400 UM 9-22,
    /// BUS 3-18). Returns the cycle at which it is over.
    pub fn retried(&mut self, now: u64, account: &mut Account) -> u64 {
        self.address_tenure(now, ADDRESS, account)
    }

    /// A transaction without data, posted at `now`; returns the cycle at which it is done.
    pub fn address_only(&mut self, now: u64, account: &mut Account) -> u64 {
        let over = self.address_tenure(now, self.timing.address_only, account);
        account.add_plain(Plain::BusAddress, 1);
        over
    }

    /// A broadcast `tlbie` or `tlbsync` of processor `number`. A processor whose own `tlbie` still
    /// waits retries those of others (604 UM p.122; Bus Interface for 32-Bit Microprocessors 4-20):
    /// the tenure is lost, and runs again behind that one. How long a receiver needs for the
    /// invalidation is not documented, and takes no time here.
    pub fn tlb_tenure(
        &mut self,
        number: u8,
        invalidate: bool,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let others = self.invalidated.iter().enumerate();
        let waits = others
            .filter(|&(other, _)| other != usize::from(number))
            .map(|(_, &done)| done)
            .max()
            .unwrap_or(0);
        let mut done = self.address_only(now, account);
        if waits > now {
            account.add_plain(Plain::TlbRetried, 1);
            done = self.address_only(done.max(waits), account);
        }
        if invalidate && let Some(own) = self.invalidated.get_mut(usize::from(number)) {
            *own = done;
        }
        done
    }
}
