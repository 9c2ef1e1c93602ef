//! From bytes to an [`Op`] (SDM volume 2, appendix A).

use super::access::{Byte, Double, Word};
use super::clocks::Class;
use super::config::Kind;
use super::execute::arithmetic::{
    Add, AddCarry, And, Or, Sub, SubBorrow, Xor, alu, carry_flag, compare, compare_exchange,
    compare_exchange_wide, decrement, exchange_add, illegal, increment, invert, negate, too_long,
};
use super::execute::multiply::{divide, divide_signed, multiply, multiply_short, multiply_signed};
use super::execute::shift::{
    ByCl, ByImmediate, Rcl, Rcr, Rol, Ror, Sar, Shl, Shr, left_double, right_double, shift,
};
use super::execute::string::{
    Compares, Inputs, Loads, Moves, Outputs, Scans, Stores, repeat, string,
};
use super::execute::{Immediate, Memory, Reg, Rm};
use super::execute::{bits, branch, decimal, float, move_data, stack, system};
use super::op::{Handler, NARROW_ADDRESS, Op};
use super::registers::{gpr, segment};

/// The longest instruction.
pub const LONGEST: usize = 15;

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct Decoded {
    pub op: Op,
    pub length: usize,
    /// It ends a block: it jumps, or changes what the next instruction must see.
    pub ends: bool,
    /// General registers that it writes early enough for the next instruction's address to wait: one bit each.
    pub writes: u8,
}

/// How code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub kind: Kind,
    /// Operands and addresses have 32 bits unless a prefix says otherwise.
    pub wide: bool,
    /// What the LOCK prefix adds, in slots.
    pub lock: u16,
}

/// The instruction that `bytes` begin with; `None` if it goes on behind them. `written`: registers that the instruction
/// before wrote.
#[must_use]
pub fn decode(bytes: &[u8], mode: Mode, written: u8) -> Option<Decoded> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let mut decoder = Decoder {
        bytes,
        at: 0,
        mode,
        narrow: !mode.wide,
        narrow_address: !mode.wide,
        segment: None,
        repeat: repeat::ONCE,
        lock: false,
        prefixes: 0,
        op: Op::new(illegal),
        class: Class::Illegal,
        ends: false,
        lockable: false,
        writes: 0,
        register_form: false,
        has_displacement: false,
        has_immediate: false,
    };
    if decoder.instruction().is_none() {
        if bytes.len() < LONGEST {
            return None;
        }
        decoder.op = Op::new(too_long);
        decoder.at = LONGEST;
        decoder.ends = true;
    }
    Some(decoder.finish(written))
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    mode: Mode,
    /// Operands have 16 bits.
    narrow: bool,
    /// Addresses have 16 bits.
    narrow_address: bool,
    segment: Option<u8>,
    repeat: u8,
    lock: bool,
    prefixes: u16,
    op: Op,
    class: Class,
    ends: bool,
    /// LOCK is allowed.
    lockable: bool,
    writes: u8,
    /// ModRM names a register.
    register_form: bool,
    has_displacement: bool,
    has_immediate: bool,
}

/// A handler for the operand size, of 16 or 32 bits: `f[before][after]` is `f::<before, size, after>`.
macro_rules! sized {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.narrow {
            $f $(:: $g)? ::<$($before,)* Word $(, $t)*> as Handler
        } else {
            $f $(:: $g)? ::<$($before,)* Double $(, $t)*> as Handler
        }
    };
}

/// The same for an operand that ModRM names, a register or memory: `f::<before, size, operand, after>`.
macro_rules! operand {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.register_form {
            sized!($d, $f $(:: $g)? [$($before)*] [Rm $($t)*])
        } else {
            sized!($d, $f $(:: $g)? [$($before)*] [Memory $($t)*])
        }
    };
}

/// The same for bytes.
macro_rules! byte_operand {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.register_form {
            $f $(:: $g)? ::<$($before,)* Byte, Rm $(, $t)*> as Handler
        } else {
            $f $(:: $g)? ::<$($before,)* Byte, Memory $(, $t)*> as Handler
        }
    };
}

/// [`sized`] for bytes.
macro_rules! byte_only {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        $f $(:: $g)? ::<$($before,)* Byte $(, $t)*> as Handler
    };
}

/// A handler for one of the eight operations ADD, OR, ADC, SBB, AND, SUB, XOR, CMP.
macro_rules! by_operation {
    ($number:expr, $how:ident, $d:ident, [$($t:ident)*]) => {
        match $number & 7 {
            0 => $how!($d, alu[Add][$($t)*]),
            1 => $how!($d, alu[Or][$($t)*]),
            2 => $how!($d, alu[AddCarry][$($t)*]),
            3 => $how!($d, alu[SubBorrow][$($t)*]),
            4 => $how!($d, alu[And][$($t)*]),
            5 => $how!($d, alu[Sub][$($t)*]),
            6 => $how!($d, alu[Xor][$($t)*]),
            _ => $how!($d, compare[Sub][$($t)*]),
        }
    };
}

/// A handler for one of the shifts and rotates.
macro_rules! by_shift {
    ($number:expr, $how:ident, $d:ident, $count:ident) => {
        match $number & 7 {
            0 => $how!($d, shift[Rol][$count]),
            1 => $how!($d, shift[Ror][$count]),
            2 => $how!($d, shift[Rcl][$count]),
            3 => $how!($d, shift[Rcr][$count]),
            5 => $how!($d, shift[Shr][$count]),
            7 => $how!($d, shift[Sar][$count]),
            _ => $how!($d, shift[Shl][$count]),
        }
    };
}

/// A handler for one of the sixteen conditions.
macro_rules! by_condition {
    ($number:expr, $width:ident) => {
        match $number & 15 {
            0 => branch::jump_if::<$width, 0> as Handler,
            1 => branch::jump_if::<$width, 1>,
            2 => branch::jump_if::<$width, 2>,
            3 => branch::jump_if::<$width, 3>,
            4 => branch::jump_if::<$width, 4>,
            5 => branch::jump_if::<$width, 5>,
            6 => branch::jump_if::<$width, 6>,
            7 => branch::jump_if::<$width, 7>,
            8 => branch::jump_if::<$width, 8>,
            9 => branch::jump_if::<$width, 9>,
            10 => branch::jump_if::<$width, 10>,
            11 => branch::jump_if::<$width, 11>,
            12 => branch::jump_if::<$width, 12>,
            13 => branch::jump_if::<$width, 13>,
            14 => branch::jump_if::<$width, 14>,
            _ => branch::jump_if::<$width, 15>,
        }
    };
}

impl Decoder<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from(self.byte()?) | u32::from(self.byte()?) << 8)
    }

    fn double(&mut self) -> Option<u32> {
        Some(self.word()? | self.word()? << 16)
    }

    fn signed_byte(&mut self) -> Option<u32> {
        Some(i32::from(self.byte()?.cast_signed()).cast_unsigned())
    }

    /// An immediate of the operand size.
    fn immediate(&mut self) -> Option<()> {
        self.op.immediate = if self.narrow {
            self.word()?
        } else {
            self.double()?
        };
        self.has_immediate = true;
        Some(())
    }

    fn immediate_byte(&mut self) -> Option<()> {
        self.op.immediate = self.byte()?.into();
        self.has_immediate = true;
        Some(())
    }

    /// A byte whose sign is extended.
    fn immediate_signed(&mut self) -> Option<()> {
        self.op.immediate = self.signed_byte()?;
        self.has_immediate = true;
        Some(())
    }

    fn set(&mut self, run: Handler, class: Class) {
        self.op.run = run;
        self.class = class;
    }

    /// Of a register form, or of a form with memory.
    fn set_by_form(&mut self, run: Handler, register: Class, memory: Class) {
        self.op.run = run;
        self.class = if self.register_form { register } else { memory };
    }

    /// ModRM, SIB and displacement.
    fn modrm(&mut self) -> Option<u8> {
        let modrm = self.byte()?;
        self.op.reg = modrm >> 3 & 7;
        self.op.rm = modrm & 7;
        self.register_form = modrm >= 0xc0;
        if self.register_form {
            return Some(modrm);
        }
        let default = if self.narrow_address {
            self.narrow_form(modrm)?
        } else {
            self.wide_form(modrm)?
        };
        self.op.segment = self.segment.unwrap_or(default);
        Some(modrm)
    }

    /// An address of 16 bits; returns its usual segment.
    fn narrow_form(&mut self, modrm: u8) -> Option<u8> {
        use gpr::{EBP, EBX, EDI, ESI, NONE};
        let (base, index) = match modrm & 7 {
            0 => (EBX, ESI),
            1 => (EBX, EDI),
            2 => (EBP, ESI),
            3 => (EBP, EDI),
            4 => (ESI, NONE),
            5 => (EDI, NONE),
            6 => (EBP, NONE),
            _ => (EBX, NONE),
        };
        self.op.scale = NARROW_ADDRESS;
        (self.op.base, self.op.index) = (base, index);
        match modrm >> 6 {
            0 if modrm & 7 == 6 => {
                self.op.base = NONE;
                self.op.displacement = self.word()?;
                self.has_displacement = true;
                return Some(segment::DS);
            }
            0 => {}
            1 => {
                self.op.displacement = self.signed_byte()?;
                self.has_displacement = true;
            }
            _ => {
                self.op.displacement = self.word()?;
                self.has_displacement = true;
            }
        }
        Some(if base == EBP {
            segment::SS
        } else {
            segment::DS
        })
    }

    /// An address of 32 bits; returns its usual segment.
    fn wide_form(&mut self, modrm: u8) -> Option<u8> {
        use gpr::{EBP, ESP, NONE};
        let (way, rm) = (modrm >> 6, modrm & 7);
        let mut base = rm;
        if rm == ESP {
            let sib = self.byte()?;
            let index = sib >> 3 & 7;
            self.op.index = if index == ESP { NONE } else { index };
            self.op.scale = sib >> 6;
            base = sib & 7;
        }
        if base == EBP && way == 0 {
            self.op.base = NONE;
            self.op.displacement = self.double()?;
            self.has_displacement = true;
            return Some(segment::DS);
        }
        self.op.base = base;
        match way {
            0 => {}
            1 => {
                self.op.displacement = self.signed_byte()?;
                self.has_displacement = true;
            }
            _ => {
                self.op.displacement = self.double()?;
                self.has_displacement = true;
            }
        }
        Some(if base == ESP || base == EBP {
            segment::SS
        } else {
            segment::DS
        })
    }

    fn prefixes(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            match byte {
                0x26 => self.segment = Some(segment::ES),
                0x2e => self.segment = Some(segment::CS),
                0x36 => self.segment = Some(segment::SS),
                0x3e => self.segment = Some(segment::DS),
                0x64 => self.segment = Some(segment::FS),
                0x65 => self.segment = Some(segment::GS),
                0x66 => self.narrow = self.mode.wide,
                0x67 => self.narrow_address = self.mode.wide,
                0xf0 => self.lock = true,
                0xf2 | 0xf3 => self.repeat = byte,
                _ => return Some(byte),
            }
            self.prefixes += 1;
        }
    }

    fn instruction(&mut self) -> Option<()> {
        let opcode = self.prefixes()?;
        self.op.extra = opcode;
        match opcode {
            0x0f => self.second(),
            0x00..=0x3f => self.operations(opcode),
            0x40..=0x5f => {
                self.short_register(opcode);
                Some(())
            }
            0x60..=0x6f => self.sixties(opcode),
            0x70..=0x7f => {
                self.op.immediate = self.signed_byte()?;
                self.conditional(opcode);
                Some(())
            }
            0x80..=0x8f => self.eighties(opcode),
            0x90..=0x9f => self.nineties(opcode),
            0xa0..=0xaf => self.moves_and_strings(opcode),
            0xb0..=0xb7 => {
                self.immediate_byte()?;
                self.op.rm = opcode & 7;
                self.writes = 1 << (opcode & 3);
                self.set(move_data::mov::<Byte, Rm, Immediate>, Class::Move);
                Some(())
            }
            0xb8..=0xbf => {
                self.immediate()?;
                self.op.rm = opcode & 7;
                self.writes = 1 << (opcode & 7);
                let run = sized!(self, move_data::mov[][Rm Immediate]);
                self.set(run, Class::Move);
                Some(())
            }
            0xc0..=0xcf => self.returns(opcode),
            0xd0..=0xd7 => self.shifts(opcode),
            0xd8..=0xdf => {
                let modrm = self.modrm()?;
                self.op.immediate = modrm.into();
                self.op.reg = self.narrow.into();
                // The unit gives the clocks itself.
                self.set(float::escape, Class::System);
                Some(())
            }
            0xe0..=0xef => self.jumps(opcode),
            0xf0..=0xff => self.last(opcode),
        }
    }

    fn conditional(&mut self, opcode: u8) {
        self.ends = true;
        let run = if self.narrow {
            by_condition!(opcode, Word)
        } else {
            by_condition!(opcode, Double)
        };
        self.set(run, Class::JumpIf);
    }

    /// 0x00 to 0x3f: the eight operations, segment registers, decimal adjusts.
    fn operations(&mut self, opcode: u8) -> Option<()> {
        let number = opcode >> 3;
        let compares = number == 7;
        match opcode & 7 {
            0 => {
                self.modrm()?;
                let run = by_operation!(number, byte_operand, self, [Reg]);
                self.operation(run, compares);
                self.writes = if self.register_form {
                    1 << (self.op.rm & 3)
                } else {
                    0
                };
            }
            1 => {
                self.modrm()?;
                let run = by_operation!(number, operand, self, [Reg]);
                self.operation(run, compares);
                self.writes = if self.register_form {
                    1 << self.op.rm
                } else {
                    0
                };
            }
            2 | 3 => {
                self.modrm()?;
                let wide = opcode & 1 != 0;
                self.operation_of_operand(number, wide);
            }
            4 => {
                self.immediate_byte()?;
                self.op.rm = 0;
                let run = by_operation!(number, byte_only, self, [Rm Immediate]);
                self.set(run, Class::Alu);
                self.writes = 1;
            }
            5 => {
                self.immediate()?;
                self.op.rm = 0;
                let run = by_operation!(number, sized, self, [Rm Immediate]);
                self.set(run, Class::Alu);
                self.writes = 1;
            }
            _ if opcode < 0x20 => {
                self.op.reg = opcode >> 3;
                if opcode & 1 == 0 {
                    let run = sized!(self, stack::push_segment[][]);
                    self.set(run, Class::FromSegment);
                } else {
                    // Opcode 0x0f is the prefix of the second map.
                    let run = sized!(self, stack::pop_segment[][]);
                    self.set(run, Class::System);
                    self.ends = self.op.reg == segment::SS;
                }
            }
            _ if opcode < 0x30 => self.set(decimal::adjust_packed, Class::Decimal),
            _ => self.set(decimal::adjust_unpacked, Class::Decimal),
        }
        if compares {
            self.writes = 0;
        }
        Some(())
    }

    /// The cost of an operation whose destination ModRM names.
    fn operation(&mut self, run: Handler, compares: bool) {
        if compares {
            self.set_by_form(run, Class::Alu, Class::Compare);
        } else {
            self.set_by_form(run, Class::Alu, Class::AluStore);
            self.lockable = !self.register_form;
        }
    }

    /// reg, r/m
    fn operation_of_operand(&mut self, number: u8, wide: bool) {
        let (reg, rm) = (self.op.reg, self.op.rm);
        let compares = number == 7;
        // The destination is where handlers have r/m.
        self.op.rm = reg;
        self.op.reg = rm;
        let run = match (self.register_form, wide) {
            (true, true) => by_operation!(number, sized, self, [Rm Reg]),
            (true, false) => by_operation!(number, byte_only, self, [Rm Reg]),
            (false, true) => by_operation!(number, sized, self, [Rm Memory]),
            (false, false) => by_operation!(number, byte_only, self, [Rm Memory]),
        };
        let load = if compares {
            Class::Compare
        } else {
            Class::AluLoad
        };
        self.set_by_form(run, Class::Alu, load);
        self.writes = if wide { 1 << reg } else { 1 << (reg & 3) };
    }

    /// 0x40 to 0x5f: INC, DEC, PUSH, POP of a register.
    fn short_register(&mut self, opcode: u8) {
        self.op.rm = opcode & 7;
        match opcode >> 3 & 3 {
            0 => {
                let run = sized!(self, increment[][Rm]);
                self.set(run, Class::Alu);
                self.writes = 1 << self.op.rm;
            }
            1 => {
                let run = sized!(self, decrement[][Rm]);
                self.set(run, Class::Alu);
                self.writes = 1 << self.op.rm;
            }
            2 => {
                let run = sized!(self, stack::push[][Rm]);
                self.set(run, Class::Push);
            }
            _ => {
                let run = sized!(self, stack::pop[][]);
                self.set(run, Class::Pop);
                self.writes = 1 << self.op.rm;
            }
        }
    }

    fn sixties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x60 => {
                let run = sized!(self, stack::push_all[][]);
                self.set(run, Class::PushAll);
            }
            0x61 => {
                let run = sized!(self, stack::pop_all[][]);
                self.set(run, Class::PopAll);
            }
            0x62 => {
                self.modrm()?;
                let run = sized!(self, branch::bound[][]);
                self.set(run, Class::Bound);
                self.memory_only();
            }
            0x63 => {
                self.modrm()?;
                let run = if self.register_form {
                    system::adjust::<Rm> as Handler
                } else {
                    system::adjust::<Memory>
                };
                self.set(run, Class::Adjust);
            }
            0x68 => {
                self.immediate()?;
                let run = sized!(self, stack::push[][Immediate]);
                self.set(run, Class::Push);
            }
            0x6a => {
                self.immediate_signed()?;
                let run = sized!(self, stack::push[][Immediate]);
                self.set(run, Class::Push);
            }
            0x69 | 0x6b => {
                self.modrm()?;
                if opcode == 0x69 {
                    self.immediate()?;
                } else {
                    self.immediate_signed()?;
                }
                let run = operand!(self, multiply_short[][Immediate]);
                self.set(run, Class::Multiply);
                self.writes = 1 << self.op.reg;
            }
            0x6c => self.string_of_bytes(string::<Inputs, Byte>, Class::Port),
            0x6d => {
                let run = sized!(self, string[Inputs][]);
                self.string_of_bytes(run, Class::Port);
            }
            0x6e => self.string_of_bytes(string::<Outputs, Byte>, Class::Port),
            0x6f => {
                let run = sized!(self, string[Outputs][]);
                self.string_of_bytes(run, Class::Port);
            }
            _ => {}
        }
        Some(())
    }

    /// A string instruction, whose handler reads addresses by ESI and EDI itself.
    fn string_of_bytes(&mut self, run: Handler, class: Class) {
        self.op.extra = self.repeat;
        self.op.segment = self.segment.unwrap_or(segment::DS);
        if self.narrow_address {
            self.op.scale = NARROW_ADDRESS;
        }
        let class = match (self.repeat, class) {
            (repeat::ONCE, class) => class,
            (_, Class::MoveString) => Class::RepeatMove,
            _ => Class::Repeat,
        };
        self.set(run, class);
    }

    /// A register form of an instruction that has none is illegal.
    fn memory_only(&mut self) {
        if self.register_form {
            self.set(illegal, Class::Illegal);
        }
    }

    fn eighties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x80 | 0x82 => {
                self.modrm()?;
                self.immediate_byte()?;
                let number = self.op.reg;
                let run = by_operation!(number, byte_operand, self, [Immediate]);
                self.operation(run, number == 7);
                if self.register_form && number != 7 {
                    self.writes = 1 << (self.op.rm & 3);
                }
            }
            0x81 | 0x83 => {
                self.modrm()?;
                if opcode == 0x81 {
                    self.immediate()?;
                } else {
                    self.immediate_signed()?;
                }
                let number = self.op.reg;
                let run = by_operation!(number, operand, self, [Immediate]);
                self.operation(run, number == 7);
                if self.register_form && number != 7 {
                    self.writes = 1 << self.op.rm;
                }
            }
            0x84 => {
                self.modrm()?;
                let run = byte_operand!(self, compare[And][Reg]);
                self.set_by_form(run, Class::Alu, Class::Compare);
            }
            0x85 => {
                self.modrm()?;
                let run = operand!(self, compare[And][Reg]);
                self.set_by_form(run, Class::Alu, Class::Compare);
            }
            0x86 | 0x87 => {
                self.modrm()?;
                let run = if opcode == 0x86 {
                    byte_operand!(self, move_data::exchange[][])
                } else {
                    operand!(self, move_data::exchange[][])
                };
                self.set_by_form(run, Class::Exchange, Class::ExchangeMemory);
                self.lockable = !self.register_form;
                // Locked with or without the prefix.
                self.lock |= self.lockable;
            }
            0x88 => {
                self.modrm()?;
                let run = byte_operand!(self, move_data::mov[][Reg]);
                self.set_by_form(run, Class::Move, Class::Store);
                self.writes = if self.register_form {
                    1 << (self.op.rm & 3)
                } else {
                    0
                };
            }
            0x89 => {
                self.modrm()?;
                let run = operand!(self, move_data::mov[][Reg]);
                self.set_by_form(run, Class::Move, Class::Store);
                self.writes = if self.register_form {
                    1 << self.op.rm
                } else {
                    0
                };
            }
            0x8a | 0x8b => {
                self.modrm()?;
                std::mem::swap(&mut self.op.reg, &mut self.op.rm);
                let run = match (self.register_form, opcode) {
                    (true, 0x8a) => move_data::mov::<Byte, Rm, Reg> as Handler,
                    (false, 0x8a) => move_data::mov::<Byte, Rm, Memory>,
                    (true, _) => sized!(self, move_data::mov[][Rm Reg]),
                    (false, _) => sized!(self, move_data::mov[][Rm Memory]),
                };
                self.set_by_form(run, Class::Move, Class::Load);
                let register = if opcode == 0x8a {
                    self.op.rm & 3
                } else {
                    self.op.rm
                };
                self.writes = 1 << register;
            }
            0x8c => {
                self.modrm()?;
                let run = if self.register_form {
                    sized!(self, move_data::from_segment[][])
                } else {
                    move_data::from_segment_to_memory
                };
                self.set(run, Class::FromSegment);
                if self.op.reg > segment::GS {
                    self.set(illegal, Class::Illegal);
                }
            }
            0x8d => {
                self.modrm()?;
                let run = sized!(self, move_data::address[][]);
                let indexed = self.op.index != gpr::NONE;
                self.set(run, if indexed { Class::LeaIndex } else { Class::Lea });
                self.memory_only();
                self.writes = 1 << self.op.reg;
            }
            0x8e => {
                self.modrm()?;
                let run = if self.register_form {
                    move_data::to_segment::<Rm> as Handler
                } else {
                    move_data::to_segment::<Memory>
                };
                self.set(run, Class::System);
                self.ends = self.op.reg == segment::SS;
            }
            _ => {
                self.modrm()?;
                let run = if self.register_form {
                    sized!(self, stack::pop[][])
                } else {
                    sized!(self, stack::pop_memory[][])
                };
                self.set_by_form(run, Class::Pop, Class::PopMemory);
                if self.op.reg != 0 {
                    self.set(illegal, Class::Illegal);
                }
            }
        }
        Some(())
    }

    fn nineties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x90 => self.set(move_data::nothing, Class::Nop),
            0x91..=0x97 => {
                self.op.reg = 0;
                self.op.rm = opcode & 7;
                let run = sized!(self, move_data::exchange[][Rm]);
                self.set(run, Class::Exchange);
                self.writes = 1 | 1 << self.op.rm;
            }
            0x98 => {
                let run = sized!(self, move_data::convert[][]);
                self.set(run, Class::ConvertByte);
            }
            0x99 => {
                let run = sized!(self, move_data::convert_double[][]);
                self.set(run, Class::ConvertWord);
            }
            0x9a => self.far_pointer()?,
            0x9b => self.set(float::wait, Class::Wait),
            0x9c => {
                let run = sized!(self, stack::push_flags[][]);
                self.set(run, Class::PushFlags);
            }
            0x9d => {
                let run = sized!(self, stack::pop_flags[][]);
                self.set(run, Class::PopFlags);
                self.ends = true;
            }
            0x9e => self.set(bits::store_flags, Class::LoadFlags),
            _ => self.set(bits::load_flags, Class::LoadFlags),
        }
        Some(())
    }

    /// JMP and CALL with a segment: the handlers add the clocks.
    fn far_pointer(&mut self) -> Option<()> {
        self.immediate()?;
        self.op.displacement = self.word()?;
        let run = sized!(self, branch::far[][]);
        self.set(run, Class::System);
        self.ends = true;
        Some(())
    }

    fn moves_and_strings(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xa0..=0xa3 => {
                self.op.displacement = if self.narrow_address {
                    self.word()?
                } else {
                    self.double()?
                };
                self.op.segment = self.segment.unwrap_or(segment::DS);
                let run = match opcode {
                    0xa0 => move_data::mov::<Byte, Rm, Memory> as Handler,
                    0xa1 => sized!(self, move_data::mov[][Rm Memory]),
                    0xa2 => move_data::mov::<Byte, Memory, Reg>,
                    _ => sized!(self, move_data::mov[][Memory Reg]),
                };
                let store = opcode >= 0xa2;
                self.set(run, if store { Class::Store } else { Class::Load });
                self.writes = u8::from(!store);
            }
            0xa4 => self.string_of_bytes(string::<Moves, Byte>, Class::MoveString),
            0xa5 => {
                let run = sized!(self, string[Moves][]);
                self.string_of_bytes(run, Class::MoveString);
            }
            0xa6 => self.string_of_bytes(string::<Compares, Byte>, Class::CompareString),
            0xa7 => {
                let run = sized!(self, string[Compares][]);
                self.string_of_bytes(run, Class::CompareString);
            }
            0xa8 => {
                self.immediate_byte()?;
                self.set(compare::<And, Byte, Rm, Immediate>, Class::Alu);
            }
            0xa9 => {
                self.immediate()?;
                let run = sized!(self, compare[And][Rm Immediate]);
                self.set(run, Class::Alu);
            }
            0xaa => self.string_of_bytes(string::<Stores, Byte>, Class::StoreString),
            0xab => {
                let run = sized!(self, string[Stores][]);
                self.string_of_bytes(run, Class::StoreString);
            }
            0xac => self.string_of_bytes(string::<Loads, Byte>, Class::LoadString),
            0xad => {
                let run = sized!(self, string[Loads][]);
                self.string_of_bytes(run, Class::LoadString);
            }
            0xae => self.string_of_bytes(string::<Scans, Byte>, Class::ScanString),
            _ => {
                let run = sized!(self, string[Scans][]);
                self.string_of_bytes(run, Class::ScanString);
            }
        }
        Some(())
    }

    fn returns(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xc0 | 0xc1 => {
                self.modrm()?;
                self.immediate_byte()?;
                self.shift_by_immediate(opcode & 1 != 0, Class::ShiftImmediate);
            }
            0xc2 | 0xc3 => {
                if opcode == 0xc2 {
                    self.op.immediate = self.word()?;
                }
                let run = sized!(self, branch::back[][]);
                self.set(run, Class::Return);
                self.ends = true;
            }
            0xc4 | 0xc5 => {
                self.modrm()?;
                let register = if opcode == 0xc4 {
                    segment::ES
                } else {
                    segment::DS
                };
                self.far_load(register);
            }
            0xc6 | 0xc7 => {
                self.modrm()?;
                let run = if opcode == 0xc6 {
                    self.immediate_byte()?;
                    byte_operand!(self, move_data::mov[][Immediate])
                } else {
                    self.immediate()?;
                    operand!(self, move_data::mov[][Immediate])
                };
                self.set_by_form(run, Class::Move, Class::Store);
                if self.op.reg != 0 {
                    self.set(illegal, Class::Illegal);
                } else if self.register_form {
                    let mask = if opcode == 0xc6 { 3 } else { 7 };
                    self.writes = 1 << (self.op.rm & mask);
                }
            }
            0xc8 => {
                self.op.immediate = self.word()?;
                self.op.displacement = self.byte()?.into();
                let run = sized!(self, stack::enter[][]);
                self.set(run, Class::Enter);
            }
            0xc9 => {
                let run = sized!(self, stack::leave[][]);
                self.set(run, Class::Leave);
            }
            0xca | 0xcb => {
                if opcode == 0xca {
                    self.op.immediate = self.word()?;
                }
                let run = sized!(self, branch::far_back[][]);
                self.set(run, Class::System);
                self.ends = true;
            }
            0xcc..=0xce => {
                self.op.immediate = match opcode {
                    0xcc => 3,
                    0xcd => self.byte()?.into(),
                    _ => 4,
                };
                let class = if opcode == 0xce {
                    Class::Alu
                } else {
                    Class::System
                };
                self.set(branch::interrupt, class);
                self.ends = true;
            }
            _ => {
                let run = sized!(self, branch::interrupt_return[][]);
                self.set(run, Class::System);
                self.ends = true;
            }
        }
        Some(())
    }

    fn far_load(&mut self, register: u8) {
        self.op.extra = register;
        let run = sized!(self, move_data::load_pointer[][]);
        // With the load of the segment register it is 12 clocks of an i486.
        self.set(run, Class::Extend);
        self.memory_only();
        self.ends = register == segment::SS;
    }

    fn shift_by_immediate(&mut self, wide: bool, class: Class) {
        let number = self.op.reg;
        let run = if wide {
            by_shift!(number, operand, self, ByImmediate)
        } else {
            by_shift!(number, byte_operand, self, ByImmediate)
        };
        self.shift_class(run, class);
    }

    fn shift_class(&mut self, run: Handler, register: Class) {
        let carry = matches!(self.op.reg, 2 | 3);
        let register = if carry && self.op.immediate != 1 {
            Class::RotateCarry
        } else {
            register
        };
        self.set_by_form(run, register, Class::ShiftMemory);
        if self.register_form {
            self.writes = 1 << (self.op.rm & 7);
        }
    }

    fn shifts(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xd0 | 0xd1 => {
                self.modrm()?;
                self.op.immediate = 1;
                self.shift_by_immediate(opcode & 1 != 0, Class::ShiftRegister);
            }
            0xd2 | 0xd3 => {
                self.modrm()?;
                let number = self.op.reg;
                let run = if opcode & 1 != 0 {
                    by_shift!(number, operand, self, ByCl)
                } else {
                    by_shift!(number, byte_operand, self, ByCl)
                };
                self.shift_class(run, Class::ShiftRegister);
            }
            0xd4 => {
                self.immediate_byte()?;
                self.set(decimal::after_multiply, Class::DecimalMultiply);
            }
            0xd5 => {
                self.immediate_byte()?;
                self.set(decimal::before_divide, Class::DecimalDivide);
            }
            0xd7 => {
                self.op.base = gpr::EBX;
                self.op.segment = self.segment.unwrap_or(segment::DS);
                if self.narrow_address {
                    self.op.scale = NARROW_ADDRESS;
                }
                self.set(move_data::translate, Class::Translate);
            }
            _ => {}
        }
        Some(())
    }

    fn jumps(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xe0..=0xe3 => {
                self.op.immediate = self.signed_byte()?;
                if self.narrow_address {
                    self.op.scale = NARROW_ADDRESS;
                }
                let run = sized!(self, branch::count[][]);
                let class = match opcode {
                    0xe3 => Class::JumpIfZero,
                    0xe2 => Class::Loop,
                    _ => Class::LoopIf,
                };
                self.set(run, class);
                self.ends = true;
            }
            0xe4 | 0xe5 => {
                self.immediate_byte()?;
                self.op.extra = 0;
                let run = if opcode == 0xe4 {
                    system::input::<Byte> as Handler
                } else {
                    sized!(self, system::input[][])
                };
                self.set(run, Class::Port);
            }
            0xe6 | 0xe7 => {
                self.immediate_byte()?;
                self.op.extra = 0;
                let run = if opcode == 0xe6 {
                    system::output::<Byte> as Handler
                } else {
                    sized!(self, system::output[][])
                };
                self.set(run, Class::Port);
            }
            0xe8 => {
                self.immediate()?;
                let run = sized!(self, branch::call[][]);
                self.set(run, Class::Call);
                self.ends = true;
            }
            0xe9 => {
                self.immediate()?;
                let run = sized!(self, branch::jump[][]);
                self.set(run, Class::Jump);
                self.ends = true;
            }
            0xea => self.far_pointer()?,
            0xeb => {
                self.op.immediate = self.signed_byte()?;
                let run = sized!(self, branch::jump[][]);
                self.set(run, Class::Jump);
                self.ends = true;
            }
            _ => {
                self.op.extra = 1;
                let run = match opcode {
                    0xec => system::input::<Byte> as Handler,
                    0xed => sized!(self, system::input[][]),
                    0xee => system::output::<Byte>,
                    _ => sized!(self, system::output[][]),
                };
                self.set(run, Class::Port);
            }
        }
        Some(())
    }

    fn last(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xf4 => {
                self.set(system::halt, Class::Halt);
                self.ends = true;
            }
            0xf5 | 0xf8 | 0xf9 => self.set(carry_flag, Class::Flag),
            0xf6 | 0xf7 => {
                self.modrm()?;
                self.group_three(opcode & 1 != 0)?;
            }
            0xfa | 0xfb => {
                self.set(stack::interrupt_flag, Class::InterruptFlag);
                self.ends = opcode == 0xfb;
            }
            0xfc | 0xfd => self.set(stack::direction_flag, Class::Flag),
            0xfe => {
                self.modrm()?;
                match self.op.reg {
                    0 => {
                        let run = byte_operand!(self, increment[][]);
                        self.operation(run, false);
                    }
                    1 => {
                        let run = byte_operand!(self, decrement[][]);
                        self.operation(run, false);
                    }
                    _ => {}
                }
            }
            0xff => {
                self.modrm()?;
                self.group_five();
            }
            _ => {}
        }
        Some(())
    }

    /// TEST, NOT, NEG, MUL, IMUL, DIV, IDIV
    fn group_three(&mut self, wide: bool) -> Option<()> {
        let number = self.op.reg;
        match number {
            0 | 1 => {
                let run = if wide {
                    self.immediate()?;
                    operand!(self, compare[And][Immediate])
                } else {
                    self.immediate_byte()?;
                    byte_operand!(self, compare[And][Immediate])
                };
                self.set_by_form(run, Class::Alu, Class::Compare);
            }
            2 | 3 => {
                let run = match (number, wide) {
                    (2, true) => operand!(self, invert[][]),
                    (2, false) => byte_operand!(self, invert[][]),
                    (_, true) => operand!(self, negate[][]),
                    (_, false) => byte_operand!(self, negate[][]),
                };
                self.operation(run, false);
            }
            4 | 5 => {
                let run = match (number, wide) {
                    (4, true) => operand!(self, multiply[][]),
                    (4, false) => byte_operand!(self, multiply[][]),
                    (_, true) => operand!(self, multiply_signed[][]),
                    (_, false) => byte_operand!(self, multiply_signed[][]),
                };
                self.set(run, Class::Multiply);
            }
            _ => {
                let run = match (number, wide) {
                    (6, true) => operand!(self, divide[][]),
                    (6, false) => byte_operand!(self, divide[][]),
                    (_, true) => operand!(self, divide_signed[][]),
                    (_, false) => byte_operand!(self, divide_signed[][]),
                };
                let class = match (number, wide, self.narrow) {
                    (6, false, _) => Class::Divide8,
                    (6, true, true) => Class::Divide16,
                    (6, true, false) => Class::Divide32,
                    (_, false, _) => Class::DivideSigned8,
                    (_, true, true) => Class::DivideSigned16,
                    (_, true, false) => Class::DivideSigned32,
                };
                self.set(run, class);
            }
        }
        Some(())
    }

    /// INC, DEC, CALL, CALL far, JMP, JMP far, PUSH
    fn group_five(&mut self) {
        match self.op.reg {
            0 => {
                let run = operand!(self, increment[][]);
                self.operation(run, false);
            }
            1 => {
                let run = operand!(self, decrement[][]);
                self.operation(run, false);
            }
            2 => {
                let run = operand!(self, branch::call_to[][]);
                self.set(run, Class::CallRegister);
                self.ends = true;
            }
            4 => {
                let run = operand!(self, branch::jump_to[][]);
                self.set(run, Class::JumpRegister);
                self.ends = true;
            }
            3 | 5 => {
                let run = sized!(self, branch::far_memory[][]);
                self.set(run, Class::System);
                self.memory_only();
                self.ends = true;
            }
            6 => {
                let run = operand!(self, stack::push[][]);
                self.set_by_form(run, Class::Push, Class::PushMemory);
            }
            _ => {}
        }
    }

    /// The opcodes behind 0x0f.
    fn second(&mut self) -> Option<()> {
        let opcode = self.byte()?;
        self.op.extra = opcode;
        let p6 = self.mode.kind == Kind::P6;
        match opcode {
            0x00 | 0x01 => self.system_groups(opcode)?,
            0x02 | 0x03 => {
                self.modrm()?;
                let run = operand!(self, system::check_segment[][]);
                self.set(run, Class::CheckSegment);
            }
            0x06 => self.set(system::clear_task, Class::ClearTask),
            0x08 | 0x09 => {
                self.set(system::empty_caches, Class::System);
                self.ends = true;
            }
            0x1f if p6 => {
                self.modrm()?;
                self.set(move_data::nothing, Class::Nop);
            }
            0x20..=0x23 => {
                // Both forms of ModRM name a register.
                let modrm = self.byte()?;
                self.op.reg = modrm >> 3 & 7;
                self.op.rm = modrm & 7;
                self.set(move_data::control, Class::System);
                self.ends = true;
            }
            0x30 | 0x32 if p6 => self.set(system::model_register, Class::ModelRegister),
            0x31 if p6 => self.set(system::time, Class::Time),
            0x40..=0x4f if p6 => {
                self.modrm()?;
                let run = operand!(self, bits::move_if[][]);
                self.op.extra = opcode & 15;
                self.set(run, Class::MoveIf);
                self.writes = 1 << self.op.reg;
            }
            0x80..=0x8f => {
                self.immediate()?;
                self.has_immediate = false;
                self.conditional(opcode);
            }
            0x90..=0x9f => {
                self.modrm()?;
                self.op.extra = opcode & 15;
                let run = if self.register_form {
                    bits::set::<Rm> as Handler
                } else {
                    bits::set::<Memory>
                };
                self.set_by_form(run, Class::Set, Class::SetMemory);
            }
            0xa0 | 0xa8 => {
                self.op.reg = if opcode == 0xa0 {
                    segment::FS
                } else {
                    segment::GS
                };
                let run = sized!(self, stack::push_segment[][]);
                self.set(run, Class::FromSegment);
            }
            0xa1 | 0xa9 => {
                self.op.reg = if opcode == 0xa1 {
                    segment::FS
                } else {
                    segment::GS
                };
                let run = sized!(self, stack::pop_segment[][]);
                self.set(run, Class::System);
            }
            0xa2 if p6 => self.set(system::identify, Class::Identify),
            0xa3 | 0xab | 0xb3 | 0xbb => {
                self.modrm()?;
                self.op.extra = opcode >> 3 & 3;
                self.bit_by_register();
            }
            0xba => {
                self.modrm()?;
                self.immediate_byte()?;
                self.bit_by_immediate();
            }
            0xa4 | 0xac => {
                self.modrm()?;
                self.immediate_byte()?;
                let run = if opcode == 0xa4 {
                    operand!(self, left_double[][ByImmediate])
                } else {
                    operand!(self, right_double[][ByImmediate])
                };
                self.set_by_form(run, Class::ShiftDouble, Class::ShiftMemory);
            }
            0xa5 | 0xad => {
                self.modrm()?;
                let run = if opcode == 0xa5 {
                    operand!(self, left_double[][ByCl])
                } else {
                    operand!(self, right_double[][ByCl])
                };
                self.set_by_form(run, Class::ShiftDoubleCount, Class::ShiftMemory);
            }
            0xaf => {
                self.modrm()?;
                let run = operand!(self, multiply_short[][Reg]);
                self.set(run, Class::Multiply);
                self.writes = 1 << self.op.reg;
            }
            0xb0 | 0xb1 => {
                self.modrm()?;
                let run = if opcode == 0xb0 {
                    byte_operand!(self, compare_exchange[][])
                } else {
                    operand!(self, compare_exchange[][])
                };
                self.set_by_form(run, Class::CompareExchange, Class::CompareExchangeMemory);
                self.lockable = !self.register_form;
            }
            0xb2 | 0xb4 | 0xb5 => {
                self.modrm()?;
                self.far_load(match opcode {
                    0xb2 => segment::SS,
                    0xb4 => segment::FS,
                    _ => segment::GS,
                });
            }
            0xb6 | 0xb7 | 0xbe | 0xbf => {
                self.modrm()?;
                let run = match opcode {
                    0xb6 => operand!(self, move_data::extend_zero[Byte][]),
                    0xb7 => operand!(self, move_data::extend_zero[Word][]),
                    0xbe => operand!(self, move_data::extend_sign[Byte][]),
                    _ => operand!(self, move_data::extend_sign[Word][]),
                };
                self.set(run, Class::Extend);
                self.writes = 1 << self.op.reg;
            }
            0xbc | 0xbd => {
                self.modrm()?;
                let run = operand!(self, bits::scan[][]);
                self.set(run, Class::BitScan);
            }
            0xc0 | 0xc1 => {
                self.modrm()?;
                let run = if opcode == 0xc0 {
                    byte_operand!(self, exchange_add[][])
                } else {
                    operand!(self, exchange_add[][])
                };
                self.set(run, Class::ExchangeAdd);
                self.lockable = !self.register_form;
            }
            0xc7 if p6 => {
                self.modrm()?;
                if self.op.reg == 1 {
                    self.set(compare_exchange_wide, Class::CompareExchangeWide);
                    self.memory_only();
                    self.lockable = !self.register_form;
                }
            }
            0xc8..=0xcf => {
                self.op.rm = opcode & 7;
                let run = sized!(self, bits::swap_bytes[][]);
                self.set(run, Class::ByteSwap);
                self.writes = 1 << self.op.rm;
            }
            _ => {}
        }
        Some(())
    }

    /// BT, BTS, BTR, BTC by a register
    fn bit_by_register(&mut self) {
        let run = if self.register_form {
            sized!(self, bits::of_register[][Reg])
        } else {
            sized!(self, bits::of_string[][])
        };
        let register = if self.op.extra == 0 {
            Class::BitTest
        } else {
            Class::BitChange
        };
        self.set_by_form(run, register, Class::BitMemory);
        self.lockable = !self.register_form && self.op.extra != 0;
    }

    /// The same by an immediate: ModRM's reg tells which
    fn bit_by_immediate(&mut self) {
        if self.op.reg < 4 {
            return;
        }
        self.op.extra = self.op.reg & 3;
        let run = if self.register_form {
            sized!(self, bits::of_register[][Immediate])
        } else {
            sized!(self, bits::of_memory[][])
        };
        let register = if self.op.extra == 0 {
            Class::BitTest
        } else {
            Class::BitChange
        };
        self.set_by_form(run, register, Class::SetMemory);
        self.lockable = !self.register_form && self.op.extra != 0;
    }

    fn system_groups(&mut self, opcode: u8) -> Option<()> {
        self.modrm()?;
        let number = self.op.reg;
        if opcode == 0 {
            match number {
                0 | 1 => self.system_word(number),
                2 | 3 => {
                    self.op.extra = number;
                    let run = if self.register_form {
                        system::load_system_segment::<Rm> as Handler
                    } else {
                        system::load_system_segment::<Memory>
                    };
                    self.set(run, Class::System);
                }
                4 | 5 => {
                    self.op.extra = number;
                    let run = operand!(self, system::check_segment[][]);
                    self.set(run, Class::CheckSegment);
                }
                _ => {}
            }
            return Some(());
        }
        match number {
            0..=3 => {
                let run = sized!(self, system::table[][]);
                let class = if number < 2 {
                    Class::StoreTable
                } else {
                    Class::System
                };
                self.set(run, class);
                self.memory_only();
            }
            4 => self.system_word(2),
            6 => {
                let run = if self.register_form {
                    system::load_status::<Rm> as Handler
                } else {
                    system::load_status::<Memory>
                };
                self.set(run, Class::ClearTask);
                self.ends = true;
            }
            7 => {
                self.set(system::invalidate_page, Class::System);
                self.memory_only();
                self.ends = true;
            }
            _ => {}
        }
        Some(())
    }

    /// SLDT, STR, SMSW
    fn system_word(&mut self, which: u8) {
        self.op.extra = which;
        let run = if self.register_form {
            if self.narrow {
                stack::system_word::<Word, Rm, false> as Handler
            } else {
                stack::system_word::<Double, Rm, false>
            }
        } else {
            stack::system_word::<Word, Memory, true>
        };
        self.set(run, Class::StoreTable);
    }

    fn finish(mut self, written: u8) -> Decoded {
        let kind = self.mode.kind;
        if self.lock && !self.lockable {
            self.set(illegal, Class::Illegal);
            self.ends = true;
        }
        self.ends |= self.class == Class::Illegal;
        let mut slots = self.class.slots(kind);
        if self.lock && self.lockable {
            slots += self.mode.lock;
        }
        if kind == Kind::I486 {
            slots += self.prefixes;
            slots += u16::from(self.has_displacement && self.has_immediate);
            if !self.register_form && self.op.index != gpr::NONE && self.class != Class::LeaIndex {
                slots += 1;
            }
            let base = self.op.base & 7;
            if self.op.base != gpr::NONE && written >> base & 1 != 0 {
                slots += 1;
            }
        }
        self.op.slots = slots;
        Decoded {
            op: self.op,
            length: self.at,
            ends: self.ends,
            writes: self.writes,
        }
    }
}
