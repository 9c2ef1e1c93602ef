//! The host's instructions, as templates need them: x86-64.
//!
//! Compiled code has the processor in `rbx`, the time in `r13`, the counts of [`super::calls`] in `r14`, and RAM in
//! `r15`. The guest's registers are in those of [`GUESTS`], whose upper halves are zero. `rax`, `rcx` and `rdx` are
//! free between templates.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::{Lines, NO_HALF, Shared};
use super::hot::Compiler;
use super::shape::{Access, READABLE, Shape, Side};
use crate::engine::compiler::assembler::Assembler;
use crate::x86::op::Op;
use crate::x86::processor::Processor;
use crate::x86::registers::{Registers, gpr as number};
use crate::x86::tlb::Shortcut;

/// Two of the free registers.
pub const C: u8 = 1;
pub const D: u8 = 2;

/// The host registers that hold the guest's, by its numbers.
pub const GUESTS: [u8; 8] = [6, 7, 8, 5, 12, 9, 10, 11];

/// That of a general register.
pub fn host(register: u8) -> u8 {
    GUESTS[usize::from(register & 7)]
}

/// The stack pointer's.
pub const STACK: u8 = GUESTS[number::ESP as usize];

/// The distance of a general register in the processor.
pub fn gpr(register: u8) -> i32 {
    const GENERAL: usize = offset_of!(Processor, registers) + offset_of!(Registers, gpr);
    (GENERAL + usize::from(register) * 4) as i32
}

pub const TIME: i32 = offset_of!(Processor, time) as i32;
pub const WROTE: i32 = offset_of!(Processor, wrote) as i32;
pub const MISPREDICTED: i32 = offset_of!(Processor, mispredicted) as i32;
pub const DEADLINE: i32 = (offset_of!(Processor, running)
    + offset_of!(crate::computer::Running<Processor>, deadline)) as i32;

/// The distance of a field of [`Shared`] in the processor.
pub const fn shared(field: usize) -> i32 {
    (offset_of!(Processor, compiler) + Compiler::SHARED + field) as i32
}

pub const FLAGS: i32 = shared(offset_of!(Shared, flags));
pub const UNTIL: i32 = shared(offset_of!(Shared, until));

/// The newest place, and the places, of the predictor's return addresses.
pub const RETURNS: (i32, i32) = {
    const AT: usize =
        offset_of!(Processor, predictor) + offset_of!(crate::x86::predictor::Predictor, returns);
    let (top, addresses) = crate::pipeline::Returns::<8>::PARTS;
    ((AT + top) as i32, (AT + addresses) as i32)
};

/// An operand that is no memory.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Host(u8),
    Number(u32),
}

/// What an operation on two operands does, by the number that opcodes have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Or,
    AddCarry,
    SubBorrow,
    And,
    Sub,
    Xor,
    Compare,
    Test,
    Move,
}

impl Binary {
    pub fn numbered(number: u8) -> Binary {
        match number & 7 {
            0 => Binary::Add,
            1 => Binary::Or,
            2 => Binary::AddCarry,
            3 => Binary::SubBorrow,
            4 => Binary::And,
            5 => Binary::Sub,
            6 => Binary::Xor,
            _ => Binary::Compare,
        }
    }

    /// It reads CF.
    pub fn reads_carry(self) -> bool {
        matches!(self, Binary::AddCarry | Binary::SubBorrow)
    }

    /// It gives no result but flags.
    pub fn compares(self) -> bool {
        matches!(self, Binary::Compare | Binary::Test)
    }

    /// The flags that the host gives.
    pub fn given(self) -> Given {
        match self {
            Binary::Or | Binary::And | Binary::Xor | Binary::Test => Given::Logical,
            _ => Given::All,
        }
    }
}

/// Which of the flags that the host has given count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    All,
    /// OF, CF and AF are clear; the host may say otherwise of AF.
    Logical,
    /// AF is clear.
    Shifted,
}

/// An x86's code.
#[derive(Default)]
pub struct X86;

/// Code of blocks that is being written.
pub type Emitter = Assembler<X86>;

/// An instruction on a host register of some bytes and a value.
macro_rules! binary {
    ($ops:expr, $name:ident, $bytes:expr, $to:expr, $with:expr) => {
        match ($bytes, $with) {
            (1, Value::Host(with)) => dynasm!($ops; .arch x64; $name Rb($to), Rb(with)),
            (2, Value::Host(with)) => dynasm!($ops; .arch x64; $name Rw($to), Rw(with)),
            (_, Value::Host(with)) => dynasm!($ops; .arch x64; $name Rd($to), Rd(with)),
            (1, Value::Number(n)) => dynasm!($ops; .arch x64; $name Rb($to), BYTE n as i8),
            (2, Value::Number(n)) => dynasm!($ops; .arch x64; $name Rw($to), WORD n as i16),
            (_, Value::Number(n)) => dynasm!($ops; .arch x64; $name Rd($to), DWORD n as i32),
        }
    };
}

/// A shift or rotate of a host register by a number or by `cl`.
macro_rules! shift {
    ($ops:expr, $name:ident, $bytes:expr, $to:expr, $by:expr) => {
        match ($bytes, $by) {
            (1, Some(n)) => dynasm!($ops; .arch x64; $name Rb($to), BYTE n as i8),
            (2, Some(n)) => dynasm!($ops; .arch x64; $name Rw($to), BYTE n as i8),
            (_, Some(n)) => dynasm!($ops; .arch x64; $name Rd($to), BYTE n as i8),
            (1, None) => dynasm!($ops; .arch x64; $name Rb($to), cl),
            (2, None) => dynasm!($ops; .arch x64; $name Rw($to), cl),
            (_, None) => dynasm!($ops; .arch x64; $name Rd($to), cl),
        }
    };
}

impl Emitter {
    /// host := host op value, of so many bytes.
    pub fn binary(&mut self, op: Binary, bytes: u32, to: u8, with: Value) {
        match op {
            Binary::Add => binary!(self.ops, add, bytes, to, with),
            Binary::Or => binary!(self.ops, or, bytes, to, with),
            Binary::AddCarry => binary!(self.ops, adc, bytes, to, with),
            Binary::SubBorrow => binary!(self.ops, sbb, bytes, to, with),
            Binary::And => binary!(self.ops, and, bytes, to, with),
            Binary::Sub => binary!(self.ops, sub, bytes, to, with),
            Binary::Xor => binary!(self.ops, xor, bytes, to, with),
            Binary::Compare => binary!(self.ops, cmp, bytes, to, with),
            Binary::Test => binary!(self.ops, test, bytes, to, with),
            Binary::Move => binary!(self.ops, mov, bytes, to, with),
        }
    }

    /// A shift or rotate by the number that opcodes have for it; `None`: by `cl`.
    pub fn shift(&mut self, number: u8, bytes: u32, to: u8, by: Option<u32>) {
        match number & 7 {
            0 => shift!(self.ops, rol, bytes, to, by),
            1 => shift!(self.ops, ror, bytes, to, by),
            5 => shift!(self.ops, shr, bytes, to, by),
            7 => shift!(self.ops, sar, bytes, to, by),
            _ => shift!(self.ops, shl, bytes, to, by),
        }
    }

    /// INC, DEC, NOT and NEG of a host register.
    pub fn unary(&mut self, op: Unary, bytes: u32, to: u8) {
        macro_rules! unary {
            ($name:ident) => {
                match bytes {
                    1 => dynasm!(self.ops; .arch x64; $name Rb(to)),
                    2 => dynasm!(self.ops; .arch x64; $name Rw(to)),
                    _ => dynasm!(self.ops; .arch x64; $name Rd(to)),
                }
            };
        }
        match op {
            Unary::Increment => unary!(inc),
            Unary::Decrement => unary!(dec),
            Unary::Not => unary!(not),
            Unary::Negate => unary!(neg),
        }
    }

    /// The host's flags are the guest's from now on. Uses `rax`.
    pub fn save_flags(&mut self, given: Given) {
        match given {
            Given::All => dynasm!(self.ops; .arch x64; lahf; seto al),
            // It leaves the host's flags alone.
            Given::Logical => dynasm!(self.ops; .arch x64; lahf; mov al, BYTE NO_HALF),
            Given::Shifted => dynasm!(self.ops; .arch x64; lahf; seto al; and eax, 0xc501),
        }
        dynasm!(self.ops; .arch x64; mov [rbx + FLAGS], ax);
    }

    /// The host's CF and OF are the guest's from now on; all others stay. Uses the free registers.
    pub fn save_carry_overflow(&mut self) {
        dynasm!(self.ops; .arch x64
            ; setc cl
            ; seto al
            ; movzx edx, WORD [rbx + FLAGS]
            ; movzx ecx, cl
            ; movzx eax, al
            ; and edx, 0xfefe
            ; shl ecx, 8
            ; or edx, eax
            ; or edx, ecx
            ; mov [rbx + FLAGS], dx
        );
    }

    /// The host's flags become the guest's, but for AF. Uses `rax`.
    pub fn restore_flags(&mut self) {
        dynasm!(self.ops; .arch x64; movzx eax, WORD [rbx + FLAGS]; and al, 1; add al, 127; sahf);
    }

    /// The host's CF becomes the guest's.
    pub fn restore_carry(&mut self) {
        dynasm!(self.ops; .arch x64; bt DWORD [rbx + FLAGS], 8);
    }

    /// Jumps if the host's flags meet the condition with this number.
    pub fn jump_if(&mut self, condition: u8, to: DynamicLabel) {
        match condition & 15 {
            0 => dynasm!(self.ops; .arch x64; jo =>to),
            1 => dynasm!(self.ops; .arch x64; jno =>to),
            2 => dynasm!(self.ops; .arch x64; jb =>to),
            3 => dynasm!(self.ops; .arch x64; jae =>to),
            4 => dynasm!(self.ops; .arch x64; je =>to),
            5 => dynasm!(self.ops; .arch x64; jne =>to),
            6 => dynasm!(self.ops; .arch x64; jbe =>to),
            7 => dynasm!(self.ops; .arch x64; ja =>to),
            8 => dynasm!(self.ops; .arch x64; js =>to),
            9 => dynasm!(self.ops; .arch x64; jns =>to),
            10 => dynasm!(self.ops; .arch x64; jp =>to),
            11 => dynasm!(self.ops; .arch x64; jnp =>to),
            12 => dynasm!(self.ops; .arch x64; jl =>to),
            13 => dynasm!(self.ops; .arch x64; jge =>to),
            14 => dynasm!(self.ops; .arch x64; jle =>to),
            _ => dynasm!(self.ops; .arch x64; jg =>to),
        }
    }

    /// `al` := whether the host's flags meet the condition.
    pub fn set_if(&mut self, condition: u8) {
        match condition & 15 {
            0 => dynasm!(self.ops; .arch x64; seto al),
            1 => dynasm!(self.ops; .arch x64; setno al),
            2 => dynasm!(self.ops; .arch x64; setb al),
            3 => dynasm!(self.ops; .arch x64; setae al),
            4 => dynasm!(self.ops; .arch x64; sete al),
            5 => dynasm!(self.ops; .arch x64; setne al),
            6 => dynasm!(self.ops; .arch x64; setbe al),
            7 => dynasm!(self.ops; .arch x64; seta al),
            8 => dynasm!(self.ops; .arch x64; sets al),
            9 => dynasm!(self.ops; .arch x64; setns al),
            10 => dynasm!(self.ops; .arch x64; setp al),
            11 => dynasm!(self.ops; .arch x64; setnp al),
            12 => dynasm!(self.ops; .arch x64; setl al),
            13 => dynasm!(self.ops; .arch x64; setge al),
            14 => dynasm!(self.ops; .arch x64; setle al),
            _ => dynasm!(self.ops; .arch x64; setg al),
        }
    }

    /// host := the address of an op, of 32 bits.
    pub fn address(&mut self, to: u8, op: &Op) {
        let away = op.displacement.cast_signed();
        let register = |n: u8| (n != number::NONE).then(|| host(n));
        match (register(op.base), register(op.index), op.scale & 3) {
            (None, None, _) => dynasm!(self.ops; .arch x64; mov Rd(to), DWORD away),
            (Some(base), None, _) if away == 0 => {
                dynasm!(self.ops; .arch x64; mov Rd(to), Rd(base))
            }
            (Some(base), None, _) => dynasm!(self.ops; .arch x64; lea Rd(to), [Rq(base) + away]),
            (Some(base), Some(index), 0) => {
                dynasm!(self.ops; .arch x64; lea Rd(to), [Rq(base) + Rq(index) + away]);
            }
            (Some(base), Some(index), 1) => {
                dynasm!(self.ops; .arch x64; lea Rd(to), [Rq(base) + Rq(index) * 2 + away]);
            }
            (Some(base), Some(index), 2) => {
                dynasm!(self.ops; .arch x64; lea Rd(to), [Rq(base) + Rq(index) * 4 + away]);
            }
            (Some(base), Some(index), _) => {
                dynasm!(self.ops; .arch x64; lea Rd(to), [Rq(base) + Rq(index) * 8 + away]);
            }
            (None, Some(index), scale) => {
                let scale = scale as i8;
                dynasm!(self.ops; .arch x64; mov eax, Rd(index); shl eax, BYTE scale);
                dynasm!(self.ops; .arch x64; lea Rd(to), [rax + away]);
            }
        }
    }

    /// `ecx`, a linear address := where it lies in RAM, if its page has a shortcut for this access. Otherwise on to
    /// `slow`.
    pub fn page(&mut self, shape: &Shape, bytes: u32, store: bool, slow: DynamicLabel) {
        let field = if store {
            offset_of!(Shortcut, store)
        } else {
            offset_of!(Shortcut, load)
        };
        const { assert!(size_of::<Shortcut>() == 16) };
        let side = &shape.data;
        let places = (side.shortcuts << 4).cast_signed();
        let page = (0xffff_f000 | (bytes - 1)).cast_signed();
        let mark = shape.mark.cast_signed();
        dynasm!(self.ops; .arch x64
            ; mov eax, ecx
            ; mov edx, ecx
            ; shr eax, 8
            ; and edx, page
            ; and eax, places
        );
        if mark != 0 {
            dynasm!(self.ops; .arch x64; or edx, mark);
        }
        dynasm!(self.ops; .arch x64
            ; cmp edx, [rbx + rax + side.shortcut(0, field)]
            ; jne =>slow
            ; add ecx, [rbx + rax + side.shortcut(0, offset_of!(Shortcut, delta))]
        );
    }

    /// `rax` := where the tag is of the line used last in the set of `ecx`, an address in RAM. `edx` := what it is if
    /// that is the line of `ecx`.
    pub fn set_of(&mut self, side: &Side) {
        let line = side.line_mask();
        // Tags have four bytes.
        let mask = (side.set_mask << 2).cast_signed();
        let right = side.rotation as i8 - 2;
        dynasm!(self.ops; .arch x64; mov eax, ecx);
        if right > 0 {
            dynasm!(self.ops; .arch x64; shr eax, BYTE right);
        } else if right < 0 {
            dynasm!(self.ops; .arch x64; shl eax, BYTE -right);
        }
        dynasm!(self.ops; .arch x64
            ; mov edx, ecx
            ; and eax, mask
            ; and edx, line
            ; add rax, [rbx + side.lines(offset_of!(Lines, tags))]
            ; add edx, 1
        );
    }

    /// On to `slow`, unless the cache used the line of `ecx`, an address in RAM, last in its set.
    pub fn line(&mut self, shape: &Shape, slow: DynamicLabel) {
        self.set_of(&shape.data);
        match shape.memory {
            Access::Through => dynasm!(self.ops; .arch x64; cmp edx, [rax]; jne =>slow),
            Access::Back => self.differs(READABLE, slow),
        }
    }

    /// On to `slow`, unless the tag at `rax` is `edx` but for these bits.
    pub fn differs(&mut self, except: u32, slow: DynamicLabel) {
        let bits = (!except).cast_signed();
        dynasm!(self.ops; .arch x64; xor edx, [rax]; test edx, bits; jne =>slow);
    }

    /// `edx` := so many bytes at `ecx` in RAM.
    pub fn load(&mut self, bytes: u32) {
        match bytes {
            1 => dynasm!(self.ops; .arch x64; movzx edx, BYTE [r15 + rcx]),
            2 => dynasm!(self.ops; .arch x64; movzx edx, WORD [r15 + rcx]),
            _ => dynasm!(self.ops; .arch x64; mov edx, [r15 + rcx]),
        }
    }

    /// So many bytes at `ecx` in RAM := `edx`.
    pub fn store(&mut self, bytes: u32) {
        match bytes {
            1 => dynasm!(self.ops; .arch x64; mov [r15 + rcx], dl),
            2 => dynasm!(self.ops; .arch x64; mov [r15 + rcx], dx),
            _ => dynasm!(self.ops; .arch x64; mov [r15 + rcx], edx),
        }
    }
}

/// An operation on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Increment,
    Decrement,
    Not,
    Negate,
}
