//! The search of the hashed page table (604, 750).
//!
//! A search reads PTE by PTE: primary PTEG 0 to 7, secondary PTEG 0 to 7, one access each, until one matches. The
//! accesses go through the D-cache as cacheable, coherent, write-back memory whatever the mapping of the table says
//! (WIM = 0b001; recalled of the 604's and 750's manuals). No register changes this. Software can only lock the
//! D-cache (HID0\[DLOCK\]): then a walk's misses are single-beat reads that fill no line.
//! [`super::WalkTiming::cached`] = false models a walker with its own path to the bus.

use super::{Found, NoEntry, Port, Walker};
use crate::memory::Ram;
use crate::powerpc::mmu::front6xx::Page;
use crate::powerpc::mmu::hash::{self, C, PTEG_SLOTS};
use crate::account::Plain;
use serde::{Deserialize, Serialize};

/// The search as the architecture has it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Hashed;

impl Hashed {
    /// A search without options.
    #[must_use]
    pub fn new(options: &[u32]) -> Self {
        let [] = super::known(options);
        Self
    }
}

impl Hashed {
    /// There is no state that a snapshot could damage.
    pub(super) fn fits(&self, _fresh: &Self) -> bool {
        true
    }
}

/// Reads the PTE at `pa` and compares it with `page`.
#[inline(always)]
pub(super) fn compare(
    page: &Page,
    pa: u32,
    secondary: bool,
    port: &mut Port<'_>,
) -> Result<Found, NoEntry> {
    let pte = port.read(pa).ok_or(NoEntry::Outside(pa))?;
    matching(page, (pa, pte), secondary, port).ok_or(NoEntry::Absent)
}

/// The entry, if the PTE that was read at `pa` is that of `page`.
#[inline(always)]
pub(super) fn matching(
    page: &Page,
    (pa, pte): (u32, u64),
    secondary: bool,
    port: &mut Port<'_>,
) -> Option<Found> {
    if (pte >> 32) as u32 != hash::word0(page.segment, page.ea, secondary) {
        return None;
    }
    let hit = if secondary {
        Plain::HashHitSecondary
    } else {
        Plain::HashHitPrimary
    };
    port.account.add_plain(hit, 1);
    let word1 = pte as u32;
    Some(Found { pa, word1 })
}

impl Walker for Hashed {
    #[inline]
    fn search(&mut self, page: &Page, _bits: u32, port: &mut Port<'_>) -> Result<Found, NoEntry> {
        let (primary, secondary) = hash::groups(page.sdr1, page.segment, page.ea);
        for (group, second) in [(primary, false), (secondary, true)] {
            for slot in 0..PTEG_SLOTS {
                match compare(page, group + slot * 8, second, port) {
                    Err(NoEntry::Absent) => {}
                    found_or_outside => return found_or_outside,
                }
            }
        }
        Err(NoEntry::Absent)
    }

    fn peek(&self, page: &Page, ram: &Ram) -> Option<u32> {
        hash::peek(page.sdr1, page.segment, page.ea, ram).map(|found| found.word1)
    }

    /// Hardware stores the byte of the PTE that holds the bit: byte 6 for R, byte 7 for C.
    fn set(&mut self, found: &mut Found, bit: u32, port: &mut Port<'_>) {
        found.word1 |= bit;
        let [.., byte6, byte7] = found.word1.to_be_bytes();
        let (offset, byte, event) = if bit == C {
            (7, byte7, Plain::HashChanged)
        } else {
            (6, byte6, Plain::HashReferenced)
        };
        port.account.add_plain(event, 1);
        port.write(found.pa + offset, byte);
    }
}
