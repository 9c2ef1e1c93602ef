//! The GDB remote stub. Each architecture has its registers and their names.

mod guest;
mod target;

pub use guest::Debugged;
pub use target::{DebugError, Ended, serve};
