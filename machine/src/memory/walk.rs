//! What a walk of page tables reads and writes: accesses through the D-cache, which are charged to walks.

use super::fill::Asked;
use super::{Forward, Memory, RamAddress, attribute};
use crate::account::tlb_events::Step;
use crate::account::{Account, Cause, Event};

impl Memory {
    /// A walker's read of a PTE, which waits for `forward`; returns the stall.
    #[inline(always)]
    pub fn walk_read(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        forward: Forward,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        account.add_as(Event::DataCacheAccess, Cause::WALK, 1);
        let asked = Asked::load(forward, Cause::WALK);
        self.load_as(pa, asked, now, account, attributes)
    }

    /// [`Memory::walk_read`] of memory that the enabled D-cache may hold, and that others see.
    #[inline(always)]
    pub fn walk_read_cached(
        &mut self,
        pa: RamAddress,
        forward: Forward,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        account.add_as(Event::DataCacheAccess, Cause::WALK, 1);
        let asked = Asked {
            global: true,
            ..Asked::load(forward, Cause::WALK)
        };
        if self.is_blocked(now) {
            return self.load_as(pa, asked, now, account, attribute::COHERENT);
        }
        self.load_now(pa, asked, now, account)
    }

    /// A walker's write of a PTE's byte; returns the stall.
    pub fn walk_write(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        account.add_as(Event::DataCacheAccess, Cause::WALK, 1);
        self.store_as(pa, attributes, now, Cause::WALK, account)
    }

    /// A walk reads an entry of a tree of tables, of 8 bytes, the low one first. Returns the entry and the stall;
    /// `None` outside RAM.
    pub fn read_entry(
        &mut self,
        pa: RamAddress,
        forward: Forward,
        now: u64,
        account: &mut Account,
    ) -> Option<(u64, u64)> {
        let value = self.uncore.ram.get(pa).map(u64::from_le_bytes)?;
        let took = self.walk_read(pa, attribute::COHERENT, forward, now, account);
        note(account, (now, took), pa, value, false);
        Some((value, took))
    }

    /// A walk writes such an entry. Returns the stall.
    pub fn write_entry(
        &mut self,
        pa: RamAddress,
        value: u64,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let took = self.walk_write(pa, attribute::COHERENT, now, account);
        self.uncore.ram.put(pa, value.to_le_bytes());
        note(account, (now, took), pa, value, true);
        took
    }
}

/// Notes an access to an entry, while walks are recorded.
fn note(account: &mut Account, (cycle, took): (u64, u64), pa: RamAddress, value: u64, store: bool) {
    if let Some(walk) = &mut account.tlb.walk {
        walk.step(Step {
            cycle,
            took,
            pa,
            bytes: 8,
            value,
            store,
        });
    }
}
