//! Privileged instructions that only the 405 has, and those of its caches (PPC405 UM chapter 9).
//!
//! `icread` and `dcread` read tags only, whatever CCR0 asks for: ICDBDR and rT get the line's address with a bit that
//! says whether it is valid. Their way is that of CCR0\[CWS\].

use super::core::{CacheOperation, Core as _};
use super::exception::{self, Exception, privileged};
use super::load_store::indexed;
use super::registers::{Registers, condition, msr};
use super::system::{Continues, return_by};
use super::{Operands, spr_405};
use crate::powerpc::mmu::Access;
use crate::powerpc::processor::Processor;

type Outcome = Result<Continues, Exception>;

pub fn rfci(m: &mut Processor, _: &Operands) -> Outcome {
    return_by(m, exception::leave_critical)
}

/// Sets MSR\[EE\] from the same bit of `value`.
fn enable(m: &mut Processor, value: u32) -> Outcome {
    privileged(&m.registers)?;
    let state = m.registers.msr & !msr::EE | value & msr::EE;
    m.settle();
    exception::set_msr(&mut m.registers, state);
    Ok(m.mode_changed(Continues::Next))
}

pub fn wrtee(m: &mut Processor, i: &Operands) -> Outcome {
    let value = m.registers.gpr.get(i.t);
    enable(m, value)
}

pub fn wrteei(m: &mut Processor, i: &Operands) -> Outcome {
    enable(m, i.imm)
}

/// The number of a device control register, its halves swapped as in `mfspr`.
pub fn mfdcr(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let value = m.memory.uncore.board.read_control_register(i.spr());
    m.registers.gpr.set(i.t, value);
    m.look_at_board();
    Ok(Continues::Next)
}

pub fn mtdcr(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let value = m.registers.gpr.get(i.t);
    let board = &mut m.memory.uncore.board;
    board.write_control_register(i.spr(), value);
    m.look_at_board();
    Ok(Continues::Next)
}

/// A hint, which nothing here follows.
pub fn icbt(m: &mut Processor, _: &Operands) -> Result<(), Exception> {
    m.hot.accesses += 1;
    Ok(())
}

/// As `dcbz`, but nothing where the line may not be allocated.
pub fn dcba(m: &mut Processor, i: &Operands) -> Result<(), Exception> {
    let ea = indexed::<u32, _>(m, i);
    match m.cache_operation(CacheOperation::Zero, ea) {
        Err(
            Exception::Alignment { .. } | Exception::Refused { .. } | Exception::DataMiss { .. },
        )
        | Ok(()) => Ok(()),
        Err(other) => Err(other),
    }
}

/// The whole I-cache becomes invalid (PPC405 UM: `iccci` ignores its operands).
pub fn iccci(m: &mut Processor, _: &Operands) -> Outcome {
    privileged(&m.registers)?;
    m.memory.instruction.invalidate_all();
    m.drop_shortcuts();
    m.predictor.context_changed();
    Ok(Continues::Next)
}

/// The set of the D-cache that the address selects becomes invalid; modified lines are not written.
pub fn dccci(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let ea = indexed::<u32, _>(m, i);
    let physical = m.translate_data(ea, Access::Store)?.pa;
    m.memory.forget_touches();
    m.memory.data.invalidate_set(physical);
    Ok(Continues::Next)
}

/// The tag of the line in the set of `ea`.
fn tag(m: &Processor, instruction: bool, ea: u32) -> u32 {
    const WAY: u32 = 1;
    const VALID: u32 = 0x200;
    let cache = if instruction {
        &m.memory.instruction
    } else {
        &m.memory.data
    };
    let geometry = cache.geometry();
    let set = ea / geometry.line % geometry.sets();
    let way = spr_405::cache_control(&m.registers) & WAY;
    let mut lines = cache.lines();
    lines
        .find(|&(in_set, in_way, ..)| (in_set, u32::from(in_way)) == (set, way))
        .map_or(0, |(_, _, at, _)| {
            let physical = if instruction {
                m.memory.places.physical(at)
            } else {
                at
            };
            physical & 0xffff_fc00 | VALID
        })
}

pub fn icread(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let ea = indexed::<u32, _>(m, i);
    let value = tag(m, true, ea);
    if let Some(own) = &mut m.registers.embedded {
        own.icdbdr = value;
    }
    Ok(Continues::Next)
}

pub fn dcread(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let ea = indexed::<u32, _>(m, i);
    let value = tag(m, false, ea);
    m.registers.gpr.set(i.t, value);
    Ok(Continues::Next)
}

/// The WS field: 0 for TLBHI, 1 for TLBLO.
fn low_word(i: &Operands) -> bool {
    i.b.number() & 1 != 0
}

pub fn tlbre(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let number = m.registers.gpr.get(i.a);
    if let Some(unit) = m.mmu.ppc405_mut() {
        let value = if low_word(i) {
            unit.read_low(number)
        } else {
            unit.read_high(number)
        };
        m.registers.gpr.set(i.t, value);
    }
    Ok(Continues::Next)
}

pub fn tlbwe(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let (number, value) = (m.registers.gpr.get(i.a), m.registers.gpr.get(i.t));
    if !low_word(i) {
        m.note_overwritten(number, value);
    }
    if let Some(unit) = m.mmu.ppc405_mut() {
        if low_word(i) {
            unit.write_low(number, value);
        } else {
            unit.write_high(number, value, &mut m.account);
            m.note_load();
            m.observers
                .tlb(&mut m.account.tlb, m.hot.line, m.hot.cycles);
            m.heed_listener();
        }
    }
    Ok(Continues::Next)
}

/// rT is not changed if no entry matches (recalled: its value is undefined then).
pub fn tlbsx<const RC: bool>(m: &mut Processor, i: &Operands) -> Outcome {
    privileged(&m.registers)?;
    let ea = indexed::<u32, _>(m, i);
    let found = m.mmu.ppc405().and_then(|unit| unit.search(ea));
    if let Some(number) = found {
        m.registers.gpr.set(i.t, number);
    }
    if RC {
        record(&mut m.registers, found.is_some());
    }
    Ok(Continues::Next)
}

fn record(r: &mut Registers, found: bool) {
    let equal = if found { condition::EQ } else { 0 };
    let field = equal | u8::from(r.xer.so);
    r.cr.set_field(0, field);
}
