//! Exponentials, logarithms and trigonometric functions.
//!
//! The manuals promise errors below one unit in the last place when rounding to nearest, on the i486 and its successors
//! below 1.5 otherwise (SDM volume 1, 8.3.10), and do not say what is in between. Here they are rounded correctly:
//! computed with [`PRECISION`] bits and rounded once. Arguments of trigonometric functions are reduced by the
//! processors' own pi of 66 bits (SDM volume 1, 8.3.8), so that results for large ones are theirs.

use std::cell::RefCell;

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign, WORD_BIT_SIZE, Word};

use super::arithmetic::{denormal, is_denormal, special, special_one};
use super::extended::{Class, Extended};
use super::round::{Computed, Control, round};
use super::status;
use crate::float::Exact;

/// Bits that functions are computed with.
const PRECISION: usize = 192;
/// Below two to this power a function is its series' first term, as far as [`Exact`] can tell.
const TINY: i32 = -64;
/// Bits of a result's significand, whatever the control word says.
const BITS: u32 = 64;
/// Every step is rounded so: one step's error is far below what the last rounding sees.
const STEP: RoundingMode = RoundingMode::ToEven;

thread_local! {
    /// Constants such as pi, computed when they are first used.
    static CONSTANTS: RefCell<Option<Consts>> = RefCell::new(Consts::new().ok());
}

/// A number that [`BigFloat`] computes with.
fn big(exact: Exact) -> BigFloat {
    let words = 128 / WORD_BIT_SIZE;
    let word = |n: usize| (exact.significand >> (n * WORD_BIT_SIZE)) as Word;
    let words: Vec<Word> = (0..words).map(word).collect();
    let sign = if exact.negative { Sign::Neg } else { Sign::Pos };
    BigFloat::from_words(&words, sign, exact.exponent + 1)
}

/// The inexact value of a computed number. `None`: it is no number, for want of memory.
fn inexact(value: &BigFloat) -> Option<Exact> {
    let (words, _, sign, exponent, _) = value.as_raw_parts()?;
    let kept = words.iter().rev().take(128 / WORD_BIT_SIZE);
    let significand = kept.fold(0, |sum, &word| sum << WORD_BIT_SIZE | u128::from(word));
    Some(Exact {
        negative: sign == Sign::Neg,
        exponent: exponent - 1,
        significand,
        sticky: true,
    })
}

/// A computed number, rounded to a register.
fn rounded(compute: impl FnOnce(&mut Consts) -> BigFloat, control: Control) -> Computed {
    let value = CONSTANTS.with_borrow_mut(|constants| constants.as_mut().map(compute));
    match value.as_ref().and_then(inexact) {
        Some(exact) => round(exact, control, BITS),
        None => Computed::plain(Extended::INDEFINITE, status::PRECISION),
    }
}

/// A little less than `exact` in magnitude.
fn below(exact: Exact) -> Exact {
    Exact {
        significand: exact.significand - 1,
        sticky: true,
        ..exact
    }
    .normalized()
}

/// A little more than `exact` in magnitude.
fn above(exact: Exact) -> Exact {
    Exact {
        sticky: true,
        ..exact
    }
}

fn one() -> BigFloat {
    BigFloat::from_word(1, PRECISION)
}

fn multiply(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.mul(b, PRECISION, STEP)
}

fn halved(a: &BigFloat) -> BigFloat {
    a.div(&BigFloat::from_word(2, PRECISION), PRECISION, STEP)
}

/// F2XM1: two to the power `a`, minus one. `a` beyond -1 to 1 has no defined result: it stays.
pub(super) fn exponential(a: Extended, control: Control) -> Computed {
    if let Some(result) = special_one(a) {
        return result;
    }
    match a.class() {
        Class::Zero => return Computed::plain(a, 0),
        Class::Infinity if a.is_negative() => {
            return Computed::plain(Extended::ONE.negated(), 0);
        }
        Class::Infinity => return Computed::plain(a, 0),
        _ => {}
    }
    let flags = denormal(is_denormal(a));
    let exact = a.exact();
    if control.unmasked(flags) != 0 {
        return Computed::plain(a, flags);
    }
    if exact.exponent > 0 {
        return Computed::plain(a, flags | status::PRECISION);
    }
    if exact.exponent == 0 {
        // One, or minus one; or beyond them.
        let (minus_half, is_one) = (Extended::packed(true, -1, 1 << 63), a.significand << 1 == 0);
        let value = if is_one && a.is_negative() {
            minus_half
        } else {
            a
        };
        return Computed::plain(value, flags | status::PRECISION);
    }
    let compute = |constants: &mut Consts| {
        let power = multiply(&big(exact), &constants.ln_2(PRECISION, STEP));
        if exact.exponent < TINY {
            let next = halved(&multiply(&power, &power));
            return power.add(&next, PRECISION, STEP);
        }
        let exponential = power.exp(PRECISION, STEP, constants);
        exponential.sub(&one(), PRECISION, STEP)
    };
    rounded(compute, control).with(flags)
}

/// FYL2X: `y` times the binary logarithm of `x`.
pub(super) fn logarithm(x: Extended, y: Extended, control: Control) -> Computed {
    if let Some(result) = special(x, y) {
        return result;
    }
    let (x_class, y_class) = (x.class(), y.class());
    if x.is_negative() && x_class != Class::Zero {
        return Computed::invalid();
    }
    let flags = denormal(is_denormal(x) || is_denormal(y));
    let is_one = x == Extended::ONE;
    let is_below_one = x_class == Class::Zero || x.exact().exponent < 0;
    let negative = y.is_negative() != is_below_one;
    let infinity = Computed::plain(Extended::infinity(negative), flags);
    match (x_class, y_class) {
        (Class::Zero, Class::Zero) => return Computed::invalid(),
        (Class::Zero, Class::Infinity) => return infinity,
        (Class::Zero, _) => {
            return Computed::plain(Extended::infinity(negative), status::DIVIDE);
        }
        (Class::Infinity, Class::Zero) => return Computed::invalid(),
        (Class::Infinity, _) => return infinity,
        (_, Class::Infinity) if is_one => return Computed::invalid(),
        (_, Class::Infinity) => return infinity,
        _ => {}
    }
    if control.unmasked(flags) != 0 {
        return Computed::plain(x, flags);
    }
    if is_one || y_class == Class::Zero {
        return Computed::plain(Extended::zero(negative), flags);
    }
    let (exact, factor) = (x.exact(), y.exact());
    if exact.significand << 1 == 0 {
        // A power of two: the logarithm is an integer.
        let logarithm = Extended::from_integer(exact.exponent.into()).exact();
        let result = round(logarithm.times(factor), control, BITS);
        // The processors take every result for an inexact one.
        let tiny = if is_denormal(result.value) {
            status::UNDERFLOW
        } else {
            0
        };
        return result.with(flags | tiny | status::PRECISION);
    }
    let compute = |constants: &mut Consts| {
        let logarithm = big(exact).log2(PRECISION, STEP, constants);
        multiply(&logarithm, &big(factor))
    };
    rounded(compute, control).with(flags)
}

/// FYL2XP1: `y` times the binary logarithm of `x` + 1.
pub(super) fn logarithm_of_successor(x: Extended, y: Extended, control: Control) -> Computed {
    if let Some(result) = special(x, y) {
        return result;
    }
    let (x_class, y_class) = (x.class(), y.class());
    let negative = x.is_negative() != y.is_negative();
    let minus_one = x.is_negative() && x_class != Class::Zero && x.exact().exponent >= 0;
    let flags = denormal(is_denormal(x) || is_denormal(y));
    match (x_class, y_class) {
        // Minus one and what lies below it is outside of the documented domain: it stays.
        _ if minus_one => return Computed::plain(x, flags | status::PRECISION),
        (Class::Zero, Class::Infinity) | (Class::Infinity, Class::Zero) => {
            return Computed::invalid();
        }
        (_, Class::Infinity) | (Class::Infinity, _) => {
            return Computed::plain(Extended::infinity(negative), flags);
        }
        _ if control.unmasked(flags) != 0 => return Computed::plain(x, flags),
        (Class::Zero, _) | (_, Class::Zero) => {
            return Computed::plain(Extended::zero(negative), flags);
        }
        _ => {}
    }
    let (exact, factor) = (x.exact(), y.exact());
    let compute = |constants: &mut Consts| {
        let x = big(exact);
        let natural = if exact.exponent < TINY {
            let next = halved(&multiply(&x, &x));
            x.sub(&next, PRECISION, STEP)
        } else {
            x.add(&one(), PRECISION, STEP)
                .ln(PRECISION, STEP, constants)
        };
        let ln_2 = constants.ln_2(PRECISION, STEP);
        multiply(&natural.div(&ln_2, PRECISION, STEP), &big(factor))
    };
    rounded(compute, control).with(flags)
}

/// FPATAN: the angle of the point (`x`, `y`).
pub(super) fn arctangent(x: Extended, y: Extended, control: Control) -> Computed {
    if let Some(result) = special(x, y) {
        return result;
    }
    let flags = denormal(is_denormal(x) || is_denormal(y));
    if control.unmasked(flags) != 0 {
        return Computed::plain(x, flags);
    }
    // Special angles, in quarters of pi.
    let quarters = match (x.class(), y.class(), x.is_negative()) {
        (Class::Infinity, Class::Infinity, false) => Some(1),
        (Class::Infinity, Class::Infinity, true) => Some(3),
        (_, Class::Infinity, _) => Some(2),
        (Class::Infinity, _, false) | (_, Class::Zero, false) => Some(0),
        (Class::Infinity, _, true) | (_, Class::Zero, true) => Some(4),
        (Class::Zero, ..) => Some(2),
        _ => None,
    };
    let signed = |mut value: BigFloat| {
        value.set_sign(if y.is_negative() {
            Sign::Neg
        } else {
            Sign::Pos
        });
        value
    };
    match quarters {
        Some(0) => return Computed::plain(Extended::zero(y.is_negative()), flags),
        Some(quarters) => {
            let compute = |constants: &mut Consts| {
                let pi = constants.pi(PRECISION, STEP);
                let quarters = BigFloat::from_word(quarters, PRECISION);
                signed(halved(&halved(&multiply(&pi, &quarters))))
            };
            return rounded(compute, control).with(flags);
        }
        None => {}
    }
    let (width, height) = (x.exact(), y.exact());
    let magnitude = |exact: Exact| Exact {
        negative: false,
        ..exact
    };
    let ratio = height.over(width);
    if !x.is_negative() && ratio.exponent < TINY {
        let exact = if ratio.sticky { ratio } else { below(ratio) };
        let exact = Exact {
            negative: y.is_negative(),
            ..exact
        };
        return round(exact, control, BITS).with(flags);
    }
    let compute = |constants: &mut Consts| {
        let (width, height) = (big(magnitude(width)), big(magnitude(height)));
        let angle = height
            .div(&width, PRECISION, STEP)
            .atan(PRECISION, STEP, constants);
        signed(if x.is_negative() {
            constants.pi(PRECISION, STEP).sub(&angle, PRECISION, STEP)
        } else {
            angle
        })
    };
    rounded(compute, control).with(flags)
}

/// A trigonometric function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Sine,
    Cosine,
    Tangent,
}

/// An angle of at most half of pi, and the quadrant that it was reduced from.
struct Reduced {
    angle: Exact,
    quadrant: u32,
}

/// The processors' pi, 66 bits of it and two zeroes, in units of 2^-66: half of it in units of 2^-67.
const PI: u128 = 0xc_90fd_aa22_168c_234c;
const HALF_PI_SCALE: i32 = 67;

fn reduce(exact: Exact) -> Reduced {
    // Below an eighth of a circle no reduction is needed.
    if exact.exponent < -1 {
        return Reduced {
            angle: exact,
            quadrant: 0,
        };
    }
    // In units of 2^-67 the significand of 64 bits is shifted left by between 3 and 66.
    let shift = exact.exponent - 63 + HALF_PI_SCALE;
    let significand = exact.significand >> 64;
    let (mut quotient, mut rest) = (significand / PI, significand % PI);
    for _ in 0..shift {
        rest <<= 1;
        quotient = quotient << 1 | u128::from(rest >= PI);
        if rest >= PI {
            rest -= PI;
        }
    }
    Reduced {
        angle: Exact {
            negative: exact.negative,
            exponent: 127 - HALF_PI_SCALE,
            significand: rest,
            sticky: false,
        }
        .normalized(),
        quadrant: (quotient & 3) as u32,
    }
}

/// FSIN, FCOS or FPTAN of an angle, which is less than 2^63.
fn of_finite(function: Function, a: Extended, control: Control) -> Computed {
    let exact = a.exact();
    let Reduced { angle, quadrant } = reduce(exact);
    // Sine and cosine change places in every second quadrant.
    let swapped = quadrant & 1 != 0;
    let negative = match function {
        Function::Sine => exact.negative != (quadrant & 2 != 0),
        Function::Cosine => (quadrant + 1) & 2 != 0,
        Function::Tangent => exact.negative != swapped,
    };
    let angle = Exact {
        negative: false,
        ..angle
    };
    let as_sine = (function == Function::Sine) != swapped;
    if angle.is_zero() || angle.exponent < TINY {
        let unit = Extended::ONE.exact();
        let result = match (function, as_sine, swapped) {
            (Function::Tangent, _, false) => above(angle),
            (Function::Tangent, _, true) => unit.over(angle),
            (_, true, _) => below(angle),
            (_, false, _) => below(unit),
        };
        return round(Exact { negative, ..result }, control, BITS);
    }
    let compute = |constants: &mut Consts| {
        let angle = big(angle);
        let mut value = match function {
            Function::Tangent if swapped => {
                one().div(&angle.tan(PRECISION, STEP, constants), PRECISION, STEP)
            }
            Function::Tangent => angle.tan(PRECISION, STEP, constants),
            _ if as_sine => angle.sin(PRECISION, STEP, constants),
            _ => angle.cos(PRECISION, STEP, constants),
        };
        value.set_sign(if negative { Sign::Neg } else { Sign::Pos });
        value
    };
    rounded(compute, control)
}

/// A trigonometric function. `None`: the angle is 2^63 or larger, and the instruction leaves it and sets C2.
pub(super) fn trigonometric(function: Function, a: Extended, control: Control) -> Option<Computed> {
    if let Some(result) = special_one(a) {
        return Some(result);
    }
    match a.class() {
        Class::Infinity => return Some(Computed::invalid()),
        Class::Zero if function == Function::Cosine => {
            return Some(Computed::plain(Extended::ONE, 0));
        }
        Class::Zero => return Some(Computed::plain(a, 0)),
        _ => {}
    }
    let flags = denormal(is_denormal(a));
    if control.unmasked(flags) != 0 {
        return Some(Computed::plain(a, flags));
    }
    if a.exact().exponent >= 63 {
        return None;
    }
    Some(of_finite(function, a, control).with(flags))
}
