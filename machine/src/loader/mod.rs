//! What is in memory when the machine starts: kernel or ROM image, initramfs, device tree, and the
//! tables that name what is where (symbols, causes).

mod elf;
mod error;
mod symbols;

pub use elf::{CauseRange, ElfImage, Segment};
pub use error::LoadError;
pub use symbols::{Symbol, SymbolTable};
