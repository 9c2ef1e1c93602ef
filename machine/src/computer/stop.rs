//! How far a run goes, and why it ended.

/// How far a run may go, in totals since reset.
///
/// The last instructions before a limit of instructions are issued one by one, so that it is met exactly: they may take
/// a few cycles more than they would without it, and a run that goes on after it keeps those.
/// A limit of cycles changes nothing: a run in parts ends each part by cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub cycles: u64,
    pub instructions: u64,
}

impl Limits {
    pub const NONE: Limits = Limits {
        cycles: u64::MAX,
        instructions: u64::MAX,
    };
}

/// Exceptions in a row without an instruction that completes between them: after so many the guest cannot go on. The
/// handlers fault themselves.
pub const EXCEPTIONS_MOST: u32 = 1000;

impl Limits {
    /// The cycles after which a run with a limit of instructions ends too: so many for each of them, and an hour of the
    /// machine's time. A guest that sleeps without end comes to it.
    #[must_use]
    pub fn most_cycles(instructions: u64, clock: u64) -> u64 {
        const EACH: u64 = 1000;
        const HOUR: u64 = 3600;
        let awake = instructions.saturating_mul(EACH);
        awake.saturating_add(clock.saturating_mul(HOUR))
    }
}

/// Why a run ended: `E` are the exceptions of the architecture, `F` the states from which its processors cannot go on.
/// After `Limit`, `Batch`, `Breakpoint` and `Watchpoint` the machine can continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<E, F> {
    /// The guest powered off with this status.
    PowerOff { status: u32 },
    /// The cycle or instruction limit given to the run was reached.
    Limit,
    /// A listener's batch is full: the run stops here until it is taken.
    Batch,
    /// The next instruction is at a breakpoint.
    Breakpoint { address: u64 },
    /// A watched address was accessed; the access is done and the instruction complete.
    Watchpoint { address: u64, write: bool },
    /// A program that runs without a kernel raised this; the program counter is what a handler would find.
    Exception(E),
    /// The guest cannot continue.
    Fatal(F),
}

impl<E, F> Stop<E, F> {
    /// The kind of stop as a word, and the guest's exit status if there is one.
    #[must_use]
    pub fn kind(&self) -> (&'static str, Option<u32>) {
        match self {
            Stop::PowerOff { status } => ("power-off", Some(*status)),
            Stop::Limit => ("limit", None),
            Stop::Batch => ("batch", None),
            Stop::Breakpoint { .. } => ("breakpoint", None),
            Stop::Watchpoint { .. } => ("watchpoint", None),
            Stop::Exception(_) => ("exception", None),
            Stop::Fatal(_) => ("fatal", None),
        }
    }
}

/// Why a processor does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause<S> {
    /// The next turn may be another processor's.
    TurnOver,
    /// The machine stops.
    Stopped(S),
}
