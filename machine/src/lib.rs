//! A PowerPC machine that accounts for every cycle, TLB entry, hash-table slot and cache line.
//!
//! `powerpc`, `mmu`, `memory` and `pipeline` say what the hardware does; `engine` makes it fast and
//! is checked against the plain form; `observe` counts; `board` holds the devices.

pub mod board;
pub mod computer;
pub mod config;
pub mod constants;
pub mod debug;
pub(crate) mod engine;
mod float;
pub mod loader;
pub mod machine;
pub mod memory;
pub mod mmu;
pub mod observe;
pub mod pipeline;
pub mod powerpc;
pub mod processor;
pub mod session;
pub mod shim;
pub mod x86;
