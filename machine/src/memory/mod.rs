//! Physical memory: RAM, the caches in front of it, and what an access costs.
//!
//! The caches keep tags and states; RAM always holds the newest data. What a program computes therefore
//! does not depend on a cache, except where the architecture makes it so on purpose (`dcbz`), and a
//! line that hardware would read stale is counted instead ([`crate::account::Event::InstructionCacheStale`]).
//!
//! Costs are stall cycles: core cycles that an access takes beyond its issue slot on an L1 hit.

mod address;
mod arrivals;
mod broadcast;
mod build;
pub mod bus;
pub mod cache;
mod coherence;
mod control;
mod datum;
mod delivery;
pub mod dram;
mod fill;
mod fixed;
pub mod hierarchy;
pub mod l2;
mod line_shortcuts;
mod loads;
mod look_aside;
pub mod parts;
mod places;
mod posted;
pub mod prefetch;
mod private;
pub mod ram;
mod stores;
pub mod touch;
mod uncore;
mod unified;
mod walk;

pub use crate::board::{PHYSICAL_BITS, Physical};
pub use address::RamAddress;
pub use broadcast::{Broadcast, Transaction};
pub(crate) use build::Behind;
pub use bus::{Bus, BusTiming, MemoryPace, Pattern};
pub use cache::{Cache, CacheGeometry};
pub use coherence::{Notice, Peer};
pub use datum::Datum;
pub use delivery::Delivery;
pub use dram::{Dram, DramTiming};
pub use fixed::Fixed;
pub use hierarchy::{CacheInhibited, Memory, MemoryTiming};
pub use l2::{Beside, L2, L2Timing};
pub use line_shortcuts::{LINE_MODES, LineShortcut, LineShortcuts, NewLine};
pub use parts::PartsTiming;
pub use places::Places;
pub use ram::Ram;
pub(crate) use uncore::UncoreState;
pub use uncore::{Loan, Uncore};

pub use crate::config::{Forward, Replacement, TouchedLine};

/// The attributes of a page, which say how it is accessed: four bits, in a PowerPC's PTE called WIMG.
pub mod attribute {
    /// W: stores go to memory at once.
    pub const WRITE_THROUGH: u8 = 8;
    /// I: not cached.
    pub const INHIBITED: u8 = 4;
    /// M: other processors' caches see each access.
    pub const COHERENT: u8 = 2;
    /// G: not accessed before it is certain that the program does so.
    pub const GUARDED: u8 = 1;
    /// Fetches with MSR\[IR\] = 0 (603 UM 3.5).
    pub const REAL_FETCH: u8 = GUARDED;
    /// Data accesses with MSR\[DR\] = 0 (603 UM 3.5).
    pub const REAL_DATA: u8 = COHERENT | GUARDED;
    /// Table walks of the 604 and 750: cacheable, coherent.
    pub const WALK: u8 = COHERENT;
}
