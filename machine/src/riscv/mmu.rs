//! Translation: TLBs of fetches and of data, a second-level TLB, walks of Sv39 and Sv48 through the D-cache, fences
//! (RISC-V Privileged Architecture 20211203, 4.2 to 4.5).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::config::{Config, Extension, Update};
use super::csr::{menvcfg, privilege, satp};
use super::pmp::right;
use super::processor::Processor;
use super::tlb::{Entry, Mode, Tlb, WalkCache, pte};
use super::trap::{Raised, cause};
use crate::account::tlb_events::{Layout, Space, Step, Tables, TlbMiss, TlbPage};
use crate::account::{Event, Plain};
use crate::memory::{Notice, RamAddress, attribute};
use crate::observe::stale::{Key, Origin, Side};

/// The TLBs of a processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mmu {
    pub instruction: Tlb,
    pub data: Tlb,
    pub second: Option<Tlb>,
    pub walk_cache: WalkCache,
}

impl Mmu {
    /// Those of a machine file, empty.
    ///
    /// # Errors
    /// What cannot be had.
    pub fn new(config: &Config) -> Result<Mmu, String> {
        let second = config.tlb.l2.as_ref().map(|l2| Tlb::new(&l2.shape()));
        Ok(Mmu {
            instruction: Tlb::new(&config.tlb.instruction)?,
            data: Tlb::new(&config.tlb.data)?,
            second: second.transpose()?,
            walk_cache: WalkCache::new(config.walk.cache)?,
        })
    }

    /// Can the MMU of a machine like that of `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Mmu) -> bool {
        let second = match (&self.second, &fresh.second) {
            (Some(second), Some(fresh)) => second.fits(fresh),
            (None, None) => true,
            _ => false,
        };
        second
            && self.instruction.fits(&fresh.instruction)
            && self.data.fits(&fresh.data)
            && self.walk_cache.fits(&fresh.walk_cache)
    }

    /// Each TLB by name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Tlb)> {
        let first = [("instruction", &self.instruction), ("data", &self.data)];
        first
            .into_iter()
            .chain(self.second.iter().map(|tlb| ("l2", tlb)))
    }

    /// Every valid entry with the sanitizer's name for it.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Key, Entry)> {
        self.sides().flat_map(|(side, tlb)| {
            let named = move |(_, entry)| (super::stale::key(&entry, side), entry);
            tlb.valid().map(named)
        })
    }

    /// Every TLB with the sanitizer's name for it.
    fn sides(&self) -> impl Iterator<Item = (Side, &Tlb)> {
        let first = [
            (Side::Instruction, &self.instruction),
            (Side::Data, &self.data),
        ];
        let second = self.second.iter().map(|tlb| (Side::Second, tlb));
        first.into_iter().chain(second)
    }

    fn named(&mut self, side: Side) -> Option<&mut Tlb> {
        match side {
            Side::Data => Some(&mut self.data),
            Side::Instruction => Some(&mut self.instruction),
            Side::Second => self.second.as_mut(),
            Side::Hashed => None,
        }
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
        for side in Side::ALL {
            if let Some(tlb) = self.named(side) {
                tlb.trust_all();
            }
        }
    }

    /// Whatever was found without a search is looked up again.
    pub fn drop_shortcuts(&mut self) {
        self.instruction.drop_shortcuts();
        self.data.drop_shortcuts();
    }
}

/// How accesses are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// Not at all; of machine mode `true`.
    Bare(bool),
    /// By the page table.
    By(Mode),
}

/// A table of three or four levels, to show the steps of a walk. The first number is the root's address, the second one
/// how many levels there are.
struct Tree;

impl Layout for Tree {
    fn describe(&self, [root, ..]: [u64; 4], _: u32, shown: &mut Value) {
        shown["root"] = json!(format!("{root:#x}"));
    }

    fn may_read(&self, _: [u64; 4], _: u32, step: &Step) -> bool {
        step.bytes == 8
    }

    fn levels(&self, _: [u64; 4], _: u32, steps: &[Step]) -> Vec<Option<u32>> {
        (1..).take(steps.len()).map(Some).collect()
    }
}

/// A walk's end without a translation.
enum Miss {
    Page,
    Access,
}

/// The exception of an access with this right: without a page, or without memory.
fn exception(right: u8, miss: &Miss) -> u8 {
    let page = matches!(miss, Miss::Page);
    match (right, page) {
        (right::EXECUTE, true) => cause::FETCH_PAGE,
        (right::EXECUTE, false) => cause::FETCH_ACCESS,
        (right::READ, true) => cause::LOAD_PAGE,
        (right::READ, false) => cause::LOAD_ACCESS,
        (_, true) => cause::STORE_PAGE,
        (_, false) => cause::STORE_ACCESS,
    }
}

/// The exception of an access to an address where there is no memory, or none that may be accessed so.
pub fn access_fault(right: u8) -> u8 {
    exception(right, &Miss::Access)
}

impl Processor {
    pub(super) fn asid(&self) -> u16 {
        (self.csr.satp >> satp::ASID_SHIFT) as u16
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
            self.mmu.drop_shortcuts();
            self.fetched = super::processor::NOWHERE;
        }
        self.machine_free = self.csr.pmp.leaves_machine_free();
    }

    /// PMP was changed. Entries keep what they were loaded with, until a fence.
    pub(super) fn protection_changed(&mut self) {
        self.machine_free = self.csr.pmp.leaves_machine_free();
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
        self.close_watch();
        self.observers.space_runs(self.csr.satp as u32, self.cycles);
    }

    /// The physical address of `va`, for an access to `bytes` that do not go beyond their page.
    #[inline(always)]
    pub(super) fn translate(&mut self, va: u64, right: u8, bytes: u64) -> Result<u64, Raised> {
        let fetch = right == right::EXECUTE;
        let by = if fetch { self.fetches_by } else { self.data_by };
        match by {
            Translation::Bare(true) if self.machine_free => Ok(va),
            Translation::Bare(machine) => {
                let rights = self.csr.pmp.rights(va, bytes, machine);
                if rights.is_some_and(|rights| rights & right != 0) {
                    return Ok(va);
                }
                self.raise(access_fault(right), va)
            }
            Translation::By(mode) => {
                let tlb = if fetch {
                    self.instruction_look_ups += 1;
                    &mut self.mmu.instruction
                } else {
                    self.data_look_ups += 1;
                    &mut self.mmu.data
                };
                if !self.oracle
                    && let Some(pa) = tlb.quick(va, right)
                {
                    return Ok(pa);
                }
                self.translate_slowly(va, right, mode)
            }
        }
    }

    #[inline(never)]
    fn translate_slowly(&mut self, va: u64, right: u8, mode: Mode) -> Result<u64, Raised> {
        if !self.sanitized {
            return self.look_up_or_fill(va, right, mode);
        }
        let suspect = self.take_suspect(va, right == right::EXECUTE);
        let pa = self.look_up_or_fill(va, right, mode)?;
        if let Some(suspect) = suspect {
            self.judge_use(va, right, suspect);
        }
        Ok(pa)
    }

    #[inline(always)]
    fn look_up_or_fill(&mut self, va: u64, right: u8, mode: Mode) -> Result<u64, Raised> {
        let asid = self.asid();
        let fetch = right == right::EXECUTE;
        let tlb = if fetch {
            &mut self.mmu.instruction
        } else {
            &mut self.mmu.data
        };
        let entry = match tlb.look_up(va, asid) {
            Some(entry) => entry,
            None => match self.fill(va, right) {
                Ok(entry) => entry,
                Err(miss) => return self.raise(exception(right, &miss), va),
            },
        };
        let inside = (1_u64 << entry.shift) - 1;
        let pa = entry.frame | va & inside;
        if !entry.allows(right, mode) {
            return self.raise(exception(right, &Miss::Page), va);
        }
        if entry.rights & right == 0 {
            return self.raise(access_fault(right), va);
        }
        if right == right::WRITE && u64::from(entry.bits) & pte::DIRTY == 0 {
            // The entry is loaded anew, with the D bit.
            if self.software_updates() {
                return self.raise(cause::STORE_PAGE, va);
            }
            if let Err(miss) = self.walk_for(va, right) {
                return self.raise(exception(right, &miss), va);
            }
        }
        if !self.oracle {
            let tlb = if fetch {
                &mut self.mmu.instruction
            } else {
                &mut self.mmu.data
            };
            tlb.make_shortcut(va, asid, mode);
        }
        Ok(pa)
    }

    /// Loads the entry that an access has missed, from the second-level TLB or by a walk.
    fn fill(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let fetch = right == right::EXECUTE;
        let event = if fetch {
            Event::InstructionTlbMiss
        } else {
            Event::DataTlbMiss
        };
        self.account.add(event, 1);
        let asid = self.asid();
        if let (Some(second), Some(config)) = (&mut self.mmu.second, &self.config.tlb.l2) {
            let found = second.look_up(va, asid);
            let took = match found {
                Some(entry) => config.hit + config.next_size * Entry::larger(entry.shift),
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
        let (tlb, evicted) = if fetch {
            (&mut self.mmu.instruction, Plain::InstructionTlbEvicted)
        } else {
            (&mut self.mmu.data, Plain::DataTlbEvicted)
        };
        tlb.enter(entry, &mut self.account, evicted);
    }

    /// Walks the page table for an access, and enters what it finds.
    fn walk_for(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let fetch = right == right::EXECUTE;
        let from = self.cycles;
        if let Some(note) = &mut self.account.tlb.walk {
            let page = |entry: &Entry| TlbPage {
                address: entry.page as u32,
                space: Some(Space::Asid(entry.asid)),
            };
            let tlb = if fetch {
                &self.mmu.instruction
            } else {
                &self.mmu.data
            };
            note.begin(tlb.valid().map(|(_, entry)| Some(page(&entry))));
        }
        let found = self.walk(va, right);
        let walk = self.cycles - from;
        self.account.add_plain(Plain::HashSearch, 1);
        self.account.add_plain(Plain::WalkCycles, walk);
        if fetch {
            self.account.add_plain(Plain::InstructionSearches, 1);
            self.account.add_plain(Plain::InstructionWalkCycles, walk);
        }
        if let Ok(entry) = &found {
            let second = self.mmu.second.as_mut();
            let large = self.config.tlb.l2.as_ref().is_some_and(|l2| l2.superpages);
            if let Some(second) = second.filter(|_| entry.shift == 12 || large) {
                second.enter(*entry, &mut self.account, Plain::SecondTlbEvicted);
            }
            self.enter_first(*entry, fetch);
            if self.sanitized {
                let second = self.mmu.second.is_some() && (entry.shift == 12 || large);
                self.note_fill(entry, fetch, second);
            }
        }
        self.account.tlb.miss = Some(TlbMiss {
            fetch,
            ea: va as u32,
            set: 0,
            walk: Some(walk),
            user: self.account.user,
            cause: self.account.cause,
            tables: Tables {
                layout: &Tree,
                numbers: [(self.csr.satp & satp::PPN) << 12, 0, 0, 0],
            },
        });
        self.observers
            .tlb(&mut self.account.tlb, self.pc as u32, from);
        found
    }

    pub(super) fn levels(&self) -> u32 {
        if self.csr.mode() == satp::SV48 { 4 } else { 3 }
    }

    fn walk(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let levels = self.levels();
        let unused = 64 - (12 + 9 * levels);
        if va.cast_signed() << unused >> unused != va.cast_signed() {
            return Err(Miss::Page);
        }
        self.advance(self.config.walk.begin);
        self.walked = Origin::new(self.csr.satp & satp::PPN);
        let mut table = (self.csr.satp & satp::PPN) << 12;
        for level in (0..levels).rev() {
            let shift = 12 + 9 * level;
            let at = table + (va >> shift & 511) * 8;
            if level > 0 && !self.mmu.walk_cache.is_absent() {
                self.account.add_plain(Plain::WalkCacheAccess, 1);
                if let Some(next) = self.mmu.walk_cache.look_up(at) {
                    table = next;
                    if let Some(place) = self.ram_address(at, 8) {
                        self.walked.push(place, next >> 12 << 10 | pte::VALID);
                    }
                    continue;
                }
                self.account.add_plain(Plain::WalkCacheMiss, 1);
            }
            let (place, value) = self.read_entry(at)?;
            self.walked.push(place, value);
            if value & pte::VALID == 0 && self.config.tlb.keeps_invalid {
                return Ok(self.entry(va, (12, 0)));
            }
            if value & pte::VALID == 0
                || value & (pte::READ | pte::WRITE) == pte::WRITE
                || value & pte::RESERVED != 0
            {
                return Err(Miss::Page);
            }
            if value & (pte::READ | pte::EXECUTE) != 0 {
                return self.leaf(va, right, (shift, place, value));
            }
            // D, A and U are reserved in an entry that points to a table.
            if level == 0 || value & (pte::DIRTY | pte::ACCESSED | pte::USER) != 0 {
                return Err(Miss::Page);
            }
            table = (value >> 10 & satp::PPN) << 12;
            if !self.mmu.walk_cache.is_absent() && self.mmu.walk_cache.enter(at, table) {
                self.account.add_plain(Plain::WalkCacheEvicted, 1);
            }
        }
        Err(Miss::Page)
    }

    /// Reads an entry through the D-cache.
    fn read_entry(&mut self, at: u64) -> Result<(RamAddress, u64), Miss> {
        let allowed = self.csr.pmp.rights(at, 8, false);
        if allowed.is_none_or(|rights| rights & right::READ == 0) {
            return Err(Miss::Access);
        }
        let place = self.ram_address(at, 8).ok_or(Miss::Access)?;
        self.advance(self.config.walk.level);
        let (from, forward) = (self.cycles, self.config.cache.data.forward);
        let account = &mut self.account;
        let took = self
            .memory
            .walk_read(place, attribute::COHERENT, forward, from, account);
        self.cycles += took;
        let value = self
            .memory
            .uncore
            .ram
            .get(place)
            .map(u64::from_le_bytes)
            .ok_or(Miss::Access)?;
        self.note_step(from, took, place, value, false);
        Ok((place, value))
    }

    fn note_step(&mut self, cycle: u64, took: u64, pa: RamAddress, value: u64, store: bool) {
        if let Some(note) = &mut self.account.tlb.walk {
            note.step(Step {
                cycle,
                took,
                pa,
                bytes: 8,
                value,
                store,
            });
        }
    }

    /// Does software set A and D bits?
    fn software_updates(&self) -> bool {
        if self.config.core.has(Extension::Svadu) {
            return self.csr.menvcfg & menvcfg::ADUE == 0;
        }
        self.config.walk.update == Update::Software
    }

    /// An entry of the running address space for a page of this size, with the bits of `value`.
    fn entry(&self, va: u64, (shift, value): (u32, u64)) -> Entry {
        let bits = if value == 0 { pte::NONE } else { value };
        Entry {
            page: va >> shift << shift,
            shift: shift as u8,
            bits: bits as u8,
            asid: self.asid(),
            ..Entry::default()
        }
    }

    /// The translation that a leaf gives, whose A and D bits are set if the hardware does that.
    fn leaf(
        &mut self,
        va: u64,
        right: u8,
        (shift, place, mut value): (u32, RamAddress, u64),
    ) -> Result<Entry, Miss> {
        let (mut shift, mut frame) = (shift, (value >> 10 & satp::PPN) << 12);
        if value & pte::NAPOT != 0 {
            // Of this form there is one size: 64 KB.
            if !self.config.core.has(Extension::Svnapot) || shift != 12 || frame >> 12 & 15 != 8 {
                return Err(Miss::Page);
            }
            (shift, frame) = (16, frame & !0xffff);
        }
        let inside = (1_u64 << shift) - 1;
        if frame & inside != 0 {
            return Err(Miss::Page);
        }
        let mut entry = Entry {
            frame,
            ..self.entry(va, (shift, value))
        };
        let by = if right == right::EXECUTE {
            self.fetches_by
        } else {
            self.data_by
        };
        let allowed = matches!(by, Translation::By(mode) if entry.allows(right, mode));
        if !allowed {
            return Err(Miss::Page);
        }
        let wanted = pte::ACCESSED | if right == right::WRITE { pte::DIRTY } else { 0 };
        if value & wanted != wanted {
            if self.software_updates() {
                return Err(Miss::Page);
            }
            value |= wanted;
            self.write_entry(place, value);
            entry.bits = value as u8;
        }
        match self.csr.pmp.rights(frame, inside + 1, false) {
            Some(rights) => entry.rights = rights,
            // A region ends inside of it: the TLB gets a page of 4 KB.
            None => {
                entry.page = va & !0xfff;
                entry.frame = frame | va & inside & !0xfff;
                entry.shift = 12;
                entry.rights = self.csr.pmp.rights(entry.frame, 0x1000, false).unwrap_or(0);
            }
        }
        Ok(entry)
    }

    fn write_entry(&mut self, place: RamAddress, value: u64) {
        let from = self.cycles;
        let took = self
            .memory
            .walk_write(place, attribute::COHERENT, from, &mut self.account);
        self.cycles += took + u64::from(self.config.walk.set);
        self.account.add_plain(Plain::HashReferenced, 1);
        if value & pte::DIRTY != 0 {
            self.account.add_plain(Plain::HashChanged, 1);
        }
        self.memory.uncore.ram.put(place, value.to_le_bytes());
        self.walked.replace_leaf(value);
        self.drop_code(place, 8);
        self.note_step(from, took, place, value, true);
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
            self.times.end = self.cycles;
            self.due = 0;
        }
    }

    /// Removes what a fence of this processor, or one that another processor broadcasts, reaches.
    pub(super) fn drop_translations(&mut self, va: Option<u64>, asid: Option<u16>) {
        self.account.add_plain(Plain::TlbInvalidate, 1);
        if va.is_none() {
            self.account.add_plain(Plain::TlbLoad, 1);
            self.mmu.walk_cache.clear();
        }
        let mmu = &mut self.mmu;
        let mut removed = mmu.instruction.fence(va, asid) + mmu.data.fence(va, asid);
        if let Some(second) = &mut mmu.second {
            removed += second.fence(va, asid);
        }
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
            let shift = 12 + 9 * level;
            let at = self.ram_address(table + (va >> shift & 511) * 8, 8)?;
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
