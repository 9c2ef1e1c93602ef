//! Parts of predictors that several architectures have: two-bit counters, and a stack of return addresses.

use serde::{Deserialize, Serialize};

/// Tells a two-bit counter, 2 and 3 of which predict that a branch is taken, what the branch does. True if it was
/// predicted to be taken.
#[inline(always)]
pub fn train(counter: &mut u8, taken: bool) -> bool {
    let predicted = *counter >= 2;
    *counter = if taken {
        (*counter + 1).min(3)
    } else {
        counter.saturating_sub(1)
    };
    predicted
}

/// The last so many return addresses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Returns<const COUNT: usize> {
    #[serde(with = "serde_big_array::BigArray")]
    addresses: [u64; COUNT],
    top: usize,
}

impl<const COUNT: usize> Default for Returns<COUNT> {
    fn default() -> Self {
        Returns {
            addresses: [0; COUNT],
            top: 0,
        }
    }
}

impl<const COUNT: usize> Returns<COUNT> {
    /// How far into it the place of the newest address is, and the addresses, for compiled code.
    pub const PARTS: (usize, usize) = (
        std::mem::offset_of!(Self, top),
        std::mem::offset_of!(Self, addresses),
    );

    /// Can a predictor be in this state?
    #[must_use]
    pub fn fits(&self) -> bool {
        self.top < COUNT
    }

    /// A call whose return address is `back`.
    #[inline]
    pub fn call(&mut self, back: u64) {
        self.top = (self.top + 1) % COUNT;
        self.addresses[self.top] = back;
    }

    /// A return to `target`. True if that was predicted.
    pub fn returns_to(&mut self, target: u64) -> bool {
        let right = self.addresses[self.top] == target;
        self.top = (self.top + COUNT - 1) % COUNT;
        right
    }
}
