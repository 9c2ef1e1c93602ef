//! Loads: from the D-cache, from lines that are on their way to it, and past it.

use super::Forward;
use super::RamAddress;
use super::attribute;
use super::cache::ARRIVING;
use super::fill::Asked;
use super::hierarchy::{Memory, Side};
use crate::account::{Account, Cause, Event};

impl Asked {
    /// A load.
    #[inline(always)]
    pub(super) fn load(forward: Forward, cause: Cause) -> Self {
        Self {
            side: Side::Data,
            dirty: false,
            global: false,
            forward,
            cause,
            counted: false,
        }
    }
}

impl Memory {
    /// A load of up to 8 bytes within one double word at `pa`; returns the stall. The caller counts
    /// the access and reads the data.
    pub fn load(&mut self, pa: RamAddress, attributes: u8, now: u64, account: &mut Account) -> u64 {
        let asked = Asked::load(self.timing.data_forward, account.cause);
        let stall = self.load_as(pa, asked, now, account, attributes);
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// As [`Memory::load`] for a core that does not wait: returns how long the data takes, which is no stall yet.
    pub fn load_ahead(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let asked = Asked::load(self.timing.data_forward, account.cause);
        self.load_as(pa, asked, now, account, attributes)
    }

    /// A load, of which `asked` need not say whether it is global. Each step below calls the next one last and with the
    /// same arguments, so that the host makes no frame before it is known what there is to do.
    #[inline(never)]
    pub(super) fn load_as(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
        attributes: u8,
    ) -> u64 {
        let past = attributes & attribute::INHIBITED != 0 || !self.data.enabled();
        if past || self.is_blocked(now) {
            return self.load_otherwise(pa, asked, now, account, attributes);
        }
        let asked = Asked {
            global: attributes & attribute::COHERENT != 0,
            ..asked
        };
        self.load_now(pa, asked, now, account)
    }

    /// A load that bypasses the D-cache, or waits until it gets at that.
    #[cold]
    #[inline(never)]
    fn load_otherwise(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
        attributes: u8,
    ) -> u64 {
        if let Some(wait) = self.blocked_for(now) {
            return wait + self.load_as(pa, asked, now + wait, account, attributes);
        }
        let (cause, global) = (asked.cause, attributes & attribute::COHERENT != 0);
        account.add_as(Event::DataCacheInhibited, cause, 1);
        self.purge_alias(pa, attributes, now, cause, account);
        self.read_single(pa, global, now, cause, account) - now
    }

    /// As [`Memory::load`], of memory that the enabled D-cache may hold, and that others see.
    #[inline(always)]
    pub fn load_cached(&mut self, pa: RamAddress, now: u64, account: &mut Account) -> u64 {
        let asked = Asked {
            global: true,
            counted: true,
            ..Asked::load(self.timing.data_forward, account.cause)
        };
        if let Some(wait) = self.blocked_for(now) {
            account.add(Event::MemoryStall, wait);
            return wait + self.load_now(pa, asked, now + wait, account);
        }
        self.load_now(pa, asked, now, account)
    }

    /// A load that gets at the D-cache, which is enabled.
    #[inline(always)]
    pub(super) fn load_now(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        match self.data.access_recent(pa, false) {
            Some(tag) if tag & ARRIVING == 0 => 0,
            Some(_) => self.load_arriving(pa, asked, now, account),
            None => self.load_older(pa, asked, now, account),
        }
    }

    /// A load from a line that the D-cache has found still on its way; returns the stall.
    #[inline(never)]
    fn load_arriving(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        let stall = self.waited(Side::Data, pa, asked.forward, now) - now;
        account.add_as(Event::MemoryStall, asked.cause, asked.counts(stall));
        stall
    }

    /// A load where the line is not its set's most recently used one.
    #[inline(never)]
    fn load_older(&mut self, pa: RamAddress, asked: Asked, now: u64, account: &mut Account) -> u64 {
        if !self.known_shape {
            return self.load_older_elsewhere(pa, asked, now, account);
        }
        match self.data.older_of_four(pa) {
            None => self.read_missed::<true>(pa, asked, now, account),
            Some(index) => self.load_again(pa, asked, now, account, index),
        }
    }

    /// [`Memory::load_older`] of machines of which [`Memory::has_known_shape`] is false.
    #[inline(never)]
    fn load_older_elsewhere(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        match self.data.older(pa) {
            None => self.read_missed::<false>(pa, asked, now, account),
            Some(index) => self.load_again(pa, asked, now, account, index),
        }
    }

    /// A load that hits the line of which [`super::Cache::older`] gave the index.
    #[inline(never)]
    fn load_again(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
        index: usize,
    ) -> u64 {
        self.data.use_older(index, false);
        if self.data.arriving(pa) {
            return self.load_arriving(pa, asked, now, account);
        }
        0
    }

    /// A load that the D-cache has missed; returns how long the data takes. On a machine with one processor most of a
    /// miss is inlined here, since a call takes the host about as long as a step of the model.
    #[inline(never)]
    fn read_missed<const KNOWN: bool>(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if !self.touches.is_empty()
            && let Some(served) = self.touched(pa, asked, now, account)
        {
            account.add_as(Event::MemoryStall, asked.cause, asked.counts(served - now));
            return served - now;
        }
        let charge = account.charge(asked.cause);
        self.data_miss(pa, charge, account);
        let served = if self.data.locked() {
            self.read_single(pa, asked.global, now, asked.cause, account)
        } else {
            // The caller has set both. Here they are constants for the compiler.
            let asked = Asked {
                side: Side::Data,
                dirty: false,
                ..asked
            };
            self.fill::<KNOWN>(asked, charge, pa, now, account)
        };
        account.add_to(Event::MemoryStall, charge, asked.counts(served - now));
        served - now
    }
}
