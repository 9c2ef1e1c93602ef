//! What is wrong with a machine file, and where.

use thiserror::Error;

/// A machine that cannot be built. The message names file, line, key and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    #[error("{file}: {message}")]
    Unreadable { file: String, message: String },
    #[error("{file}:{line}: {message}")]
    InFile {
        file: String,
        /// One-based.
        line: usize,
        message: String,
    },
    #[error("--set {setting}: {message}")]
    InOverride { setting: String, message: String },
}
