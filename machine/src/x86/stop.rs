//! Why a run ended.

use std::fmt;

use super::exception::NAMES;

/// Why a run ended. After `Limit` and `Breakpoint` the machine can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The guest powered off with this status.
    PowerOff { status: u32 },
    /// The cycle or instruction limit given to the run was reached.
    Limit,
    /// The next instruction is at a breakpoint.
    Breakpoint { address: u32 },
    /// A program that runs without a kernel raised this; EIP is what a handler would find.
    Exception { vector: u8, code: Option<u16> },
    /// The guest cannot go on.
    Fatal(Fatal),
}

/// A state of the guest from which it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// An exception came while a double fault was delivered: a real processor shuts down.
    TripleFault { eip: u32, vectors: Vec<u8> },
    /// HLT, and no interrupt can come.
    Asleep { eip: u32 },
    /// A sanitizer has found an error.
    Sanitizer { report: String },
}

impl fmt::Display for Fatal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::TripleFault { eip, vectors } => {
                let names: Vec<_> = vectors
                    .iter()
                    .map(|&vector| match NAMES.get(usize::from(vector)) {
                        Some(name) => (*name).to_owned(),
                        None => format!("interrupt {vector}"),
                    })
                    .collect();
                write!(
                    out,
                    "triple fault at {eip:#010x}: the processor shuts down after {}",
                    names.join(", then ")
                )
            }
            Fatal::Sanitizer { report } => write!(out, "sanitizer: {report}"),
            Fatal::Asleep { eip } => write!(
                out,
                "the processor halts before {eip:#010x}, and no interrupt can wake it"
            ),
        }
    }
}

/// Why a processor does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The next turn may be another's.
    TurnOver,
    /// The machine stops.
    Stopped(Stop),
}
