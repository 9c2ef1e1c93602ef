//! An observer in one line: events of a kind, chosen by conditions, counted in groups. Nothing leaves the machine until
//! the run has ended.

mod query;

pub use query::{Field, Query};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rustc_hash::FxHashMap;

use super::listener::{Heard, Kind, What};
use super::profile::Profile;
use super::stacks::{Frame, Stack};
use super::symbolize::{Function, Symbolizer};
use crate::account::Cause;
use query::Operand;

/// The most groups of one query. Events of further groups are counted together.
pub const GROUPS_MOST: usize = 1 << 16;

/// Powers of two that a histogram has: its first part is 0 alone.
const BUCKETS: usize = 65;

/// What an event has in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    /// Nothing: software loads the entry, for instance, so that the cycles are not known.
    Absent,
    Number(u64),
    /// An address, or what begins at one.
    Address(u32),
    Word(&'static str),
    Cause(Cause),
    Function(Function),
    Program(u32),
    Path(u32),
    /// With the function that ran, which is its last one unless that was not known yet.
    Stack(Stack, Frame),
}

/// What a group has counted.
#[derive(Clone, Debug)]
struct Group {
    count: u64,
    /// The sum of the measured field, and how many events had each size of it.
    measured: Option<(u64, Box<[u64; BUCKETS]>)>,
}

impl Group {
    fn add(&mut self, other: &Group) {
        self.count += other.count;
        if let (Some((sum, sizes)), Some((more, others))) = (&mut self.measured, &other.measured) {
            *sum = sum.saturating_add(*more);
            sizes
                .iter_mut()
                .zip(&others[..])
                .for_each(|(size, more)| *size += more);
        }
    }
}

/// A row of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The group, in the words of [`Query::keys`].
    pub group: Vec<String>,
    pub count: u64,
    /// The sum of the measured field.
    pub sum: u64,
    /// Smallest and largest size, and how many events were in between; none without a measured field.
    pub histogram: Vec<(u64, u64, u64)>,
}

/// A query, and what it has counted.
#[derive(Clone, Debug)]
pub struct Tally {
    query: Query,
    /// Only inside of this region of interest; everywhere if there is none.
    region: Option<u32>,
    inside: bool,
    groups: FxHashMap<Vec<Value>, Group>,
    /// Of groups beyond the limit.
    others: u64,
    /// Which names a condition is true of.
    functions: FxHashMap<(usize, Function), bool>,
    programs: FxHashMap<(usize, u32), bool>,
}

impl Tally {
    /// Counts what the query asks for; with a region, only inside of that.
    #[must_use]
    pub fn new(query: Query, region: Option<u32>) -> Self {
        Tally {
            query,
            region,
            inside: region.is_none(),
            groups: FxHashMap::default(),
            others: 0,
            functions: FxHashMap::default(),
            programs: FxHashMap::default(),
        }
    }

    /// The query.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Events of groups beyond [`GROUPS_MOST`].
    #[must_use]
    pub fn others(&self) -> u64 {
        self.others
    }

    /// A region of interest begins or ends.
    pub(super) fn region(&mut self, number: u32, begins: bool) {
        if self.region == Some(number) {
            self.inside = begins;
        }
    }

    /// An event. `stack` is the one of the code that runs.
    pub(super) fn hear(&mut self, heard: &Heard, kind: Kind, symbols: &Symbolizer, stack: Stack) {
        if !self.inside || kind != self.query.kind {
            return;
        }
        let fetch = match heard.what {
            What::Miss(miss) => Some(miss.fetch),
            What::Eviction { load, .. } => Some(load.fetch),
            What::Exception(_)
            | What::Switch { .. }
            | What::Interrupt { .. }
            | What::Call { .. } => None,
        };
        if self.query.fetch.is_some_and(|wanted| Some(wanted) != fetch) {
            return;
        }
        for number in 0..self.query.conditions.len() {
            if !self.holds(number, heard, symbols, stack) {
                return;
            }
        }
        let keys = self.query.keys.iter();
        let group: Vec<Value> = keys
            .map(|&field| value(field, heard, symbols, stack))
            .collect();
        let measured = self
            .query
            .measured
            .map(|field| value(field, heard, symbols, stack));
        if self.groups.len() >= GROUPS_MOST && !self.groups.contains_key(&group) {
            self.others += 1;
            return;
        }
        let entry = self.groups.entry(group).or_insert_with(|| Group {
            count: 0,
            measured: measured.map(|_| (0, Box::new([0; BUCKETS]))),
        });
        entry.count += 1;
        let number = match measured {
            Some(Value::Number(number)) => number,
            Some(Value::Address(address)) => address.into(),
            _ => return,
        };
        if let Some((sum, sizes)) = &mut entry.measured {
            *sum = sum.saturating_add(number);
            sizes[(u64::BITS - number.leading_zeros()) as usize] += 1;
        }
    }

    fn holds(&mut self, number: usize, heard: &Heard, symbols: &Symbolizer, stack: Stack) -> bool {
        let condition = &self.query.conditions[number];
        let found = value(condition.field, heard, symbols, stack);
        let compare = condition.compare;
        match (&condition.operand, found) {
            (_, Value::Absent | Value::Stack(..) | Value::Path(_)) => false,
            (Operand::Number(wanted), Value::Number(number)) => compare.holds(number.cmp(wanted)),
            (Operand::Number(wanted), Value::Address(address)) => {
                compare.holds(u64::from(address).cmp(wanted))
            }
            (Operand::Word(wanted), Value::Word(word)) => compare.holds(word.cmp(wanted)),
            (Operand::Word(wanted), Value::Cause(cause)) => {
                compare.holds(symbols.causes.name(cause).cmp(wanted))
            }
            (Operand::Word(wanted), Value::Function(function)) => {
                let known = self.functions.entry((number, function));
                *known.or_insert_with(|| compare.holds(symbols.function_name(function).cmp(wanted)))
            }
            (Operand::Word(wanted), Value::Program(program)) => {
                let known = self.programs.entry((number, program));
                *known.or_insert_with(|| {
                    let same = is_called(symbols.program_name(program), wanted);
                    compare.holds(if same {
                        std::cmp::Ordering::Equal
                    } else {
                        std::cmp::Ordering::Less
                    })
                })
            }
            _ => false,
        }
    }

    /// The groups, the largest first. `profile` knows the stacks.
    #[must_use]
    pub fn rows(&self, symbols: &Symbolizer, profile: Option<&Profile>) -> Vec<Row> {
        // Two functions, or two stacks, can have the same names.
        let mut named: BTreeMap<Vec<String>, Group> = BTreeMap::new();
        for (group, counted) in &self.groups {
            let names = group.iter().map(|value| shown(*value, symbols, profile));
            match named.entry(names.collect()) {
                Entry::Vacant(place) => drop(place.insert(counted.clone())),
                Entry::Occupied(mut known) => known.get_mut().add(counted),
            }
        }
        let mut rows: Vec<Row> = named
            .into_iter()
            .map(|(group, counted)| Row {
                group,
                count: counted.count,
                sum: counted.measured.as_ref().map_or(0, |(sum, _)| *sum),
                histogram: (counted.measured.as_ref())
                    .map_or_else(Vec::new, |(_, sizes)| parts(sizes)),
            })
            .collect();
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.group.cmp(&b.group)));
        rows
    }
}

/// Is this the path of a program, or the last part of it?
#[must_use]
pub fn is_called(path: &str, name: &str) -> bool {
    path == name || path.rsplit('/').next() == Some(name)
}

/// The parts of a histogram from the first to the last that is not empty.
fn parts(sizes: &[u64; BUCKETS]) -> Vec<(u64, u64, u64)> {
    let first = sizes.iter().position(|&count| count != 0);
    let last = sizes.iter().rposition(|&count| count != 0);
    let Some((first, last)) = first.zip(last) else {
        return Vec::new();
    };
    (first..=last)
        .map(|bits| {
            let low = if bits == 0 { 0 } else { 1 << (bits - 1) };
            let high = if bits == 64 {
                u64::MAX
            } else {
                (1 << bits) - 1
            };
            (low, high, sizes[bits])
        })
        .collect()
}

fn value(field: Field, heard: &Heard, symbols: &Symbolizer, stack: Stack) -> Value {
    let number = |number: u32| Value::Number(number.into());
    let (miss, load, victim) = match heard.what {
        What::Miss(miss) => (Some(miss), None, None),
        What::Eviction {
            load,
            victim,
            owner,
        } => (None, Some(load), Some((victim, owner))),
        What::Exception(_) | What::Switch { .. } | What::Interrupt { .. } | What::Call { .. } => {
            (None, None, None)
        }
    };
    let of_tlb = |of_miss: Option<u32>, of_load: Option<u32>| of_miss.or(of_load);
    match field {
        Field::Function => Value::Function(symbols.locate(heard.pc, heard.user).function),
        Field::Program => Value::Program(heard.program),
        Field::Cause => Value::Cause(heard.cause),
        Field::Mode => Value::Cause(Cause::of_mode(heard.user)),
        Field::Context => number(heard.context),
        Field::Processor => Value::Number(heard.processor.into()),
        Field::Pc => Value::Address(heard.pc),
        Field::Stack => {
            let function = symbols.locate(heard.pc, heard.user).function;
            let user = heard.user;
            Value::Stack(stack, Frame { function, user })
        }
        Field::Side => {
            let fetch = miss.map(|miss| miss.fetch).or(load.map(|load| load.fetch));
            fetch.map_or(Value::Absent, |fetch| {
                Value::Word(if fetch { "instruction" } else { "data" })
            })
        }
        Field::Set => of_tlb(miss.map(|miss| miss.set), load.map(|load| load.set))
            .map_or(Value::Absent, number),
        Field::Address => of_tlb(miss.map(|miss| miss.ea), load.map(|load| load.ea))
            .map_or(Value::Absent, Value::Address),
        Field::Page => of_tlb(miss.map(|miss| miss.ea), load.map(|load| load.ea))
            .map_or(Value::Absent, |ea| Value::Address(ea & !0xfff)),
        Field::Cycles => match heard.what {
            What::Call { cycles, .. } => Some(cycles),
            _ => miss.and_then(|miss| miss.walk),
        }
        .map_or(Value::Absent, Value::Number),
        Field::Caller => match heard.what {
            What::Call { caller, .. } => Value::Function(caller),
            _ => Value::Absent,
        },
        Field::Victim => victim.map_or(Value::Absent, |(page, owner)| {
            Value::Address(owner.map_or(page.address, |owner| owner.address))
        }),
        Field::VictimContext => victim
            .and_then(|(_, owner)| owner)
            .map_or(Value::Absent, |owner| number(owner.context)),
        Field::Vector => match heard.what {
            What::Exception(which) => Value::Word(which.counter),
            _ => Value::Absent,
        },
        Field::Target => match heard.what {
            What::Interrupt { target, .. } => Value::Number(target.into()),
            _ => Value::Absent,
        },
        Field::Path => match heard.what {
            What::Interrupt { path, .. } => Value::Path(path),
            _ => Value::Absent,
        },
    }
}

fn shown(value: Value, symbols: &Symbolizer, profile: Option<&Profile>) -> String {
    match value {
        Value::Absent => "-".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Address(address) => format!("{address:#010x}"),
        Value::Word(word) => word.to_owned(),
        Value::Cause(cause) => symbols.causes.name(cause).to_owned(),
        Value::Function(function) => symbols.function_name(function).to_owned(),
        Value::Program(program) => symbols.program_name(program).to_owned(),
        Value::Path(path) => symbols.path_names(path),
        Value::Stack(stack, frame) => profile.map_or_else(String::new, |profile| {
            profile.names(symbols, stack, frame).join(" > ")
        }),
    }
}
