//! The instructions that programs steer the caches by.

use super::hierarchy::{CacheInhibited, Memory, Side};
use super::touch::{Touched, TouchedLine};
use super::wimg;
use crate::observe::{Account, Event};

impl Memory {
    /// `dcbz`: the line at `pa` becomes zero and modified without a read; returns the stall. The
    /// caller counts the access.
    ///
    /// # Errors
    /// [`CacheInhibited`] where the line may not be allocated (W or I set, cache off or locked):
    /// alignment exception.
    pub fn dcbz(
        &mut self,
        pa: u32,
        wimg: u8,
        now: u64,
        account: &mut Account,
    ) -> Result<u64, CacheInhibited> {
        if wimg & (wimg::W | wimg::I) != 0 || !self.data.enabled() || self.data.locked() {
            return Err(CacheInhibited);
        }
        let line = self.data.geometry().line;
        self.ram.zero(self.data.line_address(pa), line as usize);
        self.settle(now, account);
        self.touches.take(self.data.line_address(pa));
        let mut stall = 0;
        if !self.data.access(pa, true) {
            account.add(Event::DataCacheEstablish, 1);
            stall = self.install(Side::Data, pa, true, now, account.cause, account);
            account.add(Event::MemoryStall, stall);
        }
        Ok(stall)
    }

    /// `dcbst`: a modified line is written to memory and stays. The write is posted; returns the stall.
    pub fn dcbst(&mut self, pa: u32, now: u64, account: &mut Account) -> u64 {
        self.flushed(pa, now, false, account)
    }

    /// `dcbf`: the line leaves the caches, written to memory if modified. The write is posted; returns the
    /// stall.
    pub fn dcbf(&mut self, pa: u32, now: u64, account: &mut Account) -> u64 {
        self.flushed(pa, now, true, account)
    }

    fn flushed(&mut self, pa: u32, now: u64, invalidate: bool, account: &mut Account) -> u64 {
        let stall = self.flush_line(pa, now, invalidate, account.cause, account);
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// `dcbi`: the line leaves the caches unwritten.
    pub fn dcbi(&mut self, pa: u32) {
        self.touches.take(self.data.line_address(pa));
        self.data.invalidate(pa);
        if let Some(l2) = &mut self.l2 {
            l2.cache.invalidate(pa);
        }
    }

    /// `icbi`: the line (603: its whole set) leaves the I-cache.
    pub fn icbi(&mut self, pa: u32) {
        if self.timing.icbi_whole_set {
            self.instruction.invalidate_set(pa);
        } else {
            self.instruction.invalidate(pa);
        }
    }

    /// `dcbt`, `dcbtst`: asks for the line; nothing where W, I or G is set or the cache is off or locked
    /// (603 UM 3.7.2). The core waits only while every touch buffer has a line on its way; returns the
    /// stall. The caller counts the access.
    pub fn dcbt(&mut self, pa: u32, wimg: u8, now: u64, account: &mut Account) -> u64 {
        let (line, buffers) = (
            self.data.line_address(pa),
            self.timing.touch_buffers as usize,
        );
        let no_op = wimg & (wimg::W | wimg::I | wimg::G) != 0
            || !self.data.enabled()
            || self.data.locked()
            || buffers == 0;
        if no_op || self.data.access(pa, false) || self.touches.has(line) {
            return 0;
        }
        self.settle(now, account);
        if self.data.access(pa, false) {
            return 0;
        }
        let full = self.touches.len() == buffers;
        let free = match self.touches.oldest() {
            Some(oldest) if full => oldest.at.max(now),
            _ => now,
        };
        if full {
            match self.timing.touched_line {
                TouchedLine::Cache => self.settle(free, account),
                TouchedLine::Buffer => {
                    self.touches.take_oldest();
                }
            }
        }
        let cause = account.cause;
        self.data_miss(pa, cause, account);
        let at = self.request(pa, free, cause, account).complete;
        self.touches.add(Touched { line, at, cause });
        account.add(Event::MemoryStall, free - now);
        free - now
    }

    /// Of an access, or a store, that the D-cache has missed: how long it waits for the line if that has been touched, and
    /// then has it in the cache. None: it has not been.
    pub(super) fn touched(
        &mut self,
        pa: u32,
        store: bool,
        now: u64,
        account: &mut Account,
    ) -> Option<u64> {
        if self.touches.is_empty() {
            return None;
        }
        self.settle(now, account);
        if self.data.access(pa, store) {
            return Some(0);
        }
        let touched = self.touches.take(self.data.line_address(pa))?;
        let there = touched.at.max(now);
        self.install(Side::Data, pa, store, there, touched.cause, account);
        Some(there - now)
    }

    /// Touched lines that have come by `now` are in the cache, where that is their place.
    pub(super) fn settle(&mut self, now: u64, account: &mut Account) {
        if self.timing.touched_line == TouchedLine::Buffer {
            return;
        }
        while self
            .touches
            .oldest()
            .is_some_and(|touched| touched.at <= now)
        {
            if let Some(Touched { line, at, cause }) = self.touches.take_oldest() {
                self.install(Side::Data, line, false, at, cause, account);
            }
        }
    }
}
