//! The host's pages behind large tables: RAM and decoded code.

/// Asks the host for its large pages here, so that its own TLB misses less. Whether it grants them changes nothing but
/// speed.
pub fn large<T>(items: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::mm::{Advice, madvise};
        let page = rustix::param::page_size();
        let (bytes, first) = (size_of_val(items), items.as_mut_ptr().cast::<u8>());
        let skipped = first.align_offset(page);
        let Some(whole) = bytes.checked_sub(skipped).map(|n| n / page * page) else {
            return;
        };
        // SAFETY: whole pages inside of `items`, which are borrowed for writing; the advice keeps what they hold.
        let _refused = unsafe { madvise(first.add(skipped).cast(), whole, Advice::LinuxHugepage) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = items;
}
