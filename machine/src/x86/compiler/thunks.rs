//! The ways into compiled code, out of it, and from it to Rust: written once at the beginning of its memory.
//!
//! Where the interpreter may see or change the guest's registers, they go to the processor, and come back from there.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::calls::{self, Shared};
use super::emit::{Emitter, GUESTS, TIME, gpr, shared};
use crate::engine::compiler::memory::CodeMemory;
use crate::x86::access::{Byte, Double, Word};

/// Where the thunks are.
#[derive(Clone, Copy, Debug)]
pub struct Thunks {
    /// `extern "sysv64" fn(*mut Processor, code) -> *const Op`: runs compiled code.
    pub enter: usize,
    /// From the end of a block, for the site in `rdx`: goes on in compiled code, or leaves. A jump to different places
    /// has its target in `ecx`.
    pub go: usize,
    /// Leaves before the op of the site in `rdx`, which its chain runs.
    pub stay: usize,
    /// Leaves before the op of the site in `rdx`: the rest of the block runs one instruction after another.
    pub rest: usize,
    /// Called: runs the op of the site in `rdx` by the interpreter's function, or leaves.
    pub alone: usize,
    /// The same, where the block that follows has been entered: its line has been fetched, which took long.
    pub entered: usize,
    /// Called: a load from the address `ecx` in RAM, by an op before whose end its block issues `eax` slots, waits. The
    /// guest's registers, and `ecx`, stay.
    pub load: usize,
    /// The same for the fetch of a line.
    pub fetch: usize,
    /// The same for a store of `edx`, of 1, 2 and 4 bytes, which is done.
    pub store: [usize; 3],
    /// Where compiled code leaves; what is next is in [`Shared::next`].
    pub leave: usize,
}

impl Thunks {
    /// That of a store of so many bytes.
    pub fn store_of(&self, bytes: u32) -> usize {
        self.store[bytes.trailing_zeros() as usize]
    }
}

impl Emitter {
    /// The guest's registers, the time and the counts go to the processor.
    fn spill(&mut self) {
        for (number, host) in (0..).zip(GUESTS) {
            dynasm!(self.ops; .arch x64; mov [rbx + gpr(number)], Rd(host));
        }
        dynasm!(self.ops; .arch x64
            ; mov [rbx + TIME], r13
            ; mov [rbx + shared(offset_of!(Shared, counts))], r14
        );
    }

    /// They come back.
    fn fill(&mut self) {
        for (number, host) in (0..).zip(GUESTS) {
            dynasm!(self.ops; .arch x64; mov Rd(host), [rbx + gpr(number)]);
        }
        dynasm!(self.ops; .arch x64
            ; mov r13, [rbx + TIME]
            ; mov r14, [rbx + shared(offset_of!(Shared, counts))]
            ; mov r15, [rbx + shared(offset_of!(Shared, ram))]
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

    /// The same of a function that sees no register of the guest, and returns how many slots the access waits. Its
    /// second argument is in `ecx`.
    fn call_access(&mut self, function: usize, store: bool) {
        dynasm!(self.ops; .arch x64
            ; push rsi; push rdi; push r8; push r9; push r10; push r11; push rcx
            ; mov esi, ecx
            ; lea rcx, [r13 + rax]
        );
        if !store {
            dynasm!(self.ops; .arch x64; mov rdx, rcx);
        }
        self.call_rust(function);
        dynasm!(self.ops; .arch x64
            ; pop rcx; pop r11; pop r10; pop r9; pop r8; pop rdi; pop rsi
            ; add r13, rax
            ; ret
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
        let mut goes_on = |function: usize| {
            thunk(&|e| {
                e.spill();
                dynasm!(e.ops; .arch x64; mov rsi, rdx; mov edx, ecx);
                e.call_rust(function);
                e.fill();
                dynasm!(e.ops; .arch x64; jmp rax);
            })
        };
        let go = goes_on(calls::go as *const () as usize);
        let entered = goes_on(calls::entered as *const () as usize);
        let mut leaves = |function: usize| {
            thunk(&|e| {
                e.spill();
                dynasm!(e.ops; .arch x64; mov rsi, rdx);
                e.call_rust(function);
                e.jump_to(leave);
            })
        };
        let stay = leaves(calls::stay as *const () as usize);
        let rest = leaves(calls::rest as *const () as usize);
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
        let load = thunk(&|e| e.call_access(calls::load as *const () as usize, false));
        let fetch = thunk(&|e| e.call_access(calls::fetch as *const () as usize, false));
        let stores = [
            calls::store::<Byte> as *const () as usize,
            calls::store::<Word> as *const () as usize,
            calls::store::<Double> as *const () as usize,
        ];
        let store = stores.map(|function| thunk(&|e| e.call_access(function, true)));
        memory.keep();
        Thunks {
            enter,
            go,
            entered,
            stay,
            rest,
            alone,
            load,
            fetch,
            store,
            leave,
        }
    }
}

/// Every register of the guest has a place of its own.
const _: () = {
    let mut n = 0;
    while n < GUESTS.len() {
        let mut m = 0;
        while m < n {
            assert!(GUESTS[n] != GUESTS[m]);
            m += 1;
        }
        n += 1;
    }
};
