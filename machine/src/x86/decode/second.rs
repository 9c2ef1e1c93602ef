//! The opcodes behind 0x0f.

use super::super::access::{Byte, Double, Word};
use super::super::clocks::Class;
use super::super::config::Kind;
use super::super::execute::arithmetic::{compare_exchange, compare_exchange_wide, exchange_add};
use super::super::execute::multiply::multiply_short;
use super::super::execute::shift::{ByCl, ByImmediate, left_double, right_double};
use super::super::execute::{Immediate, Memory, Reg, Rm, bits, move_data, stack, system};
use super::super::op::ways;
use super::super::registers::segment;
use super::Decoder;

impl Decoder<'_> {
    /// The opcodes behind 0x0f.
    pub(super) fn second(&mut self) -> Option<()> {
        let opcode = self.byte()?;
        self.op.extra = opcode;
        self.second = opcode;
        let p6 = self.mode.kind == Kind::P6;
        match opcode {
            0x00 | 0x01 => self.system_groups(opcode)?,
            0x02 | 0x03 => {
                self.modrm()?;
                self.set(
                    operand!(self, system::check_segment[][]),
                    Class::CheckSegment,
                );
            }
            0x06 => self.set(ways!(system::clear_task), Class::ClearTask),
            0x08 | 0x09 => {
                self.set(ways!(system::empty_caches), Class::System);
                self.ends = true;
            }
            // NOPs for later instructions that only hint; ENDBR32 is one.
            0x18..=0x1f if p6 => {
                self.modrm()?;
                self.set(ways!(move_data::nothing), Class::Nop);
            }
            0x20..=0x23 => {
                // Both forms of ModRM name a register.
                let modrm = self.byte()?;
                self.op.reg = modrm >> 3 & 7;
                self.op.rm = modrm & 7;
                self.set(ways!(move_data::control), Class::System);
                self.ends = true;
            }
            0x30 | 0x32 if p6 => self.set(ways!(system::model_register), Class::ModelRegister),
            0x31 if p6 => self.set(ways!(system::time), Class::Time),
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
                self.set_by_form(formed!(self, bits::set), Class::Set, Class::SetMemory);
            }
            0xa0 | 0xa8 => {
                self.op.reg = if opcode == 0xa0 {
                    segment::FS
                } else {
                    segment::GS
                };
                self.set(sized!(self, stack::push_segment[][]), Class::FromSegment);
            }
            0xa1 | 0xa9 => {
                self.op.reg = if opcode == 0xa1 {
                    segment::FS
                } else {
                    segment::GS
                };
                self.set(sized!(self, stack::pop_segment[][]), Class::System);
            }
            0xa2 if p6 => self.set(ways!(system::identify), Class::Identify),
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
                self.set(operand!(self, multiply_short[][Reg]), Class::Multiply);
                self.writes = 1 << self.op.reg;
            }
            0xb0 | 0xb1 => {
                self.modrm()?;
                self.set_by_form(
                    any_operand!(self, opcode != 0xb0, compare_exchange[][]),
                    Class::CompareExchange,
                    Class::CompareExchangeMemory,
                );
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
                self.set(operand!(self, bits::scan[][]), Class::BitScan);
            }
            0xc0 | 0xc1 => {
                self.modrm()?;
                self.set(
                    any_operand!(self, opcode != 0xc0, exchange_add[][]),
                    Class::ExchangeAdd,
                );
                self.lockable = !self.register_form;
            }
            0xc7 if p6 => {
                self.modrm()?;
                if self.op.reg == 1 {
                    self.set(ways!(compare_exchange_wide), Class::CompareExchangeWide);
                    self.memory_only();
                    self.lockable = !self.register_form;
                }
            }
            0xc8..=0xcf => {
                self.op.rm = opcode & 7;
                self.set(sized!(self, bits::swap_bytes[][]), Class::ByteSwap);
                self.writes = 1 << self.op.rm;
            }
            _ => {}
        }
        Some(())
    }

    /// BT, BTS, BTR, BTC by a register
    pub(super) fn bit_by_register(&mut self) {
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
    pub(super) fn bit_by_immediate(&mut self) {
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

    pub(super) fn system_groups(&mut self, opcode: u8) -> Option<()> {
        self.modrm()?;
        let number = self.op.reg;
        if opcode == 0 {
            match number {
                0 | 1 => self.system_word(number),
                2 | 3 => {
                    self.op.extra = number;
                    self.set(formed!(self, system::load_system_segment), Class::System);
                }
                4 | 5 => {
                    self.op.extra = number;
                    self.set(
                        operand!(self, system::check_segment[][]),
                        Class::CheckSegment,
                    );
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
                self.set(formed!(self, system::load_status), Class::ClearTask);
                self.ends = true;
            }
            7 => {
                self.set(ways!(system::invalidate_page), Class::System);
                self.memory_only();
                self.ends = true;
            }
            _ => {}
        }
        Some(())
    }

    /// SLDT, STR, SMSW
    pub(super) fn system_word(&mut self, which: u8) {
        self.op.extra = which;
        let run = if self.register_form {
            if self.narrow {
                ways!(stack::system_word::<Word, Rm, false>)
            } else {
                ways!(stack::system_word::<Double, Rm, false>)
            }
        } else {
            ways!(stack::system_word::<Word, Memory, true>)
        };
        self.set(run, Class::StoreTable);
    }
}
