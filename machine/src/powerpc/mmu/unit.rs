//! The interface of every kind of MMU to the rest of the machine.

use super::{Access, Fault, Invalidation, Reaches, Source, Translation};
use crate::account::{Account, Cause};
use crate::memory::{Fixed, Memory};
use serde::{Deserialize, Serialize};

pub use crate::account::tlb_events::Space;

/// The place of the entry that an access used, where an engine notes further uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// Its set.
    pub set: u16,
    /// Its way.
    pub way: u8,
    /// The logarithm of the number of 4 KB pages that the entry translates.
    pub large: u8,
}

/// How a TLB keeps the order of use, for an engine that repeats an access without a look-up.
///
/// To note that an entry was used again, the engine writes its way into `recent` at its set's index. This has the
/// same effect as a look-up. The index after the last set is for accesses that no entry translates.
#[derive(Debug)]
pub struct Recency<'a> {
    /// The number of sets; 0 for a TLB that keeps no order of use.
    pub sets: u32,
    /// How many ways of a set may be noted in this way, in any order.
    pub ways: u32,
    /// One byte for each set, and one more. `None`: the TLB keeps no order of use.
    pub recent: Option<&'a Fixed<u8>>,
}

/// SDR1, and which form of hash table it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashBase {
    /// PTEs of two words.
    Words(u32),
    /// PTEs of two double words.
    DoubleWords(u64),
}

/// A TLB entry as five words, for programs that look at the TLB (docs/interfaces.md, section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Sets of the TLB in the upper half, ways in the lower.
    pub shape: u32,
    /// Bit 0: valid. Then the VSID; of an 8xx bit 1: reserved, and the ASID.
    pub space: u32,
    /// EA\[4-19\] of the page; of an 8xx EA\[0-19\].
    pub page: u32,
    /// A PTE's word 1: RPN, C, WIMG, PP; of an 8xx Mx_RPN as it was written.
    pub word1: u32,
    /// Of an 8xx Mx_TWC as it was written, without the table's base.
    pub level_one: u32,
}

/// An MMU.
pub trait Unit {
    /// Translates `ea` for `access` under `msr` at core cycle `now`.
    ///
    /// The caller counts the TLB access (one for each access with MSR\[IR\] or MSR\[DR\] set); the MMU counts misses,
    /// walks and everything else.
    ///
    /// # Errors
    /// The exception that the access takes, with the registers that the hardware sets for it.
    fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault>;

    /// Translates as a hint (`dcbt`, `dcbtst`): without an exception and without a walk; `None` where one of them would
    /// be needed (603 UM 3.7.2).
    fn translate_hint(&mut self, ea: u32, access: Access, msr: u32) -> Option<Translation>;

    /// Translates for an observer (debugger, dump): nothing changes, nothing is counted, protection is not checked.
    fn peek(&self, ea: u32, access: Access, msr: u32, memory: &Memory) -> Option<u32>;

    /// Notes that another processor's `tlbie` of `ea` is about to remove entries, for `cause`. The
    /// 8xx has no other processors.
    fn taken(&mut self, _ea: u32, _cause: Cause, _account: &mut Account) {}

    /// `tlbie` and `tlbia`. Returns the addresses of the removed entries.
    fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches;

    /// How the TLB of fetches or of data keeps the order of use.
    fn recency(&self, fetch: bool) -> Recency<'_>;

    /// The place of the entry that has just translated `page`, if its TLB keeps an order of use.
    fn used(&self, fetch: bool, page: u32, source: Source) -> Option<Used>;

    /// Where the hash table lies, if there is one.
    fn hash_table(&self) -> Option<HashBase>;

    /// The entry with this number: the ways of the first set, then those of the second, and so on. One that does
    /// not exist shows as invalid.
    fn view(&self, fetch: bool, number: u32) -> EntryView;
}
