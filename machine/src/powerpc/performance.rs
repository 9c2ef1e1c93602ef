//! The performance monitor of the 604 (two counters) and of the 604e and 750 (four).
//!
//! A counter is brought up to date when somebody looks, when the MSR changes, and before it can
//! overflow; in between the machine's own counts tell what has happened. Codes that are not in
//! [`Happening::of`] count nothing. Nothing is dispatched here that does not complete, so that the two
//! events count the same.

use serde::{Deserialize, Serialize};

use super::registers::msr;
use super::spr::number as n;
use crate::config::CoreKind;
use crate::machine::Machine;
use crate::observe::Event;

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
    /// Everything is disabled when it does.
    pub const DISCOUNT: u32 = 0x0200_0000;
    /// Shift of the field that chooses a bit of the time base.
    pub const TICK_SHIFT: u32 = 23;
    /// PMC1 may interrupt.
    pub const FIRST: u32 = 0x8000;
    /// The others may.
    pub const OTHERS: u32 = 0x4000;
    /// The others count from when PMC1 has become negative.
    pub const TRIGGER: u32 = 0x2000;
}

/// A counter is negative from here on.
const NEGATIVE: u32 = 0x8000_0000;

/// More events than ever happen in one core cycle.
const PER_CYCLE: u64 = 16;

/// What a counter can count.
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
}

use Happening::{
    Branch, Cycle, DataCacheMiss, DataTlbMiss, Instruction, InstructionCacheMiss,
    InstructionTlbMiss, Mispredict, Tick,
};

impl Happening {
    /// The event that `code` selects for counter `counter` (0 is PMC1).
    ///
    /// 604: 604 UM p.368, 369. 750: 750GX UM p.353 and 7400 UM chapter 11, whose counters are the same;
    /// PMC4's code 8 is recalled and was found in no source. PMC3 and PMC4 of the 604e: their codes
    /// were not found, so that they count nothing.
    fn of(kind: CoreKind, counter: usize, code: u32) -> Option<Happening> {
        let is_750 = kind == CoreKind::Ppc750;
        Some(match (code, counter) {
            (1, _) if is_750 || counter < 2 => Cycle,
            // Completed; dispatched.
            (2 | 4, _) if is_750 || counter < 2 => Instruction,
            (3, _) if is_750 || counter < 2 => Tick,
            (5, 0) if !is_750 => InstructionCacheMiss,
            (6, 0) if !is_750 => DataTlbMiss,
            (7, 0) if !is_750 => Mispredict,
            (6, 1) if !is_750 => DataCacheMiss,
            (7, 1) if !is_750 => InstructionTlbMiss,
            (8, 1) if !is_750 => Branch,
            (5, 1) if is_750 => InstructionCacheMiss,
            (6, 1) if is_750 => InstructionTlbMiss,
            (5, 2) if is_750 => DataCacheMiss,
            (6, 2) if is_750 => DataTlbMiss,
            (8, 3) if is_750 => Mispredict,
            _ => return None,
        })
    }
}

/// How often everything has happened since reset, by [`Happening`].
type Totals = [u64; 9];

/// MMCR0, MMCR1, PMC1 to PMC4, SIA and SDA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceMonitor {
    mmcr0: u32,
    mmcr1: u32,
    pmc: [u32; 4],
    sia: u32,
    sda: u32,
    /// Totals that the counters have been told of.
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

    /// May any counter be counting?
    #[inline]
    pub(crate) fn running(&self) -> bool {
        self.mmcr0 & mmcr0::DISABLE == 0 && (self.mmcr0 & 0x1fff != 0 || self.mmcr1 != 0)
    }

    /// The code that `counter` has been given.
    fn code(&self, counter: usize) -> u32 {
        match counter {
            0 => self.mmcr0 >> 6 & 0x7f,
            1 => self.mmcr0 & 0x3f,
            2 => self.mmcr1 >> 27,
            _ => self.mmcr1 >> 22 & 0x1f,
        }
    }

    /// Do the counters count in this state?
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

    /// Core cycles within which the counters must be looked at again.
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

    /// Adds what has happened in `state` since the last call.
    fn count(&mut self, kind: CoreKind, state: u32, totals: Totals) {
        let seen = std::mem::replace(&mut self.seen, totals);
        if !self.counts(state) {
            return;
        }
        for counter in 0..self.pmc.len() {
            let waits = self.mmcr0 & mmcr0::TRIGGER != 0 && self.pmc[0] < NEGATIVE;
            if counter > 0 && waits {
                break;
            }
            let Some(event) = Happening::of(kind, counter, self.code(counter)) else {
                continue;
            };
            let more = totals[event as usize].wrapping_sub(seen[event as usize]);
            self.pmc[counter] = self.pmc[counter].wrapping_add(more as u32);
        }
    }

    /// Raises the interrupt if a counter that may has become negative; `pc` runs.
    fn look_for_overflow(&mut self, pc: u32) {
        let overflow = self.interrupting().any(|value| value >= NEGATIVE);
        if self.mmcr0 & mmcr0::INTERRUPT != 0 && overflow {
            self.pending = true;
            self.sia = pc;
            self.mmcr0 &= !mmcr0::INTERRUPT;
            if self.mmcr0 & mmcr0::DISCOUNT != 0 {
                self.mmcr0 |= mmcr0::DISABLE;
            }
        }
    }
}

impl Machine {
    fn performance_totals(&self) -> Totals {
        let mut totals = Totals::default();
        let counters = &self.account.counters;
        // MMCR0[RTCSELECT]: bit 63, 55, 51 or 47 of the time base.
        let shift = [0, 8, 12, 16][(self.performance.mmcr0 >> mmcr0::TICK_SHIFT & 3) as usize];
        let time = self.time_base();
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
        ] {
            totals[event as usize] = value;
        }
        totals
    }

    /// Brings the counters up to date; what has run since the last call has run in the current state.
    pub(crate) fn count_performance(&mut self) {
        let totals = self.performance_totals();
        let kind = self.config.core.kind;
        self.performance.count(kind, self.registers.msr, totals);
    }

    /// The time base has been set: that is no transition of its bits.
    pub(crate) fn skip_performance(&mut self) {
        self.performance.seen = self.performance_totals();
    }

    /// Brings the counters up to date and looks for one that has become negative.
    pub(crate) fn watch_performance(&mut self) {
        if self.performance.running() {
            self.count_performance();
            self.performance.look_for_overflow(self.registers.pc);
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
        self.hot.deadline = 0;
    }
}
