//! First in, first out: the entry that was loaded longest ago. Uses change nothing.

use super::Replacement;
use crate::memory::cache::{is_order, to_front};
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// The ways of each set, loaded last first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fifo {
    loaded: Box<[u8]>,
    ways: u32,
}

impl Fifo {
    fn set(&mut self, set: usize) -> &mut [u8] {
        let ways = self.ways as usize;
        &mut self.loaded[set * ways..][..ways]
    }
}

impl Replacement for Fifo {
    fn new(sets: u32, ways: u32) -> Self {
        let loaded = (0..sets * ways).map(|n| (n % ways) as u8).collect();
        Self { loaded, ways }
    }

    fn free_ways(&self, ways: u32) -> u32 {
        ways
    }

    fn loaded(&mut self, set: usize, way: u8) {
        let ways = self.set(set);
        if let Some(place) = ways.iter().position(|&old| old == way) {
            to_front(&mut ways[..=place]);
        }
    }

    fn victim<S: Slot>(&mut self, set: usize, _entries: &[S]) -> u8 {
        self.set(set).last().copied().unwrap_or(0)
    }

    fn fits(&self, fresh: &Self) -> bool {
        self.ways == fresh.ways
            && self.loaded.len() == fresh.loaded.len()
            && self.loaded.chunks(self.ways as usize).all(is_order)
    }
}
