//! The GDB remote stub.

mod arch;
mod registers;
mod target;

pub use target::{DebugError, Ended, serve};
