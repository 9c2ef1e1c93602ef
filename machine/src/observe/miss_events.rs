//! A TLB miss in a trace, with the steps of its walk as a person reads them.

use serde_json::{Value, json};

use super::owners::{Owner, Owners};
use super::symbolize::{Function, Symbolizer};
use super::trace::MISS_MARKS;
use crate::account::tlb_events::{self, Space, Step, Tables, TlbLoad, TlbMiss, TlbPage, WalkNote};
use crate::account::{Cause, Event};

/// A miss as a trace keeps it.
#[derive(Clone, Debug)]
pub(super) struct MissEvent {
    pub miss: TlbMiss,
    /// An address in the cache line of code that ran, and the function there.
    pub pc: u32,
    pub function: Function,
    pub context: u32,
    pub program: u32,
    /// The entry that was loaded for it, and the owner of the one that this replaced.
    pub load: Option<(TlbLoad, Option<Owner>)>,
    /// Until the entry was there, or until the hardware's search ended without one.
    pub cycles: Option<u64>,
    /// `None` if the trace had reached its limit of steps.
    pub walk: Option<WalkEvent>,
}

/// What the TLB's set held, and the steps of the walk.
#[derive(Clone, Debug)]
pub(super) struct WalkEvent {
    ways: Vec<Option<(TlbPage, Option<Owner>)>>,
    steps: Vec<Step>,
}

impl WalkEvent {
    pub fn new(miss: &TlbMiss, walk: &WalkNote, owners: &Owners) -> Self {
        let ways = (0..).zip(&walk.ways).map(|(way, page)| {
            page.map(|page| (page, owners.of((miss.fetch, miss.set, way), page)))
        });
        WalkEvent {
            ways: ways.collect(),
            steps: walk.steps.clone(),
        }
    }

    /// Adds a step of software's walk. False if there are too many.
    pub fn step(&mut self, step: Step) -> bool {
        let taken = self.steps.len() < tlb_events::STEPS_MOST;
        if taken {
            self.steps.push(step);
        }
        taken
    }
}

impl MissEvent {
    /// A slice if the miss's duration is known, else a mark. It began at `cycle`.
    pub fn to_json(&self, cycle: u64, symbols: &Symbolizer) -> Value {
        let miss = &self.miss;
        let event = Event::tlb_miss(miss.fetch);
        let side = if miss.fetch { "instruction" } else { "data" };
        let causes = &symbols.causes;
        let mut args = json!({
            "address": hexadecimal(miss.ea),
            "side": side,
            "pc": hexadecimal(self.pc),
            "function": symbols.function_name(self.function),
            "program": symbols.program_name(self.program),
            "context": self.context,
            "mode": causes.name(Cause::of_mode(miss.user)),
            "cause": causes.name(miss.cause),
            "set": miss.set,
        });
        let tables = &miss.tables;
        tables.layout.describe(tables.numbers, miss.ea, &mut args);
        if let Some((load, owner)) = &self.load {
            args["way"] = json!(load.way);
            if let Some(page) = &load.victim {
                args["victim"] = page_of(page, owner.as_ref(), symbols);
            }
        }
        if let Some(walk) = &self.walk {
            let ways = walk.ways.iter().map(|way| match way {
                Some((page, owner)) => page_of(page, owner.as_ref(), symbols),
                None => Value::Null,
            });
            args["ways"] = ways.collect();
            let levels = (tables.layout).levels(tables.numbers, miss.ea, &walk.steps);
            let steps = walk.steps.iter().zip(levels);
            args["walk"] = steps
                .map(|(step, level)| self.step(step, cycle, level))
                .collect();
        }
        let mut shown = json!({"tid": MISS_MARKS, "name": event.name(), "args": args});
        if let Some(cycles) = self.cycles {
            shown["ph"] = json!("X");
            shown["args"]["cycles"] = json!(cycles);
        } else {
            shown["ph"] = json!("i");
            shown["s"] = json!("t");
        }
        shown
    }

    /// A step of a walk that began at `began`, and the level of the tree that it reads.
    fn step(&self, step: &Step, began: u64, level: Option<u32>) -> Value {
        let mut shown = json!({
            "at": step.cycle.saturating_sub(began),
            "took": step.took,
            "address": hexadecimal(step.pa),
            "bytes": step.bytes,
            "value": format!("{:#0width$x}", step.value, width = 2 + 2 * step.bytes as usize),
        });
        if step.store {
            shown["store"] = json!(true);
        }
        let Tables { layout, numbers } = self.miss.tables;
        if layout.entry(numbers, self.miss.ea, step, &mut shown) {
            return shown;
        }
        if let Some(level) = level {
            shown["table"] = json!(format!("level {level}"));
        }
        shown
    }
}

impl TlbMiss {
    /// True if the access can be one of the page tables.
    pub fn may_read(&self, step: &Step) -> bool {
        let Tables { layout, numbers } = self.tables;
        layout.may_read(numbers, self.ea, step)
    }
}

fn hexadecimal(address: u32) -> String {
    format!("{address:#010x}")
}

/// A page that has or had a TLB entry. Without an owner, a page tagged by a VSID has no known segment.
fn page_of(page: &TlbPage, owner: Option<&Owner>, symbols: &Symbolizer) -> Value {
    let mut shown = json!({
        "space": page.space.map_or_else(|| "shared".to_owned(), |space| space.to_string()),
    });
    match (owner, page.space) {
        (Some(owner), _) => {
            shown["page"] = json!(hexadecimal(owner.address));
            shown["context"] = json!(owner.context);
            shown["program"] = json!(symbols.program_name(owner.program));
        }
        (None, Some(Space::Vsid(_))) => {
            shown["page_in_segment"] = json!(hexadecimal(page.address));
        }
        (None, _) => shown["page"] = json!(hexadecimal(page.address)),
    }
    shown
}
