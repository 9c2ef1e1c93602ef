//! Random instructions, and operands of every class.

use super::host::{Case, End, IMAGE, register};
use super::random::Random;

pub struct Generator {
    random: Random,
}

/// Is there such an instruction on a P6? FISTTP of its successors is left out.
fn exists(opcode: u8, modrm: u8) -> bool {
    let number = modrm >> 3 & 7;
    if modrm < 0xc0 {
        return !matches!(
            (opcode, number),
            (1, 1) | (3, 1 | 4 | 6) | (5, 1 | 5) | (7, 1)
        );
    }
    match opcode {
        1 => !matches!(modrm, 0xd1..=0xd7 | 0xe2 | 0xe3 | 0xe6 | 0xe7 | 0xef),
        2 => number < 4 || modrm == 0xe9,
        3 => number < 4 || matches!(modrm, 0xe0..=0xe4 | 0xe8..=0xf7),
        5 => number < 6,
        6 => number != 3 || modrm == 0xd9,
        7 => number < 4 || modrm == 0xe0 || matches!(number, 5 | 6),
        _ => true,
    }
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Generator {
            random: Random::new(seed),
        }
    }

    fn long(&mut self) -> u64 {
        u64::from(self.random.word()) << 32 | u64::from(self.random.word())
    }

    fn significand(&mut self) -> u64 {
        let word = self.long();
        match self.random.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX << self.random.below(64),
            3 => 1 << self.random.below(64),
            4 => word & u64::MAX << self.random.below(64),
            5 => word & u64::MAX << 40,
            6 => word & u64::MAX << 11,
            _ => word,
        }
    }

    /// A number of the register's format in which every class is likely.
    fn extended(&mut self) -> (u16, u64) {
        let sign = (self.random.word() & 0x8000) as u16;
        let significand = self.significand();
        let integer = significand | 1 << 63;
        let below = |r: &mut Random, n: u32| r.below(n) as u16;
        let r = &mut self.random;
        let (exponent, significand) = match r.below(20) {
            0 => (0, 0),
            1 => (0, significand & !(1 << 63)),
            2 => (0, integer),
            3 => (0x7fff, 1 << 63),
            4 => (0x7fff, integer | 1 << 62),
            5 => (0x7fff, 1 << 63 | significand >> 2 | 1),
            6 => (below(r, 0x8000), significand),
            7 => (1 + below(r, 70), integer),
            8 => (0x7ffe - below(r, 70), integer),
            9 => (0x3fff + 120 + below(r, 16), integer),
            10 => (0x3fff - 155 + below(r, 40), integer),
            11 => (0x3fff + 1016 + below(r, 16), integer),
            12 => (0x3fff - 1080 + below(r, 70), integer),
            13 | 14 => (0x3fff + below(r, 70), integer),
            15 => (0x3fff, 1 << 63),
            _ => (0x3fff - 8 + below(r, 16), integer),
        };
        (sign | exponent, significand)
    }

    /// An operand for transcendental functions: near their domains.
    fn angle(&mut self) -> (u16, u64) {
        if self.random.chance(4) {
            return self.extended();
        }
        let sign = (self.random.word() & 0x8000) as u16;
        let exponent = 0x3fff - self.random.below(20) as u16 + self.random.below(8) as u16;
        (sign | exponent, self.significand() | 1 << 63)
    }

    fn operand(&mut self) -> [u8; IMAGE] {
        let mut bytes = [0; IMAGE];
        for byte in &mut bytes {
            *byte = self.random.word() as u8;
        }
        match self.random.below(6) {
            0 => {
                let single = self.single();
                bytes[..4].copy_from_slice(&single.to_le_bytes());
            }
            1 | 2 => {
                let double = self.random.double();
                bytes[..8].copy_from_slice(&double.to_le_bytes());
            }
            3 => {
                let (head, significand) = self.extended();
                bytes[..8].copy_from_slice(&significand.to_le_bytes());
                bytes[8..10].copy_from_slice(&head.to_le_bytes());
            }
            4 => {
                let small = self.random.value().cast_signed();
                bytes[..8].copy_from_slice(&i64::from(small).to_le_bytes());
            }
            _ => {
                for byte in &mut bytes[..9] {
                    *byte = (self.random.below(10) | self.random.below(10) << 4) as u8;
                }
            }
        }
        bytes
    }

    fn single(&mut self) -> u32 {
        let fraction = self.random.word() & 0x7f_ffff;
        let sign = self.random.word() & 1 << 31;
        sign | match self.random.below(6) {
            0 => 0,
            1 => fraction,
            2 => 0xff << 23,
            3 => 0xff << 23 | fraction,
            4 => (1 + self.random.below(254)) << 23 | fraction,
            _ => (127 + self.random.below(16)) << 23 | fraction,
        }
    }

    pub fn case(&mut self, wanted: &impl Fn(u8, u8) -> bool) -> Case {
        let (opcode, modrm) = loop {
            let opcode = self.random.below(8) as u8;
            let modrm = match self.random.below(3) {
                0 => (self.random.below(8) << 3) as u8,
                _ => 0xc0 | self.random.below(64) as u8,
            };
            if exists(opcode, modrm) && wanted(opcode, modrm) {
                break (opcode, modrm);
            }
        };
        let transcendental = opcode == 1 && modrm >= 0xf0;
        let mut operand = self.operand();
        // A decimal operand has ten bytes whose digits are at most nine, an environment no pending error.
        if (opcode, modrm) == (7, 4 << 3) {
            for byte in &mut operand[..9] {
                *byte = (self.random.below(10) | self.random.below(10) << 4) as u8;
            }
        }
        let image = self.image(transcendental, (opcode, modrm));
        if matches!((opcode, modrm >> 3), (1 | 5, 4)) && modrm < 0xc0 {
            operand = self.image(false, (0, 0));
        }
        if (opcode, modrm) == (1, 5 << 3) {
            operand[0] |= 0x3f;
        }
        Case {
            opcode,
            modrm,
            image,
            operand,
            eflags: self.random.word() & 0x8d5,
        }
    }

    fn image(&mut self, transcendental: bool, (opcode, modrm): (u8, u8)) -> [u8; IMAGE] {
        let mut image = [0; IMAGE];
        let masks = match self.random.below(4) {
            0 => self.random.word() & 0x3f,
            _ => 0x3f,
        };
        let precision = self.random.pick(&[0, 2, 3, 3]) << 8;
        let rounding = self.random.below(4) << 10;
        let control = masks | precision | rounding | 0x40;
        // Flags that are not masked would be pending.
        let top = self.random.below(8);
        let flags = self.random.word() & masks & 0x3f | self.random.word() & 0x4740;
        let status = flags | top << 11;
        let mut tags = 0_u32;
        let crowded = self.random.below(4);
        for n in 0..8 {
            let empty = match crowded {
                0 => true,
                1 => self.random.chance(2),
                _ => self.random.chance(16),
            };
            tags |= if empty { 3 << (2 * n) } else { 0 };
        }
        if crowded == 0 || self.random.chance(2) {
            // The operands are there, and room for a result.
            tags &= !(0xf << (2 * top));
            tags &= !(3 << (2 * ((top + u32::from(modrm & 7)) & 7)));
            if opcode == 1 || modrm < 0xc0 {
                tags |= 3 << (2 * ((top + 7) & 7));
            }
        }
        let put = |image: &mut [u8; IMAGE], at: usize, word: u32| {
            image[at..at + 4].copy_from_slice(&word.to_le_bytes());
        };
        put(&mut image, 0, 0xffff_0000 | control);
        put(&mut image, 4, 0xffff_0000 | status);
        put(&mut image, 8, 0xffff_0000 | tags);
        put(&mut image, 24, 0xffff_0000);
        let likeness = self.random.chance(3);
        let mut before = self.extended();
        for i in 0..8 {
            let value = if transcendental {
                self.angle()
            } else {
                self.extended()
            };
            // Operands that are near to each other.
            let value = if likeness && i < 2 {
                let by = self.random.below(8) as u16;
                (before.0.wrapping_add(by), value.1)
            } else {
                value
            };
            before = value;
            let at = 28 + 10 * i;
            image[at..at + 8].copy_from_slice(&value.1.to_le_bytes());
            image[at + 8..at + 10].copy_from_slice(&value.0.to_le_bytes());
        }
        image
    }
}

/// Whether the host raised an underflow that processors of AMD raise, and those of Intel, which are simulated, do not:
/// a denormal number stays what it is, by a remainder of infinity or a scaling with zero, and underflow is not masked.
pub fn underflows_on_amd(case: &Case, theirs: &End) -> bool {
    const UNDERFLOW: u16 = 0x10;
    let ((head, significand), (other, of_other)) =
        (register(&case.image, 0), register(&case.image, 1));
    let denormal = head & 0x7fff == 0 && significand != 0 && significand >> 63 == 0;
    let stays = match case.modrm {
        0xf5 | 0xf8 => (other & 0x7fff, of_other) == (0x7fff, 1 << 63),
        0xfd => (other & 0x7fff, of_other) == (0, 0),
        _ => false,
    };
    case.opcode == 1
        && denormal
        && stays
        && theirs.control & UNDERFLOW == 0
        && theirs.status & UNDERFLOW != 0
}

/// C1 and the last bits of a transcendental result may differ: two such ends, made alike where they are near enough.
pub fn tolerant(case: &Case, ours: &End, theirs: &End) -> (End, End) {
    const C1: u16 = 0x200;
    const UNDERFLOW: u16 = 0x10;
    /// Units in the last place.
    const NEAR: u128 = 1;
    let (mut a, mut b) = (ours.clone(), theirs.clone());
    if !in_domain(case) {
        return (b.clone(), b);
    }
    a.status &= !C1;
    b.status &= !C1;
    for i in 0..2 {
        let (x, y) = (a.registers[i], b.registers[i]);
        let distance = order(x).abs_diff(order(y));
        if x != y && distance <= other_pi(case, y).saturating_add(NEAR) {
            b.registers[i] = x;
            // Beside the least normal number one result is tiny, with its flag and tag, and the other is not.
            if (x.0 & 0x7fff == 0) != (y.0 & 0x7fff == 0) {
                b.status = b.status & !UNDERFLOW | a.status & UNDERFLOW;
            }
            let top = usize::from(a.status >> 11 & 7);
            let tag = 3 << (2 * ((top + i) & 7));
            b.tags = b.tags & !tag | a.tags & tag;
        }
    }
    (a, b)
}

/// How many units in the last place a trigonometric `result` changes if pi has more than the 66 bits that Intel's
/// processors reduce arguments by: those of AMD have more.
fn other_pi(case: &Case, result: (u16, u64)) -> u128 {
    if !matches!(case.modrm, 0xf2 | 0xfb | 0xfe | 0xff) {
        return 0;
    }
    let value = |(head, significand): (u16, u64)| {
        let exponent = i32::from(head & 0x7fff) - 0x3fff - 63;
        significand as f64 * f64::from(exponent.clamp(-1000, 1000)).exp2()
    };
    // Pi is 0.3 of 2^-66 larger than its first 66 bits.
    let error = value(register(&case.image, 0)) / std::f64::consts::PI * 0.3 * (-66_f64).exp2();
    let slope = if case.modrm == 0xf2 {
        1.0 + value(result) * value(result)
    } else {
        1.0
    };
    let unit = value((result.0, 1)).max(f64::MIN_POSITIVE);
    (1.1 * error * slope / unit).ceil() as u128
}

/// F2XM1 and FYL2XP1 have results for some operands only.
fn in_domain(case: &Case) -> bool {
    let (head, significand) = register(&case.image, 0);
    let exponent = head & 0x7fff;
    match (case.opcode, case.modrm) {
        (1, 0xf0) => exponent < 0x3fff || (exponent, significand) == (0x3fff, 1 << 63),
        // From minus to plus 1 - sqrt(2)/2.
        (1, 0xf9) => (exponent, significand) <= (0x3ffd, 0x95f6_1998_0c43_36f7),
        _ => true,
    }
}

/// Numbers in order of value, one a unit in the last place.
fn order((head, significand): (u16, u64)) -> i128 {
    let magnitude = i128::from(head & 0x7fff) << 63 | i128::from(significand & !(1 << 63));
    if head & 0x8000 != 0 {
        -magnitude
    } else {
        magnitude
    }
}
