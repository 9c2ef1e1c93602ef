//! Instructions that only cores of 64 bits have, of registers: arithmetic, shifts and rotates of double words (PEM
//! 64-bit, 4.2.1).

use super::instruction::{Opcode, Operands};
use super::integer::{overflow, record};
use super::registers::Registers;

/// The opcode with primary opcode 30, 58 or 62 that `word` encodes.
pub fn opcode(word: u32) -> Opcode {
    match (word >> 26, word & 3, word >> 2 & 7, word >> 1 & 15) {
        (30, _, 0, _) => Opcode::Rldicl,
        (30, _, 1, _) => Opcode::Rldicr,
        (30, _, 2, _) => Opcode::Rldic,
        (30, _, 3, _) => Opcode::Rldimi,
        (30, _, _, 8) => Opcode::Rldcl,
        (30, _, _, 9) => Opcode::Rldcr,
        (58, 0, ..) => Opcode::Ld,
        (58, 1, ..) => Opcode::Ldu,
        (58, 2, ..) => Opcode::Lwa,
        (62, 0, ..) => Opcode::Std,
        (62, 1, ..) => Opcode::Stdu,
        _ => Opcode::Illegal,
    }
}

#[inline(always)]
pub fn mulld<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let (a, b) = (
        r.gpr.whole(i.a).cast_signed(),
        r.gpr.whole(i.b).cast_signed(),
    );
    let (value, overflowed) = a.overflowing_mul(b);
    let value = value.cast_unsigned();
    r.gpr.set_whole(i.t, value);
    overflow::<OE>(r, overflowed);
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn mulhd<const RC: bool>(r: &mut Registers, i: &Operands) {
    let signed = |value: u64| i128::from(value.cast_signed());
    let product = signed(r.gpr.whole(i.a)) * signed(r.gpr.whole(i.b));
    let value = (product >> 64) as u64;
    r.gpr.set_whole(i.t, value);
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn mulhdu<const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = u128::from(r.gpr.whole(i.a)) * u128::from(r.gpr.whole(i.b));
    let value = (product >> 64) as u64;
    r.gpr.set_whole(i.t, value);
    record::<u64, RC>(r, value);
}

/// PEM leaves an impossible quotient undefined; here it is the dividend.
#[inline(always)]
pub fn divd<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let (dividend, divisor) = (
        r.gpr.whole(i.a).cast_signed(),
        r.gpr.whole(i.b).cast_signed(),
    );
    let quotient = dividend.checked_div(divisor);
    let value = quotient.unwrap_or(dividend).cast_unsigned();
    r.gpr.set_whole(i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn divdu<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let dividend = r.gpr.whole(i.a);
    let quotient = dividend.checked_div(r.gpr.whole(i.b));
    let value = quotient.unwrap_or(dividend);
    r.gpr.set_whole(i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<u64, RC>(r, value);
}

macro_rules! moves {
    ($($name:ident |$s:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name<const RC: bool>(r: &mut Registers, i: &Operands) {
            let $s = r.gpr.whole(i.t);
            let value: u64 = $value;
            r.gpr.set_whole(i.a, value);
            record::<u64, RC>(r, value);
        }
    )*};
}

moves! {
    extsw |s| s as u32 as i32 as u64;
    cntlzd |s| s.leading_zeros().into();
}

/// The shift amount has seven bits: 64 and more shift everything out.
#[inline(always)]
fn amount(r: &Registers, i: &Operands) -> u32 {
    r.gpr.get(i.b) & 127
}

#[inline(always)]
pub fn sld<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = r.gpr.whole(i.t).checked_shl(amount(r, i)).unwrap_or(0);
    r.gpr.set_whole(i.a, value);
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn srd<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = r.gpr.whole(i.t).checked_shr(amount(r, i)).unwrap_or(0);
    r.gpr.set_whole(i.a, value);
    record::<u64, RC>(r, value);
}

/// CA is set when the value is negative and a one is shifted out.
#[inline(always)]
fn shift_right_algebraic<const RC: bool>(r: &mut Registers, i: &Operands, amount: u32) {
    let source = r.gpr.whole(i.t).cast_signed();
    let value = (source >> amount.min(63)).cast_unsigned();
    let lost = if amount > 63 {
        source != 0
    } else {
        source.cast_unsigned() & !(u64::MAX << amount) != 0
    };
    r.gpr.set_whole(i.a, value);
    r.xer.ca = source < 0 && lost;
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn srad<const RC: bool>(r: &mut Registers, i: &Operands) {
    let amount = amount(r, i);
    shift_right_algebraic::<RC>(r, i, amount);
}

/// SH is bits 16-20 and, above them, bit 30.
fn shift(i: &Operands) -> u32 {
    i.imm >> 11 & 31 | (i.imm >> 1 & 1) << 5
}

/// MB or ME is bits 21-25 and, above them, bit 26.
fn bound(i: &Operands) -> u32 {
    i.imm >> 6 & 31 | i.imm & 32
}

#[inline(always)]
pub fn sradi<const RC: bool>(r: &mut Registers, i: &Operands) {
    shift_right_algebraic::<RC>(r, i, shift(i));
}

/// Ones from bit `begin` to bit `end`, wrapping when `begin` > `end`.
const fn mask(begin: u32, end: u32) -> u64 {
    let from = u64::MAX >> (begin & 63);
    let to = u64::MAX << (63 - (end & 63));
    if begin <= end { from & to } else { from | to }
}

#[inline(always)]
fn rotate<const RC: bool>(r: &mut Registers, i: &Operands, by: u32, mask: u64, kept: u64) {
    let value = r.gpr.whole(i.t).rotate_left(by) & mask | kept & !mask;
    r.gpr.set_whole(i.a, value);
    record::<u64, RC>(r, value);
}

#[inline(always)]
pub fn rldicl<const RC: bool>(r: &mut Registers, i: &Operands) {
    rotate::<RC>(r, i, shift(i), mask(bound(i), 63), 0);
}

#[inline(always)]
pub fn rldicr<const RC: bool>(r: &mut Registers, i: &Operands) {
    rotate::<RC>(r, i, shift(i), mask(0, bound(i)), 0);
}

#[inline(always)]
pub fn rldic<const RC: bool>(r: &mut Registers, i: &Operands) {
    rotate::<RC>(r, i, shift(i), mask(bound(i), 63 - shift(i)), 0);
}

#[inline(always)]
pub fn rldimi<const RC: bool>(r: &mut Registers, i: &Operands) {
    let kept = r.gpr.whole(i.a);
    rotate::<RC>(r, i, shift(i), mask(bound(i), 63 - shift(i)), kept);
}

#[inline(always)]
pub fn rldcl<const RC: bool>(r: &mut Registers, i: &Operands) {
    let by = r.gpr.get(i.b) & 63;
    rotate::<RC>(r, i, by, mask(bound(i), 63), 0);
}

#[inline(always)]
pub fn rldcr<const RC: bool>(r: &mut Registers, i: &Operands) {
    let by = r.gpr.get(i.b) & 63;
    rotate::<RC>(r, i, by, mask(0, bound(i)), 0);
}
