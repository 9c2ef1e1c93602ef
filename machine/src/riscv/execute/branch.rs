//! Branches and jumps. With the C extension every target is aligned.

use super::Done;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;

macro_rules! branches {
    ($($name:ident |$a:ident, $b:ident| $taken:expr;)*) => {$(
        pub fn $name(p: &mut Processor, op: &Op) -> Done {
            let ($a, $b) = (p.x(op.rs1), p.x(op.rs2));
            let taken = $taken;
            if taken {
                p.next = p.pc.wrapping_add_signed(op.immediate.into());
            }
            p.branched(taken);
            Ok(())
        }
    )*};
}

branches! {
    beq |a, b| a == b;
    bne |a, b| a != b;
    blt |a, b| a.cast_signed() < b.cast_signed();
    bge |a, b| a.cast_signed() >= b.cast_signed();
    bltu |a, b| a < b;
    bgeu |a, b| a >= b;
}

/// Registers that hold a return address (RISC-V Unprivileged ISA, table 2.1).
fn links(register: u8) -> bool {
    register == 1 || register == 5
}

pub fn jal(p: &mut Processor, op: &Op) -> Done {
    let back = p.next;
    p.next = p.pc.wrapping_add_signed(op.immediate.into());
    p.set(op.rd, back);
    if links(op.rd) {
        p.predictor.call(back);
    }
    p.branches += 1;
    Ok(())
}

pub fn jalr(p: &mut Processor, op: &Op) -> Done {
    let back = p.next;
    p.next = p.x(op.rs1).wrapping_add_signed(op.immediate.into()) & !1;
    p.set(op.rd, back);
    p.jumped(
        links(op.rs1) && op.rs1 != op.rd,
        links(op.rd).then_some(back),
    );
    Ok(())
}
