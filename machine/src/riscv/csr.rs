//! Control and status registers (RISC-V Privileged Architecture 20211203, chapters 2 to 4).

use serde::{Deserialize, Serialize};

use super::config::Extension;
use super::counters::Hpm;
use super::pmp::Pmp;
use super::processor::Processor;
use super::trap::interrupt;

/// Privilege modes.
pub mod privilege {
    pub const USER: u8 = 0;
    pub const SUPERVISOR: u8 = 1;
    pub const MACHINE: u8 = 3;
}

/// Bits of mstatus.
pub mod mstatus {
    /// Interrupts are enabled in supervisor mode, and in machine mode: a bit with the mode's number. Four above it is
    /// what it was before a trap.
    pub const SIE: u64 = 1 << 1;
    pub const MIE: u64 = 1 << 3;
    pub const SPIE: u64 = 1 << 5;
    pub const MPIE: u64 = 1 << 7;
    /// The mode before a trap.
    pub const SPP: u64 = 1 << 8;
    pub const MPP: u64 = 3 << 11;
    pub const FS: u64 = 3 << 13;
    pub const MPRV: u64 = 1 << 17;
    pub const SUM: u64 = 1 << 18;
    pub const MXR: u64 = 1 << 19;
    pub const TVM: u64 = 1 << 20;
    pub const TW: u64 = 1 << 21;
    pub const TSR: u64 = 1 << 22;
    /// UXL and SXL: 64 bits.
    pub const XL: u64 = 2 << 32 | 2 << 34;
    pub const SD: u64 = 1 << 63;
    /// What can be written.
    pub const WRITABLE: u64 =
        SIE | MIE | SPIE | MPIE | SPP | MPP | FS | MPRV | SUM | MXR | TVM | TW | TSR;
    /// What sstatus shows, beside UXL and SD.
    pub const SUPERVISOR: u64 = SIE | SPIE | SPP | FS | SUM | MXR;
}

/// satp.
pub mod satp {
    pub const BARE: u64 = 0;
    pub const SV39: u64 = 8;
    pub const SV48: u64 = 9;
    pub const PPN: u64 = (1 << 44) - 1;
    pub const ASID_SHIFT: u32 = 44;
    pub const MODE_SHIFT: u32 = 60;
}

/// menvcfg.
pub mod menvcfg {
    /// Walks set A and D bits.
    pub const ADUE: u64 = 1 << 61;
    /// Page-table entries say how memory is cached.
    pub const PBMTE: u64 = 1 << 62;
    /// Supervisor mode has a timer.
    pub const STCE: u64 = 1 << 63;
}

/// misa: RV64IMAFDC, with S and U.
pub const MISA: u64 = 2 << 62 | 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 | 1 << 18 | 1 << 20;

/// Exceptions that can be delegated: all but calls from machine mode.
const DELEGABLE: u64 = 0xb3ff;
/// Counters that a lower mode may be allowed to read: cycle, time, instret, and 29 of events.
const COUNTERS: u64 = 0xffff_ffff;

/// What supervisor mode and machine mode have of each kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Level {
    pub tvec: u64,
    pub epc: u64,
    pub cause: u64,
    pub tval: u64,
    pub counteren: u64,
}

/// The registers that are not computed from something else.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Csr {
    pub mstatus: u64,
    pub medeleg: u64,
    pub mideleg: u64,
    pub mie: u64,
    /// Bits of mip that software has set.
    pub software: u64,
    /// Those of supervisor mode, and those of machine mode.
    pub levels: [Level; 2],
    pub mscratch: u64,
    pub menvcfg: u64,
    pub sscratch: u64,
    pub stimecmp: u64,
    pub senvcfg: u64,
    pub satp: u64,
    pub fcsr: u64,
    /// The register of its interrupt file that each mode has selected.
    pub selected: [u64; 2],
    pub hpm: Hpm,
    pub pmp: Pmp,
}

impl Csr {
    /// After reset.
    #[must_use]
    pub fn reset(granularity: u32) -> Csr {
        Csr {
            mstatus: mstatus::XL,
            stimecmp: u64::MAX,
            pmp: Pmp::new(granularity),
            ..Csr::default()
        }
    }

    /// The registers of supervisor mode, or of machine mode.
    pub fn level(&mut self, mode: u8) -> &mut Level {
        &mut self.levels[usize::from(mode == privilege::MACHINE)]
    }

    /// A register that holds what is written to it, and the bits that it has.
    fn plain(&mut self, number: u16) -> Option<(&mut u64, u64)> {
        let level = &mut self.levels[usize::from(number >> 9 & 1)];
        Some(match number {
            0x105 | 0x305 => (&mut level.tvec, !2),
            0x106 | 0x306 => (&mut level.counteren, COUNTERS),
            0x141 | 0x341 => (&mut level.epc, !1),
            0x142 | 0x342 => (&mut level.cause, !0),
            0x143 | 0x343 => (&mut level.tval, !0),
            0x10a => (&mut self.senvcfg, 1),
            0x140 => (&mut self.sscratch, !0),
            0x302 => (&mut self.medeleg, DELEGABLE),
            0x340 => (&mut self.mscratch, !0),
            _ => return None,
        })
    }

    /// The rounding mode of fcsr.
    pub fn frm(&self) -> u8 {
        (self.fcsr >> 5 & 7) as u8
    }

    /// Flags of an operation.
    #[inline(always)]
    pub fn raise_flags(&mut self, flags: u8) {
        if flags != 0 {
            self.fcsr |= u64::from(flags);
            self.mstatus |= mstatus::FS;
        }
    }

    fn status(&self) -> u64 {
        let dirty = self.mstatus & mstatus::FS == mstatus::FS;
        self.mstatus | if dirty { mstatus::SD } else { 0 }
    }

    /// Which translation satp asks for.
    pub fn mode(&self) -> u64 {
        self.satp >> satp::MODE_SHIFT
    }

    /// Can a processor have these?
    pub fn fits(&self) -> bool {
        self.mstatus & !(mstatus::WRITABLE | mstatus::XL) == 0
            && self.mstatus & mstatus::XL == mstatus::XL
            && self.mstatus & mstatus::MPP != 2 << 11
            && matches!(self.mode(), satp::BARE | satp::SV39 | satp::SV48)
            && self.fcsr >> 8 == 0
            && self.mie & !interrupt::ALL == 0
            && self.software & !interrupt::SUPERVISOR == 0
            && self.levels.iter().all(|level| level.epc & 1 == 0)
    }
}

impl Processor {
    /// Reads a CSR. `None`: there is none, or it may not be read here.
    pub(super) fn read_csr(&mut self, number: u16) -> Option<u64> {
        if self.privilege < (number >> 8 & 3) as u8 {
            return None;
        }
        if let Some((value, _)) = self.csr.plain(number) {
            return Some(*value);
        }
        let csr = &self.csr;
        Some(match number {
            0x001..=0x003 if csr.mstatus & mstatus::FS == 0 => return None,
            0x001 => csr.fcsr & 31,
            0x002 => csr.fcsr >> 5,
            0x003 => csr.fcsr,
            0xc00..=0xc1f => return self.counter(number),
            0x100 => csr.status() & (mstatus::SUPERVISOR | mstatus::SD | 3 << 32),
            0x104 => csr.mie & csr.mideleg,
            0x144 => self.mip() & csr.mideleg,
            0x14d if !self.has_timer() => return None,
            0x14d => csr.stimecmp,
            0x150 | 0x151 | 0x15c | 0x350 | 0x351 | 0x35c | 0xdb0 | 0xfb0 => {
                return self.read_file(number);
            }
            0x180 if self.is_trapped(mstatus::TVM) => return None,
            0x180 => csr.satp,
            0xf11 => self.config.core.mvendorid,
            0xf12 => self.config.core.marchid,
            0xf13 => self.config.core.mimpid,
            0xf14 => self.number.into(),
            0x300 => csr.status(),
            0x301 => MISA,
            0x303 => csr.mideleg,
            0x304 => csr.mie,
            0x30a => csr.menvcfg,
            0x320 | 0x323..=0x33f => self.counter_setting(usize::from(number & 31)),
            0x344 => self.mip(),
            0x3a0..=0x3ae if number & 1 == 0 => self.csr.pmp.configuration(number),
            0x3b0..=0x3ef => csr.pmp.address(number),
            // There is no trigger, and no tree of hardware.
            0x7a0..=0x7a3 | 0xf15 => 0,
            0xb00 | 0xb02..=0xb1f => self.counter_shows(usize::from(number & 31)),
            _ => return None,
        })
    }

    /// A counter as lower modes read it.
    fn counter(&self, number: u16) -> Option<u64> {
        let (csr, bit) = (&self.csr, number & 31);
        let hidden = |level: &Level| level.counteren >> bit & 1 == 0;
        if self.privilege < privilege::MACHINE && hidden(&csr.levels[1])
            || self.privilege < privilege::SUPERVISOR && hidden(&csr.levels[0])
        {
            return None;
        }
        Some(match bit {
            1 => self.config.ticks(self.cycles),
            _ => self.counter_shows(bit.into()),
        })
    }

    /// May stimecmp be used here? Lower modes need menvcfg.STCE, and to see the time.
    fn has_timer(&self) -> bool {
        const TIME: u64 = 2;
        self.extensions.has(Extension::Sstc)
            && (self.privilege == privilege::MACHINE
                || self.csr.menvcfg & menvcfg::STCE != 0
                    && self.csr.levels[1].counteren & TIME != 0)
    }

    /// In supervisor mode this bit of mstatus makes the instruction illegal.
    pub(super) fn is_trapped(&self, bit: u64) -> bool {
        self.privilege == privilege::SUPERVISOR && self.csr.mstatus & bit != 0
    }

    /// What a change of single bits starts from: of mip only what software has set.
    pub(super) fn csr_bits(&self, number: u16, read: u64) -> u64 {
        match number {
            0x144 => self.csr.software & self.csr.mideleg,
            0x344 => self.csr.software,
            _ => read,
        }
    }

    /// Writes a CSR that may be read here and is not read-only by its number.
    pub(super) fn write_csr(&mut self, number: u16, value: u64) {
        if let Some((register, bits)) = self.csr.plain(number) {
            *register = value & bits;
            return;
        }
        let csr = &mut self.csr;
        match number {
            0x001..=0x003 => {
                csr.fcsr = match number {
                    0x001 => csr.fcsr & !31 | value & 31,
                    0x002 => csr.fcsr & 31 | (value & 7) << 5,
                    _ => value & 0xff,
                };
                csr.mstatus |= mstatus::FS;
            }
            0x100 => self.write_status(value, mstatus::SUPERVISOR),
            0x104 => self.write_mie(value, self.csr.mideleg),
            0x144 => {
                let mask = csr.mideleg & interrupt::SUPERVISOR_SOFTWARE;
                self.write_mip(value, mask);
            }
            0x14d => {
                csr.stimecmp = value;
                self.running.deadline = 0;
            }
            0x150 | 0x151 | 0x15c | 0x350 | 0x351 | 0x35c => self.write_file(number, value),
            0x180 => self.write_satp(value),
            0x300 => self.write_status(value, mstatus::WRITABLE),
            0x303 => {
                csr.mideleg = value & interrupt::SUPERVISOR;
                self.running.deadline = 0;
            }
            0x304 => self.write_mie(value, interrupt::ALL),
            0x30a => {
                let bits = [
                    (Extension::Svadu, menvcfg::ADUE),
                    (Extension::Svpbmt, menvcfg::PBMTE),
                    (Extension::Sstc, menvcfg::STCE),
                ];
                let there = bits.into_iter().filter(|(of, _)| self.extensions.has(*of));
                csr.menvcfg = value & there.fold(1, |all, (_, bit)| all | bit);
                self.running.deadline = 0;
            }
            0x344 => self.write_mip(value, interrupt::SUPERVISOR),
            0x3a0..=0x3ef => {
                if number < 0x3b0 {
                    csr.pmp.set_configuration(number, value);
                } else {
                    csr.pmp.set_address(number, value);
                }
                self.protection_changed();
            }
            0x320 | 0x323..=0x33f => self.set_counter_setting(usize::from(number & 31), value),
            0xb00 | 0xb02..=0xb1f => self.set_counter(usize::from(number & 31), value),
            // misa and triggers are what they are.
            _ => {}
        }
    }

    fn write_status(&mut self, value: u64, mask: u64) {
        let old = self.csr.mstatus;
        let mut new = old & !mask | value & mask;
        // There is no mode 2.
        if new & mstatus::MPP == 2 << 11 {
            new = new & !mstatus::MPP | old & mstatus::MPP;
        }
        self.csr.mstatus = new;
        const TRANSLATE: u64 = mstatus::MPRV | mstatus::SUM | mstatus::MXR | mstatus::MPP;
        if (old ^ new) & TRANSLATE != 0 {
            self.choose_translation();
        }
        self.running.deadline = 0;
    }

    fn write_mie(&mut self, value: u64, mask: u64) {
        let mask = mask & interrupt::ALL;
        self.csr.mie = self.csr.mie & !mask | value & mask;
        self.running.deadline = 0;
    }

    fn write_mip(&mut self, value: u64, mask: u64) {
        self.csr.software = self.csr.software & !mask | value & mask;
        self.running.deadline = 0;
    }

    /// An unknown mode has no effect at all; of an address space's number only the bits that there are.
    fn write_satp(&mut self, value: u64) {
        let mode = value >> satp::MODE_SHIFT;
        match mode {
            satp::BARE | satp::SV39 => {}
            satp::SV48 if self.config.core.sv48 => {}
            _ => return,
        }
        let asids = (1 << self.config.tlb.asid_bits) - 1_u64;
        let asid = value >> satp::ASID_SHIFT & asids;
        let new = mode << satp::MODE_SHIFT | asid << satp::ASID_SHIFT | value & satp::PPN;
        if new != self.csr.satp {
            self.csr.satp = new;
            self.space_changed();
        }
    }
}
