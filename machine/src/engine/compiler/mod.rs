//! What the compilers of hot code share, whatever they compile: memory for code ([`memory`]), the host's assembler
//! ([`assembler`]), the ways in and out ([`thunks`]), tables of code ([`tables`]), which code is hot ([`heat`]),
//! and whether compiled code pays ([`pays`]). Their host is x86-64 with Linux.

pub mod assembler;
pub mod heat;
pub mod memory;
pub mod pays;
pub mod tables;
pub mod thunks;

/// The run loop looks at one block of so many.
pub const PERIOD: u32 = 61;

/// How many sightings by the run loop one from compiled code counts as.
pub const GONE_TO: u32 = 32;

/// Versions of blocks that are kept at most; and the same where a block is compiled at its first sight, as tests
/// have it.
pub const MOST: usize = 1 << 16;
pub const FEW: usize = 400;

/// Places in compiled code that call Rust, at most.
pub const SITES: usize = 1 << 19;
