//! An x86 processor that replays a trace.

use super::exception::Exception;
use super::processor::Processor;
use super::shim::LARGE_PAGE;
use super::stop::Raised;
use crate::replay::{Access, Replayed};

impl Replayed for Processor {
    const TAGS_SPACES: bool = false;

    fn page_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![crate::shim::areas::PAGE];
        if self.mmu.data_large.is_some() {
            sizes.push(LARGE_PAGE);
        }
        sizes
    }

    fn access(&mut self, access: Access, linear: u32) -> Result<(), Raised> {
        let done = match access {
            Access::Fetch if linear & !(self.line - 1) == self.fetched => Ok(()),
            Access::Fetch => self.fetch(linear).map(|_| ()),
            Access::Load => self.load_once(linear),
            Access::Store => self.store_once(linear),
        };
        done.map_err(|exception: Exception| Raised {
            vector: exception.vector(),
            code: exception.code(),
        })
    }

    fn complete(&mut self) {
        self.instructions += 1;
        self.add_cycles(1);
    }

    /// Hardware loads them.
    fn is_reload(_: &Raised) -> bool {
        false
    }

    fn read_table(&mut self, _: u32) {}

    fn invalidate(&mut self, linear: u32) {
        self.invalidate_page(linear);
    }

    fn flush(&mut self) {
        self.flush_tlbs(false);
    }
}

impl Processor {
    fn load_once(&mut self, linear: u32) -> Result<(), Exception> {
        let (pa, bits) = self.translate_slowly::<false>(linear, self.user)?;
        self.accesses += 1;
        self.charge_load(pa, bits);
        Ok(())
    }

    fn store_once(&mut self, linear: u32) -> Result<(), Exception> {
        let (pa, bits) = self.translate_slowly::<false>(linear, self.user | 1)?;
        self.accesses += 1;
        self.charge_store(pa, bits);
        Ok(())
    }
}
