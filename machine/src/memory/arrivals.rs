//! Lines on their way into an L1: when each of their beats is there.
//!
//! A line has its place in the cache from its request on, with a mark ([`super::cache::ARRIVING`]) that
//! makes an engine look here instead of finding it by its tag word. The mark goes, and the line is
//! forgotten here, when it is looked up after its last beat, or when another line sets out after that.

use super::bus::Delivery;
use super::cache::Cache;
use super::posted::POSTED_MAX;
use crate::config::Forward;
use serde::{Deserialize, Serialize};

/// A line on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Arrival {
    /// The address whose beat comes first.
    pub critical: u32,
    /// When the beats come: from that address on, and round within the line.
    pub delivery: Delivery,
}

impl Arrival {
    /// The cycle from which an access to `pa`, in this line, is served.
    #[must_use]
    pub fn ready(&self, pa: u32, forward: Forward) -> u64 {
        let beat = self.delivery.beat_of(self.critical, pa);
        match forward {
            Forward::Critical if beat == 0 => self.delivery.critical(),
            Forward::Beats => self.delivery.beat(beat),
            Forward::Critical | Forward::Line => self.delivery.complete(),
        }
    }

    /// Could a run have come to this, with RAM of `ram` bytes? A snapshot is asked before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        (self.critical as usize) < ram && self.delivery.fits()
    }
}

/// More lines than can be on their way: those of posted stores, of touches, and of what the core waits for.
const MOST: usize = 4 * POSTED_MAX as usize;

/// The lines on their way into one cache: as many as the core has misses under way.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// The line of `arrival`, which `cache` has just been filled with, sets out at `now`.
    pub fn add(&mut self, arrival: Arrival, cache: &mut Cache, now: u64) {
        let line = cache.line_address(arrival.critical);
        self.0.retain(|other| {
            let same = cache.line_address(other.critical) == line;
            let there = other.delivery.complete() <= now;
            if there && !same {
                cache.set_arriving(other.critical, false);
            }
            !there && !same
        });
        cache.set_arriving(line, true);
        self.0.push(arrival);
    }

    /// The line of `pa`, if some of it is still to come at `now`. If all of it is there, `cache` and this
    /// forget that it was on its way.
    pub fn find(&mut self, pa: u32, cache: &mut Cache, now: u64) -> Option<Arrival> {
        let line = cache.line_address(pa);
        let place = (self.0.iter()).position(|other| cache.line_address(other.critical) == line);
        let arrival = place.map(|place| self.0[place]);
        if let Some(arrival) = arrival
            && arrival.delivery.complete() > now
        {
            return Some(arrival);
        }
        cache.set_arriving(pa, false);
        if let Some(place) = place {
            self.0.remove(place);
        }
        None
    }

    /// Could a run have come to this, with RAM of `ram` bytes? A snapshot is asked before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        self.0.len() <= MOST && self.0.iter().all(|arrival| arrival.fits(ram))
    }

    /// The cycle at which all of them are there.
    #[must_use]
    pub fn last(&self) -> u64 {
        let ends = self.0.iter().map(|arrival| arrival.delivery.complete());
        ends.max().unwrap_or_default()
    }
}
