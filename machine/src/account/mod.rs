//! What happened and why: counters, their attribution to causes, and what an MMU notes of its last miss.
//!
//! Caches, MMUs and processors write here; observers and results read.

pub mod causes;
pub mod counters;
pub mod pollution;
mod settled;
pub mod tlb_events;

pub use causes::{Cause, CauseNames, CodeCauses, NO_CAUSE};
pub use counters::{Counters, Event, Names, Plain};
pub use pollution::{Array, Pollution};
pub(crate) use settled::Settled;
use tlb_events::TlbNote;

use serde::{Deserialize, Serialize};

/// The account that every event is written to, with the cause and the mode of the instruction that runs.
///
/// The rule: the core (or the engine, in batches) counts *accesses* with [`Account::add`]; the MMU, the caches and
/// the bus count everything that follows from an access (misses, walks, write-backs, bus tenures). So a shortcut that
/// is taken instead of a full lookup changes no count.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Account {
    /// All counts.
    pub counters: Counters,
    /// Cause of what happens now.
    pub cause: Cause,
    /// MSR\[PR\]: the instruction that runs is a user's.
    pub user: bool,
    /// Which cause evicted the lines and entries that others miss later.
    pub pollution: Pollution,
    /// The last TLB miss and load, for a trace.
    #[serde(skip)]
    pub tlb: TlbNote,
}

/// A mode and a cause: the position of both in the split of an event. Whoever counts several events finds it once.
#[derive(Debug, Clone, Copy)]
pub struct Charge(u8);

impl Charge {
    #[inline(always)]
    fn slot(self) -> usize {
        self.0 as usize % counters::SLOTS
    }
}

impl Account {
    /// An account for a machine with `ram_bytes` of RAM and caches of `line_bytes` a line.
    #[must_use]
    pub fn new(ram_bytes: usize, line_bytes: usize) -> Self {
        Self {
            pollution: Pollution::new(ram_bytes, line_bytes),
            ..Self::default()
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        self.counters.fits() && self.pollution.fits(&fresh.pollution)
    }

    /// The current position in the mode × cause split of an event; see [`Counters::split`].
    #[inline]
    #[must_use]
    pub fn slot(&self) -> usize {
        counters::slot(self.user, self.cause)
    }

    /// Counts `n` events of the current mode and cause.
    #[inline]
    pub fn add(&mut self, event: Event, n: u64) {
        let slot = self.slot();
        self.counters.split[event as usize][slot] += n;
    }

    /// Counts one event of the current mode, charged to `cause`.
    #[inline]
    pub fn add_as(&mut self, event: Event, cause: Cause, n: u64) {
        let slot = counters::slot(self.user, cause);
        self.counters.split[event as usize][slot] += n;
    }

    /// Where events of the current mode are counted that are charged to `cause`.
    #[inline(always)]
    #[must_use]
    pub fn charge(&self, cause: Cause) -> Charge {
        Charge(counters::slot(self.user, cause) as u8)
    }

    /// Counts `n` events, charged as [`Account::charge`] said.
    #[inline(always)]
    pub fn add_to(&mut self, event: Event, charge: Charge, n: u64) {
        self.counters.split[event as usize][charge.slot()] += n;
    }

    /// A cache misses on the line at `pa`.
    #[inline(always)]
    pub fn line_missed(&mut self, array: Array, pa: u32, charge: Charge) {
        let victim = charge.slot() % causes::CAUSES;
        (self.pollution).line_missed(&mut self.counters, array, pa, victim);
    }

    /// Counts `n` events that have no split.
    #[inline]
    pub fn add_plain(&mut self, plain: Plain, n: u64) {
        self.counters.plain[plain as usize] += n;
    }
}
