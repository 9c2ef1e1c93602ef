//! Which instructions have templates: what compiled code does for an instruction, instead of a call of its function.

use super::emit::{Binary, Unary};
use crate::x86::decode::Form;
use crate::x86::op::{NARROW_ADDRESS, Op};
use crate::x86::registers::segment;

/// Where an operand is that can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Register(u8),
    /// Where the op's address leads to.
    Memory,
}

/// An operand that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Register(u8),
    Memory,
    Number(u32),
}

/// How far to shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Number(u32),
    /// The register CL.
    Count,
}

/// What an instruction does. Registers are general ones, of 32 bits unless there are `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// An operation, a comparison or a move.
    Binary {
        op: Binary,
        bytes: u32,
        to: Place,
        with: Source,
    },
    Unary {
        op: Unary,
        bytes: u32,
        to: Place,
    },
    /// LEA
    Address {
        to: u8,
    },
    /// MOVZX, MOVSX
    Extend {
        signed: bool,
        bytes: u32,
        to: u8,
        from: Place,
    },
    /// `number` as in opcodes.
    Shift {
        number: u8,
        to: u8,
        by: By,
    },
    /// IMUL: the register becomes the product of both.
    Multiply {
        to: u8,
        from: Place,
        with: Source,
    },
    /// MUL, IMUL: EDX and EAX become the product of EAX and the operand.
    MultiplyLong {
        signed: bool,
        from: Place,
    },
    Push {
        from: Source,
    },
    Pop {
        to: u8,
    },
    Leave,
    /// SETcc
    Set {
        condition: u8,
        to: Place,
    },
    Exchange {
        one: u8,
        other: u8,
    },
    /// CWDE
    ExtendWord,
    /// CDQ
    ExtendDouble,
    SwapBytes {
        to: u8,
    },
    Nothing,
    JumpIf {
        condition: u8,
    },
    Jump,
    Call,
    JumpTo {
        from: Place,
    },
    CallTo {
        from: Place,
    },
    /// RET
    Back,
}

/// What becomes of the flags of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Nothing,
    /// Some of them, or all only if a count is not zero.
    Some,
    All,
}

impl Template {
    /// Does it read flags, even if nothing reads those that it gives?
    pub fn reads_flags(&self) -> bool {
        match self {
            Template::Binary { op, .. } => op.reads_carry(),
            Template::Set { .. } | Template::JumpIf { .. } => true,
            _ => false,
        }
    }

    pub fn gives_flags(&self) -> Gives {
        match self {
            Template::Binary { op, .. } if *op != Binary::Move => Gives::All,
            Template::Unary { op, .. } if *op == Unary::Negate => Gives::All,
            // They leave CF.
            Template::Unary { op, .. } if *op != Unary::Not => Gives::Some,
            Template::Multiply { .. } | Template::MultiplyLong { .. } => Gives::All,
            Template::Shift { number, by, .. } => match by {
                By::Number(0) => Gives::Nothing,
                By::Number(_) if number & 7 >= 4 => Gives::All,
                _ => Gives::Some,
            },
            _ => Gives::Nothing,
        }
    }

    /// Can compiled code be left by it, or does it call functions that may see the flags?
    pub fn may_leave(&self) -> bool {
        match self {
            Template::Binary { to, with, .. } => *to == Place::Memory || *with == Source::Memory,
            Template::Unary { to, .. } | Template::Set { to, .. } => *to == Place::Memory,
            Template::Extend { from, .. } => *from == Place::Memory,
            Template::Multiply { .. }
            | Template::MultiplyLong { .. }
            | Template::Push { .. }
            | Template::Pop { .. }
            | Template::Leave => true,
            _ => self.ends(),
        }
    }

    /// It is a jump.
    pub fn ends(&self) -> bool {
        matches!(
            self,
            Template::JumpIf { .. }
                | Template::Jump
                | Template::Call
                | Template::JumpTo { .. }
                | Template::CallTo { .. }
                | Template::Back
        )
    }
}

/// The register with this number of so many bytes, if it is the lower part of a general one.
fn register(number: u8, bytes: u32) -> Option<u8> {
    (bytes > 1 || number < 4).then_some(number & 7)
}

/// Can templates find the memory of this op?
fn reaches(op: &Op) -> bool {
    op.scale & NARROW_ADDRESS == 0 && matches!(op.segment, segment::ES | segment::SS | segment::DS)
}

/// The template of an instruction, if it has one.
pub fn of(op: &Op, form: &Form) -> Option<Template> {
    let opcode = form.opcode?;
    // The size of operands by the lowest bit of the opcode.
    let bytes = match (opcode & 1, form.narrow) {
        (0, _) => 1,
        (_, true) => 2,
        _ => 4,
    };
    let rm = || {
        if form.register {
            register(op.rm, bytes).map(Place::Register)
        } else {
            reaches(op).then_some(Place::Memory)
        }
    };
    let reg = || register(op.reg, bytes).map(Source::Register);
    // Where handlers take r/m for the destination, and reg or memory for the source.
    let to_rm = || register(op.rm, bytes).map(Place::Register);
    let source = || {
        if form.register {
            reg()
        } else {
            reaches(op).then_some(Source::Memory)
        }
    };
    let number = Source::Number(op.immediate);
    let wide = || (!form.narrow).then_some(());
    let binary = |op: Binary, to: Place, with: Source| Template::Binary {
        op,
        bytes,
        to,
        with,
    };
    Some(match opcode {
        0x00..=0x3f if opcode & 7 < 6 => {
            let what = Binary::numbered((opcode >> 3) as u8);
            match opcode & 7 {
                0 | 1 => binary(what, rm()?, reg()?),
                2 | 3 => binary(what, to_rm()?, source()?),
                _ => binary(what, to_rm()?, number),
            }
        }
        0x40..=0x4f => {
            wide()?;
            let op_ = if opcode < 0x48 {
                Unary::Increment
            } else {
                Unary::Decrement
            };
            Template::Unary {
                op: op_,
                bytes: 4,
                to: Place::Register(op.rm),
            }
        }
        0x50..=0x57 => {
            wide()?;
            Template::Push {
                from: Source::Register(op.rm),
            }
        }
        0x58..=0x5f => {
            wide()?;
            Template::Pop { to: op.rm }
        }
        0x68 | 0x6a => {
            wide()?;
            Template::Push { from: number }
        }
        0x69 | 0x6b | 0x0faf => {
            wide()?;
            let from = if form.register {
                Place::Register(op.rm)
            } else {
                reaches(op).then_some(Place::Memory)?
            };
            let with = if opcode == 0x0faf {
                Source::Register(op.reg)
            } else {
                number
            };
            Template::Multiply {
                to: op.reg,
                from,
                with,
            }
        }
        0x70..=0x7f | 0x0f80..=0x0f8f => {
            wide()?;
            Template::JumpIf {
                condition: (opcode & 15) as u8,
            }
        }
        0x80..=0x83 => binary(Binary::numbered(op.reg), rm()?, number),
        0x84 | 0x85 => binary(Binary::Test, rm()?, reg()?),
        0x87 if form.register => {
            wide()?;
            Template::Exchange {
                one: op.rm,
                other: op.reg,
            }
        }
        0x88 | 0x89 => binary(Binary::Move, rm()?, reg()?),
        0x8a | 0x8b => binary(Binary::Move, to_rm()?, source()?),
        0x8d => {
            wide()?;
            (op.scale & NARROW_ADDRESS == 0).then_some(Template::Address { to: op.reg })?
        }
        0x90 => Template::Nothing,
        0x91..=0x97 => {
            wide()?;
            Template::Exchange {
                one: op.rm,
                other: op.reg,
            }
        }
        0x98 => {
            wide()?;
            Template::ExtendWord
        }
        0x99 => {
            wide()?;
            Template::ExtendDouble
        }
        0xa0 | 0xa1 => {
            reaches(op).then_some(())?;
            binary(Binary::Move, to_rm()?, Source::Memory)
        }
        0xa2 | 0xa3 => {
            reaches(op).then_some(())?;
            binary(Binary::Move, Place::Memory, reg()?)
        }
        0xa8 | 0xa9 => binary(Binary::Test, to_rm()?, number),
        0xb0..=0xb7 => Template::Binary {
            op: Binary::Move,
            bytes: 1,
            to: Place::Register(register(op.rm, 1)?),
            with: number,
        },
        0xb8..=0xbf => {
            wide()?;
            Template::Binary {
                op: Binary::Move,
                bytes: 4,
                to: Place::Register(op.rm),
                with: number,
            }
        }
        0xc1 | 0xd1 | 0xd3 if form.register && !matches!(op.reg, 2 | 3) => {
            wide()?;
            Template::Shift {
                number: op.reg,
                to: op.rm,
                by: if opcode == 0xd3 {
                    By::Count
                } else {
                    By::Number(op.immediate & 31)
                },
            }
        }
        0xc2 | 0xc3 => {
            wide()?;
            Template::Back
        }
        0xc6 | 0xc7 => binary(Binary::Move, rm()?, number),
        0xc9 => {
            wide()?;
            Template::Leave
        }
        0xe8 => {
            wide()?;
            Template::Call
        }
        0xe9 | 0xeb => {
            wide()?;
            Template::Jump
        }
        0xf6 | 0xf7 => match op.reg {
            0 | 1 => binary(Binary::Test, rm()?, number),
            2 => Template::Unary {
                op: Unary::Not,
                bytes,
                to: rm()?,
            },
            3 => Template::Unary {
                op: Unary::Negate,
                bytes,
                to: rm()?,
            },
            4 | 5 if bytes == 4 => Template::MultiplyLong {
                signed: op.reg == 5,
                from: rm()?,
            },
            _ => return None,
        },
        0xfe | 0xff => match op.reg {
            0 | 1 => Template::Unary {
                op: if op.reg == 0 {
                    Unary::Increment
                } else {
                    Unary::Decrement
                },
                bytes,
                to: rm()?,
            },
            2 if opcode == 0xff => {
                wide()?;
                Template::CallTo { from: rm()? }
            }
            4 if opcode == 0xff => {
                wide()?;
                Template::JumpTo { from: rm()? }
            }
            _ => return None,
        },
        0x0f90..=0x0f9f => {
            let to = if form.register {
                Place::Register(register(op.rm, 1)?)
            } else {
                reaches(op).then_some(Place::Memory)?
            };
            Template::Set {
                condition: op.extra,
                to,
            }
        }
        0x0fb6 | 0x0fb7 | 0x0fbe | 0x0fbf => {
            wide()?;
            let bytes = if opcode & 1 == 0 { 1 } else { 2 };
            let from = if form.register {
                Place::Register(register(op.rm, bytes)?)
            } else {
                reaches(op).then_some(Place::Memory)?
            };
            Template::Extend {
                signed: opcode >= 0x0fbe,
                bytes,
                to: op.reg,
                from,
            }
        }
        0x0fc8..=0x0fcf => {
            wide()?;
            Template::SwapBytes { to: op.rm }
        }
        _ => return None,
    })
}
