//! Rounding and its exceptions: overflow, underflow, precision (SDM volume 1, sections 4.8, 4.9 and 8.5).

use super::extended::Extended;
use super::status;
use crate::float::{Exact, Mode, Remainder, split};

/// The numbers of a format: bits of the significand, and the exponents of the smallest and largest normal numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub bits: u32,
    pub smallest: i32,
    pub largest: i32,
}

pub(super) const SINGLE: Range = Range {
    bits: 24,
    smallest: -126,
    largest: 127,
};
pub(super) const DOUBLE: Range = Range {
    bits: 53,
    smallest: -1022,
    largest: 1023,
};
const EXTENDED: Range = Range {
    bits: 64,
    smallest: -16382,
    largest: 16383,
};

/// What an unmasked overflow takes from the exponent, and an unmasked underflow adds to it (SDM volume 1, 8.5.4).
const ADJUSTMENT: i32 = 24576;

/// The control word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control(pub u16);

impl Control {
    pub fn mode(self) -> Mode {
        match self.0 >> 10 & 3 {
            0 => Mode::Nearest,
            1 => Mode::Down,
            2 => Mode::Up,
            _ => Mode::Zero,
        }
    }

    /// Bits of results' significands. The value 1 is reserved: the processors take it for 64 bits.
    pub fn bits(self) -> u32 {
        match self.0 >> 8 & 3 {
            0 => 24,
            2 => 53,
            _ => 64,
        }
    }

    /// Those of the exceptions `flags` that are not masked.
    pub fn unmasked(self, flags: u16) -> u16 {
        flags & !self.0 & status::EXCEPTIONS
    }
}

/// The result of an instruction, and the exceptions that it raises.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computed {
    pub value: Extended,
    pub flags: u16,
    /// The magnitude was rounded up: C1.
    pub up: bool,
}

impl Computed {
    /// A result that needs no rounding.
    pub fn plain(value: Extended, flags: u16) -> Computed {
        Computed {
            value,
            flags,
            up: false,
        }
    }

    pub fn invalid() -> Computed {
        Computed::plain(Extended::INDEFINITE, status::INVALID)
    }

    /// An operand was in an empty register.
    pub fn underflow() -> Computed {
        Computed::plain(Extended::INDEFINITE, status::INVALID | status::STACK)
    }

    /// A register to load was not empty, which C1 tells.
    pub fn overflow() -> Computed {
        Computed {
            up: true,
            ..Computed::underflow()
        }
    }

    #[must_use]
    pub fn with(self, flags: u16) -> Computed {
        Computed {
            flags: self.flags | flags,
            ..self
        }
    }
}

/// A number that was rounded to a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted {
    pub infinite: bool,
    pub exponent: i32,
    /// With the integer bit 63 set, unless the number is a denormal or zero.
    pub significand: u64,
    pub flags: u16,
    pub up: bool,
}

fn largest(range: Range, mode: Mode, negative: bool) -> Fitted {
    let infinite = match mode {
        Mode::Nearest => true,
        Mode::Zero => false,
        Mode::Up => !negative,
        Mode::Down => negative,
    };
    Fitted {
        infinite,
        exponent: range.largest,
        significand: u64::MAX << (64 - range.bits),
        flags: status::OVERFLOW | status::PRECISION,
        up: infinite,
    }
}

/// Rounds to `range`. If overflow or underflow occurs and is not masked, the result has its own exponent, which is out
/// of the range.
pub(super) fn fit(exact: Exact, control: Control, range: Range) -> Fitted {
    let mode = control.mode();
    let mut fitted = Fitted {
        infinite: false,
        exponent: range.smallest,
        significand: 0,
        flags: 0,
        up: false,
    };
    if exact.is_zero() && !exact.sticky {
        return fitted;
    }
    fitted.exponent = exact.exponent;
    let rounded = |exact: Exact| {
        let (kept, remainder) = split(exact, range.bits);
        let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
        (kept, remainder != Remainder::None, up)
    };
    let all_ones = u64::MAX >> (64 - range.bits);
    let (mut kept, mut inexact, mut up) = rounded(exact);
    // Tininess is detected after rounding (SDM volume 1, 4.9.1.5).
    let carries = up && kept == all_ones;
    let tiny = exact.exponent + i32::from(carries) < range.smallest;
    if tiny && control.unmasked(status::UNDERFLOW) != 0 {
        fitted.flags |= status::UNDERFLOW;
    } else if exact.exponent < range.smallest {
        let by = (range.smallest - exact.exponent) as u32;
        (kept, inexact, up) = rounded(exact.shifted(by));
        fitted.exponent = range.smallest;
        if tiny && inexact {
            fitted.flags |= status::UNDERFLOW;
        }
    }
    if inexact {
        fitted.flags |= status::PRECISION;
    }
    fitted.up = up;
    if up && kept == all_ones {
        fitted.exponent += 1;
        fitted.significand = 1 << 63;
    } else {
        fitted.significand = (kept + u64::from(up)) << (64 - range.bits);
    }
    if fitted.exponent > range.largest {
        if control.unmasked(status::OVERFLOW) == 0 {
            return largest(range, mode, exact.negative);
        }
        fitted.flags |= status::OVERFLOW;
    }
    fitted
}

/// Rounds to a register, with a significand of `bits` bits.
pub(super) fn round(exact: Exact, control: Control, bits: u32) -> Computed {
    let range = Range { bits, ..EXTENDED };
    let fitted = fit(exact, control, range);
    let exponent = if fitted.flags & control.unmasked(status::OVERFLOW) != 0 {
        fitted.exponent - ADJUSTMENT
    } else if fitted.flags & control.unmasked(status::UNDERFLOW) != 0 {
        fitted.exponent + ADJUSTMENT
    } else {
        fitted.exponent
    };
    // Only FSCALE gives what does not fit even with its exponent adjusted.
    let beyond = if exponent > EXTENDED.largest {
        Some(Extended::infinity(exact.negative))
    } else if exponent < EXTENDED.smallest {
        Some(Extended::zero(exact.negative))
    } else {
        None
    };
    if let Some(value) = beyond {
        return Computed {
            value,
            flags: fitted.flags | status::PRECISION,
            up: exponent > 0,
        };
    }
    let value = if fitted.infinite {
        Extended::infinity(exact.negative)
    } else {
        Extended::packed(exact.negative, exponent, fitted.significand)
    };
    Computed {
        value,
        flags: fitted.flags,
        up: fitted.up,
    }
}

/// The integer that `exact` rounds to, its exceptions, and whether the magnitude grew. `None`: more than 64 bits.
pub(super) fn integer(exact: Exact, mode: Mode) -> Option<(u64, u16, bool)> {
    if exact.is_zero() {
        return Some((0, 0, false));
    }
    let (kept, remainder) = match exact.exponent {
        64.. => return None,
        0.. => split(exact, exact.exponent as u32 + 1),
        -1 if exact.significand << 1 == 0 && !exact.sticky => (0, Remainder::Half),
        -1 => (0, Remainder::AboveHalf),
        _ => (0, Remainder::BelowHalf),
    };
    let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
    let flags = if remainder == Remainder::None {
        0
    } else {
        status::PRECISION
    };
    Some((kept.checked_add(up.into())?, flags, up))
}
