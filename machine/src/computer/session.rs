//! One run of one machine, from its machine file to its counters. The command line and the Python package use it.

mod report;

use std::ops::Range;

use serde_json::Value;

use super::guest::Guest;
use super::snapshot::{self, Saved, SnapshotError};
use super::stop::Limits;
use super::{Computer, StopOf};
use crate::account::counters::EXCEPTIONS;
use crate::account::tlb_events::TlbNote;
use crate::account::{CauseNames, Counters};
use crate::board::Console;
use crate::config::ConfigError;
use crate::loader::{CauseRange, LoadError};
use crate::observe::calls::Calls;
use crate::observe::listener::{Filter, Heard, Listener};
use crate::observe::profile::{Profile, ProfileRow, StackRow};
use crate::observe::recorder::{Format, Recorder};
use crate::observe::regions::Region;
use crate::observe::sanitizers::SanitizerSet;
use crate::observe::stale::{Finding, Stale};
use crate::observe::symbolize::Symbolizer;
use crate::observe::tally::{self, Field, Query, Row, Tally};
use crate::observe::trace::{Trace, Window};
use crate::observe::{LastPass, Observers};

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

/// A machine, the programs loaded into it, and its observers. Each architecture has its own ways to make one.
pub struct Session<C: Guest> {
    pub(crate) machine: Computer<C>,
    /// The causes of the boot image's code; a snapshot contains them.
    pub(crate) causes: Vec<CauseRange>,
    /// What the loader chose by the image, and what the image may lack.
    pub(crate) notes: Vec<String>,
}

impl<C: Saved> Session<C> {
    /// Makes a machine that continues from the point where [`Session::save`] was called. Messages call the snapshot
    /// `name`.
    ///
    /// # Errors
    /// When the bytes are no snapshot of such a machine, or a damaged one.
    pub fn restore(bytes: &[u8], name: &str, console: Console) -> Result<Self, SessionError> {
        let (machine, causes) = snapshot::restore(bytes, name, console)?;
        Ok(Session::of(machine, causes, Vec::new()))
    }

    /// Saves the machine's state, to be restored later. A restored machine continues with the same cycles and counters.
    ///
    /// # Errors
    /// When the state cannot be serialized. No state of a machine is known to cause this.
    pub fn save(&mut self) -> Result<Vec<u8>, SessionError> {
        Ok(snapshot::save(&mut self.machine, &self.causes)?)
    }
}

impl<C: Guest> Session<C> {
    /// A session of this machine, in whose boot image code has these causes.
    #[must_use]
    pub fn of(machine: Computer<C>, causes: Vec<CauseRange>, notes: Vec<String>) -> Self {
        Session {
            machine,
            causes,
            notes,
        }
    }

    /// Makes the functions of a program known to profile, trace and messages, for every program that runs under this
    /// file name.
    ///
    /// # Errors
    /// When `elf` is not a static executable for the machine.
    pub fn add_symbols(&mut self, path: &str, elf: &[u8]) -> Result<(), SessionError> {
        let image = C::executable(elf, path)?;
        let symbols = &mut self.observers_mut().symbols;
        symbols.add_program(path, image.symbols, image.entry);
        Ok(())
    }

    fn observers(&self) -> &Observers<C::Dump> {
        self.machine.processor().observers()
    }

    fn observers_mut(&mut self) -> &mut Observers<C::Dump> {
        self.machine.processor_mut().observers_mut()
    }

    /// Begins a profile: charges every cycle to its function. With a region, only the cycles inside of it.
    pub fn record_profile(&mut self, region: Option<u32>) {
        self.observers_mut().profile = Some(Profile::new(region));
        self.machine.processor_mut().observers_changed();
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
            processor.account_mut().tlb = TlbNote::of_walks();
            processor.observers_changed();
        });
        trace.begin(several, self.machine.instant().processor);
        self.observers_mut().trace = Some(trace);
    }

    /// Tells a listener, from now on, of the events that pass the filter, in batches of `batch`. [`Session::run`] stops
    /// when one is full.
    pub fn listen(&mut self, filter: Filter, batch: usize) {
        self.machine.each(|processor| {
            let note = &mut processor.account_mut().tlb;
            (note.miss, note.load) = (None, None);
        });
        let several = self.machine.processors().len();
        let number = self.machine.instant().processor;
        let observers = self.observers_mut();
        observers.listener = Some(Listener::new(filter, batch, several, number));
        observers.calls = None;
    }

    /// Counts, from now on, what these queries ask for; with a region, only inside of that. It takes the place of a
    /// listener, and, where a query needs call stacks, of a profile.
    ///
    /// # Errors
    /// When a query names a function or an exception that there is not.
    pub fn tally(&mut self, queries: Vec<Query>, region: Option<u32>) -> Result<(), String> {
        for query in &queries {
            self.check_names(query)?;
        }
        if queries.iter().any(Query::needs_stacks) {
            self.record_profile(region);
        }
        self.machine.each(|processor| {
            let note = &mut processor.account_mut().tlb;
            (note.miss, note.load) = (None, None);
        });
        let several = self.machine.processors().len();
        let number = self.machine.instant().processor;
        let names = queries.iter().filter_map(Query::called).map(str::to_owned);
        let names: Vec<String> = names.collect();
        let tallies = queries.into_iter().map(|query| Tally::new(query, region));
        let listener = Listener::counting(tallies.collect(), several, number);
        let observers = self.observers_mut();
        observers.listener = Some(listener);
        observers.calls = (!names.is_empty()).then(|| Calls::new(names, several, number));
        self.machine.each(C::observers_changed);
        Ok(())
    }

    fn check_names(&self, query: &Query) -> Result<(), String> {
        let callers = query.words(Field::Caller);
        for word in query.words(Field::Function).chain(callers) {
            let symbols = &self.machine.processor().observers().symbols;
            match symbols.nearest_function(word) {
                Some(known) if known != word => {
                    return Err(format!(
                        "neither the kernel nor a program has a function \"{word}\": the nearest is {known}"
                    ));
                }
                _ => {}
            }
        }
        let all = 0..EXCEPTIONS;
        let known: Vec<String> = all.filter_map(C::NAMES.exception).collect();
        let causes = self.causes();
        for word in query.words(Field::Cause) {
            if causes.find(word).is_none() {
                let known: Vec<_> = causes.all().map(|(_, name)| name).collect();
                let known = known.join(", ");
                return Err(format!("\"{word}\" is no cause: there are {known}"));
            }
        }
        for word in query.words(Field::Vector) {
            let name = format!("exception.{word}");
            if !known.contains(&name) {
                let known = known
                    .iter()
                    .map(|name| name.trim_start_matches("exception."));
                let known: Vec<_> = known.collect();
                return Err(format!(
                    "there is no exception \"{word}\": there are {}",
                    known.join(", ")
                ));
            }
        }
        if query.called().is_some() && !C::ENTERS_BLOCKS {
            return Err(format!("calls are not counted on {} machines", C::NAME));
        }
        if query.needs_stacks() && !C::FOLLOWS_CALLS {
            return Err(format!(
                "call stacks are not followed on {} machines",
                C::NAME
            ));
        }
        Ok(())
    }

    /// What the queries of [`Session::tally`] have counted: their rows, and how many events belong to groups beyond the
    /// limit.
    ///
    /// # Errors
    /// When a query names a program that has not run.
    pub fn tallied(&self) -> Result<Vec<(Vec<Row>, u64)>, String> {
        let observers = self.machine.processor().observers();
        let (symbols, profile) = (&observers.symbols, observers.profile.as_ref());
        let mut results = Vec::new();
        for tally in observers.tallies() {
            for word in tally.query().words(Field::Program) {
                if !symbols.programs().any(|path| tally::is_called(path, word)) {
                    let known: Vec<_> = symbols.programs().collect();
                    return Err(format!(
                        "no program \"{word}\" has run: those that have are {}",
                        known.join(", ")
                    ));
                }
            }
            results.push((tally.rows(symbols, profile), tally.others()));
        }
        Ok(results)
    }

    /// Writes down, from now on, every instruction and its accesses, `most` instructions at most. [`Session::run`]
    /// stops when a batch is full. No shortcut is taken from now on.
    ///
    /// # Errors
    /// When the machine's architecture tells no recorder.
    pub fn record_accesses(&mut self, format: Format, most: u64) -> Result<(), String> {
        if !C::RECORDS {
            return Err(format!(
                "the accesses of {} machines are not recorded",
                C::NAME
            ));
        }
        let several = self.machine.processors().len();
        let line = self.machine.processor().memory().data.geometry().line;
        self.set_oracle(true);
        let mut recorder = Recorder::new(format, most, line, several);
        recorder.select(self.machine.instant().processor);
        self.observers_mut().recorder = Some(Box::new(recorder));
        self.machine.each(C::observers_changed);
        Ok(())
    }

    /// How many instructions were written.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        let recorder = &self.machine.processor().observers().recorder;
        recorder.as_ref().map_or(0, |recorder| recorder.written())
    }

    /// Takes what was written since the last call, and a line for each thing that the format has no place for: of each
    /// file, of which ChampSim has one for each processor. `ended`: nothing follows.
    pub fn take_accesses(&mut self, ended: bool) -> Vec<(Vec<u8>, Vec<String>)> {
        let observers = self.observers_mut();
        let recorder = observers.recorder.as_mut();
        recorder.map_or_else(Default::default, |recorder| {
            recorder.take(&observers.symbols, ended)
        })
    }

    /// Ends what [`Session::listen`] began.
    pub fn listen_no_more(&mut self) {
        self.observers_mut().listener = None;
    }

    /// Takes the events since the last call, in order.
    pub fn heard(&mut self) -> Vec<Heard> {
        let listener = &mut self.observers_mut().listener;
        listener.as_mut().map_or_else(Vec::new, Listener::take)
    }

    /// Switches sanitizers on. Their first report ends the run. Sanitizers that were on when a snapshot was taken
    /// continue with the state that the snapshot holds.
    ///
    /// # Errors
    /// When one is asked for that the machine has not.
    pub fn sanitize(&mut self, set: SanitizerSet) -> Result<(), String> {
        let set = self.machine.processor().sanitizers(set)?;
        self.machine.sanitize(set);
        Ok(())
    }

    /// With `stops` the first finding of the translation sanitizer ends the run, as it does by default; otherwise the
    /// run goes on, and [`Session::findings`] has all. Call it after [`Session::sanitize`].
    pub fn set_sanitizer_stops(&mut self, stops: bool) {
        self.machine.each(C::make_ready);
        let sanitizers = &mut self.observers_mut().sanitizers;
        if let Some(stale) = sanitizers.as_mut().and_then(|all| all.stale.as_mut()) {
            stale.stops = stops;
        }
    }

    fn stale(&self) -> Option<&Stale> {
        self.observers().sanitizers.as_ref()?.stale.as_deref()
    }

    /// What the translation sanitizer has counted: its numbers by name; none without it.
    #[must_use]
    pub fn sanitizer_counts(&self) -> Vec<(&'static str, u64)> {
        self.stale()
            .map_or_else(Vec::new, |stale| stale.counts().named().to_vec())
    }

    /// The findings of the translation sanitizer, and what it had to leave out.
    #[must_use]
    pub fn findings(&self) -> (Vec<Value>, Option<String>) {
        let stale = self.stale();
        let findings = stale.map_or_else(Vec::new, |stale| {
            stale.findings().iter().map(Finding::json).collect()
        });
        (findings, stale.and_then(Stale::limits))
    }

    /// What the translation sanitizer has seen, in one line.
    #[must_use]
    pub fn sanitizer_summary(&self) -> Option<String> {
        let counts = self.stale()?.counts().named();
        let shown = counts.map(|(name, count)| format!("{count} {name}"));
        Some(format!("sanitizer: {}", shown.join(", ")))
    }

    /// Compiles code to the host's as soon as it was seen so often: 1 is at once, `None` never. Results do not depend
    /// on it.
    pub fn set_compiler(&mut self, seen: Option<u32>) {
        self.machine.set_compiler(seen);
    }

    /// With the oracle every access looks up TLB and caches. This is slow; the fast paths are checked against it.
    pub fn set_oracle(&mut self, on: bool) {
        self.machine.set_oracle(on);
    }

    /// Runs until the guest stops or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> StopOf<C> {
        self.machine.run(limits)
    }

    /// The machine itself, for operations that a session does not offer.
    #[must_use]
    pub fn machine(&self) -> &Computer<C> {
        &self.machine
    }

    /// The machine, to change it.
    pub fn machine_mut(&mut self) -> &mut Computer<C> {
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
        self.machine.processor_mut().observers_changed();
    }

    /// Every counter with its name (docs/interfaces.md, section 7).
    #[must_use]
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.machine.named_counters()
    }

    /// As [`Session::counters`], of each processor. A machine with one has the same there.
    #[must_use]
    pub fn counters_of_each(&self) -> Vec<Vec<(String, u64)>> {
        let all = self.machine.processors().iter();
        all.map(|processor| self.named(&processor.account().counters))
            .collect()
    }

    /// These counters with their names on the machine.
    #[must_use]
    pub fn named(&self, counters: &Counters) -> Vec<(String, u64)> {
        self.machine.named(counters)
    }

    /// What the causes are called, up to now.
    #[must_use]
    pub fn causes(&self) -> &CauseNames {
        &self.observers().symbols.causes
    }

    /// Regions of interest that were left at least once, by number.
    pub fn regions(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.observers().regions.iter()
    }

    /// The profile, the most cycles first; empty without [`Session::record_profile`].
    #[must_use]
    pub fn profile(&self) -> Vec<ProfileRow> {
        self.of_profile(Profile::rows)
    }

    /// The profile by call stacks; empty without [`Session::record_profile`].
    #[must_use]
    pub fn profile_stacks(&self) -> Vec<StackRow> {
        self.of_profile(Profile::stacks)
    }

    /// The profile as folded stacks.
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
        let Observers {
            profile, symbols, ..
        } = self.observers();
        (profile.as_ref()).map_or_else(T::default, |profile| take(profile, symbols))
    }

    /// The event trace for Perfetto; `null` without [`Session::record_trace`].
    #[must_use]
    pub fn trace(&self) -> Value {
        let observers = self.observers();
        let clock = self.machine.shape().clock;
        observers.trace.as_ref().map_or(Value::Null, |trace| {
            trace.to_json(&observers.symbols, clock)
        })
    }

    /// How many events the trace has.
    #[must_use]
    pub fn trace_len(&self) -> usize {
        let observers = self.observers();
        observers.trace.as_ref().map_or(0, Trace::len)
    }

    /// The trace's events with these numbers, as [`Session::trace`] has them.
    #[must_use]
    pub fn trace_events(&self, range: Range<usize>) -> Vec<Value> {
        let observers = self.observers();
        let clock = self.machine.shape().clock;
        observers.trace.as_ref().map_or_else(Vec::new, |trace| {
            trace.events(&observers.symbols, clock, range).collect()
        })
    }

    /// What the trace had to leave out, in words.
    #[must_use]
    pub fn trace_limits(&self) -> Vec<String> {
        let observers = self.observers();
        observers
            .trace
            .as_ref()
            .map_or_else(Vec::new, Trace::limits)
    }

    /// The state of translation and caches now, of each processor.
    #[must_use]
    pub fn dump(&mut self, label: u32) -> Vec<C::Dump> {
        self.machine.states(label, true)
    }

    /// The same without the caches.
    #[must_use]
    pub fn dump_translation(&mut self, label: u32) -> Vec<C::Dump> {
        self.machine.states(label, false)
    }

    /// Keeps the state without the caches, labelled with this region, where the guest begins and ends it.
    pub fn dump_at_region(&mut self, number: u32) {
        self.observers_mut().region_states = Some(LastPass::of(number));
    }

    /// The states at both ends of the last whole pass through that region: those of its begin, one of each processor in
    /// order, then those of its end. Empty without such a pass.
    #[must_use]
    pub fn region_states(&self) -> &[C::Dump] {
        let pass = &self.observers().region_states;
        pass.as_ref().map_or(&[], LastPass::states)
    }

    /// Dumps that the guest asked for through the control device; of several processors, one of each in order.
    #[must_use]
    pub fn dumps(&self) -> &[C::Dump] {
        &self.observers().dumps
    }
}
