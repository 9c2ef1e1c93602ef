//! Arithmetic of integers (RISC-V Unprivileged ISA, chapters 2, 5 and 7; Bit-Manipulation ISA-extensions 1.0).

use super::{Row, table, word};
use crate::riscv::config::Extension;

fn signed(value: u64) -> i64 {
    value.cast_signed()
}

macro_rules! registers {
    ($needs:expr; $($name:ident $bits:literal $class:ident |$a:ident, $b:ident| $value:expr;)*) => {
        table! { $needs; $(
            $name $bits R $class |p, op| {
                let ($a, $b) = (p.x(op.rs1), p.x(op.rs2));
                p.set(op.rd, $value);
                Ok(())
            };
        )*}
    };
}

macro_rules! immediates {
    ($needs:expr; $($name:ident $bits:literal $form:ident |$a:ident, $b:ident| $value:expr;)*) => {
        table! { $needs; $(
            $name $bits $form Integer |p, op| {
                let ($a, $b) = (p.x(op.rs1), i64::from(op.immediate).cast_unsigned());
                p.set(op.rd, $value);
                Ok(())
            };
        )*}
    };
}

pub const REGISTERS: &[Row] = registers! {
    None;
    add 0x0000_0033 Integer |a, b| a.wrapping_add(b);
    sub 0x4000_0033 Integer |a, b| a.wrapping_sub(b);
    sll 0x0000_1033 Integer |a, b| a << (b & 63);
    slt 0x0000_2033 Integer |a, b| u64::from(signed(a) < signed(b));
    sltu 0x0000_3033 Integer |a, b| u64::from(a < b);
    xor 0x0000_4033 Integer |a, b| a ^ b;
    srl 0x0000_5033 Integer |a, b| a >> (b & 63);
    sra 0x4000_5033 Integer |a, b| (signed(a) >> (b & 63)).cast_unsigned();
    or 0x0000_6033 Integer |a, b| a | b;
    and 0x0000_7033 Integer |a, b| a & b;
    addw 0x0000_003b Integer |a, b| word(a.wrapping_add(b));
    subw 0x4000_003b Integer |a, b| word(a.wrapping_sub(b));
    sllw 0x0000_103b Integer |a, b| word(a << (b & 31));
    srlw 0x0000_503b Integer |a, b| word(u64::from(a as u32 >> (b & 31)));
    sraw 0x4000_503b Integer |a, b| i64::from(a as i32 >> (b & 31)).cast_unsigned();
    mul 0x0200_0033 Multiply |a, b| a.wrapping_mul(b);
    mulh 0x0200_1033 Multiply |a, b| ((i128::from(signed(a)) * i128::from(signed(b))) >> 64) as u64;
    mulhsu 0x0200_2033 Multiply |a, b| ((i128::from(signed(a)) * i128::from(b)) >> 64) as u64;
    mulhu 0x0200_3033 Multiply |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    mulw 0x0200_003b Multiply |a, b| word(a.wrapping_mul(b));
    div 0x0200_4033 Divide |a, b| if b == 0 { u64::MAX } else { signed(a).wrapping_div(signed(b)).cast_unsigned() };
    divu 0x0200_5033 Divide |a, b| a.checked_div(b).unwrap_or(u64::MAX);
    rem 0x0200_6033 Divide |a, b| if b == 0 { a } else { signed(a).wrapping_rem(signed(b)).cast_unsigned() };
    remu 0x0200_7033 Divide |a, b| a.checked_rem(b).unwrap_or(a);
    divw 0x0200_403b DivideWord |a, b| match b as i32 {
        0 => u64::MAX,
        b => i64::from((a as i32).wrapping_div(b)).cast_unsigned(),
    };
    divuw 0x0200_503b DivideWord |a, b| (a as u32).checked_div(b as u32).map_or(u64::MAX, |value| word(value.into()));
    remw 0x0200_603b DivideWord |a, b| match b as i32 {
        0 => word(a),
        b => i64::from((a as i32).wrapping_rem(b)).cast_unsigned(),
    };
    remuw 0x0200_703b DivideWord |a, b| word((a as u32).checked_rem(b as u32).unwrap_or(a as u32).into());
};

pub const IMMEDIATES: &[Row] = immediates! {
    None;
    addi 0x0000_0013 I |a, b| a.wrapping_add(b);
    slti 0x0000_2013 I |a, b| u64::from(signed(a) < signed(b));
    sltiu 0x0000_3013 I |a, b| u64::from(a < b);
    xori 0x0000_4013 I |a, b| a ^ b;
    ori 0x0000_6013 I |a, b| a | b;
    andi 0x0000_7013 I |a, b| a & b;
    slli 0x0000_1013 SHIFT |a, b| a << (b & 63);
    srli 0x0000_5013 SHIFT |a, b| a >> (b & 63);
    srai 0x4000_5013 SHIFT |a, b| (signed(a) >> (b & 63)).cast_unsigned();
    addiw 0x0000_001b I |a, b| word(a.wrapping_add(b));
    slliw 0x0000_101b SHIFTW |a, b| word(a << (b & 31));
    srliw 0x0000_501b SHIFTW |a, b| word(u64::from(a as u32 >> (b & 31)));
    sraiw 0x4000_501b SHIFTW |a, b| i64::from(a as i32 >> (b & 31)).cast_unsigned();
};

/// Zba: addresses of elements.
pub const ADDRESSES: &[Row] = registers! {
    Some(Extension::Zba);
    sh1add 0x2000_2033 Integer |a, b| (a << 1).wrapping_add(b);
    sh2add 0x2000_4033 Integer |a, b| (a << 2).wrapping_add(b);
    sh3add 0x2000_6033 Integer |a, b| (a << 3).wrapping_add(b);
    add_uw 0x0800_003b Integer |a, b| low(a).wrapping_add(b);
    sh1add_uw 0x2000_203b Integer |a, b| (low(a) << 1).wrapping_add(b);
    sh2add_uw 0x2000_403b Integer |a, b| (low(a) << 2).wrapping_add(b);
    sh3add_uw 0x2000_603b Integer |a, b| (low(a) << 3).wrapping_add(b);
};

/// The lower word without a sign.
fn low(value: u64) -> u64 {
    u64::from(value as u32)
}

/// Zbb: bits and bytes.
pub const BITS: &[Row] = registers! {
    Some(Extension::Zbb);
    andn 0x4000_7033 Integer |a, b| a & !b;
    orn 0x4000_6033 Integer |a, b| a | !b;
    xnor 0x4000_4033 Integer |a, b| !(a ^ b);
    min 0x0a00_4033 Integer |a, b| signed(a).min(signed(b)).cast_unsigned();
    minu 0x0a00_5033 Integer |a, b| a.min(b);
    max 0x0a00_6033 Integer |a, b| signed(a).max(signed(b)).cast_unsigned();
    maxu 0x0a00_7033 Integer |a, b| a.max(b);
    rol 0x6000_1033 Integer |a, b| a.rotate_left((b & 63) as u32);
    ror 0x6000_5033 Integer |a, b| a.rotate_right((b & 63) as u32);
    rolw 0x6000_103b Integer |a, b| word((a as u32).rotate_left((b & 31) as u32).into());
    rorw 0x6000_503b Integer |a, b| word((a as u32).rotate_right((b & 31) as u32).into());
};

/// Zba and Zbb with one register, or with a shift by a constant.
pub const SHIFTED: &[Row] = immediates! {
    Some(Extension::Zba);
    slli_uw 0x0800_101b SHIFT |a, b| low(a) << (b & 63);
};
pub const COUNTS: &[Row] = immediates! {
    Some(Extension::Zbb);
    clz 0x6000_1013 R1 |a, _b| a.leading_zeros().into();
    ctz 0x6010_1013 R1 |a, _b| a.trailing_zeros().into();
    cpop 0x6020_1013 R1 |a, _b| a.count_ones().into();
    clzw 0x6000_101b R1 |a, _b| (a as u32).leading_zeros().into();
    ctzw 0x6010_101b R1 |a, _b| (a as u32).trailing_zeros().into();
    cpopw 0x6020_101b R1 |a, _b| (a as u32).count_ones().into();
    sext_b 0x6040_1013 R1 |a, _b| i64::from(a as i8).cast_unsigned();
    sext_h 0x6050_1013 R1 |a, _b| i64::from(a as i16).cast_unsigned();
    zext_h 0x0800_403b R1 |a, _b| u64::from(a as u16);
    orc_b 0x2870_5013 R1 |a, _b| u64::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }));
    rev8 0x6b80_5013 R1 |a, _b| a.swap_bytes();
    rori 0x6000_5013 SHIFT |a, b| a.rotate_right((b & 63) as u32);
    roriw 0x6000_501b SHIFTW |a, b| word((a as u32).rotate_right((b & 31) as u32).into());
};

pub const UPPER: &[Row] = table! {
    lui 0x37 U Integer |p, op| {
        p.set(op.rd, i64::from(op.immediate).cast_unsigned());
        Ok(())
    };
    auipc 0x17 U Integer |p, op| {
        p.set(op.rd, p.pc.wrapping_add_signed(op.immediate.into()));
        Ok(())
    };
};
