//! The formats of IEEE 754: what their bits mean, and how an exact number is rounded to one.

use std::cmp::Ordering;

use super::{Exact, Mode, Number, Remainder, Whole, integer, split};

/// A format of numbers with a sign, an exponent and a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the significand.
    pub bits: u32,
    /// Exponent of the largest numbers; the smallest normal ones have one minus this.
    pub largest: i32,
}

pub const SINGLE: Format = Format {
    bits: 24,
    largest: 127,
};

pub const DOUBLE: Format = Format {
    bits: 53,
    largest: 1023,
};

/// When a unit finds that a result is too small for a normal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tininess {
    BeforeRounding,
    /// As if the exponent had no bound.
    AfterRounding,
}

/// A number that was rounded to a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitted {
    pub negative: bool,
    /// It may be larger than the format's largest.
    pub exponent: i32,
    /// As many bits as the format has; the upper one is 0 in a denormal.
    pub significand: u64,
    /// Too small for a normal number.
    pub tiny: bool,
    pub inexact: bool,
    /// The magnitude was rounded up.
    pub up: bool,
}

impl Format {
    /// Exponent of the smallest normal numbers.
    #[must_use]
    pub const fn smallest(self) -> i32 {
        1 - self.largest
    }

    /// The exponent's field of infinities and NaNs.
    const fn field(self) -> u64 {
        2 * self.largest as u64 + 1
    }

    /// The sign bit.
    #[must_use]
    pub const fn sign(self) -> u64 {
        (self.field() + 1) << (self.bits - 1)
    }

    const fn fraction(self) -> u64 {
        (1 << (self.bits - 1)) - 1
    }

    #[must_use]
    pub const fn infinity(self) -> u64 {
        self.field() << (self.bits - 1)
    }

    /// The bit that tells quiet NaNs.
    #[must_use]
    pub const fn quiet(self) -> u64 {
        1 << (self.bits - 2)
    }

    /// The NaN that an invalid operation gives.
    #[must_use]
    pub const fn nan(self) -> u64 {
        self.infinity() | self.quiet()
    }

    /// `magnitude` with a sign.
    #[must_use]
    pub fn signed(self, negative: bool, magnitude: u64) -> u64 {
        magnitude | if negative { self.sign() } else { 0 }
    }

    #[must_use]
    pub fn is_negative(self, value: u64) -> bool {
        value & self.sign() != 0
    }

    #[must_use]
    pub fn magnitude(self, value: u64) -> u64 {
        value & !self.sign()
    }

    #[must_use]
    pub fn is_nan(self, value: u64) -> bool {
        self.magnitude(value) > self.infinity()
    }

    #[must_use]
    pub fn is_signalling(self, value: u64) -> bool {
        self.is_nan(value) && value & self.quiet() == 0
    }

    #[must_use]
    pub fn is_infinite(self, value: u64) -> bool {
        self.magnitude(value) == self.infinity()
    }

    #[must_use]
    pub fn is_zero(self, value: u64) -> bool {
        self.magnitude(value) == 0
    }

    #[must_use]
    pub fn is_denormal(self, value: u64) -> bool {
        !self.is_zero(value) && self.magnitude(value) <= self.fraction()
    }

    /// An integer that is ordered as numbers are, with -0 below +0.
    #[must_use]
    pub fn order(self, value: u64) -> i64 {
        let magnitude = self.magnitude(value).cast_signed();
        if self.is_negative(value) {
            -1 - magnitude
        } else {
            magnitude
        }
    }

    /// How two numbers compare, zeros being equal. `None`: one is a NaN.
    #[must_use]
    pub fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        if self.is_zero(a) && self.is_zero(b) {
            return Some(Ordering::Equal);
        }
        Some(self.order(a).cmp(&self.order(b)))
    }

    /// What kind of number this is, of a NaN, an infinity, a zero, a denormal and a normal number.
    #[must_use]
    pub fn kind<T>(self, value: u64, [nan, infinity, zero, denormal, normal]: [T; 5]) -> T {
        if self.is_nan(value) {
            nan
        } else if self.is_infinite(value) {
            infinity
        } else if self.is_zero(value) {
            zero
        } else if self.is_denormal(value) {
            denormal
        } else {
            normal
        }
    }

    /// The integer that a number rounds to. `None`: it is a NaN, or the magnitude is above `most`, or below zero above
    /// `least`.
    #[must_use]
    pub fn whole(self, value: u64, mode: Mode, most: u64, least: u64) -> Option<Whole> {
        if self.is_nan(value) || self.is_infinite(value) {
            return None;
        }
        let bound = if self.is_negative(value) { least } else { most };
        integer(self.exact(value), mode).filter(|whole| whole.magnitude <= bound)
    }

    /// The value of a finite number.
    #[must_use]
    pub fn exact(self, value: u64) -> Exact {
        let field = (self.magnitude(value) >> (self.bits - 1)) as i32;
        let hidden = u64::from(field != 0) << (self.bits - 1);
        let significand = u128::from(value & self.fraction() | hidden);
        Exact {
            negative: self.is_negative(value),
            exponent: field.max(1) - self.largest,
            significand: significand << (128 - self.bits),
            sticky: false,
        }
        .normalized()
    }

    /// The value of what is no NaN.
    #[must_use]
    pub fn number(self, value: u64) -> Number {
        if self.is_infinite(value) {
            let negative = self.is_negative(value);
            return Number::Infinite { negative };
        }
        Number::Finite(self.exact(value))
    }

    /// Rounds to this format. A number that is too small becomes a denormal; with `traps` it keeps its exponent.
    #[must_use]
    pub fn fit(self, mut exact: Exact, mode: Mode, tininess: Tininess, traps: bool) -> Fitted {
        let negative = exact.negative;
        if exact.is_zero() && !exact.sticky {
            return Fitted {
                negative,
                exponent: self.smallest(),
                significand: 0,
                tiny: false,
                inexact: false,
                up: false,
            };
        }
        let round = |exact: Exact| {
            let (kept, remainder) = split(exact, self.bits);
            let up = mode.increments(negative, kept & 1 != 0, remainder);
            // A carry out of the significand leaves a power of two.
            let carries = up && kept == u64::MAX >> (64 - self.bits);
            (kept, up, carries, remainder != Remainder::None)
        };
        let (mut kept, mut up, mut carries, mut inexact) = round(exact);
        let grows = carries && tininess == Tininess::AfterRounding;
        let tiny = exact.exponent + i32::from(grows) < self.smallest();
        if exact.exponent < self.smallest() && !(tiny && traps) {
            exact = exact.shifted((self.smallest() - exact.exponent) as u32);
            (kept, up, carries, inexact) = round(exact);
        }
        Fitted {
            negative,
            exponent: exact.exponent + i32::from(carries),
            significand: if carries {
                1 << (self.bits - 1)
            } else {
                kept + u64::from(up)
            },
            tiny,
            inexact,
            up,
        }
    }

    /// The bits of a rounded number that is not larger than the largest.
    #[must_use]
    pub fn pack(self, fitted: &Fitted) -> u64 {
        let normal = fitted.significand >> (self.bits - 1) != 0;
        let field = if normal {
            (fitted.exponent + self.largest) as u64
        } else {
            0
        };
        let fraction = fitted.significand & self.fraction();
        self.signed(fitted.negative, field << (self.bits - 1) | fraction)
    }
}
