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
use super::emit::{Emitter, GUESTS, Lookup, TAGS, TIME, X86, gpr, shared};
use crate::engine::compiler::memory::CodeMemory;
use crate::engine::compiler::thunks::{self, Guest, call_rust};
use crate::memory::cache::tree_path;
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

impl Guest for X86 {
    const NEXT: i32 = shared(offset_of!(Shared, next));

    /// The guest's registers, the time and the counts go to the processor.
    fn spill(e: &mut Emitter) {
        for (number, host) in (0..).zip(GUESTS) {
            dynasm!(e.ops; .arch x64; mov [rbx + gpr(number)], Rd(host));
        }
        dynasm!(e.ops; .arch x64
            ; mov [rbx + TIME], r13
            ; mov [rbx + shared(offset_of!(Shared, counts))], r14
        );
    }

    /// They come back.
    fn fill(e: &mut Emitter) {
        for (number, host) in (0..).zip(GUESTS) {
            dynasm!(e.ops; .arch x64; mov Rd(host), [rbx + gpr(number)]);
        }
        dynasm!(e.ops; .arch x64
            ; mov r13, [rbx + TIME]
            ; mov r14, [rbx + shared(offset_of!(Shared, counts))]
            ; mov r15, [rbx + shared(offset_of!(Shared, ram))]
        );
    }
}

impl Emitter {
    /// Calls a function of [`calls`] that sees no register of the guest, and returns how many slots the access waits.
    /// Its second argument is in `ecx`.
    fn call_access(&mut self, function: usize, store: bool) {
        dynasm!(self.ops; .arch x64
            ; push rsi; push rdi; push r8; push r9; push r10; push r11; push rcx
            ; mov esi, ecx
            ; lea rcx, [r13 + rax]
        );
        if !store {
            dynasm!(self.ops; .arch x64; mov rdx, rcx);
        }
        call_rust(self, function);
        dynasm!(self.ops; .arch x64
            ; pop rcx; pop r11; pop r10; pop r9; pop r8; pop rdi; pop rsi
            ; add r13, rax
            ; ret
        );
    }

    /// For a thunk that is called with an address in RAM in `ecx`: if the cache of four ways holds the line, but has
    /// not used it last in its set, it has from now on, and the thunk returns. Keeps all but `rax` and `rdx`. Otherwise
    /// goes on behind this, with `eax` as it was.
    fn use_older(&mut self, lookup: &Lookup) {
        dynasm!(self.ops; .arch x64; push rax);
        self.set_of(lookup);
        dynasm!(self.ops; .arch x64
            ; push rcx
            ; mov ecx, 1
            ; cmp edx, [rax + 4]
            ; je >found
            ; mov ecx, 2
            ; cmp edx, [rax + 8]
            ; je >found
            ; mov ecx, 3
            ; cmp edx, [rax + 12]
            ; je >found
            ; pop rcx
            ; pop rax
            ; jmp >absent
            ; trees:
        );
        // What stays of a set's tree when a way of it is used, and what is new.
        for way in 0..4 {
            let (bits, away) = tree_path(way, 4);
            dynasm!(self.ops; .arch x64; .u32 !bits as u32; .u32 away as u32);
        }
        dynasm!(self.ops; .arch x64
            ; found:
            ; push rsi
            ; push rdi
            // The tags change places, and so do the ways.
            ; mov esi, [rax]
            ; mov [rax], edx
            ; mov [rax + rcx * 4], esi
            ; sub rax, [rbx + TAGS]
            ; shr eax, 2
            ; mov rdi, [rbx + shared(offset_of!(Shared, ways))]
            ; add rdi, rax
            ; movzx edx, BYTE [rdi + rcx]
            ; movzx esi, BYTE [rdi]
            ; mov [rdi], dl
            ; mov [rdi + rcx], sil
            // A set has four items of the tags, and eight bytes of the trees.
            ; add eax, eax
            ; add rax, [rbx + shared(offset_of!(Shared, trees))]
            ; lea rdi, [<trees]
            ; mov ecx, [rdi + rdx * 8]
            ; and ecx, [rax]
            ; or ecx, [rdi + rdx * 8 + 4]
            ; mov [rax], ecx
            ; pop rdi
            ; pop rsi
            ; pop rcx
            ; add rsp, 8
            ; ret
            ; absent:
        );
    }
}

impl Thunks {
    /// Writes them. `older`: the cache is one that [`Emitter::use_older`] knows.
    pub fn write(memory: &mut CodeMemory, lookup: &Lookup, older: bool) -> Thunks {
        let enter = thunks::enter::<X86>(memory);
        let leave = thunks::leave::<X86>(memory);
        let go = thunks::goes_on::<X86>(memory, calls::go as *const () as usize);
        let entered = thunks::goes_on::<X86>(memory, calls::entered as *const () as usize);
        let stay = thunks::leaves::<X86>(memory, calls::stay as *const () as usize, leave);
        let rest = thunks::leaves::<X86>(memory, calls::rest as *const () as usize, leave);
        let alone = thunks::may_leave::<X86>(memory, calls::alone as *const () as usize, leave);
        let mut reads = |function: usize| {
            thunks::write(memory, |e: &mut Emitter| {
                if older {
                    e.use_older(lookup);
                }
                e.call_access(function, false);
            })
        };
        let load = reads(calls::load as *const () as usize);
        let fetch = reads(calls::fetch as *const () as usize);
        let stores = [
            calls::store::<Byte> as *const () as usize,
            calls::store::<Word> as *const () as usize,
            calls::store::<Double> as *const () as usize,
        ];
        let store = stores
            .map(|function| thunks::write(memory, |e: &mut Emitter| e.call_access(function, true)));
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
const _: () = assert!(thunks::differ(&GUESTS));
