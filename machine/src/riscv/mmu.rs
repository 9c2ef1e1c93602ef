//! Translation: TLBs of fetches and of data, a second-level TLB, walks of Sv39 and Sv48 through the D-cache, fences
//! (RISC-V Privileged Architecture 20211203, 4.2 to 4.5).

use serde::{Deserialize, Serialize};

use super::config::{Config, SecondTlb};
use super::csr::{privilege, satp};
use super::pmp::right;
use super::processor::Processor;
use super::tlb::{Entry, Mode, Tlb, pte};
use super::trap::{Raised, cause};
use crate::account::tlb_events::Tables;
use crate::account::{Event, Plain};
use crate::computer::Progressing as _;
use crate::memory::Notice;
use crate::observe::stale::{Key, Side};
use crate::tlb::pointers::Pointers;

/// The TLBs of a processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mmu {
    /// Of fetches, and of data.
    pub first: [Tlb; 2],
    pub second: Option<Tlb>,
    pub walk_cache: Pointers,
}

/// What the sanitizer and dumps call each of them.
const NAMES: [(Side, &str); 3] = [
    (Side::Instruction, "instruction"),
    (Side::Data, "data"),
    (Side::Second, "l2"),
];

impl Mmu {
    /// Those of a machine file, empty.
    ///
    /// # Errors
    /// What cannot be had.
    pub fn new(config: &Config) -> Result<Mmu, String> {
        let tlbs = &config.tlb;
        let second = tlbs.l2.as_ref().map(|l2| Tlb::new(&l2.shape()));
        Ok(Mmu {
            first: [Tlb::new(&tlbs.instruction)?, Tlb::new(&tlbs.data)?],
            second: second.transpose()?,
            walk_cache: Pointers::new(config.walk.cache)?,
        })
    }

    /// Can the MMU of a machine like that of `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Mmu) -> bool {
        self.second.is_some() == fresh.second.is_some()
            && self
                .each()
                .zip(fresh.each())
                .all(|(tlb, fresh)| tlb.fits(fresh))
            && self.walk_cache.fits(&fresh.walk_cache)
    }

    fn each(&self) -> impl Iterator<Item = &Tlb> {
        self.first.iter().chain(&self.second)
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Tlb> {
        self.first.iter_mut().chain(&mut self.second)
    }

    /// That of fetches, or of data.
    #[inline(always)]
    fn first(&mut self, fetch: bool) -> &mut Tlb {
        &mut self.first[usize::from(!fetch)]
    }

    /// The entries of a set of the TLBs of the first level leave.
    pub(super) fn leave(&mut self, set: u32) {
        for tlb in &mut self.first {
            tlb.leave(set);
        }
    }

    /// Removes what a fence reaches: [`Tlb::fence`]. Returns how many entries went.
    pub(super) fn fence(&mut self, va: Option<u64>, asid: Option<u16>) -> u64 {
        self.each_mut().map(|tlb| tlb.fence(va, asid)).sum()
    }

    /// Each TLB by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Tlb)> {
        NAMES.iter().map(|&(_, name)| name).zip(self.each())
    }

    /// Every valid entry with the sanitizer's name for it.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Key, Entry)> {
        NAMES.iter().zip(self.each()).flat_map(|(&(side, _), tlb)| {
            let named = move |(_, entry)| (super::stale::key(&entry, side), entry);
            tlb.valid().map(named)
        })
    }

    fn named(&mut self, side: Side) -> Option<&mut Tlb> {
        let number = NAMES.iter().position(|&(named, _)| named == side)?;
        self.each_mut().nth(number)
    }

    /// The next use of this entry is for the sanitizer to see.
    pub(super) fn suspect(&mut self, key: Key) {
        if let Some(tlb) = self.named(key.side) {
            tlb.suspect(key.page, key.shift, key.space as u16);
        }
    }

    /// The entry, and whether it was suspect; it is an ordinary one from now on.
    pub(super) fn take_suspect(&mut self, va: u64, asid: u16, side: Side) -> Option<(Entry, bool)> {
        self.named(side)?.take_suspect(va, asid)
    }

    /// No entry is suspect.
    pub(super) fn trust_all(&mut self) {
        self.each_mut().for_each(Tlb::trust_all);
    }

    /// Whatever was found without a search is looked up again.
    pub fn drop_shortcuts(&mut self) {
        self.first.iter_mut().for_each(Tlb::drop_shortcuts);
    }

    /// Makes what a snapshot does not hold.
    pub fn make_derived(&mut self) {
        self.each_mut().for_each(Tlb::make_derived);
    }
}

/// How many bits of an address are inside of what an entry of this level maps, and where that entry is.
pub(super) fn slot(table: u64, va: u64, level: u32) -> (u32, u64) {
    let shift = 12 + 9 * level;
    (shift, table + (va >> shift & 511) * 8)
}

/// How accesses are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// Not at all; of machine mode `true`.
    Bare(bool),
    /// By the page table.
    By(Mode),
}

/// Why an access cannot be made: there is no page, no memory, or the address is not aligned.
#[derive(Clone, Copy)]
pub(super) enum Miss {
    Page,
    Access,
    Misaligned,
}

/// The exception of an access with this right.
fn exception(right: u8, miss: Miss) -> u8 {
    let all = match right {
        right::EXECUTE => [
            cause::FETCH_PAGE,
            cause::FETCH_ACCESS,
            cause::FETCH_MISALIGNED,
        ],
        right::READ => [cause::LOAD_PAGE, cause::LOAD_ACCESS, cause::LOAD_MISALIGNED],
        _ => [
            cause::STORE_PAGE,
            cause::STORE_ACCESS,
            cause::STORE_MISALIGNED,
        ],
    };
    all[miss as usize]
}

impl Processor {
    /// Raises the exception of an access with this right.
    pub(super) fn fault<T>(&mut self, right: u8, miss: Miss, va: u64) -> Result<T, Raised> {
        self.raise(exception(right, miss), va)
    }

    pub(super) fn asid(&self) -> u16 {
        (self.csr.satp >> satp::ASID_SHIFT) as u16
    }

    /// How fetches, or accesses to data, are translated.
    #[inline(always)]
    pub(super) fn by(&self, fetch: bool) -> Translation {
        if fetch { self.fetches_by } else { self.data_by }
    }

    /// How fetches and data accesses are translated from now on.
    pub(super) fn choose_translation(&mut self) {
        let status = self.csr.mstatus;
        let data = if status & super::csr::mstatus::MPRV != 0 {
            (status >> 11 & 3) as u8
        } else {
            self.privilege
        };
        let bare = self.csr.mode() == satp::BARE;
        let by = |mode: u8| match mode {
            privilege::MACHINE => Translation::Bare(true),
            _ if bare => Translation::Bare(false),
            mode => Translation::By(Mode::new(mode == privilege::SUPERVISOR, status)),
        };
        let new = (by(self.privilege), by(data));
        if new != (self.fetches_by, self.data_by) {
            (self.fetches_by, self.data_by) = new;
            self.fetched = super::processor::NOWHERE;
        }
    }

    /// PMP was changed. Entries keep what they were loaded with, until a fence.
    pub(super) fn protection_changed(&mut self) {
        self.machine_free = self.csr.pmp.leaves_machine_free();
        self.protects_finely = self.csr.pmp.splits(0x1000);
        self.fetched = super::processor::NOWHERE;
    }

    /// satp was written.
    pub(super) fn space_changed(&mut self) {
        self.mmu.drop_shortcuts();
        self.choose_translation();
        self.fetched = super::processor::NOWHERE;
        if self.sanitized {
            self.note_root();
        }
        self.note_space();
    }

    /// The physical address of `va`, for an access to `bytes` that do not go beyond their page.
    #[inline(always)]
    pub(super) fn translate(&mut self, va: u64, right: u8, bytes: u64) -> Result<u64, Raised> {
        let fetch = right == right::EXECUTE;
        match self.by(fetch) {
            Translation::Bare(true) if self.machine_free => Ok(va),
            Translation::Bare(machine) => {
                if self.csr.pmp.allows(right, va, bytes, machine) {
                    return Ok(va);
                }
                self.fault(right, Miss::Access, va)
            }
            Translation::By(mode) => {
                self.look_ups[usize::from(!fetch)] += 1;
                if !self.running.oracle
                    && let Some(pa) = self.mmu.first(fetch).quick(va, right, mode.number())
                {
                    return Ok(pa);
                }
                self.translate_slowly(va, right, bytes, mode)
            }
        }
    }

    #[inline(never)]
    fn translate_slowly(
        &mut self,
        va: u64,
        right: u8,
        bytes: u64,
        mode: Mode,
    ) -> Result<u64, Raised> {
        if !self.sanitized {
            return self.look_up_or_fill(va, right, bytes, mode);
        }
        let suspect = self.take_suspect(va, right == right::EXECUTE);
        let found = self.look_up_or_fill(va, right, bytes, mode);
        match (suspect, &found) {
            (Some(suspect), Ok(_)) => self.judge_use(va, right, suspect),
            // A refused access is no use of the entry.
            (Some((key, _)), Err(_)) if !self.refilled => self.mmu.suspect(key),
            _ => {}
        }
        found
    }

    #[inline(always)]
    fn look_up_or_fill(
        &mut self,
        va: u64,
        right: u8,
        bytes: u64,
        mode: Mode,
    ) -> Result<u64, Raised> {
        let asid = self.asid();
        let fetch = right == right::EXECUTE;
        let mut entry = match self.mmu.first(fetch).look_up(va, asid) {
            Some(entry) => entry,
            None => match self.fill(va, right) {
                Ok(entry) => entry,
                Err(miss) => return self.fault(right, miss, va),
            },
        };
        // An entry that is loaded anew, with the D bit, may lead elsewhere and have other rights.
        let pa = loop {
            let pa = entry.physical(va);
            let clean = right == right::WRITE && u64::from(entry.bits) & pte::DIRTY == 0;
            if !entry.allows(right, mode) || clean && self.software_updates() {
                return self.fault(right, Miss::Page, va);
            }
            let asks = entry.rights & right::ASK != 0;
            if entry.rights & right == 0 && !(asks && self.csr.pmp.allows(right, pa, bytes, false))
            {
                return self.fault(right, Miss::Access, va);
            }
            if !clean {
                break pa;
            }
            entry = match self.walk_for(va, right) {
                Ok(entry) => entry,
                Err(miss) => return self.fault(right, miss, va),
            };
        };
        if !self.running.oracle {
            // Only RAM has shortcuts.
            if self.ram_address(pa & !0xfff, 0x1000).is_some() {
                let tlb = self.mmu.first(fetch);
                let rights = |entry: &Entry| entry.free_rights(mode);
                let needs = if fetch { right::EXECUTE } else { right::READ };
                tlb.make_shortcut(va, asid, mode.number(), (needs, right::WRITE), rights);
            }
        }
        Ok(pa)
    }

    /// Loads the entry that an access has missed, from the second-level TLB or by a walk.
    fn fill(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let fetch = right == right::EXECUTE;
        self.account.add(Event::tlb_miss(fetch), 1);
        let asid = self.asid();
        if let (Some(second), Some(config)) = (&mut self.mmu.second, &self.config.tlb.l2) {
            let found = second.look_up(va, asid);
            let took = match found {
                Some(entry) => config.hit + config.next_size * Entry::smaller_sizes(entry.shift),
                None => config.miss,
            };
            self.account.add_plain(Plain::SecondTlbAccess, 1);
            self.account.add_plain(Plain::SecondTlbCycles, took.into());
            self.advance(took);
            if let Some(entry) = found {
                self.enter_first(entry, fetch);
                if self.sanitized {
                    self.note_second(&entry, fetch);
                }
                return Ok(entry);
            }
            self.account.add_plain(Plain::SecondTlbMiss, 1);
        }
        self.walk_for(va, right)
    }

    fn enter_first(&mut self, entry: Entry, fetch: bool) {
        let tlb = self.mmu.first(fetch);
        tlb.enter(entry, &mut self.account, Plain::tlb_evicted(fetch));
    }

    /// Walks the page table for an access, and enters what it finds.
    fn walk_for(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let fetch = right == right::EXECUTE;
        let from = self.cycles;
        self.mmu.first(fetch).begin_walk(&mut self.account);
        let found = self.walk(va, right);
        let walk = self.cycles - from;
        self.account.add_plain(Plain::HashSearch, 1);
        self.account.add_plain(Plain::WalkCycles, walk);
        if fetch {
            self.account.add_plain(Plain::InstructionSearches, 1);
            self.account.add_plain(Plain::InstructionWalkCycles, walk);
        }
        if let Ok(entry) = &found {
            let takes = |l2: &SecondTlb| entry.shift == 12 || l2.superpages;
            let behind = self.config.tlb.l2.as_ref().is_some_and(takes);
            if let Some(second) = self.mmu.second.as_mut().filter(|_| behind) {
                second.enter(*entry, &mut self.account, Plain::SecondTlbEvicted);
            }
            self.enter_first(*entry, fetch);
            if self.sanitized {
                self.note_fill(entry, fetch, behind);
            }
            if self.config.tlb.extreme.ahead && entry.shift == 12 {
                self.walk_ahead(va, fetch);
            }
        }
        let root = (self.csr.satp & satp::PPN) << 12;
        self.note_walk(fetch, va, from, Tables::tree(root));
        found
    }

    /// A walk has loaded the page of `va`. The next one is loaded, too, if its word is valid and was used before, so
    /// that nothing is written. That takes no time.
    #[cold]
    fn walk_ahead(&mut self, va: u64, fetch: bool) {
        let (next, asid) = ((va & !0xfff).wrapping_add(0x1000), self.asid());
        if self.mmu.first(fetch).peek(next, asid).is_some() {
            return;
        }
        if let Some((entry, origin)) = self.next_page(next) {
            self.enter_first(entry, fetch);
            if self.sanitized {
                self.walked = origin;
                self.note_fill(&entry, fetch, false);
            }
        }
    }

    /// sfence.vma: an address or all, an address space or all.
    pub(super) fn fence_translations(&mut self, va: Option<u64>, asid: Option<u16>) {
        let clocks = &self.config.clocks;
        let took = match (va, asid) {
            (Some(_), _) => clocks.fence_page,
            (None, Some(_)) => clocks.fence_space.unwrap_or(clocks.fence_all),
            (None, None) => clocks.fence_all,
        };
        self.advance(took);
        self.drop_translations(va, asid);
        if self.several && self.config.tlb.broadcast {
            self.memory.notify(Notice::Fence(va, asid));
            self.running.times.end = self.cycles;
            self.running.deadline = 0;
        }
    }

    /// Removes what a fence of this processor, or one that another processor broadcasts, reaches.
    pub(super) fn drop_translations(&mut self, va: Option<u64>, asid: Option<u16>) {
        self.account.add_plain(Plain::TlbInvalidate, 1);
        if va.is_none() {
            self.account.add_plain(Plain::TlbLoad, 1);
            self.mmu.walk_cache.clear();
        }
        let removed = self.mmu.fence(va, asid);
        if self.sanitized {
            self.note_fence(va, asid);
        }
        self.account.add_plain(Plain::TlbTaken, removed);
        self.fetched = super::processor::NOWHERE;
    }

    /// Where `va` is in memory, for a debugger: without side effects. Looks as the running code does.
    #[must_use]
    pub fn peek(&self, va: u64) -> Option<u64> {
        let Translation::By(_) = self.data_by else {
            return Some(va);
        };
        let mut table = (self.csr.satp & satp::PPN) << 12;
        for level in (0..self.levels()).rev() {
            let (shift, at) = slot(table, va, level);
            let at = self.ram_address(at, 8)?;
            let value = self.memory.uncore.ram.get(at).map(u64::from_le_bytes)?;
            if value & pte::VALID == 0 {
                return None;
            }
            let next = (value >> 10 & satp::PPN) << 12;
            if value & (pte::READ | pte::EXECUTE) != 0 {
                let shift = if value & pte::NAPOT == 0 { shift } else { 16 };
                let inside = (1_u64 << shift) - 1;
                return Some(next & !inside | va & inside);
            }
            table = next;
        }
        None
    }
}
