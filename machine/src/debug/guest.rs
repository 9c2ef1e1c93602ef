//! What the stub asks of a processor. Each architecture implements this.

use gdbstub::arch::Arch;

use crate::computer::Cpu;

/// The registers of an architecture, as GDB names them.
pub type File<C> = <<C as Debugged>::Arch as Arch>::Registers;
/// One of them.
pub type Id<C> = <<C as Debugged>::Arch as Arch>::RegId;
/// Its addresses.
pub type Address<C> = <<C as Debugged>::Arch as Arch>::Usize;

/// A processor under GDB's control.
pub trait Debugged: Cpu {
    /// Its registers, and its addresses: of 32 or 64 bits.
    type Arch: Arch<Usize: Into<u64> + TryFrom<u64>, BreakpointKind = usize>;

    /// It can stop at accesses to an address.
    const WATCHES: bool;

    /// What GDB shows of a processor that is held in reset, and of one that waits for an interrupt.
    const HELD: &'static str;
    const SLEEPS: &'static str;

    /// The target description that GDB reads first.
    fn description() -> String;

    fn file(&mut self) -> File<Self>;

    fn set_file(&mut self, file: &File<Self>);

    /// The bytes of one register, as GDB reads them.
    fn register(file: &File<Self>, id: Id<Self>) -> Vec<u8>;

    /// False if it has not so many bytes.
    fn set_register(file: &mut File<Self>, id: Id<Self>, bytes: &[u8]) -> bool;

    /// Reads a byte by the processor's translation, without side effects; None if it is not there.
    fn read_byte(&self, address: u64) -> Option<u8>;

    /// Writes a byte by the processor's translation; false if there is no memory.
    fn write_byte(&mut self, address: u64, byte: u8) -> bool;
}
