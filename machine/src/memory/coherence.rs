//! Coherence of the processors' D-caches and own L2s: what the others do when they see a transaction on the bus.
//!
//! Sources: Bus Interface for 32-Bit Microprocessors (BUS) 4-14 to 4-20 and E-11 to E-22; MPC7400 UM. Rules:
//!
//! - A transaction is seen by the others only if it is global: WIMG\[M\] of its page is set (BUS 4-15, 7400 UM 9-23).
//! - A processor that holds the line modified retries the transaction and writes the line to memory. The address tenure
//!   is lost, the write comes next, and then the transaction runs again in full. On the 60x bus nothing goes from cache
//!   to cache (7400 UM 9-52).
//! - A read leaves the line shared in all caches. A core without the shared state gives it up (7400 UM 3-15).
//! - An own L2 answers with its D-cache. Where it is in-line, one that holds the line exclusive or modified retries the
//!   transaction in any case, because the D-cache behind it may have changed the line (BUS D-7).
//! - While a processor holds a reservation, others get the line shared, so that their stores are seen (BUS 8-7).
//!
//! RAM is always newest. States decide what accesses cost, and which reservations end.
//!
//! Not as hardware:
//!
//! - A touch of a line that another processor has, or that the own L2 has shared, is ignored.
//! - A read by a core without the shared state ends no reservation. On the bus it is a read to modify, which does (BUS
//!   8-8), but only when the line has come, and the core that reserved it may have stored by then. Here a line is taken
//!   when the read begins: two cores that reserve the same line would end each other's reservation without end. So that
//!   atomicity holds, the reader gets the line as shared, and its store is seen.

use super::RamAddress;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Had};
use super::hierarchy::Memory;
use super::l2::L2;
use super::touch::Touches;
use super::uncore::Uncore;
use crate::account::{Account, Array, Cause, Plain};

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod private_tests;
#[cfg(test)]
mod tests;

/// What others reach of a processor that does not run. While it runs, its entry has an empty cache.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Tags and states of its D-cache.
    pub data: Cache,
    /// Its own L2, if it has one.
    pub l2: Option<L2>,
    /// Lines that it has asked for by `dcbt`.
    pub touches: Touches,
    /// The granule that its `lwarx` has reserved.
    pub reservation: Option<u32>,
    /// What it will enter in its account.
    pub heard: Heard,
}

/// What a processor that does not run has done because of others.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    snoops: u64,
    pushes: u64,
    /// Pushes of lines that only the L2 held modified.
    second_pushes: u64,
    reservations: u64,
    /// Lines that were taken from the D-cache, and for what cause.
    taken: Vec<(u32, Cause)>,
    /// Those of the L2.
    second_taken: Vec<(u32, Cause)>,
}

impl Heard {
    /// Enters it in the processor's account.
    fn enter(&mut self, account: &mut Account) {
        account.add_plain(Plain::BusSnoop, std::mem::take(&mut self.snoops));
        account.add_plain(Plain::BusPush, std::mem::take(&mut self.pushes));
        account.add_plain(
            Plain::ReservationLost,
            std::mem::take(&mut self.reservations),
        );
        account.add_plain(Plain::L2Push, std::mem::take(&mut self.second_pushes));
        account.add_plain(Plain::LineTaken, self.taken.len() as u64);
        account.add_plain(Plain::L2Taken, self.second_taken.len() as u64);
        for (array, taken) in [
            (Array::DataCache, &mut self.taken),
            (Array::L2, &mut self.second_taken),
        ] {
            for (line, cause) in taken.drain(..) {
                account.pollution.line_taken(array, line, cause);
            }
        }
    }
}

impl Peer {
    /// It sees a transaction for `line`. Returns how it held the line, and whether it retries the transaction though it
    /// writes nothing.
    fn sees(&mut self, what: Seen, line: u32, cause: Cause) -> (Had, bool) {
        let snoop = |cache: &mut Cache| match what {
            Seen::Read => cache.share(line),
            Seen::Clean => cache.held_clean(line),
            Seen::Own | Seen::Kill | Seen::Flush => cache.give_up(line),
        };
        self.heard.snoops += 1;
        let first = snoop(&mut self.data);
        let second = self.l2.as_mut().map_or(Had::Not, |l2| snoop(&mut l2.cache));
        if matches!(what, Seen::Own | Seen::Kill | Seen::Flush) {
            if first != Had::Not {
                self.heard.taken.push((line, cause));
            }
            if second != Had::Not {
                self.heard.second_taken.push((line, cause));
            }
        }
        let held = first.max(second);
        if held == Had::Modified && what != Seen::Kill {
            self.heard.pushes += 1;
            self.heard.second_pushes += u64::from(first != Had::Modified);
        }
        let forwarded = self.l2.as_ref().is_some_and(L2::is_inclusive) && second >= Had::Exclusive;
        (held, forwarded)
    }

    /// True if it has the line.
    fn has(&self, line: u32) -> bool {
        self.data.find(line).is_some()
            || self.touches.has(line)
            || self.reservation == Some(line)
            || (self.l2.as_ref()).is_some_and(|l2| l2.cache.find(line).is_some())
    }
}

/// A transaction as the others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// A read.
    Read,
    /// A read to modify, or a write of less than a line.
    Own,
    /// Kill: `dcbi`, `dcbz`, a store to a shared line.
    Kill,
    /// Clean: `dcbst`.
    Clean,
    /// Flush: `dcbf`.
    Flush,
}

/// What the other processors do besides, at the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// `tlbie` of this effective address, and for what cause.
    Translation(u32, Cause),
    /// `icbi` of this physical address.
    Instruction(u32),
    /// `sfence.vma` of an address or of all, and of an address space or of all.
    Fence(Option<u64>, Option<u16>),
}

impl Memory {
    /// The others see a global transaction for the line of `pa`, at `now`. Returns the cycle from which it runs without
    /// a retry, and whether another processor keeps the line.
    #[inline(always)]
    pub(super) fn seen(
        &mut self,
        what: Seen,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> (u64, bool) {
        if !self.timing.several {
            return (now, false);
        }
        self.snooped(what, pa, now, cause, account)
    }

    #[inline(never)]
    fn snooped(
        &mut self,
        what: Seen,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> (u64, bool) {
        let line = self.data.line_address(pa);
        let asked = what;
        let what = match what {
            Seen::Read if !self.timing.shared_state => Seen::Own,
            other => other,
        };
        let (mut kept, mut pushed, mut forwarded) = (false, false, false);
        let reads = what == Seen::Own && asked == Seen::Read;
        for (number, peer) in self.uncore.peers.iter_mut().enumerate() {
            if number == usize::from(self.number) {
                continue;
            }
            let (held, retries) = peer.sees(what, line, cause);
            pushed |= held == Had::Modified && what != Seen::Kill;
            forwarded |= retries;
            kept |= held != Had::Not && what == Seen::Read;
            peer.touches.take(line);
            if peer.reservation == Some(line) {
                match what {
                    // BUS 8-8: clean and flush do not end a reservation.
                    Seen::Own if reads => kept = true,
                    Seen::Own | Seen::Kill => {
                        peer.reservation = None;
                        peer.heard.reservations += 1;
                    }
                    Seen::Read => kept = true,
                    Seen::Clean | Seen::Flush => {}
                }
            }
        }
        if !pushed && !forwarded {
            return (now, kept);
        }
        account.add_plain(Plain::BusRetried, 1);
        let retried = self.uncore.bus.retried(now, account);
        if !pushed {
            return (retried, kept);
        }
        let written = if self.private_l2 {
            self.uncore.bus.write_line(line, retried, account)
        } else {
            self.uncore.write_line(line, retried, cause, account)
        };
        (written.max(retried), kept)
    }

    /// True if another processor has the line of `pa`.
    pub(super) fn elsewhere(&self, pa: RamAddress) -> bool {
        let line = self.data.line_address(pa);
        self.uncore.peers.iter().any(|peer| peer.has(line))
    }

    /// A store has hit a shared line: a kill takes it from the others. The core goes on, but that the transaction takes
    /// an entry of the store queue. Returns the stall.
    pub(super) fn upgrade(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        self.data.mark_own(pa);
        let done = self.kill(pa, now, cause, account);
        self.stores
            .post(now, done, self.timing.store_queue as usize)
    }

    /// The line of `pa`, which is shared, is taken from the others; returns the cycle when that is done.
    pub(super) fn kill(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        if self.private_l2
            && let Some(l2) = &mut self.uncore.l2
        {
            l2.cache.own(pa);
        }
        account.add_plain(Plain::BusKill, 1);
        let (at, _) = self.seen(Seen::Kill, pa, now, cause, account);
        self.uncore.bus.address_only(at, account)
    }

    /// Has the other processors told of `notice`, if there are any.
    pub(crate) fn notify(&mut self, notice: Notice) {
        if self.timing.several {
            self.uncore.notices.push(notice);
        }
    }

    /// Exchanges what others reach of processor `number` with its entry in the uncore: when its turn begins, and when
    /// it ends.
    pub fn exchange(&mut self, number: u8, reservation: &mut Option<u32>, account: &mut Account) {
        self.number = number;
        let Uncore { l2, peers, .. } = &mut *self.uncore;
        let Some(peer) = peers.get_mut(usize::from(number)) else {
            return;
        };
        peer.heard.enter(account);
        std::mem::swap(&mut self.data, &mut peer.data);
        // A translation that another processor changed meanwhile.
        self.data.shortcuts().catch_up(peer.data.shortcuts());
        if self.private_l2 {
            std::mem::swap(l2, &mut peer.l2);
        }
        std::mem::swap(&mut self.touches, &mut peer.touches);
        std::mem::swap(reservation, &mut peer.reservation);
    }

    /// The entry in the uncore of a processor that runs.
    #[must_use]
    pub(crate) fn empty_peer(&self) -> Option<Peer> {
        Some(Peer {
            data: Cache::new(self.data.geometry()).ok()?,
            l2: None,
            touches: Touches::default(),
            reservation: None,
            heard: Heard::default(),
        })
    }
}
