//! How a processor is run: until when, what is turned on for the run, and why it stops.

use super::{Breakpoints, Cpu, Limits, StopOf, TurnTimes};

/// What the computer says of a processor's run, and why the processor stops.
pub struct Running<C: Cpu> {
    pub limits: Limits,
    /// The processor's turn, in its unit of time.
    pub times: TurnTimes,
    /// The time, in the same unit, from which something else than the next block is due. PowerPC leaves it alone: its
    /// deadline is among what its handlers read (`Hot`).
    pub deadline: u64,
    /// Decoded code has changed: the block that runs ends with its running instruction.
    pub stale: bool,
    pub breakpoints: Breakpoints,
    /// Always-probe mode: no shortcuts are taken.
    pub oracle: bool,
    /// An exception stops the machine instead of being taken.
    pub hosted: bool,
    /// Why the machine stops before the next instruction.
    pub stop: Option<StopOf<C>>,
}

impl<C: Cpu> Default for Running<C> {
    fn default() -> Self {
        Running {
            limits: Limits::NONE,
            times: TurnTimes::default(),
            deadline: 0,
            stale: false,
            breakpoints: Breakpoints::default(),
            oracle: false,
            hosted: false,
            stop: None,
        }
    }
}
