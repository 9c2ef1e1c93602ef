//! Accesses to memory by an address of the program: segmentation, translation, lines and pages that they cross.

use super::config::Kind;
use super::exception::Exception;
use super::op::{NARROW_ADDRESS, Op};
use super::processor::Processor;
use super::registers::{access, cr0, eflags, segment};
use super::tlb::{Need, Reuse, Shortcut};
use crate::memory::cache::ARRIVING;
use crate::memory::prefetch;

/// The size of an operand.
pub trait Width: Copy {
    const BYTES: u32;
    const BITS: u32 = 8 * Self::BYTES;
    const MASK: u32 = u32::MAX >> (32 - Self::BITS);
    const SIGN: u32 = 1 << (Self::BITS - 1);
}

/// 8 bits.
#[derive(Clone, Copy)]
pub struct Byte;
/// 16 bits.
#[derive(Clone, Copy)]
pub struct Word;
/// 32 bits.
#[derive(Clone, Copy)]
pub struct Double;

impl Width for Byte {
    const BYTES: u32 = 1;
}
impl Width for Word {
    const BYTES: u32 = 2;
}
impl Width for Double {
    const BYTES: u32 = 4;
}

/// Where an operand is that can be read and written: a place that has been translated for both.
#[derive(Clone, Copy)]
pub(super) struct Place {
    first: u32,
    bits: u32,
    /// The physical address of the part in the next page, if there is one.
    second: Option<(u32, u32)>,
    /// Bytes in the first page.
    split: u32,
}

impl Processor {
    /// The offset of an instruction's memory operand in its segment.
    #[inline(always)]
    pub(super) fn offset(&self, op: &Op) -> u32 {
        let offset = self.wide_offset(op);
        if op.scale & NARROW_ADDRESS != 0 {
            offset & 0xffff
        } else {
            offset
        }
    }

    /// The same of an address that has 32 bits.
    #[inline(always)]
    pub(super) fn wide_offset(&self, op: &Op) -> u32 {
        let registers = &self.registers;
        (registers.get(op.base))
            .wrapping_add(registers.get(op.index) << (op.scale & 3))
            .wrapping_add(op.displacement)
    }

    /// The linear address of `bytes` at `offset` of a segment, for a read.
    #[inline(always)]
    pub(super) fn linear_read(
        &mut self,
        number: u8,
        offset: u32,
        bytes: u32,
    ) -> Result<u32, Exception> {
        let segment = self.registers.segment(number);
        if u64::from(offset) + u64::from(bytes) <= segment.read_end {
            Ok(segment.base.wrapping_add(offset))
        } else {
            self.linear_checked(number, offset, bytes, false)
        }
    }

    /// The same for a write.
    #[inline(always)]
    pub(super) fn linear_write(
        &mut self,
        number: u8,
        offset: u32,
        bytes: u32,
    ) -> Result<u32, Exception> {
        let segment = self.registers.segment(number);
        if u64::from(offset) + u64::from(bytes) <= segment.write_end {
            Ok(segment.base.wrapping_add(offset))
        } else {
            self.linear_checked(number, offset, bytes, true)
        }
    }

    /// All checks of a segment (SDM volume 3, 5.3 to 5.6).
    #[cold]
    #[inline(never)]
    fn linear_checked(
        &mut self,
        number: u8,
        offset: u32,
        bytes: u32,
        write: bool,
    ) -> Result<u32, Exception> {
        let segment = *self.registers.segment(number);
        let fault = if number == segment::SS {
            Exception::STACK
        } else {
            Exception::GENERAL
        };
        let last = u64::from(offset) + u64::from(bytes) - 1;
        let code = segment.is(access::CODE);
        let second = segment.is(access::READ_WRITE);
        let usable = segment.is(access::PRESENT | access::ORDINARY)
            && if write {
                !code && second
            } else {
                !code || second
            };
        if !usable {
            return Err(if segment.access == 0 {
                fault
            } else {
                Exception::GENERAL
            });
        }
        let down = !code && segment.is(access::DOWN_CONFORMING);
        let inside = if down {
            let top = if segment.big() { 0xffff_ffff } else { 0xffff };
            offset > segment.limit && last <= top
        } else {
            last <= u64::from(segment.limit)
        };
        if !inside {
            return Err(fault);
        }
        Ok(segment.base.wrapping_add(offset))
    }

    /// Translates `linear` for a data access with this need.
    #[inline(always)]
    pub(super) fn translate(&mut self, linear: u32, need: Need) -> Result<(u32, u32), Exception> {
        if !self.paging {
            return Ok((linear, 0));
        }
        if !self.probes
            && let Some(hit) = self.mmu.data.hit_recent(linear, need)
        {
            return Ok(hit);
        }
        self.translate_slowly::<false>(linear, need)
    }

    /// Reads `W` at `offset` of a segment, if that changes nothing but the count of accesses: the segment allows it
    /// without a further check, the page has a shortcut, and the cache used the line last.
    #[inline(always)]
    pub(super) fn load_at_once<W: Width>(&mut self, number: u8, offset: u32) -> Option<u32> {
        let segment = self.registers.segment(number);
        let linear = segment.base.wrapping_add(offset);
        let shortcut = self.mmu.data.shortcut(linear);
        let pa = linear.wrapping_add(shortcut.delta);
        if u64::from(offset) + u64::from(W::BYTES) > segment.read_end
            || shortcut.load != Shortcut::wanted(linear, W::BYTES, self.mark)
            || !self.recent_line(pa, ARRIVING)
        {
            return None;
        }
        let value = self.memory.uncore.get()?.ram.little(pa, W::BYTES)? as u32;
        self.accesses += 1;
        Some(value)
    }

    /// The value at the top of the stack, under the same condition.
    #[inline(always)]
    pub(super) fn top_at_once<W: Width>(&mut self) -> Option<u32> {
        let offset = self.registers.gpr[4] & self.registers.stack_mask();
        self.load_at_once::<W>(segment::SS, offset)
    }

    /// Reads `W` at a linear address with the rights of the running program.
    #[inline(always)]
    pub(super) fn load<W: Width>(&mut self, linear: u32) -> Result<u32, Exception> {
        let shortcut = self.mmu.data.shortcut(linear);
        if shortcut.load != Shortcut::wanted(linear, W::BYTES, self.mark) {
            return self.load_slowly::<W>(linear);
        }
        let pa = linear.wrapping_add(shortcut.delta);
        self.accesses += 1;
        // The host waits for its own memory while the caches are asked.
        let value = self.ram_read(pa, W::BYTES);
        if !self.recent_line(pa, ARRIVING) {
            self.charge_load_cached(pa);
        }
        Ok(value)
    }

    /// The same for a page without a shortcut, which it gets.
    #[inline(never)]
    fn load_slowly<W: Width>(&mut self, linear: u32) -> Result<u32, Exception> {
        let Some((pa, bits)) = self.reuse::<W>(linear, self.user)? else {
            let value = self.load_as(linear, W::BYTES, self.user)?;
            self.make_shortcut(linear);
            return Ok(value);
        };
        self.load_from(pa, bits, W::BYTES)
    }

    /// Translates `linear` for an access with `need` to a page without a shortcut, which it gets. `None`: that has to
    /// be done in the usual way. Nothing has been done.
    #[inline(always)]
    fn reuse<W: Width>(
        &mut self,
        linear: u32,
        need: Need,
    ) -> Result<Option<(u32, u32)>, Exception> {
        if linear & (W::BYTES - 1) != 0 || !self.paging || !self.caches_on {
            return Ok(None);
        }
        match self.mmu.data.reuse(linear, need, self.ram_size) {
            Reuse::Away(delta) => Ok(Some((linear.wrapping_add(delta), 0))),
            Reuse::Absent if !self.sanitized && !self.mmu.has_large(linear) => {
                self.translate_absent(linear, need).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reads `W` with the rights of the system: a descriptor, or a part of the TSS.
    pub(super) fn load_system<W: Width>(&mut self, linear: u32) -> Result<u32, Exception> {
        self.load_as(linear, W::BYTES, 0)
    }

    fn load_as(&mut self, linear: u32, bytes: u32, user: Need) -> Result<u32, Exception> {
        let value = if linear & (bytes - 1) != 0 {
            self.load_unaligned(linear, bytes, user)?
        } else {
            let (pa, bits) = self.translate(linear, user)?;
            self.load_from(pa, bits, bytes)?
        };
        if self.noting {
            self.record_access(linear, bytes, false);
        }
        Ok(value)
    }

    /// Reads `bytes` at a physical address, which is a multiple of that, of a page with these bits.
    #[inline(always)]
    fn load_from(&mut self, pa: u32, bits: u32, bytes: u32) -> Result<u32, Exception> {
        self.accesses += 1;
        if pa as usize >= self.ram_size {
            return self.read_device(pa, bytes);
        }
        prefetch::soon(self.memory.uncore.ram.bytes().get(pa as usize));
        self.charge_load(pa, bits);
        Ok(self.ram_read(pa, bytes))
    }

    /// Writes `W` at a linear address with the rights of the running program.
    #[inline(always)]
    pub(super) fn store<W: Width>(&mut self, linear: u32, value: u32) -> Result<(), Exception> {
        let shortcut = self.mmu.data.shortcut(linear);
        if shortcut.store != Shortcut::wanted(linear, W::BYTES, self.mark) {
            return self.store_slowly::<W>(linear, value);
        }
        let pa = linear.wrapping_add(shortcut.delta);
        self.accesses += 1;
        self.charge_store(pa, 0);
        self.written(pa, W::BYTES);
        self.ram_write(pa, W::BYTES, value);
        Ok(())
    }

    /// The same for a page without a shortcut, which it gets.
    #[inline(never)]
    fn store_slowly<W: Width>(&mut self, linear: u32, value: u32) -> Result<(), Exception> {
        let Some((pa, bits)) = self.reuse::<W>(linear, self.user | 1)? else {
            self.store_as(linear, W::BYTES, value, self.user)?;
            self.make_shortcut(linear);
            return Ok(());
        };
        self.store_to(pa, bits, W::BYTES, value);
        Ok(())
    }

    /// Writes `W` with the rights of the system.
    pub(super) fn store_system<W: Width>(
        &mut self,
        linear: u32,
        value: u32,
    ) -> Result<(), Exception> {
        self.store_as(linear, W::BYTES, value, 0)
    }

    fn store_as(
        &mut self,
        linear: u32,
        bytes: u32,
        value: u32,
        user: Need,
    ) -> Result<(), Exception> {
        if linear & (bytes - 1) != 0 {
            self.store_unaligned(linear, bytes, value, user)?;
        } else {
            let (pa, bits) = self.translate(linear, user | 1)?;
            self.store_to(pa, bits, bytes, value);
        }
        if self.noting {
            self.record_access(linear, bytes, true);
        }
        Ok(())
    }

    /// Writes `bytes` at a physical address, which is a multiple of that, of a page with these bits.
    #[inline(always)]
    fn store_to(&mut self, pa: u32, bits: u32, bytes: u32, value: u32) {
        self.accesses += 1;
        if pa as usize >= self.ram_size {
            self.write_device(pa, bytes, value);
            return;
        }
        self.charge_store(pa, bits);
        self.written(pa, bytes);
        self.ram_write(pa, bytes, value);
    }

    /// The page of `linear`, which was accessed last, gets a shortcut, if that is exact.
    fn make_shortcut(&mut self, linear: u32) {
        if self.paging && self.caches_on {
            (self.mmu.data).make_shortcut(linear, self.user, self.ram_size);
        }
    }

    /// Is this the line that was used last in its set, and is no bit of `except` set in its tag?
    #[inline(always)]
    pub(super) fn recent_line(&self, pa: u32, except: u32) -> bool {
        let tag = self.memory.data.mru_hit(pa);
        tag.is_some_and(|tag| tag & except == 0)
    }

    /// An access that is not aligned to its size.
    fn unaligned(&mut self, linear: u32, bytes: u32, user: Need) -> Result<(), Exception> {
        if user != 0 && self.registers.cr0 & cr0::AM != 0 && self.registers.system & eflags::AC != 0
        {
            return Err(Exception::ALIGNMENT);
        }
        let unit = match self.kind {
            Kind::I486 => 4,
            Kind::P6 => self.line,
        };
        if (linear & (unit - 1)) + bytes > unit {
            self.add_cycles(self.config.clocks.misaligned.into());
        }
        Ok(())
    }

    #[inline(never)]
    fn load_unaligned(&mut self, linear: u32, bytes: u32, user: Need) -> Result<u32, Exception> {
        self.unaligned(linear, bytes, user)?;
        let place = self.place(linear, bytes, user)?;
        Ok(self.load_at(place, bytes))
    }

    #[inline(never)]
    fn store_unaligned(
        &mut self,
        linear: u32,
        bytes: u32,
        value: u32,
        user: Need,
    ) -> Result<(), Exception> {
        self.unaligned(linear, bytes, user)?;
        let place = self.place(linear, bytes, user | 1)?;
        self.store_at(place, bytes, value);
        Ok(())
    }

    /// Translates `bytes` at `linear`, which may be in two pages.
    pub(super) fn place(
        &mut self,
        linear: u32,
        bytes: u32,
        need: Need,
    ) -> Result<Place, Exception> {
        let split = 0x1000 - (linear & 0xfff);
        let (first, bits) = self.translate(linear, need)?;
        let second = if bytes > split {
            Some(self.translate(linear.wrapping_add(split), need)?)
        } else {
            None
        };
        Ok(Place {
            first,
            bits,
            second,
            split,
        })
    }

    /// For an instruction that reads `W` at `linear` and writes it: translates it for both.
    #[inline(always)]
    pub(super) fn place_to_modify<W: Width>(&mut self, linear: u32) -> Result<Place, Exception> {
        let user = self.user;
        let shortcut = self.mmu.data.shortcut(linear);
        if shortcut.store == Shortcut::wanted(linear, W::BYTES, self.mark) {
            return Ok(Place {
                first: linear.wrapping_add(shortcut.delta),
                bits: 0,
                second: None,
                split: 0x1000,
            });
        }
        if self.noting {
            self.record_change(linear, W::BYTES);
        }
        if linear & (W::BYTES - 1) != 0 {
            self.unaligned(linear, W::BYTES, user)?;
            return self.place(linear, W::BYTES, user | 1);
        }
        let (first, bits) = match self.reuse::<W>(linear, user | 1)? {
            Some(found) => found,
            None => self.translate(linear, user | 1)?,
        };
        Ok(Place {
            first,
            bits,
            second: None,
            split: 0x1000,
        })
    }

    /// Reads from a place that has been translated.
    #[inline(always)]
    pub(super) fn load_at(&mut self, place: Place, bytes: u32) -> u32 {
        if place.second.is_some() || (place.first & (self.line - 1)) + bytes > self.line {
            return self.load_parts(place, bytes);
        }
        self.accesses += 1;
        if place.first as usize >= self.ram_size {
            return self.read_device(place.first, bytes).unwrap_or(u32::MAX);
        }
        self.charge_load(place.first, place.bits);
        self.ram_read(place.first, bytes)
    }

    /// Writes to a place that has been translated.
    #[inline(always)]
    pub(super) fn store_at(&mut self, place: Place, bytes: u32, value: u32) {
        if place.second.is_some() || (place.first & (self.line - 1)) + bytes > self.line {
            return self.store_parts(place, bytes, value);
        }
        self.accesses += 1;
        if place.first as usize >= self.ram_size {
            self.write_device(place.first, bytes, value);
            return;
        }
        self.charge_store(place.first, place.bits);
        self.written(place.first, bytes);
        self.ram_write(place.first, bytes, value);
    }

    /// The parts of a place in two lines, or in two pages: address, bits, and how many bytes.
    fn parts(&self, place: Place, bytes: u32) -> [(u32, u32, u32); 2] {
        let split = match place.second {
            Some(_) => place.split,
            None => self.line - place.first % self.line,
        };
        let (second, bits) = place
            .second
            .unwrap_or((place.first.wrapping_add(split), place.bits));
        [
            (place.first, place.bits, split),
            (second, bits, bytes - split),
        ]
    }

    #[inline(never)]
    fn load_parts(&mut self, place: Place, bytes: u32) -> u32 {
        let (mut value, mut shift) = (0, 0);
        for (pa, bits, count) in self.parts(place, bytes) {
            self.accesses += 1;
            if (pa as usize) < self.ram_size {
                self.charge_load(pa, bits);
            }
            for n in 0..count {
                let byte = match self.memory.uncore.ram.read_u8(pa.wrapping_add(n)) {
                    Some(byte) => byte.into(),
                    None => self.read_device(pa.wrapping_add(n), 1).unwrap_or(0xff),
                };
                value |= byte << shift;
                shift += 8;
            }
        }
        value
    }

    #[inline(never)]
    fn store_parts(&mut self, place: Place, bytes: u32, value: u32) {
        let mut shift = 0;
        for (pa, bits, count) in self.parts(place, bytes) {
            self.accesses += 1;
            if (pa as usize) < self.ram_size {
                self.charge_store(pa, bits);
            }
            for n in 0..count {
                let (at, byte) = (pa.wrapping_add(n), value >> shift & 0xff);
                if (at as usize) < self.ram_size {
                    self.written(at, 1);
                    self.memory.uncore.ram.write_u8(at, byte as u8);
                } else {
                    self.write_device(at, 1, byte);
                }
                shift += 8;
            }
        }
    }

    /// Pushes a value with this size.
    #[inline(always)]
    pub(super) fn push<W: Width>(&mut self, value: u32) -> Result<(), Exception> {
        let mask = self.registers.stack_mask();
        let esp = self.registers.gpr[4];
        let new = esp.wrapping_sub(W::BYTES) & mask;
        let linear = self.linear_write(segment::SS, new, W::BYTES)?;
        self.store::<W>(linear, value)?;
        self.registers.gpr[4] = esp & !mask | new;
        Ok(())
    }

    /// Pops a value with this size.
    #[inline(always)]
    pub(super) fn pop<W: Width>(&mut self) -> Result<u32, Exception> {
        let value = self.peek_stack::<W>(0)?;
        self.drop_stack(W::BYTES);
        Ok(value)
    }

    /// The value `above` bytes above the top of the stack.
    #[inline(always)]
    pub(super) fn peek_stack<W: Width>(&mut self, above: u32) -> Result<u32, Exception> {
        let mask = self.registers.stack_mask();
        let offset = self.registers.gpr[4].wrapping_add(above) & mask;
        let linear = self.linear_read(segment::SS, offset, W::BYTES)?;
        self.load::<W>(linear)
    }

    /// Takes so many bytes from the stack.
    #[inline(always)]
    pub(super) fn drop_stack(&mut self, bytes: u32) {
        let mask = self.registers.stack_mask();
        let esp = self.registers.gpr[4];
        self.registers.gpr[4] = esp & !mask | esp.wrapping_add(bytes) & mask;
    }
}
