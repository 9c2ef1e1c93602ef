//! Numbers of 32 and 64 bits: NaNs, flags, comparisons, integers (RISC-V Unprivileged ISA, chapter 11).

use std::cmp::Ordering;

pub use crate::float::{DOUBLE, Format, SINGLE};
use crate::float::{Exact, Fault, Mode, Number, Tininess};

/// Flags of fcsr.
pub mod flag {
    pub const INEXACT: u8 = 1;
    pub const UNDERFLOW: u8 = 2;
    pub const OVERFLOW: u8 = 4;
    pub const DIVIDE: u8 = 8;
    pub const INVALID: u8 = 16;
}

/// The rounding mode with this number in frm.
#[must_use]
pub fn rounding(number: u8) -> Option<Mode> {
    Some(match number {
        0 => Mode::Nearest,
        1 => Mode::Zero,
        2 => Mode::Down,
        3 => Mode::Up,
        4 => Mode::NearestAway,
        _ => return None,
    })
}

/// An instruction's computation: of numbers of this format, which raises flags.
#[derive(Clone, Copy, Debug)]
pub struct Computing {
    pub format: Format,
    pub mode: Mode,
    pub flags: u8,
}

impl Computing {
    /// What an operation on these operands gives. A NaN among them gives the one NaN that there is.
    pub fn result<const N: usize>(
        &mut self,
        operands: [u64; N],
        operation: impl FnOnce([Number; N], bool) -> Result<Number, Fault>,
    ) -> u64 {
        let f = self.format;
        if operands.iter().any(|&value| f.is_signalling(value)) {
            self.flags |= flag::INVALID;
        }
        if operands.iter().any(|&value| f.is_nan(value)) {
            // There may be no product to add a NaN to.
            if let [a, b, _] = operands[..]
                && !(f.is_nan(a) || f.is_nan(b))
                && f.number(a).times(f.number(b)).is_err()
            {
                self.flags |= flag::INVALID;
            }
            return f.nan();
        }
        let numbers = operands.map(|value| f.number(value));
        self.finish(operation(numbers, self.mode == Mode::Down))
    }

    fn finish(&mut self, result: Result<Number, Fault>) -> u64 {
        let f = self.format;
        match result {
            Ok(Number::Finite(exact)) => self.round(exact),
            Ok(Number::Infinite { negative }) => f.signed(negative, f.infinity()),
            Err(Fault::DivisionByZero { negative }) => {
                self.flags |= flag::DIVIDE;
                f.signed(negative, f.infinity())
            }
            Err(_) => {
                self.flags |= flag::INVALID;
                f.nan()
            }
        }
    }

    fn round(&mut self, exact: Exact) -> u64 {
        let f = self.format;
        let fitted = f.fit(exact, self.mode, Tininess::AfterRounding, false);
        if fitted.exponent > f.largest {
            self.flags |= flag::OVERFLOW | flag::INEXACT;
            let infinite = self.mode.overflows(exact.negative);
            return f.signed(exact.negative, f.infinity() - u64::from(!infinite));
        }
        if fitted.inexact {
            self.flags |= flag::INEXACT | if fitted.tiny { flag::UNDERFLOW } else { 0 };
        }
        f.pack(&fitted)
    }

    /// A number of another format.
    pub fn converted(&mut self, from: Format, value: u64) -> u64 {
        if from.is_signalling(value) {
            self.flags |= flag::INVALID;
        }
        if from.is_nan(value) {
            return self.format.nan();
        }
        self.finish(Ok(from.number(value)))
    }

    pub fn of_integer(&mut self, value: i128) -> u64 {
        self.round(Exact::integer(value))
    }

    /// An integer of so many bits; the nearest one where the number is outside of them.
    pub fn to_integer(&mut self, value: u64, width: u32, signed: bool) -> u64 {
        let f = self.format;
        let most = u64::MAX >> (64 - width + u32::from(signed));
        let least = if signed { !most } else { 0 };
        let negative = f.is_negative(value) && !f.is_nan(value);
        let Some(whole) = f.whole(value, self.mode, most, least.wrapping_neg()) else {
            self.flags |= flag::INVALID;
            return if negative { least } else { most };
        };
        self.flags |= if whole.inexact { flag::INEXACT } else { 0 };
        if negative {
            whole.magnitude.wrapping_neg()
        } else {
            whole.magnitude
        }
    }

    /// A comparison that is silent about quiet NaNs says so.
    fn look(&mut self, a: u64, b: u64, quietly: bool) {
        let f = self.format;
        let wrong = |value| f.is_signalling(value) || !quietly && f.is_nan(value);
        if wrong(a) || wrong(b) {
            self.flags |= flag::INVALID;
        }
    }

    /// The smaller or the larger one; a number rather than a NaN.
    pub fn extreme(&mut self, a: u64, b: u64, smaller: bool) -> u64 {
        let f = self.format;
        self.look(a, b, true);
        match (f.is_nan(a), f.is_nan(b)) {
            (true, true) => f.nan(),
            (true, false) => b,
            (false, true) => a,
            // -0 is smaller than +0.
            _ if (f.order(a) < f.order(b)) == smaller => a,
            _ => b,
        }
    }

    /// As [`Format::compare`].
    pub fn compare(&mut self, a: u64, b: u64, quietly: bool) -> Option<Ordering> {
        self.look(a, b, quietly);
        self.format.compare(a, b)
    }
}

/// One bit of ten (RISC-V Unprivileged ISA, table 11.5).
#[must_use]
pub fn class(f: Format, value: u64) -> u64 {
    let nan = if f.is_signalling(value) { 8 } else { 9 };
    let kinds = [[nan, nan], [7, 0], [4, 3], [5, 2], [6, 1]];
    1 << f.kind(value, kinds)[usize::from(f.is_negative(value))]
}
