//! The hashed page table and the hardware's walk of it (604, 750).
//!
//! A walk reads PTE by PTE: primary PTEG 0 to 7, secondary PTEG 0 to 7, one access each, until one
//! matches. The accesses go through the D-cache as cacheable, coherent, write-back memory whatever the
//! page that holds the table says (WIM = 0b001; recalled of the 604's and 750's manuals): there is no register
//! that makes them go around it. What software can do is to lock the D-cache (HID0\[DLOCK\]): then a
//! walk's misses are single-beat reads that fill nothing. [`WalkTiming::cached`] is for researchers:
//! set to false it models a walker with its own path to the bus.

use crate::memory::{Forward, Memory, Ram, wimg};
use crate::observe::{Account, Plain};
use serde::{Deserialize, Serialize};

/// V bit of a PTE's word 0.
pub const V: u32 = 0x8000_0000;
/// H bit of a PTE's word 0: the PTE is in its secondary PTEG.
pub const H: u32 = 0x40;
/// R bit of a PTE's word 1.
pub const R: u32 = 0x100;
/// C bit of a PTE's word 1.
pub const C: u32 = 0x80;
/// PTEs of a PTEG.
pub const PTEG_SLOTS: u32 = 8;
/// Bytes of a PTEG.
pub const PTEG_BYTES: u32 = 64;

/// What a walk costs beside the time of its memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkTiming {
    /// Core cycles from the TLB miss to the first PTE access.
    pub start: u32,
    /// Core cycles of a PTE access that hits the L1, with its comparison: the walker makes the next
    /// access only then.
    pub access: u32,
    /// Core cycles from the matching PTE, or the last one, to the TLB write and the access's retry.
    pub finish: u32,
    /// What a PTE read that misses the L1 waits for.
    pub forward: Forward,
    /// PTE accesses go through the D-cache.
    pub cached: bool,
}

/// A PTE that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Physical address.
    pub pa: u32,
    /// Word 1.
    pub word1: u32,
}

/// What a walk gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// The PTE that matched.
    pub found: Option<Found>,
    /// Core cycles it took.
    pub cycles: u64,
    /// Physical address of the last PTE read.
    pub pa: u32,
    /// That address is outside RAM.
    pub outside: bool,
    timing: WalkTiming,
}

/// Physical addresses of the primary and secondary PTEG of `ea` in `segment` (PEM 7.6.1.3).
#[must_use]
pub fn groups(sdr1: u32, segment: u32, ea: u32) -> (u32, u32) {
    let hash = (segment & 0x7_ffff) ^ (ea >> 12 & 0xffff);
    (group(sdr1, hash), group(sdr1, !hash & 0x7_ffff))
}

fn group(sdr1: u32, hash: u32) -> u32 {
    // HTABORG[7-15] ORed with the hash's upper nine bits under HTABMASK; its lower ten count PTEGs.
    (sdr1 & 0xffff_0000) | ((hash >> 10 & sdr1 & 0x1ff) << 16) | ((hash & 0x3ff) << 6)
}

/// Word 0 of a valid PTE for `ea` in `segment`.
#[must_use]
pub fn word0(segment: u32, ea: u32, secondary: bool) -> u32 {
    V | (segment & 0x00ff_ffff) << 7 | if secondary { H } else { 0 } | (ea >> 22 & 0x3f)
}

/// Walks the table for `ea` in `segment`. R and C are not looked at.
pub(super) fn walk(
    sdr1: u32,
    segment: u32,
    ea: u32,
    timing: WalkTiming,
    memory: &mut Memory,
    now: u64,
    account: &mut Account,
) -> Walk {
    account.add_plain(Plain::HashSearch, 1);
    let (primary, secondary) = groups(sdr1, segment, ea);
    let mut walk = Walk {
        found: None,
        cycles: u64::from(timing.start),
        pa: primary,
        outside: false,
        timing,
    };
    'search: for (group, second) in [(primary, false), (secondary, true)] {
        let wanted = word0(segment, ea, second);
        for slot in 0..PTEG_SLOTS {
            let pa = group + slot * 8;
            walk.pa = pa;
            let Some(pte) = memory.ram.read_u64(pa) else {
                walk.outside = true;
                break 'search;
            };
            account.add_plain(Plain::HashAccess, 1);
            let stall =
                memory.walk_read(pa, walk.wimg(), timing.forward, now + walk.cycles, account);
            walk.cycles += stall + u64::from(timing.access);
            if (pte >> 32) as u32 == wanted {
                walk.found = Some(Found {
                    pa,
                    word1: pte as u32,
                });
                account.add_plain(
                    if second {
                        Plain::HashHitSecondary
                    } else {
                        Plain::HashHitPrimary
                    },
                    1,
                );
                break 'search;
            }
        }
    }
    if walk.found.is_none() {
        account.add_plain(Plain::HashMiss, 1);
    }
    walk.cycles += u64::from(timing.finish);
    walk
}

impl Walk {
    fn wimg(&self) -> u8 {
        if self.timing.cached {
            wimg::WALK
        } else {
            wimg::I | wimg::M
        }
    }

    /// Writes a byte of the PTE that was found, as hardware does for R and C.
    fn store(
        &mut self,
        offset: u32,
        byte: u32,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) {
        let pa = self.pa + offset;
        self.cycles += memory.walk_write(pa, self.wimg(), now + self.cycles, account);
        memory.ram.write_u8(pa, byte as u8);
    }
}

/// Sets R of the PTE that a walk found, if it is not set: a byte store to PTE byte 6.
pub(super) fn set_referenced(
    walk: &mut Walk,
    memory: &mut Memory,
    now: u64,
    account: &mut Account,
) {
    if let Some(mut found) = walk.found
        && found.word1 & R == 0
    {
        found.word1 |= R;
        walk.found = Some(found);
        account.add_plain(Plain::HashReferenced, 1);
        walk.store(6, found.word1 >> 8, memory, now, account);
    }
}

/// Sets R and C of the PTE that a walk found: byte stores to PTE bytes 6 and 7.
pub(super) fn set_changed(walk: &mut Walk, memory: &mut Memory, now: u64, account: &mut Account) {
    set_referenced(walk, memory, now, account);
    if let Some(mut found) = walk.found
        && found.word1 & C == 0
    {
        found.word1 |= C;
        walk.found = Some(found);
        account.add_plain(Plain::HashChanged, 1);
        walk.store(7, found.word1, memory, now, account);
    }
}

/// Finds the PTE for `ea` in `segment` without an access: nothing is counted or changed.
#[must_use]
pub fn peek(sdr1: u32, segment: u32, ea: u32, ram: &Ram) -> Option<Found> {
    let (primary, secondary) = groups(sdr1, segment, ea);
    [(primary, false), (secondary, true)]
        .into_iter()
        .flat_map(|(group, second)| (0..PTEG_SLOTS).map(move |slot| (group + slot * 8, second)))
        .find_map(|(pa, second)| {
            let pte = ram.read_u64(pa)?;
            ((pte >> 32) as u32 == word0(segment, ea, second)).then_some(Found {
                pa,
                word1: pte as u32,
            })
        })
}
