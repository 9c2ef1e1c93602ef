//! The instructions by which programs control the caches.

use super::RamAddress;
use super::TouchedLine;
use super::arrivals::Arrival;
use super::attribute;
use super::broadcast::{Broadcast, Transaction};
use super::cache::{DIRTY, Had};
use super::coherence::{Notice, Seen};
use super::fill::Asked;
use super::hierarchy::{CacheInhibited, Memory, Side};
use super::touch::Touched;
use crate::account::{Account, Event};

impl Memory {
    /// `dcbz`: the line at `pa` becomes zero and modified without a read; returns the stall. The
    /// caller counts the access.
    ///
    /// # Errors
    /// [`CacheInhibited`] where the line may not be allocated (W or I set, cache off or locked):
    /// alignment exception.
    pub fn dcbz(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> Result<u64, CacheInhibited> {
        if attributes & (attribute::WRITE_THROUGH | attribute::INHIBITED) != 0
            || !self.data.enabled()
            || self.data.locked()
        {
            return Err(CacheInhibited);
        }
        if let Some(wait) = self.blocked_for(now) {
            account.add(Event::MemoryStall, wait);
            return Ok(wait + self.dcbz(pa, attributes, now + wait, account)?);
        }
        let line = self.data.geometry().line;
        self.uncore
            .ram
            .zero(self.data.line_address(pa), line as usize);
        self.settle(now, account);
        self.touches.take(self.data.line_address(pa));
        if self.timing.stores_through {
            self.zero_in_l2(pa, now, account.cause, account);
            return Ok(0);
        }
        let stall = if self.data.access(pa, true) {
            let whole = self.whole(pa, now) - now;
            if self.data.shared(pa) {
                whole + self.upgrade(pa, now, account.cause, account)
            } else {
                whole
            }
        } else {
            account.add(Event::DataCacheEstablish, 1);
            let killed = if self.owned_by_in_line_l2(pa) {
                0
            } else {
                if attributes & attribute::COHERENT != 0 {
                    self.seen(Seen::Kill, pa, now, account.cause, account);
                }
                // The line is the core's own from when no other has it: a kill, which is posted.
                self.told(Transaction::DataBlock, attributes, now, account)
            };
            if self.private_l2 {
                self.include(pa, now + killed, account.cause, account);
            }
            killed
                + self.install::<false>(Side::Data, pa, DIRTY, now + killed, account.cause, account)
        };
        account.add(Event::MemoryStall, stall);
        Ok(stall)
    }

    /// Whether the bus hears of a `dcb` instruction that writes nothing: a 604 tells it of memory with M = 1. A 750
    /// with HID0\[ABE\] tells it of all memory: the instruction's function is independent of WIMG (IBM
    /// 750GX/GL User's Manual p.134 and 135).
    fn told_of_block(&mut self, attributes: u8, now: u64, account: &mut Account) -> u64 {
        let whatever = self.timing.broadcast == Broadcast::Enabled;
        if attributes & attribute::COHERENT == 0 && !whatever {
            return 0;
        }
        self.broadcast(Transaction::DataBlock, now, account)
    }

    /// Broadcasts what is done to a line of memory that is kept coherent.
    fn told(
        &mut self,
        transaction: Transaction,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        if attributes & attribute::COHERENT == 0 {
            return 0;
        }
        self.broadcast(transaction, now, account)
    }

    /// `dcbst`: a modified line is written to memory and stays. The write is posted; returns the stall.
    pub fn dcbst(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        account: &mut Account,
    ) -> u64 {
        self.flushed(pa, attributes, now, false, account)
    }

    /// `dcbf`: the line leaves the caches, written to memory if modified. The write is posted; returns the
    /// stall.
    pub fn dcbf(&mut self, pa: RamAddress, attributes: u8, now: u64, account: &mut Account) -> u64 {
        self.flushed(pa, attributes, now, true, account)
    }

    /// The others see a line that is written back. Where nothing is written back, the instruction is broadcast.
    fn flushed(
        &mut self,
        pa: RamAddress,
        attributes: u8,
        now: u64,
        invalidate: bool,
        account: &mut Account,
    ) -> u64 {
        let stall = match self.flush_line(pa, now, invalidate, account.cause, account) {
            Some(stall) => stall,
            None => {
                let mut at = now;
                if attributes & attribute::COHERENT != 0 && self.broadcasts(Transaction::DataBlock)
                {
                    let what = if invalidate { Seen::Flush } else { Seen::Clean };
                    at = self.seen(what, pa, now, account.cause, account).0;
                }
                self.told_of_block(attributes, at, account)
            }
        };
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// `dcbi`: the line leaves the caches unwritten; returns the stall.
    pub fn dcbi(&mut self, pa: RamAddress, attributes: u8, now: u64, account: &mut Account) -> u64 {
        self.touches.take(self.data.line_address(pa));
        self.data.invalidate(pa);
        if let Some(l2) = &mut self.uncore.l2 {
            l2.cache.invalidate(pa);
        }
        if attributes & attribute::COHERENT != 0 && self.broadcasts(Transaction::DataBlock) {
            self.seen(Seen::Kill, pa, now, account.cause, account);
        }
        let stall = self.told_of_block(attributes, now, account);
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// `icbi`: the line (603: its whole set) leaves its place in the I-cache; returns the stall.
    pub fn icbi(&mut self, pa: RamAddress, attributes: u8, now: u64, account: &mut Account) -> u64 {
        if self.timing.icbi_whole_set {
            self.instruction.invalidate_set(pa);
        } else {
            self.instruction.invalidate(pa);
        }
        if attributes & attribute::COHERENT != 0 && self.broadcasts(Transaction::InstructionBlock) {
            self.notify(Notice::Instruction(pa));
        }
        let stall = self.told(Transaction::InstructionBlock, attributes, now, account);
        account.add(Event::MemoryStall, stall);
        stall
    }

    /// `dcbt`, `dcbtst`: asks for the line; nothing where W, I or G is set or the cache is off or locked
    /// (603 UM 3.7.2). The core waits only while every touch buffer has a line on its way; returns the
    /// stall. The caller counts the access.
    pub fn dcbt(&mut self, pa: RamAddress, attributes: u8, now: u64, account: &mut Account) -> u64 {
        let (line, buffers) = (
            self.data.line_address(pa),
            self.timing.touch_buffers as usize,
        );
        let no_op = attributes
            & (attribute::WRITE_THROUGH | attribute::INHIBITED | attribute::GUARDED)
            != 0
            || !self.data.enabled()
            || self.data.locked()
            || buffers == 0;
        if no_op || self.data.access(pa, false) || self.touches.has(line) || self.elsewhere(pa) {
            return 0;
        }
        if self.second(pa) == Had::Shared {
            return 0;
        }
        self.settle(now, account);
        if self.data.access(pa, false) {
            return 0;
        }
        let full = self.touches.len() == buffers;
        let free = match self.touches.oldest() {
            Some(oldest) if full => oldest.at().max(now),
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
        self.data_miss(pa, account.charge(cause), account);
        let delivery = if self.private_l2 {
            // No other processor has the line.
            let (delivery, _) = self.request_private(pa, (false, false), free, cause, account);
            delivery
        } else {
            self.request(pa, free, cause, account)
        };
        let arrival = Arrival::new(pa, delivery, &self.data);
        self.touches.add(Touched { arrival, cause });
        account.add(Event::MemoryStall, free - now);
        free - now
    }

    /// The D-cache has missed on a load or store. If the line is among the touched ones, it is in the cache or on its
    /// way there: returns the cycle at which the access is served. `None`: it has not been touched.
    #[cold]
    pub(super) fn touched(
        &mut self,
        pa: RamAddress,
        asked: Asked,
        now: u64,
        account: &mut Account,
    ) -> Option<u64> {
        self.settle(now, account);
        if self.data.access(pa, asked.dirty) {
            return Some(now);
        }
        let Touched { arrival, cause, .. } = self.touches.take(self.data.line_address(pa))?;
        let there = arrival.complete().max(now);
        let served = arrival.ready(pa, asked.forward).max(now);
        let asked = Asked { cause, ..asked };
        self.receive::<false>(arrival, served, asked, pa, (now, there), account);
        Some(served)
    }

    /// Touched lines that have come by `now` are in the cache, where that is their place.
    pub(super) fn settle(&mut self, now: u64, account: &mut Account) {
        if self.timing.touched_line == TouchedLine::Buffer {
            return;
        }
        while self
            .touches
            .oldest()
            .is_some_and(|touched| touched.at() <= now)
        {
            if let Some(touched) = self.touches.take_oldest() {
                let (line, at, cause) = (touched.arrival.line(), touched.at(), touched.cause);
                self.install::<false>(Side::Data, line, 0, at, cause, account);
            }
        }
    }
}
