//! The ways into compiled code, out of it, and from it to Rust: written once at the beginning of its memory.
//!
//! On every way out the guest's registers go to the processor, and on every way in they come from there. So a function
//! that compiled code calls sees the whole state, and may change it.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::calls::{self, Shared};
use super::emit::{Emitter, MAPPED, at, hot};
use crate::engine::compiler::memory::CodeMemory;
use crate::powerpc::engine::Hot;
use crate::powerpc::processor::Processor;

/// Where the thunks are.
#[derive(Clone, Copy, Debug)]
pub struct Thunks {
    /// `extern "sysv64" fn(*mut Processor, code) -> *const Op`: runs compiled code.
    pub enter: usize,
    /// From a jump to its target, for the site in `rdx`: goes on in compiled code, or leaves.
    pub go: usize,
    /// The same, to the target in `ecx`.
    pub go_to_register: usize,
    /// Leaves before the instruction of the site in `rdx`.
    pub stay: usize,
    /// Called: runs the instruction of the site in `rdx` by the interpreter's function, or leaves.
    pub alone: usize,
    /// Called: resolves the branch of the site in `rdx`. In `ecx` is whether it is taken. `eax` := its cost.
    pub predict: usize,
    /// The same, of a branch that goes to `ecx`.
    pub predict_register: usize,
    /// Where compiled code leaves; what is next is in [`Shared::next`].
    pub leave: usize,
}

/// The distance of a field of [`Shared`] in the processor.
pub fn shared(field: usize) -> i32 {
    (offset_of!(Processor, compiler) + super::hot::Compiler::SHARED + field) as i32
}

impl Emitter {
    /// The guest's registers, cycles and counts go to the processor.
    fn spill(&mut self) {
        for (guest, host) in MAPPED {
            dynasm!(self.ops; .arch x64; mov [rbx + at(guest)], Rd(host));
        }
        dynasm!(self.ops; .arch x64
            ; mov [rbx + hot(offset_of!(Hot, cycles))], r13
            ; mov [rbx + shared(offset_of!(Shared, counts))], r14
        );
    }

    /// They come back.
    fn fill(&mut self) {
        for (guest, host) in MAPPED {
            dynasm!(self.ops; .arch x64; mov Rd(host), [rbx + at(guest)]);
        }
        dynasm!(self.ops; .arch x64
            ; mov r13, [rbx + hot(offset_of!(Hot, cycles))]
            ; mov r14, [rbx + shared(offset_of!(Shared, counts))]
            ; mov r15, [rbx + shared(offset_of!(Shared, until))]
        );
    }

    /// Calls a function of [`calls`].
    fn call_rust(&mut self, function: usize) {
        let function = function as i64;
        dynasm!(self.ops; .arch x64
            ; mov rdi, rbx
            ; mov rax, QWORD function
            ; call rax
        );
    }
}

impl Thunks {
    /// Writes them.
    pub fn write(memory: &mut CodeMemory) -> Thunks {
        let mut thunk = |emit: &dyn Fn(&mut Emitter)| {
            let mut emitter = Emitter::new(memory.next());
            emit(&mut emitter);
            memory.write(&emitter.finish())
        };
        // Six registers, the return address and one word more: the stack is aligned in compiled code.
        let enter = thunk(&|e| {
            dynasm!(e.ops; .arch x64
                ; push rbx; push rbp; push r12; push r13; push r14; push r15; sub rsp, 8
                ; mov rbx, rdi
                ; mov rax, rsi
            );
            e.fill();
            dynasm!(e.ops; .arch x64; jmp rax);
        });
        let leave = thunk(&|e| {
            dynasm!(e.ops; .arch x64
                ; mov rax, [rbx + shared(offset_of!(Shared, next))]
                ; add rsp, 8
                ; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx
                ; ret
            );
        });
        let go = thunk(&|e| {
            e.spill();
            dynasm!(e.ops; .arch x64; mov rsi, rdx);
            e.call_rust(calls::go as *const () as usize);
            e.fill();
            dynasm!(e.ops; .arch x64; jmp rax);
        });
        let go_to_register = thunk(&|e| {
            e.spill();
            dynasm!(e.ops; .arch x64; mov rsi, rdx; mov edx, ecx);
            e.call_rust(calls::go_to_register as *const () as usize);
            e.fill();
            dynasm!(e.ops; .arch x64; jmp rax);
        });
        let stay = thunk(&|e| {
            e.spill();
            dynasm!(e.ops; .arch x64; mov rsi, rdx);
            e.call_rust(calls::stay as *const () as usize);
            e.jump_to(leave);
        });
        let alone = thunk(&|e| {
            e.spill();
            dynasm!(e.ops; .arch x64; mov rsi, rdx; sub rsp, 8);
            e.call_rust(calls::alone as *const () as usize);
            dynasm!(e.ops; .arch x64; add rsp, 8; test eax, eax; jz >on; add rsp, 8);
            e.jump_to(leave);
            dynasm!(e.ops; .arch x64; on:);
            e.fill();
            dynasm!(e.ops; .arch x64; ret);
        });
        let mut called = |function: usize| {
            thunk(&|e| {
                e.spill();
                dynasm!(e.ops; .arch x64; mov rsi, rdx; mov edx, ecx; sub rsp, 8);
                e.call_rust(function);
                dynasm!(e.ops; .arch x64; add rsp, 8);
                e.fill();
                dynasm!(e.ops; .arch x64; ret);
            })
        };
        let predict = called(calls::predict as *const () as usize);
        let predict_register = called(calls::predict_register as *const () as usize);
        memory.keep();
        Thunks {
            enter,
            go,
            go_to_register,
            stay,
            alone,
            predict,
            predict_register,
            leave,
        }
    }
}

/// Every mapped register has a place of its own.
const _: () = {
    let mut n = 0;
    while n < MAPPED.len() {
        let mut m = 0;
        while m < n {
            assert!(MAPPED[n].0 != MAPPED[m].0 && MAPPED[n].1 != MAPPED[m].1);
            m += 1;
        }
        n += 1;
    }
};
