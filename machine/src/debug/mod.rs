//! The GDB remote stub.

mod arch;
mod guest;
mod machine;
mod registers;
mod target;

pub use guest::Debugged;
pub use target::{DebugError, Ended, serve};
