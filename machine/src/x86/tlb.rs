//! A set-associative TLB. Its sets are pseudo-LRU (486 hardware manual 3-17; of a P6 recalled), unless a machine file
//! names another policy ([`crate::tlb::replacement`]).
//!
//! Each set begins with its entry that was used last; with LRU the others follow in the order of use. Each
//! entry holds the number of its physical way. To use the entry that was used last again changes nothing, so that a
//! look-up which compares with that one alone is exact.

mod entry;

pub use entry::{Entry, NO_MEMORY, Need, Shortcut, VALID, permits, pte, reached};

use entry::{SUSPECT, has_shortcut};
use serde::{Deserialize, Serialize};

use crate::config::TlbConfig;
use crate::memory::cache::to_front;
use crate::tlb::replacement::AnyReplacement;
use crate::tlb::second_level::Level;

/// What [`Tlb::reuse`] has found.
#[derive(Clone, Copy)]
pub enum Reuse {
    /// An entry that allows the access: the page's frame lies this far away from it, as in [`Shortcut::delta`].
    Away(u32),
    /// No entry. Nothing has been changed.
    Absent,
    /// Neither is certain. Nothing has been changed.
    Other,
}

/// What a valid entry said that another page's has replaced.
#[derive(Clone, Copy)]
pub struct Replaced {
    pub tag: u32,
    pub bits: u32,
}

/// Shortcuts of a TLB at most: one a set, if there are not more sets.
const SHORTCUTS: usize = 64;

fn no_shortcuts() -> [Shortcut; SHORTCUTS] {
    [Shortcut::NONE; SHORTCUTS]
}

/// No place of a shortcut.
const NOWHERE: u32 = u32::MAX;

fn nowhere() -> u32 {
    NOWHERE
}

/// Entries, and what is needed to replace them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tlb {
    /// Set after set.
    entries: Box<[Entry]>,
    replacement: AnyReplacement,
    ways: usize,
    set_mask: u32,
    /// Bits of an address below the page number.
    shift: u32,
    /// Of each set, for its entry that was used last.
    #[serde(skip, default = "no_shortcuts")]
    shortcuts: [Shortcut; SHORTCUTS],
    /// The place of the shortcut by which the last line was fetched, if no shortcut of that place has been dropped
    /// since; else [`NOWHERE`].
    #[serde(skip, default = "nowhere")]
    fetched: u32,
}

impl Tlb {
    /// Where its shortcuts are, and what [`Tlb::fetches_again`] asks, for compiled code.
    pub(super) const SHORTCUTS: usize = std::mem::offset_of!(Tlb, shortcuts);
    pub(super) const FETCHED: usize = std::mem::offset_of!(Tlb, fetched);
    pub(super) const NOWHERE: u32 = NOWHERE;

    /// The place of the shortcut for a page is its number under this mask.
    pub(super) fn shortcut_mask(&self) -> u32 {
        self.set_mask & (SHORTCUTS as u32 - 1)
    }

    /// An empty TLB for pages of `1 << shift` bytes.
    ///
    /// # Errors
    /// There is no such replacement policy.
    pub fn new(config: &TlbConfig, shift: u32) -> Result<Self, String> {
        let policy = config.replacement.as_deref().unwrap_or("pseudo-lru");
        let ways = config.ways as usize;
        let entries = (0..config.entries as usize).map(|n| Entry {
            way: (n % ways) as u8,
            ..Entry::default()
        });
        Ok(Tlb {
            entries: entries.collect(),
            replacement: AnyReplacement::named(policy, config.sets(), config.ways)?,
            ways,
            set_mask: config.sets() - 1,
            shift,
            shortcuts: no_shortcuts(),
            fetched: NOWHERE,
        })
    }

    /// Its pages have `1 << shift` bytes from now on. It is empty if they had another size.
    pub(super) fn set_shift(&mut self, shift: u32) {
        if self.shift != shift {
            self.flush(false);
            self.shift = shift;
        }
    }

    /// Bits of an address below the page number.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    #[inline(always)]
    fn shortcut_place(&self, linear: u32) -> usize {
        (linear >> 12 & self.set_mask) as usize % SHORTCUTS
    }

    /// The shortcut that an access to `linear` may use.
    #[inline(always)]
    #[must_use]
    pub fn shortcut(&self, linear: u32) -> &Shortcut {
        &self.shortcuts[self.shortcut_place(linear)]
    }

    /// Makes a shortcut for the page of `linear`, of 4 KB, if its entry is the one used last in its set. `user`: for
    /// accesses of ring 3. The page must lie in RAM of `ram` bytes.
    #[inline(always)]
    pub fn make_shortcut(&mut self, linear: u32, user: Need, ram: usize) {
        let entry = self.recent(linear);
        if entry.tag == self.tag(linear) && has_shortcut(entry, self.shift, ram) {
            let shortcut = entry.shortcut(user);
            let place = self.shortcut_place(linear);
            self.shortcuts[place] = shortcut;
        }
    }

    /// Looks `linear` up as an access with `need`, and makes the shortcut of its page.
    #[inline(always)]
    pub fn reuse(&mut self, linear: u32, need: Need, ram: usize) -> Reuse {
        let (set, tag) = (self.set(linear), self.tag(linear));
        if self.ways != 4 {
            return Reuse::Other;
        }
        let held = self.entries.get_mut(4 * set..4 * set + 4);
        let Some(Ok(held)) = held.map(<&mut [Entry; 4]>::try_from) else {
            return Reuse::Other;
        };
        let Some(place) = held.iter().position(|entry| entry.tag == tag) else {
            return Reuse::Absent;
        };
        let entry = held[place];
        if entry.allowed >> need & 1 == 0 || !has_shortcut(&entry, self.shift, ram) {
            return Reuse::Other;
        }
        let shortcut = entry.shortcut(need & 2);
        let shortcut_place = self.shortcut_place(linear);
        if place != 0 {
            self.bring_first(4 * set, place);
            self.used(set, entry.way, 4);
            if self.fetched == shortcut_place as u32 {
                self.fetched = NOWHERE;
            }
        }
        self.shortcuts[shortcut_place] = shortcut;
        Reuse::Away(shortcut.delta)
    }

    /// The way of a set, of so many, has been used.
    #[inline(always)]
    fn used(&mut self, set: usize, way: u8, ways: usize) {
        match &mut self.replacement {
            AnyReplacement::PseudoLru(policy) => policy.use_way(set, way, ways),
            policy => policy.used(set, way),
        }
    }

    /// Puts item `place` of the set that begins at `first` there.
    #[inline(always)]
    fn bring_first(&mut self, first: usize, place: usize) {
        if let AnyReplacement::Lru(_) = self.replacement {
            to_front(&mut self.entries[first..=first + place]);
        } else {
            self.entries.swap(first, first + place);
        }
    }

    /// Drops all shortcuts.
    pub fn drop_shortcuts(&mut self) {
        self.shortcuts = no_shortcuts();
        self.fetched = NOWHERE;
    }

    #[inline(always)]
    fn drop_shortcut(&mut self, linear: u32) {
        let place = self.shortcut_place(linear);
        self.shortcuts[place] = Shortcut::NONE;
        if self.fetched == place as u32 {
            self.fetched = NOWHERE;
        }
    }

    /// A line has been fetched from the page of `linear` by its shortcut, or, with `by_shortcut` false, otherwise.
    #[inline(always)]
    pub fn note_fetch(&mut self, linear: u32, by_shortcut: bool) {
        self.fetched = if by_shortcut {
            self.shortcut_place(linear) as u32
        } else {
            NOWHERE
        };
    }

    /// Has the page that the last line was fetched from still the shortcut by which it was?
    #[inline(always)]
    #[must_use]
    pub fn fetches_again(&self) -> bool {
        self.fetched != NOWHERE
    }

    /// Can a TLB like `fresh` be in this state? Each set must hold every way once, and no page twice.
    #[must_use]
    pub(super) fn fits(&self, fresh: &Tlb) -> bool {
        let shape = |tlb: &Tlb| (tlb.entries.len(), tlb.ways, tlb.set_mask, tlb.shift);
        if shape(self) != shape(fresh) || !self.replacement.fits(&fresh.replacement) {
            return false;
        }
        let sets = self.entries.chunks_exact(self.ways).enumerate();
        sets.into_iter().all(|(set, held)| {
            let mut ways: Vec<u8> = held.iter().map(Entry::way).collect();
            ways.sort_unstable();
            let mut tags: Vec<u32> = held.iter().map(|entry| entry.tag).collect();
            tags.retain(|tag| tag & VALID != 0);
            let here = |&tag: &u32| self.set(tag) == set && self.tag(tag) == tag;
            let all_here = tags.iter().all(here);
            let count = tags.len();
            tags.sort_unstable();
            tags.dedup();
            ways.iter().copied().eq(0..self.ways as u8) && all_here && tags.len() == count
        })
    }

    #[inline(always)]
    pub(super) fn set(&self, linear: u32) -> usize {
        (linear >> self.shift & self.set_mask) as usize
    }

    #[inline(always)]
    fn tag(&self, linear: u32) -> u32 {
        linear >> self.shift << self.shift | VALID
    }

    /// Ways of each set.
    pub(super) fn ways(&self) -> usize {
        self.ways
    }

    pub(super) fn sets(&self) -> u32 {
        self.set_mask + 1
    }

    /// The entry that was used last in the set of `linear`.
    #[inline(always)]
    #[must_use]
    pub fn recent(&self, linear: u32) -> &Entry {
        &self.entries[self.set(linear) * self.ways]
    }

    /// The physical address of `linear`, if the entry that was used last in its set has it and allows `need`.
    #[inline(always)]
    #[must_use]
    pub fn hit_recent(&self, linear: u32, need: Need) -> Option<(u32, u32)> {
        let entry = self.recent(linear);
        let found = entry.tag == self.tag(linear) && entry.allowed >> need & 1 != 0;
        found.then(|| (entry.frame | linear & ((1 << self.shift) - 1), entry.bits))
    }

    /// Looks `linear` up as an access: the entry becomes the one used last.
    #[inline(always)]
    pub fn look_up(&mut self, linear: u32) -> Option<&Entry> {
        let (set, tag) = (self.set(linear), self.tag(linear));
        let first = set * self.ways;
        let held = &mut self.entries[first..first + self.ways];
        let place = match <&[Entry; 4]>::try_from(&*held) {
            Ok(held) => held.iter().position(|entry| entry.tag == tag)?,
            Err(_) => held.iter().position(|entry| entry.tag == tag)?,
        };
        if place != 0 {
            self.use_again(linear, place);
        }
        Some(&self.entries[first])
    }

    /// Item `place` of the set of `linear` becomes the one used last.
    #[inline(never)]
    fn use_again(&mut self, linear: u32, place: usize) {
        let set = self.set(linear);
        let first = set * self.ways;
        self.bring_first(first, place);
        self.used(set, self.entries[first].way, self.ways);
        self.drop_shortcut(linear);
    }

    /// Loads an entry, in place of one for the same page, else in an invalid one, else where the policy says. Returns
    /// the valid entry of another page that it replaced.
    #[inline(always)]
    pub fn load(&mut self, entry: Entry) -> Option<Replaced> {
        match self.ways {
            // Loops over sets of known length unroll.
            4 => self.load_in_set(entry, 4),
            _ => self.load_in_any(entry),
        }
    }

    #[inline(never)]
    fn load_in_any(&mut self, entry: Entry) -> Option<Replaced> {
        self.load_in_set(entry, self.ways)
    }

    #[inline(always)]
    fn load_in_set(&mut self, entry: Entry, ways: usize) -> Option<Replaced> {
        let set = self.set(entry.tag);
        let first = set * ways;
        let held = &mut self.entries[first..first + ways];
        let same = held.iter().position(|old| old.tag == entry.tag);
        let full = held.iter().fold(VALID, |all, old| all & old.tag) != 0;
        let place = match same {
            Some(place) => place,
            None => {
                let way = match &mut self.replacement {
                    policy if !full => policy.free(held),
                    AnyReplacement::PseudoLru(policy) => policy.lead(set, ways),
                    policy => policy.victim(set, held),
                };
                held.iter().position(|old| old.way == way).unwrap_or(0)
            }
        };
        let Entry { tag, bits, way, .. } = held[place];
        if let AnyReplacement::Lru(_) = self.replacement {
            to_front(&mut held[..=place]);
        } else {
            held[place] = held[0];
        }
        held[0] = Entry { way, ..entry };
        match &mut self.replacement {
            AnyReplacement::PseudoLru(policy) => policy.use_way(set, way, ways),
            policy if same.is_none() => policy.loaded(set, way),
            policy => policy.used(set, way),
        }
        self.drop_shortcut(entry.tag);
        (tag & VALID != 0 && tag != entry.tag).then_some(Replaced { tag, bits })
    }

    /// INVLPG. True if there was an entry.
    pub fn invalidate(&mut self, linear: u32) -> bool {
        let (set, tag) = (self.set(linear), self.tag(linear));
        let first = set * self.ways;
        let held = &mut self.entries[first..first + self.ways];
        let found = held.iter_mut().find(|entry| entry.tag == tag);
        let found = found.is_some_and(|entry| {
            entry.tag = 0;
            entry.allowed = 0;
            true
        });
        self.drop_shortcut(linear);
        found
    }

    /// Is the page of `linear` there? Counts as no use.
    pub(super) fn has(&self, linear: u32) -> bool {
        let (set, tag) = (self.set(linear), self.tag(linear));
        let held = &self.entries[set * self.ways..][..self.ways];
        held.iter().any(|entry| entry.tag == tag)
    }

    /// The entries of a set leave: its number is this one, modulo the sets.
    pub(super) fn leave(&mut self, set: u32) {
        let first = (set & self.set_mask) as usize * self.ways;
        for entry in &mut self.entries[first..first + self.ways] {
            entry.tag = 0;
            entry.allowed = 0;
        }
        self.drop_shortcuts();
    }

    /// Empties the TLB, except for global entries if these stay. Returns how many were valid.
    pub fn flush(&mut self, keep_global: bool) -> u64 {
        let mut count = 0;
        self.drop_shortcuts();
        for entry in &mut self.entries {
            if entry.tag & VALID != 0 && !(keep_global && entry.bits & pte::GLOBAL != 0) {
                entry.tag = 0;
                entry.allowed = 0;
                count += 1;
            }
        }
        count
    }

    /// CR0.WP has changed.
    pub fn protect(&mut self, protects: bool) {
        self.drop_shortcuts();
        for entry in &mut self.entries {
            if entry.tag & VALID != 0 && entry.allowed != SUSPECT {
                entry.set_allowed(protects);
            }
        }
    }

    fn entry_of(&mut self, linear: u32) -> Option<&mut Entry> {
        let (set, tag) = (self.set(linear), self.tag(linear));
        let first = set * self.ways;
        let held = &mut self.entries[first..first + self.ways];
        held.iter_mut().find(|entry| entry.tag == tag)
    }

    /// The next use of the entry of `linear`, if there is one, does not go by a shortcut.
    pub(super) fn suspect(&mut self, linear: u32) {
        if let Some(entry) = self.entry_of(linear) {
            entry.allowed = SUSPECT;
        }
        self.drop_shortcut(linear);
    }

    /// The entry of `linear`, and whether it was suspect; it is an ordinary one from now on. Counts as no use.
    pub(super) fn take_suspect(&mut self, linear: u32, protects: bool) -> Option<(Entry, bool)> {
        let entry = self.entry_of(linear)?;
        let suspect = entry.allowed == SUSPECT;
        if suspect {
            entry.set_allowed(protects);
        }
        Some((*entry, suspect))
    }

    /// No entry is suspect.
    pub(super) fn trust_all(&mut self, protects: bool) {
        for entry in &mut self.entries {
            if entry.tag & VALID != 0 {
                entry.set_allowed(protects);
            }
        }
    }

    /// All valid entries: set, and entry.
    pub fn valid(&self) -> impl Iterator<Item = (usize, &Entry)> {
        let all = self.entries.iter().enumerate();
        all.map(|(n, entry)| (n / self.ways, entry))
            .filter(|(_, entry)| entry.tag & VALID != 0)
    }
}

impl Level for Tlb {
    type Key = u32;
    type Entry = Entry;

    fn look_up(&mut self, linear: u32) -> Option<Entry> {
        Tlb::look_up(self, linear).copied()
    }

    fn keep(&mut self, entry: Entry) -> bool {
        self.load(entry).is_some()
    }
}
