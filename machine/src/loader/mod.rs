//! Loads what a machine starts with: kernel or ROM image, initramfs, device tree, and the tables of symbols and
//! causes.

mod boot;
mod cpio;
mod elf;
mod error;
mod linux;
mod protocol;
mod symbols;
mod tree;

pub use crate::board::Target;
pub use boot::{Boot, Chunk, Given, read_file};
pub use cpio::{CpioFile, files as cpio_files};
pub use elf::{CauseRange, ElfImage, Segment};
pub use error::LoadError;
pub use linux::{LOG as LINUX_LOG, OLD_LOG as LINUX_OLD_LOG};
pub use protocol::Protocol;
pub use symbols::{Symbol, SymbolTable};
pub use tree::device_tree;
