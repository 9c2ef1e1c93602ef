//! An L2 of a processor's own that takes part in coherence: in-line, or back-side where there are several processors.
//!
//! It stands between the L1s and the bus, with a state for each line as the D-cache has them. What it holds and nobody
//! else may have is served, and stored to, without a transaction that the others see.
//!
//! - An in-line L2 includes the D-cache (Bus Interface for 32-Bit Microprocessors (BUS) D.4, "simple L1 inclusion"): a
//!   line that leaves the L2 leaves the D-cache, and a modified one goes to memory with it. `dcbz` gives the line a
//!   place in both. It need not include the I-cache, which snoops nothing but `icbi`.
//! - A back-side L2 does not include the L1s; the look-up for a snoop is in both (750GX UM 3-1). `dcbz` has no effect
//!   on it (750GX UM p.332).
//!
//! An access that bypasses the L1s bypasses the L2. Where the access is inhibited, a line that the L2 holds is written
//! to memory if modified, and leaves it.
//!
//! Not as hardware: the others see all that is read into the L2, whatever WIMG\[M\] says. What an instruction fetch
//! with MSR\[IR\] = 0 reads, for which it is clear, a load can find here, and `lwarx` too.

use super::RamAddress;
use super::cache::{Evicted, Had};
use super::coherence::Seen;
use super::delivery::Delivery;
use super::hierarchy::Memory;
use super::l2::L2;
use super::uncore::Uncore;
use crate::account::{Account, Array, Cause, Event, Plain};

impl Uncore {
    /// True if the L2 is the processor's own and has to be coherent with others.
    pub(super) fn l2_is_private(&self, several: bool) -> bool {
        let private = |l2: &L2| l2.is_inclusive() || (several && l2.is_back_side());
        self.l2.as_ref().is_some_and(private)
    }
}

impl Memory {
    /// True if the L2 is the processor's own, and has to be coherent with others.
    pub(crate) fn has_private_l2(&self) -> bool {
        self.private_l2
    }

    /// How the processor's own L2 holds the line of `pa`.
    pub(super) fn second(&self, pa: RamAddress) -> Had {
        match &self.uncore.l2 {
            Some(l2) if self.private_l2 => l2.cache.held(pa),
            _ => Had::Not,
        }
    }

    /// Reads a line for an L1 that missed at `now`, for a store if `own`. The others need not see it if none of them
    /// has it. Returns when it comes, and whether it is shared.
    #[inline(always)]
    pub(super) fn request_private(
        &mut self,
        pa: RamAddress,
        (own, seen): (bool, bool),
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> (Delivery, bool) {
        let shared = self.timing.several && self.second(pa) == Had::Shared;
        let mut at = now;
        if shared && own {
            at = self.kill(pa, now + self.look_up(), cause, account);
        }
        let Uncore { l2, bus, .. } = &mut *self.uncore;
        let enabled = l2.as_mut().filter(|l2| l2.cache.enabled());
        let hit = enabled.and_then(|l2| l2.hit(pa, at, bus, cause, account));
        if let Some(delivery) = hit {
            return (delivery, shared && !own);
        }
        let request = now + self.look_up();
        let what = if own { Seen::Own } else { Seen::Read };
        let (from, kept) = if seen {
            self.seen(what, pa, request, cause, account)
        } else {
            (request, false)
        };
        let Uncore { l2, bus, .. } = &mut *self.uncore;
        let Some(l2) = l2.as_mut().filter(|l2| l2.cache.enabled()) else {
            return (bus.read_line(pa, from, account), kept);
        };
        let delivery = l2.fetch(pa, from, bus, account);
        let out = l2.place(pa, false, cause, account);
        if kept {
            l2.cache.mark_shared(pa);
        }
        self.leave(out, delivery.complete(), cause, account);
        (delivery, kept)
    }

    /// Core cycles by which the L2 delays a request, if it is on.
    fn look_up(&self) -> u64 {
        let l2 = self.uncore.l2.as_ref();
        l2.filter(|l2| l2.cache.enabled()).map_or(0, L2::look_up)
    }

    /// A line has left the L2: an in-line L2 takes it out of the D-cache. Returns the cycle when it is written.
    fn leave(
        &mut self,
        out: Option<Evicted>,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let Some(out) = out else { return now };
        let mut modified = out.dirty;
        if self.uncore.l2.as_ref().is_some_and(L2::is_inclusive) {
            self.touches.take(out.pa);
            let held = self.data.give_up(out.pa);
            if held != Had::Not {
                account.add_plain(Plain::BackInvalidated, 1);
                (account.pollution).line_evicted(Array::DataCache, out.pa, cause);
            }
            if held == Had::Modified {
                account.add_as(Event::DataCacheWriteback, cause, 1);
                modified = true;
            }
        }
        if !modified {
            return now;
        }
        account.add_as(Event::L2Writeback, cause, 1);
        self.uncore.bus.write_line(out.pa, now, account)
    }

    /// The D-cache writes a modified line to the L2; returns the cycle when it is written.
    pub(super) fn cast_out(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let Uncore { l2, bus, .. } = &mut *self.uncore;
        let Some(l2) = l2.as_mut().filter(|l2| l2.cache.enabled()) else {
            return bus.write_line(pa, now, account);
        };
        if l2.cache.access(pa, true) {
            l2.cache.mark_own(pa);
            return now;
        }
        let out = l2.place(pa, true, cause, account);
        self.leave(out, now, cause, account)
    }

    /// [`Memory::store_cached`] of a D-cache that writes through.
    #[inline(never)]
    pub(super) fn store_through(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let stall = self.store_to_l2(pa, now, account.cause, account);
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// A store that goes through to the L2, where its line becomes modified; a line that the L2 lacks is read first.
    /// The core goes on while the store queue has room. A D-cache that lacks the line does not read it. Returns the
    /// stall.
    pub(super) fn store_to_l2(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        if !self.data.access(pa, false) {
            self.data_miss(pa, account.charge(cause), account);
        }
        let held = self.second(pa) != Had::Not;
        let (delivery, _) = self.request_private(pa, (true, true), now, cause, account);
        if let Some(l2) = &mut self.uncore.l2 {
            l2.cache.access(pa, true);
            l2.cache.mark_own(pa);
        }
        if held {
            return 0;
        }
        let queue = self.timing.store_queue as usize;
        self.stores.post(now, delivery.complete(), queue)
    }

    /// `dcbz` of a D-cache that writes through: the L2 gets the line, modified and without a read.
    pub(super) fn zero_in_l2(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) {
        self.data.access(pa, false);
        if self.second(pa) == Had::Not {
            account.add_as(Event::DataCacheEstablish, cause, 1);
        }
        self.cast_out(pa, now, cause, account);
    }

    /// True if an in-line L2 holds the line of `pa`, and no other processor has it: a kill goes no further.
    pub(super) fn owned_by_in_line_l2(&self, pa: RamAddress) -> bool {
        self.second(pa) >= Had::Exclusive && self.uncore.l2.as_ref().is_some_and(L2::is_inclusive)
    }

    /// `dcbz` has given the line of `pa` a place in the D-cache: an in-line L2 gives it one too.
    pub(super) fn include(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) {
        let Some(l2) = &mut self.uncore.l2 else {
            return;
        };
        l2.cache.own(pa);
        if l2.is_inclusive() && !l2.cache.access(pa, false) {
            let out = l2.place(pa, false, cause, account);
            self.leave(out, now, cause, account);
        }
    }

    /// The L2 after a hard reset of its processor.
    pub(crate) fn reset_l2(&mut self) {
        if self.private_l2
            && let Some(l2) = &mut self.uncore.l2
        {
            l2.reset();
        }
    }

    /// The L2 that this processor alone has, in a machine of several: for a snapshot. The processor holds the uncore.
    pub(crate) fn own_l2(&self) -> Option<&L2> {
        (self.private_l2 && self.timing.several).then_some(self.uncore.l2.as_ref()?)
    }

    /// Puts back what [`Memory::own_l2`] gave. False if no machine like this one can have come to it.
    #[must_use]
    pub(crate) fn set_own_l2(&mut self, l2: Option<L2>) -> bool {
        let ram = self.uncore.ram.size();
        match (l2, self.own_l2()) {
            (Some(l2), Some(fresh)) if l2.fits(fresh, ram) => {
                self.uncore.l2 = Some(l2);
                true
            }
            (None, None) => true,
            _ => false,
        }
    }
}
