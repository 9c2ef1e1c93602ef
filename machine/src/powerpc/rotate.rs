//! Rotates and shifts (PEM 4.2.1.4). Decoding computes the mask of a rotate.

use super::instruction::{Operands, mask};
use super::integer::record;
use super::registers::Registers;

#[inline(always)]
pub fn rlwimi<const RC: bool>(r: &mut Registers, i: &Operands) {
    let rotated = r.gpr.get(i.t).rotate_left(u32::from(i.b.number()));
    let value = rotated & i.imm | r.gpr.get(i.a) & !i.imm;
    r.gpr.set(i.a, value);
    record::<RC>(r, value);
}

#[inline(always)]
pub fn rlwinm<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = r.gpr.get(i.t).rotate_left(u32::from(i.b.number())) & i.imm;
    r.gpr.set(i.a, value);
    record::<RC>(r, value);
}

#[inline(always)]
pub fn rlwnm<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = r.gpr.get(i.t).rotate_left(r.gpr.get(i.b) & 31) & i.imm;
    r.gpr.set(i.a, value);
    record::<RC>(r, value);
}

/// The shift amount has six bits: 32 and more shift everything out.
#[inline(always)]
fn amount(r: &Registers, i: &Operands) -> u32 {
    r.gpr.get(i.b) & 63
}

#[inline(always)]
pub fn slw<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = (u64::from(r.gpr.get(i.t)) << amount(r, i)) as u32;
    r.gpr.set(i.a, value);
    record::<RC>(r, value);
}

#[inline(always)]
pub fn srw<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = (u64::from(r.gpr.get(i.t)) >> amount(r, i)) as u32;
    r.gpr.set(i.a, value);
    record::<RC>(r, value);
}

/// CA is set when the value is negative and a one is shifted out.
#[inline(always)]
fn shift_right_algebraic<const RC: bool>(r: &mut Registers, i: &Operands, amount: u32) {
    let source = r.gpr.get(i.t).cast_signed();
    let value = (i64::from(source) >> amount) as u32;
    let lost = if amount > 31 {
        source != 0
    } else {
        amount != 0 && source.cast_unsigned() & mask(32 - amount, 31) != 0
    };
    r.gpr.set(i.a, value);
    r.xer.ca = source < 0 && lost;
    record::<RC>(r, value);
}

#[inline(always)]
pub fn sraw<const RC: bool>(r: &mut Registers, i: &Operands) {
    let amount = amount(r, i);
    shift_right_algebraic::<RC>(r, i, amount);
}

#[inline(always)]
pub fn srawi<const RC: bool>(r: &mut Registers, i: &Operands) {
    shift_right_algebraic::<RC>(r, i, u32::from(i.b.number()));
}
