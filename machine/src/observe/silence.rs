//! Why a kernel has printed nothing, as far as its image and its memory tell.

use crate::loader::{LINUX_LOG, SymbolTable};

/// A function of Linux's driver for the console of each board.
const LINUX_CONSOLE: &str = "univ8250_console_init";

/// At most so many messages are shown: the last ones.
const LINES: usize = 8;
/// A run of text that is shorter is not taken for a message: numbers lie between the messages.
const LINE_LEAST: usize = 6;

/// What to say about a kernel with these symbols that ended before it printed anything on `console`, the node of the
/// device tree. `board` is what the tree's root is compatible with.
pub fn explain(console: &str, board: &str, symbols: &SymbolTable, ram: &[u8]) -> String {
    let mut text = format!("\nnothing was printed on {console}; ");
    text += if symbols.by_name(LINUX_CONSOLE).is_some() {
        "the kernel has a driver for its ns16550, and ended before that began"
    } else {
        "a kernel needs a driver for its ns16550 (Linux: SERIAL_8250_CONSOLE and SERIAL_OF_PLATFORM)"
    };
    text += &format!("\nthe device tree describes {board}");
    let log = log(symbols, ram);
    if !log.is_empty() {
        text += "\nthe last messages in the kernel's memory:";
    }
    for line in log {
        text += "\n  ";
        text += &line;
    }
    text
}

/// The last messages of Linux's log, if the image says where that is.
fn log(symbols: &SymbolTable, ram: &[u8]) -> Vec<String> {
    // Each symbol is there by its physical address too, which is the lower one.
    let Some(symbol) = symbols.by_name(LINUX_LOG) else {
        return Vec::new();
    };
    let start = symbol.address as usize;
    let end = start.saturating_add(symbol.size as usize).min(ram.len());
    let bytes = ram.get(start..end).unwrap_or_default();
    let printable = |byte: &u8| (b' '..=b'~').contains(byte);
    let lines: Vec<&[u8]> = bytes
        .split(|byte| !printable(byte))
        .filter(|line| line.len() >= LINE_LEAST)
        .collect();
    lines[lines.len().saturating_sub(LINES)..]
        .iter()
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}
