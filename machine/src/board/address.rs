//! Addresses on the bus.

/// A physical address: of [`PHYSICAL_BITS`] at most.
pub type Physical = u64;

/// Bits of a physical address at most.
pub const PHYSICAL_BITS: u32 = 56;
