//! The PowerPC architecture, of 32 and of 64 bits: registers, decoding, instructions, exceptions.
//!
//! It follows the manual (PowerPC Microprocessor Family: The Programming Environments, "PEM" below) step by step.
//! `engine` makes it fast; `pipeline` counts its time.

mod ahead;
mod architecture;
mod at_once;
pub mod branch;
mod calls;
pub mod compiler;
pub mod condition;
pub mod core;
pub(crate) mod dispatch;
pub mod doubleword;
pub mod dump;
pub(crate) mod engine;
pub mod exception;
pub mod float;
mod foreseen;
mod gdb;
pub mod hid0;
pub mod instruction;
pub mod instruction_set;
pub mod integer;
pub mod load_store;
pub mod loader;
pub mod machine;
pub mod mmu;
pub mod multiply;
pub mod performance;
pub mod processor;
pub mod registers;
mod replay;
pub mod rotate;
pub mod session;
pub mod shim;
pub mod spr;
pub mod spr_405;
pub mod spr_8xx;
pub mod spr_970;
mod stale;
mod storage;
pub mod system;
pub mod system_405;
pub mod system_970;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod templates;
pub mod timers;
pub mod timing;
pub mod word;

pub use exception::{Exception, NAMES, Vector};
pub use instruction::{Instruction, Opcode, Operands, decode};
pub use processor::Processor;
pub use registers::{Registers, msr};
