//! Whether it pays to run compiled code.

/// Does compiled code pay? To call the interpreter's functions from it takes longer than to run a few instructions by
/// the interpreter. `LEAST`: the fewest instructions for each call.
#[derive(Debug, Default)]
pub struct Pays<const LEAST: u64> {
    /// Calls since they were last compared with the instructions.
    pub calls: u64,
    /// The processor's instructions then, and those that the interpreter alone has run since.
    since: u64,
    /// Compiled code is not entered before the processor has run so many.
    pause: u64,
}

impl<const LEAST: u64> Pays<LEAST> {
    /// Calls after which they are compared.
    const CALLS: u64 = 1 << 12;

    /// Instructions until compiled code is tried again.
    const PAUSE: u64 = 1 << 24;

    /// The interpreter alone ran `skipped` instructions before now, after so many in all: they are not compared with
    /// the calls.
    pub fn skip(&mut self, skipped: u64, instructions: u64) {
        self.since = (self.since + skipped).min(instructions);
    }

    /// False if compiled code does not pay now, after so many instructions.
    #[inline(always)]
    pub fn now(&mut self, instructions: u64) -> bool {
        if self.calls >= Self::CALLS {
            self.compare(instructions);
        }
        instructions >= self.pause
    }

    #[cold]
    fn compare(&mut self, instructions: u64) {
        if instructions.saturating_sub(self.since) < self.calls * LEAST {
            self.pause = instructions + Self::PAUSE;
            self.since = self.pause;
        } else {
            self.since = instructions;
        }
        self.calls = 0;
    }
}
