//! A dump's hash table, of PTEs of two words or, on a 970, of two double words.

use std::fmt;

use serde::Serialize;

use super::text::wimg_text;
use crate::memory::Memory;
use crate::powerpc::mmu::hash64::table::{self, Place, first, second};
use crate::powerpc::mmu::{HashBase, hash, segment};

/// PTEs of a PTEG, of both forms.
const SLOTS: u32 = hash::PTEG_SLOTS;
const _: () = assert!(table::SLOTS == SLOTS);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HashTable {
    pub physical: u32,
    /// PTEGs of eight PTEs.
    pub groups: u32,
    /// Valid PTEs.
    pub used: u32,
    /// Valid PTEs of each PTEG.
    pub occupancy: Vec<u8>,
    /// PTEGs with 0, 1, ... 8 valid PTEs.
    pub histogram: [u32; 9],
    pub entries: Vec<PteRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PteRow {
    pub group: u32,
    pub slot: u32,
    pub vsid: u64,
    /// H: found by the secondary hash.
    pub secondary: bool,
    /// Number of the page in its segment, recovered from API and the group where the table's size allows it.
    pub page_index: u32,
    pub physical: u64,
    pub referenced: bool,
    pub changed: bool,
    pub wimg: u8,
    pub pp: u8,
    /// Of 16 MB.
    #[serde(skip_serializing_if = "is_false")]
    pub large: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub no_execute: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A table that lies in RAM.
#[derive(Clone, Copy)]
struct Table {
    physical: u32,
    groups: u32,
    /// PTEs have two double words.
    wide: bool,
}

impl Table {
    /// On a 603 software may keep anything in SDR1: a mask that is not a row of ones, or a base that does not fit it,
    /// names no table.
    fn at(base: HashBase, memory: &Memory) -> Option<Self> {
        let (physical, groups, named) = match base {
            HashBase::Words(sdr1) => {
                let mask = sdr1 & 0x1ff;
                (sdr1 & 0xffff_0000, (mask + 1) << 10, mask & (mask + 1) == 0)
            }
            HashBase::DoubleWords(sdr1) => {
                let place = Place::of(sdr1);
                let groups = u32::try_from(place.mask).ok()?.checked_add(1)?;
                (u32::try_from(place.base).ok()?, groups, true)
            }
        };
        let wide = matches!(base, HashBase::DoubleWords(_));
        let table = Table {
            physical,
            groups,
            wide,
        };
        let bytes = groups.checked_mul(table.group_bytes())?;
        let whole = named
            && physical & (bytes - 1) == 0
            && memory.uncore.ram.contains(physical, bytes as usize);
        whole.then_some(table)
    }

    fn group_bytes(self) -> u32 {
        if self.wide {
            table::GROUP_BYTES
        } else {
            hash::PTEG_BYTES
        }
    }

    fn row(self, group: u32, slot: u32, memory: &Memory) -> Option<PteRow> {
        let bytes = self.group_bytes();
        let at = self.physical + group * bytes + slot * (bytes / SLOTS);
        let ram = &memory.uncore.ram;
        if self.wide {
            self.wide_row(group, slot, ram.read_u64(at)?, ram.read_u64(at + 8)?)
        } else {
            self.narrow_row(group, slot, ram.read_u32(at)?, ram.read_u32(at + 4)?)
        }
    }

    fn narrow_row(self, group: u32, slot: u32, word0: u32, word1: u32) -> Option<PteRow> {
        if word0 & hash::V == 0 {
            return None;
        }
        let vsid = word0 >> 7 & segment::VSID;
        let secondary = word0 & hash::H != 0;
        // The hash is VSID XOR page index; the group gives its lower ten bits at least, API the
        // page index's upper six.
        let hashed = if secondary { !group } else { group };
        let page_index = (word0 & 0x3f) << 10 | (hashed ^ vsid) & (self.groups - 1) & 0x3ff;
        Some(PteRow {
            group,
            slot,
            vsid: vsid.into(),
            secondary,
            page_index,
            physical: (word1 & 0xffff_f000).into(),
            referenced: word1 & hash::R != 0,
            changed: word1 & hash::C != 0,
            wimg: (word1 >> 3 & 15) as u8,
            pp: (word1 & 3) as u8,
            large: false,
            no_execute: false,
        })
    }

    fn wide_row(self, group: u32, slot: u32, word0: u64, word1: u64) -> Option<PteRow> {
        if word0 & first::V == 0 {
            return None;
        }
        let avpn = word0 >> first::AVPN_SHIFT;
        let (vsid, upper) = (avpn >> 5, avpn as u32 & 0x1f);
        let secondary = word0 & first::H != 0;
        let large = word0 & first::L != 0;
        // As above; the group gives eleven bits of the page index at least, AVPN the upper five. AVPN has all four of a
        // large page.
        let hashed = if secondary { !group } else { group };
        let page_index = if large {
            upper >> 1
        } else {
            upper << 11 | (hashed ^ vsid as u32) & 0x7ff
        };
        Some(PteRow {
            group,
            slot,
            vsid,
            secondary,
            page_index,
            physical: word1 & second::RPN,
            referenced: word1 & second::R != 0,
            changed: word1 & second::C != 0,
            wimg: (word1 >> second::WIMG_SHIFT & 15) as u8,
            pp: (word1 & second::PP) as u8,
            large,
            no_execute: word1 & second::N != 0,
        })
    }
}

impl HashTable {
    /// The table that SDR1 names, if it lies in RAM.
    #[must_use]
    pub fn read(base: HashBase, memory: &Memory) -> Option<Self> {
        let place = Table::at(base, memory)?;
        let mut table = HashTable {
            physical: place.physical,
            groups: place.groups,
            used: 0,
            occupancy: Vec::with_capacity(place.groups as usize),
            histogram: [0; 9],
            entries: Vec::new(),
        };
        for group in 0..place.groups {
            let before = table.entries.len();
            let slots = (0..SLOTS).filter_map(|slot| place.row(group, slot, memory));
            table.entries.extend(slots);
            let used = table.entries.len() - before;
            table.occupancy.push(used as u8);
            table.histogram[used] += 1;
        }
        table.used = table.entries.len() as u32;
        Some(table)
    }
}

impl fmt::Display for HashTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "hash table at {:08x}: {} PTEGs, {} of {} PTEs valid",
            self.physical,
            self.groups,
            self.used,
            self.groups * SLOTS
        )?;
        write!(out, "  PTEGs by valid PTEs:")?;
        for (used, count) in self.histogram.iter().enumerate() {
            write!(out, " {used}:{count}")?;
        }
        writeln!(out)?;
        for row in &self.entries {
            writeln!(
                out,
                "  {:5}.{} {} vsid {:06x} page {:04x} -> {:08x} {}{}{}{} {} pp {}",
                row.group,
                row.slot,
                if row.secondary { 'H' } else { '-' },
                row.vsid,
                row.page_index,
                row.physical,
                if row.referenced { 'R' } else { '-' },
                if row.changed { 'C' } else { '-' },
                if row.large { "L" } else { "" },
                if row.no_execute { "N" } else { "" },
                wimg_text(row.wimg),
                row.pp
            )?;
        }
        Ok(())
    }
}
