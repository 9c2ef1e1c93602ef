//! Rounding to single precision and conversion to an integer.

use super::round::{
    BEYOND_SINGLE, DEFAULT_NAN, Rounded, SIGN, class, deliver, finish, mode, propagated, round,
    special,
};
use super::status::fpscr;
use crate::float::{DOUBLE, Exact, Mode, SINGLE};
use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::Registers;

pub fn frsp(r: &mut Registers, i: &Operands) {
    let b = r.fpr[i.b.index() & 31];
    let result = match propagated(&[b]) {
        Some((bits, status)) => special(bits & !BEYOND_SINGLE, status),
        None => finish(r, Ok(DOUBLE.number(b)), SINGLE),
    };
    deliver(r, i.t.index(), result);
}

/// The integer of 32 or 64 bits nearest to `b` under `mode`, sign-extended, and the exceptions of the conversion.
fn whole(b: u64, mode: Mode, bits: u32) -> (u64, u32) {
    let negative = b & SIGN != 0;
    let most = u64::MAX >> (65 - bits);
    let least = !most;
    if DOUBLE.is_nan(b) {
        let signalling = propagated(&[b]).map_or(0, |(_, status)| status);
        return (least, fpscr::VXCVI | signalling);
    }
    let Some(whole) = DOUBLE.whole(b, mode, most, most + 1) else {
        let extreme = if negative { least } else { most };
        return (extreme, fpscr::VXCVI);
    };
    let inexact = if whole.inexact {
        fpscr::XX | fpscr::FI
    } else {
        0
    };
    let up = if whole.up { fpscr::FR } else { 0 };
    let value = if negative {
        whole.magnitude.wrapping_neg()
    } else {
        whole.magnitude
    };
    (value, inexact | up)
}

/// PEM leaves FPRF and, of a word, the upper half of the target undefined. Here FPRF stays, but tells a NaN after an
/// invalid conversion, and the integer is sign-extended.
fn to_integer(r: &mut Registers, i: &Operands, mode: Mode, bits: u32) {
    let (value, status) = whole(r.fpr[i.b.index() & 31], mode, bits);
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
    let result = round(r, Exact::integer(value.into()), DOUBLE);
    deliver(r, i.t.index(), result);
}
