//! The machine as a Python module: `pagewalk._machine`.

use pyo3::prelude::*;

#[pymodule]
mod _machine {
    use super::*;

    /// The version of the machine that a result was simulated with.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
