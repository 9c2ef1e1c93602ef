//! What the instructions do, one file for each group.
//!
//! A handler runs one decoded instruction. An instruction that raises an exception leaves registers and memory as they
//! were, except where the manual says otherwise, so that it can run again.

pub(super) mod arithmetic;
pub(super) mod bits;
pub(super) mod branch;
pub(super) mod decimal;
pub(super) mod float;
pub(super) mod move_data;
pub(super) mod multiply;
pub(super) mod shift;
pub(super) mod stack;
pub(super) mod string;
pub(super) mod system;

use super::access::Width;
use super::exception::Exception;
use super::op::{NARROW_ADDRESS, Op};
use super::processor::Processor;

/// What a handler returns.
pub(super) type Done = Result<(), Exception>;

/// An operand that is read.
pub(super) trait Source {
    fn get<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception>;
}

/// An operand that is written.
pub(super) trait Target: Source {
    fn put<W: Width>(p: &mut Processor, op: &Op, value: u32) -> Done;

    /// Reads it and writes what `change` makes of that. A write that would fault does so before `change` is called.
    fn change<W: Width>(
        p: &mut Processor,
        op: &Op,
        change: impl FnOnce(&mut Processor, u32) -> u32,
    ) -> Done;
}

/// The register that ModRM's r/m names.
pub(super) struct Rm;
/// The register that ModRM's reg names.
pub(super) struct Reg;
/// The memory that ModRM names.
pub(super) struct Memory;
/// The same, if reading it changes nothing but the count of accesses. Otherwise it answers with an exception that no
/// program sees, and has done nothing.
pub(super) struct AtOnce;
/// The immediate operand.
pub(super) struct Immediate;

impl Processor {
    /// A register of the width `W`: of a byte AL, CL, DL, BL, AH, CH, DH, BH.
    #[inline(always)]
    pub(super) fn register<W: Width>(&self, number: u8) -> u32 {
        if W::BYTES == 1 {
            self.registers.gpr[usize::from(number & 3)] >> ((number & 4) << 1) & 0xff
        } else {
            self.registers.gpr[usize::from(number & 7)] & W::MASK
        }
    }

    /// Writes such a register; the rest of the whole one stays.
    #[inline(always)]
    pub(super) fn set_register<W: Width>(&mut self, number: u8, value: u32) {
        if W::BYTES == 4 {
            self.registers.gpr[usize::from(number & 7)] = value;
        } else if W::BYTES == 2 {
            let whole = &mut self.registers.gpr[usize::from(number & 7)];
            *whole = *whole & 0xffff_0000 | value & 0xffff;
        } else {
            let shift = (number & 4) << 1;
            let whole = &mut self.registers.gpr[usize::from(number & 3)];
            *whole = *whole & !(0xff << shift) | (value & 0xff) << shift;
        }
    }
}

impl Source for Rm {
    #[inline(always)]
    fn get<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
        Ok(p.register::<W>(op.rm))
    }
}

impl Target for Rm {
    #[inline(always)]
    fn put<W: Width>(p: &mut Processor, op: &Op, value: u32) -> Done {
        p.set_register::<W>(op.rm, value);
        Ok(())
    }

    #[inline(always)]
    fn change<W: Width>(
        p: &mut Processor,
        op: &Op,
        change: impl FnOnce(&mut Processor, u32) -> u32,
    ) -> Done {
        let old = p.register::<W>(op.rm);
        let new = change(p, old);
        p.set_register::<W>(op.rm, new);
        Ok(())
    }
}

impl Source for Reg {
    #[inline(always)]
    fn get<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
        Ok(p.register::<W>(op.reg))
    }
}

impl Source for Immediate {
    #[inline(always)]
    fn get<W: Width>(_: &mut Processor, op: &Op) -> Result<u32, Exception> {
        Ok(op.immediate & W::MASK)
    }
}

impl Source for Memory {
    #[inline(always)]
    fn get<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
        let offset = p.offset(op);
        let linear = p.linear_read(op.segment, offset, W::BYTES)?;
        p.load::<W>(linear)
    }
}

impl Source for AtOnce {
    #[inline(always)]
    fn get<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
        if op.scale & NARROW_ADDRESS != 0 {
            return Err(Exception::RESTART);
        }
        let offset = p.wide_offset(op);
        (p.load_at_once::<W>(op.segment, offset)).ok_or(Exception::RESTART)
    }
}

impl Target for Memory {
    #[inline(always)]
    fn put<W: Width>(p: &mut Processor, op: &Op, value: u32) -> Done {
        let offset = p.offset(op);
        let linear = p.linear_write(op.segment, offset, W::BYTES)?;
        p.store::<W>(linear, value)
    }

    #[inline(always)]
    fn change<W: Width>(
        p: &mut Processor,
        op: &Op,
        change: impl FnOnce(&mut Processor, u32) -> u32,
    ) -> Done {
        let offset = p.offset(op);
        let linear = p.linear_write(op.segment, offset, W::BYTES)?;
        let place = p.place_to_modify::<W>(linear)?;
        let old = p.load_at(place, W::BYTES);
        let new = change(p, old);
        p.store_at(place, W::BYTES, new);
        Ok(())
    }
}

/// The value with its sign extended to 32 bits.
#[inline(always)]
pub(super) fn sign_extended<W: Width>(value: u32) -> u32 {
    let shift = 32 - W::BITS;
    ((value << shift).cast_signed() >> shift).cast_unsigned()
}
