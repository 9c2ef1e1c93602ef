//! The x87 unit's instructions, and the numbers that they begin with.

use super::*;

impl Generator {
    /// An address in the data for a floating-point operand.
    pub(super) fn float_memory(&mut self, opcode: u8, reg: u8, bytes: u32) {
        // Doubles are where they were put, so that all classes of numbers occur.
        let address = if self.random.chance(3) {
            DATA + self.random.below(DATA_SIZE - bytes + 1)
        } else {
            DATA + (self.random.below(DATA_SIZE - 16) & !7)
        };
        let (before, operand) = self.address(reg, address);
        self.code.extend(before);
        self.code.push(opcode);
        self.code.extend(operand);
    }

    /// Arithmetic with an operand in memory. No signalling NaN is there, because qemu-i386 7.2 makes a quiet one of it
    /// before it chooses between two NaNs.
    pub(super) fn arithmetic_operand(&mut self, opcode: u8, operation: u8, bytes: u32) {
        let address = DATA + self.random.below(DATA_SIZE - bytes + 1);
        let value = match bytes {
            8 => {
                let double = self.random.double();
                let quiet = if f64::from_bits(double).is_nan() {
                    1 << 51
                } else {
                    0
                };
                double | quiet
            }
            4 if opcode == 0xd8 => {
                let single = self.random.word();
                let quiet = if f32::from_bits(single).is_nan() {
                    1 << 22
                } else {
                    0
                };
                (single | quiet).into()
            }
            _ => self.random.value().into(),
        };
        let words = value.to_le_bytes();
        for at in (0..bytes.max(4)).step_by(4) {
            let place = address.min(DATA + DATA_SIZE - 4) + at;
            self.absolute(&[0xc7], 0, place);
            self.code.extend(&words[at as usize..at as usize + 4]);
        }
        let (before, operand) = self.address(operation, address);
        self.code.extend(before);
        self.code.push(opcode);
        self.code.extend(operand);
    }

    /// Only what finds its operands, and room for its result: qemu-i386 knows no stack faults.
    pub(super) fn float(&mut self) {
        let i = if self.depth > 0 {
            self.random.below(self.depth) as u8
        } else {
            0
        };
        match self.random.below(12) {
            0..=2 if self.depth < 7 => {
                let (opcode, reg, bytes) = self.random.pick(&[
                    (0xd9, 0, 4),
                    (0xdd, 0, 8),
                    (0xdd, 0, 8),
                    (0xdb, 0, 4),
                    (0xdf, 0, 2),
                    (0xdf, 5, 8),
                    (0xdb, 5, 10),
                ]);
                self.float_memory(opcode, reg, bytes);
                self.depth += 1;
            }
            3 if self.depth < 7 => {
                if self.depth > 0 && self.random.chance(2) {
                    self.code.extend([0xd9, 0xc0 | i]);
                } else {
                    let constant = 0xe8 + self.random.below(7) as u8;
                    self.code.extend([0xd9, constant]);
                }
                self.depth += 1;
            }
            _ if self.depth == 0 => {}
            4 => {
                let (opcode, reg, bytes, pops) = self.random.pick(&[
                    (0xd9, 2, 4, 0),
                    (0xd9, 3, 4, 1),
                    (0xdd, 2, 8, 0),
                    (0xdd, 3, 8, 1),
                    (0xdb, 2, 4, 0),
                    (0xdb, 3, 4, 1),
                    (0xdf, 2, 2, 0),
                    (0xdf, 3, 2, 1),
                    (0xdf, 7, 8, 1),
                    (0xdb, 7, 10, 1),
                ]);
                self.float_memory(opcode, reg, bytes);
                self.depth -= pops;
            }
            5 | 6 => {
                let operation = self.random.pick(&[0, 1, 4, 5, 6, 7]);
                let opcode = self.random.pick(&[0xd8, 0xdc]);
                self.code.extend([opcode, 0xc0 | operation << 3 | i]);
            }
            7 => {
                let operation = self.random.pick(&[0, 1, 4, 5, 6, 7]);
                let (opcode, bytes) =
                    self.random
                        .pick(&[(0xd8, 4), (0xdc, 8), (0xda, 4), (0xde, 2)]);
                self.arithmetic_operand(opcode, operation, bytes);
            }
            8 if i > 0 => {
                let operation = self.random.pick(&[0, 1, 4, 5, 6, 7]);
                self.code.extend([0xde, 0xc0 | operation << 3 | i]);
                self.depth -= 1;
            }
            9 => {
                // A comparison, whose codes go to AX and to the flags.
                let [first, second] =
                    self.random
                        .pick(&[[0xd8, 0xd0], [0xdd, 0xe0], [0xd9, 0xe4], [0xd9, 0xe5]]);
                let register = if first == 0xd9 { 0 } else { i };
                self.code.extend([first, second | register]);
                // FNSTSW AX, AND AH without C1, SAHF.
                self.code.extend([0xdf, 0xe0, 0x66, 0x25, 0x00, 0x45, 0x9e]);
                self.flags(STATUS, 0);
            }
            10 => {
                let unary = self.random.pick(&[0xe0, 0xe1, 0xfa, 0xfc]);
                self.code.extend([0xd9, unary]);
            }
            _ => {
                if self.random.chance(2) {
                    self.code.extend([0xd9, 0xc8 | i]);
                } else if self.core == Core::P6 {
                    self.define();
                    if self.random.chance(2) {
                        let opcode = self.random.pick(&[0xda, 0xdb]);
                        let condition = self.random.below(4) as u8;
                        self.code.extend([opcode, 0xc0 | condition << 3 | i]);
                    } else {
                        let which = self.random.pick(&[0xe8, 0xf0]);
                        self.code.extend([0xdb, which | i]);
                        self.flags(STATUS, OF | SF | AF);
                    }
                }
            }
        }
    }
}

/// A double in the unit's own format.
pub(super) fn extended(value: f64) -> (u16, u64) {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let (field, fraction) = ((bits >> 52 & 0x7ff) as u16, bits << 12);
    match field {
        0 if fraction == 0 => (sign, 0),
        // A denormal double is a normal number here.
        0 => {
            let shift = fraction.leading_zeros() as u16;
            (sign | (0x3fff - 1022 - shift - 1), fraction << shift)
        }
        0x7ff => (sign | 0x7fff, 1 << 63 | fraction >> 1),
        _ => (sign | (field + 0x3fff - 1023), 1 << 63 | fraction >> 1),
    }
}
