//! The opcodes from 0x90 on.

use super::super::access::{Byte, Double, Word};
use super::super::clocks::Class;
use super::super::execute::arithmetic::{
    And, carry_flag, compare, decrement, illegal, increment, invert, negate,
};
use super::super::execute::multiply::{divide, divide_signed, multiply, multiply_signed};
use super::super::execute::shift::{ByCl, ByImmediate, Rcl, Rcr, Rol, Ror, Sar, Shl, Shr, shift};
use super::super::execute::string::{Compares, Loads, Moves, Scans, Stores, string};
use super::super::execute::{
    Immediate, Memory, Reg, Rm, bits, branch, decimal, float, move_data, stack, system,
};
use super::super::op::{NARROW_ADDRESS, Ways, indirect, jump, ways};
use super::super::registers::{gpr, segment};
use super::Decoder;

impl Decoder<'_> {
    pub(super) fn nineties(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0x90 => self.set(ways!(move_data::nothing), Class::Nop),
            0x91..=0x97 => {
                self.op.reg = 0;
                self.op.rm = opcode & 7;
                self.set(sized!(self, move_data::exchange[][Rm]), Class::Exchange);
                self.writes = 1 | 1 << self.op.rm;
            }
            0x98 => self.set(sized!(self, move_data::convert[][]), Class::ConvertByte),
            0x99 => self.set(
                sized!(self, move_data::convert_double[][]),
                Class::ConvertWord,
            ),
            0x9a => self.far_pointer()?,
            0x9b => self.set(ways!(float::wait), Class::Wait),
            0x9c => self.set(sized!(self, stack::push_flags[][]), Class::PushFlags),
            0x9d => {
                self.set(sized!(self, stack::pop_flags[][]), Class::PopFlags);
                self.ends = true;
            }
            0x9e => self.set(ways!(bits::store_flags), Class::LoadFlags),
            _ => self.set(ways!(bits::load_flags), Class::LoadFlags),
        }
        Some(())
    }

    /// JMP and CALL with a segment: the handlers add the clocks.
    pub(super) fn far_pointer(&mut self) -> Option<()> {
        self.immediate()?;
        self.op.displacement = self.word()?;
        self.set(sized!(self, branch::far[][]), Class::System);
        self.ends = true;
        Some(())
    }

    pub(super) fn moves_and_strings(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xa0..=0xa3 => {
                self.op.displacement = if self.narrow_address {
                    self.word()?
                } else {
                    self.double()?
                };
                self.op.segment = self.segment.unwrap_or(segment::DS);
                let run = match opcode {
                    0xa0 => ways!(move_data::mov::<Byte, Rm, Memory>),
                    0xa1 => sized!(self, move_data::mov[][Rm Memory]),
                    0xa2 => ways!(move_data::mov::<Byte, Memory, Reg>),
                    _ => sized!(self, move_data::mov[][Memory Reg]),
                };
                let store = opcode >= 0xa2;
                self.set(run, if store { Class::Store } else { Class::Load });
                self.writes = u8::from(!store);
            }
            0xa4 => self.string_of_bytes(ways!(string::<Moves, Byte>), Class::MoveString),
            0xa5 => self.string_of_bytes(sized!(self, string[Moves][]), Class::MoveString),
            0xa6 => self.string_of_bytes(ways!(string::<Compares, Byte>), Class::CompareString),
            0xa7 => self.string_of_bytes(sized!(self, string[Compares][]), Class::CompareString),
            0xa8 => {
                self.immediate_byte()?;
                self.set(ways!(compare::<And, Byte, Rm, Immediate>), Class::Alu);
            }
            0xa9 => {
                self.immediate()?;
                self.set(sized!(self, compare[And][Rm Immediate]), Class::Alu);
            }
            0xaa => self.string_of_bytes(ways!(string::<Stores, Byte>), Class::StoreString),
            0xab => self.string_of_bytes(sized!(self, string[Stores][]), Class::StoreString),
            0xac => self.string_of_bytes(ways!(string::<Loads, Byte>), Class::LoadString),
            0xad => self.string_of_bytes(sized!(self, string[Loads][]), Class::LoadString),
            0xae => self.string_of_bytes(ways!(string::<Scans, Byte>), Class::ScanString),
            _ => self.string_of_bytes(sized!(self, string[Scans][]), Class::ScanString),
        }
        Some(())
    }

    pub(super) fn returns(&mut self, opcode: u8) -> Option<()> {
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
                self.set(sized_jump!(self, indirect, branch::back[]), Class::Return);
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
                    self.set(ways!(illegal), Class::Illegal);
                } else if self.register_form {
                    let mask = if opcode == 0xc6 { 3 } else { 7 };
                    self.writes = 1 << (self.op.rm & mask);
                }
            }
            0xc8 => {
                self.op.immediate = self.word()?;
                self.op.displacement = self.byte()?.into();
                self.set(sized!(self, stack::enter[][]), Class::Enter);
            }
            0xc9 => self.set(sized!(self, stack::leave[][]), Class::Leave),
            0xca | 0xcb => {
                if opcode == 0xca {
                    self.op.immediate = self.word()?;
                }
                self.set(sized!(self, branch::far_back[][]), Class::System);
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
                self.set(ways!(branch::interrupt), class);
                self.ends = true;
            }
            _ => {
                self.set(sized!(self, branch::interrupt_return[][]), Class::System);
                self.ends = true;
            }
        }
        Some(())
    }

    pub(super) fn far_load(&mut self, register: u8) {
        self.op.extra = register;
        let run = sized!(self, move_data::load_pointer[][]);
        // With the load of the segment register it is 12 clocks of an i486.
        self.set(run, Class::Extend);
        self.memory_only();
        self.ends = register == segment::SS;
    }

    pub(super) fn shift_by_immediate(&mut self, wide: bool, class: Class) {
        let number = self.op.reg;
        let run = if wide {
            by_shift!(number, operand, self, ByImmediate)
        } else {
            by_shift!(number, byte_operand, self, ByImmediate)
        };
        self.shift_class(run, class);
    }

    pub(super) fn shift_class(&mut self, run: Ways, register: Class) {
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

    pub(super) fn shifts(&mut self, opcode: u8) -> Option<()> {
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
                self.set(ways!(decimal::after_multiply), Class::DecimalMultiply);
            }
            0xd5 => {
                self.immediate_byte()?;
                self.set(ways!(decimal::before_divide), Class::DecimalDivide);
            }
            0xd7 => {
                self.op.base = gpr::EBX;
                self.op.segment = self.segment.unwrap_or(segment::DS);
                if self.narrow_address {
                    self.op.scale = NARROW_ADDRESS;
                }
                self.set(ways!(move_data::translate), Class::Translate);
            }
            _ => {}
        }
        Some(())
    }

    pub(super) fn jumps(&mut self, opcode: u8) -> Option<()> {
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
                    ways!(system::input::<Byte>)
                } else {
                    sized!(self, system::input[][])
                };
                self.set(run, Class::Port);
            }
            0xe6 | 0xe7 => {
                self.immediate_byte()?;
                self.op.extra = 0;
                let run = if opcode == 0xe6 {
                    ways!(system::output::<Byte>)
                } else {
                    sized!(self, system::output[][])
                };
                self.set(run, Class::Port);
            }
            0xe8 => {
                self.immediate()?;
                self.set(sized_jump!(self, jump, branch::call[]), Class::Call);
                self.ends = true;
            }
            0xe9 => {
                self.immediate()?;
                self.set(sized_jump!(self, jump, branch::jump[]), Class::Jump);
                self.ends = true;
            }
            0xea => self.far_pointer()?,
            0xeb => {
                self.op.immediate = self.signed_byte()?;
                self.set(sized_jump!(self, jump, branch::jump[]), Class::Jump);
                self.ends = true;
            }
            _ => {
                self.op.extra = 1;
                let run = match opcode {
                    0xec => ways!(system::input::<Byte>),
                    0xed => sized!(self, system::input[][]),
                    0xee => ways!(system::output::<Byte>),
                    _ => sized!(self, system::output[][]),
                };
                self.set(run, Class::Port);
            }
        }
        Some(())
    }

    pub(super) fn last(&mut self, opcode: u8) -> Option<()> {
        match opcode {
            0xf4 => {
                self.set(ways!(system::halt), Class::Halt);
                self.ends = true;
            }
            0xf5 | 0xf8 | 0xf9 => self.set(ways!(carry_flag), Class::Flag),
            0xf6 | 0xf7 => {
                self.modrm()?;
                self.group_three(opcode & 1 != 0)?;
            }
            0xfa | 0xfb => {
                self.set(ways!(stack::interrupt_flag), Class::InterruptFlag);
                self.ends = opcode == 0xfb;
            }
            0xfc | 0xfd => self.set(ways!(stack::direction_flag), Class::Flag),
            0xfe => {
                self.modrm()?;
                match self.op.reg {
                    0 => self.operation(byte_operand!(self, increment[][]), false),
                    1 => self.operation(byte_operand!(self, decrement[][]), false),
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
    pub(super) fn group_three(&mut self, wide: bool) -> Option<()> {
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
                let run = match number {
                    2 => any_operand!(self, wide, invert[][]),
                    _ => any_operand!(self, wide, negate[][]),
                };
                self.operation(run, false);
            }
            4 | 5 => {
                let run = match number {
                    4 => any_operand!(self, wide, multiply[][]),
                    _ => any_operand!(self, wide, multiply_signed[][]),
                };
                self.set(run, Class::Multiply);
            }
            _ => {
                let run = match number {
                    6 => any_operand!(self, wide, divide[][]),
                    _ => any_operand!(self, wide, divide_signed[][]),
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
    pub(super) fn group_five(&mut self) {
        match self.op.reg {
            0 => self.operation(operand!(self, increment[][]), false),
            1 => self.operation(operand!(self, decrement[][]), false),
            2 => {
                let run = if self.register_form {
                    sized_jump!(self, indirect, branch::call_to[Rm])
                } else {
                    sized_jump!(self, indirect, branch::call_to[Memory])
                };
                self.set(run, Class::CallRegister);
                self.ends = true;
            }
            4 => {
                let run = if self.register_form {
                    sized_jump!(self, indirect, branch::jump_to[Rm])
                } else {
                    sized_jump!(self, indirect, branch::jump_to[Memory])
                };
                self.set(run, Class::JumpRegister);
                self.ends = true;
            }
            3 | 5 => {
                self.set(sized!(self, branch::far_memory[][]), Class::System);
                self.memory_only();
                self.ends = true;
            }
            6 => self.set_by_form(
                operand!(self, stack::push[][]),
                Class::Push,
                Class::PushMemory,
            ),
            _ => {}
        }
    }
}
