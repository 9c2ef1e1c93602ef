//! Pseudo-LRU: a tree of bits for each set, one for each pair of halves. Each bit points to the half that was not used
//! last; the victim is where they lead.

use super::Replacement;
use crate::memory::cache::tree_path;
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// The trees of all sets. Bit 1 is the root; the bits 2n and 2n + 1 are below bit n.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PseudoLru {
    trees: Box<[u64]>,
    ways: u32,
}

impl Replacement for PseudoLru {
    fn new(sets: u32, ways: u32) -> Self {
        let trees = vec![0; sets as usize].into_boxed_slice();
        Self { trees, ways }
    }

    /// A tree depends on the order of uses. Using the entry that was used last again leaves the tree as it is.
    fn free_ways(&self, _ways: u32) -> u32 {
        1
    }

    /// Not inlined, so that a TLB's look-up stays short for the other policies.
    #[inline(never)]
    fn used(&mut self, set: usize, way: u8) {
        let (path, away) = tree_path(way.into(), self.ways as usize);
        let tree = &mut self.trees[set];
        *tree = *tree & !path | away;
    }

    fn victim<S: Slot>(&mut self, set: usize, _entries: &[S]) -> u8 {
        let tree = self.trees[set];
        let mut node = 1;
        while node < self.ways {
            node = node * 2 + (tree >> node & 1) as u32;
        }
        (node - self.ways) as u8
    }

    fn fits(&self, fresh: &Self) -> bool {
        self.trees.len() == fresh.trees.len() && self.ways == fresh.ways
    }
}
