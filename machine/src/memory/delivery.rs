//! When the beats of a line reach the core.

use super::RamAddress;
use serde::{Deserialize, Serialize};

/// How the beats of a line follow its first one. The parts lie in one word, because each miss moves them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beats(u64);

/// Bits of a time between beats.
const TIME: u32 = 24;
/// Where the number of the last beat is.
const LAST: u32 = 2 * TIME;
/// Where the length of a group is, as a power of two.
const GROUP: u32 = LAST + 8;
/// Where the length of a beat is, as a power of two.
const SHIFT: u32 = GROUP + 4;

impl Beats {
    /// The longest time between beats, in half core cycles.
    pub const MOST: u64 = (1 << TIME) - 1;

    /// The beats of a line of `bytes`, each of `width` bytes: `step` half core cycles between beats, and `gap` more
    /// before the first beat of each group of `group` beats. Longer times than [`Beats::MOST`] count as that.
    #[must_use]
    pub fn new((step, gap): (u64, u64), group: u32, bytes: u32, width: u32) -> Self {
        let shift = width.trailing_zeros().min(15);
        let last = (bytes >> shift).clamp(1, 256) - 1;
        let group = group.trailing_zeros().min(15);
        Self(
            step.min(Self::MOST)
                | gap.min(Self::MOST) << TIME
                | u64::from(last) << LAST
                | u64::from(group) << GROUP
                | u64::from(shift) << SHIFT,
        )
    }

    /// The number of the last beat, counted from 0.
    #[inline]
    #[must_use]
    pub fn last(self) -> u32 {
        (self.0 >> LAST) as u32 & 0xff
    }

    /// Half core cycles from the first beat to beat `number`.
    #[inline]
    #[must_use]
    pub fn until(self, number: u32) -> u64 {
        let (step, gap) = (self.0 & Self::MOST, self.0 >> TIME & Self::MOST);
        let groups = number >> (self.0 >> GROUP & 0xf);
        u64::from(number) * step + u64::from(groups) * gap
    }

    /// Half core cycles from the first beat to the last one.
    #[must_use]
    pub fn span(self) -> u64 {
        self.until(self.last())
    }

    /// The beat that holds `pa`, when that of `critical` comes first and the others follow in order, round
    /// within the line.
    #[inline]
    #[must_use]
    pub fn beat_of(self, critical: u32, pa: RamAddress) -> u32 {
        let shift = self.0 >> SHIFT;
        (pa >> shift).wrapping_sub(critical >> shift) & self.last()
    }
}

/// When the beats of a line reach the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The half core cycle in which the first beat arrives, which holds the address asked for.
    pub(super) first: u64,
    /// The core cycle in which the last beat arrives.
    pub(super) complete: u64,
    /// How the others follow.
    pub(super) beats: Beats,
}

impl Delivery {
    /// True if a run can lead to this state. A snapshot is checked by this before use.
    pub(crate) fn fits(&self) -> bool {
        self.first < crate::config::LATEST
            && (self.beats.last() + 1).is_power_of_two()
            && self.complete == self.beat(self.beats.last())
    }

    /// Core cycle of beat `number`, from 0 on.
    #[inline]
    #[must_use]
    pub fn beat(&self, number: u32) -> u64 {
        (self.first + self.beats.until(number)) / 2
    }

    /// Core cycle of the first beat.
    #[inline]
    #[must_use]
    pub fn critical(&self) -> u64 {
        self.first / 2
    }

    /// Core cycle of the last beat.
    #[inline]
    #[must_use]
    pub fn complete(&self) -> u64 {
        self.complete
    }
}
