//! The time of instructions: dispatch, execution units, completion and branch prediction. An instruction is a
//! [`MicroOp`] here; this folder does not depend on the instruction set.

pub mod micro_op;
pub mod predictor;
mod returns;
pub mod run;
pub mod schedule;

pub use micro_op::MicroOp;
pub use predictor::Predictor;
pub(crate) use returns::{Returns, train};
pub use run::{Pending, Timing};
pub use schedule::{ClassTiming, Schedule};
