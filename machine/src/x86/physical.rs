//! Accesses by physical address: what the caches do for RAM, code that a store changes, and devices.

use super::config::Kind;
use super::exception::Exception;
use super::processor::Processor;
use super::tlb::pte;
use crate::computer::{Progressing as _, Sanitized};
use crate::memory::attribute;
use crate::memory::cache::{ARRIVING, SHARED};

impl Processor {
    /// What the caches do for a read of RAM.
    #[inline(always)]
    pub(super) fn charge_load(&mut self, pa: u32, bits: u32) {
        if bits & (pte::THROUGH | pte::UNCACHED) == 0
            && self.caches_on
            && self.recent_line(pa, ARRIVING)
        {
            return;
        }
        if bits & (pte::THROUGH | pte::UNCACHED) == 0 && self.caches_on {
            self.charge_load_cached(pa);
        } else {
            self.charge_load_slowly(pa, bits);
        }
    }

    /// The same for memory that the enabled cache may hold.
    #[inline(never)]
    pub(super) fn charge_load_cached(&mut self, pa: u32) {
        if self.runs_ahead() {
            return self.load_ahead(pa);
        }
        let now = self.now();
        let stall = self.memory.load_cached(pa, now, &mut self.account);
        self.add_cycles(stall);
    }

    #[inline(never)]
    pub(super) fn charge_load_slowly(&mut self, pa: u32, bits: u32) {
        if self.runs_ahead() {
            if bits & (pte::THROUGH | pte::UNCACHED) == 0 && self.memory.data.enabled() {
                return self.load_ahead(pa);
            }
            self.close_window();
        }
        let now = self.now();
        let attributes = self.attributes(bits);
        let stall = self.memory.load(pa, attributes, now, &mut self.account);
        self.add_cycles(stall);
    }

    /// What the caches do for a write to RAM.
    #[inline(always)]
    pub(super) fn charge_store(&mut self, pa: u32, bits: u32) {
        if self.writes_back
            && bits & (pte::THROUGH | pte::UNCACHED) == 0
            && self.caches_on
            && self.recent_line(pa, ARRIVING | SHARED)
        {
            self.memory.data.access_recent(pa, true);
        } else if !self.writes_back && bits & (pte::THROUGH | pte::UNCACHED) == 0 && self.caches_on
        {
            self.charge_store_through(pa);
        } else {
            self.charge_store_slowly(pa, bits);
        }
    }

    /// An i486 writes to memory that its cache may hold.
    #[inline(never)]
    pub(super) fn charge_store_through(&mut self, pa: u32) {
        let now = self.slots();
        let stall = self.memory.store_unified(pa, now, &mut self.account);
        self.time += stall;
    }

    #[inline(never)]
    pub(super) fn charge_store_slowly(&mut self, pa: u32, bits: u32) {
        let stall = self.store_stall(pa, bits, self.now());
        self.add_cycles(stall);
    }

    /// How many cycles a store takes that begins at cycle `now`.
    #[inline(always)]
    pub(super) fn store_stall(&mut self, pa: u32, bits: u32, now: u64) -> u64 {
        let attributes = self.attributes(bits);
        if self.writes_back {
            self.memory.store(pa, attributes, now, &mut self.account)
        } else {
            (self.memory).store_to_memory(pa, attributes, now, &mut self.account)
        }
    }

    /// How the caches see a page with these bits.
    pub(super) fn attributes(&self, bits: u32) -> u8 {
        let mut attributes = attribute::COHERENT;
        if !self.writes_back || bits & pte::THROUGH != 0 {
            attributes |= attribute::WRITE_THROUGH;
        }
        if bits & pte::UNCACHED != 0 {
            attributes |= attribute::INHIBITED;
        }
        attributes
    }

    /// RAM at `pa`, which lies in it with all `bytes`.
    #[inline(always)]
    pub(super) fn ram_read(&self, pa: u32, bytes: u32) -> u32 {
        let value = self.memory.uncore.ram.little(pa, bytes);
        value.map_or(u32::MAX >> (32 - 8 * bytes), |value| value as u32)
    }

    #[inline(always)]
    pub(super) fn ram_write(&mut self, pa: u32, bytes: u32, value: u32) {
        let ram = &mut self.memory.uncore.ram;
        ram.put_little(pa, bytes, value.into());
    }

    /// The word at a physical address, if it is in RAM.
    #[inline(always)]
    #[must_use]
    pub fn ram_word(&self, pa: u32) -> Option<u32> {
        self.memory.uncore.ram.get(pa).map(u32::from_le_bytes)
    }

    pub(super) fn set_ram_word(&mut self, pa: u32, value: u32) {
        self.memory.uncore.ram.put(pa, value.to_le_bytes());
    }

    /// `bytes` of RAM at `pa` are about to change: code there is decoded anew.
    #[inline(always)]
    pub(super) fn written(&mut self, pa: u32, bytes: u32) {
        if self.blocks.holds(pa, bytes) {
            self.written_to_code(pa, bytes);
        }
    }

    #[inline(never)]
    fn written_to_code(&mut self, pa: u32, bytes: u32) {
        if self.sanitized && self.blocks.is_watched(pa, bytes) {
            self.watched_store(pa, bytes);
        }
        self.code_written(pa, bytes);
    }

    /// The same of a walk, whose stores are no changes of the tables.
    #[inline(never)]
    pub(super) fn code_written(&mut self, pa: u32, bytes: u32) {
        if !self.blocks.holds(pa, bytes) {
            return;
        }
        self.blocks.forget(pa, bytes);
        // The block that runs may be among them.
        self.due_at_once();
        // A P6's I-cache sees each store (SDM volume 3, 11.6).
        if self.kind == Kind::P6 && self.blocks.may_be_cached(pa, bytes) {
            for at in [pa, pa + bytes - 1] {
                self.memory.instruction.invalidate(at);
                (self.memory).notify(crate::memory::Notice::Instruction(at));
            }
            self.fetched = super::processor::NOWHERE;
        }
    }

    /// The page at `frame` was changed from outside: code there is decoded anew.
    pub(super) fn code_changed(&mut self, frame: u32) {
        for at in (frame..frame + 0x1000).step_by(32) {
            self.written(at, 32);
        }
    }

    /// What a device answers; ones where there is none.
    #[inline(never)]
    pub(super) fn read_device(&mut self, pa: u32, bytes: u32) -> Result<u32, Exception> {
        self.charge_device(pa);
        let now = self.instant();
        let read = self.memory.uncore.board.read(pa.into(), bytes, now);
        self.due_at_once();
        Ok(read.map_or(u32::MAX, |value| value as u32))
    }

    /// Writes to a device; nothing happens where there is none.
    #[inline(never)]
    pub(super) fn write_device(&mut self, pa: u32, bytes: u32, value: u32) {
        self.charge_device(pa);
        let now = self.instant();
        let asked = self.memory.uncore.board.asked();
        let effect = (self.memory.uncore).write_device(pa.into(), bytes, value.into(), now);
        self.tell_of_interrupts(asked, &[]);
        self.device_was_written(effect.ok().flatten());
    }

    pub(super) fn charge_device(&mut self, pa: u32) {
        self.close_window();
        if !self.memory.uncore.board.is_free(pa.into()) {
            let clocks = u64::from(self.config.bus.device);
            self.add_cycles(self.config.bus.core_cycles(clocks));
        }
    }
}
