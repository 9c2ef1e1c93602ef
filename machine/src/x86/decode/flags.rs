//! What becomes of the flags of arithmetic. Where two plain instructions follow each other in a chain, nothing can come
//! between them. So an instruction whose flags another one replaces, before anything can read them, need not make them.

use super::super::access::Double;
use super::super::chain::{self, Chain};
use super::super::clocks::Class;
use super::super::execute::arithmetic::{
    Add, And, Or, Sub, Xor, alu, decrement, increment, negate,
};
use super::super::execute::shift::{ByImmediate, Rol, Ror, Sar, Shl, Shr, shift};
use super::super::execute::{Immediate, Reg, Rm};
use super::super::op::quiet;
use super::Decoder;

/// What a plain instruction does with the flags of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagsUse {
    /// Neither reads nor changes any.
    Leaves,
    /// Gives all of them anew, and reads none.
    Replaces,
    /// Anything else, or the instruction is not plain.
    Other,
}

impl Decoder<'_> {
    /// Of the plain instruction that has been decoded.
    pub(super) fn flags_use(&self) -> FlagsUse {
        const CARRY: [u8; 2] = [2, 3];
        let group = self.op.reg;
        let replaces = match self.opcode {
            0x00..=0x3f if self.opcode & 7 <= 5 => !CARRY.contains(&(self.opcode >> 3)),
            0x80..=0x83 => !CARRY.contains(&group),
            0x84 | 0x85 | 0xa8 | 0xa9 => true,
            // A count of zero leaves the flags.
            0xc0 | 0xc1 | 0xd0 | 0xd1 => group >= 4 && self.op.immediate & 31 != 0,
            0xf6 | 0xf7 => [0, 1, 3].contains(&group),
            _ => false,
        };
        match self.class {
            _ if replaces => FlagsUse::Replaces,
            Class::Move | Class::Lea | Class::LeaIndex | Class::Extend | Class::Nop => {
                FlagsUse::Leaves
            }
            _ => FlagsUse::Other,
        }
    }

    /// The chain of the plain instruction that has been decoded, if it makes no flags. It works on 32 bits.
    pub(super) fn quiet(&self) -> Option<Chain> {
        if self.narrow {
            return None;
        }
        let group = self.op.reg;
        Some(match self.opcode {
            0x01 | 0x03 => quiet!(alu<Add, Double, Rm, Reg>),
            0x09 | 0x0b => quiet!(alu<Or, Double, Rm, Reg>),
            0x21 | 0x23 => quiet!(alu<And, Double, Rm, Reg>),
            0x29 | 0x2b => quiet!(alu<Sub, Double, Rm, Reg>),
            0x31 | 0x33 => quiet!(alu<Xor, Double, Rm, Reg>),
            0x05 => quiet!(alu<Add, Double, Rm, Immediate>),
            0x0d => quiet!(alu<Or, Double, Rm, Immediate>),
            0x25 => quiet!(alu<And, Double, Rm, Immediate>),
            0x2d => quiet!(alu<Sub, Double, Rm, Immediate>),
            0x35 => quiet!(alu<Xor, Double, Rm, Immediate>),
            0x81 | 0x83 => match group {
                0 => quiet!(alu<Add, Double, Rm, Immediate>),
                1 => quiet!(alu<Or, Double, Rm, Immediate>),
                4 => quiet!(alu<And, Double, Rm, Immediate>),
                5 => quiet!(alu<Sub, Double, Rm, Immediate>),
                6 => quiet!(alu<Xor, Double, Rm, Immediate>),
                _ => return None,
            },
            0x40..=0x47 => quiet!(increment<Double, Rm>),
            0x48..=0x4f => quiet!(decrement<Double, Rm>),
            0xc1 | 0xd1 => match group {
                0 => quiet!(shift<Rol, Double, Rm, ByImmediate>),
                1 => quiet!(shift<Ror, Double, Rm, ByImmediate>),
                4 | 6 => quiet!(shift<Shl, Double, Rm, ByImmediate>),
                5 => quiet!(shift<Shr, Double, Rm, ByImmediate>),
                7 => quiet!(shift<Sar, Double, Rm, ByImmediate>),
                _ => return None,
            },
            0xf7 if group == 3 => quiet!(negate<Double, Rm>),
            _ => return None,
        })
    }
}
