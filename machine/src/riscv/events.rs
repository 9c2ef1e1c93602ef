//! The work between two instructions: interrupts, limits, sleep.

use super::processor::{Processor, Stop};
use crate::computer::{Pause, Progressing as _};

impl Processor {
    /// Handles interrupts, limits and stops before the next instruction, and sets the next deadline.
    pub(super) fn events(&mut self) -> Option<Pause<Stop>> {
        let (stop, turn_over) = (self.stop.take(), self.cycles >= self.times.end);
        if let Some(pause) = self.pauses(stop, self.limits, turn_over) {
            return Some(pause);
        }
        self.take_interrupt();
        self.due = self.quiet_until(self.limits).min(self.times.end);
        if !self.breakpoints.is_empty() {
            let address = self.pc;
            if self.breakpoints.stops_at(address) {
                return Some(Pause::Stopped(Stop::Breakpoint { address }));
            }
            self.breakpoints.passed();
        }
        None
    }
}
