//! What the engine asks of an architecture, answered for PowerPC: decoding, exceptions of accesses, debug registers.

use super::instruction_set::InstructionSet;
use super::{Exception, msr, spr_405};
use crate::engine::Architecture;
use crate::powerpc::mmu::{Fault, fault};
use crate::powerpc::processor::Processor;

impl Architecture for Processor {
    type Decoder = InstructionSet;
    type Exception = Exception;

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.registers.pc
    }

    #[inline(always)]
    fn set_pc(&mut self, ea: u32) {
        self.registers.pc = ea;
    }

    #[inline(always)]
    fn mode(&self) -> u32 {
        self.registers.msr
    }

    fn fault(&mut self, fault: Fault, ea: u32) -> Exception {
        self.hot.cycles += fault.cycles;
        self.forget(fault.gone);
        Exception::of_fault(fault.kind, ea)
    }

    /// IABR.
    fn breaks_in(&self, ea: u32, mask: u32) -> bool {
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

    fn check_fetch(&self, ea: u32) -> Result<(), Exception> {
        if self.breaks_in(ea, 3) {
            Err(Exception::InstructionBreakpoint)
        } else {
            Ok(())
        }
    }

    /// DABR, for an access that does not leave its double word (604 UM 2.1.2.6).
    fn check_access(&self, ea: u32, store: bool) -> Result<(), Exception> {
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

    fn traced(&self) -> u32 {
        self.registers.msr & (msr::SE | msr::BE)
    }

    fn trace_of(&self, ea: u32, word: u32, traced: u32) -> Option<Exception> {
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
