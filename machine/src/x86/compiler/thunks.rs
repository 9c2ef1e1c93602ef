//! The ways into compiled code, out of it, and from it to Rust: written once at the beginning of its memory.
//!
//! Where the interpreter may see or change the guest's registers, they go to the processor, and come back from there.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::mem::offset_of;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::calls::{self, Lines, Shared};
use super::emit::{Emitter, GUESTS, MISPREDICTED, TIME, X86, gpr, shared};
use super::shape::{Access, Prediction, READABLE, Shape, Side, WRITABLE};
use crate::engine::blocks::PIECE_SHIFT;
use crate::engine::compiler::memory::CodeMemory;
use crate::engine::compiler::thunks::{self, Guest, call_rust};
use crate::memory::cache::{DIRTY, tree_path};
use crate::x86::access::{Byte, Double, Word};
use crate::x86::predictor::Entry;

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
    /// guest's registers, and `ecx`, stay. With [`Access::Back`]: ZF is set if the cache holds the line, and it becomes
    /// the one used last in its set; otherwise nothing is changed.
    pub load: usize,
    /// The same for the fetch of a line.
    pub fetch: usize,
    /// The same for a store of `edx`, of 1, 2 and 4 bytes, which is done.
    pub store: [usize; 3],
    /// Called, with [`Access::Back`]: ZF is set if the line of `ecx` is at hand for a store, and no code is there; then
    /// the line is modified, and the one used last in its set. Otherwise nothing is changed, and CF is set if no code
    /// is there. Keeps all but `rax` and `rdx`.
    pub own: usize,
    /// Called: adds the cycles that a store to `ecx` waits whose line is not at hand. Keeps what [`Thunks::load`]
    /// keeps.
    pub missed: usize,
    /// Called, by what a branch has done: the branch at `edx`, whose place in the predictor's buffer is at `rax`, has
    /// the target `ecx`. Keeps all but `rax` and `rdx`.
    pub branched: [usize; 3],
    /// Where compiled code leaves; what is next is in [`Shared::next`].
    pub leave: usize,
}

/// What a branch that is predicted has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branched {
    /// It has a condition, and has not jumped.
    Not,
    /// It has a condition, and has jumped.
    Taken,
    /// It has jumped to one of different places.
    Anywhere,
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

    /// For a thunk that is called with an address in RAM in `ecx`: if the cache holds the line, but has not used it
    /// last in its set, it has from now on, and the thunk returns with ZF set. Keeps all but `rax` and `rdx`. Otherwise
    /// goes on behind this, with `eax` as it was. `except`: the bits of a tag that do not matter. `set`: those that the
    /// line gets.
    fn use_older(&mut self, side: &Side, except: u32, set: u32) {
        if side.ways == 1 {
            return;
        }
        let (except, set) = ((!except).cast_signed(), set.cast_signed());
        let (found, absent) = (self.label(), self.label());
        dynasm!(self.ops; .arch x64; push rax);
        self.set_of(side);
        dynasm!(self.ops; .arch x64; push rcx; push rsi);
        for way in 1..side.ways as i32 {
            dynasm!(self.ops; .arch x64
                ; mov ecx, way
                ; mov esi, [rax + 4 * way]
                ; and esi, except
                ; cmp esi, edx
                ; je =>found
            );
        }
        dynasm!(self.ops; .arch x64
            ; pop rsi
            ; pop rcx
            ; pop rax
            ; jmp =>absent
            ; trees:
        );
        // What stays of a set's tree when a way of it is used, and what is new.
        for way in 0..side.ways as usize {
            let (bits, away) = tree_path(way, side.ways as usize);
            dynasm!(self.ops; .arch x64; .u32 !bits as u32; .u32 away as u32);
        }
        // A set has so many items of the tags, and eight bytes of the trees.
        let tree = 3 - side.ways.trailing_zeros() as i8;
        dynasm!(self.ops; .arch x64
            ; =>found
            ; push rdi
            // The tags change places, and so do the ways.
            ; mov esi, [rax]
            ; mov edx, [rax + rcx * 4]
            ; or edx, set
            ; mov [rax], edx
            ; mov [rax + rcx * 4], esi
            ; sub rax, [rbx + side.lines(offset_of!(Lines, tags))]
            ; shr eax, 2
            ; mov rdi, [rbx + side.lines(offset_of!(Lines, ways))]
            ; add rdi, rax
            ; movzx edx, BYTE [rdi + rcx]
            ; movzx esi, BYTE [rdi]
            ; mov [rdi], dl
            ; mov [rdi + rcx], sil
            ; shl eax, BYTE tree
            ; add rax, [rbx + side.lines(offset_of!(Lines, trees))]
            ; lea rdi, [<trees]
            ; mov ecx, [rdi + rdx * 8]
            ; and ecx, [rax]
            ; or ecx, [rdi + rdx * 8 + 4]
            ; mov [rax], ecx
            ; pop rdi
            ; pop rsi
            ; pop rcx
            ; add rsp, 8
            ; xor eax, eax
            ; ret
            ; =>absent
        );
    }

    /// The thunk returns with ZF and CF clear.
    fn no(&mut self) {
        dynasm!(self.ops; .arch x64; or eax, 1; ret);
    }

    /// For [`Thunks::own`].
    fn own(&mut self, side: &Side) {
        const PIECE: i8 = PIECE_SHIFT as i8;
        let (no, older) = (self.label(), self.label());
        dynasm!(self.ops; .arch x64
            ; mov eax, ecx
            ; shr eax, 12
            ; mov rdx, [rbx + shared(offset_of!(Shared, held))]
            ; mov rdx, [rdx + rax * 8]
            ; mov eax, ecx
            ; shr eax, PIECE
            ; bt rdx, rax
            ; jc =>no
        );
        self.set_of(side);
        self.differs(WRITABLE, older);
        dynasm!(self.ops; .arch x64
            ; or DWORD [rax], DIRTY as i32
            ; xor eax, eax
            ; ret
            ; =>older
        );
        self.use_older(side, WRITABLE, DIRTY);
        dynasm!(self.ops; .arch x64; or eax, 1; stc; ret);
        self.bind(no);
        self.no();
    }

    /// For [`Thunks::branched`]: what [`crate::x86::predictor::Predictor::predicts`] does.
    fn branched(&mut self, prediction: Option<&Prediction>, branched: Branched) {
        const TARGET: i32 = offset_of!(Entry, target) as i32;
        const BRANCH: i32 = offset_of!(Entry, branch) as i32;
        const COUNTER: i32 = offset_of!(Entry, counter) as i32;
        const SUREST: i8 = Entry::SUREST as i8;
        const NEW: i8 = Entry::NEW as i8;
        let (absent, wrong) = (self.label(), self.label());
        dynasm!(self.ops; .arch x64
            ; cmp BYTE [rax + COUNTER], SUREST
            ; ja =>absent
            ; cmp [rax + BRANCH], edx
            ; jne =>absent
            ; movzx edx, BYTE [rax + COUNTER]
        );
        match branched {
            Branched::Not => dynasm!(self.ops; .arch x64
                ; sub edx, 1
                ; jb >right
                ; mov [rax + COUNTER], dl
                ; jnz =>wrong
                ; right:
                ; ret
                ; =>absent
                ; cmp ecx, edx
                ; jbe =>wrong
                ; ret
            ),
            _ => dynasm!(self.ops; .arch x64
                ; cmp [rax + TARGET], ecx
                ; mov [rax + TARGET], ecx
                ; jne >other
                ; cmp edx, NEW.into()
                ; jb >other
                ; mov BYTE [rax + COUNTER], SUREST
                ; ret
                ; other:
                ; cmp edx, SUREST.into()
                ; adc edx, 0
                ; mov [rax + COUNTER], dl
                ; jmp =>wrong
                ; =>absent
                ; mov [rax + BRANCH], edx
                ; mov [rax + TARGET], ecx
                ; mov BYTE [rax + COUNTER], NEW
            ),
        }
        if branched == Branched::Taken {
            dynasm!(self.ops; .arch x64; cmp ecx, edx; ja =>wrong; ret);
        }
        self.bind(wrong);
        self.mispredict(prediction);
        dynasm!(self.ops; .arch x64; ret);
    }

    /// A branch was predicted wrongly.
    pub fn mispredict(&mut self, prediction: Option<&Prediction>) {
        let penalty = prediction.map_or(0, |prediction| prediction.penalty);
        dynasm!(self.ops; .arch x64; add r13, penalty; add QWORD [rbx + MISPREDICTED], 1);
    }
}

impl Thunks {
    /// Writes them.
    pub fn write(memory: &mut CodeMemory, shape: &Shape) -> Thunks {
        let enter = thunks::enter::<X86>(memory);
        let leave = thunks::leave::<X86>(memory);
        let go = thunks::goes_on::<X86>(memory, calls::go as *const () as usize);
        let entered = thunks::goes_on::<X86>(memory, calls::entered as *const () as usize);
        let stay = thunks::leaves::<X86>(memory, calls::stay as *const () as usize, leave);
        let rest = thunks::leaves::<X86>(memory, calls::rest as *const () as usize, leave);
        let alone = thunks::may_leave::<X86>(memory, calls::alone as *const () as usize, leave);
        let fetch = thunks::write(memory, |e: &mut Emitter| {
            e.use_older(&shape.code, 0, 0);
            e.call_access(calls::fetch as *const () as usize, false);
        });
        let load = thunks::write(memory, |e: &mut Emitter| match shape.memory {
            Access::Through => {
                e.use_older(&shape.data, 0, 0);
                e.call_access(calls::load as *const () as usize, false);
            }
            Access::Back => {
                e.use_older(&shape.data, READABLE, 0);
                e.no();
            }
        });
        let stores = [
            calls::store::<Byte> as *const () as usize,
            calls::store::<Word> as *const () as usize,
            calls::store::<Double> as *const () as usize,
        ];
        let store = stores
            .map(|function| thunks::write(memory, |e: &mut Emitter| e.call_access(function, true)));
        let own = thunks::write(memory, |e: &mut Emitter| e.own(&shape.data));
        let missed = thunks::write(memory, |e: &mut Emitter| {
            e.call_access(calls::missed as *const () as usize, false);
        });
        let branched = [Branched::Not, Branched::Taken, Branched::Anywhere].map(|branched| {
            thunks::write(memory, |e: &mut Emitter| {
                e.branched(shape.predictor.as_ref(), branched);
            })
        });
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
            own,
            missed,
            branched,
            leave,
        }
    }
}

/// Every register of the guest has a place of its own.
const _: () = assert!(thunks::differ(&GUESTS));
