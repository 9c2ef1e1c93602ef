//! The F and D extensions (RISC-V Unprivileged ISA, chapters 11 and 12). A register holds 64 bits; a number of 32 bits
//! has ones above it, and a register without them counts as a NaN.

use super::Done;
use crate::riscv::float::{DOUBLE, Format, Rounding, SINGLE};
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;
use crate::riscv::trap::Raised;

const BOX: u64 = 0xffff_ffff << 32;

/// A register's number in this format.
fn unboxed(format: Format, value: u64) -> u64 {
    if format == DOUBLE {
        value
    } else if value & BOX == BOX {
        value & 0xffff_ffff
    } else {
        SINGLE.nan()
    }
}

fn read(p: &Processor, format: Format, register: u8) -> u64 {
    unboxed(format, p.x(register))
}

fn write(p: &mut Processor, format: Format, register: u8, value: u64) {
    let boxed = if format == DOUBLE { value } else { value | BOX };
    p.set_float(register, boxed);
}

/// The rounding mode of an instruction.
fn rounding(p: &mut Processor, op: &Op) -> Result<Rounding, Raised> {
    let mode = match op.immediate {
        7 => p.csr.frm(),
        mode => mode as u8,
    };
    match Rounding::of(mode) {
        Some(rounding) => Ok(rounding),
        None => {
            super::illegal(p, op)?;
            Err(Raised)
        }
    }
}

/// Instructions that round a result: what they compute, of one format.
macro_rules! rounded {
    ($($single:ident $double:ident |$f:ident, $p:ident, $op:ident, $mode:ident, $flags:ident| $value:expr;)*) => {$(
        rounded!(@ $single SINGLE |$f, $p, $op, $mode, $flags| $value);
        rounded!(@ $double DOUBLE |$f, $p, $op, $mode, $flags| $value);
    )*};
    (@ $name:ident $format:ident |$f:ident, $p:ident, $op:ident, $mode:ident, $flags:ident| $value:expr) => {
        pub fn $name($p: &mut Processor, $op: &Op) -> Done {
            $p.float_on($op)?;
            let $mode = rounding($p, $op)?;
            let ($f, mut $flags) = ($format, 0);
            let value = $value;
            $p.csr.raise_flags($flags);
            write($p, $format, $op.rd, value);
            Ok(())
        }
    };
}

rounded! {
    fadd_s fadd_d |f, p, op, mode, flags|
        f.add(read(p, f, op.rs1), read(p, f, op.rs2), mode, &mut flags);
    fsub_s fsub_d |f, p, op, mode, flags|
        f.add(read(p, f, op.rs1), f.negated(read(p, f, op.rs2)), mode, &mut flags);
    fmul_s fmul_d |f, p, op, mode, flags|
        f.multiply(read(p, f, op.rs1), read(p, f, op.rs2), mode, &mut flags);
    fdiv_s fdiv_d |f, p, op, mode, flags|
        f.divide(read(p, f, op.rs1), read(p, f, op.rs2), mode, &mut flags);
    fsqrt_s fsqrt_d |f, p, op, mode, flags| f.root(read(p, f, op.rs1), mode, &mut flags);
    fmadd_s fmadd_d |f, p, op, mode, flags| fused(p, op, f, (false, false), mode, &mut flags);
    fmsub_s fmsub_d |f, p, op, mode, flags| fused(p, op, f, (false, true), mode, &mut flags);
    fnmsub_s fnmsub_d |f, p, op, mode, flags| fused(p, op, f, (true, false), mode, &mut flags);
    fnmadd_s fnmadd_d |f, p, op, mode, flags| fused(p, op, f, (true, true), mode, &mut flags);
}

/// rs1 x rs2 + rs3, rounded once; `negates`: the product, and what is added.
fn fused(
    p: &Processor,
    op: &Op,
    f: Format,
    negates: (bool, bool),
    mode: Rounding,
    flags: &mut u8,
) -> u64 {
    let negate = |value, yes| if yes { f.negated(value) } else { value };
    let a = negate(read(p, f, op.rs1), negates.0);
    let c = negate(read(p, f, op.rs3), negates.1);
    f.fused((a, read(p, f, op.rs2), c), mode, flags)
}

macro_rules! conversions {
    ($($name:ident |$p:ident, $op:ident, $mode:ident, $flags:ident| $value:expr => $write:ident;)*) => {$(
        pub fn $name($p: &mut Processor, $op: &Op) -> Done {
            $p.float_on($op)?;
            let $mode = rounding($p, $op)?;
            let mut $flags = 0;
            let value = $value;
            $p.csr.raise_flags($flags);
            $p.$write($op.rd, value);
            Ok(())
        }
    )*};
}

conversions! {
    fcvt_s_d |p, op, mode, flags| SINGLE.converted(DOUBLE, p.x(op.rs1), mode, &mut flags) | BOX => set_float;
    fcvt_d_s |p, op, mode, flags| DOUBLE.converted(SINGLE, read(p, SINGLE, op.rs1), mode, &mut flags) => set_float;
    fcvt_w_s |p, op, mode, flags| to_word(SINGLE, read(p, SINGLE, op.rs1), true, mode, &mut flags) => set;
    fcvt_w_d |p, op, mode, flags| to_word(DOUBLE, p.x(op.rs1), true, mode, &mut flags) => set;
    fcvt_wu_s |p, op, mode, flags| to_word(SINGLE, read(p, SINGLE, op.rs1), false, mode, &mut flags) => set;
    fcvt_wu_d |p, op, mode, flags| to_word(DOUBLE, p.x(op.rs1), false, mode, &mut flags) => set;
    fcvt_l_s |p, op, mode, flags| SINGLE.to_integer(read(p, SINGLE, op.rs1), 64, true, mode, &mut flags) => set;
    fcvt_l_d |p, op, mode, flags| DOUBLE.to_integer(p.x(op.rs1), 64, true, mode, &mut flags) => set;
    fcvt_lu_s |p, op, mode, flags| SINGLE.to_integer(read(p, SINGLE, op.rs1), 64, false, mode, &mut flags) => set;
    fcvt_lu_d |p, op, mode, flags| DOUBLE.to_integer(p.x(op.rs1), 64, false, mode, &mut flags) => set;
    fcvt_s_w |p, op, mode, flags|
        SINGLE.of_integer(i128::from(p.x(op.rs1) as i32), mode, &mut flags) | BOX => set_float;
    fcvt_s_wu |p, op, mode, flags|
        SINGLE.of_integer(i128::from(p.x(op.rs1) as u32), mode, &mut flags) | BOX => set_float;
    fcvt_s_l |p, op, mode, flags|
        SINGLE.of_integer(i128::from(p.x(op.rs1).cast_signed()), mode, &mut flags) | BOX => set_float;
    fcvt_s_lu |p, op, mode, flags| SINGLE.of_integer(i128::from(p.x(op.rs1)), mode, &mut flags) | BOX => set_float;
    fcvt_d_w |p, op, mode, flags| DOUBLE.of_integer(i128::from(p.x(op.rs1) as i32), mode, &mut flags) => set_float;
    fcvt_d_wu |p, op, mode, flags| DOUBLE.of_integer(i128::from(p.x(op.rs1) as u32), mode, &mut flags) => set_float;
    fcvt_d_l |p, op, mode, flags|
        DOUBLE.of_integer(i128::from(p.x(op.rs1).cast_signed()), mode, &mut flags) => set_float;
    fcvt_d_lu |p, op, mode, flags| DOUBLE.of_integer(i128::from(p.x(op.rs1)), mode, &mut flags) => set_float;
}

/// To 32 bits, whose sign fills a register even of an unsigned number.
fn to_word(f: Format, value: u64, signed: bool, mode: Rounding, flags: &mut u8) -> u64 {
    let word = f.to_integer(value, 32, signed, mode, flags);
    i64::from(word as i32).cast_unsigned()
}

/// Instructions that do not round.
macro_rules! exact {
    ($($single:ident $double:ident $write:ident |$f:ident, $a:ident, $b:ident, $flags:ident| $value:expr;)*) => {$(
        exact!(@ $single SINGLE $write |$f, $a, $b, $flags| $value);
        exact!(@ $double DOUBLE $write |$f, $a, $b, $flags| $value);
    )*};
    (@ $name:ident $format:ident $write:ident |$f:ident, $a:ident, $b:ident, $flags:ident| $value:expr) => {
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            p.float_on(op)?;
            let ($f, mut $flags) = ($format, 0);
            let ($a, $b) = (read(p, $f, op.rs1), read(p, $f, op.rs2));
            let value = $value;
            p.csr.raise_flags($flags);
            $write(p, $format, op.rd, value);
            Ok(())
        }
    };
}

fn to_register(p: &mut Processor, _: Format, register: u8, value: u64) {
    p.set(register, value);
}

exact! {
    fsgnj_s fsgnj_d write |f, a, b, _flags| a & !f.sign() | b & f.sign();
    fsgnjn_s fsgnjn_d write |f, a, b, _flags| a & !f.sign() | !b & f.sign();
    fsgnjx_s fsgnjx_d write |f, a, b, _flags| a ^ b & f.sign();
    fmin_s fmin_d write |f, a, b, flags| f.extreme(a, b, true, &mut flags);
    fmax_s fmax_d write |f, a, b, flags| f.extreme(a, b, false, &mut flags);
    feq_s feq_d to_register |f, a, b, flags| f.equal(a, b, &mut flags);
    flt_s flt_d to_register |f, a, b, flags| f.less(a, b, false, &mut flags);
    fle_s fle_d to_register |f, a, b, flags| f.less(a, b, true, &mut flags);
    fclass_s fclass_d to_register |f, a, _b, _flags| f.class(a);
}

macro_rules! moves {
    ($($name:ident $write:ident |$value:ident| $moved:expr;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            p.float_on(op)?;
            let $value = p.x(op.rs1);
            p.$write(op.rd, $moved);
            Ok(())
        }
    )*};
}

moves! {
    fmv_x_w set |value| i64::from(value as i32).cast_unsigned();
    fmv_x_d set |value| value;
    fmv_w_x set_float |value| value | BOX;
    fmv_d_x set_float |value| value;
}
