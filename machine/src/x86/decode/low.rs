//! The opcodes from 0x00 to 0x8f, and the way into the others.

use super::super::access::{Byte, Double, Word};
use super::super::chain::conditional_ways;
use super::super::clocks::Class;
use super::super::execute::arithmetic::{
    Add, AddCarry, And, Or, Sub, SubBorrow, Xor, alu, compare, decrement, illegal, increment,
};
use super::super::execute::multiply::multiply_short;
use super::super::execute::string::{Inputs, Outputs, repeat, string};
use super::super::execute::{
    Immediate, Memory, Reg, Rm, branch, decimal, float, move_data, stack, system,
};
use super::super::op::{NARROW_ADDRESS, Ways, ways};
use super::super::registers::{gpr, segment};
use super::{Decoder, STRING_NARROW};

impl Decoder<'_> {
    pub(super) fn instruction(&mut self) -> Option<()> {
        let opcode = self.prefixes()?;
        self.op.extra = opcode;
        self.opcode = opcode;
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
                self.set(ways!(move_data::mov::<Byte, Rm, Immediate>), Class::Move);
                Some(())
            }
            0xb8..=0xbf => {
                self.immediate()?;
                self.op.rm = opcode & 7;
                self.writes = 1 << (opcode & 7);
                self.set(sized!(self, move_data::mov[][Rm Immediate]), Class::Move);
                Some(())
            }
            0xc0..=0xcf => self.returns(opcode),
            0xd0..=0xd7 => self.shifts(opcode),
            0xd8..=0xdf => {
                let modrm = self.modrm()?;
                self.op.immediate = modrm.into();
                self.op.reg = self.narrow.into();
                // The unit gives the clocks itself.
                self.set(ways!(float::escape), Class::System);
                Some(())
            }
            0xe0..=0xef => self.jumps(opcode),
            0xf0..=0xff => self.last(opcode),
        }
    }

    pub(super) fn conditional(&mut self, opcode: u8) {
        self.ends = true;
        let run = if self.narrow {
            by_condition!(opcode, Word)
        } else {
            self.condition = Some(opcode & 15);
            by_condition!(opcode, Double)
        };
        self.set(run, Class::JumpIf);
    }

    /// 0x00 to 0x3f: the eight operations, segment registers, decimal adjusts.
    pub(super) fn operations(&mut self, opcode: u8) -> Option<()> {
        let number = opcode >> 3;
        let compares = number == 7;
        match opcode & 7 {
            0 => {
                self.modrm()?;
                self.operation(by_operation!(number, byte_operand, self, [Reg]), compares);
                self.writes = if self.register_form {
                    1 << (self.op.rm & 3)
                } else {
                    0
                };
            }
            1 => {
                self.modrm()?;
                self.operation(by_operation!(number, operand, self, [Reg]), compares);
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
                self.set(
                    by_operation!(number, byte_only, self, [Rm Immediate]),
                    Class::Alu,
                );
                self.writes = 1;
            }
            5 => {
                self.immediate()?;
                self.op.rm = 0;
                self.set(
                    by_operation!(number, sized, self, [Rm Immediate]),
                    Class::Alu,
                );
                self.writes = 1;
            }
            _ if opcode < 0x20 => {
                self.op.reg = opcode >> 3;
                if opcode & 1 == 0 {
                    self.set(sized!(self, stack::push_segment[][]), Class::FromSegment);
                } else {
                    // Opcode 0x0f is the prefix of the second map.
                    self.set(sized!(self, stack::pop_segment[][]), Class::System);
                    self.ends = self.op.reg == segment::SS;
                }
            }
            _ if opcode < 0x30 => self.set(ways!(decimal::adjust_packed), Class::Decimal),
            _ => self.set(ways!(decimal::adjust_unpacked), Class::Decimal),
        }
        if compares {
            self.writes = 0;
        }
        Some(())
    }

    /// The cost of an operation whose destination ModRM names.
    pub(super) fn operation(&mut self, run: Ways, compares: bool) {
        if compares {
            self.set_by_form(run, Class::Alu, Class::Compare);
        } else {
            self.set_by_form(run, Class::Alu, Class::AluStore);
            self.lockable = !self.register_form;
        }
    }

    /// reg, r/m
    pub(super) fn operation_of_operand(&mut self, number: u8, wide: bool) {
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
    pub(super) fn short_register(&mut self, opcode: u8) {
        self.op.rm = opcode & 7;
        match opcode >> 3 & 3 {
            0 => {
                self.set(sized!(self, increment[][Rm]), Class::Alu);
                self.writes = 1 << self.op.rm;
            }
            1 => {
                self.set(sized!(self, decrement[][Rm]), Class::Alu);
                self.writes = 1 << self.op.rm;
            }
            2 => self.set(sized!(self, stack::push[][Rm]), Class::Push),
            _ => {
                self.set(sized!(self, stack::pop[][]), Class::Pop);
                self.writes = 1 << self.op.rm;
            }
        }
    }

    pub(super) fn sixties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x60 => self.set(sized!(self, stack::push_all[][]), Class::PushAll),
            0x61 => self.set(sized!(self, stack::pop_all[][]), Class::PopAll),
            0x62 => {
                self.modrm()?;
                self.set(sized!(self, branch::bound[][]), Class::Bound);
                self.memory_only();
            }
            0x63 => {
                self.modrm()?;
                self.set(formed!(self, system::adjust), Class::Adjust);
            }
            0x68 => {
                self.immediate()?;
                self.set(sized!(self, stack::push[][Immediate]), Class::Push);
            }
            0x6a => {
                self.immediate_signed()?;
                self.set(sized!(self, stack::push[][Immediate]), Class::Push);
            }
            0x69 | 0x6b => {
                self.modrm()?;
                if opcode == 0x69 {
                    self.immediate()?;
                } else {
                    self.immediate_signed()?;
                }
                self.set(operand!(self, multiply_short[][Immediate]), Class::Multiply);
                self.writes = 1 << self.op.reg;
            }
            0x6c => self.string_of_bytes(ways!(string::<Inputs, Byte>), Class::Port),
            0x6d => self.string_of_bytes(sized!(self, string[Inputs][]), Class::Port),
            0x6e => self.string_of_bytes(ways!(string::<Outputs, Byte>), Class::Port),
            0x6f => self.string_of_bytes(sized!(self, string[Outputs][]), Class::Port),
            _ => {}
        }
        Some(())
    }

    /// A string instruction, whose handler reads addresses by ESI and EDI itself.
    pub(super) fn string_of_bytes(&mut self, run: Ways, class: Class) {
        self.op.immediate = u32::from(self.op.extra);
        if self.narrow {
            self.op.immediate |= STRING_NARROW;
        }
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
    pub(super) fn memory_only(&mut self) {
        if self.register_form {
            self.set(ways!(illegal), Class::Illegal);
        }
    }

    pub(super) fn eighties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x80 | 0x82 => {
                self.modrm()?;
                self.immediate_byte()?;
                let number = self.op.reg;
                self.operation(
                    by_operation!(number, byte_operand, self, [Immediate]),
                    number == 7,
                );
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
                self.operation(
                    by_operation!(number, operand, self, [Immediate]),
                    number == 7,
                );
                if self.register_form && number != 7 {
                    self.writes = 1 << self.op.rm;
                }
            }
            0x84 => {
                self.modrm()?;
                self.set_by_form(
                    byte_operand!(self, compare[And][Reg]),
                    Class::Alu,
                    Class::Compare,
                );
            }
            0x85 => {
                self.modrm()?;
                self.set_by_form(
                    operand!(self, compare[And][Reg]),
                    Class::Alu,
                    Class::Compare,
                );
            }
            0x86 | 0x87 => {
                self.modrm()?;
                self.set_by_form(
                    any_operand!(self, opcode != 0x86, move_data::exchange[][]),
                    Class::Exchange,
                    Class::ExchangeMemory,
                );
                self.lockable = !self.register_form;
                // Locked with or without the prefix.
                self.lock |= self.lockable;
            }
            0x88 => {
                self.modrm()?;
                self.set_by_form(
                    byte_operand!(self, move_data::mov[][Reg]),
                    Class::Move,
                    Class::Store,
                );
                self.writes = if self.register_form {
                    1 << (self.op.rm & 3)
                } else {
                    0
                };
            }
            0x89 => {
                self.modrm()?;
                self.set_by_form(
                    operand!(self, move_data::mov[][Reg]),
                    Class::Move,
                    Class::Store,
                );
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
                    (true, 0x8a) => ways!(move_data::mov::<Byte, Rm, Reg>),
                    (false, 0x8a) => ways!(move_data::mov::<Byte, Rm, Memory>),
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
                    ways!(move_data::from_segment_to_memory)
                };
                self.set(run, Class::FromSegment);
                if self.op.reg > segment::GS {
                    self.set(ways!(illegal), Class::Illegal);
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
                self.set(formed!(self, move_data::to_segment), Class::System);
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
                    self.set(ways!(illegal), Class::Illegal);
                }
            }
        }
        Some(())
    }
}
