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
/// The longest block of the text, and how the first message of a log begins.
const BLOCK_MOST: usize = 2048;
const BANNER: &[u8] = b"Linux version ";
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
    text + &shown(log(symbols, ram))
}

/// As [`explain`], of a PC, whose Linux may have a screen for its console. Nothing is said of another kernel, which has
/// no log of this form.
pub fn explain_pc(ram: &[u8]) -> String {
    let log = last(unnamed(ram, u32::from_le_bytes));
    if log.is_empty() {
        return String::new();
    }
    let text = "\nnothing was printed on COM1; a Linux that has virtual terminals prints there only with \
                console=ttyS0 on its command line (--append console=ttyS0)";
    text.to_owned() + &shown(log)
}

fn shown(log: Vec<String>) -> String {
    let mut text = String::new();
    if !log.is_empty() {
        text += "\nthe last messages in the kernel's memory:";
    }
    for line in log {
        text += "\n  ";
        text += &line;
    }
    text
}

/// The last messages of Linux's log, if the image says where that is, or its form tells.
fn log(symbols: &SymbolTable, ram: &[u8]) -> Vec<String> {
    // Each symbol is there by its physical address too, which is the lower one.
    let content = |name| {
        let symbol = symbols.by_name(name)?;
        let start = symbol.address as usize;
        ram.get(start..start.checked_add(symbol.size as usize)?)
    };
    let [text, descriptors, infos] = LINUX_LOG.map(content);
    let Some(text) = text.or_else(|| content(LINUX_OLD_LOG)) else {
        return last(unnamed(ram, u32::from_be_bytes));
    };
    let tables = descriptors.zip(infos);
    last(tables.map_or_else(|| runs(text), |(descs, infos)| messages(text, descs, infos)))
}

/// The last of some messages, or those from a panic on.
fn last(lines: Vec<String>) -> Vec<String> {
    let panic = lines.iter().rposition(|line| line.starts_with(PANIC));
    let first = panic.unwrap_or_else(|| lines.len().saturating_sub(LINES));
    lines.into_iter().skip(first).take(LINES).collect()
}

/// The lines of the log of a kernel without symbols. Each message lies behind a word with its number, and the first one
/// is Linux's banner, whose copies elsewhere in memory have no second message behind them.
fn unnamed(ram: &[u8], word: fn([u8; 4]) -> u32) -> Vec<String> {
    let number = |at: usize| Some(word(ram.get(at..at + BLOCK_HEAD)?.try_into().ok()?));
    let banners = (BLOCK_HEAD..ram.len())
        .step_by(BLOCK_HEAD)
        .filter(|&at| ram[at..].starts_with(BANNER));
    for banner in banners {
        let mut messages = Vec::new();
        let mut block = banner - BLOCK_HEAD;
        while let Some(own) = number(block) {
            let text = block + BLOCK_HEAD;
            let next = (text..text + BLOCK_MOST)
                .step_by(BLOCK_HEAD)
                .find(|&at| number(at) == Some((own + 1) & NUMBER));
            let rest = &ram[text..next.unwrap_or(text + BLOCK_MOST).min(ram.len())];
            messages.push(stored(
                rest.split(|&byte| byte == 0).next().unwrap_or_default(),
            ));
            match next {
                Some(next) => block = next,
                None => break,
            }
        }
        if messages.len() > 1 {
            let lines = messages
                .iter()
                .flat_map(|text| text.split(|&byte| byte == b'\n'));
            return lines.map(readable).collect();
        }
    }
    Vec::new()
}

/// A message whose length is not known. Linux 6.1 puts it down between the two bytes of its level and a newline, and
/// then moves it over the level. So its last two bytes stay behind it, and the newline.
fn stored(text: &[u8]) -> &[u8] {
    let Some(line) = text.strip_suffix(b"\n") else {
        return text;
    };
    match line {
        [rest @ .., a, b, c, d] if (a, b) == (c, d) => &line[..rest.len() + 2],
        _ => line,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_found_without_symbols() {
        let mut ram = vec![0; 64];
        // A copy of the banner that is no message: the word before it is text.
        ram[12..16].copy_from_slice(b"text");
        ram[16..30].copy_from_slice(BANNER);
        ram[30] = b'\n';
        let first = 0x3fff_fffeu32;
        for (number, text) in [
            (first, "Linux version 6.1"),
            (first + 1, "two"),
            (0, "three, moved over its levelel\n"),
            (1, "four, without a level\n"),
            (2, "last\n\x1b"),
        ] {
            ram.extend((number & NUMBER).to_le_bytes());
            ram.extend(text.as_bytes());
            ram.resize(ram.len().next_multiple_of(BLOCK_HEAD), 0);
        }
        let lines = [
            "Linux version 6.1",
            "two",
            "three, moved over its level",
            "four, without a level",
            "last",
            "?",
        ];
        assert_eq!(unnamed(&ram, u32::from_le_bytes), lines);
        assert!(explain_pc(&ram).ends_with("a level\n  last\n  ?"));
        // One that has not even two messages, another order of bytes, and no log.
        for none in [&ram[..84], &ram[..64], &[]] {
            assert_eq!(explain_pc(none), "");
        }
        assert!(unnamed(&ram, u32::from_be_bytes).is_empty());
    }
}
