//! Comparisons that run together with a conditional jump behind them.

use super::super::access::{Byte, Double};
use super::super::clocks::Class;
use super::super::execute::arithmetic::{And, Sub, compare, decrement, increment};
use super::super::execute::{Immediate, Memory, Reg, Rm};
use super::super::op::{WithJump, joined};
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
            0x38 | 0x3a if register => joined!(compare::<Sub, Byte, Rm, Reg>),
            0x38 => joined!(compare::<Sub, Byte, Memory, Reg>),
            0x3a => joined!(compare::<Sub, Byte, Rm, Memory>),
            0x3c => joined!(compare::<Sub, Byte, Rm, Immediate>),
            0x80 if group == 7 && register => joined!(compare::<Sub, Byte, Rm, Immediate>),
            0x80 if group == 7 => joined!(compare::<Sub, Byte, Memory, Immediate>),
            0x84 if register => joined!(compare::<And, Byte, Rm, Reg>),
            0xa8 => joined!(compare::<And, Byte, Rm, Immediate>),
            0xf6 if group == 0 && register => joined!(compare::<And, Byte, Rm, Immediate>),
            0xf6 if group == 0 => joined!(compare::<And, Byte, Memory, Immediate>),
            _ if self.narrow => None,
            0x39 | 0x3b if register => joined!(compare::<Sub, Double, Rm, Reg>),
            0x39 => joined!(compare::<Sub, Double, Memory, Reg>),
            0x3b => joined!(compare::<Sub, Double, Rm, Memory>),
            0x3d => joined!(compare::<Sub, Double, Rm, Immediate>),
            0x40..=0x47 => joined!(increment::<Double, Rm>),
            0x48..=0x4f => joined!(decrement::<Double, Rm>),
            0x81 | 0x83 if group == 7 && register => {
                joined!(compare::<Sub, Double, Rm, Immediate>)
            }
            0x81 | 0x83 if group == 7 => joined!(compare::<Sub, Double, Memory, Immediate>),
            0x85 if register => joined!(compare::<And, Double, Rm, Reg>),
            0xa9 => joined!(compare::<And, Double, Rm, Immediate>),
            0xf7 if group == 0 && register => joined!(compare::<And, Double, Rm, Immediate>),
            _ => None,
        }
    }
}
