//! Integer arithmetic, compares and logic (PEM 4.2.1.1 to 4.2.1.3).
//!
//! `OE` and `RC` are the instruction's overflow-enable and record bits.

use super::instruction::Operands;
use super::registers::{Register, Registers, condition};

/// LT, GT or EQ for `left` against `right`, with a copy of XER[SO].
#[inline(always)]
fn order<T: Ord>(left: T, right: T, so: bool) -> u8 {
    (u8::from(left < right) * condition::LT)
        | (u8::from(left > right) * condition::GT)
        | (u8::from(left == right) * condition::EQ)
        | u8::from(so)
}

/// Sets CR0 from `value` if `RC`.
#[inline(always)]
pub fn record<const RC: bool>(r: &mut Registers, value: u32) {
    if RC {
        let field = order(value.cast_signed(), 0, r.xer.so);
        r.cr.set_field(0, field);
    }
}

#[inline(always)]
pub(super) fn overflow<const OE: bool>(r: &mut Registers, overflowed: bool) {
    if OE {
        r.xer.ov = overflowed;
        r.xer.so |= overflowed;
    }
}

/// Sets rT to `left + right + carry`; every add and subtract uses it.
#[inline(always)]
fn sum<const OE: bool, const RC: bool, const CA: bool>(
    r: &mut Registers,
    target: Register,
    left: u32,
    right: u32,
    carry: bool,
) {
    let (partial, out1) = left.overflowing_add(right);
    let (value, out2) = partial.overflowing_add(u32::from(carry));
    r.gpr.set(target, value);
    if CA {
        r.xer.ca = out1 | out2;
    }
    overflow::<OE>(r, (left ^ value) & (right ^ value) & 0x8000_0000 != 0);
    record::<RC>(r, value);
}

#[inline(always)]
pub fn addi(r: &mut Registers, i: &Operands) {
    r.gpr.set(i.t, r.gpr.get(i.a).wrapping_add(i.imm));
}

#[inline(always)]
pub fn addic<const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<false, RC, true>(r, i.t, r.gpr.get(i.a), i.imm, false);
}

#[inline(always)]
pub fn subfic(r: &mut Registers, i: &Operands) {
    sum::<false, false, true>(r, i.t, !r.gpr.get(i.a), i.imm, true);
}

#[inline(always)]
pub fn mulli(r: &mut Registers, i: &Operands) {
    r.gpr.set(i.t, r.gpr.get(i.a).wrapping_mul(i.imm));
}

#[inline(always)]
pub fn add<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, false>(r, i.t, r.gpr.get(i.a), r.gpr.get(i.b), false);
}

#[inline(always)]
pub fn addc<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, r.gpr.get(i.a), r.gpr.get(i.b), false);
}

#[inline(always)]
pub fn adde<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, r.gpr.get(i.a), r.gpr.get(i.b), r.xer.ca);
}

#[inline(always)]
pub fn addme<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, r.gpr.get(i.a), u32::MAX, r.xer.ca);
}

#[inline(always)]
pub fn addze<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, r.gpr.get(i.a), 0, r.xer.ca);
}

#[inline(always)]
pub fn subf<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, false>(r, i.t, !r.gpr.get(i.a), r.gpr.get(i.b), true);
}

#[inline(always)]
pub fn subfc<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, !r.gpr.get(i.a), r.gpr.get(i.b), true);
}

#[inline(always)]
pub fn subfe<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, !r.gpr.get(i.a), r.gpr.get(i.b), r.xer.ca);
}

#[inline(always)]
pub fn subfme<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, !r.gpr.get(i.a), u32::MAX, r.xer.ca);
}

#[inline(always)]
pub fn subfze<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, true>(r, i.t, !r.gpr.get(i.a), 0, r.xer.ca);
}

#[inline(always)]
pub fn neg<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<OE, RC, false>(r, i.t, !r.gpr.get(i.a), 0, true);
}

#[inline(always)]
pub fn mullw<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = i64::from(r.gpr.get(i.a).cast_signed()) * i64::from(r.gpr.get(i.b).cast_signed());
    let value = product as u32;
    r.gpr.set(i.t, value);
    overflow::<OE>(r, i32::try_from(product).is_err());
    record::<RC>(r, value);
}

#[inline(always)]
pub fn mulhw<const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = i64::from(r.gpr.get(i.a).cast_signed()) * i64::from(r.gpr.get(i.b).cast_signed());
    let value = (product >> 32) as u32;
    r.gpr.set(i.t, value);
    record::<RC>(r, value);
}

#[inline(always)]
pub fn mulhwu<const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = u64::from(r.gpr.get(i.a)) * u64::from(r.gpr.get(i.b));
    let value = (product >> 32) as u32;
    r.gpr.set(i.t, value);
    record::<RC>(r, value);
}

/// PEM leaves an impossible quotient undefined; here it is the dividend.
#[inline(always)]
pub fn divw<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let (dividend, divisor) = (r.gpr.get(i.a).cast_signed(), r.gpr.get(i.b).cast_signed());
    let quotient = dividend.checked_div(divisor);
    let value = quotient.unwrap_or(dividend).cast_unsigned();
    r.gpr.set(i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<RC>(r, value);
}

#[inline(always)]
pub fn divwu<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let dividend = r.gpr.get(i.a);
    let quotient = dividend.checked_div(r.gpr.get(i.b));
    let value = quotient.unwrap_or(dividend);
    r.gpr.set(i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<RC>(r, value);
}

#[inline(always)]
pub fn cmpi(r: &mut Registers, i: &Operands) {
    let field = order(r.gpr.get(i.a).cast_signed(), i.imm.cast_signed(), r.xer.so);
    r.cr.set_field(i.crf_d(), field);
}

#[inline(always)]
pub fn cmpli(r: &mut Registers, i: &Operands) {
    let field = order(r.gpr.get(i.a), i.imm, r.xer.so);
    r.cr.set_field(i.crf_d(), field);
}

#[inline(always)]
pub fn cmp(r: &mut Registers, i: &Operands) {
    let (left, right) = (r.gpr.get(i.a).cast_signed(), r.gpr.get(i.b).cast_signed());
    let field = order(left, right, r.xer.so);
    r.cr.set_field(i.crf_d(), field);
}

#[inline(always)]
pub fn cmpl(r: &mut Registers, i: &Operands) {
    let field = order(r.gpr.get(i.a), r.gpr.get(i.b), r.xer.so);
    r.cr.set_field(i.crf_d(), field);
}

macro_rules! immediate_logic {
    ($($name:ident, RC = $record:literal, |$s:ident, $imm:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name(r: &mut Registers, i: &Operands) {
            let ($s, $imm) = (r.gpr.get(i.t), i.imm);
            let value = $value;
            r.gpr.set(i.a, value);
            record::<$record>(r, value);
        }
    )*};
}

// The shifted forms (andis., oris, xoris) differ only in their decoded immediate.
immediate_logic! {
    andi_record, RC = true, |s, imm| s & imm;
    ori, RC = false, |s, imm| s | imm;
    xori, RC = false, |s, imm| s ^ imm;
}

macro_rules! logic {
    ($($name:ident |$s:ident, $b:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name<const RC: bool>(r: &mut Registers, i: &Operands) {
            let ($s, $b) = (r.gpr.get(i.t), r.gpr.get(i.b));
            let value = $value;
            r.gpr.set(i.a, value);
            record::<RC>(r, value);
        }
    )*};
}

logic! {
    and |s, b| s & b;
    or |s, b| s | b;
    xor |s, b| s ^ b;
    nand |s, b| !(s & b);
    nor |s, b| !(s | b);
    eqv |s, b| !(s ^ b);
    andc |s, b| s & !b;
    orc |s, b| s | !b;
    extsb |s, _b| s as u8 as i8 as u32;
    extsh |s, _b| s as u16 as i16 as u32;
    cntlzw |s, _b| s.leading_zeros();
}
