//! An L2 on the processor bus beside memory, as its controller runs it.
//!
//! It sees each burst, and each single-beat write to cached memory. A burst read that it holds is served by it, and
//! memory is not asked; memory is asked only when the look-up is over. What goes in and out of it takes the data bus at
//! the pace of its RAMs: the line that the L1 casts out, and the modified line whose place another gets. The latter
//! waits for memory in the copy-back buffer (MPC106 User's Manual 8-3).
//!
//! A single-beat read, which no L1 keeps, goes to memory.

use super::RamAddress;
use super::bus::Bus;
use super::delivery::Delivery;
use super::l2::{Beside, L2, L2Timing, Level};
use crate::account::{Account, Cause, Charge};

/// Clocks of the address, which are counted in the time to the first beat of a hit. A line that goes out of the L2 does
/// not need them again.
const ADDRESSED: u32 = 1;

/// Clocks to the first beat, clocks between beats, and how the controller runs it.
type Pace = (u32, u32, Beside);

impl L2 {
    /// Reads a line for an L1 that missed at cycle `now`. `level` is this cache's own, which the caller knows.
    #[inline(always)]
    pub(super) fn read_beside<const KNOWN: bool>(
        &mut self,
        level: Level,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        (cause, charge): (Cause, Charge),
        account: &mut Account,
    ) -> Delivery {
        let start = bus.begin(now, account);
        Self::looked_up(level, charge, account);
        let found = if KNOWN {
            self.cache.access_or_fill_only(pa)
        } else {
            self.cache.access_or_fill(pa)
        };
        match found {
            Ok(()) => return bus.read_beside::<KNOWN>(start, &self.answer, account),
            Err(out) => {
                Self::missed(level, pa, charge, account);
                if let Some(out) = out {
                    Self::evicted(level, out.pa, cause, account);
                    if out.dirty {
                        self.write_out(out.pa, start, bus, cause, account);
                    }
                }
            }
        }
        bus.read_memory::<KNOWN>(start, start + self.look_up, pa, account)
    }

    /// Gives the line of `pa` a place; a modified line that had it goes out over the data bus.
    #[inline(always)]
    fn make_place(
        &mut self,
        (pa, dirty): (u32, bool),
        start: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) {
        if let Some(out) = self.place(pa, dirty, cause, account)
            && out.dirty
        {
            self.write_out(out.pa, start, bus, cause, account);
        }
    }

    /// A modified line goes out over the data bus.
    #[inline(never)]
    fn write_out(
        &mut self,
        pa: RamAddress,
        start: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) {
        self.wrote_out(cause, account);
        if let L2Timing::LookAside {
            first,
            next,
            beside: Some(beside),
        } = self.timing
        {
            let clocks = beside.look_up + first.saturating_sub(ADDRESSED);
            bus.cast_out(pa, start, (clocks, next));
        }
    }

    /// Writes a modified line that an L1 evicted at `now`; returns the cycle when it has been taken.
    pub(super) fn write_beside(
        &mut self,
        (first, next, beside): Pace,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let (start, line) = (bus.begin(now, account), bus.burst());
        let dirty = !beside.through;
        let mut kept = self.cache.access(pa, dirty);
        if !kept && beside.allocates_writes {
            self.make_place((pa, dirty), start, bus, cause, account);
            kept = true;
        }
        let asked = start + self.look_up;
        if !kept {
            return bus.write_memory(start, asked, pa, line, account);
        }
        // The place is known when the look-up is over.
        if beside.through {
            let first = self.answer.first.max(self.look_up);
            bus.write_both((start, (first, next)), asked, pa, line, account)
        } else {
            let pace = (first.max(beside.look_up), next);
            bus.write_beside(start, pace, line, account)
        }
    }

    /// A single-beat write to cached memory, at `now`; returns the cycle when it has been taken.
    #[inline(always)]
    pub(super) fn write_single<const ONE: bool>(
        &mut self,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        account: &mut Account,
    ) -> u64 {
        if !ONE && !self.writes_through() {
            return self.write_single_back(pa, now, bus, account);
        }
        let start = bus.begin(now, account);
        let kept =
            self.cache.access_recent(pa, false).is_some() || self.cache.access_unrecent(pa, false);
        let first = if kept {
            self.answer.first.max(self.look_up)
        } else {
            0
        };
        bus.write_beat::<ONE>((start, first), start + self.look_up, pa, account)
    }

    /// True if it stands beside memory, and what is written to it is written to memory, too.
    pub(super) fn writes_through(&self) -> bool {
        matches!(self.timing, L2Timing::LookAside { beside: Some(beside), .. } if beside.through)
    }

    /// [`L2::write_single`] of an L2 of which [`L2::writes_through`] is false.
    #[inline(never)]
    fn write_single_back(
        &mut self,
        pa: RamAddress,
        now: u64,
        bus: &mut Bus,
        account: &mut Account,
    ) -> u64 {
        let L2Timing::LookAside {
            first,
            beside: Some(beside),
            ..
        } = self.timing
        else {
            return bus.write_single::<false>(pa, now, account);
        };
        let start = bus.begin(now, account);
        if self.cache.access(pa, true) {
            bus.write_beside(start, (first.max(beside.look_up), 0), 1, account)
        } else {
            bus.write_memory(start, start + self.look_up, pa, 1, account)
        }
    }
}

#[cfg(test)]
mod tests;
