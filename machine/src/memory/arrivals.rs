//! Lines on their way into an L1: when each of their beats is there.
//!
//! A line has its place in the cache from its request on, with a mark ([`super::cache::ARRIVING`]) that
//! makes an engine look here instead of finding it by its tag word. The mark goes when an access finds
//! that the whole line has come, or waits until it has; it may stand longer than the line is kept here.

use super::bus::Delivery;
use super::cache::Cache;
use super::posted::POSTED_MAX;
use crate::config::Forward;
use serde::{Deserialize, Serialize};

/// A line on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Arrival {
    /// Address of the line.
    line: u32,
    /// The address whose beat comes first.
    critical: u32,
    /// The cycle at which the whole of it is there.
    complete: u64,
    /// When the beats come: from `critical` on, and round within the line.
    delivery: Delivery,
}

impl Arrival {
    /// The line of `cache` that holds `critical` comes by `delivery`.
    #[must_use]
    pub fn new(critical: u32, delivery: Delivery, cache: &Cache) -> Self {
        Self {
            line: cache.line_address(critical),
            critical,
            complete: delivery.complete(),
            delivery,
        }
    }

    /// Address of the line.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The cycle at which the whole of it is there.
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// The cycle from which an access to `pa`, in this line, is served.
    #[must_use]
    pub fn ready(&self, pa: u32, forward: Forward) -> u64 {
        let beat = self.delivery.beat_of(self.critical, pa);
        match forward {
            Forward::Critical if beat == 0 => self.delivery.critical(),
            Forward::Beats => self.delivery.beat(beat),
            Forward::Critical | Forward::Line => self.complete,
        }
    }

    /// Could a run have come to this, with RAM of `ram` bytes? A snapshot is asked before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        (self.line.max(self.critical) as usize) < ram
            && self.delivery.fits()
            && self.complete == self.delivery.complete()
    }
}

/// More lines than can be on their way: those of posted stores, of touches, and of what the core waits for.
const MOST: usize = 4 * POSTED_MAX as usize;

/// The lines on their way into one cache: as many as the core has misses under way.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// The line of `arrival`, which `cache` has just been filled with, sets out at `now`.
    #[inline]
    pub fn add(&mut self, arrival: Arrival, cache: &mut Cache, now: u64) {
        cache.mark_arriving(arrival.line);
        // A line that left the cache and is filled again sets out anew; one that has come makes room.
        let mut place = None;
        for old in &mut self.0 {
            if old.line == arrival.line {
                *old = arrival;
                return;
            }
            if old.complete <= now {
                place = Some(old);
            }
        }
        match place {
            Some(old) => *old = arrival,
            None => self.0.push(arrival),
        }
    }

    /// The line at `line`, if some of it is still to come at `now`.
    #[inline]
    #[must_use]
    pub fn find(&self, line: u32, now: u64) -> Option<&Arrival> {
        let mut lines = self.0.iter();
        lines
            .find(|arrival| arrival.line == line)
            .filter(|arrival| arrival.complete > now)
    }

    /// Could a run have come to this, with RAM of `ram` bytes? A snapshot is asked before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        self.0.len() <= MOST && self.0.iter().all(|arrival| arrival.fits(ram))
    }

    /// The cycle at which all of them are there.
    #[must_use]
    pub fn last(&self) -> u64 {
        let ends = self.0.iter().map(|arrival| arrival.complete);
        ends.max().unwrap_or_default()
    }
}
