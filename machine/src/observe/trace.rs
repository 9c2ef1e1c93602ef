//! Event trace of a window of cycles, in the JSON trace format that Perfetto and chrome://tracing
//! read ("Trace Event Format"). Times are simulated microseconds.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::str::FromStr;

use serde_json::{Value, json};

use super::Interruption;
use super::miss_events::{MissEvent, WalkEvent};
use super::owners::{Owner, Owners};
use super::symbolize::{Function, Symbolizer};
use crate::account::tlb_events::{Step, TlbLoad, TlbNote};
use crate::account::{Cause, Counters, Event};

/// The most events that are kept. After them the trace is marked as truncated.
pub const EVENTS_MOST: usize = 2_000_000;
/// The most steps and ways of TLB misses that are kept, of all misses together. Later misses come without them.
pub const STEPS_MOST: usize = 4_000_000;

/// A range of cycles, without its end, written `a..b`, `a..` or `..b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window(pub Range<u64>);

impl Default for Window {
    fn default() -> Self {
        Window(0..u64::MAX)
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no window: write it as cycles a..b, a.. or ..b");
        let (start, end) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str, otherwise| match text {
            "" => Ok(otherwise),
            digits => digits.parse().map_err(|_| wrong()),
        };
        let window = number(start, 0)?..number(end, u64::MAX)?;
        if window.is_empty() {
            return Err(format!("`{text}` is an empty window"));
        }
        Ok(Window(window))
    }
}

#[derive(Clone, Debug)]
enum What {
    /// A function ran until the cycle given.
    Run {
        function: Function,
        user: bool,
        cause: Cause,
        program: u32,
        until: u64,
    },
    Exception {
        which: Interruption,
        pc: u32,
    },
    Misses {
        event: Event,
        count: u64,
        pc: u32,
    },
    TlbMiss(Box<MissEvent>),
    Context {
        context: u32,
    },
    RegionBegin {
        number: u32,
    },
    RegionEnd {
        number: u32,
    },
    Cause {
        number: u32,
    },
}

#[derive(Clone, Debug)]
struct Entry {
    processor: u8,
    cycle: u64,
    what: What,
}

/// What a trace knows of one processor.
#[derive(Clone, Debug, Default)]
struct Track {
    /// First and last address of the function that ran last.
    current: Option<Range<u32>>,
    /// Where `entries` has what ran last.
    running: Option<usize>,
    misses: [u64; MISSES.len()],
    /// The last miss of the data and of the instruction TLB for which software has not loaded an entry yet: its
    /// index in `entries`.
    waiting: [Option<usize>; 2],
}

/// A trace being recorded.
#[derive(Clone, Debug)]
pub struct Trace {
    window: Range<u64>,
    /// Only TLB misses, flushes, switches and regions are recorded.
    translation_only: bool,
    entries: Vec<Entry>,
    truncated: bool,
    /// Steps and ways that are kept, and misses that came too late for theirs.
    steps: usize,
    without_steps: u64,
    owners: Owners,
    /// By number; each is a process of the trace.
    tracks: Vec<Track>,
    /// The processor that runs.
    processor: u8,
}

/// Events that appear as marks when their count rises.
const MISSES: [Event; 3] = [
    Event::InstructionCacheMiss,
    Event::DataCacheMiss,
    Event::L2Miss,
];

impl Trace {
    #[must_use]
    pub fn new(window: Window) -> Self {
        Trace {
            window: window.0,
            translation_only: false,
            entries: Vec::new(),
            truncated: false,
            steps: 0,
            without_steps: 0,
            owners: Owners::default(),
            tracks: vec![Track::default()],
            processor: 0,
        }
    }

    /// A trace of translation alone: TLB misses, code that flushes, switches and regions.
    #[must_use]
    pub fn of_translation(window: Window) -> Self {
        Trace {
            translation_only: true,
            ..Self::new(window)
        }
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What was left out because of a limit, in words.
    #[must_use]
    pub fn limits(&self) -> Vec<String> {
        let mut reached = Vec::new();
        if self.truncated {
            let last = self.entries.last().map_or(0, |entry| entry.cycle);
            reached.push(format!(
                "the trace ends at cycle {last}: it holds {EVENTS_MOST} events at most"
            ));
        }
        if self.without_steps != 0 {
            reached.push(format!(
                "{} TLB misses come without the steps of their walk: a trace holds {STEPS_MOST} steps at most",
                self.without_steps
            ));
        }
        reached
    }

    /// The trace is of so many processors, and `processor` runs first.
    pub(crate) fn begin(&mut self, processors: usize, processor: u8) {
        self.tracks.resize_with(processors, Track::default);
        self.processor = processor;
    }

    /// What follows happens on this processor.
    pub(super) fn select(&mut self, processor: u8) {
        self.processor = processor;
    }

    fn track(&mut self) -> &mut Track {
        &mut self.tracks[usize::from(self.processor)]
    }

    fn push(&mut self, cycle: u64, what: What) {
        if !self.window.contains(&cycle) {
            return;
        }
        if self.entries.len() < EVENTS_MOST {
            let processor = self.processor;
            self.entries.push(Entry {
                processor,
                cycle,
                what,
            });
        } else {
            self.truncated = true;
        }
    }

    /// Code at `pc` ran from cycle `from` to `until`; `counters` as they are afterwards.
    pub(super) fn ran(
        &mut self,
        symbols: &Symbolizer,
        (pc, user, cause): (u32, bool, Cause),
        from: u64,
        until: u64,
        counters: &Counters,
    ) {
        if until <= self.window.start || from >= self.window.end {
            return;
        }
        for (n, event) in MISSES.into_iter().enumerate() {
            let count = counters.total(event);
            let before = std::mem::replace(&mut self.track().misses[n], count);
            if count > before && before > 0 && !self.translation_only {
                self.push(
                    from,
                    What::Misses {
                        event,
                        count: count - before,
                        pc,
                    },
                );
            }
        }
        if self.translation_only && symbols.causes.name(cause) != "flush" {
            self.track().current = None;
            return;
        }
        let track = self.track();
        let running = track.running;
        let known = track
            .current
            .as_ref()
            .is_some_and(|range| range.contains(&pc));
        if known
            && let Some(Entry {
                what:
                    What::Run {
                        user: last_user,
                        cause: last_cause,
                        until: last_until,
                        ..
                    },
                ..
            }) = running.and_then(|index| self.entries.get_mut(index))
            && (*last_user, *last_cause) == (user, cause)
            && *last_until == from
        {
            *last_until = until;
            return;
        }
        let located = symbols.locate(pc, user);
        self.track().current = Some(located.low..located.high.saturating_add(1));
        let program = symbols.program();
        let function = located.function;
        self.track().running = Some(self.entries.len());
        self.push(
            from.max(self.window.start),
            What::Run {
                function,
                user,
                cause,
                program,
                until,
            },
        );
    }

    /// Takes what the MMU has noted of an access or a load that began at `cycle`; `pc` is in the line that runs.
    pub(super) fn tlb(&mut self, note: &mut TlbNote, symbols: &Symbolizer, pc: u32, cycle: u64) {
        let walk = note.walk.as_deref();
        let Some(miss) = note.miss.take() else {
            if let Some(load) = note.load.take() {
                let owner = self.owners.loaded(&load, symbols);
                self.loaded_by_software(load, owner, cycle);
            }
            return;
        };
        let size = walk.map_or(0, |walk| walk.ways.len() + walk.steps.len());
        let kept = walk.filter(|_| self.steps + size <= STEPS_MOST);
        self.without_steps += u64::from(walk.is_some() && kept.is_none());
        let walk = kept.map(|walk| WalkEvent::new(&miss, walk, &self.owners));
        let load = note.load.take();
        let load = load.map(|load| (load, self.owners.loaded(&load, symbols)));
        let before = self.entries.len();
        self.push(
            cycle,
            What::TlbMiss(Box::new(MissEvent {
                miss,
                pc,
                function: symbols.locate(pc, miss.user).function,
                context: symbols.context(),
                program: symbols.program(),
                load: load.filter(|_| miss.walk.is_some()),
                cycles: miss.walk,
                walk,
            })),
        );
        let recorded = self.entries.len() > before;
        self.steps += if recorded { size } else { 0 };
        let waits = recorded && miss.walk.is_none();
        self.track().waiting[usize::from(miss.fetch)] = waits.then_some(before);
    }

    /// Completes the miss that this load is for. A load for another page is a program's own.
    fn loaded_by_software(&mut self, loaded: TlbLoad, owner: Option<Owner>, now: u64) {
        let track = &mut self.tracks[usize::from(self.processor)];
        let waiting = &mut track.waiting[usize::from(loaded.fetch)];
        if let Some(Entry {
            cycle,
            what: What::TlbMiss(event),
            ..
        }) = waiting.and_then(|index| self.entries.get_mut(index))
            && (event.miss.ea ^ loaded.ea) & !0xfff == 0
        {
            event.load = Some((loaded, owner));
            event.cycles = Some(now.saturating_sub(*cycle));
            *waiting = None;
        }
    }

    /// An access in kernel mode: a step of the last miss that waits for software to load an entry. With translation on
    /// the handler does other work too, so that only accesses of the page tables count.
    pub(super) fn walked(&mut self, step: Step, real: bool) {
        let waiting = self.track().waiting.into_iter().flatten().max();
        if self.steps < STEPS_MOST
            && let Some(index) = waiting
            && let Some(Entry {
                what: What::TlbMiss(event),
                ..
            }) = self.entries.get_mut(index)
            && (real || event.miss.may_read(&step))
            && let Some(walk) = &mut event.walk
        {
            self.steps += usize::from(walk.step(step));
        }
    }

    pub(super) fn exception(&mut self, which: Interruption, pc: u32, cycle: u64) {
        self.track().current = None;
        if !self.translation_only {
            self.push(cycle, What::Exception { which, pc });
        }
    }

    pub(super) fn context(&mut self, context: u32, cycle: u64) {
        self.track().current = None;
        self.push(cycle, What::Context { context });
    }

    pub(super) fn region(&mut self, number: u32, begins: bool, cycle: u64) {
        let what = if begins {
            What::RegionBegin { number }
        } else {
            What::RegionEnd { number }
        };
        self.push(cycle, what);
    }

    pub(super) fn cause(&mut self, number: u32, cycle: u64) {
        if !self.translation_only {
            self.push(cycle, What::Cause { number });
        }
    }

    /// The trace as JSON; `clock` is the core's, in Hz.
    #[must_use]
    pub fn to_json(&self, symbols: &Symbolizer, clock: u64) -> Value {
        let mut events = Vec::new();
        for number in 0..self.tracks.len() {
            let name = match self.tracks.len() {
                1 => "pagewalk".to_owned(),
                _ => format!("processor {number}"),
            };
            let pid = number + 1;
            events.push(
                json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}),
            );
            for (track, name) in [
                (RUNNING, "running"),
                (EXCEPTIONS, "exceptions"),
                (MISS_MARKS, "misses"),
                (MARKS, "marks"),
            ] {
                events.push(json!({
                    "ph": "M", "name": "thread_name", "pid": pid, "tid": track, "args": {"name": name}
                }));
            }
        }
        events.extend(self.events(symbols, clock, 0..self.entries.len()));
        json!({
            "traceEvents": events,
            "displayTimeUnit": "ns",
            "otherData": {
                "clock_hz": clock,
                "truncated": self.truncated,
                "misses_without_steps": self.without_steps,
            },
        })
    }

    /// The events with these numbers as JSON, in the order in which they were recorded.
    pub fn events(
        &self,
        symbols: &Symbolizer,
        clock: u64,
        range: Range<usize>,
    ) -> impl Iterator<Item = Value> {
        let end = range.end.min(self.entries.len());
        let some = &self.entries[range.start.min(end)..end];
        let microseconds = move |cycles: u64| cycles as f64 * 1e6 / clock as f64;
        some.iter().map(move |entry| {
            let mut event = entry.what.to_json(entry.cycle, symbols);
            event["pid"] = json!(entry.processor + 1);
            event["ts"] = json!(microseconds(entry.cycle));
            event["args"]["cycle"] = json!(entry.cycle);
            if let Some(cycles) = event["args"]["cycles"].as_u64() {
                event["dur"] = json!(microseconds(cycles));
            }
            event
        })
    }
}

const RUNNING: u32 = 1;
const EXCEPTIONS: u32 = 2;
pub(super) const MISS_MARKS: u32 = 3;
const MARKS: u32 = 4;

impl What {
    /// The event, without the time at which it began. The cycles that it lasted are an argument.
    fn to_json(&self, cycle: u64, symbols: &Symbolizer) -> Value {
        match *self {
            What::Run {
                function,
                user,
                cause,
                program,
                until,
            } => json!({
                "ph": "X", "tid": RUNNING,
                "name": symbols.function_name(function),
                "cat": if user { "user" } else { "kernel" },
                "args": {
                    "cause": symbols.causes.name(cause),
                    "program": symbols.program_name(program),
                    "cycles": until.saturating_sub(cycle),
                },
            }),
            What::Exception { which, pc } => json!({
                "ph": "i", "s": "t", "tid": EXCEPTIONS,
                "name": which.name,
                "args": {"pc": format!("{pc:#010x}")},
            }),
            What::Misses { event, count, pc } => json!({
                "ph": "i", "s": "t", "tid": MISS_MARKS,
                "name": event.name(),
                "args": {"count": count, "pc": format!("{pc:#010x}")},
            }),
            What::TlbMiss(ref event) => event.to_json(cycle, symbols),
            What::Context { context } => json!({
                "ph": "i", "s": "p", "tid": MARKS,
                "name": format!("context {context}"),
                "args": {},
            }),
            What::RegionBegin { number } => region(number, "b"),
            What::RegionEnd { number } => region(number, "e"),
            What::Cause { number } => {
                let named = symbols.causes.numbered(number);
                let name = named.map_or("none", |cause| symbols.causes.name(cause));
                json!({
                    "ph": "i", "s": "t", "tid": MARKS,
                    "name": format!("cause {name}"),
                    "args": {},
                })
            }
        }
    }
}

fn region(number: u32, phase: &str) -> Value {
    json!({
        "ph": phase, "tid": MARKS, "cat": "region", "id": number,
        "name": format!("region {number}"),
        "args": {},
    })
}
