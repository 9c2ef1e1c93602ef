//! What walk caches are made of: a direct-mapped table that remembers something of a page or a region.

use crate::account::{Account, Plain};
use serde::{Deserialize, Serialize};

/// The table. A tag is never zero.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Remembered<V> {
    entries: Box<[(u64, V)]>,
}

impl<V: Copy + Default> Remembered<V> {
    /// An empty table of so many entries.
    #[must_use]
    pub fn new(entries: u32) -> Self {
        Self {
            entries: vec![(0, V::default()); entries as usize].into_boxed_slice(),
        }
    }

    /// True if this state is possible for a table with the same configuration as `fresh`.
    #[must_use]
    pub fn fits(&self, fresh: &Self) -> bool {
        self.entries.len() == fresh.entries.len()
    }

    fn entry(&mut self, index: usize) -> Option<&mut (u64, V)> {
        let index = index.checked_rem(self.entries.len())?;
        self.entries.get_mut(index)
    }

    /// What is remembered of `tag`, whose entry is the one at `index`, modulo the size.
    pub fn look_up(&mut self, index: usize, tag: u64) -> Option<V> {
        let entry = self.entry(index)?;
        (entry.0 == tag).then_some(entry.1)
    }

    /// Remembers `value` of `tag`.
    pub fn keep(&mut self, index: usize, tag: u64, value: V, account: &mut Account) {
        let Some(entry) = self.entry(index) else {
            return;
        };
        let (old, _) = std::mem::replace(entry, (tag, value));
        if old != 0 && old != tag {
            account.add_plain(Plain::WalkCacheEvicted, 1);
        }
    }

    /// Forgets what the entry at `index` remembers.
    pub fn forget(&mut self, index: usize) {
        if let Some(entry) = self.entry(index) {
            *entry = Default::default();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.fill(Default::default());
    }
}
