//! Recognises Linux: for which board and core it was built, and how it learns what it runs on. A kernel for another
//! board is refused before the run. It would print nothing, because it looks for its board before it has a console.

use crate::config::{BoardKind, Family, MachineConfig};
use crate::loader::linux::{find, version};
use crate::loader::{ElfImage, LoadError};

/// What an image is, as far as its strings show.
pub(super) enum Kernel {
    /// No Linux, or one whose strings do not show what it reads.
    Unknown,
    /// It looks for nodes of a device tree.
    ReadsTree,
    /// Linux 2.x of arch/ppc, for this board: it knows no flattened device tree.
    Old { version: String },
}

/// A string of each Linux 2.x of arch/ppc for the 8xx: the name of its interrupt controller
/// (arch/ppc/kernel/ppc8xx_pic.c of 2.2 and 2.4, arch/ppc/syslib/ppc8xx_pic.c of 2.6).
const OLD_8XX: &[u8] = b" 8xx SIU ";
/// The same for PReP machines: the machine's name in /proc/cpuinfo (prep_setup.c of 2.1.79 to 2.6.11, and of 2.1.53).
const OLD_PREP: [&[u8]; 2] = [b"machine\t\t: PReP %s", b"machine\t\t: %s (sn %s)"];
/// The node of a device tree that the kernel of this project looks for.
const OWN: &str = "/isa/pagewalk";

/// Checks that a Linux was built for this board and core. Any other image is accepted.
///
/// # Errors
/// Says what the kernel is for.
pub(super) fn check(image: &ElfImage, config: &MachineConfig) -> Result<Kernel, LoadError> {
    let Some(version) = version(&image.segments) else {
        return Ok(if holds(image, OWN) {
            Kernel::ReadsTree
        } else {
            Kernel::Unknown
        });
    };
    if let Some(board) = old_board(image, &version) {
        return check_old(image, config, version, board);
    }
    // A kernel holds the names of the boards that it looks for in the device tree. Kernels for PReP machines do not
    // look there.
    let boards: Vec<BoardKind> = BoardKind::ALL
        .into_iter()
        .filter(|board| reads_tree_of(image, *board))
        .collect();
    let family = config.core.kind.core().family;
    let fits = |board: &&BoardKind| board.family() == family;
    // Of several boards, one for as many processors as there are.
    let suits = |board: &&BoardKind| (**board == BoardKind::Mpc86xx) == (config.processors > 1);
    let own = config.board.kind;
    let problem = if boards.contains(&own) && fits(&&own) {
        return Ok(Kernel::ReadsTree);
    } else if let Some(board) = boards.iter().filter(fits).max_by_key(suits) {
        format!(
            "which does not know board.kind = \"{}\"; board.kind = \"{}\" fits",
            own.name(),
            board.name()
        )
    } else if let Some(board) = boards.first() {
        other_core(*board, config)
    } else if own == BoardKind::Prep {
        return Ok(Kernel::Unknown);
    } else {
        let known = BoardKind::ALL.into_iter().filter_map(|board| {
            let boards = foreign_boards(board)?.join(", ");
            Some(format!("{} ({boards})", board.name()))
        });
        let known = known.collect::<Vec<_>>().join(", ");
        format!("which knows none of the boards that a machine can have: {known}")
    };
    Err(LoadError::OtherMachine {
        file: image.file.clone(),
        message: format!("is Linux {version}, {problem}"),
    })
}

/// The names that the root of the board's device tree can have, if that is how Linux recognises the board.
fn foreign_boards(board: BoardKind) -> Option<&'static [&'static str]> {
    let tree = board.tree().filter(|_| board != BoardKind::Prep)?;
    Some(tree.boards)
}

/// Does the image look for this board in a device tree?
fn reads_tree_of(image: &ElfImage, board: BoardKind) -> bool {
    foreign_boards(board).is_some_and(|boards| known(image, boards).is_some())
}

/// Says that the kernel is for another processor than the machine's.
fn other_core(board: BoardKind, config: &MachineConfig) -> String {
    let cores = match board.family() {
        Family::Mpc8xx => "8xx",
        Family::Ppc405 => "405",
        Family::Ppc970 => "970",
        Family::Classic => "603, 603e, 604, 604e and 750",
    };
    format!(
        "built for board.kind = \"{}\" and core.kind {cores}; this machine's core.kind is \"{}\"",
        board.name(),
        config.core.kind.name()
    )
}

/// The board of a Linux of arch/ppc, which knows no flattened device tree.
fn old_board(image: &ElfImage, version: &str) -> Option<BoardKind> {
    // Later kernels of arch/powerpc are 2.6 too. They know the boards that have trees.
    let mut boards = BoardKind::ALL.into_iter();
    if !version.starts_with("2.") || boards.any(|board| reads_tree_of(image, board)) {
        None
    } else if contains(image, OLD_8XX) {
        Some(BoardKind::Fads)
    } else {
        let mut prep = OLD_PREP.into_iter();
        prep.any(|name| contains(image, name))
            .then_some(BoardKind::Prep)
    }
}

fn check_old(
    image: &ElfImage,
    config: &MachineConfig,
    version: String,
    board: BoardKind,
) -> Result<Kernel, LoadError> {
    let problem = if board.family() != config.core.kind.core().family {
        other_core(board, config)
    } else if board != config.board.kind {
        format!(
            "of the years before device trees, for board.kind = \"{0}\"; this machine's is \"{1}\": set board.kind={0}",
            board.name(),
            config.board.kind.name()
        )
    } else {
        return Ok(Kernel::Old { version });
    };
    Err(LoadError::OtherMachine {
        file: image.file.clone(),
        message: format!("is Linux {version}, {problem}"),
    })
}

/// The first of these boards that the image knows; the first of all if it knows none.
pub(super) fn board(image: &ElfImage, boards: &'static [&'static str]) -> &'static str {
    known(image, boards).unwrap_or(boards[0])
}

fn known(image: &ElfImage, boards: &'static [&'static str]) -> Option<&'static str> {
    boards.iter().copied().find(|name| holds(image, name))
}

/// Does the image hold this string, up to its NUL?
fn holds(image: &ElfImage, text: &str) -> bool {
    contains(image, &[text.as_bytes(), b"\0"].concat())
}

fn contains(image: &ElfImage, text: &[u8]) -> bool {
    let mut segments = image.segments.iter();
    segments.any(|segment| find(&segment.data, text).is_some())
}
