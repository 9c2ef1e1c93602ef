//! What instructions cost: the cores' dispatch, units, completion and branch prediction.

pub mod predictor;
pub mod run;
pub mod schedule;

pub use predictor::Predictor;
pub use run::{Pending, Timing};
pub use schedule::Schedule;
