//! The 32-bit PowerPC architecture: registers, decoding, what each instruction does, exceptions.
//!
//! Plainly, as the manual says it (PowerPC Microprocessor Family: The Programming Environments,
//! "PEM" below). How it is made fast is `engine`'s subject; what it costs is `pipeline`'s.

pub mod exception;
pub mod registers;

pub use exception::{Exception, Vector};
pub use registers::{Registers, msr};
