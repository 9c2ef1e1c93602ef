//! What walk caches are made of: entries of page tables that point to tables.

use serde::{Deserialize, Serialize};

use super::Slot;
use super::replacement::AnyReplacement;

/// A cache of entries that point to tables, by their physical address: fully associative, pseudo-LRU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pointers {
    entries: Vec<Pointer>,
    replacement: AnyReplacement,
}

/// Where an entry lies, and the table that it points to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pointer {
    valid: bool,
    at: u64,
    table: u64,
    way: u8,
}

impl Slot for Pointer {
    fn valid(&self) -> bool {
        self.valid
    }

    fn way(&self) -> u8 {
        self.way
    }
}

impl Pointers {
    /// An empty one.
    ///
    /// # Errors
    /// When the policy of its replacement is not there.
    pub fn new(entries: u32) -> Result<Pointers, String> {
        Ok(Pointers {
            entries: (0..entries)
                .map(|n| Pointer {
                    way: n as u8,
                    ..Pointer::default()
                })
                .collect(),
            replacement: AnyReplacement::named("pseudo-lru", 1, entries.max(1))?,
        })
    }

    /// Can one like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Pointers) -> bool {
        self.entries.len() == fresh.entries.len()
            && self.replacement.fits(&fresh.replacement)
            && (self.entries.iter().zip(&fresh.entries))
                .all(|(entry, fresh)| entry.way == fresh.way)
    }

    /// True if there is none.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.entries.is_empty()
    }

    /// The table that the entry at `at` points to.
    pub fn look_up(&mut self, at: u64) -> Option<u64> {
        let way = self
            .entries
            .iter()
            .position(|entry| entry.valid && entry.at == at)?;
        self.replacement.used(0, way as u8);
        Some(self.entries[way].table)
    }

    /// Remembers an entry. True if another one had to go.
    pub fn enter(&mut self, at: u64, table: u64) -> bool {
        let full = self.entries.iter().all(|entry| entry.valid);
        let way = if full {
            self.replacement.victim(0, &self.entries)
        } else {
            self.replacement.free(&self.entries)
        };
        self.entries[usize::from(way)] = Pointer {
            valid: true,
            at,
            table,
            way,
        };
        self.replacement.loaded(0, way);
        full
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        for entry in &mut self.entries {
            entry.valid = false;
        }
    }
}
