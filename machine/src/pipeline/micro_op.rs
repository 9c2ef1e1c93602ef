//! What the pipeline is told of an instruction, whatever the instruction set.

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

    /// Adds the registers from `first` on, `count` of them. Those from [`REGISTERS`] on are nobody's.
    #[must_use]
    pub const fn with(self, first: usize, count: usize) -> Self {
        let mut set = self.0;
        let mut number = first;
        while number < first + count && number < REGISTERS {
            set |= 1 << number;
            number += 1;
        }
        Self(set)
    }

    /// The numbers in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let number = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(number)
        })
    }
}

/// What is special about an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Nothing.
    #[default]
    Plain,
    /// A branch. If it depends on a condition: the register that holds it.
    Branch { condition: Option<u8> },
    /// It waits until everything before it has completed, and what follows is fetched when it has completed.
    Synchronizes,
}

/// An instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicroOp {
    /// Which row of the core's table says what it costs ([`super::schedule::ClassTiming`]).
    pub class: u8,
    /// Registers that it waits for.
    pub reads: RegisterSet,
    /// Registers that its result is in.
    pub writes: RegisterSet,
    pub flow: Flow,
}
