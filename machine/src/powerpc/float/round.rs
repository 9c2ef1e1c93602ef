//! Exact values, and rounding them to single or double precision.

use super::status::{fpscr, raise};
use crate::float::{DOUBLE, Exact, Fault, Fitted, Format, Mode, Number, SINGLE, Tininess};
use crate::powerpc::registers::Registers;

pub const SIGN: u64 = DOUBLE.sign();
pub const INFINITY: u64 = DOUBLE.infinity();
/// The NaN of an invalid operation.
pub const DEFAULT_NAN: u64 = DOUBLE.nan();
/// What a double has beyond a single's bits.
pub const BEYOND_SINGLE: u64 = 0x1fff_ffff;

/// The bias that an enabled overflow or underflow adds to the exponent of a result in this format (PEM 3.3.6.2.1).
fn adjustment(format: Format) -> i32 {
    if format == SINGLE { 192 } else { 1536 }
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
    let kinds = [
        [0x11, 0x11],
        [0x05, 0x09],
        [0x02, 0x12],
        DENORMAL,
        [0x04, 0x08],
    ];
    let code: u32 = DOUBLE.kind(bits, kinds)[usize::from(bits & SIGN != 0)];
    code << 12
}

/// FPRF's codes of a denormal, without and with a sign.
const DENORMAL: [u32; 2] = [0x14, 0x18];

/// The bits of `significand` x 2^(exponent - 52), or less bits for a smaller significand.
fn pack(negative: bool, exponent: i32, significand: u64) -> u64 {
    if significand == 0 {
        return DOUBLE.signed(negative, 0);
    }
    let shift = significand.leading_zeros() as i32 - 11;
    let (significand, exponent) = (significand << shift, exponent - shift);
    if exponent < DOUBLE.smallest() {
        let by = (DOUBLE.smallest() - exponent) as u32;
        let denormal = significand.checked_shr(by).unwrap_or(0);
        return DOUBLE.signed(negative, denormal);
    }
    // The exponent's field counts from 1023 on, and the significand's upper bit adds one to it.
    let field = (exponent + 1022) as u64;
    DOUBLE.signed(negative, (field << 52) + significand)
}

/// Rounds under the FPSCR in `r`, which is not changed.
pub fn round(r: &Registers, exact: Exact, format: Format) -> Rounded {
    let mode = mode(r);
    // Tininess is detected before rounding (PEM 3.3.6.2.2).
    let underflow_enabled = r.fpscr & fpscr::UE != 0;
    let fitted = format.fit(exact, mode, Tininess::BeforeRounding, underflow_enabled);
    let Fitted {
        mut exponent,
        significand,
        tiny,
        ..
    } = fitted;
    let mut status = 0;
    if tiny && underflow_enabled {
        exponent += adjustment(format);
        status |= fpscr::UX;
    }
    if fitted.inexact {
        status |= fpscr::XX | fpscr::FI | if tiny { fpscr::UX } else { 0 };
    }
    if fitted.up {
        status |= fpscr::FR;
    }
    if exponent > format.largest {
        status |= fpscr::OX;
        if r.fpscr & fpscr::OE == 0 {
            return overflow(mode, exact.negative, format);
        }
        exponent -= adjustment(format);
    }
    let packed = pack(exact.negative, exponent, significand << (53 - format.bits));
    let denormal = significand != 0 && significand >> (format.bits - 1) == 0;
    Rounded {
        bits: packed,
        status,
        class: if denormal {
            DENORMAL[usize::from(exact.negative)] << 12
        } else {
            class(packed)
        },
    }
}

/// The result of an operation, rounded to `format`.
pub fn finish(r: &Registers, result: Result<Number, Fault>, format: Format) -> Rounded {
    let (bits, status) = match result {
        Ok(Number::Finite(exact)) => return round(r, exact, format),
        Ok(Number::Infinite { negative }) => (DOUBLE.signed(negative, INFINITY), 0),
        Err(Fault::DivisionByZero { negative }) => (DOUBLE.signed(negative, INFINITY), fpscr::ZX),
        Err(Fault::InfinityMinusInfinity) => (DEFAULT_NAN, fpscr::VXISI),
        Err(Fault::InfinityTimesZero) => (DEFAULT_NAN, fpscr::VXIMZ),
        Err(Fault::InfinityOverInfinity) => (DEFAULT_NAN, fpscr::VXIDI),
        Err(Fault::ZeroOverZero) => (DEFAULT_NAN, fpscr::VXZDZ),
        Err(Fault::RootOfNegative) => (DEFAULT_NAN, fpscr::VXSQRT),
    };
    special(bits, status)
}

/// The result of a disabled overflow (PEM table 3-13).
fn overflow(mode: Mode, negative: bool, format: Format) -> Rounded {
    let infinite = mode.overflows(negative);
    let magnitude = match (infinite, format == SINGLE) {
        (true, _) => INFINITY,
        (false, true) => f64::from(f32::MAX).to_bits(),
        (false, false) => INFINITY - 1,
    };
    let bits = DOUBLE.signed(negative, magnitude);
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
    let nan = operands.iter().find(|&&value| DOUBLE.is_nan(value))?;
    let signalling = operands.iter().any(|&value| DOUBLE.is_signalling(value));
    let status = if signalling { fpscr::VXSNAN } else { 0 };
    Some((nan | DOUBLE.quiet(), status))
}
