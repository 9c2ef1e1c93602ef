//! What instructions do: one file for each group of them.

pub mod atomic;
pub mod branch;
pub mod float;
pub mod integer;
pub mod storage;
pub mod system;

use super::op::Op;
use super::processor::Processor;
use super::trap::{Raised, cause};

/// An instruction has run, or has raised an exception, which the processor knows.
pub type Done = Result<(), Raised>;

/// What does an instruction.
pub type Handler = fn(&mut Processor, &Op) -> Done;

/// No instruction, or one that must not run here and now.
pub fn illegal(p: &mut Processor, op: &Op) -> Done {
    p.raise(cause::ILLEGAL, op.word.into())
}
