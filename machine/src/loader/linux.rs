//! What shows that an image is a Linux of any architecture, and where such a kernel keeps its log.

use super::Segment;

/// The variables that hold what Linux has logged, before a console takes it and after: the text, and since Linux 5.10
/// what tells the messages in it apart (kernel/printk/printk_ringbuffer.h). Of all variables of a kernel only these are
/// among the symbols.
pub const LOG: [&str; 3] = [
    "__log_buf",
    "_printk_rb_static_descs",
    "_printk_rb_static_infos",
];
/// The text's variable in Linux 2.4 and earlier.
pub const OLD_LOG: &str = "log_buf";

/// What each Linux says of itself (`linux_banner`).
const BANNER: &[u8] = b"Linux version ";

/// Most characters of a version.
const VERSION_MOST: usize = 64;

/// What boot loaders of arch/ppc say before they unpack the kernel.
const UNPACKING: &[u8] = b"Uncompressing Linux";

/// Are these the segments of a boot loader with a compressed kernel in it?
pub(super) fn is_wrapped(segments: &[Segment]) -> bool {
    let says = |segment: &Segment| find(&segment.data, UNPACKING).is_some();
    segments.iter().any(says) && version(segments).is_none()
}

/// The version in the banner.
pub(crate) fn version(segments: &[Segment]) -> Option<String> {
    segments.iter().find_map(|segment| {
        let mut rest = segment.data.as_slice();
        loop {
            let start = find(rest, BANNER)? + BANNER.len();
            rest = &rest[start..];
            let end = rest
                .iter()
                .take(VERSION_MOST)
                .position(|&byte| byte == b' ');
            let text = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok());
            if let Some(text) = text.filter(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
                return Some(text.to_owned());
            }
        }
    })
}

/// Where `text` is in `bytes`.
pub(crate) fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let mut at = 0;
    while let Some(next) = bytes.get(at..)?.iter().position(|&byte| byte == first) {
        at += next;
        if bytes[at..].starts_with(text) {
            return Some(at);
        }
        at += 1;
    }
    None
}
