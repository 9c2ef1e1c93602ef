//! The host's instructions, as templates need them: x86-64.
//!
//! Compiled code has the processor in `rbx`, in `r13` the cycle of the last issue of the block that runs, and in `r14`
//! the counts of [`super::calls`]. Some of the guest's registers are in host registers ([`MAPPED`]), all others in the
//! processor. `rax`, `rcx` and `rdx` are free between templates.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::calls::Shared;
use super::hot::Compiler;
use crate::board::VIRT_RAM;
use crate::engine::compiler::assembler::Assembler;
use crate::riscv::mmu::Mmu;
use crate::riscv::op::register;
use crate::riscv::processor::Processor;
use crate::riscv::tlb::{PageShortcut, SHORTCUTS, Tlb};

/// The free registers.
pub const A: u8 = 0;
pub const C: u8 = 1;
pub const D: u8 = 2;

/// Guest registers, and the host registers that hold them in compiled code: those that compilers for RISC-V use most.
pub const MAPPED: [(u8, u8); 9] = [
    (15, 6),
    (14, 7),
    (13, 5),
    (10, 8),
    (11, 9),
    (12, 10),
    (8, 11),
    (16, 12),
    (2, 15),
];

/// Where a guest's register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Host(u8),
    /// At this distance in the processor.
    At(i32),
}

/// Where a register is.
pub fn place(number: u8) -> Place {
    match MAPPED.iter().find(|(guest, _)| *guest == number) {
        Some(&(_, host)) => Place::Host(host),
        None => Place::At(at(number)),
    }
}

/// The distance of a register in the processor.
pub fn at(number: u8) -> i32 {
    (offset_of!(Processor, registers) + usize::from(number) * 8) as i32
}

/// The distance of a field of [`Shared`] in the processor.
pub const fn shared(field: usize) -> i32 {
    (offset_of!(Processor, compiler) + Compiler::SHARED + field) as i32
}

/// The distance of a TLB of the first level: that of fetches, or of data.
pub const fn tlb(data: bool) -> usize {
    offset_of!(Processor, mmu) + offset_of!(Mmu, first) + data as usize * size_of::<Tlb>()
}

pub const CYCLES: i32 = offset_of!(Processor, cycles) as i32;
pub const UNTIL: i32 = shared(offset_of!(Shared, until));
const DATA_USED: i32 = (tlb(true) + Tlb::USED) as i32;
const FETCHES_USED: i32 = (tlb(false) + Tlb::USED) as i32;

/// A RISC-V's code.
#[derive(Default)]
pub struct RiscV;

/// Code of blocks that is being written.
pub type Emitter = Assembler<RiscV>;

/// An operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Multiply,
    Compare,
}

impl Binary {
    fn commutes(self) -> bool {
        !matches!(self, Binary::Sub | Binary::Compare)
    }
}

/// A shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Left,
    Right,
    Arithmetic,
}

/// How accesses to data find their page and line.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// The mode of data, see [`PageShortcut::wanted`].
    pub mode: u8,
    /// An address in RAM rotated to the right by the first number has the place of its set among the D-cache's tags
    /// under the second as a mask: [`crate::memory::Cache::places`].
    pub rotation: u32,
    pub set_mask: u32,
    pub line: u32,
    /// Thunks: notes the use of the entry `edx` of the TLB of data, and of fetches.
    pub note_data: usize,
    pub note_fetch: usize,
}

/// An instruction on a host register and another one, a place in the processor, or a number; `$wide`: of 64 bits.
macro_rules! binary {
    ($ops:expr, $name:ident, $wide:expr, $to:expr, $with:expr) => {
        match ($wide, $with) {
            (true, Place::Host(with)) => dynasm!($ops; .arch x64; $name Rq($to), Rq(with)),
            (true, Place::At(at)) => dynasm!($ops; .arch x64; $name Rq($to), [rbx + at]),
            (false, Place::Host(with)) => dynasm!($ops; .arch x64; $name Rd($to), Rd(with)),
            (false, Place::At(at)) => dynasm!($ops; .arch x64; $name Rd($to), [rbx + at]),
        }
    };
}

macro_rules! with_number {
    ($ops:expr, $name:ident, $wide:expr, $to:expr, $number:expr) => {
        if $wide {
            dynasm!($ops; .arch x64; $name Rq($to), $number);
        } else {
            dynasm!($ops; .arch x64; $name Rd($to), $number);
        }
    };
}

macro_rules! shift {
    ($ops:expr, $name:ident, $wide:expr, $to:expr, $by:expr) => {
        match ($wide, $by) {
            (true, Some(by)) => dynasm!($ops; .arch x64; $name Rq($to), BYTE by),
            (true, None) => dynasm!($ops; .arch x64; $name Rq($to), cl),
            (false, Some(by)) => dynasm!($ops; .arch x64; $name Rd($to), BYTE by),
            (false, None) => dynasm!($ops; .arch x64; $name Rd($to), cl),
        }
    };
}

impl Emitter {
    /// host := the register.
    pub fn get(&mut self, host: u8, register: u8) {
        if register == 0 {
            dynasm!(self.ops; .arch x64; xor Rd(host), Rd(host));
            return;
        }
        match place(register) {
            Place::Host(from) if from == host => {}
            Place::Host(from) => dynasm!(self.ops; .arch x64; mov Rq(host), Rq(from)),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov Rq(host), [rbx + at]),
        }
    }

    /// A host register that holds the register: its host register, or `free`, which is loaded then.
    pub fn held(&mut self, register: u8, free: u8) -> u8 {
        match place(register) {
            Place::Host(host) => host,
            Place::At(_) => {
                self.get(free, register);
                free
            }
        }
    }

    /// The register := host.
    pub fn put(&mut self, register: u8, host: u8) {
        match place(register) {
            Place::Host(to) if to == host => {}
            Place::Host(to) => dynasm!(self.ops; .arch x64; mov Rq(to), Rq(host)),
            Place::At(at) => dynasm!(self.ops; .arch x64; mov [rbx + at], Rq(host)),
        }
    }

    /// The register := the lower word of host, with its sign.
    pub fn put_word(&mut self, register: u8, host: u8) {
        let to = Self::target(register, host);
        dynasm!(self.ops; .arch x64; movsxd Rq(to), Rd(host));
        self.put(register, to);
    }

    /// host := the number.
    pub fn number(&mut self, host: u8, number: u64) {
        if number == 0 {
            dynasm!(self.ops; .arch x64; xor Rd(host), Rd(host));
        } else if let Ok(number) = u32::try_from(number) {
            dynasm!(self.ops; .arch x64; mov Rd(host), DWORD number.cast_signed());
        } else if let Ok(number) = i32::try_from(number.cast_signed()) {
            dynasm!(self.ops; .arch x64; mov Rq(host), DWORD number);
        } else {
            dynasm!(self.ops; .arch x64; mov Rq(host), QWORD number.cast_signed());
        }
    }

    /// The register := the number.
    pub fn put_number(&mut self, register: u8, number: u64) {
        match (place(register), i32::try_from(number.cast_signed())) {
            (Place::At(at), Ok(number)) => {
                dynasm!(self.ops; .arch x64; mov QWORD [rbx + at], number);
            }
            _ => {
                let to = Self::target(register, A);
                self.number(to, number);
                self.put(register, to);
            }
        }
    }

    /// A host register to compute the new value of the register in: its host register, or `free`.
    pub fn target(register: u8, free: u8) -> u8 {
        match place(register) {
            Place::Host(host) => host,
            Place::At(_) => free,
        }
    }

    /// host := host op the register; Compare sets the flags alone. `wide`: of 64 bits.
    pub fn binary(&mut self, op: Binary, wide: bool, host: u8, register: u8) {
        let with = place(register);
        match op {
            Binary::Add => binary!(self.ops, add, wide, host, with),
            Binary::Sub => binary!(self.ops, sub, wide, host, with),
            Binary::And => binary!(self.ops, and, wide, host, with),
            Binary::Or => binary!(self.ops, or, wide, host, with),
            Binary::Xor => binary!(self.ops, xor, wide, host, with),
            Binary::Multiply => binary!(self.ops, imul, wide, host, with),
            Binary::Compare => binary!(self.ops, cmp, wide, host, with),
        }
    }

    /// host := host op the number.
    pub fn with_number(&mut self, op: Binary, wide: bool, host: u8, number: i32) {
        match op {
            Binary::Add => with_number!(self.ops, add, wide, host, number),
            Binary::Sub => with_number!(self.ops, sub, wide, host, number),
            Binary::And => with_number!(self.ops, and, wide, host, number),
            Binary::Or => with_number!(self.ops, or, wide, host, number),
            Binary::Xor => with_number!(self.ops, xor, wide, host, number),
            Binary::Compare => with_number!(self.ops, cmp, wide, host, number),
            Binary::Multiply => unreachable!("no instruction multiplies by a number"),
        }
    }

    /// The register `to` := `from` op `with`, which are in this order.
    pub fn three(&mut self, op: Binary, wide: bool, (to, from, with): (u8, u8, u8)) {
        let (mut from, mut with) = (from, with);
        let own = Self::target(to, A);
        if op.commutes() && place(with) == Place::Host(own) {
            (from, with) = (with, from);
        }
        // The result's own register, unless that holds the second operand.
        let host = if place(with) == Place::Host(own) {
            A
        } else {
            own
        };
        self.get(host, from);
        self.binary(op, wide, host, with);
        if wide {
            self.put(to, host);
        } else {
            self.put_word(to, host);
        }
    }

    /// Shifts a host register by a number, or by `cl`.
    pub fn shift(&mut self, shift: Shift, wide: bool, to: u8, by: Option<i8>) {
        match shift {
            Shift::Left => shift!(self.ops, shl, wide, to, by),
            Shift::Right => shift!(self.ops, shr, wide, to, by),
            Shift::Arithmetic => shift!(self.ops, sar, wide, to, by),
        }
    }

    /// Compares a register with another one, or with 0.
    pub fn compare(&mut self, left: u8, right: u8) {
        if right == 0 {
            match place(left) {
                Place::Host(host) => dynasm!(self.ops; .arch x64; test Rq(host), Rq(host)),
                Place::At(at) => dynasm!(self.ops; .arch x64; cmp QWORD [rbx + at], 0),
            }
            return;
        }
        let host = self.held(left, A);
        self.binary(Binary::Compare, true, host, right);
    }

    /// `rcx` := the address of an access.
    pub fn address(&mut self, base: u8, away: i32) {
        if let Place::Host(host) = place(base) {
            if away == 0 {
                dynasm!(self.ops; .arch x64; mov rcx, Rq(host));
            } else {
                dynasm!(self.ops; .arch x64; lea rcx, [Rq(host) + away]);
            }
            return;
        }
        self.get(C, base);
        if away != 0 {
            self.with_number(Binary::Add, true, C, away);
        }
    }

    /// `rcx`, a virtual address := where the host has the byte there, if its page has a shortcut for this access, and
    /// its line is the one that the D-cache used last in its set, has come, and of a store has been written already.
    /// Otherwise on to `slow`. `rax` and `rdx` are free then.
    pub fn in_ram(&mut self, lookup: &Lookup, bytes: u32, store: bool, slow: DynamicLabel) {
        const PAGES: i32 = (SHORTCUTS as i32 - 1) << PageShortcut::SHIFT;
        const SHIFT: i8 = 12 - PageShortcut::SHIFT as i8;
        let field = if store {
            PageShortcut::STORES
        } else {
            PageShortcut::PAGE
        } as i32;
        let page = -4096 | (bytes.cast_signed() - 1);
        let mode = i32::from(lookup.mode) << 8;
        dynasm!(self.ops; .arch x64
            ; mov eax, ecx
            ; mov rdx, rcx
            ; shr eax, BYTE SHIFT
            ; and rdx, page
            ; and eax, PAGES
        );
        if mode != 0 {
            dynasm!(self.ops; .arch x64; or rdx, mode);
        }
        let (known, note) = (self.label(), lookup.note_data);
        dynasm!(self.ops; .arch x64
            ; add rax, [rbx + shared(offset_of!(Shared, pages))]
            ; cmp rdx, [rax + field]
            ; jne =>slow
            ; mov edx, [rax + PageShortcut::PLACE as i32]
            ; add rcx, [rax + PageShortcut::DELTA as i32]
            ; cmp edx, [rbx + DATA_USED]
            ; je =>known
        );
        self.call(note);
        self.bind(known);
        let (line, mask) = (-(lookup.line as i32), (lookup.set_mask << 2).cast_signed());
        let right = lookup.rotation as i8 - 2;
        dynasm!(self.ops; .arch x64; mov eax, ecx; mov edx, ecx);
        if right > 0 {
            dynasm!(self.ops; .arch x64; shr eax, BYTE right);
        }
        dynasm!(self.ops; .arch x64; and eax, mask; and edx, line; add rax, [rbx + shared(offset_of!(Shared, tags))]);
        // In the tag stands an address in RAM, which begins at this physical address.
        const { assert!(VIRT_RAM == 1 << 31) };
        const BEGIN: i32 = 1 << 31;
        if store {
            dynasm!(self.ops; .arch x64; xor edx, BEGIN | 3; cmp edx, [rax]; jne =>slow);
            // No code is there.
            dynasm!(self.ops; .arch x64
                ; mov eax, ecx
                ; shr eax, 12
                ; shl eax, 3
                ; add rax, [rbx + shared(offset_of!(Shared, code_pieces))]
                ; cmp QWORD [rax], 0
                ; jne =>slow
            );
        } else {
            dynasm!(self.ops; .arch x64; xor edx, [rax]; and edx, -11; cmp edx, BEGIN | 1; jne =>slow);
        }
        dynasm!(self.ops; .arch x64; add rcx, [rbx + shared(offset_of!(Shared, ram))]);
    }

    /// Notes the use of the entry `edx` of the TLB of fetches. `rdx` is free then.
    pub fn note_fetch(&mut self, lookup: &Lookup) {
        let known = self.label();
        dynasm!(self.ops; .arch x64; cmp edx, [rbx + FETCHES_USED]; je =>known);
        self.call(lookup.note_fetch);
        self.bind(known);
    }
}

/// The number of the register that takes results for x0; nothing reads it.
pub const SINK: u8 = register::SINK;
