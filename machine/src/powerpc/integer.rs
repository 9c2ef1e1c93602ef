//! Integer arithmetic, compares and logic (PEM 4.2.1.1 to 4.2.1.3).
//!
//! `OE` and `RC` are the instruction's overflow-enable and record bits.

use super::instruction::Operands;
use super::registers::{Register, Registers};
use super::word::{Word, order};

/// LT, GT or EQ for `left` against `right`, with a copy of XER[SO].
#[inline(always)]
fn compared<T: Ord>(left: T, right: T, so: bool) -> u8 {
    order(left, right) | u8::from(so)
}

/// Sets CR0 from `value` if `RC`.
#[inline(always)]
pub fn record<W: Word, const RC: bool>(r: &mut Registers, value: W) {
    if RC {
        let field = value.sign(r) | u8::from(r.xer.so);
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
fn sum<W: Word, const OE: bool, const RC: bool, const CA: bool>(
    r: &mut Registers,
    target: Register,
    left: W,
    right: W,
    carry: bool,
) {
    let sum = W::sum(r, left, right, carry);
    W::set(r, target, sum.value);
    if CA {
        r.xer.ca = sum.carry;
    }
    overflow::<OE>(r, sum.overflow);
    record::<W, RC>(r, sum.value);
}

#[inline(always)]
pub fn addi<W: Word>(r: &mut Registers, i: &Operands) {
    W::set(r, i.t, W::get(r, i.a).plus(W::signed(i.imm)));
}

#[inline(always)]
pub fn addic<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, false, RC, true>(r, i.t, W::get(r, i.a), W::signed(i.imm), false);
}

#[inline(always)]
pub fn subfic<W: Word>(r: &mut Registers, i: &Operands) {
    sum::<W, false, false, true>(r, i.t, !W::get(r, i.a), W::signed(i.imm), true);
}

#[inline(always)]
pub fn mulli<W: Word>(r: &mut Registers, i: &Operands) {
    W::set(r, i.t, W::get(r, i.a).times(W::signed(i.imm)));
}

#[inline(always)]
pub fn add<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, false>(r, i.t, W::get(r, i.a), W::get(r, i.b), false);
}

#[inline(always)]
pub fn addc<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, W::get(r, i.a), W::get(r, i.b), false);
}

#[inline(always)]
pub fn adde<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, W::get(r, i.a), W::get(r, i.b), r.xer.ca);
}

#[inline(always)]
pub fn addme<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, W::get(r, i.a), !W::ZERO, r.xer.ca);
}

#[inline(always)]
pub fn addze<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, W::get(r, i.a), W::ZERO, r.xer.ca);
}

#[inline(always)]
pub fn subf<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, false>(r, i.t, !W::get(r, i.a), W::get(r, i.b), true);
}

#[inline(always)]
pub fn subfc<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, !W::get(r, i.a), W::get(r, i.b), true);
}

#[inline(always)]
pub fn subfe<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, !W::get(r, i.a), W::get(r, i.b), r.xer.ca);
}

#[inline(always)]
pub fn subfme<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, !W::get(r, i.a), !W::ZERO, r.xer.ca);
}

#[inline(always)]
pub fn subfze<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, true>(r, i.t, !W::get(r, i.a), W::ZERO, r.xer.ca);
}

#[inline(always)]
pub fn neg<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    sum::<W, OE, RC, false>(r, i.t, !W::get(r, i.a), W::ZERO, true);
}

/// On a core of 64 bits rT is the whole product.
#[inline(always)]
pub fn mullw<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = i64::from(r.gpr.get(i.a).cast_signed()) * i64::from(r.gpr.get(i.b).cast_signed());
    let value = W::of(product.cast_unsigned());
    W::set(r, i.t, value);
    overflow::<OE>(r, i32::try_from(product).is_err());
    record::<W, RC>(r, value);
}

// The upper half of the result of these four, on a core of 64 bits, is not defined (PEM); here it is 0.

#[inline(always)]
pub fn mulhw<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = i64::from(r.gpr.get(i.a).cast_signed()) * i64::from(r.gpr.get(i.b).cast_signed());
    let value = W::unsigned((product >> 32) as u32);
    W::set(r, i.t, value);
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn mulhwu<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
    let product = u64::from(r.gpr.get(i.a)) * u64::from(r.gpr.get(i.b));
    let value = W::unsigned((product >> 32) as u32);
    W::set(r, i.t, value);
    record::<W, RC>(r, value);
}

/// PEM leaves an impossible quotient undefined; here it is the dividend.
#[inline(always)]
pub fn divw<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let (dividend, divisor) = (r.gpr.get(i.a).cast_signed(), r.gpr.get(i.b).cast_signed());
    let quotient = dividend.checked_div(divisor);
    let value = W::unsigned(quotient.unwrap_or(dividend).cast_unsigned());
    W::set(r, i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<W, RC>(r, value);
}

#[inline(always)]
pub fn divwu<W: Word, const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let dividend = r.gpr.get(i.a);
    let quotient = dividend.checked_div(r.gpr.get(i.b));
    let value = W::unsigned(quotient.unwrap_or(dividend));
    W::set(r, i.t, value);
    overflow::<OE>(r, quotient.is_none());
    record::<W, RC>(r, value);
}

/// Bit 10, L: on a core of 64 bits all of them are compared.
#[inline(always)]
fn doubleword(i: &Operands) -> bool {
    i.t.number() & 1 != 0
}

/// Sets the field of a signed or logical compare.
#[inline(always)]
fn compare<W: Word>(r: &mut Registers, i: &Operands, signed: bool, right: W) {
    let left = W::get(r, i.a);
    let so = r.xer.so;
    let field = match (W::WIDE && doubleword(i), signed) {
        (false, true) => compared(left.low().cast_signed(), right.low().cast_signed(), so),
        (false, false) => compared(left.low(), right.low(), so),
        (true, true) => compared(left.whole().cast_signed(), right.whole().cast_signed(), so),
        (true, false) => compared(left, right, so),
    };
    r.cr.set_field(i.crf_d(), field);
}

#[inline(always)]
pub fn cmpi<W: Word>(r: &mut Registers, i: &Operands) {
    compare(r, i, true, W::signed(i.imm));
}

#[inline(always)]
pub fn cmpli<W: Word>(r: &mut Registers, i: &Operands) {
    compare(r, i, false, W::unsigned(i.imm));
}

#[inline(always)]
pub fn cmp<W: Word>(r: &mut Registers, i: &Operands) {
    compare(r, i, true, W::get(r, i.b));
}

#[inline(always)]
pub fn cmpl<W: Word>(r: &mut Registers, i: &Operands) {
    compare(r, i, false, W::get(r, i.b));
}

macro_rules! immediate_logic {
    ($($name:ident, RC = $record:literal, |$s:ident, $imm:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name<W: Word>(r: &mut Registers, i: &Operands) {
            let ($s, $imm) = (W::get(r, i.t), W::unsigned(i.imm));
            let value = $value;
            W::set(r, i.a, value);
            record::<W, $record>(r, value);
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
        pub fn $name<W: Word, const RC: bool>(r: &mut Registers, i: &Operands) {
            let ($s, $b) = (W::get(r, i.t), W::get(r, i.b));
            let value = $value;
            W::set(r, i.a, value);
            record::<W, RC>(r, value);
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
    extsb |s, _b| W::signed(s.low() as u8 as i8 as u32);
    extsh |s, _b| W::signed(s.low() as u16 as i16 as u32);
    cntlzw |s, _b| W::unsigned(s.low().leading_zeros());
}

/// dlmzb, which the 405 has (GCC's `-mdlmzb` names the processors): rA and the byte count of XER become the number of
/// the first byte of rS and rB that is zero, counted from 1, or 8 if none is. CR0 tells in which register it is
/// (PPC440x5 UM, dlmzb).
pub fn dlmzb<const RC: bool>(r: &mut Registers, i: &Operands) {
    const IN_FIRST: u8 = 0b0100;
    const IN_SECOND: u8 = 0b1000;
    const IN_NONE: u8 = 0b0010;
    let [high, low] = [i.t, i.b].map(|register| u64::from(r.gpr.get(register)));
    let zero = (high << 32 | low)
        .to_be_bytes()
        .iter()
        .position(|byte| *byte == 0);
    let count = zero.map_or(8, |place| place as u32 + 1);
    r.gpr.set(i.a, count);
    r.xer.set_count(count);
    if RC {
        let field = match zero {
            Some(..=3) => IN_FIRST,
            Some(_) => IN_SECOND,
            None => IN_NONE,
        };
        r.cr.set_field(0, field | u8::from(r.xer.so));
    }
}
