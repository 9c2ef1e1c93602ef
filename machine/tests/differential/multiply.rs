//! Multiply-accumulate instructions of the 405: what the manual says (PPC405 UM SA14-2339-04 pages 9-95 to 9-125), and
//! what qemu-ppc 7.2 does instead.

use super::generate::{DATA_SIZE, Sequence};
use super::random::Random;

/// Bits of the extended opcode, all ten of it.
mod bits {
    pub const NEGATIVE: u32 = 0x02;
    pub const ACCUMULATE: u32 = 0x04;
    pub const SIGNED: u32 = 0x20;
    pub const SATURATE: u32 = 0x40;
    pub const HALVES: u32 = 0x180;
    pub const CROSS: u32 = 0x080;
    pub const LOW: u32 = 0x180;
    pub const OVERFLOW: u32 = 0x200;
}

/// Extended opcodes of all instructions: mul, mac and nmac of three pairs of halves.
pub fn forms() -> Vec<u32> {
    let mut all = Vec::new();
    for halves in [bits::CROSS, 0, bits::LOW] {
        all.extend([0x28, 0x08].map(|form| halves | form));
        for form in [0x2c, 0x0c, 0x6c, 0x4c, 0x2e, 0x6e] {
            all.extend([halves | form, halves | form | bits::OVERFLOW]);
        }
    }
    all
}

/// A sum that is neither checked nor saturated, which qemu-ppc 7.2 does not put into rT.
pub fn discards_sum(extended: u32) -> bool {
    extended & bits::ACCUMULATE != 0 && extended & (bits::OVERFLOW | bits::SATURATE) == 0
}

/// rT, XER\[SO\] and XER\[OV\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub rt: u32,
    pub so: bool,
    pub ov: bool,
}

/// Operands and what stood in the target.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    pub a: u32,
    pub b: u32,
    pub before: Outcome,
}

fn product(extended: u32, o: &Operands) -> u32 {
    let (left, right) = match extended & bits::HALVES {
        bits::LOW => (o.a, o.b),
        bits::CROSS => (o.a, o.b >> 16),
        _ => (o.a >> 16, o.b >> 16),
    };
    let extend = |half: u32| {
        if extended & bits::SIGNED != 0 {
            i32::from(half as i16)
        } else {
            i32::from(half as u16)
        }
    };
    extend(left).wrapping_mul(extend(right)).cast_unsigned()
}

fn checked(extended: u32, before: Outcome, rt: u32, overflow: bool) -> Outcome {
    let check = extended & bits::OVERFLOW != 0;
    Outcome {
        rt,
        so: before.so || check && overflow,
        ov: if check { overflow } else { before.ov },
    }
}

/// As the manual says it, in its words: `prod` or `nprod` of 32 bits, `temp` of 33.
pub fn manual(extended: u32, o: &Operands) -> Outcome {
    let product = product(extended, o);
    if extended & bits::ACCUMULATE == 0 {
        return Outcome {
            rt: product,
            ..o.before
        };
    }
    let product = if extended & bits::NEGATIVE != 0 {
        product.wrapping_neg()
    } else {
        product
    };
    let old = o.before.rt;
    let temp = u64::from(product) + u64::from(old);
    let low = temp as u32;
    let sign = |word: u32| word >> 31;
    let (overflow, nearest) = if extended & bits::SIGNED != 0 {
        let overflow = sign(product) == sign(old) && sign(old) != sign(low);
        // RT0 and 31 times its complement.
        (overflow, if sign(old) == 1 { 1 << 31 } else { !0 >> 1 })
    } else {
        (temp >> 32 != 0, !0)
    };
    let saturated = overflow && extended & bits::SATURATE != 0;
    checked(
        extended,
        o.before,
        if saturated { nearest } else { low },
        overflow,
    )
}

/// As qemu-ppc 7.2 does it. Signed sums overflow where operands of unlike signs give a result with rT's sign, which is
/// where no sum can overflow; and a sum that is neither checked nor saturated is not kept.
pub fn judged(extended: u32, o: &Operands) -> Outcome {
    if extended & bits::ACCUMULATE == 0 {
        return manual(extended, o);
    }
    if discards_sum(extended) {
        return o.before;
    }
    if extended & bits::SIGNED == 0 {
        return manual(extended, o);
    }
    let (product, old) = (product(extended, o), o.before.rt);
    let sum = if extended & bits::NEGATIVE != 0 {
        old.wrapping_sub(product)
    } else {
        old.wrapping_add(product)
    };
    let overflow = (old ^ product) >> 31 == 1 && (old ^ sum) >> 31 == 0;
    let saturated = overflow && extended & bits::SATURATE != 0;
    let nearest = if old >> 31 == 1 { 1 << 31 } else { !0 >> 1 };
    checked(
        extended,
        o.before,
        if saturated { nearest } else { sum },
        overflow,
    )
}

/// r3, r4 and r5 with operands in which signs change and sums overflow, and the instruction on them.
pub fn sequence(extended: u32, record: u32, random: &mut Random) -> (Sequence, Operands) {
    let mut gpr = [0_u32; 32];
    for register in &mut gpr[3..6] {
        *register = random.value();
    }
    let xer = random.word() & 0xe000_0000;
    let operands = Operands {
        a: gpr[4],
        b: gpr[5],
        before: Outcome {
            rt: gpr[3],
            so: xer >> 31 == 1,
            ov: xer >> 30 & 1 == 1,
        },
    };
    let word = 4 << 26 | 3 << 21 | 4 << 16 | 5 << 11 | extended << 1 | record;
    let sequence = Sequence {
        gpr: gpr.map(u64::from),
        cr: random.word(),
        xer,
        lr: 0,
        ctr: 0,
        fpr: [0; 32],
        data: vec![0; DATA_SIZE as usize],
        words: vec![word, 0x7fe0_0008],
    };
    (sequence, operands)
}
