//! Lines that are being filled into an L1, and when each of their beats arrives.
//!
//! A line has its place in the cache from its request on. A mark ([`super::cache::ARRIVING`]) makes an engine look
//! here instead of finding the line by its tag word. The first access after the whole line has arrived clears the
//! mark, so a mark may outlast the entry here.

use super::RamAddress;
use super::cache::Cache;
use super::delivery::Delivery;
use super::posted::POSTED_MAX;
use crate::config::Forward;
use serde::{Deserialize, Serialize};

/// A line that is being filled.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Arrival {
    /// Address of the line.
    line: u32,
    /// The address whose beat comes first.
    critical: u32,
    /// When the beats arrive: the first holds `critical`; they wrap around within the line.
    delivery: Delivery,
}

impl Arrival {
    /// The line of `cache` that holds `critical` comes by `delivery`.
    #[inline(always)]
    #[must_use]
    pub fn new(critical: u32, delivery: Delivery, cache: &Cache) -> Self {
        Self {
            line: cache.line_address(critical),
            critical,
            delivery,
        }
    }

    /// Becomes like `other`, field by field. So the host need not wait until it can read two fields at once that have
    /// just been written one by one.
    #[inline(always)]
    fn set(&mut self, other: &Arrival) {
        self.line = other.line;
        self.critical = other.critical;
        self.delivery.first = other.delivery.first;
        self.delivery.complete = other.delivery.complete;
        self.delivery.beats = other.delivery.beats;
    }

    /// Address of the line.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The cycle at which the whole line has arrived.
    #[inline(always)]
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.delivery.complete
    }

    /// The cycle from which the access that asked for the line is served.
    #[inline(always)]
    #[must_use]
    pub fn asked(&self, forward: Forward) -> u64 {
        if forward == Forward::Line {
            self.complete()
        } else {
            self.delivery.critical()
        }
    }

    /// The cycle from which an access to `pa`, in this line, is served.
    #[must_use]
    pub fn ready(&self, pa: RamAddress, forward: Forward) -> u64 {
        let beat = self.delivery.beats.beat_of(self.critical, pa);
        match forward {
            Forward::Critical if beat == 0 => self.delivery.critical(),
            Forward::Beats => self.delivery.beat(beat),
            Forward::Critical | Forward::Line => self.complete(),
        }
    }

    /// True if a run with RAM of `ram` bytes can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        (self.line.max(self.critical) as usize) < ram && self.delivery.fits()
    }
}

/// A bound on the lines that can be filled at a time: for posted stores, for touches, and for accesses that the core
/// waits for.
const MOST: usize = 4 * POSTED_MAX as usize;

/// An entry is kept so many cycles after its line is complete. An access may come that is a little earlier than one
/// before it, because an exception has taken back the rest of a block.
const KEPT: u64 = 1 << 20;

/// The lines that are being filled into one cache.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// Enters the line of `arrival` at `now`. The caller gives the line its place in the cache.
    #[inline(always)]
    pub fn add(&mut self, arrival: Arrival, now: u64) {
        if let Some(first) = self.0.first()
            && first.complete() + KEPT <= now
        {
            self.drop_old(now);
        }
        // A line that left the cache and is filled again replaces its old entry; entries of complete lines are
        // reused.
        let mut place = None;
        for old in &mut self.0 {
            let same = old.line == arrival.line;
            if same || old.complete() <= now {
                place = Some(old);
            }
            if same {
                break;
            }
        }
        match place {
            Some(old) => old.set(&arrival),
            None => self.0.push(arrival),
        }
    }

    /// Drops entries whose lines have been complete for long. Otherwise a program that had many lines on their way once
    /// would search among so many ever after.
    #[cold]
    #[inline(never)]
    fn drop_old(&mut self, now: u64) {
        self.0.retain(|arrival| arrival.complete() + KEPT > now);
    }

    /// The line at `line`, if a part of it is still missing at `now`.
    #[inline]
    #[must_use]
    pub fn find(&self, line: u32, now: u64) -> Option<&Arrival> {
        let mut lines = self.0.iter();
        lines
            .find(|arrival| arrival.line == line)
            .filter(|arrival| arrival.complete() > now)
    }

    /// True if a run with RAM of `ram` bytes can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        self.0.len() <= MOST && self.0.iter().all(|arrival| arrival.fits(ram))
    }

    /// The cycle at which all of them have arrived.
    #[must_use]
    pub fn last(&self) -> u64 {
        let ends = self.0.iter().map(Arrival::complete);
        ends.max().unwrap_or_default()
    }
}
