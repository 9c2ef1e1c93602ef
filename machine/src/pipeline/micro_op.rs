//! An instruction as the pipeline sees it, independent of the instruction set.

/// Units of a core at most.
pub const UNITS: usize = 8;

/// Lanes of a unit at most: instructions that it can work on side by side.
pub const LANES: usize = 2;

/// Registers that the pipeline can tell apart, with condition fields and carry bits.
pub const REGISTERS: usize = 128 - UNITS * LANES;

/// A set of registers, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterSet(u128);

impl RegisterSet {
    /// No register.
    pub const NONE: Self = Self(0);

    /// Adds `count` registers, beginning with `first`. Numbers of [`REGISTERS`] and above are ignored.
    #[inline]
    #[must_use]
    pub const fn with(self, first: usize, count: usize) -> Self {
        const ALL: u128 = (1 << REGISTERS) - 1;
        if first >= REGISTERS {
            return self;
        }
        let added = if count < REGISTERS {
            (1 << count) - 1
        } else {
            ALL
        };
        Self(self.0 | added << first & ALL)
    }

    /// The set, a bit for each register.
    pub(super) const fn bits(self) -> u128 {
        self.0
    }

    /// The numbers in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        numbers(self.0)
    }
}

/// The numbers of the bits that are set, in order.
pub(super) fn numbers(mut left: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = left.trailing_zeros() as usize;
        left &= left.checked_sub(1)?;
        Some(number)
    })
}

/// Whether an instruction needs special treatment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// It needs none.
    #[default]
    Plain,
    /// A branch. If it depends on a condition: the register that holds it.
    Branch { condition: Option<u8> },
    /// It waits until all earlier instructions have completed. Later ones are fetched when it has completed.
    Synchronizes,
}

/// An instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicroOp {
    /// Its row in the core's table of costs ([`super::schedule::ClassTiming`]).
    pub class: u8,
    /// Registers that it reads.
    pub reads: RegisterSet,
    /// Registers that it writes.
    pub writes: RegisterSet,
    pub flow: Flow,
}
