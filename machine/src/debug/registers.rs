//! Reading and writing the machine's registers as a register file.

use super::arch::{RegisterFile, RegisterId, SYSTEM, System};
use crate::machine::Machine;
use crate::powerpc::{msr, spr};

/// Copies every register out. Nothing changes.
pub(super) fn read(machine: &mut Machine) -> RegisterFile {
    let system = SYSTEM
        .iter()
        .map(|&(_, which)| system(machine, which))
        .collect();
    let registers = &machine.registers;
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
    }
}

/// Writes back what differs from the machine's state.
pub(super) fn write(machine: &mut Machine, file: &RegisterFile) {
    let before = read(machine);
    for ((&(_, which), &value), &old) in SYSTEM.iter().zip(&file.system).zip(&before.system) {
        if value != old {
            set_system(machine, which, value);
        }
    }
    let registers = &mut machine.registers;
    registers.gpr.set_all(&file.gpr);
    registers.fpr = file.fpr;
    registers.cr.set_word(file.cr);
    registers.lr = file.lr;
    registers.ctr = file.ctr;
    registers.xer.set_word(file.xer);
    registers.fpscr = file.fpscr;
    if file.pc != before.pc || file.msr != before.msr {
        registers.pc = file.pc;
        registers.msr = file.msr;
    }
    machine.state_changed();
}

/// A register of one word.
pub(super) fn word(file: &RegisterFile, register: RegisterId) -> u32 {
    match register {
        RegisterId::General(n) => file.gpr[n],
        RegisterId::Float(_) => 0,
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
        RegisterId::Float(_) => return,
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
fn as_supervisor<T>(machine: &mut Machine, action: impl FnOnce(&mut Machine) -> T) -> T {
    let state = machine.registers.msr;
    machine.registers.msr &= !msr::PR;
    let result = action(machine);
    machine.registers.msr = state;
    result
}

fn system(machine: &mut Machine, which: System) -> u32 {
    match which {
        System::Spr(spr::number::TBL_READ) => machine.time_base() as u32,
        System::Spr(spr::number::TBU_READ) => (machine.time_base() >> 32) as u32,
        System::Spr(number) => {
            as_supervisor(machine, |machine| spr::read(machine, number)).unwrap_or(0)
        }
        System::Segment(number) => {
            let front = machine.mmu.front();
            front.map_or(0, |front| front.segments.read(number))
        }
        System::Temporary(n) => machine.registers.temporary[n],
    }
}

fn set_system(machine: &mut Machine, which: System, value: u32) {
    match which {
        System::Spr(number) => {
            let number = match number {
                spr::number::TBL_READ => spr::number::TBL_WRITE,
                spr::number::TBU_READ => spr::number::TBU_WRITE,
                other => other,
            };
            // A register that the core lacks ignores the write.
            let _ = as_supervisor(machine, |machine| spr::write(machine, number, value));
        }
        System::Segment(number) => {
            if let Some(front) = machine.mmu.front_mut() {
                front.segments.write(number, value);
            }
        }
        System::Temporary(n) => machine.registers.temporary[n] = value,
    }
}
