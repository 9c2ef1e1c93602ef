//! One run of one machine, from its machine file to its counters. The command line and the Python package use it.
//!
//! ```no_run
//! use std::path::Path;
//! use pagewalk_machine::board::Console;
//! use pagewalk_machine::config::{MachineConfig, Override};
//! use pagewalk_machine::machine::Limits;
//! use pagewalk_machine::session::Session;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let smaller = Override::parse("tlb.data.entries=32")?;
//! let config = MachineConfig::from_file(Path::new("machines/ppc604-185.toml"), &[smaller])?;
//! let kernel = std::fs::read("vmlinux")?;
//! let mut session =
//!     Session::with_kernel(config, &kernel, "vmlinux", None, "quiet", Console::memory())?;
//! session.record_profile(None);
//! let stop = session.run(Limits::NONE);
//! println!("{}", session.explain(&stop));
//! for (name, value) in session.counters() {
//!     println!("{name} {value}");
//! }
//! # Ok(())
//! # }
//! ```

use std::ops::Range;

use serde_json::{Value, json};

use crate::board::Console;
use crate::computer::Limits;
use crate::config::{BoardKind, ConfigError, MachineConfig};
use crate::loader::{Boot, CauseRange, ElfImage, Given, LoadError};
use crate::machine::{Fatal, Machine, Stop};
use crate::observe::LastPass;
use crate::observe::causes::causes_by_symbols;
use crate::observe::dump::StateDump;
use crate::observe::listener::{Filter, Heard, Listener};
use crate::observe::profile::{Profile, ProfileRow, StackRow};
use crate::observe::regions::Region;
use crate::observe::sanitizers::SanitizerSet;
use crate::observe::silence;
use crate::observe::symbolize::Symbolizer;
use crate::observe::tlb_events::TlbNote;
use crate::observe::trace::{Trace, Window};
use crate::powerpc::{Vector, msr};
use crate::processor::Processor;
use crate::snapshot::{self, SnapshotError};

/// Why a session could not begin or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A shape that the checks of the machine file accept but the hardware models refuse.
    #[error("machine: {0}")]
    Machine(String),
}

/// A machine, the programs loaded into it, and its observers.
pub struct Session {
    machine: Machine,
    /// The symbols of the boot image; a snapshot contains them.
    causes: Vec<CauseRange>,
    /// What the loader chose by the image, and what the image may lack.
    notes: Vec<String>,
}

impl Session {
    /// Makes a machine with the memory contents that `boot` places; [`Session::run`] begins at the entry of `boot`.
    ///
    /// # Errors
    /// When the hardware models refuse a shape.
    pub fn new(config: MachineConfig, boot: &Boot, console: Console) -> Result<Self, SessionError> {
        let mut machine = Machine::new(config, boot, console).map_err(SessionError::Machine)?;
        let symbols = boot.symbols.clone().with_labels(&vectors(machine.config()));
        machine.processor_mut().observers.symbols = Symbolizer::new(symbols);
        Ok(Session {
            machine,
            causes: boot.causes.clone(),
            notes: boot.notes.clone(),
        })
    }

    /// Makes a machine with a kernel or a bare-metal program, its initramfs and its command line. Messages call the
    /// kernel `name`. The symbols of the programs in the initramfs become known.
    ///
    /// # Errors
    /// When the image is not a static big-endian PowerPC executable, or RAM is too small.
    pub fn with_kernel(
        config: MachineConfig,
        kernel: &[u8],
        name: &str,
        initramfs: Option<&[u8]>,
        arguments: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        let given = Given {
            initramfs,
            arguments,
            ..Given::default()
        };
        Self::with_causes(config, (kernel, name), None, &given, console)
    }

    /// As [`Session::with_kernel`], with all that a kernel can be given. `causes` is the text and the name of a file
    /// that gives the causes of the kernel's code.
    ///
    /// # Errors
    /// As [`Session::with_kernel`] and [`causes_by_symbols`].
    pub fn with_causes(
        config: MachineConfig,
        (kernel, name): (&[u8], &str),
        causes: Option<(&str, &str)>,
        given: &Given,
        console: Console,
    ) -> Result<Self, SessionError> {
        let mut image = ElfImage::parse(kernel, name)?;
        if let Some((text, file)) = causes {
            let line = config.cache.instruction.line;
            image.causes = causes_by_symbols(text, file, &image, line)?;
        }
        let boot = Boot::kernel(&config, &image, given)?;
        let mut session = Self::new(config, &boot, console)?;
        if let Some(archive) = given.initramfs {
            session
                .machine
                .processor_mut()
                .observers
                .symbols
                .add_archive(archive);
        }
        Ok(session)
    }

    /// Makes a machine with a raw ROM image; it begins at the reset vector, 0xfff00100.
    ///
    /// # Errors
    /// When the image is empty or larger than the ROM.
    pub fn with_rom(
        config: MachineConfig,
        image: &[u8],
        name: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        Self::new(config, &Boot::rom(image, name)?, console)
    }

    /// Makes a machine that continues from the point where [`Session::save`] was called. Messages call the snapshot
    /// `name`.
    ///
    /// # Errors
    /// When the bytes are no snapshot, or a damaged one.
    pub fn restore(bytes: &[u8], name: &str, console: Console) -> Result<Self, SessionError> {
        let (machine, causes) = snapshot::restore(bytes, name, console)?;
        Ok(Session {
            machine,
            causes,
            notes: Vec::new(),
        })
    }

    /// Saves the machine's state, to be restored later. A restored machine continues with the same cycles and counters.
    ///
    /// # Errors
    /// When the state cannot be serialized. No state of a machine is known to cause this.
    pub fn save(&mut self) -> Result<Vec<u8>, SessionError> {
        Ok(snapshot::save(&mut self.machine, &self.causes)?)
    }

    /// Makes the functions of a program known to profile, trace and messages, for every program that runs under this
    /// file name.
    ///
    /// # Errors
    /// When `elf` is not a static big-endian PowerPC executable.
    pub fn add_symbols(&mut self, path: &str, elf: &[u8]) -> Result<(), SessionError> {
        let image = ElfImage::parse(elf, path)?;
        self.machine.processor_mut().observers.symbols.add_program(
            path,
            image.symbols,
            image.entry,
        );
        Ok(())
    }

    /// Begins a profile: charges every cycle to its function. With a region, only the cycles inside of it.
    pub fn record_profile(&mut self, region: Option<u32>) {
        self.machine.processor_mut().observers.profile = Some(Profile::new(region));
        self.machine.processor_mut().state_changed();
    }

    /// Records the events of a window of cycles.
    pub fn record_trace(&mut self, window: Window) {
        self.record(Trace::new(window));
    }

    /// As [`Session::record_trace`], but only what concerns translation: TLB misses with the steps of their walks, code
    /// that flushes, switches of address spaces, regions.
    pub fn record_translation(&mut self, window: Window) {
        self.record(Trace::of_translation(window));
    }

    fn record(&mut self, mut trace: Trace) {
        let several = self.machine.processors().len();
        self.machine.each(|processor| {
            processor.account.tlb = TlbNote::of_walks();
            processor.state_changed();
        });
        let processor = self.machine.processor_mut();
        trace.begin(several, processor.instant().processor);
        processor.observers.trace = Some(trace);
    }

    /// Tells a listener, from now on, of the events that pass the filter, in batches of `batch`. [`Session::run`] stops
    /// when one is full.
    pub fn listen(&mut self, filter: Filter, batch: usize) {
        self.machine.each(|processor| {
            let note = &mut processor.account.tlb;
            (note.miss, note.load) = (None, None);
        });
        let several = self.machine.processors().len();
        let processor = self.machine.processor_mut();
        let number = processor.instant().processor;
        processor.observers.listener = Some(Listener::new(filter, batch, several, number));
    }

    /// Ends what [`Session::listen`] began.
    pub fn listen_no_more(&mut self) {
        self.machine.processor_mut().observers.listener = None;
    }

    /// Takes the events since the last call, in order.
    pub fn heard(&mut self) -> Vec<Heard> {
        let listener = &mut self.machine.processor_mut().observers.listener;
        listener.as_mut().map_or_else(Vec::new, Listener::take)
    }

    /// Switches sanitizers on. Their first report ends the run. Sanitizers that were on when a snapshot was taken
    /// continue with the state that the snapshot holds.
    pub fn sanitize(&mut self, set: SanitizerSet) {
        self.machine.sanitize(set);
    }

    /// With the oracle every access looks up TLB and caches. This is slow; the fast paths are checked against it.
    pub fn set_oracle(&mut self, on: bool) {
        self.machine.set_oracle(on);
    }

    /// Runs until the guest stops or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> Stop {
        self.machine.run(limits)
    }

    /// The machine itself, for operations that a session does not offer.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, to change it.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Notes of the loader for the user: what it chose by the kernel's image, and what the kernel may lack.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Everything the guest printed on the serial line.
    #[must_use]
    pub fn printed(&self) -> &[u8] {
        self.machine.uncore().board.console().printed()
    }

    /// Input for the serial line; the guest reads it as fast as it can.
    pub fn type_in(&mut self, bytes: &[u8]) {
        let now = self.machine.instant().cycles;
        let uncore = self.machine.uncore_mut();
        uncore.board.console_mut().type_in(bytes);
        uncore.poll_devices(now);
        self.machine.processor_mut().state_changed();
    }

    /// Every counter with its name (docs/interfaces.md, section 7).
    #[must_use]
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.machine.counters().named()
    }

    /// As [`Session::counters`], of each processor. A machine with one has the same there.
    #[must_use]
    pub fn counters_of_each(&self) -> Vec<Vec<(String, u64)>> {
        let all = self.machine.processors().iter();
        all.map(|processor| processor.account.counters.named())
            .collect()
    }

    /// Regions of interest that were left at least once, by number.
    pub fn regions(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.machine.processor().observers.regions.iter()
    }

    /// The profile, the most cycles first; empty without [`Session::record_profile`].
    #[must_use]
    pub fn profile(&self) -> Vec<ProfileRow> {
        let observers = &self.machine.processor().observers;
        observers
            .profile
            .as_ref()
            .map_or_else(Vec::new, |profile| profile.rows(&observers.symbols))
    }

    /// The profile by call stacks; empty without [`Session::record_profile`].
    #[must_use]
    pub fn profile_stacks(&self) -> Vec<StackRow> {
        let observers = &self.machine.processor().observers;
        observers
            .profile
            .as_ref()
            .map_or_else(Vec::new, |profile| profile.stacks(&observers.symbols))
    }

    /// The profile as folded stacks.
    #[must_use]
    pub fn profile_folded(&self) -> String {
        let observers = &self.machine.processor().observers;
        observers
            .profile
            .as_ref()
            .map_or_else(String::new, |profile| profile.folded(&observers.symbols))
    }

    /// The profile's first `lines` functions as a table.
    #[must_use]
    pub fn profile_table(&self, lines: usize) -> String {
        let observers = &self.machine.processor().observers;
        observers
            .profile
            .as_ref()
            .map_or_else(String::new, |profile| {
                profile.table(&observers.symbols, lines)
            })
    }

    /// The event trace for Perfetto; `null` without [`Session::record_trace`].
    #[must_use]
    pub fn trace(&self) -> Value {
        let observers = &self.machine.processor().observers;
        let clock = self.machine.config().core.clock;
        observers.trace.as_ref().map_or(Value::Null, |trace| {
            trace.to_json(&observers.symbols, clock)
        })
    }

    /// How many events the trace has.
    #[must_use]
    pub fn trace_len(&self) -> usize {
        let observers = &self.machine.processor().observers;
        observers.trace.as_ref().map_or(0, Trace::len)
    }

    /// The trace's events with these numbers, as [`Session::trace`] has them.
    #[must_use]
    pub fn trace_events(&self, range: Range<usize>) -> Vec<Value> {
        let observers = &self.machine.processor().observers;
        let clock = self.machine.config().core.clock;
        observers.trace.as_ref().map_or_else(Vec::new, |trace| {
            trace.events(&observers.symbols, clock, range).collect()
        })
    }

    /// What the trace had to leave out, in words.
    #[must_use]
    pub fn trace_limits(&self) -> Vec<String> {
        let observers = &self.machine.processor().observers;
        observers
            .trace
            .as_ref()
            .map_or_else(Vec::new, Trace::limits)
    }

    /// The state of translation and caches now, of each processor.
    #[must_use]
    pub fn dump(&mut self, label: u32) -> Vec<StateDump> {
        self.machine.states(label, true)
    }

    /// The same without the caches.
    #[must_use]
    pub fn dump_translation(&mut self, label: u32) -> Vec<StateDump> {
        self.machine.states(label, false)
    }

    /// Keeps the state without the caches, labelled with this region, where the guest begins and ends it.
    pub fn dump_at_region(&mut self, number: u32) {
        self.machine.processor_mut().observers.region_states = Some(LastPass::of(number));
    }

    /// The states at both ends of the last whole pass through that region: those of its begin, one of each processor in
    /// order, then those of its end. Empty without such a pass.
    #[must_use]
    pub fn region_states(&self) -> &[StateDump] {
        let pass = &self.machine.processor().observers.region_states;
        pass.as_ref().map_or(&[], LastPass::states)
    }

    /// Dumps that the guest asked for through the control device; of several processors, one of each in order.
    #[must_use]
    pub fn dumps(&self) -> &[StateDump] {
        &self.machine.processor().observers.dumps
    }

    /// Counters, regions and the reason for the stop as one JSON object.
    #[must_use]
    pub fn report(&self, stop: &Stop) -> Value {
        let object = |counters: Vec<(String, u64)>| {
            Value::Object(
                counters
                    .into_iter()
                    .map(|(name, value)| (name, json!(value)))
                    .collect(),
            )
        };
        let regions: Vec<Value> = self
            .regions()
            .map(|(number, region)| {
                json!({
                    "number": number,
                    "passes": region.passes,
                    "counters": object(region.counters.named()),
                })
            })
            .collect();
        let (kind, status) = stop.kind();
        let mut report = json!({
            "clock_hz": self.machine.config().core.clock,
            "stop": {"kind": kind, "status": status, "message": self.explain(stop)},
            "counters": object(self.counters()),
            "regions": regions,
        });
        if self.machine.processors().len() > 1 {
            let each = self.counters_of_each().into_iter().map(object);
            report["processors"] = each.collect();
        }
        report
    }

    /// Requests of the guest that were refused, and output that was dropped, to keep memory use within its limit.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.machine.processor().observers.warnings();
        let dropped = self.machine.uncore().board.console().dropped();
        if dropped != 0 {
            warnings.push(format!(
                "{dropped}  bytes of the console's output were dropped"
            ));
        }
        warnings
    }

    /// Why the machine stopped, as text for a person, with the warnings. A fatal stop comes with PC, symbol and
    /// registers.
    #[must_use]
    pub fn explain(&self, stop: &Stop) -> String {
        let mut text = self.explain_stop(stop);
        if matches!(stop, Stop::Limit | Stop::Fatal(_)) {
            for number in self.held() {
                text += &format!("\nprocessor {number} was never started");
            }
        }
        let board = self.machine.config().board.kind;
        if matches!(stop, Stop::Limit | Stop::Fatal(_) | Stop::PowerOff { .. })
            && board != BoardKind::Prep
            && self.printed().is_empty()
        {
            let processor = self.machine.processor();
            let symbols = processor.observers.symbols.kernel();
            let ram = self.machine.uncore().ram.bytes();
            let node = board.tree().map(|tree| tree.stdout.1);
            text += &silence::explain(node, symbols, ram);
        }
        for warning in self.warnings() {
            text += "\nwarning: ";
            text += &warning;
        }
        text
    }

    fn explain_stop(&self, stop: &Stop) -> String {
        let now = self.machine.instant();
        match stop {
            Stop::PowerOff { status } => format!("power-off {status}"),
            Stop::Limit => format!(
                "limit: reached after {} cycles and {} instructions at {}",
                now.cycles,
                now.instructions,
                self.place(self.machine.processor().registers.pc)
            ),
            Stop::Batch => "the listener's batch is full".to_owned(),
            Stop::Breakpoint { address } => format!("breakpoint at {}", self.place(*address)),
            Stop::Watchpoint { address, write } => format!(
                "watchpoint: {} of {address:#010x} before {}",
                if *write { "write" } else { "read" },
                self.place(self.machine.processor().registers.pc)
            ),
            Stop::Exception(exception) => format!(
                "{} exception at {}",
                exception.vector().name(),
                self.place(self.machine.processor().registers.pc)
            ),
            Stop::Fatal(fatal) => {
                format!("fatal: {}\n{}", self.explain_fatal(fatal), self.registers())
            }
        }
    }

    fn explain_fatal(&self, fatal: &Fatal) -> String {
        match fatal {
            Fatal::NoHandler { vector, pc } => format!(
                "exception {} (vector {:#06x}), with SRR0 at {}, has no handler: there is no instruction that could run at {pc:#010x}",
                vector.name(),
                vector.offset(),
                self.place(self.machine.processor().registers.srr0),
            ),
            Fatal::Checkstop { pc, physical } => format!(
                "checkstop at {}: no device answers physical address {physical:#010x}, and MSR[ME] is clear",
                self.place(*pc)
            ),
            Fatal::LittleEndian { pc } => {
                format!(
                    "little-endian mode was entered at {}; this machine runs big-endian only",
                    self.place(*pc)
                )
            }
            Fatal::Asleep { pc } => format!(
                "asleep before {}: the processor saves power (MSR[POW]), and no interrupt can wake it",
                self.place(*pc)
            ),
            Fatal::Unanswered { pc, error } => format!("{error} at {}", self.place(*pc)),
            Fatal::Sanitizer { pc, report } => {
                format!("sanitizer at {}: {report}", self.place(*pc))
            }
        }
    }

    fn place(&self, pc: u32) -> String {
        let user = self.machine.processor().registers.msr & msr::PR != 0;
        let symbol = self
            .machine
            .processor()
            .observers
            .symbols
            .describe(pc, user);
        format!("{pc:#010x} <{symbol}>")
    }

    /// The processors that are held in reset.
    fn held(&self) -> impl Iterator<Item = usize> {
        let all = 0..self.machine.processors().len();
        all.filter(|&number| self.machine.is_held(number))
    }

    /// The registers as text: with several processors those of each that has been started, first of the one that
    /// stopped.
    #[must_use]
    pub fn registers(&self) -> String {
        let stopped = self.machine.processor();
        let all = self.machine.processors();
        if all.len() == 1 {
            return self.registers_of(stopped);
        }
        let number = |processor: &Processor| usize::from(processor.instant().processor);
        let others = (all.iter()).filter(|other| {
            number(other) != number(stopped) && !self.machine.is_held(number(other))
        });
        std::iter::once(stopped)
            .chain(others)
            .map(|processor| {
                format!(
                    "processor {}, cycle {}:\n{}",
                    number(processor),
                    processor.cycles(),
                    self.registers_of(processor)
                )
            })
            .collect()
    }

    fn registers_of(&self, processor: &Processor) -> String {
        let registers = &processor.registers;
        let mut text = format!(
            "pc {:08x} msr {:08x} cr {:08x} xer {:08x} lr {:08x} ctr {:08x}\n\
             srr0 {:08x} srr1 {:08x} dar {:08x} dsisr {:08x} lr in <{}>\n",
            registers.pc,
            registers.msr,
            registers.cr.word(),
            registers.xer.word(),
            registers.lr,
            registers.ctr,
            registers.srr0,
            registers.srr1,
            registers.dar,
            registers.dsisr,
            self.machine
                .processor()
                .observers
                .symbols
                .describe(registers.lr, registers.msr & msr::PR != 0),
        );
        for (row, values) in registers.gpr.all().chunks(8).enumerate() {
            text += &format!("r{:<3}", 8 * row);
            for value in values {
                text += &format!(" {value:08x}");
            }
            text.push('\n');
        }
        text
    }
}

/// Names for the exception vectors. A kernel that copies its handlers there has no symbols for them.
fn vectors(config: &MachineConfig) -> Vec<(u32, String)> {
    let core = config.core.kind.core();
    let own = |vector: &Vector| vector.exists(core.family);
    (Vector::ALL.into_iter().filter(own))
        .map(|vector| (vector.offset(), format!("vector {}", vector.name())))
        .collect()
}
