//! The one list of counters, and their names.
//!
//! Events that are split by mode and cause are kept as one number for each (mode, cause) pair; totals
//! and the named splits are sums, so that counting costs one addition.

use std::ops::Sub;

use serde::{Deserialize, Serialize};

use super::causes::{CAUSES, Cause, CauseNames};

macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $count:ident { $($(#[$doc:meta])* $item:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $item,)* }

        impl $name {
            /// All of them, in counting order.
            pub const ALL: [Self; $count] = [$(Self::$item,)*];

            /// Its name in counters.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$item => $text,)* }
            }
        }

        /// How many there are.
        pub const $count: usize = [$($text,)*].len();
    };
}
pub(crate) use named;

/// Positions in the mode × cause split of an event: user mode first, then kernel mode.
pub const SLOTS: usize = 2 * CAUSES;

/// Position of a mode and a cause in an event's split.
#[inline]
#[must_use]
pub const fn slot(user: bool, cause: Cause) -> usize {
    (if user { 0 } else { CAUSES }) + cause.index()
}

named! {
    /// Events split by mode (user, kernel) and by cause.
    #[repr(usize)]
    Event, EVENTS {
        /// Core cycles.
        Cycles = "cycles",
        /// Completed instructions.
        Instructions = "instructions",
        /// Fetches translated with MSR\[IR\] = 1, a fetch being one instruction (TLB and BATs are searched side by
        /// side).
        InstructionTlbAccess = "tlb.instruction.access",
        /// Fetches that neither BAT nor ITLB could translate.
        InstructionTlbMiss = "tlb.instruction.miss",
        /// Data accesses translated with MSR\[DR\] = 1.
        DataTlbAccess = "tlb.data.access",
        /// Data accesses that neither BAT nor DTLB could translate.
        DataTlbMiss = "tlb.data.miss",
        /// Instruction fetches.
        InstructionCacheAccess = "cache.instruction.access",
        /// Fetches that the I-cache did not hold (cacheable ones, cache enabled).
        InstructionCacheMiss = "cache.instruction.miss",
        /// Fetches that bypass the I-cache: inhibited, or cache disabled.
        InstructionCacheInhibited = "cache.instruction.inhibited",
        /// I-cache fills of a line that the D-cache holds modified: the fetch sees old memory on hardware.
        InstructionCacheStale = "cache.instruction.stale",
        /// Loads, stores, `dcbz`, and the walker's accesses.
        DataCacheAccess = "cache.data.access",
        /// Those that the D-cache did not hold.
        DataCacheMiss = "cache.data.miss",
        /// Those that bypass the D-cache: inhibited, or cache disabled.
        DataCacheInhibited = "cache.data.inhibited",
        /// Modified lines written out of the D-cache, evicted or by `dcbst`/`dcbf`.
        DataCacheWriteback = "cache.data.writeback",
        /// Lines that `dcbz` made without a read.
        DataCacheEstablish = "cache.data.establish",
        /// Line reads that reached the L2.
        L2Access = "cache.l2.access",
        /// Line reads that the L2 did not hold.
        L2Miss = "cache.l2.miss",
        /// Modified lines written out of the L2.
        L2Writeback = "cache.l2.writeback",
        /// Core cycles stalled for the memory system.
        MemoryStall = "stall.memory",
    }
}

named! {
    /// Events that are counted without a split.
    #[repr(usize)]
    Plain, PLAINS {
        /// Hash-table searches by hardware, those for a C-bit update included.
        HashSearch = "hash.search",
        /// Those for a fetch.
        InstructionSearches = "hash.search.instruction",
        /// Searches that matched in the primary PTEG.
        HashHitPrimary = "hash.hit.primary",
        /// Searches that matched in the secondary PTEG.
        HashHitSecondary = "hash.hit.secondary",
        /// Searches that matched nothing.
        HashMiss = "hash.miss",
        /// PTE reads of all searches.
        HashAccess = "hash.access",
        /// R bits set in memory by hardware.
        HashReferenced = "hash.referenced",
        /// C bits set in memory by hardware.
        HashChanged = "hash.changed",
        /// Cycles of all hardware walks.
        WalkCycles = "walk.cycles",
        /// Cycles of those for a fetch.
        InstructionWalkCycles = "walk.cycles.instruction",
        /// `tlbie` executed: each empties a congruence class, on the 8xx what holds an address. On the 405:
        /// valid entries that `tlbwe` made invalid.
        TlbInvalidate = "tlb.invalidate",
        /// Entries written by `tlbld` and `tlbli`, on the 8xx by Mx_RPN, and valid ones on the 405 by `tlbwe`.
        TlbLoad = "tlb.load",
        /// 603: stores to a resident entry with C = 0 (vector 0x1200 without a miss). 8xx: DTLB errors of that kind.
        TlbChangeTrap = "tlb.data.unchanged",
        /// Bus reads (bursts and single beats).
        BusRead = "bus.read",
        /// Bus writes (bursts and single beats).
        BusWrite = "bus.write",
        BusAddress = "bus.address-only",
        /// Transactions of other processors that this one saw on the bus.
        BusSnoop = "bus.snoop",
        /// Own transactions that another processor retried, because it held the line modified (ARTRY).
        BusRetried = "bus.retried",
        /// Modified lines written to memory because another processor asked for them.
        BusPush = "bus.push",
        /// Kills of a shared line that a store hit.
        BusKill = "bus.kill",
        /// Lines of the D-cache that another processor took.
        LineTaken = "cache.data.taken",
        /// Lines of the processor's own L2 that another processor took.
        L2Taken = "cache.l2.taken",
        /// Modified lines that only that L2 held, written to memory because another processor asked for them.
        L2Push = "cache.l2.push",
        /// Line reads that reached the L3.
        L3Access = "cache.l3.access",
        /// Line reads that the L3 did not hold.
        L3Miss = "cache.l3.miss",
        /// Modified lines written out of the L3.
        L3Writeback = "cache.l3.writeback",
        /// Lines that left the D-cache because an in-line L2 evicted them.
        BackInvalidated = "cache.data.back-invalidated",
        /// `tlbie` of other processors.
        TlbReceived = "tlb.received",
        /// Entries of both TLBs that they removed.
        TlbTaken = "tlb.taken",
        /// Own `tlbie` and `tlbsync` that another processor retried, because its own `tlbie` was not over (ARTRY).
        TlbRetried = "tlb.retried",
        /// Valid entries of another page that loads replaced in the instruction TLB.
        InstructionTlbEvicted = "tlb.instruction.evicted",
        /// Those of the data TLB.
        DataTlbEvicted = "tlb.data.evicted",
        /// Look-ups of the second-level TLB, after a miss of the instruction or the data TLB.
        SecondTlbAccess = "tlb.l2.access",
        /// Those that it did not hold.
        SecondTlbMiss = "tlb.l2.miss",
        /// Valid entries of another page that loads replaced there.
        SecondTlbEvicted = "tlb.l2.evicted",
        /// Core cycles of its look-ups.
        SecondTlbCycles = "tlb.l2.cycles",
        /// Entries that a 405's or 970's hardware put into the shadow TLB, or ERAT, of instructions.
        InstructionShadowRefill = "tlb.shadow.instruction",
        /// Those into that of data.
        DataShadowRefill = "tlb.shadow.data",
        /// Core cycles of the look-ups behind these.
        ShadowCycles = "tlb.shadow.cycles",
        /// Look-ups of the walker's own cache (`walk-cache`, `group-cache`).
        WalkCacheAccess = "walk.cache.access",
        /// Those that it could not answer.
        WalkCacheMiss = "walk.cache.miss",
        /// Entries of another page, or of another group, that it replaced.
        WalkCacheEvicted = "walk.cache.evicted",
        /// `stwcx.` that did not store.
        ReservationFailed = "reservation.failed",
        /// Reservations that an access of another processor ended.
        ReservationLost = "reservation.lost",
        /// Core cycles that `sync` waited.
        SyncCycles = "sync.cycles",
        /// Core cycles in which the bus was busy.
        BusCycles = "bus.cycles",
        /// Core cycles that accesses waited for a busy bus.
        BusWait = "bus.wait",
        /// Core cycles without an instruction, in a power-saving mode (MSR\[POW\]).
        IdleCycles = "idle.cycles",
        /// Branches completed.
        Branch = "branch",
        /// Branches predicted wrongly.
        BranchMispredict = "branch.mispredict",
    }
}

impl Event {
    /// Misses of the TLB of fetches, or of data.
    #[inline]
    #[must_use]
    pub fn tlb_miss(fetch: bool) -> Self {
        if fetch {
            Event::InstructionTlbMiss
        } else {
            Event::DataTlbMiss
        }
    }
}

impl Plain {
    /// Entries that the TLB of fetches, or of data, has replaced.
    #[inline]
    #[must_use]
    pub fn tlb_evicted(fetch: bool) -> Self {
        if fetch {
            Plain::InstructionTlbEvicted
        } else {
            Plain::DataTlbEvicted
        }
    }
}

/// Counters of exceptions that an architecture can have.
pub const EXCEPTIONS: usize = 256;

/// How an architecture calls its counters.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Counters that have another name there: the general name, and that one.
    pub renamed: &'static [(&'static str, &'static str)],
    /// How the names begin of counters that no machine of the architecture moves. They are left out.
    pub absent: &'static [&'static str],
    /// The name of the counter of exceptions with this position; None if there is no such counter.
    pub exception: fn(usize) -> Option<String>,
}

impl Names {
    /// Those that no architecture changes, without exceptions.
    pub const GENERAL: Names = Names {
        renamed: &[],
        absent: &[],
        exception: |_| None,
    };

    /// The architecture's name of a counter; None if it does not have that counter.
    fn of(&self, name: String) -> Option<String> {
        let other = self.renamed.iter().find(|(general, _)| *general == name);
        if let Some((_, own)) = other {
            return Some((*own).to_owned());
        }
        let absent = self.absent.iter().any(|start| name.starts_with(start));
        (!absent).then_some(name)
    }
}

/// Every counter of the machine at an instant. The difference of two is what happened between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Split events: `split[event][slot(user, cause)]`.
    pub split: [[u64; SLOTS]; EVENTS],
    /// Events without a split, by [`Plain`].
    #[serde(with = "serde_big_array::BigArray")]
    pub plain: [u64; PLAINS],
    /// Exceptions taken, by the position that the architecture gives them.
    #[serde(with = "serde_big_array::BigArray")]
    pub exception: [u64; EXCEPTIONS],
    /// Core cycles that passed, in a sum over processors; otherwise 0.
    elapsed: u64,
    /// `pollution[array][evictor][victim]`: misses of `victim` on lines or entries that `evictor` evicted.
    pub pollution: [[[u64; CAUSES]; CAUSES]; super::pollution::ARRAYS],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            split: [[0; SLOTS]; EVENTS],
            plain: [0; PLAINS],
            exception: [0; EXCEPTIONS],
            elapsed: 0,
            pollution: [[[0; CAUSES]; CAUSES]; super::pollution::ARRAYS],
        }
    }
}

impl Counters {
    /// The sum of an event over all modes and causes.
    #[must_use]
    pub fn total(&self, event: Event) -> u64 {
        self.split[event as usize].iter().sum()
    }

    /// The sum of an event over all causes in one mode.
    #[must_use]
    pub fn in_mode(&self, event: Event, user: bool) -> u64 {
        let first = slot(user, Cause::USER);
        self.split[event as usize][first..first + CAUSES]
            .iter()
            .sum()
    }

    /// The sum of an event over both modes for one cause.
    #[must_use]
    pub fn by_cause(&self, event: Event, cause: Cause) -> u64 {
        let split = &self.split[event as usize];
        split[slot(true, cause)] + split[slot(false, cause)]
    }

    /// An event without a split.
    #[must_use]
    pub fn plain(&self, plain: Plain) -> u64 {
        self.plain[plain as usize]
    }

    /// Core cycles that passed: of one processor its cycles; of a sum what [`Counters::set_elapsed`] says.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        match self.elapsed {
            0 => self.total(Event::Cycles),
            elapsed => elapsed,
        }
    }

    /// Says how many core cycles passed, where these are the counters of several processors in sum.
    pub fn set_elapsed(&mut self, cycles: u64) {
        self.elapsed = cycles;
    }

    /// Every counter with its flat name in an architecture, always the same names in the same order.
    ///
    /// A split event gives its total under its name, `.user` and `.kernel` by mode, and
    /// `.cause.<name>` by cause.
    #[must_use]
    pub fn named(&self, names: &Names, causes: &CauseNames) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        let mut add = |name: String, value: u64| out.extend(names.of(name).map(|own| (own, value)));
        for event in Event::ALL {
            let name = event.name();
            add(name.to_string(), self.total(event));
            if matches!(event, Event::Cycles) {
                add("elapsed".to_string(), self.elapsed());
            }
            add(format!("{name}.user"), self.in_mode(event, true));
            add(format!("{name}.kernel"), self.in_mode(event, false));
            for (cause, called) in causes.all() {
                let count = self.by_cause(event, cause);
                add(format!("{name}.cause.{called}"), count);
            }
        }
        for plain in Plain::ALL {
            add(plain.name().to_string(), self.plain(plain));
        }
        for (position, &count) in self.exception.iter().enumerate() {
            if let Some(name) = (names.exception)(position) {
                add(name, count);
            }
        }
        for array in super::Array::ALL {
            let (pollution, name) = (&self.pollution[array as usize], array.name());
            for (evictor, by) in causes.all() {
                for (victim, of) in causes.all() {
                    let count = pollution[evictor.index()][victim.index()];
                    add(format!("pollution.{name}.{by}.{of}"), count);
                }
            }
        }
        out
    }

    /// The counter with this general name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let mut all = (self.named(&Names::GENERAL, &CauseNames::default())).into_iter();
        all.find_map(|(key, value)| (key == name).then_some(value))
    }

    /// True if a run can lead to these counts.
    pub(crate) fn fits(&self) -> bool {
        let mut all = (self.split.iter().flatten())
            .chain(&self.plain)
            .chain(&self.exception)
            .chain(std::iter::once(&self.elapsed))
            .chain(self.pollution.iter().flatten().flatten());
        all.all(|&count| count < crate::config::LATEST)
    }

    /// Adds another difference to this one.
    pub fn accumulate(&mut self, other: &Self) {
        self.merge(other, u64::wrapping_add);
    }

    fn merge(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        let pairs = self
            .split
            .iter_mut()
            .flatten()
            .zip(other.split.iter().flatten())
            .chain(self.plain.iter_mut().zip(&other.plain))
            .chain(self.exception.iter_mut().zip(&other.exception))
            .chain(std::iter::once((&mut self.elapsed, &other.elapsed)))
            .chain(
                self.pollution
                    .iter_mut()
                    .flatten()
                    .flatten()
                    .zip(other.pollution.iter().flatten().flatten()),
            );
        for (mine, theirs) in pairs {
            *mine = with(*mine, *theirs);
        }
    }
}

impl Sub for &Counters {
    type Output = Counters;

    /// What happened between `earlier` and `self`.
    fn sub(self, earlier: Self) -> Counters {
        let mut out = self.clone();
        out.merge(earlier, u64::wrapping_sub);
        out
    }
}
