//! Issue cycles of a straight run of instructions: in-order dispatch to units with latencies and
//! initiation intervals, in-order completion of a limited width.
//!
//! A block is timed by itself, with all its operands ready at its start. Its cost is the cycle in
//! which the next block can dispatch: after its own last dispatch, and not before its oldest
//! unfinished instruction has come so near to completion that the completion queue can hide the rest.

use crate::config::{Cost, LatencyConfig, MachineConfig};
use crate::powerpc::branch;
use crate::powerpc::instruction::{Class, Instruction, uses};

/// Execution units. A unit takes an instruction of its kind every initiation interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Adds, logic, shifts, compares; `count` of them.
    Integer,
    /// Multiplies and divides, where they have a unit of their own.
    Complex,
    LoadStore,
    Float,
    System,
    Branch,
}

const UNITS: usize = 6;

/// The timing description of a core.
#[derive(Clone, Debug)]
pub struct Schedule {
    dispatch: u32,
    complete: u32,
    queue: u32,
    fold_branches: bool,
    integer_units: usize,
    /// Multiplies and divides go to a unit of their own (604: MCIU) instead of an integer unit.
    complex_unit: bool,
    latency: LatencyConfig,
}

/// Ready cycle of everything an instruction can depend on.
struct Scoreboard {
    gpr: [u32; 33],
    fpr: [u32; 32],
    /// The condition register's fields.
    cr: [u32; 8],
    carry: u32,
    lr: u32,
    ctr: u32,
}

impl Schedule {
    pub fn new(config: &MachineConfig) -> Self {
        use crate::config::CoreKind::{Ppc603, Ppc603e, Ppc604, Ppc604e, Ppc750};
        // 603: one IU; the 603e's SRU adds and compares too. 604: two SCIU and an MCIU. 750: IU1
        // (everything) and IU2 (no multiply, no divide). 604 UM p.35, gcc's descriptions.
        let (integer_units, complex_unit) = match config.core.kind {
            Ppc603 => (1, false),
            Ppc603e | Ppc750 => (2, false),
            Ppc604 | Ppc604e => (2, true),
        };
        Schedule {
            dispatch: config.pipeline.dispatch,
            complete: config.pipeline.complete,
            queue: config.pipeline.completion_queue,
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

    fn cost(&self, class: Class) -> Cost {
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

    fn unit(&self, class: Class) -> Unit {
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

    /// Issue cycles of `block`, at least 1: the branch unit takes one branch a cycle, folded or not
    /// (750GX UM p.229 to 232: a target's instructions come in the next cycle).
    pub fn block(&self, block: &[Instruction]) -> u16 {
        let mut run = Run::new(Scoreboard::EMPTY);
        for instruction in block {
            run.issue(self, instruction);
        }
        let hidden = 1 + self.queue / self.dispatch.max(1);
        (run.last_dispatch + 1).max(run.completed.saturating_sub(hidden)) as u16
    }

    /// Does `branch`, which follows the straight run `before`, find its condition known when it is
    /// dispatched? What stood before that run is taken to have been a compare of every field.
    pub fn resolved(&self, before: &[Instruction], branch: &Instruction) -> bool {
        let operands = &branch.operands;
        if !branch::tests_condition(operands) {
            return true;
        }
        let mut run = Run::new(Scoreboard {
            cr: [self.latency.compare.latency; 8],
            ..Scoreboard::EMPTY
        });
        for instruction in before {
            run.issue(self, instruction);
        }
        let dispatched = run.cycle + u32::from(run.slots == self.dispatch);
        run.board.cr[usize::from(branch::condition_bit(operands) >> 2)] <= dispatched
    }
}

/// A straight run of instructions on its way through the pipeline.
struct Run {
    board: Scoreboard,
    /// Cycle from which each lane of each unit is free.
    free: [[u32; 2]; UNITS],
    /// Cycle of the last dispatch, and how many were dispatched in it.
    cycle: u32,
    slots: u32,
    last_dispatch: u32,
    /// Cycle of the last completion, and how many completed in it.
    completed: u32,
    completed_in_cycle: u32,
}

impl Run {
    fn new(board: Scoreboard) -> Run {
        Run {
            board,
            free: [[0; 2]; UNITS],
            cycle: 0,
            slots: 0,
            last_dispatch: 0,
            completed: 0,
            completed_in_cycle: 0,
        }
    }

    fn issue(&mut self, core: &Schedule, instruction: &Instruction) {
        let class = instruction.opcode.class();
        if class == Class::Branch && core.fold_branches {
            return;
        }
        let cost = core.cost(class);
        if self.slots == core.dispatch {
            self.cycle += 1;
            self.slots = 0;
        }
        let unit = core.unit(class);
        let copies = if unit == Unit::Integer {
            core.integer_units
        } else {
            1
        };
        let complex = matches!(
            class,
            Class::MultiplyImmediate
                | Class::Multiply
                | Class::MultiplyHighUnsigned
                | Class::Divide
        );
        let lanes = &mut self.free[unit as usize][..if complex { 1 } else { copies }];
        let lane = lanes.iter_mut().min().expect("a unit has a lane");
        // An instruction waits in its unit's reservation station for its operands, and in the
        // dispatch stage for the unit.
        if *lane > self.cycle {
            self.cycle = *lane;
            self.slots = 0;
        }
        let start = self.cycle.max(self.board.ready(instruction));
        *lane = start + cost.interval.max(1);
        let done = start + cost.latency.max(1);
        self.board.write(instruction, done);
        self.last_dispatch = self.cycle;
        self.slots += 1;
        // In-order completion, `complete` a cycle.
        if done > self.completed {
            self.completed = done;
            self.completed_in_cycle = 1;
        } else if self.completed_in_cycle == core.complete {
            self.completed += 1;
            self.completed_in_cycle = 1;
        } else {
            self.completed_in_cycle += 1;
        }
    }
}

impl Scoreboard {
    const EMPTY: Scoreboard = Scoreboard {
        gpr: [0; 33],
        fpr: [0; 32],
        cr: [0; 8],
        carry: 0,
        lr: 0,
        ctr: 0,
    };

    fn ready(&self, instruction: &Instruction) -> u32 {
        let (o, used) = (&instruction.operands, instruction.opcode.uses());
        let mut ready = 0;
        let mut need = |flag: u32, at: u32| {
            if used & flag != 0 {
                ready = ready.max(at);
            }
        };
        need(uses::R_T, self.gpr[o.t.index()]);
        need(uses::R_A | uses::R_A0, self.gpr[o.a.index()]);
        need(uses::R_B, self.gpr[o.b.index()]);
        need(uses::R_FT, self.fpr[o.t.index() & 31]);
        need(uses::R_FA, self.fpr[o.a.index() & 31]);
        need(uses::R_FB, self.fpr[o.b.index() & 31]);
        need(uses::R_FC, self.fpr[o.c.index() & 31]);
        need(uses::R_CR, self.condition(instruction));
        need(uses::R_CA, self.carry);
        need(uses::R_LR, self.lr);
        need(uses::R_CTR, self.ctr);
        ready
    }

    /// A branch looks at one field; other instructions may read any.
    fn condition(&self, instruction: &Instruction) -> u32 {
        if instruction.opcode.class() == Class::Branch {
            return self.cr[usize::from(branch::condition_bit(&instruction.operands) >> 2)];
        }
        self.cr.into_iter().max().unwrap_or_default()
    }

    fn write(&mut self, instruction: &Instruction, done: u32) {
        let (o, used) = (&instruction.operands, instruction.opcode.uses());
        if used & uses::W_T != 0 {
            self.gpr[o.t.index()] = done;
        }
        if used & uses::W_A != 0 {
            self.gpr[o.a.index()] = done;
        }
        if used & uses::W_FT != 0 {
            self.fpr[o.t.index() & 31] = done;
        }
        if used & uses::W_CF != 0 {
            self.cr[usize::from(o.crf_d() & 7)] = done;
        }
        if used & uses::W_CR != 0 {
            self.cr = [done; 8];
        }
        if instruction.record {
            // CR0, and CR1 of a floating-point instruction (PEM 2.1.4).
            self.cr[usize::from(used & uses::FLOAT != 0)] = done;
        }
        if used & uses::W_CA != 0 {
            self.carry = done;
        }
        if used & uses::W_LR != 0 {
            self.lr = done;
        }
        if used & uses::W_CTR != 0 {
            self.ctr = done;
        }
    }
}
