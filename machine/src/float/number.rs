//! Arithmetic of numbers and infinities, which the units of all architectures do alike. What they make of NaNs, and how
//! they tell of a fault, is theirs.

use super::Exact;

/// What is no NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Finite(Exact),
    Infinite { negative: bool },
}

/// Why an operation has no finite result, although no operand is an infinity; or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    InfinityMinusInfinity,
    InfinityTimesZero,
    InfinityOverInfinity,
    ZeroOverZero,
    RootOfNegative,
    /// The result is an infinity with this sign.
    DivisionByZero {
        negative: bool,
    },
}

use Number::{Finite, Infinite};

/// A number, or the fault of an operation.
type Outcome = Result<Number, Fault>;

impl Number {
    #[must_use]
    pub fn is_negative(self) -> bool {
        match self {
            Finite(exact) => exact.negative,
            Infinite { negative } => negative,
        }
    }

    #[must_use]
    pub fn is_zero(self) -> bool {
        matches!(self, Finite(exact) if exact.is_zero())
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(self) -> Number {
        let negative = !self.is_negative();
        match self {
            Finite(exact) => Finite(Exact { negative, ..exact }),
            Infinite { .. } => Infinite { negative },
        }
    }

    /// The sum; `down` is the rounding mode that makes an exact zero negative.
    ///
    /// # Errors
    /// Infinities with two signs.
    pub fn plus(self, other: Number, down: bool) -> Outcome {
        match (self, other) {
            (Infinite { .. }, Infinite { .. }) if self != other => {
                Err(Fault::InfinityMinusInfinity)
            }
            (infinity @ Infinite { .. }, _) | (_, infinity @ Infinite { .. }) => Ok(infinity),
            (Finite(a), Finite(b)) => Ok(Finite(a.plus(b, down))),
        }
    }

    /// The product.
    ///
    /// # Errors
    /// An infinity and a zero.
    pub fn times(self, other: Number) -> Outcome {
        match (self, other) {
            (Finite(a), Finite(b)) => Ok(Finite(a.times(b))),
            _ if self.is_zero() || other.is_zero() => Err(Fault::InfinityTimesZero),
            _ => Ok(Infinite {
                negative: self.is_negative() != other.is_negative(),
            }),
        }
    }

    /// The quotient.
    ///
    /// # Errors
    /// Two infinities, two zeros, or a number over zero.
    pub fn over(self, other: Number) -> Outcome {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Infinite { .. }, Infinite { .. }) => Err(Fault::InfinityOverInfinity),
            (Infinite { .. }, _) => Ok(Infinite { negative }),
            (Finite(a), Infinite { .. }) => Ok(Finite(Exact {
                negative,
                significand: 0,
                sticky: false,
                ..a
            })),
            _ if self.is_zero() && other.is_zero() => Err(Fault::ZeroOverZero),
            _ if other.is_zero() => Err(Fault::DivisionByZero { negative }),
            (Finite(a), Finite(b)) => Ok(Finite(a.over(b))),
        }
    }

    /// The square root, which of a zero is that zero.
    ///
    /// # Errors
    /// Of a negative number.
    pub fn root(self) -> Outcome {
        match self {
            _ if self.is_zero() => Ok(self),
            _ if self.is_negative() => Err(Fault::RootOfNegative),
            Finite(exact) => Ok(Finite(exact.root())),
            Infinite { .. } => Ok(self),
        }
    }

    /// This times `factor` plus `addend`, to be rounded once.
    ///
    /// # Errors
    /// As [`Number::times`] and [`Number::plus`].
    pub fn fused(self, factor: Number, addend: Number, down: bool) -> Outcome {
        self.times(factor)?.plus(addend, down)
    }
}
