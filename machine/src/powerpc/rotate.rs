//! Rotates and shifts of words (PEM 4.2.1.4). Decoding computes the mask of a rotate. [`super::doubleword`] has those
//! of double words.

use super::instruction::{Operands, mask};
use super::integer::record;
use super::registers::Registers;
use super::word::Word;

/// A rotated word; on a core of 64 bits in both halves.
#[inline(always)]
fn rotated<W: Word>(value: u32, by: u32) -> W {
    let word = value.rotate_left(by);
    W::of(u64::from(word) << 32 | u64::from(word))
}

/// The mask of a rotate: one that wraps around takes in the upper half. MB is operand c.
#[inline(always)]
fn whole_mask<W: Word>(i: &Operands) -> W {
    let wraps = if i.imm == u32::MAX {
        i.c.number() != 0
    } else {
        i.imm & 1 != 0 && i.imm >> 31 != 0
    };
    W::of(u64::from(i.imm) | if wraps { u64::from(u32::MAX) << 32 } else { 0 })
}

#[inline(always)]
pub fn rlwimi<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let (rotated, mask): (W, W) = (
        rotated(r.gpr.get(i.t), u32::from(i.b.number())),
        whole_mask(i),
    );
    let value = rotated & mask | W::get(r, i.a) & !mask;
    W::set(r, i.a, value);
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn rlwinm<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let value: W = rotated(r.gpr.get(i.t), u32::from(i.b.number()));
    let value = value & whole_mask(i);
    W::set(r, i.a, value);
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn rlwnm<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let value: W = rotated(r.gpr.get(i.t), r.gpr.get(i.b) & 31);
    let value = value & whole_mask(i);
    W::set(r, i.a, value);
    record::<W, RC>(r, value);
}

/// The shift amount has six bits: 32 and more shift everything out.
#[inline(always)]
fn amount(r: &Registers, i: &Operands) -> u32 {
    r.gpr.get(i.b) & 63
}

#[inline(always)]
pub fn slw<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = W::unsigned((u64::from(r.gpr.get(i.t)) << amount(r, i)) as u32);
    W::set(r, i.a, value);
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn srw<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = W::unsigned((u64::from(r.gpr.get(i.t)) >> amount(r, i)) as u32);
    W::set(r, i.a, value);
    record::<W, RC>(r, value);
}

/// CA is set when the value is negative and a one is shifted out.
#[inline(always)]
fn shift_right_algebraic<W: Word, const RC: bool>(r: &mut Registers, i: &Operands, amount: u32) {
    let source = r.gpr.get(i.t).cast_signed();
    let value = W::of((i64::from(source) >> amount).cast_unsigned());
    let lost = if amount > 31 {
        source != 0
    } else {
        amount != 0 && source.cast_unsigned() & mask(32 - amount, 31) != 0
    };
    W::set(r, i.a, value);
    r.xer.ca = source < 0 && lost;
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn sraw<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let amount = amount(r, i);
    shift_right_algebraic::<W, RC>(r, i, amount);
}

#[inline(always)]
pub fn srawi<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    shift_right_algebraic::<W, RC>(r, i, u32::from(i.b.number()));
}
