//! Templates of instructions for the compiler: the same semantics as in [`super::integer`], [`super::rotate`] and
//! [`super::load_store`], for cores with 32 bits. An instruction without a template is run by the interpreter's
//! function.

#![allow(
    clippy::useless_conversion,
    reason = "the assembler's macro converts every operand"
)]

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::branch;
use super::instruction::{Instruction, Opcode, Operands, mask};
use super::registers::{Register, msr};
use crate::powerpc::compiler::{A, Address, Binary, C, D, Emitter, Right, register};

/// What a template needs beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// Nothing.
    Whole,
    /// The label that it was given, where the instruction runs alone.
    MayBeSlow,
    /// The same, with the address of its access in `ecx`. It goes on at `reached`, with the host's address of the
    /// `bytes` there in `rcx`.
    Access {
        bytes: u8,
        store: bool,
        reached: DynamicLabel,
    },
    /// There is none.
    None,
}

/// Where a branch goes.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// To this address; `near`: the decoded branch stays in its line.
    Address {
        ea: u32,
        near: bool,
    },
    Link,
    Count,
}

/// What a branch does.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// It sets LR.
    pub link: bool,
    /// It decrements CTR; then it is taken if CTR is 0, or if it is not.
    pub count: Option<bool>,
    /// The condition bit that it tests, and the value that it must have.
    pub bit: Option<(u8, bool)>,
    pub goal: Goal,
    /// It is predicted by the history, or statically.
    pub conditional: bool,
    pub statically_taken: bool,
}

/// What `i` does at `pc` in a line of `line` bytes, if it is a branch.
pub fn branch(i: &Instruction, pc: u32, line: u32) -> Option<Branch> {
    let o = &i.operands;
    let goal = match i.opcode {
        Opcode::B | Opcode::Bc => {
            let ea = branch::target(o, pc);
            let same = ea & !(line - 1) == pc & !(line - 1);
            let stays = !o.absolute() && same;
            Goal::Address {
                ea,
                near: stays && (i.opcode == Opcode::Bc || !o.link()),
            }
        }
        Opcode::Bclr => Goal::Link,
        Opcode::Bcctr => Goal::Count,
        _ => return None,
    };
    let plain = Branch {
        link: o.link(),
        count: None,
        bit: None,
        goal,
        conditional: false,
        statically_taken: true,
    };
    if i.opcode == Opcode::B || i.opcode != Opcode::Bc && branch::always(o) {
        return Some(plain);
    }
    Some(Branch {
        count: branch::counts(o),
        bit: branch::tests_condition(o).then(|| (branch::condition_bit(o), branch::wanted(o))),
        conditional: true,
        statically_taken: if i.opcode == Opcode::Bc {
            branch::static_prediction(o)
        } else {
            branch::y_bit(o)
        },
        ..plain
    })
}

/// True if there is a template for the instruction.
#[must_use]
pub fn has(i: &Instruction) -> bool {
    let mut emitter = Emitter::new(0);
    let label = emitter.label();
    emit(&mut emitter, i, label) != Template::None
}

/// The bytes of an access, if `opcode` is one that has a template.
fn access(opcode: Opcode) -> Option<Access> {
    use Opcode::*;
    let (bytes, store, update, indexed, signed) = match opcode {
        Lbz => (1, false, false, false, false),
        Lbzu => (1, false, true, false, false),
        Lbzx => (1, false, false, true, false),
        Lbzux => (1, false, true, true, false),
        Lhz => (2, false, false, false, false),
        Lhzu => (2, false, true, false, false),
        Lhzx => (2, false, false, true, false),
        Lhzux => (2, false, true, true, false),
        Lha => (2, false, false, false, true),
        Lhau => (2, false, true, false, true),
        Lhax => (2, false, false, true, true),
        Lhaux => (2, false, true, true, true),
        Lwz => (4, false, false, false, false),
        Lwzu => (4, false, true, false, false),
        Lwzx => (4, false, false, true, false),
        Lwzux => (4, false, true, true, false),
        Stb => (1, true, false, false, false),
        Stbu => (1, true, true, false, false),
        Stbx => (1, true, false, true, false),
        Stbux => (1, true, true, true, false),
        Sth => (2, true, false, false, false),
        Sthu => (2, true, true, false, false),
        Sthx => (2, true, false, true, false),
        Sthux => (2, true, true, true, false),
        Stw => (4, true, false, false, false),
        Stwu => (4, true, true, false, false),
        Stwx => (4, true, false, true, false),
        Stwux => (4, true, true, true, false),
        _ => return None,
    };
    Some(Access {
        bytes,
        store,
        update,
        indexed,
        signed,
    })
}

struct Access {
    bytes: u32,
    store: bool,
    update: bool,
    indexed: bool,
    signed: bool,
}

const LR: i32 = register!(lr);
const CTR: i32 = register!(ctr);

/// Emits the instruction, if there is a template for it. `slow`: where it runs alone.
pub fn emit(e: &mut Emitter, i: &Instruction, slow: DynamicLabel) -> Template {
    use Opcode::*;
    let o = &i.operands;
    if i.overflow {
        return Template::None;
    }
    if let Some(access) = access(i.opcode) {
        return load_or_store(e, &access, o, slow);
    }
    if matches!(
        i.opcode,
        Lfd | Lfdu | Lfdx | Lfdux | Stfd | Stfdu | Stfdx | Stfdux
    ) {
        load_or_store_float(e, i, slow);
        return Template::MayBeSlow;
    }
    match i.opcode {
        Addi | Addis if o.a == Register::ZERO => e.put_number(o.t, o.imm),
        Addi | Addis => {
            let (from, to) = (e.held(o.a, A), Emitter::target(o.t, A));
            if from == to {
                e.with_number(Binary::Add, to, o.imm);
            } else {
                dynasm!(e.ops; .arch x64; lea Rd(to), [Rq(from) + o.imm.cast_signed()]);
            }
            e.put(o.t, to);
        }
        Add => {
            let (left, right) = (e.held(o.a, A), e.held(o.b, C));
            let to = Emitter::target(o.t, A);
            dynasm!(e.ops; .arch x64; lea Rd(to), [Rq(left) + Rq(right)]);
            e.put(o.t, to);
            record(e, i, to);
        }
        Subf => {
            e.three(Binary::Sub, o.t, o.b, o.a);
            record_register(e, i, o.t);
        }
        Mullw => {
            e.three(Binary::Multiply, o.t, o.a, o.b);
            record_register(e, i, o.t);
        }
        Mulli => {
            let (from, to) = (e.held(o.a, A), Emitter::target(o.t, A));
            dynasm!(e.ops; .arch x64; imul Rd(to), Rd(from), o.imm.cast_signed());
            e.put(o.t, to);
        }
        Neg => {
            e.get(A, o.a);
            dynasm!(e.ops; .arch x64; neg eax);
            e.put(o.t, A);
            record(e, i, A);
        }
        Mulhw | Mulhwu => {
            e.get(A, o.a);
            let right = e.held(o.b, C);
            if i.opcode == Mulhw {
                dynasm!(e.ops; .arch x64; imul Rd(right));
            } else {
                dynasm!(e.ops; .arch x64; mul Rd(right));
            }
            e.put(o.t, D);
            record(e, i, D);
        }
        Divw | Divwu => {
            e.get(A, o.a);
            e.get(C, o.b);
            dynasm!(e.ops; .arch x64; test ecx, ecx; jz >done);
            if i.opcode == Divw {
                // The smallest number divided by -1 remains, as its negation does.
                dynasm!(e.ops; .arch x64
                    ; cmp ecx, -1
                    ; je >negate
                    ; cdq
                    ; idiv ecx
                    ; jmp >done
                    ; negate:
                    ; neg eax
                );
            } else {
                dynasm!(e.ops; .arch x64; xor edx, edx; div ecx);
            }
            dynasm!(e.ops; .arch x64; done:);
            e.put(o.t, A);
            record(e, i, A);
        }
        Addic | AddicRecord => {
            e.get(A, o.a);
            e.with_number(Binary::Add, A, o.imm);
            e.set_carry(false);
            e.put(o.t, A);
            record(e, i, A);
        }
        Addc => {
            e.get(A, o.a);
            e.binary(Binary::Add, A, o.b);
            e.set_carry(false);
            e.put(o.t, A);
            record(e, i, A);
        }
        Subfic => {
            dynasm!(e.ops; .arch x64; mov eax, DWORD o.imm.cast_signed());
            e.binary(Binary::Sub, A, o.a);
            e.set_carry(true);
            e.put(o.t, A);
        }
        Subfc => {
            e.get(A, o.b);
            e.binary(Binary::Sub, A, o.a);
            e.set_carry(true);
            e.put(o.t, A);
            record(e, i, A);
        }
        Adde | Subfe | Addze | Addme | Subfze | Subfme => {
            e.get(A, o.a);
            if matches!(i.opcode, Subfe | Subfze | Subfme) {
                dynasm!(e.ops; .arch x64; not eax);
            }
            e.carry();
            match i.opcode {
                Adde | Subfe => e.binary(Binary::Adc, A, o.b),
                Addze | Subfze => e.with_number(Binary::Adc, A, 0),
                _ => e.with_number(Binary::Adc, A, u32::MAX),
            }
            e.set_carry(false);
            e.put(o.t, A);
            record(e, i, A);
        }
        Cmpi | Cmpli => {
            let left = e.held(o.a, A);
            e.compare(o.crf_d(), i.opcode == Cmpi, left, Right::Number(o.imm));
        }
        Cmp | Cmpl => {
            let (left, right) = (e.held(o.a, A), e.held(o.b, C));
            e.compare(o.crf_d(), i.opcode == Cmp, left, Right::Host(right));
        }
        AndiRecord | AndisRecord | Ori | Oris | Xori | Xoris => {
            let op = match i.opcode {
                AndiRecord | AndisRecord => Binary::And,
                Ori | Oris => Binary::Or,
                _ => Binary::Xor,
            };
            let to = Emitter::target(o.a, A);
            e.get(to, o.t);
            if o.imm != 0 || op == Binary::And {
                e.with_number(op, to, o.imm);
            }
            e.put(o.a, to);
            record(e, i, to);
        }
        Or if o.t == o.b => {
            let to = Emitter::target(o.a, A);
            e.get(to, o.t);
            e.put(o.a, to);
            record(e, i, to);
        }
        And | Or | Xor => {
            let op = match i.opcode {
                And => Binary::And,
                Or => Binary::Or,
                _ => Binary::Xor,
            };
            e.three(op, o.a, o.t, o.b);
            record_register(e, i, o.a);
        }
        Nand | Nor | Eqv => {
            let op = match i.opcode {
                Nand => Binary::And,
                Nor => Binary::Or,
                _ => Binary::Xor,
            };
            e.get(A, o.t);
            e.binary(op, A, o.b);
            dynasm!(e.ops; .arch x64; not eax);
            e.put(o.a, A);
            record(e, i, A);
        }
        Andc | Orc => {
            let op = if i.opcode == Andc {
                Binary::And
            } else {
                Binary::Or
            };
            e.get(A, o.b);
            dynasm!(e.ops; .arch x64; not eax);
            e.binary(op, A, o.t);
            e.put(o.a, A);
            record(e, i, A);
        }
        Extsb | Extsh => {
            e.get(A, o.t);
            if i.opcode == Extsb {
                dynasm!(e.ops; .arch x64; movsx eax, al);
            } else {
                dynasm!(e.ops; .arch x64; movsx eax, ax);
            }
            e.put(o.a, A);
            record(e, i, A);
        }
        Cntlzw => {
            e.get(C, o.t);
            // The place of the highest bit, or -1.
            dynasm!(e.ops; .arch x64
                ; mov edx, -1
                ; bsr eax, ecx
                ; cmovz eax, edx
                ; mov edx, 31
                ; sub edx, eax
            );
            e.put(o.a, D);
            record(e, i, D);
        }
        Rlwinm => {
            let by = u32::from(o.b.number());
            let to = Emitter::target(o.a, A);
            e.get(to, o.t);
            rotate(e, to, by, o.imm);
            e.put(o.a, to);
            record(e, i, to);
        }
        Rlwimi => {
            let by = u32::from(o.b.number());
            e.get(A, o.t);
            rotate(e, A, by, o.imm);
            e.get(C, o.a);
            e.with_number(Binary::And, C, !o.imm);
            dynasm!(e.ops; .arch x64; or eax, ecx);
            e.put(o.a, A);
            record(e, i, A);
        }
        Rlwnm => {
            e.get(A, o.t);
            e.get(C, o.b);
            dynasm!(e.ops; .arch x64; rol eax, cl);
            if o.imm != u32::MAX {
                e.with_number(Binary::And, A, o.imm);
            }
            e.put(o.a, A);
            record(e, i, A);
        }
        Slw | Srw => {
            e.get(A, o.t);
            e.get(C, o.b);
            // The upper half is shifted, too, and may be in use where the register has just been stored.
            dynasm!(e.ops; .arch x64; mov eax, eax);
            if i.opcode == Slw {
                dynasm!(e.ops; .arch x64; shl rax, cl);
            } else {
                dynasm!(e.ops; .arch x64; shr rax, cl);
            }
            e.put(o.a, A);
            record(e, i, A);
        }
        Srawi => {
            let by = o.b.number();
            e.get(A, o.t);
            if by == 0 {
                dynasm!(e.ops; .arch x64; test eax, eax);
                e.set_carry(false);
            } else {
                let lost = mask(32 - u32::from(by), 31).cast_signed();
                dynasm!(e.ops; .arch x64
                    ; mov ecx, eax
                    ; sar ecx, 31
                    ; and ecx, eax
                    ; sar eax, by as i8
                    ; and ecx, lost
                    ; neg ecx
                );
                e.set_carry(false);
            }
            e.put(o.a, A);
            record(e, i, A);
        }
        Mflr => from_memory(e, o.t, LR),
        Mfctr => from_memory(e, o.t, CTR),
        Mtlr => to_memory(e, o.t, LR),
        Mtctr => to_memory(e, o.t, CTR),
        _ => return Template::None,
    }
    Template::Whole
}

/// Condition field 0, if the instruction sets it, from its result.
fn record(e: &mut Emitter, i: &Instruction, host: u8) {
    if i.record {
        e.record(host);
    }
}

fn record_register(e: &mut Emitter, i: &Instruction, result: Register) {
    if i.record {
        let host = e.held(result, A);
        e.record(host);
    }
}

/// Rotates to the left, and keeps the bits of the mask.
fn rotate(e: &mut Emitter, host: u8, by: u32, kept: u32) {
    let count = by as i8;
    if by != 0 && kept == u32::MAX << by {
        dynasm!(e.ops; .arch x64; shl Rd(host), count);
    } else if by != 0 && kept == u32::MAX >> (32 - by) {
        dynasm!(e.ops; .arch x64; shr Rd(host), 32 - count);
    } else {
        if by != 0 {
            dynasm!(e.ops; .arch x64; rol Rd(host), count);
        }
        if kept != u32::MAX {
            e.with_number(Binary::And, host, kept);
        }
    }
}

fn from_memory(e: &mut Emitter, to: Register, at: i32) {
    let host = Emitter::target(to, A);
    dynasm!(e.ops; .arch x64; mov Rd(host), [rbx + at]);
    e.put(to, host);
}

fn to_memory(e: &mut Emitter, from: Register, at: i32) {
    let host = e.held(from, A);
    dynasm!(e.ops; .arch x64; mov [rbx + at], Rd(host));
}

fn load_or_store(e: &mut Emitter, access: &Access, o: &Operands, slow: DynamicLabel) -> Template {
    let added = if access.indexed {
        Address::Register(o.b)
    } else {
        Address::Number(o.imm)
    };
    e.address(o.a, added);
    e.host_address(access.bytes, access.store, slow);
    let reached = e.label();
    e.join(reached);
    let template = Template::Access {
        bytes: access.bytes as u8,
        store: access.store,
        reached,
    };
    if access.store {
        let from = e.held(o.t, A);
        match access.bytes {
            1 => dynasm!(e.ops; .arch x64; mov [rcx], Rb(from)),
            2 => {
                e.get(A, o.t);
                dynasm!(e.ops; .arch x64; rol ax, 8; mov [rcx], ax);
            }
            _ => e.store_word(from),
        }
        if access.update {
            e.address(o.a, added);
            e.put(o.a, C);
        }
        return template;
    }
    // The address is still needed where the base changes.
    let to = if access.update {
        A
    } else {
        Emitter::target(o.t, A)
    };
    match access.bytes {
        1 => dynasm!(e.ops; .arch x64; movzx Rd(to), BYTE [rcx]),
        2 => {
            dynasm!(e.ops; .arch x64; movzx eax, WORD [rcx]; rol ax, 8);
            if access.signed {
                dynasm!(e.ops; .arch x64; movsx Rd(to), ax);
            } else if to != A {
                dynasm!(e.ops; .arch x64; mov Rd(to), eax);
            }
        }
        _ => e.load_word(to),
    }
    if access.update {
        e.address(o.a, added);
        e.put(o.a, C);
    }
    e.put(o.t, to);
    template
}

/// A load or store of a floating-point register's 64 bits. Without MSR[FP] the instruction runs alone.
fn load_or_store_float(e: &mut Emitter, i: &Instruction, slow: DynamicLabel) {
    use Opcode::*;
    let o = &i.operands;
    let added = if matches!(i.opcode, Lfdx | Lfdux | Stfdx | Stfdux) {
        Address::Register(o.b)
    } else {
        Address::Number(o.imm)
    };
    let store = matches!(i.opcode, Stfd | Stfdu | Stfdx | Stfdux);
    let register = register!(fpr) + 8 * i32::from(o.t.number());
    dynasm!(e.ops; .arch x64; test DWORD [rbx + register!(msr)], msr::FP.cast_signed(); jz =>slow);
    e.address(o.a, added);
    e.host_address(8, store, slow);
    if store {
        dynasm!(e.ops; .arch x64; mov rax, [rbx + register]; bswap rax; mov [rcx], rax);
    } else {
        dynasm!(e.ops; .arch x64; mov rax, [rcx]; bswap rax; mov [rbx + register], rax);
    }
    if matches!(i.opcode, Lfdu | Lfdux | Stfdu | Stfdux) {
        e.address(o.a, added);
        e.put(o.a, C);
    }
}
