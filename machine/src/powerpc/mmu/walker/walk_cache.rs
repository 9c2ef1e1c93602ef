//! A walk cache: it remembers in which slot the search for a page ended.
//!
//! A search of the hash table reads up to 16 PTEs, because the hash says only in which two groups a page's PTE can be.
//! The cache keeps the slot for each page that was searched for lately. At a TLB miss of such a page the walker reads
//! that one PTE first. If it is still the page's, the walk is over after one access; if not, the whole search follows.
//!
//! The PTE is read from memory and compared each time, so that software can change the table without invalidating the
//! cache: `tlbie` need not reach it. No processor of the family has one; it is an example of docs/extend.md.

use super::hashed::{Hashed, compare};
use super::{Found, NoEntry, Port, Walker};
use crate::memory::Ram;
use crate::powerpc::mmu::front6xx::Page;
use crate::powerpc::mmu::hash::{self, PTEG_SLOTS};
use crate::account::Plain;
use crate::tlb::remembered::Remembered;
use serde::{Deserialize, Serialize};

/// A cache of slots, direct-mapped, in front of the search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WalkCache {
    /// Of each page 0 to 7 in the primary PTEG, 8 to 15 in the secondary one.
    slots: Remembered<u32>,
    search: Hashed,
}

impl WalkCache {
    /// An empty cache of so many entries.
    #[must_use]
    pub fn new(options: &[u32]) -> Self {
        let [entries] = super::known(options);
        Self {
            slots: Remembered::new(entries),
            search: Hashed,
        }
    }

    /// True if this state is possible for a cache with the same configuration as `fresh`.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.slots.fits(&fresh.slots)
    }
}

/// The index of `page`. The VSID takes part in it, because all programs use the same addresses.
fn index(page: &Page) -> usize {
    hash::hash(page.segment, page.ea) as usize
}

impl Walker for WalkCache {
    fn search(&mut self, page: &Page, bits: u32, port: &mut Port<'_>) -> Result<Found, NoEntry> {
        port.account.add_plain(Plain::WalkCacheAccess, 1);
        let tag = page.tag();
        if let Some(slot) = self.slots.look_up(index(page), tag) {
            let slot = slot % (2 * PTEG_SLOTS);
            let (primary, secondary) = hash::groups(page.sdr1, page.segment, page.ea);
            let second = slot >= PTEG_SLOTS;
            let group = if second { secondary } else { primary };
            let result = compare(page, group + slot % PTEG_SLOTS * 8, second, port);
            if result != Err(NoEntry::Absent) {
                return result;
            }
        }
        port.account.add_plain(Plain::WalkCacheMiss, 1);
        let found = self.search.search(page, bits, port)?;
        let (primary, _) = hash::groups(page.sdr1, page.segment, page.ea);
        let in_primary = found.pa & !(hash::PTEG_BYTES - 1) == primary;
        let slot = found.pa % hash::PTEG_BYTES / 8 + if in_primary { 0 } else { PTEG_SLOTS };
        self.slots.keep(index(page), tag, slot, port.account);
        Ok(found)
    }

    fn peek(&self, page: &Page, ram: &Ram) -> Option<u32> {
        self.search.peek(page, ram)
    }

    fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>) {
        self.search.set(found, bit, port);
    }
}
