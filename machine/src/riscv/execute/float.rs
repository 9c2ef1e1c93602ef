//! The F and D extensions (RISC-V Unprivileged ISA, chapters 11 and 12). A register holds 64 bits; a number of 32 bits
//! has ones above it, and a register without them counts as a NaN.

use std::cmp::Ordering::{Equal, Less};

use super::{Row, table, word};
use crate::float::Mode;
use crate::riscv::float::{Computing, DOUBLE, Format, SINGLE, class, rounding};
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;
use crate::riscv::trap::Raised;

const BOX: u64 = 0xffff_ffff << 32;

/// A register's number in this format.
fn read(p: &Processor, format: Format, register: u8) -> u64 {
    let value = p.x(register);
    if format == DOUBLE {
        value
    } else if value & BOX == BOX {
        value & 0xffff_ffff
    } else {
        SINGLE.nan()
    }
}

fn write(p: &mut Processor, format: Format, register: u8, value: u64) {
    let boxed = if format == DOUBLE { value } else { value | BOX };
    p.set_float(register, boxed);
}

/// The result goes to a register of integers.
fn give(p: &mut Processor, _: Format, register: u8, value: u64) {
    p.set(register, value);
}

/// What an instruction that rounds its result to `format` computes with.
fn begin(p: &mut Processor, op: &Op, format: Format) -> Result<Computing, Raised> {
    p.float_on(op)?;
    let number = match op.immediate {
        7 => p.csr.frm(),
        number => number as u8,
    };
    let Some(mode) = rounding(number) else {
        super::illegal(p, op)?;
        return Err(Raised);
    };
    Ok(Computing {
        format,
        mode,
        flags: 0,
    })
}

/// Each instruction of both formats: what it makes of numbers, to be rounded.
macro_rules! rounded {
    ($($name:ident $single:literal $double:literal $form:ident $class:ident $double_class:ident
        [$($register:ident),*] |$($operand:ident),*; $down:ident| $value:expr;)*) => {
        table! {$(
            $name $single $form $class |p, op|
                rounded!(@ p, op, SINGLE, [$($register),*] |$($operand),*; $down| $value);
            $name $double $form $double_class |p, op|
                rounded!(@ p, op, DOUBLE, [$($register),*] |$($operand),*; $down| $value);
        )*}
    };
    (@ $p:ident, $op:ident, $format:ident, [$($register:ident),*] |$($operand:ident),*; $down:ident| $value:expr) => {{
        let mut computing = begin($p, $op, $format)?;
        let operands = [$(read($p, $format, $op.$register)),*];
        let value = computing.result(operands, |[$($operand),*], $down| $value);
        $p.csr.raise_flags(computing.flags);
        write($p, $format, $op.rd, value);
        Ok(())
    }};
}

pub const FUSED: &[Row] = rounded! {
    fmadd 0x0000_0043 0x0200_0043 FUSED Float Float [rs1, rs2, rs3] |a, b, c; down| a.fused(b, c, down);
    fmsub 0x0000_0047 0x0200_0047 FUSED Float Float [rs1, rs2, rs3] |a, b, c; down| a.fused(b, c.negated(), down);
    fnmsub 0x0000_004b 0x0200_004b FUSED Float Float [rs1, rs2, rs3] |a, b, c; down| a.negated().fused(b, c, down);
    fnmadd 0x0000_004f 0x0200_004f FUSED Float Float [rs1, rs2, rs3] |a, b, c; down|
        a.negated().fused(b, c.negated(), down);
};

const ROUNDED: &[Row] = rounded! {
    fadd 0x0000_0053 0x0200_0053 FLOATR Float Float [rs1, rs2] |a, b; down| a.plus(b, down);
    fsub 0x0800_0053 0x0a00_0053 FLOATR Float Float [rs1, rs2] |a, b; down| a.plus(b.negated(), down);
    fmul 0x1000_0053 0x1200_0053 FLOATR Float Float [rs1, rs2] |a, b; _down| a.times(b);
    fdiv 0x1800_0053 0x1a00_0053 FLOATR FloatDivideSingle FloatDivideDouble [rs1, rs2] |a, b; _down| a.over(b);
    fsqrt 0x5800_0053 0x5a00_0053 FLOAT1R FloatDivideSingle FloatDivideDouble [rs1] |a; _down| a.root();
};

/// Of opcode 0x53.
pub const OTHERS: &[&[Row]] = &[ROUNDED, EXACT, CONVERSIONS, MOVES];

/// Conversions: the format that is rounded to, or from, and where the result goes.
macro_rules! conversions {
    ($($name:ident $bits:literal $form:ident $format:ident $give:ident
        |$value:ident, $from:ident, $c:ident| $result:expr;)*) => {
        table! {$(
            $name $bits $form Float |p, op| {
                let mut $c = begin(p, op, $format)?;
                let ($value, $from) = (p.x(op.rs1), |format| read(p, format, op.rs1));
                let result = $result;
                p.csr.raise_flags($c.flags);
                $give(p, $format, op.rd, result);
                Ok(())
            };
        )*}
    };
}

const CONVERSIONS: &[Row] = conversions! {
    fcvt_s_d 0x4010_0053 FLOAT1R SINGLE write |_value, from, c| c.converted(DOUBLE, from(DOUBLE));
    fcvt_d_s 0x4200_0053 FLOAT1R DOUBLE write |_value, from, c| c.converted(SINGLE, from(SINGLE));
    fcvt_w_s 0xc000_0053 TOR SINGLE give |_value, from, c| word(c.to_integer(from(SINGLE), 32, true));
    fcvt_w_d 0xc200_0053 TOR DOUBLE give |_value, from, c| word(c.to_integer(from(DOUBLE), 32, true));
    fcvt_wu_s 0xc010_0053 TOR SINGLE give |_value, from, c| word(c.to_integer(from(SINGLE), 32, false));
    fcvt_wu_d 0xc210_0053 TOR DOUBLE give |_value, from, c| word(c.to_integer(from(DOUBLE), 32, false));
    fcvt_l_s 0xc020_0053 TOR SINGLE give |_value, from, c| c.to_integer(from(SINGLE), 64, true);
    fcvt_l_d 0xc220_0053 TOR DOUBLE give |_value, from, c| c.to_integer(from(DOUBLE), 64, true);
    fcvt_lu_s 0xc030_0053 TOR SINGLE give |_value, from, c| c.to_integer(from(SINGLE), 64, false);
    fcvt_lu_d 0xc230_0053 TOR DOUBLE give |_value, from, c| c.to_integer(from(DOUBLE), 64, false);
    fcvt_s_w 0xd000_0053 FROMR SINGLE write |value, _from, c| c.of_integer((value as i32).into());
    fcvt_d_w 0xd200_0053 FROMR DOUBLE write |value, _from, c| c.of_integer((value as i32).into());
    fcvt_s_wu 0xd010_0053 FROMR SINGLE write |value, _from, c| c.of_integer((value as u32).into());
    fcvt_d_wu 0xd210_0053 FROMR DOUBLE write |value, _from, c| c.of_integer((value as u32).into());
    fcvt_s_l 0xd020_0053 FROMR SINGLE write |value, _from, c| c.of_integer(value.cast_signed().into());
    fcvt_d_l 0xd220_0053 FROMR DOUBLE write |value, _from, c| c.of_integer(value.cast_signed().into());
    fcvt_s_lu 0xd030_0053 FROMR SINGLE write |value, _from, c| c.of_integer(value.into());
    fcvt_d_lu 0xd230_0053 FROMR DOUBLE write |value, _from, c| c.of_integer(value.into());
};

/// Each instruction of both formats that does not round.
macro_rules! exact {
    ($($name:ident $single:literal $double:literal $form:ident $give:ident
        |$a:ident, $b:ident, $c:ident| $value:expr;)*) => {
        table! {$(
            $name $single $form Float |p, op| exact!(@ p, op, SINGLE, $give |$a, $b, $c| $value);
            $name $double $form Float |p, op| exact!(@ p, op, DOUBLE, $give |$a, $b, $c| $value);
        )*}
    };
    (@ $p:ident, $op:ident, $format:ident, $give:ident |$a:ident, $b:ident, $c:ident| $value:expr) => {{
        $p.float_on($op)?;
        let $c = &mut Computing { format: $format, mode: Mode::Nearest, flags: 0 };
        let ($a, $b) = (read($p, $format, $op.rs1), read($p, $format, $op.rs2));
        let value = $value;
        $p.csr.raise_flags($c.flags);
        $give($p, $format, $op.rd, value);
        Ok(())
    }};
}

const EXACT: &[Row] = exact! {
    fsgnj 0x2000_0053 0x2200_0053 FLOAT write |a, b, c| signed_as(c, a, b);
    fsgnjn 0x2000_1053 0x2200_1053 FLOAT write |a, b, c| signed_as(c, a, !b);
    fsgnjx 0x2000_2053 0x2200_2053 FLOAT write |a, b, c| signed_as(c, a, a ^ b);
    fmin 0x2800_0053 0x2a00_0053 FLOAT write |a, b, c| c.extreme(a, b, true);
    fmax 0x2800_1053 0x2a00_1053 FLOAT write |a, b, c| c.extreme(a, b, false);
    feq 0xa000_2053 0xa200_2053 COMPARE give |a, b, c| (c.compare(a, b, true) == Some(Equal)).into();
    flt 0xa000_1053 0xa200_1053 COMPARE give |a, b, c| (c.compare(a, b, false) == Some(Less)).into();
    fle 0xa000_0053 0xa200_0053 COMPARE give |a, b, c| matches!(c.compare(a, b, false), Some(Less | Equal)).into();
    fclass 0xe000_1053 0xe200_1053 TO give |a, _b, c| class(c.format, a);
};

/// `a` with the sign of `b`.
fn signed_as(c: &Computing, a: u64, b: u64) -> u64 {
    c.format
        .signed(c.format.is_negative(b), c.format.magnitude(a))
}

macro_rules! moves {
    ($($name:ident $bits:literal $form:ident $give:ident |$value:ident| $moved:expr;)*) => {
        table! {$(
            $name $bits $form Float |p, op| {
                p.float_on(op)?;
                let $value = p.x(op.rs1);
                p.$give(op.rd, $moved);
                Ok(())
            };
        )*}
    };
}

const MOVES: &[Row] = moves! {
    fmv_x_w 0xe000_0053 TO set |value| word(value);
    fmv_x_d 0xe200_0053 TO set |value| value;
    fmv_w_x 0xf000_0053 FROM set_float |value| value | BOX;
    fmv_d_x 0xf200_0053 FROM set_float |value| value;
};
