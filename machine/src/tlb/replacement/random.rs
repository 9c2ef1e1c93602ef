//! Pseudo-random: a linear feedback shift register, as cores have it, chooses among all ways of the set.

use super::Replacement;
use crate::tlb::Slot;
use serde::{Deserialize, Serialize};

/// A register for the whole TLB. It moves on with each choice, so that the same run gives the same choices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Random(Register);

/// A shift register of 16 bits that takes on all values but 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Register(u16);

impl Register {
    pub(super) const START: Self = Self(1);

    /// A number below `bound`.
    pub(super) fn draw(&mut self, bound: usize) -> usize {
        // x^16 + x^14 + x^13 + x^11 + 1. Sixteen steps: two draws have no bit in common.
        for _ in 0..16 {
            self.0 = self.0 >> 1 ^ if self.0 & 1 == 0 { 0 } else { 0xb400 };
        }
        usize::from(self.0) % bound.max(1)
    }

    pub(super) fn fits(&self) -> bool {
        self.0 != 0
    }
}

impl Replacement for Random {
    fn new(_sets: u32, _ways: u32) -> Self {
        Self(Register::START)
    }

    fn free_ways(&self, ways: u32) -> u32 {
        ways
    }

    fn victim<S: Slot>(&mut self, _set: usize, entries: &[S]) -> u8 {
        self.0.draw(entries.len()) as u8
    }

    fn fits(&self, _fresh: &Self) -> bool {
        self.0.fits()
    }
}
