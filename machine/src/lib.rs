//! Machines that account for every cycle, TLB entry, hash-table slot and cache line.
//!
//! `powerpc`, `x86`, `memory` and `pipeline` say what the hardware does; `engine` makes it fast and is checked against
//! the plain form; `observe` counts; `board` holds the devices; `computer` puts it all together and runs it.

pub mod board;
pub mod computer;
pub mod config;
pub mod constants;
pub mod debug;
pub(crate) mod engine;
mod float;
pub mod loader;
pub mod memory;
pub mod observe;
pub mod pipeline;
pub mod powerpc;
pub mod shim;
pub mod x86;

pub use engine::blocks;
pub use powerpc::{machine, mmu, processor, session};
