//! The interface for the part that reloads a TLB in hardware: a page table, a second-level TLB, a walk cache.
//!
//! Such a part is one file in `walker/` and one line in the list below. A machine file names it by `walk.walker`, and
//! gives it numbers in `[walk.options]`; `config/names.rs` knows these. docs/extend.md has a worked example.

use super::Invalidation;
use super::front6xx::Page;
use super::hash::PTEG_SLOTS;
use crate::account::tlb_events::Step;
use crate::account::{Account, Plain};
use crate::config::{Options, WALKERS, walk_options};
use crate::memory::{Forward, Memory, Ram, attribute};
use serde::{Deserialize, Serialize};

/// The costs of a walk in addition to its memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkTiming {
    /// Core cycles from the TLB miss to the first PTE access.
    pub start: u32,
    /// Core cycles of a PTE access that hits the L1, with its comparison: the walker makes the next
    /// access only then.
    pub access: u32,
    /// Core cycles from the matching PTE, or the last one, to the TLB write and the access's retry.
    pub finish: u32,
    /// Which beats a PTE read that misses the L1 waits for.
    pub forward: Forward,
    /// PTE accesses go through the D-cache.
    pub cached: bool,
}

impl WalkTiming {
    /// The storage control bits of PTE accesses.
    #[inline(always)]
    pub(super) fn attributes(&self) -> u8 {
        if self.cached {
            attribute::WALK
        } else {
            attribute::INHIBITED | attribute::COHERENT
        }
    }
}

/// A page-table entry that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Physical address.
    pub pa: u32,
    /// RPN, R, C, WIMG, PP, as in word 1 of a PTE of the hash table.
    pub word1: u32,
}

/// Why a search found no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEntry {
    /// The table has none.
    Absent,
    /// The table reaches to this physical address, where there is no memory.
    Outside(u32),
}

/// The walker's port to memory, which counts the time of each access.
pub struct Port<'a> {
    memory: &'a mut Memory,
    /// Where events are counted.
    pub account: &'a mut Account,
    timing: WalkTiming,
    began: u64,
    cycles: u64,
}

impl<'a> Port<'a> {
    /// A walk begins at core cycle `now`.
    pub(super) fn new(
        timing: WalkTiming,
        memory: &'a mut Memory,
        account: &'a mut Account,
        now: u64,
    ) -> Self {
        Self {
            memory,
            account,
            timing,
            began: now,
            cycles: timing.start.into(),
        }
    }

    /// Core cycles since the walk began.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Adds cycles, for time that a part takes in addition to its memory accesses.
    pub fn wait(&mut self, cycles: u64) {
        self.cycles += cycles;
    }

    pub(super) fn finish(&mut self) {
        self.wait(self.timing.finish.into());
    }

    /// Reads and compares the double word at `pa`; `None` where there is no memory.
    #[inline(always)]
    pub fn read(&mut self, pa: u32) -> Option<u64> {
        let value = self.memory.uncore.ram.read_u64(pa)?;
        self.account.add_plain(Plain::HashAccess, 1);
        let (attributes, now) = (self.timing.attributes(), self.began + self.cycles);
        let stall = self
            .memory
            .walk_read(pa, attributes, self.timing.forward, now, self.account);
        self.cycles += stall + u64::from(self.timing.access);
        self.note(pa, 8, value, now, false);
        Some(value)
    }

    /// Reads and compares `count` double words from `pa` on together, as one access: it takes as long as the lines of
    /// cache that they lie in. `None` where there is no memory.
    pub fn read_together(&mut self, pa: u32, count: u32) -> Option<[u64; PTEG_SLOTS as usize]> {
        let line = self.memory.data.geometry().line;
        let mut values = [0; PTEG_SLOTS as usize];
        for (value, n) in values.iter_mut().zip(0..count) {
            *value = self.memory.uncore.ram.read_u64(pa + n * 8)?;
        }
        self.account.add_plain(Plain::HashAccess, 1);
        let from = self.began + self.cycles;
        for pa in (pa..pa + count * 8).step_by(line as usize) {
            let (attributes, now) = (self.timing.attributes(), self.began + self.cycles);
            self.cycles += self
                .memory
                .walk_read(pa, attributes, Forward::Line, now, self.account);
        }
        self.wait(self.timing.access.into());
        for (value, n) in values.into_iter().zip(0..count) {
            self.note(pa + n * 8, 8, value, from, false);
        }
        Some(values)
    }

    /// Writes a byte.
    pub fn write(&mut self, pa: u32, byte: u8) {
        let (attributes, now) = (self.timing.attributes(), self.began + self.cycles);
        self.cycles += self.memory.walk_write(pa, attributes, now, self.account);
        self.memory.remember(pa, 1);
        self.memory.uncore.ram.write_u8(pa, byte);
        self.note(pa, 1, byte.into(), now, true);
    }

    /// Notes an access that began at cycle `from` and ends now, while walks are recorded.
    #[inline(always)]
    fn note(&mut self, pa: u32, bytes: u32, value: u64, from: u64, store: bool) {
        if let Some(walk) = &mut self.account.tlb.walk {
            walk.step(Step {
                cycle: from,
                took: self.began + self.cycles - from,
                pa,
                bytes,
                value,
                store,
            });
        }
    }
}

/// A part that finds page-table entries.
pub trait Walker {
    /// Searches for the entry of `page`, whatever its R and C are. [`Walker::set`] follows for those of `bits` that it
    /// lacks.
    ///
    /// # Errors
    /// There is none.
    fn search(&mut self, page: &Page, bits: u32, port: &mut Port<'_>) -> Result<Found, NoEntry>;

    /// As [`Walker::search`], for an observer: nothing changes, takes time or is counted.
    fn peek(&self, page: &Page, ram: &Ram) -> Option<u32>;

    /// Sets `bit`, R or C, of an entry that was found, in memory too.
    fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>);

    /// `tlbie` and `tlbia`: a part that keeps translations drops them.
    fn invalidate(&mut self, _what: Invalidation) {}
}

/// The options that [`walk_options`] has found.
fn known<const N: usize>(options: &[u32]) -> [u32; N] {
    std::array::from_fn(|n| options.get(n).copied().unwrap_or_default())
}

/// The walkers, and how a machine file names them.
macro_rules! walkers {
    ($($text:literal $module:ident $part:ident,)*) => {
        $(pub mod $module;)*

        /// One of the walkers.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub enum AnyWalker { $(#[doc = $text] $part($module::$part),)* }

        impl AnyWalker {
            /// The walker with this name.
            ///
            /// # Errors
            /// There is no such name, or the walker does not have these options.
            pub fn from_config(name: &str, options: &Options) -> Result<Self, String> {
                let values = walk_options(WALKERS, name, options)?;
                match name {
                    $($text => Ok(Self::$part($module::$part::new(&values))),)*
                    _ => Err(format!("has no walker \"{name}\"")),
                }
            }

            /// True if a machine made with `fresh` can be in this state. A snapshot's parts are checked by this
            /// before use.
            pub(super) fn fits(&self, fresh: &Self) -> bool {
                match (self, fresh) {
                    $((Self::$part(walker), Self::$part(fresh)) => walker.fits(fresh),)*
                    _ => false,
                }
            }

        }

        impl Walker for AnyWalker {
            #[inline(always)]
            fn search(
                &mut self,
                page: &Page,
                bits: u32,
                port: &mut Port<'_>,
            ) -> Result<Found, NoEntry> {
                match self { $(Self::$part(walker) => walker.search(page, bits, port),)* }
            }

            fn peek(&self, page: &Page, ram: &Ram) -> Option<u32> {
                match self { $(Self::$part(walker) => walker.peek(page, ram),)* }
            }

            fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>) {
                match self { $(Self::$part(walker) => walker.set(found, bit, port),)* }
            }

            fn invalidate(&mut self, what: Invalidation) {
                match self { $(Self::$part(walker) => walker.invalidate(what),)* }
            }
        }
    };
}

walkers! {
    "hash" hashed Hashed,
    "wide" wide Wide,
    "walk-cache" walk_cache WalkCache,
    "group-cache" group_cache GroupCache,
}

impl Default for AnyWalker {
    fn default() -> Self {
        Self::Hashed(hashed::Hashed)
    }
}
