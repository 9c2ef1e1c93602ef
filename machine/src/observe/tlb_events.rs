//! TLB misses and loads as a trace shows them.
//!
//! An MMU notes its last miss and its last load in the account. While a trace is recorded, the processor hands
//! the note on after each access and each instruction that loads an entry. Without a trace nothing reads it, and
//! the steps of a walk are not noted at all.

use std::collections::HashMap;

use super::Cause;
use super::symbolize::Symbolizer;
use crate::powerpc::mmu::Space;
use crate::powerpc::mmu::hash64::Page;

/// The page that a TLB entry translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbPage {
    /// Its first address. An entry tagged by a VSID knows only the part within the segment (EA\[4-19\]).
    pub address: u32,
    /// The address space; `None` for a page that all share.
    pub space: Option<Space>,
}

/// A TLB miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbMiss {
    /// Of the instruction TLB.
    pub fetch: bool,
    /// Effective address of the access.
    pub ea: u32,
    /// The set that was searched.
    pub set: u32,
    /// Core cycles that the hardware's walk took; `None` where software loads the TLB.
    pub walk: Option<u64>,
    /// MSR\[PR\]: a user's access.
    pub user: bool,
    /// What the access was charged to.
    pub cause: Cause,
    /// Where the page tables can have the page.
    pub tables: Tables,
}

/// Where the page tables can have a page, as the MMU's registers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// In one of two groups of a hash table.
    Hash {
        /// The segment register.
        segment: u32,
        /// SDR1.
        sdr1: u32,
    },
    /// In one of two groups of a 970's hash table.
    Wide {
        /// The page.
        page: Page,
        /// SDR1.
        sdr1: u64,
    },
    /// Behind an 8xx's level-one entry.
    Tree {
        /// The address space.
        asid: u8,
        /// Physical address of the entry (M_TWB).
        level_one: u32,
    },
    /// Wherever the handler looks: no register of the MMU tells (405).
    Software {
        /// The address space.
        pid: u8,
    },
}

/// An access of memory during a walk, by hardware or by the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Core cycle at which it began.
    pub cycle: u64,
    /// Core cycles that it took.
    pub took: u64,
    /// Physical address.
    pub pa: u32,
    /// 1, 2, 4 or 8 bytes.
    pub bytes: u32,
    /// What was read or written.
    pub value: u64,
    /// It was a store.
    pub store: bool,
}

/// The most steps of one walk that are noted.
pub const STEPS_MOST: usize = 128;

/// What the TLB's set held at the last miss, and the steps of the walks since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkNote {
    /// By way; `None` for an entry that is not valid.
    pub ways: Vec<Option<TlbPage>>,
    /// In order.
    pub steps: Vec<Step>,
}

impl WalkNote {
    /// A miss: the set holds these pages, and no step has been made.
    pub fn begin(&mut self, ways: impl Iterator<Item = Option<TlbPage>>) {
        self.steps.clear();
        self.ways.clear();
        self.ways.extend(ways);
    }

    /// An access of memory.
    pub fn step(&mut self, step: Step) {
        if self.steps.len() < STEPS_MOST {
            self.steps.push(step);
        }
    }
}

/// An entry was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbLoad {
    /// Into the instruction TLB.
    pub fetch: bool,
    /// Effective address that it was loaded for.
    pub ea: u32,
    /// Its set.
    pub set: u32,
    /// Its way; of a fully associative TLB the number of the entry.
    pub way: u32,
    /// Its page.
    pub page: TlbPage,
    /// The valid entry of another page that it replaced.
    pub victim: Option<TlbPage>,
}

/// What an MMU noted last.
#[derive(Clone, Debug, Default)]
pub struct TlbNote {
    /// The last miss.
    pub miss: Option<TlbMiss>,
    /// The last load.
    pub load: Option<TlbLoad>,
    /// The last walk, while walks are recorded. Boxed, because an account is moved with its processor.
    pub walk: Option<Box<WalkNote>>,
}

impl TlbNote {
    /// A note that takes in the steps of walks.
    #[must_use]
    pub fn of_walks() -> Self {
        Self {
            walk: Some(Box::default()),
            ..Self::default()
        }
    }
}

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
