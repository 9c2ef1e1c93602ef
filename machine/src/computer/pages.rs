//! The host's pages behind the machine's RAM.

/// Asks the host for its large pages here, so that its own TLB misses less. Whether it grants them changes nothing but
/// speed.
pub fn large(bytes: &mut [u8]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::mm::{Advice, madvise};
        let page = rustix::param::page_size();
        let skipped = bytes.as_ptr().align_offset(page);
        let Some(whole) = bytes.len().checked_sub(skipped).map(|n| n / page * page) else {
            return;
        };
        // SAFETY: whole pages inside of `bytes`, which is borrowed for writing; the advice keeps what they hold.
        let _refused = unsafe {
            madvise(
                bytes.as_mut_ptr().add(skipped).cast(),
                whole,
                Advice::LinuxHugepage,
            )
        };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = bytes;
}
