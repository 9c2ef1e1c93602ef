//! Instructions of two bytes, each of which stands for one of four (RISC-V Unprivileged ISA, chapter 16).

/// Bits of a half word, put at another place.
fn bits(half: u16, from: u32, count: u32, to: u32) -> u32 {
    (u32::from(half) >> from & ((1 << count) - 1)) << to
}

/// A field with a sign, of `width` bits.
fn signed(value: u32, width: u32) -> u32 {
    (value << (32 - width))
        .cast_signed()
        .wrapping_shr(32 - width)
        .cast_unsigned()
}

fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: u32) -> u32 {
    immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

fn s_type(opcode: u32, funct3: u32, rs1: u32, rs2: u32, immediate: u32) -> u32 {
    (immediate >> 5 & 0x7f) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (immediate & 31) << 7
        | opcode
}

fn r_type(opcode: u32, funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

fn jump(rd: u32, offset: u32) -> u32 {
    (offset >> 20 & 1) << 31
        | (offset >> 1 & 0x3ff) << 21
        | (offset >> 11 & 1) << 20
        | (offset >> 12 & 0xff) << 12
        | rd << 7
        | 0x6f
}

fn branch(funct3: u32, rs1: u32, offset: u32) -> u32 {
    (offset >> 12 & 1) << 31
        | (offset >> 5 & 0x3f) << 25
        | rs1 << 15
        | funct3 << 12
        | (offset >> 1 & 15) << 8
        | (offset >> 11 & 1) << 7
        | 0x63
}

const STACK: u32 = 2;

/// The instruction of four bytes that `half` stands for; `None` if it stands for none.
#[must_use]
pub fn expand(half: u16) -> Option<u32> {
    let funct3 = bits(half, 13, 3, 0);
    // Registers of three bits are x8 to x15.
    let (low, high) = (bits(half, 2, 3, 0) + 8, bits(half, 7, 3, 0) + 8);
    let (rd, rs2) = (bits(half, 7, 5, 0), bits(half, 2, 5, 0));
    let immediate = signed(bits(half, 12, 1, 5) | bits(half, 2, 5, 0), 6);
    match (half & 3, funct3) {
        (0, 0) => {
            let offset = bits(half, 11, 2, 4)
                | bits(half, 7, 4, 6)
                | bits(half, 6, 1, 2)
                | bits(half, 5, 1, 3);
            (offset != 0).then(|| i_type(0x13, 0, low, STACK, offset))
        }
        (0, 1) => Some(i_type(0x07, 3, low, high, double_offset(half))),
        (0, 2) => Some(i_type(0x03, 2, low, high, word_offset(half))),
        (0, 3) => Some(i_type(0x03, 3, low, high, double_offset(half))),
        (0, 5) => Some(s_type(0x27, 3, high, low, double_offset(half))),
        (0, 6) => Some(s_type(0x23, 2, high, low, word_offset(half))),
        (0, 7) => Some(s_type(0x23, 3, high, low, double_offset(half))),
        (1, 0) => Some(i_type(0x13, 0, rd, rd, immediate & 0xfff)),
        (1, 1) => (rd != 0).then(|| i_type(0x1b, 0, rd, rd, immediate & 0xfff)),
        (1, 2) => Some(i_type(0x13, 0, rd, 0, immediate & 0xfff)),
        (1, 3) if rd == STACK => {
            let offset = bits(half, 12, 1, 9)
                | bits(half, 6, 1, 4)
                | bits(half, 5, 1, 6)
                | bits(half, 3, 2, 7)
                | bits(half, 2, 1, 5);
            (offset != 0).then(|| i_type(0x13, 0, STACK, STACK, signed(offset, 10) & 0xfff))
        }
        (1, 3) => (immediate != 0).then_some(immediate << 12 | rd << 7 | 0x37),
        (1, 4) => arithmetic(half, high, low, immediate),
        (1, 5) => Some(jump(0, jump_offset(half))),
        (1, 6) => Some(branch(0, high, branch_offset(half))),
        (1, 7) => Some(branch(1, high, branch_offset(half))),
        (2, 0) => Some(i_type(0x13, 1, rd, rd, immediate & 0x3f)),
        (2, 1) => Some(i_type(0x07, 3, rd, STACK, stack_double(half))),
        (2, 2) => (rd != 0).then(|| {
            let offset = bits(half, 12, 1, 5) | bits(half, 4, 3, 2) | bits(half, 2, 2, 6);
            i_type(0x03, 2, rd, STACK, offset)
        }),
        (2, 3) => (rd != 0).then(|| i_type(0x03, 3, rd, STACK, stack_double(half))),
        (2, 4) => match (half >> 12 & 1, rd, rs2) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(i_type(0x67, 0, 0, rd, 0)),
            (0, ..) => Some(r_type(0x33, 0, 0, rd, 0, rs2)),
            (_, 0, 0) => Some(0x0010_0073),
            (_, _, 0) => Some(i_type(0x67, 0, 1, rd, 0)),
            _ => Some(r_type(0x33, 0, 0, rd, rd, rs2)),
        },
        (2, 5) => Some(s_type(
            0x27,
            3,
            STACK,
            rs2,
            bits(half, 10, 3, 3) | bits(half, 7, 3, 6),
        )),
        (2, 6) => Some(s_type(
            0x23,
            2,
            STACK,
            rs2,
            bits(half, 9, 4, 2) | bits(half, 7, 2, 6),
        )),
        (2, 7) => Some(s_type(
            0x23,
            3,
            STACK,
            rs2,
            bits(half, 10, 3, 3) | bits(half, 7, 3, 6),
        )),
        _ => None,
    }
}

fn word_offset(half: u16) -> u32 {
    bits(half, 10, 3, 3) | bits(half, 6, 1, 2) | bits(half, 5, 1, 6)
}

fn double_offset(half: u16) -> u32 {
    bits(half, 10, 3, 3) | bits(half, 5, 2, 6)
}

fn stack_double(half: u16) -> u32 {
    bits(half, 12, 1, 5) | bits(half, 5, 2, 3) | bits(half, 2, 3, 6)
}

fn jump_offset(half: u16) -> u32 {
    let offset = bits(half, 12, 1, 11)
        | bits(half, 11, 1, 4)
        | bits(half, 9, 2, 8)
        | bits(half, 8, 1, 10)
        | bits(half, 7, 1, 6)
        | bits(half, 6, 1, 7)
        | bits(half, 3, 3, 1)
        | bits(half, 2, 1, 5);
    signed(offset, 12)
}

fn branch_offset(half: u16) -> u32 {
    let offset = bits(half, 12, 1, 8)
        | bits(half, 10, 2, 3)
        | bits(half, 5, 2, 6)
        | bits(half, 3, 2, 1)
        | bits(half, 2, 1, 5);
    signed(offset, 9)
}

/// Quadrant 1 with funct3 4: shifts and arithmetic of x8 to x15.
fn arithmetic(half: u16, rd: u32, rs2: u32, immediate: u32) -> Option<u32> {
    match (half >> 10 & 3, half >> 12 & 1, half >> 5 & 3) {
        (0, ..) => Some(i_type(0x13, 5, rd, rd, immediate & 0x3f)),
        (1, ..) => Some(i_type(0x13, 5, rd, rd, immediate & 0x3f | 0x400)),
        (2, ..) => Some(i_type(0x13, 7, rd, rd, immediate & 0xfff)),
        (_, 0, 0) => Some(r_type(0x33, 0x20, 0, rd, rd, rs2)),
        (_, 0, 1) => Some(r_type(0x33, 0, 4, rd, rd, rs2)),
        (_, 0, 2) => Some(r_type(0x33, 0, 6, rd, rd, rs2)),
        (_, 0, 3) => Some(r_type(0x33, 0, 7, rd, rd, rs2)),
        (_, _, 0) => Some(r_type(0x3b, 0x20, 0, rd, rd, rs2)),
        (_, _, 1) => Some(r_type(0x3b, 0, 0, rd, rd, rs2)),
        _ => None,
    }
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
