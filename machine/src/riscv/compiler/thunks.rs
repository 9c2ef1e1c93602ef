//! The ways into compiled code, out of it, and from it to Rust: written once at the beginning of its memory.
//!
//! On every way out the guest's registers go to the processor, and on every way in they come from there. So a function
//! that compiled code calls sees the whole state, and may change it.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, dynasm};

use super::calls::{self, Shared};
use super::emit::{CYCLES, Emitter, MAPPED, RiscV, at, shared, tlb};
use crate::engine::compiler::memory::CodeMemory;
use crate::engine::compiler::thunks::{self, Guest, call_rust};
use crate::riscv::tlb::Tlb;

/// The tree of a TLB, and what uses do to it: see [`Tlb::tree`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    pub tree: usize,
    pub paths: usize,
}

/// Where the thunks are.
#[derive(Clone, Copy, Debug)]
pub struct Thunks {
    /// `extern "sysv64" fn(*mut Processor, code) -> u64`: runs compiled code. Not 0: an exception was raised.
    pub enter: usize,
    /// From the end of a version, for the site in `rdx`: goes on in compiled code, or leaves.
    pub go: usize,
    /// From the beginning of a version that would end after the deadline, for its site in `rdx`: goes on or leaves.
    pub late: usize,
    /// From a version that ends with a jump to the address in `rcx`, for the site in `rdx`: goes on or leaves.
    pub go_to_register: usize,
    /// Called: runs the instruction of the site in `rdx` by the interpreter's function. Goes on behind the call, or
    /// elsewhere, or leaves.
    pub alone: usize,
    /// Called: fetches lines for the site in `rdx`. Goes on likewise.
    pub fetch: usize,
    /// Called: runs the plain instruction of the site in `rdx`.
    pub plain: usize,
    /// Called: notes the use of an entry of the TLB of fetches, and of data: `edx`, which is free then.
    pub notes: [usize; 2],
    /// Where compiled code leaves; [`Shared::raised`] is what it returns.
    pub leave: usize,
}

impl Guest for RiscV {
    const NEXT: i32 = shared(offset_of!(Shared, raised));

    /// The guest's registers, cycles and counts go to the processor.
    fn spill(e: &mut Emitter) {
        for (guest, host) in MAPPED {
            dynasm!(e.ops; .arch x64; mov [rbx + at(guest)], Rq(host));
        }
        dynasm!(e.ops; .arch x64
            ; mov [rbx + CYCLES], r13
            ; mov [rbx + shared(offset_of!(Shared, counts))], r14
        );
    }

    /// The registers come back.
    fn fill(e: &mut Emitter) {
        for (guest, host) in MAPPED {
            dynasm!(e.ops; .arch x64; mov Rq(host), [rbx + at(guest)]);
        }
        dynasm!(e.ops; .arch x64
            ; mov r13, [rbx + CYCLES]
            ; mov r14, [rbx + shared(offset_of!(Shared, counts))]
        );
    }
}

/// Called: goes on at the address that the function returns for `rdx`; behind the call, if that is 0.
fn may_go_on(memory: &mut CodeMemory, function: usize) -> usize {
    thunks::write(memory, |e: &mut Emitter| {
        use dynasmrt::DynasmLabelApi as _;
        RiscV::spill(e);
        dynasm!(e.ops; .arch x64; mov rsi, rdx; sub rsp, 8);
        call_rust(e, function);
        RiscV::fill(e);
        dynasm!(e.ops; .arch x64
            ; add rsp, 8
            ; test rax, rax
            ; jnz >elsewhere
            ; ret
            ; elsewhere:
            ; add rsp, 8
            ; jmp rax
        );
    })
}

/// Notes the use of the entry `edx`, all of whose places are ways of one set.
fn note(memory: &mut CodeMemory, data: bool, notes: Option<&Notes>) -> usize {
    let used = (tlb(data) + Tlb::USED) as i32;
    thunks::write(memory, |e: &mut Emitter| {
        let Some(&Notes { tree, paths }) = notes else {
            let function = if data {
                calls::note::<true> as *const () as usize
            } else {
                calls::note::<false> as *const () as usize
            };
            dynasm!(e.ops; .arch x64
                ; push rax; push rcx; push rsi; push rdi; push r8; push r9; push r10; push r11; sub rsp, 8
                ; mov esi, edx
            );
            call_rust(e, function);
            dynasm!(e.ops; .arch x64
                ; add rsp, 8; pop r11; pop r10; pop r9; pop r8; pop rdi; pop rsi; pop rcx; pop rax
                ; ret
            );
            return;
        };
        let (tree, paths) = (tree as i64, paths as i64);
        dynasm!(e.ops; .arch x64
            ; mov [rbx + used], edx
            ; push rax
            ; push rcx
            ; shl edx, 4
            ; mov rax, QWORD paths
            ; add rdx, rax
            ; mov rax, QWORD tree
            ; mov rcx, [rdx]
            ; not rcx
            ; and rcx, [rax]
            ; or rcx, [rdx + 8]
            ; mov [rax], rcx
            ; pop rcx
            ; pop rax
            ; ret
        );
    })
}

impl Thunks {
    /// Writes them. `notes`: of the TLB of fetches, and of data.
    pub fn write(memory: &mut CodeMemory, notes: &[Option<Notes>; 2]) -> Thunks {
        let enter = thunks::enter::<RiscV>(memory);
        let leave = thunks::leave::<RiscV>(memory);
        let go = thunks::goes_on::<RiscV>(memory, calls::go as *const () as usize);
        let late = thunks::goes_on::<RiscV>(memory, calls::late as *const () as usize);
        let go_to_register = thunks::write(memory, |e: &mut Emitter| {
            RiscV::spill(e);
            dynasm!(e.ops; .arch x64; mov rsi, rdx; mov rdx, rcx);
            call_rust(e, calls::go_to_register as *const () as usize);
            RiscV::fill(e);
            dynasm!(e.ops; .arch x64; jmp rax);
        });
        let alone = may_go_on(memory, calls::alone as *const () as usize);
        let fetch = may_go_on(memory, calls::fetch as *const () as usize);
        let plain = may_go_on(memory, calls::plain as *const () as usize);
        let notes = [
            note(memory, false, notes[0].as_ref()),
            note(memory, true, notes[1].as_ref()),
        ];
        memory.keep();
        Thunks {
            enter,
            go,
            late,
            go_to_register,
            alone,
            fetch,
            plain,
            notes,
            leave,
        }
    }
}

/// Each mapped register has a host register that no other one has.
const _: () = assert!(thunks::map_to_one(&MAPPED));
