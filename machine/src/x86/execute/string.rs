//! String instructions, alone and repeated.
//!
//! A repeated one goes on until its count is used up, its condition ends it, or something else is due: then it stops
//! between two elements, with ESI, EDI and ECX as they are. An interrupt's handler returns to it, and it begins anew;
//! otherwise it goes on as if it had not stopped ([`Repeating`]).

use super::Done;
use super::arithmetic::subtract;
use crate::x86::access::Width;
use crate::x86::clocks::element;
use crate::x86::config::Kind;
use crate::x86::decode::Repeating;
use crate::x86::exception::Exception;
use crate::x86::op::{NARROW_ADDRESS, Op};
use crate::x86::processor::{Processor, RESTART};
use crate::x86::registers::{eflags, gpr, segment};

/// [`Op::extra`]: how it repeats.
pub(in crate::x86) mod repeat {
    pub const ONCE: u8 = 0;
    /// REP, REPE; any other value is REPNE
    pub const EQUAL: u8 = 0xf3;
}

/// What one element does. True if the repetition goes on, as far as the flags decide.
pub(in crate::x86) trait Element {
    /// The flags end the repetition.
    const COMPARES: bool;

    fn clocks(kind: Kind) -> u64;

    fn run<W: Width>(p: &mut Processor, op: &Op) -> Done;
}

fn mask(op: &Op) -> u32 {
    if op.scale & NARROW_ADDRESS != 0 {
        0xffff
    } else {
        u32::MAX
    }
}

fn index(p: &Processor, op: &Op, register: u8) -> u32 {
    p.registers.get(register) & mask(op)
}

/// Moves an index register to the next element.
fn advance<W: Width>(p: &mut Processor, op: &Op, register: u8) {
    let mask = mask(op);
    let old = p.registers.get(register);
    let new = if p.registers.system & eflags::DF != 0 {
        old.wrapping_sub(W::BYTES)
    } else {
        old.wrapping_add(W::BYTES)
    };
    p.registers.set(register, old & !mask | new & mask);
}

fn source<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
    let offset = index(p, op, gpr::ESI);
    let linear = p.linear_read(op.segment, offset, W::BYTES)?;
    p.load::<W>(linear)
}

fn destination<W: Width>(p: &mut Processor, op: &Op) -> Result<u32, Exception> {
    let offset = index(p, op, gpr::EDI);
    let linear = p.linear_read(segment::ES, offset, W::BYTES)?;
    p.load::<W>(linear)
}

fn put_destination<W: Width>(p: &mut Processor, op: &Op, value: u32) -> Done {
    let offset = index(p, op, gpr::EDI);
    let linear = p.linear_write(segment::ES, offset, W::BYTES)?;
    p.store::<W>(linear, value)
}

/// Kinds of elements: whether their flags end a repetition, what one takes, and what it does with operands of a width.
macro_rules! elements {
    ($($name:ident compares $compares:literal, $clocks:ident, |$p:ident, $op:ident, $width:ident| $run:block)*) => {$(
        pub(in crate::x86) struct $name;

        impl Element for $name {
            const COMPARES: bool = $compares;

            fn clocks(kind: Kind) -> u64 {
                element::$clocks(kind)
            }

            #[inline(always)]
            fn run<$width: Width>($p: &mut Processor, $op: &Op) -> Done {
                $run
                Ok(())
            }
        }
    )*};
}

elements! {
    Moves compares false, moves, |p, op, W| {
        let value = source::<W>(p, op)?;
        put_destination::<W>(p, op, value)?;
        advance::<W>(p, op, gpr::ESI);
        advance::<W>(p, op, gpr::EDI);
    }
    Stores compares false, stores, |p, op, W| {
        let value = p.register::<W>(0);
        put_destination::<W>(p, op, value)?;
        advance::<W>(p, op, gpr::EDI);
    }
    Loads compares false, loads, |p, op, W| {
        let value = source::<W>(p, op)?;
        p.set_register::<W>(0, value);
        advance::<W>(p, op, gpr::ESI);
    }
    Compares compares true, compares, |p, op, W| {
        let a = source::<W>(p, op)?;
        let b = destination::<W>(p, op)?;
        subtract::<W>(p, a, b, 0);
        advance::<W>(p, op, gpr::ESI);
        advance::<W>(p, op, gpr::EDI);
    }
    Scans compares true, scans, |p, op, W| {
        let a = p.register::<W>(0);
        let b = destination::<W>(p, op)?;
        subtract::<W>(p, a, b, 0);
        advance::<W>(p, op, gpr::EDI);
    }
    Inputs compares false, ports, |p, op, W| {
        let port = p.registers.gpr[2] as u16;
        p.may_use_port(port, W::BYTES)?;
        // A fault must come before the device is read.
        let offset = index(p, op, gpr::EDI);
        let linear = p.linear_write(segment::ES, offset, W::BYTES)?;
        let place = p.place(linear, W::BYTES, p.user | 1)?;
        let value = p.read_port(port, W::BYTES);
        p.store_at(place, W::BYTES, value);
        p.record_access(linear, W::BYTES, true);
        advance::<W>(p, op, gpr::EDI);
    }
    Outputs compares false, ports, |p, op, W| {
        let port = p.registers.gpr[2] as u16;
        p.may_use_port(port, W::BYTES)?;
        let value = source::<W>(p, op)?;
        p.write_port(port, W::BYTES, value);
        advance::<W>(p, op, gpr::ESI);
    }
}

/// A string instruction.
pub(in crate::x86) fn string<E: Element, W: Width>(p: &mut Processor, op: &Op) -> Done {
    if op.extra == repeat::ONCE {
        return E::run::<W>(p, op);
    }
    let mask = mask(op);
    let clocks = E::clocks(p.kind);
    loop {
        let ecx = p.registers.gpr[1];
        if ecx & mask == 0 {
            return Ok(());
        }
        E::run::<W>(p, op)?;
        p.time += clocks;
        p.registers.gpr[1] = ecx & !mask | ecx.wrapping_sub(1) & mask;
        if E::COMPARES && p.registers.flags.zero() != (op.extra == repeat::EQUAL) {
            return Ok(());
        }
        if p.slots() >= p.running.deadline && p.registers.gpr[1] & mask != 0 {
            p.repeating = Some(Repeating::of(op));
            return Err(RESTART);
        }
    }
}
