//! The states at both ends of a region of interest.

use crate::board::Effect;

/// The state of each processor where a region began and where it ended, in its last whole pass. Earlier passes are not
/// kept, so that any number of them needs the memory of two.
#[derive(Clone, Debug)]
pub struct LastPass<D> {
    number: u32,
    begun: Option<Vec<D>>,
    whole: Vec<D>,
}

impl<D> LastPass<D> {
    #[must_use]
    pub fn of(number: u32) -> Self {
        LastPass {
            number,
            begun: None,
            whole: Vec::new(),
        }
    }

    /// True if the region begins or ends: then [`LastPass::add`] wants the states.
    #[must_use]
    pub fn concerns(&self, effect: Effect) -> bool {
        matches!(effect, Effect::RegionBegin(number) | Effect::RegionEnd(number) if number == self.number)
    }

    /// The states where the region begins or ends. An end without a begin is no pass.
    pub fn add(&mut self, effect: Effect, states: Vec<D>) {
        if matches!(effect, Effect::RegionBegin(_)) {
            self.begun = Some(states);
        } else if let Some(mut whole) = self.begun.take() {
            whole.extend(states);
            self.whole = whole;
        }
    }

    /// Those of the begin, then those of the end; empty without a whole pass.
    #[must_use]
    pub fn states(&self) -> &[D] {
        &self.whole
    }
}
