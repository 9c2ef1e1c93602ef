//! Which instructions of the table each core has.

use super::instruction::{Instruction, Opcode, Operands, decode, uses};
use super::{dispatch, timing};
use crate::config::CoreKind;
use crate::engine::{Decoded, Decoder};
use crate::pipeline::MicroOp;

/// The instructions of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet {
    programmed_as_8xx: bool,
}

impl InstructionSet {
    /// The instructions of a core of this kind.
    #[must_use]
    pub fn of(kind: CoreKind) -> Self {
        InstructionSet {
            programmed_as_8xx: kind.core().programmed_as_8xx,
        }
    }

    /// The 8xx has no floating-point unit, no segment registers and no optional instructions such as external
    /// control (866 UM table 3-3, the same core); it alone has `tlbia` (860 UM 9.10.4).
    fn has(self, opcode: Opcode) -> bool {
        match opcode {
            Opcode::Tlbia => self.programmed_as_8xx,
            Opcode::Mfsr
            | Opcode::Mfsrin
            | Opcode::Mtsr
            | Opcode::Mtsrin
            | Opcode::Tlbld
            | Opcode::Tlbli
            | Opcode::Eciwx
            | Opcode::Ecowx => !self.programmed_as_8xx,
            _ => !self.programmed_as_8xx || opcode.uses() & uses::FLOAT == 0,
        }
    }

    /// As [`decode`]; an instruction that the core lacks is illegal.
    #[must_use]
    pub fn decode(self, word: u32) -> Instruction {
        let instruction = decode(word);
        if self.has(instruction.opcode) {
            return instruction;
        }
        Instruction {
            opcode: Opcode::Illegal,
            ..instruction
        }
    }
}

impl Decoder for InstructionSet {
    type Operands = Operands;

    fn op(self, word: u32, index: usize, words: usize, whole: bool) -> Decoded<Operands> {
        let instruction = self.decode(word);
        let (run, operands) = dispatch::handler(&instruction, index, words, whole);
        let used = instruction.opcode.uses();
        Decoded {
            run,
            operands,
            ends: used & uses::END != 0,
            accesses: used & (uses::LOAD | uses::STORE) != 0,
        }
    }

    fn micro_op(self, word: u32) -> MicroOp {
        timing::micro_op(&self.decode(word))
    }
}
