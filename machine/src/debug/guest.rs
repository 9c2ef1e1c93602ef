//! What the stub needs of a machine. Each architecture has one of these.

use gdbstub::arch::Arch;

use crate::board::Instant;
use crate::computer::{Breakpoints, Limits};

/// Why a run ended, as far as GDB hears of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    Limit,
    /// The guest has powered off with this status.
    Exited(u8),
    Breakpoint,
    Watchpoint {
        address: u32,
        write: bool,
    },
    /// The guest cannot go on.
    Dead,
}

/// A machine under GDB's control. Processors have numbers.
pub trait Guest {
    type Arch: Arch<Usize = u32, BreakpointKind = usize>;
    type Stop: Clone;

    /// It can stop at accesses to an address.
    const WATCHES: bool;

    /// The target description that GDB reads first.
    fn description(&self) -> String;

    /// Runs; with `alone` only that processor, while it can go on.
    fn run(&mut self, limits: Limits, alone: Option<usize>) -> Self::Stop;

    fn halt(stop: &Self::Stop) -> Halt;

    /// Its limit was reached.
    fn limit() -> Self::Stop;

    /// All processors in sum, and which one stopped the last run.
    fn instant(&self) -> Instant;

    fn processors(&self) -> usize;

    /// Instructions that this processor has completed.
    fn completed(&self, number: usize) -> u64;

    /// What a processor does that executes nothing, as GDB shows it.
    fn state(&self, number: usize) -> &'static str;

    fn registers(&mut self, number: usize) -> <Self::Arch as Arch>::Registers;

    fn set_registers(&mut self, number: usize, registers: &<Self::Arch as Arch>::Registers);

    /// The bytes of one register, as GDB reads them.
    fn register(
        registers: &<Self::Arch as Arch>::Registers,
        id: <Self::Arch as Arch>::RegId,
    ) -> Vec<u8>;

    /// False if it has not so many bytes.
    fn set_register(
        registers: &mut <Self::Arch as Arch>::Registers,
        id: <Self::Arch as Arch>::RegId,
        bytes: &[u8],
    ) -> bool;

    /// Reads a byte by the processor's translation, without side effects; None if it is not there.
    fn peek(&mut self, number: usize, address: u32) -> Option<u8>;

    /// Writes a byte by the processor's translation; false if there is no memory.
    fn poke(&mut self, number: usize, address: u32, byte: u8) -> bool;

    /// Reads bytes up to the first that is not there; returns how many.
    fn read(&mut self, number: usize, start: u32, data: &mut [u8]) -> usize {
        (start..=u32::MAX)
            .zip(data)
            .map_while(|(address, place)| {
                *place = self.peek(number, address)?;
                Some(())
            })
            .count()
    }

    /// Writes bytes; false if there is no memory for one of them.
    fn write(&mut self, number: usize, start: u32, data: &[u8]) -> bool {
        (start..=u32::MAX)
            .zip(data)
            .all(|(address, &byte)| self.poke(number, address, byte))
    }

    /// Changes the breakpoints and watchpoints of each processor in the same way.
    fn breakpoints<T>(&mut self, change: impl FnMut(&mut Breakpoints) -> T) -> T;
}
