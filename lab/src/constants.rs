//! The hardware constants that a bare-metal program measures.

use pagewalk_machine::config::MachineConfig;
use pyo3::prelude::*;

use crate::config::ConfigurationError;

/// The measurement, which the command `pagewalk-machine constants` prints as a table.
#[path = "../../machine/src/constants.rs"]
#[allow(dead_code, reason = "the table is the command's")]
mod measurement;

/// What the program measures on the machine, as (name, figure, words on how it comes about); ValueError says why
/// nothing was measured.
#[pyfunction]
pub fn measure_constants(
    config: &str,
    program: &[u8],
    name: &str,
) -> PyResult<Vec<(String, u64, String)>> {
    let config = MachineConfig::from_toml(config, "machine", &[])
        .map_err(|error| ConfigurationError::new_err(error.to_string()))?;
    let figures = measurement::measure(config, program, name)
        .map_err(|error| ConfigurationError::new_err(error.to_string()))?;
    Ok(figures
        .into_iter()
        .map(|figure| {
            let words = if figure.note.is_empty() {
                figure.nature.to_string()
            } else {
                format!("{}: {}", figure.nature, figure.note)
            };
            (figure.name.to_owned(), figure.measured, words)
        })
        .collect())
}
