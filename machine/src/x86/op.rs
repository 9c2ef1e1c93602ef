//! A decoded instruction.

use super::exception::Exception;
use super::processor::Processor;
use super::registers::gpr;

/// Runs an instruction.
pub type Handler = fn(&mut Processor, &Op) -> Result<(), Exception>;

/// [`Op::scale`]: the address has 16 bits.
pub const NARROW_ADDRESS: u8 = 0x80;

/// [`Op::lines`]: the line of the first byte has not been fetched, and the line of the last one.
pub const FIRST_LINE: u8 = 1;
pub const LAST_LINE: u8 = 2;

/// An instruction.
#[derive(Clone, Copy)]
pub struct Op {
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
    /// Where the next one begins.
    pub next: u16,
    /// What it costs, without stalls.
    pub slots: u16,
    /// The opcode's last byte, or what else the handler needs.
    pub extra: u8,
    /// How many instructions come before it in its block.
    pub number: u8,
    /// The registers that the instruction before wrote: see [`Decoded::writes`](super::decode::Decoded).
    pub after: u8,
    /// The cache lines that are fetched before it runs: [`FIRST_LINE`], [`LAST_LINE`].
    pub lines: u8,
}

impl Op {
    /// An operation without operands.
    #[must_use]
    pub fn new(run: Handler) -> Self {
        Op {
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
            next: 0,
            slots: 0,
            extra: 0,
            number: 0,
            after: 0,
            lines: 0,
        }
    }
}
