//! Addition, subtraction, multiplication, division, square root and comparison (SDM volume 1, 4.8.3.5 and 8.5).

use std::cmp::Ordering;

use super::extended::{Class, Extended};
use super::round::{Computed, Control, finish};
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
    let hide = |computed: Computed| {
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
    let (x, y) = (a.number(), b.number());
    hide(finish(
        match operation {
            Add => x.plus(y, control.mode() == Mode::Down),
            Subtract | SubtractReversed => x.plus(y.negated(), control.mode() == Mode::Down),
            Multiply => x.times(y),
            Divide | DivideReversed => x.over(y),
        },
        control,
    ))
}

pub(super) fn square_root(a: Extended, control: Control) -> Computed {
    if let Some(result) = special_one(a) {
        return result;
    }
    let root = a.number().root();
    if root.is_err() {
        return Computed::invalid();
    }
    let flags = denormal(is_denormal(a));
    if control.unmasked(flags) != 0 {
        return Computed::plain(a, flags);
    }
    finish(root, control).with(flags)
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
