//! Which compiled code there is, and which jumps of compiled code lead to it.

use rustc_hash::FxHashMap;

use super::memory::{CodeMemory, Slot};

/// Places of the look-up that is tried first.
const FRONT: usize = 1 << 12;

fn front(key: u64) -> usize {
    (key ^ key >> 17 ^ key >> 45) as usize % FRONT
}

/// No key.
const NONE: u64 = u64::MAX;

/// The numbers of compiled code, by keys.
pub struct Known {
    all: FxHashMap<u64, u32>,
    front: Box<[(u64, u32); FRONT]>,
}

impl Default for Known {
    fn default() -> Self {
        Known {
            all: FxHashMap::default(),
            front: Box::new([(NONE, 0); FRONT]),
        }
    }
}

impl Known {
    #[inline]
    pub fn find(&mut self, key: u64) -> Option<u32> {
        let place = front(key);
        let (known, number) = self.front[place];
        if known == key {
            return Some(number);
        }
        let number = *self.all.get(&key)?;
        self.front[place] = (key, number);
        Some(number)
    }

    pub fn insert(&mut self, key: u64, number: u32) {
        self.all.insert(key, number);
    }

    /// Keeps the number where it is found first, until another key takes its place.
    pub fn note(&mut self, key: u64, number: u32) {
        self.front[front(key)] = (key, number);
    }

    pub fn remove(&mut self, key: u64) -> Option<u32> {
        self.front[front(key)] = (NONE, 0);
        self.all.remove(&key)
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.front.fill((NONE, 0));
    }
}

/// Jumps through slots that lead to compiled code: by its number, each with where it leads otherwise.
#[derive(Default)]
pub struct Jumps(FxHashMap<u32, Vec<(Slot, usize)>>);

impl Jumps {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The jump through `slot`, which leads to `stub` otherwise, leads to the code `to` at `at` from now on.
    pub fn lead(
        &mut self,
        (slot, stub): (Slot, usize),
        (to, at): (u32, usize),
        memory: &mut CodeMemory,
    ) {
        // It may lead there already.
        if memory.leads(slot) != at {
            memory.lead(slot, at);
            self.0.entry(to).or_default().push((slot, stub));
        }
    }

    /// No jump leads to the code `to` from now on.
    pub fn take_back(&mut self, to: u32, memory: &mut CodeMemory) {
        for (slot, stub) in self.0.remove(&to).unwrap_or_default() {
            memory.lead(slot, stub);
        }
    }

    /// Forgets all, whose slots are no longer there.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
