//! Storage instructions: accesses, reservations and cache instructions (PEM 4.2.3, 4.2.6, 4.3).

use super::core::{CacheOperation, Core};
use super::spr_970::hid5;
use super::system::not_implemented;
use super::{Exception, Registers};
use crate::account::Plain;
use crate::memory::{CacheInhibited, Datum};
use crate::powerpc::mmu::{Access, Translation};
use crate::powerpc::processor::Processor;

impl Core for Processor {
    #[inline(always)]
    fn registers(&mut self) -> &mut Registers {
        &mut self.registers
    }

    #[inline(always)]
    fn load<T: Datum>(&mut self, ea: u32) -> Result<T, Exception> {
        self.load_data(ea)
    }

    #[inline(always)]
    fn store<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception> {
        self.store_data(ea, value)
    }

    fn load_element<T: Datum>(&mut self, ea: u32) -> Result<T, Exception> {
        let value = self.load(ea)?;
        self.hot.accesses += 1;
        self.hot.cycles += self.schedule.element();
        Ok(value)
    }

    fn store_element<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception> {
        self.store(ea, value)?;
        self.hot.accesses += 1;
        self.hot.cycles += self.schedule.element();
        Ok(())
    }

    fn load_reserved<T: Datum>(&mut self, ea: u32) -> Result<T, Exception> {
        let value = T::from_raw(self.load_slowly(ea, T::BYTES)?);
        let translation = self.translate_data(ea, Access::Load)?;
        self.registers.reservation = Some(self.memory.data.line_address(translation.pa));
        Ok(value)
    }

    fn store_conditional<T: Datum>(&mut self, ea: u32, value: T) -> Result<bool, Exception> {
        // Translate the address even without a reservation: the translation may fault.
        let translation = self.translate_data(ea, Access::Store)?;
        let granule = self.memory.data.line_address(translation.pa);
        let reserved = self.registers.reservation == Some(granule);
        if reserved {
            self.store_slowly(ea, T::BYTES, value.raw())?;
        }
        self.registers.reservation = None;
        if !reserved {
            self.account.add_plain(Plain::ReservationFailed, 1);
        }
        Ok(reserved)
    }

    fn far<T>(
        &mut self,
        far: u32,
        f: impl FnOnce(&mut Self) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        self.set_far(far);
        let result = f(self);
        self.set_far(0);
        if result.is_err() {
            self.registers.wide.far = far;
        }
        result
    }

    fn cache_operation(&mut self, operation: CacheOperation, ea: u32) -> Result<(), Exception> {
        let access = match operation {
            CacheOperation::Touch | CacheOperation::TouchForStore => {
                self.touch(ea);
                return Ok(());
            }
            CacheOperation::Zero | CacheOperation::ZeroLine | CacheOperation::Invalidate => {
                Access::Store
            }
            CacheOperation::Flush
            | CacheOperation::Store
            | CacheOperation::InstructionInvalidate => Access::Load,
        };
        self.hot.accesses += 1;
        if operation == CacheOperation::InstructionInvalidate
            && self.config.core.kind.core().icbi_by_index
        {
            let (now, account) = (self.hot.cycles, &mut self.account);
            self.hot.cycles += self.memory.icbi(ea, 0, now, account);
            return Ok(());
        }
        let translation = self.translate_data(ea, access)?;
        let Translation {
            pa: physical,
            attributes,
            ..
        } = translation;
        let (now, account) = (self.hot.cycles, &mut self.account);
        if !self.memory.uncore.ram.contains(physical, 1) {
            return Ok(());
        }
        match operation {
            CacheOperation::Flush => {
                self.hot.cycles += self.memory.dcbf(physical, attributes, now, account);
            }
            CacheOperation::Store => {
                self.hot.cycles += self.memory.dcbst(physical, attributes, now, account);
            }
            CacheOperation::Invalidate => {
                self.hot.cycles += self.memory.dcbi(physical, attributes, now, account);
            }
            CacheOperation::InstructionInvalidate => {
                let place = self.memory.places.of(ea, physical);
                self.hot.cycles += self.memory.icbi(place, attributes, now, account);
            }
            CacheOperation::Zero if self.zeroes_part() => {
                const PART: u32 = 32;
                if self.registers.wide.hid[3] & hid5::DCBZ_ILLEGAL != 0 {
                    return Err(not_implemented(self));
                }
                let start = physical & !(PART - 1);
                self.watch(ea & !(PART - 1), PART, true);
                self.storing(start, PART);
                self.hot.cycles += self
                    .memory
                    .store(physical, attributes, now, &mut self.account);
                self.memory.uncore.ram.zero(start, PART as usize);
            }
            CacheOperation::Zero | CacheOperation::ZeroLine => {
                let line = self.memory.data.geometry().line;
                self.watch(ea & !(line - 1), line, true);
                self.storing(physical & !(line - 1), line);
                match self
                    .memory
                    .dcbz(physical, attributes, now, &mut self.account)
                {
                    Ok(stall) => self.hot.cycles += stall,
                    Err(CacheInhibited) => return Err(Exception::Alignment { address: ea }),
                }
            }
            CacheOperation::Touch | CacheOperation::TouchForStore => {}
        }
        Ok(())
    }
}

impl Processor {
    /// A 970 whose HID5 says that `dcbz` is for 32 bytes, as on cores of 32 bits.
    fn zeroes_part(&self) -> bool {
        self.registers.wide.hid[3] & hid5::DCBZ_SIZE != 0
    }

    /// The upper half of the addresses of the next accesses. Pages above 4 GB have no shortcuts.
    fn set_far(&mut self, far: u32) {
        self.registers.wide.far = far;
        if let Some(unit) = self.mmu.hash64_mut() {
            unit.set_window(false, far);
        }
        self.select_data_shortcuts();
    }

    /// dcbt and dcbtst: hints that never fault.
    fn touch(&mut self, ea: u32) {
        self.hot.accesses += 1;
        let access = Access::Load;
        let Some(translation) = self.mmu.translate_hint(ea, access, self.registers.msr) else {
            return;
        };
        // The sanitizer ignores a hint, but no shortcut may hide an ordinary access from it.
        let sound = !self.is_suspect(ea, access);
        self.make_shortcut(ea, access, &translation, sound);
        if self.memory.uncore.ram.contains(translation.pa, 1) {
            self.hot.cycles += self.memory.dcbt(
                translation.pa,
                translation.attributes,
                self.hot.cycles,
                &mut self.account,
            );
        }
    }
}
