//! Rounding to single precision and conversion to an integer.

use super::round::{
    DEFAULT_NAN, Exact, Mode, Precision, QUIET, Remainder, Rounded, SIGN, class, deliver, exact,
    is_infinite, is_nan, is_signalling, mode, round, special, split,
};
use super::status::fpscr;
use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::Registers;

pub fn frsp(r: &mut Registers, i: &Operands) {
    let b = r.fpr[i.b.index() & 31];
    let result = if is_nan(b) {
        let status = if is_signalling(b) { fpscr::VXSNAN } else { 0 };
        special((b | QUIET) & !0x1fff_ffff, status)
    } else if is_infinite(b) {
        special(b, 0)
    } else {
        round(r, exact(b), Precision::Single)
    };
    deliver(r, i.t.index(), result);
}

/// The integer of 32 or 64 bits nearest to `b` under `mode`, sign-extended, and the exceptions of the conversion.
fn integer(b: u64, mode: Mode, bits: u32) -> (u64, u32) {
    let negative = b & SIGN != 0;
    let most = u64::MAX >> (65 - bits);
    let least = !most;
    let extreme = if negative { least } else { most };
    if is_nan(b) {
        let signalling = if is_signalling(b) { fpscr::VXSNAN } else { 0 };
        return (least, fpscr::VXCVI | signalling);
    }
    let exact = exact(b);
    if is_infinite(b) || exact.exponent >= bits.cast_signed() {
        return (extreme, fpscr::VXCVI);
    }
    if exact.is_zero() {
        return (0, 0);
    }
    // The integer part has exponent + 1 bits; a smaller number is all remainder.
    let (kept, remainder) = if exact.exponent >= 0 {
        split(exact, exact.exponent as u32 + 1)
    } else if exact.exponent == -1 {
        let half = exact.significand << 1 == 0;
        (
            0,
            if half {
                Remainder::Half
            } else {
                Remainder::AboveHalf
            },
        )
    } else {
        (0, Remainder::BelowHalf)
    };
    let up = mode.increments(negative, kept & 1 != 0, remainder);
    let magnitude = kept.saturating_add(u64::from(up));
    if magnitude > most + u64::from(negative) {
        return (extreme, fpscr::VXCVI);
    }
    let mut status = 0;
    if remainder != Remainder::None {
        status |= fpscr::XX | fpscr::FI;
    }
    if up {
        status |= fpscr::FR;
    }
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    (value, status)
}

/// PEM leaves FPRF and, of a word, the upper half of the target undefined. Here FPRF stays, but tells a NaN after an
/// invalid conversion, and the integer is sign-extended.
fn to_integer(r: &mut Registers, i: &Operands, mode: Mode, bits: u32) {
    let (value, status) = integer(r.fpr[i.b.index() & 31], mode, bits);
    let class = if status & fpscr::VX_ALL != 0 {
        class(DEFAULT_NAN)
    } else {
        r.fpscr & fpscr::FPRF
    };
    let result = Rounded {
        bits: value,
        status,
        class,
    };
    deliver(r, i.t.index(), result);
}

pub fn fctiw(r: &mut Registers, i: &Operands) {
    let mode = mode(r);
    to_integer(r, i, mode, 32);
}

pub fn fctiwz(r: &mut Registers, i: &Operands) {
    to_integer(r, i, Mode::Zero, 32);
}

pub fn fctid(r: &mut Registers, i: &Operands) {
    let mode = mode(r);
    to_integer(r, i, mode, 64);
}

pub fn fctidz(r: &mut Registers, i: &Operands) {
    to_integer(r, i, Mode::Zero, 64);
}

/// The double nearest to an integer of 64 bits.
pub fn fcfid(r: &mut Registers, i: &Operands) {
    let value = r.fpr[i.b.index() & 31].cast_signed();
    let exact = Exact {
        negative: value < 0,
        exponent: 63,
        significand: u128::from(value.unsigned_abs()) << 64,
        sticky: false,
    };
    let result = round(r, exact.normalized(), Precision::Double);
    deliver(r, i.t.index(), result);
}
