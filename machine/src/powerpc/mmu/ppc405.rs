//! The MMU of the PPC405: a unified TLB of 64 entries (UTLB) that software loads by `tlbwe`, and before it two small
//! shadow TLBs, of instructions and of data, that hardware refills from it.
//!
//! Software chooses the entry to replace by its number. An entry has one of eight page sizes, an address space (TID; 0
//! matches every PID), permissions (EX, WR) and one of sixteen zones, through which ZPR widens or withdraws them. A
//! shadow entry is a copy of a UTLB entry with the permissions as they were when it was made. `tlbwe`, and writes of
//! PID and ZPR, leave shadow entries alone; `isync`, `sc`, `rfi`, `rfci` and every exception remove all of them.
//!
//! Sources: PPC405 Core User's Manual (SA14-2339-04) chapter 7, PPC405GP User's Manual, and Linux asm/mmu-40x.h for the
//! bits of an entry. Not modelled: little-endian pages (E) and the user attribute (U0), which are kept, and that a
//! refill for fetches waits while the data side uses the UTLB. `dcbt` looks into the UTLB without a refill. If several
//! entries match, the one with the lowest number translates; on hardware that is a programming error.

mod entry;
mod shadow;

pub use entry::{Entry, high, low};

use super::{
    Access, EntryView, Fault, HashBase, Invalidation, Reaches, Recency, Source, Space, Translation,
    Unit, Used,
};
use crate::account::tlb_events::{TlbLoad, TlbPage};
use crate::account::{Account, Array, Cause, Event, Plain};
use crate::config::UNIFIED_405 as ENTRIES;
use crate::memory::{Memory, attribute};
use crate::powerpc::mmu::places::Places;
use crate::powerpc::msr;
use entry::{Permission, key};
use serde::{Deserialize, Serialize};
use shadow::{Shadow, ShadowTlb};

/// Bits of ESR that a failed translation sets (Linux asm/reg_booke.h).
pub mod cause {
    /// The access was a store.
    pub const STORE: u32 = 0x0080_0000;
    /// The zone permits users nothing.
    pub const ZONE: u32 = 0x0040_0000;
}

/// The exception of a failed translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ppc405Fault {
    /// The UTLB has no entry.
    Miss {
        /// ESR; nothing for a fetch.
        esr: u32,
    },
    /// The entry does not permit the access.
    Storage {
        /// ESR.
        esr: u32,
    },
}

/// The unit: UTLB, shadow TLBs and their registers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ppc405 {
    utlb: Vec<Entry>,
    instruction: ShadowTlb,
    data: ShadowTlb,
    /// PID: the address space that runs.
    pid: u8,
    /// ZPR: a field for each zone.
    zpr: u32,
    /// Storage control without translation, a bit for each 128 MB: cacheable fetches (ICCR), cacheable data (DCCR),
    /// write-through (DCWR), guarded (SGR).
    real: [u32; 4],
    /// Cause of the access that missed last. Evictions by the reload are charged to it, not to the handler.
    miss_cause: Cause,
    /// Way and page size of the shadow entry that the last access used, for [`Unit::used`].
    #[serde(skip)]
    last: Option<(u8, u8)>,
}

/// The registers of storage control without translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealMode {
    /// ICCR
    CacheFetches,
    /// DCCR
    CacheData,
    /// DCWR
    WriteThrough,
    /// SGR
    Guarded,
}

impl Ppc405 {
    /// As after a hard reset, but with an empty UTLB. The arguments are the entries of the shadow TLBs and the core
    /// cycles of their refills, of instructions and of data.
    #[must_use]
    pub fn new(entries: [u32; 2], refill: [u32; 2]) -> Self {
        Self {
            utlb: vec![Entry::default(); ENTRIES as usize],
            instruction: ShadowTlb::new(entries[0], refill[0]),
            data: ShadowTlb::new(entries[1], refill[1]),
            pid: 0,
            zpr: 0,
            real: [0, 0, 0, u32::MAX],
            miss_cause: Cause::KERNEL,
            last: None,
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.utlb.len() == fresh.utlb.len()
            && self.instruction.fits(&fresh.instruction)
            && self.data.fits(&fresh.data)
    }

    /// The entries of the UTLB.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.utlb
    }

    /// PID.
    #[must_use]
    pub fn pid(&self) -> u8 {
        self.pid
    }

    /// A write of PID. Shadow entries stay.
    pub fn set_pid(&mut self, pid: u8) {
        self.pid = pid;
    }

    /// ZPR.
    #[must_use]
    pub fn zpr(&self) -> u32 {
        self.zpr
    }

    /// A write of ZPR. Shadow entries stay.
    pub fn set_zpr(&mut self, value: u32) {
        self.zpr = value;
    }

    /// A register of storage control without translation.
    #[must_use]
    pub fn real_mode(&self, register: RealMode) -> u32 {
        self.real[register as usize]
    }

    /// Writes such a register.
    pub fn set_real_mode(&mut self, register: RealMode, value: u32) -> Reaches {
        self.real[register as usize] = value;
        Reaches::EVERYTHING
    }

    /// Removes all shadow entries: `isync`, `sc`, `rfi`, `rfci` and every exception.
    #[inline]
    pub fn synchronize(&mut self) -> Reaches {
        self.instruction.clear();
        self.data.clear();
        Reaches::EVERYTHING
    }

    /// `tlbsx`: the number of the entry that holds `ea` in the current address space.
    #[must_use]
    pub fn search(&self, ea: u32) -> Option<u32> {
        self.find(ea).map(|number| number as u32)
    }

    /// Removes what translates `ea` in the current address space.
    pub(super) fn drop(&mut self, ea: u32) {
        while let Some(number) = self.find(ea) {
            self.utlb[number] = Entry::default();
        }
        self.instruction.clear();
        self.data.clear();
    }

    /// `tlbre` of TLBHI: the word, and the TID, which goes to PID.
    pub fn read_high(&mut self, number: u32) -> u32 {
        let entry = self.utlb[(number % ENTRIES) as usize];
        self.pid = entry.tid;
        entry.high
    }

    /// `tlbre` of TLBLO.
    #[must_use]
    pub fn read_low(&self, number: u32) -> u32 {
        self.utlb[(number % ENTRIES) as usize].low
    }

    /// `tlbwe` of TLBLO.
    pub fn write_low(&mut self, number: u32, value: u32) {
        self.utlb[(number % ENTRIES) as usize].low = value;
    }

    /// `tlbwe` of TLBHI. A valid one counts as the load of the entry.
    pub fn write_high(&mut self, number: u32, value: u32, account: &mut Account) {
        let number = number % ENTRIES;
        let pid = self.pid;
        let entry = &mut self.utlb[number as usize];
        let old = *entry;
        *entry = Entry {
            high: value & (high::PAGE | high::SIZE | high::VALID | high::KEPT),
            tid: pid,
            ..old
        };
        let new = *entry;
        if !new.valid() {
            if old.valid() {
                account.add_plain(Plain::TlbInvalidate, 1);
            }
            return;
        }
        account.add_plain(Plain::TlbLoad, 1);
        let replaced = old.valid() && old.key() != new.key();
        account.tlb.load = Some(TlbLoad {
            fetch: false,
            ea: new.page(),
            set: 0,
            way: number,
            page: page(&new),
            victim: replaced.then(|| page(&old)),
        });
        if replaced {
            account.add_plain(Plain::DataTlbEvicted, 1);
            account
                .pollution
                .entry_evicted(Array::DataTlb, old.key(), self.miss_cause);
        }
    }

    fn find(&self, ea: u32) -> Option<usize> {
        self.utlb
            .iter()
            .position(|entry| entry.matches(ea, self.pid))
    }

    fn shadow(&self, fetch: bool) -> &ShadowTlb {
        if fetch { &self.instruction } else { &self.data }
    }

    fn shadow_mut(&mut self, fetch: bool) -> &mut ShadowTlb {
        if fetch {
            &mut self.instruction
        } else {
            &mut self.data
        }
    }

    /// Storage control without translation: the register's bit of the 128 MB around the address.
    fn without_translation(&self, ea: u32, fetch: bool) -> Translation {
        let bit = |register: RealMode| self.real[register as usize] << (ea >> 27) & 1 << 31 != 0;
        let mut attributes = 0;
        let cached = if fetch {
            bit(RealMode::CacheFetches)
        } else {
            bit(RealMode::CacheData)
        };
        if !cached {
            attributes |= attribute::INHIBITED;
        }
        if !fetch && bit(RealMode::WriteThrough) {
            attributes |= attribute::WRITE_THROUGH;
        }
        if bit(RealMode::Guarded) {
            attributes |= attribute::GUARDED;
        }
        Translation {
            pa: ea,
            attributes,
            source: Source::Real,
            cycles: 0,
        }
    }

    /// Translates `ea` for `access` under `msr`, as [`Unit::translate`].
    ///
    /// # Errors
    /// The exception of the access.
    pub fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        let fetch = access.is_fetch();
        self.last = None;
        if !access.is_translated(msr) {
            return Ok(self.without_translation(ea, fetch));
        }
        let user = msr & msr::PR != 0;
        let shadow = self.shadow(fetch);
        if let Some((way, entry)) = shadow.find(ea) {
            let result = entry.translate(ea, access, user);
            let result = result.map(|translation| shadow.sourced(translation, ea));
            let last = (way as u8, entry.size);
            self.last = Some(last);
            return result.map_err(|esr| Fault::ppc405(Ppc405Fault::Storage { esr }, access, 0));
        }
        let Some(number) = self.find(ea) else {
            self.count_miss(ea, fetch, account);
            let esr = if access.is_store() { cause::STORE } else { 0 };
            return Err(Fault::ppc405(Ppc405Fault::Miss { esr }, access, 0));
        };
        let entry = Shadow::of(&self.utlb[number], self.zpr);
        let shadow = self.shadow_mut(fetch);
        let last = (shadow.next as u8, entry.size);
        shadow.fill(entry);
        let cycles = u64::from(shadow.refill);
        let refills = if fetch {
            Plain::InstructionShadowRefill
        } else {
            Plain::DataShadowRefill
        };
        self.last = Some(last);
        account.add_plain(refills, 1);
        account.add_plain(Plain::ShadowCycles, cycles);
        match entry.translate(ea, access, user) {
            Ok(translation) => Ok(Translation {
                cycles,
                ..self.shadow(fetch).sourced(translation, ea)
            }),
            // The refill may have replaced an entry; the exception removes all of them.
            Err(esr) => {
                let mut fault = Fault::ppc405(Ppc405Fault::Storage { esr }, access, cycles);
                fault.gone = Reaches::EVERYTHING;
                Err(fault)
            }
        }
    }

    fn count_miss(&mut self, ea: u32, fetch: bool, account: &mut Account) {
        account.add(Event::tlb_miss(fetch), 1);
        let cause = account.cause;
        self.miss_cause = cause;
        let tables = Places::Software { pid: self.pid };
        account.note_miss(fetch, (ea, 0), None, tables.into());
        if let Some(walk) = &mut account.tlb.walk {
            let held = |entry: &Entry| entry.valid().then(|| page(entry));
            walk.begin(self.utlb.iter().map(held));
        }
        // The evicted page may have been of any size, of this address space or of all.
        for size in 0..8 {
            for tid in [self.pid, 0] {
                let key = key(ea & !((1024 << (2 * size)) - 1), size, tid);
                let (counters, pollution) = (&mut account.counters, &mut account.pollution);
                if pollution.entry_missed(counters, Array::DataTlb, key, cause) {
                    return;
                }
            }
        }
    }
}

impl Unit for Ppc405 {
    fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        _: &mut Memory,
        _: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        Self::translate(self, ea, access, msr, account)
    }

    fn translate_hint(&mut self, ea: u32, access: Access, msr: u32) -> Option<Translation> {
        self.last = None;
        if !access.is_translated(msr) {
            return Some(self.without_translation(ea, access.is_fetch()));
        }
        let user = msr & msr::PR != 0;
        if let Some((way, entry)) = self.data.find(ea) {
            self.last = Some((way as u8, entry.size));
            let translation = entry.translate(ea, access, user).ok()?;
            return Some(self.data.sourced(translation, ea));
        }
        let entry = Shadow::of(&self.utlb[self.find(ea)?], self.zpr);
        let translation = entry.translate(ea, access, user).ok()?;
        // No shadow entry holds it, so that nothing may remember it.
        Some(Translation {
            source: Source::Subpage,
            ..translation
        })
    }

    fn peek(&self, ea: u32, access: Access, msr: u32, _: &Memory) -> Option<u32> {
        let fetch = access.is_fetch();
        if !access.is_translated(msr) {
            return Some(ea);
        }
        if let Some((_, entry)) = self.shadow(fetch).find(ea) {
            return Some(entry.physical | ea & (entry.bytes() - 1));
        }
        let entry = &self.utlb[self.find(ea)?];
        Some(entry.physical() | ea & (entry.bytes() - 1))
    }

    /// `tlbia` empties the UTLB; shadow entries stay. The core has no `tlbie`: an address is of use to the simulator
    /// alone, which removes shadow entries too.
    fn invalidate(&mut self, what: Invalidation, _: &mut Account) -> Reaches {
        match what {
            Invalidation::Address(ea) | Invalidation::Large(ea) => {
                for entry in &mut self.utlb {
                    if entry.valid() && ea & !(entry.bytes() - 1) == entry.page() {
                        entry.high &= !high::VALID;
                    }
                }
                self.synchronize()
            }
            Invalidation::All => {
                for entry in &mut self.utlb {
                    entry.high &= !high::VALID;
                }
                Reaches::NOTHING
            }
        }
    }

    /// Fully associative: an engine may keep a page for each entry. The TLB keeps no order of use.
    fn recency(&self, fetch: bool) -> Recency<'_> {
        let shadow = self.shadow(fetch);
        Recency {
            sets: 1,
            ways: shadow.entries.len() as u32,
            recent: None,
        }
    }

    /// Of a page of 1 KB too, which gets no shortcut: the entry's last page loses its own.
    fn used(&self, _: bool, _: u32, _: Source) -> Option<Used> {
        let (way, size) = self.last?;
        Some(Used {
            set: 0,
            way,
            large: (2 * size).saturating_sub(2),
        })
    }

    fn hash_table(&self) -> Option<HashBase> {
        None
    }

    /// Both sides show the UTLB.
    fn view(&self, _: bool, number: u32) -> EntryView {
        let mut view = EntryView {
            shape: 1 << 16 | ENTRIES,
            ..EntryView::default()
        };
        if let Some(entry) = self.utlb.get(number as usize).filter(|entry| entry.valid()) {
            view.space = 1 << 31 | u32::from(entry.tid);
            view.page = entry.high;
            view.word1 = entry.low;
        }
        view
    }
}

fn page(entry: &Entry) -> TlbPage {
    TlbPage {
        address: entry.page(),
        space: (entry.tid != 0).then_some(Space::Asid(entry.tid.into())),
    }
}
