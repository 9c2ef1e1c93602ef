//! Decoding (RISC-V Unprivileged ISA 20191213, chapter 24; Privileged Architecture 20211203).

use super::compressed::expand;
use super::execute::{Handler, atomic, branch, float, illegal, integer, storage, system};
use super::op::{Class, Op, register};

/// A field of an instruction.
fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// The op of an instruction of 2 or 4 bytes. What is no instruction becomes an op that raises the exception.
#[must_use]
pub fn decode(word: u32) -> Op {
    if word & 3 != 3 {
        let half = word as u16;
        let op = expand(half).and_then(|whole| decode_whole(whole, half.into(), 2));
        return op.unwrap_or_else(|| Op::new(illegal, half.into(), 2, Class::System));
    }
    decode_whole(word, word, 4).unwrap_or_else(|| Op::new(illegal, word, 4, Class::System))
}

/// The fields of an instruction of 4 bytes.
struct Fields {
    word: u32,
    rd: u8,
    rs1: u8,
    rs2: u8,
    funct3: u32,
    funct7: u32,
}

impl Fields {
    fn immediate_i(&self) -> i32 {
        self.word.cast_signed() >> 20
    }

    fn immediate_s(&self) -> i32 {
        self.word.cast_signed() >> 25 << 5 | field(self.word, 7, 5).cast_signed()
    }

    fn immediate_b(&self) -> i32 {
        let low = field(self.word, 8, 4) << 1 | field(self.word, 25, 6) << 5;
        let high = field(self.word, 7, 1) << 11;
        self.word.cast_signed() >> 31 << 12 | (low | high).cast_signed()
    }

    fn immediate_j(&self) -> i32 {
        let low = field(self.word, 21, 10) << 1 | field(self.word, 20, 1) << 11;
        let high = field(self.word, 12, 8) << 12;
        self.word.cast_signed() >> 31 << 20 | (low | high).cast_signed()
    }

    /// The number of f0 and what follows.
    fn float(number: u8) -> u8 {
        number + register::FLOAT
    }
}

/// `raw`: as it is in memory; `length`: bytes of that.
fn decode_whole(word: u32, raw: u32, length: u8) -> Option<Op> {
    let f = Fields {
        word,
        rd: field(word, 7, 5) as u8,
        rs1: field(word, 15, 5) as u8,
        rs2: field(word, 20, 5) as u8,
        funct3: field(word, 12, 3),
        funct7: field(word, 25, 7),
    };
    let make = |run: Handler, class| Op::new(run, raw, length, class);
    let rd = if f.rd == 0 { register::SINK } else { f.rd };
    let op = match field(word, 0, 7) {
        0x03 => Op {
            rd,
            rs1: f.rs1,
            immediate: f.immediate_i(),
            ..make(
                match f.funct3 {
                    0 => storage::lb,
                    1 => storage::lh,
                    2 => storage::lw,
                    3 => storage::ld,
                    4 => storage::lbu,
                    5 => storage::lhu,
                    6 => storage::lwu,
                    _ => return None,
                },
                Class::Load,
            )
        },
        0x07 => Op {
            rd: Fields::float(f.rd),
            rs1: f.rs1,
            immediate: f.immediate_i(),
            ..make(
                match f.funct3 {
                    2 => storage::flw,
                    3 => storage::fld,
                    _ => return None,
                },
                Class::Load,
            )
        },
        0x0f => match f.funct3 {
            0 => make(integer::fence, Class::Integer),
            1 => make(system::fence_i, Class::Fence),
            _ => return None,
        },
        0x13 => Op {
            rd,
            rs1: f.rs1,
            immediate: f.immediate_i(),
            ..make(immediate(&f)?, Class::Integer)
        },
        0x17 | 0x37 => Op {
            rd,
            immediate: (word & 0xffff_f000).cast_signed(),
            ..make(
                if word & 0x20 == 0 {
                    integer::auipc
                } else {
                    integer::lui
                },
                Class::Integer,
            )
        },
        0x1b => Op {
            rd,
            rs1: f.rs1,
            immediate: f.immediate_i(),
            ..make(
                match (f.funct3, f.funct7) {
                    (0, _) => integer::addiw,
                    (1, 0) => integer::slliw,
                    (5, 0) => integer::srliw,
                    (5, 0x20) => integer::sraiw,
                    _ => return None,
                },
                Class::Integer,
            )
        },
        0x23 => Op {
            rs1: f.rs1,
            rs2: f.rs2,
            immediate: f.immediate_s(),
            ..make(
                match f.funct3 {
                    0 => storage::sb,
                    1 => storage::sh,
                    2 => storage::sw,
                    3 => storage::sd,
                    _ => return None,
                },
                Class::Store,
            )
        },
        0x27 => Op {
            rs1: f.rs1,
            rs2: Fields::float(f.rs2),
            immediate: f.immediate_s(),
            ..make(
                match f.funct3 {
                    2 => storage::fsw,
                    3 => storage::fsd,
                    _ => return None,
                },
                Class::Store,
            )
        },
        0x2f => Op {
            rd,
            rs1: f.rs1,
            rs2: f.rs2,
            ..make(atomic(&f)?, Class::Atomic)
        },
        0x33 | 0x3b => {
            let (run, class) = registers(&f)?;
            Op {
                rd,
                rs1: f.rs1,
                rs2: f.rs2,
                rs3: match class {
                    Class::Divide | Class::DivideWord => register::DIVIDER,
                    _ => 0,
                },
                ..make(run, class)
            }
        }
        0x43 | 0x47 | 0x4b | 0x4f | 0x53 => return floating(&f, rd, raw, length),
        0x63 => Op {
            rs1: f.rs1,
            rs2: f.rs2,
            immediate: f.immediate_b(),
            ..make(
                match f.funct3 {
                    0 => branch::beq,
                    1 => branch::bne,
                    4 => branch::blt,
                    5 => branch::bge,
                    6 => branch::bltu,
                    7 => branch::bgeu,
                    _ => return None,
                },
                Class::Branch,
            )
        },
        0x67 if f.funct3 == 0 => Op {
            rd,
            rs1: f.rs1,
            immediate: f.immediate_i(),
            ..make(branch::jalr, Class::Branch)
        },
        0x6f => Op {
            rd,
            immediate: f.immediate_j(),
            ..make(branch::jal, Class::Branch)
        },
        0x73 => system(&f, rd, raw, length)?,
        _ => return None,
    };
    Some(op)
}

/// OP-IMM.
fn immediate(f: &Fields) -> Option<Handler> {
    Some(match (f.funct3, f.funct7 >> 1) {
        (0, _) => integer::addi,
        (1, 0) => integer::slli,
        (2, _) => integer::slti,
        (3, _) => integer::sltiu,
        (4, _) => integer::xori,
        (5, 0) => integer::srli,
        (5, 0x10) => integer::srai,
        (6, _) => integer::ori,
        (7, _) => integer::andi,
        _ => return None,
    })
}

/// OP and OP-32.
fn registers(f: &Fields) -> Option<(Handler, Class)> {
    let handler: Handler = match (f.word & 8 != 0, f.funct7, f.funct3) {
        (false, 0, 0) => integer::add,
        (false, 0, 1) => integer::sll,
        (false, 0, 2) => integer::slt,
        (false, 0, 3) => integer::sltu,
        (false, 0, 4) => integer::xor,
        (false, 0, 5) => integer::srl,
        (false, 0, 6) => integer::or,
        (false, 0, 7) => integer::and,
        (false, 0x20, 0) => integer::sub,
        (false, 0x20, 5) => integer::sra,
        (true, 0, 0) => integer::addw,
        (true, 0, 1) => integer::sllw,
        (true, 0, 5) => integer::srlw,
        (true, 0x20, 0) => integer::subw,
        (true, 0x20, 5) => integer::sraw,
        (wide, 1, _) => return multiply(wide, f.funct3),
        _ => return None,
    };
    Some((handler, Class::Integer))
}

/// The M extension.
fn multiply(word: bool, funct3: u32) -> Option<(Handler, Class)> {
    let handler: Handler = match (word, funct3) {
        (false, 0) => integer::mul,
        (false, 1) => integer::mulh,
        (false, 2) => integer::mulhsu,
        (false, 3) => integer::mulhu,
        (false, 4) => integer::div,
        (false, 5) => integer::divu,
        (false, 6) => integer::rem,
        (false, _) => integer::remu,
        (true, 0) => integer::mulw,
        (true, 4) => integer::divw,
        (true, 5) => integer::divuw,
        (true, 6) => integer::remw,
        (true, 7) => integer::remuw,
        (true, _) => return None,
    };
    let class = match (funct3 < 4, word) {
        (true, _) => Class::Multiply,
        (false, true) => Class::DivideWord,
        (false, false) => Class::Divide,
    };
    Some((handler, class))
}

/// The A extension.
fn atomic(f: &Fields) -> Option<Handler> {
    let handlers: [Handler; 2] = match f.funct7 >> 2 {
        0x02 if f.rs2 == 0 => [atomic::lr_w, atomic::lr_d],
        0x03 => [atomic::sc_w, atomic::sc_d],
        0x01 => [atomic::swap_w, atomic::swap_d],
        0x00 => [atomic::add_w, atomic::add_d],
        0x04 => [atomic::xor_w, atomic::xor_d],
        0x0c => [atomic::and_w, atomic::and_d],
        0x08 => [atomic::or_w, atomic::or_d],
        0x10 => [atomic::min_w, atomic::min_d],
        0x14 => [atomic::max_w, atomic::max_d],
        0x18 => [atomic::minu_w, atomic::minu_d],
        0x1c => [atomic::maxu_w, atomic::maxu_d],
        _ => return None,
    };
    match f.funct3 {
        2 => Some(handlers[0]),
        3 => Some(handlers[1]),
        _ => None,
    }
}

/// The F and D extensions, but for loads and stores.
fn floating(f: &Fields, rd: u8, raw: u32, length: u8) -> Option<Op> {
    let double = match f.funct7 & 3 {
        0 => false,
        1 => true,
        _ => return None,
    };
    let pick = |all: [Handler; 2]| all[usize::from(double)];
    let float = Op {
        rd: Fields::float(f.rd),
        rs1: Fields::float(f.rs1),
        rs2: Fields::float(f.rs2),
        // The rounding mode.
        immediate: f.funct3.cast_signed(),
        ..Op::new(illegal, raw, length, Class::Float)
    };
    // Rounding modes 5 and 6 are reserved.
    let rounds = !matches!(f.funct3, 5 | 6);
    let with = |all: [Handler; 2]| {
        rounds.then(|| Op {
            run: pick(all),
            ..float
        })
    };
    if field(f.word, 0, 7) != 0x53 {
        let run = match field(f.word, 2, 2) {
            0 => [float::fmadd_s, float::fmadd_d],
            1 => [float::fmsub_s, float::fmsub_d],
            2 => [float::fnmsub_s, float::fnmsub_d],
            _ => [float::fnmadd_s, float::fnmadd_d],
        };
        return with(run as [Handler; 2]).map(|op| Op {
            rs3: Fields::float((f.funct7 >> 2) as u8),
            ..op
        });
    }
    let slow = |op: Op| Op {
        class: if double {
            Class::FloatDivideDouble
        } else {
            Class::FloatDivideSingle
        },
        rs3: register::DIVIDER,
        ..op
    };
    let one = |op: Op| Op { rs2: 0, ..op };
    let unrounded = |run: Option<[Handler; 2]>| {
        run.map(|all| Op {
            run: pick(all),
            ..float
        })
    };
    match f.funct7 >> 2 {
        0x00 => with([float::fadd_s, float::fadd_d]),
        0x01 => with([float::fsub_s, float::fsub_d]),
        0x02 => with([float::fmul_s, float::fmul_d]),
        0x03 => with([float::fdiv_s, float::fdiv_d]).map(slow),
        0x0b if f.rs2 == 0 => with([float::fsqrt_s, float::fsqrt_d]).map(slow).map(one),
        0x04 => unrounded(match f.funct3 {
            0 => Some([float::fsgnj_s, float::fsgnj_d]),
            1 => Some([float::fsgnjn_s, float::fsgnjn_d]),
            2 => Some([float::fsgnjx_s, float::fsgnjx_d]),
            _ => None,
        }),
        0x05 => unrounded(match f.funct3 {
            0 => Some([float::fmin_s, float::fmin_d]),
            1 => Some([float::fmax_s, float::fmax_d]),
            _ => None,
        }),
        // Between the two formats.
        0x08 => match (f.rs2, double) {
            (1, false) | (0, true) => with([float::fcvt_s_d, float::fcvt_d_s]).map(one),
            _ => None,
        },
        0x14 => unrounded(match f.funct3 {
            0 => Some([float::fle_s, float::fle_d]),
            1 => Some([float::flt_s, float::flt_d]),
            2 => Some([float::feq_s, float::feq_d]),
            _ => None,
        })
        .map(|op| Op { rd, ..op }),
        0x18 => with(match f.rs2 {
            0 => [float::fcvt_w_s, float::fcvt_w_d],
            1 => [float::fcvt_wu_s, float::fcvt_wu_d],
            2 => [float::fcvt_l_s, float::fcvt_l_d],
            3 => [float::fcvt_lu_s, float::fcvt_lu_d],
            _ => return None,
        })
        .map(|op| one(Op { rd, ..op })),
        0x1a => with(match f.rs2 {
            0 => [float::fcvt_s_w, float::fcvt_d_w],
            1 => [float::fcvt_s_wu, float::fcvt_d_wu],
            2 => [float::fcvt_s_l, float::fcvt_d_l],
            3 => [float::fcvt_s_lu, float::fcvt_d_lu],
            _ => return None,
        })
        .map(|op| one(Op { rs1: f.rs1, ..op })),
        0x1c if f.rs2 == 0 => unrounded(match f.funct3 {
            0 => Some([float::fmv_x_w, float::fmv_x_d]),
            1 => Some([float::fclass_s, float::fclass_d]),
            _ => None,
        })
        .map(|op| one(Op { rd, ..op })),
        0x1e if f.rs2 == 0 && f.funct3 == 0 => {
            unrounded(Some([float::fmv_w_x, float::fmv_d_x])).map(|op| one(Op { rs1: f.rs1, ..op }))
        }
        _ => None,
    }
}

/// SYSTEM.
fn system(f: &Fields, rd: u8, raw: u32, length: u8) -> Option<Op> {
    let make = |run: Handler, class| Op::new(run, raw, length, class);
    if f.funct3 == 4 {
        return None;
    }
    if f.funct3 != 0 {
        let run: Handler = match f.funct3 & 3 {
            1 => system::csrrw,
            2 => system::csrrs,
            _ => system::csrrc,
        };
        // With bit 2 of funct3 the field of rs1 is a number.
        let number = f.funct3 & 4 != 0;
        return Some(Op {
            rd,
            rs1: if number { 0 } else { f.rs1 },
            immediate: ((f.word >> 20) | u32::from(number) << 12 | u32::from(f.rs1) << 13)
                .cast_signed(),
            ..make(run, Class::System)
        });
    }
    if f.rd != 0 {
        return None;
    }
    Some(match (f.funct7, f.rs2, f.rs1) {
        (0x00, 0, 0) => make(system::ecall, Class::System),
        (0x00, 1, 0) => make(system::ebreak, Class::System),
        (0x08, 2, 0) => make(system::sret, Class::System),
        (0x18, 2, 0) => make(system::mret, Class::System),
        (0x08, 5, 0) => make(system::wfi, Class::System),
        (0x09, ..) => Op {
            rs1: f.rs1,
            rs2: f.rs2,
            ..make(system::sfence_vma, Class::Fence)
        },
        (0x0b, ..) => Op {
            rs1: f.rs1,
            rs2: f.rs2,
            ..make(system::sinval_vma, Class::Fence)
        },
        (0x0c, 0, 0) => make(system::sfence_w_inval, Class::Fence),
        (0x0c, 1, 0) => make(system::sfence_inval_ir, Class::Fence),
        _ => return None,
    })
}
