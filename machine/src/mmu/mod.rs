//! Address translation as the architecture says it: block address translation first, then the segment
//! register, the TLB, and on a TLB miss the hardware's hash-table walk (604, 750) or the software
//! reload's exceptions (603). The 8xx has none of this but a unit of its own ([`mpc8xx`]).
//!
//! Sources: PowerPC Programming Environments, chapter 7; 604 UM chapter 5; 603e UM chapter 5.

pub mod bat;
mod build;
pub mod fault;
pub mod hash;
pub mod mpc8xx;
pub mod segment;
pub mod software;
pub mod tlb;

pub use bat::{BatHit, Bats};
pub use fault::{Fault, FaultKind};
pub use hash::WalkTiming;
pub use mpc8xx::{Mpc8xx, Mpc8xxFault};
pub use segment::Segments;
pub use software::{MissRegisters, SoftwareMiss};
pub use tlb::{Tlb, TlbEntry, TlbGeometry};

use crate::memory::{Memory, wimg};
use crate::observe::{Account, Array, Cause, Event, Plain};
use crate::powerpc::msr;
use serde::{Deserialize, Serialize};

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
    /// An 8xx's TLB entry that does not say the same of all subpages of the 4 KB around the address.
    Subpage,
}

/// A translated address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Translation {
    /// Physical address.
    pub pa: u32,
    /// Storage control bits; see [`wimg`].
    pub wimg: u8,
    /// What translated.
    pub source: Source,
    /// Core cycles that a table walk took; 0 without one.
    pub cycles: u64,
}

/// How the TLBs are reloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// By hardware from the hash table (604, 750).
    Hash(WalkTiming),
    /// By software through the exceptions 0x1000, 0x1100, 0x1200 (603).
    Software {
        /// SRR1\[KEY\] is set at a miss (603e; the original 603 has no such bit).
        key: bool,
    },
    /// By software through Mx_RPN (8xx): see [`mpc8xx`].
    Registers,
}

/// What a load or store to a direct-store segment (T = 1) reports: no board here has such a device.
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
    /// Pairs of BAT registers for each of I and D: 4 or 8.
    pub bats: u32,
    /// Reload.
    pub reload: Reload,
    /// T = 1.
    pub direct_store: DirectStore,
}

/// A memory management unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mmu {
    geometry: MmuGeometry,
    /// Segment registers.
    pub segments: Segments,
    /// Instruction BATs.
    pub ibat: Bats,
    /// Data BATs.
    pub dbat: Bats,
    /// SDR1, every bit kept as written.
    pub sdr1: u32,
    /// Instruction TLB.
    pub itlb: Tlb,
    /// Data TLB.
    pub dtlb: Tlb,
    /// The 603's miss registers.
    pub miss: MissRegisters,
    /// Cause of the access that missed last: what the reload evicts is its doing, not the handler's.
    miss_cause: Cause,
    /// The 8xx's MMU, in whose place none of the above is used.
    pub mpc8xx: Option<Mpc8xx>,
}

impl Mmu {
    /// An MMU with empty TLBs and zero registers.
    ///
    /// # Errors
    /// What is wrong with a TLB's shape.
    pub fn new(geometry: MmuGeometry) -> Result<Self, String> {
        let mpc8xx = matches!(geometry.reload, Reload::Registers);
        if !matches!((mpc8xx, geometry.bats), (false, 4 | 8) | (true, 0)) {
            return Err(format!(
                "bats is {}: 4 or 8 are allowed, on the 8xx 0",
                geometry.bats
            ));
        }
        Ok(Self {
            geometry,
            segments: Segments::default(),
            ibat: Bats::new(geometry.bats as usize),
            dbat: Bats::new(geometry.bats as usize),
            sdr1: 0,
            itlb: Tlb::new(geometry.instruction)?,
            dtlb: Tlb::new(geometry.data)?,
            miss: MissRegisters::default(),
            miss_cause: Cause::Kernel,
            mpc8xx: mpc8xx
                .then(|| Mpc8xx::new(geometry.instruction.entries, geometry.data.entries)),
        })
    }

    /// Could a machine that was made as `fresh` was have come to this? A snapshot's parts are asked before use.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let mpc8xx = match (&self.mpc8xx, &fresh.mpc8xx) {
            (Some(unit), Some(fresh)) => [true, false]
                .into_iter()
                .all(|side| unit.side(side).tlb.fits(&fresh.side(side).tlb)),
            (None, None) => true,
            _ => false,
        };
        mpc8xx
            && self.geometry == fresh.geometry
            && self.itlb.fits(&fresh.itlb)
            && self.dtlb.fits(&fresh.dtlb)
            && self.ibat.fits(&fresh.ibat)
            && self.dbat.fits(&fresh.dbat)
    }

    /// The MMU's shape.
    #[must_use]
    pub fn geometry(&self) -> &MmuGeometry {
        &self.geometry
    }

    /// Translates `ea` for `access` under `msr` at core cycle `now`.
    ///
    /// The caller counts the TLB access (one for each access with MSR\[IR\] or MSR\[DR\] set); misses,
    /// walks and everything else are counted here.
    ///
    /// # Errors
    /// The exception that the access takes, with the registers that the hardware sets for it.
    #[inline]
    pub fn translate(
        &mut self,
        ea: u32,
        access: Access,
        msr: u32,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        if let Some(unit) = &mut self.mpc8xx {
            return unit.translate(ea, access, msr, account);
        }
        let (on, real) = if access.is_fetch() {
            (msr & msr::IR != 0, wimg::REAL_FETCH)
        } else {
            (msr & msr::DR != 0, wimg::REAL_DATA)
        };
        if !on {
            return Ok(Translation {
                pa: ea,
                wimg: real,
                source: Source::Real,
                cycles: 0,
            });
        }
        let user = msr & msr::PR != 0;
        let bats = if access.is_fetch() {
            &self.ibat
        } else {
            &self.dbat
        };
        if let Some(hit) = bats.lookup(ea, user) {
            return if hit.permits(access) {
                Ok(Translation {
                    pa: hit.pa,
                    wimg: hit.wimg,
                    source: Source::Bat,
                    cycles: 0,
                })
            } else {
                Err(Fault::protection(access, 0))
            };
        }
        self.translate_page(ea, access, user, memory, now, account)
    }

    /// Translation by segment and page, once no BAT holds `ea`.
    fn translate_page(
        &mut self,
        ea: u32,
        access: Access,
        user: bool,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> Result<Translation, Fault> {
        let segment = self.segments.get(ea);
        if segment & segment::T != 0 {
            return Err(Fault::direct_store(access, self.geometry.direct_store));
        }
        if access.is_fetch() && segment & segment::N != 0 {
            return Err(Fault::no_execute(0));
        }
        let key = segment::key(segment, user);
        let tag = tlb::tag(segment, ea);
        let tlb = if access.is_fetch() {
            &mut self.itlb
        } else {
            &mut self.dtlb
        };
        let (entry, cycles) = match tlb.access(tag) {
            Some(entry) => (entry, 0),
            None => {
                self.count_miss(access, tag, account);
                match self.geometry.reload {
                    // The 8xx's unit has answered before.
                    Reload::Software { .. } | Reload::Registers => {
                        return Err(self.software_miss(ea, access, key));
                    }
                    Reload::Hash(timing) => {
                        let walk = hash::walk(self.sdr1, segment, ea, timing, memory, now, account);
                        self.reload(walk, access, tag, memory, now, account)?
                    }
                }
            }
        };
        if access.is_fetch() && entry.wimg() & wimg::G != 0 {
            return Err(Fault::no_execute(cycles));
        }
        if !tlb::permits(entry.pp(), key, access.is_store()) {
            return Err(Fault::protection(access, cycles));
        }
        let cycles = if access.is_store() && !entry.changed() {
            cycles + self.change(ea, key, entry, memory, now + cycles, account)?
        } else {
            cycles
        };
        Ok(Translation {
            pa: entry.rpn() | (ea & 0xfff),
            wimg: entry.wimg(),
            source: Source::Tlb,
            cycles,
        })
    }

    /// Enters what a walk found into the TLB and sets R in memory.
    fn reload(
        &mut self,
        walk: hash::Walk,
        access: Access,
        tag: u64,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> Result<(TlbEntry, u64), Fault> {
        let mut walk = walk;
        if walk.found.is_some() {
            hash::set_referenced(&mut walk, memory, now, account);
        }
        account.add_plain(Plain::WalkCycles, walk.cycles);
        if access.is_fetch() {
            account.add_plain(Plain::InstructionSearches, 1);
            account.add_plain(Plain::InstructionWalkCycles, walk.cycles);
        }
        let found = match walk.found {
            Some(found) => found,
            None if walk.outside => return Err(Fault::machine_check(walk.pa, walk.cycles)),
            None => return Err(Fault::page(access, walk.cycles)),
        };
        let cause = account.cause;
        let entry = TlbEntry::new(tag, found.word1);
        let (tlb, array) = self.side(access.is_fetch());
        if let Some(old) = tlb.fill(entry) {
            account.pollution.entry_evicted(array, old.tag(), cause);
        }
        Ok((entry, walk.cycles))
    }

    /// A permitted store to a resident entry with C = 0: hardware finds the PTE again and sets its C
    /// bit (750 UM 5.4.1.2), the 603 traps. Returns the cycles it took.
    fn change(
        &mut self,
        ea: u32,
        key: bool,
        entry: TlbEntry,
        memory: &mut Memory,
        now: u64,
        account: &mut Account,
    ) -> Result<u64, Fault> {
        let segment = self.segments.get(ea);
        let timing = match self.geometry.reload {
            Reload::Software { .. } | Reload::Registers => {
                account.add_plain(Plain::TlbChangeTrap, 1);
                self.miss_cause = account.cause;
                return Err(self.software_unchanged(ea, key, entry.way()));
            }
            Reload::Hash(timing) => timing,
        };
        let mut walk = hash::walk(self.sdr1, segment, ea, timing, memory, now, account);
        if walk.found.is_some() {
            hash::set_changed(&mut walk, memory, now, account);
        }
        account.add_plain(Plain::WalkCycles, walk.cycles);
        if walk.found.is_none() {
            return Err(if walk.outside {
                Fault::machine_check(walk.pa, walk.cycles)
            } else {
                Fault::page(Access::Store, walk.cycles)
            });
        }
        self.dtlb.set_changed(entry.tag());
        Ok(walk.cycles)
    }

    fn side(&mut self, instruction: bool) -> (&mut Tlb, Array) {
        if instruction {
            (&mut self.itlb, Array::InstructionTlb)
        } else {
            (&mut self.dtlb, Array::DataTlb)
        }
    }

    fn count_miss(&mut self, access: Access, tag: u64, account: &mut Account) {
        let (event, array) = if access.is_fetch() {
            (Event::InstructionTlbMiss, Array::InstructionTlb)
        } else {
            (Event::DataTlbMiss, Array::DataTlb)
        };
        account.add(event, 1);
        self.miss_cause = account.cause;
        let cause = account.cause;
        account
            .pollution
            .entry_missed(&mut account.counters, array, tag, cause);
    }

    /// Translates as a hint (`dcbt`, `dcbtst`): by BAT or a resident entry that permits it, else not
    /// at all; no exception, no walk (603 UM 3.7.2).
    pub fn translate_hint(&mut self, ea: u32, access: Access, msr: u32) -> Option<Translation> {
        if let Some(unit) = &self.mpc8xx {
            return unit.translate_hint(ea, access, msr);
        }
        if msr & msr::DR == 0 {
            return Some(Translation {
                pa: ea,
                wimg: wimg::REAL_DATA,
                source: Source::Real,
                cycles: 0,
            });
        }
        let user = msr & msr::PR != 0;
        if let Some(hit) = self.dbat.lookup(ea, user) {
            return hit.permits(access).then_some(Translation {
                pa: hit.pa,
                wimg: hit.wimg,
                source: Source::Bat,
                cycles: 0,
            });
        }
        let segment = self.segments.get(ea);
        if segment & segment::T != 0 {
            return None;
        }
        let entry = self.dtlb.access(tlb::tag(segment, ea))?;
        tlb::permits(entry.pp(), segment::key(segment, user), access.is_store()).then_some(
            Translation {
                pa: entry.rpn() | (ea & 0xfff),
                wimg: entry.wimg(),
                source: Source::Tlb,
                cycles: 0,
            },
        )
    }

    /// Translates for an observer (debugger, dump): nothing changes, nothing is counted, protection
    /// is not checked. Looks in BATs, the TLB, then the hash table.
    #[must_use]
    pub fn peek(&self, ea: u32, access: Access, msr: u32, memory: &Memory) -> Option<u32> {
        if let Some(unit) = &self.mpc8xx {
            return unit.peek(ea, access, msr);
        }
        let (on, bats, tlb) = if access.is_fetch() {
            (msr & msr::IR != 0, &self.ibat, &self.itlb)
        } else {
            (msr & msr::DR != 0, &self.dbat, &self.dtlb)
        };
        if !on {
            return Some(ea);
        }
        if let Some(hit) = bats.lookup(ea, msr & msr::PR != 0) {
            return Some(hit.pa);
        }
        let segment = self.segments.get(ea);
        if segment & segment::T != 0 {
            return None;
        }
        let rpn = match tlb.find(tlb::tag(segment, ea)) {
            Some(entry) => entry.rpn(),
            None => hash::peek(self.sdr1, segment, ea, &memory.ram)?.word1 & 0xffff_f000,
        };
        Some(rpn | (ea & 0xfff))
    }

    /// `tlbie`: the congruence class of `ea` leaves both TLBs, every way, whatever its tags
    /// (604 UM 5.4.3.2).
    pub fn tlbie(&mut self, ea: u32, account: &mut Account) {
        account.add_plain(Plain::TlbInvalidate, 1);
        self.itlb.invalidate_class(ea);
        self.dtlb.invalidate_class(ea);
    }

    /// Every entry leaves both TLBs (`tlbia`, where a core has it; a reset).
    pub fn tlbia(&mut self) {
        self.itlb.invalidate_all();
        self.dtlb.invalidate_all();
    }
}
