//! The engine's interface to an instruction set. Nothing else in this folder depends on one.

use super::Handler;
use crate::pipeline::MicroOp;
use crate::powerpc::mmu::Fault;
use crate::powerpc::processor::Processor;

/// Decodes code.
pub trait Decoder: Copy {
    /// The operands that a handler gets.
    type Operands: Copy + Default;

    /// The op that runs the instruction `word`, which stands at `index` in a line of `words`. `whole`: the line is
    /// complete, so that branches may stay in it.
    fn op(self, word: u32, index: usize, words: usize, whole: bool) -> Decoded<Self::Operands>;

    /// What the pipeline sees of the instruction `word`.
    fn micro_op(self, word: u32) -> MicroOp;
}

/// A decoded instruction.
pub struct Decoded<Operands> {
    pub run: Handler,
    pub operands: Operands,
    /// It ends a block: a jump, or a change that the next instruction must see.
    pub ends: bool,
    /// It makes a data access.
    pub accesses: bool,
}

/// The part of a processor that an architecture defines. The architecture's folder implements this for [`Processor`].
pub trait Architecture {
    /// Decodes its instructions.
    type Decoder: Decoder;

    /// Its exceptions and interrupts.
    type Exception;

    /// Address of the next instruction, while none is running.
    fn pc(&self) -> u32;

    /// The next instruction is at `ea`.
    fn set_pc(&mut self, ea: u32);

    /// The processor's mode, as the MMU needs it.
    fn mode(&self) -> u32;

    /// The exception that a failed translation of `ea` raises.
    fn fault(&mut self, fault: Fault, ea: u32) -> Self::Exception;

    /// True if software has set a breakpoint on an instruction in the block of `mask` + 1 bytes around `ea`.
    fn breaks_in(&self, ea: u32, mask: u32) -> bool;

    /// The exception that a breakpoint raises for the instruction at `ea`.
    fn check_fetch(&self, ea: u32) -> Result<(), Self::Exception>;

    /// The exception that a breakpoint raises for a data access at `ea`.
    fn check_access(&self, ea: u32, store: bool) -> Result<(), Self::Exception>;

    /// How the next instruction is traced, for [`Architecture::trace_of`]; 0 if it is not.
    fn traced(&self) -> u32;

    /// The trace exception after the instruction `word` at `ea`, which has run, if there is one.
    fn trace_of(&self, ea: u32, word: u32, traced: u32) -> Option<Self::Exception>;
}

/// Of the processor's architecture.
pub(super) type Set = <Processor as Architecture>::Decoder;
pub(super) type Operands = <Set as Decoder>::Operands;
pub(super) type Exception = <Processor as Architecture>::Exception;
