//! Why a run ended.

use crate::board::BusError;
use crate::powerpc::{Exception, Vector};

/// Why a run ended.
pub type Stop = crate::computer::Stop<Exception, Fatal>;

/// Blocks that begin with fewer instructions left than these are issued one by one: more than a line has.
pub(super) const NEAR_LIMIT: u64 = 64;

/// A state of the guest from which it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// An exception's vector holds no instruction that could handle it.
    NoHandler { vector: Vector, pc: u32 },
    /// Exceptions follow one another without an instruction that completes: this was the last one.
    Stuck { vector: Vector, pc: u32 },
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
