//! Instructions of two bytes, each of which stands for one of four (RISC-V Unprivileged ISA, chapter 16).

/// Parts of a word: from which bit on, how many bits, and the place of the lowest of them in the result.
type Parts = [(u32, u32, u32)];

/// The sum of these parts.
fn gather(word: u32, parts: &Parts) -> u32 {
    let part = |&(from, count, to): &(u32, u32, u32)| (word >> from & ((1 << count) - 1)) << to;
    parts.iter().map(part).fold(0, |all, part| all | part)
}

const IMMEDIATE: &Parts = &[(12, 1, 5), (2, 5, 0)];
const WORD: &Parts = &[(10, 3, 3), (6, 1, 2), (5, 1, 6)];
const DOUBLE: &Parts = &[(10, 3, 3), (5, 2, 6)];
/// Offsets from the stack pointer: of loads, of stores, of an address, and what is added to it.
const STACK_WORD: &Parts = &[(12, 1, 5), (4, 3, 2), (2, 2, 6)];
const STACK_DOUBLE: &Parts = &[(12, 1, 5), (5, 2, 3), (2, 3, 6)];
const STORE_WORD: &Parts = &[(9, 4, 2), (7, 2, 6)];
const STORE_DOUBLE: &Parts = &[(10, 3, 3), (7, 3, 6)];
const PLACE: &Parts = &[(11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)];
const FRAME: &Parts = &[(12, 1, 9), (6, 1, 4), (5, 1, 6), (3, 2, 7), (2, 1, 5)];
#[rustfmt::skip]
const JUMP: &Parts = &[
    (12, 1, 11), (11, 1, 4), (9, 2, 8), (8, 1, 10), (7, 1, 6), (6, 1, 7), (3, 3, 1), (2, 1, 5),
];
const BRANCH: &Parts = &[(12, 1, 8), (10, 2, 3), (5, 2, 6), (3, 2, 1), (2, 1, 5)];

/// A field with a sign, of `width` bits.
fn signed(value: u32, width: u32) -> u32 {
    ((value << (32 - width)).cast_signed() >> (32 - width)).cast_unsigned()
}

fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: u32) -> u32 {
    immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

fn s_type(opcode: u32, funct3: u32, rs1: u32, rs2: u32, immediate: u32) -> u32 {
    let immediate = gather(immediate, &[(5, 7, 25), (0, 5, 7)]);
    immediate | rs2 << 20 | rs1 << 15 | funct3 << 12 | opcode
}

/// `funct`: funct7 and funct3.
fn r_type(opcode: u32, funct: (u32, u32), rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct.0 << 25 | rs2 << 20 | rs1 << 15 | funct.1 << 12 | rd << 7 | opcode
}

fn jump(half: u32) -> u32 {
    let offset = signed(gather(half, JUMP), 12);
    gather(
        offset,
        &[(20, 1, 31), (1, 10, 21), (11, 1, 20), (12, 8, 12)],
    ) | 0x6f
}

fn branch(half: u32, funct3: u32, rs1: u32) -> u32 {
    let offset = signed(gather(half, BRANCH), 9);
    let offset = gather(offset, &[(12, 1, 31), (5, 6, 25), (1, 4, 8), (11, 1, 7)]);
    offset | rs1 << 15 | funct3 << 12 | 0x63
}

const STACK: u32 = 2;

/// The instruction of four bytes that `half` stands for; `None` if it stands for none.
#[must_use]
pub fn expand(half: u16) -> Option<u32> {
    let half = u32::from(half);
    let of = |parts| gather(half, parts);
    // Registers of three bits are x8 to x15.
    let (low, high) = ((half >> 2 & 7) + 8, (half >> 7 & 7) + 8);
    let (rd, rs2) = (half >> 7 & 31, half >> 2 & 31);
    let immediate = signed(of(IMMEDIATE), 6);
    let (own, frame) = (immediate & 0xfff, signed(of(FRAME), 10) & 0xfff);
    let valid = match (half & 3, half >> 13) {
        (0, 0) => of(PLACE) != 0,
        (1, 1) | (2, 2 | 3) => rd != 0,
        (1, 3) if rd == STACK => frame != 0,
        (1, 3) => immediate != 0,
        (2, 4) => half & 0x1ffc != 0,
        _ => true,
    };
    let word = match (half & 3, half >> 13) {
        (0, 0) => i_type(0x13, 0, low, STACK, of(PLACE)),
        (0, 1) => i_type(0x07, 3, low, high, of(DOUBLE)),
        (0, 2) => i_type(0x03, 2, low, high, of(WORD)),
        (0, 3) => i_type(0x03, 3, low, high, of(DOUBLE)),
        (0, 5) => s_type(0x27, 3, high, low, of(DOUBLE)),
        (0, 6) => s_type(0x23, 2, high, low, of(WORD)),
        (0, 7) => s_type(0x23, 3, high, low, of(DOUBLE)),
        (1, 0) => i_type(0x13, 0, rd, rd, own),
        (1, 1) => i_type(0x1b, 0, rd, rd, own),
        (1, 2) => i_type(0x13, 0, rd, 0, own),
        (1, 3) if rd == STACK => i_type(0x13, 0, STACK, STACK, frame),
        (1, 3) => immediate << 12 | rd << 7 | 0x37,
        (1, 4) => arithmetic(half, high, low, own)?,
        (1, 5) => jump(half),
        (1, funct3) => branch(half, funct3 - 6, high),
        (2, 0) => i_type(0x13, 1, rd, rd, own & 0x3f),
        (2, 1) => i_type(0x07, 3, rd, STACK, of(STACK_DOUBLE)),
        (2, 2) => i_type(0x03, 2, rd, STACK, of(STACK_WORD)),
        (2, 3) => i_type(0x03, 3, rd, STACK, of(STACK_DOUBLE)),
        (2, 4) => match (half >> 12 & 1, rd, rs2) {
            (1, 0, 0) => 0x0010_0073,
            (link, _, 0) => i_type(0x67, 0, link, rd, 0),
            (0, ..) => r_type(0x33, (0, 0), rd, 0, rs2),
            _ => r_type(0x33, (0, 0), rd, rd, rs2),
        },
        (2, 5) => s_type(0x27, 3, STACK, rs2, of(STORE_DOUBLE)),
        (2, 6) => s_type(0x23, 2, STACK, rs2, of(STORE_WORD)),
        (2, 7) => s_type(0x23, 3, STACK, rs2, of(STORE_DOUBLE)),
        _ => return None,
    };
    valid.then_some(word)
}

/// Quadrant 1 with funct3 4: shifts and arithmetic of x8 to x15.
fn arithmetic(half: u32, rd: u32, rs2: u32, own: u32) -> Option<u32> {
    let (opcode, funct) = match (half >> 10 & 3, half >> 12 & 1, half >> 5 & 3) {
        (0, ..) => return Some(i_type(0x13, 5, rd, rd, own & 0x3f)),
        (1, ..) => return Some(i_type(0x13, 5, rd, rd, own & 0x3f | 0x400)),
        (2, ..) => return Some(i_type(0x13, 7, rd, rd, own)),
        (_, 0, 0) => (0x33, (0x20, 0)),
        (_, 0, 1) => (0x33, (0, 4)),
        (_, 0, 2) => (0x33, (0, 6)),
        (_, 0, 3) => (0x33, (0, 7)),
        (_, _, 0) => (0x3b, (0x20, 0)),
        (_, _, 1) => (0x3b, (0, 0)),
        _ => return None,
    };
    Some(r_type(opcode, funct, rd, rd, rs2))
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn halves_stand_for_words() {
        for (half, word) in [
            (0x4501, 0x0000_0513), // li a0, 0
            (0x8082, 0x0000_8067), // ret
            (0x1141, 0xff01_0113), // addi sp, sp, -16
            (0xe406, 0x0011_3423), // sd ra, 8(sp)
            (0x60a2, 0x0081_3083), // ld ra, 8(sp)
            (0x9002, 0x0010_0073), // ebreak
            (0x852e, 0x00b0_0533), // mv a0, a1
            (0x6785, 0x0000_17b7), // lui a5, 1
        ] {
            assert_eq!(expand(half), Some(word), "{half:#06x}");
        }
        assert_eq!(expand(0), None);
    }
}
