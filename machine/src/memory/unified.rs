//! A cache that holds instructions and data and is written through, as an i486's: of a processor's two L1 caches it is
//! the D-cache.

use super::Forward;
use super::RamAddress;
use super::attribute;
use super::fill::Asked;
use super::hierarchy::{Memory, Side};
use crate::account::{Account, Array, Event};

impl Memory {
    /// An instruction fetch of the line at `pa` from the unified cache; returns the stall. The caller counts the
    /// access.
    pub(crate) fn fetch_unified(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        forward: Forward,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let stall = if attributes & attribute::INHIBITED != 0 || !self.data.enabled() {
            account.add(Event::InstructionCacheInhibited, 1);
            self.uncore.bus.read_single(pa, now, account) - now
        } else if !self.data.access(pa, false) {
            let charge = account.charge(account.cause);
            account.add_to(Event::InstructionCacheMiss, charge, 1);
            account.line_missed(Array::DataCache, pa, charge);
            let asked = Asked {
                global: true,
                ..Asked::load(forward, account.cause)
            };
            self.fill::<false>(asked, charge, pa, now, account) - now
        } else if self.data.arriving(pa) {
            self.waited(Side::Data, pa, forward, now) - now
        } else {
            return 0;
        };
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// A store to the unified cache, whose lines are never newer than memory; returns the stall. The caller counts the
    /// access.
    pub(crate) fn store_to_memory(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if attributes & attribute::INHIBITED != 0 || !self.data.enabled() {
            return self.store(pa, attributes, now, account);
        }
        self.store_unified(pa, now, account)
    }

    /// [`Memory::store_to_memory`] of memory that the enabled cache may hold.
    #[inline(always)]
    pub(crate) fn store_unified(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        if self.uncore.posts_one {
            self.store_unified_on::<true>(pa, now, account)
        } else {
            self.store_unified_elsewhere(pa, now, account)
        }
    }

    /// [`Memory::store_unified`] of machines of which [`super::Uncore::posts_one`] is false.
    #[inline(never)]
    fn store_unified_elsewhere(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        self.store_unified_on::<false>(pa, now, account)
    }

    #[inline(always)]
    fn store_unified_on<const ONE: bool>(
        &mut self,
        pa: RamAddress,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if self.data.access_recent(pa, false).is_none() {
            self.store_unrecent(pa, account);
        }
        let done = self.uncore.write_single::<ONE>(pa, now, account);
        let stall = (self.stores).post(now, done, self.timing.store_queue as usize);
        if stall != 0 {
            account.add(Event::MemoryStall, stall);
        }
        stall
    }

    /// A store finds that the line is not the most recently used one of the unified cache's set.
    #[inline(never)]
    fn store_unrecent(&mut self, pa: RamAddress, account: &mut Account) {
        if !self.data.access_older(pa, false) {
            self.data_miss(pa, account.charge(account.cause), account);
        }
    }
}
