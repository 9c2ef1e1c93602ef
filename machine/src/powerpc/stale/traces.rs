//! What was found before of entries whose words no handler has told.

use rustc_hash::FxHashMap;

use crate::memory::Ram;
use crate::observe::stale::{Key, Origin, TRIES_UNTRACED, Word};
use crate::powerpc::mmu::held::Held;

/// Entries that are remembered.
const TRACES_MOST: usize = 4096;

/// An entry, and its page frame.
type Entry = (Key, u32);

#[derive(Debug, Default)]
pub struct Traces {
    known: FxHashMap<Entry, Origin>,
    /// How often nobody could tell the words.
    failed: FxHashMap<Entry, u8>,
}

impl Traces {
    /// The words of the same entry when it was loaded before, if they have not changed since.
    pub(super) fn known(&self, held: &Held, ram: &Ram) -> Option<Origin> {
        let origin = self.known.get(&(held.key, held.frame))?;
        let stays = |word: Word| ram.read_u32(word.at).map(u64::from) == Some(word.value);
        origin.words().all(stays).then_some(*origin)
    }

    /// It is of no use to look for the words once more.
    pub(super) fn is_hopeless(&self, held: &Held) -> bool {
        let failed = self.failed.get(&(held.key, held.frame));
        failed.is_some_and(|&times| times >= TRIES_UNTRACED)
    }

    pub(super) fn learn(&mut self, held: &Held, origin: Origin) {
        if self.known.len() >= TRACES_MOST {
            self.known.clear();
        }
        self.known.insert((held.key, held.frame), origin);
    }

    pub(super) fn fail(&mut self, held: &Held) {
        if self.failed.len() >= TRACES_MOST {
            self.failed.clear();
        }
        *self.failed.entry((held.key, held.frame)).or_default() += 1;
    }
}
