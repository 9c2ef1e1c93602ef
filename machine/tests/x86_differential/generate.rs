//! Random instruction sequences that stay within their code and data, and whose results the manual defines.

#[path = "generate/arithmetic.rs"]
mod arithmetic;
#[path = "generate/float.rs"]
mod float;

use super::Core;
use super::random::Random;
use float::extended;

/// First instruction of a sequence, in both machines.
pub const CODE: u32 = 0x0110_0000;
/// The memory that sequences load and store.
pub const DATA: u32 = 0x0100_0000;
pub const DATA_SIZE: u32 = 256;
/// Where a sequence loads the floating-point unit from, and stores it to at its end.
pub const LOADED: u32 = DATA + 0x200;
pub const STORED: u32 = DATA + 0x300;
pub const IMAGE_SIZE: usize = 108;

const CF: u32 = 1;
const PF: u32 = 4;
const AF: u32 = 0x10;
const ZF: u32 = 0x40;
const SF: u32 = 0x80;
const DF: u32 = 0x400;
const OF: u32 = 0x800;
/// The flags of arithmetic.
pub const STATUS: u32 = CF | PF | AF | ZF | SF | OF;

const ECX: u8 = 1;
const ESP: u8 = 4;
const ESI: u8 = 6;
const EDI: u8 = 7;

/// Everything that a sequence begins with.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub gpr: [u32; 8],
    pub eflags: u32,
    pub image: [u8; IMAGE_SIZE],
    pub data: Vec<u8>,
    pub code: Vec<u8>,
    /// Flags that its last instructions leave undefined.
    pub undefined: u32,
}

impl Sequence {
    pub fn describe(&self) -> String {
        let code: Vec<String> = self.code.iter().map(|byte| format!("{byte:02x}")).collect();
        let gpr: Vec<String> = (self.gpr.iter().enumerate())
            .map(|(n, value)| format!("r{n}={value:x}"))
            .collect();
        let tops: Vec<String> = (0..3)
            .map(|i| {
                let at = 28 + 10 * i;
                let bytes = self.image[at..at + 10].iter().rev();
                bytes.map(|byte| format!("{byte:02x}")).collect()
            })
            .collect();
        format!(
            "{}\n{} eflags={:x} st {}",
            code.join(" "),
            gpr.join(" "),
            self.eflags,
            tops.join(" ")
        )
    }
}

/// The size of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Byte,
    Word,
    Double,
}

impl Size {
    fn bytes(self) -> u32 {
        match self {
            Size::Byte => 1,
            Size::Word => 2,
            Size::Double => 4,
        }
    }

    /// The opcode's lowest bit.
    fn wide(self) -> u8 {
        u8::from(self != Size::Byte)
    }
}

/// Makes sequences of one seed.
///
/// Left out, because the manual leaves it undefined: flags as it says (each instruction's page), BSF and BSR of zero,
/// double shifts of 16-bit operands by more than 16. Left out, because it is the system's: segment registers, whose
/// selectors differ, and flags beside those of arithmetic and DF.
pub struct Generator {
    random: Random,
    core: Core,
    code: Vec<u8>,
    undefined: u32,
    /// Registers of the floating-point stack that are in use.
    depth: u32,
}

impl Generator {
    pub fn new(seed: u64, core: Core) -> Self {
        Generator {
            random: Random::new(seed),
            core,
            code: Vec::new(),
            undefined: 0,
            depth: 0,
        }
    }

    /// One sequence of `length` units, most of them one instruction.
    pub fn sequence(&mut self, length: u32) -> Sequence {
        self.code.clear();
        self.undefined = 0;
        let gpr = std::array::from_fn(|_| self.random.value());
        let mut data: Vec<u8> = (0..DATA_SIZE).map(|_| self.random.word() as u8).collect();
        for place in data.chunks_exact_mut(8).step_by(2) {
            place.copy_from_slice(&self.random.double().to_le_bytes());
        }
        let eflags = 2 | self.random.word() & STATUS;
        let floats = self.random.chance(3);
        let image = self.image();
        if floats {
            // FRSTOR
            self.absolute(&[0xdd], 4, LOADED);
        }
        let kind = self.random.below(8);
        for _ in 0..length {
            self.unit(kind, floats);
        }
        if floats {
            // FNSAVE
            self.absolute(&[0xdd], 6, STORED);
        }
        // CLD, INT3: a signal handler must find DF clear.
        self.code.extend([0xfc, 0xcc]);
        Sequence {
            gpr,
            eflags,
            image,
            data,
            code: self.code.clone(),
            undefined: self.undefined,
        }
    }

    /// All exceptions masked, and some numbers on the stack. Precision is 64 bits, because qemu-i386 7.2 rounds what it
    /// loads, and FRNDINT's result, to a lower one.
    fn image(&mut self) -> [u8; IMAGE_SIZE] {
        let mut image = [0; IMAGE_SIZE];
        let control = 0x37f | self.random.below(4) << 10;
        let top = self.random.below(8);
        self.depth = self.random.below(6);
        let used = |n: u32| (n + 8 - top) % 8 < self.depth;
        let tags = (0..8).fold(0_u32, |tags, n| {
            tags | if used(n) { 0 } else { 3 << (2 * n) }
        });
        for (at, word) in [(0, control), (4, top << 11), (8, tags)] {
            image[at..at + 2].copy_from_slice(&(word as u16).to_le_bytes());
        }
        for i in 0..8 {
            let double = f64::from_bits(self.random.double());
            let (head, significand) = extended(double);
            let at = 28 + 10 * i;
            image[at..at + 8].copy_from_slice(&significand.to_le_bytes());
            image[at + 8..at + 10].copy_from_slice(&head.to_le_bytes());
        }
        image
    }

    fn unit(&mut self, kind: u32, floats: bool) {
        let kind = if self.random.chance(3) {
            self.random.below(8)
        } else {
            kind
        };
        match kind {
            0 | 1 => self.arithmetic(),
            2 => self.shift(),
            3 => self.multiply(),
            4 => self.moves(),
            5 => self.strings(),
            6 => self.control(),
            _ if floats => self.float(),
            _ => self.bits(),
        }
    }

    fn register(&mut self) -> u8 {
        self.random.below(8) as u8
    }

    fn size(&mut self) -> Size {
        self.random
            .pick(&[Size::Byte, Size::Word, Size::Double, Size::Double])
    }

    fn prefix(&mut self, size: Size) {
        if size == Size::Word {
            self.code.push(0x66);
        }
    }

    fn immediate(&mut self, size: Size) {
        let value = self.random.value().to_le_bytes();
        self.code.extend(&value[..size.bytes() as usize]);
    }

    fn set(&mut self, register: u8, value: u32) {
        self.code.push(0xb8 | register);
        self.code.extend(value.to_le_bytes());
    }

    /// An instruction with a memory operand at a fixed address.
    fn absolute(&mut self, opcode: &[u8], reg: u8, address: u32) {
        self.code.extend(opcode);
        self.code.push(reg << 3 | 5);
        self.code.extend(address.to_le_bytes());
    }

    /// Flags that an instruction defines, and those that it leaves undefined.
    fn flags(&mut self, defined: u32, undefined: u32) {
        self.undefined = self.undefined & !defined | undefined;
    }

    /// Before an instruction that reads flags: CMP of two registers defines them all.
    fn define(&mut self) {
        if self.undefined != 0 {
            let modrm = 0xc0 | self.random.below(64) as u8;
            self.code.extend([0x39, modrm]);
            self.undefined = 0;
        }
    }

    /// The bytes behind an opcode for a memory operand of `bytes` bytes in the data, and what must come before the
    /// instruction to load its registers.
    fn memory(&mut self, reg: u8, bytes: u32) -> (Vec<u8>, Vec<u8>) {
        let address = DATA + self.random.below(DATA_SIZE - bytes + 1);
        self.address(reg, address)
    }

    fn address(&mut self, reg: u8, address: u32) -> (Vec<u8>, Vec<u8>) {
        let (mut before, mut operand) = (Vec::new(), Vec::new());
        let load = |before: &mut Vec<u8>, register: u8, value: u32| {
            before.push(0xb8 | register);
            before.extend(value.to_le_bytes());
        };
        let base = self.register();
        let short = self.random.word() as u8;
        let long = self.random.value();
        let (mode, displacement) = match self.random.below(4) {
            0 => (5, None),
            1 if base != 5 => (0, Some(0)),
            2 => (0x40, Some(i32::from(short.cast_signed()).cast_unsigned())),
            _ => (0x80, Some(long)),
        };
        let Some(displacement) = displacement else {
            operand.push(reg << 3 | 5);
            operand.extend(address.to_le_bytes());
            return (before, operand);
        };
        let rest = address.wrapping_sub(displacement);
        let scaled = self.random.chance(3) || base == ESP;
        if scaled {
            let scale = self.random.below(4);
            let index = self.register();
            let other = self.random.value();
            operand.extend([mode | reg << 3 | 4, (scale << 6) as u8 | index << 3 | base]);
            if index == ESP {
                // No index.
                load(&mut before, base, rest);
            } else if index == base {
                // One register twice: it is as good as absolute.
                return self.address(reg, address);
            } else {
                load(&mut before, index, other);
                load(&mut before, base, rest.wrapping_sub(other << scale));
            }
        } else {
            operand.push(mode | reg << 3 | base);
            load(&mut before, base, rest);
        }
        match mode {
            0x40 => operand.push(short),
            0x80 => operand.extend(long.to_le_bytes()),
            _ => {}
        }
        (before, operand)
    }

    /// An instruction with a register or memory operand.
    fn modrm(&mut self, size: Size, opcode: &[u8], reg: u8) {
        self.modrm_of(size, opcode, reg, false);
    }

    fn modrm_of(&mut self, size: Size, opcode: &[u8], reg: u8, lockable: bool) {
        if self.random.chance(2) {
            self.prefix(size);
            self.code.extend(opcode);
            let rm = self.register();
            self.code.push(0xc0 | reg << 3 | rm);
            return;
        }
        let (before, operand) = self.memory(reg, size.bytes());
        self.code.extend(before);
        if lockable && self.random.chance(4) {
            self.code.push(0xf0);
        }
        self.prefix(size);
        self.code.extend(opcode);
        self.code.extend(operand);
    }

    fn moves(&mut self) {
        let size = self.size();
        let reg = self.register();
        match self.random.below(16) {
            0 => self.modrm(size, &[0x88 | size.wide()], reg),
            1 => self.modrm(size, &[0x8a | size.wide()], reg),
            2 => {
                self.modrm(size, &[0xc6 | size.wide()], 0);
                self.immediate(size);
            }
            3 => {
                self.prefix(size);
                self.code
                    .push(if size == Size::Byte { 0xb0 } else { 0xb8 } | reg);
                self.immediate(size);
            }
            4 => {
                // The accumulator at a fixed address.
                let address = DATA + self.random.below(DATA_SIZE - 4);
                self.prefix(size);
                let store = self.random.below(2) as u8;
                self.code.push(0xa0 | store << 1 | size.wide());
                self.code.extend(address.to_le_bytes());
            }
            5 | 6 => {
                // MOVZX, MOVSX.
                let from = self.random.pick(&[Size::Byte, Size::Word]);
                let to = self.random.pick(&[Size::Word, Size::Double]);
                let opcode = self.random.pick(&[0xb6, 0xbe]) | from.wide();
                let (before, operand) = self.memory(reg, 2);
                let memory = self.random.chance(2);
                if memory {
                    self.code.extend(before);
                }
                self.prefix(to);
                self.code.extend([0x0f, opcode]);
                if memory {
                    self.code.extend(operand);
                } else {
                    let rm = self.register();
                    self.code.push(0xc0 | reg << 3 | rm);
                }
            }
            7 => {
                let (before, operand) = self.memory(reg, 1);
                self.code.extend(before);
                self.prefix(size);
                self.code.push(0x8d);
                self.code.extend(operand);
            }
            8 => self.modrm_of(size, &[0x86 | size.wide()], reg, true),
            9 => {
                self.prefix(size);
                self.code.push(0x90 | reg);
            }
            10 => self.code.extend([0x0f, 0xc8 | reg]),
            11 => {
                self.modrm_of(size, &[0x0f, 0xc0 | size.wide()], reg, true);
                self.flags(STATUS, 0);
            }
            12 => {
                self.modrm_of(size, &[0x0f, 0xb0 | size.wide()], reg, true);
                self.flags(STATUS, 0);
            }
            13 => {
                // XLAT with EBX in the data.
                self.set(3, DATA);
                self.code.push(0xd7);
            }
            14 if self.core == Core::P6 => {
                self.define();
                let condition = self.random.below(16) as u8;
                let size = self.random.pick(&[Size::Word, Size::Double]);
                self.modrm(size, &[0x0f, 0x40 | condition], reg);
            }
            15 if self.core == Core::P6 => {
                let (before, operand) = self.memory(1, 8);
                self.define();
                self.code.extend(before);
                // qemu-i386 7.2 takes older flags for those that CMPXCHG8B keeps, unless it begins a block: JMP to it.
                self.code.extend([0xeb, 0x00, 0x0f, 0xc7]);
                self.code.extend(operand);
                self.flags(ZF, 0);
            }
            _ => self.stack(),
        }
    }

    /// Pushes and pops, with ESP in the middle of the data.
    fn stack(&mut self) {
        let middle = DATA + 96 + self.random.below(64);
        self.set(ESP, middle);
        for _ in 0..self.random.below(5) + 1 {
            let size = self.random.pick(&[Size::Word, Size::Double, Size::Double]);
            match self.random.below(9) {
                0 | 1 => {
                    self.prefix(size);
                    let register = self.register();
                    self.code.push(0x50 | register);
                }
                2 => {
                    self.prefix(size);
                    let register = self.random.pick(&[0, 1, 2, 3, 5, 6, 7]);
                    self.code.push(0x58 | register);
                }
                3 => {
                    self.prefix(size);
                    self.code.push(0x6a);
                    self.immediate(Size::Byte);
                }
                4 => {
                    self.prefix(size);
                    self.code.push(0x68);
                    self.immediate(size);
                }
                5 => {
                    // PUSH and POP of memory at a fixed address.
                    let address = DATA + self.random.below(DATA_SIZE - 4);
                    self.prefix(size);
                    let pop = self.random.chance(2);
                    let (opcode, reg) = if pop { (0x8f, 0) } else { (0xff, 6) };
                    self.absolute(&[opcode], reg, address);
                }
                6 => {
                    // PUSHF, whose system flags differ: AND clears them.
                    self.define();
                    self.code.push(0x9c);
                    self.code.extend([0x81, 0x24, 0x24]);
                    self.code.extend((STATUS | DF).to_le_bytes());
                    self.flags(STATUS, AF);
                }
                7 => {
                    // POPF of flags of arithmetic.
                    let flags = self.random.word() & STATUS;
                    self.code.push(0x68);
                    self.code.extend(flags.to_le_bytes());
                    self.code.push(0x9d);
                    self.flags(STATUS, 0);
                }
                _ => {
                    // PUSHA, POPA; ENTER, LEAVE.
                    if self.random.chance(2) {
                        self.set(ESP, middle);
                        let opcode = 0x60 | self.random.below(2) as u8;
                        self.prefix(size);
                        self.code.push(opcode);
                        self.set(ESP, middle);
                    } else {
                        self.set(5, middle);
                        let level = self.random.below(3) as u8;
                        let bytes = self.random.below(16) as u8;
                        self.code.extend([0xc8, bytes, 0, level, 0xc9]);
                    }
                }
            }
        }
    }

    fn strings(&mut self) {
        let size = self.size();
        let opcode = self.random.pick(&[0xa4, 0xa6, 0xaa, 0xac, 0xae]) | size.wide();
        let compares = matches!(opcode & 0xfe, 0xa6 | 0xae);
        let (from, to) = (self.random.below(60), self.random.below(60));
        self.set(ESI, DATA + 96 + from);
        self.set(EDI, DATA + 96 + to);
        let backwards = self.random.chance(3);
        self.code.push(if backwards { 0xfd } else { 0xfc });
        let count = self.random.below(20);
        match self.random.below(4) {
            0 => {}
            repeat => {
                self.set(ECX, count);
                let not_equal = compares && repeat == 1;
                self.code.push(if not_equal { 0xf2 } else { 0xf3 });
                // A count of zero leaves the flags.
                if compares && count == 0 {
                    self.prefix(size);
                    self.code.push(opcode);
                    self.code.push(0xfc);
                    return;
                }
            }
        }
        self.prefix(size);
        self.code.push(opcode);
        self.code.push(0xfc);
        if compares {
            self.flags(STATUS, 0);
        }
    }

    fn control(&mut self) {
        self.define();
        match self.random.below(6) {
            0..=2 => {
                // A conditional branch over the next unit.
                let condition = self.random.below(16) as u8;
                let near = self.random.chance(2);
                let at = self.code.len();
                if near {
                    self.code.extend([0x0f, 0x80 | condition, 0, 0, 0, 0]);
                } else {
                    self.code.extend([0x70 | condition, 0]);
                }
                let from = self.code.len();
                self.arithmetic();
                self.define();
                let distance = self.code.len() - from;
                if near {
                    let bytes = (distance as u32).to_le_bytes();
                    self.code[at + 2..at + 6].copy_from_slice(&bytes);
                } else {
                    self.code[at + 1] = distance as u8;
                }
            }
            3 => {
                // A loop whose body keeps the counter.
                let count = 1 + self.random.below(6);
                self.set(ECX, count);
                let start = self.code.len();
                let rm = self.random.pick(&[0, 2, 3, 5, 6, 7]);
                let operation = self.random.pick(&[0, 5, 6, 7]);
                let reg = self.register();
                self.code.extend([operation << 3 | 1, 0xc0 | reg << 3 | rm]);
                let opcode = 0xe0 | self.random.below(3) as u8;
                let distance = self.code.len() + 2 - start;
                self.code.extend([opcode, (distance as u8).wrapping_neg()]);
                self.flags(STATUS, if operation == 6 { AF } else { 0 });
            }
            4 => {
                // CALL over a return: the callee is behind a jump.
                self.set(ESP, DATA + 128);
                let indirect = self.random.chance(2);
                let bytes = self.random.chance(2);
                let back: &[u8] = if bytes { &[0xc2, 4, 0] } else { &[0xc3] };
                self.code.extend([0xeb, back.len() as u8]);
                let callee = CODE + self.code.len() as u32;
                self.code.extend(back);
                if indirect {
                    self.set(3, callee);
                    self.code.extend([0xff, 0xd3]);
                } else {
                    let next = CODE + self.code.len() as u32 + 5;
                    self.code.push(0xe8);
                    self.code.extend(callee.wrapping_sub(next).to_le_bytes());
                }
            }
            _ => {
                // JECXZ over an instruction; INTO, BOUND.
                match self.random.below(6) {
                    0 => self.code.push(0xce),
                    1 => {
                        let reg = self.register();
                        let address = DATA + self.random.below(DATA_SIZE - 8);
                        self.absolute(&[0x62], reg, address);
                    }
                    _ => {
                        let reg = self.register();
                        self.code.extend([0xe3, 1, 0x40 | reg]);
                        self.define();
                    }
                }
            }
        }
    }
}
