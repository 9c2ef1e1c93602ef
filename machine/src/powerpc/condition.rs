//! Condition-register logic and moves, and the user's special registers (PEM 4.2.4.2, 4.2.4.6).

use super::instruction::{Instruction, Operands};
use super::registers::{Registers, condition};
use super::word::Word;

macro_rules! condition_logic {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name(r: &mut Registers, i: &Operands) {
            let ($a, $b) = (r.cr.bit(i.a.number()), r.cr.bit(i.b.number()));
            r.cr.set_bit(i.t.number(), $value);
        }
    )*};
}

condition_logic! {
    crand |a, b| a & b;
    cror |a, b| a | b;
    crxor |a, b| a ^ b;
    crnand |a, b| !(a & b);
    crnor |a, b| !(a | b);
    creqv |a, b| a == b;
    crandc |a, b| a & !b;
    crorc |a, b| a | !b;
}

#[inline(always)]
pub fn mcrf(r: &mut Registers, i: &Operands) {
    r.cr.set_field(i.crf_d(), r.cr.field(i.crf_s()));
}

#[inline(always)]
pub fn mcrxr(r: &mut Registers, i: &Operands) {
    let bit = |set: bool, value: u8| if set { value } else { 0 };
    let field =
        bit(r.xer.so, condition::LT) | bit(r.xer.ov, condition::GT) | bit(r.xer.ca, condition::EQ);
    r.cr.set_field(i.crf_d(), field);
    (r.xer.so, r.xer.ov, r.xer.ca) = (false, false, false);
}

#[inline(always)]
pub fn mfcr(r: &mut Registers, i: &Operands) {
    r.gpr.set(i.t, r.cr.word());
}

/// Bit 11: `mfocrf`, which reads one field, or `mtocrf`.
pub fn one_field(i: &Instruction) -> bool {
    i.operands.imm & 0x10_0000 != 0
}

/// The fields that CRM names, of which there should be one; the rest of rT is 0.
#[inline(always)]
pub fn mfocrf(r: &mut Registers, i: &Operands) {
    let named = (0..8).fold(0, |mask, n| {
        let field = if i.imm & (0x8_0000 >> n) != 0 { 15 } else { 0 };
        mask | field << (28 - 4 * n)
    });
    r.gpr.set(i.t, r.cr.word() & named);
}

/// CRM is bits 12-19 of the word, one for each field.
#[inline(always)]
pub fn mtcrf(r: &mut Registers, i: &Operands) {
    let source = r.gpr.get(i.t);
    for n in 0..8 {
        if i.imm & (0x8_0000 >> n) != 0 {
            r.cr.set_field(n, (source >> (28 - 4 * n) & 15) as u8);
        }
    }
}

#[inline(always)]
pub fn mflr<W: Word>(r: &mut Registers, i: &Operands) {
    W::set(r, i.t, W::link(r));
}

#[inline(always)]
pub fn mtlr<W: Word>(r: &mut Registers, i: &Operands) {
    W::set_link(r, W::get(r, i.t));
}

#[inline(always)]
pub fn mfctr<W: Word>(r: &mut Registers, i: &Operands) {
    W::set(r, i.t, W::count(r));
}

#[inline(always)]
pub fn mtctr<W: Word>(r: &mut Registers, i: &Operands) {
    W::set_count(r, W::get(r, i.t));
}

#[inline(always)]
pub fn mfxer(r: &mut Registers, i: &Operands) {
    r.gpr.set(i.t, r.xer.word());
}

#[inline(always)]
pub fn mtxer(r: &mut Registers, i: &Operands) {
    let value = r.gpr.get(i.t);
    r.xer.set_word(value);
}
