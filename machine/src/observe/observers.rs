//! The observers of a run, in one place: the processor and the engine call these hooks and do not depend on profiles,
//! traces or sanitizers.

use std::collections::HashMap;

use super::Interruption;
use super::calls::{Calls, Entered};
use super::listener::Listener;
use super::pass::LastPass;
use super::profile::Profile;
use super::recorder::Recorder;
use super::regions::{REGIONS_MOST, Regions};
use super::sanitizers::Sanitizers;
use super::stale::{Finding, Truth, Use, Verdict, Who};
use super::symbolize::{CONTEXTS_MOST, PROGRAMS_MOST, Symbolizer};
use super::tally::Tally;
use super::trace::Trace;
use crate::account::causes::{CAUSES, NAME_MOST};
use crate::account::tlb_events::{Step, TlbNote};
use crate::account::{Account, Cause, Counters};
use crate::board::Effect;
use crate::memory::{Memory, Ram};

/// The most dumps that DUMP writes, because one of a machine with a large hash table has megabytes.
pub const DUMPS_MOST: usize = 64;

/// The longest program path that COMMAND reads.
const PATH_LIMIT: u32 = 4096;

/// All observers of one machine, whose dumps are `D`. Those that are `None` cost nothing.
#[derive(Clone, Debug)]
pub struct Observers<D> {
    pub symbols: Symbolizer,
    pub regions: Regions,
    pub profile: Option<Profile>,
    pub trace: Option<Trace>,
    pub listener: Option<Listener>,
    /// The calls that the listener's queries count.
    pub calls: Option<Calls>,
    pub recorder: Option<Box<Recorder>>,
    pub sanitizers: Option<Sanitizers>,
    /// Dumps that the guest asked for.
    pub dumps: Vec<D>,
    /// Dumps that the guest asked for beyond [`DUMPS_MOST`].
    pub dumps_refused: u64,
    /// Dumps without the caches of where a region of interest begins and ends.
    pub region_states: Option<LastPass<D>>,
    /// What CONTEXT named the address spaces that the MMU calls by these numbers: [`Observers::name_space`].
    spaces: HashMap<u32, u32>,
}

impl<D> Default for Observers<D> {
    fn default() -> Self {
        Observers {
            symbols: Symbolizer::default(),
            regions: Regions::default(),
            profile: None,
            trace: None,
            listener: None,
            calls: None,
            recorder: None,
            sanitizers: None,
            dumps: Vec::new(),
            dumps_refused: 0,
            region_states: None,
            spaces: HashMap::new(),
        }
    }
}

impl<D> Observers<D> {
    /// The engine must call [`Observers::ran`] for everything that runs.
    #[must_use]
    pub fn watch_time(&self) -> bool {
        self.profile.is_some() || self.trace.is_some() || self.calls.is_some()
    }

    /// The engine must call [`Observers::storing`] for every store that makes a line of the D-cache
    /// modified, and for every store to a page that [`Observers::holds_code`].
    #[must_use]
    pub fn watch_stores(&self) -> bool {
        self.sanitizers
            .as_ref()
            .is_some_and(|sanitizers| sanitizers.set.fetch)
    }

    /// Instructions of one function, mode and cause, the first at `pc`, ran from cycle `from` to
    /// `until`. `account` holds the counts as they are at `until`.
    pub fn ran(
        &mut self,
        (pc, user, cause): (u32, bool, Cause),
        from: u64,
        until: u64,
        instructions: u64,
        account: &Account,
    ) {
        if let Some(profile) = &mut self.profile {
            profile.charge(&self.symbols, pc, user, cause, until - from, instructions);
        }
        if let Some(trace) = &mut self.trace
            && until > from
        {
            trace.ran(
                &self.symbols,
                (pc, user, cause),
                from,
                until,
                &account.counters,
            );
        }
        if let Some(calls) = &mut self.calls
            && instructions > 0
        {
            calls.ran(cause);
        }
    }

    /// Code runs from cycle `now` on at this address, in this mode, with this stack pointer. [`Observers::begin_call`]
    /// wants to know of what it returns.
    pub(crate) fn enters(&mut self, place: (u64, bool), stack: u64, now: u64) -> Option<Entered> {
        let calls = self.calls.as_mut()?;
        while let Some(call) = calls.end(place, stack, now) {
            if let Some(listener) = &mut self.listener {
                listener.called(&call, (&self.symbols, 0));
            }
        }
        calls.enter(&self.symbols, place, stack, now)
    }

    /// What was entered returns to `back`, an address and the stack pointer there.
    pub(crate) fn begin_call(&mut self, entered: Entered, back: (u64, u64)) {
        if let Some(calls) = &mut self.calls {
            calls.begin(entered, back);
        }
    }

    fn profile_region(&mut self, number: u32, begins: bool) {
        let tallies = self
            .listener
            .iter_mut()
            .flat_map(|listener| &mut listener.tallies);
        tallies.for_each(|tally| tally.region(number, begins));
        if let Some(profile) = &mut self.profile {
            profile.region(number, begins);
        }
    }

    /// An exception has taken back the rest of the code that ran last: so many cycles and instructions.
    pub fn took_back(&mut self, cycles: u64, instructions: u64) {
        if let Some(profile) = &mut self.profile {
            profile.take_back(cycles, instructions);
        }
    }

    /// An exception is about to be taken; `stack` is r1.
    pub fn interrupted(&mut self, stack: u32) {
        if let Some(profile) = &mut self.profile {
            profile.interrupted(stack);
        }
    }

    /// An exception was taken at `cycle`. It interrupted code of this mode and cause at `pc`.
    pub fn exception(
        &mut self,
        which: Interruption,
        (pc, user, cause): (u32, bool, Cause),
        cycle: u64,
    ) {
        if let Some(trace) = &mut self.trace {
            trace.exception(which, pc, cycle);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.interrupts(which.counter, pc);
        }
        if let Some(calls) = &mut self.calls {
            calls.interrupted();
        }
        if let Some(listener) = &mut self.listener {
            let stack = self.profile.as_ref().map_or(0, Profile::stack);
            let names = (&self.symbols, stack);
            listener.exception(which, names, (pc, user, cause), cycle);
        }
    }

    /// Code of this mode and cause interrupts the processors of these bits; `path` are the addresses of the calls that
    /// led there, the outermost first.
    pub fn interrupts(
        &mut self,
        targets: u8,
        path: &[u32],
        (user, cause): (bool, Cause),
        cycle: u64,
    ) {
        let Some((listener, &pc)) = self.listener.as_mut().zip(path.last()) else {
            return;
        };
        let path = self.symbols.path(path, user);
        let stack = self.profile.as_ref().map_or(0, Profile::stack);
        let names = (&self.symbols, stack);
        for target in (0..8).filter(|target| targets >> target & 1 != 0) {
            listener.interrupt((target, path), names, (pc, user, cause), cycle);
        }
    }

    /// The queries that count events.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.listener.iter().flat_map(|listener| &listener.tallies)
    }

    /// The run must stop: a listener's or a recorder's batch is full.
    #[inline]
    #[must_use]
    pub fn batch_is_full(&self) -> bool {
        self.listener.as_ref().is_some_and(Listener::is_full)
            || self
                .recorder
                .as_ref()
                .is_some_and(|recorder| recorder.is_full())
    }

    /// Passes what the MMU has noted of an access, or of the load of an entry, to listener and trace. It began at
    /// `cycle`.
    #[inline]
    pub fn tlb(&mut self, note: &mut TlbNote, pc: u32, cycle: u64) {
        if let Some(listener) = &mut self.listener {
            let stack = self.profile.as_ref().map_or(0, Profile::stack);
            listener.tlb(note, (&self.symbols, stack), pc, cycle);
            if self.trace.is_none() {
                (note.miss, note.load) = (None, None);
            }
        }
        if let Some(trace) = &mut self.trace {
            trace.tlb(note, &self.symbols, pc, cycle);
        }
    }

    /// Does somebody take what [`Observers::tlb`] passes on?
    #[must_use]
    pub fn hears_of_tlbs(&self) -> bool {
        self.listener.is_some() || self.trace.is_some()
    }

    /// An access of memory in kernel mode, which may be a part of a handler's walk. `real`: translation was off.
    pub fn walked(&mut self, step: Step, real: bool) {
        if let Some(trace) = &mut self.trace {
            trace.walked(step, real);
        }
    }

    /// An access of `who` has used a suspect entry. Returns what that means, and a report that ends the run.
    pub(crate) fn judge(
        &mut self,
        access: Use,
        who: Who,
        truth: &Truth,
        ram: &Ram,
    ) -> (Verdict, Option<String>) {
        let sanitizers = self.sanitizers.as_mut();
        let Some(stale) = sanitizers.and_then(|all| all.stale.as_deref_mut()) else {
            return (Verdict::Good, None);
        };
        let verdict = stale.judge(access, who, truth, ram);
        for finding in stale.findings_mut() {
            finding.name(&self.symbols);
        }
        let report = stale.findings().last().map(Finding::text);
        (verdict, report.filter(|_| verdict == Verdict::Stop))
    }

    /// A store, or `dcbz`, is about to write at `pa`; to be called before the D-cache looks. `icbi`, or
    /// whatever else empties the I-cache, needs no call.
    pub fn storing(&mut self, pa: u32, memory: &mut Memory) {
        if let Some(sanitizers) = &mut self.sanitizers {
            sanitizers.storing(pa, memory);
        }
    }

    /// True if the I-cache holds a line of the page at `pa` and a sanitizer must see stores to it.
    #[inline]
    pub fn holds_code(&mut self, pa: u32, memory: &Memory) -> bool {
        let sanitizers = self.sanitizers.as_mut();
        sanitizers.is_some_and(|sanitizers| sanitizers.holds_code(pa, memory))
    }

    /// Instructions are about to be fetched from the place `pa`; to be called before the I-cache looks. Returns
    /// a sanitizer's report, which ends the run. A line that the I-cache holds and does not watch
    /// ([`crate::memory::Cache::watch`]) needs no call.
    #[must_use]
    pub fn fetched(&mut self, pa: u32, memory: &Memory) -> Option<String> {
        self.sanitizers.as_mut()?.fetched(pa, memory)
    }

    /// The I-cache has filled the line in the place `pa`. True if [`Observers::holds_code`] has become true of
    /// its page.
    #[must_use]
    pub fn filled(&mut self, pa: u32, memory: &mut Memory) -> bool {
        let sanitizers = self.sanitizers.as_mut();
        sanitizers.is_some_and(|sanitizers| sanitizers.filled(pa, memory))
    }

    /// Carries out a write to the control device at `cycle`, as far as it concerns observers. The processor itself
    /// carries out POWER_OFF, TLB_SELECT and DUMP.
    pub fn effect(&mut self, effect: Effect, cycle: u64, counters: &Counters, ram: &Ram) {
        match effect {
            Effect::PowerOff(_) | Effect::TlbSelect(_) | Effect::Dump(_) => {}
            Effect::Cause(number) => {
                if let Some(trace) = &mut self.trace {
                    trace.cause(number, cycle);
                }
            }
            Effect::Context(context) => {
                self.symbols.set_explicit();
                self.set_context(context, cycle);
            }
            Effect::CauseName(address) => {
                let number = ram.read_u8(address).unwrap_or(0);
                let name = string_at(address.saturating_add(1), ram);
                self.symbols.causes.register(number, &name);
            }
            Effect::Command(address) => self.set_command(address, ram),
            Effect::Fork(child) => self.symbols.set_fork(child),
            Effect::RegionBegin(_) | Effect::RegionEnd(_) => self.region(effect, counters, cycle),
        }
    }

    /// True if this begins or ends the region whose states are kept.
    #[must_use]
    pub(crate) fn wants_states(&self, effect: Effect) -> bool {
        (self.region_states.as_ref()).is_some_and(|pass| pass.concerns(effect))
    }

    /// The states that [`Observers::wants_states`] asks for.
    pub(crate) fn keep_states(&mut self, effect: Effect, states: Vec<D>) {
        if let Some(pass) = &mut self.region_states {
            pass.add(effect, states);
        }
    }

    /// True if so many dumps more are kept. Otherwise they count as refused.
    pub(crate) fn admits_dumps(&mut self, more: usize) -> bool {
        let admitted = self.dumps.len() + more <= DUMPS_MOST;
        if !admitted {
            self.dumps_refused += more as u64;
        }
        admitted
    }

    /// REGION_BEGIN and REGION_END at `cycle`, with the counters of all processors.
    pub fn region(&mut self, effect: Effect, counters: &Counters, cycle: u64) {
        let (number, begins) = match effect {
            Effect::RegionBegin(number) => {
                self.regions.begin(number, counters);
                (number, true)
            }
            Effect::RegionEnd(number) => {
                self.regions.end(number, counters);
                (number, false)
            }
            _ => return,
        };
        self.profile_region(number, begins);
        self.trace_region(number, begins, cycle);
    }

    /// Another processor runs from now on, in the address space `context`. Returns that of the one before.
    pub(crate) fn select(&mut self, processor: u8, context: u32) -> u32 {
        let before = self.symbols.context();
        self.symbols.select(context);
        if let Some(profile) = &mut self.profile {
            profile.select(processor);
        }
        if let Some(trace) = &mut self.trace {
            trace.select(processor);
        }
        if let Some(listener) = &mut self.listener {
            listener.select(processor);
        }
        if let Some(calls) = &mut self.calls {
            calls.select(processor);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.select(processor);
        }
        before
    }

    /// Requests of the guest that were refused, because they would need unlimited memory.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut add = |count: u64, what: &str| {
            if count != 0 {
                warnings.push(format!("{count} {what}"));
            }
        };
        add(
            self.regions.refused(),
            &format!("regions were not counted: {REGIONS_MOST} numbers are the most"),
        );
        add(
            self.dumps_refused,
            &format!("state dumps were not written: {DUMPS_MOST} are the most"),
        );
        add(
            self.symbols.refused(),
            &format!(
                "programs or contexts go without a name: {PROGRAMS_MOST} programs and {CONTEXTS_MOST} contexts are the most"
            ),
        );
        add(
            self.symbols.causes.refused(),
            &format!(
                "names of causes were refused: a name is at most {NAME_MOST} of a to z, 0 to 9 and -, of one number \
                 from 3 to {}",
                CAUSES - 1
            ),
        );
        warnings
    }

    fn trace_region(&mut self, number: u32, begins: bool, cycle: u64) {
        if let Some(trace) = &mut self.trace {
            trace.region(number, begins, cycle);
        }
    }

    /// A kernel other than pagewalk's has written the number of an address space into a register of the MMU.
    pub(crate) fn space(&mut self, space: u32, cycle: u64) {
        if let Some(context) = self.symbols.space(space) {
            self.set_context(context, cycle);
        }
    }

    /// CONTEXT names the address space that the MMU calls `space`.
    pub(crate) fn name_space(&mut self, space: u32, context: u32) {
        if self.spaces.len() < CONTEXTS_MOST || self.spaces.contains_key(&space) {
            self.spaces.insert(space, context);
        }
    }

    /// The MMU has been given `space`. One that CONTEXT has named runs under that name again.
    pub(crate) fn space_runs(&mut self, space: u32, cycle: u64) {
        if let Some(&context) = self.spaces.get(&space)
            && context != self.symbols.context()
        {
            self.set_context(context, cycle);
        }
    }

    /// A kernel other than pagewalk's goes to `pc` in user mode, which may be the first instruction of a program.
    pub(crate) fn begins(&mut self, pc: u32) {
        if let Some(path) = self.symbols.begins(pc).map(str::to_owned) {
            if let Some(profile) = &mut self.profile {
                profile.close();
            }
            self.symbols.set_command(&path);
        }
    }

    fn set_context(&mut self, context: u32, cycle: u64) {
        if let Some(profile) = &mut self.profile {
            profile.close();
        }
        if let Some(trace) = &mut self.trace {
            trace.context(context, cycle);
        }
        if let Some(listener) = &mut self.listener {
            listener.switch(context, &self.symbols, cycle);
        }
        self.symbols.set_context(context);
    }

    fn set_command(&mut self, address: u32, ram: &Ram) {
        if let Some(profile) = &mut self.profile {
            profile.close();
        }
        self.symbols.set_command(&string_at(address, ram));
    }
}

/// The bytes at this physical address up to a 0, as text.
fn string_at(address: u32, ram: &Ram) -> String {
    let bytes: Vec<u8> = (0..PATH_LIMIT)
        .map_while(|n| ram.read_u8(address.checked_add(n)?))
        .take_while(|&byte| byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
