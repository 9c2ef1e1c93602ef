//! One run of one x86 machine, from its machine file to its counters; as [`crate::session`] of a PowerPC machine.

use serde_json::{Value, json};

use super::config::Config;
use super::dump::Dump;
use super::exception::NAMES;
use super::machine::Machine;
use super::processor::Processor;
use super::registers::segment;
use super::stop::Stop;
use super::{linux, multiboot, snapshot};
use crate::board::{Board, Console};
use crate::loader::{CauseRange, ElfImage};
use crate::machine::Limits;
use crate::observe::causes::causes_by_symbols;
use crate::observe::counters::Counters;
use crate::observe::profile::{Profile, ProfileRow, StackRow};
use crate::observe::sanitizers::SanitizerSet;
use crate::observe::silence;
use crate::observe::symbolize::Symbolizer;
use crate::session::SessionError;

/// A machine, the programs loaded into it, and its observers.
pub struct Session {
    machine: Machine,
    causes: Vec<CauseRange>,
}

/// Names of counters that a PowerPC's walk of a hash table has otherwise. The others of that walk stay away.
const WALK: [(&str, &str); 4] = [
    ("hash.search", "walk.count"),
    ("hash.search.instruction", "walk.count.instruction"),
    ("hash.referenced", "walk.accessed"),
    ("hash.changed", "walk.dirty"),
];

/// Counters that no x86 machine moves.
const ABSENT: [&str; 9] = [
    "hash.",
    "exception.",
    "reservation.",
    "sync.",
    "tlb.l2.",
    "tlb.shadow.",
    "tlb.received",
    "tlb.retried",
    "walk.cache.",
];

/// Others have a meaning of their own here.
const RENAMED: [(&str, &str); 2] = [
    ("tlb.load", "tlb.flush"),
    ("tlb.taken", "tlb.flush.entries"),
];

/// Every counter with its name (docs/interfaces.md, section 7); without `exceptions`, none of them.
#[must_use]
pub fn named(counters: &Counters, exceptions: Option<&[u64; 256]>) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for (name, value) in counters.named() {
        let other = WALK
            .iter()
            .chain(&RENAMED)
            .find(|(theirs, _)| *theirs == name);
        if let Some((_, ours)) = other {
            all.push(((*ours).to_owned(), value));
        } else if !ABSENT.iter().any(|start| name.starts_with(start)) {
            all.push((name, value));
        }
    }
    for (vector, &count) in exceptions.into_iter().flatten().enumerate() {
        let name = match NAMES.get(vector) {
            Some(name) => format!("exception.{}", name.trim_start_matches('#').to_lowercase()),
            None => format!("interrupt.{vector}"),
        };
        all.push((name, count));
    }
    all
}

impl Session {
    /// Makes a machine with a Multiboot kernel or a Linux, its initramfs and its command line. Messages call the
    /// kernel `name`. `causes` is the text and the name of a file that gives the causes of the kernel's code.
    ///
    /// # Errors
    /// When the image is not a static i386 executable with a Multiboot header or of Linux, or RAM is too small.
    pub fn with_kernel(
        config: &Config,
        (kernel, name): (&[u8], &str),
        causes: Option<(&str, &str)>,
        initramfs: Option<&[u8]>,
        arguments: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        let mut image = ElfImage::parse_i386(kernel, name)?;
        if let Some((text, file)) = causes {
            image.causes = causes_by_symbols(text, file, &image, config.line())?;
        }
        let board = Board::pc(config, console);
        let mut machine =
            Machine::new(config, board, &image.causes).map_err(SessionError::Machine)?;
        if linux::is_linux(&image) && !multiboot::has_header(kernel) {
            linux::load(&mut machine, &image, initramfs, arguments)?;
        } else {
            multiboot::load(&mut machine, &image, kernel, initramfs, arguments)?;
        }
        let observers = &mut machine.processor_mut().observers;
        observers.symbols = Symbolizer::new(image.symbols);
        if let Some(archive) = initramfs {
            observers.symbols.add_archive(archive);
        }
        Ok(Session {
            machine,
            causes: image.causes,
        })
    }

    /// Makes a machine that continues from the point where [`Session::save`] was called. Messages call the snapshot
    /// `name`.
    ///
    /// # Errors
    /// When the bytes are no snapshot of an x86 machine, or a damaged one.
    pub fn restore(bytes: &[u8], name: &str, console: Console) -> Result<Self, SessionError> {
        let (machine, causes) = snapshot::restore(bytes, name, console)?;
        Ok(Session { machine, causes })
    }

    /// Saves the machine's state, to be restored later. A restored machine continues with the same cycles and counters.
    ///
    /// # Errors
    /// When the state cannot be written down. No state of a machine is known to cause this.
    pub fn save(&mut self) -> Result<Vec<u8>, SessionError> {
        Ok(snapshot::save(&mut self.machine, &self.causes)?)
    }

    /// Makes the functions of a program known, for every program that runs under this file name.
    ///
    /// # Errors
    /// When `elf` is not a static i386 executable.
    pub fn add_symbols(&mut self, path: &str, elf: &[u8]) -> Result<(), SessionError> {
        let image = ElfImage::parse_i386(elf, path)?;
        let observers = &mut self.machine.processor_mut().observers;
        (observers.symbols).add_program(path, image.symbols, image.entry);
        Ok(())
    }

    /// Begins a profile: charges every cycle to its function. With a region, only the cycles inside of it.
    pub fn record_profile(&mut self, region: Option<u32>) {
        self.machine.processor_mut().observers.profile = Some(Profile::new(region));
    }

    /// Switches sanitizers on: the first report ends the run. Frames that were freed before are not known of.
    ///
    /// # Errors
    /// When one is asked for that an x86 machine has not: its caches see every store to code, and no entry of its TLBs
    /// names an address space. All together mean the one that there is.
    pub fn sanitize(&mut self, set: SanitizerSet) -> Result<(), String> {
        let all = set.translation && set.fetch && set.vsid;
        if !all && (set.fetch || set.vsid) {
            return Err("an x86 machine has one sanitizer: translation".to_owned());
        }
        if set.translation {
            self.machine.sanitize();
        }
        Ok(())
    }

    /// With the oracle every block is decoded anew, and every access looks up TLB and caches.
    pub fn set_oracle(&mut self, on: bool) {
        self.machine.set_oracle(on);
    }

    /// Runs until the guest stops or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> Stop {
        self.machine.run(limits)
    }

    /// The machine itself.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, to change it.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Everything the guest printed on the serial line.
    #[must_use]
    pub fn printed(&self) -> &[u8] {
        self.machine.uncore().board.console().printed()
    }

    /// Input for the serial line.
    pub fn type_in(&mut self, bytes: &[u8]) {
        let now = self.machine.instant().cycles;
        let uncore = self.machine.uncore_mut();
        uncore.board.console_mut().type_in(bytes);
        uncore.poll_devices(now);
    }

    /// Every counter with its name.
    #[must_use]
    pub fn counters(&self) -> Vec<(String, u64)> {
        let mut exceptions = [0; 256];
        for processor in self.machine.processors() {
            for (sum, count) in exceptions.iter_mut().zip(processor.exceptions.iter()) {
                *sum += count;
            }
        }
        named(&self.machine.counters(), Some(&exceptions))
    }

    /// As [`Session::counters`], of each processor.
    #[must_use]
    pub fn counters_of_each(&self) -> Vec<Vec<(String, u64)>> {
        let all = self.machine.processors().iter();
        all.map(|processor| named(&processor.account.counters, Some(&processor.exceptions)))
            .collect()
    }

    /// The profile, the most cycles first; empty without [`Session::record_profile`].
    #[must_use]
    pub fn profile(&self) -> Vec<ProfileRow> {
        self.of_profile(|profile, symbols| profile.rows(symbols))
    }

    /// The profile by call stacks, each of one function: calls are not followed.
    #[must_use]
    pub fn profile_stacks(&self) -> Vec<StackRow> {
        self.of_profile(|profile, symbols| profile.stacks(symbols))
    }

    /// Counters of each region of interest that was left at least once, by number. No exceptions are counted there.
    #[must_use]
    pub fn regions(&self) -> Vec<(u32, Vec<(String, u64)>)> {
        let regions = self.machine.processor().observers.regions.iter();
        regions
            .map(|(number, region)| (number, named(&region.counters, None)))
            .collect()
    }

    /// The profile as folded stacks of program and function.
    #[must_use]
    pub fn profile_folded(&self) -> String {
        self.of_profile(Profile::folded)
    }

    /// The profile's first `lines` functions as a table.
    #[must_use]
    pub fn profile_table(&self, lines: usize) -> String {
        self.of_profile(|profile, symbols| profile.table(symbols, lines))
    }

    fn of_profile<T: Default>(&self, take: impl FnOnce(&Profile, &Symbolizer) -> T) -> T {
        let observers = &self.machine.processor().observers;
        (observers.profile.as_ref())
            .map_or_else(T::default, |profile| take(profile, &observers.symbols))
    }

    /// The state of translation now, of each processor.
    #[must_use]
    pub fn dump(&self, label: u32) -> Vec<Dump> {
        self.machine.states(label)
    }

    /// Dumps that the guest asked for through the control device; of several processors, one of each in order.
    #[must_use]
    pub fn dumps(&self) -> &[Dump] {
        &self.machine.processor().observers.dumps
    }

    /// Counters, regions and the reason for the stop as one JSON object.
    #[must_use]
    pub fn report(&self, stop: &Stop) -> Value {
        let object = |counters: Vec<(String, u64)>| {
            let pairs = counters.into_iter();
            Value::Object(pairs.map(|(name, value)| (name, json!(value))).collect())
        };
        let regions: Vec<Value> = (self.machine.processor().observers.regions.iter())
            .map(|(number, region)| {
                json!({
                    "number": number,
                    "passes": region.passes,
                    "counters": object(named(&region.counters, None)),
                })
            })
            .collect();
        let (kind, status) = match stop {
            Stop::PowerOff { status } => ("power-off", Some(*status)),
            Stop::Limit => ("limit", None),
            Stop::Breakpoint { .. } => ("breakpoint", None),
            Stop::Exception { .. } => ("exception", None),
            Stop::Fatal(_) => ("fatal", None),
        };
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
                "{dropped} bytes of the console's output were dropped"
            ));
        }
        warnings
    }

    /// Why the machine stopped, as text for a person. A fatal stop comes with the registers.
    #[must_use]
    pub fn explain(&self, stop: &Stop) -> String {
        let now = self.machine.instant();
        let here = self.place(self.machine.processor().registers.eip);
        let mut text = match stop {
            Stop::PowerOff { status } => format!("power-off {status}"),
            Stop::Limit => format!(
                "limit: reached after {} cycles and {} instructions at {here}",
                now.cycles, now.instructions
            ),
            Stop::Breakpoint { .. } => format!("breakpoint at {here}"),
            Stop::Exception { vector, .. } => format!("exception {vector} at {here}"),
            Stop::Fatal(fatal) => format!("fatal: {fatal}, at {here}\n{}", self.registers()),
        };
        if matches!(stop, Stop::Limit | Stop::Fatal(_)) {
            for number in 0..self.machine.processors().len() {
                if self.machine.is_held(number) {
                    text += &format!("\nprocessor {number} was never started");
                }
            }
        }
        if matches!(stop, Stop::Limit | Stop::Fatal(_) | Stop::PowerOff { .. })
            && self.printed().is_empty()
        {
            text += &silence::explain_pc(self.machine.uncore().ram.bytes());
        }
        for warning in self.warnings() {
            text += "\nwarning: ";
            text += &warning;
        }
        text
    }

    fn place(&self, eip: u32) -> String {
        let processor = self.machine.processor();
        let user = processor.registers.cpl == 3;
        let symbol = processor.observers.symbols.describe(eip, user);
        format!("{eip:#010x} <{symbol}>")
    }

    /// The registers as text: with several processors those of each that has been started, first of the one that
    /// stopped.
    #[must_use]
    pub fn registers(&self) -> String {
        let (stopped, all) = (self.machine.processor(), self.machine.processors());
        if all.len() == 1 {
            return registers_of(stopped);
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
                    processor.now(),
                    registers_of(processor)
                )
            })
            .collect()
    }
}

fn registers_of(processor: &Processor) -> String {
    const NAMES: [&str; 8] = ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"];
    const SEGMENTS: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];
    let registers = &processor.registers;
    let mut text = format!(
        "eip {:08x} eflags {:08x} cpl {} cr0 {:08x} cr2 {:08x} cr3 {:08x} cr4 {:08x}\n",
        registers.eip,
        registers.eflags(),
        registers.cpl,
        registers.cr0,
        registers.cr2,
        registers.cr3,
        registers.cr4
    );
    for (name, value) in NAMES.iter().zip(registers.gpr) {
        text += &format!("{name} {value:08x} ");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (number, name) in (segment::ES..).zip(SEGMENTS) {
        let held = registers.segment(number);
        text += &format!(
            "{name} {:04x} base {:08x} limit {:08x}\n",
            held.selector, held.base, held.limit
        );
    }
    let (gdt, idt) = (registers.gdtr, registers.idtr);
    text += &format!(
        "gdt {:08x}+{:04x} idt {:08x}+{:04x} tr {:04x} base {:08x}\n",
        gdt.base, gdt.limit, idt.base, idt.limit, registers.tr.selector, registers.tr.base
    );
    text
}
