//! The MMU of the 970: an SLB for segments, ERATs for pages of effective addresses, a TLB behind both, and a walk of
//! the hash table in hardware.
//!
//! An access looks into the ERAT of its side. If that has no entry, the SLB gives the segment and the TLB the page; if
//! the TLB has no entry, hardware walks the table, sets R and loads the TLB. The ERAT gets what the access may use. A
//! store to a page whose C is clear walks again and sets it.
//!
//! ERAT entries outlive what they were made from: `slbmte`, `mtsr` and `mtsrin` leave them alone, so that an address
//! can still be translated whose SLB entry has been replaced. `slbie`, `slbia` and `tlbie` remove them. `tlbie`
//! empties the TLB's set that the address selects, whatever the tags, and removes the ERAT entries of that set; with
//! L, of large pages, all those of large pages.
//!
//! Bridge: `mtsr` and `mtsrin` write an SLB entry with the segment's number, from a register as 32-bit cores have it.
//!
//! Effective addresses have 64 bits, physical ones 32 here: a page beyond is a machine check. The rest of the machine
//! gives the lower half of an effective address; the upper one is a *window* of fetches, and one of data accesses.
//!
//! Not as hardware: `dcbt` asks the ERAT alone; accesses without translation do not go through the ERATs; a walk
//! begins when its access needs it.
//!
//! Sources: PowerPC Architecture book III, version 2.01; Linux 2.6 asm-ppc64/mmu.h and arch/ppc64/mm/slb.c; notes on
//! IBM's POWER4 paper (Tendler et al., 2002).

pub mod erat;
mod segments;
pub mod slb;
pub mod table;
pub mod tlb;

pub use erat::{Erat, EratEntry};
pub use slb::{Slb, SlbEntry};
pub use table::Page;

use super::walker::{NoEntry, Port, WalkTiming};
use super::{
    Access, EntryView, Fault, HashBase, Invalidation, Reach, Reaches, Recency, Source, Space,
    TlbGeometry, Translation, Unit, Used,
};
use crate::account::tlb_events::{TlbLoad, TlbPage};
use crate::account::{Account, Array, Cause, Event, Plain};
use crate::memory::{Memory, attribute};
use crate::powerpc::mmu::places::Places;
use crate::powerpc::msr;
use crate::powerpc::spr_970::hid4;
use serde::{Deserialize, Serialize};
use table::second;
use tlb::{Entry, Tlb};

/// Core cycles of an access whose ERAT has no entry but the TLB has one, beyond those of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refills {
    /// Of a fetch.
    pub instruction: u32,
    /// Of a load or store.
    pub data: u32,
}

/// The unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hash64 {
    /// Segments.
    pub slb: Slb,
    /// Pages of effective addresses, of fetches and of data accesses.
    instruction: Erat,
    data: Erat,
    tlb: Tlb,
    /// SDR1, every bit kept as written.
    pub sdr1: u64,
    /// HID4.
    hid4: u64,
    /// Upper halves of the addresses of fetches and of data accesses.
    windows: [u32; 2],
    walk: WalkTiming,
    refills: Refills,
    /// Cause of the access that missed last. An entry that the reload evicts is charged to it.
    miss_cause: Cause,
    /// Way of the ERAT entry that the last access used, for [`Unit::used`].
    #[serde(skip)]
    last: Option<u8>,
}

/// An access, with the whole of its address.
#[derive(Clone, Copy)]
struct Sought {
    ea: u64,
    access: Access,
    user: bool,
}

/// A walk's surroundings.
struct Now<'a> {
    memory: &'a mut Memory,
    account: &'a mut Account,
    cycle: u64,
}

impl Hash64 {
    /// As after a hard reset.
    ///
    /// # Errors
    /// What is wrong with a shape.
    pub fn new(
        erats: [TlbGeometry; 2],
        tlb: TlbGeometry,
        walk: WalkTiming,
        refills: Refills,
    ) -> Result<Self, String> {
        tlb.check()?;
        for erat in erats {
            crate::config::shape::erat(erat.entries, erat.ways)?;
        }
        Ok(Self {
            slb: Slb::default(),
            instruction: Erat::new(erats[0]),
            data: Erat::new(erats[1]),
            tlb: Tlb::new(tlb),
            sdr1: 0,
            hid4: 0,
            windows: [0; 2],
            walk,
            refills,
            miss_cause: Cause::KERNEL,
            last: None,
        })
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.slb.fits()
            && self.instruction.fits(&fresh.instruction)
            && self.data.fits(&fresh.data)
            && self.tlb.fits(&fresh.tlb)
            && (self.walk, self.refills) == (fresh.walk, fresh.refills)
            && self.windows[1] == 0
    }

    /// The TLB behind the ERATs.
    #[must_use]
    pub fn tlb(&self) -> &Tlb {
        &self.tlb
    }

    /// The ERAT of fetches or of data accesses.
    #[must_use]
    pub fn erat(&self, fetch: bool) -> &Erat {
        if fetch { &self.instruction } else { &self.data }
    }

    fn erat_mut(&mut self, fetch: bool) -> &mut Erat {
        if fetch {
            &mut self.instruction
        } else {
            &mut self.data
        }
    }

    /// The upper half of the addresses of fetches, or of data accesses, from here on. True if it was another one.
    pub fn set_window(&mut self, fetch: bool, upper: u32) -> bool {
        let window = &mut self.windows[usize::from(!fetch)];
        std::mem::replace(window, upper) != upper
    }

    /// A write of HID4.
    pub fn set_hid4(&mut self, value: u64) -> Reaches {
        self.hid4 = value;
        Reaches::EVERYTHING
    }

    /// Removes what may translate `ea`, of either size of page.
    pub(super) fn drop_page(&mut self, ea: u32) {
        self.tlb.invalidate_set(ea >> 12);
        self.tlb.invalidate_set(ea >> 24 & 15);
        let _ = self.remove(|entry| entry.large || (entry.ea as u32 ^ ea) & 0x0fff_f000 == 0);
    }

    /// The whole of an address.
    pub(super) fn whole(&self, ea: u32, fetch: bool) -> u64 {
        u64::from(self.windows[usize::from(!fetch)]) << 32 | u64::from(ea)
    }

    /// Removes ERAT entries on both sides.
    fn remove(&mut self, gone: impl Fn(&EratEntry) -> bool) -> Reaches {
        let mut reaches = Reaches::NOTHING;
        for fetch in [true, false] {
            let reach = |entry: &EratEntry| Reach::Page {
                ea: entry.ea as u32,
                bytes: 4096,
            };
            let each = |entry: &EratEntry| reaches.add(fetch, reach(entry));
            self.erat_mut(fetch).remove(&gone, each);
        }
        reaches
    }

    /// Does the segment have large pages, as HID4 lets it?
    fn large(&self, segment: &SlbEntry) -> bool {
        segment.large() && self.hid4 & hid4::NO_LARGE_PAGES == 0
    }

    fn page(&self, segment: &SlbEntry, ea: u64) -> Page {
        Page {
            ea,
            vsid: segment.vsid(),
            large: self.large(segment),
        }
    }

    /// An address without translation: the upper bits of an effective address, of which the chip has 42, do not count
    /// beyond what is physical here.
    fn without_translation(&self, ea: u64, fetch: bool) -> Result<Translation, Fault> {
        const PHYSICAL: u64 = 0x3ff_ffff_ffff;
        let pa = ea & PHYSICAL;
        let pa = u32::try_from(pa).map_err(|_| Fault::machine_check(pa as u32, 0))?;
        let inhibited = !fetch && self.hid4 & hid4::REAL_INHIBITED != 0;
        let attributes = match (fetch, inhibited) {
            (true, _) => attribute::REAL_FETCH,
            (false, false) => attribute::REAL_DATA,
            (false, true) => attribute::REAL_DATA | attribute::INHIBITED,
        };
        Ok(Translation {
            pa,
            attributes,
            source: Source::Real,
            cycles: 0,
        })
    }

    /// Walks the table for `page` and sets `bits`, R or R and C. Returns the PTE with the cycles that this took.
    fn search(
        &mut self,
        page: &Page,
        access: Access,
        bits: u64,
        now: &mut Now<'_>,
    ) -> Result<(table::Found, u64), Fault> {
        now.account.add_plain(Plain::HashSearch, 1);
        let mut port = Port::new(self.walk, now.memory, now.account, now.cycle);
        let mut result = table::search(self.sdr1, page, &mut port);
        port.finish();
        match &mut result {
            Ok(found) => {
                for bit in [second::R, second::C] {
                    if bits & !found.second & bit != 0 {
                        table::set(found, bit, &mut port);
                    }
                }
            }
            Err(_) => port.account.add_plain(Plain::HashMiss, 1),
        }
        let cycles = port.cycles();
        port.account.add_plain(Plain::WalkCycles, cycles);
        if access.is_fetch() {
            port.account.add_plain(Plain::InstructionSearches, 1);
            port.account.add_plain(Plain::InstructionWalkCycles, cycles);
        }
        match result {
            Ok(found) => Ok((found, cycles)),
            Err(NoEntry::Outside(pa)) => Err(Fault::machine_check(pa, cycles)),
            Err(NoEntry::Absent) => Err(Fault::page(access, cycles)),
        }
    }

    /// The TLB has no entry for `page`: loads it by a walk.
    fn reload(
        &mut self,
        page: &Page,
        sought: Sought,
        now: &mut Now<'_>,
    ) -> Result<(Entry, u64), Fault> {
        let fetch = sought.access.is_fetch();
        self.count_miss(page, sought, now.account);
        let result = self.search(page, sought.access, second::R, now);
        let cycles = match &result {
            Ok((_, cycles)) => *cycles,
            Err(fault) => fault.cycles,
        };
        if let Some(miss) = &mut now.account.tlb.miss {
            miss.walk = Some(cycles);
        }
        let (found, cycles) = result?;
        let bytes = if page.large { 1u64 << 24 } else { 1 << 12 };
        let physical = found.second & second::RPN & !(bytes - 1);
        let physical =
            u32::try_from(physical).map_err(|_| Fault::machine_check(found.pa, cycles))?;
        let entry = Entry {
            vsid: page.vsid,
            page: page.index(),
            large: page.large,
            valid: true,
            physical,
            attributes: (found.second >> second::WIMG_SHIFT & 15) as u8,
            pp: (found.second & second::PP) as u8,
            no_execute: found.second & second::N != 0,
            changed: found.second & second::C != 0,
            way: 0,
        };
        let (way, old) = self.tlb.fill(entry);
        if let Some(old) = old {
            now.account.add_plain(Plain::tlb_evicted(fetch), 1);
            let cause = self.miss_cause;
            (now.account.pollution).entry_evicted(Array::DataTlb, old.key(), cause);
        }
        now.account.tlb.load = Some(TlbLoad {
            fetch,
            ea: sought.ea as u32,
            set: self.tlb.set(entry.page) as u32,
            way: way.into(),
            page: held(&entry),
            victim: old.as_ref().map(held),
        });
        Ok((entry, cycles))
    }

    fn count_miss(&mut self, page: &Page, sought: Sought, account: &mut Account) {
        let fetch = sought.access.is_fetch();
        account.add(Event::tlb_miss(fetch), 1);
        let cause = account.cause;
        self.miss_cause = cause;
        let key = Entry {
            vsid: page.vsid,
            page: page.index(),
            large: page.large,
            ..Entry::default()
        }
        .key();
        (account.pollution).entry_missed(&mut account.counters, Array::DataTlb, key, cause);
        let set = self.tlb.set(page.index());
        let tables = Places::Wide {
            page: *page,
            sdr1: self.sdr1,
        };
        account.note_miss(fetch, (sought.ea as u32, set as u32), None, tables.into());
        if let Some(walk) = &mut account.tlb.walk {
            let ways = self.tlb.ways(set);
            let of_way = |way: u8| ways.iter().find(|entry| entry.way() == way);
            let page = |way: u8| of_way(way).filter(|entry| entry.valid).map(held);
            walk.begin((0..ways.len() as u8).map(page));
        }
    }

    /// Translates by an ERAT entry that permits the access.
    fn by_entry(entry: &EratEntry, ea: u64, cycles: u64) -> Translation {
        Translation {
            pa: entry.physical | ea as u32 & 0xfff,
            attributes: entry.attributes,
            source: Source::Tlb,
            cycles,
        }
    }

    /// The SLB's entry for an access, if it may be used.
    fn segment(&self, sought: Sought) -> Result<SlbEntry, Fault> {
        let found = self.slb.find(sought.ea);
        let segment = *found.ok_or_else(|| Fault::segment(sought.access))?;
        if sought.access.is_fetch() && segment.no_execute() {
            return Err(Fault::no_execute(0));
        }
        Ok(segment)
    }

    /// The ERAT has no entry: asks SLB and TLB, and the walk if need be.
    fn refill(&mut self, sought: Sought, now: &mut Now<'_>) -> Result<Translation, Fault> {
        let segment = self.segment(sought)?;
        let fetch = sought.access.is_fetch();
        let page = self.page(&segment, sought.ea);
        let (refills, lookup) = if fetch {
            (Plain::InstructionShadowRefill, self.refills.instruction)
        } else {
            (Plain::DataShadowRefill, self.refills.data)
        };
        let mut cycles = u64::from(lookup);
        now.account.add_plain(Plain::ShadowCycles, cycles);
        now.cycle += cycles;
        let entry = match self.tlb.access(&page) {
            Some(entry) => entry,
            None => {
                let (entry, walk) = self.reload(&page, sought, now).map_err(|mut fault| {
                    fault.cycles += cycles;
                    fault
                })?;
                cycles += walk;
                now.cycle += walk;
                entry
            }
        };
        if fetch && (entry.no_execute || entry.attributes & attribute::GUARDED != 0) {
            return Err(Fault::no_execute(cycles));
        }
        let bytes = 1u32 << entry.shift();
        let new = EratEntry {
            ea: sought.ea & !0xfff,
            physical: entry.physical | sought.ea as u32 & (bytes - 1) & !0xfff,
            attributes: entry.attributes,
            pp: entry.pp,
            keys: [segment.key(false), segment.key(true)],
            changed: entry.changed,
            large: entry.large,
            vsid: page.vsid,
        };
        if !new.permits(sought.user, sought.access.is_store()) {
            return Err(Fault::protection(sought.access, cycles));
        }
        now.account.add_plain(refills, 1);
        let way = self.erat_mut(fetch).fill(new);
        self.last = Some(way);
        if sought.access.is_store() && !new.changed {
            cycles += self.change(sought, now).map_err(|mut fault| {
                fault.cycles += cycles;
                // The refill has replaced an entry.
                fault.gone = Reaches::EVERYTHING;
                fault
            })?;
        }
        Ok(Self::by_entry(&new, sought.ea, cycles))
    }

    /// A permitted store to a page whose C is clear: sets it in the table, the TLB and the ERATs. Returns the core
    /// cycles that this takes.
    fn change(&mut self, sought: Sought, now: &mut Now<'_>) -> Result<u64, Fault> {
        // The SLB's entry may be gone, and its ERAT entry still there.
        let segment = self.segment(sought)?;
        let page = self.page(&segment, sought.ea);
        let (_, cycles) = self.search(&page, sought.access, second::R | second::C, now)?;
        self.tlb.set_changed(&page);
        self.instruction.set_changed(sought.ea);
        self.data.set_changed(sought.ea);
        Ok(cycles)
    }

    fn translate_whole(&mut self, sought: Sought, now: &mut Now<'_>) -> Result<Translation, Fault> {
        let fetch = sought.access.is_fetch();
        let Some((way, entry)) = self.erat(fetch).find(sought.ea) else {
            return self.refill(sought, now);
        };
        let entry = *entry;
        self.last = Some(way);
        if !entry.permits(sought.user, sought.access.is_store()) {
            return Err(Fault::protection(sought.access, 0));
        }
        let cycles = if sought.access.is_store() && !entry.changed {
            self.change(sought, now)?
        } else {
            0
        };
        Ok(Self::by_entry(&entry, sought.ea, cycles))
    }
}

/// The page of a valid entry.
fn held(entry: &Entry) -> TlbPage {
    TlbPage {
        address: entry.page << entry.shift(),
        space: Some(Space::Vsid(entry.vsid as u32)),
    }
}

impl Unit for Hash64 {
    fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        memory: &mut Memory,
        cycle: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        let ea = self.whole(ea, access.is_fetch());
        self.last = None;
        if !access.is_translated(msr) {
            return self.without_translation(ea, access.is_fetch());
        }
        let sought = Sought {
            ea,
            access,
            user: msr & msr::PR != 0,
        };
        let mut now = Now {
            memory,
            account,
            cycle,
        };
        self.translate_whole(sought, &mut now)
    }

    fn translate_hint(&mut self, ea: u32, access: Access, msr: u32) -> Option<Translation> {
        let ea = self.whole(ea, access.is_fetch());
        self.last = None;
        if !access.is_translated(msr) {
            return self.without_translation(ea, access.is_fetch()).ok();
        }
        let (way, entry) = self.erat(access.is_fetch()).find(ea)?;
        let user = msr & msr::PR != 0;
        let translation =
            (entry.permits(user, access.is_store())).then(|| Self::by_entry(entry, ea, 0));
        self.last = Some(way);
        translation
    }

    fn peek(&self, ea: u32, access: Access, msr: u32, memory: &Memory) -> Option<u32> {
        let ea = self.whole(ea, access.is_fetch());
        if !access.is_translated(msr) {
            return self
                .without_translation(ea, false)
                .ok()
                .map(|found| found.pa);
        }
        if let Some((_, entry)) = self.erat(access.is_fetch()).find(ea) {
            return Some(entry.physical | ea as u32 & 0xfff);
        }
        let page = self.page(self.slb.find(ea)?, ea);
        let bytes = if page.large { 1u64 << 24 } else { 1 << 12 };
        let physical = match self.tlb.find(&page) {
            Some(entry) => entry.physical.into(),
            None => {
                let found = table::peek(self.sdr1, &page, &memory.uncore.ram)?;
                found.second & second::RPN & !(bytes - 1)
            }
        };
        u32::try_from(physical | ea & (bytes - 1)).ok()
    }

    fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches {
        let sets = self.tlb.geometry().sets();
        match what {
            Invalidation::Address(ea) => {
                account.add_plain(Plain::TlbInvalidate, 1);
                self.tlb.invalidate_set(ea >> 12);
                let set = |ea: u32| ea >> 12 & (sets - 1);
                self.remove(|entry| !entry.large && set(entry.ea as u32) == set(ea))
            }
            Invalidation::Large(ea) => {
                account.add_plain(Plain::TlbInvalidate, 1);
                self.tlb.invalidate_set(ea >> 24 & 15);
                self.remove(|entry| entry.large)
            }
            Invalidation::All => {
                self.tlb.invalidate_all();
                self.remove(|_| true)
            }
        }
    }

    /// No order of use is kept.
    fn recency(&self, fetch: bool) -> Recency<'_> {
        let erat = self.erat(fetch);
        Recency {
            sets: erat.geometry().sets(),
            ways: erat.geometry().ways,
            recent: None,
        }
    }

    fn used(&self, fetch: bool, page: u32, _: Source) -> Option<Used> {
        let way = self.last?;
        Some(Used {
            set: self.erat(fetch).set(page.into()) as u16,
            way,
            large: 0,
        })
    }

    fn hash_table(&self) -> Option<HashBase> {
        Some(HashBase::DoubleWords(self.sdr1))
    }

    /// Both sides show the TLB. Of a VSID the lower 28 bits are shown: as many as `mtsr` gives it.
    fn view(&self, _: bool, number: u32) -> EntryView {
        const CHANGED: u32 = second::C as u32;
        let geometry = self.tlb.geometry();
        let mut view = EntryView {
            shape: geometry.sets() << 16 | geometry.ways,
            ..EntryView::default()
        };
        if let Some(entry) = self.tlb.entry(number).filter(|entry| entry.valid) {
            view.space = 1 << 31 | entry.vsid as u32 & 0x0fff_ffff;
            view.page = entry.page << entry.shift();
            view.word1 = entry.physical
                | if entry.changed { CHANGED } else { 0 }
                | u32::from(entry.attributes) << second::WIMG_SHIFT
                | if entry.no_execute {
                    second::N as u32
                } else {
                    0
                }
                | u32::from(entry.pp);
        }
        view
    }
}
