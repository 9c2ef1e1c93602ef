//! The addresses that a program may use.

use std::collections::BTreeMap;

pub const PAGE: u32 = 4096;

/// Areas of an address space.
#[derive(Debug, Default)]
pub struct Areas {
    /// End of each area, by its start.
    areas: BTreeMap<u32, u32>,
}

impl Areas {
    /// Addresses from `start` to `end` may be used; overlapping areas do no harm.
    pub fn add(&mut self, start: u32, end: u32) {
        let area = self.areas.entry(start & !(PAGE - 1)).or_default();
        *area = page_up(end).max(*area);
    }

    /// Does an area hold `address`?
    pub fn allow(&self, address: u32) -> bool {
        // There are few areas, so a list will do. Those of an executable's segments may share a page.
        self.areas.range(..=address).any(|(_, &end)| address < end)
    }

    /// A free range of `length` bytes, page by page, below the stack and above the heap's reach.
    pub fn find(&self, length: u32) -> Option<u32> {
        const BASE: u32 = 0x4000_0000;
        let mut start = BASE;
        for (&area, &end) in self.areas.range(BASE..) {
            if area - start >= length {
                break;
            }
            start = end.max(start);
        }
        let end = start.checked_add(length)?;
        (end <= super::stack::BOTTOM).then_some(start)
    }

    /// Removes pages from the areas that contain them.
    pub fn remove(&mut self, start: u32, end: u32) {
        let cut: Vec<(u32, u32)> = self
            .areas
            .range(..end)
            .filter(|&(_, &area_end)| area_end > start)
            .map(|(&area, &area_end)| (area, area_end))
            .collect();
        for (area, area_end) in cut {
            self.areas.remove(&area);
            if area < start {
                self.areas.insert(area, start);
            }
            if area_end > end {
                self.areas.insert(end, area_end);
            }
        }
    }
}

/// `length` bytes from `address` on, cut at page boundaries; as ranges of the bytes.
pub fn parts(address: u32, length: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let left = length.checked_sub(done).filter(|&left| left > 0)?;
        let room = (PAGE - address.wrapping_add(done as u32) % PAGE) as usize;
        let start = done;
        done += left.min(room);
        Some(start..done)
    })
}

/// The next page boundary.
pub fn page_up(address: u32) -> u32 {
    address.saturating_add(PAGE - 1) & !(PAGE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_at_page_boundaries() {
        let cut: Vec<_> = parts(0x0fff, 4098).collect();
        assert_eq!(cut, [0..1, 1..4097, 4097..4098]);
        assert_eq!(parts(0x1000, 0).count(), 0);
    }

    #[test]
    fn a_boundary_is_its_own_page_end() {
        assert_eq!(
            [page_up(0), page_up(1), page_up(4096), page_up(u32::MAX)],
            [0, 4096, 4096, 0xffff_f000]
        );
    }
}
