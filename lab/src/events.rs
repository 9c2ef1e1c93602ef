//! Events of a listener as Python objects, and its filter.

use pagewalk_machine::account::CauseNames;
use pagewalk_machine::account::causes::CAUSES;
use pagewalk_machine::computer::{Guest, Session};
use pagewalk_machine::observe::listener::{BATCH_MOST, Filter, Heard, Kind, What};
use pagewalk_machine::powerpc::mmu::Space;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A TLB miss, an eviction, an exception or a context switch. What an event of its kind does not have is None.
#[pyclass(frozen, get_all, module = "pagewalk._machine")]
pub struct Event {
    /// `miss`, `eviction`, `exception`, `switch` or `interrupt`.
    kind: &'static str,
    /// The processor's number.
    processor: u8,
    /// Core cycles since reset.
    cycle: u64,
    /// The instruction of a fetch or an exception; of another access the cache line of code that runs.
    pc: u32,
    /// The address space that runs; of a switch the new one.
    context: u32,
    /// The path of the program that runs; of a switch of the one that ran.
    program: String,
    /// MSR\[PR\] was set.
    user: bool,
    /// The cost category.
    cause: String,
    /// The instruction TLB, not the data TLB.
    fetch: Option<bool>,
    /// Effective address of the access.
    address: Option<u32>,
    /// Set of the TLB.
    set: Option<u32>,
    /// Way of the TLB that was replaced.
    way: Option<u32>,
    /// The page that lost its entry: with its segment if it was loaded while someone listened.
    victim: Option<u32>,
    /// The address space that loaded that entry, if it did so while someone listened.
    victim_context: Option<u32>,
    /// VSID or ASID of that entry.
    victim_space: Option<u32>,
    /// The exception's name, as in the counters.
    vector: Option<&'static str>,
    /// The address space that ran before a switch.
    previous: Option<u32>,
    /// The processor that an interrupt is sent to.
    target: Option<u8>,
    /// Core cycles that hardware took to load the entry; None where software loads it.
    cycles: Option<u64>,
}

impl Event {
    fn of<C: Guest>(heard: &Heard, session: &Session<C>) -> Self {
        let symbols = &session.machine().processor().observers().symbols;
        let mut event = Event {
            kind: "",
            processor: heard.processor,
            cycle: heard.cycle,
            pc: heard.pc,
            context: heard.context,
            program: symbols.program_name(heard.program).to_owned(),
            user: heard.user,
            cause: symbols.causes.name(heard.cause).to_owned(),
            fetch: None,
            address: None,
            set: None,
            way: None,
            victim: None,
            victim_context: None,
            victim_space: None,
            vector: None,
            previous: None,
            target: None,
            cycles: None,
        };
        match heard.what {
            What::Miss(miss) => {
                event.kind = Kind::Miss.name();
                event.fetch = Some(miss.fetch);
                event.address = Some(miss.ea);
                event.set = Some(miss.set);
                event.cycles = miss.walk;
            }
            What::Eviction {
                load,
                victim,
                owner,
            } => {
                event.kind = Kind::Eviction.name();
                event.fetch = Some(load.fetch);
                event.address = Some(load.ea);
                event.set = Some(load.set);
                event.way = Some(load.way);
                event.victim = Some(owner.map_or(victim.address, |owner| owner.address));
                event.victim_context = owner.map(|owner| owner.context);
                event.victim_space = victim.space.and_then(|space| match space {
                    Space::Vsid(vsid) => Some(vsid),
                    Space::Asid(asid) => Some(asid.into()),
                    Space::Untagged => None,
                });
            }
            What::Exception(which) => {
                event.kind = Kind::Exception.name();
                event.vector = Some(which.counter);
            }
            What::Switch { from } => {
                event.kind = Kind::Switch.name();
                event.previous = Some(from);
            }
            What::Interrupt { target, .. } => {
                event.kind = Kind::Interrupt.name();
                event.target = Some(target);
            }
            What::Call { cycles, .. } => {
                event.kind = Kind::Call.name();
                event.cycles = Some(cycles);
            }
        }
        event
    }
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        let mut text = format!(
            "<{} at cycle {} in context {}",
            self.kind, self.cycle, self.context
        );
        if let Some(address) = self.address {
            text += &format!(", address {address:#010x}");
        }
        if let Some(victim) = self.victim {
            text += &format!(", victim {victim:#010x}");
        }
        if let Some(vector) = self.vector {
            text += &format!(", {vector}");
        }
        text + ">"
    }
}

/// The events that a session's listener has heard.
pub fn heard<C: Guest>(session: &mut Session<C>) -> Vec<Event> {
    let heard = session.heard();
    let all = heard.iter();
    all.map(|heard| Event::of(heard, session)).collect()
}

/// True for each of the names; all, if there are none.
fn chosen<T: Copy, const N: usize>(
    what: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
    names: &[String],
) -> PyResult<[bool; N]> {
    if let Some(unknown) = names
        .iter()
        .find(|given| all.iter().all(|item| name(*item) != **given))
    {
        let allowed = all.map(name).join(", ");
        let message = format!("`{unknown}` is no {what}: allowed are {allowed}");
        return Err(PyValueError::new_err(message));
    }
    let wanted = |item| names.is_empty() || names.iter().any(|given| *given == name(item));
    Ok(all.map(wanted))
}

/// The filter that these describe, or what is wrong.
pub fn filter(
    kinds: &[String],
    (first, last): (u32, u32),
    context: Option<u32>,
    causes: &[String],
    names: &CauseNames,
    user: Option<bool>,
    every: u64,
) -> PyResult<Filter> {
    if first > last {
        let message = format!("the range of addresses {first:#x} to {last:#x} is empty");
        return Err(PyValueError::new_err(message));
    }
    if kinds.iter().any(|kind| kind == Kind::Call.name()) {
        return Err(PyValueError::new_err("calls are counted by queries alone"));
    }
    if every == 0 {
        return Err(PyValueError::new_err("every is 0: allowed are 1 and more"));
    }
    if let Some(unknown) = causes.iter().find(|&name| names.find(name).is_none()) {
        let allowed: Vec<&str> = names.all().map(|(_, name)| name).collect();
        let allowed = allowed.join(", ");
        let message = format!("`{unknown}` is no cause: allowed are {allowed}");
        return Err(PyValueError::new_err(message));
    }
    let mut wanted = [causes.is_empty(); CAUSES];
    for cause in causes.iter().filter_map(|name| names.find(name)) {
        wanted[cause.index()] = true;
    }
    Ok(Filter {
        kinds: chosen("kind of event", Kind::ALL, Kind::name, kinds)?,
        addresses: first..=last,
        context,
        causes: wanted,
        user,
        every,
    })
}

/// A batch's size, or what is wrong.
pub fn batch(size: usize) -> PyResult<usize> {
    if (1..=BATCH_MOST).contains(&size) {
        return Ok(size);
    }
    let message = format!("a batch of {size} events: allowed are 1 to {BATCH_MOST}");
    Err(PyValueError::new_err(message))
}
