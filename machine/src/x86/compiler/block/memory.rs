//! Accesses of instructions to memory, and what stands behind a block for them.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::rc::Rc;

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::{Block, Item};
use crate::x86::compiler::calls::packed;
use crate::x86::compiler::code::Kind;
use crate::x86::compiler::emit::{C, Emitter, RETURNS, STACK, host};
use crate::x86::compiler::shape::Access;
use crate::x86::compiler::templates::Place;
use crate::x86::op::Op;

/// What follows from a value in `edx`.
pub(super) type Tail = Rc<dyn Fn(&mut Emitter)>;

impl Block<'_> {
    /// The op of `item`, which has taken time, is done: the rest of the block may have to run one instruction after
    /// another. `more`: accesses of the op that are not counted yet.
    pub(super) fn late(&mut self, item: &Item, more: u8) {
        let late = self.e.label();
        self.on_time(late);
        self.rest_cold(item, late, more);
    }

    /// Behind the block's code, at `late`: the rest of the block from the next op on.
    fn rest_cold(&mut self, item: &Item, late: DynamicLabel, more: u8) {
        let (accesses, fetches, fetched) = (self.accesses + more, self.fetches, self.fetched);
        // SAFETY: the op is not the last one of its block.
        let next = unsafe { item.op.add(1) };
        self.cold.push(Box::new(move |b| {
            b.e.bind(late);
            b.as_it_was(accesses, fetches, fetched, |b| {
                b.site(next, Kind::Rest { check: true }, 0);
                let rest = b.thunks.rest;
                b.e.jump_to(rest);
            });
        }));
    }

    /// Behind the block's code, at `slow`: the op runs by its chain.
    pub(super) fn stay_cold(&mut self, item: &Item, slow: DynamicLabel) {
        let (op, accesses, fetches, fetched) = (item.op, self.accesses, self.fetches, self.fetched);
        self.cold.push(Box::new(move |b| {
            b.e.bind(slow);
            b.as_it_was(accesses, fetches, fetched, |b| b.stay(op));
        }));
    }

    /// Behind the block's code, at `slow`: the op runs by its function, and then what is at `on`. `own`: accesses that
    /// it would have counted.
    fn alone_cold(
        &mut self,
        item: &Item,
        (slow, on): (DynamicLabel, DynamicLabel),
        own: u8,
        flags: bool,
    ) {
        let (op, accesses, fetches, fetched) = (item.op, self.accesses, self.fetches, self.fetched);
        self.cold.push(Box::new(move |b| {
            b.e.bind(slow);
            b.as_it_was(accesses, fetches, fetched, |b| {
                b.site(
                    op,
                    Kind::Alone {
                        flags,
                        template: true,
                    },
                    packed(0, 0, own, 0),
                );
                let alone = b.thunks.alone;
                b.e.call(alone);
            });
            if flags {
                b.e.restore_flags();
            }
            dynasm!(b.e.ops; .arch x64; jmp =>on);
        }));
    }

    /// Loads from the op's address; `tail` follows. `flags`: the op gives flags or reads some.
    pub(super) fn load(&mut self, item: &Item, op: &Op, bytes: u32, tail: Tail, flags: bool) {
        self.e.address(C, op);
        self.load_at(item, op, bytes, tail, flags);
    }

    /// The same from `ecx`.
    pub(super) fn load_at(&mut self, item: &Item, op: &Op, bytes: u32, tail: Tail, flags: bool) {
        let (slow, miss, on, done) = (
            self.e.label(),
            self.e.label(),
            self.e.label(),
            self.e.label(),
        );
        let (shape, issued) = (self.shape, i32::from(op.issued));
        self.e.page(&shape, bytes, false, slow);
        self.e.line(&shape, miss);
        self.e.bind(on);
        self.e.load(bytes);
        tail(&mut self.e);
        self.e.bind(done);
        self.alone_cold(item, (slow, done), 1, flags);
        if shape.memory == Access::Back {
            self.miss_cold((miss, on, slow), issued);
            self.accesses += 1;
            return;
        }
        let late = self.e.label();
        let thunk = self.thunks.load;
        self.cold.push(Box::new(move |b| {
            let later = b.e.label();
            b.e.bind(miss);
            dynasm!(b.e.ops; .arch x64; mov eax, issued);
            b.e.call(thunk);
            b.on_time(later);
            dynasm!(b.e.ops; .arch x64; jmp =>on);
            b.e.bind(later);
            b.e.load(bytes);
            tail(&mut b.e);
            dynasm!(b.e.ops; .arch x64; jmp =>late);
        }));
        self.rest_cold(item, late, 1);
        self.accesses += 1;
    }

    /// `edx` := what is at `ecx`, for the last op of a block.
    pub(super) fn last_load(&mut self, item: &Item, op: &Op, bytes: u32) {
        let (slow, miss, on) = (self.e.label(), self.e.label(), self.e.label());
        let (shape, issued) = (self.shape, i32::from(op.issued));
        self.e.page(&shape, bytes, false, slow);
        self.e.line(&shape, miss);
        self.e.bind(on);
        self.e.load(bytes);
        self.stay_cold(item, slow);
        self.miss_cold((miss, on, slow), issued);
        self.accesses += 1;
    }

    /// Behind the block's code, at `miss`: the thunk of loads makes the line of `ecx` the one used last, or asks the
    /// cache's model how long the load waits. Then the block goes on at `on`; or at `slow`, if the cache does not hold
    /// the line, and the thunk does not ask the model.
    fn miss_cold(
        &mut self,
        (miss, on, slow): (DynamicLabel, DynamicLabel, DynamicLabel),
        issued: i32,
    ) {
        let (thunk, memory) = (self.thunks.load, self.shape.memory);
        self.cold.push(Box::new(move |b| {
            b.e.bind(miss);
            match memory {
                Access::Through => {
                    dynasm!(b.e.ops; .arch x64; mov eax, issued);
                    b.e.call(thunk);
                    dynasm!(b.e.ops; .arch x64; jmp =>on);
                }
                Access::Back => {
                    b.e.call(thunk);
                    dynasm!(b.e.ops; .arch x64; je =>on; jmp =>slow);
                }
            }
        }));
    }

    /// `edx` := the target of a jump.
    pub(super) fn target(&mut self, item: &Item, op: &Op, from: Place) {
        match from {
            Place::Register(from) => {
                let from = host(from);
                dynasm!(self.e.ops; .arch x64; mov edx, Rd(from));
            }
            Place::Memory => {
                self.e.address(C, op);
                self.last_load(item, op, 4);
            }
        }
    }

    /// Stores what `value` gives in `edx`, of so many bytes, at `ecx`; `done` follows. `flags`: the op reads flags.
    pub(super) fn store(
        &mut self,
        item: &Item,
        op: &Op,
        (bytes, flags): (u32, bool),
        value: Tail,
        done: Tail,
    ) {
        let (slow, on) = (self.e.label(), self.e.label());
        let (absent, there) = (self.e.label(), self.e.label());
        self.writable(bytes, (slow, absent));
        self.e.bind(there);
        value(&mut self.e);
        self.write(op, bytes);
        done(&mut self.e);
        self.alone_cold(item, (slow, on), 1, flags);
        match self.shape.memory {
            Access::Through => self.late(item, 1),
            Access::Back => self.absent_cold(item, op, bytes, (absent, there, slow), (value, done)),
        }
        self.e.bind(on);
        self.accesses += 1;
    }

    /// Reads `edx` from the op's address, and stores what `tail` makes of it.
    pub(super) fn modify(&mut self, item: &Item, op: &Op, bytes: u32, tail: Tail, flags: bool) {
        let (slow, on) = (self.e.label(), self.e.label());
        let (miss, there) = (self.e.label(), self.e.label());
        let (shape, issued) = (self.shape, i32::from(op.issued));
        self.e.address(C, op);
        // Where the line is not at hand, the op begins with the load.
        self.writable(bytes, (slow, slow));
        if shape.memory == Access::Through {
            self.e.line(&shape, miss);
            self.e.bind(there);
            self.miss_cold((miss, there, slow), issued);
        }
        self.e.load(bytes);
        tail(&mut self.e);
        self.write(op, bytes);
        self.alone_cold(item, (slow, on), 2, flags);
        if shape.memory == Access::Through {
            self.late(item, 2);
        }
        self.e.bind(on);
        self.accesses += 2;
    }

    /// `ecx`, a linear address := where it lies in RAM, if so many bytes can be written there. Otherwise on to `slow`,
    /// with nothing changed. With [`Access::Back`] the line is modified, and the one used last in its set; if it is not
    /// at hand, or code is there, on to `absent`, as [`Thunks::own`](super::Thunks) has left.
    fn writable(&mut self, bytes: u32, (slow, absent): (DynamicLabel, DynamicLabel)) {
        self.e.page(&self.shape, bytes, true, slow);
        if self.shape.memory == Access::Back {
            let own = self.thunks.own;
            self.e.call(own);
            dynasm!(self.e.ops; .arch x64; jne =>absent);
        }
    }

    /// Behind the block's code, at `absent`, where [`Block::writable`] has led: the cache's model says how long the
    /// store waits, and it goes on at `there`; or at `slow`, if code is there.
    fn absent_cold(
        &mut self,
        item: &Item,
        op: &Op,
        bytes: u32,
        (absent, there, slow): (DynamicLabel, DynamicLabel, DynamicLabel),
        (value, done): (Tail, Tail),
    ) {
        let (missed, issued) = (self.thunks.missed, i32::from(op.issued));
        let late = self.e.label();
        self.cold.push(Box::new(move |b| {
            let later = b.e.label();
            dynasm!(b.e.ops; .arch x64; =>absent; jnc =>slow; mov eax, issued);
            b.e.call(missed);
            b.on_time(later);
            dynasm!(b.e.ops; .arch x64; jmp =>there);
            b.e.bind(later);
            value(&mut b.e);
            b.e.store(bytes);
            done(&mut b.e);
            dynasm!(b.e.ops; .arch x64; jmp =>late);
        }));
        self.rest_cold(item, late, 1);
    }

    /// The op writes `edx` to where [`Block::writable`] has led.
    fn write(&mut self, op: &Op, bytes: u32) {
        match self.shape.memory {
            Access::Through => {
                let (store, issued) = (self.thunks.store_of(bytes), i32::from(op.issued));
                dynasm!(self.e.ops; .arch x64; mov eax, issued);
                self.e.call(store);
            }
            Access::Back => self.e.store(bytes),
        }
    }

    /// Pushes EIP behind the block, and tells the predictor. On to `slow` if what is pushed cannot be written.
    pub(super) fn call(&mut self, op: &Op, slow: DynamicLabel) {
        let (stack, back) = (STACK, self.end().cast_signed());
        dynasm!(self.e.ops; .arch x64; lea ecx, [Rq(stack) - 4]);
        self.writable(4, (slow, slow));
        dynasm!(self.e.ops; .arch x64; mov edx, DWORD back);
        self.write(op, 4);
        let (top, addresses) = RETURNS;
        dynasm!(self.e.ops; .arch x64
            ; lea Rd(stack), [Rq(stack) - 4]
            ; mov eax, [rbx + top]
            ; mov edx, DWORD back
            ; add eax, 1
            ; and eax, 7
            ; mov [rbx + top], rax
            ; mov [rbx + rax * 8 + addresses], rdx
        );
        self.accesses += 1;
    }
}
