//! How a version goes on behind its last instruction: branches, jumps to registers, and edges to other versions.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::super::calls::{Shared, packed};
use super::super::code::{Kind, TARGET_SHIFT, TARGETS, Target};
use super::super::emit::{A, Binary, C, SINK, UNTIL, shared};
use super::super::templates::whole;
use super::Block;
use crate::board::VIRT_RAM;
use crate::engine::schedule::Number;
use crate::memory::RamAddress;
use crate::pipeline::Returns;
use crate::riscv::counters::Hpm;
use crate::riscv::csr::Csr;
use crate::riscv::execute::branch::links;
use crate::riscv::op::Op;
use crate::riscv::predictor::{CALLS, Predictor};
use crate::riscv::processor::Processor;
use crate::riscv::tlb::PageShortcut;

const MISPREDICTED: i32 = offset_of!(Processor, mispredicted) as i32;
const JUMPS: i32 = hpm(offset_of!(Hpm, jumps));
const MISDIRECTED: i32 = hpm(offset_of!(Hpm, misdirected));

const fn hpm(field: usize) -> i32 {
    (offset_of!(Processor, csr) + offset_of!(Csr, hpm) + field) as i32
}

/// Where the number of the newest return address is, and where the addresses are.
const RETURNS: (i32, i32) = {
    const AT: usize = offset_of!(Processor, predictor) + offset_of!(Predictor, returns);
    let (top, addresses) = Returns::<CALLS>::PARTS;
    ((AT + top) as i32, (AT + addresses) as i32)
};

/// What the fetch of a line counts.
const LINE: i32 = packed(1, 0, 0, 0) as i32;

const PAGE: i32 = PageShortcut::PAGE as i32;
const DELTA: i32 = PageShortcut::DELTA as i32;
const PLACE: i32 = PageShortcut::PLACE as i32;

impl Block<'_> {
    /// The branch or jump at `va` that ends the version.
    pub(super) fn branch(&mut self, op: &Op, va: u64) {
        let next = va.wrapping_add(op.length.into());
        let target = va.wrapping_add_signed(op.immediate.into());
        let word = whole(op);
        match word & 0x7f {
            0x63 => self.conditional(op, va, (target, next), word >> 12 & 7),
            0x6f => {
                self.link(op, next);
                if links(op.rd) {
                    self.call(next);
                }
                self.edge(target, self.around.end);
            }
            _ => self.jump_to_register(op, va, next),
        }
    }

    /// The register of a jump becomes the address behind it.
    fn link(&mut self, op: &Op, next: u64) {
        if op.rd != SINK {
            self.e.put_number(op.rd, next);
        }
    }

    /// The predictor notes a call. Uses `rax`.
    fn call(&mut self, next: u64) {
        let (top, addresses) = RETURNS;
        let (low, high) = (next as i32, (next >> 32) as i32);
        dynasm!(self.e.ops; .arch x64
            ; mov rax, [rbx + top]
            ; add rax, 1
            ; cmp rax, CALLS as i32
            ; jb >on
            ; xor eax, eax
            ; on:
            ; mov [rbx + top], rax
        );
        if low >= 0 && high == 0 || low < 0 && high == -1 {
            dynasm!(self.e.ops; .arch x64; mov QWORD [rbx + rax * 8 + addresses], low);
        } else {
            dynasm!(self.e.ops; .arch x64
                ; mov DWORD [rbx + rax * 8 + addresses], low
                ; mov DWORD [rbx + rax * 8 + addresses + 4], high
            );
        }
    }

    /// What a wrong prediction takes.
    fn mispredict(&mut self) {
        let cycles = self.around.mispredict.cast_signed();
        dynasm!(self.e.ops; .arch x64; add QWORD [rbx + MISPREDICTED], 1; add r13, cycles);
    }

    fn conditional(&mut self, op: &Op, va: u64, (target, next): (u64, u64), kind: u32) {
        let (left, right) = (op.rs1, op.rs2);
        if left == 0 {
            self.e.get(A, 0);
            self.e.binary(Binary::Compare, true, A, right);
        } else {
            self.e.compare(left, right);
        }
        let taken = self.e.label();
        match kind {
            0 => dynasm!(self.e.ops; .arch x64; je =>taken),
            1 => dynasm!(self.e.ops; .arch x64; jne =>taken),
            4 => dynasm!(self.e.ops; .arch x64; jl =>taken),
            5 => dynasm!(self.e.ops; .arch x64; jge =>taken),
            6 => dynasm!(self.e.ops; .arch x64; jb =>taken),
            _ => dynasm!(self.e.ops; .arch x64; jae =>taken),
        }
        let (counters, mask) = self.around.counters;
        let counter = (counters + ((va >> 1) as usize & mask)) as i64;
        let (end, wrong) = (self.around.end, self.around.wrong);
        // Not taken: the counter goes down, and predicted that if it was 0 or 1.
        let unsure = self.e.label();
        dynasm!(self.e.ops; .arch x64; mov rax, QWORD counter; cmp BYTE [rax], 0; jne =>unsure);
        self.edge(next, end);
        self.cold.push(Box::new(move |b| {
            let mispredicted = b.e.label();
            dynasm!(b.e.ops; .arch x64
                ; =>unsure
                ; sub BYTE [rax], 1
                ; jnz =>mispredicted
            );
            b.edge(next, end);
            b.e.bind(mispredicted);
            b.mispredict();
            b.edge(next, wrong);
        }));
        // Taken: it goes up, and predicted that if it was 2 or 3.
        let unsure = self.e.label();
        dynasm!(self.e.ops; .arch x64
            ; =>taken
            ; mov rax, QWORD counter
            ; cmp BYTE [rax], 3
            ; jne =>unsure
        );
        self.edge(target, end);
        self.cold.push(Box::new(move |b| {
            let mispredicted = b.e.label();
            dynasm!(b.e.ops; .arch x64
                ; =>unsure
                ; add BYTE [rax], 1
                ; cmp BYTE [rax], 3
                ; jne =>mispredicted
            );
            b.edge(target, end);
            b.e.bind(mispredicted);
            b.mispredict();
            b.edge(target, wrong);
        }));
    }

    /// A jump to a register.
    fn jump_to_register(&mut self, op: &Op, va: u64, next: u64) {
        let returns = links(op.rs1) && op.rs1 != op.rd;
        let (end, wrong) = (self.around.end, self.around.wrong);
        self.e.get(C, op.rs1);
        if op.immediate != 0 {
            let immediate = op.immediate;
            dynasm!(self.e.ops; .arch x64; add rcx, immediate);
        }
        dynasm!(self.e.ops; .arch x64; and rcx, -2; add QWORD [rbx + JUMPS], 1);
        self.link(op, next);
        let other = self.e.label();
        if returns {
            let (top, addresses) = RETURNS;
            dynasm!(self.e.ops; .arch x64
                ; mov rax, [rbx + top]
                ; mov rdx, [rbx + rax * 8 + addresses]
                ; sub rax, 1
                ; jae >on
                ; mov eax, CALLS as i32 - 1
                ; on:
                ; mov [rbx + top], rax
            );
        }
        if links(op.rd) {
            self.call(next);
        }
        if returns {
            dynasm!(self.e.ops; .arch x64; cmp rdx, rcx; jne =>other);
        } else {
            let (targets, mask) = self.around.targets;
            let entry = (targets + 16 * ((va >> 1) as usize & mask)) as i64;
            let va = va.cast_signed();
            dynasm!(self.e.ops; .arch x64
                ; mov rax, QWORD entry
                ; mov rdx, QWORD va
                ; cmp [rax], rdx
                ; jne =>other
                ; cmp [rax + 8], rcx
                ; jne =>other
            );
        }
        self.find_target(end);
        self.cold.push(Box::new(move |b| {
            b.e.bind(other);
            if !returns {
                dynasm!(b.e.ops; .arch x64; mov [rax], rdx; mov [rax + 8], rcx);
            }
            dynasm!(b.e.ops; .arch x64; add QWORD [rbx + MISDIRECTED], 1);
            b.mispredict();
            b.find_target(wrong);
        }));
    }

    /// On to the code of the target `rcx`, if that is known in this state.
    fn find_target(&mut self, state: Number) {
        let (unknown, same, page, known) = (
            self.e.label(),
            self.e.label(),
            self.e.label(),
            self.e.label(),
        );
        const VA: i32 = offset_of!(Target, va) as i32;
        const KEY: i32 = offset_of!(Target, key) as i32;
        const TAG: i32 = offset_of!(Target, tag) as i32;
        const TAG_AT: i32 = offset_of!(Target, tag_at) as i32;
        const CODE: i32 = offset_of!(Target, code) as i32;
        const TARGET_PAGE: i32 = offset_of!(Target, page) as i32;
        const TARGET_DELTA: i32 = offset_of!(Target, delta) as i32;
        let mixed = Target::mixed(state).cast_signed();
        let last = TARGETS as i32 - 1;
        let key = Target::key(state, self.mode).cast_signed();
        let (line, inside) = (self.line.cast_signed(), -(self.around.line as i32));
        let in_ram = (self.pa & !0xfff).cast_signed();
        dynasm!(self.e.ops; .arch x64
            ; cmp r13, [rbx + UNTIL]
            ; jae =>unknown
            ; mov eax, ecx
            ; shr eax, 1
            ; xor eax, mixed
            ; and eax, last
            ; shl eax, TARGET_SHIFT
            ; add rax, [rbx + shared(offset_of!(Shared, targets))]
            ; cmp rcx, [rax + VA]
            ; jne =>unknown
            ; cmp DWORD [rax + KEY], key
            ; jne =>unknown
            ; mov rdx, QWORD line
            ; xor rdx, rcx
            ; test rdx, -4096
            ; jnz =>page
            ; cmp DWORD [rax + TARGET_PAGE], in_ram
            ; jne =>unknown
            ; test rdx, inside
            ; jz =>same
            ; mov rdx, [rax + TAG_AT]
            ; mov edx, [rdx]
            ; cmp edx, [rax + TAG]
            ; jne =>unknown
            ; =>known
            ; add r14, LINE
            ; =>same
            ; jmp QWORD [rax + CODE]
            ; =>page
            ; mov rdx, [rax + TAG_AT]
            ; mov edx, [rdx]
            ; cmp edx, [rax + TAG]
            ; jne =>unknown
        );
        // The shortcut of its page.
        let shortcuts = (self.shortcut)(0).0 as i64;
        let mode = i32::from(self.mode >> 4) << 8;
        const PAGES: i32 = (crate::riscv::tlb::SHORTCUTS as i32 - 1) << PageShortcut::SHIFT;
        const SHIFT: i8 = 12 - PageShortcut::SHIFT as i8;
        let elsewhere = self.e.label();
        dynasm!(self.e.ops; .arch x64
            ; push rsi
            ; mov edx, ecx
            ; shr edx, BYTE SHIFT
            ; and edx, PAGES
            ; mov rsi, QWORD shortcuts
            ; add rsi, rdx
            ; mov rdx, rcx
            ; and rdx, -4096
            ; or rdx, mode
            ; cmp rdx, [rsi + PAGE]
            ; jne =>elsewhere
            ; mov rdx, [rax + TARGET_DELTA]
            ; cmp rdx, [rsi + DELTA]
            ; jne =>elsewhere
            ; mov edx, [rsi + PLACE]
            ; pop rsi
        );
        let lookup = self.lookup;
        self.e.note_fetch(&lookup);
        dynasm!(self.e.ops; .arch x64
            ; jmp =>known
            ; =>elsewhere
            ; pop rsi
            ; =>unknown
        );
        self.site(Kind::Indirect { state }, 0, (0, 0));
        let go = self.thunks.go_to_register;
        self.e.jump_to(go);
    }

    /// On to `target` in this state.
    pub(super) fn edge(&mut self, target: u64, state: Number) {
        let known = |&&(to, of, _): &&(u64, Number, _)| (to, of) == (target, state);
        if let Some(&(_, _, label)) = self.edges.iter().find(known) {
            dynasm!(self.e.ops; .arch x64; jmp =>label);
            return;
        }
        let (label, stub) = (self.e.label(), self.e.label());
        self.e.bind(label);
        self.edges.push((target, state, label));
        let in_page = (target ^ self.va) & !0xfff == 0;
        let turn = if in_page { None } else { self.turn(target) };
        let pa = match turn {
            Some((_, _, delta)) => target.wrapping_add(delta).wrapping_sub(VIRT_RAM) as RamAddress,
            None => self.in_ram(target),
        };
        let (mut slot, mut counted) = (None, 0);
        if in_page || turn.is_some() {
            if (target ^ self.line) & !(self.around.line - 1) != 0 {
                let (at, tag) = self.instruction_tag(pa);
                dynasm!(self.e.ops; .arch x64; cmp r13, [rbx + UNTIL]; jae =>stub);
                self.e.tag(at, tag, stub);
                if let Some((shortcut, wanted, delta)) = turn {
                    let (shortcut, wanted) = (shortcut as i64, wanted.cast_signed());
                    let delta = delta.cast_signed();
                    dynasm!(self.e.ops; .arch x64
                        ; mov rax, QWORD shortcut
                        ; mov rdx, QWORD wanted
                        ; cmp [rax + PAGE], rdx
                        ; jne =>stub
                        ; mov rdx, QWORD delta
                        ; cmp [rax + DELTA], rdx
                        ; jne =>stub
                        ; mov edx, [rax + PLACE]
                    );
                    let lookup = self.lookup;
                    self.e.note_fetch(&lookup);
                }
                dynasm!(self.e.ops; .arch x64; add r14, LINE);
                counted = LINE;
            }
            let place = self.memory.slot();
            self.e.jump_through(self.memory.place(place));
            slot = Some((place, self.e.here()));
            if counted != 0 {
                dynasm!(self.e.ops; .arch x64; sub r14, counted);
            }
        }
        let number = self.edges.len();
        debug_assert!(number <= super::super::code::SLOTS, "an edge too many");
        self.e.bind(stub);
        self.stubs.extend(slot);
        let kind = Kind::Edge {
            target,
            state,
            slot,
            pa,
        };
        self.site(kind, 0, (0, 0));
        let go = self.thunks.go;
        self.e.jump_to(go);
    }
}
