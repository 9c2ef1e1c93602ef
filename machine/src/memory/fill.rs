//! Lines on their way into the L1 caches, and out of them: fills from L2 or RAM, what waits for their beats, and
//! write-backs.

use super::Forward;
use super::RamAddress;
use super::arrivals::{Arrival, Arrivals};
use super::cache::{ARRIVING, Cache, DIRTY};
use super::coherence::Seen;
use super::delivery::Delivery;
use super::hierarchy::{Memory, Side};
use crate::account::{Account, Array, Cause, Charge, Event};

/// An access for which a line comes into an L1.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub side: Side,
    /// It is a store.
    pub dirty: bool,
    /// The other processors see its transaction.
    pub global: bool,
    /// Which beats it gets before the line is complete.
    pub forward: Forward,
    pub cause: Cause,
    /// The miss enters the stall in the account; otherwise the caller does.
    pub counted: bool,
}

impl Asked {
    /// What of a stall the miss itself enters in the account.
    #[inline(always)]
    pub fn counts(self, stall: u64) -> u64 {
        if self.counted { stall } else { 0 }
    }
}

/// Each function below with a parameter `KNOWN` is compiled twice: with `KNOWN` for machines of which
/// [`Memory::has_known_shape`] is true, and without it for all machines. With `KNOWN` it asks for none of these shapes.
impl Memory {
    /// True if one processor, whose loads wait, stands alone on a bus of two transactions before memory of parts whose
    /// rows are closed after each access, with a direct-mapped L2 beside that, and if its L1s have four ways and
    /// replace the line that was used longest ago. The files ppc603-133, ppc603-180, ppc604-132, -133, -185 and -200
    /// describe such machines. A look-aside L2 is on from reset, and no register switches it off.
    pub(super) fn has_known_shape(&self) -> bool {
        let (uncore, timing) = (&self.uncore, &self.timing);
        let l2 = uncore.l2.as_ref();
        !self.fills_are_seen
            && !timing.loads_ahead
            && self.instruction.is_lru(4)
            && self.data.is_lru(4)
            && l2.is_some_and(|l2| l2.stands_beside() && l2.cache.is_lru(1))
            && uncore.bus.has_known_shape()
    }

    /// Reads a line into an L1 for an access to `pa`, which is a place if the access is a fetch; returns the cycle at
    /// which it is served.
    #[inline(always)]
    pub(super) fn fill<const KNOWN: bool>(
        &mut self,
        asked: Asked,
        charge: Charge,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if !KNOWN && self.fills_are_seen && (asked.global || self.private_l2) {
            return self.fill_seen(asked, charge, pa, now, account);
        }
        self.fill_from::<KNOWN>(now, asked, charge, pa, now, account)
    }

    /// [`Memory::fill`] by a transaction that the other processors see, or through an L2 of the processor's own. A
    /// function of its own, because it would slow down machines with one processor.
    #[inline(never)]
    fn fill_seen(
        &mut self,
        asked: Asked,
        charge: Charge,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let (served, shared) = if self.private_l2 {
            let kind = (asked.dirty, true);
            let (delivery, shared) = self.request_private(pa, kind, now, asked.cause, account);
            (
                self.fill_by::<false>(delivery, asked, pa, now, account),
                shared,
            )
        } else {
            let what = if asked.dirty { Seen::Own } else { Seen::Read };
            let (from, shared) = self.seen(what, pa, now, asked.cause, account);
            (
                self.fill_from::<false>(from, asked, charge, pa, now, account),
                shared,
            )
        };
        if shared && matches!(asked.side, Side::Data) {
            self.data.mark_shared(pa);
        }
        served
    }

    /// [`Memory::fill`] whose transaction is asked for at cycle `from`.
    #[inline(always)]
    fn fill_from<const KNOWN: bool>(
        &mut self,
        from: u64,
        asked: Asked,
        charge: Charge,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let physical = self.physical(asked.side, pa);
        let uncore = &mut *self.uncore;
        match uncore.read_directly::<KNOWN>(physical, from, (asked.cause, charge), account) {
            Some(delivery) => self.fill_by::<KNOWN>(delivery, asked, pa, now, account),
            None => self.fill_behind(from, asked, pa, now, account),
        }
    }

    /// As [`Memory::fill_from`], of a line that comes by an L2 in front of the bus, or by an L3.
    #[inline(never)]
    fn fill_behind(
        &mut self,
        from: u64,
        asked: Asked,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let physical = self.physical(asked.side, pa);
        let delivery = self.request(physical, from, asked.cause, account);
        self.fill_by::<false>(delivery, asked, pa, now, account)
    }

    /// Gives a line that comes by `delivery` its place in an L1; returns the cycle at which the access is served.
    #[inline(always)]
    fn fill_by<const KNOWN: bool>(
        &mut self,
        delivery: Delivery,
        asked: Asked,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let arrival = Arrival::new(pa, delivery, self.side(asked.side).0);
        let (complete, served) = (delivery.complete(), arrival.asked(asked.forward).max(now));
        let wait = self.receive::<KNOWN>(arrival, served, asked, pa, (now, complete), account);
        if self.timing.data_blocked && matches!(asked.side, Side::Data) {
            self.blocked = complete;
        }
        // The line comes only when its victim has a write-back buffer to go to.
        if self.timing.fills_wait {
            served + wait
        } else {
            served
        }
    }

    /// Gives the line of `arrival`, which is on its way, its place in an L1, for an access to `pa` at `now` that is
    /// served at `served`; the line's victim is written back from cycle `from` on. Returns how long the write-back
    /// waits for a buffer.
    #[inline(always)]
    pub(super) fn receive<const KNOWN: bool>(
        &mut self,
        arrival: Arrival,
        served: u64,
        asked: Asked,
        pa: RamAddress,
        (now, from): (u64, u64),
        account: &mut Account,
    ) -> u64 {
        // The core does not wait for a store's line.
        let next = if asked.dirty || (!KNOWN && self.timing.loads_ahead) {
            now
        } else {
            served
        };
        let incomplete = next < arrival.complete();
        let state = if asked.dirty { DIRTY } else { 0 } | if incomplete { ARRIVING } else { 0 };
        if incomplete {
            self.side(asked.side).1.add(arrival, now);
        }
        self.install::<KNOWN>(asked.side, pa, state, from, asked.cause, account)
    }

    /// The physical address of a line that has its place in an L1 at `pa`.
    #[inline(always)]
    fn physical(&self, side: Side, pa: u32) -> RamAddress {
        match side {
            Side::Instruction => self.places.physical(pa),
            Side::Data => pa,
        }
    }

    /// The cycle at which a posted store at `now` to `pa` is served, whose line an L1 has just found marked.
    #[inline(always)]
    pub(super) fn served(&mut self, side: Side, pa: RamAddress, forward: Forward, now: u64) -> u64 {
        self.find_arriving(side, pa, (forward, true), now)
    }

    /// As [`Memory::served`], of an access that the core waits for.
    #[inline(always)]
    pub(super) fn waited(&mut self, side: Side, pa: RamAddress, forward: Forward, now: u64) -> u64 {
        self.find_arriving(side, pa, (forward, false), now)
    }

    #[inline(always)]
    pub(super) fn find_arriving(
        &mut self,
        side: Side,
        pa: RamAddress,
        (forward, posted): (Forward, bool),
        now: u64,
    ) -> u64 {
        let posted = posted || self.timing.loads_ahead;
        let (cache, arrivals) = self.side(side);
        let Some(arrival) = arrivals.find(cache.line_address(pa), now) else {
            cache.mark_arrived(pa);
            return now;
        };
        let served = arrival.ready(pa, forward).max(now);
        if !posted && served >= arrival.complete() {
            cache.mark_arrived(pa);
        }
        served
    }

    /// The cycle at which the whole line of `pa` is there, if it is on its way to the D-cache.
    pub(super) fn whole(&self, pa: RamAddress, now: u64) -> u64 {
        let arrival = self.data_arrivals.find(self.data.line_address(pa), now);
        arrival.map_or(now, Arrival::complete)
    }

    #[inline(always)]
    pub(super) fn side(&mut self, side: Side) -> (&mut Cache, &mut Arrivals) {
        match side {
            Side::Instruction => (&mut self.instruction, &mut self.instruction_arrivals),
            Side::Data => (&mut self.data, &mut self.data_arrivals),
        }
    }

    /// Asks the L2 or the bus for a line.
    #[inline(always)]
    pub(super) fn request(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> Delivery {
        self.uncore.read_line(pa, now, cause, account)
    }

    /// Enters a line into an L1, with these bits of its tag word, and writes the victim back from cycle `now` on.
    /// Returns how long the write-back waits for a buffer.
    #[inline(always)]
    pub(super) fn install<const KNOWN: bool>(
        &mut self,
        side: Side,
        pa: RamAddress,
        state: u32,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let array = match side {
            Side::Instruction => Array::InstructionCache,
            Side::Data => Array::DataCache,
        };
        let cache = self.side(side).0;
        let out = if KNOWN {
            cache.fill_lru::<4>(pa, state)
        } else {
            cache.fill_as(pa, state)
        };
        if let Some(out) = out {
            let physical = self.physical(side, out.pa);
            account.pollution.line_evicted(array, physical, cause);
            if out.dirty {
                return self.write_back(out.pa, now, cause, account);
            }
        }
        0
    }

    /// Writes a modified L1 line to the next level; returns how long it waits for a buffer.
    #[inline(never)]
    pub(super) fn write_back(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        account.add_as(Event::DataCacheWriteback, cause, 1);
        let done = if self.private_l2 {
            self.cast_out(pa, now, cause, account)
        } else {
            self.uncore.write_line(pa, now, cause, account)
        };
        self.posted_write_back(now, done)
    }

    pub(super) fn posted_write_back(&mut self, now: u64, done: u64) -> u64 {
        self.write_backs
            .post(now, done, self.timing.write_back_buffers as usize)
    }

    /// Pushes a modified L1 line to the next level and keeps it clean.
    pub(super) fn push(&mut self, pa: RamAddress, now: u64, cause: Cause, account: &mut Account) {
        if self.data.clean(pa) {
            self.write_back(pa, now, cause, account);
        }
    }
}

#[cfg(test)]
mod tests;
