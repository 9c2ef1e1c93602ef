//! Loads and stores.

use super::Done;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

fn address(p: &Processor, op: &Op) -> u64 {
    p.x(op.rs1).wrapping_add_signed(op.immediate.into())
}

macro_rules! loads {
    ($($name:ident $bytes:literal |$value:ident| $extended:expr;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            let $value = p.load::<$bytes>(address(p, op))?;
            p.set(op.rd, $extended);
            Ok(())
        }
    )*};
}

loads! {
    lb 1 |value| i64::from(value as i8).cast_unsigned();
    lh 2 |value| i64::from(value as i16).cast_unsigned();
    lw 4 |value| i64::from(value as i32).cast_unsigned();
    ld 8 |value| value;
    lbu 1 |value| value;
    lhu 2 |value| value;
    lwu 4 |value| value;
}

macro_rules! stores {
    ($($name:ident $bytes:literal;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            p.store::<$bytes>(address(p, op), p.x(op.rs2))
        }
    )*};
}

stores! {
    sb 1;
    sh 2;
    sw 4;
    sd 8;
}

pub fn flw(p: &mut Processor, op: &Op) -> Done {
    p.float_on(op)?;
    let value = p.load::<4>(address(p, op))?;
    p.set_float(op.rd, value | 0xffff_ffff << 32);
    Ok(())
}

pub fn fld(p: &mut Processor, op: &Op) -> Done {
    p.float_on(op)?;
    let value = p.load::<8>(address(p, op))?;
    p.set_float(op.rd, value);
    Ok(())
}

pub fn fsw(p: &mut Processor, op: &Op) -> Done {
    p.float_on(op)?;
    p.store::<4>(address(p, op), p.x(op.rs2))
}

pub fn fsd(p: &mut Processor, op: &Op) -> Done {
    p.float_on(op)?;
    p.store::<8>(address(p, op), p.x(op.rs2))
}
