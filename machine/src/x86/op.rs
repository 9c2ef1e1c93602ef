//! A decoded instruction.

use super::chain::{self, Chain};
use super::exception::Exception;
use super::processor::Processor;
use super::registers::gpr;

/// Runs an instruction.
pub type Handler = fn(&mut Processor, &Op) -> Result<(), Exception>;

/// [`Op::scale`]: the address has 16 bits.
pub const NARROW_ADDRESS: u8 = 0x80;

/// [`Op::length`] of what is no instruction: a fetch of the line that the next instruction needs, the end of a block,
/// its head.
pub const FETCH: u8 = 0x10;
pub const END: u8 = 0x20;
pub const HEAD: u8 = 0x30;

/// An instruction, or one of the other parts of a block (see [`super::blocks`]).
#[derive(Clone, Copy)]
pub struct Op {
    /// Runs it and those that follow it.
    pub chain: Chain,
    /// Runs it alone.
    pub run: Handler,
    /// The immediate operand. Of a direct jump: how far it goes from the end of the instruction.
    pub immediate: u32,
    /// Of an address.
    pub displacement: u32,
    /// Registers of the address.
    pub base: u8,
    pub index: u8,
    /// Shift of the index, and [`NARROW_ADDRESS`].
    pub scale: u8,
    /// Segment register of the address.
    pub segment: u8,
    /// The register that ModRM's r/m names, if it names one.
    pub rm: u8,
    /// ModRM's reg: a register, or a part of the opcode.
    pub reg: u8,
    /// Where it begins, in bytes from the block's beginning.
    pub at: u16,
    /// What it costs, without stalls.
    pub slots: u16,
    /// The costs of its block up to here, its own included.
    pub issued: u16,
    /// Its bytes, or [`FETCH`], [`END`], [`HEAD`].
    pub length: u8,
    /// The opcode's last byte, or what else the handler needs.
    pub extra: u8,
    /// How many instructions come before it in its block.
    pub number: u8,
    /// The registers that the instruction before wrote: see [`Decoded::writes`](super::decode::Decoded).
    pub after: u8,
}

const _: () = assert!(size_of::<Op>() == 40);

/// The two ways to run an operation.
#[derive(Clone, Copy)]
pub struct Ways {
    pub run: Handler,
    pub chain: Chain,
    /// The same for one that neither raises an exception nor takes longer than it says.
    pub plain_chain: Chain,
}

/// What can be an instruction's operation.
pub trait Operation {
    fn ways(self) -> Ways;
}

impl Operation for Ways {
    fn ways(self) -> Ways {
        self
    }
}

impl<F: Fn(&mut Processor, &Op) -> Result<(), Exception> + Copy> Operation for F {
    fn ways(self) -> Ways {
        chain::ways(self)
    }
}

/// The ways to run a jump, which is the last operation of its block.
pub fn jump<F: Fn(&mut Processor, &Op) -> Result<(), Exception> + Copy>(operation: F) -> Ways {
    chain::jump_ways(operation)
}

/// The ways to run `operation`.
pub fn ways(operation: impl Operation) -> Ways {
    operation.ways()
}

impl Op {
    /// An operation without operands.
    #[must_use]
    pub const fn new(run: Handler, chain: Chain) -> Self {
        Op {
            chain,
            run,
            immediate: 0,
            displacement: 0,
            base: gpr::NONE,
            index: gpr::NONE,
            scale: 0,
            segment: 0,
            rm: 0,
            reg: 0,
            at: 0,
            slots: 0,
            issued: 0,
            length: 0,
            extra: 0,
            number: 0,
            after: 0,
        }
    }
}
