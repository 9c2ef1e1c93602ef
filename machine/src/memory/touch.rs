//! Lines that `dcbt` or `dcbtst` fetches and no access has used yet. They are being fetched, or wait in the core's
//! touch buffer if it has one.

use super::arrivals::Arrival;
use crate::account::Cause;
use serde::{Deserialize, Serialize};

/// A line that was touched.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Touched {
    /// The line, and when its beats arrive.
    pub arrival: Arrival,
    /// The cause of the touch.
    pub cause: Cause,
}

impl Touched {
    /// The core cycle at which the whole line has arrived.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.arrival.complete()
    }
}

/// The touched lines, the oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Touches(Vec<Touched>);

impl Touches {
    /// Is there none?
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A line is on its way.
    pub fn add(&mut self, touched: Touched) {
        self.0.push(touched);
    }

    /// The oldest.
    #[must_use]
    pub fn oldest(&self) -> Option<Touched> {
        self.0.first().copied()
    }

    /// Takes out the oldest.
    pub fn take_oldest(&mut self) -> Option<Touched> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Is this line among them?
    #[must_use]
    pub fn has(&self, line: u32) -> bool {
        self.0.iter().any(|touched| touched.arrival.line() == line)
    }

    /// Takes out this line.
    pub fn take(&mut self, line: u32) -> Option<Touched> {
        let place = self
            .0
            .iter()
            .position(|touched| touched.arrival.line() == line)?;
        Some(self.0.remove(place))
    }

    /// True if a run with RAM of `ram` bytes can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self, ram: usize) -> bool {
        let may_be = |touched: &Touched| touched.arrival.fits(ram);
        self.0.len() <= super::posted::POSTED_MAX as usize && self.0.iter().all(may_be)
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
