//! How a block goes on: jumps, and what follows straight on.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::Block;
use crate::x86::compiler::calls::Shared;
use crate::x86::compiler::calls::packed;
use crate::x86::compiler::code::{Kind, TARGET_SHIFT, TARGETS, Target};
use crate::x86::compiler::emit::{UNTIL, WROTE, shared};
use crate::x86::op::Op;
use crate::x86::tlb::{Shortcut, Tlb};

const TARGETS_AT: i32 = shared(offset_of!(Shared, targets));

/// What the block that follows must fetch.
#[derive(Clone, Copy, PartialEq)]
enum Fetches {
    /// Its line is the one that was fetched last.
    Nothing,
    /// A line of the page that was fetched from last.
    Again,
    /// A line by the shortcut of its page.
    Page,
}

impl Block<'_> {
    /// The block has ended, and `more` slots after what its head says: on at `target`.
    pub(super) fn edge(&mut self, op: *const Op, target: u32, jump: bool, more: u64) {
        let version = self.version;
        let linear = target.wrapping_add(version.linear.wrapping_sub(version.eip));
        let same_page = (linear ^ version.linear) & !0xfff == 0;
        let fetches = if !jump && linear & !(self.shape.line - 1) == self.fetched {
            Fetches::Nothing
        } else if jump && same_page {
            Fetches::Again
        } else {
            Fetches::Page
        };
        let pa = if same_page {
            Some(version.pa.wrapping_add(target.wrapping_sub(version.eip)))
        } else {
            self.expected[usize::from(jump)].filter(|pa| (pa ^ linear) & 0xfff == 0)
        };
        let Some(pa) = pa else {
            self.account(more, 0);
            let kind = Kind::Edge {
                target,
                jump,
                pa: None,
                slot: None,
            };
            self.site_with(op, kind, 0, 0);
            let go = self.thunks.go;
            self.e.jump_to(go);
            return;
        };
        let fetched = u8::from(fetches != Fetches::Nothing);
        self.account(more, fetched);
        let (slow, miss) = (self.e.label(), self.e.label());
        let code = self.shape.code;
        let shortcut_place = linear >> 12 & self.shape.code.shortcuts;
        dynasm!(self.e.ops; .arch x64; cmp r13, [rbx + UNTIL]; jae =>slow);
        let (tag_at, tag) = (self.shape.code.tag_at(pa), self.shape.code.tag(pa));
        match fetches {
            Fetches::Nothing => {}
            Fetches::Again => {
                let nowhere = Tlb::NOWHERE.cast_signed();
                dynasm!(self.e.ops; .arch x64; cmp DWORD [rbx + code.fetched()], nowhere; je =>slow);
                self.e.tag(tag_at, tag, miss);
            }
            Fetches::Page => {
                let place = shortcut_place;
                let wanted = Shortcut::wanted(linear, 1, self.shape.mark).cast_signed();
                let delta = pa.wrapping_sub(linear).cast_signed();
                let at = |field| code.shortcut(place, field);
                dynasm!(self.e.ops; .arch x64
                    ; cmp DWORD [rbx + at(offset_of!(Shortcut, load))], DWORD wanted
                    ; jne =>slow
                    ; cmp DWORD [rbx + at(offset_of!(Shortcut, delta))], DWORD delta
                    ; jne =>slow
                );
                dynasm!(self.e.ops; .arch x64; mov DWORD [rbx + code.fetched()], place.cast_signed());
                self.e.tag(tag_at, tag, miss);
            }
        }
        let slot = self.memory.slot();
        let place = self.memory.place(slot);
        self.e.jump_through(place);
        let (fetched_line, number) = (self.fetched, self.number);
        self.cold.push(Box::new(move |b| {
            b.e.bind(slow);
            let stub = b.e.here();
            b.stubs.push((slot, stub));
            let kind = Kind::Edge {
                target,
                jump,
                pa: Some(pa),
                slot: Some((slot, stub)),
            };
            debug_assert_eq!(number, b.number);
            let counted = (b.accesses, b.fetches);
            b.as_it_was(counted.0, counted.1, fetched_line, |b| {
                // What the checks would have counted.
                let not = 0_u64.wrapping_sub(packed(0, 0, 0, fetched));
                b.site_with(op, kind, not, 0);
            });
            let go = b.thunks.go;
            b.e.jump_to(go);
            b.e.bind(miss);
            if fetches == Fetches::Nothing {
                return;
            }
            // The line is fetched. Then the block has been entered, whatever the time is.
            let entered = b.e.label();
            let (thunk, place) = (b.thunks.fetch, place as i64);
            dynasm!(b.e.ops; .arch x64; mov ecx, DWORD pa.cast_signed(); xor eax, eax);
            b.e.call(thunk);
            dynasm!(b.e.ops; .arch x64
                ; cmp r13, [rbx + UNTIL]
                ; jae =>entered
                ; lea rax, [=>slow]
                ; mov rdx, QWORD place
                ; cmp rax, [rdx]
                ; je =>entered
                ; jmp QWORD [rdx]
                ; =>entered
            );
            b.site_with(op, kind, 0, 0);
            let entered = b.thunks.entered;
            b.e.jump_to(entered);
        }));
    }

    /// The block has ended with a jump to `ecx`: on there, if it is a known target. The line of one in another page
    /// must be the one used last.
    pub(super) fn indirect(&mut self, op: *const Op) {
        self.account(0, 1);
        let (slow, other, miss) = (self.e.label(), self.e.label(), self.e.label());
        let (known, elsewhere) = (self.e.label(), self.e.label());
        // SAFETY: the head of the block that is compiled.
        let key = unsafe { Target::key(self.shape.mark, &*self.version.head) }.cast_signed();
        let (eip, delta) = (
            self.version.eip,
            self.version.pa.wrapping_sub(self.version.linear),
        );
        let last = TARGETS as i32 - 1;
        let code = self.shape.code;
        let nowhere = Tlb::NOWHERE.cast_signed();
        dynasm!(self.e.ops; .arch x64
            ; cmp r13, [rbx + UNTIL]
            ; jae =>slow
            ; mov eax, ecx
            ; and eax, last
            ; shl eax, TARGET_SHIFT
            ; add rax, [rbx + TARGETS_AT]
            ; cmp ecx, [rax + offset_of!(Target, eip) as i32]
            ; jne =>slow
            ; cmp DWORD [rax + offset_of!(Target, key) as i32], key
            ; jne =>slow
            ; mov edx, ecx
            ; xor edx, eip.cast_signed()
            ; and edx, -4096
            ; jnz =>other
            ; cmp DWORD [rax + offset_of!(Target, delta) as i32], delta.cast_signed()
            ; jne =>slow
            ; cmp DWORD [rbx + code.fetched()], nowhere
            ; je =>slow
            ; mov rdx, [rax + offset_of!(Target, tag_at) as i32]
            ; mov edx, [rdx]
            ; cmp edx, [rax + offset_of!(Target, tag) as i32]
            ; jne =>miss
            ; =>known
            ; jmp QWORD [rax + offset_of!(Target, code) as i32]
            ; =>other
            ; mov edx, [rax + offset_of!(Target, place) as i32]
            ; shl edx, 4
            ; mov ecx, [rax + offset_of!(Target, load) as i32]
            ; cmp ecx, [rbx + rdx + code.shortcut(0, offset_of!(Shortcut, load))]
            ; jne =>elsewhere
            ; mov ecx, [rax + offset_of!(Target, delta) as i32]
            ; cmp ecx, [rbx + rdx + code.shortcut(0, offset_of!(Shortcut, delta))]
            ; jne =>elsewhere
            ; mov rcx, [rax + offset_of!(Target, tag_at) as i32]
            ; mov ecx, [rcx]
            ; cmp ecx, [rax + offset_of!(Target, tag) as i32]
            ; jne =>elsewhere
            ; shr edx, 4
            ; mov [rbx + code.fetched()], edx
            ; jmp =>known
        );
        let (accesses, fetches, fetched) = (self.accesses, self.fetches, self.fetched);
        self.cold.push(Box::new(move |b| {
            dynasm!(b.e.ops; .arch x64
                ; =>elsewhere
                ; mov ecx, [rax + offset_of!(Target, eip) as i32]
                ; =>slow
            );
            b.as_it_was(accesses, fetches, fetched, |b| {
                let not = 0_u64.wrapping_sub(packed(0, 0, 0, 1));
                b.site_with(op, Kind::Indirect, not, 0);
            });
            let (go, thunk) = (b.thunks.go, b.thunks.fetch);
            b.e.jump_to(go);
            dynasm!(b.e.ops; .arch x64
                ; =>miss
                ; sub rsp, 8
                ; push rax
                ; mov ecx, [rax + offset_of!(Target, pa) as i32]
                ; xor eax, eax
            );
            b.e.call(thunk);
            dynasm!(b.e.ops; .arch x64
                ; pop rax
                ; add rsp, 8
                ; cmp r13, [rbx + UNTIL]
                ; jb =>known
                ; mov ecx, [rax + offset_of!(Target, eip) as i32]
            );
            b.site_with(op, Kind::Indirect, 0, 0);
            let entered = b.thunks.entered;
            b.e.jump_to(entered);
        }));
    }

    /// Enters the time and the counts of the block, and so many fetches more. `ecx` stays.
    fn account(&mut self, more: u64, fetches: u8) {
        // SAFETY: the head of the block that is compiled.
        let head = unsafe { &*self.version.head };
        let slots = (u64::from(head.slots) + more) as i32;
        let branch = u8::from(self.branches);
        let counts = packed(head.number, branch, self.accesses, self.fetches + fetches);
        dynasm!(self.e.ops; .arch x64; add r13, slots);
        match i32::try_from(counts) {
            Ok(counts) => dynasm!(self.e.ops; .arch x64; add r14, counts),
            Err(_) => {
                let counts = counts.cast_signed();
                dynasm!(self.e.ops; .arch x64; mov rax, QWORD counts; add r14, rax);
            }
        }
        let wrote = head.reg.cast_signed();
        dynasm!(self.e.ops; .arch x64; mov BYTE [rbx + WROTE], wrote);
    }
}
