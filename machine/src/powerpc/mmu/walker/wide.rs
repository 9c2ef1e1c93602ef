//! A walker that reads and compares several PTEs at once, as many as a part of a cache line holds. The table is the
//! architecture's. No processor of the family has one.

use super::hashed::{Hashed, matching};
use super::{Found, NoEntry, Port, Walker};
use crate::memory::Ram;
use crate::powerpc::mmu::front6xx::Page;
use crate::powerpc::mmu::hash::{self, PTEG_SLOTS};
use serde::{Deserialize, Serialize};

/// The search, some PTEs at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wide {
    /// PTEs of an access.
    ptes: u32,
    search: Hashed,
}

impl Wide {
    /// A search of so many PTEs at a time.
    #[must_use]
    pub fn new(options: &[u32]) -> Self {
        let [ptes] = super::known(options);
        Self {
            ptes,
            search: Hashed,
        }
    }

    /// True if this state is possible for a walker with the same configuration as `fresh`.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.ptes == fresh.ptes
    }
}

impl Walker for Wide {
    fn search(&mut self, page: &Page, _bits: u32, port: &mut Port<'_>) -> Result<Found, NoEntry> {
        let (primary, secondary) = hash::groups(page.sdr1, page.segment, page.ea);
        for (group, second) in [(primary, false), (secondary, true)] {
            for first in (0..PTEG_SLOTS).step_by(self.ptes as usize) {
                let first = group + first * 8;
                let read = port.read_together(first, self.ptes);
                let read = read.ok_or(NoEntry::Outside(first))?;
                for (pte, n) in read.into_iter().zip(0..self.ptes) {
                    if let Some(found) = matching(page, (first + n * 8, pte), second, port) {
                        return Ok(found);
                    }
                }
            }
        }
        Err(NoEntry::Absent)
    }

    fn peek(&self, page: &Page, ram: &Ram) -> Option<u32> {
        self.search.peek(page, ram)
    }

    fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>) {
        self.search.set(found, bit, port);
    }
}
