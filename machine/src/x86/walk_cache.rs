//! A walk cache: entries of the page directory that walks have used (SDM volume 3A, 4.10.3). A machine file adds it by
//! `walk.walker = "walk-cache"`. Of a directory entry that the cache has, a walk reads the page's entry alone.
//!
//! It keeps no entry of a large page, and none that is not present. A load of CR3, INVLPG of any page and a change of
//! the mode of paging empty it; a page fault drops the entry of its address (4.10.4.1).

use serde::{Deserialize, Serialize};

use super::config::WalkConfig;
use crate::account::{Account, Plain};
use crate::config::{WALKERS_X86, walk_options};
use crate::tlb::remembered::Remembered;

/// Entries of the directory, by the regions that they map.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WalkCache {
    entries: Remembered<u64>,
    /// Core cycles of a walk whose directory entry is here, and whose read of the table hits the cache.
    hit: u32,
    /// Bits of an address within the region of an entry.
    shift: u32,
}

impl WalkCache {
    /// An empty cache, if the machine file has one.
    ///
    /// # Errors
    /// There is no such walker, or it does not have these options.
    pub(super) fn from_config(walk: &WalkConfig) -> Result<Option<Self>, String> {
        let options = walk_options(WALKERS_X86, &walk.walker, &walk.options)?;
        let [entries, hit] = options[..] else {
            return Ok(None);
        };
        Ok(Some(Self {
            entries: Remembered::new(entries),
            hit,
            shift: 22,
        }))
    }

    pub(super) fn fits(&self, fresh: &Self) -> bool {
        (self.hit, self.shift) == (fresh.hit, fresh.shift) && self.entries.fits(&fresh.entries)
    }

    pub(super) fn hit(&self) -> u32 {
        self.hit
    }

    fn index(&self, linear: u32) -> usize {
        (linear >> self.shift) as usize
    }

    fn tag(&self, linear: u32) -> u64 {
        1 << 63 | self.index(linear) as u64
    }

    /// The directory's entry for `linear`.
    pub(super) fn look_up(&mut self, linear: u32, account: &mut Account) -> Option<u64> {
        account.add_plain(Plain::WalkCacheAccess, 1);
        let found = self.entries.look_up(self.index(linear), self.tag(linear));
        if found.is_none() {
            account.add_plain(Plain::WalkCacheMiss, 1);
        }
        found
    }

    pub(super) fn keep(&mut self, linear: u32, entry: u64, account: &mut Account) {
        let (index, tag) = (self.index(linear), self.tag(linear));
        self.entries.keep(index, tag, entry, account);
    }

    pub(super) fn forget(&mut self, linear: u32) {
        self.entries.forget(self.index(linear));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// An entry maps `1 << shift` bytes from now on. The cache is empty if that changes.
    pub(super) fn set_shift(&mut self, shift: u32) {
        if self.shift != shift {
            self.clear();
            self.shift = shift;
        }
    }
}
