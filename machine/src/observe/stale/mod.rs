//! The translation sanitizer: finds each stale translation that an access of any kernel uses (docs/check.md).
//!
//! It knows of each entry of a TLB the words of memory that the entry was made of (its *origin*). A store to such a
//! word makes the entry *suspect*. The next access that uses a suspect entry asks what the processor would load now, if
//! the entry were absent (the *truth*). An architecture says what the origin and the truth are, in one file; everything
//! else is here. An entry that is not suspect costs nothing: accesses use it by the same shortcuts as without the
//! sanitizer.
//!
//! Several processors run in turns, so that a store of one of them is told to another at the begin of the other's turn,
//! before the other can use an entry.

mod fast;
mod fills;
mod finding;
mod judge;
mod spaces;
mod words;

use std::collections::VecDeque;

use fast::Map;
pub use fills::FILLS_MOST;
use fills::{Fill, Fills};
pub use finding::{Finding, Kind};
pub use judge::TRIES_UNTRACED;
pub use spaces::Holder;
use spaces::{SPACES_MOST, Spaces};
pub use words::WORDS_MOST;
pub use words::{CALLS_MOST, Change, Who};
use words::{FRAMES_MOST, Watching};

use crate::memory::Ram;

/// Findings that are kept.
pub const FINDINGS_MOST: usize = 64;
/// Flushes that are remembered.
const FLUSHES_MOST: usize = 4096;
/// Threads that are remembered.
pub const THREADS_MOST: usize = 1 << 16;

/// What names an entry in the TLBs of one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The first address of its page.
    pub page: u64,
    /// The page has `1 << shift` bytes.
    pub shift: u8,
    /// Its number of an address space, where the TLB has one.
    pub space: u32,
    /// Which TLB: data, instructions, second level.
    pub side: Side,
}

/// The TLBs of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    Data,
    Instruction,
    Second,
    /// The hash table of a PowerPC, which is a cache of the guest's tables: no flush of a TLB removes its entries.
    Hashed,
}

impl Side {
    pub const ALL: [Side; 3] = [Side::Data, Side::Instruction, Side::Second];

    #[must_use]
    pub fn of(fetch: bool) -> Side {
        if fetch { Side::Instruction } else { Side::Data }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Data => "data",
            Side::Instruction => "instruction",
            Side::Second => "second level",
            Side::Hashed => "hash table",
        }
    }
}

/// A word of a page table, with what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub at: u32,
    pub value: u64,
}

/// Words of an origin at most.
pub const LEVELS_MOST: usize = 4;

/// The words that an entry was made of, in the order of the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    words: [Option<Word>; LEVELS_MOST],
    /// The register that names the first table.
    pub root: u64,
}

impl Origin {
    #[must_use]
    pub fn new(root: u64) -> Origin {
        Origin {
            root,
            ..Origin::default()
        }
    }

    pub fn push(&mut self, at: u32, value: u64) {
        if let Some(place) = self.words.iter_mut().find(|word| word.is_none()) {
            *place = Some(Word { at, value });
        }
    }

    /// The walk has changed the last word.
    pub fn replace_leaf(&mut self, value: u64) {
        if let Some(word) = self.words.iter_mut().rev().flatten().next() {
            word.value = value;
        }
    }

    /// What the words hold now.
    pub fn read_again(&mut self, ram: &Ram) {
        for word in self.words.iter_mut().flatten() {
            if let Some(value) = ram.read_u32(word.at) {
                word.value = value.into();
            }
        }
    }

    pub fn words(&self) -> impl Iterator<Item = Word> {
        self.words.iter().flatten().copied()
    }

    /// The word from which the page's address came.
    #[must_use]
    pub fn leaf(&self) -> Option<Word> {
        self.words().last()
    }
}

/// What an instruction or another processor's request removed from a TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Everything.
    All,
    /// Everything but global entries.
    NotGlobal,
    /// The page of an address; of one address space, where the TLB has numbers.
    Page(u64, Option<u32>),
    /// An address space.
    Space(u32),
}

/// A flush that was made.
#[derive(Clone, Debug)]
struct Flushed {
    time: u64,
    who: Who,
    what: Flush,
}

/// What an access used.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub key: Key,
    pub address: u64,
    /// The page's physical address in the entry.
    pub frame: u64,
    pub access: &'static str,
}

/// What the processor would load now.
#[derive(Clone, Debug)]
pub enum Truth {
    /// The access may go to the same place. `whole`: the entry allows nothing that the tables do not.
    Same { origin: Origin, whole: bool },
    /// It may not, for this reason.
    Other {
        /// The register that names the first table.
        root: u64,
        /// What the entry does that the tables do not.
        now: &'static str,
        /// Where the page is now, if it is somewhere else.
        frame: Option<u64>,
        /// The tables no longer lead to the entry's page frame.
        gone: bool,
        /// The change that made the entry wrong, where the architecture does not know what words mean
        /// ([`Rules::gives`]).
        change: Option<Change>,
    },
    /// That cannot be told.
    Unknown,
}

/// What the use of a suspect entry means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The entry is good from now on.
    Good,
    /// This access is good or not to be reported; the next one is looked at again.
    Look,
    /// A finding that ends the run.
    Stop,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub fills: u64,
    pub suspects: u64,
    pub windows: u64,
    pub undetermined: u64,
    /// Entries of which nobody knows the words.
    pub untraced: u64,
    pub stale: u64,
}

impl Counts {
    /// Each with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("fills", self.fills),
            ("suspects", self.suspects),
            ("windows", self.windows),
            ("undetermined", self.undetermined),
            ("untraced", self.untraced),
            ("stale", self.stale),
        ]
    }
}

/// Does a word of the origin, which was `before` when the entry was loaded, still give the entry if it holds `now`? The
/// number is that of the word in the origin.
pub type Gives = fn(origin: &Origin, number: usize, now: u64) -> bool;

/// What an architecture says of its page tables.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A word of a table has `1 << grain` bytes.
    pub grain: u32,
    pub big_endian: bool,
    /// `None`: the architecture does not know what words mean.
    pub gives: Option<Gives>,
    /// What the words of an origin are called.
    pub levels: &'static [&'static str],
    /// Which flushes keep a global entry, and which remove it.
    pub global: &'static str,
}

/// What was forgotten because there was too much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Forgotten {
    threads: u64,
    flushes: u64,
    findings: u64,
}

/// The state of the sanitizer, for all processors.
#[derive(Clone, Debug)]
pub struct Stale {
    rules: Rules,
    /// Ends the run at the first finding.
    pub stops: bool,
    /// Reports more than [`Kind::Reuse`].
    late: bool,
    time: u64,
    /// By processor.
    fills: Vec<Fills>,
    /// By processor: entries that others have made suspect.
    told: Vec<Vec<Key>>,
    watching: Watching,
    generation: u64,
    spaces: Spaces,
    flushes: VecDeque<Flushed>,
    /// When each thread returned to user mode.
    returned: Map<u64, u64>,
    counts: Counts,
    findings: Vec<Finding>,
    forgotten: Forgotten,
}

impl Stale {
    /// A sanitizer that knows of nothing yet. `late`: it reports more than [`Kind::Reuse`].
    #[must_use]
    pub fn new(rules: Rules, late: bool) -> Stale {
        Stale {
            rules,
            stops: true,
            late,
            time: 0,
            fills: Vec::new(),
            told: Vec::new(),
            watching: Watching::new(rules.grain, rules.big_endian),
            generation: 0,
            spaces: Spaces::default(),
            flushes: VecDeque::new(),
            returned: Map::default(),
            counts: Counts::default(),
            findings: Vec::new(),
            forgotten: Forgotten::default(),
        }
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What had to be left out, in words.
    #[must_use]
    pub fn limits(&self) -> Option<String> {
        let entries: u64 = self.fills.iter().map(Fills::forgotten).sum();
        let Forgotten {
            threads,
            flushes,
            findings,
        } = self.forgotten;
        let blind = "the run may have missed stale translations";
        let limits = [
            (
                self.watching.words.refused(),
                "words of page tables were not watched",
                WORDS_MOST,
                blind,
            ),
            (entries, "entries were forgotten", FILLS_MOST, blind),
            (
                threads,
                "threads were forgotten",
                THREADS_MOST,
                "the run may have taken stale translations for those of a window",
            ),
            (
                self.watching.frames.forgotten(),
                "page frames were forgotten",
                FRAMES_MOST,
                "the run may have missed a reuse",
            ),
            (
                self.spaces.forgotten(),
                "numbers of address spaces were forgotten",
                SPACES_MOST,
                blind,
            ),
            (
                // Only the report of a finding has a list of them.
                if self.findings.is_empty() { 0 } else { flushes },
                "flushes were forgotten",
                FLUSHES_MOST,
                "lists of flushes may be incomplete",
            ),
            (
                findings,
                "findings were left out",
                FINDINGS_MOST,
                "each is of another pair of places",
            ),
        ];
        let told = limits.iter().filter(|(count, ..)| *count != 0);
        let told: Vec<String> = told
            .map(|(count, what, most, so)| format!("{count} {what}, {most} are the most: {so}"))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Grows with each store to a word of page tables, and with each number that is given to another address space:
    /// until then, what was found of an entry stays so.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many words of page tables it watches now.
    #[must_use]
    pub fn watched_words(&self) -> usize {
        self.watching.words.count()
    }

    fn now(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    /// The entries of a processor, and what they depend on.
    fn of(&mut self, processor: u8) -> (&mut Fills, &mut Watching) {
        let number = usize::from(processor);
        while self.fills.len() <= number {
            self.fills.push(Fills::new(self.fills.len() as u8));
            self.told.push(Vec::new());
        }
        (&mut self.fills[number], &mut self.watching)
    }

    fn fill(&self, processor: u8, key: &Key) -> Option<&Fill> {
        self.fills.get(usize::from(processor))?.get(key)
    }

    /// An entry was loaded from these words.
    pub fn filled(&mut self, key: Key, who: Who, origin: Origin, frame: u64, global: bool) {
        let (time, processor) = (self.now(), who.processor);
        self.counts.fills += 1;
        for word in origin.words() {
            self.watching.frames.walked(word.at, time);
        }
        let fill = Fill::new(time, who, origin, frame, global);
        let (fills, watching) = self.of(processor);
        fills.insert(key, fill, watching);
    }

    /// A TLB got its entry from another one of the same processor.
    pub fn copied(&mut self, processor: u8, from: Key, to: Key) {
        if let Some(fill) = self.fill(processor, &from).cloned() {
            if fill.watches {
                self.watching.frames.share(fill.frame as u32);
            }
            let (fills, watching) = self.of(processor);
            fills.insert(to, fill, watching);
        }
    }

    /// Are so many entries of the processor remembered that it must say which of them are still there?
    #[must_use]
    pub fn wants_sweep(&self, processor: u8) -> bool {
        let fills = self.fills.get(usize::from(processor));
        fills.is_some_and(Fills::wants_sweep)
    }

    /// The TLBs of the processor hold these entries and no others.
    pub fn sweep(&mut self, processor: u8, live: Vec<Key>) {
        let (fills, watching) = self.of(processor);
        fills.sweep(live, watching);
    }

    /// A processor has removed entries.
    pub fn flushed(&mut self, who: Who, what: Flush) {
        let (time, processor) = (self.now(), who.processor);
        let (fills, watching) = self.of(processor);
        fills.flushed(what, watching);
        if self.flushes.len() == FLUSHES_MOST {
            self.flushes.pop_front();
            self.forgotten.flushes += 1;
        }
        self.flushes.push_back(Flushed { time, who, what });
    }

    /// These bytes are about to be written, by an instruction of `who`; `user`: in user mode. Returns the entries of
    /// the processor that become suspect.
    pub fn storing(
        &mut self,
        (pa, bytes): (u32, u32),
        ram: &Ram,
        user: bool,
        who: impl FnOnce() -> Who,
    ) -> Vec<Key> {
        let time = self.now();
        let Watching {
            words,
            frames,
            to_watch,
        } = &mut self.watching;
        frames.stored(pa, bytes, time, user);
        if !words.holds(pa, bytes) {
            return Vec::new();
        }
        self.generation += 1;
        let who = who();
        let processor = who.processor;
        let mut own = Vec::new();
        for (holder, key) in words.storing(pa, bytes, ram, time, who) {
            let Some(fill) = self.fills[usize::from(holder)].get_mut(&key) else {
                continue;
            };
            if let Some(frame) = fill.counted_frame(&key) {
                let fresh = !std::mem::replace(&mut fill.watches, true);
                frames.watch(frame, fresh, to_watch);
            }
            if holder == processor {
                own.push(key);
            } else {
                self.told[usize::from(holder)].push(key);
            }
        }
        own
    }

    /// Nobody will look for the words of an entry, which were not found for this page before.
    pub fn give_up(&mut self) {
        self.counts.untraced += 1;
    }

    /// A device has written a whole page.
    pub fn transferred(&mut self, pa: u32) {
        let time = self.now();
        self.watching.frames.transferred(pa, time);
    }

    /// The entries of a processor that others have made suspect since its last call.
    pub fn take_told(&mut self, processor: u8) -> Vec<Key> {
        match self.told.get_mut(usize::from(processor)) {
            Some(told) if !told.is_empty() => std::mem::take(told),
            _ => Vec::new(),
        }
    }

    /// Addresses that stores must be shown of, from now on.
    pub fn take_watched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.watching.to_watch)
    }

    /// Stores to the 64 bytes at `pa` need not be shown any more.
    #[must_use]
    pub fn is_done_with(&self, pa: u32) -> bool {
        let Watching { words, frames, .. } = &self.watching;
        !words.any_in_piece(pa) && !frames.waits_for(pa)
    }

    /// Pieces of page frames whose stores need not be shown any more, since the last call.
    pub fn take_unwatched(&mut self) -> Vec<u32> {
        let done = self.watching.frames.take_done();
        let pieces = done.into_iter().flat_map(words::pieces);
        pieces.filter(|&pa| self.is_done_with(pa)).collect()
    }

    /// The thread goes on in user mode.
    pub fn returned(&mut self, thread: u64) {
        let time = self.now();
        if self.returned.len() >= THREADS_MOST && !self.returned.contains_key(&thread) {
            self.forgotten.threads += self.returned.len() as u64;
            self.returned.clear();
        }
        self.returned.insert(thread, time);
    }

    /// The entry that was loaded last comes from an older value of its words, which a walk cache had kept.
    pub fn filled_from_older(&mut self, processor: u8, key: Key) {
        if let Some(fill) = self.of(processor).0.get_mut(&key) {
            fill.since = 0;
        }
    }

    /// The stores to the words of an entry since it was loaded, the newest first. `new` is what the word held then.
    #[must_use]
    pub fn changes(&self, processor: u8, key: Key, ram: &Ram) -> Vec<Change> {
        let Some(fill) = self.fill(processor, &key) else {
            return Vec::new();
        };
        let words = fill.origin.words();
        let mut all: Vec<Change> = words
            .flat_map(|word| self.watching.words.changes(word.at, fill.since, ram))
            .collect();
        all.sort_by_key(|change| std::cmp::Reverse(change.time));
        all
    }

    /// The entries of a processor in one of its TLBs.
    #[must_use]
    pub fn keys(&self, processor: u8, side: Side) -> Vec<Key> {
        let fills = self.fills.get(usize::from(processor));
        let all = fills.into_iter().flat_map(Fills::iter);
        let keys = all.map(|(key, _)| *key).filter(|key| key.side == side);
        keys.collect()
    }

    /// The page frame of an entry, as it was loaded.
    #[must_use]
    pub fn frame(&self, processor: u8, key: Key) -> Option<u64> {
        Some(self.fill(processor, &key)?.frame)
    }

    /// Is it too early to ask again what is so of this entry?
    #[must_use]
    pub fn waits(&self, processor: u8, key: Key, cycle: u64) -> bool {
        let fill = self.fill(processor, &key);
        fill.is_some_and(|fill| cycle < fill.again)
    }

    /// What an entry was made of.
    #[must_use]
    pub fn origin(&self, processor: u8, key: Key) -> Option<Origin> {
        Some(self.fill(processor, &key)?.origin)
    }

    /// The findings, to name what they tell of.
    pub fn findings_mut(&mut self) -> &mut [Finding] {
        &mut self.findings
    }
}
