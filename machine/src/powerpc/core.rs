//! The interface to the processor for instructions that access more than registers.

use super::exception::Exception;
use super::registers::Registers;
use crate::memory::Datum;

/// Cache instructions (PEM 4.3, 5.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOperation {
    /// dcbf
    Flush,
    /// dcbst
    Store,
    /// dcbt
    Touch,
    /// dcbtst
    TouchForStore,
    /// dcbz
    Zero,
    /// dcbzl: a whole line, whatever a 970's HID5 says of `dcbz`.
    ZeroLine,
    /// dcbi
    Invalidate,
    /// icbi
    InstructionInvalidate,
}

/// A processor as its instructions see it: registers and storage by effective address.
pub trait Core {
    fn registers(&mut self) -> &mut Registers;

    /// Loads from `ea`, whatever its alignment.
    fn load<T: Datum>(&mut self, ea: u32) -> Result<T, Exception>;

    /// Stores to `ea`, whatever its alignment.
    fn store<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception>;

    /// One of the several accesses of a multiple or string instruction.
    fn load_element<T: Datum>(&mut self, ea: u32) -> Result<T, Exception>;

    /// One of the several accesses of a multiple or string instruction.
    fn store_element<T: Datum>(&mut self, ea: u32, value: T) -> Result<(), Exception>;

    /// Loads a word or double word and reserves its granule.
    fn load_reserved<T: Datum>(&mut self, ea: u32) -> Result<T, Exception>;

    /// Stores if the reservation is still valid, and clears it. True if the store was done.
    fn store_conditional<T: Datum>(&mut self, ea: u32, value: T) -> Result<bool, Exception>;

    /// Runs `f`, whose accesses have this upper half of their address, which is not 0. Only a core of 64 bits has one.
    /// After a failed access the exception takes it.
    fn far<T>(
        &mut self,
        far: u32,
        f: impl FnOnce(&mut Self) -> Result<T, Exception>,
    ) -> Result<T, Exception>;

    fn cache_operation(&mut self, operation: CacheOperation, ea: u32) -> Result<(), Exception>;
}
