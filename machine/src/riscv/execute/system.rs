//! CSR instructions, traps on purpose, returns, fences (RISC-V Unprivileged ISA, chapters 3 and 9; Privileged
//! Architecture, 3.3 and 4.2).

use super::{Done, illegal};
use crate::riscv::config::Extension;
use crate::riscv::csr::{mstatus, privilege};
use crate::riscv::op::Op;
use crate::riscv::processor::{NOWHERE, Processor};
use crate::riscv::trap::cause;

/// The CSR's number; what is written or which bits; and whether anything is written.
fn operands(p: &Processor, op: &Op) -> (u16, u64, bool) {
    let fields = op.immediate.cast_unsigned();
    let field = fields >> 13 & 31;
    let number = fields >> 12 & 1 != 0;
    let value = if number { field.into() } else { p.x(op.rs1) };
    ((fields & 0xfff) as u16, value, field != 0)
}

fn change(p: &mut Processor, op: &Op, of: impl FnOnce(u64, u64) -> u64, always: bool) -> Done {
    let (number, value, written) = operands(p, op);
    let written = written || always;
    if written && number >> 10 == 3 {
        return illegal(p, op);
    }
    let Some(old) = p.read_csr(number) else {
        return illegal(p, op);
    };
    if written {
        let new = of(p.csr_bits(number, old), value);
        if !p.write_csr(number, new) {
            return illegal(p, op);
        }
    }
    p.set(op.rd, old);
    p.advance(p.config.clocks.csr);
    Ok(())
}

pub fn csrrw(p: &mut Processor, op: &Op) -> Done {
    change(p, op, |_, value| value, true)
}

pub fn csrrs(p: &mut Processor, op: &Op) -> Done {
    change(p, op, |old, value| old | value, false)
}

pub fn csrrc(p: &mut Processor, op: &Op) -> Done {
    change(p, op, |old, value| old & !value, false)
}

pub fn ecall(p: &mut Processor, _: &Op) -> Done {
    p.raise(cause::CALL + p.privilege, 0)
}

pub fn ebreak(p: &mut Processor, _: &Op) -> Done {
    p.raise(cause::BREAKPOINT, p.pc)
}

pub fn mret(p: &mut Processor, op: &Op) -> Done {
    if p.privilege < privilege::MACHINE {
        return illegal(p, op);
    }
    p.return_from_machine();
    Ok(())
}

pub fn sret(p: &mut Processor, op: &Op) -> Done {
    if p.privilege < privilege::SUPERVISOR || p.is_trapped(mstatus::TSR) {
        return illegal(p, op);
    }
    p.return_from_supervisor();
    Ok(())
}

/// In user mode it is illegal, as if its time were up at once; so it is in supervisor mode with TW.
pub fn wfi(p: &mut Processor, op: &Op) -> Done {
    if p.privilege == privilege::USER || p.is_trapped(mstatus::TW) {
        return illegal(p, op);
    }
    p.wait();
    Ok(())
}

pub fn sfence_vma(p: &mut Processor, op: &Op) -> Done {
    if p.privilege < privilege::SUPERVISOR || p.is_trapped(mstatus::TVM) {
        return illegal(p, op);
    }
    let (va, asid) = reach(p, op);
    p.fence_translations(va, asid);
    Ok(())
}

/// The address and the address space that a fence names (Privileged Architecture, 4.2.1).
fn reach(p: &Processor, op: &Op) -> (Option<u64>, Option<u16>) {
    let va = (op.rs1 != 0).then(|| p.x(op.rs1));
    // Bits of the number that satp does not have are ignored.
    let bits = (1_u32 << p.config.tlb.asid_bits) - 1;
    (
        va,
        (op.rs2 != 0).then(|| (p.x(op.rs2) as u32 & bits) as u16),
    )
}

/// Removes what sfence.vma would; what waits for this is sfence.inval.ir.
pub fn sinval_vma(p: &mut Processor, op: &Op) -> Done {
    if p.is_trapped(mstatus::TVM) {
        return illegal(p, op);
    }
    ordered(p, op, 0)?;
    let (va, asid) = reach(p, op);
    p.drop_translations(va, asid);
    Ok(())
}

/// Orders earlier stores before later sinval.vma: nothing to do.
pub fn sfence_w_inval(p: &mut Processor, op: &Op) -> Done {
    ordered(p, op, 0)
}

/// Orders earlier sinval.vma before later accesses: the pipeline is emptied.
pub fn sfence_inval_ir(p: &mut Processor, op: &Op) -> Done {
    let took = p.config.clocks.fence_page;
    ordered(p, op, took)
}

fn ordered(p: &mut Processor, op: &Op, took: u32) -> Done {
    if p.privilege < privilege::SUPERVISOR || !p.config.core.has(Extension::Svinval) {
        return illegal(p, op);
    }
    p.advance(took);
    Ok(())
}

/// The I-cache forgets all; decoded code was dropped when it was written.
pub fn fence_i(p: &mut Processor, _: &Op) -> Done {
    p.memory.instruction.invalidate_all();
    p.advance(p.config.clocks.fence_i);
    p.fetched = NOWHERE;
    Ok(())
}
