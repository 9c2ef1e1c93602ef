//! The one list of counters, and their names.
//!
//! Events that are split by mode and cause are kept as one number for each (mode, cause) pair; totals
//! and the named splits are sums, so that counting costs one addition.

use crate::powerpc::Vector;
use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// Why something happened. The numbers are those of the control device's CAUSE register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Cause {
    /// A user program (MSR\[PR\] = 1).
    #[default]
    User = 0,
    /// The kernel, nothing more special.
    Kernel = 1,
    /// The hardware's hash-table walk.
    Walk = 2,
    /// Software TLB reload and hash-table insertion.
    Reload = 3,
    /// Invalidation of translations.
    Flush = 4,
    /// Exception entry and exit, system-call dispatch.
    Entry = 5,
    /// Context switch.
    Switch = 6,
    /// Block copy, user copy.
    Copy = 7,
    /// Page clearing.
    Clear = 8,
    /// Page-fault handling.
    Fault = 9,
    /// Idle task.
    Idle = 10,
    /// Idle task's sweep of the hash table.
    Reclaim = 11,
    /// What was written made visible to instruction fetch.
    Coherence = 12,
}

/// How many causes there are.
pub const CAUSES: usize = 13;

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; CAUSES] = [
        Self::User,
        Self::Kernel,
        Self::Walk,
        Self::Reload,
        Self::Flush,
        Self::Entry,
        Self::Switch,
        Self::Copy,
        Self::Clear,
        Self::Fault,
        Self::Idle,
        Self::Reclaim,
        Self::Coherence,
    ];

    /// The cause with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Its name in counters and in `__cause_<name>_start` symbols.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::Walk => "walk",
            Self::Reload => "reload",
            Self::Flush => "flush",
            Self::Entry => "entry",
            Self::Switch => "switch",
            Self::Copy => "copy",
            Self::Clear => "clear",
            Self::Fault => "fault",
            Self::Idle => "idle",
            Self::Reclaim => "reclaim",
            Self::Coherence => "coherence",
        }
    }
}

/// Positions in the mode × cause split of an event: user mode first, then kernel mode.
pub const SLOTS: usize = 2 * CAUSES;

/// Position of a mode and a cause in an event's split.
#[inline]
#[must_use]
pub const fn slot(user: bool, cause: Cause) -> usize {
    (if user { 0 } else { CAUSES }) + cause as usize
}

macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $count:ident { $($(#[$doc:meta])* $item:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum $name { $($(#[$doc])* $item,)* }

        impl $name {
            /// All of them, in counting order.
            pub const ALL: &'static [Self] = &[$(Self::$item,)*];

            /// The counter's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$item => $text,)* }
            }
        }

        /// How many there are.
        pub const $count: usize = $name::ALL.len();
    };
}

named! {
    /// Events split by mode (user, kernel) and by cause.
    Event, EVENTS {
        /// Core cycles.
        Cycles = "cycles",
        /// Completed instructions.
        Instructions = "instructions",
        /// Fetches translated with MSR\[IR\] = 1, a fetch being one instruction (TLB and BATs are searched side by side).
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
        /// Fetches past the I-cache: inhibited, or cache disabled.
        InstructionCacheInhibited = "cache.instruction.inhibited",
        /// I-cache fills of a line that the D-cache holds modified: the fetch sees old memory on hardware.
        InstructionCacheStale = "cache.instruction.stale",
        /// Loads, stores, `dcbz`, and the walker's accesses.
        DataCacheAccess = "cache.data.access",
        /// Those that the D-cache did not hold.
        DataCacheMiss = "cache.data.miss",
        /// Those past the D-cache: inhibited, or cache disabled.
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
        /// `tlbie` executed: each empties a congruence class, on the 8xx what holds an address.
        TlbInvalidate = "tlb.invalidate",
        /// Entries written by `tlbld` and `tlbli`, and on the 8xx by Mx_RPN.
        TlbLoad = "tlb.load",
        /// 603: stores to a resident entry with C = 0 (vector 0x1200 without a miss). 8xx: DTLB errors of that kind.
        TlbChangeTrap = "tlb.data.unchanged",
        /// Bus reads (bursts and single beats).
        BusRead = "bus.read",
        /// Bus writes (bursts and single beats).
        BusWrite = "bus.write",
        BusAddress = "bus.address-only",
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

/// Exception vectors that are counted, by number of the vector / 0x100.
pub const VECTORS: usize = 32;

/// Name of the exception with this number ([`crate::powerpc::Vector`]): 0x100 .. 0x1c00.
#[must_use]
pub fn vector_name(vector: u32) -> &'static str {
    match vector >> 8 {
        0x01 => "reset",
        0x02 => "machine-check",
        0x03 => "dsi",
        0x04 => "isi",
        0x05 => "external",
        0x06 => "alignment",
        0x07 => "program",
        0x08 => "fp-unavailable",
        0x09 => "decrementer",
        0x0c => "system-call",
        0x0d => "trace",
        0x0e => "fp-assist",
        0x0f => "performance-monitor",
        0x10 => "itlb-miss",
        0x11 => "dtlb-load-miss",
        0x12 => "dtlb-store-miss",
        0x13 => "instruction-breakpoint",
        0x14 => "system-management",
        0x17 => "thermal",
        0x18 => "software-emulation",
        0x1a => "dtlb-miss",
        0x1b => "itlb-error",
        0x1c => "dtlb-error",
        _ => "reserved",
    }
}

/// Every counter of the machine at an instant. Subtract two for what happened between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Split events: `split[event][slot(user, cause)]`.
    pub split: [[u64; SLOTS]; EVENTS],
    /// Events without a split, by [`Plain`].
    pub plain: [u64; PLAINS],
    /// Exceptions taken, by vector / 0x100.
    pub exception: [u64; VECTORS],
    /// `pollution[array][evictor][victim]`: misses of `victim` on what `evictor` evicted.
    pub pollution: [[[u64; CAUSES]; CAUSES]; super::pollution::ARRAYS],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            split: [[0; SLOTS]; EVENTS],
            plain: [0; PLAINS],
            exception: [0; VECTORS],
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
        let first = slot(user, Cause::User);
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

    /// Counts an exception taken, by its number (0x100 .. 0x1c00). An ITLB miss is one on a 603 and an 8xx.
    #[inline]
    pub fn exception(&mut self, vector: u32) {
        self.exception[place(vector)] += 1;
    }

    /// Exceptions taken at `vector`, as [`Counters::exception`] counts them.
    #[must_use]
    pub fn exceptions(&self, vector: u32) -> u64 {
        self.exception[place(vector)]
    }

    /// Every counter with its flat name, always the same names in the same order.
    ///
    /// A split event gives its total under its name, `.user` and `.kernel` by mode, and
    /// `.cause.<name>` by cause.
    #[must_use]
    pub fn named(&self) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        for &event in Event::ALL {
            let name = event.name();
            out.push((name.to_string(), self.total(event)));
            out.push((format!("{name}.user"), self.in_mode(event, true)));
            out.push((format!("{name}.kernel"), self.in_mode(event, false)));
            for cause in Cause::ALL {
                out.push((
                    format!("{name}.cause.{}", cause.name()),
                    self.by_cause(event, cause),
                ));
            }
        }
        for &plain in Plain::ALL {
            out.push((plain.name().to_string(), self.plain(plain)));
        }
        for (number, &count) in self.exception.iter().enumerate() {
            let name = vector_name((number as u32) << 8);
            if name != "reserved" {
                out.push((format!("exception.{name}"), count));
            }
        }
        for array in super::Array::ALL {
            for evictor in Cause::ALL {
                for victim in Cause::ALL {
                    out.push((
                        format!(
                            "pollution.{}.{}.{}",
                            array.name(),
                            evictor.name(),
                            victim.name()
                        ),
                        self.pollution[array as usize][evictor as usize][victim as usize],
                    ));
                }
            }
        }
        out
    }

    /// The counter with this flat name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.named()
            .into_iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Is every count one that a run can have come to?
    pub(crate) fn fits(&self) -> bool {
        let mut all = (self.split.iter().flatten())
            .chain(&self.plain)
            .chain(&self.exception)
            .chain(self.pollution.iter().flatten().flatten());
        all.all(|&count| count < crate::snapshot::LATEST)
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

/// Where an exception is counted.
fn place(vector: u32) -> usize {
    const ITLB_MISS: u32 = 0x1000;
    let vector = if vector == Vector::ItlbMiss as u32 {
        ITLB_MISS
    } else {
        vector
    };
    (vector as usize >> 8) % VECTORS
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
