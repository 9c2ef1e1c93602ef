//! What the engine asks of the rest of a processor: where it runs, exceptions of accesses, debug registers.

use super::{Exception, msr, spr_405};
use crate::powerpc::mmu::{Fault, fault};
use crate::powerpc::processor::Processor;

impl Processor {
    /// Address of the next instruction, while none is running.
    #[inline(always)]
    pub(crate) fn pc(&self) -> u32 {
        self.registers.pc
    }

    /// The next instruction is at `ea`.
    #[inline(always)]
    pub(crate) fn set_pc(&mut self, ea: u32) {
        self.registers.pc = ea;
    }

    /// The processor's mode, as the MMU needs it.
    #[inline(always)]
    pub(crate) fn mode(&self) -> u32 {
        self.registers.msr
    }

    /// The exception that a failed translation of `ea` raises.
    pub(crate) fn fault(&mut self, fault: Fault, ea: u32) -> Exception {
        self.hot.cycles += fault.cycles;
        self.forget(fault.gone);
        Exception::of_fault(fault.kind, ea)
    }

    /// True if IABR has a breakpoint on an instruction in the block of `mask` + 1 bytes around `ea`.
    pub(crate) fn breaks_in(&self, ea: u32, mask: u32) -> bool {
        const ENABLED: u32 = 2;
        const TRANSLATED: u32 = 1;
        let iabr = self.registers.iabr;
        if iabr & ENABLED == 0 || (iabr ^ ea) & !(mask | 3) != 0 {
            return false;
        }
        let translated = self.registers.msr & msr::IR != 0;
        !self.config.core.kind.core().breakpoint_translated
            || (iabr & TRANSLATED != 0) == translated
    }

    /// The exception that a breakpoint raises for the instruction at `ea`.
    pub(crate) fn check_fetch(&self, ea: u32) -> Result<(), Exception> {
        if self.breaks_in(ea, 3) {
            Err(Exception::InstructionBreakpoint)
        } else {
            Ok(())
        }
    }

    /// The exception that DABR raises for an access that does not leave its double word (604 UM 2.1.2.6).
    #[inline(always)]
    pub(crate) fn check_access(&self, ea: u32, store: bool) -> Result<(), Exception> {
        const TRANSLATED: u32 = 4;
        const MATCH: u32 = 0x0040_0000;
        let dabr = self.registers.dabr;
        let (bit, dsisr) = if store {
            (2, MATCH | fault::bits::STORE)
        } else {
            (1, MATCH)
        };
        let translated = self.registers.msr & msr::DR != 0;
        if dabr & bit == 0 || (dabr ^ ea) & !7 != 0 || (dabr & TRANSLATED != 0) != translated {
            return Ok(());
        }
        Err(Exception::DataStorage { address: ea, dsisr })
    }

    /// How the next instruction is traced, for [`Processor::trace_of`]; 0 if it is not.
    pub(crate) fn traced(&self) -> u32 {
        self.registers.msr & (msr::SE | msr::BE)
    }

    /// The trace exception after the instruction `word` at `ea`, which has run, if there is one.
    pub(crate) fn trace_of(&self, ea: u32, word: u32, traced: u32) -> Option<Exception> {
        // rfi and rfci.
        const RETURNS: [u32; 2] = [0x4c00_0064, 0x4c00_0066];
        if self.registers.embedded.is_some() {
            let stops = traced != 0 && spr_405::stops_at_each_instruction(&self.registers);
            return (stops && !RETURNS.contains(&(word & 0xfc00_07fe)))
                .then_some(Exception::Completed);
        }
        let jumped = self.registers.pc != ea.wrapping_add(4);
        let branch = matches!(word >> 26, 16 | 18) || word >> 26 == 19 && jumped;
        // rfi, rfid, sc and what raised an exception are not traced (PEM 6.4.12).
        let is_rfi = matches!(word & 0xfc00_07fe, 0x4c00_0064 | 0x4c00_0024);
        let single = traced & msr::SE != 0;
        (!is_rfi && (single || traced != 0 && branch)).then_some(Exception::Trace)
    }
}
