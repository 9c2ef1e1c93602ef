//! The machine as a Python module: `pagewalk._machine`.

mod config;
mod constants;
mod events;
mod machine;
mod replay;

use pyo3::prelude::*;

#[pymodule]
mod _machine {
    use super::*;

    #[pymodule_export]
    use super::config::{ConfigurationError, counter_names, resolve};
    #[pymodule_export]
    use super::constants::measure_constants;
    #[pymodule_export]
    use super::events::Event;
    #[pymodule_export]
    use super::machine::Machine;
    #[pymodule_export]
    use super::replay::Replay;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add(
            "VERSION",
            concat!(env!("CARGO_PKG_VERSION"), "+", env!("PAGEWALK_SOURCES")),
        )
    }
}
