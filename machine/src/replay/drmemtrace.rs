//! DynamoRIO's traces: entries of 12 bytes, little-endian: type, size, address (its `trace_entry.h`).

use super::{ACCESS_MOST, Record};

const ENTRY: usize = 12;

/// Types of entries.
pub mod kind {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    /// From here to [`PREFETCH_LAST`]: hints.
    pub const PREFETCH: u16 = 2;
    pub const PREFETCH_LAST: u16 = 9;
    /// From here to [`RETURN`]: instructions.
    pub const INSTRUCTION: u16 = 10;
    pub const RETURN: u16 = 16;
    pub const BUNDLE: u16 = 17;
    /// From here to [`DATA_FLUSH_END`]: flushes of caches.
    pub const INSTRUCTION_FLUSH: u16 = 18;
    pub const DATA_FLUSH_END: u16 = 21;
    pub const THREAD: u16 = 22;
    pub const THREAD_EXIT: u16 = 23;
    pub const PROCESS: u16 = 24;
    pub const HEADER: u16 = 25;
    pub const FOOTER: u16 = 26;
    pub const HARDWARE_PREFETCH: u16 = 27;
    pub const MARKER: u16 = 28;
    pub const NO_FETCH: u16 = 29;
    pub const MAYBE_FETCH: u16 = 30;
    pub const SYSENTER: u16 = 31;
    /// From here to [`HINT_LAST`]: hints.
    pub const HINT: u16 = 32;
    pub const HINT_LAST: u16 = 46;
    pub const ENCODING: u16 = 47;
    pub const TAKEN: u16 = 48;
    pub const UNTAKEN: u16 = 49;
}

/// The newest version of the format that is known here, with room for a few more of the same entries.
const VERSION_MOST: u64 = 16;

#[derive(Default)]
pub struct Drmemtrace {
    begun: bool,
    ended: bool,
    /// The process that runs.
    space: u32,
    /// The processes that were seen, in the order of their numbers here.
    processes: Vec<u64>,
    /// The address after the last instruction.
    next: u64,
}

/// More processes than a trace can have.
const PROCESSES_MOST: usize = 4096;

impl Drmemtrace {
    pub fn parse(&mut self, bytes: &[u8], give: &mut dyn FnMut(&Record)) -> Result<usize, String> {
        use kind as k;
        if bytes.len() < ENTRY {
            return Ok(0);
        }
        let kind = u16::from_le_bytes([bytes[0], bytes[1]]);
        let size = u32::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let mut value = [0; 8];
        value.copy_from_slice(&bytes[4..ENTRY]);
        let address = u64::from_le_bytes(value);
        let space = self.space;
        if !self.begun && kind != k::HEADER {
            return Err(format!(
                "the first entry has type {kind} and not {}, a header: this is no drmemtrace of a program with \
                 addresses of 64 bits, or it was not post-processed",
                k::HEADER
            ));
        }
        match kind {
            k::HEADER => {
                if address > VERSION_MOST {
                    return Err(format!("version {address} of the format is not known"));
                }
                self.begun = true;
                self.ended = false;
            }
            k::READ | k::WRITE => {
                if size == 0 || size > ACCESS_MOST {
                    return Err(format!("an access of {size} bytes"));
                }
                give(&if kind == k::READ {
                    Record::Load {
                        space,
                        address,
                        size,
                    }
                } else {
                    Record::Store {
                        space,
                        address,
                        size,
                    }
                });
            }
            k::INSTRUCTION..=k::RETURN | k::MAYBE_FETCH | k::SYSENTER | k::TAKEN | k::UNTAKEN => {
                if size > 64 {
                    return Err(format!("an instruction of {size} bytes"));
                }
                self.next = address.wrapping_add(size.into());
                give(&Record::Fetch {
                    space,
                    address,
                    size,
                });
            }
            k::NO_FETCH => give(&Record::Repeat),
            k::BUNDLE => {
                let lengths = value.get(..size as usize).ok_or_else(|| {
                    format!("a bundle of {size} instructions, and an entry has room for 8")
                })?;
                for &length in lengths {
                    give(&Record::Fetch {
                        space,
                        address: self.next,
                        size: length.into(),
                    });
                    self.next = self.next.wrapping_add(length.into());
                }
            }
            k::PROCESS => self.enter(address)?,
            k::FOOTER => self.ended = true,
            k::PREFETCH..=k::PREFETCH_LAST
            | k::INSTRUCTION_FLUSH..=k::DATA_FLUSH_END
            | k::THREAD
            | k::THREAD_EXIT
            | k::HARDWARE_PREFETCH
            | k::MARKER
            | k::HINT..=k::HINT_LAST
            | k::ENCODING => {}
            _ => {
                return Err(format!(
                    "an entry has type {kind}, which is not known: the trace is damaged, or of a newer version"
                ));
            }
        }
        Ok(ENTRY)
    }

    /// A process runs from now on. The first one is number 0.
    fn enter(&mut self, process: u64) -> Result<(), String> {
        let known = self.processes.iter().position(|&known| known == process);
        if known.is_none() {
            if self.processes.len() == PROCESSES_MOST {
                return Err(format!("more than {PROCESSES_MOST} processes"));
            }
            self.processes.push(process);
        }
        self.space = known.unwrap_or(self.processes.len() - 1) as u32;
        Ok(())
    }

    pub fn finish(&self) -> Result<(), String> {
        if self.ended {
            return Ok(());
        }
        Err("the trace ends without its footer: it was cut".to_owned())
    }
}
