//! The host's instructions, as templates need them: x86-64.
//!
//! Compiled code has the processor in `rbx`, its cycles in `r13`, and in `r15` the shortcuts to lines of the D-cache in
//! the current mode. Some of the guest's registers are in host registers ([`MAPPED`]), all further ones in the
//! processor. `rax`, `rcx` and `rdx` are free between templates.
//!
//! A comparison makes no condition field: its operands are kept ([`Compared`]). A branch behind it in its block
//! compares them, and whatever else needs the field makes it.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::Shared;
use super::compared::{Compared, Kind};
use super::thunks::shared;
use crate::engine::compiler::assembler::Assembler;
use crate::memory::LineShortcut;
use crate::powerpc::Registers;
use crate::powerpc::processor::Processor;
use crate::powerpc::registers::{ConditionRegister, FixedPointException, Register};

/// The free registers.
pub const A: u8 = 0;
pub const C: u8 = 1;
pub const D: u8 = 2;

/// Guest registers, and the host registers that hold their lower halves in compiled code: those that compilers for
/// PowerPC use most.
pub const MAPPED: [(u8, u8); 9] = [
    (9, 6),
    (10, 7),
    (3, 8),
    (4, 9),
    (0, 10),
    (31, 11),
    (1, 12),
    (5, 5),
    (8, 14),
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

/// The distance of a field's comparison.
fn compared(number: u8) -> i32 {
    shared(offset_of!(Shared, compared)) + Compared::place(number)
}

/// The distance of the kind of a field's comparison.
fn kind_place(number: u8) -> i32 {
    shared(offset_of!(Shared, compared)) + Compared::kind_place(number)
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

/// The right operand of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Right {
    Number(u32),
    Host(u8),
}

/// A comparison in code that is being written.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    signed: bool,
    left: u8,
    right: Right,
    /// Where the code behind it begins.
    end: usize,
}

/// A PowerPC's code, and what is known of it where it ends.
pub struct PowerPc {
    /// The comparison of each condition field that has been compared in this code.
    comparisons: [Option<Comparison>; 8],
    /// The register that was stored from `eax` last, and where the code behind that begins.
    stored: Option<(Register, usize)>,
    /// The host has an instruction that loads and swaps bytes.
    movbe: bool,
}

impl Default for PowerPc {
    fn default() -> Self {
        PowerPc {
            comparisons: [None; 8],
            stored: None,
            movbe: std::arch::is_x86_feature_detected!("movbe"),
        }
    }
}

/// Code of templates that is being written.
pub type Emitter = Assembler<PowerPc>;

impl Emitter {
    /// Where a guest's general register is now. Directly behind the store of a new value from `eax`, that is `eax`.
    fn place(&self, register: Register) -> Place {
        if self.guest.stored == Some((register, self.ops.offset().0)) {
            return Place::Host(A);
        }
        place(register)
    }

    /// host := the register.
    pub fn get(&mut self, host: u8, register: Register) {
        match self.place(register) {
            Place::Host(from) if from == host => {}
            Place::Host(from) => dynasm!(self.ops; .arch x64; mov Rd(host), Rd(from)),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov Rd(host), [rbx + at]),
        }
    }

    /// A host register that holds the register: its host register, or `free`, which is loaded then.
    pub fn held(&mut self, register: Register, free: u8) -> u8 {
        match self.place(register) {
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
            Place::At(at) => {
                dynasm!(self.ops; .arch x64; mov [rbx + at], Rd(host));
                if host == A {
                    self.guest.stored = Some((register, self.ops.offset().0));
                }
            }
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

    /// A host register to compute the new value of the register in: its host register, or `free`.
    pub fn target(register: Register, free: u8) -> u8 {
        match place(register) {
            Place::Host(host) => host,
            Place::At(_) => free,
        }
    }

    /// host := host op the register; Compare sets the flags alone.
    pub fn binary(&mut self, op: Binary, host: u8, register: Register) {
        match self.place(register) {
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

    /// Keeps a comparison, of a register with a register or a number, from which the condition field can be made. Emits
    /// `mov` alone, so that the host's flags stay.
    pub fn compare(&mut self, number: u8, signed: bool, left: u8, right: Right) {
        let place = compared(number);
        dynasm!(self.ops; .arch x64; mov [rbx + place + Compared::LEFT], Rd(left));
        match right {
            Right::Number(number) => {
                let number = number.cast_signed();
                dynasm!(self.ops; .arch x64; mov DWORD [rbx + place + Compared::RIGHT], number);
            }
            Right::Host(host) => {
                dynasm!(self.ops; .arch x64; mov [rbx + place + Compared::RIGHT], Rd(host));
            }
        }
        let kind = Kind::of(signed) as i8;
        dynasm!(self.ops; .arch x64; mov BYTE [rbx + kind_place(number)], kind);
        self.guest.comparisons[usize::from(number)] = Some(Comparison {
            signed,
            left,
            right,
            end: self.ops.offset().0,
        });
    }

    /// Condition field 0 := the value in `host` against 0.
    pub fn record(&mut self, host: u8) {
        self.compare(0, true, host, Right::Number(0));
    }

    /// Binds a label that is jumped to from elsewhere: `eax` holds nothing there.
    pub fn join(&mut self, label: DynamicLabel) {
        self.bind(label);
        self.guest.stored = None;
    }

    /// Rust may change condition fields here.
    pub fn forget_comparisons(&mut self) {
        self.guest.comparisons = [None; 8];
    }

    /// On to `otherwise` unless the condition bit has this value. `make`: the thunks that make the fields. `ecx` stays
    /// as it is.
    pub fn unless(&mut self, bit: u8, wanted: bool, otherwise: DynamicLabel, make: &[usize; 8]) {
        let number = bit >> 2;
        let comparison = self.guest.comparisons[usize::from(number)];
        let Some(Comparison {
            signed,
            left,
            right,
            end,
        }) = comparison.filter(|_| bit & 3 != 3)
        else {
            return self.unless_in_field(bit, wanted, otherwise, make[usize::from(number)]);
        };
        let place = compared(number);
        if end != self.ops.offset().0 {
            dynasm!(self.ops; .arch x64
                ; mov eax, [rbx + place + Compared::LEFT]
                ; cmp eax, [rbx + place + Compared::RIGHT]
            );
        } else {
            match right {
                Right::Number(0) => dynasm!(self.ops; .arch x64; test Rd(left), Rd(left)),
                Right::Number(number) => {
                    dynasm!(self.ops; .arch x64; cmp Rd(left), number.cast_signed());
                }
                Right::Host(host) => dynasm!(self.ops; .arch x64; cmp Rd(left), Rd(host)),
            }
        }
        match (bit & 3, signed, wanted) {
            (0, true, true) => dynasm!(self.ops; .arch x64; jge =>otherwise),
            (0, true, false) => dynasm!(self.ops; .arch x64; jl =>otherwise),
            (0, false, true) => dynasm!(self.ops; .arch x64; jae =>otherwise),
            (0, false, false) => dynasm!(self.ops; .arch x64; jb =>otherwise),
            (1, true, true) => dynasm!(self.ops; .arch x64; jle =>otherwise),
            (1, true, false) => dynasm!(self.ops; .arch x64; jg =>otherwise),
            (1, false, true) => dynasm!(self.ops; .arch x64; jbe =>otherwise),
            (1, false, false) => dynasm!(self.ops; .arch x64; ja =>otherwise),
            (_, _, true) => dynasm!(self.ops; .arch x64; jne =>otherwise),
            (_, _, false) => dynasm!(self.ops; .arch x64; je =>otherwise),
        }
    }

    /// The same, by the field, which is made first.
    fn unless_in_field(&mut self, bit: u8, wanted: bool, otherwise: DynamicLabel, make: usize) {
        let (number, mask) = (bit >> 2, 8_i8 >> (bit & 3));
        dynasm!(self.ops; .arch x64; cmp BYTE [rbx + kind_place(number)], 0; je >made);
        self.call(make);
        dynasm!(self.ops; .arch x64; made:; test BYTE [rbx + field(number)], mask);
        if wanted {
            dynasm!(self.ops; .arch x64; jz =>otherwise);
        } else {
            dynasm!(self.ops; .arch x64; jnz =>otherwise);
        }
    }

    /// A thunk, which is called: makes a condition field that is to be made. `rcx` stays as it is.
    pub fn make_field(&mut self, number: u8) {
        let place = compared(number);
        dynasm!(self.ops; .arch x64
            ; cmp BYTE [rbx + kind_place(number)], Kind::Signed as i8
            ; mov BYTE [rbx + kind_place(number)], 0
            ; jne >unsigned
            ; mov eax, [rbx + place + Compared::LEFT]
            ; cmp eax, [rbx + place + Compared::RIGHT]
            ; mov edx, DWORD 4
            ; mov eax, DWORD 8
            ; cmovl edx, eax
            ; jmp >equal
            ; unsigned:
            ; mov eax, [rbx + place + Compared::LEFT]
            ; cmp eax, [rbx + place + Compared::RIGHT]
            ; mov edx, DWORD 4
            ; mov eax, DWORD 8
            ; cmovb edx, eax
            ; equal:
            ; mov eax, DWORD 2
            ; cmove edx, eax
            ; or dl, [rbx + SO]
            ; mov [rbx + field(number)], dl
            ; ret
        );
    }

    /// `ecx` := the address of an access.
    pub fn address(&mut self, base: Register, and: Address) {
        match and {
            Address::Number(number) => {
                if base == Register::ZERO {
                    dynasm!(self.ops; .arch x64; mov ecx, DWORD number.cast_signed());
                } else if let Place::Host(host) = self.place(base) {
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
        const { assert!(LineShortcut::SCALE == 2) };
        dynasm!(self.ops; .arch x64
            ; mov eax, ecx
            ; mov edx, ecx
            ; and eax, DWORD 0xff0
            ; and edx, low
            ; cmp edx, [r15 + rax * 2 + piece]
            ; jne =>slow
            ; mov rdx, [r15 + rax * 2 + LineShortcut::RECENT as i32]
            ; add rcx, [r15 + rax * 2 + LineShortcut::ORIGIN as i32]
            ; mov al, [r15 + rax * 2 + LineShortcut::WAY as i32]
            ; mov [rdx], al
        );
    }

    /// Adds to the counts.
    pub fn count(&mut self, counts: i64) {
        let at = shared(offset_of!(Shared, counts));
        match i32::try_from(counts) {
            Ok(counts) => dynasm!(self.ops; .arch x64; add QWORD [rbx + at], counts),
            Err(_) => dynasm!(self.ops; .arch x64; mov rdx, QWORD counts; add [rbx + at], rdx),
        }
    }

    /// host := the word at `rcx` in the guest's order of bytes.
    pub fn load_word(&mut self, host: u8) {
        if self.guest.movbe {
            dynasm!(self.ops; .arch x64; movbe Rd(host), [rcx]);
        } else {
            dynasm!(self.ops; .arch x64; mov Rd(host), [rcx]; bswap Rd(host));
        }
    }

    /// The word at `rcx`, in the guest's order of bytes, := the host register. `eax` is free then.
    pub fn store_word(&mut self, host: u8) {
        if self.guest.movbe {
            dynasm!(self.ops; .arch x64; movbe [rcx], Rd(host));
        } else {
            dynasm!(self.ops; .arch x64; mov eax, Rd(host); bswap eax; mov [rcx], eax);
        }
    }
}

/// What is added to a register to form an address.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    Number(u32),
    Register(Register),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::compiler::memory::CodeMemory;

    /// A host may lack the instruction that swaps what it loads or stores.
    #[test]
    fn words_are_swapped_by_every_host() {
        for movbe in [std::arch::is_x86_feature_detected!("movbe"), false] {
            let mut memory = CodeMemory::new(0).expect("the host gives executable memory");
            let mut e = Emitter::new(memory.next());
            e.guest.movbe = movbe;
            dynasm!(e.ops; .arch x64; mov rcx, rdi);
            e.load_word(D);
            dynasm!(e.ops; .arch x64; add edx, 1; mov rcx, rsi);
            e.store_word(D);
            dynasm!(e.ops; .arch x64; mov eax, edx; ret);
            let code = memory.write(&e.finish());
            // SAFETY: the code above.
            let f: extern "sysv64" fn(*const u8, *mut u8) -> u32 =
                unsafe { std::mem::transmute(code) };
            let mut to = [0; 4];
            assert_eq!(f([1, 2, 3, 4].as_ptr(), to.as_mut_ptr()), 0x0102_0305);
            assert_eq!(to, [1, 2, 3, 5]);
        }
    }
}
