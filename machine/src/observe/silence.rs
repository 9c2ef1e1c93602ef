//! Why a kernel has printed nothing, as far as its image and its memory tell.

use crate::loader::{LINUX_LOG, LINUX_OLD_LOG, SymbolTable};

/// A function of Linux's driver for the console of each board.
const LINUX_CONSOLE: &str = "univ8250_console_init";
const LINUX_CPM_CONSOLE: &str = "cpm_uart_console_init";

/// At most so many messages are shown: the last ones, or those from a panic on.
const LINES: usize = 12;
const PANIC: &str = "Kernel panic";
/// Where nothing tells messages apart, a run of text that is shorter is not taken for one.
const LINE_LEAST: usize = 6;

/// Bytes of a `struct prb_desc` of Linux for 32 bits: the state, and the positions in the text where its block begins
/// and where the next block begins.
const DESCRIPTOR: usize = 12;
/// A block begins with a word, the number of its descriptor; then comes the text.
const BLOCK_HEAD: usize = 4;
/// The bits of the state that hold the same number.
const NUMBER: u32 = 0x3fff_ffff;
/// Offset of the text's length in a `struct printk_info`, after the message's number and time.
const LENGTH_AT: usize = 16;

/// What to say about a kernel with these symbols that ended before it printed anything on its console: `node` of the
/// device tree, or SMC1 on a board without one.
pub fn explain(node: Option<&str>, symbols: &SymbolTable, ram: &[u8]) -> String {
    let (console, driver, function, options) = match node {
        Some(console) => (
            console,
            "ns16550",
            LINUX_CONSOLE,
            "SERIAL_8250_CONSOLE and SERIAL_OF_PLATFORM",
        ),
        None => (
            "SMC1",
            "UART of the CPM",
            LINUX_CPM_CONSOLE,
            "SERIAL_CPM_CONSOLE and SERIAL_CPM_SMC1, or 8xx UART, and console=ttyCPM0 or ttyS0",
        ),
    };
    let mut text = format!("\nnothing was printed on {console}; ");
    text += &if symbols.by_name(function).is_some() {
        format!("the kernel has a driver for its {driver}, and ended before that began")
    } else {
        format!("a kernel needs a driver for its {driver} (Linux: {options})")
    };
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
    let content = |name| {
        let symbol = symbols.by_name(name)?;
        let start = symbol.address as usize;
        ram.get(start..start.checked_add(symbol.size as usize)?)
    };
    let [text, descriptors, infos] = LINUX_LOG.map(content);
    let Some(text) = text.or_else(|| content(LINUX_OLD_LOG)) else {
        return Vec::new();
    };
    let tables = descriptors.zip(infos);
    let lines = tables.map_or_else(|| runs(text), |(descs, infos)| messages(text, descs, infos));
    let panic = lines.iter().rposition(|line| line.starts_with(PANIC));
    let first = panic.unwrap_or_else(|| lines.len().saturating_sub(LINES));
    lines.into_iter().skip(first).take(LINES).collect()
}

/// The lines of messages of which each has a descriptor and an info, in the order of their numbers.
fn messages(text: &[u8], descriptors: &[u8], infos: &[u8]) -> Vec<String> {
    let count = descriptors.len() / DESCRIPTOR;
    let infos = infos.chunks((infos.len() / count.max(1)).max(1));
    let mut found: Vec<(&[u8], &[u8])> = descriptors
        .chunks_exact(DESCRIPTOR)
        .zip(infos)
        .filter_map(|(descriptor, info)| {
            let number = info.get(..8)?;
            let length = info.get(LENGTH_AT..LENGTH_AT + 2)?;
            let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
            Some((number, message(text, descriptor, length)?))
        })
        .collect();
    found.sort_unstable_by_key(|&(number, _)| number);
    let lines = found
        .iter()
        .flat_map(|(_, bytes)| bytes.split(|&byte| byte == b'\n'));
    lines.map(readable).collect()
}

/// The text of a descriptor's message, if it has not been overwritten.
fn message<'a>(text: &'a [u8], descriptor: &[u8], length: usize) -> Option<&'a [u8]> {
    let word = |bytes: &[u8], at: usize| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(word.try_into().ok()?))
    };
    let (state, begin, next) = (
        word(descriptor, 0)?,
        word(descriptor, 4)?,
        word(descriptor, 8)?,
    );
    let size = u32::try_from(text.len()).ok().filter(|&size| size > 0)?;
    // A block that would reach the end of the text lies at its beginning.
    let start = if begin / size == next / size {
        begin % size
    } else {
        0
    } as usize;
    let own = word(text, start)? == state & NUMBER;
    let first = start + BLOCK_HEAD;
    text.get(first..first.checked_add(length)?)
        .filter(|bytes| own && !bytes.is_empty())
}

/// Runs of printable text.
fn runs(text: &[u8]) -> Vec<String> {
    text.split(|byte| !is_printable(*byte))
        .filter(|line| line.len() >= LINE_LEAST)
        .map(readable)
        .collect()
}

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// A line without what would upset a terminal.
fn readable(line: &[u8]) -> String {
    let shown = line
        .iter()
        .map(|&byte| if is_printable(byte) { byte.into() } else { '?' });
    shown.collect()
}
