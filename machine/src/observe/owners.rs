//! Who loaded the entries that the TLBs hold.

use std::collections::HashMap;

use super::symbolize::Symbolizer;
use crate::account::tlb_events::{TlbLoad, TlbPage};

/// Who loaded an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The address of its page, with the segment.
    pub address: u32,
    /// The context that ran.
    pub context: u32,
    /// The program that ran, as a number of the symbolizer.
    pub program: u32,
}

/// Who loaded the entries that the TLBs hold now. It has one element for each place in a TLB.
#[derive(Clone, Debug, Default)]
pub struct Owners(HashMap<(bool, u32, u32), (TlbPage, Owner)>);

impl Owners {
    /// An entry was loaded in the context that `symbols` is in. Returns the owner of the entry that it replaced, if
    /// that was loaded since the trace began.
    pub fn loaded(&mut self, load: &TlbLoad, symbols: &Symbolizer) -> Option<Owner> {
        let owner = Owner {
            address: load.ea & 0xf000_0000 | load.page.address,
            context: symbols.context(),
            program: symbols.program(),
        };
        let place = (load.fetch, load.set, load.way);
        let (page, old) = self.0.insert(place, (load.page, owner))?;
        (Some(page) == load.victim).then_some(old)
    }

    /// The owner of `page` in a way of a set, if it was loaded since the trace began.
    pub fn of(&self, (fetch, set, way): (bool, u32, u32), page: TlbPage) -> Option<Owner> {
        let (known, owner) = self.0.get(&(fetch, set, way))?;
        (*known == page).then_some(*owner)
    }
}
