//! What watches a run and keeps its own record: profile, trace, regions, listener, sanitizers.
//!
//! Observers are told by hooks; none of them changes a count.

pub mod calls;
pub mod causes;
pub mod listener;
mod miss_events;
pub mod observers;
mod owners;
mod pass;
pub mod profile;
pub mod recorder;
pub mod regions;
pub mod sanitizers;
mod shown;
pub mod silence;
pub mod stacks;
pub mod stale;
pub mod symbolize;
pub mod tally;
pub mod trace;

pub use observers::Observers;
pub use pass::LastPass;
pub use shown::Shown;

/// An exception as observers show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// Its name in a trace.
    pub name: &'static str,
    /// Its name in counters, without what all of them begin with.
    pub counter: &'static str,
}
