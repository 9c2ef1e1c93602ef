//! What the stub asks of a processor. Each architecture implements this.

use super::registers::Layout;
use crate::computer::Cpu;

/// A processor under GDB's control.
pub trait Debugged: Cpu {
    /// Its registers.
    type Layout: Layout;

    /// It can stop at accesses to an address.
    const WATCHES: bool;

    /// What GDB shows of a processor that is held in reset, and of one that waits for an interrupt.
    const HELD: &'static str;
    const SLEEPS: &'static str;

    /// The values of all registers, by number. Nothing changes.
    fn values(&mut self) -> Vec<u128>;

    /// Writes the registers that differ from `before`, as far as GDB may write them.
    fn set_values(&mut self, values: &[u128], before: &[u128]);

    /// Reads a byte by the processor's translation, without side effects; None if it is not there.
    fn read_byte(&self, address: u64) -> Option<u8>;

    /// Writes a byte by the processor's translation; false if there is no memory.
    fn write_byte(&mut self, address: u64, byte: u8) -> bool;
}
