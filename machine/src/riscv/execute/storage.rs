//! Loads and stores.

use super::{Row, table, word};
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

fn address(p: &Processor, op: &Op) -> u64 {
    p.x(op.rs1).wrapping_add_signed(op.immediate.into())
}

macro_rules! loads {
    (integers { $($name:ident $bits:literal $bytes:literal |$value:ident| $extended:expr;)* }
     floats { $($float:ident $float_bits:literal $float_bytes:literal $above:literal;)* }) => {
        table! {
            $($name $bits I Load |p, op| {
                let $value = p.load::<$bytes>(address(p, op))?;
                p.set(op.rd, $extended);
                Ok(())
            };)*
            $($float $float_bits LOADF Load |p, op| {
                p.float_on(op)?;
                let value = p.load::<$float_bytes>(address(p, op))?;
                p.set_float(op.rd, value | $above);
                Ok(())
            };)*
        }
    };
}

pub const LOADS: &[Row] = loads! {
    integers {
        lb 0x0003 1 |value| i64::from(value as i8).cast_unsigned();
        lh 0x1003 2 |value| i64::from(value as i16).cast_unsigned();
        lw 0x2003 4 |value| word(value);
        ld 0x3003 8 |value| value;
        lbu 0x4003 1 |value| value;
        lhu 0x5003 2 |value| value;
        lwu 0x6003 4 |value| value;
    }
    floats {
        flw 0x2007 4 0xffff_ffff_0000_0000;
        fld 0x3007 8 0;
    }
};

macro_rules! stores {
    (integers { $($name:ident $bits:literal $bytes:literal;)* }
     floats { $($float:ident $float_bits:literal $float_bytes:literal;)* }) => {
        table! {
            $($name $bits S Store |p, op| p.store::<$bytes>(address(p, op), p.x(op.rs2));)*
            $($float $float_bits STOREF Store |p, op| {
                p.float_on(op)?;
                p.store::<$float_bytes>(address(p, op), p.x(op.rs2))
            };)*
        }
    };
}

pub const STORES: &[Row] = stores! {
    integers {
        sb 0x0023 1;
        sh 0x1023 2;
        sw 0x2023 4;
        sd 0x3023 8;
    }
    floats {
        fsw 0x2027 4;
        fsd 0x3027 8;
    }
};
