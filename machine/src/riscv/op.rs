//! A decoded instruction, and the blocks that the engine keeps of them.

use super::config::Extensions;
use super::decode::decode;
use super::execute::Handler;
use crate::engine::blocks::Part;
use crate::memory::RamAddress;

/// Numbers of registers in an [`Op`]: x0 to x31, then f0 to f31, then those that no instruction names.
pub mod register {
    /// f0.
    pub const FLOAT: u8 = 32;
    /// What is written to x0 goes here.
    pub const SINK: u8 = 64;
    /// Ready when the divider is free.
    pub const DIVIDER: u8 = 65;
    /// How many there are; a mask of them is one less.
    pub const ALL: usize = 128;
}

/// Which costs and which pipes an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    Integer,
    Load,
    Store,
    /// A conditional branch, or a jump.
    Branch,
    Multiply,
    Divide,
    /// A division of 32 bits.
    DivideWord,
    /// An addition, a product, a comparison, a conversion.
    Float,
    FloatDivideSingle,
    FloatDivideDouble,
    Atomic,
    /// CSR instructions, returns from traps, calls: nothing else runs beside them.
    System,
    /// Fences of memory, instructions and translations.
    Fence,
}

/// How many classes there are.
pub const CLASSES: usize = 13;

/// An instruction, or the head of a block.
#[derive(Clone, Copy)]
pub struct Op {
    pub run: Handler,
    /// The immediate.
    pub immediate: i32,
    /// The instruction as it is in memory; of a head where its block begins.
    pub word: u32,
    /// What is written, and what is read: see [`register`].
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub rs3: u8,
    /// Bytes.
    pub length: u8,
    pub class: Class,
    pub kind: Kind,
    /// Of a head: the bytes of its block.
    pub(super) bytes: u8,
}

/// How an op stands in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Inner,
    /// The last one of its block.
    Last,
    Head,
    /// The head of a block that is no longer valid.
    Dropped,
}

const INSTRUCTIONS_MOST: usize = 32;

impl Op {
    /// An op that does this. It reads and writes no register.
    pub fn new(run: Handler, word: u32, length: u8, class: Class) -> Op {
        Op {
            run,
            immediate: 0,
            word,
            rd: register::SINK,
            rs1: 0,
            rs2: 0,
            rs3: 0,
            length,
            class,
            kind: Kind::Inner,
            bytes: 0,
        }
    }

    /// The bytes of the instruction that begins with this half word.
    #[must_use]
    pub fn length_of(low: u16) -> u8 {
        if low & 3 == 3 { 4 } else { 2 }
    }

    /// Does the instruction end a block? What comes behind it is fetched anew.
    fn ends(&self) -> bool {
        matches!(self.class, Class::Branch | Class::System | Class::Fence)
    }

    /// The block at `pa`, behind its head, of the code that is there up to the end of the page. Empty if the first
    /// instruction goes on in the next page.
    #[must_use]
    pub fn block(pa: RamAddress, mut code: &[u8], extensions: Extensions) -> Vec<Op> {
        let head = Op {
            kind: Kind::Head,
            ..Op::new(super::execute::illegal, pa, 0, Class::Integer)
        };
        let mut block = vec![head];
        while block.len() <= INSTRUCTIONS_MOST {
            let Some((op, rest)) = Op::take(code, extensions) else {
                break;
            };
            code = rest;
            block[0].bytes += op.length;
            block.push(op);
            if op.ends() {
                break;
            }
        }
        match &mut block[..] {
            [_, .., last] => last.kind = Kind::Last,
            _ => return Vec::new(),
        }
        block
    }

    /// The first instruction of `code`, and the rest. `None`: the code ends before the instruction does.
    fn take(code: &[u8], extensions: Extensions) -> Option<(Op, &[u8])> {
        let low = u16::from_le_bytes([*code.first()?, *code.get(1)?]);
        if Op::length_of(low) == 2 {
            return Some((decode(low.into(), extensions), &code[2..]));
        }
        let high = u16::from_le_bytes([*code.get(2)?, *code.get(3)?]);
        let word = u32::from(high) << 16 | u32::from(low);
        Some((decode(word, extensions), &code[4..]))
    }
}

impl Part for Op {
    const BYTES_MOST: u32 = 4 * INSTRUCTIONS_MOST as u32;

    fn heads(&self, pa: RamAddress, _mode: bool) -> bool {
        self.kind == Kind::Head && self.word == pa
    }

    fn begins_at(&self, pa: RamAddress, mode: bool) -> bool {
        self.heads(pa, mode)
    }

    fn bytes(&self) -> u32 {
        self.bytes.into()
    }

    fn drop_block(&mut self) {
        self.kind = Kind::Dropped;
    }
}
