//! Pseudo-LRU: a tree of bits for each set, one for each pair of halves. Each bit points to the half that was not used
//! last; the victim is where they lead.

use super::Replacement;
use crate::memory::Fixed;
use crate::memory::cache::tree_path;
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// The trees of all sets. Bit 1 is the root; the bits 2n and 2n + 1 are below bit n.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PseudoLru {
    trees: Fixed<u64>,
    ways: u32,
}

/// Ways of a set at most.
const MOST: usize = u64::BITS as usize;

/// [`tree_path`], by the number of ways and the way.
static PATHS: [[[u64; 2]; MOST]; MOST + 1] = {
    let mut paths = [[[0; 2]; MOST]; MOST + 1];
    let mut ways = 1;
    while ways <= MOST {
        let mut way = 0;
        while way < ways {
            let (path, away) = tree_path(way, ways);
            paths[ways][way] = [path, away];
            way += 1;
        }
        ways += 1;
    }
    paths
};

impl PseudoLru {
    /// The tree of the only set, if there is one set; and, by way, the bits that a use of it writes, and which of them
    /// it sets. Compiled code of RISC-V writes the tree as [`PseudoLru::use_way`] would, while its processor runs.
    pub(crate) fn tree(&self) -> Option<(*mut u64, *const [u64; 2])> {
        let paths = &PATHS[self.ways as usize];
        (self.trees.len() == 1).then(|| (self.trees.pointer(), paths.as_ptr()))
    }

    /// [`Replacement::used`] of a set with so many ways.
    #[inline(always)]
    pub(crate) fn use_way(&mut self, set: usize, way: u8, ways: usize) {
        let [path, away] = PATHS[ways][usize::from(way)];
        let tree = &mut self.trees[set];
        *tree = *tree & !path | away;
    }

    /// [`Replacement::victim`] of a set with so many ways: a loop over a known number unrolls.
    #[inline(always)]
    pub(crate) fn lead(&self, set: usize, ways: usize) -> u8 {
        let (mut node, tree) = (1, self.trees[set]);
        while node < ways {
            node = node * 2 + (tree >> node & 1) as usize;
        }
        (node - ways) as u8
    }
}

impl Replacement for PseudoLru {
    fn new(sets: u32, ways: u32) -> Self {
        let trees = Fixed::from(vec![0; sets as usize]);
        Self { trees, ways }
    }

    /// A tree depends on the order of uses. Using the entry that was used last again leaves the tree as it is.
    fn free_ways(&self, _ways: u32) -> u32 {
        1
    }

    /// Not inlined, so that a TLB's look-up stays short for the other policies.
    #[inline(never)]
    fn used(&mut self, set: usize, way: u8) {
        self.use_way(set, way, self.ways as usize);
    }

    fn victim<S: Slot>(&mut self, set: usize, _entries: &[S]) -> u8 {
        self.lead(set, self.ways as usize)
    }

    fn fits(&self, fresh: &Self) -> bool {
        self.trees.len() == fresh.trees.len() && self.ways == fresh.ways
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_in_turn_stay_whatever_the_number_of_ways() {
        for ways in 4..=64 {
            let mut tree = PseudoLru::new(1, ways);
            for step in 0..1000_u32 {
                let victim = tree.lead(0, ways as usize);
                assert!(u32::from(victim) < ways);
                let hot = (step % 2 * (ways - 1)) as u8;
                assert!(step < 2 || ![0, ways - 1].contains(&victim.into()), "{ways} ways");
                tree.use_way(0, hot, ways as usize);
            }
        }
    }
}
