//! Moves, exchanges, addresses, extensions.

use super::{Done, Memory, Source, Target, sign_extended};
use crate::x86::access::{Byte, Double, Width, Word};
use crate::x86::exception::Exception;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::segment;

/// MOV
#[inline(always)]
pub(in crate::x86) fn mov<W: Width, D: Target, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let value = S::get::<W>(p, op)?;
    D::put::<W>(p, op, value)
}

/// XCHG
pub(in crate::x86) fn exchange<W: Width, D: Target>(p: &mut Processor, op: &Op) -> Done {
    let other = p.register::<W>(op.reg);
    let mut seen = 0;
    D::change::<W>(p, op, |_, old| {
        seen = old;
        other
    })?;
    p.set_register::<W>(op.reg, seen);
    Ok(())
}

/// MOVZX
#[inline(always)]
pub(in crate::x86) fn extend_zero<From: Width, W: Width, S: Source>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let value = S::get::<From>(p, op)?;
    p.set_register::<W>(op.reg, value);
    Ok(())
}

/// MOVSX
#[inline(always)]
pub(in crate::x86) fn extend_sign<From: Width, W: Width, S: Source>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let value = sign_extended::<From>(S::get::<From>(p, op)?);
    p.set_register::<W>(op.reg, value);
    Ok(())
}

/// LEA
#[inline(always)]
pub(in crate::x86) fn address<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let offset = p.offset(op);
    p.set_register::<W>(op.reg, offset);
    Ok(())
}

/// CBW, CWDE
pub(in crate::x86) fn convert<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let value = if W::BYTES == 2 {
        sign_extended::<Byte>(p.register::<Byte>(0))
    } else {
        sign_extended::<Word>(p.register::<Word>(0))
    };
    p.set_register::<W>(0, value);
    Ok(())
}

/// CWD, CDQ
#[inline(always)]
pub(in crate::x86) fn convert_double<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let sign = p.register::<W>(0) & W::SIGN != 0;
    p.set_register::<W>(2, if sign { u32::MAX } else { 0 });
    Ok(())
}

/// XLAT
pub(in crate::x86) fn translate(p: &mut Processor, op: &Op) -> Done {
    // The decoder has made EBX the base; AL is the index.
    let at = Op {
        displacement: p.register::<Byte>(0),
        ..*op
    };
    let value = Memory::get::<Byte>(p, &at)?;
    p.set_register::<Byte>(0, value);
    Ok(())
}

/// MOV from a segment register: to memory always 16 bits
pub(in crate::x86) fn from_segment_to_memory(p: &mut Processor, op: &Op) -> Done {
    let selector = p.registers.segment(op.reg).selector;
    Memory::put::<Word>(p, op, selector.into())
}

/// The same to a register: with 32-bit operand size its upper half becomes zero (P6; recalled of the i486)
pub(in crate::x86) fn from_segment<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let selector = p.registers.segment(op.reg).selector;
    p.set_register::<W>(op.rm, selector.into());
    Ok(())
}

/// MOV to a segment register
pub(in crate::x86) fn to_segment<S: Source>(p: &mut Processor, op: &Op) -> Done {
    if op.reg == segment::CS || op.reg > segment::GS {
        return Err(Exception::INVALID_OPCODE);
    }
    let selector = S::get::<Word>(p, op)? as u16;
    p.load_segment(op.reg, selector)?;
    if op.reg == segment::SS {
        p.inhibit();
    }
    Ok(())
}

/// LDS, LES, LFS, LGS, LSS: `extra` is the segment register
pub(in crate::x86) fn load_pointer<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let offset = p.offset(op);
    let linear = p.linear_read(op.segment, offset, W::BYTES + 2)?;
    let value = p.load::<W>(linear)?;
    let selector = p.load::<Word>(linear.wrapping_add(W::BYTES))? as u16;
    p.load_segment(op.extra, selector)?;
    p.set_register::<W>(op.reg, value);
    Ok(())
}

/// A long NOP, PAUSE, and whatever else does nothing here
pub(in crate::x86) fn nothing(_: &mut Processor, _: &Op) -> Done {
    Ok(())
}

/// MOV CRn and DRn: `extra` is the opcode's second byte
pub(in crate::x86) fn control(p: &mut Processor, op: &Op) -> Done {
    match op.extra {
        0x20 => {
            let value = p.read_control(op.reg)?;
            p.set_register::<Double>(op.rm, value);
        }
        0x22 => {
            let value = p.register::<Double>(op.rm);
            p.write_control(op.reg, value)?;
        }
        0x21 => {
            p.privileged()?;
            let value = p.registers.dr[usize::from(op.reg & 7)];
            p.set_register::<Double>(op.rm, value);
        }
        _ => {
            p.privileged()?;
            let value = p.register::<Double>(op.rm);
            p.registers.dr[usize::from(op.reg & 7)] = value;
        }
    }
    Ok(())
}
