//! Jumps, calls and returns within a segment.

use super::{Done, Source};
use crate::x86::access::{Width, Word};
use crate::x86::clocks;
use crate::x86::config::Kind;
use crate::x86::exception::Exception;
use crate::x86::op::{NARROW_ADDRESS, Op};
use crate::x86::processor::Processor;
use crate::x86::registers::segment;

/// The target of a direct jump. With 16-bit operand size EIP has 16 bits.
#[inline(always)]
pub(in crate::x86) fn direct<W: Width>(p: &Processor, op: &Op) -> u32 {
    p.registers.eip.wrapping_add(op.immediate) & W::MASK
}

impl Processor {
    /// Goes on at `target`.
    #[inline(always)]
    pub(in crate::x86) fn jump(&mut self, target: u32) -> Done {
        if target > self.registers.segment(segment::CS).limit {
            return Err(Exception::GENERAL);
        }
        self.registers.eip = target;
        self.fetched = crate::x86::processor::NOWHERE;
        Ok(())
    }

    /// A conditional jump to `target`. Returns `met`.
    #[inline(always)]
    fn jumps_if(&mut self, op: &Op, met: bool, target: u32) -> Result<bool, Exception> {
        self.branches += 1;
        if self.kind == Kind::P6 {
            self.predict(op, met, target, true);
        }
        if met {
            if self.kind == Kind::I486 {
                self.time += clocks::TAKEN;
            }
            self.jump(target)?;
        }
        Ok(met)
    }

    /// An unconditional jump by a register or memory to `target`.
    #[inline(always)]
    pub(in crate::x86) fn jump_indirect(&mut self, op: &Op, target: u32) -> Done {
        self.branches += 1;
        if self.kind == Kind::P6 {
            self.predict(op, true, target, false);
        }
        self.jump(target)
    }
}

/// Jcc. Returns whether it jumps.
#[inline(always)]
pub(in crate::x86) fn jumps_if<W: Width, const CONDITION: u8>(
    p: &mut Processor,
    op: &Op,
) -> Result<bool, Exception> {
    let met = p.registers.flags.condition(CONDITION);
    let target = direct::<W>(p, op);
    p.jumps_if(op, met, target)
}

/// The same without the answer.
pub(in crate::x86) fn jump_if<W: Width, const CONDITION: u8>(p: &mut Processor, op: &Op) -> Done {
    jumps_if::<W, CONDITION>(p, op).map(|_| ())
}

/// JMP
#[inline(always)]
pub(in crate::x86) fn jump<W: Width>(p: &mut Processor, op: &Op) -> Done {
    p.branches += 1;
    let target = direct::<W>(p, op);
    p.jump(target)
}

/// JMP by register or memory
#[inline(always)]
pub(in crate::x86) fn jump_to<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let target = S::get::<W>(p, op)?;
    p.jump_indirect(op, target)
}

#[inline(always)]
fn call_at<W: Width>(p: &mut Processor, target: u32) -> Done {
    if target > p.registers.segment(segment::CS).limit {
        return Err(Exception::GENERAL);
    }
    let back = p.registers.eip;
    p.push::<W>(back & W::MASK)?;
    p.predictor.returns.call(back.into());
    p.jump(target)
}

/// CALL
#[inline(always)]
pub(in crate::x86) fn call<W: Width>(p: &mut Processor, op: &Op) -> Done {
    p.branches += 1;
    let target = direct::<W>(p, op);
    call_at::<W>(p, target)
}

/// CALL by register or memory
#[inline(always)]
pub(in crate::x86) fn call_to<W: Width, S: Source>(p: &mut Processor, op: &Op) -> Done {
    let target = S::get::<W>(p, op)?;
    call_at::<W>(p, target)?;
    p.branches += 1;
    if p.kind == Kind::P6 {
        p.predict(op, true, target, false);
    }
    Ok(())
}

/// RET, which takes `immediate` bytes of operands from the stack
#[inline(always)]
pub(in crate::x86) fn back<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let target = p.peek_stack::<W>(0)?;
    back_to::<W>(p, op, target)
}

/// The same with the target that is at the top of the stack.
#[inline(always)]
pub(in crate::x86) fn back_to<W: Width>(p: &mut Processor, op: &Op, target: u32) -> Done {
    p.jump(target)?;
    p.drop_stack(W::BYTES.wrapping_add(op.immediate));
    p.branches += 1;
    if p.kind == Kind::P6 {
        p.predict_return(target);
    }
    Ok(())
}

/// LOOP, LOOPE, LOOPNE and JCXZ: `extra` is the opcode
pub(in crate::x86) fn count<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let mask = if op.scale & NARROW_ADDRESS != 0 {
        0xffff
    } else {
        u32::MAX
    };
    let ecx = p.registers.gpr[1];
    let target = direct::<W>(p, op);
    if op.extra == 0xe3 {
        return p.jumps_if(op, ecx & mask == 0, target).map(|_| ());
    }
    let left = ecx.wrapping_sub(1) & mask;
    let zero = p.registers.flags.zero();
    let met = left != 0
        && match op.extra {
            0xe0 => !zero,
            0xe1 => zero,
            _ => true,
        };
    p.registers.gpr[1] = ecx & !mask | left;
    let done = p.jumps_if(op, met, target).map(|_| ());
    if done.is_err() {
        p.registers.gpr[1] = ecx;
    }
    done
}

/// INT n, INT3, INTO: `extra` is the opcode, `immediate` the vector
pub(in crate::x86) fn interrupt(p: &mut Processor, op: &Op) -> Done {
    if op.extra == 0xce && !p.registers.flags.overflow() {
        return Ok(());
    }
    p.software_interrupt(op.immediate as u8)
}

/// IRET
pub(in crate::x86) fn interrupt_return<W: Width>(p: &mut Processor, _: &Op) -> Done {
    p.interrupt_return::<W>()
}

/// JMP and CALL with a segment in the instruction
pub(in crate::x86) fn far<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let selector = op.displacement as u16;
    if op.extra == 0x9a {
        p.far_call::<W>(selector, op.immediate)
    } else {
        p.far_jump(selector, op.immediate)
    }
}

/// JMP and CALL with a segment and an offset in memory
pub(in crate::x86) fn far_memory<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let offset = p.offset(op);
    let linear = p.linear_read(op.segment, offset, W::BYTES + 2)?;
    let target = p.load::<W>(linear)?;
    let selector = p.load::<Word>(linear.wrapping_add(W::BYTES))? as u16;
    if op.reg == 3 {
        p.far_call::<W>(selector, target)
    } else {
        p.far_jump(selector, target)
    }
}

/// RETF
pub(in crate::x86) fn far_back<W: Width>(p: &mut Processor, op: &Op) -> Done {
    p.far_return::<W>(op.immediate)
}

/// BOUND
pub(in crate::x86) fn bound<W: Width>(p: &mut Processor, op: &Op) -> Done {
    let offset = p.offset(op);
    let linear = p.linear_read(op.segment, offset, 2 * W::BYTES)?;
    let low = super::sign_extended::<W>(p.load::<W>(linear)?).cast_signed();
    let high = super::sign_extended::<W>(p.load::<W>(linear.wrapping_add(W::BYTES))?).cast_signed();
    let index = super::sign_extended::<W>(p.register::<W>(op.reg)).cast_signed();
    if index < low || index > high {
        return Err(Exception::BOUND);
    }
    Ok(())
}
