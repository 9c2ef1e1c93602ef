//! Which line of a set a new one replaces, and how the order of a set's lines changes.

use super::{Cache, DIRTY, Evicted, Replacement, VALID};
use crate::memory::RamAddress;

impl Cache {
    /// The ways of the cache, as a constant if `WAYS` is not 0: sets of known length make loops unroll.
    #[inline(always)]
    pub(super) fn ways<const WAYS: usize>(&self) -> usize {
        if WAYS == 0 {
            self.geometry.ways as usize
        } else {
            WAYS
        }
    }

    /// Makes `element` of the set at `first` its most recently used one. LRU keeps all of the order;
    /// to PLRU only the first place means something, so the two lines change places.
    #[inline(always)]
    pub(super) fn touch<const WAYS: usize>(&mut self, first: usize, element: usize) {
        let ways = self.ways::<WAYS>();
        let tags = &mut self.tags[first..first + ways];
        self.shortcuts.drop_set(tags[element]);
        match self.geometry.replacement {
            Replacement::Lru => to_front(&mut tags[..=element]),
            Replacement::PseudoLru => {
                tags.swap(0, element);
                self.lead::<WAYS>(first, element);
            }
            Replacement::Random => {
                tags.swap(0, element);
                self.ways[first..first + ways].swap(0, element);
            }
        }
    }

    /// The next random number of the set at `first`; it takes the place of the PLRU tree's bits.
    #[cold]
    fn scramble(&mut self, first: usize) {
        let tree = &mut self.trees[first >> self.geometry.ways.trailing_zeros()];
        let state = tree.rotate_left(32) ^ first as u64;
        *tree = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407)
            .rotate_left(32);
    }

    /// The element of the set at `first` whose way the PLRU tree's bits, or a random number, point to.
    #[inline(always)]
    fn pointed_at<const WAYS: usize>(&self, first: usize) -> usize {
        let ways = self.ways::<WAYS>();
        let tree = self.trees[first >> ways.trailing_zeros()];
        let mut node = 1;
        for _ in 0..ways.trailing_zeros() {
            node = node * 2 + (tree >> node & 1) as usize;
        }
        let way = (node - ways) as u8;
        let held = &self.ways[first..first + ways];
        if let Ok(bytes) = <[u8; 4]>::try_from(held) {
            const ONES: u32 = 0x0101_0101;
            let differs = u32::from_le_bytes(bytes) ^ (ONES * u32::from(way));
            let zero = differs.wrapping_sub(ONES) & !differs & ONES << 7;
            return (zero.trailing_zeros() / 8) as usize % 4;
        }
        if let Ok(bytes) = <[u8; 8]>::try_from(held) {
            // The lowest byte that is zero after the exclusive or, without a loop.
            const ONES: u64 = 0x0101_0101_0101_0101;
            let differs = u64::from_le_bytes(bytes) ^ (ONES * u64::from(way));
            let zero = differs.wrapping_sub(ONES) & !differs & ONES << 7;
            return (zero.trailing_zeros() / 8) as usize % 8;
        }
        held.iter()
            .position(|&held| held == way)
            .unwrap_or(ways - 1)
    }

    /// Fills `pa`'s line (which must not be held) and makes it most recently used. Returns the valid line that it
    /// replaced, if there was one.
    #[inline]
    pub fn fill(&mut self, pa: RamAddress, dirty: bool) -> Option<Evicted> {
        self.fill_as(pa, if dirty { DIRTY } else { 0 })
    }

    /// [`Cache::fill`] by a line with these bits of its tag word: [`DIRTY`], [`ARRIVING`].
    #[inline(always)]
    pub(in crate::memory) fn fill_as(&mut self, pa: RamAddress, state: u32) -> Option<Evicted> {
        let (first, line) = (self.first(pa), self.line_address(pa) | VALID | state);
        let old = match self.geometry.ways {
            4 => self.fill_in::<4>(first, line),
            1 => self.fill_in::<1>(first, line),
            2 => self.fill_in::<2>(first, line),
            _ => self.fill_elsewhere(first, line),
        };
        self.evicted(old)
    }

    /// [`Cache::fill_as`] of a cache that [`Cache::is_lru`] with so many ways.
    #[inline(always)]
    pub(in crate::memory) fn fill_lru<const WAYS: usize>(
        &mut self,
        pa: RamAddress,
        state: u32,
    ) -> Option<Evicted> {
        let (first, line) = (self.first(pa), self.line_address(pa) | VALID | state);
        let old = if self.is_full::<WAYS>(first) {
            self.fill_oldest::<WAYS>(first, line)
        } else {
            self.fill_otherwise::<WAYS>(first, line, false)
        };
        self.evicted(old)
    }

    /// The line of a tag word that has been replaced, if it was valid.
    #[inline(always)]
    fn evicted(&self, old: u32) -> Option<Evicted> {
        (old & VALID != 0).then_some(Evicted {
            pa: self.line_address(old),
            dirty: old & DIRTY != 0,
        })
    }

    /// [`Cache::access`]; a line that is not there gets a place. Then this returns the valid line that it replaced, if
    /// there was one.
    #[inline(always)]
    pub(in crate::memory) fn access_or_fill(
        &mut self,
        pa: RamAddress,
    ) -> Result<(), Option<Evicted>> {
        if self.access(pa, false) {
            Ok(())
        } else {
            Err(self.fill_as(pa, 0))
        }
    }

    /// [`Cache::access_or_fill`] of a cache with one way.
    #[inline(always)]
    pub(in crate::memory) fn access_or_fill_only(
        &mut self,
        pa: RamAddress,
    ) -> Result<(), Option<Evicted>> {
        if self.access_recent(pa, false).is_some() {
            Ok(())
        } else {
            Err(self.fill_lru::<1>(pa, 0))
        }
    }

    /// As [`Cache::fill_in`], for larger sets.
    #[inline(never)]
    fn fill_elsewhere(&mut self, first: usize, line: u32) -> u32 {
        match self.geometry.ways {
            8 => self.fill_in::<8>(first, line),
            16 => self.fill_in::<16>(first, line),
            _ => self.fill_any::<0>(first, line, self.is_full::<0>(first)),
        }
    }

    /// True if every line of the set at `first` is valid.
    #[inline(always)]
    fn is_full<const WAYS: usize>(&self, first: usize) -> bool {
        let set = &self.tags[first..first + self.ways::<WAYS>()];
        set.iter().fold(VALID, |all, &tag| all & tag) != 0
    }

    /// Puts the tag word `line` first in the set at `first`; returns the one that it replaces.
    #[inline(always)]
    fn fill_in<const WAYS: usize>(&mut self, first: usize, line: u32) -> u32 {
        let full = self.is_full::<WAYS>(first);
        if full && self.geometry.replacement == Replacement::PseudoLru {
            return self.fill_pseudo::<WAYS>(first, line);
        }
        if !full || self.geometry.replacement != Replacement::Lru {
            return self.fill_otherwise::<WAYS>(first, line, full);
        }
        self.fill_oldest::<WAYS>(first, line)
    }

    /// As [`Cache::fill_in`], of a full set whose last line is replaced.
    #[inline(always)]
    fn fill_oldest<const WAYS: usize>(&mut self, first: usize, line: u32) -> u32 {
        let set = &mut self.tags[first..first + WAYS];
        let old = set[WAYS - 1];
        for element in (1..WAYS).rev() {
            set[element] = set[element - 1];
        }
        set[0] = line;
        self.shortcuts.drop_set(line);
        old
    }

    /// As [`Cache::fill_in`], of a full set whose tree points to the line that is replaced.
    #[inline(never)]
    fn fill_pseudo<const WAYS: usize>(&mut self, first: usize, line: u32) -> u32 {
        let element = self.pointed_at::<WAYS>(first);
        let set = &mut self.tags[first..first + WAYS];
        let (recent, old) = (set[0], set[element]);
        set[element] = recent;
        set[0] = line;
        self.lead::<WAYS>(first, element);
        self.shortcuts.drop_set(line);
        old
    }

    /// The way of `element` of the set at `first` comes first, and the tree points away from it.
    #[inline(always)]
    fn lead<const WAYS: usize>(&mut self, first: usize, element: usize) {
        let ways = self.ways::<WAYS>();
        let held = &mut self.ways[first..first + ways];
        held.swap(0, element);
        let (bits, away) = self.paths[usize::from(held[0])];
        let tree = &mut self.trees[first >> ways.trailing_zeros()];
        *tree = *tree & !bits | away;
    }

    /// As [`Cache::fill_in`], of a set that is not full, or does not replace the line that was used longest ago.
    #[inline(never)]
    fn fill_otherwise<const WAYS: usize>(&mut self, first: usize, line: u32, full: bool) -> u32 {
        self.fill_any::<WAYS>(first, line, full)
    }

    /// As [`Cache::fill_in`], of any set, which is full or not.
    #[inline(always)]
    fn fill_any<const WAYS: usize>(&mut self, first: usize, line: u32, full: bool) -> u32 {
        let ways = self.ways::<WAYS>();
        if full && self.geometry.replacement == Replacement::Random {
            self.scramble(first);
        }
        let element = if !full {
            self.free_element(first)
        } else if self.geometry.replacement == Replacement::Lru {
            ways - 1
        } else {
            self.pointed_at::<WAYS>(first)
        };
        let old = std::mem::replace(&mut self.tags[first + element], line);
        self.touch::<WAYS>(first, element);
        old
    }

    /// The invalid element with the lowest way of the set at `first`, which has one.
    #[cold]
    fn free_element(&self, first: usize) -> usize {
        let ways = self.geometry.ways as usize;
        (0..ways)
            .filter(|&element| self.tags[first + element] & VALID == 0)
            .min_by_key(|&element| self.ways[first + element])
            .unwrap_or(ways - 1)
    }
}

/// Is each number below the length there once?
pub(crate) fn is_order(ways: &[u8]) -> bool {
    let seen = ways.iter().fold(0_u128, |seen, &way| {
        seen | 1_u128.checked_shl(way.into()).unwrap_or(0)
    });
    seen.count_ones() as usize == ways.len()
        && ways.iter().all(|&way| usize::from(way) < ways.len())
}

/// The PLRU tree bits on the path to `way`, and those of them that point to the other side there. The ways are the
/// leaves of a heap: node n has the nodes 2n and 2n + 1 below it, and way w is node `ways` + w, for any number of ways.
pub(crate) const fn tree_path(way: usize, ways: usize) -> (u64, u64) {
    let (mut bits, mut away) = (0, 0);
    let mut node = ways + way;
    while node > 1 {
        let right = node & 1 != 0;
        node /= 2;
        bits |= 1 << node;
        away |= (!right as u64) << node;
    }
    (bits, away)
}

/// Moves the last item to the front, the others one back. Sets are short: a loop beats a block move.
#[inline(always)]
pub(crate) fn to_front<T: Copy>(items: &mut [T]) {
    let Some(&last) = items.last() else {
        return;
    };
    let mut carried = last;
    for item in items {
        std::mem::swap(item, &mut carried);
    }
}
