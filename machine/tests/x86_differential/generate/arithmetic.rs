//! Integer arithmetic, shifts, decimal adjustment and operations on bits.

use super::*;

impl Generator {
    pub(super) fn arithmetic(&mut self) {
        let size = self.size();
        let operation = self.random.below(8) as u8;
        let reg = self.register();
        // ADC and SBB read CF.
        if matches!(operation, 2 | 3) {
            self.define();
        }
        match self.random.below(7) {
            0 => self.modrm_of(size, &[operation << 3 | size.wide()], reg, operation != 7),
            1 => self.modrm(size, &[operation << 3 | 2 | size.wide()], reg),
            2 => {
                self.prefix(size);
                self.code.push(operation << 3 | 4 | size.wide());
                self.immediate(size);
            }
            3 => {
                self.modrm(size, &[0x80 | size.wide()], operation);
                self.immediate(size);
            }
            4 => {
                let size = self.random.pick(&[Size::Word, Size::Double]);
                self.modrm(size, &[0x83], operation);
                self.immediate(Size::Byte);
            }
            5 => return self.unary(size),
            _ => {
                match self.random.below(3) {
                    0 => {
                        self.prefix(size);
                        self.code.push(0xa8 | size.wide());
                        self.immediate(size);
                    }
                    1 => self.modrm(size, &[0x84 | size.wide()], reg),
                    _ => {
                        self.modrm(size, &[0xf6 | size.wide()], 0);
                        self.immediate(size);
                    }
                }
                return self.flags(STATUS, AF);
            }
        }
        let logical = matches!(operation, 1 | 4 | 6);
        self.flags(STATUS, if logical { AF } else { 0 });
    }

    /// INC, DEC, NOT, NEG.
    pub(super) fn unary(&mut self, size: Size) {
        match self.random.below(5) {
            0 => {
                let size = self.random.pick(&[Size::Word, Size::Double]);
                self.prefix(size);
                let opcode = 0x40 | self.random.below(16) as u8;
                self.code.push(opcode);
                self.flags(STATUS & !CF, 0);
            }
            1 | 2 => {
                let which = self.random.below(2) as u8;
                self.modrm_of(size, &[0xfe | size.wide()], which, true);
                self.flags(STATUS & !CF, 0);
            }
            3 => self.modrm_of(size, &[0xf6 | size.wide()], 2, true),
            _ => {
                self.modrm_of(size, &[0xf6 | size.wide()], 3, true);
                self.flags(STATUS, 0);
            }
        }
    }

    pub(super) fn shift(&mut self) {
        let size = self.size();
        let operation = self.random.below(8) as u8;
        // RCL and RCR read CF; a count of zero leaves all flags.
        if matches!(operation, 2 | 3) {
            self.define();
        }
        let rotates = operation < 4;
        let bits = 8 * size.bytes();
        match self.random.below(4) {
            0 => {
                self.modrm(size, &[0xd0 | size.wide()], operation);
                self.flags(
                    if rotates { CF | OF } else { STATUS },
                    if rotates { 0 } else { AF },
                );
            }
            1 => {
                let count = self.random.below(40);
                self.modrm(size, &[0xc0 | size.wide()], operation);
                self.code.push(count as u8);
                let count = count & 31;
                if count == 0 {
                    return;
                }
                let overflow = if count == 1 { 0 } else { OF };
                let carry = if count >= bits && matches!(operation, 4..=6) {
                    CF
                } else {
                    0
                };
                self.flags(
                    if rotates { CF | OF } else { STATUS },
                    overflow | if rotates { 0 } else { AF | carry },
                );
            }
            2 => {
                self.modrm(size, &[0xd2 | size.wide()], operation);
                let more = if rotates { 0 } else { AF | CF };
                self.flags(0, OF | more);
            }
            _ => self.double_shift(),
        }
    }

    pub(super) fn double_shift(&mut self) {
        let size = self.random.pick(&[Size::Word, Size::Double]);
        let opcode = self.random.pick(&[0xa4, 0xac]);
        let reg = self.register();
        let most = if size == Size::Word { 16 } else { 32 };
        if self.random.chance(2) {
            let count = self.random.below(most);
            self.modrm(size, &[0x0f, opcode], reg);
            self.code.push(count as u8);
            if count != 0 {
                self.flags(STATUS, AF | if count == 1 { 0 } else { OF });
            }
        } else {
            // CL last, so that no address register replaces it.
            let count = self.random.below(most) as u8;
            let rm = self.random.pick(&[0, 2, 3, 5, 6, 7]);
            self.code.extend([0xb1, count]);
            self.prefix(size);
            self.code.extend([0x0f, opcode | 1, 0xc0 | reg << 3 | rm]);
            if count != 0 {
                self.flags(STATUS, AF | if count == 1 { 0 } else { OF });
            }
        }
    }

    pub(super) fn multiply(&mut self) {
        let size = self.size();
        let undefined = SF | ZF | AF | PF;
        match self.random.below(8) {
            0 | 1 => {
                let which = 4 + self.random.below(2) as u8;
                self.modrm(size, &[0xf6 | size.wide()], which);
                self.flags(STATUS, undefined);
            }
            2 => {
                let size = self.random.pick(&[Size::Word, Size::Double]);
                let reg = self.register();
                self.modrm(size, &[0x0f, 0xaf], reg);
                self.flags(STATUS, undefined);
            }
            3 => {
                let size = self.random.pick(&[Size::Word, Size::Double]);
                let reg = self.register();
                let short = self.random.chance(2);
                self.modrm(size, &[if short { 0x6b } else { 0x69 }], reg);
                self.immediate(if short { Size::Byte } else { size });
                self.flags(STATUS, undefined);
            }
            4 | 5 => self.divide(size),
            6 => self.decimal(),
            _ => {
                // CBW, CWDE, CWD, CDQ.
                let size = self.random.pick(&[Size::Word, Size::Double]);
                self.prefix(size);
                let opcode = 0x98 | self.random.below(2) as u8;
                self.code.push(opcode);
            }
        }
    }

    /// The upper half of the dividend is often small, so that the quotient fits.
    pub(super) fn divide(&mut self, size: Size) {
        let signed = self.random.below(2) as u8;
        if self.random.chance(8) {
            self.modrm(size, &[0xf6 | size.wide()], 6 + signed);
        } else {
            let high = self.random.below(4);
            let divisor = self.random.word() | 1 << self.random.below(31) | 8;
            self.set(3, divisor);
            if size == Size::Byte {
                // MOV AH.
                self.code.extend([0xb4, high as u8]);
            } else {
                self.set(2, high);
            }
            self.prefix(size);
            self.code
                .extend([0xf6 | size.wide(), 0xc0 | (6 + signed) << 3 | 3]);
        }
        self.flags(STATUS, STATUS);
    }

    pub(super) fn decimal(&mut self) {
        self.define();
        match self.random.below(6) {
            n @ 0..=3 => {
                self.code.push([0x27, 0x2f, 0x37, 0x3f][n as usize]);
                self.flags(STATUS, if n < 2 { OF } else { OF | SF | ZF | PF });
            }
            n => {
                let base = if self.random.chance(2) {
                    10
                } else {
                    self.random.below(255) as u8 + 1
                };
                self.code.extend([if n == 4 { 0xd4 } else { 0xd5 }, base]);
                self.flags(STATUS, OF | AF | CF);
            }
        }
    }

    pub(super) fn bits(&mut self) {
        let size = self.random.pick(&[Size::Word, Size::Double]);
        let reg = self.register();
        match self.random.below(6) {
            0 => {
                // BSF, BSR of what is not zero.
                let rm = self.register();
                let bit = 1 << self.random.below(8 * size.bytes());
                self.code.extend([0x81, 0xc8 | rm]);
                self.code.extend(u32::to_le_bytes(bit));
                self.prefix(size);
                let opcode = self.random.pick(&[0xbc, 0xbd]);
                self.code.extend([0x0f, opcode, 0xc0 | reg << 3 | rm]);
                self.flags(STATUS, STATUS & !ZF);
            }
            1 => {
                let operation = 4 + self.random.below(4) as u8;
                self.modrm_of(size, &[0x0f, 0xba], operation, operation != 4);
                self.immediate(Size::Byte);
                self.flags(CF, STATUS & !(CF | ZF));
            }
            2 => {
                // Of a register by a register.
                let opcode = self.random.pick(&[0xa3, 0xab, 0xb3, 0xbb]);
                let rm = self.register();
                self.prefix(size);
                self.code.extend([0x0f, opcode, 0xc0 | reg << 3 | rm]);
                self.flags(CF, STATUS & !(CF | ZF));
            }
            3 => {
                // A string of bits: the offset reaches before and behind the operand.
                let opcode = self.random.pick(&[0xa3, 0xab, 0xb3, 0xbb]);
                let offset = self.random.below(1000) as i32 - 500;
                self.set(ECX, offset.cast_unsigned());
                self.prefix(size);
                self.absolute(&[0x0f, opcode], ECX, DATA + 128);
                self.flags(CF, STATUS & !(CF | ZF));
            }
            4 => {
                self.define();
                let condition = self.random.below(16) as u8;
                self.modrm(Size::Byte, &[0x0f, 0x90 | condition], 0);
            }
            _ => {
                self.define();
                // SAHF, LAHF, CMC, CLC, STC.
                match self.random.below(5) {
                    0 => {
                        self.code.push(0x9e);
                        self.flags(STATUS & !OF, 0);
                    }
                    1 => self.code.push(0x9f),
                    2 => self.code.push(0xf5),
                    n => self.code.push(0xf8 | (n - 3) as u8),
                }
            }
        }
    }
}
