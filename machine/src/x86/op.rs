//! A decoded instruction.

use super::chain::Chain;
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

/// The ways to run an operation.
#[derive(Clone, Copy)]
pub struct Ways {
    pub run: Handler,
    pub chain: Chain,
    /// The same for one that neither raises an exception nor takes longer than it says.
    pub plain_chain: Chain,
    /// It is always the last of its block, and ends that.
    pub jumps: bool,
}

/// The chain of an operation and the conditional jump behind it, by the number of the jump's condition.
pub type WithJump = fn(condition: u8) -> Option<Chain>;

/// What an instruction does. A type for each function gives each a chain of its own, with the function in it.
pub trait Operation {
    /// # Errors
    /// The exception that it raises.
    fn run(p: &mut Processor, op: &Op) -> Result<(), Exception>;
}

/// The type of an operation, which is a function.
macro_rules! operation {
    ($($f:tt)*) => {{
        struct Of;
        impl crate::x86::op::Operation for Of {
            #[inline(always)]
            fn run(
                p: &mut crate::x86::processor::Processor,
                op: &crate::x86::op::Op,
            ) -> Result<(), crate::x86::exception::Exception> {
                ($($f)*)(p, op)
            }
        }
        std::marker::PhantomData::<Of>
    }};
}

/// The ways to run an operation.
macro_rules! ways {
    ($($f:tt)*) => {
        crate::x86::chain::ways(crate::x86::op::operation!($($f)*))
    };
}

/// The chains of an operation and a conditional jump behind it; of one whose source is memory, with `AtOnce` for `_`.
macro_rules! joined {
    ($f:ident <$o:ident, $w:ident, _, $b:ident>) => {
        Some(crate::x86::chain::joined(
            crate::x86::op::operation!($f::<$o, $w, AtOnce, $b>),
            crate::x86::op::operation!($f::<$o, $w, Memory, $b>),
        ))
    };
    ($f:ident <$o:ident, $w:ident, $a:ident, _>) => {
        Some(crate::x86::chain::joined(
            crate::x86::op::operation!($f::<$o, $w, $a, AtOnce>),
            crate::x86::op::operation!($f::<$o, $w, $a, Memory>),
        ))
    };
    ($f:ident <$($t:ident),*>) => {
        Some(crate::x86::chain::joined(
            crate::x86::op::operation!($f::<$($t),*>),
            crate::x86::op::operation!($f::<$($t),*>),
        ))
    };
}

/// The chain of an operation whose source is memory.
macro_rules! at_once {
    ($f:ident <$($t:ident),*; $($b:ident),*>) => {
        Some(crate::x86::chain::at_once(
            crate::x86::op::operation!($f::<$($t,)* AtOnce $(, $b)*>),
            crate::x86::op::operation!($f::<$($t,)* Memory $(, $b)*>),
        ))
    };
}

/// The chain of a plain operation whose flags nothing reads.
macro_rules! quiet {
    ($f:ident <$($t:ident),*>) => {
        chain::quiet(crate::x86::op::operation!($f::<$($t),*>))
    };
}

/// The ways to run a jump to a target that the instruction names.
macro_rules! jump {
    ($($f:tt)*) => {
        crate::x86::chain::jump_ways::<_, false>(crate::x86::op::operation!($($f)*))
    };
}

/// The ways to run a jump to a target in a register or in memory.
macro_rules! indirect {
    ($($f:tt)*) => {
        crate::x86::chain::jump_ways::<_, true>(crate::x86::op::operation!($($f)*))
    };
}

pub(in crate::x86) use {at_once, indirect, joined, jump, operation, quiet, ways};

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
