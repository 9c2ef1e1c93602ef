//! Floating point: IEEE 754 arithmetic with the FPSCR's bits exactly as the architecture gives them
//! (PEM chapter 3 and section 4.2.2).

pub mod arithmetic;
pub mod convert;
pub mod estimate;
pub mod format;
pub mod round;
pub mod status;

use super::exception::{Exception, float_available, program};
use super::instruction::Operands;
use super::registers::{Registers, msr};
use status::fpscr;

/// Runs a floating-point instruction: checks MSR[FP], records CR1 with `RC`, and raises the program
/// exception for what FPSCR enables while MSR[FE0,FE1] is not zero.
#[inline(always)]
pub fn instruction<const RC: bool>(
    r: &mut Registers,
    i: &Operands,
    f: impl FnOnce(&mut Registers, &Operands),
) -> Result<(), Exception> {
    float_available(r)?;
    f(r, i);
    if RC {
        r.cr.set_field(1, (r.fpscr >> 28) as u8);
    }
    if r.fpscr & fpscr::FEX != 0 && r.msr & (msr::FE0 | msr::FE1) != 0 {
        return Err(Exception::Program {
            srr1: program::FLOAT,
        });
    }
    Ok(())
}
