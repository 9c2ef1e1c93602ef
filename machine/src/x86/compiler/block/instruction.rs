//! The templates of instructions.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use std::rc::Rc;

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::{Block, Item};
use crate::x86::compiler::emit::{Binary, C, D, Emitter, FLAGS, Given, STACK, Unary, Value, host};
use crate::x86::compiler::templates::{By, Place, Source, Template};
use crate::x86::op::Op;
use crate::x86::registers::gpr;

impl Source {
    /// One that is no memory.
    fn value(self) -> Value {
        match self {
            Source::Register(register) => Value::Host(host(register)),
            Source::Number(number) => Value::Number(number),
            Source::Memory => unreachable!("it has been loaded"),
        }
    }
}

impl Block<'_> {
    pub(super) fn instruction(&mut self, item: &Item, op: &Op, template: Template) {
        let live = item.flags_live;
        let held = std::mem::take(&mut self.flags_held);
        self.branches = template.ends();
        match template {
            Template::Binary {
                op: what,
                bytes,
                to,
                with,
            } => self.binary(item, op, (what, bytes), to, with),
            Template::Unary {
                op: what,
                bytes,
                to,
            } => match to {
                Place::Register(to) => {
                    self.flags_held = unary(&mut self.e, what, bytes, host(to), live)
                }
                Place::Memory => {
                    let tail = move |e: &mut Emitter| {
                        unary(e, what, bytes, D, live);
                    };
                    self.modify(item, op, bytes, Rc::new(tail), what != Unary::Not);
                }
            },
            Template::Address { to } => self.e.address(host(to), op),
            Template::Extend {
                signed,
                bytes,
                to,
                from,
            } => {
                let to = host(to);
                let extend = move |e: &mut Emitter, from: u8| match (signed, bytes) {
                    (true, 1) => dynasm!(e.ops; .arch x64; movsx Rd(to), Rb(from)),
                    (true, _) => dynasm!(e.ops; .arch x64; movsx Rd(to), Rw(from)),
                    (false, 1) => dynasm!(e.ops; .arch x64; movzx Rd(to), Rb(from)),
                    (false, _) => dynasm!(e.ops; .arch x64; movzx Rd(to), Rw(from)),
                };
                match from {
                    Place::Register(from) => extend(&mut self.e, host(from)),
                    Place::Memory => {
                        self.load(item, op, bytes, Rc::new(move |e| extend(e, D)), false);
                    }
                }
            }
            Template::Shift { number, to, by } => self.shift(number, host(to), by, live),
            Template::Multiply { to, from, with } => {
                let with = with.value();
                let counts = self.shape.counts_bits;
                let tail = move |e: &mut Emitter| multiply(e, host(to), with, counts, live);
                match from {
                    Place::Register(from) => {
                        let from = host(from);
                        dynasm!(self.e.ops; .arch x64; mov edx, Rd(from));
                        tail(&mut self.e);
                    }
                    Place::Memory => self.load(item, op, 4, Rc::new(tail), true),
                }
                if counts {
                    self.late(item, 0);
                }
            }
            Template::MultiplyLong { signed, from } => {
                let counts = self.shape.counts_bits;
                let tail = move |e: &mut Emitter| multiply_long(e, signed, counts, live);
                match from {
                    Place::Register(from) => {
                        let from = host(from);
                        dynasm!(self.e.ops; .arch x64; mov edx, Rd(from));
                        tail(&mut self.e);
                    }
                    Place::Memory => self.load(item, op, 4, Rc::new(tail), true),
                }
                if counts {
                    self.late(item, 0);
                }
            }
            Template::Push { from } => {
                let (value, stack) = (from.value(), STACK);
                let done = move |e: &mut Emitter| {
                    dynasm!(e.ops; .arch x64; lea Rd(stack), [Rq(stack) - 4]);
                };
                dynasm!(self.e.ops; .arch x64; lea ecx, [Rq(stack) - 4]);
                let value = move |e: &mut Emitter| e.binary(Binary::Move, 4, D, value);
                self.store(item, op, (4, false), Rc::new(value), Rc::new(done));
            }
            Template::Pop { to } => {
                let (to, stack) = (host(to), STACK);
                dynasm!(self.e.ops; .arch x64; mov ecx, Rd(stack));
                let tail = move |e: &mut Emitter| {
                    dynasm!(e.ops; .arch x64; lea Rd(stack), [Rq(stack) + 4]; mov Rd(to), edx);
                };
                self.load_at(item, op, 4, Rc::new(tail), false);
            }
            Template::Leave => {
                let (frame, stack) = (host(gpr::EBP), STACK);
                dynasm!(self.e.ops; .arch x64; mov ecx, Rd(frame));
                let tail = move |e: &mut Emitter| {
                    dynasm!(e.ops; .arch x64; lea Rd(stack), [Rq(frame) + 4]; mov Rd(frame), edx);
                };
                self.load_at(item, op, 4, Rc::new(tail), false);
            }
            Template::Set { condition, to } => match to {
                Place::Register(to) => {
                    let to = host(to);
                    if !held {
                        self.e.restore_flags();
                    }
                    self.e.set_if(condition);
                    dynasm!(self.e.ops; .arch x64; mov Rb(to), al);
                    self.flags_held = true;
                }
                Place::Memory => {
                    self.e.address(C, op);
                    let value = move |e: &mut Emitter| {
                        e.restore_flags();
                        e.set_if(condition);
                        dynasm!(e.ops; .arch x64; movzx edx, al);
                    };
                    self.store(item, op, (1, true), Rc::new(value), Rc::new(|_| ()));
                }
            },
            Template::Exchange { one, other } => {
                let (one, other) = (host(one), host(other));
                dynasm!(self.e.ops; .arch x64; mov eax, Rd(one); mov Rd(one), Rd(other); mov Rd(other), eax);
            }
            Template::ExtendWord => {
                let eax = host(gpr::EAX);
                dynasm!(self.e.ops; .arch x64; movsx Rd(eax), Rw(eax));
            }
            Template::ExtendDouble => {
                let (eax, edx) = (host(gpr::EAX), host(gpr::EDX));
                dynasm!(self.e.ops; .arch x64; mov Rd(edx), Rd(eax); sar Rd(edx), 31);
            }
            Template::SwapBytes { to } => {
                let to = host(to);
                dynasm!(self.e.ops; .arch x64; bswap Rd(to));
            }
            Template::Nothing => self.flags_held = held,
            Template::JumpIf { condition } => {
                if !held {
                    self.e.restore_flags();
                }
                let taken = self.e.label();
                self.e.jump_if(condition, taken);
                let (end, more) = (self.end(), self.shape.taken);
                let target = end.wrapping_add(op.immediate);
                self.predict(op, target, false);
                self.edge(item.op, end, false, 0);
                self.e.bind(taken);
                self.predict(op, target, true);
                self.edge(item.op, target, true, more);
            }
            Template::Jump => self.edge(item.op, self.end().wrapping_add(op.immediate), true, 0),
            Template::Call => {
                let slow = self.e.label();
                self.stay_cold(item, slow);
                self.call(op, slow);
                self.edge(item.op, self.end().wrapping_add(op.immediate), true, 0);
            }
            Template::JumpTo { from } => {
                self.target(item, op, from);
                dynasm!(self.e.ops; .arch x64; mov ecx, edx);
                self.predict_target(op);
                self.indirect(item.op);
            }
            Template::CallTo { from } => {
                let (slow, stack) = (self.e.label(), STACK);
                self.stay_cold(item, slow);
                // What is pushed must be sure to reach memory, before the target is loaded.
                let shape = self.shape;
                dynasm!(self.e.ops; .arch x64; lea ecx, [Rq(stack) - 4]);
                self.e.page(&shape, 4, true, slow);
                self.target(item, op, from);
                dynasm!(self.e.ops; .arch x64; sub rsp, 8; push rdx);
                // Then only the line is not at hand. The op can load its target again: that changes nothing.
                let absent = self.e.label();
                self.cold.push(Box::new(move |b| {
                    b.e.bind(absent);
                    dynasm!(b.e.ops; .arch x64; add rsp, 16; jmp =>slow);
                }));
                self.call(op, absent);
                dynasm!(self.e.ops; .arch x64; pop rcx; add rsp, 8);
                self.predict_target(op);
                self.indirect(item.op);
            }
            Template::Back => {
                let stack = STACK;
                dynasm!(self.e.ops; .arch x64; mov ecx, Rd(stack));
                self.last_load(item, op, 4);
                let bytes = 4_u32.wrapping_add(op.immediate).cast_signed();
                dynasm!(self.e.ops; .arch x64; lea Rd(stack), [Rq(stack) + bytes]; mov ecx, edx);
                self.predict_return();
                self.indirect(item.op);
            }
        }
    }

    /// EIP behind the block.
    pub(super) fn end(&self) -> u32 {
        self.version.eip.wrapping_add(self.version.length)
    }

    fn binary(
        &mut self,
        item: &Item,
        op: &Op,
        (what, bytes): (Binary, u32),
        to: Place,
        with: Source,
    ) {
        let live = item.flags_live;
        match (to, with) {
            (Place::Register(to), Source::Memory) => {
                let to = host(to);
                let tail = move |e: &mut Emitter| {
                    binary(e, what, bytes, to, Value::Host(D), live);
                };
                self.load(item, op, bytes, Rc::new(tail), what != Binary::Move);
                self.flags_held = what != Binary::Move;
            }
            (Place::Register(to), with) => {
                self.flags_held = binary(&mut self.e, what, bytes, host(to), with.value(), live);
            }
            (Place::Memory, with) if what == Binary::Move => {
                self.e.address(C, op);
                let with = with.value();
                let value = move |e: &mut Emitter| e.binary(Binary::Move, 4, D, with);
                self.store(item, op, (bytes, false), Rc::new(value), Rc::new(|_| ()));
            }
            (Place::Memory, with) if what.compares() => {
                let with = with.value();
                let tail = move |e: &mut Emitter| {
                    binary(e, what, bytes, D, with, live);
                };
                self.load(item, op, bytes, Rc::new(tail), true);
                self.flags_held = true;
            }
            (Place::Memory, with) => {
                let with = with.value();
                let tail = move |e: &mut Emitter| {
                    binary(e, what, bytes, D, with, live);
                };
                self.modify(item, op, bytes, Rc::new(tail), true);
            }
        }
    }

    fn shift(&mut self, number: u8, to: u8, by: By, live: bool) {
        let rotates = number & 7 < 4;
        let save = move |e: &mut Emitter| {
            if rotates {
                e.save_carry_overflow();
            } else {
                e.save_flags(Given::Shifted);
            }
        };
        match by {
            By::Number(0) => {}
            By::Number(count) if !live => self.e.shift(number, 4, to, Some(count)),
            By::Number(count) => {
                // The flags are those of the last one of shifts by one bit.
                if count > 1 {
                    self.e.shift(number, 4, to, Some(count - 1));
                }
                self.e.shift(number, 4, to, Some(1));
                save(&mut self.e);
            }
            By::Count => {
                let count = host(gpr::ECX);
                let done = self.e.label();
                dynasm!(self.e.ops; .arch x64; mov ecx, Rd(count));
                if !live {
                    self.e.shift(number, 4, to, None);
                    return;
                }
                dynasm!(self.e.ops; .arch x64; and ecx, 31; jz =>done; sub ecx, 1);
                self.e.shift(number, 4, to, None);
                self.e.shift(number, 4, to, Some(1));
                save(&mut self.e);
                self.e.bind(done);
            }
        }
    }
}

/// An operation on a host register, and its flags. True if the host's flags are the guest's then.
fn binary(e: &mut Emitter, what: Binary, bytes: u32, to: u8, with: Value, live: bool) -> bool {
    if what.reads_carry() {
        e.restore_carry();
    }
    e.binary(what, bytes, to, with);
    if what == Binary::Move {
        return false;
    }
    if live {
        e.save_flags(what.given());
    }
    true
}

/// The same of one operand.
fn unary(e: &mut Emitter, what: Unary, bytes: u32, to: u8, live: bool) -> bool {
    if live && matches!(what, Unary::Increment | Unary::Decrement) {
        e.restore_carry();
    }
    e.unary(what, bytes, to);
    if what == Unary::Not {
        return false;
    }
    if live {
        e.save_flags(Given::All);
    }
    live
}

/// `edx` times a value becomes the register. `counts`: see [`multiplier_clocks`].
fn multiply(e: &mut Emitter, to: u8, with: Value, counts: bool, live: bool) {
    match with {
        Value::Number(number) => {
            let bits = 32 - number.cast_signed().unsigned_abs().leading_zeros();
            let (clocks, number) = (bits.clamp(3, 32) as i32, number.cast_signed());
            if counts {
                dynasm!(e.ops; .arch x64; add r13, clocks);
            }
            dynasm!(e.ops; .arch x64; imul edx, edx, number);
        }
        Value::Host(with) => {
            if counts {
                dynasm!(e.ops; .arch x64; mov eax, Rd(with));
                multiplier_clocks(e, true);
            }
            dynasm!(e.ops; .arch x64; imul edx, Rd(with));
        }
    }
    dynasm!(e.ops; .arch x64; mov Rd(to), edx);
    if live {
        save_product_flags(e, to);
    }
}

/// EDX and EAX become the product of EAX and `edx`.
fn multiply_long(e: &mut Emitter, signed: bool, counts: bool, live: bool) {
    let (low, high) = (host(gpr::EAX), host(gpr::EDX));
    if counts {
        dynasm!(e.ops; .arch x64; mov eax, edx);
        multiplier_clocks(e, signed);
    }
    dynasm!(e.ops; .arch x64; mov eax, Rd(low));
    if signed {
        dynasm!(e.ops; .arch x64; imul edx);
    } else {
        dynasm!(e.ops; .arch x64; mul edx);
    }
    dynasm!(e.ops; .arch x64; mov Rd(low), eax; mov Rd(high), edx);
    if live {
        save_product_flags(e, low);
    }
}

/// A multiplication takes a clock for each significant bit of its multiplier, which is in `eax`. Uses `ecx`.
fn multiplier_clocks(e: &mut Emitter, signed: bool) {
    if signed {
        dynasm!(e.ops; .arch x64; mov ecx, eax; sar ecx, 31; xor eax, ecx; sub eax, ecx);
    }
    dynasm!(e.ops; .arch x64; or eax, 4; bsr eax, eax; lea r13, [r13 + rax + 1]);
}

/// The host's OF, which a multiplication has given, and the flags of the lower half of its product, become the guest's.
fn save_product_flags(e: &mut Emitter, low: u8) {
    dynasm!(e.ops; .arch x64
        ; seto cl
        ; test Rd(low), Rd(low)
        ; lahf
        ; and eax, 0xc400
        ; movzx ecx, cl
        ; or eax, ecx
        ; shl ecx, 8
        ; or eax, ecx
        ; mov [rbx + FLAGS], ax
    );
}
