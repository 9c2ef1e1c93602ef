//! Exact values, and rounding them to single or double precision.

use super::status::{fpscr, raise};
pub use crate::float::{Exact, Mode, Remainder, split};
use crate::powerpc::registers::Registers;

pub const SIGN: u64 = 1 << 63;
pub const INFINITY: u64 = 0x7ff << 52;
/// The quiet bit of a NaN.
pub const QUIET: u64 = 1 << 51;
/// The NaN of an invalid operation.
pub const DEFAULT_NAN: u64 = INFINITY | QUIET;
const FRACTION: u64 = (1 << 52) - 1;

pub fn is_nan(value: u64) -> bool {
    value & !SIGN > INFINITY
}

pub fn is_signalling(value: u64) -> bool {
    is_nan(value) && value & QUIET == 0
}

pub fn is_infinite(value: u64) -> bool {
    value & !SIGN == INFINITY
}

pub fn is_zero(value: u64) -> bool {
    value & !SIGN == 0
}

/// A precision that results are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Bits of the significand.
    fn bits(self) -> u32 {
        match self {
            Precision::Single => 24,
            Precision::Double => 53,
        }
    }

    /// Exponent of the largest numbers; the smallest normal ones have one minus this.
    fn largest(self) -> i32 {
        match self {
            Precision::Single => 127,
            Precision::Double => 1023,
        }
    }

    /// The bias that an enabled overflow or underflow adds to the exponent (PEM 3.3.6.2.1).
    fn adjustment(self) -> i32 {
        match self {
            Precision::Single => 192,
            Precision::Double => 1536,
        }
    }
}

/// The finite value of `bits`.
pub fn exact(bits: u64) -> Exact {
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = u128::from(bits & FRACTION);
    let (exponent, significand) = if field == 0 {
        (-1022, fraction << 75)
    } else {
        (field - 1023, (fraction | 1 << 52) << 75)
    };
    Exact {
        negative: bits & SIGN != 0,
        exponent,
        significand,
        sticky: false,
    }
    .normalized()
}

pub fn mode(r: &Registers) -> Mode {
    match r.fpscr & fpscr::RN {
        0 => Mode::Nearest,
        1 => Mode::Zero,
        2 => Mode::Up,
        _ => Mode::Down,
    }
}

/// A rounded result and the exceptions of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// In register format.
    pub bits: u64,
    /// OX, UX, XX, FI and FR.
    pub status: u32,
    /// FPRF.
    pub class: u32,
}

/// FPRF of a value in double precision (PEM table 2-5), in place.
pub fn class(bits: u64) -> u32 {
    let negative = bits & SIGN != 0;
    let code = match (bits >> 52 & 0x7ff, bits & FRACTION) {
        (0x7ff, 0) => {
            if negative {
                0x09
            } else {
                0x05
            }
        }
        (0x7ff, _) => 0x11,
        (0, 0) => {
            if negative {
                0x12
            } else {
                0x02
            }
        }
        (0, _) => {
            if negative {
                0x18
            } else {
                0x14
            }
        }
        _ => {
            if negative {
                0x08
            } else {
                0x04
            }
        }
    };
    code << 12
}

/// The bits of `significand` x 2^(exponent - 52), or less bits for a smaller significand.
fn pack(negative: bool, exponent: i32, significand: u64) -> u64 {
    let sign = if negative { SIGN } else { 0 };
    if significand == 0 {
        return sign;
    }
    let shift = significand.leading_zeros() as i32 - 11;
    let (significand, exponent) = (significand << shift, exponent - shift);
    if exponent < -1022 {
        return sign | significand >> (-1022 - exponent);
    }
    sign | ((exponent + 1023) as u64) << 52 | significand & FRACTION
}

/// Rounds under the FPSCR in `r`, which is not changed.
pub fn round(r: &Registers, exact: Exact, precision: Precision) -> Rounded {
    let mode = mode(r);
    let bits = precision.bits();
    let smallest = 1 - precision.largest();
    if exact.is_zero() && !exact.sticky {
        let zero = pack(exact.negative, 0, 0);
        return Rounded {
            bits: zero,
            status: 0,
            class: class(zero),
        };
    }
    let mut status = 0;
    let mut exact = exact;
    // Tininess is detected before rounding (PEM 3.3.6.2.2).
    let tiny = exact.exponent < smallest;
    let underflow_enabled = r.fpscr & fpscr::UE != 0;
    if tiny && underflow_enabled {
        exact.exponent += precision.adjustment();
        status |= fpscr::UX;
    } else if tiny {
        exact = exact.shifted((smallest - exact.exponent) as u32);
    }
    let (kept, remainder) = split(exact, bits);
    let up = mode.increments(exact.negative, kept & 1 != 0, remainder);
    let rounded = kept + u64::from(up);
    let mut exponent = exact.exponent + i32::from(rounded >> bits != 0);
    if remainder != Remainder::None {
        status |= fpscr::XX | fpscr::FI;
        if tiny && !underflow_enabled {
            status |= fpscr::UX;
        }
    }
    if up {
        status |= fpscr::FR;
    }
    if exponent > precision.largest() {
        status |= fpscr::OX;
        if r.fpscr & fpscr::OE == 0 {
            return overflow(mode, exact.negative, precision);
        }
        exponent -= precision.adjustment();
    }
    // A carry out of the significand leaves a power of two.
    let significand = if rounded >> bits != 0 {
        rounded >> 1
    } else {
        rounded
    };
    let packed = pack(exact.negative, exponent, significand << (53 - bits));
    let denormal = tiny && !underflow_enabled && significand >> (bits - 1) == 0 && significand != 0;
    Rounded {
        bits: packed,
        status,
        class: match (denormal, exact.negative) {
            (false, _) => class(packed),
            (true, false) => 0x14 << 12,
            (true, true) => 0x18 << 12,
        },
    }
}

/// The result of a disabled overflow (PEM table 3-13).
fn overflow(mode: Mode, negative: bool, precision: Precision) -> Rounded {
    let infinite = match mode {
        Mode::Nearest => true,
        Mode::Zero => false,
        Mode::Up => !negative,
        Mode::Down => negative,
    };
    let largest = match precision {
        Precision::Single => 0x47ef_ffff_e000_0000,
        Precision::Double => INFINITY - 1,
    };
    let bits = if negative { SIGN } else { 0 } | if infinite { INFINITY } else { largest };
    Rounded {
        bits,
        // FR is left undefined by the architecture: set when the magnitude grew.
        status: fpscr::OX | fpscr::XX | fpscr::FI | if infinite { fpscr::FR } else { 0 },
        class: class(bits),
    }
}

/// Ends an arithmetic instruction: FR, FI and FPRF follow the result; exceptions add up; an enabled
/// invalid operation or zero divide leaves the target as it was (PEM 3.3.6.1).
pub fn deliver(r: &mut Registers, target: usize, result: Rounded) {
    r.fpscr &= !(fpscr::FR | fpscr::FI);
    raise(r, result.status);
    let invalid = result.status & fpscr::VX_ALL != 0 && r.fpscr & fpscr::VE != 0;
    let divide = result.status & fpscr::ZX != 0 && r.fpscr & fpscr::ZE != 0;
    if invalid || divide {
        return;
    }
    let fields = fpscr::FR | fpscr::FI | fpscr::FPRF;
    r.fpscr = r.fpscr & !fields | result.status & (fpscr::FR | fpscr::FI) | result.class;
    r.fpr[target & 31] = result.bits;
}

/// A result that needs no rounding: a NaN, an infinity.
pub fn special(bits: u64, status: u32) -> Rounded {
    Rounded {
        bits,
        status,
        class: class(bits),
    }
}

/// The first NaN among the operands, quieted, in the order of priority frA, frB, frC (PEM 3.3.5); raises VXSNAN if
/// any is signalling.
pub fn propagated(operands: &[u64]) -> Option<(u64, u32)> {
    let nan = operands.iter().find(|&&v| is_nan(v))?;
    let status = if operands.iter().any(|&v| is_signalling(v)) {
        fpscr::VXSNAN
    } else {
        0
    };
    Some((nan | QUIET, status))
}
