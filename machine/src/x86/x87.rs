//! The floating-point unit: registers of 80 bits on a stack, and its instructions (SDM volume 1, chapter 8; volume 2).

mod arithmetic;
mod clocks;
mod convert;
mod extended;
mod image;
mod memory;
mod register;
mod remainder;
mod round;
mod stack;
mod status;
mod transcendental;

use serde::{Deserialize, Serialize};

use super::config::Kind;
use super::exception::Exception;
use arithmetic::Operation;
use extended::Extended;

/// What the floating-point unit needs of its processor.
pub trait Host {
    /// Bytes 1, 2, 4 or 8 of the memory operand, from `offset` on, little-endian.
    ///
    /// # Errors
    /// The exception of the access.
    fn load(&mut self, offset: u32, bytes: u32) -> Result<u64, Exception>;

    /// Stores such bytes.
    ///
    /// # Errors
    /// The exception of the access.
    fn store(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), Exception>;

    /// Tells whether so many bytes could be stored, before the first of them is.
    ///
    /// # Errors
    /// The exception of the first byte that could not.
    fn check_store(&mut self, _offset: u32, _bytes: u32) -> Result<(), Exception> {
        Ok(())
    }

    fn set_ax(&mut self, value: u16);

    fn eflags(&self) -> u32;

    /// All arithmetic flags.
    fn set_eflags(&mut self, flags: u32);

    fn kind(&self) -> Kind;

    fn pointers(&self) -> Pointers;

    /// The operand size is 16 bits, as is each field of the environment.
    fn narrow(&self) -> bool;
}

/// Where an instruction is, and its memory operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointers {
    pub cs: u16,
    pub eip: u32,
    pub ds: u16,
    pub offset: u32,
}

/// The last instruction that was no control instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Last {
    opcode: u16,
    cs: u16,
    eip: u32,
    ds: u16,
    offset: u32,
}

/// The state of a floating-point unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fpu {
    control: u16,
    /// Without TOP.
    status: u16,
    top: u8,
    /// The registers, by number, that are empty.
    empty: u8,
    registers: [Extended; 8],
    last: Last,
}

/// Control word after FNINIT: all exceptions masked, 64 bits, round to nearest.
const INITIAL_CONTROL: u16 = 0x037f;
/// Bits of the control word that keep what is written; bit 6 reads as one.
const CONTROL_BITS: u16 = 0x1f3f;
const CONTROL_ONES: u16 = 0x0040;

/// EFLAGS that FCOMI sets and FCMOVcc tests.
const CF: u32 = 0x01;
const PF: u32 = 0x04;
const AF: u32 = 0x10;
const ZF: u32 = 0x40;
const SF: u32 = 0x80;
const OF: u32 = 0x800;

impl Default for Fpu {
    fn default() -> Self {
        Fpu::new()
    }
}

impl Fpu {
    /// As FNINIT leaves it.
    #[must_use]
    pub fn new() -> Fpu {
        Fpu {
            control: INITIAL_CONTROL,
            status: 0,
            top: 0,
            empty: 0xff,
            registers: [Extended::ZERO; 8],
            last: Last::default(),
        }
    }

    /// True if a unit can be in this state. A snapshot is checked by this before use.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.top < 8
    }

    /// FNINIT: the registers keep what they hold, and are empty.
    fn initialize(&mut self) {
        *self = Fpu {
            registers: self.registers,
            ..Fpu::new()
        };
    }

    fn set_control_word(&mut self, word: u16) {
        self.control = word & CONTROL_BITS | CONTROL_ONES;
        self.summarize();
    }

    /// FWAIT, and the beginning of every instruction that is not one of those that do not wait.
    ///
    /// # Errors
    /// A floating-point error that is pending.
    pub fn wait(&mut self) -> Result<(), Exception> {
        if self.status & status::SUMMARY != 0 {
            return Err(Exception::FLOAT);
        }
        Ok(())
    }

    /// Runs an instruction of the opcodes 0xd8 to 0xdf and gives its clocks, with all accesses hits. If its memory
    /// operand faults, the unit has not changed.
    ///
    /// # Errors
    /// An invalid opcode, a pending error, or the fault of the memory operand.
    pub fn execute<H: Host>(
        &mut self,
        opcode: u8,
        modrm: u8,
        host: &mut H,
    ) -> Result<u32, Exception> {
        let opcode = opcode & 7;
        if modrm < 0xc0 {
            self.memory(opcode, modrm >> 3 & 7, host)?;
        } else {
            self.register(opcode, modrm, host)?;
        }
        if !is_control(opcode, modrm) {
            self.remember(opcode, modrm, host.pointers());
        }
        Ok(clocks::clocks(host.kind(), opcode, modrm))
    }

    fn remember(&mut self, opcode: u8, modrm: u8, pointers: Pointers) {
        let Pointers {
            cs,
            eip,
            ds,
            offset,
        } = pointers;
        let last = Last {
            opcode: u16::from(opcode) << 8 | u16::from(modrm),
            cs,
            eip,
            ..self.last
        };
        self.last = if modrm < 0xc0 {
            Last { ds, offset, ..last }
        } else {
            last
        };
    }
}

/// Does the instruction leave the pointers of the last one alone? (SDM volume 1, 8.1.8)
fn is_control(opcode: u8, modrm: u8) -> bool {
    let memory = modrm < 0xc0;
    match (opcode, modrm >> 3 & 7) {
        // FLDENV, FLDCW, FNSTENV, FNSTCW; FRSTOR, FNSAVE, FNSTSW.
        (1, 4..) | (5, 4 | 6 | 7) => memory,
        // FNCLEX, FNINIT and the old FNENI, FNDISI and FNSETPM; FNSTSW AX.
        (3, 4) => !memory,
        (7, 4) => !memory,
        _ => false,
    }
}

/// The arithmetic of two operands that bits 3 to 5 of the instruction number; 2 and 3 are comparisons.
fn operation(number: u8) -> Option<Operation> {
    Some(match number {
        0 => Operation::Add,
        1 => Operation::Multiply,
        4 => Operation::Subtract,
        5 => Operation::SubtractReversed,
        6 => Operation::Divide,
        7 => Operation::DivideReversed,
        _ => return None,
    })
}
