//! When the beats of a line reach the core.

use super::RamAddress;
use serde::{Deserialize, Serialize};

/// When the beats of a line reach the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The half core cycle in which the first beat arrives, which holds the address asked for.
    pub(super) first: u64,
    /// Half core cycles between beats.
    pub(super) step: u64,
    /// Half core cycles by which the first beat of each group comes later than that.
    pub(super) gap: u64,
    /// Beats of a group: 1 << this.
    pub(super) group: u32,
    /// Beats, a power of two.
    pub(super) beats: u32,
    /// Bytes of a beat: 1 << this.
    pub(super) shift: u32,
}

impl Delivery {
    /// A line of `bytes` whose first beat of `width` bytes comes at the core cycle `first`, each further one
    /// `step` cycles later.
    #[must_use]
    pub fn new(first: u64, step: u32, bytes: u32, width: u32) -> Self {
        Self {
            first: 2 * first,
            step: 2 * u64::from(step),
            gap: 0,
            group: 0,
            beats: (bytes >> width.trailing_zeros()).max(1),
            shift: width.trailing_zeros(),
        }
    }

    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        self.first < crate::config::LATEST
            && self.step <= u64::from(u32::MAX)
            && self.gap <= u64::from(u32::MAX)
            && self.group < u32::BITS
            && self.beats.is_power_of_two()
            && self.shift < u32::BITS
    }

    /// Core cycle of beat `number`, from 0 on.
    #[must_use]
    pub fn beat(&self, number: u32) -> u64 {
        let groups = u64::from(number >> self.group);
        (self.first + u64::from(number) * self.step + groups * self.gap) / 2
    }

    /// Core cycle of the first beat.
    #[must_use]
    pub fn critical(&self) -> u64 {
        self.beat(0)
    }

    /// Core cycle of the last beat.
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.beat(self.beats - 1)
    }

    /// The beat that holds `pa`, when that of `critical` comes first and the others follow in order, round
    /// within the line.
    #[must_use]
    pub fn beat_of(&self, critical: u32, pa: RamAddress) -> u32 {
        (pa >> self.shift).wrapping_sub(critical >> self.shift) & (self.beats - 1)
    }
}
