//! Clocks of instructions, with all accesses hits.
//!
//! The i486's are the facts of emulators' tables (86Box, MAME) where these agree; those marked so are recalled of the
//! i486 Programmer's Reference Manual, chapter 26, as are those of the P6 of Intel's optimization manual, which gives
//! latencies and says that additions and multiplications are pipelined.

use crate::x86::config::Kind;

/// Issue slots of a P6 in a clock: its instructions are counted in these.
const SLOTS: u32 = 3;

pub(super) fn clocks(kind: Kind, opcode: u8, modrm: u8) -> u32 {
    match kind {
        Kind::I486 => i486(opcode, modrm),
        Kind::P6 => p6(opcode, modrm),
    }
}

/// Add and subtract, multiply, compare, divide: by bits 3 to 5 of the instruction.
fn i486_arithmetic(number: u8) -> u32 {
    match number {
        0 | 4 | 5 => 10,
        1 => 16,
        2 | 3 => 4,
        _ => 73,
    }
}

fn i486(opcode: u8, modrm: u8) -> u32 {
    let number = modrm >> 3 & 7;
    if modrm < 0xc0 {
        return match (opcode, number) {
            (0 | 4, _) => i486_arithmetic(number),
            // An integer operand is converted first (recalled).
            (2 | 6, _) => i486_arithmetic(number) + 12,
            (1 | 5, 0) => 3,
            (1, 2 | 3) => 7,
            (5, 2 | 3) => 8,
            (3, 0) => 9,
            (7, 0) => 13,
            (7, 5) => 10,
            (3 | 7, 2 | 3) => 28,
            (7, 7) => 28,
            (3, 5 | 7) => 6,
            // FLDENV, FNSTENV, FBLD, FBSTP (recalled).
            (1, 4) => 34,
            (1, 6) => 56,
            (7, 4) => 75,
            (7, 6) => 175,
            (1, 5) => 4,
            (1, 7) => 3,
            (5, 4) => 131,
            (5, 6) => 154,
            _ => 3,
        };
    }
    match (opcode, modrm) {
        // FCOMPP, FUCOMPP.
        (6, 0xd9) | (2, 0xe9) => 5,
        (0 | 4 | 6, _) => i486_arithmetic(number),
        (1, 0xc0..=0xcf) => 4,
        (1, 0xe0) => 6,
        (1, 0xe1) => 3,
        (1, 0xe4) => 4,
        (1, 0xe5) => 8,
        // FLD1 and FLDZ; the other constants (recalled).
        (1, 0xe8 | 0xee) => 4,
        (1, 0xe9..=0xed) => 8,
        (1, 0xf0) => 140,
        (1, 0xf1) => 196,
        (1, 0xf2) => 200,
        (1, 0xf3) => 218,
        (1, 0xf4) => 16,
        (1, 0xf5) => 72,
        (1, 0xf6 | 0xf7) => 3,
        (1, 0xf8) => 70,
        (1, 0xf9) => 171,
        (1, 0xfa) => 83,
        (1, 0xfb) => 292,
        (1, 0xfc) => 21,
        (1, 0xfd) => 30,
        (1, 0xfe | 0xff) => 257,
        (3, 0xe2) => 7,
        (3, 0xe3) => 17,
        (5, 0xe0..=0xef) => 4,
        _ => 3,
    }
}

/// Latencies of a P6 where the unit is busy all the while; a clock where it is pipelined (recalled).
fn p6(opcode: u8, modrm: u8) -> u32 {
    let number = modrm >> 3 & 7;
    let clocks = if modrm < 0xc0 {
        match (opcode, number) {
            (0 | 2 | 4 | 6, 6 | 7) => 38,
            (0 | 2 | 4 | 6, 1) => 2,
            (1, 4) => 30,
            (1, 6) => 30,
            (1, 5) => 10,
            (7, 4) => 76,
            (7, 6) => 165,
            (5, 4) => 72,
            (5, 6) => 141,
            (7 | 3, 2 | 3) | (7, 7) => 2,
            _ => 1,
        }
    } else {
        match (opcode, modrm) {
            (0 | 4 | 6, 0xf0..=0xff) => 38,
            (0 | 4 | 6, 0xc8..=0xcf) => 2,
            (1, 0xf0) => 66,
            (1, 0xf1) => 103,
            (1, 0xf2) => 130,
            (1, 0xf3) => 116,
            (1, 0xf4) => 36,
            (1, 0xf5 | 0xf8) => 23,
            (1, 0xf9) => 103,
            (1, 0xfa) => 69,
            (1, 0xfb) => 140,
            (1, 0xfc) => 30,
            (1, 0xfd) => 56,
            (1, 0xfe | 0xff) => 110,
            (3, 0xe3) => 13,
            (7, 0xe0) => 3,
            _ => 1,
        }
    };
    clocks * SLOTS
}
