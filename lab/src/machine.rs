//! A machine with what is loaded into it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Guest, Limits, Session as Run, Stop, StopOf, snapshot};
use pagewalk_machine::config::{ConfigError, MachineConfig};
use pagewalk_machine::debug::{self, Debugged, Ended};
use pagewalk_machine::observe::Shown as _;
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::observe::tally::{Query, Row};
use pagewalk_machine::observe::trace::Window;
use pagewalk_machine::powerpc::loader::{Given, Protocol};
use pagewalk_machine::powerpc::session::Session as PowerPc;
use pagewalk_machine::riscv;
use pagewalk_machine::riscv::session::Session as RiscV;
use pagewalk_machine::x86;
use pagewalk_machine::x86::session::Session as X86;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::config::ConfigurationError;
use crate::events::{self, Event};

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A run of a machine of any architecture.
enum Session {
    PowerPc(Box<PowerPc>),
    X86(Box<X86>),
    RiscV(Box<RiscV>),
}

/// The same of all.
macro_rules! any {
    ($session:expr, $name:ident => $value:expr) => {
        match &mut *$session {
            Session::PowerPc($name) => $value,
            Session::X86($name) => $value,
            Session::RiscV($name) => $value,
        }
    };
}

impl Session {
    /// The number of a processor, by default of the one whose turn it is; ValueError if there is none.
    fn chosen(&mut self, processor: Option<usize>) -> PyResult<usize> {
        let (turn, count) = any!(self, session => {
            let machine = session.machine();
            let now = machine.processor().instant();
            (now.processor.into(), machine.processors().len())
        });
        let number = processor.unwrap_or(turn);
        if number < count {
            return Ok(number);
        }
        let all = if count == 1 {
            "its only one is 0".to_owned()
        } else {
            format!("it has 0 to {}", count - 1)
        };
        Err(refused(format!(
            "the machine has no processor {number}: {all}"
        )))
    }
}

/// A simulated computer. Its methods may be called from any thread, one at a time; `run` does not
/// hold the interpreter's lock, so that machines run beside one another.
#[pyclass(frozen, module = "pagewalk._machine")]
pub struct Machine {
    session: Mutex<Session>,
}

impl Machine {
    fn session(&self) -> MutexGuard<'_, Session> {
        // A panic inside a run has been reported as an exception already.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The group, its count, the sum and the histogram of what was measured.
type TallyRow = (Vec<String>, u64, u64, Vec<(u64, u64, u64)>);

fn counted<'py>(py: Python<'py>, counters: Vec<(String, u64)>) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, value) in counters {
        dictionary.set_item(name, value)?;
    }
    Ok(dictionary)
}

/// Kind, status, and a description of a stop. An exception stops only a program without a kernel, which the binding
/// does not run.
fn described<C: Guest>(session: &Run<C>, stop: &StopOf<C>) -> (&'static str, u32, String) {
    let (kind, status) = match stop.kind() {
        ("exception", _) => ("fatal", None),
        ("breakpoint" | "watchpoint", _) => ("limit", None),
        other => other,
    };
    (kind, status.unwrap_or(0), session.explain(stop))
}

fn name<C: Guest>(_: &Run<C>) -> &'static str {
    C::NAME
}

/// Waits for GDB on this port, and runs on when it detaches.
fn debugged<C: Guest + Debugged>(
    session: &mut Run<C>,
    port: u16,
    limits: Limits,
    announce: impl FnOnce(u16),
) -> PyResult<(&'static str, u32, String)> {
    session.listen_no_more();
    let served = debug::serve(session.machine_mut(), port, limits, announce);
    let stop = match served.map_err(|error| PyOSError::new_err(error.to_string()))? {
        Ended::Stopped(stop) => stop,
        Ended::Detached => session.run(limits),
        Ended::Killed => Stop::Limit,
    };
    Ok(described(session, &stop))
}

#[pymethods]
impl Machine {
    /// A machine from the text of a machine file with all keys, with a kernel, its command line and its initial
    /// RAM file system loaded; ValueError says what is wrong. `causes` is the text of a file that tells the causes of
    /// the kernel's code by names of its functions. `protocol` names what the kernel is handed: `device-tree`,
    /// `board-information` or `residual-data`. `firmware` starts the kernel of a RISC-V machine,
    /// and `disk` is the image of its disk, which is copied.
    #[new]
    #[pyo3(signature = (
        config, kernel, name, initrd, command_line, causes=None, protocol=None, firmware=None, disk=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the Python package gives them their names"
    )]
    fn new(
        config: &str,
        kernel: &[u8],
        name: &str,
        initrd: Option<&[u8]>,
        command_line: &str,
        causes: Option<&str>,
        protocol: Option<&str>,
        firmware: Option<&[u8]>,
        disk: Option<&[u8]>,
    ) -> PyResult<Self> {
        let wrong = |error: ConfigError| ConfigurationError::new_err(error.to_string());
        if riscv::Config::is_of(config) {
            if protocol.is_some() {
                return Err(refused("protocol: a RISC-V kernel is handed a device tree"));
            }
            let config = riscv::Config::from_toml(config, "machine", &[]).map_err(wrong)?;
            let given = riscv::session::Given {
                firmware: firmware.map(|bytes| (bytes, "the firmware")),
                initramfs: initrd,
                disk,
                arguments: command_line,
            };
            let console = Console::memory();
            let session = RiscV::with_riscv_kernel(&config, (kernel, name), &given, console);
            return Ok(Machine {
                session: Mutex::new(Session::RiscV(Box::new(session.map_err(refused)?))),
            });
        }
        if firmware.is_some() || disk.is_some() {
            return Err(refused(
                "firmware and disk: only a RISC-V machine is given them",
            ));
        }
        if x86::Config::is_of(config) {
            if protocol.is_some() {
                return Err(refused(
                    "protocol: an x86 kernel is handed Multiboot's information",
                ));
            }
            let config = x86::Config::from_toml(config, "machine", &[]).map_err(wrong)?;
            let causes = causes.map(|text| (text, "causes"));
            let given = (kernel, name);
            let console = Console::memory();
            let session = X86::with_kernel(&config, given, causes, initrd, command_line, console)
                .map_err(refused)?;
            return Ok(Machine {
                session: Mutex::new(Session::X86(Box::new(session))),
            });
        }
        let config = MachineConfig::from_toml(config, "machine", &[]).map_err(wrong)?;
        let protocol = protocol.map(str::parse::<Protocol>).transpose();
        let given = Given {
            protocol: protocol.map_err(|allowed| refused(format!("protocol: {allowed}")))?,
            initramfs: initrd,
            arguments: command_line,
            ..Given::default()
        };
        let causes = causes.map(|text| (text, "causes"));
        let console = Console::memory();
        let session = PowerPc::with_causes(config, (kernel, name), causes, &given, console);
        let session = session.map_err(refused)?;
        Ok(Machine {
            session: Mutex::new(Session::PowerPc(Box::new(session))),
        })
    }

    /// Notes of the loader for the user: what it chose by the kernel's image, and what the kernel may lack.
    #[getter]
    fn notes(&self) -> Vec<String> {
        any!(self.session(), session => session.notes().to_vec())
    }

    /// The machine that `save` wrote; ValueError says why they are no snapshot. `name` stands for them in messages.
    #[staticmethod]
    fn restore(py: Python<'_>, snapshot: &[u8], name: &str) -> PyResult<Self> {
        let session = py.detach(|| {
            let console = Console::memory();
            Ok::<_, PyErr>(match snapshot::architecture(snapshot) {
                Some("x86") => {
                    let session = X86::restore(snapshot, name, console).map_err(refused)?;
                    Session::X86(Box::new(session))
                }
                Some("RISC-V") => {
                    let session = RiscV::restore(snapshot, name, console).map_err(refused)?;
                    Session::RiscV(Box::new(session))
                }
                _ => {
                    let session = PowerPc::restore(snapshot, name, console).map_err(refused)?;
                    Session::PowerPc(Box::new(session))
                }
            })
        })?;
        Ok(Machine {
            session: Mutex::new(session),
        })
    }

    /// The whole state now, for `restore`: from there on cycles and counters go on the same.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = py.detach(|| {
            let saved = any!(self.session(), session => session.save());
            saved.map_err(refused)
        })?;
        Ok(PyBytes::new(py, &saved))
    }

    /// Charges every cycle from now on to its function; with a region, every cycle inside it.
    #[pyo3(signature = (region=None))]
    fn record_profile(&self, region: Option<u32>) {
        any!(self.session(), session => session.record_profile(region));
    }

    /// Records the events of a window of cycles, written `a..b`, `a..` or `..b`.
    fn record_trace(&self, window: &str) -> PyResult<()> {
        let window: Window = window.parse().map_err(|error: String| refused(error))?;
        any!(self.session(), session => session.record_trace(window));
        Ok(())
    }

    /// As `record_trace`, but only what concerns translation: TLB misses with the steps of their walks, code that
    /// flushes, switches of address spaces, regions.
    fn record_translation(&self, window: &str) -> PyResult<()> {
        let window: Window = window.parse().map_err(|error: String| refused(error))?;
        any!(self.session(), session => session.record_translation(window));
        Ok(())
    }

    /// Switches sanitizers on: `all`, or a list of `translation`, `reuse`, `fetch`.
    fn sanitize(&self, set: &str) -> PyResult<()> {
        let set: SanitizerSet = set.parse().map_err(|error: String| refused(error))?;
        any!(self.session(), session => session.sanitize(set)).map_err(refused)
    }

    /// Whether the first finding of the sanitizer `translation` ends the run, as it does by default. To be called
    /// behind `sanitize`.
    fn set_sanitizer_stops(&self, stops: bool) {
        any!(self.session(), session => session.set_sanitizer_stops(stops));
    }

    /// What the sanitizer `translation` has counted, its findings as JSON text, and what it had to leave out, in words.
    fn findings(&self) -> (Vec<(&'static str, u64)>, Vec<String>, Option<String>) {
        any!(self.session(), session => {
            let (findings, left_out) = session.findings();
            (
                session.sanitizer_counts(),
                findings.iter().map(ToString::to_string).collect(),
                left_out,
            )
        })
    }

    /// Collects, from now on, the events that satisfy all of these, for `heard`: kinds and causes by name (none: all),
    /// the first and last address, an address space, MSR\[PR\]; of them each `every`-th. `run` stops when `batch` of
    /// them have come. ValueError says what is wrong.
    #[pyo3(signature = (kinds, addresses, context, causes, user, every, batch))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the Python package gives them their names"
    )]
    fn listen(
        &self,
        kinds: Vec<String>,
        addresses: (u32, u32),
        context: Option<u32>,
        causes: Vec<String>,
        user: Option<bool>,
        every: u64,
        batch: usize,
    ) -> PyResult<()> {
        let names = any!(self.session(), session => session.causes().clone());
        let filter = events::filter(&kinds, addresses, context, &causes, &names, user, every)?;
        let batch = events::batch(batch)?;
        any!(self.session(), session => session.listen(filter, batch));
        Ok(())
    }

    /// Takes the events that came since the last call, in order.
    fn heard(&self) -> Vec<Event> {
        any!(self.session(), session => events::heard(session))
    }

    /// Counts, from now on, what the queries ask for; with a region, only inside of that. Gives for each query the
    /// names of its groups' parts, and of what it measures. ValueError says what is wrong.
    #[pyo3(signature = (queries, region = None))]
    fn tally(
        &self,
        queries: Vec<String>,
        region: Option<u32>,
    ) -> PyResult<Vec<(Vec<&'static str>, Option<&'static str>)>> {
        let parsed: Result<Vec<Query>, String> = queries
            .iter()
            .map(|text| text.parse().map_err(|why| format!("\"{text}\": {why}")))
            .collect();
        let parsed = parsed.map_err(refused)?;
        let names = parsed.iter().map(|query| (query.keys(), query.measured()));
        let names = names.collect();
        any!(self.session(), session => session.tally(parsed, region)).map_err(refused)?;
        Ok(names)
    }

    /// What the queries of `tally` have counted: for each its rows, and how many events belong to groups beyond the
    /// limit. A row is the group, a count, the sum of what was measured, and its histogram: smallest and largest size,
    /// and how many were in between.
    /// ValueError if a query names a program that has not run.
    fn tallied(&self) -> PyResult<Vec<(Vec<TallyRow>, u64)>> {
        let tallied = any!(self.session(), session => session.tallied()).map_err(refused)?;
        let row = |row: Row| (row.group, row.count, row.sum, row.histogram);
        Ok(tallied
            .into_iter()
            .map(|(rows, others)| (rows.into_iter().map(row).collect(), others))
            .collect())
    }

    /// Writes down, from now on, every instruction and its accesses in a format, `champsim` or `drmemtrace`: `count`
    /// instructions at most. `run` stops when a batch is full (`batch`). ValueError says what is wrong.
    fn record_accesses(&self, format: &str, count: u64) -> PyResult<()> {
        let format = format.parse().map_err(|why: String| refused(why))?;
        any!(self.session(), session => session.record_accesses(format, count)).map_err(refused)
    }

    /// How many instructions were written.
    fn recorded(&self) -> u64 {
        any!(self.session(), session => session.recorded())
    }

    /// Takes the bytes since the last call, and a line of JSON for each thing that the format has no place for: of each
    /// file, of which ChampSim has one for each processor. `ended`: nothing follows.
    fn take_accesses<'py>(
        &self,
        py: Python<'py>,
        ended: bool,
    ) -> Vec<(Bound<'py, PyBytes>, Vec<String>)> {
        let taken = any!(self.session(), session => session.take_accesses(ended));
        let files = taken.into_iter();
        files
            .map(|(bytes, lines)| (PyBytes::new(py, &bytes), lines))
            .collect()
    }

    /// Runs until the guest stops, or until that many cycles or instructions since reset.
    ///
    /// Gives the kind of stop (`power-off`, `limit`, `fatal`, `batch`: see `listen`), the guest's status, and the stop
    /// in words.
    fn run(&self, py: Python<'_>, cycles: u64, instructions: u64) -> (&'static str, u32, String) {
        py.detach(|| {
            let limits = Limits {
                cycles,
                instructions,
            };
            any!(self.session(), session => {
                let stop = session.run(limits);
                described(session, &stop)
            })
        })
    }

    /// Waits for GDB on a TCP port of this computer and runs under its control; as `run` when GDB detaches.
    /// `announce` is called with the port as soon as GDB can connect: port 0 asks for any free one.
    fn serve_gdb(
        &self,
        py: Python<'_>,
        port: u16,
        instructions: u64,
        announce: Py<PyAny>,
    ) -> PyResult<(&'static str, u32, String)> {
        py.detach(|| {
            let mut session = self.session();
            let limits = Limits {
                cycles: u64::MAX,
                instructions,
            };
            let mut announced = Ok(());
            let tell = |port| {
                announced = Python::attach(|py| announce.call1(py, (port,)).map(drop));
            };
            let told = any!(session, session => debugged(session, port, limits, tell));
            let told = told?;
            announced?;
            Ok(told)
        })
    }

    /// Input for the serial line.
    fn type_in(&self, bytes: &[u8]) {
        any!(self.session(), session => session.type_in(bytes));
    }

    /// What the guest printed on the serial line, from that byte on.
    #[pyo3(signature = (start = 0))]
    fn printed<'py>(&self, py: Python<'py>, start: usize) -> Bound<'py, PyBytes> {
        any!(self.session(), session => {
            PyBytes::new(py, session.printed().get(start..).unwrap_or_default())
        })
    }

    /// The name of the architecture, as in the lab: `PowerPC`, `x86` or `RISC-V`.
    #[getter]
    fn architecture(&self) -> &'static str {
        any!(self.session(), session => name(session))
    }

    /// The core clock in Hz.
    #[getter]
    fn clock(&self) -> u64 {
        any!(self.session(), session => session.machine().shape().clock)
    }

    /// The cycles after which a run with this limit of instructions ends too, since a guest may sleep without end.
    fn most_cycles(&self, instructions: u64) -> u64 {
        any!(self.session(), session => {
            Limits::most_cycles(instructions, session.machine().shape().clock)
        })
    }

    /// Core cycles since reset.
    #[getter]
    fn cycles(&self) -> u64 {
        any!(self.session(), session => session.machine().instant().cycles)
    }

    /// Completed instructions since reset.
    #[getter]
    fn instructions(&self) -> u64 {
        any!(self.session(), session => session.machine().instant().instructions)
    }

    /// Every counter by its name.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counted(py, any!(self.session(), session => session.counters()))
    }

    /// As `counters`, of each processor.
    fn counters_of_each<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let each = any!(self.session(), session => session.counters_of_each());
        each.into_iter()
            .map(|counters| counted(py, counters))
            .collect()
    }

    /// The counters of every region of interest that was left, by its number.
    fn regions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let regions = PyDict::new(py);
        any!(self.session(), session => {
            for (number, region) in session.regions() {
                regions.set_item(number, counted(py, session.named(&region.counters))?)?;
            }
        });
        Ok(regions)
    }

    /// How many processors there are.
    #[getter]
    fn processors(&self) -> usize {
        any!(self.session(), session => session.machine().processors().len())
    }

    /// The state of translation and caches now, as JSON: of the processor with this number, or of the one whose turn it
    /// is.
    #[pyo3(signature = (label, processor = None))]
    fn dump(&self, label: u32, processor: Option<usize>) -> PyResult<String> {
        let mut session = self.session();
        let number = session.chosen(processor)?;
        Ok(any!(session, session => session.dump(label)[number].to_json().to_string()))
    }

    /// The same without the caches' lines.
    #[pyo3(signature = (label, processor = None))]
    fn dump_translation(&self, label: u32, processor: Option<usize>) -> PyResult<String> {
        let mut session = self.session();
        let number = session.chosen(processor)?;
        Ok(any!(session, session => session.dump_translation(label)[number].to_json().to_string()))
    }

    /// Switches the machine's shortcuts off, or on again.
    fn set_oracle(&self, on: bool) {
        any!(self.session(), session => session.set_oracle(on));
    }

    /// Keeps the state of each processor, without the caches' lines, where the guest begins and ends this region.
    fn dump_at_region(&self, number: u32) {
        any!(self.session(), session => session.dump_at_region(number));
    }

    /// The states of the last whole pass through that region, each as JSON: where it began, of each processor in order,
    /// then where it ended.
    fn region_states(&self) -> Vec<String> {
        any!(self.session(), session => {
            let states = session.region_states().iter();
            states.map(|state| state.to_json().to_string()).collect()
        })
    }

    /// The dumps that the guest asked for, each as JSON; of several processors, one of each in order.
    fn dumps(&self) -> Vec<String> {
        any!(self.session(), session => {
            let dumps = session.dumps().iter();
            dumps.map(|dump| dump.to_json().to_string()).collect()
        })
    }

    /// The profile: program, mode, cause, function, cycles, instructions; the most cycles first.
    fn profile(&self) -> Vec<(String, String, String, String, u64, u64)> {
        any!(self.session(), session => session.profile())
            .into_iter()
            .map(|row| {
                (
                    row.program,
                    row.mode,
                    row.cause,
                    row.function,
                    row.cycles,
                    row.instructions,
                )
            })
            .collect()
    }

    /// The profile by call stacks: program, functions from the outermost (those of the kernel end in `_[k]`), cause,
    /// cycles, instructions.
    fn profile_stacks(&self) -> Vec<(String, Vec<String>, String, u64, u64)> {
        any!(self.session(), session => session.profile_stacks())
            .into_iter()
            .map(|row| {
                (
                    row.program,
                    row.frames,
                    row.cause,
                    row.cycles,
                    row.instructions,
                )
            })
            .collect()
    }

    /// The profile as folded stacks, the input of flame-graph programs.
    fn profile_folded(&self) -> String {
        any!(self.session(), session => session.profile_folded())
    }

    /// The recorded window in the JSON form that Perfetto reads.
    fn trace(&self) -> String {
        any!(self.session(), session => session.trace().to_string())
    }

    /// How many events were recorded.
    fn trace_len(&self) -> usize {
        any!(self.session(), session => session.trace_len())
    }

    /// So many recorded events from number `start` on, as a JSON list. They are those of `trace`, without the names of
    /// tracks.
    fn trace_events(&self, start: usize, count: usize) -> String {
        let range = start..start.saturating_add(count);
        let events = any!(self.session(), session => session.trace_events(range));
        let texts: Vec<String> = events.iter().map(ToString::to_string).collect();
        format!("[{}]", texts.join(","))
    }

    /// What the trace had to leave out because of its limits, in words.
    fn trace_limits(&self) -> Vec<String> {
        any!(self.session(), session => session.trace_limits())
    }
}
