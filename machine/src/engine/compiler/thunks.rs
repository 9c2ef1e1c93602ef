//! The ways into compiled code, out of it, and from it to Rust, as far as they know no instruction set.
//!
//! Compiled code has the processor in `rbx`. What else of the guest is in host registers, the [`Guest`] knows.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::assembler::Assembler;
use super::memory::CodeMemory;

/// What the thunks must know of an instruction set.
pub trait Guest: Default {
    /// The distance, in the processor, of what is next when compiled code leaves.
    const NEXT: i32;

    /// Stores what is in host registers to the processor.
    fn spill(e: &mut Assembler<Self>);

    /// Loads what is in host registers from the processor again.
    fn fill(e: &mut Assembler<Self>);
}

/// Calls a function of Rust, whose first argument is the processor.
pub fn call_rust<G>(e: &mut Assembler<G>, function: usize) {
    let function = function as i64;
    dynasm!(e.ops; .arch x64
        ; mov rdi, rbx
        ; mov rax, QWORD function
        ; call rax
    );
}

/// Writes a thunk and returns where it is.
pub fn write<G: Default>(memory: &mut CodeMemory, emit: impl FnOnce(&mut Assembler<G>)) -> usize {
    let mut e = Assembler::new(memory.next());
    emit(&mut e);
    memory.write(&e.finish())
}

/// `extern "sysv64" fn(*mut Processor, code) -> *const Op`: runs compiled code.
pub fn enter<G: Guest>(memory: &mut CodeMemory) -> usize {
    // Six registers, the return address and one word more: the stack is aligned in compiled code.
    write(memory, |e: &mut Assembler<G>| {
        dynasm!(e.ops; .arch x64
            ; push rbx; push rbp; push r12; push r13; push r14; push r15; sub rsp, 8
            ; mov rbx, rdi
            ; mov rax, rsi
        );
        G::fill(e);
        dynasm!(e.ops; .arch x64; jmp rax);
    })
}

/// Where compiled code leaves.
pub fn leave<G: Guest>(memory: &mut CodeMemory) -> usize {
    write(memory, |e: &mut Assembler<G>| {
        dynasm!(e.ops; .arch x64
            ; mov rax, [rbx + G::NEXT]
            ; add rsp, 8
            ; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx
            ; ret
        );
    })
}

/// Goes on at the address that the function returns for `rdx` and `ecx`.
pub fn goes_on<G: Guest>(memory: &mut CodeMemory, function: usize) -> usize {
    write(memory, |e: &mut Assembler<G>| {
        G::spill(e);
        dynasm!(e.ops; .arch x64; mov rsi, rdx; mov edx, ecx);
        call_rust(e, function);
        G::fill(e);
        dynasm!(e.ops; .arch x64; jmp rax);
    })
}

/// Calls the function for `rdx`, and leaves.
pub fn leaves<G: Guest>(memory: &mut CodeMemory, function: usize, leave: usize) -> usize {
    write(memory, |e: &mut Assembler<G>| {
        G::spill(e);
        dynasm!(e.ops; .arch x64; mov rsi, rdx);
        call_rust(e, function);
        e.jump_to(leave);
    })
}

/// Called: calls the function for `rdx`, and leaves unless that returns 0.
pub fn may_leave<G: Guest>(memory: &mut CodeMemory, function: usize, leave: usize) -> usize {
    write(memory, |e: &mut Assembler<G>| {
        G::spill(e);
        dynasm!(e.ops; .arch x64; mov rsi, rdx; sub rsp, 8);
        call_rust(e, function);
        dynasm!(e.ops; .arch x64; add rsp, 8; test eax, eax; jz >on; add rsp, 8);
        e.jump_to(leave);
        dynasm!(e.ops; .arch x64; on:);
        G::fill(e);
        dynasm!(e.ops; .arch x64; ret);
    })
}

/// True if no two of these numbers are equal.
pub const fn differ(numbers: &[u8]) -> bool {
    let mut seen = 0_u64;
    let mut n = 0;
    while n < numbers.len() {
        seen |= 1 << numbers[n];
        n += 1;
    }
    seen.count_ones() as usize == n
}

/// True if these pairs of a guest's register and a host register map each register to one.
pub const fn map_to_one<const N: usize>(mapped: &[(u8, u8); N]) -> bool {
    let (mut guests, mut hosts) = ([0; N], [0; N]);
    let mut n = 0;
    while n < N {
        (guests[n], hosts[n]) = mapped[n];
        n += 1;
    }
    differ(&guests) && differ(&hosts)
}
