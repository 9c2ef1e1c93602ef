//! Prefetches of the host's memory that the model will need soon.

/// The host is about to need this item.
#[inline(always)]
pub fn soon<T>(item: Option<&T>) {
    if let Some(item) = item {
        at(item);
    }
}

/// The host is about to need what is at this address, if something is there.
#[inline(always)]
pub fn at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing that a program can see, wherever it points to.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
