//! Traps, system call, and privileged instructions (PEM 4.4).

use super::exception::{self, Exception, privileged, program};
use super::load_store::indexed;
use super::registers::{Registers, msr};
use super::word::Word;
use super::{Operands, load_store, spr};
use crate::memory::{Notice, Transaction};
use crate::powerpc::mmu::{Invalidation, Reaches, segment};
use crate::powerpc::processor::Processor;

/// Where execution continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continues {
    /// At the next instruction, which is fetched after the change takes effect.
    Next,
    /// At the program counter.
    Jump,
    /// Nowhere: the machine has stopped.
    Stop,
}

type Outcome = Result<Continues, Exception>;

/// TO bits (PEM table F-3): less, greater, equal, logically less, logically greater.
pub(super) fn trap<S: Ord, U: Ord>(
    to: u8,
    (signed_left, signed_right): (S, S),
    (left, right): (U, U),
) -> Result<(), Exception> {
    let trapped = to & 16 != 0 && signed_left < signed_right
        || to & 8 != 0 && signed_left > signed_right
        || to & 4 != 0 && left == right
        || to & 2 != 0 && left < right
        || to & 1 != 0 && left > right;
    if trapped {
        Err(Exception::Program {
            srr1: program::TRAP,
        })
    } else {
        Ok(())
    }
}

fn trap_word(to: u8, left: u32, right: u32) -> Result<(), Exception> {
    trap(to, (left.cast_signed(), right.cast_signed()), (left, right))
}

#[inline(always)]
pub fn twi(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    trap_word(i.t.number(), m.registers.gpr.get(i.a), i.imm)
}

#[inline(always)]
pub fn tw(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let (left, right) = (m.registers.gpr.get(i.a), m.registers.gpr.get(i.b));
    trap_word(i.t.number(), left, right)
}

/// The exception for an instruction or register that the core lacks (8xx: 860 UM 7.1.3.1).
pub fn not_implemented(m: &Processor) -> Exception {
    if m.config.core.kind.core().is_8xx() {
        Exception::SoftwareEmulation
    } else {
        Exception::Program {
            srr1: program::ILLEGAL,
        }
    }
}

pub fn illegal(m: &mut Processor, _: &Operands) -> Outcome {
    Err(not_implemented(m))
}

pub fn sc(_: &mut Processor, _: &Operands) -> Outcome {
    Err(Exception::SystemCall)
}

pub fn rfi(m: &mut Processor, _: &Operands) -> Outcome {
    return_by(m, exception::leave)
}

pub(super) fn return_by(m: &mut Processor, leave: fn(&mut Registers)) -> Outcome {
    privileged(&m.registers)?;
    m.synchronize_shadows();
    // The cycles of `rfi` are charged to the handler.
    let cycles = u64::from(m.config.exception.leave);
    m.add_cycles(cycles);
    m.close_watch();
    m.settle();
    leave(&mut m.registers);
    m.note_return();
    m.note_program();
    m.begin_watch();
    m.predictor.context_changed();
    Ok(m.mode_changed(Continues::Jump))
}

pub fn mfmsr(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    privileged(&m.registers)?;
    let value = m.registers.msr;
    m.registers.gpr.set(i.t, value);
    Ok(())
}

/// Setting MSR[POW] ends the block, because the next instruction waits for an interrupt.
pub fn mtmsr(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let value = m.registers.gpr.get(i.t);
    m.settle();
    let value = value & !msr::POW | m.power_bit(value);
    exception::set_msr(&mut m.registers, value);
    Ok(m.mode_changed(Continues::Next))
}

pub fn mfspr(m: &mut Processor, i: &Operands) -> Outcome {
    let value = spr::read(m, i.spr())?;
    m.registers.gpr.set(i.t, value);
    Ok(Continues::Next)
}

pub fn mtspr(m: &mut Processor, i: &Operands) -> Outcome {
    let value = m.registers.gpr.get(i.t);
    spr::write(m, i.spr(), value)?;
    Ok(Continues::Next)
}

pub fn mftb(m: &mut Processor, i: &Operands) -> Outcome {
    match i.spr() {
        spr::number::TBL_READ | spr::number::TBU_READ => mfspr(m, i),
        _ => illegal(m, i),
    }
}

/// SR is bits 12-15.
pub(super) fn segment_field(i: &Operands) -> u32 {
    i.imm >> 16 & 15
}

fn read_segment(m: &mut Processor, i: &Operands, number: u32) -> Result<(), Exception> {
    let front = m.mmu.front().ok_or_else(|| not_implemented(m))?;
    let value = front.segments.read(number);
    m.registers.gpr.set(i.t, value);
    Ok(())
}

pub fn mfsr(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    privileged(&m.registers)?;
    read_segment(m, i, segment_field(i))
}

pub fn mfsrin(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    privileged(&m.registers)?;
    let number = m.registers.gpr.get(i.b) >> 28;
    read_segment(m, i, number)
}

fn write_segment(m: &mut Processor, number: u32, value: u32) -> Outcome {
    privileged(&m.registers)?;
    let absent = not_implemented(m);
    let front = m.mmu.front_mut().ok_or(absent)?;
    front.segments.write(number, value);
    m.forget(Reaches::EVERYTHING);
    if number == 0 {
        m.note_space(value & segment::VSID);
    }
    Ok(Continues::Next)
}

pub fn mtsr(m: &mut Processor, i: &Operands) -> Outcome {
    let value = m.registers.gpr.get(i.t);
    write_segment(m, segment_field(i), value)
}

pub fn mtsrin(m: &mut Processor, i: &Operands) -> Outcome {
    let value = m.registers.gpr.get(i.t);
    let number = m.registers.gpr.get(i.b) >> 28;
    write_segment(m, number, value)
}

pub fn isync(m: &mut Processor, _: &Operands) -> Outcome {
    m.synchronize_shadows();
    Ok(Continues::Next)
}

/// Tells the other devices on the bus, if the core does that.
pub(super) fn broadcast(m: &mut Processor, transaction: Transaction) {
    let now = m.cycles();
    let stall = m.memory.broadcast(transaction, now, &mut m.account);
    m.add_cycles(stall);
}

/// Waits for all transfers on the bus.
pub fn sync(m: &mut Processor, _: &Operands) -> Outcome {
    broadcast(m, Transaction::Sync);
    Ok(Continues::Next)
}

#[inline(always)]
pub fn eieio(m: &mut Processor, _: &Operands) -> Result<(), Exception> {
    broadcast(m, Transaction::OrderedAccess);
    Ok(())
}

pub fn icbi<W: Word>(m: &mut Processor, i: &Operands) -> Outcome {
    load_store::icbi::<W, _>(m, i)?;
    if m.several {
        m.end_turn();
    }
    m.predictor.context_changed();
    Ok(Continues::Next)
}

fn invalidate(m: &mut Processor, what: Invalidation) -> Outcome {
    privileged(&m.registers)?;
    let reaches = m.mmu.invalidate(what, &mut m.account);
    m.forget(reaches);
    m.note_invalidation(match what {
        Invalidation::Address(ea) | Invalidation::Large(ea) => Some(ea),
        Invalidation::All => None,
    });
    if let Some(recorder) = &mut m.observers.recorder {
        match what {
            Invalidation::Address(ea) | Invalidation::Large(ea) => recorder.invalidates(ea),
            Invalidation::All => recorder.flushes(false),
        }
    }
    Ok(Continues::Next)
}

pub fn tlbie(m: &mut Processor, i: &Operands) -> Outcome {
    let ea = m.registers.gpr.get(i.b);
    let flow = invalidate(m, Invalidation::Address(ea))?;
    broadcast(m, Transaction::TlbInvalidate);
    if m.several && m.memory.broadcasts(Transaction::TlbInvalidate) {
        let cause = m.account.cause;
        m.memory.notify(Notice::Translation(ea, cause));
        m.end_turn();
    }
    Ok(flow)
}

/// Only 8xx and 405 have it.
pub fn tlbia(m: &mut Processor, _: &Operands) -> Outcome {
    invalidate(m, Invalidation::All)
}

pub fn tlbsync(m: &mut Processor, _: &Operands) -> Outcome {
    privileged(&m.registers)?;
    broadcast(m, Transaction::TlbSync);
    Ok(Continues::Next)
}

/// Only the 603 has tlbld and tlbli.
fn load_entry(m: &mut Processor, i: &Operands, fetch: bool) -> Outcome {
    if m.mmu.soft6xx().is_none() {
        return Err(not_implemented(m));
    }
    privileged(&m.registers)?;
    let (ea, srr1) = (m.registers.gpr.get(i.b), m.registers.srr1);
    if let Some(unit) = m.mmu.soft6xx_mut() {
        let reaches = unit.load(ea, srr1, fetch, &mut m.account);
        m.note_load();
        m.observers
            .tlb(&mut m.account.tlb, m.hot.line, m.hot.cycles);
        m.heed_listener();
        m.forget(reaches);
    }
    Ok(Continues::Next)
}

pub fn tlbld(m: &mut Processor, i: &Operands) -> Outcome {
    load_entry(m, i, false)
}

pub fn tlbli(m: &mut Processor, i: &Operands) -> Outcome {
    load_entry(m, i, true)
}

/// External control needs EAR[E]; no device here answers to it.
fn external_control(m: &mut Processor, i: &Operands, store: u32) -> Result<u32, Exception> {
    let ea = indexed::<u32, _>(m, i);
    if m.registers.ear & 0x8000_0000 == 0 {
        return Err(Exception::DataStorage {
            address: ea,
            dsisr: 0x0010_0000 | store,
        });
    }
    if ea & 3 != 0 {
        return Err(Exception::Alignment { address: ea });
    }
    Ok(ea)
}

pub fn eciwx(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let ea = external_control(m, i, 0)?;
    let physical = m.translate_data(ea, crate::powerpc::mmu::Access::Load)?.pa;
    Err(Exception::MachineCheck { physical })
}

pub fn ecowx(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let ea = external_control(m, i, crate::powerpc::mmu::fault::bits::STORE)?;
    let physical = m.translate_data(ea, crate::powerpc::mmu::Access::Store)?.pa;
    Err(Exception::MachineCheck { physical })
}
