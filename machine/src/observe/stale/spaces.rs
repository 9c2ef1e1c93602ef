//! Numbers of address spaces that a kernel gives to another space while entries of the last one stand.

use super::fast::Map;
use super::{Fills, Key, Origin, Stale};

/// Numbers whose tables are remembered.
pub const SPACES_MOST: usize = 1 << 16;

/// From which tables the entries of each number come, where no register names the first table.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    /// By number, and by the place of an entry's first word in its page: the first table, and the one it leads to.
    leads: Map<(u32, u32), (u64, u64)>,
    /// By number: when it was given to another space, and the first table of that.
    given: Map<u32, (u64, u64)>,
    forgotten: u64,
}

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

impl Stale {
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
        for other in 0..self.fills.len() as u8 {
            if other != processor {
                let keys = self.of_other_root(other, space, root);
                self.told[usize::from(other)].extend(keys);
            }
        }
        self.of_other_root(processor, space, root)
    }

    /// Entries of an address space of a processor that were loaded from another table than this one.
    #[must_use]
    pub fn of_other_root(&self, processor: u8, space: u32, root: u64) -> Vec<Key> {
        let fills = self.fills.get(usize::from(processor));
        let all = fills.into_iter().flat_map(Fills::iter);
        let others = all.filter(|(key, fill)| {
            let known = fill.origin.leaf().is_some();
            !fill.global && known && key.space == space && fill.origin.root != root
        });
        let mut keys: Vec<Key> = others.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }
}
