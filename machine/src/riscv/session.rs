//! Sessions of RISC-V machines: what they begin with.

use super::loader::{self, is_image};
use super::names::functions;
use super::processor::Processor;
use super::{Config, Machine};
use crate::board::{Console, VIRT_RAM};
use crate::computer::{self, Cpu as _, SessionError};
use crate::loader::{ElfImage, LoadError};

pub use loader::Given;

/// A RISC-V machine, the programs loaded into it, and its observers.
pub type Session = computer::Session<Processor>;

impl computer::Session<Processor> {
    /// Makes a machine with a kernel, or with a program for the bare machine. Messages call it `name`.
    ///
    /// # Errors
    /// When the image is none for this machine, or RAM is too small.
    pub fn with_riscv_kernel(
        config: &Config,
        (kernel, name): (&[u8], &str),
        given: &Given<'_>,
        console: Console,
    ) -> Result<Self, SessionError> {
        let image = if is_image(kernel) {
            None
        } else {
            Some(ElfImage::parse_riscv(kernel, name).map_err(LoadError::or_image)?)
        };
        let mut machine = Machine::build(config, console, &[]).map_err(SessionError::Machine)?;
        loader::load(&mut machine, (kernel, name), image.as_ref(), given)?;
        let observers = machine.processor_mut().observers_mut();
        let symbols = image.map(|image| image.symbols).unwrap_or_default();
        let symbols = match given.firmware {
            // Names of a kernel's physical addresses lie where firmware's are.
            Some((bytes, _)) => symbols.from(VIRT_RAM as u32).with(functions(bytes)),
            None => symbols,
        };
        observers.symbols.set_kernel(symbols);
        if let Some(archive) = given.initramfs {
            observers.symbols.add_archive(archive);
        }
        Ok(Session::of(machine, Vec::new(), Vec::new()))
    }
}
