//! Least recently used: what the TLBs of 603, 604 and 750 do.

use super::Replacement;
use crate::powerpc::mmu::TlbEntry;
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

    fn free(&self, entries: &[TlbEntry]) -> u8 {
        entries.last().map_or(0, TlbEntry::way)
    }

    #[inline]
    fn victim(&mut self, _set: usize, entries: &[TlbEntry]) -> u8 {
        entries.last().map_or(0, TlbEntry::way)
    }

    fn fits(&self, _fresh: &Self) -> bool {
        true
    }
}
