//! An entry of an x86's TLB, whom it lets access its page, and the shortcut that is made from it.

use serde::{Deserialize, Serialize};

use crate::tlb::Slot;

/// Bits of a page-table entry (SDM 4.3).
pub mod pte {
    pub const PRESENT: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    pub const USER: u32 = 1 << 2;
    /// Page write-through.
    pub const THROUGH: u32 = 1 << 3;
    /// Page cache disable.
    pub const UNCACHED: u32 = 1 << 4;
    pub const ACCESSED: u32 = 1 << 5;
    pub const DIRTY: u32 = 1 << 6;
    /// In a directory: a page of 4 MB, or of 2 MB with CR4.PAE.
    pub const LARGE: u32 = 1 << 7;
    pub const GLOBAL: u32 = 1 << 8;
}

/// What an access needs: 1 if it writes, 2 if it is a user's.
pub type Need = u8;

/// One translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The page's linear address | [`VALID`].
    pub tag: u32,
    /// The page's physical address, or [`NO_MEMORY`] if it lies above 4 GB.
    pub frame: u32,
    /// Bits of [`pte`] that both levels allow; from bit 12 on those of the address of a page above 4 GB.
    pub bits: u32,
    /// Bit n: accesses with need n may use the entry as it is.
    pub allowed: u8,
    pub(super) way: u8,
    /// Bits 32 to 35 of the page's physical address.
    pub(super) high: u8,
}

impl Slot for Entry {
    fn valid(&self) -> bool {
        self.tag & VALID != 0
    }

    fn way(&self) -> u8 {
        self.way
    }
}

/// What accesses reach by a page above 4 GB: a page where no machine has memory or a device.
pub const NO_MEMORY: u32 = 0xffff_f000;

/// In [`Entry::allowed`], alone: the sanitizer must see the next use.
pub(super) const SUSPECT: u8 = 1 << 7;

/// In a tag: the entry is valid.
pub const VALID: u32 = 1;

impl Entry {
    /// An entry for the page at `page`, whose physical address is `frame`.
    #[must_use]
    pub fn new(page: u32, frame: u64, bits: u32, protects: bool) -> Self {
        let high = (frame >> 32) as u8;
        let mut entry = Entry {
            tag: page | VALID,
            frame: reached(frame),
            bits: if high == 0 {
                bits
            } else {
                bits | frame as u32 & !0xfff
            },
            allowed: 0,
            way: 0,
            high,
        };
        entry.set_allowed(protects);
        entry
    }

    pub(super) fn set_allowed(&mut self, protects: bool) {
        let has = |bit: u32| self.bits & bit != 0;
        let writable = has(pte::DIRTY) && (has(pte::WRITE) || !protects);
        let user_writes = has(pte::USER) && has(pte::WRITE) && has(pte::DIRTY);
        self.allowed = 1
            | u8::from(writable) << 1
            | u8::from(has(pte::USER)) << 2
            | u8::from(user_writes) << 3;
    }

    /// True if the rights that were read from memory allow this access: only the D bit may be missing.
    #[must_use]
    pub fn permits(&self, need: Need, protects: bool) -> bool {
        permits(self.bits, need, protects)
    }

    /// The page's physical address.
    #[must_use]
    pub fn physical(&self) -> u64 {
        match self.high {
            0 => self.frame.into(),
            high => u64::from(high) << 32 | u64::from(self.bits & !0xfff),
        }
    }

    /// Its physical way.
    #[must_use]
    pub fn way(&self) -> u8 {
        self.way
    }

    /// The shortcut of its page. `user`: for accesses of ring 3.
    #[inline(always)]
    pub(super) fn shortcut(&self, user: Need) -> Shortcut {
        let page = self.tag & !0xfff;
        let wanted = Shortcut::wanted(page, 1, Shortcut::mark(user));
        // All ones, and so `Shortcut::NOTHING`, without the right.
        let without = |need: Need| u32::from(self.allowed >> need & 1).wrapping_sub(1);
        Shortcut {
            load: wanted | without(user & 2),
            store: wanted | without(user & 2 | 1),
            delta: self.frame.wrapping_sub(page),
        }
    }
}

/// Where accesses to the page at the physical address `frame` go.
#[inline(always)]
#[must_use]
pub fn reached(frame: u64) -> u32 {
    u32::try_from(frame).unwrap_or(NO_MEMORY)
}

/// May the page of `entry`, which has `1 << shift` bytes, have a shortcut, with RAM of `ram` bytes?
#[inline(always)]
pub(super) fn has_shortcut(entry: &Entry, shift: u32, ram: usize) -> bool {
    const SPECIAL: u32 = pte::THROUGH | pte::UNCACHED;
    shift == 12 && entry.bits & SPECIAL == 0 && ((entry.frame | 0xfff) as usize) < ram
}

/// Do the rights in `bits`, of both levels together, allow an access? `protects`: CR0.WP.
#[must_use]
pub fn permits(bits: u32, need: Need, protects: bool) -> bool {
    let (write, user) = (need & 1 != 0, need & 2 != 0);
    let writable = bits & pte::WRITE != 0;
    if user {
        bits & pte::USER != 0 && (writable || !write)
    } else {
        writable || !write || !protects
    }
}

/// How a page is reached whose entry is the one used last in its set: memory that the cache holds and writes back, or
/// through, as the machine does by default.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub struct Shortcut {
    /// The linear page that loads, and fetches, may use, with [`Shortcut::USER`]; [`Shortcut::NOTHING`]: none.
    pub load: u32,
    /// The same for stores.
    pub store: u32,
    /// Physical minus linear address.
    pub delta: u32,
}

impl Shortcut {
    /// With a page: for accesses of ring 3.
    const USER: u32 = 1 << 11;
    /// No page.
    const NOTHING: u32 = u32::MAX;
    pub(super) const NONE: Shortcut = Shortcut {
        load: Self::NOTHING,
        store: Self::NOTHING,
        delta: 0,
    };

    /// What [`Shortcut::load`] or [`Shortcut::store`] must be for an access to `bytes`, a power of two, at `linear`, of
    /// a ring with this [`Shortcut::mark`]. An address that is no multiple of `bytes` has no shortcut.
    #[inline(always)]
    #[must_use]
    pub fn wanted(linear: u32, bytes: u32, mark: u32) -> u32 {
        linear & (0xffff_f000 | (bytes - 1)) | mark
    }

    /// What accesses with this need have in their [`Shortcut::wanted`].
    #[inline(always)]
    #[must_use]
    pub fn mark(need: Need) -> u32 {
        u32::from(need & 2) << 10
    }
}

const _: () = assert!(Shortcut::USER == 2 << 10);
