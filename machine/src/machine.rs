//! The whole computer, and why it stopped.

use crate::powerpc::Vector;

/// Why a run ended. The machine can be run on after `Limit`, `Breakpoint` and `Watchpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The guest powered off with this status.
    PowerOff { status: u32 },
    /// The cycle or instruction limit given to the run was reached.
    Limit,
    /// The next instruction is at a breakpoint.
    Breakpoint { address: u32 },
    /// A watched address was accessed; the access is done and the instruction complete.
    Watchpoint { address: u32, write: bool },
    /// Nothing sensible can follow.
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
    /// A sanitizer's report.
    Sanitizer { pc: u32, report: String },
}
