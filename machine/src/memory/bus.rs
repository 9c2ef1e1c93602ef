//! The processor bus: when a transaction begins, and when its data is transferred.
//!
//! Bus clock edge k is at core cycle floor(k × ratio). A transaction begins `request` clocks after the first edge at
//! or after its request, or when the bus takes another address, whichever is later. With a `depth` of 1 that is
//! `turnaround` clocks after the last beat of the transaction before it. With a greater one an address tenure may
//! begin while the data of up to `depth` less one transactions before it is still to come; data follows data in the
//! order of the addresses, with `turnaround` dead clocks between. A beat of a read reaches the core `return_path`
//! clocks after it was on the bus. Transactions are served in the order of their requests.

use super::RamAddress;
use super::delivery::{Beats, Delivery};
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
    /// Bytes of a line, which a burst transfers.
    pub line: u32,
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
    /// Beats of a line.
    burst: u32,
    /// From the request to memory until a read's first beat; of memory of parts until they are strobed.
    read: u64,
    /// How memory delivers a line.
    delivers: Beats,
    /// From its first beat to its last one.
    span: u64,
    /// What [`Pace::read`] is, of a write.
    write: u64,
}

impl Pace {
    fn new(timing: &BusTiming) -> Self {
        let clock = u64::from(timing.ratio_x2);
        let clocks = |number: u32| u64::from(number) * clock;
        let next = clocks(1 + timing.turnaround);
        let (read, (step, gap), group) = match &timing.memory {
            MemoryPace::Constant(pattern) => (pattern.read_first, (pattern.read_next, 0), 1),
            MemoryPace::Parts(parts) => (parts.read_delay, parts.dram.steps(), parts.dram.group),
        };
        let delivers = timing.beats((clocks(step), clocks(gap)), group);
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
            burst: delivers.last() + 1,
            read: clocks(read),
            delivers,
            span: delivers.span(),
            write: match &timing.memory {
                MemoryPace::Constant(pattern) => clocks(pattern.write_first),
                MemoryPace::Parts(parts) => clocks(parts.write_delay),
            },
        }
    }
}

impl BusTiming {
    /// The beats of a line on this bus, with these half core cycles between them ([`Beats::new`]).
    #[must_use]
    pub fn beats(&self, times: (u64, u64), group: u32) -> Beats {
        Beats::new(times, group, self.line, self.beat)
    }
}

/// How something beside memory answers a burst read; times are in half core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// To the first beat.
    pub first: u64,
    /// From the first beat to the last one.
    pub span: u64,
    /// How the beats follow.
    pub beats: Beats,
}

impl Answer {
    /// The first beat comes after `first` half core cycles, each further one `next` later.
    #[must_use]
    pub fn new(first: u64, next: u64, bus: &BusTiming) -> Self {
        let beats = bus.beats((next, 0), 1);
        Self {
            first,
            span: beats.span(),
            beats,
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

    /// True if it is one of those that [`super::Memory::has_known_shape`] speaks of.
    pub(super) fn has_known_shape(&self) -> bool {
        let closed = |parts: &Parts| !parts.dram.timing().open_page;
        self.timing.depth == 2 && self.parts.as_ref().is_some_and(closed)
    }

    /// True if it is one of those that [`super::Uncore::posts_one`] speaks of.
    pub(super) fn posts_one(&self) -> bool {
        self.timing.depth == 1
            && matches!(&self.timing.memory, MemoryPace::Parts(parts) if parts.posts_one())
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
    /// cycles later. Returns the cycle of that.
    #[inline(always)]
    pub(super) fn end<const KNOWN: bool, const ONE: bool>(
        &mut self,
        start: u64,
        last: u64,
        (read, back): (bool, u64),
        account: &mut Account,
    ) -> u64 {
        let held = last + self.pace.turnaround;
        let depth = match (KNOWN, ONE) {
            (true, _) => 2,
            (_, true) => 1,
            _ => self.timing.depth,
        };
        if depth == 1 {
            account.add_plain(Plain::BusCycles, (held - start) / 2);
            self.free_edge = held;
        } else {
            let from = start.max(self.data_edge + self.pace.turnaround);
            account.add_plain(Plain::BusCycles, held.saturating_sub(from) / 2);
            let oldest = if depth == 2 {
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
        self.done
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

    /// Beats of a line.
    #[inline(always)]
    pub(super) fn burst(&self) -> u32 {
        self.pace.burst
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

    /// Reads the line at `pa`, whose request is made at `now`, from the L3 or from memory.
    #[inline(always)]
    pub fn read_line(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> Delivery {
        if self.third.is_some() {
            return self.read_by_third(pa, now, account);
        }
        let start = self.begin(now, account);
        self.read_memory::<false>(start, start, pa, account)
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
    pub(super) fn read_memory<const KNOWN: bool>(
        &mut self,
        start: u64,
        from: u64,
        pa: RamAddress,
        account: &mut Account,
    ) -> Delivery {
        let (free, pace) = (self.data_free(true), self.pace);
        let (first, last) = if KNOWN || self.parts.is_some() {
            self.access::<KNOWN>(pa, (from, pace.read), free, (pace.burst, pace.span))
        } else {
            let first = (from + pace.read).max(free);
            (first, first + pace.span)
        };
        self.delivered::<KNOWN>(start, (first, last), pace.delivers, account)
    }

    /// The data of a burst read that began at `start` is on the bus from the edge `first` to the edge `last`.
    #[inline(always)]
    fn delivered<const KNOWN: bool>(
        &mut self,
        start: u64,
        (first, last): (u64, u64),
        beats: Beats,
        account: &mut Account,
    ) -> Delivery {
        let back = self.pace.return_path;
        account.add_plain(Plain::BusRead, 1);
        Delivery {
            first: first + back,
            complete: self.end::<KNOWN, false>(start, last, (true, back), account),
            beats,
        }
    }

    /// The parts' access of `beats` at `pa`, with `span` from the first to the last. It is asked for at the edge
    /// `from`, after `delay` half core cycles of the controller and with the first beat at `free` at the earliest;
    /// returns the edges of the first beat and of the last. What was posted and had time to be written before has been
    /// written.
    #[inline(always)]
    fn access<const KNOWN: bool>(
        &mut self,
        pa: RamAddress,
        (mut from, delay): (u64, u64),
        mut free: u64,
        (beats, span): (u32, u64),
    ) -> (u64, u64) {
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
            free = free.max(self.data_edge + self.pace.clock);
        }
        parts
            .dram
            .access::<KNOWN>(pa, (from + delay, free), (beats, span))
    }

    /// Reads a line from something on the bus that answers by itself (a look-aside L2).
    #[inline(always)]
    pub fn read_burst(&mut self, now: u64, answer: &Answer, account: &mut Account) -> Delivery {
        let start = self.begin(now, account);
        self.read_beside::<false>(start, answer, account)
    }

    /// A burst read that began at `start` and is served by something beside memory.
    #[inline(always)]
    pub(super) fn read_beside<const KNOWN: bool>(
        &mut self,
        start: u64,
        answer: &Answer,
        account: &mut Account,
    ) -> Delivery {
        let first = (start + answer.first).max(self.data_free(true));
        self.delivered::<KNOWN>(start, (first, first + answer.span), answer.beats, account)
    }

    /// Reads a beat or less at `pa`; returns the cycle at which the data is there.
    pub fn read_single(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let start = self.begin(now, account);
        let (free, asked) = (self.data_free(false), self.pace.read);
        let first = if self.parts.is_some() {
            self.access::<false>(pa, (start, asked), free, (1, 0)).0
        } else {
            (start + asked).max(free)
        };
        account.add_plain(Plain::BusRead, 1);
        self.end::<false, false>(start, first, (false, self.pace.return_path), account)
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

mod writes;
