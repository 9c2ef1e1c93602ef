//! The toy's instructions: how they are encoded, and what they do, once for whoever runs or translates them.

use pagewalk_machine::blocks::{Part, Successor};

/// An instruction, or the head of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub code: u8,
    pub rd: u8,
    pub rs: u8,
    pub immediate: i16,
    /// Bytes; of a head those of its block.
    pub length: u16,
    /// The last one of its block.
    pub last: bool,
    /// Of a head: where the block begins, and its links.
    start: Option<u32>,
    away: [i32; 2],
}

/// The low byte of an instruction. If its lowest two bits are set it has four bytes, otherwise two.
pub mod code {
    pub const ADD: u8 = 0x00;
    pub const SUB: u8 = 0x04;
    pub const JUMP: u8 = 0x08;
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
    /// The instruction that these bytes begin with; `None` if it has more of them.
    pub fn decode(bytes: &[u8]) -> Option<Op> {
        let &[code, registers, ref rest @ ..] = bytes else {
            return None;
        };
        let (immediate, length) = match (code & 3, rest) {
            (3, &[low, high, ..]) => (i16::from_le_bytes([low, high]), 4),
            (3, _) => return None,
            _ => (0, 2),
        };
        let ends = [
            code::JUMP,
            code::TRAP,
            code::RETURN,
            code::FENCE,
            code::BRANCH,
            code::WRITE_CONTROL,
        ];
        Some(Op {
            code,
            rd: registers & 15,
            rs: registers >> 4,
            immediate,
            length,
            last: ends.contains(&code) || code > code::READ_CONTROL,
            start: None,
            away: [0; 2],
        })
    }

    /// The block at `pa`, behind its head: empty if the first instruction goes on behind `bytes`, the rest of a page.
    pub fn block(pa: u32, mut bytes: &[u8]) -> Vec<Op> {
        let head = Op {
            start: Some(pa),
            length: 0,
            ..Op::decode(&[0, 0]).expect("it has two bytes")
        };
        let mut block = vec![head];
        while block.len() <= INSTRUCTIONS_MOST && !block[block.len() - 1].last {
            let Some(op) = Op::decode(bytes) else { break };
            bytes = &bytes[usize::from(op.length)..];
            block[0].length += op.length;
            block.push(op);
        }
        if let [_, .., last] = &mut block[..] {
            last.last = true;
            return block;
        }
        Vec::new()
    }
}

const INSTRUCTIONS_MOST: usize = 16;

impl Part for Op {
    const BYTES_MOST: u32 = 4 * INSTRUCTIONS_MOST as u32;

    fn heads(&self, pa: u32, _mode: bool) -> bool {
        self.start == Some(pa)
    }

    fn begins_at(&self, pa: u32, mode: bool) -> bool {
        self.heads(pa, mode)
    }

    fn bytes(&self) -> u32 {
        self.length.into()
    }

    fn drop_block(&mut self) {
        self.start = None;
    }

    fn away(&self, successor: Successor) -> i32 {
        self.away[successor as usize]
    }

    fn set_away(&mut self, successor: Successor, away: i32) {
        self.away[successor as usize] = away;
    }
}

/// Who runs instructions, or translates them: what they are made of. A value is a number to an interpreter, and the
/// name of a result to a compiler.
pub trait Values {
    type Value: Copy;
    type Stop;

    fn constant(&mut self, number: u64) -> Self::Value;
    fn register(&mut self, number: u8) -> Self::Value;
    fn set_register(&mut self, number: u8, value: Self::Value);
    fn add(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn subtract(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn or(&mut self, a: Self::Value, b: Self::Value) -> Self::Value;
    fn shift_left(&mut self, a: Self::Value, by: u32) -> Self::Value;
    fn load(&mut self, at: Self::Value, bytes: u32) -> Result<Self::Value, Self::Stop>;
    fn store(&mut self, at: Self::Value, bytes: u32, value: Self::Value) -> Result<(), Self::Stop>;
    fn jump(&mut self, to: Self::Value);
    fn jump_unless_equal(&mut self, a: Self::Value, b: Self::Value, to: Self::Value);
    /// What changes the processor's modes, or is no instruction.
    fn system(&mut self, op: &Op) -> Result<(), Self::Stop>;
}

/// What `op` at `pc` does.
pub fn run<V: Values>(v: &mut V, pc: u64, op: &Op) -> Result<(), V::Stop> {
    let immediate = i64::from(op.immediate).cast_unsigned();
    let result = match op.code {
        code::ADD | code::SUB => {
            let (a, b) = (v.register(op.rd), v.register(op.rs));
            if op.code == code::ADD {
                v.add(a, b)
            } else {
                v.subtract(a, b)
            }
        }
        code::ADD_IMMEDIATE | code::OR_IMMEDIATE => {
            let a = v.register(op.rs);
            if op.code == code::ADD_IMMEDIATE {
                let b = v.constant(immediate);
                v.add(a, b)
            } else {
                let b = v.constant(immediate & 0xffff);
                v.or(a, b)
            }
        }
        code::SHIFT => {
            let a = v.register(op.rs);
            v.shift_left(a, u32::from(op.immediate.cast_unsigned()) & 63)
        }
        code::LOAD | code::STORE | code::STORE_WORD => {
            let (base, offset) = (v.register(op.rs), v.constant(immediate));
            let at = v.add(base, offset);
            if op.code != code::LOAD {
                let value = v.register(op.rd);
                return v.store(at, if op.code == code::STORE { 8 } else { 4 }, value);
            }
            v.load(at, 8)?
        }
        code::BRANCH => {
            let (a, b) = (v.register(op.rd), v.register(op.rs));
            let to = v.constant(pc.wrapping_add(immediate));
            v.jump_unless_equal(a, b, to);
            return Ok(());
        }
        code::JUMP => {
            let to = v.register(op.rd);
            v.jump(to);
            return Ok(());
        }
        _ => return v.system(op),
    };
    v.set_register(op.rd, result);
    Ok(())
}
