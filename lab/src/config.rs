//! Machine files.

use pagewalk_machine::account::{CauseNames, Counters};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::{powerpc, riscv, x86};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The names of all counters of a machine of that architecture, `PowerPC`, `x86` or `RISC-V`, in their order.
#[pyfunction]
pub fn counter_names(architecture: &str) -> Vec<String> {
    let names = match architecture {
        "x86" => &x86::exception::COUNTERS,
        "RISC-V" => &riscv::trap::COUNTERS,
        _ => &powerpc::NAMES,
    };
    let all = Counters::default()
        .named(names, &CauseNames::default())
        .into_iter();
    all.map(|(name, _)| name).collect()
}

create_exception!(
    pagewalk._machine,
    ConfigurationError,
    PyValueError,
    "A machine that cannot be built; the message names file, line, key and what is allowed."
);

/// Checks a machine file with overrides (`key=value`) and gives it with all keys spelt out, and the core clock in Hz.
#[pyfunction]
pub fn resolve(text: &str, file: &str, overrides: Vec<String>) -> PyResult<(String, u64)> {
    let fail = |error: &dyn std::fmt::Display| ConfigurationError::new_err(error.to_string());
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|setting| Override::parse(setting))
        .collect::<Result<_, _>>()
        .map_err(|error| fail(&error))?;
    if x86::Config::is_of(text) {
        let config =
            x86::Config::from_toml(text, file, &overrides).map_err(|error| fail(&error))?;
        let whole = toml::to_string(&config).map_err(|error| fail(&error))?;
        return Ok((whole, config.core.clock));
    }
    if riscv::Config::is_of(text) {
        let config =
            riscv::Config::from_toml(text, file, &overrides).map_err(|error| fail(&error))?;
        let whole = toml::to_string(&config).map_err(|error| fail(&error))?;
        return Ok((whole, config.core.clock));
    }
    let config = MachineConfig::from_toml(text, file, &overrides).map_err(|error| fail(&error))?;
    let whole = toml::to_string(&config).map_err(|error| fail(&error))?;
    Ok((whole, config.core.clock))
}
