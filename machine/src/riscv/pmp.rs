//! Physical memory protection (RISC-V Privileged Architecture 20211203, 3.7): 16 regions, whose granularity is 4 bytes.

use serde::{Deserialize, Serialize};

/// Rights, as bits of a region's configuration.
pub mod right {
    pub const READ: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const EXECUTE: u8 = 4;
    pub const ALL: u8 = 7;
}

const LOCKED: u8 = 0x80;
const REGIONS: usize = 16;
/// Addresses have 54 bits, in units of four bytes.
const ADDRESS: u64 = (1 << 54) - 1;

/// The regions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pmp {
    configurations: [u8; REGIONS],
    addresses: [u64; REGIONS],
}

impl Pmp {
    /// pmpcfg0 and pmpcfg2; the others have no regions.
    pub fn configuration(&self, number: u16) -> u64 {
        let first = usize::from(number - 0x3a0) * 4;
        let bytes = self.configurations.get(first..first + 8);
        bytes.map_or(0, |bytes| {
            bytes
                .iter()
                .rev()
                .fold(0, |all, &byte| all << 8 | u64::from(byte))
        })
    }

    pub fn set_configuration(&mut self, number: u16, value: u64) {
        let first = usize::from(number - 0x3a0) * 4;
        let Some(bytes) = self.configurations.get_mut(first..first + 8) else {
            return;
        };
        for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
            // To write without to read is reserved: that write of the region has no effect.
            if *byte & LOCKED == 0 && new & 3 != right::WRITE {
                *byte = new & 0x9f;
            }
        }
    }

    pub fn address(&self, number: u16) -> u64 {
        let address = self.addresses.get(usize::from(number - 0x3b0));
        address.copied().unwrap_or(0)
    }

    pub fn set_address(&mut self, number: u16, value: u64) {
        let region = usize::from(number - 0x3b0);
        // A locked region that begins where this one ends locks this one's address, too.
        let next = self.configurations.get(region + 1).copied().unwrap_or(0);
        let locked = self
            .configurations
            .get(region)
            .is_none_or(|&byte| byte & LOCKED != 0);
        let bound = next & LOCKED != 0 && next >> 3 & 3 == 1;
        if !locked && !bound {
            self.addresses[region] = value & ADDRESS;
        }
    }

    /// First address and first one behind a region.
    fn region(&self, number: usize) -> Option<(u64, u64)> {
        let address = self.addresses[number] << 2;
        match self.configurations[number] >> 3 & 3 {
            0 => None,
            1 => {
                let start = number
                    .checked_sub(1)
                    .map_or(0, |below| self.addresses[below] << 2);
                Some((start, address))
            }
            2 => Some((address, address + 4)),
            _ => {
                let ones = self.addresses[number].trailing_ones().min(54);
                let start = (self.addresses[number] & !((1 << ones) - 1)) << 2;
                Some((start, start.saturating_add(8 << ones)))
            }
        }
    }

    /// The rights to all of `bytes` from `start` on; `None` if a region covers a part of them only.
    #[must_use]
    pub fn rights(&self, start: u64, bytes: u64, machine: bool) -> Option<u8> {
        let end = start.saturating_add(bytes);
        for number in 0..REGIONS {
            let configuration = self.configurations[number];
            let Some((first, last)) = self.region(number) else {
                continue;
            };
            if end <= first || last <= start || first >= last {
                continue;
            }
            if start < first || last < end {
                return None;
            }
            let free = machine && configuration & LOCKED == 0;
            return Some(if free {
                right::ALL
            } else {
                configuration & right::ALL
            });
        }
        // Without a region for it machine mode may do all, and the others nothing.
        Some(if machine { right::ALL } else { 0 })
    }

    /// Opens all of memory, as a firmware does before it leaves machine mode.
    pub fn open(&mut self) {
        self.configurations[0] = 0x18 | right::ALL;
        self.addresses[0] = ADDRESS;
    }

    /// Machine mode may do everything everywhere.
    #[must_use]
    pub fn leaves_machine_free(&self) -> bool {
        self.configurations
            .iter()
            .all(|configuration| configuration & LOCKED == 0)
    }
}
