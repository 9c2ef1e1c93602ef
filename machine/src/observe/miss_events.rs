//! A TLB miss in a trace, with the steps of its walk as a person reads them.

use serde_json::{Value, json};

use super::symbolize::{Function, Symbolizer};
use super::tlb_events::{self, Owner, Owners, Step, Tables, TlbLoad, TlbMiss, TlbPage, WalkNote};
use super::trace::MISS_MARKS;
use super::{Cause, Event};
use crate::powerpc::mmu::hash64::table;
use crate::powerpc::mmu::{Space, hash, segment};

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
        let (event, side) = if miss.fetch {
            (Event::InstructionTlbMiss, "instruction")
        } else {
            (Event::DataTlbMiss, "data")
        };
        let by_mode = [Cause::Kernel, Cause::User][usize::from(miss.user)];
        let mut args = json!({
            "address": hexadecimal(miss.ea),
            "side": side,
            "pc": hexadecimal(self.pc),
            "function": symbols.function_name(self.function),
            "program": symbols.program_name(self.program),
            "context": self.context,
            "mode": by_mode.name(),
            "cause": miss.cause.name(),
            "set": miss.set,
        });
        tables(&miss.tables, miss.ea, &mut args);
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
            let levels = self.miss.levels(&walk.steps);
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
        if let Some((name, second)) = self.miss.group_of(step.pa) {
            shown["table"] = json!(name);
            if let Tables::Wide { page, .. } = self.miss.tables {
                shown["slot"] = json!(step.pa % table::GROUP_BYTES / table::PTE_BYTES);
                if step.pa.is_multiple_of(table::PTE_BYTES) && !step.store {
                    shown["found"] = json!(if page.matches(step.value, second) {
                        "match"
                    } else if step.value & table::first::V == 0 {
                        "empty"
                    } else {
                        "other"
                    });
                }
                return shown;
            }
            shown["slot"] = json!(step.pa % hash::PTEG_BYTES / 8);
            if step.pa.is_multiple_of(8) && step.bytes >= 4 && !step.store {
                let word0 = (step.value >> (8 * (step.bytes - 4))) as u32;
                entry(word0, step.pa & !(hash::PTEG_BYTES - 1), &mut shown);
                if let Tables::Hash { segment, .. } = self.miss.tables
                    && word0 == hash::word0(segment, self.miss.ea, second)
                {
                    shown["found"] = json!("match");
                }
            }
            return shown;
        }
        if let Some(level) = level {
            shown["table"] = json!(format!("level {level}"));
        }
        shown
    }
}

/// PowerPC kernels keep trees of two levels of 1024 words each, beside a hash table or alone. The 8xx's registers
/// address such trees. An access counts as a read of a tree if its offset in the page is that of the address's entry.
impl TlbMiss {
    fn group_of(&self, pa: u32) -> Option<(&'static str, bool)> {
        let (primary, secondary, bytes) = match self.tables {
            Tables::Hash { segment, sdr1 } => {
                let (primary, secondary) = hash::groups(sdr1, segment, self.ea);
                (primary, secondary, hash::PTEG_BYTES)
            }
            Tables::Wide { page, sdr1 } => {
                let [(primary, _), (secondary, _)] = table::Place::of(sdr1).groups(&page);
                (primary as u32, secondary as u32, table::GROUP_BYTES)
            }
            Tables::Tree { .. } | Tables::Software { .. } => return None,
        };
        let group = pa & !(bytes - 1);
        [(primary, "primary", false), (secondary, "secondary", true)]
            .into_iter()
            .find_map(|(at, name, second)| (at == group).then_some((name, second)))
    }

    fn in_level_one(&self, step: &Step) -> bool {
        match self.tables {
            Tables::Tree { level_one, .. } => step.pa == level_one,
            Tables::Hash { .. } | Tables::Wide { .. } | Tables::Software { .. } => {
                step.pa & 0xffc == self.ea >> 20 & 0xffc
            }
        }
    }

    fn in_level_two(&self, step: &Step) -> bool {
        step.pa & 0xffc == self.ea >> 10 & 0xffc
    }

    /// True if the access can be one of the page tables.
    pub fn may_read(&self, step: &Step) -> bool {
        let word = step.bytes == 4 && !step.store;
        self.group_of(step.pa).is_some()
            || word && (self.in_level_one(step) || self.in_level_two(step))
    }

    /// The level of the tree that each step reads: a word of level one names the page where a later step reads level
    /// two, by its physical or by the kernel's virtual address.
    fn levels(&self, steps: &[Step]) -> Vec<Option<u32>> {
        let mut levels = vec![None; steps.len()];
        let word = |step: &Step| step.bytes == 4 && !step.store;
        for (first, one) in steps.iter().enumerate() {
            if !word(one) || !self.in_level_one(one) {
                continue;
            }
            let leads = |two: &Step| {
                word(two)
                    && self.in_level_two(two)
                    && (one.value as u32 ^ two.pa) & 0x0fff_f000 == 0
            };
            let second = steps.iter().skip(first + 1).position(leads);
            if let Some(second) = second {
                levels[first] = Some(1);
                levels[first + 1 + second] = Some(2);
            } else if matches!(self.tables, Tables::Tree { .. }) {
                levels[first] = Some(1);
            }
        }
        levels
    }
}

/// Adds what the MMU's registers say of the page: VSID and groups of the hash table, or the 8xx's level-one entry.
fn tables(tables: &Tables, ea: u32, args: &mut Value) {
    match *tables {
        Tables::Hash { segment, sdr1 } => {
            let (primary, secondary) = hash::groups(sdr1, segment, ea);
            args["segment"] = json!(ea >> 28);
            args["vsid"] = json!(format!("{:#08x}", segment & segment::VSID));
            args["page_index"] = json!(format!("{:#06x}", ea >> 12 & 0xffff));
            args["hash"] = json!(format!("{:#07x}", hash::hash(segment, ea)));
            args["primary"] = json!(hexadecimal(primary));
            args["secondary"] = json!(hexadecimal(secondary));
        }
        Tables::Wide { page, sdr1 } => {
            let [(primary, _), (secondary, _)] = table::Place::of(sdr1).groups(&page);
            args["segment"] = json!(page.ea >> 28);
            args["vsid"] = json!(format!("{:#x}", page.vsid));
            args["page_index"] = json!(format!("{:#06x}", page.index()));
            args["large"] = json!(page.large);
            args["hash"] = json!(format!("{:#x}", page.hash()));
            args["primary"] = json!(hexadecimal(primary as u32));
            args["secondary"] = json!(hexadecimal(secondary as u32));
        }
        Tables::Tree { asid, level_one } => {
            args["asid"] = json!(asid);
            args["level_one"] = json!(hexadecimal(level_one));
        }
        Tables::Software { pid } => args["pid"] = json!(pid),
    }
}

/// Adds what word 0 of a hash-table entry in `group` says. The group gives the part of the page index that the entry
/// leaves out.
fn entry(word0: u32, group: u32, shown: &mut Value) {
    if word0 & hash::V == 0 {
        shown["found"] = json!("empty");
        return;
    }
    let secondary = word0 & hash::H != 0;
    let vsid = word0 >> 7 & segment::VSID;
    let number = group / hash::PTEG_BYTES;
    let hashed = if secondary { !number } else { number };
    let page_index = (word0 & 0x3f) << 10 | (hashed ^ vsid) & 0x3ff;
    shown["found"] = json!("other");
    shown["vsid"] = json!(format!("{vsid:#08x}"));
    shown["page_index"] = json!(format!("{page_index:#06x}"));
    shown["by_secondary_hash"] = json!(secondary);
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
