//! Writes down every instruction that completes, and its accesses, in a format of other tools; and what such a format
//! has no place for.

use std::collections::HashSet;

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

/// An instruction, as an architecture tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its linear, or effective, address.
    pub pc: u32,
    /// Its length in bytes.
    pub size: u32,
    pub branch: Branch,
    /// It does the same for many elements, and an exception may break it off between two of them. Then it begins again.
    pub repeats: bool,
}

/// The instruction that runs.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    pc: u32,
    /// The address after it, as the processor has it.
    after: u32,
    size: u32,
    branch: Branch,
    repeats: bool,
    user: bool,
    context: u32,
    /// Completed instructions before it.
    completed: u64,
}

/// What a format has no place for.
#[derive(Clone, Debug)]
enum Note {
    Switch {
        context: u32,
        program: u32,
    },
    Invalidate {
        address: u32,
    },
    /// All translations, or all but those of global pages.
    Flush {
        keeps_global: bool,
    },
    Exception {
        name: &'static str,
        pc: u32,
    },
    /// A page of another size than 4 KB is accessed for the first time.
    Page {
        address: u32,
        bytes: u32,
    },
    /// Accesses of an instruction were left out.
    Lost {
        count: u64,
    },
}

/// What one processor does.
#[derive(Clone, Debug, Default)]
struct Lane {
    open: Option<Open>,
    /// Address, bytes and kind of each access of the open instruction.
    accesses: Vec<(u32, u32, bool)>,
    /// Accesses of the open instruction beyond [`ACCESSES_MOST`].
    lost: u64,
    /// The last instruction was a user's.
    user: Option<bool>,
    /// Where an exception has interrupted what ran.
    interrupted: Option<u32>,
    /// Address spaces and addresses of the large pages that were noted.
    large: HashSet<(u32, u32)>,
}

/// What is written to one file.
#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    notes: Vec<(u64, u8, Note)>,
    /// Instructions that were written.
    written: u64,
    /// The processor and the address space of the last instruction.
    last: Option<(u8, u32)>,
}

/// Bytes at which a batch is full.
const BATCH: usize = 1 << 20;

/// A recorder, and what was written since the last batch was taken.
///
/// ChampSim reads a file for each processor. DynamoRIO's format has all in one, as it has threads.
#[derive(Clone, Debug)]
pub struct Recorder {
    format: Format,
    /// The most instructions, of all processors.
    most: u64,
    /// Instructions that were written, of all processors.
    written: u64,
    /// The processor that runs.
    processor: u8,
    lanes: Vec<Lane>,
    streams: Vec<Stream>,
}

/// Accesses of one instruction at most. A string instruction has two for each element.
const ACCESSES_MOST: usize = 1 << 20;

/// Large pages of one processor that are noted at most.
const LARGE_MOST: usize = 1 << 16;

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
    pub const PROCESSOR: u16 = 3;
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
    /// Writes `most` instructions at most, of so many processors. `line` is the size of a cache line.
    #[must_use]
    pub fn new(format: Format, most: u64, line: u32, processors: usize) -> Self {
        let streams = match format {
            Format::ChampSim => processors,
            Format::Drmemtrace => 1,
        };
        let mut recorder = Recorder {
            format,
            most,
            written: 0,
            processor: 0,
            lanes: vec![Lane::default(); processors],
            streams: vec![Stream::default(); streams],
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

    /// This processor runs from now on.
    pub(crate) fn select(&mut self, processor: u8) {
        self.processor = processor;
    }

    fn lane(&mut self) -> &mut Lane {
        &mut self.lanes[usize::from(self.processor)]
    }

    fn stream_of(&mut self, processor: u8) -> &mut Stream {
        let number = match self.format {
            Format::ChampSim => usize::from(processor),
            Format::Drmemtrace => 0,
        };
        &mut self.streams[number]
    }

    fn stream(&mut self) -> &mut Stream {
        self.stream_of(self.processor)
    }

    /// The run must stop: a batch is full, or all was written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let full = |stream: &Stream| stream.bytes.len() >= BATCH;
        self.streams.iter().any(full) || self.is_over()
    }

    /// All was written that was asked for.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.written >= self.most
    }

    /// Instructions that were written, of all processors.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the bytes since the last call, and a line for each thing that they have no place for: of each file.
    /// `ended`: nothing follows.
    pub fn take(&mut self, symbols: &Symbolizer, ended: bool) -> Vec<(Vec<u8>, Vec<String>)> {
        if ended && self.format == Format::Drmemtrace {
            if let Some((processor, context)) = self.streams[0].last {
                self.entry(entry::THREAD_EXIT, 0, thread(processor, context));
            }
            self.entry(entry::FOOTER, 0, 0);
        }
        let several = self.lanes.len() > 1;
        let take = |stream: &mut Stream| {
            let notes = std::mem::take(&mut stream.notes);
            let line = |(at, processor, note): &(u64, u8, Note)| {
                note.line(*at, several.then_some(*processor), symbols)
            };
            (
                std::mem::take(&mut stream.bytes),
                notes.iter().map(line).collect(),
            )
        };
        self.streams.iter_mut().map(take).collect()
    }

    /// An instruction begins to run, in user mode or not, fetched without translation or not; `completed` were before
    /// it.
    pub(crate) fn begins(
        &mut self,
        what: Instruction,
        (user, real): (bool, bool),
        symbols: &Symbolizer,
        completed: u64,
    ) {
        let (over, context, processor) = (self.is_over(), symbols.context(), self.processor);
        let lane = self.lane();
        lane.accesses.clear();
        lane.lost = 0;
        lane.open = (!over).then(|| Open {
            pc: shown(what.pc, real),
            after: what.pc.wrapping_add(what.size),
            size: what.size,
            branch: what.branch,
            repeats: what.repeats,
            user,
            context,
            completed,
        });
        let last = self.stream().last;
        if !over && last != Some((processor, context)) {
            let program = symbols.program();
            self.note(Note::Switch { context, program });
        }
    }

    /// It accesses memory; `real`: without translation.
    pub(crate) fn accesses(&mut self, ea: u32, bytes: u32, store: bool, real: bool) {
        let lane = self.lane();
        if lane.open.is_none() {
            return;
        }
        if lane.accesses.len() < ACCESSES_MOST {
            lane.accesses.push((shown(ea, real), bytes, store));
        } else {
            lane.lost += 1;
        }
    }

    /// The open instruction uses the page at `address`, which is larger than 4 KB.
    pub(crate) fn uses_large(&mut self, address: u32, bytes: u32) {
        let lane = self.lane();
        let Some(open) = lane.open else { return };
        if lane.large.len() < LARGE_MOST && lane.large.insert((open.context, address)) {
            self.note(Note::Page { address, bytes });
        }
    }

    /// It has run; if it has completed, it is written. `next` runs next.
    pub(crate) fn ends(&mut self, next: u32, completed: u64) {
        let Some(open) = self.lane().open.take() else {
            return;
        };
        if completed == open.completed {
            return;
        }
        let taken = open.branch != Branch::None && next != open.after;
        self.write(&open, taken);
    }

    /// An exception comes before the next instruction, or in the middle of an instruction that repeats, whose accesses
    /// so far are written. What the open instruction accesses from now on is its own only if software raised the
    /// exception.
    pub(crate) fn breaks_off(&mut self) {
        let lane = self.lane();
        if let Some(open) = lane.open.take_if(|open| open.repeats)
            && !lane.accesses.is_empty()
        {
            self.write(&open, false);
        }
    }

    /// Software drops the translation of an address.
    pub(crate) fn invalidates(&mut self, address: u32) {
        self.note(Note::Invalidate { address });
    }

    /// Software drops all translations, or all but those of global pages.
    pub(crate) fn flushes(&mut self, keeps_global: bool) {
        self.note(Note::Flush { keeps_global });
    }

    /// `processor` drops the translation of an address, because another one has broadcast that.
    pub(crate) fn told(&mut self, processor: u8, address: u32) {
        self.note_of(processor, Note::Invalidate { address });
    }

    /// An exception interrupts the code at `pc`.
    pub(crate) fn interrupts(&mut self, name: &'static str, pc: u32) {
        self.note(Note::Exception { name, pc });
        self.lane().interrupted = Some(pc);
    }

    fn note(&mut self, note: Note) {
        self.note_of(self.processor, note);
    }

    fn note_of(&mut self, processor: u8, note: Note) {
        if !self.is_over() {
            let stream = self.stream_of(processor);
            stream.notes.push((stream.written, processor, note));
        }
    }

    fn entry(&mut self, kind: u16, size: u16, value: u64) {
        let bytes = &mut self.stream().bytes;
        bytes.extend(kind.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }

    fn write(&mut self, open: &Open, taken: bool) {
        let lost = std::mem::take(&mut self.lane().lost);
        if lost != 0 {
            self.note(Note::Lost { count: lost });
        }
        match self.format {
            Format::ChampSim => self.write_champsim(open, taken),
            Format::Drmemtrace => self.write_drmemtrace(open),
        }
        let processor = self.processor;
        self.lane().user = Some(open.user);
        let stream = self.stream();
        stream.last = Some((processor, open.context));
        stream.written += 1;
        self.written += 1;
    }

    fn write_drmemtrace(&mut self, open: &Open) {
        let here = (self.processor, open.context);
        if self.stream().last != Some(here) {
            self.entry(entry::THREAD, 0, thread(here.0, here.1));
            // No process has the number 0.
            self.entry(entry::PROCESS, 0, u64::from(open.context) + 1);
            if self.lanes.len() > 1 {
                self.entry(entry::MARKER, entry::PROCESSOR, here.0.into());
            }
        }
        let lane = self.lane();
        let (interrupted, was_user) = (lane.interrupted.take(), lane.user);
        let accesses = std::mem::take(&mut lane.accesses);
        if let Some(pc) = interrupted {
            self.entry(entry::MARKER, entry::KERNEL_EVENT, pc.into());
        } else if was_user == Some(false) && open.user {
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
        for &(ea, bytes, store) in &accesses {
            let kind = if store { entry::WRITE } else { entry::READ };
            self.entry(kind, bytes as u16, ea.into());
        }
        // The room is used again.
        self.lane().accesses = accesses;
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
        let lane = self.lane();
        let of = |store: bool| {
            let accesses = lane.accesses.iter().filter(move |access| access.2 == store);
            accesses.map(|&(ea, ..)| ea).collect::<Vec<u32>>()
        };
        let (loads, stores) = (of(false), of(true));
        let records = loads
            .len()
            .div_ceil(LOADS)
            .max(stores.len().div_ceil(STORES))
            .max(1);
        let bytes = &mut self.stream().bytes;
        for record in 0..records {
            let last = record + 1 == records;
            let branch = last && open.branch != Branch::None;
            bytes.extend(u64::from(open.pc).to_le_bytes());
            bytes.extend([u8::from(branch), u8::from(branch && taken)]);
            let (written, read) = if branch {
                (written, read)
            } else {
                (&[][..], &[][..])
            };
            bytes.extend(padded(written, 2));
            bytes.extend(padded(read, 4));
            for (addresses, room) in [(&stores, STORES), (&loads, LOADS)] {
                for n in record * room..(record + 1) * room {
                    let address = addresses.get(n).copied().unwrap_or(0);
                    bytes.extend(u64::from(address).to_le_bytes());
                }
            }
        }
    }
}

/// The thread of an address space on a processor: no thread has the number 0.
fn thread(processor: u8, context: u32) -> u64 {
    u64::from(processor) << 32 | (u64::from(context) + 1)
}

impl Note {
    /// A line of the side file: what happened on `processor`, if there are several, before the instruction with the
    /// number `at`.
    fn line(&self, at: u64, processor: Option<u8>, symbols: &Symbolizer) -> String {
        let mut value: Value = match self {
            Note::Switch { context, program } => {
                json!({"at": at, "switch": context, "program": symbols.program_name(*program)})
            }
            Note::Invalidate { address } => json!({"at": at, "invalidate": address}),
            Note::Flush {
                keeps_global: false,
            } => json!({"at": at, "flush": true}),
            Note::Flush { keeps_global: true } => {
                json!({"at": at, "flush": true, "keeps": "global"})
            }
            Note::Exception { name, pc } => json!({"at": at, "exception": name, "pc": pc}),
            Note::Page { address, bytes } => json!({"at": at, "page": address, "bytes": bytes}),
            Note::Lost { count } => json!({"at": at, "lost": count}),
        };
        if let Some(processor) = processor {
            value["processor"] = json!(processor);
        }
        value.to_string()
    }
}
