//! Numbers of address spaces that a kernel gives to another space while entries of the last one stand.

use super::fast::Map;
use super::{Change, Fill, Fills, Key, Origin, Stale, Who};

/// Numbers whose tables are remembered.
pub const SPACES_MOST: usize = 1 << 16;

/// From which tables the entries of each number come, where no register names the first table.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    /// By number, and by the place of an entry's first word in its page: the first table, and the one it leads to.
    leads: Map<(u32, u32), (u64, u64)>,
    /// By number: when it was given to another space, and the first table of that.
    given: Map<u32, (u64, u64)>,
    /// By number: for whom it was chosen last.
    chosen: Map<u32, Chosen>,
    /// How often a number was given to another space, as far as is known.
    changes: u64,
    forgotten: u64,
}

/// By what an architecture tells that a number was chosen for another space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A register has the first table.
    Table(u64),
    /// A thread. Several threads may have one space.
    Thread(u64),
}

/// A number that was chosen for programs.
#[derive(Clone, Debug)]
struct Chosen {
    holder: Holder,
    /// Since when, and who chose it.
    time: u64,
    who: Who,
    /// The first tables of threads, as far as they are known.
    tables: Map<u64, u64>,
}

/// Threads of one number whose tables are remembered.
const THREADS_MOST: usize = 64;

impl Spaces {
    /// Numbers whose tables it no longer knows.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// An entry of the number was loaded. Returns whether the last one came from another space: another first table
    /// leads to another table by the same word. All spaces of a kernel may share the tables of the kernel's own part.
    fn replace(&mut self, space: u32, origin: &Origin, time: u64) -> bool {
        let Some(lead) = origin.words().next().filter(|_| origin.root != 0) else {
            return false;
        };
        let place = (space, lead.at & 0xfff);
        if self.leads.len() >= SPACES_MOST && !self.leads.contains_key(&place) {
            self.forgotten += self.leads.len() as u64;
            self.leads.clear();
            self.given.clear();
            self.chosen.clear();
        }
        let now = (origin.root, lead.value & !0xfff);
        let last = self.leads.insert(place, now);
        let other = last.is_some_and(|last| last.0 != now.0 && last.1 != now.1);
        if other {
            self.given.insert(space, (time, origin.root));
        }
        other
    }
}

impl Chosen {
    fn table(&self, holder: Holder) -> Option<u64> {
        match holder {
            Holder::Table(table) => Some(table),
            Holder::Thread(thread) => self.tables.get(&thread).copied(),
        }
    }

    /// Goes over to another holder. Returns whether that may have another space.
    fn pass_to(&mut self, holder: Holder) -> bool {
        let last = std::mem::replace(&mut self.holder, holder);
        let (before, now) = (self.table(last), self.table(holder));
        last != holder && (before.is_none() || before != now)
    }
}

impl Stale {
    /// These numbers are in force for programs from now on, by `who`. Returns the entries of the processor that become
    /// suspect: those of a number that had another holder.
    pub fn chosen(&mut self, spaces: &[u32], holder: Holder, who: &Who) -> Vec<Key> {
        let time = self.now();
        let mut own = Vec::new();
        for &space in spaces {
            if self.spaces.chosen.len() >= SPACES_MOST {
                self.spaces.forgotten += self.spaces.chosen.len() as u64;
                self.spaces.chosen.clear();
            }
            let fresh = Chosen {
                holder,
                time,
                who: who.clone(),
                tables: Map::default(),
            };
            let chosen = self.spaces.chosen.entry(space).or_insert(fresh);
            if !chosen.pass_to(holder) {
                continue;
            }
            (chosen.time, chosen.who) = (time, who.clone());
            if let Holder::Table(table) = holder {
                self.spaces.given.insert(space, (time, table));
            }
            self.generation += 1;
            self.spaces.changes += 1;
            own.extend(self.suspect_all(who.processor, space, |_| true));
        }
        own
    }

    /// Grows with each number that is given to another address space.
    #[must_use]
    pub fn changes_of_spaces(&self) -> u64 {
        self.spaces.changes
    }

    /// A thread has loaded an entry of the number from the tables of this first one.
    pub fn has_table(&mut self, space: u32, thread: u64, table: u64) {
        if let Some(chosen) = self.spaces.chosen.get_mut(&space) {
            if chosen.tables.len() >= THREADS_MOST {
                chosen.tables.clear();
            }
            chosen.tables.insert(thread, table);
        }
    }

    /// The choice by which an entry may be one of another space, if it was made after the entry was loaded.
    pub(super) fn choice(&self, key: &Key, fill: &Fill) -> Option<Change> {
        let chosen = self.spaces.chosen.get(&key.space)?;
        (chosen.time > fill.since).then(|| Change {
            time: chosen.time,
            who: chosen.who.clone(),
            space: Some(key.space),
            at: 0,
            old: 0,
            new: 0,
        })
    }

    /// The first table of an entry's number now: that of the entry, unless the number was given to another space since.
    #[must_use]
    pub fn root_now(&self, processor: u8, key: Key) -> u64 {
        let Some(fill) = self.fill(processor, &key) else {
            return 0;
        };
        let given = self.spaces.given.get(&key.space);
        match given.filter(|(time, _)| *time > fill.since && fill.origin.root != 0) {
            Some((_, root)) => *root,
            None => fill.origin.root,
        }
    }

    /// An entry of this number has this origin. If the number was given to another space, the entries of the last one
    /// become suspect. Returns those of the processor.
    pub fn rooted(&mut self, processor: u8, space: u32, origin: &Origin) -> Vec<Key> {
        let (time, root) = (self.now(), origin.root);
        if !self.spaces.replace(space, origin, time) {
            return Vec::new();
        }
        self.generation += 1;
        self.spaces.changes += 1;
        self.suspect_all(processor, space, |origin| origin.root != root)
    }

    /// Tells the other processors which of their entries of a number are suspect, and returns those of this one.
    fn suspect_all(
        &mut self,
        processor: u8,
        space: u32,
        which: impl Fn(&Origin) -> bool,
    ) -> Vec<Key> {
        for other in 0..self.fills.len() as u8 {
            if other != processor {
                let keys = self.of_space(other, space, &which);
                self.told[usize::from(other)].extend(keys);
            }
        }
        self.of_space(processor, space, &which)
    }

    /// Entries of an address space of a processor that were loaded from another table than this one.
    #[must_use]
    pub fn of_other_root(&self, processor: u8, space: u32, root: u64) -> Vec<Key> {
        self.of_space(processor, space, &|origin| origin.root != root)
    }

    fn of_space(&self, processor: u8, space: u32, which: &dyn Fn(&Origin) -> bool) -> Vec<Key> {
        let fills = self.fills.get(usize::from(processor));
        let all = fills.into_iter().flat_map(Fills::iter);
        let others = all.filter(|(key, fill)| {
            let known = fill.origin.leaf().is_some();
            !fill.global && known && key.space == space && which(&fill.origin)
        });
        let mut keys: Vec<Key> = others.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }
}
