//! What the stub asks of a processor. Each architecture implements this.

use super::registers::Layout;
use crate::computer::Cpu;
use crate::memory::RamAddress;

/// A processor under GDB's control.
pub trait Debugged: Cpu {
    /// Its registers.
    type Layout: Layout;

    /// It can stop at accesses to an address.
    const WATCHES: bool = false;

    /// What GDB shows of a processor that is held in reset, and of one that waits for an interrupt.
    const HELD: &'static str = "held in reset";
    const SLEEPS: &'static str = "waits for an interrupt";

    /// The values of all registers, by number. Nothing changes.
    fn values(&mut self) -> Vec<u128>;

    /// Writes the registers that differ from `before`, as far as GDB may write them.
    fn set_values(&mut self, values: &[u128], before: &[u128]);

    /// Where an address is in RAM by the processor's translation; nothing changes.
    fn place(&self, address: u64) -> Option<RamAddress>;

    /// GDB is about to write the byte of RAM at `at`, where there may be code.
    fn is_written(&mut self, at: RamAddress);

    /// Reads a byte, without side effects; None if it is not there.
    fn read_byte(&self, address: u64) -> Option<u8> {
        self.memory().uncore.ram.read_u8(self.place(address)?)
    }

    /// Writes a byte; false if there is no RAM.
    fn write_byte(&mut self, address: u64, byte: u8) -> bool {
        let Some(at) = self.place(address) else {
            return false;
        };
        if self.memory().uncore.ram.contains(at, 1) {
            self.is_written(at);
        }
        self.memory_mut().uncore.ram.write_u8(at, byte)
    }
}
