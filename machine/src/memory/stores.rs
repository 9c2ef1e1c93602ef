//! Stores: to the D-cache, to lines that are on their way to it, and past it.

use super::Forward;
use super::RamAddress;
use super::attribute;
use super::cache::{ARRIVING, SHARED};
use super::coherence::Seen;
use super::fill::Asked;
use super::hierarchy::{Memory, Side};
use crate::account::{Account, Cause, Event};

impl Asked {
    /// A store.
    #[inline(always)]
    pub(super) fn store(forward: Forward, cause: Cause) -> Self {
        Self {
            dirty: true,
            ..Self::load(forward, cause)
        }
    }
}

impl Memory {
    /// A store of up to 8 bytes within one double word at `pa`; returns the stall. The caller counts
    /// the access and writes the data.
    pub fn store(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let stall = self.store_as(pa, attributes, now, account.cause, account);
        if stall != 0 {
            account.add(Event::MemoryStall, stall);
        }
        stall
    }

    pub(super) fn store_as(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        if let Some(wait) = self.blocked_for(now) {
            return wait + self.store_as(pa, attributes, now + wait, cause, account);
        }
        let global = attributes & attribute::COHERENT != 0;
        if attributes & attribute::INHIBITED != 0 || !self.data.enabled() {
            account.add_as(Event::DataCacheInhibited, cause, 1);
            self.purge_alias(pa, attributes, now, cause, account);
            return self.post_single(pa, global, now, cause, account);
        }
        if attributes & attribute::WRITE_THROUGH != 0 || self.write_through() {
            if self.data.access(pa, false) {
                self.push(pa, now, cause, account);
            } else {
                self.data_miss(pa, account.charge(cause), account);
            }
            return self.post_single(pa, global, now, cause, account);
        }
        if self.timing.stores_through {
            return self.store_to_l2(pa, now, cause, account);
        }
        if !self.data.access(pa, true) {
            let asked = Asked {
                global,
                ..Asked::store(self.timing.data_forward, cause)
            };
            self.write_missed(pa, asked, now, account)
        } else if self.data.shared(pa) {
            self.write_shared(pa, now, cause, account)
        } else if self.data.arriving(pa) {
            self.write_arriving(pa, now)
        } else {
            0
        }
    }

    /// A write-back store to a line that the D-cache has found shared; returns the stall.
    #[inline(never)]
    fn write_shared(
        &mut self,
        pa: RamAddress,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let taken = self.upgrade(pa, now, cause, account);
        if !self.data.arriving(pa) {
            return taken;
        }
        taken + self.write_arriving(pa, now + taken)
    }

    /// A write-back store to a line that the D-cache has found still on its way; returns the stall.
    #[inline(always)]
    fn write_arriving(&mut self, pa: RamAddress, now: u64) -> u64 {
        let done = self.served(Side::Data, pa, self.timing.data_forward, now);
        if done == now {
            return 0;
        }
        self.post_store(now, done)
    }

    /// A write-back store whose access to the enabled D-cache has found nothing; returns the stall.
    #[inline(always)]
    fn write_missed(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if self.known_shape {
            self.write_missed_on::<true>(pa, asked, now, account)
        } else {
            self.write_missed_on::<false>(pa, asked, now, account)
        }
    }

    #[inline(never)]
    fn write_missed_on<const KNOWN: bool>(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        // The caller has set both. Here they are constants for the compiler.
        let asked = Asked {
            side: Side::Data,
            dirty: true,
            ..asked
        };
        let touched = if self.touches.is_empty() {
            None
        } else {
            self.touched(pa, asked, now, account)
        };
        let charge = account.charge(asked.cause);
        let stall = if let Some(done) = touched {
            self.post_store(now, done)
        } else {
            self.data_miss(pa, charge, account);
            if self.data.locked() {
                self.post_single(pa, asked.global, now, asked.cause, account)
            } else {
                let done = self.fill::<KNOWN>(asked, charge, pa, now, account);
                self.post_store(now, done)
            }
        };
        account.add_to(Event::MemoryStall, charge, asked.counts(stall));
        stall
    }

    /// A posted store is done at `done`; returns how long the core waits.
    #[inline(always)]
    fn post_store(&mut self, now: u64, done: u64) -> u64 {
        self.stores
            .post(now, done, self.timing.store_queue as usize)
    }

    /// As [`Memory::store`], of memory that the enabled D-cache may hold, that is written back, and that others see.
    #[inline(always)]
    pub fn store_cached(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        if let Some(wait) = self.blocked_for(now) {
            account.add(Event::MemoryStall, wait);
            return wait + self.store_cached_now(pa, now + wait, account);
        }
        self.store_cached_now(pa, now, account)
    }

    #[inline(always)]
    fn store_cached_now(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        if self.timing.stores_through {
            return self.store_through(pa, now, account);
        }
        match self.data.access_recent(pa, true) {
            Some(tag) if tag & (ARRIVING | SHARED) == 0 => 0,
            Some(tag) => self.store_marked(pa, tag, now, account),
            None => self.store_older(pa, now, account),
        }
    }

    /// A store that hits a line which is still arriving, or which is shared; `tag` says which. Returns the stall.
    #[inline(never)]
    fn store_marked(&mut self, pa: RamAddress, tag: u32, now: u64, account: &mut Account) -> u64 {
        let stall = if tag & SHARED == 0 {
            self.write_arriving(pa, now)
        } else {
            self.write_shared(pa, now, account.cause, account)
        };
        if stall != 0 {
            account.add(Event::MemoryStall, stall);
        }
        stall
    }

    /// [`Memory::store_cached`] where the line is not its set's most recently used one.
    #[inline(never)]
    fn store_older(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        match self.data.older(pa) {
            None => {
                let asked = Asked {
                    global: true,
                    counted: true,
                    ..Asked::store(self.timing.data_forward, account.cause)
                };
                self.write_missed(pa, asked, now, account)
            }
            Some(index) => self.store_again(pa, now, account, index),
        }
    }

    /// A store that hits the line of which [`super::Cache::older`] gave the index.
    #[inline(never)]
    fn store_again(
        &mut self,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
        index: usize,
    ) -> u64 {
        self.data.use_older(index, true);
        if self.data.marked(pa) {
            return self.store_marked(pa, self.data.mru(pa), now, account);
        }
        0
    }

    /// Posts a single-beat write; returns how long the core waits.
    fn post_single(
        &mut self,
        pa: RamAddress,
        global: bool,
        now: u64,
        cause: Cause,
        account: &mut Account,
    ) -> u64 {
        let from = self.seen_if(global, Seen::Own, pa, now, cause, account);
        let done = self.uncore.bus.write_single::<false>(pa, from, account);
        self.post_store(now, done)
    }
}
