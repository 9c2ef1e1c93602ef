//! Instructions: one file for each group of them, with tables that say how each is encoded and what it does.

mod atomic;
pub mod branch;
mod float;
mod integer;
mod storage;
mod system;

use super::config::Extension;
use super::op::{Class, Op};
use super::processor::Processor;
use super::trap::{Raised, cause};

/// An instruction has run, or has raised an exception, which the processor knows.
pub type Done = Result<(), Raised>;

/// What does an instruction.
pub type Handler = fn(&mut Processor, &Op) -> Done;

/// An instruction.
#[derive(Clone, Copy)]
pub struct Row {
    /// Its word, with zeros for the operands.
    pub bits: u32,
    pub form: Form,
    pub class: Class,
    /// The extension that it belongs to, if machine files switch that on.
    pub needs: Option<Extension>,
    pub run: Handler,
}

/// Which operands an instruction has, and where they are in its word.
#[derive(Clone, Copy)]
pub struct Form {
    /// The bits that are no operands.
    pub mask: u32,
    pub rd: File,
    pub rs1: File,
    pub rs2: File,
    pub rs3: File,
    pub immediate: Immediate,
}

/// Which registers an operand is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    None,
    /// x0 to x31.
    X,
    /// f0 to f31.
    F,
}

/// How bits of a word make an immediate (RISC-V Unprivileged ISA, 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Immediate {
    None,
    I,
    S,
    B,
    U,
    J,
    /// A rounding mode. Modes 5 and 6 are reserved.
    Rounding,
    /// The number of a CSR; with `true` the field of rs1 is a number. See [`system`].
    Csr(bool),
}

/// Forms, by the names that the ISA gives them where it has any: the bits that are no operands; rd, rs1, rs2, rs3; the
/// immediate.
macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident $mask:literal $rd:ident $rs1:ident $rs2:ident $rs3:ident
        $immediate:ident $(($number:literal))?;)*) => {
        pub mod form {
            use super::{File, Form, Immediate};

            $($(#[$doc])* pub const $name: Form = Form {
                mask: $mask,
                rd: File::$rd,
                rs1: File::$rs1,
                rs2: File::$rs2,
                rs3: File::$rs3,
                immediate: Immediate::$immediate $(($number))?,
            };)*
        }
    };
}

forms! {
    /// All bits are fixed.
    FIXED 0xffff_ffff None None None None None;
    /// A fence, whose other fields are ignored.
    FENCE 0x0000_707f None None None None None;
    /// rs1 and rs2 name what a fence reaches.
    REACH 0xfe00_7fff None X X None None;
    R 0xfe00_707f X X X None None;
    /// Of one operand; rs2 is a part of the instruction.
    R1 0xfff0_707f X X None None None;
    /// Bits 25 and 26 order a memory access, which is in order as it is.
    ATOMIC 0xf800_707f X X X None None;
    RESERVE 0xf9f0_707f X X None None None;
    I 0x0000_707f X X None None I;
    /// A shift by 0 to 63, and one by 0 to 31.
    SHIFT 0xfc00_707f X X None None I;
    SHIFTW 0xfe00_707f X X None None I;
    LOADF 0x0000_707f F X None None I;
    S 0x0000_707f None X X None S;
    STOREF 0x0000_707f None X F None S;
    B 0x0000_707f None X X None B;
    U 0x0000_007f X None None None U;
    J 0x0000_007f X None None None J;
    CSR 0x0000_707f X X None None Csr(false);
    CSRI 0x0000_707f X None None None Csr(true);
    /// Two numbers give a third one, or are compared.
    FLOAT 0xfe00_707f F F F None None;
    COMPARE 0xfe00_707f X F F None None;
    /// The result is rounded: of two numbers, of one, of three.
    FLOATR 0xfe00_007f F F F None Rounding;
    FLOAT1R 0xfff0_007f F F None None Rounding;
    FUSED 0x0600_007f F F F F Rounding;
    /// To an integer and from one, with rounding and without.
    TOR 0xfff0_007f X F None None Rounding;
    FROMR 0xfff0_007f F X None None Rounding;
    TO 0xfff0_707f X F None None None;
    FROM 0xfff0_707f F X None None None;
}

/// A table of instructions: name, word, form, class, and what each does.
macro_rules! table {
    ($($name:ident $bits:literal $form:ident $class:ident |$p:ident, $op:ident| $run:expr;)*) => {
        table! { None; $($name $bits $form $class |$p, $op| $run;)* }
    };
    ($needs:expr; $($name:ident $bits:literal $form:ident $class:ident |$p:ident, $op:ident| $run:expr;)*) => {
        &[$($crate::riscv::execute::Row {
            bits: $bits,
            form: $crate::riscv::execute::form::$form,
            class: $crate::riscv::op::Class::$class,
            needs: $needs,
            run: |$p, $op| $run,
        },)*]
    };
}
use table;

/// Tables with the instructions that have this value in their lower seven bits.
#[must_use]
pub fn tables(opcode: u32) -> &'static [&'static [Row]] {
    match opcode {
        0x03 | 0x07 => &[storage::LOADS],
        0x0f | 0x73 => &[system::ALL, system::PARTS],
        0x13 | 0x1b => &[integer::IMMEDIATES, integer::COUNTS, integer::SHIFTED],
        0x17 | 0x37 => &[integer::UPPER],
        0x23 | 0x27 => &[storage::STORES],
        0x2f => &[atomic::ALL],
        0x33 | 0x3b => &[
            integer::REGISTERS,
            integer::BITS,
            integer::ADDRESSES,
            integer::COUNTS,
        ],
        0x43 | 0x47 | 0x4b | 0x4f => &[float::FUSED],
        0x53 => &[float::OTHERS],
        0x63 => &[branch::CONDITIONAL],
        0x67 | 0x6f => &[branch::JUMPS],
        _ => &[],
    }
}

/// No instruction, or one that must not run here and now.
pub fn illegal(p: &mut Processor, op: &Op) -> Done {
    p.raise(cause::ILLEGAL, op.word.into())
}

/// The lower word, with its sign.
fn word(value: u64) -> u64 {
    i64::from(value as i32).cast_unsigned()
}
