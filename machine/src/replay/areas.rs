//! Where the areas of a trace lie in a machine of 32 bits.

use rustc_hash::FxHashMap;

/// The logarithm of an area's size: 4 MB, which is what one entry of a page directory maps.
pub const SHIFT: u32 = 22;
/// How many areas there are.
pub const COUNT: usize = 1 << (32 - SHIFT);
/// The end of what a trace gets: the last area belongs to the machine's own tables.
pub const END: u32 = 0xffc0_0000;

/// The area of the trace and its address space, and the area of the machine.
type Known = (u32, u64, u32);

/// The areas that were touched.
pub struct Areas {
    /// By address space and number.
    places: FxHashMap<(u32, u64), u32>,
    used: Vec<bool>,
    /// Those that were looked up last.
    recent: [Known; 16],
    moved: usize,
    /// Addresses from here on are the same in all address spaces.
    shared_from: u64,
}

impl Areas {
    pub fn new(shared_from: u64) -> Self {
        let mut used = vec![false; COUNT];
        used[COUNT - 1] = true;
        Areas {
            places: FxHashMap::default(),
            used,
            recent: [(0, u64::MAX, 0); 16],
            moved: 0,
            shared_from,
        }
    }

    /// How many have another address than in the trace.
    pub fn moved(&self) -> usize {
        self.moved
    }

    /// The address of the machine for one of the trace.
    ///
    /// # Errors
    /// When there are too many areas.
    #[inline]
    pub fn place(&mut self, space: u32, address: u64) -> Result<u32, String> {
        let space = if address >= self.shared_from {
            0
        } else {
            space
        };
        let area = address >> SHIFT;
        let slot = (area ^ u64::from(space)) as usize % self.recent.len();
        let (known_space, known_area, place) = self.recent[slot];
        let place = if (known_space, known_area) == (space, area) {
            place
        } else {
            let place = self.find(space, area)?;
            self.recent[slot] = (space, area, place);
            place
        };
        Ok(place << SHIFT | address as u32 & ((1 << SHIFT) - 1))
    }

    fn find(&mut self, space: u32, area: u64) -> Result<u32, String> {
        if let Some(&place) = self.places.get(&(space, area)) {
            return Ok(place);
        }
        let own = usize::try_from(area).ok();
        let own = own.filter(|&own| self.used.get(own) == Some(&false));
        let free = own.or_else(|| self.used.iter().position(|used| !used));
        let Some(place) = free else {
            return Err(format!(
                "the trace touches more than {} areas of 4 MB, and a machine of 32 bits has no more",
                COUNT - 1
            ));
        };
        self.used[place] = true;
        self.moved += usize::from(place as u64 != area);
        self.places.insert((space, area), place as u32);
        Ok(place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_keeps_its_address_if_it_can() {
        let mut areas = Areas::new(u64::MAX);
        assert_eq!(areas.place(0, 0x0804_8123), Ok(0x0804_8123));
        assert_eq!(areas.place(0, 0x7fff_ffff_f008), Ok(0x003f_f008));
        assert_eq!(areas.place(0, 0x7fff_ffff_f010), Ok(0x003f_f010));
        // Its own address is taken.
        assert_eq!(areas.place(0, 0x0000_0010), Ok(0x0040_0010));
        assert_eq!(areas.place(0, 0xffff_0000), Ok(0x00bf_0000));
        assert_eq!(areas.moved(), 3);
    }

    #[test]
    fn address_spaces_share_what_is_shared() {
        let mut areas = Areas::new(0xc000_0000);
        let one = areas.place(1, 0x1000_0000).unwrap();
        let two = areas.place(2, 0x1000_0000).unwrap();
        assert_ne!(one, two);
        let kernel = areas.place(1, 0xc000_0000);
        assert_eq!(kernel, areas.place(2, 0xc000_0000));
    }

    #[test]
    fn there_are_only_so_many() {
        let mut areas = Areas::new(u64::MAX);
        for area in 0..COUNT as u64 - 1 {
            areas.place(0, (0x1000 + area) << SHIFT).unwrap();
        }
        assert!(areas.place(0, 0).unwrap_err().contains("1023 areas"));
    }
}
