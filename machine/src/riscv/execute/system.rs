//! CSR instructions, traps on purpose, returns, fences (RISC-V Unprivileged ISA, chapters 3 and 9; Privileged
//! Architecture, 3.3 and 4.2).

use super::{Done, Row, illegal, table};
use crate::riscv::config::Extension;
use crate::riscv::csr::{mstatus, privilege};
use crate::riscv::op::Op;
use crate::riscv::processor::{NOWHERE, Processor};
use crate::riscv::trap::cause;

pub const ALL: &[Row] = table! {
    // Accesses are done in the order of the program: there is nothing to wait for.
    fence 0x000f FENCE Integer |_p, _op| Ok(());
    fence_i 0x100f FENCE Fence |p, _op| fence_i(p);
    csrrw 0x1073 CSR System |p, op| change(p, op, |_, value| value, true);
    csrrs 0x2073 CSR System |p, op| change(p, op, |old, value| old | value, false);
    csrrc 0x3073 CSR System |p, op| change(p, op, |old, value| old & !value, false);
    csrrwi 0x5073 CSRI System |p, op| change(p, op, |_, value| value, true);
    csrrsi 0x6073 CSRI System |p, op| change(p, op, |old, value| old | value, false);
    csrrci 0x7073 CSRI System |p, op| change(p, op, |old, value| old & !value, false);
    ecall 0x0000_0073 FIXED System |p, _op| p.raise(cause::CALL + p.privilege, 0);
    ebreak 0x0010_0073 FIXED System |p, _op| p.raise(cause::BREAKPOINT, p.pc);
    sret 0x1020_0073 FIXED System |p, op| {
        allowed(p, op, privilege::SUPERVISOR, mstatus::TSR)?;
        p.return_from(privilege::SUPERVISOR);
        Ok(())
    };
    mret 0x3020_0073 FIXED System |p, op| {
        allowed(p, op, privilege::MACHINE, 0)?;
        p.return_from(privilege::MACHINE);
        Ok(())
    };
    wfi 0x1050_0073 FIXED System |p, op| {
        // In user mode it is illegal, as if its time were up at once; so it is in supervisor mode with TW.
        allowed(p, op, privilege::SUPERVISOR, mstatus::TW)?;
        (p.waiting, p.running.deadline) = (true, 0);
        Ok(())
    };
    sfence_vma 0x1200_0073 REACH Fence |p, op| {
        allowed(p, op, privilege::SUPERVISOR, mstatus::TVM)?;
        let (va, asid) = reach(p, op);
        p.fence_translations(va, asid);
        Ok(())
    };
};

/// Svinval: fences in parts.
pub const PARTS: &[Row] = table! {
    Some(Extension::Svinval);
    sinval_vma 0x1600_0073 REACH Fence |p, op| {
        // Removes what sfence.vma would; what waits for this is sfence.inval.ir.
        allowed(p, op, privilege::SUPERVISOR, mstatus::TVM)?;
        let (va, asid) = reach(p, op);
        p.drop_translations(va, asid);
        Ok(())
    };
    // Orders earlier stores before later sinval.vma: nothing to do.
    sfence_w_inval 0x1800_0073 FIXED Fence |p, op| allowed(p, op, privilege::SUPERVISOR, 0);
    // Orders earlier sinval.vma before later accesses: the pipeline is emptied.
    sfence_inval_ir 0x1810_0073 FIXED Fence |p, op| {
        allowed(p, op, privilege::SUPERVISOR, 0)?;
        p.advance(p.config.clocks.fence_page);
        Ok(())
    };
};

/// Reads a CSR and writes what `of` makes of it and of the operand, unless that is no register, or zero.
fn change(p: &mut Processor, op: &Op, of: impl FnOnce(u64, u64) -> u64, always: bool) -> Done {
    let fields = op.immediate.cast_unsigned();
    let (number, field) = ((fields & 0xfff) as u16, fields >> 13 & 31);
    let is_number = fields >> 12 & 1 != 0;
    let value = if is_number { field.into() } else { p.x(op.rs1) };
    let written = field != 0 || always;
    if written && number >> 10 == 3 {
        return illegal(p, op);
    }
    let Some(old) = p.read_csr(number) else {
        return illegal(p, op);
    };
    if written {
        let new = of(p.csr_bits(number, old), value);
        p.write_csr(number, new);
    }
    p.set(op.rd, old);
    p.advance(p.config.clocks.csr);
    Ok(())
}

/// The address and the address space that a fence names (Privileged Architecture, 4.2.1).
fn reach(p: &Processor, op: &Op) -> (Option<u64>, Option<u16>) {
    // Bits of the number that satp does not have are ignored.
    let bits = (1_u32 << p.config.tlb.asid_bits) - 1;
    let asid = (p.x(op.rs2) as u32 & bits) as u16;
    (
        (op.rs1 != 0).then(|| p.x(op.rs1)),
        (op.rs2 != 0).then_some(asid),
    )
}

/// An instruction for this mode and those above it, which supervisor mode does not have while `trapped` is set in
/// mstatus.
fn allowed(p: &mut Processor, op: &Op, mode: u8, trapped: u64) -> Done {
    if p.privilege < mode || p.is_trapped(trapped) {
        return illegal(p, op);
    }
    Ok(())
}

/// The I-cache forgets all; decoded code was dropped when it was written.
fn fence_i(p: &mut Processor) -> Done {
    p.memory.instruction.invalidate_all();
    p.advance(p.config.clocks.fence_i);
    p.fetched = NOWHERE;
    Ok(())
}
