//! Reciprocal and reciprocal square root estimates.
//!
//! The cores look them up in tables that the manuals do not print; they are accurate to one part in
//! 256 and 32. Here they are as accurate as their precision allows, which satisfies the same bound.

use super::arithmetic::quotient;
use super::round::{DEFAULT_NAN, INFINITY, Rounded, SIGN, deliver, propagated, special};
use super::status::fpscr;
use crate::float::{DOUBLE, SINGLE};
use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::Registers;

const ONE: u64 = 0x3ff0_0000_0000_0000;

/// FR and FI are left undefined by the architecture, XX is not touched.
fn estimated(result: Rounded) -> Rounded {
    Rounded {
        status: result.status & !(fpscr::XX | fpscr::FI | fpscr::FR),
        ..result
    }
}

pub fn fres(r: &mut Registers, i: &Operands) {
    let b = r.fpr[i.b.index() & 31];
    let result = estimated(quotient(r, ONE, b, SINGLE));
    deliver(r, i.t.index(), result);
}

pub fn frsqrte(r: &mut Registers, i: &Operands) {
    let b = r.fpr[i.b.index() & 31];
    let result = if let Some((bits, status)) = propagated(&[b]) {
        special(bits, status)
    } else if DOUBLE.is_zero(b) {
        special(b & SIGN | INFINITY, fpscr::ZX)
    } else if b & SIGN != 0 {
        special(DEFAULT_NAN, fpscr::VXSQRT)
    } else if DOUBLE.is_infinite(b) {
        special(0, 0)
    } else {
        let root = f64::from_bits(b).sqrt().to_bits();
        estimated(quotient(r, ONE, root, DOUBLE))
    };
    deliver(r, i.t.index(), result);
}
