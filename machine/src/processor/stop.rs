//! Why a run ended.

use std::fmt;

#[cfg(doc)]
use super::Processor;
use crate::board::BusError;
use crate::powerpc::{Exception, Vector};

/// How far a run may go, in totals since reset.
///
/// The last 64 instructions before a limit of instructions are issued one by one, so that it is met
/// exactly: they may take a few cycles more than they would without it, and a run that goes on after it keeps those.
/// A limit of cycles changes nothing: a run in parts ends each part by cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub cycles: u64,
    pub instructions: u64,
}

/// Blocks that begin with fewer instructions left than these are issued one by one: more than a line has.
pub(super) const NEAR_LIMIT: u64 = 64;

impl Limits {
    pub const NONE: Limits = Limits {
        cycles: u64::MAX,
        instructions: u64::MAX,
    };
}

/// Why a run ended. After `Limit`, `Batch`, `Breakpoint` and `Watchpoint` the machine can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The guest powered off with this status.
    PowerOff { status: u32 },
    /// The cycle or instruction limit given to the run was reached.
    Limit,
    /// A listener's batch is full: the run stops here until it is taken.
    Batch,
    /// The next instruction is at a breakpoint.
    Breakpoint { address: u32 },
    /// A watched address was accessed; the access is done and the instruction complete.
    Watchpoint { address: u32, write: bool },
    /// A program that runs without a kernel (see [`Processor::set_hosted`]) raised this; the program
    /// counter is what SRR0 would get.
    Exception(Exception),
    /// The guest cannot continue.
    Fatal(Fatal),
}

/// A state of the guest from which it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// An exception's vector holds no instruction that could handle it.
    NoHandler { vector: Vector, pc: u32 },
    /// A machine check came while MSR[ME] was clear: a real processor stops (checkstop).
    Checkstop { pc: u32, physical: u32 },
    /// MSR[LE]: the machine runs big-endian only.
    LittleEndian { pc: u32 },
    /// The processor saves power (MSR[POW]), and no interrupt can wake it.
    Asleep { pc: u32 },
    /// An access that no device answered, on a board where this is an error of the model or of the kernel.
    Unanswered { pc: u32, error: BusError },
    /// A sanitizer's report.
    Sanitizer { pc: u32, report: String },
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::NoHandler { vector, pc } => write!(
                f,
                "no handler for the {} exception (vector {:#06x}), raised at {pc:#010x}",
                vector.name(),
                vector.offset()
            ),
            Fatal::Checkstop { pc, physical } => write!(
                f,
                "checkstop at {pc:#010x}: nothing answers at physical address {physical:#010x}, and machine checks are disabled"
            ),
            Fatal::LittleEndian { pc } => {
                write!(
                    f,
                    "little-endian mode was entered at {pc:#010x}; the machine has none"
                )
            }
            Fatal::Asleep { pc } => write!(
                f,
                "the processor saves power (MSR[POW]) before {pc:#010x}, and no interrupt can wake it"
            ),
            Fatal::Unanswered { pc, error } => write!(f, "{error} at {pc:#010x}"),
            Fatal::Sanitizer { pc, report } => write!(f, "{report}, at {pc:#010x}"),
        }
    }
}
