//! What instructions do, as the host's code: a second text of [`crate::riscv::execute`].

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::emit::{A, Binary, C, D, Emitter, Lookup, SINK, Shift, at};
use crate::riscv::compressed::expand;
use crate::riscv::csr::{Csr, mstatus};
use crate::riscv::op::{Class, Op};
use crate::riscv::processor::Processor;

const STATUS: i32 = (offset_of!(Processor, csr) + offset_of!(Csr, mstatus)) as i32;

/// A load or store.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub bytes: u32,
    pub store: bool,
    signed: bool,
    float: bool,
}

/// The instruction of four bytes that an op is.
pub fn whole(op: &Op) -> u32 {
    if op.length == 4 {
        op.word
    } else {
        expand(op.word as u16).unwrap_or_default()
    }
}

/// The load or store that an op is.
pub fn access(op: &Op) -> Option<Access> {
    if !matches!(op.class, Class::Load | Class::Store) {
        return None;
    }
    let word = whole(op);
    let kind = word >> 12 & 7;
    Some(Access {
        bytes: 1 << (kind & 3),
        store: op.class == Class::Store,
        signed: kind < 4,
        float: word & 4 != 0,
    })
}

/// Emits a load or store, for which the code at `slow` calls the interpreter's function.
pub fn load_or_store(
    e: &mut Emitter,
    op: &Op,
    access: Access,
    lookup: &Lookup,
    slow: DynamicLabel,
) {
    let Access { bytes, store, .. } = access;
    if access.float {
        dynasm!(e.ops; .arch x64; test DWORD [rbx + STATUS], mstatus::FS as i32; jz =>slow);
    }
    e.address(op.rs1, op.immediate);
    e.in_ram(lookup, bytes, store, slow);
    if store {
        let from = if op.rs2 == 0 {
            e.get(A, 0);
            A
        } else {
            e.held(op.rs2, A)
        };
        match bytes {
            1 => dynasm!(e.ops; .arch x64; mov [rcx], Rb(from)),
            2 => dynasm!(e.ops; .arch x64; mov [rcx], Rw(from)),
            4 => dynasm!(e.ops; .arch x64; mov [rcx], Rd(from)),
            _ => dynasm!(e.ops; .arch x64; mov [rcx], Rq(from)),
        }
        return;
    }
    let to = Emitter::target(op.rd, A);
    match (bytes, access.signed && !access.float) {
        (1, true) => dynasm!(e.ops; .arch x64; movsx Rq(to), BYTE [rcx]),
        (1, false) => dynasm!(e.ops; .arch x64; movzx Rd(to), BYTE [rcx]),
        (2, true) => dynasm!(e.ops; .arch x64; movsx Rq(to), WORD [rcx]),
        (2, false) => dynasm!(e.ops; .arch x64; movzx Rd(to), WORD [rcx]),
        (4, true) => dynasm!(e.ops; .arch x64; movsxd Rq(to), DWORD [rcx]),
        (4, false) => dynasm!(e.ops; .arch x64; mov Rd(to), [rcx]),
        _ => dynasm!(e.ops; .arch x64; mov Rq(to), [rcx]),
    }
    e.put(op.rd, to);
    if access.float {
        if bytes == 4 {
            dynasm!(e.ops; .arch x64; mov DWORD [rbx + at(op.rd) + 4], -1);
        }
        dynasm!(e.ops; .arch x64; or DWORD [rbx + STATUS], mstatus::FS as i32);
    }
}

/// Emits an instruction at `va` that changes registers and nothing else. False: it has no template.
pub fn plain(e: &mut Emitter, op: &Op, va: u64) -> bool {
    if !op.class.is_plain() {
        return false;
    }
    if op.rd == SINK {
        return true;
    }
    let word = whole(op);
    let (opcode, kind, more) = (word & 0x7f, word >> 12 & 7, word >> 25);
    let immediate = i64::from(op.immediate).cast_unsigned();
    match opcode {
        0x37 => e.put_number(op.rd, immediate),
        0x17 => e.put_number(op.rd, va.wrapping_add(immediate)),
        0x13 | 0x1b => return with_immediate(e, op, opcode == 0x13, kind, more),
        0x33 | 0x3b => return with_register(e, op, opcode == 0x33, kind, more),
        _ => return false,
    }
    true
}

fn with_immediate(e: &mut Emitter, op: &Op, wide: bool, kind: u32, more: u32) -> bool {
    let (rd, rs1, immediate) = (op.rd, op.rs1, op.immediate);
    // Of a shift by 0 to 63 the lowest bit is a part of the number.
    let more = if wide { more & !1 } else { more };
    let shift = match (kind, more) {
        (1, 0) => Some(Shift::Left),
        (5, 0) => Some(Shift::Right),
        (5, 0x20) => Some(Shift::Arithmetic),
        (1 | 5, _) => return false,
        _ => None,
    };
    if let Some(shift) = shift {
        let by = immediate as i8 & if wide { 63 } else { 31 };
        let to = Emitter::target(rd, A);
        e.get(to, rs1);
        e.shift(shift, wide, to, Some(by));
        if wide {
            e.put(rd, to);
        } else {
            e.put_word(rd, to);
        }
        return true;
    }
    match (kind, wide) {
        (0, true) if rs1 == 0 => e.put_number(rd, i64::from(immediate).cast_unsigned()),
        (0, true) => {
            let (from, to) = (e.held(rs1, A), Emitter::target(rd, A));
            if from == to {
                if immediate != 0 {
                    e.with_number(Binary::Add, true, to, immediate);
                }
            } else if immediate == 0 {
                e.put(rd, from);
                return true;
            } else {
                dynasm!(e.ops; .arch x64; lea Rq(to), [Rq(from) + immediate]);
            }
            e.put(rd, to);
        }
        (0, false) if rs1 == 0 => e.put_number(rd, i64::from(immediate).cast_unsigned()),
        (0, false) => {
            let from = e.held(rs1, A);
            let to = Emitter::target(rd, A);
            if immediate == 0 {
                dynasm!(e.ops; .arch x64; movsxd Rq(to), Rd(from));
            } else {
                dynasm!(e.ops; .arch x64; lea Rd(to), [Rq(from) + immediate]; movsxd Rq(to), Rd(to));
            }
            e.put(rd, to);
        }
        (2 | 3, true) => {
            let from = if rs1 == 0 {
                e.get(A, 0);
                A
            } else {
                e.held(rs1, A)
            };
            e.with_number(Binary::Compare, true, from, immediate);
            set_if_less(e, rd, kind == 2);
        }
        (4 | 6 | 7, true) => {
            let op = match kind {
                4 => Binary::Xor,
                6 => Binary::Or,
                _ => Binary::And,
            };
            let to = Emitter::target(rd, A);
            e.get(to, rs1);
            if op == Binary::Xor && immediate == -1 {
                dynasm!(e.ops; .arch x64; not Rq(to));
            } else if op == Binary::And && immediate == 0xff {
                dynasm!(e.ops; .arch x64; movzx Rd(to), Rb(to));
            } else {
                e.with_number(op, true, to, immediate);
            }
            e.put(rd, to);
        }
        _ => return false,
    }
    true
}

/// The register := whether the host's flags say "less".
fn set_if_less(e: &mut Emitter, rd: u8, signed: bool) {
    if signed {
        dynasm!(e.ops; .arch x64; setl al);
    } else {
        dynasm!(e.ops; .arch x64; setb al);
    }
    let to = Emitter::target(rd, A);
    dynasm!(e.ops; .arch x64; movzx Rd(to), al);
    e.put(rd, to);
}

fn with_register(e: &mut Emitter, op: &Op, wide: bool, kind: u32, more: u32) -> bool {
    let (rd, rs1, rs2) = (op.rd, op.rs1, op.rs2);
    match (more, kind) {
        (0, 0) => e.three(Binary::Add, wide, (rd, rs1, rs2)),
        (0x20, 0) => e.three(Binary::Sub, wide, (rd, rs1, rs2)),
        (0, 4) if wide => e.three(Binary::Xor, true, (rd, rs1, rs2)),
        (0, 6) if wide => e.three(Binary::Or, true, (rd, rs1, rs2)),
        (0, 7) if wide => e.three(Binary::And, true, (rd, rs1, rs2)),
        (1, 0) => e.three(Binary::Multiply, wide, (rd, rs1, rs2)),
        (0, 2 | 3) if wide => {
            let left = if rs1 == 0 {
                e.get(A, 0);
                A
            } else {
                e.held(rs1, A)
            };
            e.binary(Binary::Compare, true, left, rs2);
            set_if_less(e, rd, kind == 2);
        }
        (0, 1 | 5) | (0x20, 5) => {
            e.get(C, rs2);
            let to = Emitter::target(rd, A);
            e.get(to, rs1);
            let shift = match (more, kind) {
                (0, 1) => Shift::Left,
                (0, _) => Shift::Right,
                _ => Shift::Arithmetic,
            };
            e.shift(shift, wide, to, None);
            if wide {
                e.put(rd, to);
            } else {
                e.put_word(rd, to);
            }
        }
        (1, 1 | 3) if wide => {
            e.get(A, rs1);
            e.get(C, rs2);
            if kind == 1 {
                dynasm!(e.ops; .arch x64; imul rcx);
            } else {
                dynasm!(e.ops; .arch x64; mul rcx);
            }
            e.put(rd, D);
        }
        (1, 4..=7) => divide(e, op, wide, kind),
        // sh1add, sh2add, sh3add
        (0x10, 2 | 4 | 6) if wide => {
            e.get(A, rs1);
            e.get(C, rs2);
            match kind {
                2 => dynasm!(e.ops; .arch x64; lea rax, [rcx + rax * 2]),
                4 => dynasm!(e.ops; .arch x64; lea rax, [rcx + rax * 4]),
                _ => dynasm!(e.ops; .arch x64; lea rax, [rcx + rax * 8]),
            }
            e.put(rd, A);
        }
        // add.uw
        (4, 0) if !wide => {
            e.get(A, rs1);
            e.get(C, rs2);
            dynasm!(e.ops; .arch x64; mov eax, eax; add rax, rcx);
            e.put(rd, A);
        }
        // andn, orn, xnor
        (0x20, 4 | 6 | 7) if wide => {
            e.get(A, rs2);
            dynasm!(e.ops; .arch x64; not rax);
            let op = match kind {
                4 => Binary::Xor,
                6 => Binary::Or,
                _ => Binary::And,
            };
            e.binary(op, true, A, rs1);
            e.put(rd, A);
        }
        _ => return false,
    }
    true
}

/// Divisions: what they give without a divisor, and where the quotient overflows, the host does not.
fn divide(e: &mut Emitter, op: &Op, wide: bool, kind: u32) {
    e.get(A, op.rs1);
    e.get(C, op.rs2);
    let (zero, done) = (e.label(), e.label());
    if wide {
        dynasm!(e.ops; .arch x64; test rcx, rcx; jz =>zero);
    } else {
        dynasm!(e.ops; .arch x64; test ecx, ecx; jz =>zero);
    }
    match (kind & 1 == 0, wide) {
        (true, true) => dynasm!(e.ops; .arch x64
            ; cmp rcx, -1
            ; je >negate
            ; cqo
            ; idiv rcx
            ; jmp =>done
            ; negate:
            ; neg rax
            ; xor edx, edx
            ; jmp =>done
        ),
        (true, false) => dynasm!(e.ops; .arch x64
            ; cmp ecx, -1
            ; je >negate
            ; cdq
            ; idiv ecx
            ; jmp =>done
            ; negate:
            ; neg eax
            ; xor edx, edx
            ; jmp =>done
        ),
        (false, true) => dynasm!(e.ops; .arch x64; xor edx, edx; div rcx; jmp =>done),
        (false, false) => dynasm!(e.ops; .arch x64; xor edx, edx; div ecx; jmp =>done),
    }
    dynasm!(e.ops; .arch x64; =>zero; mov rdx, rax; mov rax, -1; =>done);
    let result = if kind < 6 { A } else { D };
    if wide {
        e.put(op.rd, result);
    } else {
        e.put_word(op.rd, result);
    }
}
