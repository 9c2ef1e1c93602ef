//! Numbers of 32 and 64 bits: operations, rounding, flags (RISC-V Unprivileged ISA, chapter 11; IEEE 754-2008).

use std::cmp::Ordering;

use crate::float::{Exact, Mode, Remainder, split};

/// Flags of fcsr.
pub mod flag {
    pub const INEXACT: u8 = 1;
    pub const UNDERFLOW: u8 = 2;
    pub const OVERFLOW: u8 = 4;
    pub const DIVIDE: u8 = 8;
    pub const INVALID: u8 = 16;
}

/// A rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    By(Mode),
    /// To the nearest; of two the one with the larger magnitude.
    NearestAway,
}

impl Rounding {
    /// The mode with this number in frm.
    #[must_use]
    pub fn of(number: u8) -> Option<Rounding> {
        Some(match number {
            0 => Rounding::By(Mode::Nearest),
            1 => Rounding::By(Mode::Zero),
            2 => Rounding::By(Mode::Down),
            3 => Rounding::By(Mode::Up),
            4 => Rounding::NearestAway,
            _ => return None,
        })
    }

    fn increments(self, negative: bool, odd: bool, remainder: Remainder) -> bool {
        match self {
            Rounding::By(mode) => mode.increments(negative, odd, remainder),
            Rounding::NearestAway => matches!(remainder, Remainder::Half | Remainder::AboveHalf),
        }
    }

    fn is_down(self) -> bool {
        self == Rounding::By(Mode::Down)
    }
}

/// A format of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the significand.
    bits: u32,
    /// Exponent of the largest numbers; the smallest normal ones have one minus this.
    largest: i32,
    /// Bits of a number.
    width: u32,
}

pub const SINGLE: Format = Format {
    bits: 24,
    largest: 127,
    width: 32,
};

pub const DOUBLE: Format = Format {
    bits: 53,
    largest: 1023,
    width: 64,
};

impl Format {
    /// The sign bit.
    #[must_use]
    pub fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    fn fraction(self) -> u64 {
        (1 << (self.bits - 1)) - 1
    }

    fn infinity(self) -> u64 {
        (2 * self.largest as u64 + 1) << (self.bits - 1)
    }

    /// The NaN that every operation gives.
    #[must_use]
    pub fn nan(self) -> u64 {
        self.infinity() | self.quiet()
    }

    fn quiet(self) -> u64 {
        1 << (self.bits - 2)
    }

    fn magnitude(self, value: u64) -> u64 {
        value & !self.sign()
    }

    fn is_nan(self, value: u64) -> bool {
        self.magnitude(value) > self.infinity()
    }

    fn is_signalling(self, value: u64) -> bool {
        self.is_nan(value) && value & self.quiet() == 0
    }

    fn is_infinite(self, value: u64) -> bool {
        self.magnitude(value) == self.infinity()
    }

    fn is_zero(self, value: u64) -> bool {
        self.magnitude(value) == 0
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(self, value: u64) -> u64 {
        value ^ self.sign()
    }

    /// The value of a finite number.
    fn exact(self, value: u64) -> Exact {
        let field = (value >> (self.bits - 1) & (2 * self.largest as u64 + 1)) as i32;
        let fraction = u128::from(value & self.fraction());
        let shift = 128 - self.bits;
        let (exponent, significand) = if field == 0 {
            (1 - self.largest, fraction << shift)
        } else {
            let hidden = 1 << (self.bits - 1);
            (field - self.largest, (fraction | hidden) << shift)
        };
        Exact {
            negative: value & self.sign() != 0,
            exponent,
            significand,
            sticky: false,
        }
        .normalized()
    }

    /// Rounds to this format.
    fn round(self, exact: Exact, mode: Rounding, flags: &mut u8) -> u64 {
        let sign = if exact.negative { self.sign() } else { 0 };
        if exact.is_zero() && !exact.sticky {
            return sign;
        }
        let smallest = 1 - self.largest;
        let round = |exact: Exact| {
            let (kept, remainder) = split(exact, self.bits);
            let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
            (kept + u64::from(up), remainder != Remainder::None)
        };
        let mut tiny = false;
        let mut exact = exact;
        if exact.exponent < smallest {
            // Tininess is detected after rounding, as if the exponent had no bound.
            let (rounded, _) = round(exact);
            tiny = exact.exponent < smallest - 1 || rounded >> self.bits == 0;
            exact = exact.shifted((smallest - exact.exponent) as u32);
        }
        let (rounded, inexact) = round(exact);
        if inexact {
            *flags |= flag::INEXACT | if tiny { flag::UNDERFLOW } else { 0 };
        }
        // A carry out of the significand leaves a power of two, and one into the hidden bit a normal number.
        let carried = rounded >> self.bits != 0;
        let (significand, exponent) = if carried {
            (rounded >> 1, exact.exponent + 1)
        } else {
            (rounded, exact.exponent)
        };
        if exponent > self.largest {
            *flags |= flag::OVERFLOW | flag::INEXACT;
            let to_infinity = match mode {
                Rounding::By(Mode::Zero) => false,
                Rounding::By(Mode::Up) => !exact.negative,
                Rounding::By(Mode::Down) => exact.negative,
                Rounding::By(Mode::Nearest) | Rounding::NearestAway => true,
            };
            return sign | (self.infinity() - u64::from(!to_infinity));
        }
        let normal = significand >> (self.bits - 1) != 0;
        let field = if normal {
            (exponent + self.largest) as u64
        } else {
            0
        };
        sign | field << (self.bits - 1) | significand & self.fraction()
    }

    /// The result if an operand is a NaN.
    fn of_nan(self, operands: &[u64], flags: &mut u8) -> Option<u64> {
        if operands.iter().any(|&value| self.is_signalling(value)) {
            *flags |= flag::INVALID;
        }
        let nan = operands.iter().any(|&value| self.is_nan(value));
        nan.then(|| self.nan())
    }

    fn invalid(self, flags: &mut u8) -> u64 {
        *flags |= flag::INVALID;
        self.nan()
    }

    pub fn add(self, a: u64, b: u64, mode: Rounding, flags: &mut u8) -> u64 {
        if let Some(nan) = self.of_nan(&[a, b], flags) {
            return nan;
        }
        match (self.is_infinite(a), self.is_infinite(b)) {
            (true, true) if a != b => self.invalid(flags),
            (true, _) => a,
            (_, true) => b,
            _ => {
                let sum = self.exact(a).plus(self.exact(b), mode.is_down());
                self.round(sum, mode, flags)
            }
        }
    }

    pub fn multiply(self, a: u64, b: u64, mode: Rounding, flags: &mut u8) -> u64 {
        if let Some(nan) = self.of_nan(&[a, b], flags) {
            return nan;
        }
        let sign = (a ^ b) & self.sign();
        let infinite = self.is_infinite(a) || self.is_infinite(b);
        match (infinite, self.is_zero(a) || self.is_zero(b)) {
            (true, true) => self.invalid(flags),
            (true, false) => sign | self.infinity(),
            (false, true) => sign,
            (false, false) => self.round(self.exact(a).times(self.exact(b)), mode, flags),
        }
    }

    pub fn divide(self, a: u64, b: u64, mode: Rounding, flags: &mut u8) -> u64 {
        if let Some(nan) = self.of_nan(&[a, b], flags) {
            return nan;
        }
        let sign = (a ^ b) & self.sign();
        let zeros = (self.is_zero(a), self.is_zero(b));
        match (self.is_infinite(a), self.is_infinite(b), zeros) {
            (true, true, _) | (_, _, (true, true)) => self.invalid(flags),
            (true, ..) => sign | self.infinity(),
            (.., (_, true)) => {
                *flags |= flag::DIVIDE;
                sign | self.infinity()
            }
            (_, true, _) | (.., (true, _)) => sign,
            _ => self.round(self.exact(a).over(self.exact(b)), mode, flags),
        }
    }

    pub fn root(self, a: u64, mode: Rounding, flags: &mut u8) -> u64 {
        if let Some(nan) = self.of_nan(&[a], flags) {
            return nan;
        }
        if self.is_zero(a) || a == self.infinity() {
            a
        } else if a & self.sign() != 0 {
            self.invalid(flags)
        } else {
            self.round(self.exact(a).root(), mode, flags)
        }
    }

    /// a x b + c, rounded once.
    pub fn fused(self, (a, b, c): (u64, u64, u64), mode: Rounding, flags: &mut u8) -> u64 {
        let infinite = self.is_infinite(a) || self.is_infinite(b);
        let no_product = infinite && (self.is_zero(a) || self.is_zero(b));
        if let Some(nan) = self.of_nan(&[a, b, c], flags) {
            if no_product {
                *flags |= flag::INVALID;
            }
            return nan;
        }
        if no_product {
            return self.invalid(flags);
        }
        let sign = (a ^ b) & self.sign();
        match (infinite, self.is_infinite(c)) {
            (true, true) if sign != c & self.sign() => self.invalid(flags),
            (true, _) => sign | self.infinity(),
            (_, true) => c,
            _ => {
                let product = self.exact(a).times(self.exact(b));
                let sum = product.plus(self.exact(c), mode.is_down());
                self.round(sum, mode, flags)
            }
        }
    }

    /// A number of another format.
    pub fn converted(self, from: Format, value: u64, mode: Rounding, flags: &mut u8) -> u64 {
        if from.of_nan(&[value], flags).is_some() {
            return self.nan();
        }
        if from.is_infinite(value) {
            let negative = value & from.sign() != 0;
            return self.infinity() | if negative { self.sign() } else { 0 };
        }
        self.round(from.exact(value), mode, flags)
    }

    pub fn of_integer(self, value: i128, mode: Rounding, flags: &mut u8) -> u64 {
        let exact = Exact {
            negative: value < 0,
            exponent: 127,
            significand: value.unsigned_abs(),
            sticky: false,
        };
        self.round(exact.normalized(), mode, flags)
    }

    /// An integer of so many bits; the nearest one where the number is outside of them.
    pub fn to_integer(
        self,
        value: u64,
        width: u32,
        signed: bool,
        mode: Rounding,
        flags: &mut u8,
    ) -> u64 {
        let most = if signed {
            (1_i128 << (width - 1)) - 1
        } else {
            (1_i128 << width) - 1
        };
        let least = if signed { -1 - most } else { 0 };
        let negative = value & self.sign() != 0;
        let mut saturated = |up: bool| {
            *flags |= flag::INVALID;
            (if up { most } else { least }) as u64
        };
        if self.is_nan(value) {
            return saturated(true);
        }
        if self.is_infinite(value) || self.exact(value).exponent > 65 {
            return saturated(!negative);
        }
        let exact = self.exact(value);
        // Below a half all remainders are alike.
        let shift = (127 - exact.exponent).clamp(1, 130) as u32;
        let (whole, rest) = match shift {
            1..=127 => (
                exact.significand >> shift,
                exact.significand << (128 - shift),
            ),
            128 => (0, exact.significand),
            _ => (0, u128::from(exact.significand != 0)),
        };
        let remainder = match (rest.cmp(&(1 << 127)), rest) {
            (_, 0) => Remainder::None,
            (Ordering::Less, _) => Remainder::BelowHalf,
            (Ordering::Equal, _) => Remainder::Half,
            (Ordering::Greater, _) => Remainder::AboveHalf,
        };
        let up = mode.increments(negative, whole & 1 != 0, remainder);
        let magnitude = whole.cast_signed() + i128::from(up);
        let integer = if negative { -magnitude } else { magnitude };
        if !(least..=most).contains(&integer) {
            return saturated(!negative);
        }
        if remainder != Remainder::None {
            *flags |= flag::INEXACT;
        }
        integer as u64
    }

    /// The smaller or the larger one; a number rather than a NaN.
    pub fn extreme(self, a: u64, b: u64, smaller: bool, flags: &mut u8) -> u64 {
        if self.is_signalling(a) || self.is_signalling(b) {
            *flags |= flag::INVALID;
        }
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => self.nan(),
            (true, false) => b,
            (false, true) => a,
            // -0 is smaller than +0.
            _ if (self.order(a) < self.order(b)) == smaller => a,
            _ => b,
        }
    }

    /// An integer that is ordered as numbers are, with -0 below +0.
    fn order(self, value: u64) -> i64 {
        let magnitude = self.magnitude(value).cast_signed();
        if value & self.sign() == 0 {
            magnitude
        } else {
            -1 - magnitude
        }
    }

    pub fn equal(self, a: u64, b: u64, flags: &mut u8) -> u64 {
        if self.is_signalling(a) || self.is_signalling(b) {
            *flags |= flag::INVALID;
        }
        let nan = self.is_nan(a) || self.is_nan(b);
        let zeros = self.is_zero(a) && self.is_zero(b);
        u64::from(!nan && (a == b || zeros))
    }

    pub fn less(self, a: u64, b: u64, or_equal: bool, flags: &mut u8) -> u64 {
        if self.is_nan(a) || self.is_nan(b) {
            *flags |= flag::INVALID;
            return 0;
        }
        if self.is_zero(a) && self.is_zero(b) {
            return or_equal.into();
        }
        let order = self.order(a).cmp(&self.order(b));
        u64::from(order == Ordering::Less || or_equal && order == Ordering::Equal)
    }

    /// One bit of ten (RISC-V Unprivileged ISA, table 11.5).
    #[must_use]
    pub fn class(self, value: u64) -> u64 {
        let negative = value & self.sign() != 0;
        let subnormal = self.magnitude(value) <= self.fraction();
        let bit = if self.is_nan(value) {
            return 1 << if self.is_signalling(value) { 8 } else { 9 };
        } else if self.is_infinite(value) {
            [7, 0]
        } else if self.is_zero(value) {
            [4, 3]
        } else if subnormal {
            [5, 2]
        } else {
            [6, 1]
        };
        1 << bit[usize::from(negative)]
    }
}
