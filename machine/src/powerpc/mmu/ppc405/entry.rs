//! Entries of a 405's unified TLB, and what they permit.

use super::cause;
use crate::memory::attribute;
use crate::powerpc::mmu::Access;
use serde::{Deserialize, Serialize};

/// Bits of TLBHI, the word of an entry that WS = 0 names (Linux asm/mmu-40x.h).
pub mod high {
    /// EA\[0-21\]
    pub const PAGE: u32 = 0xffff_fc00;
    /// Page size: 1 KB times 4 to this power.
    pub const SIZE: u32 = 0x380;
    /// The entry is valid.
    pub const VALID: u32 = 0x40;
    /// Little-endian, and the user attribute.
    pub const KEPT: u32 = 0x30;
}

/// Bits of TLBLO, the word that WS = 1 names.
pub mod low {
    /// Physical page.
    pub const PAGE: u32 = 0xffff_fc00;
    /// EX: instructions may be fetched.
    pub const EXECUTE: u32 = 0x200;
    /// WR: stores are permitted.
    pub const WRITE: u32 = 0x100;
    /// Number of the zone.
    pub const ZONE: u32 = 0xf0;
    /// W, I, M, G.
    pub const WIMG: u32 = 0xf;
}

/// An entry of the UTLB, as `tlbwe` has written it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub(super) high: u32,
    pub(super) low: u32,
    /// PID when TLBHI was written.
    pub(super) tid: u8,
}

impl Entry {
    /// Does it take part in the comparison?
    #[must_use]
    pub fn valid(&self) -> bool {
        self.high & high::VALID != 0
    }

    /// TLBHI.
    #[must_use]
    pub fn high(&self) -> u32 {
        self.high
    }

    /// TLBLO.
    #[must_use]
    pub fn low(&self) -> u32 {
        self.low
    }

    /// The address space; 0 is in all of them.
    #[must_use]
    pub fn tid(&self) -> u8 {
        self.tid
    }

    /// Code of the page size: 0 to 7.
    #[must_use]
    pub fn size(&self) -> u32 {
        (self.high & high::SIZE) >> 7
    }

    /// Bytes of the page: 1 KB to 16 MB.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        1024 << (2 * self.size())
    }

    /// First address of the page.
    #[must_use]
    pub fn page(&self) -> u32 {
        self.high & !(self.bytes() - 1)
    }

    /// Physical address of the page.
    #[must_use]
    pub fn physical(&self) -> u32 {
        self.low & !(self.bytes() - 1)
    }

    /// Number of the zone.
    #[must_use]
    pub fn zone(&self) -> u32 {
        (self.low & low::ZONE) >> 4
    }

    /// W, I, M, G as [`attribute`] numbers them. M has no effect: the core does not snoop.
    #[must_use]
    pub fn attributes(&self) -> u8 {
        let bit = |mask: u32, attribute: u8| if self.low & mask != 0 { attribute } else { 0 };
        bit(8, attribute::WRITE_THROUGH)
            | bit(4, attribute::INHIBITED)
            | bit(2, attribute::COHERENT)
            | bit(1, attribute::GUARDED)
    }

    pub(super) fn matches(&self, ea: u32, pid: u8) -> bool {
        self.valid()
            && ea & !(self.bytes() - 1) == self.page()
            && (self.tid == 0 || self.tid == pid)
    }

    pub(super) fn key(&self) -> u64 {
        key(self.page(), self.size(), self.tid)
    }
}

/// The name of an entry among those that have been evicted.
pub(super) fn key(page: u32, size: u32, tid: u8) -> u64 {
    u64::from(page) | u64::from(size) << 32 | u64::from(tid) << 40
}

/// What an entry permits in a mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Permission {
    /// The zone withdraws every permission.
    none: bool,
    write: bool,
    execute: bool,
}

impl Permission {
    /// What the entry permits, with its zone's field in ZPR (405 UM 7-10): 0: users nothing; 1: as the entry says; 2:
    /// the supervisor everything; 3: everyone everything.
    pub(super) fn of(entry: &Entry, zpr: u32, user: bool) -> Self {
        let field = zpr >> (30 - 2 * entry.zone()) & 3;
        let all = field == 3 || field == 2 && !user;
        let none = field == 0 && user;
        Self {
            none,
            write: !none && (all || entry.low & low::WRITE != 0),
            execute: !none && (all || entry.low & low::EXECUTE != 0),
        }
    }

    /// The bits of ESR if it refuses the access.
    pub(super) fn refuses(self, access: Access) -> Option<u32> {
        let store = if access.is_store() { cause::STORE } else { 0 };
        if self.none {
            return Some(cause::ZONE | store);
        }
        let permitted = match access {
            Access::Fetch => self.execute,
            Access::Load => true,
            Access::Store => self.write,
        };
        (!permitted).then_some(store)
    }
}
