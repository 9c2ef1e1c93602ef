//! The hashed page table of 64-bit cores: groups of 128 bytes, of eight PTEs with two double words each (PowerPC
//! Architecture book III, version 2.01; Linux 2.6 asm-ppc64/mmu.h).

use crate::account::Plain;
use crate::memory::Ram;
use crate::powerpc::mmu::walker::{NoEntry, Port};

/// Bits of a PTE's first double word.
pub mod first {
    /// Valid.
    pub const V: u64 = 1;
    /// The PTE is in its secondary group.
    pub const H: u64 = 2;
    /// A page of 16 MB.
    pub const L: u64 = 4;
    /// Where AVPN, the virtual address without its lowest 23 bits, begins.
    pub const AVPN_SHIFT: u32 = 7;
}

/// Bits of a PTE's second double word.
pub mod second {
    /// Physical address of the page, 42 bits.
    pub const RPN: u64 = 0x3ff_ffff_f000;
    /// Referenced.
    pub const R: u64 = 0x100;
    /// Changed.
    pub const C: u64 = 0x80;
    /// Where W, I, M, G begin.
    pub const WIMG_SHIFT: u32 = 3;
    /// No-execute.
    pub const N: u64 = 4;
    /// Page protection.
    pub const PP: u64 = 3;
}

/// PTEs of a group.
pub const SLOTS: u32 = 8;
/// Bytes of a group.
pub const GROUP_BYTES: u32 = 128;
/// Bytes of a PTE.
pub const PTE_BYTES: u32 = 16;

/// The page of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Effective address.
    pub ea: u64,
    /// Virtual segment identifier.
    pub vsid: u64,
    /// A page of 16 MB.
    pub large: bool,
}

impl Page {
    fn shift(&self) -> u32 {
        if self.large { 24 } else { 12 }
    }

    /// Number of the page in its segment.
    #[must_use]
    pub fn index(&self) -> u32 {
        (self.ea as u32 & 0x0fff_ffff) >> self.shift()
    }

    /// The primary hash: 39 bits.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.vsid & HASH ^ u64::from(self.index())
    }

    /// The first double word of a valid PTE of the page.
    #[must_use]
    pub fn first(&self, secondary: bool) -> u64 {
        let avpn = self.vsid << 5 | u64::from(self.ea as u32 >> 23 & 0x1f);
        // The lowest bit of AVPN is inside of a large page.
        let avpn = if self.large { avpn & !1 } else { avpn };
        avpn << first::AVPN_SHIFT
            | first::V
            | if secondary { first::H } else { 0 }
            | if self.large { first::L } else { 0 }
    }

    /// Is this the first double word of a PTE of the page? The bits that are software's, and for a large page the
    /// lowest of AVPN, do not count.
    #[must_use]
    pub fn matches(&self, double_word: u64, secondary: bool) -> bool {
        const SOFTWARE: u64 = 0x78;
        let inside = if self.large {
            1 << first::AVPN_SHIFT
        } else {
            0
        };
        (double_word ^ self.first(secondary)) & !(SOFTWARE | inside) == 0
    }
}

const HASH: u64 = 0x7f_ffff_ffff;

/// Where a table lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its physical address.
    pub base: u64,
    /// Its groups, a power of two, less one.
    pub mask: u64,
}

impl Place {
    /// As SDR1 says: the address without its lowest 18 bits, and the logarithm of the number of groups less 11. The
    /// field has values up to 28.
    #[must_use]
    pub fn of(sdr1: u64) -> Self {
        let size = (sdr1 & 0x1f).min(28);
        Self {
            base: sdr1 & 0x3ff_fffc_0000,
            mask: (1 << (11 + size)) - 1,
        }
    }

    /// Physical address of the group of a hash.
    #[must_use]
    pub fn group(&self, hash: u64) -> u64 {
        self.base | (hash & self.mask) << 7
    }

    /// Physical addresses of a page's primary and secondary group.
    #[must_use]
    pub fn groups(&self, page: &Page) -> [(u64, bool); 2] {
        let hash = page.hash();
        [(self.group(hash), false), (self.group(!hash & HASH), true)]
    }
}

/// A PTE that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Physical address.
    pub pa: u32,
    /// Its second double word.
    pub second: u64,
}

/// Searches for a page's PTE, slot by slot: primary group, secondary group. The second double word is read of the PTE
/// that matches.
pub fn search(sdr1: u64, page: &Page, port: &mut Port<'_>) -> Result<Found, NoEntry> {
    for (group, secondary) in Place::of(sdr1).groups(page) {
        let outside = NoEntry::Outside(group as u32);
        let group = u32::try_from(group).map_err(|_| outside)?;
        for slot in 0..SLOTS {
            let pa = group + slot * PTE_BYTES;
            let double_word = port.read(pa).ok_or(NoEntry::Outside(pa))?;
            if !page.matches(double_word, secondary) {
                continue;
            }
            let second = port.read(pa + 8).ok_or(NoEntry::Outside(pa))?;
            let hit = if secondary {
                Plain::HashHitSecondary
            } else {
                Plain::HashHitPrimary
            };
            port.account.add_plain(hit, 1);
            return Ok(Found { pa, second });
        }
    }
    Err(NoEntry::Absent)
}

/// As [`search`], without an access: nothing is counted or changed.
#[must_use]
pub fn peek(sdr1: u64, page: &Page, ram: &Ram) -> Option<Found> {
    let groups = Place::of(sdr1).groups(page);
    groups.into_iter().find_map(|(group, secondary)| {
        let group = u32::try_from(group).ok()?;
        (0..SLOTS).find_map(|slot| {
            let pa = group + slot * PTE_BYTES;
            let found = page.matches(ram.read_u64(pa)?, secondary);
            let second = ram.read_u64(pa + 8)?;
            found.then_some(Found { pa, second })
        })
    })
}

/// Hardware stores the byte of the PTE that holds the bit: the last but one for R, the last for C.
pub fn set(found: &mut Found, bit: u64, port: &mut Port<'_>) {
    found.second |= bit;
    let [.., r, c] = found.second.to_be_bytes();
    let (offset, byte, event) = if bit == second::C {
        (15, c, Plain::HashChanged)
    } else {
        (14, r, Plain::HashReferenced)
    };
    port.account.add_plain(event, 1);
    port.write(found.pa + offset, byte);
}
