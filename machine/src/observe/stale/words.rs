//! The words of page tables that entries were made of, what was stored there, and page frames that entries still reach.

use super::Key;
use super::fast::Map;
use crate::memory::Ram;

/// Words that are watched.
pub const WORDS_MOST: usize = 1 << 20;
/// Stores to one word that are remembered.
const CHANGES_MOST: usize = 8;
/// Frames that are watched.
pub const FRAMES_MOST: usize = 1 << 14;
/// Return addresses that are kept of a stack.
pub const CALLS_MOST: usize = 8;
/// Stores are shown by pieces of `1 << PIECE` bytes.
const PIECE: u32 = 6;

/// Who did something, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    pub processor: u8,
    pub cycle: u64,
    pub pc: u64,
    pub user: bool,
    /// What names the thread's kernel stack.
    pub thread: u64,
    /// The number of the program in [`crate::observe::symbolize::Symbolizer`].
    pub program: u32,
    /// Where the callers go on, the innermost first.
    pub calls: Vec<u64>,
}

/// A store to a word of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub time: u64,
    pub who: Who,
    /// It was no store: this number of an address space was chosen for another space.
    pub space: Option<u32>,
    pub at: u32,
    pub old: u64,
    pub new: u64,
}

#[derive(Clone, Debug, Default)]
struct Watched {
    /// The entries that the word is an origin of, and whether they are suspect because of it.
    entries: Map<(u8, Key), bool>,
    /// In order; `new` is filled in by the next change.
    changes: Vec<Change>,
}

/// What is watched for the entries of all processors.
#[derive(Clone, Debug)]
pub struct Watching {
    pub words: Words,
    pub frames: Frames,
    /// Addresses that the processor must show stores to from now on.
    pub to_watch: Vec<u32>,
}

impl Watching {
    pub fn new(grain: u32, big_endian: bool) -> Watching {
        Watching {
            words: Words::new(grain, big_endian),
            frames: Frames::default(),
            to_watch: Vec::new(),
        }
    }
}

/// All words.
#[derive(Clone, Debug)]
pub struct Words {
    grain: u32,
    big_endian: bool,
    watched: Map<u32, Watched>,
    /// Words of each page that are watched.
    pages: Map<u32, u32>,
    refused: u64,
}

impl Words {
    pub fn new(grain: u32, big_endian: bool) -> Words {
        Words {
            grain,
            big_endian,
            watched: Map::default(),
            pages: Map::default(),
            refused: 0,
        }
    }

    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn first(&self, pa: u32) -> u32 {
        pa >> self.grain << self.grain
    }

    fn covered(&self, pa: u32, bytes: u32) -> impl Iterator<Item = u32> + use<> {
        let last = pa.saturating_add(bytes.saturating_sub(1));
        (self.first(pa)..=last).step_by(1 << self.grain)
    }

    fn read(&self, ram: &Ram, at: u32) -> u64 {
        match (self.grain, self.big_endian) {
            (2, false) => ram.get(at).map_or(0, u32::from_le_bytes).into(),
            (2, true) => ram.get(at).map_or(0, u32::from_be_bytes).into(),
            _ => ram.get(at).map_or(0, u64::from_le_bytes),
        }
    }

    /// An entry was made of the word at `at`.
    pub fn depends(&mut self, at: u32, entry: (u8, Key), to_watch: &mut Vec<u32>) {
        let at = self.first(at);
        if self.watched.len() >= WORDS_MOST && !self.watched.contains_key(&at) {
            self.refused += 1;
            return;
        }
        let word = self.watched.entry(at).or_default();
        if word.entries.is_empty() {
            *self.pages.entry(at >> 12).or_default() += 1;
            to_watch.push(at);
        }
        word.entries.insert(entry, false);
    }

    /// The entry was loaded anew from the word as it is now.
    pub fn renew(&mut self, at: u32, entry: (u8, Key)) {
        let at = self.first(at);
        let word = self.watched.get_mut(&at);
        if let Some(told) = word.and_then(|word| word.entries.get_mut(&entry)) {
            *told = false;
        }
    }

    /// The entry has gone, or has another origin. A word without entries is watched no longer.
    pub fn leave(&mut self, at: u32, entry: (u8, Key)) {
        let at = self.first(at);
        if let Some(word) = self.watched.get_mut(&at) {
            word.entries.remove(&entry);
            if word.entries.is_empty() {
                self.watched.remove(&at);
                if let Some(count) = self.pages.get_mut(&(at >> 12)) {
                    *count -= 1;
                    if *count == 0 {
                        self.pages.remove(&(at >> 12));
                    }
                }
            }
        }
    }

    /// How many words are watched.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// Is one of these bytes in a word that is watched?
    pub fn holds(&self, pa: u32, bytes: u32) -> bool {
        self.covered(pa, bytes)
            .any(|at| self.watched.contains_key(&at))
    }

    pub fn any_in_piece(&self, pa: u32) -> bool {
        if !self.pages.contains_key(&(pa >> 12)) {
            return false;
        }
        let first = pa >> PIECE << PIECE;
        self.holds(first, 1 << PIECE)
    }

    /// A store to these bytes. Returns the entries that become suspect.
    pub fn storing(
        &mut self,
        pa: u32,
        bytes: u32,
        ram: &Ram,
        time: u64,
        who: Who,
    ) -> Vec<(u8, Key)> {
        let mut suspect = Vec::new();
        for at in self.covered(pa, bytes) {
            let value = self.read(ram, at);
            let Some(word) = self.watched.get_mut(&at) else {
                continue;
            };
            for (entry, told) in &mut word.entries {
                if !std::mem::replace(told, true) {
                    suspect.push(*entry);
                }
            }
            if let Some(last) = word.changes.last_mut() {
                last.new = value;
            }
            if word.changes.len() == CHANGES_MOST {
                word.changes.remove(0);
            }
            word.changes.push(Change {
                time,
                who: who.clone(),
                space: None,
                at,
                old: value,
                new: 0,
            });
        }
        // The order of a map is not that of the machine.
        suspect.sort_unstable();
        suspect
    }

    /// The stores to a word after `since`.
    pub fn changes(&self, at: u32, since: u64, ram: &Ram) -> Vec<Change> {
        let at = self.first(at);
        let Some(word) = self.watched.get(&at) else {
            return Vec::new();
        };
        let mut new = self.read(ram, at);
        let mut found = Vec::new();
        for change in word.changes.iter().rev() {
            if change.time <= since {
                break;
            }
            found.push(Change {
                new,
                ..change.clone()
            });
            new = change.old;
        }
        found
    }

    /// The last store since `since` before which the word gave an entry, and after which it did not.
    pub fn last_loss(
        &self,
        at: u32,
        since: u64,
        ram: &Ram,
        gives: impl Fn(u64) -> bool,
    ) -> Option<Change> {
        let at = self.first(at);
        let word = self.watched.get(&at)?;
        let mut found = None;
        let last = word.changes.len().saturating_sub(1);
        for (n, change) in word.changes.iter().enumerate() {
            let new = if n == last {
                self.read(ram, at)
            } else {
                change.new
            };
            if change.time <= since {
                continue;
            }
            if gives(new) {
                found = None;
            } else if gives(change.old) {
                found = Some(Change {
                    new,
                    ..change.clone()
                });
            }
        }
        found
    }
}

/// The pieces of the page at `pa`.
pub fn pieces(pa: u32) -> impl Iterator<Item = u32> {
    (pa & !0xfff..=pa | 0xfff).step_by(1 << PIECE)
}

/// A page frame that an entry reaches although a word of its origin was stored to.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Entries that reach it so.
    entries: u32,
    /// Pieces that were written since.
    written: u64,
    by_kernel: u64,
    /// When all were, or a walk read a table there.
    reused: Option<u64>,
}

/// All such frames, by number.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    all: Map<u32, Frame>,
    forgotten: u64,
    /// Frames whose stores need no longer be shown.
    done: Vec<u32>,
}

impl Frames {
    /// Frames of which it no longer knows whether they got another use.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// From now on it counts what is written to the frame at `frame`. `fresh`: for one more entry.
    pub fn watch(&mut self, frame: u32, fresh: bool, to_watch: &mut Vec<u32>) {
        if self.all.len() >= FRAMES_MOST {
            self.forgotten += self.all.len() as u64;
            self.done
                .extend(self.all.drain().map(|(frame, _)| frame << 12));
        }
        let held = self.all.entry(frame >> 12).or_default();
        *held = Frame {
            entries: held.entries + u32::from(fresh || held.entries == 0),
            ..Frame::default()
        };
        to_watch.extend(pieces(frame));
    }

    /// Another entry reaches the frame as one of these does.
    pub fn share(&mut self, frame: u32) {
        if let Some(held) = self.all.get_mut(&(frame >> 12)) {
            held.entries += 1;
        }
    }

    /// An entry that reached the frame is good again, or has gone.
    pub fn leave(&mut self, frame: u32) {
        if let Some(held) = self.all.get_mut(&(frame >> 12)) {
            held.entries -= 1;
            if held.entries == 0 {
                self.all.remove(&(frame >> 12));
                self.done.push(frame & !0xfff);
            }
        }
    }

    /// The frames that were let go since the last call.
    pub fn take_done(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.done)
    }

    /// A store. A frame was overwritten whole if all of its pieces were, three quarters of them by the kernel: a
    /// program may write to the rest between.
    pub fn stored(&mut self, pa: u32, bytes: u32, time: u64, user: bool) {
        if let Some(frame) = self.all.get_mut(&(pa >> 12)) {
            let piece = |pa: u32| (pa & 0xfff) >> PIECE;
            let last = (pa & 0xfff).saturating_add(bytes.max(1) - 1).min(0xfff);
            for n in piece(pa)..=piece(last) {
                frame.written |= 1 << n;
                frame.by_kernel |= u64::from(!user) << n;
            }
            if frame.written == u64::MAX && frame.by_kernel.count_ones() >= 48 {
                frame.reused.get_or_insert(time);
            }
        }
    }

    pub fn transferred(&mut self, pa: u32, time: u64) {
        if let Some(frame) = self.all.get_mut(&(pa >> 12)) {
            frame.reused.get_or_insert(time);
        }
    }

    /// A walk has read a word at `at`.
    pub fn walked(&mut self, at: u32, time: u64) {
        self.transferred(at, time);
    }

    /// Is the piece of `pa` one that has not been written yet?
    pub fn waits_for(&self, pa: u32) -> bool {
        self.all.get(&(pa >> 12)).is_some_and(|frame| {
            frame.reused.is_none() && frame.written >> ((pa & 0xfff) >> PIECE) & 1 == 0
        })
    }

    /// When the frame got another use.
    pub fn reused(&self, frame: u32) -> Option<u64> {
        self.all.get(&(frame >> 12))?.reused
    }
}
