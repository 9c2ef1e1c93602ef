//! Addition, subtraction, logic, comparison.

use super::{Done, Source, Target};
use crate::x86::access::Width;
use crate::x86::exception::Exception;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::Processor;

/// An operation on two operands that sets the flags.
pub(in crate::x86) trait Alu {
    /// CMP and TEST write nothing.
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32;
}

pub(in crate::x86) struct Add;
pub(in crate::x86) struct AddCarry;
pub(in crate::x86) struct Sub;
pub(in crate::x86) struct SubBorrow;
pub(in crate::x86) struct And;
pub(in crate::x86) struct Or;
pub(in crate::x86) struct Xor;

/// The sum, with its flags.
#[inline(always)]
pub(super) fn add<W: Width>(p: &mut Processor, a: u32, b: u32, carry: u32) -> u32 {
    let sum = a.wrapping_add(b).wrapping_add(carry);
    p.registers.flags = Flags::arithmetic(W::BITS, sum, a & b | (a | b) & !sum);
    sum & W::MASK
}

/// The difference, with its flags.
#[inline(always)]
pub(super) fn subtract<W: Width>(p: &mut Processor, a: u32, b: u32, borrow: u32) -> u32 {
    let difference = a.wrapping_sub(b).wrapping_sub(borrow);
    p.registers.flags = Flags::arithmetic(W::BITS, difference, !a & b | (!a | b) & difference);
    difference & W::MASK
}

/// The flags of a logical result.
#[inline(always)]
fn logical<W: Width>(p: &mut Processor, result: u32) -> u32 {
    p.registers.flags = Flags::arithmetic(W::BITS, result, 0);
    result
}

impl Alu for Add {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        add::<W>(p, a, b, 0)
    }
}

impl Alu for AddCarry {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        let carry = p.registers.flags.carry().into();
        add::<W>(p, a, b, carry)
    }
}

impl Alu for Sub {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        subtract::<W>(p, a, b, 0)
    }
}

impl Alu for SubBorrow {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        let borrow = p.registers.flags.carry().into();
        subtract::<W>(p, a, b, borrow)
    }
}

impl Alu for And {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        logical::<W>(p, a & b)
    }
}

impl Alu for Or {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        logical::<W>(p, a | b)
    }
}

impl Alu for Xor {
    #[inline(always)]
    fn apply<W: Width>(p: &mut Processor, a: u32, b: u32) -> u32 {
        logical::<W>(p, a ^ b)
    }
}

/// ADD, OR, ADC, SBB, AND, SUB, XOR
#[inline(always)]
pub(in crate::x86) fn alu<O: Alu, W: Width, D: Target, S: Source>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let b = S::get::<W>(p, op)?;
    D::change::<W>(p, op, |p, a| O::apply::<W>(p, a, b))
}

/// CMP (as subtraction), TEST (as and)
#[inline(always)]
pub(in crate::x86) fn compare<O: Alu, W: Width, A: Source, B: Source>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let a = A::get::<W>(p, op)?;
    let b = B::get::<W>(p, op)?;
    O::apply::<W>(p, a, b);
    Ok(())
}

/// INC
#[inline(always)]
pub(in crate::x86) fn increment<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    D::change::<W>(p, op, |p, a| {
        let carry = p.registers.flags.carry();
        let sum = add::<W>(p, a, 1, 0);
        p.registers.flags = p.registers.flags.set_carry(carry);
        sum
    })
}

/// DEC
#[inline(always)]
pub(in crate::x86) fn decrement<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    D::change::<W>(p, op, |p, a| {
        let carry = p.registers.flags.carry();
        let difference = subtract::<W>(p, a, 1, 0);
        p.registers.flags = p.registers.flags.set_carry(carry);
        difference
    })
}

/// NEG
#[inline(always)]
pub(in crate::x86) fn negate<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    D::change::<W>(p, op, |p, a| subtract::<W>(p, 0, a, 0))
}

/// NOT
pub(in crate::x86) fn invert<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    D::change::<W>(p, op, |_, a| !a & W::MASK)
}

/// CMPXCHG: the memory is written in any case.
pub(in crate::x86) fn compare_exchange<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    let accumulator = p.register::<W>(0);
    let source = p.register::<W>(op.reg);
    let mut seen = accumulator;
    D::change::<W>(p, op, |p, old| {
        seen = old;
        subtract::<W>(p, accumulator, old, 0);
        if accumulator == old { source } else { old }
    })?;
    if seen != accumulator {
        p.set_register::<W>(0, seen);
    }
    Ok(())
}

/// XADD
pub(in crate::x86) fn exchange_add<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    let source = p.register::<W>(op.reg);
    let mut seen = 0;
    D::change::<W>(p, op, |p, old| {
        seen = old;
        // XADD of a register with itself leaves the sum there.
        p.set_register::<W>(op.reg, old);
        add::<W>(p, old, source, 0)
    })
}

/// CMPXCHG8B
pub(in crate::x86) fn compare_exchange_wide(p: &mut Processor, op: &Op) -> Done {
    use crate::x86::access::Double;
    let offset = p.offset(op);
    let linear = p.linear_write(op.segment, offset, 8)?;
    let low = p.place_to_modify::<Double>(linear)?;
    let high = p.place_to_modify::<Double>(linear.wrapping_add(4))?;
    let old = (p.load_at(low, 4), p.load_at(high, 4));
    let gpr = p.registers.gpr;
    let equal = old == (gpr[0], gpr[2]);
    let new = if equal { (gpr[3], gpr[1]) } else { old };
    p.store_at(low, 4, new.0);
    p.store_at(high, 4, new.1);
    if !equal {
        (p.registers.gpr[0], p.registers.gpr[2]) = old;
    }
    let flags = p.registers.flags.word();
    let zero = crate::x86::registers::eflags::ZF;
    p.registers.flags = Flags::from_word(if equal { flags | zero } else { flags & !zero });
    Ok(())
}

/// CLC, STC, CMC: `extra` is the opcode.
pub(in crate::x86) fn carry_flag(p: &mut Processor, op: &Op) -> Done {
    let carry = match op.extra {
        0xf8 => false,
        0xf9 => true,
        _ => !p.registers.flags.carry(),
    };
    p.registers.flags = p.registers.flags.set_carry(carry);
    Ok(())
}

/// What the core does not have.
pub(in crate::x86) fn illegal(_: &mut Processor, _: &Op) -> Done {
    Err(Exception::INVALID_OPCODE)
}

/// An instruction of more than 15 bytes.
pub(in crate::x86) fn too_long(_: &mut Processor, _: &Op) -> Done {
    Err(Exception::GENERAL)
}
