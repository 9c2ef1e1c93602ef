//! Single bits, bit scans, conditions as bytes, byte order.

use super::{Done, Memory, Rm, Source, Target};
use crate::x86::access::{Double, Width};
use crate::x86::config::Kind;
use crate::x86::flags::Flags;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::eflags;

/// What BT, BTS, BTR and BTC do to the bit: `extra` 0 to 3.
fn changed(what: u8, value: u32, bit: u32) -> u32 {
    match what & 3 {
        0 => value,
        1 => value | 1 << bit,
        2 => value & !(1 << bit),
        _ => value ^ 1 << bit,
    }
}

/// BT, BTS, BTR, BTC with a register, by a register or an immediate.
pub(in crate::x86) fn of_register<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let bit = S::get::<W>(p, op)? % W::BITS;
    let old = p.register::<W>(op.rm);
    p.registers.flags = p.registers.flags.set_carry(old >> bit & 1 != 0);
    if op.extra & 3 != 0 {
        p.set_register::<W>(op.rm, changed(op.extra, old, bit));
    }
    Ok(())
}

/// The same with memory, by an immediate.
pub(in crate::x86) fn of_memory<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let bit = op.immediate % W::BITS;
    if op.extra & 3 == 0 {
        let old = Memory::get::<W>(p, op)?;
        p.registers.flags = p.registers.flags.set_carry(old >> bit & 1 != 0);
        return Ok(());
    }
    Memory::change::<W>(p, op, |p, old| {
        p.registers.flags = p.registers.flags.set_carry(old >> bit & 1 != 0);
        changed(op.extra, old, bit)
    })
}

/// The same with memory, by a register, whose number may reach beyond the operand.
pub(in crate::x86) fn of_string<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let number = super::sign_extended::<W>(p.register::<W>(op.reg)).cast_signed();
    let away = (number >> W::BITS.trailing_zeros()) * W::BYTES.cast_signed();
    let bit = number.cast_unsigned() % W::BITS;
    let near = Op {
        displacement: op.displacement.wrapping_add(away.cast_unsigned()),
        immediate: bit,
        ..*op
    };
    of_memory::<W>(p, &near)
}

/// BSF and BSR. With no bit set, the destination stays.
pub(in crate::x86) fn scan<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let value = S::get::<W>(p, op)?;
    // Flags besides ZF are undefined; these are the flags of the operand.
    p.registers.flags = Flags::arithmetic(W::BITS, value, 0);
    if value == 0 {
        return Ok(());
    }
    let reverse = op.extra & 1 != 0;
    let (found, looked) = if reverse {
        let found = 31 - value.leading_zeros();
        (found, W::BITS - found)
    } else {
        let found = value.trailing_zeros();
        (found, found + 1)
    };
    p.set_register::<W>(op.reg, found);
    if p.kind == Kind::I486 {
        p.add_cycles(looked.into());
    }
    Ok(())
}

/// SETcc
#[inline(always)]
pub(in crate::x86) fn set<D: Target>(p: &mut Processor, op: &Op) -> Done {
    let met = p.registers.flags.condition(op.extra);
    D::put::<crate::x86::access::Byte>(p, op, met.into())
}

/// CMOVcc: the source is read in any case.
pub(in crate::x86) fn move_if<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let value = S::get::<W>(p, op)?;
    if p.registers.flags.condition(op.extra) {
        p.set_register::<W>(op.reg, value);
    }
    Ok(())
}

/// BSWAP. Of 16 bits its result is undefined: zero.
pub(in crate::x86) fn swap_bytes<W: Width>(p: &mut Processor, op: &Op) -> Done {
    if W::BYTES == 2 {
        p.set_register::<W>(op.rm, 0);
    } else {
        let value = Rm::get::<Double>(p, op)?;
        p.set_register::<Double>(op.rm, value.swap_bytes());
    }
    Ok(())
}

/// SAHF
pub(in crate::x86) fn store_flags(p: &mut Processor, _: &Op) -> Done {
    const MASK: u32 = eflags::SF | eflags::ZF | eflags::AF | eflags::PF | eflags::CF;
    let ah = p.registers.gpr[0] >> 8;
    p.registers.set_eflags(ah, MASK);
    Ok(())
}

/// LAHF
pub(in crate::x86) fn load_flags(p: &mut Processor, _: &Op) -> Done {
    let flags = p.registers.eflags();
    p.set_register::<crate::x86::access::Byte>(4, flags);
    Ok(())
}
