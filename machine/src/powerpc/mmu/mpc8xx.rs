//! The MMU of the MPC8xx (860, 855T): two fully associative TLBs that software loads. No segments, no BATs,
//! no hash table.
//!
//! A miss raises ITLB miss or DTLB miss with its address in Mx_EPN. Software walks a two-level table of its
//! own: M_TWB reads as the address of the level-one descriptor, which goes to Mx_TWC; MD_TWC then reads as
//! the address of the level-two descriptor. Writing that to Mx_RPN loads the entry that Mx_CTR points to.
//! Descriptors are loaded valid or not: a hit on an entry that is not, or that does not permit the access,
//! raises ITLB error or DTLB error.
//!
//! Sources: MPC860 UM chapter 9 and MPC801 UM and MPC823e RM chapter 11; register bits as Linux's
//! asm/mmu-8xx.h has them. Recalled, and seen in no source: the formats of the debug registers.

pub mod registers;
pub mod tlb;

use super::{
    Access, EntryView, Fault, HashBase, Invalidation, Reaches, Recency, Source, Space, Translation,
    Unit, Used,
};
use crate::account::tlb_events::{TlbLoad, TlbPage};
use crate::account::{Account, Array, Cause, Event, Plain};
use crate::memory::{Memory, attribute};
use crate::powerpc::mmu::places::Places;
use crate::powerpc::msr;
use number as n;
pub use registers::{REGISTERS, control, number};
use registers::{data_halves, instruction_halves};
use serde::{Deserialize, Serialize};
use tlb::{Entry, PageSize, Resolution, Tlb, epn, twc};

/// The exception of a failed translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mpc8xxFault {
    /// ITLB miss or DTLB miss; Mx_EPN holds the address.
    Miss,
    /// ITLB error (bits in SRR1) or DTLB error (bits in DSISR).
    Error {
        /// As for an ISI or DSI; for a store to an unchanged page only the bit for a store.
        bits: u32,
    },
}

/// One of the two TLBs with its registers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Side {
    /// The entries, the counter, and whether some are reserved.
    pub tlb: Tlb,
    /// Mx_CTR without INDX and RSV, which the TLB has.
    control: u32,
    protection: u32,
    epn: u32,
    twc: u32,
    rpn: u32,
    /// Mx_CAM, Mx_RAM0, Mx_RAM1.
    shown: [u32; 3],
}

impl Side {
    fn new(entries: u32, control: u32) -> Self {
        Self {
            tlb: Tlb::new(entries),
            control,
            protection: 0,
            epn: 0,
            twc: 0,
            rpn: 0,
            shown: [0; 3],
        }
    }

    fn control(&self) -> u32 {
        let reserving = if self.tlb.reserving() {
            control::RESERVE
        } else {
            0
        };
        self.control | reserving | self.tlb.index() << 8
    }

    /// `implemented`: the bits that this side's register has.
    fn set_control(&mut self, value: u32, implemented: u32) -> Reaches {
        const SEEN: u32 = control::DOMAINS | control::REAL_INHIBITED | control::REAL_WRITE_THROUGH;
        let old = self.control;
        self.control = value & implemented;
        self.tlb
            .control((value & control::INDEX) >> 8, value & control::RESERVE != 0);
        if (old ^ self.control) & SEEN == 0 {
            Reaches::NOTHING
        } else {
            Reaches::EVERYTHING
        }
    }

    /// True if group and page permit an access in this mode.
    fn permits(&self, entry: &Entry, ea: u32, access: Access, user: bool) -> bool {
        let field = self.protection >> (30 - 2 * entry.group()) & 3;
        if self.control & control::DOMAINS != 0 {
            return match field {
                1 => entry.permits(ea, access, user),
                3 => true,
                // No access; 2 is reserved.
                _ => false,
            };
        }
        // Ks and Kp, as of a segment register.
        let key = field & if user { 1 } else { 2 } != 0;
        entry.permits(ea, access, key)
    }

    /// A write of Mx_RPN.
    fn load(&mut self, value: u32) -> (Entry, Entry) {
        self.rpn = value;
        let resolution = Resolution {
            subpages: self.control & control::SUBPAGES != 0,
            modes: self.control & control::MODES != 0,
        };
        let entry = Entry::new(self.epn, self.twc, value, resolution);
        let old = self.tlb.load(entry);
        (entry, old)
    }
}

/// The unit: both sides and what they share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mpc8xx {
    /// Instruction MMU.
    pub instruction: Side,
    /// Data MMU.
    pub data: Side,
    casid: u8,
    /// Level-one table base, and scratch.
    base: u32,
    scratch: u32,
    /// Cause of the access that missed last. Evictions by the reload are charged to it, not to the handler.
    miss_cause: Cause,
}

impl Mpc8xx {
    /// As after a hard reset, but with TLBs that are empty: MD_CTR\[TWAM\] is set, all else is 0. The
    /// arguments are entries of each TLB, a power of two of at most 32.
    #[must_use]
    pub fn new(instruction: u32, data: u32) -> Self {
        Self {
            instruction: Side::new(instruction, 0),
            data: Side::new(data, control::WALK_4K),
            casid: 0,
            base: 0,
            scratch: 0,
            miss_cause: Cause::KERNEL,
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let fit = |side: bool| self.side(side).tlb.fits(&fresh.side(side).tlb);
        fit(true) && fit(false)
    }

    /// The page of the first table, as M_TWB has it.
    #[must_use]
    pub fn base(&self) -> u32 {
        self.base & 0xffff_f000
    }

    /// M_CASID.
    #[must_use]
    pub fn casid(&self) -> u8 {
        self.casid
    }

    /// The side of instructions or of data.
    #[must_use]
    pub fn side(&self, instruction: bool) -> &Side {
        if instruction {
            &self.instruction
        } else {
            &self.data
        }
    }

    pub(super) fn side_mut(&mut self, instruction: bool) -> &mut Side {
        if instruction {
            &mut self.instruction
        } else {
            &mut self.data
        }
    }

    /// Storage control in real mode: all of memory is guarded (860 UM p.9-3).
    fn real(&self, ea: u32, fetch: bool) -> Translation {
        let control = self.side(fetch).control;
        let mut attributes = attribute::GUARDED;
        if control & control::REAL_INHIBITED != 0 {
            attributes |= attribute::INHIBITED;
        }
        if control & control::REAL_WRITE_THROUGH != 0 {
            attributes |= attribute::WRITE_THROUGH;
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
    /// Miss or error, with the registers that the hardware sets for it.
    pub fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        let fetch = access.is_fetch();
        if !access.is_translated(msr) {
            return Ok(self.real(ea, fetch));
        }
        let (user, asid) = (msr & msr::PR != 0, self.casid);
        let side = self.side_mut(fetch);
        let Some(number) = side.tlb.find(ea, asid, user) else {
            side.epn = ea & epn::PAGE | epn::VALID | u32::from(asid);
            self.count_miss(ea, fetch, account);
            return Err(Fault::mpc8xx(Mpc8xxFault::Miss, access));
        };
        let entry = side.tlb.entry(number).copied().unwrap_or_default();
        if !entry.page_valid() {
            return Err(Fault::mpc8xx_page(access));
        }
        if fetch && entry.guarded() {
            return Err(Fault::mpc8xx_no_execute());
        }
        if !side.permits(&entry, ea, access, user) {
            return Err(Fault::mpc8xx_protection(access));
        }
        if access.is_store() && !entry.changed() {
            side.tlb.invalidate(number);
            account.add_plain(Plain::TlbChangeTrap, 1);
            self.miss_cause = account.cause;
            let mut gone = Reaches::NOTHING;
            gone.add(false, entry.reach());
            return Err(Fault::mpc8xx_unchanged(gone));
        }
        Ok(hit(&entry, ea))
    }

    /// Translates as a hint: only if a resident entry permits it.
    #[must_use]
    pub fn translate_hint(&self, ea: u32, access: Access, msr: u32) -> Option<Translation> {
        if !access.is_translated(msr) {
            return Some(self.real(ea, access.is_fetch()));
        }
        let user = msr & msr::PR != 0;
        let number = self.data.tlb.find(ea, self.casid, user)?;
        let entry = self.data.tlb.entry(number)?;
        let allowed = entry.page_valid() && self.data.permits(entry, ea, access, user);
        allowed.then(|| hit(entry, ea))
    }

    /// Translates for an observer: nothing changes, nothing is counted, protection is not checked.
    #[must_use]
    pub fn peek(&self, ea: u32, access: Access, msr: u32) -> Option<u32> {
        let fetch = access.is_fetch();
        if !access.is_translated(msr) {
            return Some(ea);
        }
        let tlb = &self.side(fetch).tlb;
        let number = tlb.find(ea, self.casid, msr & msr::PR != 0)?;
        let entry = tlb.entry(number)?;
        entry.page_valid().then(|| entry.physical(ea))
    }

    fn count_miss(&mut self, ea: u32, fetch: bool, account: &mut Account) {
        let array = Array::tlb(fetch);
        account.add(Event::tlb_miss(fetch), 1);
        let cause = account.cause;
        self.miss_cause = cause;
        let tables = Places::Tree {
            asid: self.casid,
            level_one: self.level_one(ea),
        };
        account.note_miss(fetch, (ea, 0), None, tables.into());
        if let Some(walk) = &mut account.tlb.walk {
            let tlb = &self.side(fetch).tlb;
            let held = |entry: &Entry| entry.valid().then(|| page(entry));
            walk.begin((0..tlb.len()).map(|number| tlb.entry(number).and_then(held)));
        }
        // The evicted page may have been of any size, of this address space or shared.
        for size in PageSize::ALL {
            for space in [Some(self.casid), None] {
                let key = tlb::key(ea, size, space);
                let (counters, pollution) = (&mut account.counters, &mut account.pollution);
                if pollution.entry_missed(counters, array, key, cause) {
                    return;
                }
            }
        }
    }

    /// Where the level-one entry of `ea` is. Its index is EA\[0-9\] for tables of 4 KB pages, EA\[0-11\] for those
    /// of 1 KB.
    fn level_one(&self, ea: u32) -> u32 {
        if self.data.control & control::WALK_4K != 0 {
            self.base & 0xffff_f000 | ea >> 20 & 0xffc
        } else {
            self.base & 0xffff_c000 | ea >> 18 & 0x3ffc
        }
    }

    /// Reads SPR `number`; `None` if it is none of this unit's.
    #[must_use]
    pub fn read(&self, number: u32) -> Option<u32> {
        let (instruction, data) = (&self.instruction, &self.data);
        let walk_4k = data.control & control::WALK_4K != 0;
        Some(match number {
            n::MI_CTR => instruction.control(),
            n::MI_AP => instruction.protection,
            n::MI_EPN => instruction.epn,
            n::MI_TWC => instruction.twc,
            n::MI_RPN => instruction.rpn,
            n::MD_CTR => data.control(),
            n::M_CASID => self.casid.into(),
            n::MD_AP => data.protection,
            n::MD_EPN => data.epn,
            n::M_TWB => self.level_one(data.epn),
            // The level-two table of a large page has one descriptor, at the table's base (885 RM p.8-10).
            n::MD_TWC if data.twc & twc::SIZE != 0 => data.twc & 0xffff_f000,
            // Level-two index: EA[10-19], or EA[12-21].
            n::MD_TWC if walk_4k => data.twc & 0xffff_f000 | data.epn >> 10 & 0xffc,
            n::MD_TWC => data.twc & 0xffff_f000 | data.epn >> 8 & 0xffc,
            n::MD_RPN => data.rpn,
            n::M_TW => self.scratch,
            n::MI_CAM | n::MI_RAM0 | n::MI_RAM1 => instruction.shown[(number - n::MI_CAM) as usize],
            n::MD_CAM | n::MD_RAM0 | n::MD_RAM1 => data.shown[(number - n::MD_CAM) as usize],
            _ => return None,
        })
    }

    /// Writes SPR `number`; nothing if it is none of this unit's.
    pub fn write(&mut self, number: u32, value: u32, account: &mut Account) -> Reaches {
        const EITHER: u32 =
            control::DOMAINS | control::SUBPAGES | control::REAL_INHIBITED | control::MODES;
        const DATA: u32 = EITHER | control::REAL_WRITE_THROUGH | control::WALK_4K;
        const TWC: u32 = twc::GROUP | twc::GUARDED | twc::SIZE | twc::VALID;
        match number {
            n::MI_CTR => return self.instruction.set_control(value, EITHER),
            n::MD_CTR => return self.data.set_control(value, DATA),
            n::MI_AP => return changed(&mut self.instruction.protection, value),
            n::MD_AP => return changed(&mut self.data.protection, value),
            n::M_CASID => return changed(&mut self.casid, (value & epn::ASID) as u8),
            n::MI_EPN => self.instruction.epn = value & (epn::PAGE | epn::VALID | epn::ASID),
            n::MD_EPN => self.data.epn = value & (epn::PAGE | epn::VALID | epn::ASID),
            n::MI_TWC => self.instruction.twc = value & TWC,
            n::MD_TWC => self.data.twc = value & (0xffff_f000 | TWC | twc::WRITE_THROUGH),
            n::M_TWB => self.base = value & 0xffff_f000,
            n::M_TW => self.scratch = value,
            n::MI_RPN => return self.load(true, value, account),
            n::MD_RPN => return self.load(false, value, account),
            n::MI_CAM => self.instruction.shown = instruction_halves(&self.instruction),
            n::MD_CAM => self.data.shown = data_halves(&self.data),
            _ => {}
        }
        Reaches::NOTHING
    }

    fn load(&mut self, instruction: bool, value: u32, account: &mut Account) -> Reaches {
        account.add_plain(Plain::TlbLoad, 1);
        let evictor = self.miss_cause;
        let side = self.side_mut(instruction);
        let (ea, way) = (side.epn & epn::PAGE, side.tlb.index());
        let (new, old) = side.load(value);
        let replaced = old.valid() && old.key() != new.key();
        account.tlb.load = new.valid().then(|| TlbLoad {
            fetch: instruction,
            ea,
            set: 0,
            way,
            page: page(&new),
            victim: replaced.then(|| page(&old)),
        });
        if replaced {
            let array = Array::tlb(instruction);
            account.add_plain(Plain::tlb_evicted(instruction), 1);
            account.pollution.entry_evicted(array, old.key(), evictor);
        }
        let mut reaches = Reaches::NOTHING;
        for entry in [new, old].into_iter().filter(Entry::valid) {
            reaches.add(instruction, entry.reach());
        }
        reaches
    }
}

fn changed<T: PartialEq>(register: &mut T, value: T) -> Reaches {
    if *register == value {
        return Reaches::NOTHING;
    }
    *register = value;
    Reaches::EVERYTHING
}

impl Unit for Mpc8xx {
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
        Self::translate_hint(self, ea, access, msr)
    }

    fn peek(&self, ea: u32, access: Access, msr: u32, _: &Memory) -> Option<u32> {
        Self::peek(self, ea, access, msr)
    }

    /// `tlbie` takes every entry that holds the address; `tlbia` keeps reserved entries.
    fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches {
        match what {
            Invalidation::Address(ea) | Invalidation::Large(ea) => {
                account.add_plain(Plain::TlbInvalidate, 1);
                Reaches {
                    instruction: self.instruction.tlb.invalidate_address(ea),
                    data: self.data.tlb.invalidate_address(ea),
                }
            }
            Invalidation::All => {
                self.instruction.tlb.invalidate_all();
                self.data.tlb.invalidate_all();
                Reaches::EVERYTHING
            }
        }
    }

    /// A counter selects the entry to replace, so no order of use is kept.
    fn recency(&self, _: bool) -> Recency<'_> {
        Recency {
            sets: 0,
            ways: 1,
            recent: None,
        }
    }

    fn used(&self, _: bool, _: u32, _: Source) -> Option<Used> {
        None
    }

    fn hash_table(&self) -> Option<HashBase> {
        None
    }

    fn view(&self, fetch: bool, number: u32) -> EntryView {
        let tlb = &self.side(fetch).tlb;
        let mut view = EntryView {
            shape: 1 << 16 | tlb.len(),
            ..EntryView::default()
        };
        if let Some(entry) = tlb.entry(number).filter(|entry| entry.valid()) {
            let reserved = u32::from(tlb.reserved(number)) << 30;
            view.space = 1 << 31 | reserved | u32::from(entry.asid());
            view.page = entry.page();
            view.word1 = entry.rpn();
            view.level_one = entry.twc();
        }
        view
    }
}

fn page(entry: &Entry) -> TlbPage {
    TlbPage {
        address: entry.page(),
        space: (!entry.shared()).then(|| Space::Asid(entry.asid().into())),
    }
}

fn hit(entry: &Entry, ea: u32) -> Translation {
    Translation {
        pa: entry.physical(ea),
        attributes: entry.attributes(),
        source: if entry.uniform() {
            Source::Tlb
        } else {
            Source::Subpage
        },
        cycles: 0,
    }
}
