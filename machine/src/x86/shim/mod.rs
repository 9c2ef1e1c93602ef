//! Runs a static Linux/i386 program in user mode without a kernel: the host stands in for one, as of a PowerPC
//! ([`crate::shim`]). Pages are mapped by page tables in the machine's RAM, which its MMU walks; what a kernel does
//! takes no time.

mod calls;
mod space;
mod stack;

pub use crate::shim::{Ending, ShimError};

use super::config::Config;
use super::machine::Machine;
use super::registers::{Segment, Table, cr0, eflags, segment};
use super::stop::Stop;
use crate::board::{Board, Console};
use crate::loader::ElfImage;
use crate::machine::Limits;
use crate::observe::symbolize::Symbolizer;
use crate::shim::areas::page_up;
use crate::shim::files::Files;
use crate::shim::stack::BOTTOM;
use space::{DESCRIPTORS, Space};

/// A program on a machine.
pub struct Program {
    machine: Machine,
    space: Space,
    files: Files,
    brk: u32,
    brk_start: u32,
}

/// INT 0x80: a system call.
const SYSTEM_CALL: u8 = 0x80;
const PAGE_FAULT: u8 = 14;

impl Program {
    /// Loads a static executable. `arguments` begins with the program's name.
    ///
    /// # Errors
    /// When the bytes are not a static i386 executable, or RAM is too small for it.
    pub fn new(
        config: &Config,
        elf: &[u8],
        name: &str,
        arguments: &[Vec<u8>],
        environment: &[Vec<u8>],
    ) -> Result<Self, ShimError> {
        let image = ElfImage::parse_i386(elf, name)?;
        let refuse = |message: &str| ShimError::Program {
            file: name.to_owned(),
            message: message.to_owned(),
        };
        let board = Board::pc(config, Console::memory());
        let mut machine = Machine::new(config, board, &[]).map_err(ShimError::Machine)?;
        let processor = machine.processor_mut();
        processor.set_hosted(true);
        processor.observers.symbols = Symbolizer::new(image.symbols.clone());
        let mut space = Space::new(processor);
        let mut end = 0;
        for segment in &image.segments {
            let top = segment.virtual_address.checked_add(segment.size);
            let top = top
                .filter(|&top| top <= BOTTOM)
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
        let stack = program
            .build_stack(&image, elf, arguments, environment)
            .ok_or_else(|| refuse("arguments and environment do not fit the stack"))?;
        program.enter_user(image.entry, stack);
        Ok(program)
    }

    /// Ring 3, flat segments, paging on.
    fn enter_user(&mut self, entry: u32, stack: u32) {
        const CODE: u32 = 0xc0fb;
        const DATA: u32 = 0xc0f3;
        let processor = self.machine.processor_mut();
        let registers = &mut processor.registers;
        registers.cr0 |= cr0::PE | cr0::PG | cr0::NE | cr0::WP;
        registers.cr3 = space::DIRECTORY;
        registers.cpl = 3;
        registers.gpr = [0; 16];
        registers.gpr[4] = stack;
        registers.eip = entry;
        registers.set_eflags(eflags::IF, !0);
        registers.gdtr = Table {
            base: DESCRIPTORS,
            limit: space::DESCRIPTORS_LIMIT,
        };
        // As Linux numbers them.
        registers.segments = [Segment::new(0x7b, 0, u32::MAX, DATA); 8];
        registers.segments[usize::from(segment::CS)] = Segment::new(0x73, 0, u32::MAX, CODE);
        registers.segments[usize::from(segment::FS)] = Segment::default();
        registers.segments[usize::from(segment::GS)] = Segment::default();
        processor.modes_changed();
    }

    /// Keeps what the program prints, instead of printing it.
    pub fn capture(&mut self) {
        self.files.captured = Some(Vec::new());
    }

    /// What the program has printed since [`Program::capture`].
    #[must_use]
    pub fn captured(&self) -> &[u8] {
        self.files.captured.as_deref().unwrap_or_default()
    }

    /// The machine that the program runs on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, to change it.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Runs until the program ends or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> Ending {
        loop {
            let ending = match self.machine.run(limits) {
                Stop::Exception { vector, code } => self.answer(vector, code),
                Stop::Limit => Some(Ending::Limit),
                other => Some(Ending::Killed(format!("stopped: {other:?}"))),
            };
            if let Some(ending) = ending {
                self.files.flush();
                return ending;
            }
        }
    }

    /// Handles an exception as a kernel would.
    fn answer(&mut self, vector: u8, code: Option<u16>) -> Option<Ending> {
        if vector == SYSTEM_CALL {
            return self.system_call();
        }
        let processor = self.machine.processor_mut();
        let address = processor.registers.cr2;
        if vector == PAGE_FAULT && code.is_some() && self.space.fault(processor, address) {
            return None;
        }
        let eip = processor.registers.eip;
        let symbol = processor.observers.symbols.describe(eip, false);
        let name = super::exception::NAMES.get(usize::from(vector));
        let name = name.map_or_else(|| format!("interrupt {vector}"), ToString::to_string);
        let place = match vector {
            PAGE_FAULT => format!(" of address {address:#010x}"),
            _ => String::new(),
        };
        Some(Ending::Killed(format!(
            "{name} exception{place} at {eip:#010x} <{symbol}>"
        )))
    }
}
