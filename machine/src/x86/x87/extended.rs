//! The 80-bit format of the registers, and its relatives in memory (SDM volume 1, section 4.2 and 8.2).

use serde::{Deserialize, Serialize};

use crate::float::{DOUBLE, Exact, Format, Number, SINGLE};

/// Exponent field of infinities and NaNs.
const LARGEST: u16 = 0x7fff;
const BIAS: i32 = 16383;
const SIGN: u16 = 0x8000;
/// The integer bit, which the other formats imply.
const INTEGER: u64 = 1 << 63;
/// Distinguishes quiet NaNs from signalling ones.
const QUIET: u64 = 1 << 62;

/// A number in the 80-bit format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    /// The sign in bit 15, and the exponent's field.
    pub head: u16,
    pub significand: u64,
}

/// What a bit pattern means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Zero,
    /// Too small for a normal number; or one with the integer bit set although its exponent's field is 0.
    Denormal,
    Normal,
    Infinity,
    Quiet,
    Signalling,
    /// Patterns that the 8087 knew and its successors since the 387 refuse (SDM volume 1, table 8-3).
    Unsupported,
}

impl Extended {
    /// The NaN of an invalid operation: "real indefinite".
    pub(super) const INDEFINITE: Extended = Extended {
        head: SIGN | LARGEST,
        significand: INTEGER | QUIET,
    };
    pub(super) const ONE: Extended = Extended {
        head: BIAS as u16,
        significand: INTEGER,
    };
    pub(super) const ZERO: Extended = Extended {
        head: 0,
        significand: 0,
    };

    pub(super) fn zero(negative: bool) -> Extended {
        Extended::ZERO.with_sign(negative)
    }

    pub(super) fn infinity(negative: bool) -> Extended {
        Extended {
            head: LARGEST,
            significand: INTEGER,
        }
        .with_sign(negative)
    }

    pub(super) fn is_negative(self) -> bool {
        self.head & SIGN != 0
    }

    #[must_use]
    pub(super) fn with_sign(self, negative: bool) -> Extended {
        let sign = if negative { SIGN } else { 0 };
        Extended {
            head: self.head & !SIGN | sign,
            ..self
        }
    }

    #[must_use]
    pub(super) fn negated(self) -> Extended {
        self.with_sign(!self.is_negative())
    }

    /// The quiet form of a NaN.
    #[must_use]
    pub(super) fn quiet(self) -> Extended {
        Extended {
            significand: self.significand | QUIET,
            ..self
        }
    }

    pub(super) fn class(self) -> Class {
        let (field, integer) = (self.head & LARGEST, self.significand & INTEGER != 0);
        match (field, integer) {
            (0, _) if self.significand == 0 => Class::Zero,
            (0, _) => Class::Denormal,
            (_, false) => Class::Unsupported,
            (LARGEST, _) if self.significand == INTEGER => Class::Infinity,
            (LARGEST, _) if self.significand & QUIET != 0 => Class::Quiet,
            (LARGEST, _) => Class::Signalling,
            _ => Class::Normal,
        }
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self.class(), Class::Quiet | Class::Signalling)
    }

    /// The value of a finite number.
    pub(super) fn exact(self) -> Exact {
        let field = (self.head & LARGEST).max(1);
        Exact {
            negative: self.is_negative(),
            exponent: i32::from(field) - BIAS,
            significand: u128::from(self.significand) << 64,
            sticky: false,
        }
        .normalized()
    }

    /// The value of what is neither a NaN nor unsupported.
    pub(super) fn number(self) -> Number {
        if self.class() == Class::Infinity {
            let negative = self.is_negative();
            return Number::Infinite { negative };
        }
        Number::Finite(self.exact())
    }

    /// The same number with an exponent field of 1, if its integer bit is set beside a field of 0.
    #[must_use]
    pub(super) fn canonical(self) -> Extended {
        let lifted = self.head & LARGEST == 0 && self.significand & INTEGER != 0;
        Extended {
            head: self.head | u16::from(lifted),
            ..self
        }
    }

    /// A value that fits without rounding, or does not fit and wraps as the hardware's bias adjustment does.
    pub(super) fn packed(negative: bool, exponent: i32, significand: u64) -> Extended {
        let field = if significand & INTEGER == 0 {
            0
        } else {
            exponent + BIAS
        };
        Extended {
            head: field as u16 & LARGEST,
            significand,
        }
        .with_sign(negative)
    }

    pub(super) fn from_integer(value: i64) -> Extended {
        if value == 0 {
            return Extended::ZERO;
        }
        let magnitude = value.unsigned_abs();
        let shift = magnitude.leading_zeros();
        Extended::packed(value < 0, 63 - shift as i32, magnitude << shift)
    }

    /// A number in a shorter format. NaNs stay signalling.
    fn widened(bits: u64, format: Format) -> Loaded {
        let value = if format.is_nan(bits) || format.is_infinite(bits) {
            Extended {
                head: LARGEST,
                significand: INTEGER | bits << (64 - format.bits),
            }
        } else {
            let exact = format.exact(bits);
            Extended::packed(false, exact.exponent, (exact.significand >> 64) as u64)
        };
        Loaded {
            value: value.with_sign(format.is_negative(bits)),
            denormal: format.is_denormal(bits),
        }
    }

    pub(super) fn from_single(bits: u32) -> Loaded {
        Self::widened(bits.into(), SINGLE)
    }

    pub(super) fn from_double(bits: u64) -> Loaded {
        Self::widened(bits, DOUBLE)
    }

    /// The bits of a NaN in a shorter format.
    pub(super) fn narrow_nan(self, format: Format) -> u64 {
        let fraction = (self.quiet().significand & !INTEGER) >> (64 - format.bits);
        format.signed(self.is_negative(), format.infinity() | fraction)
    }
}

/// A number from memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub value: Extended,
    /// In its own format.
    pub denormal: bool,
}
