//! Walks ahead of the program (`tlb.extreme.ahead`).

use super::mmu::{Access, Translation};
use super::processor::Processor;

impl Processor {
    /// An access to `ea` was translated. If a walk has loaded its entry, the next page's entry is loaded, too.
    #[inline(always)]
    pub(crate) fn heed_walk(&mut self, ea: u32, access: Access, translation: &Translation) {
        if translation.cycles != 0 && self.config.tlb.extreme.ahead {
            self.walk_ahead(ea, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn walk_ahead(&mut self, ea: u32, access: Access) {
        let ram = &self.memory.uncore.ram;
        let ahead = self
            .mmu
            .walk_ahead(ea, access.is_fetch(), ram, &mut self.account);
        let Some((next, reaches)) = ahead else {
            return;
        };
        self.forget(reaches);
        if self.sanitized {
            self.note_walk_ahead(next, access.is_fetch());
        }
    }
}
