//! Runs a static Linux/PPC32 program in user mode without a kernel: the host stands in for one.
//!
//! Translation, caches and time of the user's code are the machine's: pages are mapped through the hash table or the
//! software reload like any kernel's. A kernel's work costs nothing: a system call, a page fault and a 603's reload
//! take no cycles beyond their instruction. The shim serves to test the machine with real programs and to measure its
//! speed. To learn what a program costs on a system, run it on the kernel.

pub(crate) mod areas;
pub(crate) mod calls;
pub(crate) mod files;
mod space;
pub(crate) mod stack;

use std::fmt;

use crate::board::Console;
use crate::config::MachineConfig;
use crate::loader::{Boot, ElfImage, LoadError};
use crate::machine::{Limits, Machine, Stop};
use crate::observe::symbolize::Symbolizer;
use crate::powerpc::registers::Register;
use crate::powerpc::{Exception, msr};

use files::Files;
use space::Space;

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

/// A program on a machine.
pub struct Program {
    machine: Machine,
    space: Space,
    files: Files,
    brk: u32,
    brk_start: u32,
}

/// HID0\[ICE, DCE\].
const CACHES_ON: u32 = 0xc000;

impl Program {
    /// Loads a static executable. `arguments` begins with the program's name.
    ///
    /// # Errors
    /// When the bytes are not a static big-endian PowerPC executable, or RAM is too small for it.
    pub fn new(
        config: MachineConfig,
        elf: &[u8],
        name: &str,
        arguments: &[Vec<u8>],
        environment: &[Vec<u8>],
    ) -> Result<Self, ShimError> {
        let image = ElfImage::parse(elf, name)?;
        let refuse = |message: &str| ShimError::Program {
            file: name.to_owned(),
            message: message.to_owned(),
        };
        let mut machine = Machine::new(config, &Boot::default(), Console::memory())
            .map_err(ShimError::Machine)?;
        machine.set_hosted(true);
        let processor = machine.processor_mut();
        processor.observers.symbols = Symbolizer::new(image.symbols.clone());
        processor.memory.write_hid0(CACHES_ON);
        let mut space = Space::new(processor);
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
            brk: space::page_up(end),
            brk_start: space::page_up(end),
        };
        let pointer = program
            .build_stack(&image, elf, arguments, environment)
            .ok_or_else(|| refuse("arguments and environment do not fit the stack"))?;
        let registers = &mut program.machine.processor_mut().registers;
        registers.gpr.set(Register::new(1), pointer);
        registers.pc = image.entry;
        registers.msr = msr::PR | msr::FP | msr::ME | msr::IR | msr::DR;
        program.machine.processor_mut().state_changed();
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
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// As [`Program::machine`], to change it.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Runs until the program ends or a limit is reached; cycles and instructions count from reset.
    pub fn run(&mut self, limits: Limits) -> Ending {
        loop {
            let ending = match self.machine.run(limits) {
                Stop::Exception(exception) => self.answer(exception),
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
    fn answer(&mut self, exception: Exception) -> Option<Ending> {
        let pc = self.machine.processor().registers.pc;
        if exception == Exception::SystemCall {
            return self.system_call();
        }
        if matches!(exception, Exception::Program { .. }) && self.emulate(pc) {
            return None;
        }
        let (processor, space) = (self.machine.processor_mut(), &mut self.space);
        let mapped = match exception {
            Exception::DataStorage { address, .. } if processor.registers.wide.there => {
                space.fault_wide(processor, address)
            }
            Exception::InstructionStorage { .. } if processor.registers.wide.there => {
                space.fault_wide(processor, pc)
            }
            Exception::DataStorage { address, .. } => space.fault(processor, address),
            Exception::InstructionStorage { .. } => space.fault(processor, pc),
            Exception::InstructionTlbMiss { srr1 } => space.reload(processor, srr1, true),
            Exception::DataLoadTlbMiss { srr1 } | Exception::DataStoreTlbMiss { srr1 } => {
                space.reload(processor, srr1, false)
            }
            Exception::ItlbMiss => space.load(processor, true),
            Exception::DtlbMiss => space.load(processor, false),
            Exception::InstructionMiss => space.load_unified(processor, pc),
            Exception::DataMiss { address, .. } => space.load_unified(processor, address),
            _ => false,
        };
        if mapped {
            return None;
        }
        // Only the program is loaded, so its symbols take the place of the kernel's.
        let symbol = self
            .machine
            .processor()
            .observers
            .symbols
            .describe(pc, false);
        let address = match exception {
            Exception::DataStorage { address, .. }
            | Exception::DataMiss { address, .. }
            | Exception::Alignment { address } => {
                format!(" of address {address:#010x}")
            }
            _ => String::new(),
        };
        Some(Ending::Killed(format!(
            "{} exception{address} at {pc:#010x} <{symbol}>",
            exception.vector().name()
        )))
    }

    /// `mfpvr`, which Linux answers for user programs.
    fn emulate(&mut self, pc: u32) -> bool {
        const MFPVR: u32 = 0x7c1f_42a6;
        const TARGET: u32 = 0x03e0_0000;
        let mut word = [0; 4];
        if !self.space.read(self.machine.processor_mut(), pc, &mut word) {
            return false;
        }
        let word = u32::from_be_bytes(word);
        if word & !TARGET != MFPVR {
            return false;
        }
        let pvr = self.machine.config().core.pvr;
        let registers = &mut self.machine.processor_mut().registers;
        registers.gpr.set(Register::new((word & TARGET) >> 21), pvr);
        registers.pc = pc.wrapping_add(4);
        true
    }
}
