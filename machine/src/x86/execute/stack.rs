//! Pushes, pops, frames.

use super::{Done, Memory, Source, Target};
use crate::x86::access::{Width, Word};
use crate::x86::exception::Exception;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::{eflags, gpr, segment};

/// PUSH
#[inline(always)]
pub(in crate::x86) fn push<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let value = S::get::<W>(p, op)?;
    p.push::<W>(value)
}

/// POP to a register
#[inline(always)]
pub(in crate::x86) fn pop<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let value = p.pop::<W>()?;
    p.set_register::<W>(op.rm, value);
    Ok(())
}

/// POP to memory. An address by ESP uses its new value.
pub(in crate::x86) fn pop_memory<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let old = p.registers.gpr[4];
    let value = p.pop::<W>()?;
    let done = Memory::put::<W>(p, op, value);
    if done.is_err() {
        p.registers.gpr[4] = old;
    }
    done
}

/// PUSH of a segment register. With 32-bit operand size a word is written, and the other half of the place stays (P6);
/// an i486 writes zero there (recalled).
pub(in crate::x86) fn push_segment<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let selector = p.registers.segment(op.reg).selector;
    p.push::<W>(selector.into())
}

/// POP to a segment register
pub(in crate::x86) fn pop_segment<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let selector = p.peek_stack::<W>(0)? as u16;
    p.load_segment(op.reg, selector)?;
    p.drop_stack(W::BYTES);
    if op.reg == segment::SS {
        p.inhibit();
    }
    Ok(())
}

/// PUSHA
pub(in crate::x86) fn push_all<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let old = p.registers.gpr[4];
    for number in 0..8 {
        let value = if number == gpr::ESP {
            old & W::MASK
        } else {
            p.register::<W>(number)
        };
        if let Err(exception) = p.push::<W>(value) {
            p.registers.gpr[4] = old;
            return Err(exception);
        }
    }
    Ok(())
}

/// POPA
pub(in crate::x86) fn pop_all<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let mut values = [0; 8];
    for (n, value) in (0..).zip(&mut values) {
        *value = p.peek_stack::<W>(n * W::BYTES)?;
    }
    p.drop_stack(8 * W::BYTES);
    for (number, &value) in (0..8).rev().zip(&values) {
        if number != gpr::ESP {
            p.set_register::<W>(number, value);
        }
    }
    Ok(())
}

/// PUSHF
pub(in crate::x86) fn push_flags<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let flags = p.registers.eflags() & !(eflags::RF | eflags::VM);
    p.push::<W>(flags & W::MASK)
}

/// POPF
pub(in crate::x86) fn pop_flags<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let value = p.pop::<W>()?;
    let mask = p.writable_flags() & W::MASK;
    p.registers.set_eflags(value, mask);
    p.flags_changed();
    Ok(())
}

/// LEAVE
#[inline(always)]
pub(in crate::x86) fn leave<W: Width>(p: &mut Processor, _: &Op) -> Done {
    let mask = p.registers.stack_mask();
    let frame = p.registers.gpr[5] & mask;
    let linear = p.linear_read(segment::SS, frame, W::BYTES)?;
    let value = p.load::<W>(linear)?;
    let esp = p.registers.gpr[4];
    p.registers.gpr[4] = esp & !mask | frame.wrapping_add(W::BYTES) & mask;
    p.set_register::<W>(gpr::EBP, value);
    Ok(())
}

/// ENTER: `immediate` bytes of variables, nested `displacement` deep
pub(in crate::x86) fn enter<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let (esp, ebp) = (p.registers.gpr[4], p.registers.gpr[5]);
    let done = enter_frame::<W>(p, op.immediate, op.displacement & 31);
    if done.is_err() {
        (p.registers.gpr[4], p.registers.gpr[5]) = (esp, ebp);
    }
    done
}

fn enter_frame<W: Width>(p: &mut Processor, size: u32, level: u32) -> Done {
    let mask = p.registers.stack_mask();
    p.push::<W>(p.register::<W>(gpr::EBP))?;
    let frame = p.registers.gpr[4];
    for n in 1..level {
        let ebp = p.registers.gpr[5];
        let at = ebp.wrapping_sub(n * W::BYTES) & mask;
        let linear = p.linear_read(segment::SS, at, W::BYTES)?;
        let value = p.load::<W>(linear)?;
        p.push::<W>(value)?;
    }
    if level > 0 {
        p.push::<W>(frame & W::MASK)?;
    }
    let esp = p.registers.gpr[4];
    let new = esp.wrapping_sub(size) & mask;
    // The new top of the stack must be writable.
    let linear = p.linear_write(segment::SS, new, W::BYTES)?;
    p.place(linear, W::BYTES, p.user | 1)?;
    p.set_register::<W>(gpr::EBP, frame);
    p.registers.gpr[4] = esp & !mask | new;
    p.add_cycles(u64::from(4 * level));
    Ok(())
}

/// CLI, STI: `extra` is the opcode
pub(in crate::x86) fn interrupt_flag(p: &mut Processor, op: &Op) -> Done {
    p.io_privileged()?;
    if op.extra == 0xfa {
        p.registers.system &= !eflags::IF;
    } else {
        if p.registers.system & eflags::IF == 0 {
            p.inhibit();
        }
        p.registers.system |= eflags::IF;
        p.flags_changed();
    }
    Ok(())
}

/// CLD, STD
pub(in crate::x86) fn direction_flag(p: &mut Processor, op: &Op) -> Done {
    if op.extra == 0xfc {
        p.registers.system &= !eflags::DF;
    } else {
        p.registers.system |= eflags::DF;
    }
    Ok(())
}

/// SLDT, STR, SMSW to memory; the other forms of a word that the system keeps
pub(in crate::x86) fn system_word<W: Width, D: Target, const MEMORY: bool>(
    p: &mut Processor,
    op: &Op,
) -> Done {
    let value = match op.extra {
        0 => p.registers.ldtr.selector.into(),
        1 => p.registers.tr.selector.into(),
        _ => p.registers.cr0,
    };
    if op.extra < 2 && !p.registers.protected() {
        return Err(Exception::INVALID_OPCODE);
    }
    if MEMORY {
        D::put::<Word>(p, op, value & 0xffff)
    } else {
        D::put::<W>(p, op, value & W::MASK)
    }
}
