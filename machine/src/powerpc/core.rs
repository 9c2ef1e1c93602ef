//! What instructions that touch more than registers need of the processor around them.

use super::exception::Exception;
use super::registers::Registers;

/// A value that one access moves, big-endian in memory.
pub trait Datum: Copy {
    const BYTES: u32;
    /// From the low-order bytes of `raw`.
    fn from_raw(raw: u64) -> Self;
    fn raw(self) -> u64;
    /// Reads big-endian bytes.
    ///
    /// # Safety
    /// `from` must be good for a read of [`Datum::BYTES`] bytes.
    unsafe fn read(from: *const u8) -> Self;
    /// Writes big-endian bytes.
    ///
    /// # Safety
    /// `to` must be good for a write of [`Datum::BYTES`] bytes.
    unsafe fn write(self, to: *mut u8);
}

macro_rules! datum {
    ($($type:ty)*) => {$(
        impl Datum for $type {
            const BYTES: u32 = size_of::<$type>() as u32;
            #[inline(always)]
            fn from_raw(raw: u64) -> Self {
                raw as $type
            }
            #[inline(always)]
            fn raw(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            unsafe fn read(from: *const u8) -> Self {
                // SAFETY: the caller's; the read need not be aligned.
                <$type>::from_be(unsafe { from.cast::<$type>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut u8) {
                // SAFETY: the caller's; the write need not be aligned.
                unsafe { to.cast::<$type>().write_unaligned(self.to_be()) }
            }
        }
    )*};
}

datum!(u8 u16 u32 u64);

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

    /// Loads a word and reserves its granule.
    fn load_reserved(&mut self, ea: u32) -> Result<u32, Exception>;

    /// Stores if the reservation still stands, and drops it. True if the store was done.
    fn store_conditional(&mut self, ea: u32, value: u32) -> Result<bool, Exception>;

    fn cache_operation(&mut self, operation: CacheOperation, ea: u32) -> Result<(), Exception>;
}
