//! The common part of the MMUs of 603, 604 and 750: BATs, segment registers, two TLBs, SDR1, and the order in which
//! they are searched. They differ in the handling of a TLB miss ([`Refill`]).

use super::{
    Access, BatHit, Bats, DirectStore, EntryView, Fault, Invalidation, MmuGeometry, Reach, Reaches,
    Recency, Segments, Source, Space, Tlb, TlbEntry, Translation, Used, hash, second_level,
    segment, tlb,
};
use crate::account::tlb_events::{TlbLoad, TlbPage};
use crate::account::{Account, Array, Cause, Event, Plain};
use crate::memory::{Memory, attribute};
use crate::powerpc::mmu::places::Places;
use crate::powerpc::msr;
use crate::tlb::second_level::SecondLevel;
use serde::{Deserialize, Serialize};

/// BATs, segment registers, SDR1, TLBs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Front6xx {
    /// Segment registers.
    pub segments: Segments,
    /// Instruction BATs.
    pub ibat: Bats,
    /// Data BATs.
    pub dbat: Bats,
    /// SDR1, every bit kept as written.
    pub sdr1: u32,
    /// Instruction TLB.
    pub itlb: Tlb,
    /// Data TLB.
    pub dtlb: Tlb,
    /// The TLB behind both.
    pub second: Option<SecondLevel<Tlb>>,
    direct_store: DirectStore,
    /// Cause of the access that missed last. An entry that the reload evicts is charged to it, not to the handler.
    pub(super) miss_cause: Cause,
}

/// The page of an access, by its segment register.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Effective address of the access.
    pub ea: u32,
    /// Segment register.
    pub segment: u32,
    /// SDR1.
    pub sdr1: u32,
    /// Key that protection is checked with.
    pub key: bool,
}

impl Page {
    /// The tag of a TLB entry for this page.
    #[must_use]
    pub fn tag(&self) -> u64 {
        tlb::tag(self.segment, self.ea)
    }
}

/// The kind of translation that applies to an address.
pub(super) enum Place {
    /// Translation is off.
    Real(Translation),
    Block(BatHit),
    /// A segment with T = 1.
    DirectStore,
    Page(Page),
}

/// Memory and account at an instant.
pub(super) struct Now<'a> {
    pub memory: &'a mut Memory,
    pub account: &'a mut Account,
    /// Core cycle.
    pub cycle: u64,
}

/// The handling of accesses that the TLB alone cannot translate.
pub(super) trait Refill {
    /// There is no entry for `page`. Returns the entry that has been loaded, and the core cycles that it took.
    fn reload(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        access: Access,
        now: &mut Now<'_>,
    ) -> Result<(TlbEntry, u64), Fault>;

    /// A permitted store finds an entry with C = 0. Returns the core cycles that it took to set C.
    fn change(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        entry: TlbEntry,
        now: &mut Now<'_>,
    ) -> Result<u64, Fault>;
}

fn block(hit: &BatHit) -> Translation {
    Translation {
        pa: hit.pa,
        attributes: hit.attributes,
        source: Source::Bat,
        cycles: 0,
    }
}

/// The page of a valid entry.
fn held(entry: TlbEntry) -> TlbPage {
    TlbPage {
        address: entry.page() << 12,
        space: Some(Space::Vsid(entry.vsid())),
    }
}

fn page(entry: TlbEntry, ea: u32, cycles: u64) -> Translation {
    Translation {
        pa: entry.rpn() | (ea & 0xfff),
        attributes: entry.attributes(),
        source: Source::Tlb,
        cycles,
    }
}

impl Front6xx {
    pub(super) fn new(geometry: &MmuGeometry) -> Result<Self, String> {
        Ok(Self {
            segments: Segments::default(),
            ibat: Bats::new(geometry.bats as usize),
            dbat: Bats::new(geometry.bats as usize),
            sdr1: 0,
            itlb: Tlb::new(geometry.instruction)?,
            dtlb: Tlb::new(geometry.data)?,
            second: None,
            direct_store: geometry.direct_store,
            miss_cause: Cause::KERNEL,
        })
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.direct_store == fresh.direct_store
            && self.itlb.fits(&fresh.itlb)
            && self.dtlb.fits(&fresh.dtlb)
            && match (&self.second, &fresh.second) {
                (Some(second), Some(fresh)) => {
                    second.times_fit(fresh) && second.tlb.fits(&fresh.tlb)
                }
                (None, None) => true,
                _ => false,
            }
            && self.ibat.fits(&fresh.ibat)
            && self.dbat.fits(&fresh.dbat)
    }

    /// The kind of translation that applies to `ea`: BATs come before segments (PEM 7.3).
    #[inline(always)]
    pub(super) fn place(&self, ea: u32, access: Access, msr: u32) -> Place {
        let (on, real, bats) = if access.is_fetch() {
            (msr & msr::IR != 0, attribute::REAL_FETCH, &self.ibat)
        } else {
            (msr & msr::DR != 0, attribute::REAL_DATA, &self.dbat)
        };
        if !on {
            return Place::Real(Translation {
                pa: ea,
                attributes: real,
                source: Source::Real,
                cycles: 0,
            });
        }
        let user = msr & msr::PR != 0;
        if let Some(hit) = bats.lookup(ea, user) {
            return Place::Block(hit);
        }
        let segment = self.segments.get(ea);
        if segment & segment::T != 0 {
            return Place::DirectStore;
        }
        Place::Page(Page {
            ea,
            segment,
            sdr1: self.sdr1,
            key: segment::key(segment, user),
        })
    }

    /// The TLB of fetches or of data, and its name in the account.
    #[inline(always)]
    pub(super) fn side_mut(&mut self, fetch: bool) -> (&mut Tlb, Array) {
        if fetch {
            (&mut self.itlb, Array::InstructionTlb)
        } else {
            (&mut self.dtlb, Array::DataTlb)
        }
    }

    #[inline(always)]
    fn side(&self, fetch: bool) -> &Tlb {
        if fetch { &self.itlb } else { &self.dtlb }
    }

    /// As [`super::Unit::translate`].
    #[inline(always)]
    pub(super) fn translate(
        &mut self,
        refill: &mut impl Refill,
        ea: u32,
        access: Access,
        msr: u32,
        mut now: Now<'_>,
    ) -> Result<Translation, Fault> {
        match self.place(ea, access, msr) {
            Place::Real(translation) => Ok(translation),
            Place::Block(hit) if hit.permits(access) => Ok(block(&hit)),
            Place::Block(_) => Err(Fault::protection(access, 0)),
            Place::DirectStore => Err(Fault::direct_store(access, self.direct_store)),
            Place::Page(page) => self.translate_page(refill, &page, access, &mut now),
        }
    }

    #[inline(always)]
    fn translate_page(
        &mut self,
        refill: &mut impl Refill,
        sought: &Page,
        access: Access,
        now: &mut Now<'_>,
    ) -> Result<Translation, Fault> {
        if access.is_fetch() && sought.segment & segment::N != 0 {
            return Err(Fault::no_execute(0));
        }
        let tag = sought.tag();
        if let Some(entry) = self.side_mut(access.is_fetch()).0.access(tag) {
            return self.permitted(refill, sought, access, now, (entry, 0));
        }
        self.count_miss(access, sought, now.account);
        let reloaded = if self.second.is_some() {
            self.reload_by_second(refill, sought, access, now)?
        } else {
            refill.reload(self, sought, access, now)?
        };
        // Even if the access is refused, the new entry has replaced an old one.
        self.permitted(refill, sought, access, now, reloaded)
            .map_err(|mut fault| {
                fault.gone.add(access.is_fetch(), Reach::Set(sought.ea));
                fault
            })
    }

    /// Loads the entry for `sought` from the second-level TLB, or else as without one.
    #[inline(never)]
    fn reload_by_second(
        &mut self,
        refill: &mut impl Refill,
        sought: &Page,
        access: Access,
        now: &mut Now<'_>,
    ) -> Result<(TlbEntry, u64), Fault> {
        let second = self.second.as_mut();
        let (found, cycles) = second.map_or((None, 0), |second| {
            second.look_up(sought.tag(), now.account)
        });
        let Some(entry) = found else {
            now.cycle += cycles;
            return match refill.reload(self, sought, access, now) {
                Ok((entry, walk)) => Ok((entry, cycles + walk)),
                Err(mut fault) => {
                    fault.cycles += cycles;
                    Err(fault)
                }
            };
        };
        let (fetch, cause) = (access.is_fetch(), now.account.cause);
        now.account.note_walk(cycles);
        let old = self.side_mut(fetch).0.fill(entry);
        self.note_load((fetch, sought.ea), entry, old, cause, now.account);
        Ok((entry, cycles))
    }

    /// `entry` was loaded into a TLB from the page table: the second level keeps it too.
    #[inline]
    pub(super) fn keep(&mut self, entry: TlbEntry, account: &mut Account) {
        if let Some(second) = &mut self.second {
            second.keep(entry, account);
        }
    }

    /// `tlbie` and `tlbia` for the second level.
    pub(super) fn invalidate_second(&mut self, what: Invalidation) {
        let classes = [&self.itlb, &self.dtlb].map(|tlb| tlb.geometry().sets());
        if let Some(second) = &mut self.second {
            second_level::invalidate(second, classes[0].min(classes[1]), what);
        }
    }

    /// Sets the C bit of the data TLB's entry with this tag, on both levels.
    pub(super) fn set_changed(&mut self, tag: u64) {
        self.dtlb.set_changed(tag);
        if let Some(second) = &mut self.second {
            second.tlb.set_changed(tag);
        }
    }

    /// Translates the access by `entry`, if that permits it.
    #[inline(always)]
    fn permitted(
        &mut self,
        refill: &mut impl Refill,
        sought: &Page,
        access: Access,
        now: &mut Now<'_>,
        (entry, cycles): (TlbEntry, u64),
    ) -> Result<Translation, Fault> {
        if access.is_fetch() && entry.attributes() & attribute::GUARDED != 0 {
            return Err(Fault::no_execute(cycles));
        }
        if !tlb::permits(entry.pp(), sought.key, access.is_store()) {
            return Err(Fault::protection(access, cycles));
        }
        let mut all = cycles;
        if access.is_store() && !entry.changed() {
            now.cycle += cycles;
            all += refill.change(self, sought, entry, now)?;
        }
        Ok(page(entry, sought.ea, all))
    }

    #[inline(always)]
    fn count_miss(&mut self, access: Access, sought: &Page, account: &mut Account) {
        self.charge_miss(access.is_fetch(), sought.tag(), account);
        if !account.tlb.unheard {
            self.note_miss(access.is_fetch(), sought, account);
        }
    }

    /// Counts a miss of the TLB of fetches or of data, and charges it to whoever evicted the entry.
    #[inline(always)]
    pub(super) fn charge_miss(&mut self, fetch: bool, tag: u64, account: &mut Account) {
        let (array, cause) = (Array::tlb(fetch), account.cause);
        account.add(Event::tlb_miss(fetch), 1);
        self.miss_cause = cause;
        let Account {
            pollution,
            counters,
            ..
        } = account;
        pollution.entry_missed(counters, array, tag, cause);
    }

    #[cold]
    #[inline(never)]
    fn note_miss(&self, fetch: bool, sought: &Page, account: &mut Account) {
        let tlb = self.side(fetch);
        let tables = Places::Hash {
            segment: sought.segment,
            sdr1: sought.sdr1,
        };
        account.note_miss(fetch, (sought.ea, tlb.set(sought.ea)), None, tables.into());
        if let Some(walk) = &mut account.tlb.walk {
            let of_way = |way| tlb.class(sought.ea).find(|entry| entry.way() == way);
            let held = |entry: &TlbEntry| entry.valid().then(|| held(*entry));
            walk.begin((0..tlb.geometry().ways as u8).map(|way| of_way(way).and_then(held)));
        }
    }

    /// Notes that `entry` was loaded for `ea` and replaced `old`, if there was a valid entry of another page. The
    /// eviction is charged to `cause`, whose access missed.
    #[inline(always)]
    pub(super) fn note_load(
        &mut self,
        (fetch, ea): (bool, u32),
        entry: TlbEntry,
        old: Option<TlbEntry>,
        cause: Cause,
        account: &mut Account,
    ) {
        if let Some(old) = old {
            account.add_plain(Plain::tlb_evicted(fetch), 1);
            let array = Array::tlb(fetch);
            account.pollution.entry_evicted(array, old.tag(), cause);
        }
        if !account.tlb.unheard {
            self.tell_load((fetch, ea), entry, old, account);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_load(
        &self,
        (fetch, ea): (bool, u32),
        entry: TlbEntry,
        old: Option<TlbEntry>,
        account: &mut Account,
    ) {
        let tlb = self.side(fetch);
        account.tlb.load = entry.valid().then(|| TlbLoad {
            fetch,
            ea,
            set: tlb.set(ea),
            way: tlb.recent_way(ea).into(),
            page: held(entry),
            victim: old.map(held),
        });
    }

    /// As [`super::Unit::translate_hint`].
    pub(super) fn translate_hint(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
    ) -> Option<Translation> {
        match self.place(ea, access, msr) {
            Place::Real(translation) => Some(translation),
            Place::Block(hit) => hit.permits(access).then(|| block(&hit)),
            Place::DirectStore => None,
            Place::Page(sought) => {
                let entry = self.side_mut(access.is_fetch()).0.access(sought.tag())?;
                tlb::permits(entry.pp(), sought.key, access.is_store()).then(|| page(entry, ea, 0))
            }
        }
    }

    /// As [`super::Unit::peek`]; `behind` searches if the TLB has no entry, and returns a PTE's word 1.
    pub(super) fn peek(
        &self,
        ea: u32,
        access: Access,
        msr: u32,
        behind: impl FnOnce(&Page) -> Option<u32>,
    ) -> Option<u32> {
        match self.place(ea, access, msr) {
            Place::Real(translation) => Some(translation.pa),
            Place::Block(hit) => Some(hit.pa),
            Place::DirectStore => None,
            Place::Page(sought) => {
                let held = self.side(access.is_fetch()).find(sought.tag());
                let second = self.second.as_ref().map(|second| &second.tlb);
                let rpn = match held.or_else(|| second?.find(sought.tag())) {
                    Some(entry) => entry.rpn(),
                    None => behind(&sought)? & 0xffff_f000,
                };
                Some(rpn | (ea & 0xfff))
            }
        }
    }

    /// As [`super::Unit::taken`].
    pub(super) fn taken(&mut self, ea: u32, cause: Cause, account: &mut Account) {
        for fetch in [true, false] {
            let (tlb, array) = self.side_mut(fetch);
            for entry in tlb.class(ea).filter(|entry| entry.valid()) {
                account.add_plain(Plain::TlbTaken, 1);
                account.pollution.entry_taken(array, entry.tag(), cause);
            }
        }
    }

    /// `tlbie` invalidates the whole set of an address in both TLBs, whatever the tags (604 UM 5.4.3.2); `tlbia` all
    /// sets.
    pub(super) fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches {
        self.invalidate_second(what);
        match what {
            Invalidation::Address(ea) | Invalidation::Large(ea) => {
                account.add_plain(Plain::TlbInvalidate, 1);
                self.leave(ea >> 12)
            }
            Invalidation::All => {
                self.itlb.invalidate_all();
                self.dtlb.invalidate_all();
                Reaches::EVERYTHING
            }
        }
    }

    /// The entries of the set of this page leave both TLBs.
    pub(super) fn leave(&mut self, page: u32) -> Reaches {
        let ea = page << 12;
        self.itlb.invalidate_class(ea);
        self.dtlb.invalidate_class(ea);
        let mut reaches = Reaches::NOTHING;
        reaches.add(true, Reach::Set(ea));
        reaches.add(false, Reach::Set(ea));
        reaches
    }

    pub(super) fn recency(&self, fetch: bool) -> Recency<'_> {
        let tlb = self.side(fetch);
        Recency {
            sets: tlb.geometry().sets(),
            ways: tlb.free_ways(),
            recent: Some(tlb.order()),
        }
    }

    pub(crate) fn used(&self, fetch: bool, page: u32, source: Source) -> Option<Used> {
        let tlb = self.side(fetch);
        (source == Source::Tlb).then(|| Used {
            set: tlb.set(page) as u16,
            way: tlb.recent_way(page),
            large: 0,
        })
    }

    pub(super) fn view(&self, fetch: bool, number: u32) -> EntryView {
        let tlb = self.side(fetch);
        let geometry = tlb.geometry();
        let mut view = EntryView {
            shape: geometry.sets() << 16 | geometry.ways,
            ..EntryView::default()
        };
        if let Some(entry) = tlb.entry(number).filter(|entry| entry.valid()) {
            view.space = 1 << 31 | entry.vsid();
            view.page = entry.page() << 12;
            view.word1 = entry.word1();
        }
        view
    }

    /// Looks for the page's PTE in the hash table, for an observer.
    pub(super) fn peek_table(page: &Page, memory: &Memory) -> Option<u32> {
        let found = hash::peek(page.sdr1, page.segment, page.ea, &memory.uncore.ram)?;
        Some(found.word1)
    }
}

/// The methods of [`super::Unit`] that 603, 604 and 750 have in common.
macro_rules! unit_of_front {
    () => {
        fn translate_hint(&mut self, ea: u32, access: Access, msr: u32) -> Option<Translation> {
            self.front.translate_hint(ea, access, msr)
        }

        fn recency(&self, fetch: bool) -> Recency<'_> {
            self.front.recency(fetch)
        }

        fn used(&self, fetch: bool, page: u32, source: Source) -> Option<Used> {
            self.front.used(fetch, page, source)
        }

        fn hash_table(&self) -> Option<HashBase> {
            Some(HashBase::Words(self.front.sdr1))
        }

        fn view(&self, fetch: bool, number: u32) -> EntryView {
            self.front.view(fetch, number)
        }
    };
}
pub(super) use unit_of_front;
