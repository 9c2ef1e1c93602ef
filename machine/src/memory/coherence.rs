//! Coherence of the processors' D-caches: what the others do when they see a transaction on the bus.
//!
//! Sources: Bus Interface for 32-Bit Microprocessors (BUS) 4-14 to 4-20 and E-11 to E-22; MPC7400 UM. Rules:
//!
//! - A transaction is seen by the others only if it is global: WIMG\[M\] of its page is set (BUS 4-15, 7400 UM 9-23).
//! - A processor that holds the line modified retries the transaction and writes the line to memory. The address tenure
//!   is lost, the write comes next, and then the transaction runs again in full. On the 60x bus nothing goes from cache
//!   to cache (7400 UM 9-52).
//! - A read leaves the line shared in all caches. A core without the shared state gives it up (7400 UM 3-15).
//! - While a processor holds a reservation, others get the line shared, so that their stores are seen (BUS 8-7).
//!
//! RAM is always newest. States decide what accesses cost, and which reservations end.
//!
//! Not as hardware:
//!
//! - A touch of a line that another processor has is ignored.
//! - A read by a core without the shared state ends no reservation. On the bus it is a read to modify, which does (BUS
//!   8-8), but only when the line has come, and the core that reserved it may have stored by then. Here a line is taken
//!   when the read begins: two cores that reserve the same line would end each other's reservation without end. So that
//!   atomicity holds, the reader gets the line as shared, and its store is seen.

use serde::{Deserialize, Serialize};

use super::cache::{Cache, Had};
use super::hierarchy::Memory;
use super::touch::Touches;
use crate::observe::{Account, Cause, Plain};

#[cfg(test)]
mod tests;

/// What others reach of a processor that does not run. While it runs, its entry has an empty cache.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Tags and states of its D-cache.
    pub data: Cache,
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
    reservations: u64,
    /// Lines that were taken, and for what cause.
    taken: Vec<(u32, Cause)>,
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
        account.add_plain(Plain::LineTaken, self.taken.len() as u64);
        for (line, cause) in self.taken.drain(..) {
            account.pollution.line_taken(line, cause);
        }
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
    /// The page frame was freed, and a sanitizer watches for its use.
    FrameFreed(u32),
}

impl Memory {
    /// The others see a global transaction for the line of `pa`, at `now`. Returns the cycle from which it runs without
    /// a retry, and whether another processor keeps the line.
    #[inline(always)]
    pub(super) fn seen(
        &mut self,
        what: Seen,
        pa: u32,
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
        pa: u32,
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
        let (mut kept, mut pushed) = (false, false);
        let reads = what == Seen::Own && asked == Seen::Read;
        for (number, peer) in self.uncore.peers.iter_mut().enumerate() {
            if number == usize::from(self.number) {
                continue;
            }
            peer.heard.snoops += 1;
            let held = match what {
                Seen::Read => peer.data.share(line),
                Seen::Clean => peer.data.held_clean(line),
                Seen::Own | Seen::Kill | Seen::Flush => peer.data.give_up(line),
            };
            if held != Had::Not && matches!(what, Seen::Own | Seen::Kill | Seen::Flush) {
                peer.heard.taken.push((line, cause));
            }
            if held == Had::Modified && what != Seen::Kill {
                pushed = true;
                peer.heard.pushes += 1;
            }
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
        if !pushed {
            return (now, kept);
        }
        account.add_plain(Plain::BusRetried, 1);
        let retried = self.uncore.bus.retried(now, account);
        let bytes = self.data.geometry().line;
        let written = self.uncore.write_line(line, bytes, retried, cause, account);
        (written.max(retried), kept)
    }

    /// True if another processor has the line of `pa`.
    pub(super) fn elsewhere(&self, pa: u32) -> bool {
        let line = self.data.line_address(pa);
        let has = |peer: &Peer| {
            peer.data.find(line).is_some()
                || peer.touches.has(line)
                || peer.reservation == Some(line)
        };
        self.uncore.peers.iter().any(has)
    }

    /// A store has hit a shared line: a kill takes it from the others. The core goes on, but that the transaction takes
    /// an entry of the store queue. Returns the stall.
    pub(super) fn upgrade(
        &mut self,
        pa: u32,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        self.data.mark_own(pa);
        account.add_plain(Plain::BusKill, 1);
        let (at, _) = self.seen(Seen::Kill, pa, now, cause, account);
        let done = self.uncore.bus.address_only(at, account);
        self.stores
            .post(now, done, self.timing.store_queue as usize)
    }

    /// Has the other processors told of `notice`, if there are any.
    pub(crate) fn notify(&mut self, notice: Notice) {
        if self.timing.several {
            self.uncore.notices.push(notice);
        }
    }

    /// Exchanges what others reach of processor `number` with its entry in the uncore: when its turn begins, and when
    /// it ends.
    pub(crate) fn exchange(
        &mut self,
        number: u8,
        reservation: &mut Option<u32>,
        account: &mut Account,
    ) {
        self.number = number;
        let Some(peer) = self.uncore.peers.get_mut(usize::from(number)) else {
            return;
        };
        peer.heard.enter(account);
        std::mem::swap(&mut self.data, &mut peer.data);
        std::mem::swap(&mut self.touches, &mut peer.touches);
        std::mem::swap(reservation, &mut peer.reservation);
    }

    /// The entry in the uncore of a processor that runs.
    #[must_use]
    pub(crate) fn empty_peer(&self) -> Option<Peer> {
        Some(Peer {
            data: Cache::new(self.data.geometry()).ok()?,
            touches: Touches::default(),
            reservation: None,
            heard: Heard::default(),
        })
    }
}
