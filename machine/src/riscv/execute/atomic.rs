//! The A extension: reservations, and what reads and writes at once (RISC-V Unprivileged ISA, chapter 8).

use super::Done;
use crate::account::Plain;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

fn word(value: u64) -> u64 {
    i64::from(value as i32).cast_unsigned()
}

macro_rules! operations {
    ($($word:ident $double:ident |$a:ident, $b:ident| $value:expr;)*) => {$(
        pub fn $word(p: &mut Processor, op: &Op) -> Done {
            let b = word(p.x(op.rs2));
            let old = p.modify::<4>(p.x(op.rs1), |a| {
                let ($a, $b) = (word(a), b);
                $value
            })?;
            p.set(op.rd, word(old));
            Ok(())
        }

        pub fn $double(p: &mut Processor, op: &Op) -> Done {
            let $b = p.x(op.rs2);
            let old = p.modify::<8>(p.x(op.rs1), |$a| $value)?;
            p.set(op.rd, old);
            Ok(())
        }
    )*};
}

operations! {
    swap_w swap_d |_a, b| b;
    add_w add_d |a, b| a.wrapping_add(b);
    xor_w xor_d |a, b| a ^ b;
    and_w and_d |a, b| a & b;
    or_w or_d |a, b| a | b;
    min_w min_d |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned();
    max_w max_d |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned();
    minu_w minu_d |a, b| a.min(b);
    maxu_w maxu_d |a, b| a.max(b);
}

pub fn lr_w(p: &mut Processor, op: &Op) -> Done {
    let value = p.load_reserved::<4>(p.x(op.rs1))?;
    p.set(op.rd, word(value));
    Ok(())
}

pub fn lr_d(p: &mut Processor, op: &Op) -> Done {
    let value = p.load_reserved::<8>(p.x(op.rs1))?;
    p.set(op.rd, value);
    Ok(())
}

pub fn sc_w(p: &mut Processor, op: &Op) -> Done {
    let done = p.store_conditional::<4>(p.x(op.rs1), p.x(op.rs2))?;
    finish(p, op, done)
}

pub fn sc_d(p: &mut Processor, op: &Op) -> Done {
    let done = p.store_conditional::<8>(p.x(op.rs1), p.x(op.rs2))?;
    finish(p, op, done)
}

fn finish(p: &mut Processor, op: &Op, done: bool) -> Done {
    if !done {
        p.account.add_plain(Plain::ReservationFailed, 1);
    }
    p.set(op.rd, u64::from(!done));
    Ok(())
}
