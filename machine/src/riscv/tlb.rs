//! What a TLB's entry says on RISC-V, and which accesses it allows.

use super::csr::mstatus;
use super::pmp::right;
pub use crate::tlb::sized::{Entry, PageShortcut, SHORTCUTS, Tlb};

/// Bits of a page-table entry.
pub mod pte {
    pub const VALID: u64 = 1;
    pub const READ: u64 = 1 << 1;
    pub const WRITE: u64 = 1 << 2;
    pub const EXECUTE: u64 = 1 << 3;
    pub const USER: u64 = 1 << 4;
    pub const GLOBAL: u64 = 1 << 5;
    pub const ACCESSED: u64 = 1 << 6;
    pub const DIRTY: u64 = 1 << 7;
    /// Reserved: no extension uses them.
    pub const RESERVED: u64 = 0x7f << 54;
    /// How memory is cached (Svpbmt): 0 as it is, 1 and 2 otherwise, 3 is reserved.
    pub const TYPE: u64 = 3 << 61;
    /// One of several equal entries, which stand for a larger page (Svnapot).
    pub const NAPOT: u64 = 1 << 63;
    /// What a TLB keeps of an entry that is not valid: no right, and not nothing.
    pub const NONE: u64 = ACCESSED;
}

/// Who accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(u8);

impl Mode {
    const SUPERVISOR: u8 = 1;
    const SUM: u8 = 2;
    const MXR: u8 = 4;

    /// The mode of accesses with this privilege, under this mstatus.
    #[must_use]
    pub fn new(supervisor: bool, status: u64) -> Mode {
        let has = |is, flag| if is { flag } else { 0 };
        let sum = supervisor && status & mstatus::SUM != 0;
        let mxr = has(status & mstatus::MXR != 0, Mode::MXR);
        Mode(has(supervisor, Mode::SUPERVISOR) | has(sum, Mode::SUM) | mxr)
    }

    /// Its number, which no other mode has.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

/// [`Entry::bits`] are the lower eight of the page-table entry, and [`Entry::rights`] what physical memory protection
/// allows there, for modes below machine mode, or [`right::ASK`].
impl Entry {
    /// How many sizes of leaves are smaller than this one.
    #[must_use]
    pub fn smaller_sizes(shift: u8) -> u32 {
        u32::from(shift).saturating_sub(12) / 9
    }

    /// What an access with these rights may do.
    #[must_use]
    pub fn allows(&self, right: u8, mode: Mode) -> bool {
        let bits = u64::from(self.bits);
        let (user, is) = (bits & pte::USER != 0, |flag| mode.0 & flag != 0);
        let belongs = if is(Mode::SUPERVISOR) {
            !user || is(Mode::SUM) && right != right::EXECUTE
        } else {
            user
        };
        let reads = pte::READ | if is(Mode::MXR) { pte::EXECUTE } else { 0 };
        let any_of = match right {
            right::READ => reads,
            right::WRITE => pte::WRITE,
            _ => pte::EXECUTE,
        };
        belongs && bits & any_of != 0
    }

    /// The rights of accesses in this mode that need no further look at the entry.
    pub(super) fn free_rights(&self, mode: Mode) -> u8 {
        let dirty = u64::from(self.bits) & pte::DIRTY != 0;
        let free = [right::READ, right::WRITE, right::EXECUTE]
            .into_iter()
            .filter(|&right| self.allows(right, mode) && (right != right::WRITE || dirty));
        free.fold(0, |all, right| all | right) & self.rights
    }
}
