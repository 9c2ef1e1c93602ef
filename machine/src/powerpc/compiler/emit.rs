//! The host's instructions, as templates need them: x86-64.
//!
//! Compiled code has the processor in `rbx`, its cycles in `r13`, the counts of [`super::calls`] in `r14`, and in `r15`
//! the cycle at which the next block leaves. Some of the guest's registers are in host registers ([`MAPPED`]), all
//! others in the processor. `rax`, `rcx` and `rdx` are free between templates.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use crate::engine::compiler::assembler::Assembler;
use crate::memory::LineShortcut;
use crate::powerpc::Registers;
use crate::powerpc::engine::Hot;
use crate::powerpc::processor::Processor;
use crate::powerpc::registers::{ConditionRegister, FixedPointException, Register};

/// The free registers.
pub const A: u8 = 0;
pub const C: u8 = 1;
pub const D: u8 = 2;

/// Guest registers, and the host registers that hold their lower halves in compiled code: those that compilers for
/// PowerPC use most.
pub const MAPPED: [(u8, u8); 8] = [
    (9, 6),
    (10, 7),
    (3, 8),
    (4, 9),
    (0, 10),
    (31, 11),
    (11, 12),
    (5, 5),
];

/// Where a guest's register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Host(u8),
    /// At this distance in the processor.
    At(i32),
}

/// Where a guest's general register is. The one that reads as zero is in memory.
pub fn place(register: Register) -> Place {
    match MAPPED.iter().find(|(guest, _)| *guest == register.number()) {
        Some(&(_, host)) => Place::Host(host),
        None => Place::At(at(register.number())),
    }
}

/// The distance of a general register in the processor.
pub fn at(number: u8) -> i32 {
    const GENERAL: usize = offset_of!(Processor, registers) + offset_of!(Registers, gpr);
    (GENERAL + usize::from(number) * 8) as i32
}

/// The distance of a part of the registers in the processor.
macro_rules! register {
    ($($part:ident).+) => {
        (std::mem::offset_of!($crate::powerpc::processor::Processor, registers)
            + std::mem::offset_of!($crate::powerpc::Registers, $($part).+)) as i32
    };
}
pub(crate) use register;

/// The distance of a part of the engine's data in the processor.
pub const fn hot(part: usize) -> i32 {
    (offset_of!(Processor, hot) + part) as i32
}

/// The distance of a condition field.
pub fn field(number: u8) -> i32 {
    register!(cr) + ConditionRegister::PLACE as i32 + i32::from(number)
}

const CA: i32 = register!(xer) + offset_of!(FixedPointException, ca) as i32;
const SO: i32 = register!(xer) + offset_of!(FixedPointException, so) as i32;

/// An operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Adc,
    Sub,
    And,
    Or,
    Xor,
    Multiply,
    Compare,
}

/// A PowerPC's code.
pub struct PowerPc;

/// Code of templates that is being written.
pub type Emitter = Assembler<PowerPc>;

impl Emitter {
    /// host := the register.
    pub fn get(&mut self, host: u8, register: Register) {
        match place(register) {
            Place::Host(from) => dynasm!(self.ops; .arch x64; mov Rd(host), Rd(from)),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov Rd(host), [rbx + at]),
        }
    }

    /// A host register that holds the register: its own, or the free one `free`, which it is loaded to.
    pub fn held(&mut self, register: Register, free: u8) -> u8 {
        match place(register) {
            Place::Host(host) => host,
            Place::At(_) => {
                self.get(free, register);
                free
            }
        }
    }

    /// The register := host.
    pub fn put(&mut self, register: Register, host: u8) {
        match place(register) {
            Place::Host(to) if to == host => {}
            Place::Host(to) => dynasm!(self.ops; .arch x64; mov Rd(to), Rd(host)),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov [rbx + at], Rd(host)),
        }
    }

    /// The register := the number.
    pub fn put_number(&mut self, register: Register, number: u32) {
        let number = number.cast_signed();
        match place(register) {
            Place::Host(to) => dynasm!(self.ops; .arch x64; mov Rd(to), DWORD number),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov DWORD [rbx + at], number),
        }
    }

    /// A host register to compute the new value of the register in: its own if it has one.
    pub fn target(register: Register, free: u8) -> u8 {
        match place(register) {
            Place::Host(host) => host,
            Place::At(_) => free,
        }
    }

    /// host := host op the register; Compare sets the flags alone.
    pub fn binary(&mut self, op: Binary, host: u8, register: Register) {
        match place(register) {
            Place::Host(other) => match op {
                Binary::Add => dynasm!(self.ops; .arch x64; add Rd(host), Rd(other)),
                Binary::Adc => dynasm!(self.ops; .arch x64; adc Rd(host), Rd(other)),
                Binary::Sub => dynasm!(self.ops; .arch x64; sub Rd(host), Rd(other)),
                Binary::And => dynasm!(self.ops; .arch x64; and Rd(host), Rd(other)),
                Binary::Or => dynasm!(self.ops; .arch x64; or Rd(host), Rd(other)),
                Binary::Xor => dynasm!(self.ops; .arch x64; xor Rd(host), Rd(other)),
                Binary::Multiply => dynasm!(self.ops; .arch x64; imul Rd(host), Rd(other)),
                Binary::Compare => dynasm!(self.ops; .arch x64; cmp Rd(host), Rd(other)),
            },
            Place::At(at) => match op {
                Binary::Add => dynasm!(self.ops; .arch x64; add Rd(host), [rbx + at]),
                Binary::Adc => dynasm!(self.ops; .arch x64; adc Rd(host), [rbx + at]),
                Binary::Sub => dynasm!(self.ops; .arch x64; sub Rd(host), [rbx + at]),
                Binary::And => dynasm!(self.ops; .arch x64; and Rd(host), [rbx + at]),
                Binary::Or => dynasm!(self.ops; .arch x64; or Rd(host), [rbx + at]),
                Binary::Xor => dynasm!(self.ops; .arch x64; xor Rd(host), [rbx + at]),
                Binary::Multiply => dynasm!(self.ops; .arch x64; imul Rd(host), [rbx + at]),
                Binary::Compare => dynasm!(self.ops; .arch x64; cmp Rd(host), [rbx + at]),
            },
        }
    }

    /// host := host op the number.
    pub fn with_number(&mut self, op: Binary, host: u8, number: u32) {
        let number = number.cast_signed();
        match op {
            Binary::Add => dynasm!(self.ops; .arch x64; add Rd(host), number),
            Binary::Adc => dynasm!(self.ops; .arch x64; adc Rd(host), number),
            Binary::Sub => dynasm!(self.ops; .arch x64; sub Rd(host), number),
            Binary::And => dynasm!(self.ops; .arch x64; and Rd(host), number),
            Binary::Or => dynasm!(self.ops; .arch x64; or Rd(host), number),
            Binary::Xor => dynasm!(self.ops; .arch x64; xor Rd(host), number),
            Binary::Multiply => dynasm!(self.ops; .arch x64; imul Rd(host), Rd(host), number),
            Binary::Compare => dynasm!(self.ops; .arch x64; cmp Rd(host), number),
        }
    }

    /// Compares the register with a number.
    pub fn compare_number(&mut self, register: Register, number: u32) {
        let number = number.cast_signed();
        match place(register) {
            Place::Host(host) if number == 0 => {
                dynasm!(self.ops; .arch x64; test Rd(host), Rd(host));
            }
            Place::Host(host) => dynasm!(self.ops; .arch x64; cmp Rd(host), number),
            Place::At(at) => dynasm!(self.ops; .arch x64; cmp DWORD [rbx + at], number),
        }
    }

    /// The register `to` := `from` op `with`, which are in this order.
    pub fn three(&mut self, op: Binary, to: Register, from: Register, with: Register) {
        // The result's own register, unless that holds the second operand.
        let own = Self::target(to, A);
        let host = if place(with) == Place::Host(own) {
            A
        } else {
            own
        };
        self.get(host, from);
        self.binary(op, host, with);
        self.put(to, host);
    }

    /// The host's carry := XER[CA].
    pub fn carry(&mut self) {
        dynasm!(self.ops; .arch x64; cmp BYTE [rbx + CA], 1; cmc);
    }

    /// XER[CA] := the host's carry, or its complement.
    pub fn set_carry(&mut self, complement: bool) {
        if complement {
            dynasm!(self.ops; .arch x64; setnc BYTE [rbx + CA]);
        } else {
            dynasm!(self.ops; .arch x64; setc BYTE [rbx + CA]);
        }
    }

    /// A condition field := what the host's flags say of a comparison, and XER[SO].
    pub fn set_field(&mut self, number: u8, signed: bool) {
        dynasm!(self.ops; .arch x64; mov eax, DWORD 4; mov ecx, DWORD 8; mov edx, DWORD 2);
        if signed {
            dynasm!(self.ops; .arch x64; cmovl eax, ecx);
        } else {
            dynasm!(self.ops; .arch x64; cmovb eax, ecx);
        }
        dynasm!(self.ops; .arch x64
            ; cmove eax, edx
            ; or al, [rbx + SO]
            ; mov [rbx + field(number)], al
        );
    }

    /// Condition field 0 := the value in `host` against 0.
    pub fn record(&mut self, host: u8) {
        dynasm!(self.ops; .arch x64; test Rd(host), Rd(host));
        self.set_field(0, true);
    }

    /// `ecx` := the address of an access.
    pub fn address(&mut self, base: Register, and: Address) {
        match and {
            Address::Number(number) => {
                if base == Register::ZERO {
                    dynasm!(self.ops; .arch x64; mov ecx, DWORD number.cast_signed());
                } else if let Place::Host(host) = place(base) {
                    dynasm!(self.ops; .arch x64; lea ecx, [Rq(host) + number.cast_signed()]);
                } else {
                    self.get(C, base);
                    if number != 0 {
                        self.with_number(Binary::Add, C, number);
                    }
                }
            }
            Address::Register(index) => {
                self.get(C, index);
                if base != Register::ZERO {
                    self.binary(Binary::Add, C, base);
                }
            }
        }
    }

    /// `rcx`, an effective address in `ecx` := where the host has the byte there, if the line has a shortcut for this
    /// access. Otherwise on to `slow`, with `ecx` as it was.
    pub fn host_address(&mut self, bytes: u32, store: bool, slow: DynamicLabel) {
        let piece = if store {
            LineShortcut::STORE
        } else {
            LineShortcut::LOAD
        } as i32;
        let low = -16 | (bytes.cast_signed() - 1);
        let lines = hot(offset_of!(Hot, lines));
        const { assert!(LineShortcut::SCALE == 2) };
        dynasm!(self.ops; .arch x64
            ; mov eax, ecx
            ; mov edx, ecx
            ; and eax, DWORD 0xff0
            ; and edx, low
            ; add eax, eax
            ; add rax, [rbx + lines]
            ; cmp edx, [rax + piece]
            ; jne =>slow
            ; mov rdx, [rax + LineShortcut::RECENT as i32]
            ; add rcx, [rax + LineShortcut::ORIGIN as i32]
            ; mov al, [rax + LineShortcut::WAY as i32]
            ; mov [rdx], al
        );
    }
}

/// What is added to a register to form an address.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    Number(u32),
    Register(Register),
}
