//! The GDB remote stub.

mod arch;
mod guest;
mod machine;
mod registers;
mod target;

pub(crate) use guest::{Guest, Halt};
pub use target::{DebugError, Ended, serve, serve_x86};
