//! The 603's software reload: what hardware puts into registers at a miss, and `tlbld`/`tlbli`
//! (603e UM 5.5.2; G2 RM 6.5).

use super::{Access, Fault, Mmu, Reload, TlbEntry, hash, segment, tlb};
use crate::observe::{Account, Plain};
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
    /// PTE word 0 to look for, of the data access.
    pub dcmp: u32,
    /// Physical address of the primary PTEG of the last miss.
    pub hash1: u32,
    /// Physical address of the secondary PTEG of the last miss.
    pub hash2: u32,
    /// EA of the fetch that missed.
    pub imiss: u32,
    /// PTE word 0 to look for, of the fetch.
    pub icmp: u32,
    /// PTE word 1 that `tlbld`/`tlbli` load: written by software.
    pub rpa: u32,
}

/// The exception of a software reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftwareMiss {
    /// 0x1000 instruction, 0x1100 data load, 0x1200 data store or C = 0.
    pub vector: u32,
    /// SRR1\[12-15\].
    pub srr1: u32,
}

impl Mmu {
    /// A 603's TLB miss: sets the registers and says which exception to take.
    pub(super) fn software_miss(&mut self, ea: u32, access: Access, key: bool) -> Fault {
        let way = if access.is_fetch() {
            self.itlb.victim_way(ea)
        } else {
            self.dtlb.victim_way(ea)
        };
        self.software_exception(ea, access, key, way)
    }

    /// A 603's store to the resident entry in `way` whose C bit is 0: 0x1200 that names this way, so
    /// that the reload replaces it.
    pub(super) fn software_unchanged(&mut self, ea: u32, key: bool, way: u8) -> Fault {
        self.software_exception(ea, Access::Store, key, way)
    }

    fn software_exception(&mut self, ea: u32, access: Access, key: bool, way: u8) -> Fault {
        let segment = self.segments.get(ea);
        let compare = hash::word0(segment, ea, false);
        let (primary, secondary) = hash::groups(self.sdr1, segment, ea);
        self.miss.hash1 = primary;
        self.miss.hash2 = secondary;
        let mut bits = if way & 1 != 0 { srr1::WAY } else { 0 };
        if key && matches!(self.geometry().reload, Reload::Software { key: true }) {
            bits |= srr1::KEY;
        }
        let vector = match access {
            Access::Fetch => {
                self.miss.imiss = ea;
                self.miss.icmp = compare;
                bits |= srr1::INSTRUCTION;
                0x1000
            }
            Access::Load => {
                self.miss.dmiss = ea;
                self.miss.dcmp = compare;
                0x1100
            }
            Access::Store => {
                self.miss.dmiss = ea;
                self.miss.dcmp = compare;
                bits |= srr1::STORE;
                0x1200
            }
        };
        Fault::software(SoftwareMiss { vector, srr1: bits })
    }

    /// `tlbld`: loads the data TLB's entry for `ea` from DCMP and RPA, into the way that SRR1 names.
    pub fn tlbld(&mut self, ea: u32, srr1: u32, account: &mut Account) {
        self.load_entry(ea, srr1, self.miss.dcmp, false, account);
    }

    /// `tlbli`: loads the instruction TLB's entry for `ea` from ICMP and RPA, into the way that SRR1
    /// names.
    pub fn tlbli(&mut self, ea: u32, srr1: u32, account: &mut Account) {
        self.load_entry(ea, srr1, self.miss.icmp, true, account);
    }

    fn load_entry(
        &mut self,
        ea: u32,
        srr1: u32,
        compare: u32,
        instruction: bool,
        account: &mut Account,
    ) {
        account.add_plain(Plain::TlbLoad, 1);
        let way = u8::from(srr1 & srr1::WAY != 0);
        let vsid = compare >> 7 & segment::VSID;
        // The API part of the page index comes from the compare register, the rest from rB.
        let page = (compare & 0x3f) << 22 | (ea & 0x003f_f000);
        let mut tag = tlb::tag(vsid, page);
        if compare & hash::V == 0 {
            tag = 0;
        }
        let entry = TlbEntry::new(tag, self.miss.rpa);
        let evictor = self.miss_cause;
        let (tlb, array) = self.side(instruction);
        if let Some(old) = tlb.write_way(ea, way, entry) {
            account.pollution.entry_evicted(array, old.tag(), evictor);
        }
    }
}
