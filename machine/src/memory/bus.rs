//! The 60x bus: when a transfer begins and ends.
//!
//! Bus clock edge k is at core cycle floor(k × ratio). A transfer begins on the first edge at which
//! the request is there and the bus is free, and holds the bus until its last beat; transfers are
//! served in the order of their requests.

use crate::observe::{Account, Plain};
use serde::{Deserialize, Serialize};

/// Bus timing in bus clocks; the sources are beside the values in the machine files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusTiming {
    /// Core clocks per bus clock, times two (2:1 is 4, 2.5:1 is 5).
    pub ratio_x2: u32,
    /// From a miss's request on the bus to the start of its address tenure: arbitration.
    pub request: u32,
    /// From the start of a burst read to its first beat.
    pub read_first: u32,
    /// Between further beats of a burst read.
    pub read_next: u32,
    /// From the start of a burst write to its first beat.
    pub write_first: u32,
    /// Between further beats of a burst write.
    pub write_next: u32,
    /// A single-beat read, whole.
    pub single_read: u32,
    /// A single-beat write, whole.
    pub single_write: u32,
    /// Bytes a beat (8 on the 60x bus).
    pub beat: u32,
}

/// When a burst delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Core cycle of the first beat, which is the critical double word.
    pub critical: u64,
    /// Core cycle of the last beat.
    pub complete: u64,
}

/// The bus and when it is free.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bus {
    timing: BusTiming,
    /// The edge from which the bus is free, in half core cycles: a multiple of the ratio.
    free_edge: u64,
}

impl Bus {
    /// A bus that is free from cycle 0.
    #[must_use]
    pub fn new(timing: BusTiming) -> Self {
        Self {
            timing,
            free_edge: 0,
        }
    }

    /// Its timing.
    #[must_use]
    pub fn timing(&self) -> &BusTiming {
        &self.timing
    }

    /// The core cycle from which the bus is free.
    #[inline]
    #[must_use]
    pub fn free_at(&self) -> u64 {
        self.free_edge / 2
    }

    /// Could a machine that was made as `fresh` was have come to this? A snapshot's parts are asked before use.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        self.timing == fresh.timing && self.free_edge < crate::snapshot::LATEST
    }

    /// Holds the bus for `clocks` from the first edge at or after `now` at which it is free; returns
    /// that edge in half core cycles.
    #[inline]
    fn occupy(&mut self, now: u64, clocks: u32, account: &mut Account) -> u64 {
        let ratio = self.timing.ratio_x2;
        // Edge k is at cycle floor(k × ratio / 2), which is not before `now` exactly if
        // k × ratio >= 2 × now.
        let edge = match (2 * now).checked_sub(self.free_edge) {
            None => {
                account.add_plain(Plain::BusWait, self.free_at() - now);
                self.free_edge
            }
            Some(idle) => {
                let edges = match u32::try_from(idle) {
                    Ok(idle) => u64::from(idle.div_ceil(ratio)),
                    Err(_) => idle.div_ceil(u64::from(ratio)),
                };
                self.free_edge + edges * u64::from(ratio)
            }
        };
        self.free_edge = self.after(edge, clocks);
        account.add_plain(Plain::BusCycles, self.free_at() - edge / 2);
        edge
    }

    /// The edge `clocks` after `edge`.
    fn after(&self, edge: u64, clocks: u32) -> u64 {
        edge + u64::from(clocks * self.timing.ratio_x2)
    }

    /// Reads a line of `bytes` whose request is made at `now`.
    pub fn read_line(&mut self, now: u64, bytes: u32, account: &mut Account) -> Delivery {
        let t = self.timing;
        self.read_burst(now, bytes, t.read_first, t.read_next, account)
    }

    /// Reads a line of `bytes` from something on the bus that has its own beats (a lookaside L2).
    pub fn read_burst(
        &mut self,
        now: u64,
        bytes: u32,
        first: u32,
        next: u32,
        account: &mut Account,
    ) -> Delivery {
        let further = (bytes / self.timing.beat).saturating_sub(1) * next;
        let to_first = self.timing.request + first;
        let edge = self.occupy(now, to_first + further, account);
        account.add_plain(Plain::BusRead, 1);
        Delivery {
            critical: self.after(edge, to_first) / 2,
            complete: self.free_at(),
        }
    }

    /// Writes a line of `bytes`, posted at `now`; returns the cycle of its last beat.
    pub fn write_line(&mut self, now: u64, bytes: u32, account: &mut Account) -> u64 {
        let t = self.timing;
        let further = (bytes / t.beat).saturating_sub(1) * t.write_next;
        self.occupy(now, t.request + t.write_first + further, account);
        account.add_plain(Plain::BusWrite, 1);
        self.free_at()
    }

    /// Reads a beat or less; returns the cycle at which the data is there.
    pub fn read_single(&mut self, now: u64, account: &mut Account) -> u64 {
        let clocks = self.timing.request + self.timing.single_read;
        self.occupy(now, clocks, account);
        account.add_plain(Plain::BusRead, 1);
        self.free_at()
    }

    /// Writes a beat or less; returns the cycle at which it is done.
    pub fn write_single(&mut self, now: u64, account: &mut Account) -> u64 {
        let clocks = self.timing.request + self.timing.single_write;
        self.occupy(now, clocks, account);
        account.add_plain(Plain::BusWrite, 1);
        self.free_at()
    }
}
