//! Least recently used: what the TLBs of 603, 604 and 750 do.

use super::Replacement;
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// The TLB keeps each set in the order of use, so that this policy has no state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lru;

impl Replacement for Lru {
    fn new(_sets: u32, _ways: u32) -> Self {
        Self
    }

    /// With two ways, the way used last gives the whole order.
    fn free_ways(&self, ways: u32) -> u32 {
        if ways <= 2 { ways } else { 1 }
    }

    fn free<S: Slot>(&self, entries: &[S]) -> u8 {
        let free = entries.iter().rfind(|entry| !entry.valid());
        free.map_or(0, Slot::way)
    }

    #[inline]
    fn victim<S: Slot>(&mut self, _set: usize, entries: &[S]) -> u8 {
        entries.last().map_or(0, Slot::way)
    }

    fn fits(&self, _fresh: &Self) -> bool {
        true
    }
}
