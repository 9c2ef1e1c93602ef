//! Instructions of the floating-point unit, which is in `x87`.

use super::Done;
use crate::x86::access::{Byte, Double, Word};
use crate::x86::config::Kind;
use crate::x86::exception::Exception;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::{cr0, eflags, segment};
use crate::x86::x87::{Host, Pointers};

/// The processor and the instruction, as the unit sees them.
struct View<'a> {
    p: &'a mut Processor,
    op: &'a Op,
    /// Offset of the memory operand.
    offset: u32,
}

impl Host for View<'_> {
    fn load(&mut self, offset: u32, bytes: u32) -> Result<u64, Exception> {
        let (p, at) = (&mut *self.p, self.offset.wrapping_add(offset));
        let linear = p.linear_read(self.op.segment, at, bytes)?;
        Ok(match bytes {
            1 => p.load::<Byte>(linear)?.into(),
            2 => p.load::<Word>(linear)?.into(),
            4 => p.load::<Double>(linear)?.into(),
            _ => {
                let low = p.load::<Double>(linear)?;
                let high = p.load::<Double>(linear.wrapping_add(4))?;
                u64::from(high) << 32 | u64::from(low)
            }
        })
    }

    fn store(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        let (p, at) = (&mut *self.p, self.offset.wrapping_add(offset));
        let linear = p.linear_write(self.op.segment, at, bytes)?;
        let low = value as u32;
        match bytes {
            1 => p.store::<Byte>(linear, low & 0xff),
            2 => p.store::<Word>(linear, low & 0xffff),
            4 => p.store::<Double>(linear, low),
            _ => {
                self.check_store(offset, 8)?;
                let p = &mut *self.p;
                p.store::<Double>(linear, low)?;
                p.store::<Double>(linear.wrapping_add(4), (value >> 32) as u32)
            }
        }
    }

    fn check_store(&mut self, offset: u32, bytes: u32) -> Result<(), Exception> {
        let (p, at) = (&mut *self.p, self.offset.wrapping_add(offset));
        let linear = p.linear_write(self.op.segment, at, bytes)?;
        let second = linear.wrapping_add(bytes - 1) & !0xfff;
        if second != linear & !0xfff {
            p.place(linear, 1, p.user | 1)?;
            p.place(second, 1, p.user | 1)?;
        }
        Ok(())
    }

    fn set_ax(&mut self, value: u16) {
        self.p.set_register::<Word>(0, value.into());
    }

    fn eflags(&self) -> u32 {
        self.p.registers.eflags()
    }

    fn set_eflags(&mut self, flags: u32) {
        const SET: u32 = eflags::ZF | eflags::PF | eflags::CF;
        self.p.registers.set_eflags(flags & SET, eflags::STATUS);
    }

    fn kind(&self) -> Kind {
        self.p.kind
    }

    fn pointers(&self) -> Pointers {
        let registers = &self.p.registers;
        Pointers {
            cs: registers.segment(segment::CS).selector,
            eip: self.p.block_eip.wrapping_add(self.op.at.into()),
            ds: registers.segment(self.op.segment).selector,
            offset: self.offset,
        }
    }

    fn narrow(&self) -> bool {
        self.op.reg != 0
    }
}

/// An escape instruction: `extra` is the opcode, `immediate` the ModRM byte
pub(in crate::x86) fn escape(p: &mut Processor, op: &Op) -> Done {
    if p.registers.cr0 & (cr0::EM | cr0::TS) != 0 {
        return Err(Exception::NO_FLOAT);
    }
    let offset = p.offset(op);
    let Some(mut fpu) = p.fpu.take() else {
        return Err(Exception::NO_FLOAT);
    };
    let mut view = View {
        p: &mut *p,
        op,
        offset,
    };
    let done = fpu.execute(op.extra, op.immediate as u8, &mut view);
    p.fpu = Some(fpu);
    p.time += u64::from(done?);
    Ok(())
}

/// FWAIT
pub(in crate::x86) fn wait(p: &mut Processor, _: &Op) -> Done {
    const BOTH: u32 = cr0::MP | cr0::TS;
    if p.registers.cr0 & BOTH == BOTH {
        return Err(Exception::NO_FLOAT);
    }
    match &mut p.fpu {
        Some(fpu) => fpu.wait(),
        None => Ok(()),
    }
}
