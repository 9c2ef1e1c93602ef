//! Which instructions of the table each core has.

use super::instruction::{Instruction, Opcode, Operands, decode, uses};
use super::{dispatch, timing};
use crate::config::{CoreKind, Family};
use crate::pipeline::MicroOp;
use crate::powerpc::engine::Handler;

/// The instructions of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet {
    family: Family,
}

impl InstructionSet {
    /// The instructions of a core of this kind.
    #[must_use]
    pub fn of(kind: CoreKind) -> Self {
        InstructionSet {
            family: kind.core().family,
        }
    }

    /// 8xx and 405 have no floating-point unit, no segment registers and no optional instructions such as external
    /// control (866 UM table 3-3, the same core as the 860; PPC405 UM chapter 9); they alone have `tlbia` (860 UM
    /// 9.10.4), and the 8xx has a `tlbie`.
    fn has(self, opcode: Opcode) -> bool {
        if self.family == Family::Ppc970 {
            return Self::of_970(opcode);
        }
        let classic = self.family == Family::Classic;
        match opcode {
            Opcode::Tlbia => !classic,
            Opcode::Tlbie => self.family != Family::Ppc405,
            Opcode::Mfsr
            | Opcode::Mfsrin
            | Opcode::Mtsr
            | Opcode::Mtsrin
            | Opcode::Tlbld
            | Opcode::Tlbli
            | Opcode::Eciwx
            | Opcode::Ecowx => classic,
            _ if only_405(opcode) => self.family == Family::Ppc405,
            _ if only_970(opcode) => false,
            _ => classic || opcode.uses() & uses::FLOAT == 0,
        }
    }

    /// The 970 has the bridge to segment registers. In place of `rfi` it has `rfid`; `tlbia`, `dcbi` and external
    /// control it lacks (PEM 64-bit, appendix F; recalled for the 970).
    fn of_970(opcode: Opcode) -> bool {
        match opcode {
            Opcode::Mfsr | Opcode::Mfsrin | Opcode::Mtsr | Opcode::Mtsrin => true,
            Opcode::Rfi
            | Opcode::Tlbia
            | Opcode::Dcbi
            | Opcode::Tlbld
            | Opcode::Tlbli
            | Opcode::Eciwx
            | Opcode::Ecowx => false,
            _ => !only_405(opcode),
        }
    }

    /// As [`decode`]; an instruction that the core lacks is illegal.
    #[must_use]
    pub fn decode(self, word: u32) -> Instruction {
        let mut instruction = decode(word);
        if instruction.opcode == Opcode::Tlbld && self.family == Family::Ppc405 {
            instruction.opcode = Opcode::Tlbwe;
        }
        if self.has(instruction.opcode) {
            return instruction;
        }
        Instruction {
            opcode: Opcode::Illegal,
            ..instruction
        }
    }
}

/// Only the 405 has it.
fn only_405(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Rfci
            | Opcode::Wrtee
            | Opcode::Wrteei
            | Opcode::Mfdcr
            | Opcode::Mtdcr
            | Opcode::Icbt
            | Opcode::Dcba
            | Opcode::Iccci
            | Opcode::Dccci
            | Opcode::Icread
            | Opcode::Dcread
            | Opcode::Tlbre
            | Opcode::Tlbsx
            | Opcode::Tlbwe
            | Opcode::Mac
            | Opcode::Mulhalf
            | Opcode::Dlmzb
    )
}

/// Only the 970 has it: in the table such instructions stand together.
fn only_970(opcode: Opcode) -> bool {
    (Opcode::Mulld as u16..=Opcode::Fsqrts as u16).contains(&(opcode as u16))
}

/// A decoded instruction.
pub(crate) struct Decoded {
    pub run: Handler,
    pub operands: Operands,
    /// It ends a block: a jump, or a change that the next instruction must see.
    pub ends: bool,
    /// It makes a data access.
    pub accesses: bool,
}

impl InstructionSet {
    /// The op that runs the instruction `word`, which stands at `index` in a line of `words`. `whole`: the line is
    /// complete, so that branches may stay in it.
    pub(crate) fn op(self, word: u32, index: usize, words: usize, whole: bool) -> Decoded {
        let instruction = self.decode(word);
        let handler = if self.family == Family::Ppc970 {
            dispatch::handler::<u64>
        } else {
            dispatch::handler::<u32>
        };
        let (code, operands) = handler(&instruction, index, words, whole);
        let used = instruction.opcode.uses();
        Decoded {
            run: code.run,
            operands,
            ends: used & uses::END != 0,
            accesses: used & (uses::LOAD | uses::STORE) != 0,
        }
    }

    /// What the pipeline sees of the instruction `word`.
    pub(crate) fn micro_op(self, word: u32) -> MicroOp {
        timing::micro_op(&self.decode(word))
    }
}
