//! Walks of page tables, Sv39 and Sv48, through the D-cache (RISC-V Privileged Architecture 20211203, 4.3 to 4.5).

use super::config::{Extension, Update};
use super::csr::{menvcfg, satp};
use super::mmu::{Miss, Translation, slot};
use super::pmp::right;
use super::processor::Processor;
use super::tlb::{Entry, pte};
use crate::account::Plain;
use crate::board::VIRT_RAM;
use crate::engine::straight::Runs as _;
use crate::memory::RamAddress;
use crate::observe::stale::Origin;

impl Processor {
    pub(super) fn levels(&self) -> u32 {
        if self.csr.mode() == satp::SV48 { 4 } else { 3 }
    }

    /// Walks the page table for an access to `va` with this right.
    pub(super) fn walk(&mut self, va: u64, right: u8) -> Result<Entry, Miss> {
        let levels = self.levels();
        let unused = 64 - (12 + 9 * levels);
        if va.cast_signed() << unused >> unused != va.cast_signed() {
            return Err(Miss::Page);
        }
        self.advance(self.config.walk.begin);
        self.walked = Origin::new(self.csr.satp & satp::PPN);
        let mut table = (self.csr.satp & satp::PPN) << 12;
        for level in (0..levels).rev() {
            let (shift, at) = slot(table, va, level);
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
                let none = self.entry(va, (12, 0));
                let leaf = shift as u8;
                return Ok(Entry { leaf, ..none });
            }
            if value & pte::VALID == 0
                || value & (pte::READ | pte::WRITE) == pte::WRITE
                || value & pte::RESERVED != 0
                || value & pte::TYPE != 0 && self.csr.menvcfg & menvcfg::PBMTE == 0
                || value & pte::TYPE == pte::TYPE
            {
                return Err(Miss::Page);
            }
            if value & (pte::READ | pte::EXECUTE) != 0 {
                return self.leaf(va, right, (shift, place, value));
            }
            // These are reserved in an entry that points to a table.
            const OF_PAGES: u64 = pte::DIRTY | pte::ACCESSED | pte::USER | pte::TYPE;
            if level == 0 || value & OF_PAGES != 0 {
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
        if !self.csr.pmp.allows(right::READ, at, 8, false) {
            return Err(Miss::Access);
        }
        let place = self.ram_address(at, 8).ok_or(Miss::Access)?;
        self.advance(self.config.walk.level);
        let (from, forward) = (self.cycles, self.config.cache.data.forward);
        let (memory, account) = (&mut self.memory, &mut self.account);
        let read = memory.read_entry(place, forward, from, account);
        let (value, took) = read.ok_or(Miss::Access)?;
        self.cycles += took;
        Ok((place, value))
    }

    /// Does software set A and D bits?
    pub(super) fn software_updates(&self) -> bool {
        if self.extensions.has(Extension::Svadu) {
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
            leaf: shift as u8,
            bits: bits as u8,
            global: bits & pte::GLOBAL != 0,
            asid: self.asid(),
            ..Entry::default()
        }
    }

    /// An entry for the page of `va` of 4 KB, whose word is valid and was used before; counts nothing.
    pub(super) fn next_page(&self, va: u64) -> Option<(Entry, Origin)> {
        const PLAIN: u64 = pte::VALID | pte::ACCESSED;
        let (found, origin) = self.follow(va);
        let (frame, value) = found?;
        let small = origin.words().count() as u32 == self.levels();
        let odd = value & (pte::RESERVED | pte::TYPE | pte::NAPOT) != 0
            || value & (pte::READ | pte::WRITE) == pte::WRITE;
        if !small || odd || value & PLAIN != PLAIN {
            return None;
        }
        let entry = Entry {
            frame,
            rights: self.csr.pmp.rights(frame, 0x1000, false)?,
            ..self.entry(va, (12, value))
        };
        Some((entry, origin))
    }

    /// The translation that a leaf gives, whose A and D bits are set if the hardware does that.
    fn leaf(&mut self, va: u64, right: u8, read: (u32, RamAddress, u64)) -> Result<Entry, Miss> {
        let (mut shift, place, mut value) = read;
        let mut frame = (value >> 10 & satp::PPN) << 12;
        if value & pte::NAPOT != 0 {
            // Of this form there is one size: 64 KB.
            if !self.extensions.has(Extension::Svnapot) || shift != 12 || frame >> 12 & 15 != 8 {
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
        let by = self.by(right == right::EXECUTE);
        let allowed = matches!(by, Translation::By(mode) if entry.allows(right, mode));
        if !allowed {
            return Err(Miss::Page);
        }
        let wanted = pte::ACCESSED | if right == right::WRITE { pte::DIRTY } else { 0 };
        if value & wanted != wanted {
            if self.software_updates() {
                return Err(Miss::Page);
            }
            let at = VIRT_RAM + u64::from(place);
            if !self.csr.pmp.allows(right::WRITE, at, 8, false) {
                return Err(Miss::Access);
            }
            value |= wanted;
            self.write_entry(place, value);
            entry.bits = value as u8;
        }
        match self.csr.pmp.rights(frame, inside + 1, false) {
            Some(rights) => entry.rights = rights,
            // A region ends inside of it: the TLB gets a part of 4 KB.
            None => {
                entry.page = va & !0xfff;
                entry.frame = frame | va & inside & !0xfff;
                entry.shift = 12;
                let rights = self.csr.pmp.rights(entry.frame, 0x1000, false);
                entry.rights = rights.unwrap_or(right::ASK);
            }
        }
        Ok(entry)
    }

    fn write_entry(&mut self, place: RamAddress, value: u64) {
        let (memory, from) = (&mut self.memory, self.cycles);
        let took = memory.write_entry(place, value, from, &mut self.account);
        self.cycles += took + u64::from(self.config.walk.set);
        self.account.add_plain(Plain::HashReferenced, 1);
        if value & pte::DIRTY != 0 {
            self.account.add_plain(Plain::HashChanged, 1);
        }
        self.walked.replace_leaf(value);
        self.drop_code(place, 8);
    }
}
