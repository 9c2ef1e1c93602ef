//! Writes down every instruction that completes, and its accesses, in a format of other tools; and what such a format
//! has no place for.

use serde_json::{Value, json};

use super::symbolize::Symbolizer;

/// A format that other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ChampSim's records of 64 bytes.
    ChampSim,
    /// DynamoRIO's entries of 12 bytes.
    Drmemtrace,
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "champsim" => Ok(Format::ChampSim),
            "drmemtrace" => Ok(Format::Drmemtrace),
            _ => Err(format!(
                "\"{text}\" is no format to write: there are champsim and drmemtrace"
            )),
        }
    }
}

/// How an instruction goes on, as an architecture tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Branch {
    #[default]
    None,
    Jump,
    Conditional,
    Indirect,
    Call,
    IndirectCall,
    Return,
}

/// The instruction that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    pc: u32,
    /// The address after it, as the processor has it.
    after: u32,
    /// Its length in bytes.
    size: u32,
    branch: Branch,
    user: bool,
    context: u32,
    /// Completed instructions before it.
    completed: u64,
}

/// What a format has no place for.
#[derive(Clone, Debug)]
enum Note {
    Switch { context: u32, program: u32 },
    Invalidate { address: u32 },
    Flush,
    Exception { name: &'static str, pc: u32 },
}

/// Bytes at which a batch is full.
const BATCH: usize = 1 << 20;

/// A recorder, and what was written since the last batch was taken.
#[derive(Clone, Debug)]
pub struct Recorder {
    format: Format,
    /// The most instructions.
    most: u64,
    /// Instructions that were written.
    written: u64,
    bytes: Vec<u8>,
    notes: Vec<(u64, Note)>,
    open: Option<Open>,
    /// Address, bytes and kind of each access of the open instruction.
    accesses: Vec<(u32, u32, bool)>,
    /// The address space and the mode of the last instruction.
    last: Option<(u32, bool)>,
    /// Where an exception has interrupted what ran.
    interrupted: Option<u32>,
}

/// Accesses of one instruction at most.
const ACCESSES_MOST: usize = 256;

/// Where the kernel has RAM in its address space.
const KERNEL: u32 = 0xc000_0000;

/// An address as the trace has it: one of RAM without translation is where the kernel maps it.
fn shown(address: u32, real: bool) -> u32 {
    if real && address < u32::MAX - KERNEL {
        address + KERNEL
    } else {
        address
    }
}

/// Numbers of DynamoRIO's format (its `trace_entry.h`).
mod entry {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const INSTRUCTION: u16 = 10;
    pub const JUMP: u16 = 11;
    pub const INDIRECT_JUMP: u16 = 12;
    pub const CONDITIONAL: u16 = 13;
    pub const CALL: u16 = 14;
    pub const INDIRECT_CALL: u16 = 15;
    pub const RETURN: u16 = 16;
    pub const THREAD: u16 = 22;
    pub const THREAD_EXIT: u16 = 23;
    pub const PROCESS: u16 = 24;
    pub const HEADER: u16 = 25;
    pub const FOOTER: u16 = 26;
    pub const MARKER: u16 = 28;
    /// Kinds of markers, which stand where other entries have a size.
    pub const KERNEL_EVENT: u16 = 0;
    pub const KERNEL_RETURN: u16 = 1;
    pub const FILE_TYPE: u16 = 9;
    pub const LINE_SIZE: u16 = 10;
    pub const FORMAT_VERSION: u16 = 12;
    pub const PAGE_SIZE: u16 = 18;
    /// The version whose conditional branches do not say where they go.
    pub const VERSION: u64 = 4;
    /// The trace has a whole system's instructions.
    pub const WHOLE_SYSTEM: u64 = 0x4_0000;
}

/// Numbers of registers that ChampSim knows branches by (its `trace_instruction.h`).
mod register {
    pub const STACK: u8 = 6;
    pub const FLAGS: u8 = 25;
    pub const INSTRUCTION: u8 = 26;
    /// Any other.
    pub const OTHER: u8 = 1;
}

impl Recorder {
    /// Writes `most` instructions at most. `line` is the size of a cache line.
    #[must_use]
    pub fn new(format: Format, most: u64, line: u32) -> Self {
        let mut recorder = Recorder {
            format,
            most,
            written: 0,
            bytes: Vec::new(),
            notes: Vec::new(),
            open: None,
            accesses: Vec::new(),
            last: None,
            interrupted: None,
        };
        if format == Format::Drmemtrace {
            recorder.entry(entry::HEADER, 0, entry::VERSION);
            recorder.entry(entry::MARKER, entry::FORMAT_VERSION, entry::VERSION);
            recorder.entry(entry::MARKER, entry::FILE_TYPE, entry::WHOLE_SYSTEM);
            recorder.entry(entry::MARKER, entry::LINE_SIZE, line.into());
            recorder.entry(entry::MARKER, entry::PAGE_SIZE, 4096);
        }
        recorder
    }

    /// The run must stop: a batch is full, or all was written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH || self.is_over()
    }

    /// All was written that was asked for.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.written >= self.most
    }

    /// Instructions that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the bytes since the last call, and a line for each thing that they have no place for. `ended`: nothing
    /// follows.
    pub fn take(&mut self, symbols: &Symbolizer, ended: bool) -> (Vec<u8>, Vec<String>) {
        if ended && self.format == Format::Drmemtrace {
            if let Some((context, _)) = self.last {
                self.entry(entry::THREAD_EXIT, 0, u64::from(context) + 1);
            }
            self.entry(entry::FOOTER, 0, 0);
        }
        let notes = std::mem::take(&mut self.notes);
        let lines = notes.iter().map(|(at, note)| note.line(*at, symbols));
        let lines = lines.collect();
        (std::mem::take(&mut self.bytes), lines)
    }

    /// An instruction begins to run, in user mode or not, fetched without translation or not; `completed` were before
    /// it.
    pub(crate) fn begins(
        &mut self,
        (pc, size, branch): (u32, u32, Branch),
        (user, real): (bool, bool),
        symbols: &Symbolizer,
        completed: u64,
    ) {
        self.accesses.clear();
        self.open = (!self.is_over()).then(|| Open {
            pc: shown(pc, real),
            after: pc.wrapping_add(size),
            size,
            branch,
            user,
            context: symbols.context(),
            completed,
        });
        if self.open.is_some()
            && self
                .last
                .is_none_or(|(context, _)| context != symbols.context())
        {
            let (context, program) = (symbols.context(), symbols.program());
            self.note(Note::Switch { context, program });
        }
    }

    /// It accesses memory; `real`: without translation.
    pub(crate) fn accesses(&mut self, ea: u32, bytes: u32, store: bool, real: bool) {
        if self.open.is_some() && self.accesses.len() < ACCESSES_MOST {
            self.accesses.push((shown(ea, real), bytes, store));
        }
    }

    /// It has run; if it has completed, it is written. `next` runs next.
    pub(crate) fn ends(&mut self, next: u32, completed: u64) {
        let Some(open) = self.open.take() else { return };
        if completed == open.completed {
            return;
        }
        let taken = open.branch != Branch::None && next != open.after;
        match self.format {
            Format::ChampSim => self.write_champsim(&open, taken),
            Format::Drmemtrace => self.write_drmemtrace(&open),
        }
        self.last = Some((open.context, open.user));
        self.written += 1;
    }

    /// Software drops the translation of an address, or all of them.
    pub(crate) fn invalidates(&mut self, address: Option<u32>) {
        self.note(match address {
            Some(address) => Note::Invalidate { address },
            None => Note::Flush,
        });
    }

    /// An exception interrupts the code at `pc`.
    pub(crate) fn interrupts(&mut self, name: &'static str, pc: u32) {
        self.note(Note::Exception { name, pc });
        self.interrupted = Some(pc);
    }

    fn note(&mut self, note: Note) {
        if !self.is_over() {
            self.notes.push((self.written, note));
        }
    }

    fn entry(&mut self, kind: u16, size: u16, value: u64) {
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(value.to_le_bytes());
    }

    fn write_drmemtrace(&mut self, open: &Open) {
        if self.last.is_none_or(|(context, _)| context != open.context) {
            // No process has the number 0.
            let process = u64::from(open.context) + 1;
            self.entry(entry::THREAD, 0, process);
            self.entry(entry::PROCESS, 0, process);
        }
        if let Some(pc) = self.interrupted.take() {
            self.entry(entry::MARKER, entry::KERNEL_EVENT, pc.into());
        } else if self.last.is_some_and(|(_, user)| open.user && !user) {
            self.entry(entry::MARKER, entry::KERNEL_RETURN, open.pc.into());
        }
        let kind = match open.branch {
            Branch::None => entry::INSTRUCTION,
            Branch::Jump => entry::JUMP,
            Branch::Conditional => entry::CONDITIONAL,
            Branch::Indirect => entry::INDIRECT_JUMP,
            Branch::Call => entry::CALL,
            Branch::IndirectCall => entry::INDIRECT_CALL,
            Branch::Return => entry::RETURN,
        };
        self.entry(kind, open.size as u16, open.pc.into());
        for (ea, bytes, store) in std::mem::take(&mut self.accesses) {
            let kind = if store { entry::WRITE } else { entry::READ };
            self.entry(kind, bytes as u16, ea.into());
        }
    }

    fn write_champsim(&mut self, open: &Open, taken: bool) {
        use register as r;
        const LOADS: usize = 4;
        const STORES: usize = 2;
        let (written, read): (&[u8], &[u8]) = match open.branch {
            Branch::None => (&[], &[]),
            Branch::Jump => (&[r::INSTRUCTION], &[r::INSTRUCTION]),
            Branch::Conditional => (&[r::INSTRUCTION], &[r::INSTRUCTION, r::FLAGS]),
            Branch::Indirect => (&[r::INSTRUCTION], &[r::OTHER]),
            Branch::Call => (&[r::INSTRUCTION, r::STACK], &[r::INSTRUCTION, r::STACK]),
            Branch::IndirectCall => (
                &[r::INSTRUCTION, r::STACK],
                &[r::INSTRUCTION, r::STACK, r::OTHER],
            ),
            Branch::Return => (&[r::INSTRUCTION, r::STACK], &[r::STACK]),
        };
        let padded = |registers: &[u8], count: usize| {
            let zeros = std::iter::repeat_n(0, count - registers.len());
            registers.iter().copied().chain(zeros).collect::<Vec<u8>>()
        };
        // Accesses that a record has no room for go to further records of the same instruction.
        let of = |store: bool| {
            let accesses = self.accesses.iter().filter(move |access| access.2 == store);
            accesses.map(|&(ea, ..)| ea).collect::<Vec<u32>>()
        };
        let (loads, stores) = (of(false), of(true));
        let records = loads
            .len()
            .div_ceil(LOADS)
            .max(stores.len().div_ceil(STORES))
            .max(1);
        for record in 0..records {
            let last = record + 1 == records;
            let branch = last && open.branch != Branch::None;
            self.bytes.extend(u64::from(open.pc).to_le_bytes());
            self.bytes
                .extend([u8::from(branch), u8::from(branch && taken)]);
            let (written, read) = if branch {
                (written, read)
            } else {
                (&[][..], &[][..])
            };
            self.bytes.extend(padded(written, 2));
            self.bytes.extend(padded(read, 4));
            for (addresses, room) in [(&stores, STORES), (&loads, LOADS)] {
                for n in record * room..(record + 1) * room {
                    let address = addresses.get(n).copied().unwrap_or(0);
                    self.bytes.extend(u64::from(address).to_le_bytes());
                }
            }
        }
    }
}

impl Note {
    /// A line of the side file: what happened before the instruction with the number `at`.
    fn line(&self, at: u64, symbols: &Symbolizer) -> String {
        let value: Value = match self {
            Note::Switch { context, program } => {
                json!({"at": at, "switch": context, "program": symbols.program_name(*program)})
            }
            Note::Invalidate { address } => json!({"at": at, "invalidate": address}),
            Note::Flush => json!({"at": at, "flush": true}),
            Note::Exception { name, pc } => json!({"at": at, "exception": name, "pc": pc}),
        };
        value.to_string()
    }
}
