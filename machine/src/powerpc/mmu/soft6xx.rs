//! The MMU of the 603: software reloads the TLBs. At a miss the hardware sets registers for the handler; `tlbld` and
//! `tlbli` load an entry (603e UM 5.5.2; G2 RM 6.5).

use super::front6xx::{Now, Page, Refill, unit_of_front};
use super::{
    Access, EntryView, Fault, Front6xx, HashBase, Invalidation, Reach, Reaches, Recency, Source,
    TlbEntry, Translation, Unit, Used, hash, segment, tlb,
};
use crate::account::{Account, Cause, Plain};
use crate::memory::Memory;
use serde::{Deserialize, Serialize};

/// SRR1 bits at a TLB miss; bits 0-3 are CR0 and the low half is MSR, both put there by the core.
pub mod srr1 {
    /// KEY: the key of the access (bit 12).
    pub const KEY: u32 = 0x0008_0000;
    /// I/D: 1 for an instruction miss (bit 13).
    pub const INSTRUCTION: u32 = 0x0004_0000;
    /// WAY: the way that `tlbld`/`tlbli` will write (bit 14).
    pub const WAY: u32 = 0x0002_0000;
    /// S/L: 1 for a store (bit 15).
    pub const STORE: u32 = 0x0001_0000;
}

/// DMISS, DCMP, HASH1, HASH2, IMISS, ICMP, RPA (SPR 976 to 982).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissRegisters {
    /// EA of the data access that missed.
    pub dmiss: u32,
    /// PTE word 0 to search for, of the data access.
    pub dcmp: u32,
    /// Physical address of the primary PTEG of the last miss.
    pub hash1: u32,
    /// Physical address of the secondary PTEG of the last miss.
    pub hash2: u32,
    /// EA of the fetch that missed.
    pub imiss: u32,
    /// PTE word 0 to search for, of the fetch.
    pub icmp: u32,
    /// PTE word 1 that `tlbld`/`tlbli` load: written by software.
    pub rpa: u32,
}

/// The exception of a software reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftwareMiss {
    /// What missed, or a store whose entry has C = 0.
    pub access: Access,
    /// SRR1\[12-15\].
    pub srr1: u32,
}

/// The MMU of the 603.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Soft6xx {
    /// BATs, segments, TLBs, SDR1.
    pub front: Front6xx,
    /// The miss registers.
    pub miss: MissRegisters,
    /// SRR1\[KEY\] is set at a miss.
    key: bool,
    /// The way that the last miss named: SRR1 has its lowest bit.
    way: u8,
}

/// Raises the miss exceptions.
struct Miss<'a> {
    registers: &'a mut MissRegisters,
    way: &'a mut u8,
    key: bool,
}

impl Miss<'_> {
    /// Sets the registers for a miss whose entry will go to `way`. Returns the exception to take.
    fn raise(&mut self, page: &Page, access: Access, way: u8) -> Fault {
        let ea = page.ea;
        let compare = hash::word0(page.segment, ea, false);
        let (primary, secondary) = hash::groups(page.sdr1, page.segment, ea);
        self.registers.hash1 = primary;
        self.registers.hash2 = secondary;
        *self.way = way;
        let mut bits = if way & 1 != 0 { srr1::WAY } else { 0 };
        if page.key && self.key {
            bits |= srr1::KEY;
        }
        match access {
            Access::Fetch => {
                self.registers.imiss = ea;
                self.registers.icmp = compare;
                bits |= srr1::INSTRUCTION;
            }
            Access::Load => {
                self.registers.dmiss = ea;
                self.registers.dcmp = compare;
            }
            Access::Store => {
                self.registers.dmiss = ea;
                self.registers.dcmp = compare;
                bits |= srr1::STORE;
            }
        }
        Fault::software(SoftwareMiss { access, srr1: bits })
    }
}

impl Refill for Miss<'_> {
    fn reload(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        access: Access,
        _: &mut Now<'_>,
    ) -> Result<(TlbEntry, u64), Fault> {
        let way = front.side_mut(access.is_fetch()).0.victim_way(page.ea);
        Err(self.raise(page, access, way))
    }

    /// The exception names the way of the entry whose C bit is 0, so that the reload replaces it.
    fn change(
        &mut self,
        front: &mut Front6xx,
        page: &Page,
        entry: TlbEntry,
        now: &mut Now<'_>,
    ) -> Result<u64, Fault> {
        now.account.add_plain(Plain::TlbChangeTrap, 1);
        front.miss_cause = now.account.cause;
        Err(self.raise(page, Access::Store, entry.way()))
    }
}

impl Soft6xx {
    pub(super) fn new(front: Front6xx, key: bool) -> Self {
        let miss = MissRegisters::default();
        Self {
            front,
            miss,
            key,
            way: 0,
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        self.key == fresh.key && self.front.fits(&fresh.front)
    }

    /// `tlbld` and `tlbli`: loads the entry for `ea` of the data or the instruction TLB from DCMP or ICMP, and RPA,
    /// into the way that SRR1 names.
    pub fn load(&mut self, ea: u32, srr1: u32, fetch: bool, account: &mut Account) -> Reaches {
        account.add_plain(Plain::TlbLoad, 1);
        let compare = if fetch {
            self.miss.icmp
        } else {
            self.miss.dcmp
        };
        // A TLB of more than two ways, which no core has, remembers the rest.
        let way = self.way & !1 | u8::from(srr1 & srr1::WAY != 0);
        let vsid = compare >> 7 & segment::VSID;
        // The API part of the page index comes from the compare register, the rest from rB.
        let page = (compare & 0x3f) << 22 | (ea & 0x003f_f000);
        let mut tag = tlb::tag(vsid, page);
        if compare & hash::V == 0 {
            tag = 0;
        }
        let entry = TlbEntry::new(tag, self.miss.rpa);
        let evictor = self.front.miss_cause;
        let old = self.front.side_mut(fetch).0.write_way(ea, way, entry);
        self.front
            .note_load((fetch, ea), entry, old, evictor, account);
        if entry.valid() {
            self.front.keep(entry, account);
        } else {
            // Software may have removed a translation in this way.
            self.front.invalidate_second(Invalidation::Address(ea));
        }
        let mut reaches = Reaches::NOTHING;
        reaches.add(fetch, Reach::Set(ea));
        reaches
    }
}

impl Unit for Soft6xx {
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
        let mut miss = Miss {
            registers: &mut self.miss,
            way: &mut self.way,
            key: self.key,
        };
        self.front.translate(&mut miss, ea, access, msr, now)
    }

    /// Software may keep a hash table at the address in SDR1.
    fn peek(&self, ea: u32, access: Access, msr: u32, memory: &Memory) -> Option<u32> {
        let behind = |page: &Page| Front6xx::peek_table(page, memory);
        self.front.peek(ea, access, msr, behind)
    }

    fn taken(&mut self, ea: u32, cause: Cause, account: &mut Account) {
        self.front.taken(ea, cause, account);
    }

    fn invalidate(&mut self, what: Invalidation, account: &mut Account) -> Reaches {
        self.front.invalidate(what, account)
    }

    unit_of_front!();
}
