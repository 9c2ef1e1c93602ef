//! RISC-V of 64 bits: instructions, privileged architecture, translation, and the processor that runs them.

mod access;
mod accounting;
pub mod compiler;
mod compressed;
pub mod config;
mod counters;
pub mod csr;
pub mod decode;
pub mod dump;
mod execute;
pub mod float;
mod gdb;
mod interrupt_files;
mod loader;
pub mod mmu;
pub mod names;
pub mod op;
mod path;
pub mod pmp;
mod predictor;
pub mod processor;
pub mod session;
pub mod shim;
mod snapshot;
mod stale;
pub mod tlb;
pub mod trap;
mod turn;
mod walk;

pub use config::Config;
pub use processor::{Processor, Stop};
pub use trap::{Fatal, Trap};

/// A simulated computer of RISC-V processors.
pub type Machine = crate::computer::Computer<Processor>;
