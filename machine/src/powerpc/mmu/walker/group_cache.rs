//! A cache of page-table entries in the walker, by groups. It also keeps the PTEs of other pages that a search reads
//! on its way, for later searches for those pages.
//!
//! A PTE that the cache holds translates its page without an access to memory, as a TLB entry does. Software must
//! execute `tlbie` after it has removed or changed the PTE of a page, and each `tlbie` empties the cache, because an
//! address alone does not tell the group. A PTE that software has added since is not there, so that a page without a
//! match is searched for in memory. So is a page whose R or C is to be set: the slot may hold another page's PTE by
//! now. No processor of the family has such a cache.

use super::hashed::{Hashed, matching};
use super::{Found, NoEntry, Port, Walker};
use crate::memory::Ram;
use crate::powerpc::mmu::Invalidation;
use crate::powerpc::mmu::front6xx::Page;
use crate::powerpc::mmu::hash::{self, PTEG_BYTES, PTEG_SLOTS, V};
use crate::account::Plain;
use serde::{Deserialize, Serialize};

/// A cache of groups, direct-mapped, in front of the search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupCache {
    groups: Box<[Group]>,
    /// Core cycles from the start of the walk to a match.
    hit: u32,
    search: Hashed,
}

/// PTEs of one group.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Group {
    /// Its physical address.
    address: u32,
    /// The slots whose PTE is held, a bit each.
    held: u8,
    ptes: [u64; PTEG_SLOTS as usize],
}


impl GroupCache {
    /// An empty cache of so many groups, whose hits take so many cycles.
    #[must_use]
    pub fn new(options: &[u32]) -> Self {
        let [groups, hit] = super::known(options);
        Self {
            groups: vec![Group::default(); groups as usize].into_boxed_slice(),
            hit,
            search: Hashed,
        }
    }

    /// True if this state is possible for a cache with the same configuration as `fresh`.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.groups.len() == fresh.groups.len()
            && self.hit == fresh.hit
            && (self.groups.iter()).all(|group| group.address.is_multiple_of(PTEG_BYTES))
    }

    /// The place of the group at `address`.
    fn place(&mut self, address: u32) -> Option<&mut Group> {
        let index = (address / PTEG_BYTES) as usize;
        let index = index.checked_rem(self.groups.len())?;
        self.groups.get_mut(index)
    }

    /// The PTE of `page` in a group, if the cache holds it with all of `bits` set.
    fn held(
        &mut self,
        page: &Page,
        bits: u32,
        (address, secondary): (u32, bool),
        port: &mut Port<'_>,
    ) -> Option<Found> {
        let group = self.place(address).filter(|group| group.address == address)?;
        (0..PTEG_SLOTS)
            .zip(group.ptes)
            .filter(|(slot, pte)| group.held >> slot & 1 != 0 && *pte as u32 & bits == bits)
            .find_map(|(slot, pte)| matching(page, (address + slot * 8, pte), secondary, port))
    }

    /// Keeps a PTE that was read.
    fn note(&mut self, pa: u32, pte: u64, port: &mut Port<'_>) {
        let address = pa & !(PTEG_BYTES - 1);
        let slot = pa % PTEG_BYTES / 8;
        let Some(group) = self.place(address) else {
            return;
        };
        if group.address != address {
            if group.held != 0 {
                port.account.add_plain(Plain::WalkCacheEvicted, 1);
            }
            *group = Group {
                address,
                ..Group::default()
            };
        }
        let valid = (pte >> 32) as u32 & V != 0;
        group.held = group.held & !(1 << slot) | u8::from(valid) << slot;
        group.ptes[slot as usize] = pte;
    }
}

impl Walker for GroupCache {
    fn search(&mut self, page: &Page, bits: u32, port: &mut Port<'_>) -> Result<Found, NoEntry> {
        let (primary, secondary) = hash::groups(page.sdr1, page.segment, page.ea);
        let groups = [(primary, false), (secondary, true)];
        port.account.add_plain(Plain::WalkCacheAccess, 1);
        if let Some(found) = (groups.into_iter()).find_map(|group| self.held(page, bits, group, port))
        {
            port.wait(self.hit.into());
            return Ok(found);
        }
        port.account.add_plain(Plain::WalkCacheMiss, 1);
        for (group, second) in groups {
            for slot in 0..PTEG_SLOTS {
                let pa = group + slot * 8;
                let pte = port.read(pa).ok_or(NoEntry::Outside(pa))?;
                self.note(pa, pte, port);
                if let Some(found) = matching(page, (pa, pte), second, port) {
                    return Ok(found);
                }
            }
        }
        Err(NoEntry::Absent)
    }

    fn peek(&self, page: &Page, ram: &Ram) -> Option<u32> {
        self.search.peek(page, ram)
    }

    fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>) {
        self.search.set(found, bit, port);
        let group = self.place(found.pa & !(PTEG_BYTES - 1));
        if let Some(pte) = group.and_then(|group| {
            let held = group.address == found.pa & !(PTEG_BYTES - 1);
            held.then(|| &mut group.ptes[(found.pa % PTEG_BYTES / 8) as usize])
        }) {
            *pte = *pte >> 32 << 32 | u64::from(found.word1);
        }
    }

    fn invalidate(&mut self, _what: Invalidation) {
        for group in &mut self.groups {
            group.held = 0;
        }
    }
}
