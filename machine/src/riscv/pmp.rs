//! Physical memory protection (RISC-V Privileged Architecture 20211203, 3.7): 16 regions.

use serde::{Deserialize, Serialize};

/// Rights, as bits of a region's configuration.
pub mod right {
    pub const READ: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const EXECUTE: u8 = 4;
    pub const ALL: u8 = 7;
    /// Not a right: a region ends inside of the page, so that each access must ask.
    pub const ASK: u8 = 8;
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
    /// Units of four bytes in the smallest region, less one.
    grain: u64,
}

/// How a region's address is read.
mod matching {
    pub const OFF: u8 = 0;
    /// From the address of the region before on.
    pub const TOP: u8 = 1;
    /// Four bytes.
    pub const FOUR: u8 = 2;
}

fn matching_of(configuration: u8) -> u8 {
    configuration >> 3 & 3
}

impl Pmp {
    /// Without regions; the smallest one has so many bytes, a power of two from 4 on.
    #[must_use]
    pub fn new(granularity: u32) -> Pmp {
        Pmp {
            grain: u64::from(granularity / 4).max(1) - 1,
            ..Pmp::default()
        }
    }

    /// Can one like `fresh` be in this state?
    #[must_use]
    pub fn fits(&self, fresh: &Pmp) -> bool {
        self.grain == fresh.grain
    }

    /// The bytes of pmpcfg0 or pmpcfg2; the others have no regions.
    fn bytes(&mut self, number: u16) -> Option<&mut [u8; 8]> {
        let first = usize::from(number - 0x3a0) * 4;
        self.configurations.get_mut(first..)?.first_chunk_mut()
    }

    pub fn configuration(&mut self, number: u16) -> u64 {
        self.bytes(number)
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    pub fn set_configuration(&mut self, number: u16, value: u64) {
        let grain = self.grain;
        let bytes = self.bytes(number).into_iter().flatten();
        for (byte, new) in bytes.zip(value.to_le_bytes()) {
            // To write without to read is reserved, and regions may be larger than four bytes: such a write has no
            // effect.
            let absent = grain != 0 && matching_of(new) == matching::FOUR;
            if *byte & LOCKED == 0 && new & 3 != right::WRITE && !absent {
                *byte = new & 0x9f;
            }
        }
    }

    pub fn address(&self, number: u16) -> u64 {
        let region = usize::from(number - 0x3b0);
        if region < REGIONS {
            self.seen(region)
        } else {
            0
        }
    }

    /// A region's address with the lower bits as they read and match: zeros, or of a power of two ones but for the
    /// last of them.
    fn seen(&self, region: usize) -> u64 {
        let address = self.addresses[region];
        match matching_of(self.configurations[region]) {
            matching::OFF | matching::TOP => address & !self.grain,
            _ => address | self.grain >> 1,
        }
    }

    pub fn set_address(&mut self, number: u16, value: u64) {
        let region = usize::from(number - 0x3b0);
        let configuration = |region| self.configurations.get(region).copied().unwrap_or(0);
        // A locked region that begins where this one ends locks this one's address, too.
        let next = configuration(region + 1);
        let bound = next & LOCKED != 0 && matching_of(next) == matching::TOP;
        if region < REGIONS && configuration(region) & LOCKED == 0 && !bound {
            self.addresses[region] = value & ADDRESS;
        }
    }

    /// First address and first one behind a region.
    fn region(&self, number: usize) -> Option<(u64, u64)> {
        let address = self.seen(number) << 2;
        match matching_of(self.configurations[number]) {
            matching::OFF => None,
            matching::TOP => {
                let below = number.checked_sub(1);
                let start = below.map_or(0, |below| (self.addresses[below] & !self.grain) << 2);
                Some((start, address))
            }
            matching::FOUR => Some((address, address + 4)),
            _ => {
                let ones = self.seen(number).trailing_ones().min(54);
                let start = (self.seen(number) & !((1 << ones) - 1)) << 2;
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
            let free = if machine && configuration & LOCKED == 0 {
                right::ALL
            } else {
                0
            };
            return Some(configuration & right::ALL | free);
        }
        // Without a region for it machine mode may do all, and the others nothing.
        Some(if machine { right::ALL } else { 0 })
    }

    /// May an access to all of `bytes` from `start` on do this?
    #[must_use]
    pub fn allows(&self, right: u8, start: u64, bytes: u64, machine: bool) -> bool {
        let rights = self.rights(start, bytes, machine);
        rights.is_some_and(|rights| rights & right != 0)
    }

    /// Does a region begin or end inside of a block of so many bytes? Above 4 GB there is nothing.
    #[must_use]
    pub fn splits(&self, bytes: u64) -> bool {
        let regions = (0..REGIONS).filter_map(|number| self.region(number));
        let mut ends = regions.flat_map(<[u64; 2]>::from);
        ends.any(|end| end & (bytes - 1) != 0 && end >> 32 == 0)
    }

    /// Opens all of memory, as a firmware does before it leaves machine mode.
    pub fn open(&mut self) {
        self.configurations[0] = 0x18 | right::ALL;
        self.addresses[0] = ADDRESS;
    }

    /// Machine mode may do everything everywhere: no region is locked, and none has a part of an access alone.
    #[must_use]
    pub fn leaves_machine_free(&self) -> bool {
        self.configurations.iter().all(|byte| byte & LOCKED == 0) && !self.splits(8)
    }
}
