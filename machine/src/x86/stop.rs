//! Why a run ended.

use std::fmt;

use super::exception::name;
use crate::computer::EXCEPTIONS_MOST;

/// Why a run ended.
pub type Stop = crate::computer::Stop<Raised, Fatal>;

/// What a program that runs without a kernel raised; EIP is what a handler would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    pub vector: u8,
    /// The error code, if the vector has one.
    pub code: Option<u16>,
}

/// A state of the guest from which it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// An exception came while a double fault was delivered: a real processor shuts down.
    TripleFault { eip: u32, vectors: Vec<u8> },
    /// Exceptions follow one another without an instruction that completes: this was the last one.
    Stuck { eip: u32, vector: u8 },
    /// HLT, and no interrupt can come.
    Asleep { eip: u32 },
    /// A sanitizer has found an error.
    Sanitizer { report: String },
}

impl fmt::Display for Fatal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::TripleFault { eip, vectors } => {
                let names: Vec<_> = vectors.iter().map(|&vector| name(vector)).collect();
                write!(
                    out,
                    "triple fault at {eip:#010x}: the processor shuts down after {}",
                    names.join(", then ")
                )
            }
            Fatal::Stuck { vector, .. } => write!(
                out,
                "no instruction completes: {EXCEPTIONS_MOST} exceptions came in a row, and another {} exception",
                name(*vector)
            ),
            Fatal::Sanitizer { report } => write!(out, "sanitizer: {report}"),
            Fatal::Asleep { eip } => write!(
                out,
                "the processor halts before {eip:#010x}, and no interrupt can wake it"
            ),
        }
    }
}
