//! The i486 and its successors: instruction set, segments, paging, exceptions, and the processor that runs them.

pub mod config;
pub mod exception;
pub mod x87;

pub use config::{Config, Kind};
pub use exception::Exception;
