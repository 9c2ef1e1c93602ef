//! The A extension: reservations, and what reads and writes at once (RISC-V Unprivileged ISA, chapter 8).

use super::{Done, Row, table, word};
use crate::account::Plain;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

/// Each instruction of a word, whose double word has bit 12 besides.
macro_rules! operations {
    ($($name:ident $word_bits:literal $bits:literal |$a:ident, $b:ident| $value:expr;)*) => {
        table! {
            $($name $word_bits ATOMIC Atomic |p, op| {
                let $b = word(p.x(op.rs2));
                let old = p.modify::<4>(p.x(op.rs1), |a| {
                    let $a = word(a);
                    $value
                })?;
                p.set(op.rd, word(old));
                Ok(())
            };
            $name $bits ATOMIC Atomic |p, op| {
                let $b = p.x(op.rs2);
                let old = p.modify::<8>(p.x(op.rs1), |$a| $value)?;
                p.set(op.rd, old);
                Ok(())
            };)*
            lr_w 0x1000_202f RESERVE Atomic |p, op| load_reserved::<4>(p, op);
            lr_d 0x1000_302f RESERVE Atomic |p, op| load_reserved::<8>(p, op);
            sc_w 0x1800_202f ATOMIC Atomic |p, op| store_conditional::<4>(p, op);
            sc_d 0x1800_302f ATOMIC Atomic |p, op| store_conditional::<8>(p, op);
        }
    };
}

pub const ALL: &[Row] = operations! {
    amoadd 0x0000_202f 0x0000_302f |a, b| a.wrapping_add(b);
    amoswap 0x0800_202f 0x0800_302f |_a, b| b;
    amoxor 0x2000_202f 0x2000_302f |a, b| a ^ b;
    amoor 0x4000_202f 0x4000_302f |a, b| a | b;
    amoand 0x6000_202f 0x6000_302f |a, b| a & b;
    amomin 0x8000_202f 0x8000_302f |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned();
    amomax 0xa000_202f 0xa000_302f |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned();
    amominu 0xc000_202f 0xc000_302f |a, b| a.min(b);
    amomaxu 0xe000_202f 0xe000_302f |a, b| a.max(b);
};

fn load_reserved<const BYTES: u64>(p: &mut Processor, op: &Op) -> Done {
    let value = p.load_reserved::<BYTES>(p.x(op.rs1))?;
    p.set(op.rd, if BYTES == 4 { word(value) } else { value });
    Ok(())
}

fn store_conditional<const BYTES: u64>(p: &mut Processor, op: &Op) -> Done {
    let done = p.store_conditional::<BYTES>(p.x(op.rs1), p.x(op.rs2))?;
    if !done {
        p.account.add_plain(Plain::ReservationFailed, 1);
    }
    p.set(op.rd, u64::from(!done));
    Ok(())
}
