//! Paging: translation by the TLBs, and the walk of page directory and page table (SDM volume 3, chapter 4). The walk
//! of tables with entries of 64 bits is in [`super::wide_paging`].
//!
//! A walk's reads go through the data cache. It sets the A bits of both entries, and for a store the D bit, before the
//! TLB has the translation. An access whose entry has everything but D walks again. A TLB entry whose rights forbid the
//! access raises the fault at once, without a look at memory, and is removed.

use super::config::Kind;
use super::exception::Exception;
use super::processor::Processor;
use super::registers::{cr0, cr4};
use super::tlb::{Entry, Need, permits, pte, reached};
use crate::account::{Array, Cause, Event, Plain};
use crate::computer::Sanitized;
use crate::memory::attribute;
use crate::memory::cache::ARRIVING;
use crate::observe::stale::Flush;

pub(super) const PAGE_SHIFT: u32 = 12;
pub(super) const LARGE_SHIFT: u32 = 22;
/// With CR4.PAE.
pub(super) const WIDE_LARGE_SHIFT: u32 = 21;
const LARGE_MASK: u32 = (1 << LARGE_SHIFT) - 1;
/// Bits of the entry of a 4 MB page that are zero: a Pentium Pro has neither PSE-36 nor PAT.
const LARGE_RESERVED: u32 = LARGE_MASK & !0xfff;

/// Bits of a page fault's error code.
pub(super) mod fault {
    pub const PROTECTION: u16 = 1;
    pub const WRITE: u16 = 2;
    pub const USER: u16 = 4;
    /// A reserved bit of an entry is set.
    pub const RESERVED: u16 = 8;
}

/// What a walk found.
pub(super) struct Found {
    /// The page's physical address.
    pub frame: u64,
    pub bits: u32,
    pub large: bool,
}

impl Processor {
    /// Looks `linear` up in all TLBs, and walks the page table if none has it. Returns the physical address and the
    /// page's bits.
    #[inline(never)]
    pub(super) fn translate_slowly<const FETCH: bool>(
        &mut self,
        linear: u32,
        need: Need,
    ) -> Result<(u32, u32), Exception> {
        if !self.sanitized {
            return self.look_up_or_walk::<FETCH>(linear, need);
        }
        let suspect = self.take_suspect(linear, FETCH);
        let found = self.look_up_or_walk::<FETCH>(linear, need);
        match (suspect, &found) {
            (Some(suspect), Ok(_)) => self.judge_use(linear, need, FETCH, suspect),
            // A refused access is no use of the entry.
            (Some((key, _)), Err(_)) if !self.refilled => self.mmu.suspect(key),
            _ => {}
        }
        found
    }

    #[inline(always)]
    fn look_up_or_walk<const FETCH: bool>(
        &mut self,
        linear: u32,
        need: Need,
    ) -> Result<(u32, u32), Exception> {
        let fetch = FETCH;
        let protects = self.registers.cr0 & cr0::WP != 0;
        let small = self.mmu.small_mut(fetch).look_up(linear).copied();
        let entry = match small {
            Some(entry) => Some((entry, 0xfff)),
            None => {
                let large = self.mmu.large_mut(fetch);
                large.and_then(|tlb| Some((*tlb.look_up(linear)?, (1 << tlb.shift()) - 1)))
            }
        };
        match entry {
            Some((entry, mask)) if entry.allowed >> need & 1 != 0 => {
                return Ok((entry.frame | linear & mask, entry.bits));
            }
            Some((entry, _)) if !entry.permits(need, protects) => {
                return Err(self.page_fault(linear, need, fault::PROTECTION));
            }
            Some(_) => {}
            None => {
                self.count_miss(linear, fetch);
                if let Some(found) = self.look_behind(linear, need, fetch)? {
                    return Ok(found);
                }
            }
        }
        let found = self.fetch_entry::<FETCH>(linear, need, protects)?;
        let mask = if found.large {
            self.large_mask()
        } else {
            0xfff
        };
        Ok((reached(found.frame) | linear & mask, found.bits))
    }

    /// Translates `linear` for a data access with `need`, which has no entry in any TLB. Its page gets a shortcut, if
    /// that is exact. There must be neither a sanitizer nor an oracle.
    #[inline(never)]
    pub(super) fn translate_absent(
        &mut self,
        linear: u32,
        need: Need,
    ) -> Result<(u32, u32), Exception> {
        let protects = self.registers.cr0 & cr0::WP != 0;
        self.count_miss(linear, false);
        if let Some(found) = self.look_behind(linear, need, false)? {
            return Ok(found);
        }
        let found = self.fetch_entry::<false>(linear, need, protects)?;
        let frame = reached(found.frame);
        if found.large {
            return Ok((frame | linear & self.large_mask(), found.bits));
        }
        let ram = self.ram_size;
        self.mmu.data.make_shortcut(linear, need & 2, ram);
        Ok((frame | linear & 0xfff, found.bits))
    }

    /// Looks `linear`, which the first level does not have, up in the second one, if there is one. Without an entry
    /// that allows the access, a walk follows.
    #[inline(always)]
    fn look_behind(
        &mut self,
        linear: u32,
        need: Need,
        fetch: bool,
    ) -> Result<Option<(u32, u32)>, Exception> {
        if self.mmu.second.is_none() {
            return Ok(None);
        }
        self.look_up_second(linear, need, fetch)
    }

    #[inline(never)]
    fn look_up_second(
        &mut self,
        linear: u32,
        need: Need,
        fetch: bool,
    ) -> Result<Option<(u32, u32)>, Exception> {
        let from = self.now();
        let Some(second) = &mut self.mmu.second else {
            return Ok(None);
        };
        let (found, cycles) = second.look_up(linear, &mut self.account);
        self.add_cycles(cycles);
        let Some(entry) = found else {
            return Ok(None);
        };
        self.load_first(linear, entry, fetch, false);
        if self.sanitized {
            self.note_second(linear, fetch);
        }
        if self.noting {
            self.tell_walk(linear, fetch, from, cycles);
        }
        if entry.allowed >> need & 1 != 0 {
            return Ok(Some((entry.frame | linear & 0xfff, entry.bits)));
        }
        if !entry.permits(need, self.registers.cr0 & cr0::WP != 0) {
            return Err(self.page_fault(linear, need, fault::PROTECTION));
        }
        Ok(None)
    }

    /// The bits of an address within a large page.
    fn large_mask(&self) -> u32 {
        if self.registers.wide_entries() {
            (1 << WIDE_LARGE_SHIFT) - 1
        } else {
            LARGE_MASK
        }
    }

    /// Walks the page table for an access to `linear` with `need`, and loads what it finds.
    #[inline(always)]
    fn fetch_entry<const FETCH: bool>(
        &mut self,
        linear: u32,
        need: Need,
        protects: bool,
    ) -> Result<Found, Exception> {
        let fetch = FETCH;
        let from = self.now();
        let found = self.walk::<FETCH>(linear, need);
        let cycles = self.now() - from;
        self.account.add_plain(Plain::HashSearch, 1);
        self.account.add_plain(Plain::WalkCycles, cycles);
        if fetch {
            self.account.add_plain(Plain::InstructionSearches, 1);
            (self.account).add_plain(Plain::InstructionWalkCycles, cycles);
        }
        if let Ok(found) = &found {
            self.load_entry(linear, found, fetch, protects);
            if self.sanitized {
                self.note_fill(linear, fetch, found);
            }
            if self.config.tlb.extreme.ahead && !found.large {
                self.walk_ahead(linear, fetch, protects);
            }
        }
        if self.noting {
            self.tell_walk(linear, fetch, from, cycles);
        }
        found
    }

    /// A walk has loaded the page of `linear`. The next one is loaded, too, if both of its words are present and were
    /// used before, so that nothing is written. That takes no time.
    #[cold]
    fn walk_ahead(&mut self, linear: u32, fetch: bool, protects: bool) {
        let next = (linear & !0xfff).wrapping_add(0x1000);
        if self.mmu.small_mut(fetch).has(next) {
            return;
        }
        if let Some(found) = self.next_page(next) {
            self.load_entry(next, &found, fetch, protects);
            if self.sanitized {
                self.note_fill(next, fetch, &found);
            }
        }
    }

    /// A walk has read the entry of the page of `linear`. The host brings what the access behind it needs, and what a
    /// miss of the caches then looks at.
    #[inline(always)]
    fn expect(&self, linear: u32, entry: u32) {
        let pa = entry & !0xfff | linear & 0xfff;
        self.memory.expect(pa, &self.account);
    }

    #[inline(always)]
    fn count_miss(&mut self, linear: u32, fetch: bool) {
        let array = Array::tlb(fetch);
        self.account.add(Event::tlb_miss(fetch), 1);
        let cause = self.account.cause;
        let array = if self.mmu.instruction.is_none() {
            Array::DataTlb
        } else {
            array
        };
        (self.account.pollution).entry_missed(
            &mut self.account.counters,
            array,
            tag(linear),
            cause,
        );
        if self.noting {
            self.note_miss(linear, fetch);
        }
    }

    #[inline(always)]
    fn load_entry(&mut self, linear: u32, found: &Found, fetch: bool, protects: bool) {
        let mask = if found.large {
            self.large_mask()
        } else {
            0xfff
        };
        let entry = Entry::new(linear & !mask, found.frame, found.bits, protects);
        if let Some(second) = &mut self.mmu.second
            && !found.large
        {
            second.keep(entry, &mut self.account);
        }
        self.load_first(linear, entry, fetch, found.large);
    }

    /// Loads `entry` of the page of `linear` into a TLB of the first level.
    #[inline(always)]
    fn load_first(&mut self, linear: u32, entry: Entry, fetch: bool, large: bool) {
        let split = self.mmu.instruction.is_some();
        let tlb = if large {
            self.mmu.large_mut(fetch)
        } else {
            Some(self.mmu.small_mut(fetch))
        };
        let out = tlb.and_then(|tlb| tlb.load(entry));
        if self.noting {
            self.note_load(linear, fetch, large, out);
        }
        let Some(out) = out else {
            return;
        };
        let array = Array::tlb(fetch && split);
        (self.account).add_plain(Plain::tlb_evicted(fetch && split), 1);
        let cause = self.account.cause;
        (self.account.pollution).entry_evicted(array, tag(out.tag), cause);
    }

    /// A page fault. It removes what the TLBs have of its page (SDM volume 3A, 4.10.4.1).
    #[cold]
    #[inline(never)]
    pub(super) fn page_fault(&mut self, linear: u32, need: Need, present: u16) -> Exception {
        self.drop_translation(linear);
        self.registers.cr2 = linear;
        let write = if need & 1 != 0 { fault::WRITE } else { 0 };
        let user = if need & 2 != 0 { fault::USER } else { 0 };
        Exception::page(present | write | user)
    }

    #[inline(always)]
    fn walk<const FETCH: bool>(&mut self, linear: u32, need: Need) -> Result<Found, Exception> {
        let known = self.known_directory(linear);
        self.known = known;
        if self.registers.wide_entries() {
            return self.walk_wide(linear, need, known);
        }
        let protects = self.registers.cr0 & cr0::WP != 0;
        let checks = self.registers.cr4 & cr4::PSE != 0;
        let cr3 = self.registers.cr3;
        let directory = cr3 & !0xfff | linear >> 20 & 0xffc;
        let pde = match known {
            Some(pde) => pde as u32,
            None => self.walk_read(directory, cr3),
        };
        if pde & pte::PRESENT == 0 {
            return Err(self.page_fault(linear, need, 0));
        }
        let mut updates = 0;
        if pde & pte::LARGE != 0 && checks {
            if pde & LARGE_RESERVED != 0 {
                return Err(self.page_fault(linear, need, fault::PROTECTION | fault::RESERVED));
            }
            if !permits(pde, need, protects) {
                return Err(self.page_fault(linear, need, fault::PROTECTION));
            }
            let set = pde | used_bits(need);
            self.update(directory, pde, set, &mut updates);
            return Ok(Found {
                frame: (set & !LARGE_MASK).into(),
                bits: self.page_bits(set, set),
                large: true,
            });
        }
        let table = pde & !0xfff | linear >> 10 & 0xffc;
        if !FETCH && let Some(entry) = self.ram_word(table) {
            self.expect(linear, entry);
        }
        let entry = self.walk_read(table, pde);
        if entry & pte::PRESENT == 0 {
            return Err(self.page_fault(linear, need, 0));
        }
        // In the last entry this bit chooses a memory type, which a Pentium Pro cannot.
        if entry & pte::LARGE != 0 && checks {
            return Err(self.page_fault(linear, need, fault::PROTECTION | fault::RESERVED));
        }
        if !permits(pde & entry, need, protects) {
            return Err(self.page_fault(linear, need, fault::PROTECTION));
        }
        self.update(directory, pde, pde | pte::ACCESSED, &mut updates);
        self.keep_directory(linear, (pde | pte::ACCESSED).into());
        let set = entry | used_bits(need);
        self.update(table, entry, set, &mut updates);
        Ok(Found {
            frame: (set & !0xfff).into(),
            bits: self.page_bits(pde, set),
            large: false,
        })
    }

    /// A walk begins, which takes its fixed time. Returns the entry of the directory, if the walk cache has it.
    #[inline(always)]
    fn known_directory(&mut self, linear: u32) -> Option<u64> {
        let Some(cache) = &mut self.mmu.walk_cache else {
            self.add_cycles(self.config.walk.cycles.into());
            return None;
        };
        let known = cache.look_up(linear, &mut self.account);
        let cycles = match known {
            Some(_) => cache.hit(),
            None => self.config.walk.cycles,
        };
        self.add_cycles(cycles.into());
        known
    }

    /// A walk has used this entry of the directory, which points to a table and has its A bit.
    #[inline(always)]
    pub(super) fn keep_directory(&mut self, linear: u32, entry: u64) {
        if let Some(cache) = &mut self.mmu.walk_cache {
            cache.keep(linear, entry, &mut self.account);
        }
    }

    /// What a TLB entry keeps: rights of both levels, and the rest of the last one.
    pub(super) fn page_bits(&self, pde: u32, entry: u32) -> u32 {
        const RIGHTS: u32 = pte::WRITE | pte::USER;
        const REST: u32 = pte::DIRTY | pte::THROUGH | pte::UNCACHED;
        let global = if self.registers.cr4 & cr4::PGE != 0 {
            entry & pte::GLOBAL
        } else {
            0
        };
        pde & entry & RIGHTS | entry & REST | global
    }

    /// Reads an entry; `above` is CR3 or the entry that points to its table.
    #[inline(always)]
    pub(super) fn walk_read(&mut self, address: u32, above: u32) -> u32 {
        if self.noting {
            let from = self.now();
            let entry = self.walk_read_slowly(address, above);
            self.note_step(address, entry, from, false);
            return entry;
        }
        if above & pte::UNCACHED == 0
            && self.caches_on
            && self.recent_line(address, ARRIVING)
            && let Some(entry) = self.ram_word(address)
        {
            (self.account).add_as(Event::DataCacheAccess, Cause::WALK, 1);
            return entry;
        }
        self.walk_read_slowly(address, above)
    }

    #[inline(never)]
    fn walk_read_slowly(&mut self, address: u32, above: u32) -> u32 {
        if address as usize >= self.ram_size {
            // Nobody answers, which reads as ones, and no cache keeps it.
            self.charge_device(address);
            return u32::MAX;
        }
        let attributes = if above & pte::UNCACHED != 0 {
            attribute::COHERENT | attribute::INHIBITED
        } else {
            attribute::COHERENT
        };
        let (now, forward) = (self.now(), self.forward);
        let stall = self
            .memory
            .walk_read(address, attributes, forward, now, &mut self.account);
        self.add_cycles(stall);
        self.ram_word(address).unwrap_or(u32::MAX)
    }

    /// Sets bits of an entry, if they are not set yet.
    #[inline(always)]
    pub(super) fn update(&mut self, address: u32, old: u32, new: u32, updates: &mut u32) {
        if old != new {
            self.change(address, old, new, updates);
        }
    }

    #[inline(never)]
    fn change(&mut self, address: u32, old: u32, new: u32, updates: &mut u32) {
        let cost = if *updates == 0 {
            self.config.walk.first_update
        } else {
            self.config.walk.next_update
        };
        *updates += 1;
        let from = self.now();
        self.add_cycles(cost.into());
        let through = match self.kind {
            Kind::I486 => attribute::COHERENT | attribute::WRITE_THROUGH,
            Kind::P6 => attribute::COHERENT,
        };
        let now = self.now();
        let stall = (self.memory).walk_write(address, through, now, &mut self.account);
        self.add_cycles(stall);
        self.code_written(address, 4);
        self.set_ram_word(address, new);
        if self.noting {
            self.note_step(address, new, from, true);
        }
        let gained = new & !old;
        if gained & pte::ACCESSED != 0 {
            self.account.add_plain(Plain::HashReferenced, 1);
        }
        if gained & pte::DIRTY != 0 {
            self.account.add_plain(Plain::HashChanged, 1);
        }
    }

    /// INVLPG.
    pub(super) fn invalidate_page(&mut self, linear: u32) {
        self.drop_translation(linear);
        if let Some(cache) = &mut self.mmu.walk_cache {
            cache.clear();
        }
        if self.sanitized {
            self.note_flush(Flush::Page(linear.into(), None));
        }
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.invalidates(linear);
        }
        self.account.add_plain(Plain::TlbInvalidate, 1);
    }

    /// Drops the translation of the page of `linear`.
    pub(super) fn drop_translation(&mut self, linear: u32) {
        for tlb in self.mmu.all_mut() {
            tlb.invalidate(linear);
        }
        if let Some(cache) = &mut self.mmu.walk_cache {
            cache.forget(linear);
        }
        self.fetched = super::processor::NOWHERE;
    }

    /// Empties the TLBs: after a write of CR3 without global entries, otherwise with them.
    pub(super) fn flush_tlbs(&mut self, keep_global: bool) {
        let keep = keep_global && self.registers.cr4 & cr4::PGE != 0;
        let second = self.mmu.second.as_mut();
        second.map(|second| second.tlb.flush(keep));
        if let Some(cache) = &mut self.mmu.walk_cache {
            cache.clear();
        }
        let gone: u64 = self.mmu.all_mut().map(|tlb| tlb.flush(keep)).sum();
        if self.sanitized {
            self.note_flush(if keep { Flush::NotGlobal } else { Flush::All });
        }
        if let Some(recorder) = &mut self.observers.recorder {
            recorder.flushes(keep);
        }
        self.account.add_plain(Plain::TlbTaken, gone);
        self.fetched = super::processor::NOWHERE;
    }

    /// CR0.WP has changed.
    pub(super) fn protect_pages(&mut self) {
        let protects = self.registers.cr0 & cr0::WP != 0;
        for tlb in self.mmu.all_mut() {
            tlb.protect(protects);
        }
    }

    /// The physical address of `linear`, without side effects: for debuggers and dumps.
    #[must_use]
    pub fn peek_translation(&self, linear: u32) -> Option<u32> {
        if !self.registers.paging() {
            return Some(linear);
        }
        if self.registers.wide_entries() {
            return self.peek_wide(linear);
        }
        let directory = self.registers.cr3 & !0xfff | linear >> 20 & 0xffc;
        let pde = self.ram_word(directory)?;
        if pde & pte::PRESENT == 0 {
            return None;
        }
        if pde & pte::LARGE != 0 && self.registers.cr4 & cr4::PSE != 0 {
            return Some(pde & !LARGE_MASK | linear & LARGE_MASK);
        }
        let entry = self.ram_word(pde & !0xfff | linear >> 10 & 0xffc)?;
        (entry & pte::PRESENT != 0).then_some(entry & !0xfff | linear & 0xfff)
    }
}

/// The bits that an access sets in the last entry.
pub(super) fn used_bits(need: Need) -> u32 {
    if need & 1 != 0 {
        pte::ACCESSED | pte::DIRTY
    } else {
        pte::ACCESSED
    }
}

/// The name of a translation in the matrix of pollution: never zero.
fn tag(linear: u32) -> u64 {
    1 << 63 | u64::from(linear >> PAGE_SHIFT)
}
