//! Regions of interest: what happened between REGION_BEGIN and REGION_END, summed by number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::account::Counters;

/// One region of interest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Times that the region was left.
    pub passes: u64,
    /// What happened inside, over all passes.
    pub counters: Counters,
    begun: Option<Counters>,
}

/// Regions at most: each takes two sets of counters, some 20 KB together.
pub const REGIONS_MOST: usize = 1024;

/// All regions, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regions {
    regions: BTreeMap<u32, Box<Region>>,
    /// Beginnings of regions beyond that number, which are not counted.
    refused: u64,
}

impl Regions {
    /// REGION_BEGIN: a region that has begun already is restarted. Regions beyond the first [`REGIONS_MOST`] numbers
    /// are only counted as refused.
    pub fn begin(&mut self, number: u32, counters: &Counters) {
        if self.regions.len() >= REGIONS_MOST && !self.regions.contains_key(&number) {
            self.refused += 1;
            return;
        }
        self.regions.entry(number).or_default().begun = Some(counters.clone());
    }

    /// REGION_END: ignored if the region has not begun.
    pub fn end(&mut self, number: u32, counters: &Counters) {
        let Some(region) = self.regions.get_mut(&number) else {
            return;
        };
        if let Some(begun) = region.begun.take() {
            region.passes += 1;
            region.counters.accumulate(&(counters - &begun));
        }
    }

    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        let latest = crate::config::LATEST;
        self.regions.len() <= REGIONS_MOST
            && self.refused < latest
            && self
                .regions
                .values()
                .all(|region| region.passes < latest && region.counters.fits())
    }

    /// The number of beginnings of refused regions.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Regions that were left at least once, in order of number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.regions
            .iter()
            .filter(|(_, region)| region.passes > 0)
            .map(|(&number, region)| (number, &**region))
    }

    /// The region with this number, if it was left at least once.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Region> {
        self.regions
            .get(&number)
            .filter(|region| region.passes > 0)
            .map(|region| &**region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Plain;

    fn at(walks: u64) -> Counters {
        let mut counters = Counters::default();
        counters.plain[Plain::HashSearch as usize] = walks;
        counters
    }

    #[test]
    fn passes_add_up_and_regions_keep_apart() {
        let mut regions = Regions::default();
        regions.begin(1, &at(10));
        regions.begin(2, &at(11));
        regions.end(1, &at(15));
        regions.begin(1, &at(100));
        regions.end(1, &at(101));
        regions.end(2, &at(200));
        let first = regions.get(1).unwrap();
        assert_eq!(
            (first.passes, first.counters.plain(Plain::HashSearch)),
            (2, 6)
        );
        assert_eq!(
            regions.get(2).unwrap().counters.plain(Plain::HashSearch),
            189
        );
    }

    #[test]
    fn numbers_without_end_take_no_memory_without_end() {
        let mut regions = Regions::default();
        for number in 0..REGIONS_MOST as u32 + 5 {
            regions.begin(number, &at(1));
            regions.end(number, &at(2));
        }
        regions.begin(0, &at(2));
        regions.end(0, &at(4));
        assert_eq!(
            (regions.iter().count(), regions.refused()),
            (REGIONS_MOST, 5)
        );
        assert_eq!(
            regions.get(0).unwrap().passes,
            2,
            "one that is there goes on"
        );
    }

    #[test]
    fn an_end_without_beginning_and_an_unfinished_region_count_nothing() {
        let mut regions = Regions::default();
        regions.end(3, &at(5));
        regions.begin(4, &at(5));
        assert_eq!(regions.iter().count(), 0);
        regions.begin(4, &at(7));
        regions.end(4, &at(8));
        assert_eq!(regions.get(4).unwrap().counters.plain(Plain::HashSearch), 1);
    }
}
