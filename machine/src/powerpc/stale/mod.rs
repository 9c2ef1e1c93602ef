//! What the translation sanitizer ([`crate::observe::stale`]) must know of a PowerPC.
//!
//! - No layout of the guest's tables is known. What the processor would load now is what the guest's own handler loads
//!   in a copy of the processor ([`copy`]).
//! - An entry is made of the word that the handler loaded or stored last before it loaded the entry, of those whose
//!   frame bits are the entry's, and of the word that leads to its table. Of an entry that no handler loaded (a kernel
//!   may load it in advance) the copy tells it at the first use.
//! - A hash table is a cache of the guest's tables, as a second-level TLB is one ([`Side::Hashed`]). The copy does not
//!   see the page's entry there.
//! - The change that made an entry wrong is the last one without which the guest's handler would load the entry: the
//!   words are set back in the copy's memory, change by change.
//! - A store by an entry that the handler would load only after it has changed the word more than for a load is a lost
//!   write: the table does not know that the page is dirty.
//! - A thread is named by SPRG3, which Linux and our kernel keep for each.

mod copy;

pub use copy::Copy;

use copy::{Answer, HIDDEN, Reloaded};

use crate::computer::Sanitized;
use crate::observe::stacks::Calls as _;
use crate::observe::stale::{
    CALLS_MOST, Change, Flush, Key, Origin, Rules, Side, Stale, Truth, Use, Who,
};
use crate::powerpc::calls::Calls;
use crate::powerpc::mmu::held::Held;
use crate::powerpc::mmu::{Access, Source, Translation};
use crate::powerpc::msr;
use crate::powerpc::processor::{Fatal, Processor, Stop};
use crate::powerpc::registers::Register;
use rustc_hash::FxHashMap;

/// Words that a handler has loaded or stored: where, and what.
pub type Trail = Vec<(u32, u32)>;

/// What was found out of suspect entries, and how many stores to words of tables there had been then.
pub type Truths = (u64, FxHashMap<(Key, Access, bool), Truth>);

/// Answers that are kept.
const TRUTHS_MOST: usize = 4096;
/// Words of one handler that are remembered.
const TRAIL_MOST: usize = 1024;

const RULES: Rules = Rules {
    grain: 2,
    big_endian: true,
    gives: None,
    levels: &["word", "word"],
    global: "",
};

/// Pieces of RAM whose stores the sanitizer must see.
#[derive(Debug, Default)]
pub struct Watched {
    /// Of each page.
    pieces: Vec<u64>,
    /// How often a page was watched anew: its shortcuts of all processors must go.
    pub changes: u64,
}

impl Watched {
    fn bit(pa: u32) -> u64 {
        1 << (pa >> 6 & 63)
    }

    fn watch(&mut self, pa: u32) {
        let page = (pa >> 12) as usize;
        if page >= self.pieces.len() {
            self.pieces.resize(page + 1, 0);
        }
        self.changes += u64::from(self.pieces[page] == 0);
        self.pieces[page] |= Self::bit(pa);
    }

    fn unwatch(&mut self, pa: u32) {
        if let Some(pieces) = self.pieces.get_mut((pa >> 12) as usize) {
            *pieces &= !Self::bit(pa);
        }
    }

    /// Is something of the page watched?
    pub fn in_page(&self, pa: u32) -> bool {
        let pieces = self.pieces.get((pa >> 12) as usize);
        pieces.is_some_and(|&pieces| pieces != 0)
    }

    fn holds(&self, pa: u32, bytes: u32) -> bool {
        let pieces = self.pieces.get((pa >> 12) as usize).copied().unwrap_or(0);
        let last = (pa & 0xfff).saturating_add(bytes.max(1) - 1).min(0xfff);
        (pa >> 6 & 63..=last >> 6).any(|piece| pieces >> piece & 1 != 0)
    }
}

/// The words that an entry was made of, by what was loaded and stored before. `table`: where the hash table is, whose
/// words are no origin.
fn origin(trail: &Trail, held: &Held, table: Option<(u64, u64)>) -> Origin {
    let mut origin = Origin::new(0);
    let mask = !0 << held.key.shift.max(12);
    let outside = |at: u32| table.is_none_or(|(begin, end)| !(begin..end).contains(&at.into()));
    let leaf = trail
        .iter()
        .rposition(|&(at, value)| value != 0 && value & mask == held.frame & mask && outside(at));
    if let Some(last) = leaf {
        const PAGE: u32 = 0x0fff_f000;
        // A kernel may keep a copy of the word elsewhere, for the next miss: the word itself came first.
        let value = trail[last].1;
        let same = |&(at, other): &(u32, u32)| other == value && outside(at);
        let n = trail.iter().position(same).unwrap_or(last);
        let (at, value) = trail[n];
        let mut before = trail[..n].iter().rev();
        if let Some(&(at, value)) = before.find(|(_, value)| value & PAGE == at & PAGE) {
            origin.push(at, value.into());
        }
        origin.push(at, value.into());
    }
    origin
}

/// What the processor would load instead of an entry, compared with it.
enum Seen {
    Same(Reloaded),
    Other {
        now: &'static str,
        frame: Option<u32>,
        gone: bool,
    },
    Unknown,
}

/// An access that used a suspect entry.
#[derive(Clone, Copy)]
struct Suspected<'a> {
    ea: u32,
    pc: u32,
    access: Access,
    held: &'a Held,
    translation: &'a Translation,
}

impl Sanitized for Processor {
    const RULES: Rules = RULES;

    fn sanitized(&mut self) -> &mut bool {
        &mut self.sanitized
    }

    fn number(&self) -> u8 {
        self.number_of()
    }

    fn in_user_mode(&self) -> bool {
        self.registers.msr & msr::PR != 0
    }

    fn who(&self) -> Who {
        Who {
            processor: Sanitized::number(self),
            cycle: self.hot.cycles,
            pc: self.running_block().into(),
            user: self.in_user_mode(),
            thread: self.registers.sprg[3].into(),
            program: self.observers.symbols.program(),
            calls: Vec::new(),
        }
    }

    fn calls(&self) -> Vec<u64> {
        let calls = Calls {
            registers: &self.registers,
            mmu: &self.mmu,
            memory: &self.memory,
        };
        let link = calls.link();
        let all = std::iter::once(link).chain(calls.back_chain());
        all.take(CALLS_MOST).map(u64::from).collect()
    }

    fn suspect(&mut self, key: Key) {
        if self.suspects.insert(key) {
            self.drop_shortcuts();
        }
    }

    fn live(&self) -> Vec<Key> {
        let all = self.mmu.all_held().into_iter().map(|held| held.key);
        let sanitizers = self.observers.sanitizers.as_ref();
        let stale = sanitizers.and_then(|all| all.stale.as_deref());
        let number = Sanitized::number(self);
        let hashed = stale.map(|stale| stale.keys(number, Side::Hashed));
        let ram = &self.memory.uncore.ram;
        let hashed = hashed.unwrap_or_default().into_iter();
        let hashed = hashed.filter(|key| self.mmu.in_table(key, ram).is_some());
        all.chain(hashed).collect()
    }

    /// Nobody has seen from which words they came.
    fn look_at_entries(&mut self) {
        self.suspects.clear();
        self.following = false;
        self.drop_shortcuts();
    }

    fn watch_piece(&mut self, at: u32) {
        self.watched_pieces.watch(at);
        self.heed_watched();
    }

    fn unwatch_piece(&mut self, at: u32) {
        self.watched_pieces.unwatch(at);
    }

    fn stop_with(&mut self, report: String) {
        let pc = self.running_block();
        self.halt(Stop::Fatal(Fatal::Sanitizer { pc, report }));
    }
}

impl Processor {
    /// A page that is watched has no shortcuts for stores.
    pub(crate) fn heed_watched(&mut self) {
        if self.watched_changes != self.watched_pieces.changes {
            self.watched_changes = self.watched_pieces.changes;
            self.drop_shortcuts();
        }
    }

    /// A store is about to write.
    pub(crate) fn note_store(&mut self, at: u32, bytes: u32) {
        if self.watched_pieces.holds(at, bytes) {
            self.watched_store(at, bytes);
        }
    }

    /// A handler has loaded a word, or stored it. What it keeps on its stack is no table.
    pub(crate) fn note_handler_access(&mut self, (at, bytes, value): (u32, u32, u64)) {
        const STACK: u32 = 0x0fff_e000;
        let stack = self.registers.gpr.get(Register::new(1));
        if bytes != 4 || (at ^ stack) & STACK == 0 {
            return;
        }
        if self.trail.len() == TRAIL_MOST {
            self.trail.drain(..TRAIL_MOST / 2);
        }
        self.trail.push((at, value as u32));
    }

    /// An exception is taken: if it is that of a missing entry, its handler is followed.
    pub(crate) fn follow_handler(&mut self, reloads: bool, pc: u32) {
        if self.sanitized && reloads && !self.following && !self.mmu.has_hash_table() {
            self.trail.clear();
            self.followed_from = pc;
            self.following = true;
        }
    }

    /// An instruction has returned from an exception.
    pub(crate) fn note_return(&mut self) {
        self.note_return_of_copy();
        if !self.sanitized {
            return;
        }
        // A handler may go on in C, which it enters as if it returned.
        if self.in_user_mode() || self.registers.pc == self.followed_from {
            self.following = false;
        }
        if self.in_user_mode() {
            let thread = self.registers.sprg[3].into();
            if let Some(stale) = self.stale() {
                stale.returned(thread);
            }
        }
    }

    /// An entry may have been loaded.
    pub(crate) fn note_load(&mut self) {
        if !self.sanitized {
            return;
        }
        let load = self.account.tlb.load;
        if !self.observers.hears_of_tlbs() {
            self.account.tlb.load = None;
        }
        let Some(held) = load.and_then(|load| self.mmu.loaded(&load)) else {
            return;
        };
        self.suspects.remove(&held.key);
        let frame = held.frame.into();
        let ram = &self.memory.uncore.ram;
        if self.mmu.has_hash_table() || self.mmu.in_table(&held.key, ram).is_some() {
            self.note_walk(&held);
            return;
        }
        let origin = origin(&self.trail, &held, self.mmu.table_place());
        self.note_entry(held.key, origin, (frame, false), false, false);
        if origin.leaf().is_none() {
            self.suspect(held.key);
        }
    }

    /// The hash table has given an entry. If it has given it before, the same is known of it. Otherwise the first use
    /// tells the words that the guest made it of.
    fn note_walk(&mut self, held: &Held) {
        let number = Sanitized::number(self);
        let frame = u64::from(held.frame);
        let twin = hashed(held.key);
        let known = self.stale().and_then(|stale| stale.frame(number, twin));
        if known == Some(frame) {
            if let Some(stale) = self.stale() {
                stale.copied(number, twin, held.key);
            }
            if self.suspects.contains(&twin) {
                self.suspect(held.key);
            }
            self.watch_words();
        } else {
            self.note_entry(twin, Origin::new(0), (frame, false), false, false);
            self.note_entry(held.key, Origin::new(0), (frame, false), false, false);
            self.suspect(twin);
            self.suspect(held.key);
        }
    }

    pub(crate) fn note_invalidation(&mut self, ea: Option<u32>) {
        if self.sanitized {
            let address = ea.map(|ea| self.mmu.flushed_address(ea).into());
            self.note_flush(address.map_or(Flush::All, |address| Flush::Page(address, None)));
        }
    }

    /// An entry is overwritten by one that is not valid, which is how a 405 removes it.
    pub(crate) fn note_overwritten(&mut self, number: u32) {
        let unit = self.mmu.ppc405().filter(|_| self.sanitized);
        let entry =
            unit.and_then(|unit| unit.entries().get(number as usize % unit.entries().len()));
        if let Some(page) = entry
            .filter(|entry| entry.valid())
            .map(|entry| entry.page())
        {
            self.note_flush(Flush::Page(page.into(), None));
        }
    }

    /// An entry has translated `ea` for an access. False if it is suspect, so that the next use must be seen.
    pub(crate) fn note_use(&mut self, ea: u32, access: Access, translation: &Translation) -> bool {
        let paged = matches!(translation.source, Source::Tlb | Source::Subpage);
        if !self.sanitized || self.suspects.is_empty() || !paged || self.stop.is_some() {
            return true;
        }
        let (fetch, user) = (access.is_fetch(), self.in_user_mode());
        let Some(held) = self.mmu.held(ea, fetch, user) else {
            return true;
        };
        let (number, cycle) = (Sanitized::number(self), self.hot.cycles);
        let waits = |stale: &mut Stale| stale.waits(number, held.key, cycle);
        if self.suspects.contains(&held.key) && self.stale().is_some_and(waits) {
            return false;
        }
        if !self.suspects.remove(&held.key) {
            return true;
        }
        let pc = if fetch { ea } else { self.running_block() };
        let truth = self.truth(Suspected {
            ea,
            pc,
            access,
            held: &held,
            translation,
        });
        let used = Use {
            key: held.key,
            address: ea.into(),
            frame: held.frame.into(),
            access: match access {
                Access::Fetch => "a fetch from",
                Access::Load => "a read of",
                Access::Store => "a write to",
            },
        };
        let who = Who {
            pc: pc.into(),
            ..self.who()
        };
        self.conclude(used, who, &truth, Side::of(fetch));
        let is_good = !self.suspects.contains(&held.key);
        let (number, twin) = (Sanitized::number(self), hashed(held.key));
        let known = self.stale().and_then(|stale| stale.frame(number, twin));
        if known == Some(held.frame.into()) {
            // Of the entry in the hash table the same is known.
            if let Some(stale) = self.stale() {
                stale.copied(number, held.key, twin);
            }
            if is_good {
                self.suspects.remove(&twin);
            }
            self.watch_words();
        }
        is_good
    }

    /// Must the sanitizer see the next use of the entry that translates `ea`?
    pub(crate) fn is_suspect(&self, ea: u32, access: Access) -> bool {
        let held = || self.mmu.held(ea, access.is_fetch(), self.in_user_mode());
        !self.suspects.is_empty() && held().is_some_and(|held| self.suspects.contains(&held.key))
    }

    /// What the processor would load now. As long as no word of a table changes, the answer stays.
    fn truth(&mut self, at: Suspected<'_>) -> Truth {
        let stores = self.stale().map_or(0, |stale| stale.stores());
        if self.truths.0 != stores || self.truths.1.len() > TRUTHS_MOST {
            self.truths = (stores, FxHashMap::default());
        }
        let case = (at.held.key, at.access, self.in_user_mode());
        if let Some(known) = self.truths.1.get(&case) {
            return known.clone();
        }
        let truth = match self.seen(at) {
            // The words as they were before a change give an answer: the change is what keeps the kernel from one.
            Seen::Unknown => match self.change(at) {
                None if self.is_untraced(at.held.key) => return Truth::Unknown,
                None => Truth::Unknown,
                change => Truth::Other {
                    root: 0,
                    now: "allows what the kernel's handler does not load at once",
                    frame: None,
                    gone: true,
                    change,
                },
            },
            Seen::Other { now, frame, gone } => Truth::Other {
                root: 0,
                now,
                frame: frame.map(u64::from),
                gone,
                change: self.change(at),
            },
            Seen::Same(loaded) => {
                let whole = loaded.held.is_some_and(|held| {
                    (held.bits, held.key.shift) == (at.held.bits, at.held.key.shift)
                        && (held.changed || !at.held.changed || self.permits_store(at))
                });
                Truth::Same {
                    origin: loaded.origin,
                    whole,
                }
            }
        };
        if !matches!(truth, Truth::Unknown) {
            self.truths.1.insert(case, truth.clone());
        }
        truth
    }

    fn is_untraced(&mut self, key: Key) -> bool {
        let number = Sanitized::number(self);
        let origin = self.stale().and_then(|stale| stale.origin(number, key));
        origin.is_some_and(|origin| origin.leaf().is_none())
    }

    /// Would a store be as good as the access was?
    fn permits_store(&mut self, at: Suspected<'_>) -> bool {
        let at = Suspected {
            access: Access::Store,
            ..at
        };
        matches!(self.seen(at), Seen::Same(_))
    }

    /// The newest change without which the processor would load the entry.
    fn change(&mut self, at: Suspected<'_>) -> Option<Change> {
        let (number, key) = (Sanitized::number(self), at.held.key);
        let sanitizers = self.observers.sanitizers.take();
        let stale = sanitizers.as_ref().and_then(|all| all.stale.as_deref());
        let ram = &self.memory.uncore.ram;
        let changes = stale.map(|stale| stale.changes(number, key, ram));
        self.observers.sanitizers = sanitizers;
        let changes = changes.unwrap_or_default();
        let word = |machine: &Self, at: u32| machine.memory.uncore.ram.read_u32(at);
        let held: Vec<_> = (changes.iter())
            .filter_map(|change| Some((change.at, word(self, change.at)?)))
            .collect();
        let mut found = None;
        for change in changes {
            let old = change.old as u32;
            self.memory.uncore.ram.write_u32(change.at, old);
            if matches!(self.seen(at), Seen::Same(_)) {
                found = Some(change);
                break;
            }
        }
        for (at, value) in held {
            self.memory.uncore.ram.write_u32(at, value);
        }
        found
    }

    fn answer(&mut self, at: Suspected<'_>) -> Answer {
        let Some(mut copy) = self.copy.take().or_else(|| Copy::of(self)) else {
            return Answer::Unknown;
        };
        let answer = self.answer_of(&mut copy, at);
        self.copy = Some(copy);
        answer
    }

    /// A word that no other word leads to may be a copy that the kernel keeps for the next miss: it is hidden, and the
    /// kernel is asked again.
    fn answer_of(&mut self, copy: &mut Copy, at: Suspected<'_>) -> Answer {
        let place = (at.ea, at.pc);
        let first = copy.answer(self, place, at.access, (at.held, None));
        let words: Vec<_> = match &first {
            Answer::Loaded(loaded) => loaded.origin.words().collect(),
            _ => Vec::new(),
        };
        let [only] = words[..] else {
            return first;
        };
        let (number, key) = (Sanitized::number(self), at.held.key);
        let known = self.stale().and_then(|stale| stale.origin(number, key));
        let known = known.and_then(|origin| origin.leaf());
        if known.is_some_and(|word| word.at == only.at) {
            return first;
        }
        let hidden = Some(only.at & !(HIDDEN - 1));
        let again = copy.answer(self, place, at.access, (at.held, hidden));
        let is_led_to = matches!(&again, Answer::Loaded(again) if again.origin.words().count() > 1);
        if known.is_some() || is_led_to {
            again
        } else {
            first
        }
    }

    fn seen(&mut self, at: Suspected<'_>) -> Seen {
        let loaded = match self.answer(at) {
            Answer::Unknown => return Seen::Unknown,
            Answer::Refused => {
                return Seen::Other {
                    now: "allows what the kernel's handler refuses",
                    frame: None,
                    gone: true,
                };
            }
            Answer::Loaded(loaded) => loaded,
        };
        let now = &loaded.translation;
        let other = |now, frame, gone| Seen::Other { now, frame, gone };
        if now.pa != at.translation.pa {
            let frame = Some(now.pa & !0xfff);
            return other("leads to another page frame than the table", frame, true);
        }
        if loaded.wrote {
            return other("reaches a page that the kernel would fill anew", None, true);
        }
        if now.attributes != at.translation.attributes {
            return other("has other cache attributes than the table", None, false);
        }
        if at.access.is_store() && loaded.changed.is_some() {
            // For a store the handler may set what a load would not: the page becomes dirty.
            let by_load = Suspected {
                access: Access::Load,
                ..at
            };
            let known = match self.answer(by_load) {
                Answer::Loaded(known) => known.changed,
                _ => loaded.changed,
            };
            let kept = known.or_else(|| loaded.origin.leaf().map(|word| word.value));
            if kept != loaded.changed {
                return other(
                    "is dirty where the table no longer is, so that the write will be lost",
                    None,
                    false,
                );
            }
        }
        Seen::Same(loaded)
    }

    /// Where the block that runs began: no block goes from one function into the next.
    fn running_block(&self) -> u32 {
        if self.hot.block.is_null() {
            return self.hot.line;
        }
        // SAFETY: `block` is the last op at which a block began, in this processor's line that `hot.line` names: both
        // are set together whenever a line is entered.
        unsafe { self.address(self.hot.block) }
    }
}

/// What stands for an entry of the hash table.
fn hashed(key: Key) -> Key {
    Key {
        side: Side::Hashed,
        ..key
    }
}
