//! Add, subtract, multiply, divide, multiply-add, moves, select and compare.

use super::round::{
    DEFAULT_NAN, INFINITY, Mode, Precision, Rounded, SIGN, deliver, exact, is_infinite, is_nan,
    is_signalling, is_zero, mode, propagated, round, special,
};
use super::status::{fpscr, raise};
use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::{Register, Registers, condition};

use Precision::{Double, Single};

fn operand(r: &Registers, register: Register) -> u64 {
    r.fpr[register.index() & 31]
}

/// The NaN that an instruction of this precision delivers.
fn nan(bits: u64, status: u32, precision: Precision) -> Rounded {
    match precision {
        Double => special(bits, status),
        Single => special(bits & !0x1fff_ffff, status),
    }
}

fn sum(r: &Registers, a: u64, b: u64, precision: Precision) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, b]) {
        return nan(bits, status, precision);
    }
    match (is_infinite(a), is_infinite(b)) {
        (true, true) if a != b => special(DEFAULT_NAN, fpscr::VXISI),
        (true, _) => special(a, 0),
        (_, true) => special(b, 0),
        _ => {
            let down = mode(r) == Mode::Down;
            let exact = exact(a).plus(exact(b), down);
            round(r, exact, precision)
        }
    }
}

fn product(r: &Registers, a: u64, c: u64, precision: Precision) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, c]) {
        return nan(bits, status, precision);
    }
    let sign = (a ^ c) & SIGN;
    match (is_infinite(a) || is_infinite(c), is_zero(a) || is_zero(c)) {
        (true, true) => special(DEFAULT_NAN, fpscr::VXIMZ),
        (true, false) => special(sign | INFINITY, 0),
        (false, true) => special(sign, 0),
        (false, false) => {
            let exact = exact(a).times(exact(c));
            round(r, exact, precision)
        }
    }
}

pub(super) fn quotient(r: &Registers, a: u64, b: u64, precision: Precision) -> Rounded {
    if let Some((bits, status)) = propagated(&[a, b]) {
        return nan(bits, status, precision);
    }
    let sign = (a ^ b) & SIGN;
    match (is_infinite(a), is_infinite(b), is_zero(a), is_zero(b)) {
        (true, true, ..) => special(DEFAULT_NAN, fpscr::VXIDI),
        (.., true, true) => special(DEFAULT_NAN, fpscr::VXZDZ),
        (true, ..) => special(sign | INFINITY, 0),
        (.., true) => special(sign | INFINITY, fpscr::ZX),
        (_, true, ..) | (_, _, true, _) => special(sign, 0),
        _ => {
            let exact = exact(a).over(exact(b));
            round(r, exact, precision)
        }
    }
}

/// (a x c) + b, or minus b, rounded once.
fn fused(
    r: &Registers,
    (a, c, b): (u64, u64, u64),
    subtract: bool,
    precision: Precision,
) -> Rounded {
    let times_zero = is_infinite(a) && is_zero(c) || is_zero(a) && is_infinite(c);
    if let Some((bits, status)) = propagated(&[a, b, c]) {
        let invalid = if times_zero { fpscr::VXIMZ } else { 0 };
        return nan(bits, status | invalid, precision);
    }
    if times_zero {
        return special(DEFAULT_NAN, fpscr::VXIMZ);
    }
    let b = if subtract { b ^ SIGN } else { b };
    let sign = (a ^ c) & SIGN;
    match (is_infinite(a) || is_infinite(c), is_infinite(b)) {
        (true, true) if sign != b & SIGN => special(DEFAULT_NAN, fpscr::VXISI),
        (true, _) => special(sign | INFINITY, 0),
        (_, true) => special(b, 0),
        _ => {
            let down = mode(r) == Mode::Down;
            let product = exact(a).times(exact(c));
            round(r, product.plus(exact(b), down), precision)
        }
    }
}

/// The negative forms negate the rounded result, but not a NaN.
fn negated(result: Rounded) -> Rounded {
    if is_nan(result.bits) {
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
fn root(r: &mut Registers, i: &Operands, precision: Precision) {
    let b = operand(r, i.b);
    let result = if let Some((bits, status)) = propagated(&[b]) {
        nan(bits, status, precision)
    } else if is_zero(b) || b == INFINITY {
        special(b, 0)
    } else if b & SIGN != 0 {
        special(DEFAULT_NAN, fpscr::VXSQRT)
    } else {
        round(r, exact(b).root(), precision)
    };
    deliver(r, i.t.index(), result);
}

pub fn fsqrt(r: &mut Registers, i: &Operands) {
    root(r, i, Double);
}

pub fn fsqrts(r: &mut Registers, i: &Operands) {
    root(r, i, Single);
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
    fadd sum Double |r, i| operand(r, i.a), operand(r, i.b);
    fadds sum Single |r, i| operand(r, i.a), operand(r, i.b);
    fmul product Double |r, i| operand(r, i.a), operand(r, i.c);
    fmuls product Single |r, i| operand(r, i.a), operand(r, i.c);
    fdiv quotient Double |r, i| operand(r, i.a), operand(r, i.b);
    fdivs quotient Single |r, i| operand(r, i.a), operand(r, i.b);
    fsub difference Double |r, i| operand(r, i.a), operand(r, i.b);
    fsubs difference Single |r, i| operand(r, i.a), operand(r, i.b);
}

/// A NaN subtrahend keeps its sign.
fn difference(r: &Registers, a: u64, b: u64, precision: Precision) -> Rounded {
    let b = if is_nan(b) { b } else { b ^ SIGN };
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
    fmadd subtract false negate false Double;
    fmadds subtract false negate false Single;
    fmsub subtract true negate false Double;
    fmsubs subtract true negate false Single;
    fnmadd subtract false negate true Double;
    fnmadds subtract false negate true Single;
    fnmsub subtract true negate true Double;
    fnmsubs subtract true negate true Single;
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
    let not_less = !is_nan(a) && (a & SIGN == 0 || is_zero(a));
    let source = if not_less { i.c } else { i.b };
    r.fpr[i.t.index() & 31] = operand(r, source);
}

fn compare(r: &mut Registers, i: &Operands, ordered: bool) {
    let (a, b) = (operand(r, i.a), operand(r, i.b));
    let unordered = is_nan(a) || is_nan(b);
    let field = if unordered {
        condition::SO
    } else {
        match f64::from_bits(a).partial_cmp(&f64::from_bits(b)) {
            Some(std::cmp::Ordering::Less) => condition::LT,
            Some(std::cmp::Ordering::Greater) => condition::GT,
            _ => condition::EQ,
        }
    };
    r.cr.set_field(i.crf_d(), field);
    r.fpscr = r.fpscr & !fpscr::FPCC | u32::from(field) << 12;
    let signalling = is_signalling(a) || is_signalling(b);
    let mut status = if signalling { fpscr::VXSNAN } else { 0 };
    // An ordered compare raises VXVC for a quiet NaN, and for a signalling one unless VXSNAN is
    // enabled (PEM `fcmpo`).
    if ordered && unordered && !(signalling && r.fpscr & fpscr::VE != 0) {
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
