//! Reading and writing the processor's registers as a register file.

use super::arch::{RegisterFile, RegisterId, SYSTEM, System, WHOLE, Whole};
use crate::powerpc::processor::Processor;
use crate::powerpc::registers::Register;
use crate::powerpc::word::Word as _;
use crate::powerpc::{msr, spr, spr_970};

/// Copies every register out. Nothing changes.
pub(super) fn read(processor: &mut Processor) -> RegisterFile {
    let system = SYSTEM
        .iter()
        .map(|&(_, which)| system(processor, which))
        .collect();
    let whole = WHOLE
        .iter()
        .map(|&(_, which)| whole(processor, which))
        .collect();
    let registers = &processor.registers;
    RegisterFile {
        gpr: registers.gpr.all(),
        fpr: registers.fpr,
        pc: registers.pc,
        msr: registers.msr,
        cr: registers.cr.word(),
        lr: registers.lr,
        ctr: registers.ctr,
        xer: registers.xer.word(),
        fpscr: registers.fpscr,
        system,
        whole,
    }
}

/// Writes back the registers that differ from the processor's.
pub(super) fn write(processor: &mut Processor, file: &RegisterFile) {
    let before = read(processor);
    for ((&(_, which), &value), &old) in SYSTEM.iter().zip(&file.system).zip(&before.system) {
        if value != old {
            set_system(processor, which, value);
        }
    }
    let registers = &mut processor.registers;
    // The upper half of a register stays, unless the lower one is changed.
    for (n, (&value, &old)) in (0..).zip(file.gpr.iter().zip(&before.gpr)) {
        if value != old {
            registers.gpr.set(Register::new(n), value);
        }
    }
    if file.lr != before.lr {
        registers.lr = file.lr;
        registers.wide.lr = 0;
    }
    if file.ctr != before.ctr {
        registers.ctr = file.ctr;
        registers.wide.ctr = 0;
    }
    for ((&(_, which), &value), &old) in WHOLE.iter().zip(&file.whole).zip(&before.whole) {
        if value != old {
            set_whole(processor, which, value);
        }
    }
    let registers = &mut processor.registers;
    registers.fpr = file.fpr;
    registers.cr.set_word(file.cr);
    registers.xer.set_word(file.xer);
    registers.fpscr = file.fpscr;
    if file.pc != before.pc || file.msr != before.msr {
        registers.pc = file.pc;
        registers.msr = file.msr;
    }
    processor.state_changed();
}

/// A register of one word.
pub(super) fn word(file: &RegisterFile, register: RegisterId) -> u32 {
    match register {
        RegisterId::General(n) => file.gpr[n],
        RegisterId::Float(_) | RegisterId::Whole(_) => 0,
        RegisterId::Pc => file.pc,
        RegisterId::Msr => file.msr,
        RegisterId::Cr => file.cr,
        RegisterId::Lr => file.lr,
        RegisterId::Ctr => file.ctr,
        RegisterId::Xer => file.xer,
        RegisterId::Fpscr => file.fpscr,
        RegisterId::System(n) => file.system[n],
    }
}

pub(super) fn set_word(file: &mut RegisterFile, register: RegisterId, value: u32) {
    let place = match register {
        RegisterId::General(n) => &mut file.gpr[n],
        RegisterId::Float(_) | RegisterId::Whole(_) => return,
        RegisterId::Pc => &mut file.pc,
        RegisterId::Msr => &mut file.msr,
        RegisterId::Cr => &mut file.cr,
        RegisterId::Lr => &mut file.lr,
        RegisterId::Ctr => &mut file.ctr,
        RegisterId::Xer => &mut file.xer,
        RegisterId::Fpscr => &mut file.fpscr,
        RegisterId::System(n) => &mut file.system[n],
    };
    *place = value;
}

/// Special-purpose registers are read as the supervisor reads them, whatever mode the guest is in.
fn as_supervisor<T>(processor: &mut Processor, action: impl FnOnce(&mut Processor) -> T) -> T {
    let state = processor.registers.msr;
    processor.registers.msr &= !msr::PR;
    let result = action(processor);
    processor.registers.msr = state;
    result
}

/// A 405 and the other cores have different registers under the same numbers, but for these.
fn on_all_cores(number: u32) -> bool {
    use spr::number as n;
    matches!(
        number,
        n::SRR0 | n::SRR1 | n::SPRG0..=n::SPRG3 | n::TBL_READ | n::TBU_READ | n::PVR
    )
}

/// Does the core lack the register?
fn is_missing(processor: &Processor, which: System) -> bool {
    let is_405 = processor.registers.embedded.is_some();
    match which {
        System::Spr(number) => is_405 && !on_all_cores(number),
        System::Spr405(_) => !is_405,
        System::Segment(_) | System::Temporary(_) => false,
    }
}

fn system(processor: &mut Processor, which: System) -> u32 {
    if is_missing(processor, which) {
        return 0;
    }
    match which {
        System::Spr(spr::number::TBL_READ) => processor.time_base() as u32,
        System::Spr(spr::number::TBU_READ) => (processor.time_base() >> 32) as u32,
        System::Spr(number) | System::Spr405(number) => {
            let read = |processor: &mut Processor| {
                if processor.registers.wide.there {
                    spr_970::read(processor, number).map(|value| value as u32)
                } else {
                    spr::read(processor, number)
                }
            };
            as_supervisor(processor, read).unwrap_or(0)
        }
        System::Segment(number) => {
            let mmu = &processor.mmu;
            let front = mmu.front().map(|front| front.segments.read(number));
            let slb = mmu.hash64().map(|unit| unit.read_segment(number));
            front.or(slb).unwrap_or(0)
        }
        System::Temporary(n) => processor.registers.temporary[n],
    }
}

/// A register of 64 bits; those of other cores have a clear upper half.
fn whole(processor: &mut Processor, which: Whole) -> u64 {
    let registers = &processor.registers;
    match which {
        Whole::General(n) => registers.gpr.whole(Register::new(n)),
        Whole::Link => u64::link(registers),
        Whole::Count => u64::count(registers),
        Whole::State => u64::from(registers.wide.msr()) << 32 | u64::from(registers.msr),
        Whole::Spr(number) if registers.wide.there => as_supervisor(processor, |processor| {
            spr_970::read(processor, number).unwrap_or(0)
        }),
        Whole::Spr(_) => 0,
    }
}

fn set_whole(processor: &mut Processor, which: Whole, value: u64) {
    if !processor.registers.wide.there {
        return;
    }
    let registers = &mut processor.registers;
    match which {
        Whole::General(n) => registers.gpr.set_whole(Register::new(n), value),
        Whole::Link => u64::set_link(registers, value),
        Whole::Count => u64::set_count(registers, value),
        Whole::State => {}
        Whole::Spr(number) => {
            // All of these can be written.
            let _ = as_supervisor(processor, |processor| {
                spr_970::write(processor, number, value)
            });
        }
    }
}

fn set_system(processor: &mut Processor, which: System, value: u32) {
    if is_missing(processor, which) {
        return;
    }
    match which {
        System::Spr(number) | System::Spr405(number) => {
            let number = match number {
                spr::number::TBL_READ => spr::number::TBL_WRITE,
                spr::number::TBU_READ => spr::number::TBU_WRITE,
                other => other,
            };
            // A register that the core lacks ignores the write.
            let write = |processor: &mut Processor| {
                if processor.registers.wide.there {
                    spr_970::write(processor, number, value.into())
                } else {
                    spr::write(processor, number, value)
                }
            };
            let _ = as_supervisor(processor, write);
        }
        System::Segment(number) => {
            if let Some(front) = processor.mmu.front_mut() {
                front.segments.write(number, value);
            }
            if let Some(unit) = processor.mmu.hash64_mut() {
                unit.write_segment(number, value);
            }
        }
        System::Temporary(n) => processor.registers.temporary[n] = value,
    }
}
