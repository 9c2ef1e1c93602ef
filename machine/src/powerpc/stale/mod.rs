//! What the translation sanitizer ([`crate::observe::stale`]) must know of a PowerPC.
//!
//! - No layout of the guest's tables is known. What the processor would load now is what the guest's own handler loads
//!   in a copy of the processor ([`copy`]).
//! - An entry is made of the word that the handler loaded or stored last before it loaded the entry, of those whose
//!   frame bits are the entry's, and of the word that leads to its table. Of an entry that no handler loaded (a kernel
//!   may load it in advance) the copy tells it at the first use.
//! - A number of an address space (a VSID, an 8xx's CASID, a 405's PID) names another space as soon as another thread
//!   goes on with it ([`Choice`]), or the kernel loads an entry with that number by another first table and another
//!   second one. The entries of the space before are suspect then. An access that uses one of them is compared with
//!   what the kernel loads now, in the context in force.
//! - A hash table is a cache of the guest's tables, as a second-level TLB is one ([`Side::Hashed`]). The copy does not
//!   see the page's entry there.
//! - The change that made an entry wrong is the last one without which the guest's handler would load the entry: the
//!   words are set back in the copy's memory, change by change.
//! - A store by an entry that the handler would load only after it has changed the word more than for a load is a lost
//!   write: the table does not know that the page is dirty.
//! - A thread is named by SPRG3, which Linux and our kernel keep for each.

mod choice;
mod copy;
mod traces;
mod truth;
mod watched;

pub use choice::Choice;
pub use copy::Copy;
pub use traces::Traces;
use truth::Suspected;
pub use truth::Truths;
pub use watched::Watched;

use crate::computer::Sanitized;
use crate::observe::stacks::Calls as _;
use crate::observe::stale::{
    CALLS_MOST, Flush, Holder, Key, Origin, Rules, Side, Stale, Truth, Use, Who,
};
use crate::powerpc::Exception;
use crate::powerpc::calls::Calls;
use crate::powerpc::mmu::held::{Held, IN_SEGMENT};
use crate::powerpc::mmu::{Access, Source, Translation};
use crate::powerpc::msr;
use crate::powerpc::processor::{Fatal, Processor, Stop};
use crate::powerpc::registers::Register;

/// Words that a handler has loaded or stored: where, and what.
pub type Trail = Vec<(u32, u32)>;

/// Words of one handler that are remembered.
const TRAIL_MOST: usize = 1024;
/// The same of one that is not run in a copy. If it takes more, it does something else too, as the kernel's C code does
/// for a page that is not there yet; the entry's first use tells the words.
const FOLLOWED_MOST: usize = 256;
/// The same of one that fills a hash table.
const HASHED_MOST: usize = 64;
/// TLBHI\[V\] of a 405.
const VALID_405: u32 = 0x40;
/// What of an address, virtual or physical, says which stack it is in.
const STACK: u32 = 0x0fff_e000;

const RULES: Rules = Rules {
    grain: 2,
    big_endian: true,
    gives: None,
    levels: &["word", "word"],
    global: "it is good in every address space; a flush of its page, or of all, removes it",
};

/// The words that an entry was made of, by what was loaded and stored before. `table`: where the hash table is, whose
/// words are no origin. The page of the first word stands for the root.
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
        if let Some(&(lead, value)) = before.find(|(_, value)| value & PAGE == at & PAGE) {
            origin.root = u64::from(lead & PAGE);
            origin.push(lead, value.into());
        }
        origin.push(at, value.into());
    }
    origin
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
            self.forget(self.mmu.reaches_of(&key));
        }
    }

    /// An ERAT of a 970 may have the page, too.
    fn suspect_still(&mut self, key: Key) {
        if self.mmu.hash64().is_some() {
            self.suspect(key);
        } else {
            self.suspects.insert(key);
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
            let pages = self.watched_pieces.since(self.watched_changes);
            self.watched_changes = self.watched_pieces.changes;
            let lines = self.memory.data.shortcuts();
            match pages {
                Some(pages) => {
                    for page in pages {
                        self.data_shortcuts.drop_stores(page, lines);
                    }
                }
                None => self.drop_shortcuts(),
            }
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
        // The registers of a miss on a 603 have no stack.
        let stack =
            (self.registers.msr & msr::TGPR == 0).then(|| self.registers.gpr.get(Register::new(1)));
        if bytes != 4 || stack.is_some_and(|stack| (at ^ stack) & STACK == 0) {
            return;
        }
        if self.memory.undo.is_none() {
            let most = if self.mmu.has_hash_table() {
                HASHED_MOST
            } else {
                FOLLOWED_MOST
            };
            if self.trail.len() == most {
                self.trail.clear();
                self.following = false;
                self.select_data_shortcuts();
                return;
            }
        }
        if self.trail.len() == TRAIL_MOST {
            self.trail.drain(..TRAIL_MOST / 2);
        }
        self.trail.push((at, value as u32));
    }

    /// An exception is taken: if it is that of a missing entry, its handler is followed.
    pub(crate) fn follow_handler(&mut self, exception: Exception, pc: u32) {
        if self.sanitized && exception.is_failed_reload() && !self.following {
            self.trail.clear();
            self.followed_from = pc;
            self.followed_for = match exception {
                Exception::DataStorage { address, .. } => address,
                _ => pc,
            };
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
            self.note_thread();
        }
    }

    /// A thread goes on, in the kernel or as a program: it has the numbers that the kernel chose last.
    pub(crate) fn note_thread(&mut self) {
        if let Some(who) = self.choice.take() {
            self.note_choice(&who);
        }
    }

    /// The kernel writes a number of an address space. It is that of a thread as soon as the thread goes on.
    pub(crate) fn note_number(&mut self, number: u32) {
        let call = (self.registers.lr, self.registers.gpr.get(Register::new(1)));
        if self.sanitized && !self.choice.restores(number, call) {
            let mut who = self.who();
            // A handler in real mode writes one for a moment.
            if self.registers.msr & msr::DR != 0 {
                who.calls = self.calls();
            }
            self.choice.write(number, call, who);
        }
    }

    #[cold]
    fn note_choice(&mut self, who: &Who) {
        let holder = match self.mmu.first_table() {
            Some(table) => Holder::Table(1 << 32 | u64::from(table)),
            None => Holder::Thread(self.registers.sprg[3].into()),
        };
        let spaces = self.mmu.spaces();
        let last = self.spaces_before.replace((holder, spaces.clone()));
        let mut own = Vec::new();
        if let ([_, _, ..], Some((last, before))) = (&spaces[..], last) {
            // Programs have the segments for themselves that ever change.
            for (n, (&before, &now)) in before.iter().zip(&spaces).enumerate() {
                let bit = 1 << n;
                if before != now && self.own_segments & bit == 0 {
                    self.own_segments |= bit;
                    self.choose(&[before], last, who);
                }
                if self.own_segments & bit != 0 && !own.contains(&now) {
                    own.push(now);
                }
            }
        } else if spaces.len() == 1 {
            own = spaces;
        }
        self.choose(&own, holder, who);
    }

    fn choose(&mut self, spaces: &[u32], holder: Holder, who: &Who) {
        let suspects = self.stale().map(|stale| stale.chosen(spaces, holder, who));
        for key in suspects.unwrap_or_default() {
            self.suspect(key);
        }
    }

    /// An entry may have been loaded.
    #[inline(never)]
    pub(crate) fn note_load(&mut self) {
        let is_copy = self.memory.undo.is_some();
        if !self.sanitized && !is_copy {
            return;
        }
        let load = self.account.tlb.load;
        if !self.observers.hears_of_tlbs() {
            self.account.tlb.load = None;
        }
        let Some(held) = load.and_then(|load| self.mmu.loaded(&load)) else {
            return;
        };
        if is_copy {
            if self.mmu.has_hash_table() {
                return;
            }
            let origin = origin(&self.trail, &held, self.mmu.table_place());
            self.forget_words_within(&held, &origin);
            return;
        }
        self.suspects.remove(&held.key);
        let frame = held.frame.into();
        let ram = &self.memory.uncore.ram;
        if self.mmu.has_hash_table() || self.mmu.in_table(&held.key, ram).is_some() {
            self.note_walk(&held);
            return;
        }
        let mut origin = origin(&self.trail, &held, self.mmu.table_place());
        if origin.leaf().is_none() {
            origin = self.traces.known(&held, ram).unwrap_or(origin);
        }
        self.note_entry(held.key, origin, (frame, held.global), false, false);
        self.note_root(&held, &origin);
        if origin.leaf().is_none() {
            self.look_for_words(&held);
        }
        self.forget_words_within(&held, &origin);
    }

    /// Is this the entry whose miss the handler was called for?
    fn is_followed_for(&self, held: &Held) -> bool {
        let page = IN_SEGMENT >> held.key.shift << held.key.shift;
        (self.followed_for ^ held.key.page as u32) & page == 0
    }

    /// A handler that is not run in real mode may miss the page of a table itself. The words that led to the entry of
    /// that page lead to no other one, although the last of them has the table's page frame, too.
    fn forget_words_within(&mut self, held: &Held, origin: &Origin) {
        let nested = self.following && !self.is_followed_for(held);
        let first = origin.words().next().filter(|_| nested);
        let words = first.and_then(|word| self.trail.iter().rposition(|&(at, _)| at == word.at));
        if let Some(words) = words {
            self.trail.truncate(words);
        }
    }

    /// The first use of the entry tells its words, unless it never did.
    fn look_for_words(&mut self, held: &Held) {
        if !self.traces.is_hopeless(held) {
            self.suspect_still(held.key);
        } else if let Some(stale) = self.stale() {
            stale.give_up();
        }
    }

    /// An entry comes from these words: if the last one with its number came from another address space, entries of
    /// that space are suspect.
    fn note_root(&mut self, held: &Held, origin: &Origin) {
        if held.global {
            return;
        }
        let (number, space) = (Sanitized::number(self), held.key.space);
        let thread = self.registers.sprg[3].into();
        let others = self.stale().map(|stale| {
            if origin.root != 0 {
                stale.has_table(space, thread, origin.root);
            }
            stale.rooted(number, space, origin)
        });
        for key in others.unwrap_or_default() {
            self.suspect(key);
        }
    }

    /// The table from which the kernel loads entries of this entry's number now.
    fn root_now(&mut self, key: Key) -> u64 {
        let number = Sanitized::number(self);
        self.stale().map_or(0, |stale| stale.root_now(number, key))
    }

    /// The hash table has given an entry. If it has given it before, the same is known of it. Otherwise the handler
    /// that has just filled the table tells the words, or else the first use.
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
                self.suspect_still(held.key);
            }
            self.watch_words();
            return;
        }
        let trail = std::mem::take(&mut self.trail);
        let origin = if self.is_followed_for(held) && !self.following {
            origin(&trail, held, self.mmu.table_place())
        } else {
            Origin::new(0)
        };
        let ram = &self.memory.uncore.ram;
        let origin = match origin.leaf() {
            None => self.traces.known(held, ram).unwrap_or(origin),
            Some(_) => origin,
        };
        let now = |at: u32| ram.read_u32(at).map(u64::from);
        let older = origin.words().any(|word| now(word.at) != Some(word.value));
        self.note_entry(twin, origin, (frame, false), false, older);
        self.note_entry(held.key, origin, (frame, false), false, older);
        self.note_root(held, &origin);
        if origin.leaf().is_none() {
            if !self.traces.is_hopeless(held) {
                self.suspects.insert(twin);
            }
            self.look_for_words(held);
        } else if !older {
            self.suspects.remove(&twin);
        }
    }

    /// A walk ahead of the program has loaded an entry for `ea`, which no access has used: the words that it was made
    /// of are asked for at once.
    pub(crate) fn note_walk_ahead(&mut self, ea: u32, fetch: bool) {
        let Some(held) = self.mmu.held(ea, fetch, self.in_user_mode()) else {
            return;
        };
        self.note_walk(&held);
        if !self.suspects.contains(&held.key) || !self.is_untraced(held.key) {
            return;
        }
        let translation = Translation {
            pa: held.frame | ea & 0xfff,
            attributes: (held.bits >> 3 & 15) as u8,
            source: Source::Tlb,
            cycles: 0,
        };
        let truth = self.truth(Suspected {
            ea,
            pc: self.running_block(),
            access: if fetch { Access::Fetch } else { Access::Load },
            held: &held,
            translation: &translation,
        });
        let Truth::Same { origin, whole } = truth else {
            return;
        };
        let number = Sanitized::number(self);
        if let Some(stale) = self.stale() {
            stale.trace(number, held.key, origin);
        }
        self.note_root(&held, &origin);
        if whole {
            self.suspects.remove(&held.key);
        }
        self.watch_words();
    }

    pub(crate) fn note_invalidation(&mut self, ea: Option<u32>) {
        if self.sanitized {
            let address = ea.map(|ea| self.mmu.flushed_address(ea).into());
            self.note_flush(address.map_or(Flush::All, |address| Flush::Page(address, None)));
        }
    }

    /// An entry is overwritten by one that is not valid, which is how a 405 removes it. Entries of other numbers for
    /// the same page stay.
    pub(crate) fn note_overwritten(&mut self, number: u32, high: u32) {
        if high & VALID_405 != 0 {
            return;
        }
        let unit = self.mmu.ppc405().filter(|_| self.sanitized);
        let entry =
            unit.and_then(|unit| unit.entries().get(number as usize % unit.entries().len()));
        if let Some(entry) = entry.filter(|entry| entry.valid()) {
            let space = Some(entry.tid().into()).filter(|&space| space != 0);
            self.note_flush(Flush::Page(entry.page().into(), space));
        }
    }

    /// An entry has translated `ea` for an access. False if it is suspect, so that the next use must be seen.
    #[inline(always)]
    pub(crate) fn note_use(&mut self, ea: u32, access: Access, translation: &Translation) -> bool {
        !self.sanitized || self.note_use_if_suspect(ea, access, translation)
    }

    #[cold]
    #[inline(never)]
    fn note_use_if_suspect(&mut self, ea: u32, access: Access, translation: &Translation) -> bool {
        let paged = matches!(translation.source, Source::Tlb | Source::Subpage);
        if self.suspects.is_empty() || !paged || self.running.stop.is_some() {
            return true;
        }
        let (fetch, user) = (access.is_fetch(), self.in_user_mode());
        let Some(held) = self.mmu.held(ea, fetch, user) else {
            return true;
        };
        if !self.suspects.contains(&held.key) {
            return true;
        }
        let (number, cycle) = (Sanitized::number(self), self.hot.cycles);
        let waits = |stale: &mut Stale| stale.waits(number, held.key, cycle);
        if self.stale().is_some_and(waits) {
            return false;
        }
        self.suspects.remove(&held.key);
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
        let untraced = self.is_untraced(held.key);
        self.conclude(used, who, &truth, Side::of(fetch));
        match &truth {
            Truth::Same { origin, whole } => {
                if untraced && *whole && origin.leaf().is_some() {
                    self.traces.learn(&held, *origin);
                }
                self.note_root(&held, origin);
            }
            Truth::Unknown if untraced => self.traces.fail(&held),
            _ => {}
        }
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
