//! A PowerPC that replays a trace.

use super::Exception;
use super::shim::{self, page_sizes};
use crate::account::Plain;
use crate::config::Forward;
use crate::powerpc::mmu::{self, Invalidation, Kind, Translation};
use crate::powerpc::processor::Processor;
use crate::replay::{Access, Replayed};
use crate::shim::Space;

impl Replayed for Processor {
    /// By the segments' VSIDs; on an 8xx and a 405 by the numbers of address spaces.
    const TAGS_SPACES: bool = true;

    fn page_sizes(&self) -> Vec<u32> {
        page_sizes(self).to_vec()
    }

    fn map_ahead(&mut self, space: &mut Space<Self>, ea: u32) -> bool {
        match self.mmu.kind() {
            Kind::Hash32(_) => shim::fault(self, space, ea),
            Kind::Hash64(_) => shim::fault_wide(self, space, ea),
            Kind::Soft6xx(_) | Kind::Mpc8xx(_) | Kind::Ppc405(_) => space.frame(self, ea).is_some(),
        }
    }

    fn access(&mut self, access: Access, ea: u32) -> Result<(), Exception> {
        let kind = match access {
            Access::Fetch => mmu::Access::Fetch,
            Access::Load => mmu::Access::Load,
            Access::Store => mmu::Access::Store,
        };
        let Translation { pa, attributes, .. } = if access == Access::Fetch {
            // A handler finds the address there.
            self.registers.pc = ea;
            self.translate_plainly(ea)?
        } else {
            self.hot.accesses += 1;
            match self.translate_data(ea, kind) {
                Ok(translation) => translation,
                Err(exception) => {
                    // The access is made again, and counts once.
                    self.hot.accesses -= 1;
                    return Err(exception);
                }
            }
        };
        let place = self.memory.places.of(ea, pa);
        let (now, account) = (self.hot.cycles, &mut self.account);
        let memory = &mut self.memory;
        self.hot.cycles += match access {
            Access::Fetch => memory.fetch(place, attributes, now, account),
            Access::Load => memory.load(pa, attributes, now, account),
            Access::Store => memory.store(pa, attributes, now, account),
        };
        Ok(())
    }

    fn complete(&mut self) {
        self.hot.instructions += 1;
        self.hot.cycles += 1;
    }

    fn is_reload(exception: &Exception) -> bool {
        matches!(
            exception,
            Exception::InstructionTlbMiss { .. }
                | Exception::DataLoadTlbMiss { .. }
                | Exception::DataStoreTlbMiss { .. }
                | Exception::ItlbMiss
                | Exception::DtlbMiss
                | Exception::InstructionMiss
                | Exception::DataMiss { .. }
        )
    }

    fn read_table(&mut self, address: u32) {
        let (now, account) = (self.hot.cycles, &mut self.account);
        let stall = (self.memory).walk_read(address, 0, Forward::Line, now, account);
        self.hot.cycles += stall;
        self.account.add_plain(Plain::WalkCycles, stall);
    }

    fn invalidate(&mut self, ea: u32) {
        let reaches = (self.mmu).invalidate(Invalidation::Address(ea), &mut self.account);
        self.forget(reaches);
    }

    fn flush(&mut self) {
        let reaches = (self.mmu).invalidate(Invalidation::All, &mut self.account);
        self.forget(reaches);
    }
}

impl Processor {
    /// Translates a fetch by the MMU alone.
    fn translate_plainly(&mut self, ea: u32) -> Result<Translation, Exception> {
        let mode = self.mode();
        let (memory, account) = (&mut self.memory, &mut self.account);
        let access = mmu::Access::Fetch;
        let result = (self.mmu).translate(ea, access, mode, memory, self.hot.cycles, account);
        let translation = result.map_err(|fault| self.fault(fault, ea))?;
        self.hot.cycles += translation.cycles;
        Ok(translation)
    }
}
