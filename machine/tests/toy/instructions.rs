//! The toy's instructions: how they are encoded, and what they do, once for whoever runs or translates them.

use pagewalk_machine::engine::straight::Instruction;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub code: u8,
    pub rd: u8,
    pub rs: u8,
    pub immediate: i16,
}

/// The low byte of an instruction. If its lowest two bits are set it has four bytes, otherwise two.
pub mod code {
    pub const ADD: u8 = 0x00;
    pub const TRAP: u8 = 0x0c;
    pub const RETURN: u8 = 0x10;
    pub const FENCE: u8 = 0x14;
    pub const ADD_IMMEDIATE: u8 = 0x03;
    pub const OR_IMMEDIATE: u8 = 0x07;
    pub const SHIFT: u8 = 0x0b;
    pub const LOAD: u8 = 0x0f;
    pub const STORE: u8 = 0x13;
    pub const STORE_WORD: u8 = 0x17;
    pub const BRANCH: u8 = 0x1b;
    pub const WRITE_CONTROL: u8 = 0x1f;
    pub const READ_CONTROL: u8 = 0x23;
}

impl Op {
    /// The instruction that these bytes begin with; bytes that it has and that are not here are 0.
    pub fn decode(bytes: &[u8]) -> Op {
        let byte = |n: usize| bytes.get(n).copied().unwrap_or(0);
        let (code, registers) = (byte(0), byte(1));
        let immediate = i16::from_le_bytes([byte(2), byte(3)]);
        Op {
            code,
            rd: registers & 15,
            rs: registers >> 4,
            immediate: if code & 3 == 3 { immediate } else { 0 },
        }
    }
}

impl Instruction for Op {
    const LONGEST: u32 = 4;

    fn length(&self) -> u32 {
        if self.code & 3 == 3 { 4 } else { 2 }
    }

    fn ends(&self) -> bool {
        use code::*;
        [TRAP, RETURN, FENCE, BRANCH, WRITE_CONTROL].contains(&self.code)
            || self.code > READ_CONTROL
    }
}

/// What two values make.
#[derive(Clone, Copy, Debug)]
pub enum Binary {
    Add,
    Or,
    ShiftLeft,
}

/// Who runs instructions, or translates them: what they are made of. A value is a number to an interpreter, and the
/// name of a result to a compiler.
pub trait Values {
    type Value: Copy;
    type Stop;

    fn constant(&mut self, number: u64) -> Self::Value;
    fn register(&mut self, number: u8) -> Self::Value;
    fn set_register(&mut self, number: u8, value: Self::Value);
    fn binary(&mut self, op: Binary, a: Self::Value, b: Self::Value) -> Self::Value;
    fn load(&mut self, at: Self::Value, bytes: u32) -> Result<Self::Value, Self::Stop>;
    fn store(&mut self, at: Self::Value, bytes: u32, value: Self::Value) -> Result<(), Self::Stop>;
    fn jump_unless_equal(&mut self, a: Self::Value, b: Self::Value, to: Self::Value);
    /// What changes the processor's modes, or is no instruction.
    fn system(&mut self, op: &Op) -> Result<(), Self::Stop>;
}

/// What `op` at `pc` does.
pub fn run<V: Values>(v: &mut V, pc: u64, op: &Op) -> Result<(), V::Stop> {
    let immediate = i64::from(op.immediate).cast_unsigned();
    let (a, b) = (v.register(op.rd), v.register(op.rs));
    let result = match op.code {
        code::ADD => v.binary(Binary::Add, a, b),
        code::ADD_IMMEDIATE => {
            let by = v.constant(immediate);
            v.binary(Binary::Add, b, by)
        }
        code::OR_IMMEDIATE => {
            let with = v.constant(immediate & 0xffff);
            v.binary(Binary::Or, b, with)
        }
        code::SHIFT => {
            let by = v.constant(immediate & 63);
            v.binary(Binary::ShiftLeft, b, by)
        }
        code::LOAD | code::STORE | code::STORE_WORD => {
            let offset = v.constant(immediate);
            let at = v.binary(Binary::Add, b, offset);
            if op.code != code::LOAD {
                return v.store(at, if op.code == code::STORE { 8 } else { 4 }, a);
            }
            v.load(at, 8)?
        }
        code::BRANCH => {
            let to = v.constant(pc.wrapping_add(immediate));
            v.jump_unless_equal(a, b, to);
            return Ok(());
        }
        _ => return v.system(op),
    };
    v.set_register(op.rd, result);
    Ok(())
}
