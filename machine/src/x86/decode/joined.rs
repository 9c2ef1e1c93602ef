//! Fused chains: a comparison with the conditional jump behind it, and an operation that reads memory.

use super::super::access::{Byte, Double, Word};
use super::super::chain::{self, Chain};
use super::super::clocks::Class;
use super::super::execute::arithmetic::{
    Add, And, Or, Sub, Xor, alu, compare, decrement, increment,
};
use super::super::execute::move_data::{extend_sign, extend_zero, mov};
use super::super::execute::{AtOnce, Immediate, Memory, Reg, Rm};
use super::super::op::{WithJump, at_once, joined};
use super::Decoder;

impl Decoder<'_> {
    /// What the instruction that has been decoded and a conditional jump behind it do together; `None`: they run one
    /// after the other.
    pub(super) fn with_jump(&self) -> Option<WithJump> {
        if self.class == Class::Illegal {
            return None;
        }
        let group = self.op.reg;
        let register = self.register_form;
        match self.opcode {
            0x38 | 0x3a if register => joined!(compare<Sub, Byte, Rm, Reg>),
            0x38 => joined!(compare<Sub, Byte, _, Reg>),
            0x3a => joined!(compare<Sub, Byte, Rm, _>),
            0x3c => joined!(compare<Sub, Byte, Rm, Immediate>),
            0x80 if group == 7 && register => joined!(compare<Sub, Byte, Rm, Immediate>),
            0x80 if group == 7 => joined!(compare<Sub, Byte, _, Immediate>),
            0x84 if register => joined!(compare<And, Byte, Rm, Reg>),
            0xa8 => joined!(compare<And, Byte, Rm, Immediate>),
            0xf6 if group == 0 && register => joined!(compare<And, Byte, Rm, Immediate>),
            0xf6 if group == 0 => joined!(compare<And, Byte, _, Immediate>),
            _ if self.narrow => None,
            0x39 | 0x3b if register => joined!(compare<Sub, Double, Rm, Reg>),
            0x39 => joined!(compare<Sub, Double, _, Reg>),
            0x3b => joined!(compare<Sub, Double, Rm, _>),
            0x3d => joined!(compare<Sub, Double, Rm, Immediate>),
            0x40..=0x47 => joined!(increment<Double, Rm>),
            0x48..=0x4f => joined!(decrement<Double, Rm>),
            0x81 | 0x83 if group == 7 && register => joined!(compare<Sub, Double, Rm, Immediate>),
            0x81 | 0x83 if group == 7 => joined!(compare<Sub, Double, _, Immediate>),
            0x85 if register => joined!(compare<And, Double, Rm, Reg>),
            0xa9 => joined!(compare<And, Double, Rm, Immediate>),
            0xf7 if group == 0 && register => joined!(compare<And, Double, Rm, Immediate>),
            _ => None,
        }
    }

    /// The chain of the instruction that has been decoded, if it reads memory and has one for that.
    pub(super) fn at_once(&self) -> Option<Chain> {
        if self.class == Class::Illegal {
            return None;
        }
        match self.opcode {
            0x58..=0x5f if !self.narrow => return Some(chain::pop),
            0xc2 | 0xc3 if !self.narrow => return Some(chain::back),
            _ if self.register_form => return None,
            _ => {}
        }
        let group = self.op.reg;
        match self.opcode {
            0x80 if group == 7 => at_once!(compare<Sub, Byte; Immediate>),
            0x8a => at_once!(mov<Byte, Rm;>),
            _ if self.narrow => None,
            0x03 => at_once!(alu<Add, Double, Rm;>),
            0x0b => at_once!(alu<Or, Double, Rm;>),
            0x0f => match self.op.extra {
                0xb6 => at_once!(extend_zero<Byte, Double;>),
                0xb7 => at_once!(extend_zero<Word, Double;>),
                0xbe => at_once!(extend_sign<Byte, Double;>),
                0xbf => at_once!(extend_sign<Word, Double;>),
                _ => None,
            },
            0x23 => at_once!(alu<And, Double, Rm;>),
            0x2b => at_once!(alu<Sub, Double, Rm;>),
            0x33 => at_once!(alu<Xor, Double, Rm;>),
            0x39 => at_once!(compare<Sub, Double; Reg>),
            0x3b => at_once!(compare<Sub, Double, Rm;>),
            0x81 | 0x83 if group == 7 => at_once!(compare<Sub, Double; Immediate>),
            0x8b => at_once!(mov<Double, Rm;>),
            0xa1 => at_once!(mov<Double, Rm;>),
            0xff if group == 4 => Some(chain::jump_to_memory),
            _ => None,
        }
    }
}
