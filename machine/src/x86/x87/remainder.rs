//! Partial remainders, scaling, extraction of exponent and significand, and rounding to an integer.

use super::arithmetic::{denormal, is_denormal, special, special_one};
use super::extended::{Class, Extended};
use super::round::{Computed, Control, integer, round};
use super::status;
use crate::float::{Exact, Mode};

/// Bits of a significand.
const BITS: u32 = 64;

/// A partial remainder, with the condition codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    pub computed: Computed,
    /// C0, C1, C3: bits 2, 0 and 1 of the quotient. C2: the remainder is not complete. `None`: there is none.
    pub codes: Option<u16>,
}

impl Partial {
    /// There is no quotient.
    fn plain(computed: Computed) -> Partial {
        Partial {
            computed,
            codes: None,
        }
    }

    /// The quotient is zero.
    fn of_zero(computed: Computed) -> Partial {
        Partial {
            computed,
            codes: Some(0),
        }
    }
}

/// FPREM, which truncates the quotient; or FPREM1, which rounds it to the nearest integer, as IEEE 754 has it.
pub(super) fn partial_remainder(
    a: Extended,
    b: Extended,
    nearest: bool,
    control: Control,
) -> Partial {
    if let Some(result) = special(a, b) {
        return Partial::plain(result);
    }
    if a.class() == Class::Infinity || b.class() == Class::Zero {
        return Partial::plain(Computed::invalid());
    }
    let flags = denormal(is_denormal(a) || is_denormal(b));
    if control.unmasked(flags) != 0 {
        return Partial::plain(Computed::plain(a, flags));
    }
    if a.class() == Class::Zero {
        return Partial::of_zero(Computed::plain(a, flags));
    }
    if b.class() == Class::Infinity {
        // The dividend, and no computed result: a denormal one is no underflow.
        return Partial::of_zero(Computed::plain(a.canonical(), flags));
    }
    let (x, y) = (a.exact(), b.exact());
    let (dividend, divisor) = (x.significand >> BITS, y.significand >> BITS);
    let distance = x.exponent - y.exponent;
    if distance >= BITS as i32 {
        // One step takes between 32 and 63 bits off (SDM volume 2, FPREM).
        let step = 32 + distance % 32;
        let rest = Exact {
            significand: ((dividend << step) % divisor) << BITS,
            exponent: x.exponent - step,
            ..x
        };
        return Partial {
            computed: rounded(rest, control).with(flags),
            codes: Some(status::C2),
        };
    }
    let (mut quotient, mut rest, exponent) = if distance >= 0 {
        let shifted = dividend << distance;
        (shifted / divisor, shifted % divisor, y.exponent)
    } else {
        (0, dividend, x.exponent)
    };
    let mut negative = x.negative;
    if nearest && distance >= -1 {
        // The divisor in units of the rest's last bit.
        let unit = divisor << i32::from(distance < 0);
        if 2 * rest > unit || 2 * rest == unit && quotient & 1 != 0 {
            rest = unit - rest;
            quotient += 1;
            negative = !negative;
        }
    }
    // The rest may have 65 bits, if it is near to a divisor of twice its weight.
    let rest = Exact {
        negative: if rest == 0 { x.negative } else { negative },
        exponent: exponent + 1,
        significand: rest << (BITS - 1),
        sticky: false,
    };
    let code = |bit: u128, code: u16| if quotient & bit != 0 { code } else { 0 };
    Partial {
        computed: rounded(rest, control).with(flags),
        codes: Some(code(4, status::C0) | code(2, status::C3) | code(1, status::C1)),
    }
}

fn rounded(exact: Exact, control: Control) -> Computed {
    if exact.is_zero() {
        return Computed::plain(Extended::zero(exact.negative), 0);
    }
    round(exact.normalized(), control, BITS)
}

/// FSCALE: `a` times two to the truncated `b`.
pub(super) fn scale(a: Extended, b: Extended, control: Control) -> Computed {
    if let Some(result) = special(a, b) {
        return result;
    }
    if b.class() == Class::Infinity {
        let result = match (a.class(), b.is_negative()) {
            (Class::Infinity, true) | (Class::Zero, false) => return Computed::invalid(),
            (_, false) => Extended::infinity(a.is_negative()),
            (_, true) => Extended::zero(a.is_negative()),
        };
        return Computed::plain(result, denormal(is_denormal(a)));
    }
    let flags = denormal(is_denormal(a) || is_denormal(b));
    if control.unmasked(flags) != 0 {
        return Computed::plain(a, flags);
    }
    if matches!(a.class(), Class::Infinity | Class::Zero) {
        return Computed::plain(a, flags);
    }
    if b.class() == Class::Zero {
        // Nothing is computed, as of a remainder by infinity.
        return Computed::plain(a.canonical(), flags);
    }
    /// More than any exponent can take.
    const MOST: i32 = 0x1_0000;
    let by = match integer(b.exact(), Mode::Zero) {
        Some((magnitude, ..)) => magnitude.min(MOST as u64) as i32,
        None => MOST,
    };
    let exact = a.exact();
    let exponent = exact.exponent + if b.is_negative() { -by } else { by };
    round(Exact { exponent, ..exact }, control, BITS).with(flags)
}

/// FXTRACT: the exponent and the significand of `a`, both as numbers.
pub(super) fn extract(a: Extended, control: Control) -> (Computed, Extended) {
    if let Some(result) = special_one(a) {
        return (result, result.value);
    }
    let flags = denormal(is_denormal(a));
    match a.class() {
        Class::Zero => {
            let exponent = Computed::plain(Extended::infinity(true), status::DIVIDE);
            return (exponent, a);
        }
        Class::Infinity => return (Computed::plain(Extended::infinity(false), 0), a),
        _ if control.unmasked(flags) != 0 => return (Computed::plain(a, flags), a),
        _ => {}
    }
    let exact = a.exact();
    let significand = Extended::packed(exact.negative, 0, (exact.significand >> 64) as u64);
    let exponent = Extended::from_integer(exact.exponent.into());
    (Computed::plain(exponent, flags), significand)
}

/// FRNDINT.
pub(super) fn to_integer(a: Extended, control: Control) -> Computed {
    if let Some(result) = special_one(a) {
        return result;
    }
    if matches!(a.class(), Class::Zero | Class::Infinity) {
        return Computed::plain(a, 0);
    }
    let flags = denormal(is_denormal(a));
    if control.unmasked(flags) != 0 {
        return Computed::plain(a, flags);
    }
    let exact = a.exact();
    // From 2^63 on all numbers are integers.
    if exact.exponent >= 63 {
        return Computed::plain(a, flags);
    }
    let Some((magnitude, inexact, up)) = integer(exact, control.mode()) else {
        return Computed::plain(a, flags);
    };
    let value = if magnitude == 0 {
        Extended::zero(exact.negative)
    } else {
        let shift = magnitude.leading_zeros();
        Extended::packed(exact.negative, 63 - shift as i32, magnitude << shift)
    };
    Computed {
        value,
        flags: flags | inexact,
        up,
    }
}
