//! How instructions reach the processor: the line of the next one is fetched when it is another.

use super::config::Kind;
use super::exception::Exception;
use super::processor::{Processor, RESTART};
use super::tlb::{Reuse, Shortcut, pte};
use crate::memory::cache::ARRIVING;

impl Processor {
    /// Fetches the line of `linear`; returns the physical address of `linear`.
    #[inline(never)]
    pub(super) fn fetch(&mut self, linear: u32) -> Result<u32, Exception> {
        self.fetches += 1;
        let (user, mark) = (self.user, self.mark);
        let (ram, quick) = (self.ram_size, self.paging && self.caches_on);
        let (pa, bits) = if !self.paging {
            (linear, 0)
        } else if quick
            && let Reuse::Away(delta) = self.mmu.small_mut(true).reuse(linear, user, ram)
        {
            (linear.wrapping_add(delta), 0)
        } else {
            let found = self.translate_slowly::<true>(linear, user)?;
            if quick {
                self.mmu.small_mut(true).make_shortcut(linear, user, ram);
            }
            found
        };
        self.fetched = linear & !(self.line - 1);
        self.fetched_page = pa & !0xfff;
        let tlb = self.mmu.small_mut(true);
        let by_shortcut = tlb.shortcut(linear).load == Shortcut::wanted(linear, 1, mark);
        tlb.note_fetch(linear, by_shortcut);
        if bits & pte::UNCACHED == 0 && self.caches_on {
            let cache = match self.kind {
                Kind::I486 => &self.memory.data,
                Kind::P6 => &self.memory.instruction,
            };
            if cache.mru_hit(pa).is_some_and(|tag| tag & ARRIVING == 0) {
                return Ok(pa);
            }
        }
        self.fetch_slowly(pa, bits);
        Ok(pa)
    }

    #[inline(never)]
    fn fetch_slowly(&mut self, pa: u32, bits: u32) {
        if pa as usize >= self.ram_size {
            return;
        }
        let stall = self.fetch_stall(pa, bits, self.now());
        self.add_cycles(stall);
    }

    /// How many cycles the fetch of a line of RAM takes that begins at cycle `now`.
    #[inline(always)]
    pub(super) fn fetch_stall(&mut self, pa: u32, bits: u32, now: u64) -> u64 {
        let attributes = self.attributes(bits);
        let account = &mut self.account;
        match self.kind {
            Kind::I486 => self
                .memory
                .fetch_unified(pa, attributes, self.forward, now, account),
            Kind::P6 => {
                self.blocks.mark_fetched(pa);
                self.memory.fetch(pa, attributes, now, account)
            }
        }
    }

    /// Fetches the line of `linear`, if its page has a shortcut; with `UNCHANGED` only if the cache used the line last
    /// as well. Returns the physical address.
    #[inline(always)]
    pub(super) fn fetch_at_once<const UNCHANGED: bool>(&mut self, linear: u32) -> Option<u32> {
        let (tlb, cache) = match &mut self.mmu.instruction {
            None => (&mut self.mmu.data, &self.memory.data),
            Some(tlb) => (tlb, &self.memory.instruction),
        };
        let shortcut = tlb.shortcut(linear);
        let pa = linear.wrapping_add(shortcut.delta);
        if shortcut.load != Shortcut::wanted(linear, 1, self.mark) {
            return None;
        }
        let recent = cache.mru_hit(pa).is_some_and(|tag| tag & ARRIVING == 0);
        if UNCHANGED && !recent {
            return None;
        }
        tlb.note_fetch(linear, true);
        self.fetches += 1;
        self.fetched = linear & !(self.line - 1);
        self.fetched_page = pa & !0xfff;
        if !recent {
            self.fetch_slowly(pa, 0);
        }
        Some(pa)
    }

    /// Fetches the line of the block's byte `at`, if that changes nothing but the counts. `SPLIT`: a P6's way of
    /// fetching.
    #[inline(always)]
    pub(super) fn fetches_at_once<const SPLIT: bool>(&mut self, at: u32) -> bool {
        let pa = self.block_pa.wrapping_add(at);
        if !self.fetches_unchanged::<SPLIT>(pa) {
            return false;
        }
        self.fetches += 1;
        self.fetched = self.block_linear.wrapping_add(at) & !(self.line - 1);
        true
    }

    /// Would a fetch at `pa`, in the page of the last fetch, change nothing but the counts? The cache used the line
    /// last, and the last fetch was by a shortcut that is still there. `SPLIT`: a P6's way of fetching.
    #[inline(always)]
    pub(super) fn fetches_unchanged<const SPLIT: bool>(&self, pa: u32) -> bool {
        let (tlb, cache) = match &self.mmu.instruction {
            Some(tlb) if SPLIT => (tlb, &self.memory.instruction),
            _ => (&self.mmu.data, &self.memory.data),
        };
        tlb.fetches_again() && cache.mru_hit(pa).is_some_and(|tag| tag & ARRIVING == 0)
    }

    /// Fetches the line of the block's byte `at`.
    pub(super) fn fetch_line_of(&mut self, at: u32) -> Result<(), Exception> {
        let linear = self.block_linear.wrapping_add(at) & !(self.line - 1);
        let pa = match self.fetch_at_once::<false>(linear) {
            Some(pa) => pa,
            None => self.fetch(linear)?,
        };
        // The page may have got another frame since the block was entered.
        if (pa ^ self.block_pa) & !0xfff != 0 {
            return Err(RESTART);
        }
        Ok(())
    }

    /// The physical address of the next instruction, whose line is fetched if it is another.
    #[inline(always)]
    pub(super) fn enter(&mut self, linear: u32) -> Result<u32, Exception> {
        if linear & !(self.line - 1) == self.fetched {
            Ok(self.fetched_page | linear & 0xfff)
        } else if let Some(pa) = self.fetch_at_once::<false>(linear) {
            Ok(pa)
        } else {
            self.fetch(linear)
        }
    }
}
