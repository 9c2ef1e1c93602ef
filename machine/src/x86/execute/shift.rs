//! Shifts and rotates. OF after more than one bit, and AF, are undefined; here OF is computed as for one bit, and AF is
//! clear.

use super::{Done, Source, Target};
use crate::x86::access::Width;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::Processor;

/// How far to shift.
pub(in crate::x86) trait Count {
    fn of(p: &Processor, op: &Op) -> u32;
}

/// By CL.
pub(in crate::x86) struct ByCl;
/// By an immediate.
pub(in crate::x86) struct ByImmediate;

impl Count for ByCl {
    #[inline(always)]
    fn of(p: &Processor, _: &Op) -> u32 {
        p.registers.gpr[1] & 31
    }
}

impl Count for ByImmediate {
    #[inline(always)]
    fn of(_: &Processor, op: &Op) -> u32 {
        op.immediate & 31
    }
}

/// One of ROL, ROR, RCL, RCR, SHL, SHR, SAR. The count is 1 to 31.
pub(in crate::x86) trait Shift {
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32;
}

pub(in crate::x86) struct Rol;
pub(in crate::x86) struct Ror;
pub(in crate::x86) struct Rcl;
pub(in crate::x86) struct Rcr;
pub(in crate::x86) struct Shl;
pub(in crate::x86) struct Shr;
pub(in crate::x86) struct Sar;

fn top<W: Width>(value: u32) -> bool {
    value & W::SIGN != 0
}

impl Shift for Rol {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let n = count % W::BITS;
        let result = if n == 0 {
            value
        } else {
            (value << n | value >> (W::BITS - n)) & W::MASK
        };
        let carry = result & 1 != 0;
        let flags = p.registers.flags;
        p.registers.flags = flags.set_carry_overflow(carry, carry != top::<W>(result));
        result
    }
}

impl Shift for Ror {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let n = count % W::BITS;
        let result = if n == 0 {
            value
        } else {
            (value >> n | value << (W::BITS - n)) & W::MASK
        };
        let carry = top::<W>(result);
        let flags = p.registers.flags;
        p.registers.flags = flags.set_carry_overflow(carry, carry != top::<W>(result << 1));
        result
    }
}

impl Shift for Rcl {
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let n = count % (W::BITS + 1);
        let flags = p.registers.flags;
        let all = u64::from(flags.carry()) << W::BITS | u64::from(value);
        let turned = if n == 0 {
            all
        } else {
            all << n | all >> (W::BITS + 1 - n)
        };
        let result = turned as u32 & W::MASK;
        let carry = turned >> W::BITS & 1 != 0;
        p.registers.flags = flags.set_carry_overflow(carry, carry != top::<W>(result));
        result
    }
}

impl Shift for Rcr {
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let n = count % (W::BITS + 1);
        let flags = p.registers.flags;
        let all = u64::from(flags.carry()) << W::BITS | u64::from(value);
        let turned = if n == 0 {
            all
        } else {
            all >> n | all << (W::BITS + 1 - n)
        };
        let result = turned as u32 & W::MASK;
        let carry = turned >> W::BITS & 1 != 0;
        let overflow = top::<W>(result) != top::<W>(result << 1);
        p.registers.flags = flags.set_carry_overflow(carry, overflow);
        result
    }
}

impl Shift for Shl {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let wide = u64::from(value) << count;
        let result = wide as u32 & W::MASK;
        let carry = wide >> W::BITS & 1 != 0;
        p.registers.flags = Flags::with_carry(W::BITS, result, carry, carry != top::<W>(result));
        result
    }
}

impl Shift for Shr {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let carry = value >> (count - 1) & 1 != 0;
        let result = value >> count;
        // Defined for a count of one: the old sign.
        let overflow = top::<W>(value >> (count - 1));
        p.registers.flags = Flags::with_carry(W::BITS, result, carry, overflow);
        result
    }
}

impl Shift for Sar {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, value: u32, count: u32) -> u32 {
        let wide = super::sign_extended::<W>(value).cast_signed();
        let carry = wide >> (count - 1) & 1 != 0;
        let result = (wide >> count).cast_unsigned() & W::MASK;
        p.registers.flags = Flags::with_carry(W::BITS, result, carry, false);
        result
    }
}

/// A shift or a rotate. A count of zero changes nothing.
#[inline(always)]
pub(in crate::x86) fn shift<O: Shift, W: Width, D: Target, C: Count>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let count = C::of(p, op);
    D::change::<W>(p, op, |p, value| {
        if count == 0 {
            value
        } else {
            O::apply::<W>(p, value, count)
        }
    })
}

/// SHLD. With 16 bits a count above 16 gives an undefined result.
pub(in crate::x86) fn left_double<W: Width, D: Target, C: Count>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let count = C::of(p, op);
    let source = super::Reg::get::<W>(p, op)?;
    D::change::<W>(p, op, |p, value| {
        if count == 0 {
            return value;
        }
        // Of 16 bits as a P6 does it: the destination comes again behind the source.
        let (result, carry) = if W::BYTES == 2 {
            let all = u64::from(value) << 32 | u64::from(source) << 16 | u64::from(value);
            let shifted = all << count;
            ((shifted >> 32) as u32 & W::MASK, shifted >> 48 & 1 != 0)
        } else {
            let all = u64::from(value) << 32 | u64::from(source);
            ((all << count >> 32) as u32, value >> (32 - count) & 1 != 0)
        };
        let overflow = top::<W>(value) != top::<W>(result);
        p.registers.flags = Flags::with_carry(W::BITS, result, carry, overflow);
        result
    })
}

/// SHRD
pub(in crate::x86) fn right_double<W: Width, D: Target, C: Count>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let count = C::of(p, op);
    let source = super::Reg::get::<W>(p, op)?;
    D::change::<W>(p, op, |p, value| {
        if count == 0 {
            return value;
        }
        let all = if W::BYTES == 2 {
            u64::from(value) << 32 | u64::from(source) << 16 | u64::from(value)
        } else {
            u64::from(source) << 32 | u64::from(value)
        };
        let result = (all >> count) as u32 & W::MASK;
        let carry = all >> (count - 1) & 1 != 0;
        let overflow = top::<W>(value) != top::<W>(result);
        p.registers.flags = Flags::with_carry(W::BITS, result, carry, overflow);
        result
    })
}
