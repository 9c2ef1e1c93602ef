//! Paging with CR4.PAE: tables of three levels with entries of 64 bits, and physical addresses of 36 (SDM volume 3,
//! 4.4).
//!
//! The first table has four entries, which the processor reads when CR3 is loaded and keeps. So a walk reads two
//! entries, as it does without PAE, and takes as long. RAM ends far below 4 GB: a page or a table above it is one where
//! nobody answers.

use super::exception::Exception;
use super::paging::{Found, WIDE_LARGE_SHIFT, fault, used_bits};
use super::processor::Processor;
use super::registers::cr0;
use super::tlb::{NO_MEMORY, Need, permits, pte};

/// The address in an entry.
const ADDRESS: u64 = 0x000f_ffff_f000;
/// Bits that are zero in every entry.
const RESERVED: u64 = !0 << 36;
/// Bits that are zero in an entry of the first table.
pub(super) const FIRST_RESERVED: u64 = RESERVED | 0x1e6;
const LARGE_MASK: u32 = (1 << WIDE_LARGE_SHIFT) - 1;
/// Bits that are zero in the entry of a 2 MB page: a Pentium Pro has no PAT.
const LARGE_RESERVED: u64 = RESERVED | (LARGE_MASK & !0xfff) as u64;
/// Bits that are zero in an entry of the last table.
const LAST_RESERVED: u64 = RESERVED | pte::LARGE as u64;

/// The address of an entry of the directory, and of a table.
fn in_directory(pointer: u64, linear: u32) -> u64 {
    pointer & ADDRESS | u64::from(linear >> 18 & 0xff8)
}

fn in_table(pde: u64, linear: u32) -> u64 {
    pde & ADDRESS | u64::from(linear >> 9 & 0xff8)
}

fn present(entry: u64) -> bool {
    entry & u64::from(pte::PRESENT) != 0
}

fn large(entry: u64) -> bool {
    entry & u64::from(pte::LARGE) != 0
}

impl Processor {
    /// The four entries at `cr3`, which a load of CR3, or a change of the mode of paging, reads.
    ///
    /// # Errors
    /// #GP where a reserved bit is set.
    pub(super) fn read_directories(&mut self, cr3: u32) -> Result<[u64; 4], Exception> {
        const TABLE: u32 = !0x1f;
        let mut all = [0; 4];
        for (entry, at) in all.iter_mut().zip((cr3 & TABLE..).step_by(8)) {
            *entry = self.read_wide(at.into(), 0);
        }
        let bad = |entry: &u64| present(*entry) && entry & FIRST_RESERVED != 0;
        if all.iter().any(bad) {
            return Err(Exception::GENERAL);
        }
        Ok(all)
    }

    /// The walk, whose fixed time has been charged. `known`: the entry of the directory, from the walk cache.
    #[inline(never)]
    pub(super) fn walk_wide(
        &mut self,
        linear: u32,
        need: Need,
        known: Option<u64>,
    ) -> Result<Found, Exception> {
        const INVALID: u16 = fault::PROTECTION | fault::RESERVED;
        let protects = self.registers.cr0 & cr0::WP != 0;
        let pointer = self.registers.directories[(linear >> 30) as usize];
        if !present(pointer) {
            return Err(self.page_fault(linear, need, 0));
        }
        let directory = in_directory(pointer, linear);
        let pde = match known {
            Some(pde) => pde,
            None => self.read_wide(directory, pointer as u32),
        };
        if !present(pde) {
            return Err(self.page_fault(linear, need, 0));
        }
        let mut updates = 0;
        if large(pde) {
            if pde & LARGE_RESERVED != 0 {
                return Err(self.page_fault(linear, need, INVALID));
            }
            if !permits(pde as u32, need, protects) {
                return Err(self.page_fault(linear, need, fault::PROTECTION));
            }
            let set = pde as u32 | used_bits(need);
            self.update(directory as u32, pde as u32, set, &mut updates);
            return Ok(Found {
                frame: pde & ADDRESS,
                bits: self.page_bits(set, set),
                large: true,
            });
        }
        if pde & RESERVED != 0 {
            return Err(self.page_fault(linear, need, INVALID));
        }
        let table = in_table(pde, linear);
        let entry = self.read_wide(table, pde as u32);
        if !present(entry) {
            return Err(self.page_fault(linear, need, 0));
        }
        if entry & LAST_RESERVED != 0 {
            return Err(self.page_fault(linear, need, INVALID));
        }
        if !permits((pde & entry) as u32, need, protects) {
            return Err(self.page_fault(linear, need, fault::PROTECTION));
        }
        let old = pde as u32;
        self.update(directory as u32, old, old | pte::ACCESSED, &mut updates);
        self.keep_directory(linear, pde | u64::from(pte::ACCESSED));
        let set = entry as u32 | used_bits(need);
        self.update(table as u32, entry as u32, set, &mut updates);
        Ok(Found {
            frame: entry & ADDRESS,
            bits: self.page_bits(old, set),
            large: false,
        })
    }

    /// Reads an entry, in one access; `above` is the lower half of the entry that points to its table. Where nobody
    /// answers it reads as ones, of which some are reserved.
    fn read_wide(&mut self, address: u64, above: u32) -> u64 {
        let Ok(address) = u32::try_from(address) else {
            self.charge_device(NO_MEMORY);
            return u64::MAX;
        };
        let low = self.walk_read(address, above);
        let high = self.ram_word(address | 4).unwrap_or(u32::MAX);
        u64::from(high) << 32 | u64::from(low)
    }

    /// As [`Processor::peek_translation`].
    pub(super) fn peek_wide(&self, linear: u32) -> Option<u32> {
        let read = |address: u64| {
            let address = u32::try_from(address).ok()?;
            let (low, high) = (self.ram_word(address)?, self.ram_word(address | 4)?);
            Some(u64::from(high) << 32 | u64::from(low)).filter(|&entry| present(entry))
        };
        let pointer = self.registers.directories[(linear >> 30) as usize];
        if !present(pointer) {
            return None;
        }
        let pde = read(in_directory(pointer, linear))?;
        let (entry, mask) = if large(pde) {
            (pde, LARGE_MASK)
        } else {
            (read(in_table(pde, linear))?, 0xfff)
        };
        let frame = u32::try_from(entry & ADDRESS).ok()?;
        Some(frame & !mask | linear & mask)
    }
}
