//! The MMU of 604 and 750: hardware walks the page table at a TLB miss.

use super::front6xx::{Now, Page, Place, Refill, unit_of_front};
use super::walker::{AnyWalker, Found, NoEntry, Port, WalkTiming, Walker};
use super::{
    Access, EntryView, Fault, Front6xx, HashBase, Invalidation, Reaches, Recency, Source, TlbEntry,
    Translation, Unit, Used, hash, tlb,
};
use crate::account::{Account, Array, Cause, Plain};
use crate::memory::{Memory, Ram};
use serde::{Deserialize, Serialize};

/// The MMU of 604 and 750.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hash32 {
    /// BATs, segments, TLBs, SDR1.
    pub front: Front6xx,
    search: Search,
}

/// The walker and its costs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Search {
    timing: WalkTiming,
    walker: AnyWalker,
}

impl Hash32 {
    pub(super) fn new(front: Front6xx, timing: WalkTiming) -> Self {
        let walker = AnyWalker::default();
        Self {
            front,
            search: Search { timing, walker },
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let (search, made) = (&self.search, &fresh.search);
        search.timing == made.timing
            && search.walker.fits(&made.walker)
            && self.front.fits(&fresh.front)
    }

    /// Sets the walker that searches the page table.
    pub fn set_walker(&mut self, walker: AnyWalker) {
        self.search.walker = walker;
    }
}

impl Search {
    /// Searches for `page` and sets `bits`, R or R and C, of the PTE. Returns it with the cycles that this took.
    #[inline(always)]
    fn run(
        &mut self,
        page: &Page,
        access: Access,
        bits: u32,
        now: &mut Now<'_>,
    ) -> Result<(Found, u64), Fault> {
        now.account.add_plain(Plain::HashSearch, 1);
        let mut port = Port::new(self.timing, now.memory, now.account, now.cycle);
        let walker = &mut self.walker;
        let mut result = walker.search(page, bits, &mut port);
        port.finish();
        match &mut result {
            Ok(found) => {
                for bit in [hash::R, hash::C] {
                    if bits & !found.word1 & bit != 0 {
                        walker.set(found, bit, &mut port);
                    }
                }
            }
            Err(_) => port.account.add_plain(Plain::HashMiss, 1),
        }
        let cycles = port.cycles();
        port.account.add_plain(Plain::WalkCycles, cycles);
        match result {
            Ok(found) => Ok((found, cycles)),
            Err(NoEntry::Outside(pa)) => Err(Fault::machine_check(pa, cycles)),
            Err(NoEntry::Absent) => Err(Fault::page(access, cycles)),
        }
    }
}

impl Refill for Search {
    /// Searches, sets R in memory, and loads the entry into the TLB.
    #[inline(always)]
    fn reload(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        access: Access,
        now: &mut Now<'_>,
    ) -> Result<(TlbEntry, u64), Fault> {
        let result = self.run(page, access, hash::R, now);
        let cycles = match &result {
            Ok((_, cycles)) => *cycles,
            Err(fault) => fault.cycles,
        };
        now.account.note_walk(cycles);
        if access.is_fetch() {
            now.account.add_plain(Plain::InstructionSearches, 1);
            now.account.add_plain(Plain::InstructionWalkCycles, cycles);
        }
        let (found, cycles) = result?;
        let physical = found.word1 & !0xfff | page.ea & 0xfff;
        now.memory.expect(physical, now.account);
        let cause = now.account.cause;
        let entry = TlbEntry::new(page.tag(), found.word1);
        let fetch = access.is_fetch();
        let old = front.side_mut(fetch).0.fill(entry);
        front.note_load((fetch, page.ea), entry, old, cause, now.account);
        front.keep(entry, now.account);
        Ok((entry, cycles))
    }

    /// Hardware searches again and sets the PTE's C bit (750 UM 5.4.1.2).
    #[inline(never)]
    fn change(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        entry: TlbEntry,
        now: &mut Now<'_>,
    ) -> Result<u64, Fault> {
        let (_, cycles) = self.run(page, Access::Store, hash::R | hash::C, now)?;
        front.set_changed(entry.tag());
        Ok(cycles)
    }
}

/// The PTE that the reload for an access will find.
#[derive(Debug, Clone, Copy)]
pub struct Foreseen {
    /// Its physical address, in the primary PTEG.
    pa: u32,
    word1: u32,
}

impl Foreseen {
    /// The physical address of `ea`.
    #[inline(always)]
    pub(crate) fn physical(self, ea: u32) -> u32 {
        self.word1 & !0xfff | ea & 0xfff
    }

    /// Storage control bits of the page.
    #[inline(always)]
    pub(crate) fn attributes(self) -> u8 {
        TlbEntry::new(0, self.word1).attributes()
    }
}

/// Nearly all misses of the data TLB end in the same way: there is no BAT, the primary PTEG has the page, its R and C
/// are as they must be, and the access is permitted. One function looks whether a miss will end so. Another one then
/// does what [`Unit::translate`] would do, without asking again what may be different.
impl Hash32 {
    /// True if nothing but the search of the hash table reloads the data TLB, and one of two entries is replaced.
    pub(crate) fn is_simple(&self) -> bool {
        let Front6xx { dtlb, second, .. } = &self.front;
        matches!(self.search.walker, AnyWalker::Hashed(_)) && second.is_none() && dtlb.is_of_pairs()
    }

    /// The PTE that a reload for the load or the store of `ea` will find, if [`Hash32::is_simple`]. `None`: the access
    /// needs no reload, or another one. Nothing changes.
    #[inline(always)]
    pub(crate) fn foresee(&self, ea: u32, store: bool, msr: u32, ram: &Ram) -> Option<Foreseen> {
        let front = &self.front;
        let Place::Page(page) = front.place(ea, Access::Load, msr) else {
            return None;
        };
        if !front.dtlb.pair_lacks(page.tag()) {
            return None;
        }
        let (group, _) = hash::groups(page.sdr1, page.segment, ea);
        let ptes = hash::slots(group, ram)?;
        let word0 = hash::word0(page.segment, ea, false);
        let slot = (ptes.iter()).position(|[first, _]| u32::from_be_bytes(*first) == word0)?;
        let word1 = u32::from_be_bytes(ptes[slot][1]);
        let set = if store { hash::R | hash::C } else { hash::R };
        let good = word1 & set == set && tlb::permits((word1 & 3) as u8, page.key, store);
        good.then_some(Foreseen {
            pa: group + slot as u32 * 8,
            word1,
        })
    }

    /// Does what was foreseen for the access at `ea`, from core cycle `now` on. Returns the core cycles that it took,
    /// and the place of the new entry.
    #[inline(always)]
    pub(crate) fn reload(
        &mut self,
        ea: u32,
        foreseen: Foreseen,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> (u64, Used) {
        let (front, timing) = (&mut self.front, &self.search.timing);
        let tag = tlb::tag(front.segments.get(ea), ea);
        memory.expect(foreseen.physical(ea), account);
        front.charge_miss(false, tag, account);
        let mut cycles = u64::from(timing.start);
        let mut pa = foreseen.pa & !(hash::PTEG_BYTES - 1);
        let reads = (foreseen.pa - pa) / 8 + 1;
        for _ in 0..reads {
            let from = now + cycles;
            let stall = if timing.cached {
                memory.walk_read_cached(pa, timing.forward, from, account)
            } else {
                memory.walk_read(pa, timing.attributes(), timing.forward, from, account)
            };
            cycles += stall + u64::from(timing.access);
            pa += 8;
        }
        cycles += u64::from(timing.finish);
        account.add_plain(Plain::HashSearch, 1);
        account.add_plain(Plain::HashAccess, reads.into());
        account.add_plain(Plain::HashHitPrimary, 1);
        account.add_plain(Plain::WalkCycles, cycles);
        let (old, way) = front
            .dtlb
            .replace_in_pair(TlbEntry::new(tag, foreseen.word1));
        if let Some(old) = old {
            account.add_plain(Plain::DataTlbEvicted, 1);
            let cause = account.cause;
            account.pollution.entry_evicted(Array::DataTlb, old, cause);
        }
        let used = Used {
            set: front.dtlb.set(ea) as u16,
            way,
            large: 0,
        };
        (cycles, used)
    }
}

impl Unit for Hash32 {
    fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        memory: &mut Memory,
        cycle: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        let now = Now {
            memory,
            account,
            cycle,
        };
        let Self { front, search } = self;
        // A copy of the code is compiled for each kind of access.
        match access {
            Access::Fetch => front.translate(search, ea, Access::Fetch, msr, now),
            Access::Load => front.translate(search, ea, Access::Load, msr, now),
            Access::Store => front.translate(search, ea, Access::Store, msr, now),
        }
    }

    fn peek(&self, ea: u32, access: Access, msr: u32, memory: &Memory) -> Option<u32> {
        let behind = |page: &Page| self.search.walker.peek(page, &memory.uncore.ram);
        self.front.peek(ea, access, msr, behind)
    }

    fn taken(&mut self, ea: u32, cause: Cause, account: &mut Account) {
        self.front.taken(ea, cause, account);
    }

    fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches {
        self.search.walker.invalidate(what);
        self.front.invalidate(what, account)
    }

    unit_of_front!();
}
