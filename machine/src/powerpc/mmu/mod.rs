//! Address translation: one file for each kind of MMU.
//!
//! - [`hash32`]: BATs, segments, TLBs, and a walk of the hash table in hardware (604, 750);
//! - [`soft6xx`]: the same without the walk: software reloads the TLBs (603);
//! - [`hash64`]: an SLB, effective-to-real tables, a TLB, and a walk of the 64-bit hash table in hardware (970);
//! - [`mpc8xx`]: two TLBs that software loads, and nothing else;
//! - [`ppc405`]: one TLB that software loads, and two small ones that hardware refills from it.
//!
//! The rest of the machine uses an MMU through [`Unit`], whatever its kind. [`front6xx`] is the common part of the
//! first two. [`walker`] is the interface for other page tables and walk caches, [`crate::tlb::replacement`] for the
//! choice of the entry that a new one replaces. A TLB behind both TLBs is a [`crate::tlb::second_level`].
//!
//! Sources: PowerPC Programming Environments, chapter 7; 604 UM chapter 5; 603e UM chapter 5; those of [`hash64`],
//! [`mpc8xx`] and [`ppc405`] stand there.

pub mod bat;
mod build;
mod extreme;
pub mod fault;
pub mod front6xx;
pub mod hash;
pub mod hash32;
pub mod hash64;
pub mod held;
pub mod mpc8xx;
mod places;
pub mod ppc405;
pub mod reach;
mod second_level;
pub mod segment;
pub mod soft6xx;
pub mod tlb;
pub mod unit;
pub mod walker;

pub use bat::{BatHit, Bats};
pub use fault::{Fault, FaultKind};
pub use front6xx::Front6xx;
pub use hash32::Hash32;
pub use hash64::Hash64;
pub use mpc8xx::{Mpc8xx, Mpc8xxFault};
pub use ppc405::{Ppc405, Ppc405Fault};
pub use reach::{Invalidation, Reach, Reached, Reaches};
pub use segment::Segments;
pub use soft6xx::{MissRegisters, Soft6xx, SoftwareMiss};
pub use tlb::{Tlb, TlbEntry, TlbGeometry};
pub use unit::{EntryView, HashBase, Recency, Space, Unit, Used};
pub use walker::WalkTiming;

use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

use crate::account::Account;
use crate::memory::Memory;
use crate::powerpc::msr;

/// What an access is, for protection and reporting.
///
/// `dcbst`, `dcbf`, `icbi` translate as loads; `dcbz`, `dcbi`, `stwcx.` as stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Instruction fetch.
    Fetch,
    /// Data read.
    Load,
    /// Data write.
    Store,
}

impl Access {
    /// Instruction fetch?
    #[inline]
    #[must_use]
    pub fn is_fetch(self) -> bool {
        self == Self::Fetch
    }

    /// Is it translated under `msr`?
    #[inline]
    #[must_use]
    pub fn is_translated(self, msr: u32) -> bool {
        msr & if self.is_fetch() { msr::IR } else { msr::DR } != 0
    }

    /// Data write?
    #[inline]
    #[must_use]
    pub fn is_store(self) -> bool {
        self == Self::Store
    }
}

/// What translated an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// MSR\[IR\] or MSR\[DR\] is 0.
    Real,
    /// A BAT.
    Bat,
    /// A TLB entry, reloaded for this access or not.
    Tlb,
    /// An 8xx's TLB entry that treats the subpages of the 4 KB around the address differently.
    Subpage,
}

/// A translated address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Translation {
    /// Physical address.
    pub pa: u32,
    /// Storage control bits; see [`crate::memory::attributes`].
    pub attributes: u8,
    /// What translated.
    pub source: Source,
    /// Core cycles that a table walk took; 0 without one.
    pub cycles: u64,
}

/// How the TLBs are reloaded; this selects the kind of MMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// By hardware from the hash table: [`hash32`].
    Hash(WalkTiming),
    /// By software through the exceptions 0x1000, 0x1100, 0x1200: [`soft6xx`].
    Software {
        /// SRR1\[KEY\] is set at a miss (603e; the original 603 has no such bit).
        key: bool,
    },
    /// By software through Mx_RPN: [`mpc8xx`].
    Registers,
    /// By software through `tlbwe`: [`ppc405`]. Core cycles in which hardware refills the TLBs of instructions and of
    /// data.
    Unified {
        /// Of instructions.
        instruction: u32,
        /// Of data.
        data: u32,
    },
    /// By hardware from the hash table of 64-bit cores: [`hash64`].
    Wide {
        /// The TLB behind the two small ones.
        tlb: TlbGeometry,
        /// Costs of a walk.
        walk: WalkTiming,
        /// Costs of an access that only that TLB answers.
        refills: hash64::Refills,
    },
}

/// The error of a load or store to a direct-store segment (T = 1). No board here has such a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectStore {
    /// DSISR\[0\]: the direct-store transfer ended in an error (604: it has the interface).
    Error,
    /// DSISR\[5\]: the core has no direct-store interface (603e, 750).
    Unsupported,
}

/// An MMU's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MmuGeometry {
    /// Instruction TLB.
    pub instruction: TlbGeometry,
    /// Data TLB.
    pub data: TlbGeometry,
    /// Pairs of BAT registers for each of I and D: 4 or 8; 8xx, 405 and 970 have none.
    pub bats: u32,
    /// Reload.
    pub reload: Reload,
    /// T = 1.
    pub direct_store: DirectStore,
}

/// A memory management unit: see [`Unit`] for what it does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mmu {
    geometry: MmuGeometry,
    kind: Kind,
}

/// The kinds of MMU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Kind {
    /// 604, 750.
    Hash32(Hash32),
    /// 603.
    Soft6xx(Soft6xx),
    /// 8xx.
    Mpc8xx(Mpc8xx),
    /// 405.
    Ppc405(Ppc405),
    /// 970.
    Hash64(Box<Hash64>),
}

impl Mmu {
    /// An MMU with empty TLBs and zero registers.
    ///
    /// # Errors
    /// What is wrong with a TLB's shape.
    pub fn new(geometry: MmuGeometry) -> Result<Self, String> {
        let registers = matches!(
            geometry.reload,
            Reload::Registers | Reload::Unified { .. } | Reload::Wide { .. }
        );
        if !matches!((registers, geometry.bats), (false, 4 | 8) | (true, 0)) {
            return Err(format!(
                "bats is {}: 4 or 8 are allowed, on 8xx, 405 and 970 0",
                geometry.bats
            ));
        }
        let kind = match geometry.reload {
            Reload::Hash(timing) => Kind::Hash32(Hash32::new(Front6xx::new(&geometry)?, timing)),
            Reload::Software { key } => Kind::Soft6xx(Soft6xx::new(Front6xx::new(&geometry)?, key)),
            Reload::Registers => {
                geometry.instruction.check()?;
                geometry.data.check()?;
                let (instruction, data) = (geometry.instruction.entries, geometry.data.entries);
                Kind::Mpc8xx(Mpc8xx::new(instruction, data))
            }
            Reload::Unified { instruction, data } => {
                geometry.instruction.check()?;
                geometry.data.check()?;
                let entries = [geometry.instruction.entries, geometry.data.entries];
                Kind::Ppc405(Ppc405::new(entries, [instruction, data]))
            }
            Reload::Wide { tlb, walk, refills } => {
                let erats = [geometry.instruction, geometry.data];
                Kind::Hash64(Box::new(Hash64::new(erats, tlb, walk, refills)?))
            }
        };
        Ok(Self { geometry, kind })
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let kind = match (&self.kind, &fresh.kind) {
            (Kind::Hash32(unit), Kind::Hash32(fresh)) => unit.fits(fresh),
            (Kind::Soft6xx(unit), Kind::Soft6xx(fresh)) => unit.fits(fresh),
            (Kind::Mpc8xx(unit), Kind::Mpc8xx(fresh)) => unit.fits(fresh),
            (Kind::Ppc405(unit), Kind::Ppc405(fresh)) => unit.fits(fresh),
            (Kind::Hash64(unit), Kind::Hash64(fresh)) => unit.fits(fresh),
            _ => false,
        };
        kind && self.geometry == fresh.geometry
    }

    /// The MMU's shape.
    #[must_use]
    pub fn geometry(&self) -> &MmuGeometry {
        &self.geometry
    }

    /// The MMU by its kind, to reach what only that kind has.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// As [`Mmu::kind`], to change it.
    pub fn kind_mut(&mut self) -> &mut Kind {
        &mut self.kind
    }

    /// As [`Unit::translate`], chosen by kind: most cores have an MMU of the first one.
    #[inline(always)]
    pub(crate) fn translate_by(
        &mut self,
        (ea, access, msr): (u32, Access, u32),
        memory: &mut Memory,
        cycle: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        match &mut self.kind {
            Kind::Hash32(unit) => unit.translate(ea, access, msr, memory, cycle, account),
            _ => (**self).translate(ea, access, msr, memory, cycle, account),
        }
    }

    /// As [`Unit::used`], chosen by kind.
    #[inline(always)]
    pub(crate) fn used_by(&self, fetch: bool, page: u32, source: Source) -> Option<Used> {
        match &self.kind {
            Kind::Hash32(unit) => unit.used(fetch, page, source),
            _ => (**self).used(fetch, page, source),
        }
    }

    /// BATs, segments and TLBs, where the MMU has them.
    #[must_use]
    pub fn front(&self) -> Option<&Front6xx> {
        match &self.kind {
            Kind::Hash32(unit) => Some(&unit.front),
            Kind::Soft6xx(unit) => Some(&unit.front),
            Kind::Mpc8xx(_) | Kind::Ppc405(_) | Kind::Hash64(_) => None,
        }
    }

    /// As [`Mmu::front`], to change it.
    pub fn front_mut(&mut self) -> Option<&mut Front6xx> {
        match &mut self.kind {
            Kind::Hash32(unit) => Some(&mut unit.front),
            Kind::Soft6xx(unit) => Some(&mut unit.front),
            Kind::Mpc8xx(_) | Kind::Ppc405(_) | Kind::Hash64(_) => None,
        }
    }

    /// The 603's MMU, if it is one.
    #[must_use]
    pub fn soft6xx(&self) -> Option<&Soft6xx> {
        match &self.kind {
            Kind::Soft6xx(unit) => Some(unit),
            _ => None,
        }
    }

    /// As [`Mmu::soft6xx`], to change it.
    pub fn soft6xx_mut(&mut self) -> Option<&mut Soft6xx> {
        match &mut self.kind {
            Kind::Soft6xx(unit) => Some(unit),
            _ => None,
        }
    }

    /// The 8xx's MMU, if it is one.
    #[must_use]
    pub fn mpc8xx(&self) -> Option<&Mpc8xx> {
        match &self.kind {
            Kind::Mpc8xx(unit) => Some(unit),
            _ => None,
        }
    }

    /// As [`Mmu::mpc8xx`], to change it.
    pub fn mpc8xx_mut(&mut self) -> Option<&mut Mpc8xx> {
        match &mut self.kind {
            Kind::Mpc8xx(unit) => Some(unit),
            _ => None,
        }
    }

    /// The 405's MMU, if it is one.
    #[must_use]
    pub fn ppc405(&self) -> Option<&Ppc405> {
        match &self.kind {
            Kind::Ppc405(unit) => Some(unit),
            _ => None,
        }
    }

    /// The 970's MMU, if it is one.
    #[must_use]
    pub fn hash64(&self) -> Option<&Hash64> {
        match &self.kind {
            Kind::Hash64(unit) => Some(unit),
            _ => None,
        }
    }

    /// As [`Mmu::hash64`], to change it.
    pub fn hash64_mut(&mut self) -> Option<&mut Hash64> {
        match &mut self.kind {
            Kind::Hash64(unit) => Some(unit),
            _ => None,
        }
    }

    /// As [`Mmu::ppc405`], to change it.
    pub fn ppc405_mut(&mut self) -> Option<&mut Ppc405> {
        match &mut self.kind {
            Kind::Ppc405(unit) => Some(unit),
            _ => None,
        }
    }
}

impl Deref for Mmu {
    type Target = dyn Unit;

    fn deref(&self) -> &Self::Target {
        match &self.kind {
            Kind::Hash32(unit) => unit,
            Kind::Soft6xx(unit) => unit,
            Kind::Mpc8xx(unit) => unit,
            Kind::Ppc405(unit) => unit,
            Kind::Hash64(unit) => unit.as_ref(),
        }
    }
}

impl DerefMut for Mmu {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match &mut self.kind {
            Kind::Hash32(unit) => unit,
            Kind::Soft6xx(unit) => unit,
            Kind::Mpc8xx(unit) => unit,
            Kind::Ppc405(unit) => unit,
            Kind::Hash64(unit) => unit.as_mut(),
        }
    }
}
