//! Where an I-cache that is indexed by effective addresses holds a line of RAM.
//!
//! Such a cache compares physical tags, but the bits of the effective address above a page choose the set too. If a way
//! is larger than a page, a line can be in several places at once: synonyms. A place is the physical address with these
//! bits taken from the effective address; above RAM it has the bits in which the two differ, so that no two lines share
//! a place. A cache that is indexed by physical addresses has each line at its physical address.

use serde::{Deserialize, Serialize};

use super::CacheGeometry;
use crate::config::shape::{PAGE, place_bits};

/// The places of lines in an I-cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Bits of the index that come from the effective address; none if the cache is indexed by physical addresses.
    index: u32,
    /// How far above the index a place has the bits in which the two addresses differ.
    shift: u32,
    /// Bits of an address in RAM.
    ram: u32,
}

impl Places {
    /// A cache that is indexed by physical addresses.
    pub const PHYSICAL: Places = Places {
        index: 0,
        shift: 0,
        ram: u32::MAX,
    };

    /// The places of a cache that is indexed by effective addresses, before RAM of so many bytes. `None` if there are
    /// more than 32 bits can number.
    #[must_use]
    pub fn indexed_by_effective(cache: CacheGeometry, ram: u32) -> Option<Places> {
        let (bits, index) = place_bits(cache.size / cache.ways, ram)?;
        Some(if index == 0 {
            Self::PHYSICAL
        } else {
            Places {
                index,
                shift: bits - PAGE.trailing_zeros(),
                ram: u32::MAX >> (u32::BITS - bits),
            }
        })
    }

    /// The place of the line at `pa`, in RAM, as a fetch from `ea` finds it.
    #[inline]
    #[must_use]
    pub fn of(self, ea: u32, pa: u32) -> u32 {
        pa & !self.index | ea & self.index | ((ea ^ pa) & self.index) << self.shift
    }

    /// The physical address of a place.
    #[inline]
    #[must_use]
    pub fn physical(self, place: u32) -> u32 {
        (place ^ place >> self.shift & self.index) & self.ram
    }

    /// All places of the line at `pa`, in RAM.
    pub fn all(self, pa: u32) -> impl Iterator<Item = u32> {
        (0..=self.index / PAGE).map(move |n| self.of(n * PAGE, pa))
    }

    /// Addresses of places before RAM of so many bytes.
    #[must_use]
    pub fn size(self, ram: usize) -> usize {
        if self.index == 0 {
            ram
        } else {
            (self.ram as usize + 1) << self.index.count_ones()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Replacement;

    fn cache(size: u32, ways: u32) -> CacheGeometry {
        CacheGeometry {
            size,
            ways,
            line: 32,
            replacement: Replacement::Lru,
        }
    }

    #[test]
    fn every_synonym_has_a_place_of_its_own_and_its_index() {
        for (size, ways, colours) in [(0x4000, 2, 2), (0x8000, 1, 8), (0x2000, 2, 1)] {
            let places = Places::indexed_by_effective(cache(size, ways), 0x2_0000).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for pa in (0..0x2_0000).step_by(32) {
                let all: Vec<u32> = places.all(pa).collect();
                assert_eq!(all.len(), colours);
                for (n, place) in all.into_iter().enumerate() {
                    assert_eq!(places.physical(place), pa);
                    assert!((place as usize) < places.size(0x2_0000));
                    assert!(colours == 1 || place & (size / ways - 1) & !0xfff == n as u32 * 4096);
                    assert!(seen.insert(place));
                }
                assert_eq!(places.of(pa, pa), pa);
            }
        }
    }

    #[test]
    fn more_places_than_addresses_are_refused() {
        assert_eq!(
            Places::indexed_by_effective(cache(0x4000, 2), 1 << 31).map(|p| p.size(1 << 31)),
            Some(1 << 32)
        );
        assert_eq!(
            Places::indexed_by_effective(cache(0x8000, 2), 1 << 31),
            None
        );
    }
}
