//! The floating-point status and control register, and the instructions that move it.

use crate::powerpc::instruction::Operands;
use crate::powerpc::registers::Registers;

/// Bits of the FPSCR (PEM table 2-4), by value.
pub mod fpscr {
    pub const FX: u32 = 0x8000_0000;
    pub const FEX: u32 = 0x4000_0000;
    pub const VX: u32 = 0x2000_0000;
    pub const OX: u32 = 0x1000_0000;
    pub const UX: u32 = 0x0800_0000;
    pub const ZX: u32 = 0x0400_0000;
    pub const XX: u32 = 0x0200_0000;
    pub const VXSNAN: u32 = 0x0100_0000;
    pub const VXISI: u32 = 0x0080_0000;
    pub const VXIDI: u32 = 0x0040_0000;
    pub const VXZDZ: u32 = 0x0020_0000;
    pub const VXIMZ: u32 = 0x0010_0000;
    pub const VXVC: u32 = 0x0008_0000;
    pub const FR: u32 = 0x0004_0000;
    pub const FI: u32 = 0x0002_0000;
    pub const FPRF: u32 = 0x0001_f000;
    pub const FPCC: u32 = 0x0000_f000;
    pub const VXSOFT: u32 = 0x0000_0400;
    pub const VXSQRT: u32 = 0x0000_0200;
    pub const VXCVI: u32 = 0x0000_0100;
    pub const VE: u32 = 0x80;
    pub const OE: u32 = 0x40;
    pub const UE: u32 = 0x20;
    pub const ZE: u32 = 0x10;
    pub const XE: u32 = 0x08;
    pub const RN: u32 = 0x03;

    /// Every invalid-operation bit.
    pub const VX_ALL: u32 = VXSNAN | VXISI | VXIDI | VXZDZ | VXIMZ | VXVC | VXSOFT | VXSQRT | VXCVI;
    /// Every exception bit but the summaries.
    pub const EXCEPTIONS: u32 = OX | UX | ZX | XX | VX_ALL;
    /// The reserved bit reads as zero.
    pub const IMPLEMENTED: u32 = 0xffff_f7ff;
}

use fpscr::*;

/// Derives VX and FEX from the bits they summarize.
fn summarize(value: u32) -> u32 {
    let mut value = value & !(VX | FEX) & IMPLEMENTED;
    if value & VX_ALL != 0 {
        value |= VX;
    }
    // VX OX UX ZX XX stand 22 bits above their enables.
    if value >> 22 & value & (VE | OE | UE | ZE | XE) != 0 {
        value |= FEX;
    }
    value
}

/// Sets exception bits; FX too if one of them was not set before.
pub(super) fn raise(r: &mut Registers, bits: u32) {
    let bits = bits & EXCEPTIONS;
    if bits & !r.fpscr != 0 {
        r.fpscr |= FX;
    }
    r.fpscr = summarize(r.fpscr | bits);
}

pub fn mffs(r: &mut Registers, i: &Operands) {
    r.fpr[i.t.index() & 31] = u64::from(r.fpscr);
}

/// FM is bits 7-14: one for each field. FX is copied like any other bit; FEX and VX never.
pub fn mtfsf(r: &mut Registers, i: &Operands) {
    let source = r.fpr[i.b.index() & 31] as u32;
    let mask = (0..8).fold(0, |mask, field| {
        if i.imm >> 17 & (0x80 >> field) != 0 {
            mask | 0xf000_0000 >> (4 * field)
        } else {
            mask
        }
    });
    r.fpscr = summarize(r.fpscr & !mask | source & mask);
}

/// IMM is bits 16-19.
pub fn mtfsfi(r: &mut Registers, i: &Operands) {
    let shift = 28 - 4 * u32::from(i.crf_d());
    let value = (i.imm >> 12 & 15) << shift;
    r.fpscr = summarize(r.fpscr & !(15 << shift) | value);
}

pub fn mtfsb0(r: &mut Registers, i: &Operands) {
    let bit = 0x8000_0000u32 >> i.t.number();
    r.fpscr = summarize(r.fpscr & !bit);
}

pub fn mtfsb1(r: &mut Registers, i: &Operands) {
    let bit = 0x8000_0000u32 >> i.t.number();
    if bit & EXCEPTIONS & !r.fpscr != 0 {
        r.fpscr |= FX;
    }
    r.fpscr = summarize(r.fpscr | bit);
}

/// Copies a field to a condition field and clears the exception bits in it.
pub fn mcrfs(r: &mut Registers, i: &Operands) {
    let shift = 28 - 4 * u32::from(i.crf_s());
    r.cr.set_field(i.crf_d(), (r.fpscr >> shift & 15) as u8);
    r.fpscr = summarize(r.fpscr & !(15 << shift & (EXCEPTIONS | FX)));
}
