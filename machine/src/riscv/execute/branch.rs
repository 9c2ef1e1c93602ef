//! Branches and jumps. With the C extension every target is aligned.

use super::{Row, table};

macro_rules! branches {
    ($($name:ident $bits:literal |$a:ident, $b:ident| $taken:expr;)*) => {
        table! {$(
            $name $bits B Branch |p, op| {
                let ($a, $b) = (p.x(op.rs1), p.x(op.rs2));
                let taken = $taken;
                if taken {
                    p.next = p.pc.wrapping_add_signed(op.immediate.into());
                }
                p.branched(taken);
                Ok(())
            };
        )*}
    };
}

pub const CONDITIONAL: &[Row] = branches! {
    beq 0x0063 |a, b| a == b;
    bne 0x1063 |a, b| a != b;
    blt 0x4063 |a, b| a.cast_signed() < b.cast_signed();
    bge 0x5063 |a, b| a.cast_signed() >= b.cast_signed();
    bltu 0x6063 |a, b| a < b;
    bgeu 0x7063 |a, b| a >= b;
};

/// Registers that hold a return address (RISC-V Unprivileged ISA, table 2.1).
pub fn links(register: u8) -> bool {
    register == 1 || register == 5
}

pub const JUMPS: &[Row] = table! {
    jal 0x6f J Branch |p, op| {
        let back = p.next;
        p.next = p.pc.wrapping_add_signed(op.immediate.into());
        p.set(op.rd, back);
        if links(op.rd) {
            p.predictor.returns.call(back);
        }
        p.branches += 1;
        Ok(())
    };
    jalr 0x67 I Branch |p, op| {
        let back = p.next;
        p.next = p.x(op.rs1).wrapping_add_signed(op.immediate.into()) & !1;
        p.set(op.rd, back);
        p.jumped(links(op.rs1) && op.rs1 != op.rd, links(op.rd).then_some(back));
        Ok(())
    };
};
