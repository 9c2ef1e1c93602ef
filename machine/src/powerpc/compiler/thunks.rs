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
use super::emit::{Emitter, MAPPED, PowerPc, at, hot};
use crate::engine::compiler::memory::CodeMemory;
use crate::engine::compiler::thunks::{self, Guest, call_rust};
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
    /// Called: makes the access of the site in `rdx`, a load or a store, at `ecx`. `rcx` := where the host has the
    /// bytes there; 0: the instruction must run alone. `rdx` stays as it is.
    pub access: [usize; 2],
    /// Called: resolves the branch of the site in `rdx`. In `ecx` is whether it is taken. `eax` := its cost.
    pub predict: usize,
    /// The same, of a branch that goes to `ecx`.
    pub predict_register: usize,
    /// Called: makes a condition field that is to be made. `rcx` stays as it is.
    pub make_field: [usize; 8],
    /// Where compiled code leaves; what is next is in [`Shared::next`].
    pub leave: usize,
}

/// The distance of a field of [`Shared`] in the processor.
pub const fn shared(field: usize) -> i32 {
    (offset_of!(Processor, compiler) + super::hot::Compiler::SHARED + field) as i32
}

impl Guest for PowerPc {
    const NEXT: i32 = shared(offset_of!(Shared, next));

    /// The guest's registers, cycles go to the processor.
    fn spill(e: &mut Emitter) {
        for (guest, host) in MAPPED {
            dynasm!(e.ops; .arch x64; mov [rbx + at(guest)], Rd(host));
        }
        dynasm!(e.ops; .arch x64; mov [rbx + hot(offset_of!(Hot, cycles))], r13);
    }

    /// The registers and the cycles come back.
    fn fill(e: &mut Emitter) {
        for (guest, host) in MAPPED {
            dynasm!(e.ops; .arch x64; mov Rd(host), [rbx + at(guest)]);
        }
        dynasm!(e.ops; .arch x64
            ; mov r13, [rbx + hot(offset_of!(Hot, cycles))]
            ; mov r15, [rbx + hot(offset_of!(Hot, lines))]
        );
    }
}

impl Thunks {
    /// Writes them.
    pub fn write(memory: &mut CodeMemory) -> Thunks {
        let enter = thunks::enter::<PowerPc>(memory);
        let leave = thunks::leave::<PowerPc>(memory);
        let go = thunks::goes_on::<PowerPc>(memory, calls::go as *const () as usize);
        let register = calls::go_to_register as *const () as usize;
        let go_to_register = thunks::goes_on::<PowerPc>(memory, register);
        let stay = thunks::leaves::<PowerPc>(memory, calls::stay as *const () as usize, leave);
        let alone = thunks::may_leave::<PowerPc>(memory, calls::alone as *const () as usize, leave);
        let mut called = |function: usize| {
            thunks::write(memory, |e: &mut Emitter| {
                PowerPc::spill(e);
                dynasm!(e.ops; .arch x64; mov rsi, rdx; mov edx, ecx; sub rsp, 8);
                call_rust(e, function);
                dynasm!(e.ops; .arch x64; add rsp, 8);
                PowerPc::fill(e);
                dynasm!(e.ops; .arch x64; ret);
            })
        };
        let predict = called(calls::predict as *const () as usize);
        let predict_register = called(calls::predict_register as *const () as usize);
        // The model sees no register of the guest. The thunk keeps the host's registers that Rust may change.
        let mut accesses = |function: usize| {
            thunks::write(memory, |e: &mut Emitter| {
                let lost = || MAPPED.into_iter().filter(|&(_, host)| is_lost(host));
                for (guest, host) in lost() {
                    dynasm!(e.ops; .arch x64; mov [rbx + at(guest)], Rd(host));
                }
                dynasm!(e.ops; .arch x64
                    ; mov [rbx + hot(offset_of!(Hot, cycles))], r13
                    ; push rdx
                    ; mov rsi, rdx
                    ; mov edx, ecx
                );
                call_rust(e, function);
                dynasm!(e.ops; .arch x64
                    ; pop rdx
                    ; mov rcx, rax
                    ; mov r13, [rbx + hot(offset_of!(Hot, cycles))]
                );
                for (guest, host) in lost() {
                    dynasm!(e.ops; .arch x64; mov Rd(host), [rbx + at(guest)]);
                }
                dynasm!(e.ops; .arch x64; ret);
            })
        };
        let access = [
            accesses(calls::access::<false> as *const () as usize),
            accesses(calls::access::<true> as *const () as usize),
        ];
        let make_field = std::array::from_fn(|number| {
            thunks::write(memory, |e: &mut Emitter| e.make_field(number as u8))
        });
        memory.keep();
        Thunks {
            enter,
            go,
            go_to_register,
            stay,
            alone,
            access,
            predict,
            predict_register,
            make_field,
            leave,
        }
    }
}

/// True if a function of Rust may change this register of the host's.
const fn is_lost(host: u8) -> bool {
    matches!(host, 0..=2 | 6..=11)
}

/// Each mapped register has a host register that no other one has.
const _: () = assert!(thunks::map_to_one(&MAPPED));
