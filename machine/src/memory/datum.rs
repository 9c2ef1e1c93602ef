//! Values as they stand in a PowerPC's memory, big-endian.

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
