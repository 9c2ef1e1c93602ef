//! Exact binary numbers and how they are rounded: what the floating-point units of all architectures share.

mod format;
mod number;

pub use format::{DOUBLE, Fitted, Format, SINGLE, Tininess};
pub use number::{Fault, Number};

use std::cmp::Ordering;

/// A finite number: `significand` x 2^(exponent - 127), with bit 127 set unless it is zero; plus,
/// when `sticky`, something smaller than its last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u128,
    pub sticky: bool,
}

impl Exact {
    /// An integer of at most 128 bits with its sign.
    #[must_use]
    pub fn integer(value: i128) -> Exact {
        Exact {
            negative: value < 0,
            exponent: 127,
            significand: value.unsigned_abs(),
            sticky: false,
        }
        .normalized()
    }

    pub fn is_zero(&self) -> bool {
        self.significand == 0
    }

    /// With bit 127 of the significand set.
    #[must_use]
    pub fn normalized(self) -> Exact {
        if self.significand == 0 {
            return self;
        }
        let shift = self.significand.leading_zeros();
        Exact {
            exponent: self.exponent - shift as i32,
            significand: self.significand << shift,
            ..self
        }
    }

    /// Shifted right by `by` bits; lost bits make it sticky.
    #[must_use]
    pub fn shifted(self, by: u32) -> Exact {
        let (significand, lost) = if by > 127 {
            (0, self.significand != 0)
        } else if by == 0 {
            (self.significand, false)
        } else {
            (self.significand >> by, self.significand << (128 - by) != 0)
        };
        Exact {
            significand,
            sticky: self.sticky | lost,
            exponent: self.exponent + by as i32,
            ..self
        }
    }

    /// The product of two numbers of at most 64 significant bits.
    pub fn times(self, other: Exact) -> Exact {
        let product = (self.significand >> 64) * (other.significand >> 64);
        Exact {
            negative: self.negative != other.negative,
            // The product of two significands below 2 is below 4, so bit 127 has twice the weight.
            exponent: self.exponent + other.exponent + 1,
            significand: product,
            sticky: false,
        }
        .normalized()
    }

    /// The quotient of two numbers of at most 64 significant bits, `other` not zero.
    pub fn over(self, other: Exact) -> Exact {
        let (dividend, divisor) = (self.significand >> 64, other.significand >> 64);
        // At least 64 bits of quotient: one before the point, and 64 behind it.
        let whole = u128::from(dividend >= divisor);
        let rest = (dividend - whole * divisor) << 64;
        let (fraction, rest) = (rest / divisor, rest % divisor);
        // One more bit, because a quotient below 1 has only 64 of them.
        let half = u128::from(rest << 1 >= divisor);
        Exact {
            negative: self.negative != other.negative,
            exponent: self.exponent - other.exponent + 62,
            significand: whole << 65 | fraction << 1 | half,
            sticky: rest << 1 != half * divisor,
        }
        .normalized()
    }

    /// The square root of a positive number of at most 64 significant bits.
    #[must_use]
    pub fn root(self) -> Exact {
        let odd = self.exponent & 1;
        let radicand = self.significand >> (1 - odd);
        let root = radicand.isqrt();
        let rest = radicand - root * root;
        Exact {
            exponent: (self.exponent - odd) / 2,
            // The next bit is set if the rest is more than half of what the next root would need.
            significand: root << 64 | u128::from(rest > root) << 63,
            sticky: rest != 0,
            ..self
        }
    }

    /// The sum; `toward_negative` is the rounding mode that makes an exact zero negative.
    pub fn plus(self, other: Exact, toward_negative: bool) -> Exact {
        if self.is_zero() && other.is_zero() {
            let negative = if self.negative == other.negative {
                self.negative
            } else {
                toward_negative
            };
            return Exact { negative, ..self };
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        // One bit of room for the carry.
        let (a, b) = (self.shifted(1), other.shifted(1));
        let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) {
            (a, b)
        } else {
            (b, a)
        };
        let small = small.shifted((large.exponent - small.exponent) as u32);
        if large.negative == small.negative {
            return Exact {
                significand: large.significand + small.significand,
                sticky: large.sticky | small.sticky,
                ..large
            }
            .normalized();
        }
        let borrow = u128::from(small.sticky);
        let difference = large.significand - small.significand - borrow;
        if difference == 0 && !small.sticky {
            return Exact {
                negative: toward_negative,
                significand: 0,
                ..large
            };
        }
        Exact {
            significand: difference,
            sticky: large.sticky | small.sticky,
            ..large
        }
        .normalized()
    }
}

/// Rounding modes of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Nearest,
    Zero,
    Up,
    Down,
    /// To the nearest; of two the one with the larger magnitude.
    NearestAway,
}

impl Mode {
    /// True if rounding increases the magnitude: its last bit is `odd`, and the remainder is compared with half of
    /// that bit.
    pub fn increments(self, negative: bool, odd: bool, remainder: Remainder) -> bool {
        match self {
            Mode::Nearest => {
                remainder == Remainder::AboveHalf || remainder == Remainder::Half && odd
            }
            Mode::Zero => false,
            Mode::Up => !negative && remainder != Remainder::None,
            Mode::Down => negative && remainder != Remainder::None,
            Mode::NearestAway => matches!(remainder, Remainder::Half | Remainder::AboveHalf),
        }
    }

    /// True if a number that is too large becomes an infinity; else it becomes the largest one.
    pub fn overflows(self, negative: bool) -> bool {
        match self {
            Mode::Nearest | Mode::NearestAway => true,
            Mode::Zero => false,
            Mode::Up => !negative,
            Mode::Down => negative,
        }
    }
}

/// The remainder below the last kept bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    None,
    BelowHalf,
    Half,
    AboveHalf,
}

/// Keeps the upper `bits` of `exact`'s significand, aligned to the right. Also returns the remainder.
pub fn split(exact: Exact, bits: u32) -> (u64, Remainder) {
    let kept = (exact.significand >> (128 - bits)) as u64;
    let rest = exact.significand << bits;
    let half = 1u128 << 127;
    let remainder = match (rest.cmp(&half), rest == 0, exact.sticky) {
        (_, true, false) => Remainder::None,
        (_, true, true) | (Ordering::Less, ..) => Remainder::BelowHalf,
        (Ordering::Equal, _, false) => Remainder::Half,
        _ => Remainder::AboveHalf,
    };
    (kept, remainder)
}

/// An integer that a number was rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    pub magnitude: u64,
    pub inexact: bool,
    /// The magnitude was rounded up.
    pub up: bool,
}

/// The integer that `exact` rounds to. `None`: its magnitude has more than 64 bits.
pub fn integer(exact: Exact, mode: Mode) -> Option<Whole> {
    let (kept, remainder) = match exact.exponent {
        _ if exact.is_zero() => (0, Remainder::None),
        64.. => return None,
        0.. => split(exact, exact.exponent as u32 + 1),
        -1 if exact.significand << 1 == 0 && !exact.sticky => (0, Remainder::Half),
        -1 => (0, Remainder::AboveHalf),
        _ => (0, Remainder::BelowHalf),
    };
    let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
    Some(Whole {
        magnitude: kept.checked_add(up.into())?,
        inexact: remainder != Remainder::None,
        up,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(significand: u64, exponent: i32) -> Exact {
        Exact {
            negative: false,
            exponent,
            significand: u128::from(significand | 1 << 63) << 64,
            sticky: false,
        }
    }

    proptest! {
        /// What is left of the significand is the largest integer whose square is not above the radicand.
        #[test]
        fn a_root_is_the_nearest_below(significand: u64, exponent in -20..20) {
            let radicand = exact(significand, exponent);
            let root = radicand.root();
            let kept = root.significand >> 64;
            let whole = radicand.significand >> (1 - (exponent & 1));
            prop_assert!(kept * kept <= whole && (kept + 1).checked_mul(kept + 1).is_none_or(|next| next > whole));
            prop_assert_eq!(root.exponent, exponent.div_euclid(2));
            prop_assert_eq!(root.sticky, kept * kept != whole);
        }

        /// Dividing a product by one factor gives the other.
        #[test]
        fn a_quotient_undoes_a_product(a: u32, b: u32, exponent in -20..20) {
            let (a, b) = (exact(u64::from(a) << 32, exponent), exact(u64::from(b) << 32, -exponent));
            prop_assert_eq!(a.times(b).over(b), a);
        }

        #[test]
        fn a_quotient_is_sticky_unless_it_is_exact(a: u64, b: u64) {
            let (a, b) = (exact(a, 0), exact(b, 0));
            let quotient = a.over(b);
            let (dividend, divisor) = (a.significand >> 64, b.significand >> 64);
            let shifted = dividend << if dividend < divisor { 64 } else { 63 };
            prop_assert_eq!(quotient.significand >> 64, shifted / divisor);
            let is_exact = quotient.significand << 64 == 0 && !quotient.sticky;
            prop_assert_eq!(is_exact, shifted % divisor == 0);
        }
    }
}
