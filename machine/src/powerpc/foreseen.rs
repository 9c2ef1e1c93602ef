//! Loads and stores that miss the data TLB, where the walk ends as nearly all do: its end is known before it begins.

use super::engine::shortcut::{NO_PAGE, Shortcut};
use crate::memory::attribute;
use crate::powerpc::mmu::Kind;
pub(super) use crate::powerpc::mmu::hash32::Foreseen;
use crate::powerpc::processor::Processor;

impl Processor {
    /// The PTE that the walk for the load or the store of `ea` will find, if the page is not in the TLB, nobody
    /// observes the walk, and all goes as it nearly always does. Then the access is to RAM that the enabled D-cache
    /// may hold, that others see, and that is written back. Nothing changes.
    #[inline(always)]
    pub(super) fn foresee(&self, ea: u32, store: bool) -> Option<Foreseen> {
        if !self.hot.foresees || self.registers.dabr & 3 != 0 {
            return None;
        }
        let Kind::Hash32(unit) = self.mmu.kind() else {
            return None;
        };
        let memory = &self.memory;
        let foreseen = unit.foresee(ea, store, self.registers.msr, &memory.uncore.ram)?;
        let attributes = foreseen.attributes();
        if attributes & attribute::INHIBITED != 0 || !memory.data.enabled() {
            return None;
        }
        if store && (attributes & attribute::WRITE_THROUGH != 0 || memory.write_through()) {
            return None;
        }
        if self.several && attributes & attribute::COHERENT == 0 {
            return None;
        }
        let page = foreseen.physical(ea) & !0xfff;
        memory.uncore.ram.contains(page, 4096).then_some(foreseen)
    }

    /// Walks as was foreseen. The page has a shortcut from now on. Returns the physical address of `ea`.
    ///
    /// `make_shortcut` asks more. `foresees` excludes what it asks about: sanitizers, breakpoints and the oracle; and
    /// [`Processor::foresee`] excludes a data breakpoint. The page had no TLB entry, so no shortcut of it is lost.
    #[inline(always)]
    pub(super) fn walk_as_foreseen(&mut self, ea: u32, store: bool, foreseen: Foreseen) -> u32 {
        let Kind::Hash32(unit) = self.mmu.kind_mut() else {
            // No other MMU foresees a walk.
            return foreseen.physical(ea);
        };
        let (memory, now) = (&mut self.memory, self.hot.cycles);
        let (cycles, used) = unit.reload(ea, foreseen, memory, now, &mut self.account);
        self.hot.cycles = now + cycles;
        let (page, physical) = (ea & !0xfff, foreseen.physical(ea));
        let shortcut = Shortcut {
            load: page,
            store: if store { page } else { NO_PAGE },
            delta: physical.wrapping_sub(ea),
            used,
            lines: 0,
        };
        (self.data_shortcuts).loaded(self.data_mode, shortcut, memory.data.shortcuts());
        physical
    }

    /// True if walks for data accesses may be foreseen in this turn: the MMU walks in the simplest way, and nobody
    /// wants to know of an access whose page the TLB does not hold, nor of its walk.
    pub(crate) fn foresees(&self) -> bool {
        let simple = matches!(self.mmu.kind(), Kind::Hash32(unit) if unit.is_simple());
        simple
            && self.account.tlb.unheard
            && self.account.tlb.walk.is_none()
            && self.observers.sanitizers.is_none()
            && self.running.breakpoints.is_empty()
            && !self.running.oracle
            && !self.following
            && !self.config.tlb.extreme.ahead
    }
}
