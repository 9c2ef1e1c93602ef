//! The way into the exceptions of a 405, and out of its critical ones.

use super::{Exception, Vector, program, set_msr};
use crate::powerpc::registers::{Registers, msr};
use crate::powerpc::spr_405;

/// MSR bits that an exception leaves as they are; a critical one clears CE and DE (PPC405 UM 5.2).
const KEPT: u32 = msr::CE | msr::ME | msr::DE;

/// ESR bits of a program exception (Linux asm/reg_booke.h).
mod esr {
    pub const ILLEGAL: u32 = 0x0800_0000;
    pub const PRIVILEGED: u32 = 0x0400_0000;
    pub const TRAP: u32 = 0x0200_0000;
}

/// As [`super::enter`]: critical exceptions save in SRR2 and SRR3, causes are in ESR, and EVPR has the upper half of
/// the vectors.
pub(super) fn enter(r: &mut Registers, exception: Exception) {
    let (pc, state) = (r.pc, r.msr);
    let Some(own) = &mut r.embedded else { return };
    match exception {
        Exception::Refused { address, esr } | Exception::DataMiss { address, esr } => {
            own.dear = address;
            own.esr = esr;
        }
        Exception::Alignment { address } => own.dear = address,
        Exception::FetchRefused { esr } => own.esr = esr,
        Exception::Program { srr1 } => {
            own.esr = match srr1 {
                program::PRIVILEGED => esr::PRIVILEGED,
                program::TRAP => esr::TRAP,
                _ => esr::ILLEGAL,
            };
        }
        Exception::Completed => *spr_405::debug_status(own) |= spr_405::COMPLETED,
        _ => {}
    }
    let mut kept = KEPT;
    let critical = matches!(
        exception,
        Exception::CriticalInput
            | Exception::Watchdog
            | Exception::Completed
            | Exception::MachineCheck { .. }
    );
    let handler = own.evpr & 0xffff_0000 | exception.vector().offset();
    if critical {
        own.srr2 = pc;
        own.srr3 = state;
        kept &= !(msr::CE | msr::DE);
        if exception.vector() == Vector::MachineCheck {
            kept &= !msr::ME;
        }
    } else {
        r.srr0 = pc;
        r.srr1 = state;
    }
    set_msr(r, state & kept);
    r.pc = handler;
}

/// `rfci`: returns to SRR2 with the MSR of SRR3.
pub fn leave_critical(r: &mut Registers) {
    if let Some((pc, state)) = r.embedded.as_ref().map(|own| (own.srr2, own.srr3)) {
        set_msr(r, state);
        r.pc = pc & !3;
    }
}
