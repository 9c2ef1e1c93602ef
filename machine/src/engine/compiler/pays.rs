//! Whether it pays to run compiled code.

/// Does compiled code pay? To call the interpreter's functions from it takes longer than to run a few instructions by
/// the interpreter. The cost of calls is compared with the instructions when it reaches `MOST`.
#[derive(Debug, Default)]
pub struct Pays<const MOST: u64> {
    /// What calls have cost since it was last compared with the instructions: for each call as many instructions as
    /// have to be compiled code that it pays.
    pub cost: u64,
    /// The processor's instructions then, and those that the interpreter alone has run since.
    since: u64,
    /// Compiled code is not entered before the processor has run so many.
    pause: u64,
}

impl<const MOST: u64> Pays<MOST> {
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
        if self.cost >= MOST {
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
