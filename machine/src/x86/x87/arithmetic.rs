//! Addition, subtraction, multiplication, division, square root and comparison (SDM volume 1, 4.8.3.5 and 8.5).

use std::cmp::Ordering;

use super::extended::{Class, Extended};
use super::round::{Computed, Control, round};
use super::status;
use crate::float::Mode;

/// The operations of two operands, as bits 3 to 5 of the instruction number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Multiply,
    Subtract,
    SubtractReversed,
    Divide,
    DivideReversed,
}

/// The NaN that two operands of which one at least is a NaN give: of two, that with the larger significand (SDM volume
/// 1, table 4-7).
pub(super) fn nan(a: Extended, b: Extended) -> Computed {
    let signalling = |x: Extended| x.class() == Class::Signalling;
    let flags = if signalling(a) || signalling(b) {
        status::INVALID
    } else {
        0
    };
    let chosen = match (a.is_nan(), b.is_nan()) {
        (true, false) => a,
        (false, _) => b,
        (true, true) => match (signalling(a), signalling(b)) {
            (true, false) => b,
            (false, true) => a,
            _ => match a.significand.cmp(&b.significand) {
                Ordering::Greater => a,
                Ordering::Less => b,
                Ordering::Equal if a.is_negative() => b,
                Ordering::Equal => a,
            },
        },
    };
    Computed::plain(chosen.quiet(), flags)
}

/// What operands give that no arithmetic is done on: unsupported patterns and NaNs.
pub(super) fn special(a: Extended, b: Extended) -> Option<Computed> {
    if a.class() == Class::Unsupported || b.class() == Class::Unsupported {
        return Some(Computed::invalid());
    }
    (a.is_nan() || b.is_nan()).then(|| nan(a, b))
}

/// The same of one operand.
pub(super) fn special_one(a: Extended) -> Option<Computed> {
    special(a, Extended::ZERO)
}

/// The flag of a denormal operand.
pub(super) fn denormal(is: bool) -> u16 {
    if is { status::DENORMAL } else { 0 }
}

pub(super) fn is_denormal(a: Extended) -> bool {
    a.class() == Class::Denormal
}

/// `a` op `b`; `denormal_operand`: one of them was a denormal of a shorter format.
pub(super) fn compute(
    operation: Operation,
    a: Extended,
    b: Extended,
    denormal_operand: bool,
    control: Control,
) -> Computed {
    use Operation::{Add, Divide, DivideReversed, Multiply, Subtract, SubtractReversed};
    let (a, b) = match operation {
        SubtractReversed | DivideReversed => (b, a),
        _ => (a, b),
    };
    if let Some(result) = special(a, b) {
        return result;
    }
    let flags = denormal(denormal_operand || is_denormal(a) || is_denormal(b));
    let finish = |computed: Computed| {
        // An invalid operation and a division by zero hide a denormal operand; one that is not masked ends the
        // instruction before it computes.
        if computed.flags & (status::INVALID | status::DIVIDE) != 0 {
            computed
        } else if control.unmasked(flags) != 0 {
            Computed::plain(computed.value, flags)
        } else {
            computed.with(flags)
        }
    };
    finish(match operation {
        Add => sum(a, b, control),
        Subtract | SubtractReversed => sum(a, b.negated(), control),
        Multiply => product(a, b, control),
        Divide | DivideReversed => quotient(a, b, control),
    })
}

fn sum(a: Extended, b: Extended, control: Control) -> Computed {
    match (a.class(), b.class()) {
        (Class::Infinity, Class::Infinity) if a != b => Computed::invalid(),
        (Class::Infinity, _) => Computed::plain(a, 0),
        (_, Class::Infinity) => Computed::plain(b, 0),
        _ => {
            let down = control.mode() == Mode::Down;
            round(a.exact().plus(b.exact(), down), control, control.bits())
        }
    }
}

fn product(a: Extended, b: Extended, control: Control) -> Computed {
    let negative = a.is_negative() != b.is_negative();
    match (a.class(), b.class()) {
        (Class::Infinity, Class::Zero) | (Class::Zero, Class::Infinity) => Computed::invalid(),
        (Class::Infinity, _) | (_, Class::Infinity) => {
            Computed::plain(Extended::infinity(negative), 0)
        }
        (Class::Zero, _) | (_, Class::Zero) => Computed::plain(Extended::zero(negative), 0),
        _ => round(a.exact().times(b.exact()), control, control.bits()),
    }
}

fn quotient(a: Extended, b: Extended, control: Control) -> Computed {
    let negative = a.is_negative() != b.is_negative();
    match (a.class(), b.class()) {
        (Class::Infinity, Class::Infinity) | (Class::Zero, Class::Zero) => Computed::invalid(),
        (Class::Infinity, _) => Computed::plain(Extended::infinity(negative), 0),
        (_, Class::Infinity) | (Class::Zero, _) => Computed::plain(Extended::zero(negative), 0),
        (_, Class::Zero) => Computed::plain(Extended::infinity(negative), status::DIVIDE),
        _ => round(a.exact().over(b.exact()), control, control.bits()),
    }
}

pub(super) fn square_root(a: Extended, control: Control) -> Computed {
    if let Some(result) = special_one(a) {
        return result;
    }
    match a.class() {
        Class::Zero => return Computed::plain(a, 0),
        _ if a.is_negative() => return Computed::invalid(),
        Class::Infinity => return Computed::plain(a, 0),
        _ => {}
    }
    let flags = denormal(is_denormal(a));
    if control.unmasked(flags) != 0 {
        return Computed::plain(a, flags);
    }
    round(a.exact().root(), control, control.bits()).with(flags)
}

/// How two numbers compare: `None` if they do not. `quietly`: a quiet NaN is no invalid operand.
pub(super) fn compare(a: Extended, b: Extended, quietly: bool) -> (Option<Ordering>, u16) {
    if let Some(result) = special(a, b) {
        let unsupported = a.class() == Class::Unsupported || b.class() == Class::Unsupported;
        let flags = if quietly && !unsupported {
            result.flags
        } else {
            status::INVALID
        };
        return (None, flags);
    }
    let flags = denormal(is_denormal(a) || is_denormal(b));
    // Infinities are in order by their field, and their significand is normal.
    let key = |x: Extended| {
        let exact = x.exact();
        if exact.is_zero() {
            (i32::MIN, 0)
        } else {
            (exact.exponent, exact.significand)
        }
    };
    let order = match (a.is_negative(), b.is_negative()) {
        _ if a.class() == Class::Zero && b.class() == Class::Zero => Ordering::Equal,
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => key(a).cmp(&key(b)),
        (true, true) => key(b).cmp(&key(a)),
    };
    (Some(order), flags)
}
