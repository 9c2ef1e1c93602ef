//! Loads and stores that need nothing but a shortcut.

use super::core::{CacheOperation, Core};
use super::{Exception, Registers};
use crate::memory::Datum;
use crate::powerpc::processor::Processor;

/// A processor whose accesses take shortcuts only. Where there is none, an instruction fails with [`MORE`] and has
/// changed nothing: then it must run again on the [`Processor`] itself. A handler that tries this first makes no call
/// on its way, so that it keeps no register of the host's for one.
pub struct AtOnce<'a>(pub &'a mut Processor);

/// More must be done than a shortcut does. No program sees this.
const MORE: Exception = Exception::Trace;

impl Core for AtOnce<'_> {
    #[inline(always)]
    fn registers(&mut self) -> &mut Registers {
        &mut self.0.registers
    }

    #[inline(always)]
    fn load<T: Datum>(&mut self, ea: u32) -> Result<T, Exception> {
        self.0.load_at_once(ea).ok_or(MORE)
    }

    #[inline(always)]
    fn store<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception> {
        self.0.store_at_once(ea, value).ok_or(MORE)
    }

    fn load_element<T: Datum>(&mut self, _: u32) -> Result<T, Exception> {
        Err(MORE)
    }

    fn store_element<T: Datum>(&mut self, _: u32, _: T) -> Result<(), Exception> {
        Err(MORE)
    }

    fn load_reserved<T: Datum>(&mut self, _: u32) -> Result<T, Exception> {
        Err(MORE)
    }

    fn store_conditional<T: Datum>(&mut self, _: u32, _: T) -> Result<bool, Exception> {
        Err(MORE)
    }

    #[inline(always)]
    fn far<T>(
        &mut self,
        _: u32,
        _: impl FnOnce(&mut Self) -> Result<T, Exception>,
    ) -> Result<T, Exception> {
        Err(MORE)
    }

    fn cache_operation(&mut self, _: CacheOperation, _: u32) -> Result<(), Exception> {
        Err(MORE)
    }
}
