//! The exception of a failed translation: its kind and its register bits.

use super::{Access, DirectStore, Mpc8xxFault, Ppc405Fault, Reaches, SoftwareMiss};

/// Bits of SRR1 (ISI) and DSISR (DSI).
pub mod bits {
    /// No PTE was found (SRR1\[1\], DSISR\[1\]).
    pub const NO_PTE: u32 = 0x4000_0000;
    /// Fetch from a no-execute segment, guarded memory, or a direct-store segment (SRR1\[3\]).
    pub const NO_EXECUTE: u32 = 0x1000_0000;
    /// Protection (SRR1\[4\], DSISR\[4\]).
    pub const PROTECTION: u32 = 0x0800_0000;
    /// The access was a store (DSISR\[6\]).
    pub const STORE: u32 = 0x0200_0000;
    /// Direct-store error (DSISR\[0\]).
    pub const DIRECT_STORE_ERROR: u32 = 0x8000_0000;
    /// Access that the direct-store segment doesn't allow (DSISR\[5\]).
    pub const DIRECT_STORE_UNSUPPORTED: u32 = 0x0400_0000;
}

/// The exception that an access takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Instruction storage interrupt, 0x400, with these bits in SRR1's upper half.
    Isi {
        /// SRR1\[1-4\].
        srr1: u32,
    },
    /// Data storage interrupt, 0x300; DAR is the access's EA.
    Dsi {
        /// DSISR.
        dsisr: u32,
    },
    /// The 603's TLB miss or change exception; the miss registers are set.
    Software(SoftwareMiss),
    /// An 8xx's TLB miss or error: of instructions or of data.
    Mpc8xx {
        /// Which of them.
        fault: Mpc8xxFault,
        /// On the instruction side.
        instruction: bool,
    },
    /// A 405's TLB miss or storage exception: of instructions or of data.
    Ppc405 {
        /// Which of them.
        fault: Ppc405Fault,
        /// On the instruction side.
        instruction: bool,
    },
    /// A 970's SLB has no entry: of instructions or of data.
    Segment {
        /// On the instruction side.
        instruction: bool,
    },
    /// The walker's access met no memory: machine check, 0x200.
    MachineCheck {
        /// Physical address of the PTE.
        pa: u32,
    },
}

/// A failed translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The exception.
    pub kind: FaultKind,
    /// Core cycles that a table walk took before it failed.
    pub cycles: u64,
    /// The addresses whose TLB entries the fault has removed.
    pub gone: Reaches,
}

impl Fault {
    fn new(kind: FaultKind, cycles: u64) -> Self {
        Self {
            kind,
            cycles,
            gone: Reaches::NOTHING,
        }
    }

    fn storage(access: Access, bits: u32, cycles: u64) -> Self {
        let kind = match access {
            Access::Fetch => FaultKind::Isi { srr1: bits },
            Access::Load => FaultKind::Dsi { dsisr: bits },
            Access::Store => FaultKind::Dsi {
                dsisr: bits | bits::STORE,
            },
        };
        Self::new(kind, cycles)
    }

    /// No PTE.
    #[must_use]
    pub fn page(access: Access, cycles: u64) -> Self {
        Self::storage(access, bits::NO_PTE, cycles)
    }

    /// Not permitted by PP and key, or by a BAT's PP.
    #[must_use]
    pub fn protection(access: Access, cycles: u64) -> Self {
        Self::storage(access, bits::PROTECTION, cycles)
    }

    /// Fetch from no-execute storage.
    #[must_use]
    pub fn no_execute(cycles: u64) -> Self {
        Self::storage(Access::Fetch, bits::NO_EXECUTE, cycles)
    }

    /// Access to a segment with T = 1.
    #[must_use]
    pub fn direct_store(access: Access, what: DirectStore) -> Self {
        if access.is_fetch() {
            return Self::no_execute(0);
        }
        let bits = match what {
            DirectStore::Error => bits::DIRECT_STORE_ERROR,
            DirectStore::Unsupported => bits::DIRECT_STORE_UNSUPPORTED,
        };
        Self::storage(access, bits, 0)
    }

    /// The walker met no memory at `pa`.
    #[must_use]
    pub fn machine_check(pa: u32, cycles: u64) -> Self {
        Self::new(FaultKind::MachineCheck { pa }, cycles)
    }

    /// A 603's software reload.
    #[must_use]
    pub fn software(miss: SoftwareMiss) -> Self {
        Self::new(FaultKind::Software(miss), 0)
    }

    /// An 8xx's fault.
    #[must_use]
    pub fn mpc8xx(fault: Mpc8xxFault, access: Access) -> Self {
        let instruction = access.is_fetch();
        Self::new(FaultKind::Mpc8xx { fault, instruction }, 0)
    }

    /// A 405's fault, after `cycles` in which a shadow entry was refilled.
    #[must_use]
    pub fn ppc405(fault: Ppc405Fault, access: Access, cycles: u64) -> Self {
        let instruction = access.is_fetch();
        Self::new(FaultKind::Ppc405 { fault, instruction }, cycles)
    }

    /// A 970's SLB has no entry.
    #[must_use]
    pub fn segment(access: Access) -> Self {
        let instruction = access.is_fetch();
        Self::new(FaultKind::Segment { instruction }, 0)
    }

    fn mpc8xx_error(access: Access, bits: u32) -> Self {
        let store = if access.is_store() { bits::STORE } else { 0 };
        let bits = bits | store;
        Self::mpc8xx(Mpc8xxFault::Error { bits }, access)
    }

    /// An 8xx's entry is loaded from a descriptor that is not valid (860 UM 9.9).
    #[must_use]
    pub fn mpc8xx_page(access: Access) -> Self {
        Self::mpc8xx_error(access, bits::NO_PTE)
    }

    /// Neither an 8xx's group nor page permits it.
    #[must_use]
    pub fn mpc8xx_protection(access: Access) -> Self {
        Self::mpc8xx_error(access, bits::PROTECTION)
    }

    /// An 8xx's fetch from guarded memory.
    #[must_use]
    pub fn mpc8xx_no_execute() -> Self {
        Self::mpc8xx_error(Access::Fetch, bits::NO_EXECUTE)
    }

    /// An 8xx's store to a page with C = 0, which has invalidated the entry (801 UM 11.4.1). DSISR has only the bit
    /// for a store (Linux 2.4 head_8xx.S recognises it by that).
    #[must_use]
    pub fn mpc8xx_unchanged(gone: Reaches) -> Self {
        Self {
            gone,
            ..Self::mpc8xx_error(Access::Store, 0)
        }
    }
}
