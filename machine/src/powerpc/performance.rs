//! The performance monitor of the 604 and 750.

use serde::{Deserialize, Serialize};

use super::spr::number as n;
use crate::machine::Machine;

/// MMCR0, MMCR1, PMC1 to PMC4, SIA and SDA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceMonitor {
    mmcr0: u32,
    mmcr1: u32,
    pmc: [u32; 4],
    sia: u32,
    sda: u32,
}

impl PerformanceMonitor {
    /// A performance-monitor exception waits to be taken.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        false
    }

    /// Core cycles within which the counters must be looked at again.
    #[must_use]
    pub fn period(&self) -> Option<u64> {
        None
    }
}

impl Machine {
    pub(crate) fn read_performance_monitor(&mut self, number: u32) -> u32 {
        let p = &self.performance;
        match number {
            n::MMCR0 => p.mmcr0,
            n::MMCR1 => p.mmcr1,
            n::PMC1 => p.pmc[0],
            n::PMC2 => p.pmc[1],
            n::PMC3 => p.pmc[2],
            n::PMC4 => p.pmc[3],
            n::SIA => p.sia,
            _ => p.sda,
        }
    }

    pub(crate) fn write_performance_monitor(&mut self, number: u32, value: u32) {
        let p = &mut self.performance;
        *match number {
            n::MMCR0 => &mut p.mmcr0,
            n::MMCR1 => &mut p.mmcr1,
            n::PMC1 => &mut p.pmc[0],
            n::PMC2 => &mut p.pmc[1],
            n::PMC3 => &mut p.pmc[2],
            n::PMC4 => &mut p.pmc[3],
            n::SIA => &mut p.sia,
            _ => &mut p.sda,
        } = value;
    }
}
