//! Recognises Linux, to say before a run why a kernel cannot run on this machine. Such a kernel would print nothing: it
//! looks for its board before it has a console.

use super::{ElfImage, LoadError};
use crate::config::{BoardKind, MachineConfig};

/// The variable that holds what Linux has logged, before a console takes it and after. Of all variables of a kernel
/// only this one is among the symbols.
pub const LOG: &str = "__log_buf";

/// What each Linux says of itself (`linux_banner`).
const BANNER: &[u8] = b"Linux version ";

/// Most characters of a version.
const VERSION_MOST: usize = 64;

/// Checks that a Linux was built for this board and core. Any other image is accepted.
///
/// # Errors
/// Says what the kernel is for.
pub(super) fn check(image: &ElfImage, config: &MachineConfig) -> Result<(), LoadError> {
    let Some(version) = version(image) else {
        return Ok(());
    };
    // A kernel holds the names of the boards that it looks for in the device tree. Kernels for PReP machines do not
    // look there.
    let boards: Vec<BoardKind> = BoardKind::ALL
        .into_iter()
        .filter(|board| *board != BoardKind::Prep && knows(image, board.tree().compatible))
        .collect();
    let of_8xx = config.core.kind.core().programmed_as_8xx;
    let fits = |board: &&BoardKind| (**board == BoardKind::Mpc8xx) == of_8xx;
    // Of several boards, one for as many processors as there are.
    let suits = |board: &&BoardKind| (**board == BoardKind::Mpc86xx) == (config.processors > 1);
    let own = config.board.kind;
    let problem = if boards.contains(&own) && fits(&&own) {
        return Ok(());
    } else if let Some(board) = boards.iter().filter(fits).max_by_key(suits) {
        format!(
            "which does not know board.kind = \"{}\"; board.kind = \"{}\" fits",
            own.name(),
            board.name()
        )
    } else if let Some(board) = boards.first() {
        let cores = if *board == BoardKind::Mpc8xx {
            "8xx"
        } else {
            "603, 603e, 604, 604e and 750"
        };
        format!(
            "built for board.kind = \"{}\" and core.kind {cores}; this machine's core.kind is \"{}\"",
            board.name(),
            config.core.kind.name()
        )
    } else if own == BoardKind::Prep {
        return Ok(());
    } else {
        let known = BoardKind::ALL.into_iter().skip(1).map(|board| {
            let compatible = board.tree().compatible;
            format!("{} ({compatible})", board.name())
        });
        let known = known.collect::<Vec<_>>().join(", ");
        format!("which knows none of the boards that a machine can have: {known}")
    };
    Err(LoadError::OtherMachine {
        file: image.file.clone(),
        message: format!("is Linux {version}, {problem}"),
    })
}

/// The version in the banner.
fn version(image: &ElfImage) -> Option<String> {
    image.segments.iter().find_map(|segment| {
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

/// Does the image hold this string, up to its NUL?
fn knows(image: &ElfImage, compatible: &str) -> bool {
    let text = [compatible.as_bytes(), b"\0"].concat();
    let mut segments = image.segments.iter();
    segments.any(|segment| find(&segment.data, &text).is_some())
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
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
