//! Multiplication of half-words, and multiply-accumulate: instructions that only the 405 has (PPC405 UM chapter 9).
//!
//! Primary opcode 4. Bits of the extended opcode say which halves are multiplied, whether they are signed, whether the
//! product is subtracted, and whether a sum that does not fit is replaced by the nearest number that does.

use super::instruction::{Opcode, Operands};
use super::integer::{overflow, record};
use super::registers::Registers;

mod bits {
    pub const NEGATIVE: u32 = 0x02;
    pub const SIGNED: u32 = 0x20;
    pub const SATURATE: u32 = 0x40;
    pub const HALVES: u32 = 0x180;
    pub const CROSS: u32 = 0x080;
    pub const LOW: u32 = 0x180;
}

/// The instruction with primary opcode 4 that `word` encodes.
pub fn opcode(word: u32) -> Opcode {
    let extended = word >> 1 & 0x3ff;
    let halves = extended & bits::HALVES != 0x100;
    match extended & !(bits::HALVES | 0x200) {
        // mac..w, mac..wu, mac..ws, mac..wsu; nmac..w, nmac..ws
        0x2c | 0x0c | 0x6c | 0x4c | 0x2e | 0x6e if halves => Opcode::Mac,
        // mul..w, mul..wu
        0x28 | 0x08 if halves && extended & 0x200 == 0 => Opcode::Mulhalf,
        _ => Opcode::Illegal,
    }
}

/// The product of two halves of rA and rB.
fn product(r: &Registers, i: &Operands) -> i64 {
    let (a, b) = (r.gpr.get(i.a), r.gpr.get(i.b));
    let extended = i.imm >> 1;
    let (left, right) = match extended & bits::HALVES {
        bits::LOW => (a, b),
        bits::CROSS => (a, b >> 16),
        _ => (a >> 16, b >> 16),
    };
    if extended & bits::SIGNED != 0 {
        i64::from(left as i16) * i64::from(right as i16)
    } else {
        i64::from(left as u16) * i64::from(right as u16)
    }
}

/// mulchw, mulchwu, mulhhw, mulhhwu, mullhw, mullhwu
pub fn half<const RC: bool>(r: &mut Registers, i: &Operands) {
    let value = product(r, i) as u32;
    r.gpr.set(i.t, value);
    record::<u32, RC>(r, value);
}

/// macchw to nmaclhws
pub fn accumulate<const OE: bool, const RC: bool>(r: &mut Registers, i: &Operands) {
    let extended = i.imm >> 1;
    let old = r.gpr.get(i.t);
    let product = product(r, i);
    let (sum, least, most) = if extended & bits::SIGNED != 0 {
        let product = if extended & bits::NEGATIVE != 0 {
            -product
        } else {
            product
        };
        let sum = i64::from(old.cast_signed()) + product;
        (sum, i64::from(i32::MIN), i64::from(i32::MAX))
    } else {
        (i64::from(old) + product, 0, i64::from(u32::MAX))
    };
    let value = if extended & bits::SATURATE != 0 {
        sum.clamp(least, most) as u32
    } else {
        sum as u32
    };
    r.gpr.set(i.t, value);
    overflow::<OE>(r, !(least..=most).contains(&sum));
    record::<u32, RC>(r, value);
}
