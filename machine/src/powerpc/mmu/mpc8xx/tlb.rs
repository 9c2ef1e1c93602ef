//! A TLB of the MPC8xx: fully associative, with entries of several page sizes. A counter selects the entry to load.
//!
//! An entry has a CAM half, which is compared with addresses (page, size, address space, valid subpages, valid
//! modes), and a RAM half, the result of a hit (physical page, storage control, protection). Here it is kept as the
//! registers that it was loaded from, which determine both halves.

use super::super::{Access, Reach, Reached};
use crate::memory::attribute;
use serde::{Deserialize, Serialize};

/// Bits of Mx_EPN (Linux asm/mmu-8xx.h).
pub mod epn {
    /// EA\[0-21\]: page, and subpage of 1 KB.
    pub const PAGE: u32 = 0xffff_fc00;
    /// EV: the entry to load is valid.
    pub const VALID: u32 = 0x200;
    /// Address space.
    pub const ASID: u32 = 0xf;
}

/// Bits of Mx_TWC, the level-one descriptor (823e RM 11.5.1).
pub mod twc {
    /// Access protection group.
    pub const GROUP: u32 = 0x1e0;
    /// Guarded.
    pub const GUARDED: u32 = 0x10;
    /// Page size: 0 small, 1 512 KB, 3 8 MB.
    pub const SIZE: u32 = 0xc;
    /// Write-through (MD_TWC alone).
    pub const WRITE_THROUGH: u32 = 0x2;
    /// Valid.
    pub const VALID: u32 = 0x1;
}

/// Bits of Mx_RPN, the level-two descriptor (860 UM table 9-4).
pub mod rpn {
    /// Physical page.
    pub const PAGE: u32 = 0xffff_f000;
    /// C: stores are allowed; of pages without protection by subpage.
    pub const CHANGED: u32 = 0x100;
    /// A small page is one of 16 KB.
    pub const SMALL_16K: u32 = 0x8;
    /// Shared: hits in every address space.
    pub const SHARED: u32 = 0x4;
    /// Cache-inhibited.
    pub const INHIBITED: u32 = 0x2;
    /// Valid.
    pub const VALID: u32 = 0x1;
}

/// The sizes of a page (860 UM chapter 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PageSize {
    /// 4 KB.
    #[serde(rename = "4K")]
    K4,
    /// 16 KB.
    #[serde(rename = "16K")]
    K16,
    /// 512 KB.
    #[serde(rename = "512K")]
    K512,
    /// 8 MB.
    #[serde(rename = "8M")]
    M8,
}

impl PageSize {
    /// Every size, the smallest first.
    pub const ALL: [Self; 4] = [Self::K4, Self::K16, Self::K512, Self::M8];

    /// Bytes of a page.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::K4 => 4 << 10,
            Self::K16 => 16 << 10,
            Self::K512 => 512 << 10,
            Self::M8 => 8 << 20,
        }
    }

    /// The field of three bits that Mx_CAM and Mx_RAM0 show.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::K4 => 0,
            Self::K16 => 1,
            Self::K512 => 3,
            Self::M8 => 7,
        }
    }

    /// What Mx_TWC\[PS\] and Mx_RPN\[SPS\] say; the reserved code of the first means 512 KB here.
    fn of(twc: u32, rpn: u32) -> Self {
        match (twc & twc::SIZE) >> 2 {
            0 if rpn & rpn::SMALL_16K != 0 => Self::K16,
            0 => Self::K4,
            3 => Self::M8,
            _ => Self::K512,
        }
    }
}

/// The bits of Mx_CTR that tell how to read an entry's protection bits when it is loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// PPM: a page of 4 KB has protection for each of its subpages.
    pub subpages: bool,
    /// PPCS: an entry hits for supervisor or user accesses only, if it says so.
    pub modes: bool,
}

/// One translation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    epn: u32,
    twc: u32,
    rpn: u32,
    resolution: Resolution,
    /// EA bits that choose the page.
    mask: u32,
}

/// Subpages of a page, a bit each, the first one the most significant of four.
const ALL_SUBPAGES: u32 = 0xf;

fn subpage(ea: u32) -> u32 {
    8 >> (ea >> 10 & 3)
}

impl Entry {
    /// What the three registers load.
    #[must_use]
    pub fn new(epn: u32, twc: u32, rpn: u32, resolution: Resolution) -> Self {
        let size = PageSize::of(twc, rpn);
        let mask = !(size.bytes() - 1);
        Self {
            epn: epn & (mask | epn::VALID | epn::ASID),
            twc: twc & 0x1ff,
            rpn,
            resolution,
            mask,
        }
    }

    /// EV: it takes part in the comparison.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.epn & epn::VALID != 0
    }

    /// Level-one and level-two descriptor are both valid. A hit on an entry that is not is an error.
    #[must_use]
    pub fn page_valid(&self) -> bool {
        self.twc & twc::VALID != 0 && self.rpn & rpn::VALID != 0
    }

    /// Size of the page.
    #[must_use]
    pub fn size(&self) -> PageSize {
        PageSize::of(self.twc, self.rpn)
    }

    /// First effective address of the page.
    #[must_use]
    pub fn page(&self) -> u32 {
        self.epn & self.mask
    }

    /// The addresses that it translates.
    #[must_use]
    pub fn reach(&self) -> Reach {
        Reach::Page {
            ea: self.page(),
            bytes: self.size().bytes(),
        }
    }

    /// Physical address of `ea`, which it holds.
    #[must_use]
    pub fn physical(&self, ea: u32) -> u32 {
        self.rpn & self.mask | ea & !self.mask
    }

    /// The effective address of `physical`, if it lies in the page.
    #[must_use]
    pub fn effective(&self, physical: u32) -> Option<u32> {
        (physical & self.mask == self.rpn & self.mask).then(|| self.page() | physical & !self.mask)
    }

    /// Address space; ignored if the entry is [`Entry::shared`].
    #[must_use]
    pub fn asid(&self) -> u8 {
        (self.epn & epn::ASID) as u8
    }

    /// SH.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.rpn & rpn::SHARED != 0
    }

    /// Access protection group.
    #[must_use]
    pub fn group(&self) -> u32 {
        (self.twc & twc::GROUP) >> 5
    }

    /// Storage control bits.
    #[must_use]
    pub fn attributes(&self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.write_through(), attribute::WRITE_THROUGH)
            | bit(self.inhibited(), attribute::INHIBITED)
            | bit(self.guarded(), attribute::GUARDED)
    }

    /// G.
    #[must_use]
    pub fn guarded(&self) -> bool {
        self.twc & twc::GUARDED != 0
    }

    /// WT.
    #[must_use]
    pub fn write_through(&self) -> bool {
        self.twc & twc::WRITE_THROUGH != 0
    }

    /// CI.
    #[must_use]
    pub fn inhibited(&self) -> bool {
        self.rpn & rpn::INHIBITED != 0
    }

    /// Mx_TWC as it was loaded, without the level-two base.
    #[must_use]
    pub fn twc(&self) -> u32 {
        self.twc
    }

    /// Mx_RPN as it was loaded.
    #[must_use]
    pub fn rpn(&self) -> u32 {
        self.rpn
    }

    /// Each of the four subpages has its own protection.
    #[must_use]
    pub fn by_subpage(&self) -> bool {
        self.resolution.subpages && self.size() == PageSize::K4
    }

    /// C. With protection by subpage there is no C, and protection alone decides about stores.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.by_subpage() || self.rpn & rpn::CHANGED != 0
    }

    /// Subpages for which it hits.
    #[must_use]
    pub fn subpages(&self) -> u32 {
        if self.by_subpage() || self.resolution.modes {
            ALL_SUBPAGES
        } else {
            self.rpn >> 4 & ALL_SUBPAGES
        }
    }

    /// True if all addresses of each 4 KB of the page are treated alike.
    #[must_use]
    pub fn uniform(&self) -> bool {
        !self.by_subpage() && self.subpages() == ALL_SUBPAGES
    }

    /// Does it hit for accesses of this mode?
    #[must_use]
    pub fn hits_mode(&self, user: bool) -> bool {
        let bit = if user { 0x40 } else { 0x80 };
        self.by_subpage() || !self.resolution.modes || self.rpn & bit != 0
    }

    /// True if its page contains `ea`, in any address space and mode.
    #[must_use]
    pub fn holds(&self, ea: u32) -> bool {
        self.valid() && ea & self.mask == self.page() && self.subpages() & subpage(ea) != 0
    }

    /// Do the page's protection bits permit the access, with the user's column of the table or the
    /// supervisor's (860 UM table 9-4)? C is not looked at.
    #[must_use]
    pub fn permits(&self, ea: u32, access: Access, as_user: bool) -> bool {
        let store = access.is_store();
        if self.by_subpage() {
            let protection = self.rpn >> (10 - 2 * (ea >> 10 & 3)) & 3;
            return match (protection, as_user) {
                (0, _) | (1, true) => false,
                (1, false) | (3, _) => true,
                (_, user) => !(user && store),
            };
        }
        let extended = self.rpn & 0x200 != 0;
        let protection = self.rpn >> 10 & 3;
        if extended {
            // Read only, or executable, for the supervisor. The codes 1x are reserved. Here their first bit is not
            // looked at: Linux sets it in the descriptor of each large page, read-only ones included.
            return protection & 1 != 0 && !as_user && !store;
        }
        match (protection, as_user) {
            (0, user) => !user,
            (1, user) => !(user && store),
            (2, _) => true,
            _ => !store,
        }
    }

    /// A number that no other page, size or address space has; not 0.
    #[must_use]
    pub fn key(&self) -> u64 {
        let space = if self.shared() {
            None
        } else {
            Some(self.asid())
        };
        key(self.page(), self.size(), space)
    }
}

/// [`Entry::key`] of an entry of this size for the page of `ea`, in one address space or shared by all.
#[must_use]
pub fn key(ea: u32, size: PageSize, space: Option<u8>) -> u64 {
    const SET: u64 = 1 << 63;
    let page = u64::from(ea & !(size.bytes() - 1)) >> 12;
    let space = space.map_or(16, u64::from);
    SET | u64::from(size.code()) << 40 | space << 20 | page
}

/// A TLB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tlb {
    entries: Box<[Entry]>,
    /// The entry that is loaded next (Mx_CTR\[INDX\]).
    index: u32,
    /// The last entries are neither replaced nor invalidated by `tlbia` (Mx_CTR\[RSV\]).
    reserving: bool,
}

impl Tlb {
    /// An empty TLB of `entries`, a power of two of at most 32.
    #[must_use]
    pub fn new(entries: u32) -> Self {
        Self {
            entries: vec![Entry::default(); entries as usize].into_boxed_slice(),
            index: 0,
            reserving: false,
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let made = |e: &Entry| *e == Entry::new(e.epn, e.twc, e.rpn, e.resolution);
        self.entries.len() == fresh.entries.len()
            && (self.index as usize) < self.entries.len()
            && self
                .entries
                .iter()
                .all(|entry| *entry == Entry::default() || made(entry))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// True of no TLB.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that can be reserved: 4 of 32 (860 UM 9.10.2), 2 of 8 (801 UM 11.8.2).
    #[must_use]
    pub fn reservable(&self) -> u32 {
        if self.len() > 8 { 4 } else { 2 }
    }

    /// True if this entry is not to be replaced now.
    #[must_use]
    pub fn reserved(&self, number: u32) -> bool {
        self.reserving && number + self.reservable() >= self.len()
    }

    /// Mx_CTR\[INDX\].
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Mx_CTR\[RSV\].
    #[must_use]
    pub fn reserving(&self) -> bool {
        self.reserving
    }

    /// A write of Mx_CTR.
    pub fn control(&mut self, index: u32, reserving: bool) {
        self.index = index & (self.len() - 1);
        self.reserving = reserving;
    }

    /// The entry with this number.
    #[must_use]
    pub fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    /// Every valid entry with its number.
    pub fn valid_entries(&self) -> impl Iterator<Item = (u32, &Entry)> + '_ {
        (0..)
            .zip(self.entries.iter())
            .filter(|(_, entry)| entry.valid())
    }

    /// Number of the entry that an access hits. More than one is a programming error; the first is taken.
    #[must_use]
    pub fn find(&self, ea: u32, asid: u8, user: bool) -> Option<u32> {
        self.entries
            .iter()
            .position(|entry| {
                entry.holds(ea) && (entry.shared() || entry.asid() == asid) && entry.hits_mode(user)
            })
            .map(|number| number as u32)
    }

    /// Loads `entry` at the counter and counts down, skipping reserved entries. Returns the entry that was there.
    pub fn load(&mut self, entry: Entry) -> Entry {
        let place = &mut self.entries[self.index as usize];
        let old = std::mem::replace(place, entry);
        let last = self.len() - 1 - if self.reserving { self.reservable() } else { 0 };
        self.index = match self.index.checked_sub(1) {
            Some(next) => next.min(last),
            None => last,
        };
        old
    }

    /// Invalidates one entry.
    pub fn invalidate(&mut self, number: u32) {
        if let Some(entry) = self.entries.get_mut(number as usize) {
            *entry = Entry::default();
        }
    }

    /// `tlbie`: invalidates every entry that holds `ea`, in whatever address space, the reserved ones too (860 UM
    /// 9.10.4). Returns their addresses.
    pub fn invalidate_address(&mut self, ea: u32) -> Reached {
        let mut gone = Reached::Nothing;
        for entry in &mut self.entries {
            if entry.holds(ea) {
                gone.add(entry.reach());
                *entry = Entry::default();
            }
        }
        gone
    }

    /// `tlbia`: invalidates every entry that is not reserved, and clears the counter.
    pub fn invalidate_all(&mut self) {
        let kept = if self.reserving { self.reservable() } else { 0 };
        let replaceable = self.entries.len() - kept as usize;
        self.entries[..replaceable].fill(Entry::default());
        self.index = 0;
    }
}
