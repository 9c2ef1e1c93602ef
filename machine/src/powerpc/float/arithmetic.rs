//! Add, subtract, multiply, divide, multiply-add, moves, select and compare.

use std::cmp::Ordering;

use super::round::{BEYOND_SINGLE, Rounded, SIGN, deliver, finish, mode, propagated, special};
use super::status::{fpscr, raise};
use crate::float::{DOUBLE, Format, Mode, SINGLE};
use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::{Register, Registers, condition};

fn operand(r: &Registers, register: Register) -> u64 {
    r.fpr[register.index() & 31]
}

/// The NaN that an instruction of this precision delivers.
fn nan(bits: u64, status: u32, precision: Format) -> Rounded {
    let beyond = if precision == SINGLE {
        BEYOND_SINGLE
    } else {
        0
    };
    special(bits & !beyond, status)
}

fn sum(r: &Registers, a: u64, b: u64, precision: Format) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, b]) {
        return nan(bits, status, precision);
    }
    let down = mode(r) == Mode::Down;
    let sum = DOUBLE.number(a).plus(DOUBLE.number(b), down);
    finish(r, sum, precision)
}

fn product(r: &Registers, a: u64, c: u64, precision: Format) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, c]) {
        return nan(bits, status, precision);
    }
    finish(r, DOUBLE.number(a).times(DOUBLE.number(c)), precision)
}

pub(super) fn quotient(r: &Registers, a: u64, b: u64, precision: Format) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, b]) {
        return nan(bits, status, precision);
    }
    finish(r, DOUBLE.number(a).over(DOUBLE.number(b)), precision)
}

/// (a x c) + b, or minus b, rounded once.
fn fused(r: &Registers, (a, c, b): (u64, u64, u64), subtract: bool, precision: Format) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, b, c]) {
        let has_product = DOUBLE.is_nan(a)
            || DOUBLE.is_nan(c)
            || DOUBLE.number(a).times(DOUBLE.number(c)).is_ok();
        let invalid = if has_product { 0 } else { fpscr::VXIMZ };
        return nan(bits, status | invalid, precision);
    }
    let [a, b, c] = [a, b, c].map(|bits| DOUBLE.number(bits));
    let b = if subtract { b.negated() } else { b };
    finish(r, a.fused(c, b, mode(r) == Mode::Down), precision)
}

/// The negative forms negate the rounded result, but not a NaN.
fn negated(result: Rounded) -> Rounded {
    if DOUBLE.is_nan(result.bits) {
        return result;
    }
    let bits = result.bits ^ SIGN;
    let negative = bits & SIGN != 0;
    // The class's sign is in the codes 8 and 4, and 0x12 and 0x02 for zeros.
    let class = match (result.class >> 12, negative) {
        (0x14 | 0x18, true) => 0x18 << 12,
        (0x14 | 0x18, false) => 0x14 << 12,
        _ => super::round::class(bits),
    };
    Rounded {
        bits,
        class,
        ..result
    }
}

/// The square root; of a negative number there is none.
fn root(r: &mut Registers, i: &Operands, precision: Format) {
    let b = operand(r, i.b);
    let result = match propagated(&[b]) {
        Some((bits, status)) => nan(bits, status, precision),
        None => finish(r, DOUBLE.number(b).root(), precision),
    };
    deliver(r, i.t.index(), result);
}

pub fn fsqrt(r: &mut Registers, i: &Operands) {
    root(r, i, DOUBLE);
}

pub fn fsqrts(r: &mut Registers, i: &Operands) {
    root(r, i, SINGLE);
}

macro_rules! two_operands {
    ($($name:ident $f:ident $precision:ident |$r:ident, $i:ident| $a:expr, $b:expr;)*) => {$(
        pub fn $name($r: &mut Registers, $i: &Operands) {
            let result = $f($r, $a, $b, $precision);
            deliver($r, $i.t.index(), result);
        }
    )*};
}

two_operands! {
    fadd sum DOUBLE |r, i| operand(r, i.a), operand(r, i.b);
    fadds sum SINGLE |r, i| operand(r, i.a), operand(r, i.b);
    fmul product DOUBLE |r, i| operand(r, i.a), operand(r, i.c);
    fmuls product SINGLE |r, i| operand(r, i.a), operand(r, i.c);
    fdiv quotient DOUBLE |r, i| operand(r, i.a), operand(r, i.b);
    fdivs quotient SINGLE |r, i| operand(r, i.a), operand(r, i.b);
    fsub difference DOUBLE |r, i| operand(r, i.a), operand(r, i.b);
    fsubs difference SINGLE |r, i| operand(r, i.a), operand(r, i.b);
}

/// A NaN subtrahend keeps its sign.
fn difference(r: &Registers, a: u64, b: u64, precision: Format) -> Rounded {
    let b = if DOUBLE.is_nan(b) { b } else { b ^ SIGN };
    sum(r, a, b, precision)
}

macro_rules! three_operands {
    ($($name:ident subtract $subtract:literal negate $negate:literal $precision:ident;)*) => {$(
        pub fn $name(r: &mut Registers, i: &Operands) {
            let operands = (operand(r, i.a), operand(r, i.c), operand(r, i.b));
            let result = fused(r, operands, $subtract, $precision);
            let result = if $negate { negated(result) } else { result };
            deliver(r, i.t.index(), result);
        }
    )*};
}

three_operands! {
    fmadd subtract false negate false DOUBLE;
    fmadds subtract false negate false SINGLE;
    fmsub subtract true negate false DOUBLE;
    fmsubs subtract true negate false SINGLE;
    fnmadd subtract false negate true DOUBLE;
    fnmadds subtract false negate true SINGLE;
    fnmsub subtract true negate true DOUBLE;
    fnmsubs subtract true negate true SINGLE;
}

macro_rules! moves {
    ($($name:ident |$b:ident| $value:expr;)*) => {$(
        pub fn $name(r: &mut Registers, i: &Operands) {
            let $b = operand(r, i.b);
            r.fpr[i.t.index() & 31] = $value;
        }
    )*};
}

// Moves touch neither FPSCR nor NaNs.
moves! {
    fmr |b| b;
    fneg |b| b ^ SIGN;
    fabs |b| b & !SIGN;
    fnabs |b| b | SIGN;
}

/// frC if frA is not less than zero, else frB; a NaN counts as less.
pub fn fsel(r: &mut Registers, i: &Operands) {
    let a = operand(r, i.a);
    let not_less = !DOUBLE.is_nan(a) && (a & SIGN == 0 || DOUBLE.is_zero(a));
    let source = if not_less { i.c } else { i.b };
    r.fpr[i.t.index() & 31] = operand(r, source);
}

fn compare(r: &mut Registers, i: &Operands, ordered: bool) {
    let (a, b) = (operand(r, i.a), operand(r, i.b));
    let field = match DOUBLE.compare(a, b) {
        None => condition::SO,
        Some(Ordering::Less) => condition::LT,
        Some(Ordering::Greater) => condition::GT,
        Some(Ordering::Equal) => condition::EQ,
    };
    r.cr.set_field(i.crf_d(), field);
    r.fpscr = r.fpscr & !fpscr::FPCC | u32::from(field) << 12;
    let signalling = DOUBLE.is_signalling(a) || DOUBLE.is_signalling(b);
    let mut status = if signalling { fpscr::VXSNAN } else { 0 };
    // An ordered compare raises VXVC for a quiet NaN, and for a signalling one unless VXSNAN is
    // enabled (PEM `fcmpo`).
    if ordered && field == condition::SO && !(signalling && r.fpscr & fpscr::VE != 0) {
        status |= fpscr::VXVC;
    }
    raise(r, status);
}

pub fn fcmpu(r: &mut Registers, i: &Operands) {
    compare(r, i, false);
}

pub fn fcmpo(r: &mut Registers, i: &Operands) {
    compare(r, i, true);
}
