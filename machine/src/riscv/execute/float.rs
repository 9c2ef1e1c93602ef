//! The F and D extensions (RISC-V Unprivileged ISA, chapters 11 and 12). A register holds 64 bits; a number of 32 bits
//! has ones above it, and a register without them counts as a NaN.

use std::cmp::Ordering::{Equal, Less};

use super::{Done, Row, illegal, table, word};
use crate::riscv::float::{Computing, DOUBLE, Format, SINGLE, class, rounding};
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

const BOX: u64 = 0xffff_ffff << 32;

/// A register's number in this format.
fn number(format: Format, value: u64) -> u64 {
    if format == DOUBLE {
        value
    } else if value & BOX == BOX {
        value & 0xffff_ffff
    } else {
        SINGLE.nan()
    }
}

/// The result goes to a register of numbers.
fn write(p: &mut Processor, format: Format, register: u8, value: u64) {
    let boxed = if format == DOUBLE { value } else { value | BOX };
    p.set_float(register, boxed);
}

/// The result goes to a register of integers.
fn give(p: &mut Processor, _: Format, register: u8, value: u64) {
    p.set(register, value);
}

/// What an instruction reads: its operands as numbers, and the first one as it is in its register.
struct Given {
    a: u64,
    b: u64,
    d: u64,
    raw: u64,
}

/// Does an instruction whose result goes to `to`. Without a field for the rounding mode it rounds to the nearest, if at
/// all.
#[inline(always)]
fn compute(
    p: &mut Processor,
    op: &Op,
    format: Format,
    to: impl FnOnce(&mut Processor, Format, u8, u64),
    result: impl FnOnce(&Given, &mut Computing) -> u64,
) -> Done {
    p.float_on(op)?;
    let mode = match op.immediate {
        7 => p.csr.frm(),
        mode => mode as u8,
    };
    let Some(mode) = rounding(mode) else {
        return illegal(p, op);
    };
    let mut computing = Computing {
        format,
        mode,
        flags: 0,
    };
    let [a, b, d] = [op.rs1, op.rs2, op.rs3].map(|register| number(format, p.x(register)));
    let raw = p.x(op.rs1);
    let value = result(&Given { a, b, d, raw }, &mut computing);
    p.csr.raise_flags(computing.flags);
    to(p, format, op.rd, value);
    Ok(())
}

/// Each instruction of both formats: their words, form and classes, where the result goes, and what it is.
macro_rules! both {
    ($($name:ident $single:literal $double:literal $form:ident $class:ident $double_class:ident $to:ident
        |$x:ident, $c:ident| $result:expr;)*) => {
        table! {$(
            $name $single $form $class |p, op| compute(p, op, SINGLE, $to, |$x, $c| $result);
            $name $double $form $double_class |p, op| compute(p, op, DOUBLE, $to, |$x, $c| $result);
        )*}
    };
}

pub const FUSED: &[Row] = both! {
    fmadd 0x0000_0043 0x0200_0043 FUSED Float Float write |x, c|
        c.result([x.a, x.b, x.d], |[a, b, d], down| a.fused(b, d, down));
    fmsub 0x0000_0047 0x0200_0047 FUSED Float Float write |x, c|
        c.result([x.a, x.b, x.d], |[a, b, d], down| a.fused(b, d.negated(), down));
    fnmsub 0x0000_004b 0x0200_004b FUSED Float Float write |x, c|
        c.result([x.a, x.b, x.d], |[a, b, d], down| a.negated().fused(b, d, down));
    fnmadd 0x0000_004f 0x0200_004f FUSED Float Float write |x, c|
        c.result([x.a, x.b, x.d], |[a, b, d], down| a.negated().fused(b, d.negated(), down));
};

/// Of opcode 0x53.
pub const OTHERS: &[Row] = both! {
    fadd 0x0000_0053 0x0200_0053 FLOATR Float Float write |x, c| c.result([x.a, x.b], |[a, b], down| a.plus(b, down));
    fsub 0x0800_0053 0x0a00_0053 FLOATR Float Float write |x, c|
        c.result([x.a, x.b], |[a, b], down| a.plus(b.negated(), down));
    fmul 0x1000_0053 0x1200_0053 FLOATR Float Float write |x, c| c.result([x.a, x.b], |[a, b], _| a.times(b));
    fdiv 0x1800_0053 0x1a00_0053 FLOATR FloatDivideSingle FloatDivideDouble write |x, c|
        c.result([x.a, x.b], |[a, b], _| a.over(b));
    fsqrt 0x5800_0053 0x5a00_0053 FLOAT1R FloatDivideSingle FloatDivideDouble write |x, c|
        c.result([x.a], |[a], _| a.root());
    fsgnj 0x2000_0053 0x2200_0053 FLOAT Float Float write |x, c| signed_as(c, x.a, x.b);
    fsgnjn 0x2000_1053 0x2200_1053 FLOAT Float Float write |x, c| signed_as(c, x.a, !x.b);
    fsgnjx 0x2000_2053 0x2200_2053 FLOAT Float Float write |x, c| signed_as(c, x.a, x.a ^ x.b);
    fmin 0x2800_0053 0x2a00_0053 FLOAT Float Float write |x, c| c.extreme(x.a, x.b, true);
    fmax 0x2800_1053 0x2a00_1053 FLOAT Float Float write |x, c| c.extreme(x.a, x.b, false);
    feq 0xa000_2053 0xa200_2053 COMPARE Float Float give |x, c| (c.compare(x.a, x.b, true) == Some(Equal)).into();
    flt 0xa000_1053 0xa200_1053 COMPARE Float Float give |x, c| (c.compare(x.a, x.b, false) == Some(Less)).into();
    fle 0xa000_0053 0xa200_0053 COMPARE Float Float give |x, c|
        matches!(c.compare(x.a, x.b, false), Some(Less | Equal)).into();
    fclass 0xe000_1053 0xe200_1053 TO Float Float give |x, c| class(c.format, x.a);
    fcvt_w 0xc000_0053 0xc200_0053 TOR Float Float give |x, c| word(c.to_integer(x.a, 32, true));
    fcvt_wu 0xc010_0053 0xc210_0053 TOR Float Float give |x, c| word(c.to_integer(x.a, 32, false));
    fcvt_l 0xc020_0053 0xc220_0053 TOR Float Float give |x, c| c.to_integer(x.a, 64, true);
    fcvt_lu 0xc030_0053 0xc230_0053 TOR Float Float give |x, c| c.to_integer(x.a, 64, false);
    fcvt_of_w 0xd000_0053 0xd200_0053 FROMR Float Float write |x, c| c.of_integer((x.raw as i32).into());
    fcvt_of_wu 0xd010_0053 0xd210_0053 FROMR Float Float write |x, c| c.of_integer((x.raw as u32).into());
    fcvt_of_l 0xd020_0053 0xd220_0053 FROMR Float Float write |x, c| c.of_integer(x.raw.cast_signed().into());
    fcvt_of_lu 0xd030_0053 0xd230_0053 FROMR Float Float write |x, c| c.of_integer(x.raw.into());
    // From the other format.
    fcvt 0x4010_0053 0x4200_0053 FLOAT1R Float Float write |x, c| {
        let from = if c.format == SINGLE { DOUBLE } else { SINGLE };
        c.converted(from, number(from, x.raw))
    };
    fmv_x 0xe000_0053 0xe200_0053 TO Float Float give |x, c| if c.format == SINGLE { word(x.raw) } else { x.raw };
    fmv 0xf000_0053 0xf200_0053 FROM Float Float write |x, _c| x.raw;
};

/// `a` with the sign of `b`.
fn signed_as(c: &Computing, a: u64, b: u64) -> u64 {
    let f = c.format;
    f.signed(f.is_negative(b), f.magnitude(a))
}
