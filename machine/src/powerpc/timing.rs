//! PowerPC instructions as the pipeline sees them: their registers, and the unit and cost of each class.

use super::branch;
use super::instruction::{Class, Instruction, Opcode, uses};
use crate::config::{Cost, LatencyConfig, MachineConfig};
use crate::pipeline::micro_op::{Flow, MicroOp, RegisterSet};
use crate::pipeline::{ClassTiming, Schedule};

/// Numbers of the registers. r0 as a base of zero is the 33rd general register, which nothing writes.
mod register {
    pub const GPR: usize = 0;
    pub const FPR: usize = GPR + 33;
    /// The condition register's fields.
    pub const CR: usize = FPR + 32;
    pub const FIELDS: usize = 8;
    pub const CARRY: usize = CR + FIELDS;
    pub const LR: usize = CARRY + 1;
    pub const CTR: usize = LR + 1;
}

/// Execution units.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Adds, logic, shifts, compares; a lane for each integer unit.
    Integer,
    /// Multiplies and divides, where they have a unit of their own.
    Complex,
    LoadStore,
    Float,
    /// The 603's SRU. The 604 moves special registers in its multiple-cycle unit, which this stands for, too.
    System,
    Branch,
}

/// The cost of classes that the machine file leaves out: one cycle.
const ONE: Cost = Cost {
    latency: 1,
    interval: 1,
};

/// Of instructions that the core does not have: it raises an exception in their place.
const NOT_THERE: Cost = Cost {
    latency: 0,
    interval: 0,
};

/// The unit of a class, and what it costs.
fn class(class: Class, l: &LatencyConfig) -> (Unit, Cost) {
    use Unit::{Branch, Complex, Float, Integer, LoadStore, System};
    match class {
        Class::Simple => (Integer, l.simple),
        Class::Compare => (Integer, l.compare),
        Class::Trap => (Integer, l.trap),
        Class::MultiplyImmediate => (Complex, l.multiply_immediate),
        Class::Multiply => (Complex, l.multiply),
        Class::MultiplyHighUnsigned => (Complex, l.multiply_high_unsigned),
        Class::Divide => (Complex, l.divide),
        Class::MultiplyDoubleword => (Complex, l.multiply_doubleword.unwrap_or(NOT_THERE)),
        Class::DivideDoubleword => (Complex, l.divide_doubleword.unwrap_or(NOT_THERE)),
        Class::Load => (LoadStore, l.load),
        Class::LoadFloat => (LoadStore, l.load_float.unwrap_or(NOT_THERE)),
        Class::Store => (LoadStore, l.store),
        Class::LoadMultiple => (LoadStore, l.load_multiple),
        Class::StoreMultiple => (LoadStore, l.store_multiple),
        Class::LoadReserve => (LoadStore, l.load_reserve),
        Class::StoreConditional => (LoadStore, l.store_conditional),
        Class::Sync => (LoadStore, l.sync),
        Class::Eieio => (LoadStore, l.eieio),
        Class::TlbInvalidate => (LoadStore, l.tlbie),
        Class::TlbSync => (LoadStore, l.tlbsync),
        Class::TlbLoad => (LoadStore, l.tlb_load.unwrap_or(NOT_THERE)),
        Class::SegmentLookaside => (LoadStore, l.slb.unwrap_or(NOT_THERE)),
        Class::CacheTouch => (LoadStore, l.dcbt),
        Class::CacheZero => (LoadStore, l.dcbz),
        Class::CacheFlush => (LoadStore, l.dcbf),
        Class::CacheInvalidate => (LoadStore, l.dcbi),
        Class::InstructionInvalidate => (LoadStore, l.icbi),
        Class::FloatMove => (Float, l.float_move.unwrap_or(NOT_THERE)),
        Class::FloatAdd => (Float, l.float_add.unwrap_or(NOT_THERE)),
        Class::FloatMultiplySingle => (Float, l.float_multiply_single.unwrap_or(NOT_THERE)),
        Class::FloatMultiplyDouble => (Float, l.float_multiply_double.unwrap_or(NOT_THERE)),
        Class::FloatDivideSingle => (Float, l.float_divide_single.unwrap_or(NOT_THERE)),
        Class::FloatDivideDouble => (Float, l.float_divide_double.unwrap_or(NOT_THERE)),
        Class::FloatSquareRoot => (Float, l.float_square_root.unwrap_or(NOT_THERE)),
        Class::FloatCompare => (Float, l.float_compare.unwrap_or(NOT_THERE)),
        Class::FloatEstimate => (Float, l.float_estimate.unwrap_or(NOT_THERE)),
        Class::FloatStatus => (Float, l.float_status.unwrap_or(NOT_THERE)),
        Class::ConditionLogical => (System, l.cr_logical),
        Class::MoveFromCr => (System, l.move_from_cr),
        Class::MoveToCr => (System, l.move_to_cr),
        Class::MoveFromSpr => (System, l.move_from_spr),
        Class::MoveToSpr => (System, l.move_to_spr),
        Class::MoveToBranchRegister => (System, l.move_to_branch_register),
        Class::MoveFromMsr => (System, l.move_from_msr),
        Class::MoveToMsr => (System, l.move_to_msr),
        Class::MoveFromSegment => (System, l.move_from_segment.unwrap_or(NOT_THERE)),
        Class::MoveToSegment => (System, l.move_to_segment.unwrap_or(NOT_THERE)),
        Class::MoveFromTimeBase => (System, l.move_from_timebase),
        Class::InstructionSync => (System, l.isync),
        Class::SystemCall | Class::ReturnFromInterrupt | Class::Illegal => (System, ONE),
        Class::Branch => (Branch, ONE),
    }
}

/// The pipeline of a machine.
#[must_use]
pub fn schedule(config: &MachineConfig) -> Schedule {
    let core = config.core.kind.core();
    let row = |kind: Class| {
        let (unit, cost) = class(kind, &config.latency);
        let (unit, lanes) = match unit {
            Unit::Integer => (Unit::Integer, core.integer_units),
            Unit::Complex if !core.complex_unit => (Unit::Integer, 1),
            other => (other, 1),
        };
        ClassTiming {
            unit: unit as u8,
            lanes: lanes as u8,
            cost,
        }
    };
    Schedule::with_classes(
        &config.pipeline,
        Class::ALL.iter().map(|&kind| row(kind)).collect(),
        (core.complex_unit && core.integer_units > 1).then_some(Unit::Integer as u8),
        config.latency.multiple_word,
    )
}

/// An instruction as the pipeline sees it.
#[must_use]
pub fn micro_op(instruction: &Instruction) -> MicroOp {
    let class = instruction.opcode.class();
    MicroOp {
        class: class as u8,
        reads: reads(instruction),
        writes: writes(instruction),
        flow: match class {
            Class::Branch => Flow::Branch {
                condition: condition(instruction),
            },
            Class::InstructionSync | Class::ReturnFromInterrupt => Flow::Synchronizes,
            _ => Flow::Plain,
        },
    }
}

/// The condition field that a branch tests.
fn condition(branch: &Instruction) -> Option<u8> {
    let o = &branch.operands;
    let tests = branch.opcode != Opcode::B && branch::tests_condition(o);
    tests.then(|| register::CR as u8 + (branch::condition_bit(o) >> 2))
}

fn reads(instruction: &Instruction) -> RegisterSet {
    let (o, used) = (&instruction.operands, instruction.opcode.uses());
    let gpr = |register: usize| register::GPR + register;
    let fpr = |register: usize| register::FPR + (register & 31);
    let mut set = RegisterSet::NONE;
    for (flag, first, count) in [
        (uses::R_T, gpr(o.t.index()), 1),
        (uses::R_A | uses::R_A0, gpr(o.a.index()), 1),
        (uses::R_B, gpr(o.b.index()), 1),
        (uses::R_FT, fpr(o.t.index()), 1),
        (uses::R_FA, fpr(o.a.index()), 1),
        (uses::R_FB, fpr(o.b.index()), 1),
        (uses::R_FC, fpr(o.c.index()), 1),
        (uses::R_CR, register::CR, register::FIELDS),
        (uses::R_CA, register::CARRY, 1),
        (uses::R_LR, register::LR, 1),
        (uses::R_CTR, register::CTR, 1),
    ] {
        if used & flag != 0 {
            set = set.with(first, count);
        }
    }
    set
}

fn writes(instruction: &Instruction) -> RegisterSet {
    let (o, used) = (&instruction.operands, instruction.opcode.uses());
    let field = register::CR + usize::from(o.crf_d() & 7);
    let mut set = RegisterSet::NONE;
    for (flag, first, count) in [
        (uses::W_T, register::GPR + o.t.index(), 1),
        (uses::W_A, register::GPR + o.a.index(), 1),
        (uses::W_FT, register::FPR + (o.t.index() & 31), 1),
        (uses::W_CF, field, 1),
        (uses::W_CR, register::CR, register::FIELDS),
        (uses::W_CA, register::CARRY, 1),
        (uses::W_LR, register::LR, 1),
        (uses::W_CTR, register::CTR, 1),
    ] {
        if used & flag != 0 {
            set = set.with(first, count);
        }
    }
    if instruction.record {
        // CR0, and CR1 of a floating-point instruction (PEM 2.1.4).
        set = set.with(register::CR + usize::from(used & uses::FLOAT != 0), 1);
    }
    set
}
