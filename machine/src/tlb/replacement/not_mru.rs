//! Not most recently used: any entry but the one that was used last, chosen as [`super::random`] chooses.

use super::Replacement;
use super::random::Register;
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// Only the way used last matters, which the TLB knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotMru(Register);

impl Replacement for NotMru {
    fn new(_sets: u32, _ways: u32) -> Self {
        Self(Register::START)
    }

    fn free_ways(&self, ways: u32) -> u32 {
        ways
    }

    fn victim<S: Slot>(&mut self, _set: usize, entries: &[S]) -> u8 {
        let recent = entries.first().map_or(0, Slot::way);
        // Ways from `recent` on move up by one: the draw is among the others.
        let drawn = self.0.draw(entries.len() - 1) as u8;
        let way = drawn + u8::from(drawn >= recent);
        way % entries.len() as u8
    }

    fn fits(&self, _fresh: &Self) -> bool {
        self.0.fits()
    }
}
