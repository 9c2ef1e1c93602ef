//! The i486 and its successors: instruction set, segments, paging, exceptions, and the processor that runs them.

mod access;
mod accounting;
mod blocks;
mod chain;
mod clocks;
pub mod compiler;
pub mod config;
mod decode;
pub mod dump;
mod events;
pub mod exception;
mod execute;
mod fetch;
pub mod flags;
mod gdb;
mod linux;
mod memory;
pub mod mmu;
mod mp_table;
mod multiboot;
mod noting;
mod op;
pub mod paging;
mod physical;
mod predictor;
pub mod processor;
mod recording;
pub mod registers;
mod replay;
mod segmentation;
pub mod session;
pub mod shim;
mod snapshot;
mod stale;
mod stop;
pub mod tlb;
mod transfer;
mod turn;
mod walk_cache;
mod wide_paging;
mod window;
pub mod x87;

pub use config::{Config, Kind};
pub use exception::Exception;
pub use processor::Processor;
pub use stop::{Fatal, Raised, Stop};

/// A simulated computer of x86 processors.
pub type Machine = crate::computer::Computer<Processor>;
