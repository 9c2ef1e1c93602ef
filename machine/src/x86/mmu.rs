//! The TLBs of a core: of code and of data, of small and of large pages, a second level, and the walk cache behind it.

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::paging::{LARGE_SHIFT, PAGE_SHIFT, WIDE_LARGE_SHIFT};
use super::tlb::{Entry, Tlb};
use super::walk_cache::WalkCache;
use crate::config::TlbConfig;
use crate::observe::stale::{Key, Side};
use crate::tlb::second_level::SecondLevel;

/// The TLBs of a core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mmu {
    /// Of data; of an i486 the one that it has.
    pub data: Tlb,
    pub instruction: Option<Tlb>,
    pub data_large: Option<Tlb>,
    pub instruction_large: Option<Tlb>,
    /// Of pages of 4 KB: the TLB behind those of code and of data.
    pub second: Option<SecondLevel<Tlb>>,
    pub(super) walk_cache: Option<WalkCache>,
}

impl Mmu {
    /// Empty TLBs, as a machine file describes them.
    ///
    /// # Errors
    /// It has none for data, or names a part that there is not.
    pub fn new(config: &Config) -> Result<Self, String> {
        let tlbs = &config.tlb;
        let data = tlbs.unified.as_ref().or(tlbs.data.as_ref());
        let data = data.ok_or("the machine file has no TLB")?;
        let small =
            |tlb: &Option<_>| (tlb.as_ref().map(|tlb| Tlb::new(tlb, PAGE_SHIFT))).transpose();
        let large =
            |tlb: &Option<_>| (tlb.as_ref().map(|tlb| Tlb::new(tlb, LARGE_SHIFT))).transpose();
        let second = (tlbs.l2.as_ref()).map(|second| {
            let shape = TlbConfig {
                entries: second.entries,
                ways: second.ways,
                replacement: second.replacement.clone(),
            };
            Ok::<_, String>(SecondLevel::new(Tlb::new(&shape, PAGE_SHIFT)?, second))
        });
        Ok(Mmu {
            data: Tlb::new(data, PAGE_SHIFT)?,
            instruction: small(&tlbs.instruction)?,
            data_large: large(&tlbs.data_large)?,
            instruction_large: large(&tlbs.instruction_large)?,
            second: second.transpose()?,
            walk_cache: WalkCache::from_config(&config.walk)?,
        })
    }

    /// Large pages have 2 MB with `wide` entries, otherwise 4 MB. TLBs of pages of the other size become empty.
    pub(super) fn set_wide(&mut self, wide: bool) {
        let shift = if wide { WIDE_LARGE_SHIFT } else { LARGE_SHIFT };
        let large = [&mut self.data_large, &mut self.instruction_large];
        for tlb in large.into_iter().flatten() {
            tlb.set_shift(shift);
        }
        if let Some(cache) = &mut self.walk_cache {
            cache.set_shift(shift);
        }
    }

    /// Can TLBs like `fresh` be in this state?
    pub(super) fn fits(&self, fresh: &Mmu) -> bool {
        let own: Vec<_> = self.all().collect();
        let theirs: Vec<_> = fresh.all().collect();
        let second = match (&self.second, &fresh.second) {
            (Some(second), Some(fresh)) => second.times_fit(fresh),
            _ => true,
        };
        let walks = match (&self.walk_cache, &fresh.walk_cache) {
            (Some(cache), Some(fresh)) => cache.fits(fresh),
            (None, None) => true,
            _ => false,
        };
        second
            && walks
            && own.len() == theirs.len()
            && own
                .iter()
                .zip(&theirs)
                .all(|((name, tlb), (other, fresh))| name == other && tlb.fits(fresh))
    }

    /// The entries of a set of the TLBs of small pages leave.
    pub(super) fn leave(&mut self, set: u32) {
        self.data.leave(set);
        if let Some(tlb) = &mut self.instruction {
            tlb.leave(set);
        }
    }

    /// Drops all shortcuts: how accesses are made has changed.
    pub fn drop_shortcuts(&mut self) {
        for tlb in self.all_mut() {
            tlb.drop_shortcuts();
        }
    }

    pub(super) fn small_mut(&mut self, fetch: bool) -> &mut Tlb {
        match &mut self.instruction {
            Some(tlb) if fetch => tlb,
            _ => &mut self.data,
        }
    }

    /// The TLB into which an entry has just been loaded.
    pub(super) fn loaded(&self, fetch: bool, large: bool) -> Option<&Tlb> {
        match (large, fetch) {
            (true, true) => self.instruction_large.as_ref(),
            (true, false) => self.data_large.as_ref(),
            (false, true) => self.instruction.as_ref(),
            (false, false) => Some(&self.data),
        }
    }

    /// Has the TLB of data of large pages the page of `linear`? Counts as no use.
    #[inline(always)]
    pub(super) fn has_large(&self, linear: u32) -> bool {
        self.data_large.as_ref().is_some_and(|tlb| tlb.has(linear))
    }

    pub(super) fn large_mut(&mut self, fetch: bool) -> Option<&mut Tlb> {
        if fetch {
            self.instruction_large.as_mut()
        } else {
            self.data_large.as_mut()
        }
    }

    /// Every TLB with its name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Tlb)> {
        let name = if self.instruction.is_some() {
            "data"
        } else {
            "unified"
        };
        let large = self.data_large.as_ref();
        let [data, instruction] = match large.map(Tlb::shift) {
            Some(WIDE_LARGE_SHIFT) => ["data, 2 MB pages", "instruction, 2 MB pages"],
            _ => ["data, 4 MB pages", "instruction, 4 MB pages"],
        };
        [
            (name, Some(&self.data)),
            ("instruction", self.instruction.as_ref()),
            (data, large),
            (instruction, self.instruction_large.as_ref()),
            (
                "second level",
                self.second.as_ref().map(|second| &second.tlb),
            ),
        ]
        .into_iter()
        .filter_map(|(name, tlb)| Some((name, tlb?)))
    }

    /// Every valid entry with the sanitizer's name for it.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Key, &Entry)> {
        self.sides().flat_map(|(side, tlb)| {
            let shift = tlb.shift();
            tlb.valid().map(move |(_, entry)| {
                let key = Key {
                    page: (entry.tag >> shift << shift).into(),
                    shift: shift as u8,
                    space: 0,
                    side,
                };
                (key, entry)
            })
        })
    }

    /// Every TLB with the sanitizer's name for it.
    fn sides(&self) -> impl Iterator<Item = (Side, &Tlb)> {
        let data = [Some(&self.data), self.data_large.as_ref()];
        let code = [self.instruction.as_ref(), self.instruction_large.as_ref()];
        let second = self.second.as_ref().map(|second| &second.tlb);
        let named = |side| move |tlb| (side, tlb);
        (data.into_iter().flatten().map(named(Side::Data)))
            .chain(code.into_iter().flatten().map(named(Side::Instruction)))
            .chain(second.into_iter().map(named(Side::Second)))
    }

    fn named(&mut self, key: Key) -> Option<&mut Tlb> {
        match (key.side, key.shift > 12) {
            (Side::Data, false) => Some(&mut self.data),
            (Side::Data, true) => self.data_large.as_mut(),
            (Side::Instruction, false) => self.instruction.as_mut(),
            (Side::Instruction, true) => self.instruction_large.as_mut(),
            (Side::Second, _) => self.second.as_mut().map(|second| &mut second.tlb),
            (Side::Hashed, _) => None,
        }
    }

    /// The next use of this entry is for the sanitizer to see.
    pub(super) fn suspect(&mut self, key: Key) {
        if let Some(tlb) = self.named(key) {
            tlb.suspect(key.page as u32);
        }
    }

    /// The entry, and whether it was suspect; it is an ordinary one from now on.
    pub(super) fn take_suspect(&mut self, key: Key, protects: bool) -> Option<(Entry, bool)> {
        self.named(key)?.take_suspect(key.page as u32, protects)
    }

    /// No entry is suspect.
    pub(super) fn trust_all(&mut self, protects: bool) {
        for tlb in self.all_mut() {
            tlb.drop_shortcuts();
            tlb.trust_all(protects);
        }
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Tlb> {
        [
            Some(&mut self.data),
            self.instruction.as_mut(),
            self.data_large.as_mut(),
            self.instruction_large.as_mut(),
            self.second.as_mut().map(|second| &mut second.tlb),
        ]
        .into_iter()
        .flatten()
    }
}
