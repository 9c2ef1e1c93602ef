//! Takes apart what a machine starts with: executables, archives, and the tables of symbols and causes. What a kernel
//! is handed at its first instruction is in the folder of its architecture (`loader.rs`).

mod cpio;
mod elf;
mod error;
mod files;
pub(crate) mod linux;
mod symbols;

pub use cpio::{CpioFile, files as cpio_files};
pub(crate) use elf::packed;
pub use elf::{CauseRange, ElfImage, Segment};
pub use error::LoadError;
pub use files::read_file;
pub use linux::{LOG as LINUX_LOG, OLD_LOG as LINUX_OLD_LOG};
pub use symbols::{Symbol, SymbolTable};
