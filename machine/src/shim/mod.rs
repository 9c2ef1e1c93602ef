//! Runs a static Linux program in user mode without a kernel: the host stands in for one. A program of 64 bits has its
//! memory below 4 GB, too.
//!
//! Translation, caches and time of the user's code are the machine's: pages are mapped by the tables or by the software
//! reload that any kernel would use. A kernel's work costs nothing: a system call, a page fault and a reload of the TLB
//! take no cycles beyond their instruction. The shim serves to test the machine with real programs and to measure its
//! speed. To learn what a program costs on a system, run it on the kernel.
//!
//! Each architecture implements [`Hosted`] for its processor.

pub(crate) mod areas;
pub(crate) mod calls;
mod files;
pub(crate) mod space;
pub(crate) mod stack;

use std::fmt;

use crate::board::Console;
use crate::computer::{Computer, Guest, Limits, Stop};
use crate::loader::LoadError;

use areas::page_up;
pub(crate) use calls::{Call, StatusLayout};
use files::Files;
pub(crate) use space::Space;

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A shape that the machine file's checks let through and the hardware models do not.
    #[error("machine: {0}")]
    Machine(String),
    #[error("{file}: {message}")]
    Program { file: String, message: String },
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It called exit with this status.
    Exited(u8),
    /// A limit was reached.
    Limit,
    /// It did something for which Linux would kill it, or used something that the shim does not have; in words.
    Killed(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(status) => write!(f, "exit {status}"),
            Ending::Limit => f.write_str("a limit was reached"),
            Ending::Killed(reason) => f.write_str(reason),
        }
    }
}

/// What a program asked for by an exception.
pub enum Asked {
    /// A system call.
    Call,
    /// Nothing more: the exception has been handled as a kernel would.
    Done,
    /// It cannot have what it did; with the address that it accessed, if it is that.
    Wrong(Option<u32>),
}

/// What the shim asks of a processor.
pub trait Hosted: Guest {
    /// Words in memory begin with their most significant byte.
    const BIG_ENDIAN: bool;
    /// Words and pointers have 64 bits.
    const WIDE: bool = false;
    /// The machine in uname's answer.
    const MACHINE: &'static str;
    /// struct stat64.
    const STATUS: StatusLayout;
    /// What the mapping of pages remembers.
    type Pages;

    /// Makes the processor ready for a program: caches on, and translation without a page. Also gives the first frame
    /// that programs get.
    fn pages(&mut self) -> (Self::Pages, u32);

    /// Maps `page` to `frame`, where that is not done when an access misses it. False: RAM is full.
    fn map(&mut self, space: &mut Space<Self>, page: u32, frame: u32) -> bool {
        let _ = (space, page, frame);
        true
    }

    /// Maps a page of `size` bytes, more than 4 KB, where that is not done when an access misses it. False: the
    /// processor has no such page.
    fn map_large(&mut self, space: &mut Space<Self>, page: u32, frame: u32, size: u32) -> bool {
        let _ = (space, page, frame, size);
        false
    }

    /// Removes all that maps `page`.
    fn unmap(&mut self, page: u32);

    /// The host has written to the frame.
    fn frame_written(&mut self, frame: u32) {
        let _ = frame;
    }

    /// Goes to user mode at `entry`, with this stack pointer.
    fn enter_user(&mut self, entry: u32, stack: u32);

    /// Handles an exception as a kernel would.
    fn answer(&mut self, space: &mut Space<Self>, exception: &Self::Exception) -> Asked;

    /// Number and arguments of a system call.
    fn call(&self) -> (u32, [u32; 6]);

    /// Which call this number is of.
    fn known(number: u32) -> Option<Call>;

    /// Returns from the call with a value or an error number.
    fn give(&mut self, result: Result<u32, u32>);

    /// Entries of the auxiliary vector that only this architecture has.
    fn auxiliary(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// The descriptor of a thread's area (set_thread_area), if the architecture has such.
    fn set_thread_area(&mut self, entry: u32, base: u32, limit: u32, flags: u32) -> Option<u32> {
        let _ = (entry, base, limit, flags);
        None
    }
}

/// A program on a machine.
pub struct Program<C: Hosted> {
    machine: Computer<C>,
    space: Space<C>,
    files: Files,
    brk: u32,
    brk_start: u32,
}

impl<C: Hosted> Program<C> {
    /// Loads a static executable. `arguments` begins with the program's name.
    ///
    /// # Errors
    /// When the bytes are not a static executable for the machine, or RAM is too small for it.
    pub fn new(
        config: &C::Config,
        elf: &[u8],
        name: &str,
        arguments: &[Vec<u8>],
        environment: &[Vec<u8>],
    ) -> Result<Self, ShimError> {
        let image = C::executable(elf, name)?;
        let refuse = |message: &str| ShimError::Program {
            file: name.to_owned(),
            message: message.to_owned(),
        };
        let machine = Computer::<C>::build(config, Console::memory(), &[]);
        let mut machine = machine.map_err(ShimError::Machine)?;
        machine.set_hosted(true);
        let processor = machine.processor_mut();
        let symbols = &mut processor.observers_mut().symbols;
        symbols.set_kernel(image.symbols.clone());
        let (pages, first) = processor.pages();
        let mut space = Space::new(pages, first);
        let mut end = 0;
        for segment in &image.segments {
            let top = segment.virtual_address.checked_add(segment.size);
            let top = top
                .filter(|&top| top <= stack::BOTTOM)
                .ok_or_else(|| refuse("a segment lies where the stack goes"))?;
            space.add_area(segment.virtual_address, top);
            if !space.write(processor, segment.virtual_address, &segment.data) {
                return Err(refuse("does not fit RAM (memory.size)"));
            }
            end = end.max(top);
        }
        let mut program = Program {
            machine,
            space,
            files: Files::default(),
            brk: page_up(end),
            brk_start: page_up(end),
        };
        let pointer = program
            .build_stack(&image, elf, arguments, environment)
            .ok_or_else(|| refuse("arguments and environment do not fit the stack"))?;
        let processor = program.machine.processor_mut();
        processor.enter_user(image.entry, pointer);
        processor.state_changed();
        Ok(program)
    }

    /// Keeps what the program prints, instead of handing it to the host's standard streams.
    pub fn capture(&mut self) {
        self.files.captured = Some(Vec::new());
    }

    /// What the program has printed since [`Program::capture`].
    #[must_use]
    pub fn printed(&self) -> &[u8] {
        self.files.captured.as_deref().unwrap_or_default()
    }

    /// The machine that it runs on.
    #[must_use]
    pub fn machine(&self) -> &Computer<C> {
        &self.machine
    }

    /// As [`Program::machine`], to change it.
    pub fn machine_mut(&mut self) -> &mut Computer<C> {
        &mut self.machine
    }

    /// Runs until the program ends or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> Ending {
        loop {
            let ending = match self.machine.run(limits) {
                Stop::Exception(exception) => self.answer(&exception),
                Stop::Limit => Some(Ending::Limit),
                other => Some(Ending::Killed(format!("stopped: {other:?}"))),
            };
            if let Some(ending) = ending {
                self.files.flush();
                return ending;
            }
        }
    }

    fn answer(&mut self, exception: &C::Exception) -> Option<Ending> {
        let processor = self.machine.processor_mut();
        let place = match processor.answer(&mut self.space, exception) {
            Asked::Call => return self.system_call(),
            Asked::Done => return None,
            Asked::Wrong(Some(address)) => format!(" of address {address:#010x}"),
            Asked::Wrong(None) => String::new(),
        };
        let name = C::exception_name(exception);
        let pc = processor.next_instruction();
        // Only the program is loaded, so its symbols take the place of the kernel's.
        let symbol = processor.observers().symbols.describe(pc as u32, false);
        Some(Ending::Killed(format!(
            "{name} exception{place} at {pc:#010x} <{symbol}>"
        )))
    }

    /// The image's own words, in the order of its architecture.
    fn bytes(words: &[u32]) -> Vec<u8> {
        let bytes = |word: &u32| {
            if C::BIG_ENDIAN {
                word.to_be_bytes()
            } else {
                word.to_le_bytes()
            }
        };
        words.iter().flat_map(bytes).collect()
    }

    /// The image's own words, or pairs of them where words have 64 bits.
    fn long_words(words: &[u32]) -> Vec<u8> {
        if !C::WIDE {
            return Self::bytes(words);
        }
        let pairs = words
            .iter()
            .flat_map(|&word| if C::BIG_ENDIAN { [0, word] } else { [word, 0] });
        Self::bytes(&pairs.collect::<Vec<u32>>())
    }

    fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
        std::array::from_fn(|n| {
            let at = 4 * n;
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            if C::BIG_ENDIAN {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        })
    }
}
