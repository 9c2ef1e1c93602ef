//! What each class of instruction takes on a core: its unit, its latency, its initiation interval.

use crate::config::{Cost, LatencyConfig, MachineConfig};
use crate::powerpc::instruction::{Class, Instruction};

use super::run::{Pending, Run, Timing};

/// Execution units. A unit takes an instruction of its kind every initiation interval.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Adds, logic, shifts, compares; `count` of them.
    Integer,
    /// Multiplies and divides, where they have a unit of their own.
    Complex,
    LoadStore,
    Float,
    System,
    Branch,
}

/// Units of a core.
pub(super) const UNITS: usize = 6;

/// The timing description of a core.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Instructions fetched, dispatched and completed in a cycle, and in flight between the last two.
    pub(super) fetch: u32,
    pub(super) dispatch: u32,
    pub(super) complete: usize,
    pub(super) queue: usize,
    pub(super) fold_branches: bool,
    integer_units: usize,
    /// Multiplies and divides go to a unit of their own (604: MCIU) instead of an integer unit.
    complex_unit: bool,
    latency: LatencyConfig,
}

impl Schedule {
    pub fn new(config: &MachineConfig) -> Self {
        use crate::config::CoreKind::{Mpc8xx, Ppc603, Ppc603e, Ppc604, Ppc604e, Ppc750};
        // 603: one IU; the 603e's SRU adds and compares too. 604: two SCIU and an MCIU. 750: IU1
        // (everything) and IU2 (no multiply, no divide). 604 UM p.35, gcc's descriptions. 8xx: ALU and IMUL-IDIV
        // (gcc's mpc.md; MPC565 RM 3.4.2, whose core is the same).
        let (integer_units, complex_unit) = match config.core.kind {
            Ppc603 => (1, false),
            Ppc603e | Ppc750 => (2, false),
            Ppc604 | Ppc604e => (2, true),
            Mpc8xx => (1, true),
        };
        Schedule {
            fetch: config.pipeline.fetch,
            dispatch: config.pipeline.dispatch,
            complete: config.pipeline.complete as usize,
            queue: config.pipeline.completion_queue as usize,
            fold_branches: config.pipeline.fold_branches,
            integer_units,
            complex_unit,
            latency: config.latency.clone(),
        }
    }

    /// Cycles of each word that a multiple or string instruction moves.
    pub fn multiple_word(&self) -> u64 {
        u64::from(self.latency.multiple_word.interval)
    }

    pub(super) fn cost(&self, class: Class) -> Cost {
        let l = &self.latency;
        match class {
            Class::Simple => l.simple,
            Class::Compare => l.compare,
            Class::MultiplyImmediate => l.multiply_immediate,
            Class::Multiply => l.multiply,
            Class::MultiplyHighUnsigned => l.multiply_high_unsigned,
            Class::Divide => l.divide,
            Class::Load => l.load,
            Class::LoadFloat => l.load_float,
            Class::Store => l.store,
            Class::LoadMultiple => l.load_multiple,
            Class::StoreMultiple => l.store_multiple,
            Class::LoadReserve => l.load_reserve,
            Class::StoreConditional => l.store_conditional,
            Class::ConditionLogical => l.cr_logical,
            Class::MoveFromCr => l.move_from_cr,
            Class::MoveToCr => l.move_to_cr,
            Class::MoveFromSpr => l.move_from_spr,
            Class::MoveToSpr => l.move_to_spr,
            Class::MoveToBranchRegister => l.move_to_branch_register,
            Class::MoveFromMsr => l.move_from_msr,
            Class::MoveToMsr => l.move_to_msr,
            Class::MoveFromSegment => l.move_from_segment,
            Class::MoveToSegment => l.move_to_segment,
            Class::MoveFromTimeBase => l.move_from_timebase,
            Class::Trap => l.trap,
            Class::InstructionSync => l.isync,
            Class::Sync => l.sync,
            Class::Eieio => l.eieio,
            Class::TlbInvalidate => l.tlbie,
            Class::TlbSync => l.tlbsync,
            Class::TlbLoad => l.tlb_load,
            Class::CacheTouch => l.dcbt,
            Class::CacheZero => l.dcbz,
            Class::CacheFlush => l.dcbf,
            Class::CacheInvalidate => l.dcbi,
            Class::InstructionInvalidate => l.icbi,
            Class::FloatMove => l.float_move,
            Class::FloatAdd => l.float_add,
            Class::FloatMultiplySingle => l.float_multiply_single,
            Class::FloatMultiplyDouble => l.float_multiply_double,
            Class::FloatDivideSingle => l.float_divide_single,
            Class::FloatDivideDouble => l.float_divide_double,
            Class::FloatCompare => l.float_compare,
            Class::FloatEstimate => l.float_estimate,
            Class::FloatStatus => l.float_status,
            Class::Branch | Class::SystemCall | Class::ReturnFromInterrupt | Class::Illegal => {
                Cost {
                    latency: 1,
                    interval: 1,
                }
            }
        }
    }

    /// Any integer unit does what another one does.
    pub(super) fn integer_units_alike(&self) -> bool {
        self.complex_unit
    }

    /// How many lanes take instructions of `class`, the first ones of its unit.
    pub(super) fn lanes(&self, class: Class) -> usize {
        match class {
            Class::Simple | Class::Compare | Class::Trap => self.integer_units,
            _ => 1,
        }
    }

    pub(super) fn unit(&self, class: Class) -> Unit {
        match class {
            Class::Simple | Class::Compare | Class::Trap => Unit::Integer,
            Class::MultiplyImmediate
            | Class::Multiply
            | Class::MultiplyHighUnsigned
            | Class::Divide => {
                if self.complex_unit {
                    Unit::Complex
                } else {
                    Unit::Integer
                }
            }
            Class::Load
            | Class::LoadFloat
            | Class::Store
            | Class::LoadMultiple
            | Class::StoreMultiple
            | Class::LoadReserve
            | Class::StoreConditional
            | Class::Sync
            | Class::Eieio
            | Class::TlbInvalidate
            | Class::TlbSync
            | Class::TlbLoad
            | Class::CacheTouch
            | Class::CacheZero
            | Class::CacheFlush
            | Class::CacheInvalidate
            | Class::InstructionInvalidate => Unit::LoadStore,
            Class::FloatMove
            | Class::FloatAdd
            | Class::FloatMultiplySingle
            | Class::FloatMultiplyDouble
            | Class::FloatDivideSingle
            | Class::FloatDivideDouble
            | Class::FloatCompare
            | Class::FloatEstimate
            | Class::FloatStatus => Unit::Float,
            Class::Branch => Unit::Branch,
            // The 604 moves special registers in its multiple-cycle unit; it stands for the 603's SRU.
            _ => Unit::System,
        }
    }

    /// Times `block`, which finds the pipeline as `before` says.
    pub fn time(&self, before: &Pending, block: impl IntoIterator<Item = Instruction>) -> Timing {
        let mut run = Run::new(before);
        for instruction in block {
            run.issue(self, &instruction);
        }
        run.end(self)
    }
}
