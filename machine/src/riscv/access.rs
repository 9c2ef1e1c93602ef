//! Accesses to memory: translation, caches, devices, reservations.

use super::config::Misaligned;
use super::csr::privilege;
use super::mmu::Miss;
use super::pmp::right;
use super::processor::Processor;
use super::trap::Raised;
use crate::computer::Progressing as _;
use crate::memory::{RamAddress, attribute};

impl Processor {
    /// Reads `BYTES` at a virtual address.
    #[inline(always)]
    pub(super) fn load<const BYTES: u64>(&mut self, va: u64) -> Result<u64, Raised> {
        if va & (BYTES - 1) != 0 {
            return self.load_misaligned(va, BYTES);
        }
        let pa = self.translate(va, right::READ, BYTES)?;
        let Some(at) = self.ram_address(pa, BYTES) else {
            return self.read_device(va, pa, BYTES as u32);
        };
        self.charge_load(at);
        Ok(self.ram_read(at, BYTES as u32))
    }

    /// Writes `BYTES` at a virtual address.
    #[inline(always)]
    pub(super) fn store<const BYTES: u64>(&mut self, va: u64, value: u64) -> Result<(), Raised> {
        if va & (BYTES - 1) != 0 {
            return self.store_misaligned(va, BYTES, value);
        }
        let pa = self.translate(va, right::WRITE, BYTES)?;
        let Some(at) = self.ram_address(pa, BYTES) else {
            return self.write_device(va, pa, BYTES as u32, value);
        };
        self.charge_store(at);
        self.ram_write(at, BYTES as u32, value);
        Ok(())
    }

    #[inline(always)]
    fn charge_load(&mut self, at: RamAddress) {
        self.accesses += 1;
        let (memory, now) = (&mut self.memory, self.cycles);
        let stall = if self.running.oracle {
            memory.load(at, attribute::COHERENT, now, &mut self.account)
        } else {
            memory.load_cached(at, now, &mut self.account)
        };
        self.stall(stall);
    }

    #[inline(always)]
    fn charge_store(&mut self, at: RamAddress) {
        self.accesses += 1;
        let (memory, now) = (&mut self.memory, self.cycles);
        let stall = if self.running.oracle {
            memory.store(at, attribute::COHERENT, now, &mut self.account)
        } else {
            memory.store_cached(at, now, &mut self.account)
        };
        self.stall(stall);
    }

    #[inline(always)]
    pub(super) fn stall(&mut self, cycles: u64) {
        if cycles != 0 {
            self.cycles += cycles;
            self.used = 0;
        }
    }

    #[inline(always)]
    fn ram_read(&self, at: RamAddress, bytes: u32) -> u64 {
        self.memory.uncore.ram.little(at, bytes).unwrap_or(0)
    }

    #[inline(always)]
    fn ram_write(&mut self, at: RamAddress, bytes: u32, value: u64) {
        self.code_written(at, bytes);
        self.memory.uncore.ram.put_little(at, bytes, value);
    }

    /// Raises an exception unless the hardware does what is not aligned.
    fn misaligned(&mut self, va: u64, right: u8) -> Result<(), Raised> {
        if self.config.core.misaligned == Misaligned::Trap {
            return self.fault(right, Miss::Misaligned, va);
        }
        self.advance(self.config.clocks.misaligned);
        Ok(())
    }

    #[inline(never)]
    fn load_misaligned(&mut self, va: u64, bytes: u64) -> Result<u64, Raised> {
        self.misaligned(va, right::READ)?;
        let mut value = 0;
        for n in 0..bytes {
            value |= self.load::<1>(va.wrapping_add(n))? << (8 * n);
        }
        Ok(value)
    }

    #[inline(never)]
    fn store_misaligned(&mut self, va: u64, bytes: u64, value: u64) -> Result<(), Raised> {
        self.misaligned(va, right::WRITE)?;
        // Nothing is written unless both pages may be.
        self.translate(va, right::WRITE, 1)?;
        let last = va.wrapping_add(bytes - 1);
        if (va ^ last) & !0xfff != 0 {
            self.translate(last & !0xfff, right::WRITE, 1)?;
        }
        for n in 0..bytes {
            self.store::<1>(va.wrapping_add(n), value >> (8 * n))?;
        }
        Ok(())
    }

    /// The cost of an access to a device; the control device costs nothing, so that observing a run does not change it.
    fn charge_device(&mut self, pa: u64) {
        self.accesses += 1;
        if !self.memory.uncore.board.is_free(pa) {
            self.advance(self.config.bus.device);
        }
    }

    #[inline(never)]
    fn read_device(&mut self, va: u64, pa: u64, bytes: u32) -> Result<u64, Raised> {
        self.charge_device(pa);
        self.settle();
        let now = self.instant();
        match self.memory.uncore.board.read(pa, bytes, now) {
            Ok(value) => {
                // A read can change what the device asks for.
                self.running.deadline = 0;
                Ok(value)
            }
            Err(_) => self.fault(right::READ, Miss::Access, va),
        }
    }

    #[inline(never)]
    fn write_device(&mut self, va: u64, pa: u64, bytes: u32, value: u64) -> Result<(), Raised> {
        self.charge_device(pa);
        // Of a register only these bytes are stored.
        let value = value & (u64::MAX >> (64 - 8 * bytes));
        let now = self.instant();
        let asked = self.memory.uncore.board.asked();
        let Ok(effect) = self.memory.uncore.write_device(pa, bytes, value, now) else {
            return self.fault(right::WRITE, Miss::Access, va);
        };
        // An interrupt that a kernel sends without its firmware.
        if self.observers.listener.is_some() && self.privilege == privilege::SUPERVISOR {
            self.note_path(true);
        }
        let path = std::mem::take(&mut self.path);
        self.tell_of_interrupts(asked, &path);
        self.path = path;
        for written in self.memory.uncore.board.take_written() {
            for at in (written.start & !0x3f..written.end).step_by(0x40) {
                self.code_written(at as RamAddress, 0x40);
            }
        }
        self.device_was_written(effect);
        Ok(())
    }

    /// The place of an atomic operation, which must be aligned and in RAM.
    fn place<const BYTES: u64>(&mut self, va: u64, right: u8) -> Result<RamAddress, Raised> {
        if va & (BYTES - 1) != 0 {
            return self.fault(right, Miss::Misaligned, va);
        }
        let pa = self.translate(va, right, BYTES)?;
        match self.ram_address(pa, BYTES) {
            Some(at) => Ok(at),
            None => self.fault(right, Miss::Access, va),
        }
    }

    /// Reads and writes at once; returns what was there.
    pub(super) fn modify<const BYTES: u64>(
        &mut self,
        va: u64,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Raised> {
        let at = self.place::<BYTES>(va, right::WRITE)?;
        self.charge_store(at);
        let old = self.ram_read(at, BYTES as u32);
        self.ram_write(at, BYTES as u32, change(old));
        Ok(old)
    }

    /// lr: a load that reserves its line.
    pub(super) fn load_reserved<const BYTES: u64>(&mut self, va: u64) -> Result<u64, Raised> {
        let at = self.place::<BYTES>(va, right::READ)?;
        self.charge_load(at);
        self.reservation = Some(self.memory.data.line_address(at));
        Ok(self.ram_read(at, BYTES as u32))
    }

    /// sc: stores if the line is still reserved. True if it has.
    pub(super) fn store_conditional<const BYTES: u64>(
        &mut self,
        va: u64,
        value: u64,
    ) -> Result<bool, Raised> {
        let at = self.place::<BYTES>(va, right::WRITE)?;
        let line = self.memory.data.line_address(at);
        if self.reservation.take() != Some(line) {
            return Ok(false);
        }
        self.charge_store(at);
        self.ram_write(at, BYTES as u32, value);
        Ok(true)
    }
}
