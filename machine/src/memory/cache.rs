//! One set-associative cache: tags, states, replacement.
//!
//! The most recently used line of each set is element 0 (LRU: and so on in order), so that a hit on it
//! changes nothing: neither for LRU nor for the PLRU tree, whose bits already point away from the way
//! touched last. A faster lookup may therefore compare with element 0 alone and skip everything else.

mod replace;

use super::RamAddress;
use super::fixed::Fixed;
use super::line_shortcuts::LineShortcuts;
pub use crate::config::Replacement;
use crate::config::shape::{self, Misfit};
pub(crate) use replace::{is_order, to_front, tree_path};
use serde::{Deserialize, Serialize};

/// Size and shape of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheGeometry {
    /// Bytes in all.
    pub size: u32,
    /// Lines a set.
    pub ways: u32,
    /// Bytes a line, 16 at least.
    pub line: u32,
    /// Victim choice.
    pub replacement: Replacement,
}

impl CacheGeometry {
    /// Number of sets.
    #[must_use]
    pub fn sets(&self) -> u32 {
        self.size / (self.ways * self.line)
    }

    /// What is wrong with this shape, if anything.
    ///
    /// # Errors
    /// A sentence that says what is allowed.
    pub fn check(&self) -> Result<(), Misfit> {
        shape::cache(self.size, self.ways, self.line, shape::CACHE_MOST)
    }
}

/// The line holds valid data.
pub const VALID: u32 = 1;
/// The line is newer than memory.
pub const DIRTY: u32 = 2;
/// A part of the line has not arrived yet. The bit keeps an engine that compares tag words from finding the line.
pub const ARRIVING: u32 = 4;
/// An observer must see every use. The bit has the same effect on an engine.
const WATCHED: u32 = 8;
/// Another processor may have the line too: a store must tell it. Only D-caches and L2s have such lines, only I-caches
/// watched ones, so that both use one bit.
pub const SHARED: u32 = WATCHED;
/// The line is in the cache whether or not these are set. Lines are long enough that these are no bits of an address.
const EITHER: u32 = DIRTY | ARRIVING | WATCHED;

/// The line that a fill replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// Its physical address.
    pub pa: RamAddress,
    /// It was newer than memory.
    pub dirty: bool,
}

/// How a cache holds a line, or held it before a snoop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Had {
    Not,
    Shared,
    Exclusive,
    Modified,
}

impl Had {
    fn of(tag: u32) -> Self {
        match tag {
            _ if tag & VALID == 0 => Had::Not,
            _ if tag & DIRTY != 0 => Had::Modified,
            _ if tag & SHARED != 0 => Had::Shared,
            _ => Had::Exclusive,
        }
    }
}

/// A cache's tags and states.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cache {
    geometry: CacheGeometry,
    /// Set after set, most recently used first: line address | [`VALID`] and what [`EITHER`] has.
    tags: Fixed<u32>,
    /// PLRU: physical way of each element of `tags`. For LRU it would make no difference and stays
    /// the element's number.
    ways: Fixed<u8>,
    /// PLRU tree bits of each set.
    trees: Fixed<u64>,
    /// PLRU: for each way the tree bits on its path, and those of them that point away from it.
    paths: Box<[(u64, u64)]>,
    /// An address rotated to the right by this has the place of its set in `tags` under the mask. Sets are powers of
    /// two.
    set_rotation: u32,
    set_mask: u32,
    /// The bits of an address that are the line's.
    line_mask: u32,
    enabled: bool,
    locked: bool,
    /// How often it was told to drop lines.
    #[serde(skip)]
    invalidations: u64,
    /// Shortcuts to the most recently used lines.
    #[serde(skip)]
    shortcuts: LineShortcuts,
}

impl Cache {
    /// An empty, disabled cache.
    ///
    /// # Errors
    /// What is wrong with the geometry; see [`CacheGeometry::check`].
    pub fn new(geometry: CacheGeometry) -> Result<Self, String> {
        geometry.check()?;
        let sets = geometry.sets() as usize;
        let ways = geometry.ways as usize;
        Ok(Self {
            geometry,
            tags: Fixed::from(vec![0; sets * ways]),
            ways: (0..sets * ways).map(|n| (n % ways) as u8).collect(),
            trees: Fixed::from(vec![0; sets]),
            paths: (0..ways).map(|way| tree_path(way, ways)).collect(),
            set_rotation: (geometry.line.trailing_zeros())
                .wrapping_sub(geometry.ways.trailing_zeros())
                % u32::BITS,
            set_mask: (geometry.sets() - 1) * geometry.ways,
            line_mask: !(geometry.line - 1),
            enabled: false,
            locked: false,
            invalidations: 0,
            shortcuts: LineShortcuts::default(),
        })
    }

    /// Size and shape.
    #[must_use]
    pub fn geometry(&self) -> CacheGeometry {
        self.geometry
    }

    /// True if it has so many ways, and replaces the line that was used longest ago.
    #[must_use]
    pub fn is_lru(&self, ways: u32) -> bool {
        self.geometry.ways == ways && self.geometry.replacement == Replacement::Lru
    }

    /// Address of the line that holds `pa`.
    #[inline]
    #[must_use]
    pub fn line_address(&self, pa: RamAddress) -> u32 {
        pa & self.line_mask
    }

    /// HID0\[ICE\] or HID0\[DCE\].
    #[inline]
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// HID0\[ILOCK\] or HID0\[DLOCK\].
    #[inline]
    #[must_use]
    pub fn locked(&self) -> bool {
        self.locked
    }

    /// How often it was told to drop lines: since then, who has read them before still knows what they hold.
    #[must_use]
    pub(crate) fn invalidations(&self) -> u64 {
        self.invalidations
    }

    /// Enables or disables. The lines stay, unseen while disabled (603 UM 3.2.3.2).
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Locks or unlocks: a locked cache serves hits and fills nothing.
    pub fn set_locked(&mut self, locked: bool) {
        self.locked = locked;
    }

    /// The shortcuts to its lines. There are none until [`Cache::make_shortcuts`].
    #[inline(always)]
    pub(crate) fn shortcuts(&self) -> &LineShortcuts {
        &self.shortcuts
    }

    /// Makes room for shortcuts to its lines, and drops all that there are.
    pub(crate) fn make_shortcuts(&mut self) {
        let way = self.geometry.size / self.geometry.ways;
        self.shortcuts.make(self.geometry.line, way);
    }

    /// An address rotated to the right by the first number has the place of its set in [`Cache::tags`] under the
    /// second as a mask.
    pub(crate) fn places(&self) -> (u32, u32) {
        (self.set_rotation, self.set_mask)
    }

    #[inline]
    fn first(&self, pa: RamAddress) -> usize {
        (pa.rotate_right(self.set_rotation) & self.set_mask) as usize
    }

    /// The tag word of the most recently used line of `pa`'s set.
    #[inline]
    #[must_use]
    pub fn mru(&self, pa: RamAddress) -> u32 {
        self.tags[self.first(pa)]
    }

    /// All tag words (set after set, MRU first), for an engine that keeps a pointer to them and indexes them directly:
    /// `tags[pa / line % sets * ways]`. It may write [`DIRTY`] of such a line, as [`Cache::access`] would. A line that
    /// is watched, or still on its way, differs in its tag word. Compiled x86 code also reorders sets
    /// ([`Cache::trees`]).
    pub fn tags(&self) -> &Fixed<u32> {
        &self.tags
    }

    /// The ways of each element of the tags, and the PLRU tree of each set. Compiled x86 code writes through these
    /// while its processor runs. It makes a line its set's most recently used one, as [`Cache::access`] would, but
    /// drops no shortcut, because an x86 core makes none. `None`: the cache replaces otherwise, or has other than 2 or
    /// 4 ways.
    pub(crate) fn trees(&self) -> Option<(*mut u8, *mut u64)> {
        let suits = matches!(self.geometry.ways, 2 | 4)
            && self.geometry.replacement == Replacement::PseudoLru;
        suits.then(|| (self.ways.pointer(), self.trees.pointer()))
    }

    /// Index in `tags` of the line that holds `pa`, if the cache holds it; recency is not touched.
    #[inline]
    #[must_use]
    pub fn find(&self, pa: RamAddress) -> Option<usize> {
        let first = self.first(pa);
        let wanted = self.line_address(pa) | VALID;
        let set = &self.tags[first..first + self.geometry.ways as usize];
        let held = |&tag: &u32| tag & !EITHER == wanted;
        // Of known length the loop unrolls.
        let element = match <&[u32; 4]>::try_from(set) {
            Ok(set) => set.iter().position(held),
            Err(_) => set.iter().position(held),
        };
        element.map(|element| first + element)
    }

    /// Makes an engine look up the line of `pa` at each use, until it leaves the cache. Does nothing if the cache
    /// does not hold it.
    pub fn watch(&mut self, pa: RamAddress) {
        if let Some(index) = self.find(pa) {
            self.tags[index] |= WATCHED;
            self.shortcuts.drop_set(pa);
        }
    }

    /// Clears [`ARRIVING`] of the line of `pa`, which an access has just found.
    pub fn mark_arrived(&mut self, pa: RamAddress) {
        let first = self.first(pa);
        self.tags[first] &= !ARRIVING;
    }

    /// Marks the line of `pa`, which has just got its place, as one that others have too.
    pub fn mark_shared(&mut self, pa: RamAddress) {
        let first = self.first(pa);
        self.tags[first] |= SHARED;
        self.shortcuts.drop_set(pa);
    }

    /// Clears that mark of the line of `pa`, which an access has just found.
    pub fn mark_own(&mut self, pa: RamAddress) {
        let first = self.first(pa);
        self.tags[first] &= !SHARED;
    }

    /// True if the line of `pa`, which an access has just found, is one that others have too.
    #[inline]
    #[must_use]
    pub fn shared(&self, pa: RamAddress) -> bool {
        self.mru(pa) & SHARED != 0
    }

    #[inline]
    fn snoop(&mut self, pa: RamAddress, state: impl Fn(u32) -> u32) -> Had {
        let Some(index) = self.find(pa) else {
            return Had::Not;
        };
        let old = std::mem::replace(&mut self.tags[index], 0);
        self.tags[index] = state(old);
        self.shortcuts.drop_set(pa);
        Had::of(old)
    }

    /// How it holds the line of `pa`, which [`SHARED`] belongs to.
    #[must_use]
    pub fn held(&self, pa: RamAddress) -> Had {
        let index = self.find(pa);
        index.map_or(Had::Not, |index| Had::of(self.tags[index]))
    }

    /// No other processor has the line of `pa`, if it is here.
    pub fn own(&mut self, pa: RamAddress) {
        if let Some(index) = self.find(pa) {
            self.tags[index] &= !SHARED;
        }
    }

    /// Another processor reads the line: it is shared from now on.
    pub fn share(&mut self, pa: RamAddress) -> Had {
        self.snoop(pa, |tag| tag & !DIRTY | SHARED)
    }

    /// Another processor has memory updated: the line stays.
    pub fn held_clean(&mut self, pa: RamAddress) -> Had {
        self.snoop(pa, |tag| tag & !DIRTY)
    }

    /// Another processor takes the line.
    pub fn give_up(&mut self, pa: RamAddress) -> Had {
        self.snoop(pa, |_| 0)
    }

    /// True if the line of `pa`, which an access has just found, has that mark of a line on its way.
    #[inline]
    #[must_use]
    pub fn arriving(&self, pa: RamAddress) -> bool {
        self.mru(pa) & ARRIVING != 0
    }

    /// Must every use of the line of `pa`, which an access has just found, be seen?
    #[inline]
    #[must_use]
    pub fn marked(&self, pa: RamAddress) -> bool {
        self.mru(pa) & (ARRIVING | WATCHED) != 0
    }

    /// True if the cache holds `pa`'s line modified.
    #[inline]
    #[must_use]
    pub fn is_dirty(&self, pa: RamAddress) -> bool {
        self.find(pa)
            .is_some_and(|index| self.tags[index] & DIRTY != 0)
    }

    /// Looks `pa` up as an access: a hit becomes most recently used, and dirty if `dirty`.
    #[inline]
    pub fn access(&mut self, pa: RamAddress, dirty: bool) -> bool {
        self.access_recent(pa, dirty).is_some() || self.access_older(pa, dirty)
    }

    /// [`Cache::access`] to the most recently used line of its set; returns the tag word if that is it.
    #[inline(always)]
    pub fn access_recent(&mut self, pa: RamAddress, dirty: bool) -> Option<u32> {
        let first = self.first(pa);
        let wanted = self.line_address(pa) | VALID;
        let recent = &mut self.tags[first];
        if *recent & !EITHER != wanted {
            return None;
        }
        *recent |= if dirty { DIRTY } else { 0 };
        Some(*recent)
    }

    /// The tag word of the most recently used line of `pa`'s set, if that is `pa`'s.
    #[inline(always)]
    #[must_use]
    pub fn mru_hit(&self, pa: RamAddress) -> Option<u32> {
        // Without a panic there is no call in a caller that otherwise makes none.
        let tag = *self.tags.get(self.first(pa))?;
        (tag & !EITHER == self.line_address(pa) | VALID).then_some(tag)
    }

    /// The tag words of the set of `pa`, for the host to bring.
    #[must_use]
    pub fn set_of(&self, pa: RamAddress) -> Option<&u32> {
        self.tags.get(self.first(pa))
    }

    /// [`Cache::access`] to a line that is not its set's most recently used one.
    #[inline(always)]
    pub fn access_older(&mut self, pa: RamAddress, dirty: bool) -> bool {
        let Some(index) = self.older(pa) else {
            return false;
        };
        self.use_older(index, dirty);
        true
    }

    /// [`Cache::access_older`], out of the way of callers that have found the most recently used line as a rule.
    #[inline(never)]
    pub fn access_unrecent(&mut self, pa: RamAddress, dirty: bool) -> bool {
        self.access_older(pa, dirty)
    }

    /// The index in the tags of the line of `pa`, if the cache holds it and it is not its set's most recently used one.
    #[inline(always)]
    #[must_use]
    pub fn older(&self, pa: RamAddress) -> Option<usize> {
        let first = self.first(pa);
        let wanted = self.line_address(pa) | VALID;
        match self.geometry.ways {
            1 => None,
            4 => self.older_in::<4>(first, wanted),
            2 => self.older_in::<2>(first, wanted),
            8 => self.older_in::<8>(first, wanted),
            _ => self.older_in::<0>(first, wanted),
        }
    }

    /// [`Cache::older`] of a cache with four ways.
    #[inline(always)]
    #[must_use]
    pub fn older_of_four(&self, pa: RamAddress) -> Option<usize> {
        self.older_in::<4>(self.first(pa), self.line_address(pa) | VALID)
    }

    #[inline(always)]
    fn older_in<const WAYS: usize>(&self, first: usize, wanted: u32) -> Option<usize> {
        let set = &self.tags[first..first + self.ways::<WAYS>()];
        let held = |&tag: &u32| tag & !EITHER == wanted;
        Some(first + 1 + set[1..].iter().position(held)?)
    }

    /// An access hits the line of which [`Cache::older`] gave the index.
    #[inline(never)]
    pub fn use_older(&mut self, index: usize, dirty: bool) {
        let element = index & (self.geometry.ways as usize - 1);
        let first = index - element;
        self.tags[index] |= if dirty { DIRTY } else { 0 };
        match self.geometry.ways {
            4 => self.touch::<4>(first, element),
            2 => self.touch::<2>(first, element),
            8 => self.touch::<8>(first, element),
            _ => self.touch::<0>(first, element),
        }
    }

    /// Marks `pa`'s line clean. Returns true if it was held modified.
    pub fn clean(&mut self, pa: RamAddress) -> bool {
        let Some(index) = self.find(pa) else {
            return false;
        };
        let was = self.tags[index] & DIRTY != 0;
        self.tags[index] &= !DIRTY;
        self.shortcuts.drop_set(pa);
        was
    }

    /// Invalidates `pa`'s line. Returns true if it was held modified.
    pub fn invalidate(&mut self, pa: RamAddress) -> bool {
        self.invalidations += 1;
        let Some(index) = self.find(pa) else {
            return false;
        };
        let was = self.tags[index] & DIRTY != 0;
        self.tags[index] = 0;
        self.shortcuts.drop_set(pa);
        was
    }

    /// Invalidates every line of `pa`'s set (the 603's `icbi`).
    pub fn invalidate_set(&mut self, pa: RamAddress) {
        self.invalidations += 1;
        let first = self.first(pa);
        self.tags[first..first + self.geometry.ways as usize].fill(0);
        self.shortcuts.drop_set(pa);
    }

    /// Flash invalidate (HID0\[ICFI\], HID0\[DCFI\]): every line goes, modified or not.
    pub fn invalidate_all(&mut self) {
        self.invalidations += 1;
        self.tags.fill(0);
        self.shortcuts.drop_all();
        self.trees.fill(0);
        let ways = self.geometry.ways as usize;
        for (n, way) in self.ways.iter_mut().enumerate() {
            *way = (n % ways) as u8;
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used. Its lines lie in RAM of `ram` bytes.
    pub(crate) fn fits(&self, fresh: &Self, ram: usize) -> bool {
        let ways = self.geometry.ways as usize;
        let flags = VALID | EITHER;
        self.geometry == fresh.geometry
            && self.tags.len() == fresh.tags.len()
            && self.ways.len() == fresh.ways.len()
            && self.trees.len() == fresh.trees.len()
            && self.paths == fresh.paths
            && (self.set_rotation, self.set_mask) == (fresh.set_rotation, fresh.set_mask)
            && self.line_mask == fresh.line_mask
            && self.ways.chunks(ways).all(is_order)
            && self.tags.iter().enumerate().all(|(n, &tag)| {
                let line = self.line_address(tag);
                tag & !flags == line
                    && (tag & VALID == 0
                        || self.first(line) == n / ways * ways && (line as usize) < ram)
            })
    }

    /// Every valid line: set, way (LRU: recency, 0 the most recent), address, modified.
    pub fn lines(&self) -> impl Iterator<Item = (u32, u8, u32, bool)> + '_ {
        let ways = self.geometry.ways as usize;
        self.tags
            .iter()
            .zip(self.ways.iter())
            .enumerate()
            .filter(|(_, (tag, _))| *tag & VALID != 0)
            .map(move |(n, (&tag, &way))| {
                (
                    (n / ways) as u32,
                    way,
                    self.line_address(tag),
                    tag & DIRTY != 0,
                )
            })
    }
}
