//! The stack of a PowerPC's running code, for a profile: r1 points to the caller's frame, each frame begins with the
//! address of the next, and the word behind that holds the return address (PowerPC ELF ABI).

use super::mmu::{Access, Mmu};
use super::registers::Register;
use super::{Registers, msr};
use crate::memory::Memory;
use crate::observe::stacks;

/// Registers and memory of the processor.
pub struct Calls<'a> {
    pub registers: &'a Registers,
    pub mmu: &'a Mmu,
    pub memory: &'a Memory,
}

impl Calls<'_> {
    fn word(&self, ea: u32) -> Option<u32> {
        let mode = self.registers.msr;
        let physical = self.mmu.peek(ea, Access::Load, mode, self.memory)?;
        self.memory.uncore.ram.read_u32(physical)
    }
}

impl stacks::Calls for Calls<'_> {
    fn is_user(&self) -> bool {
        self.registers.msr & msr::PR != 0
    }

    fn stack_pointer(&self) -> u32 {
        self.registers.gpr.get(Register::new(1))
    }

    fn link(&self) -> u32 {
        self.registers.lr
    }

    fn back_chain(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let mut frame = stacks::Calls::stack_pointer(self);
        Box::new(std::iter::from_fn(move || {
            let next = self.word(frame)?;
            if next <= frame || !next.is_multiple_of(4) {
                return None;
            }
            frame = next;
            self.word(frame.wrapping_add(4))
                .filter(|&address| address != 0)
        }))
    }
}
