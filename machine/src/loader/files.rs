//! Reads the files that a person names.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::LoadError;
use crate::config::MEMORY_MOST;

/// Bytes of a file at most: more than the largest RAM, so a larger file could not be loaded.
const FILE_MOST: u64 = MEMORY_MOST as u64 + (64 << 20);

/// Reads a file, naming it in the error.
///
/// # Errors
/// When it cannot be read, or is larger than any machine can take (`/dev/zero`).
pub fn read_file(path: &Path) -> Result<Vec<u8>, LoadError> {
    let unreadable = |message: String| LoadError::Unreadable {
        file: path.display().to_string(),
        message,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_MOST {
        let message = format!("has more than {FILE_MOST} bytes, which no machine has memory for");
        return Err(unreadable(message));
    }
    Ok(bytes)
}
