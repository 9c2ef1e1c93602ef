//! Whether it pays to run compiled code.

/// Does compiled code pay? To call the interpreter's functions from it takes longer than to run a few instructions by
/// the interpreter. `CALL`: what the dearest call costs.
#[derive(Debug, Default)]
pub struct Pays<const CALL: u64> {
    /// The cost of all calls since the last comparison. The unit is an instruction: a call costs as many instructions
    /// as compiled code must run to make up for it.
    pub cost: u64,
    /// The processor's instructions at the last comparison, and those that the interpreter alone has run since.
    since: u64,
    /// Compiled code is not entered before the processor has run so many.
    pause: u64,
}

impl<const CALL: u64> Pays<CALL> {
    /// The cost at which it is compared with the instructions: that of so many of the dearest calls.
    const COMPARED_AT: u64 = CALL << 12;

    /// Instructions until compiled code is tried again.
    const PAUSE: u64 = 1 << 24;

    /// The interpreter alone ran `skipped` instructions before now, after so many in all: they are not compared with
    /// the cost.
    pub fn skip(&mut self, skipped: u64, instructions: u64) {
        self.since = (self.since + skipped).min(instructions);
    }

    /// False if compiled code does not pay now, after so many instructions.
    #[inline(always)]
    pub fn now(&mut self, instructions: u64) -> bool {
        if self.cost >= Self::COMPARED_AT {
            self.compare(instructions);
        }
        instructions >= self.pause
    }

    #[cold]
    fn compare(&mut self, instructions: u64) {
        if instructions.saturating_sub(self.since) < self.cost {
            self.pause = instructions + Self::PAUSE;
            self.since = self.pause;
        } else {
            self.since = instructions;
        }
        self.cost = 0;
    }
}
