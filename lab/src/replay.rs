//! A replay of a trace that another tool has recorded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pagewalk_machine::config::{ConfigError, MachineConfig};
use pagewalk_machine::replay::{
    Format, PageRule, PageRules, Part, Reader, Record, Replay as Run, SideEvent,
};
use pagewalk_machine::{powerpc, riscv, x86};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::config::ConfigurationError;

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A machine of either architecture.
enum Machine {
    PowerPc(Box<Run<powerpc::Processor>>),
    X86(Box<Run<x86::Processor>>),
}

/// The same of both.
macro_rules! both {
    ($machine:expr, $name:ident => $value:expr) => {
        match $machine {
            Machine::PowerPc($name) => $value,
            Machine::X86($name) => $value,
        }
    };
}

struct State {
    machine: Machine,
    reader: Reader,
}

/// A trace on its way through a machine.
#[pyclass(frozen, module = "pagewalk._machine")]
pub struct Replay {
    state: Mutex<State>,
}

#[pymethods]
impl Replay {
    /// A machine from the text of a machine file with all keys, for a trace in `format`. `pages` are rules such as
    /// `4M` or `0x400000-0x800000=4M`; addresses from `shared_from` on belong to all address spaces. Of the
    /// instructions, `skip` are left out, then `warmup` are replayed and not counted, then `count` are counted at
    /// most. `events` are those of a side file: before which instruction, `switch`, `invalidate` or `flush`, and its
    /// number; `large` its pages of other sizes than 4 KB, address and bytes. ValueError says what is wrong.
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "the Python package gives them their names"
    )]
    fn new(
        config: &str,
        format: &str,
        pages: Vec<String>,
        shared_from: Option<u64>,
        skip: u64,
        warmup: u64,
        count: u64,
        events: Vec<(u64, String, u64)>,
        large: Vec<(u64, u32)>,
    ) -> PyResult<Self> {
        let format: Format = format.parse().map_err(|why: String| refused(why))?;
        let rules: Result<Vec<PageRule>, String> = pages.iter().map(|rule| rule.parse()).collect();
        let rules = PageRules::new(rules.map_err(refused)?, shared_from).with_told(large);
        let part = Part {
            skip,
            warmup,
            count,
        };
        let events = events.into_iter().map(|(at, kind, value)| {
            let event = match &kind[..] {
                "switch" => SideEvent::Switch(value as u32),
                "invalidate" => SideEvent::Invalidate(value),
                _ => SideEvent::Flush,
            };
            (at, event)
        });
        let wrong = |error: ConfigError| ConfigurationError::new_err(error.to_string());
        if riscv::Config::is_of(config) {
            return Err(refused(
                "RISC-V machines replay no traces: name another one",
            ));
        }
        let mut machine = if x86::Config::is_of(config) {
            let config = x86::Config::from_toml(config, "machine", &[]).map_err(wrong)?;
            Machine::X86(Box::new(Run::new(&config, rules, part).map_err(refused)?))
        } else {
            let config = MachineConfig::from_toml(config, "machine", &[]).map_err(wrong)?;
            Machine::PowerPc(Box::new(Run::new(&config, rules, part).map_err(refused)?))
        };
        both!(&mut machine, run => run.set_events(events.collect()));
        let reader = Reader::new(format);
        Ok(Replay {
            state: Mutex::new(State { machine, reader }),
        })
    }

    /// Replays the next piece of the trace, of any length. False: no more is wanted.
    fn feed(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<bool> {
        py.detach(|| {
            let mut state = self.state();
            let State { machine, reader } = &mut *state;
            both!(machine, run => {
                let mut take = |record: &Record| run.take(record).map(|()| !run.is_over());
                reader.feed(bytes, &mut take)
            })
        })
        .map_err(refused)
    }

    /// The trace has ended; ValueError if it was cut, or if nothing of it counts. `whole`: all of it was fed.
    fn finish(&self, whole: bool) -> PyResult<()> {
        let state = self.state();
        if whole {
            state.reader.finish().map_err(refused)?;
        }
        both!(&state.machine, run => run.finish()).map_err(refused)
    }

    /// Every counter by its name, without the warm-up.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dictionary = PyDict::new(py);
        for (name, value) in both!(&mut self.state().machine, run => run.counters()) {
            dictionary.set_item(name, value)?;
        }
        Ok(dictionary)
    }

    /// What was replayed, without the warm-up: numbers by name.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (totals, (pages, moved)) =
            both!(&self.state().machine, run => (run.totals(), run.touched()));
        let dictionary = PyDict::new(py);
        for (name, value) in [
            ("instructions", totals.instructions),
            ("loads", totals.loads),
            ("stores", totals.stores),
            ("switches", totals.switches),
            ("invalidations", totals.invalidations),
            ("reloads", totals.reloads),
            ("pages", pages as u64),
            ("areas_moved", moved as u64),
        ] {
            dictionary.set_item(name, value)?;
        }
        Ok(dictionary)
    }
}

impl Replay {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic inside a run has been reported as an exception already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
