//! Rounding and its exceptions: overflow, underflow, precision (SDM volume 1, sections 4.8, 4.9 and 8.5).

use super::extended::Extended;
use super::status;
use crate::float::{self, Exact, Fault, Fitted, Format, Mode, Number, Tininess};

/// The registers' format, as far as rounding goes.
const EXTENDED: Format = Format {
    bits: 64,
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

/// Rounds to `format`, and says which exceptions that raises. If overflow or underflow occurs and is not masked, the
/// result has its own exponent, which is out of the format's range.
pub(super) fn fit(exact: Exact, control: Control, format: Format) -> (Fitted, u16) {
    let traps = control.unmasked(status::UNDERFLOW) != 0;
    // Tininess is detected after rounding (SDM volume 1, 4.9.1.5).
    let fitted = format.fit(exact, control.mode(), Tininess::AfterRounding, traps);
    let mut flags = 0;
    if fitted.inexact {
        flags |= status::PRECISION;
    }
    if fitted.tiny && (fitted.inexact || traps) {
        flags |= status::UNDERFLOW;
    }
    if fitted.exponent > format.largest {
        flags |= status::OVERFLOW;
    }
    (fitted, flags)
}

/// What becomes of a number whose overflow is masked: is it an infinity, or the largest number?
pub(super) fn overflows(fitted: &Fitted, flags: u16, control: Control) -> Option<bool> {
    let masked = flags & status::OVERFLOW != 0 && control.unmasked(status::OVERFLOW) == 0;
    masked.then(|| control.mode().overflows(fitted.negative))
}

/// Rounds to a register, with a significand of `bits` bits.
pub(super) fn round(exact: Exact, control: Control, bits: u32) -> Computed {
    let format = Format { bits, ..EXTENDED };
    let (fitted, flags) = fit(exact, control, format);
    let negative = exact.negative;
    if let Some(infinite) = overflows(&fitted, flags, control) {
        let value = if infinite {
            Extended::infinity(negative)
        } else {
            Extended::packed(negative, EXTENDED.largest, u64::MAX << (64 - bits))
        };
        return Computed {
            value,
            flags: status::OVERFLOW | status::PRECISION,
            up: infinite,
        };
    }
    let exponent = if flags & control.unmasked(status::OVERFLOW) != 0 {
        fitted.exponent - ADJUSTMENT
    } else if flags & control.unmasked(status::UNDERFLOW) != 0 {
        fitted.exponent + ADJUSTMENT
    } else {
        fitted.exponent
    };
    // Only FSCALE gives what does not fit even with its exponent adjusted.
    let beyond = if exponent > EXTENDED.largest {
        Some(Extended::infinity(negative))
    } else if exponent < EXTENDED.smallest() {
        Some(Extended::zero(negative))
    } else {
        None
    };
    if let Some(value) = beyond {
        return Computed {
            value,
            flags: flags | status::PRECISION,
            up: exponent > 0,
        };
    }
    Computed {
        value: Extended::packed(negative, exponent, fitted.significand << (64 - bits)),
        flags,
        up: fitted.up,
    }
}

/// The result of an operation, rounded to a register as the control word says.
pub(super) fn finish(result: Result<Number, Fault>, control: Control) -> Computed {
    match result {
        Ok(Number::Finite(exact)) => round(exact, control, control.bits()),
        Ok(Number::Infinite { negative }) => Computed::plain(Extended::infinity(negative), 0),
        Err(Fault::DivisionByZero { negative }) => {
            Computed::plain(Extended::infinity(negative), status::DIVIDE)
        }
        Err(_) => Computed::invalid(),
    }
}

/// The integer that `exact` rounds to, its exceptions, and whether the magnitude grew. `None`: more than 64 bits.
pub(super) fn integer(exact: Exact, mode: Mode) -> Option<(u64, u16, bool)> {
    let whole = float::integer(exact, mode)?;
    let flags = if whole.inexact { status::PRECISION } else { 0 };
    Some((whole.magnitude, flags, whole.up))
}
