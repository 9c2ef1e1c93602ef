//! A decoded instruction.

use super::config::{Cost, FULL, PIPE_A, PIPE_B};
use super::execute::Handler;
use crate::engine::schedule::{Issued, REGISTERS, Ready, Scheduled};
use crate::engine::straight::Instruction;

/// Numbers of registers in an [`Op`]: x0 to x31, then f0 to f31, then those that no instruction names.
pub mod register {
    /// f0.
    pub const FLOAT: u8 = 32;
    /// What is written to x0 goes here.
    pub const SINK: u8 = 64;
    /// Ready when the divider is free.
    pub const DIVIDER: u8 = 65;
    /// How many there are; a mask of them is one less.
    pub const ALL: usize = super::REGISTERS;
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

impl Class {
    /// Its instructions raise no exception, and change registers alone.
    pub(super) fn is_plain(self) -> bool {
        use Class::*;
        matches!(self, Integer | Multiply | Divide | DivideWord)
    }
}

/// How many classes there are.
pub const CLASSES: usize = 13;

/// An instruction.
#[derive(Clone, Copy)]
pub struct Op {
    pub run: Handler,
    /// The immediate.
    pub immediate: i32,
    /// The instruction as it is in memory.
    pub word: u32,
    /// What is written, and what is read: see [`register`].
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    pub rs3: u8,
    /// Bytes.
    pub length: u8,
    /// Its first byte is a line's first, or its bytes lie in two lines: running it fetches.
    pub fetches: bool,
    /// It changes registers and nothing else, and reads neither the program counter nor a clock.
    pub plain: bool,
    pub class: Class,
}

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
            fetches: false,
            plain: false,
            class,
        }
    }
}

impl Instruction for Op {
    const LONGEST: u32 = 4;

    fn length(&self) -> u32 {
        self.length.into()
    }

    fn ends(&self) -> bool {
        matches!(self.class, Class::Branch | Class::System | Class::Fence)
    }
}

impl Scheduled for Op {
    type Costs = [Cost; CLASSES];

    const SINK: u8 = register::SINK;

    /// The pipes that the only instruction of a cycle can use are used, or all of the cycle ([`FULL`]).
    #[inline(always)]
    fn issue(
        &self,
        costs: &[Cost; CLASSES],
        (mut cycle, mut used): Issued,
        ready: &mut Ready,
    ) -> Issued {
        let at = |number: u8| ready[usize::from(number) % REGISTERS];
        let mut from = at(self.rs1).max(at(self.rs2));
        if self.rs3 != 0 {
            from = from.max(at(self.rs3));
        }
        let cost = costs[self.class as usize];
        if from > cycle {
            cycle = from;
            used = cost.first;
        } else if used == 0 {
            used = cost.first;
        } else if cost.pipes != 0 && used | cost.pipes == PIPE_A | PIPE_B {
            // Two that do not both need the same pipe.
            used = FULL;
        } else {
            cycle += 1;
            used = cost.first;
        }
        let done = cycle + u64::from(cost.latency);
        ready[usize::from(self.rd) % REGISTERS] = done;
        if self.rs3 == register::DIVIDER {
            ready[usize::from(register::DIVIDER)] = done;
        }
        (cycle, used)
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.plain
    }
}
