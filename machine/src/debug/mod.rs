//! The GDB remote stub. Each architecture has its registers and their names.

mod guest;
mod registers;
mod target;

pub use guest::Debugged;
pub use registers::{Layout, Row};
pub use target::{DebugError, Ended, serve};
