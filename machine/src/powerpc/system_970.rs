//! Privileged instructions and traps of the 970 (PowerPC Architecture books I and III, version 2.01; Linux 2.6
//! asm-ppc64/mmu.h for the SLB's words).

use super::exception::{self, Exception, privileged};
use super::registers::{Wide, msr};
use super::system::{self, Continues, broadcast, return_by, segment_field, trap};
use super::{Operands, spr_970};
use crate::memory::Transaction;
use crate::powerpc::mmu::{Hash64, Invalidation, Reaches, segment};
use crate::powerpc::processor::Processor;

type Outcome = Result<Continues, Exception>;

fn trap_doubleword(to: u8, left: u64, right: u64) -> Result<(), Exception> {
    trap(to, (left.cast_signed(), right.cast_signed()), (left, right))
}

#[inline(always)]
pub fn tdi(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let immediate = i.imm.cast_signed() as u64;
    trap_doubleword(i.t.number(), m.registers.gpr.whole(i.a), immediate)
}

#[inline(always)]
pub fn td(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let r = &m.registers.gpr;
    trap_doubleword(i.t.number(), r.whole(i.a), r.whole(i.b))
}

pub fn rfid(m: &mut Processor, _: &Operands) -> Outcome {
    return_by(m, exception::leave_970)
}

pub fn mfmsr(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    privileged(&m.registers)?;
    let r = &mut m.registers;
    let value = u64::from(r.wide.msr()) << 32 | u64::from(r.msr);
    r.gpr.set_whole(i.t, value);
    Ok(())
}

/// L, bit 15: only EE and RI change.
const ONLY_EE_AND_RI: u32 = 0x1_0000;

/// Sets the lower half of the MSR, and SF if `mode` says so.
fn write_msr(m: &mut Processor, i: &Operands, mode: Option<bool>) -> Outcome {
    privileged(&m.registers)?;
    let value = m.registers.gpr.get(i.t);
    m.settle();
    let old = m.registers.msr;
    if i.imm & ONLY_EE_AND_RI != 0 {
        let both = msr::EE | msr::RI;
        exception::set_msr(&mut m.registers, old & !both | value & both);
        return Ok(m.mode_changed(Continues::Next));
    }
    let value = value & !msr::POW | m.power_bit(value);
    exception::set_msr(&mut m.registers, value);
    if let Some(mode) = mode {
        m.registers.wide.mode = mode;
        if !mode {
            m.registers.wide.pc = 0;
        }
    }
    Ok(m.mode_changed(Continues::Next))
}

pub fn mtmsr(m: &mut Processor, i: &Operands) -> Outcome {
    write_msr(m, i, None)
}

pub fn mtmsrd(m: &mut Processor, i: &Operands) -> Outcome {
    let high = (m.registers.gpr.whole(i.t) >> 32) as u32;
    write_msr(m, i, Some(high & Wide::SF != 0))
}

pub fn mfspr(m: &mut Processor, i: &Operands) -> Outcome {
    let value = spr_970::read(m, i.spr())?;
    m.registers.gpr.set_whole(i.t, value);
    Ok(Continues::Next)
}

pub fn mtspr(m: &mut Processor, i: &Operands) -> Outcome {
    let value = m.registers.gpr.whole(i.t);
    spr_970::write(m, i.spr(), value)?;
    Ok(Continues::Next)
}

/// Of the lower half it reads all 64 bits.
pub fn mftb(m: &mut Processor, i: &Operands) -> Outcome {
    use super::spr::number::{TBL_READ, TBU_READ};
    match i.spr() {
        TBL_READ | TBU_READ => mfspr(m, i),
        _ => system::illegal(m, i),
    }
}

/// L of `sync`, bits 9 and 10: 1 is `lwsync`, 2 is `ptesync`.
pub fn sync(m: &mut Processor, i: &Operands) -> Outcome {
    const LIGHT: u32 = 1;
    if i.imm >> 21 & 3 != LIGHT {
        broadcast(m, Transaction::Sync);
    }
    Ok(Continues::Next)
}

/// Does `f` to the MMU, in supervisor state.
fn change(m: &mut Processor, f: impl FnOnce(&mut Hash64) -> Reaches) -> Outcome {
    privileged(&m.registers)?;
    if let Some(unit) = m.mmu.hash64_mut() {
        let reaches = f(unit);
        m.forget(reaches);
    }
    Ok(Continues::Next)
}

fn invalidate(m: &mut Processor, i: &Operands) -> Outcome {
    const LARGE: u32 = 0x20_0000;
    privileged(&m.registers)?;
    let ea = m.registers.gpr.get(i.b);
    let what = if i.imm & LARGE != 0 {
        Invalidation::Large(ea)
    } else {
        Invalidation::Address(ea)
    };
    let reaches = m.mmu.invalidate(what, &mut m.account);
    m.forget(reaches);
    Ok(Continues::Next)
}

/// This processor only.
pub fn tlbiel(m: &mut Processor, i: &Operands) -> Outcome {
    invalidate(m, i)
}

pub fn tlbie(m: &mut Processor, i: &Operands) -> Outcome {
    let flow = invalidate(m, i)?;
    broadcast(m, Transaction::TlbInvalidate);
    Ok(flow)
}

pub fn slbmte(m: &mut Processor, i: &Operands) -> Outcome {
    let (vsid, esid) = (m.registers.gpr.whole(i.t), m.registers.gpr.whole(i.b));
    change(m, |unit| {
        unit.write_slb(esid, vsid);
        Reaches::NOTHING
    })
}

pub fn slbie(m: &mut Processor, i: &Operands) -> Outcome {
    let esid = m.registers.gpr.whole(i.b);
    change(m, |unit| unit.invalidate_segment(esid))
}

pub fn slbia(m: &mut Processor, _: &Operands) -> Outcome {
    change(m, Hash64::invalidate_segments)
}

/// Reads a word of the entry that rB names.
fn read_slb(m: &mut Processor, i: &Operands, read: fn(&Hash64, u64) -> u64) -> Outcome {
    privileged(&m.registers)?;
    let number = m.registers.gpr.whole(i.b);
    let value = m.mmu.hash64().map_or(0, |unit| read(unit, number));
    m.registers.gpr.set_whole(i.t, value);
    Ok(Continues::Next)
}

pub fn slbmfev(m: &mut Processor, i: &Operands) -> Outcome {
    read_slb(m, i, Hash64::read_vsid)
}

pub fn slbmfee(m: &mut Processor, i: &Operands) -> Outcome {
    read_slb(m, i, Hash64::read_esid)
}

fn read_segment(m: &mut Processor, i: &Operands, number: u32) -> Result<(), Exception> {
    privileged(&m.registers)?;
    let value = m.mmu.hash64().map_or(0, |unit| unit.read_segment(number));
    m.registers.gpr.set(i.t, value);
    Ok(())
}

pub fn mfsr(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    read_segment(m, i, segment_field(i))
}

pub fn mfsrin(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let number = m.registers.gpr.get(i.b) >> 28;
    read_segment(m, i, number)
}

fn write_segment(m: &mut Processor, i: &Operands, number: u32) -> Outcome {
    let value = m.registers.gpr.get(i.t);
    let flow = change(m, |unit| {
        unit.write_segment(number, value);
        Reaches::NOTHING
    })?;
    if number == 0 {
        m.note_space(value & segment::VSID);
    }
    Ok(flow)
}

pub fn mtsr(m: &mut Processor, i: &Operands) -> Outcome {
    write_segment(m, i, segment_field(i))
}

pub fn mtsrin(m: &mut Processor, i: &Operands) -> Outcome {
    let number = m.registers.gpr.get(i.b) >> 28;
    write_segment(m, i, number)
}

impl Processor {
    /// The upper half of the program counter becomes `far`. Fetch shortcuts hold for one value of it.
    pub(crate) fn go_to(&mut self, far: u32) {
        self.registers.wide.pc = far;
        let changed = (self.mmu.hash64_mut()).is_some_and(|unit| unit.set_window(true, far));
        if changed {
            self.drop_fetch_shortcuts();
        }
    }
}
