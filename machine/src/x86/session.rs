//! Sessions of x86 machines: what they begin with, and the words for what happens.

use super::exception::{self, COUNTERS};
use super::processor::Processor;
use super::registers::segment;
use super::stop::{Fatal, Raised};
use super::{Config, Machine, linux, multiboot};
use crate::account::Names;
use crate::board::Console;
use crate::computer::{self, Guest, SessionError};
use crate::loader::{ElfImage, LoadError};
use crate::observe::causes::causes_by_symbols;
use crate::observe::silence;
use crate::observe::symbolize::Symbolizer;

/// An x86 machine, the programs loaded into it, and its observers.
pub type Session = computer::Session<Processor>;

impl computer::Session<Processor> {
    /// Makes a machine with a Multiboot kernel or a Linux, its initramfs and its command line. Messages call the
    /// kernel `name`. `causes` is the text and the name of a file that gives the causes of the kernel's code.
    ///
    /// # Errors
    /// When the image is not a static i386 executable with a Multiboot header or of Linux, or RAM is too small.
    pub fn with_kernel(
        config: &Config,
        (kernel, name): (&[u8], &str),
        causes: Option<(&str, &str)>,
        initramfs: Option<&[u8]>,
        arguments: &str,
        console: Console,
    ) -> Result<Self, SessionError> {
        let mut image = ElfImage::parse_i386(kernel, name)?;
        if let Some((text, file)) = causes {
            image.causes = causes_by_symbols(text, file, &image, config.line())?;
        }
        let built = Machine::build(config, console, &image.causes);
        let mut machine = built.map_err(SessionError::Machine)?;
        if linux::is_linux(&image) && !multiboot::has_header(kernel) {
            linux::load(&mut machine, &image, initramfs, arguments)?;
        } else {
            multiboot::load(&mut machine, &image, kernel, initramfs, arguments)?;
        }
        let observers = &mut machine.processor_mut().observers;
        observers.symbols.set_kernel(image.symbols);
        if let Some(archive) = initramfs {
            observers.symbols.add_archive(archive);
        }
        Ok(Session::of(machine, image.causes, Vec::new()))
    }
}

impl Guest for Processor {
    const NAME: &'static str = "x86";
    const NAMES: Names = COUNTERS;
    const RECORDS: bool = true;

    fn executable(elf: &[u8], name: &str) -> Result<ElfImage, LoadError> {
        ElfImage::parse_i386(elf, name)
    }

    fn next_instruction(&self) -> u64 {
        self.registers.eip.into()
    }

    fn is_user(&self) -> bool {
        self.registers.cpl == 3
    }

    fn registers(&self, _symbols: &Symbolizer) -> String {
        registers_of(self)
    }

    fn exception_name(raised: &Raised) -> &'static str {
        exception::name(raised.vector)
    }

    fn explain(&self, fatal: &Fatal, place: &dyn Fn(u64) -> String) -> String {
        format!("{fatal}, at {}", place(self.registers.eip.into()))
    }

    fn unheard(&self, _symbols: &Symbolizer) -> String {
        silence::explain_pc(self.memory.uncore.ram.bytes())
    }
}

fn registers_of(processor: &Processor) -> String {
    const NAMES: [&str; 8] = ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"];
    const SEGMENTS: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];
    let registers = &processor.registers;
    let mut text = format!(
        "eip {:08x} eflags {:08x} cpl {} cr0 {:08x} cr2 {:08x} cr3 {:08x} cr4 {:08x}\n",
        registers.eip,
        registers.eflags(),
        registers.cpl,
        registers.cr0,
        registers.cr2,
        registers.cr3,
        registers.cr4
    );
    for (name, value) in NAMES.iter().zip(registers.gpr) {
        text += &format!("{name} {value:08x} ");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (number, name) in (segment::ES..).zip(SEGMENTS) {
        let held = registers.segment(number);
        text += &format!(
            "{name} {:04x} base {:08x} limit {:08x}\n",
            held.selector, held.base, held.limit
        );
    }
    let (gdt, idt) = (registers.gdtr, registers.idtr);
    text += &format!(
        "gdt {:08x}+{:04x} idt {:08x}+{:04x} tr {:04x} base {:08x}\n",
        gdt.base, gdt.limit, idt.base, idt.limit, registers.tr.selector, registers.tr.base
    );
    text
}
