//! Arithmetic of integers (RISC-V Unprivileged ISA, chapters 2, 5 and 7).

use super::Done;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

/// The lower word, with its sign.
fn word(value: u64) -> u64 {
    i64::from(value as i32).cast_unsigned()
}

fn signed(value: u64) -> i64 {
    value.cast_signed()
}

macro_rules! registers {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            let ($a, $b) = (p.x(op.rs1), p.x(op.rs2));
            p.set(op.rd, $value);
            Ok(())
        }
    )*};
}

macro_rules! immediates {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            let ($a, $b) = (p.x(op.rs1), i64::from(op.immediate).cast_unsigned());
            p.set(op.rd, $value);
            Ok(())
        }
    )*};
}

registers! {
    add |a, b| a.wrapping_add(b);
    sub |a, b| a.wrapping_sub(b);
    sll |a, b| a << (b & 63);
    slt |a, b| u64::from(signed(a) < signed(b));
    sltu |a, b| u64::from(a < b);
    xor |a, b| a ^ b;
    srl |a, b| a >> (b & 63);
    sra |a, b| (signed(a) >> (b & 63)).cast_unsigned();
    or |a, b| a | b;
    and |a, b| a & b;
    addw |a, b| word(a.wrapping_add(b));
    subw |a, b| word(a.wrapping_sub(b));
    sllw |a, b| word(a << (b & 31));
    srlw |a, b| word(u64::from(a as u32 >> (b & 31)));
    sraw |a, b| i64::from(a as i32 >> (b & 31)).cast_unsigned();
    mul |a, b| a.wrapping_mul(b);
    mulh |a, b| ((i128::from(signed(a)) * i128::from(signed(b))) >> 64) as u64;
    mulhsu |a, b| ((i128::from(signed(a)) * i128::from(b)) >> 64) as u64;
    mulhu |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    mulw |a, b| word(a.wrapping_mul(b));
    div |a, b| if b == 0 { u64::MAX } else { signed(a).wrapping_div(signed(b)).cast_unsigned() };
    divu |a, b| a.checked_div(b).unwrap_or(u64::MAX);
    rem |a, b| if b == 0 { a } else { signed(a).wrapping_rem(signed(b)).cast_unsigned() };
    remu |a, b| a.checked_rem(b).unwrap_or(a);
    divw |a, b| if b as u32 == 0 { u64::MAX } else { i64::from((a as i32).wrapping_div(b as i32)).cast_unsigned() };
    divuw |a, b| (a as u32).checked_div(b as u32).map_or(u64::MAX, |value| word(value.into()));
    remw |a, b| if b as u32 == 0 { word(a) } else { i64::from((a as i32).wrapping_rem(b as i32)).cast_unsigned() };
    remuw |a, b| word((a as u32).checked_rem(b as u32).unwrap_or(a as u32).into());
}

immediates! {
    addi |a, b| a.wrapping_add(b);
    slti |a, b| u64::from(signed(a) < signed(b));
    sltiu |a, b| u64::from(a < b);
    xori |a, b| a ^ b;
    ori |a, b| a | b;
    andi |a, b| a & b;
    slli |a, b| a << (b & 63);
    srli |a, b| a >> (b & 63);
    srai |a, b| (signed(a) >> (b & 63)).cast_unsigned();
    addiw |a, b| word(a.wrapping_add(b));
    slliw |a, b| word(a << (b & 31));
    srliw |a, b| word(u64::from(a as u32 >> (b & 31)));
    sraiw |a, b| i64::from(a as i32 >> (b & 31)).cast_unsigned();
}

pub fn lui(p: &mut Processor, op: &Op) -> Done {
    p.set(op.rd, i64::from(op.immediate).cast_unsigned());
    Ok(())
}

pub fn auipc(p: &mut Processor, op: &Op) -> Done {
    p.set(op.rd, p.pc.wrapping_add_signed(op.immediate.into()));
    Ok(())
}

/// Accesses are done in the order of the program: there is nothing to wait for.
pub fn fence(_: &mut Processor, _: &Op) -> Done {
    Ok(())
}
