//! The performance monitor of the 604 (two counters) and of the 604e and 750 (four).
//!
//! A counter is updated from the machine's own counts when it is read, when the MSR changes, and before it can
//! overflow. Codes that are not in [`Happening::of`] count nothing, because their events (queues, reservation
//! stations, snoops) are not modelled. Every dispatched instruction completes here, so these two events have equal
//! counts.

use serde::{Deserialize, Serialize};

use super::Vector;
use super::registers::msr;
use super::spr::number as n;
use crate::account::Event;
use crate::config::Monitor;
use crate::powerpc::processor::Processor;

/// Bits of MMCR0 (604 UM p.368; their names there).
mod mmcr0 {
    /// Counts nothing.
    pub const DISABLE: u32 = 0x8000_0000;
    /// Not in supervisor state.
    pub const SUPERVISOR: u32 = 0x4000_0000;
    /// Not in user state.
    pub const USER: u32 = 0x2000_0000;
    /// Not while MSR\[PM\] is set.
    pub const MARKED: u32 = 0x1000_0000;
    /// Not while MSR\[PM\] is clear.
    pub const UNMARKED: u32 = 0x0800_0000;
    /// A counter that has become negative may interrupt. Cleared when one does.
    pub const INTERRUPT: u32 = 0x0400_0000;
    /// All counters stop when such an interrupt comes.
    pub const DISCOUNT: u32 = 0x0200_0000;
    /// Shift of the field that chooses a bit of the time base.
    pub const TICK_SHIFT: u32 = 23;
    /// PMC1 may interrupt.
    pub const FIRST: u32 = 0x8000;
    /// The other counters may interrupt.
    pub const OTHERS: u32 = 0x4000;
    /// The other counters start when PMC1 becomes negative.
    pub const TRIGGER: u32 = 0x2000;
}

/// A counter is negative from here on.
const NEGATIVE: u32 = 0x8000_0000;

/// More events than ever happen in one core cycle.
const PER_CYCLE: u64 = 16;

/// The events that a counter can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Cycle,
    Instruction,
    /// The chosen bit of the time base has become 1.
    Tick,
    InstructionCacheMiss,
    DataCacheMiss,
    InstructionTlbMiss,
    DataTlbMiss,
    Branch,
    Mispredict,
    /// A cycle with MSR\[EE\] clear.
    InterruptsOff,
    SystemCall,
    /// A hash-table search for a fetch; one for a load or store, including those that set C; a cycle of such a
    /// search.
    InstructionSearch,
    DataSearch,
    InstructionSearchCycle,
    DataSearchCycle,
    /// A modified line written out of the D-cache.
    Castout,
    L2Hit,
    /// A modified line written out of the L2.
    L2Castout,
}

use Happening::{
    Branch, Castout, Cycle, DataCacheMiss, DataSearch, DataSearchCycle, DataTlbMiss, Instruction,
    InstructionCacheMiss, InstructionSearch, InstructionSearchCycle, InstructionTlbMiss,
    InterruptsOff, L2Castout, L2Hit, Mispredict, SystemCall, Tick,
};

impl Happening {
    /// How many there are.
    const COUNT: usize = L2Castout as usize + 1;

    /// The event that `code` selects for counter `counter` (0 is PMC1).
    ///
    /// 604: 604 UM p.368, 369. 750: 750GX UM p.353 and 7400 UM chapter 11, whose counters are the same.
    /// PMC3 and PMC4 of the 604e, code 0x15 of its PMC2, and the 750's table searches, L2 events and code
    /// 8 of PMC4: the event lists of the perfctr library which were made from the 604e's and
    /// the 750's manuals.
    fn of(monitor: Monitor, counter: usize, code: u32) -> Option<Happening> {
        match (monitor, counter, code) {
            (Monitor::None, ..) | (Monitor::Ppc604, 2.., _) => None,
            (_, _, 1) => Some(Cycle),
            // Completed; dispatched.
            (_, _, 2 | 4) => Some(Instruction),
            (_, _, 3) => Some(Tick),
            (Monitor::Ppc750, ..) => Self::of_750(counter, code),
            _ => Self::of_604(counter, code),
        }
    }

    fn of_604(counter: usize, code: u32) -> Option<Happening> {
        Some(match (counter, code) {
            (0, 5) => InstructionCacheMiss,
            (0, 6) => DataTlbMiss,
            (0, 7) => Mispredict,
            (1, 6) => DataCacheMiss,
            (1, 7) => InstructionTlbMiss,
            (1, 8) => Branch,
            (1, 0x15) => InterruptsOff,
            (2, 0x0b) => SystemCall,
            (2, 0x11) => InstructionSearch,
            (2, 0x12) => DataSearch,
            (2, 0x1a) => Castout,
            (3, 0x12) => InstructionSearchCycle,
            (3, 0x13) => DataSearchCycle,
            _ => return None,
        })
    }

    fn of_750(counter: usize, code: u32) -> Option<Happening> {
        Some(match (counter, code) {
            (0, 6) => InstructionSearchCycle,
            (0, 7) => L2Hit,
            (1, 5) => InstructionCacheMiss,
            (1, 6) => InstructionTlbMiss,
            (1, 0x0d) => Castout,
            (2, 5) => DataCacheMiss,
            (2, 6) => DataTlbMiss,
            (2, 0x0d) => L2Hit,
            (3, 5) => L2Castout,
            (3, 6) => DataSearchCycle,
            (3, 8) => Mispredict,
            _ => return None,
        })
    }
}

/// How often everything has happened since reset, by [`Happening`].
type Totals = [u64; Happening::COUNT];

/// MMCR0, MMCR1, PMC1 to PMC4, SIA and SDA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceMonitor {
    mmcr0: u32,
    mmcr1: u32,
    pmc: [u32; 4],
    sia: u32,
    sda: u32,
    /// Where the block that ran last began, while the counters count.
    ran: u32,
    /// Totals up to which the counters have been updated.
    seen: Totals,
    /// A performance-monitor exception waits to be taken.
    pending: bool,
}

impl PerformanceMonitor {
    /// A performance-monitor exception waits to be taken.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        self.pending
    }

    /// The exception is being taken.
    pub(crate) fn acknowledge(&mut self) {
        self.pending = false;
    }

    /// True if a counter may be counting.
    #[inline]
    pub(crate) fn running(&self) -> bool {
        self.mmcr0 & mmcr0::DISABLE == 0 && (self.mmcr0 & 0x1fff != 0 || self.mmcr1 != 0)
    }

    /// The event code that is set for `counter`.
    fn code(&self, counter: usize) -> u32 {
        match counter {
            0 => self.mmcr0 >> 6 & 0x7f,
            1 => self.mmcr0 & 0x3f,
            2 => self.mmcr1 >> 27,
            _ => self.mmcr1 >> 22 & 0x1f,
        }
    }

    /// True if the counters count in this state.
    fn counts(&self, state: u32) -> bool {
        let excluded = match state & msr::PR {
            0 => mmcr0::SUPERVISOR,
            _ => mmcr0::USER,
        } | match state & msr::PM {
            0 => mmcr0::UNMARKED,
            _ => mmcr0::MARKED,
        };
        self.mmcr0 & (mmcr0::DISABLE | excluded) == 0
    }

    /// The counters that may interrupt.
    fn interrupting(&self) -> impl Iterator<Item = u32> {
        let enabled = |counter: usize| {
            let bit = if counter == 0 {
                mmcr0::FIRST
            } else {
                mmcr0::OTHERS
            };
            self.mmcr0 & bit != 0
        };
        let values = self.pmc.into_iter().enumerate();
        values.filter(move |&(n, _)| enabled(n)).map(|(_, v)| v)
    }

    /// Core cycles after which the counters must be updated again.
    #[must_use]
    pub fn period(&self) -> Option<u64> {
        if self.mmcr0 & mmcr0::INTERRUPT == 0 || !self.running() {
            return None;
        }
        let nearest = self
            .interrupting()
            .filter(|&value| value < NEGATIVE)
            .map(|value| u64::from(NEGATIVE - value))
            .min()?;
        Some((nearest / PER_CYCLE).max(1))
    }

    /// Adds the events since the last call, which happened in `state`.
    fn count(&mut self, monitor: Monitor, state: u32, totals: Totals) {
        let seen = std::mem::replace(&mut self.seen, totals);
        if !self.counts(state) {
            return;
        }
        for counter in 0..self.pmc.len() {
            let waits = self.mmcr0 & mmcr0::TRIGGER != 0 && self.pmc[0] < NEGATIVE;
            if counter > 0 && waits {
                break;
            }
            let Some(event) = Happening::of(monitor, counter, self.code(counter)) else {
                continue;
            };
            let more = match event {
                InterruptsOff if state & msr::EE != 0 => 0,
                InterruptsOff => totals[Cycle as usize].wrapping_sub(seen[Cycle as usize]),
                event => totals[event as usize].wrapping_sub(seen[event as usize]),
            };
            self.pmc[counter] = self.pmc[counter].wrapping_add(more as u32);
        }
    }

    /// Raises the interrupt if a counter that may interrupt has become negative. SIA has an instruction that ran at or
    /// around that time (750GX UM p.355): here the first one of the block in which it happened.
    fn look_for_overflow(&mut self) {
        let overflow = self.interrupting().any(|value| value >= NEGATIVE);
        if self.mmcr0 & mmcr0::INTERRUPT != 0 && overflow {
            self.pending = true;
            self.sia = self.ran;
            self.mmcr0 &= !mmcr0::INTERRUPT;
            if self.mmcr0 & mmcr0::DISCOUNT != 0 {
                self.mmcr0 |= mmcr0::DISABLE;
            }
        }
    }
}

impl Processor {
    fn performance_totals(&self) -> Totals {
        use crate::account::Plain::{
            HashSearch, InstructionSearches, InstructionWalkCycles, WalkCycles,
        };
        let mut totals = Totals::default();
        let counters = &self.account.counters;
        // MMCR0[RTCSELECT]: bit 63, 55, 51 or 47 of the time base.
        let shift = [0, 8, 12, 16][(self.performance.mmcr0 >> mmcr0::TICK_SHIFT & 3) as usize];
        let time = self.time_base();
        let (searches, fetch_searches) = (
            counters.plain(HashSearch),
            counters.plain(InstructionSearches),
        );
        let (walks, fetch_walks) = (
            counters.plain(WalkCycles),
            counters.plain(InstructionWalkCycles),
        );
        let l2_hits = counters
            .total(Event::L2Access)
            .wrapping_sub(counters.total(Event::L2Miss));
        for (event, value) in [
            (Cycle, self.hot.cycles),
            (Instruction, self.hot.instructions),
            (Tick, time.wrapping_add(1 << shift) >> (shift + 1)),
            (
                InstructionCacheMiss,
                counters.total(Event::InstructionCacheMiss),
            ),
            (DataCacheMiss, counters.total(Event::DataCacheMiss)),
            (
                InstructionTlbMiss,
                counters.total(Event::InstructionTlbMiss),
            ),
            (DataTlbMiss, counters.total(Event::DataTlbMiss)),
            (Branch, self.predictor.branches),
            (Mispredict, self.predictor.mispredicted),
            (SystemCall, counters.exception[Vector::SystemCall.counter()]),
            (InstructionSearch, fetch_searches),
            (DataSearch, searches.wrapping_sub(fetch_searches)),
            (InstructionSearchCycle, fetch_walks),
            (DataSearchCycle, walks.wrapping_sub(fetch_walks)),
            (Castout, counters.total(Event::DataCacheWriteback)),
            (L2Hit, l2_hits),
            (L2Castout, counters.total(Event::L2Writeback)),
        ] {
            totals[event as usize] = value;
        }
        totals
    }

    /// Updates the counters; all instructions since the last call ran in the current state.
    pub(crate) fn count_performance(&mut self) {
        let totals = self.performance_totals();
        let monitor = self.config.core.kind.core().monitor;
        self.performance.count(monitor, self.registers.msr, totals);
    }

    /// The time base has been set: that is no transition of its bits.
    pub(crate) fn skip_performance(&mut self) {
        self.performance.seen = self.performance_totals();
    }

    /// Updates the counters and checks whether one has become negative.
    pub(crate) fn watch_performance(&mut self) {
        if self.performance.running() {
            self.count_performance();
            self.performance.look_for_overflow();
        }
    }

    /// Notes which block runs, or ran last: when the inner loop has been left, and at an exception.
    pub(crate) fn note_block(&mut self) {
        let block = self.hot.block;
        if self.performance.running() && !block.is_null() {
            // SAFETY: `block` is the last op at which a block began, in this processor's line that `hot.line`
            // names: both are set together whenever a line is entered.
            self.performance.ran = unsafe { self.address(block) };
        }
    }

    /// An exception has been taken: its handler runs from now on, and its block has not begun.
    pub(crate) fn note_handler(&mut self) {
        if self.performance.running() {
            self.performance.ran = self.registers.pc;
            self.hot.block = std::ptr::null();
        }
    }

    pub(crate) fn read_performance_monitor(&mut self, number: u32) -> u32 {
        self.count_performance();
        let p = &self.performance;
        match number {
            n::MMCR0 => p.mmcr0,
            n::MMCR1 => p.mmcr1,
            n::PMC1 => p.pmc[0],
            n::PMC2 => p.pmc[1],
            n::PMC3 => p.pmc[2],
            n::PMC4 => p.pmc[3],
            n::SIA => p.sia,
            _ => p.sda,
        }
    }

    pub(crate) fn write_performance_monitor(&mut self, number: u32, value: u32) {
        self.count_performance();
        let p = &mut self.performance;
        *match number {
            n::MMCR0 => &mut p.mmcr0,
            n::MMCR1 => &mut p.mmcr1,
            n::PMC1 => &mut p.pmc[0],
            n::PMC2 => &mut p.pmc[1],
            n::PMC3 => &mut p.pmc[2],
            n::PMC4 => &mut p.pmc[3],
            n::SIA => &mut p.sia,
            _ => &mut p.sda,
        } = value;
        // Another bit of the time base may have been chosen, and an overflow may be near.
        self.skip_performance();
        self.hot.set_deadline(0);
    }
}
