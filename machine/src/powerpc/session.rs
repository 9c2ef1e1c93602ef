//! Sessions of PowerPC machines: what they begin with, and the words for what happens.
//!
//! ```no_run
//! use std::path::Path;
//! use pagewalk_machine::board::Console;
//! use pagewalk_machine::config::{MachineConfig, Override};
//! use pagewalk_machine::computer::Limits;
//! use pagewalk_machine::powerpc::session::Session;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let smaller = Override::parse("tlb.data.entries=32")?;
//! let config = MachineConfig::from_file(Path::new("machines/ppc604-185.toml"), &[smaller])?;
//! let kernel = std::fs::read("vmlinux")?;
//! let mut session =
//!     Session::with_kernel(config, &kernel, "vmlinux", None, "quiet", Console::memory())?;
//! session.record_profile(None);
//! let stop = session.run(Limits::NONE);
//! println!("{}", session.explain(&stop));
//! for (name, value) in session.counters() {
//!     println!("{name} {value}");
//! }
//! # Ok(())
//! # }
//! ```

use crate::account::Names;
use crate::board::Console;
use crate::computer::{self, Cpu as _, EXCEPTIONS_MOST, Guest};
use crate::config::{BoardKind, MachineConfig};
use crate::loader::{ElfImage, LoadError};
use crate::observe::causes::causes_by_symbols;
use crate::observe::sanitizers::SanitizerSet;
use crate::observe::silence;
use crate::observe::symbolize::Symbolizer;
use crate::powerpc::loader::{Boot, Given};
use crate::powerpc::machine::{Fatal, Machine};
use crate::powerpc::processor::Processor;
use crate::powerpc::{Exception, NAMES, Vector, msr};

pub use crate::computer::SessionError;

/// A PowerPC machine, the programs loaded into it, and its observers.
pub type Session = computer::Session<Processor>;

impl computer::Session<Processor> {
    /// Makes a machine with the memory contents that `boot` places; [`Session::run`] begins at the entry of `boot`.
    ///
    /// # Errors
    /// When the hardware models refuse a shape.
    pub fn new(config: MachineConfig, boot: &Boot, console: Console) -> Result<Self, SessionError> {
        let mut machine = Machine::new(config, boot, console).map_err(SessionError::Machine)?;
        let symbols = boot.symbols.clone().with_labels(&vectors(machine.config()));
        machine
            .processor_mut()
            .observers
            .symbols
            .set_kernel(symbols);
        Ok(Session {
            machine,
            causes: boot.causes.clone(),
            notes: boot.notes.clone(),
        })
    }

    /// Makes a machine with a kernel or a bare-metal program, its initramfs and its command line. Messages call the
    /// kernel `name`. The symbols of the programs in the initramfs become known.
    ///
    /// # Errors
    /// When the image is not a static big-endian PowerPC executable, or RAM is too small.
    pub fn with_kernel(
        config: MachineConfig,
        kernel: &[u8],
        name: &str,
        initramfs: Option<&[u8]>,
        arguments: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        let given = Given {
            initramfs,
            arguments,
            ..Given::default()
        };
        Self::with_causes(config, (kernel, name), None, &given, console)
    }

    /// As [`Session::with_kernel`], with all that a kernel can be given. `causes` is the text and the name of a file
    /// that gives the causes of the kernel's code.
    ///
    /// # Errors
    /// As [`Session::with_kernel`] and [`causes_by_symbols`].
    pub fn with_causes(
        config: MachineConfig,
        (kernel, name): (&[u8], &str),
        causes: Option<(&str, &str)>,
        given: &Given,
        console: Console,
    ) -> Result<Self, SessionError> {
        let mut image = ElfImage::parse(kernel, name)?;
        if let Some((text, file)) = causes {
            let line = config.cache.instruction.line;
            image.causes = causes_by_symbols(text, file, &image, line)?;
        }
        let boot = Boot::kernel(&config, &image, given)?;
        let mut session = Self::new(config, &boot, console)?;
        if let Some(archive) = given.initramfs {
            session
                .machine
                .processor_mut()
                .observers
                .symbols
                .add_archive(archive);
        }
        Ok(session)
    }

    /// Makes a machine with a raw ROM image; it begins at the reset vector, 0xfff00100.
    ///
    /// # Errors
    /// When the image is empty or larger than the ROM.
    pub fn with_rom(
        config: MachineConfig,
        image: &[u8],
        name: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        Self::new(config, &Boot::rom(image, name)?, console)
    }
}

impl Guest for Processor {
    const NAME: &'static str = "PowerPC";
    const FOLLOWS_CALLS: bool = true;
    /// They are told of lines of the cache.
    const ENTERS_BLOCKS: bool = false;
    const RECORDS: bool = true;
    const NAMES: Names = NAMES;

    fn executable(elf: &[u8], name: &str) -> Result<ElfImage, LoadError> {
        ElfImage::parse(elf, name)
    }

    fn sanitizers(&self, set: SanitizerSet) -> Result<SanitizerSet, String> {
        if set.stale() && !self.mmu.is_known() {
            return Err(
                "the translation sanitizer does not know the second-level TLB: leave out the keys tlb.l2".to_owned(),
            );
        }
        Ok(set)
    }

    fn next_instruction(&self) -> u64 {
        self.registers.pc.into()
    }

    fn is_user(&self) -> bool {
        self.registers.msr & msr::PR != 0
    }

    fn registers(&self, symbols: &Symbolizer) -> String {
        let registers = &self.registers;
        let mut text = format!(
            "pc {:08x} msr {:08x} cr {:08x} xer {:08x} lr {:08x} ctr {:08x}\n\
             srr0 {:08x} srr1 {:08x} dar {:08x} dsisr {:08x} lr in <{}>\n",
            registers.pc,
            registers.msr,
            registers.cr.word(),
            registers.xer.word(),
            registers.lr,
            registers.ctr,
            registers.srr0,
            registers.srr1,
            registers.dar,
            registers.dsisr,
            symbols.describe(registers.lr, registers.msr & msr::PR != 0),
        );
        for (row, values) in registers.gpr.all().chunks(8).enumerate() {
            text += &format!("r{:<3}", 8 * row);
            for value in values {
                text += &format!(" {value:08x}");
            }
            text.push('\n');
        }
        text
    }

    fn exception_name(exception: &Exception) -> &'static str {
        exception.vector().name()
    }

    fn explain(&self, fatal: &Fatal, place: &dyn Fn(u64) -> String) -> String {
        match fatal {
            Fatal::NoHandler { vector, pc } => format!(
                "exception {} (vector {:#06x}), with SRR0 at {}, has no handler: there is no instruction that could run at {pc:#010x}",
                vector.name(),
                vector.offset(),
                place(self.registers.srr0.into()),
            ),
            Fatal::Stuck { vector, pc } => format!(
                "no instruction completes: {EXCEPTIONS_MOST} exceptions came in a row, and another {} exception at {}",
                vector.name(),
                place((*pc).into())
            ),
            Fatal::Checkstop { pc, physical } => format!(
                "checkstop at {}: no device answers physical address {physical:#010x}, and MSR[ME] is clear",
                place((*pc).into())
            ),
            Fatal::LittleEndian { pc } => {
                format!(
                    "little-endian mode was entered at {}; this machine runs big-endian only",
                    place((*pc).into())
                )
            }
            Fatal::Asleep { pc } => format!(
                "asleep before {}: the processor saves power (MSR[POW]), and no interrupt can wake it",
                place((*pc).into())
            ),
            Fatal::Unanswered { pc, error } => format!("{error} at {}", place((*pc).into())),
            Fatal::Sanitizer { pc, report } => {
                format!("sanitizer at {}: {report}", place((*pc).into()))
            }
        }
    }

    fn unheard(&self, symbols: &Symbolizer) -> String {
        let board = self.config.board.kind;
        if board == BoardKind::Prep {
            return String::new();
        }
        let node = board.tree().map(|tree| tree.stdout.1);
        let ram = self.memory().uncore.ram.bytes();
        silence::explain(node, symbols.kernel(), ram)
    }
}

/// Names for the exception vectors. A kernel that copies its handlers there has no symbols for them.
fn vectors(config: &MachineConfig) -> Vec<(u32, String)> {
    let core = config.core.kind.core();
    let own = |vector: &Vector| vector.exists(core.family);
    (Vector::ALL.into_iter().filter(own))
        .map(|vector| (vector.offset(), format!("vector {}", vector.name())))
        .collect()
}
