//! Multiplication and division.

use super::arithmetic::subtract;
use super::{Done, Source, sign_extended};
use crate::x86::access::Width;
use crate::x86::config::Kind;
use crate::x86::exception::Exception;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::Processor;

/// i486: a multiplication takes a clock for each significant bit of the multiplier, at least three.
fn charge<W: Width>(p: &mut Processor, multiplier: u32) {
    if p.kind == Kind::I486 {
        let bits = 32 - multiplier.leading_zeros();
        p.add_cycles(bits.clamp(3, W::BITS).into());
    }
}

/// The flags of a product whose lower half is `low`. SF, ZF, AF and PF are undefined; here they are those of the lower
/// half.
fn set_flags<W: Width>(p: &mut Processor, low: u32, overflow: bool) {
    p.registers.flags = Flags::with_carry(W::BITS, low, overflow, overflow);
}

/// The product goes to AX, DX:AX or EDX:EAX.
fn put_product<W: Width>(p: &mut Processor, product: u64) {
    if W::BYTES == 1 {
        p.set_register::<crate::x86::access::Word>(0, product as u32);
    } else {
        p.set_register::<W>(0, product as u32 & W::MASK);
        p.set_register::<W>(2, (product >> W::BITS) as u32 & W::MASK);
    }
}

/// MUL
pub(in crate::x86) fn multiply<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let source = S::get::<W>(p, op)?;
    charge::<W>(p, source);
    let product = u64::from(p.register::<W>(0)) * u64::from(source);
    put_product::<W>(p, product);
    set_flags::<W>(p, product as u32, product >> W::BITS != 0);
    Ok(())
}

fn signed<W: Width>(value: u32) -> i64 {
    sign_extended::<W>(value).cast_signed().into()
}

/// IMUL with one operand
pub(in crate::x86) fn multiply_signed<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let source = S::get::<W>(p, op)?;
    charge::<W>(p, signed::<W>(source).unsigned_abs() as u32);
    let product = signed::<W>(p.register::<W>(0)) * signed::<W>(source);
    put_product::<W>(p, product.cast_unsigned());
    let low = product.cast_unsigned() as u32 & W::MASK;
    set_flags::<W>(p, low, product != signed::<W>(low));
    Ok(())
}

/// IMUL with two or three operands: reg = a × b
pub(in crate::x86) fn multiply_short<W: Width, A: Source, B: Source>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let a = A::get::<W>(p, op)?;
    let b = B::get::<W>(p, op)?;
    charge::<W>(p, signed::<W>(b).unsigned_abs() as u32);
    let product = signed::<W>(a) * signed::<W>(b);
    let low = product.cast_unsigned() as u32 & W::MASK;
    p.set_register::<W>(op.reg, low);
    set_flags::<W>(p, low, product != signed::<W>(low));
    Ok(())
}

fn dividend<W: Width>(p: &Processor) -> u64 {
    if W::BYTES == 1 {
        (p.registers.gpr[0] & 0xffff).into()
    } else {
        u64::from(p.register::<W>(2)) << W::BITS | u64::from(p.register::<W>(0))
    }
}

fn put_quotient<W: Width>(p: &mut Processor, quotient: u32, remainder: u32) {
    if W::BYTES == 1 {
        let word = (remainder & 0xff) << 8 | quotient & 0xff;
        p.set_register::<crate::x86::access::Word>(0, word);
    } else {
        p.set_register::<W>(0, quotient & W::MASK);
        p.set_register::<W>(2, remainder & W::MASK);
    }
}

/// The flags after a division are undefined, and not those from before it: Intel's processors change them, by which
/// software tells them from Cyrix's (Cyrix application note 112, the "5/2 test"). Here they are those of the division's
/// last step, which tries to subtract the divisor.
fn set_flags_of_division<W: Width>(p: &mut Processor, odd: bool, remainder: u32, divisor: u32) {
    let before = if odd {
        remainder.wrapping_add(divisor)
    } else {
        remainder
    };
    subtract::<W>(p, before & W::MASK, divisor & W::MASK, 0);
}

/// DIV
pub(in crate::x86) fn divide<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let divisor = u64::from(S::get::<W>(p, op)?);
    if divisor == 0 {
        return Err(Exception::DIVIDE);
    }
    let dividend = dividend::<W>(p);
    let quotient = dividend / divisor;
    if quotient > W::MASK.into() {
        return Err(Exception::DIVIDE);
    }
    let remainder = (dividend % divisor) as u32;
    put_quotient::<W>(p, quotient as u32, remainder);
    set_flags_of_division::<W>(p, quotient & 1 != 0, remainder, divisor as u32);
    Ok(())
}

/// IDIV
pub(in crate::x86) fn divide_signed<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let divisor = i128::from(signed::<W>(S::get::<W>(p, op)?));
    if divisor == 0 {
        return Err(Exception::DIVIDE);
    }
    let shift = 64 - 2 * W::BITS;
    let dividend = i128::from((dividend::<W>(p) << shift).cast_signed() >> shift);
    let quotient = dividend / divisor;
    let most = i128::from(W::MASK >> 1);
    if quotient > most || quotient < -most - 1 {
        return Err(Exception::DIVIDE);
    }
    let remainder = dividend % divisor;
    put_quotient::<W>(p, quotient as u32, remainder as u32);
    let (remainder, divisor) = (remainder.unsigned_abs(), divisor.unsigned_abs());
    set_flags_of_division::<W>(p, quotient & 1 != 0, remainder as u32, divisor as u32);
    Ok(())
}
