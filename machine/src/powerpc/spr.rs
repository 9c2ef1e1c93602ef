//! Special-purpose registers: which ones a core has, and what reading and writing each of them does. [`super::spr_8xx`]
//! holds those that only the 8xx has, and [`crate::powerpc::mmu::mpc8xx`] those of its MMU; [`super::spr_405`] the
//! 405's, [`super::spr_970`] the 970's.

use super::exception::{Exception, privileged};
use super::registers::Registers;
use super::system::not_implemented;
use super::{hid0, spr_8xx, spr_405, spr_970};
use crate::config::{CoreKind, Family, Monitor};
use crate::powerpc::mmu::{Mmu, Reaches};
use crate::powerpc::processor::Processor;

/// SPR numbers (PEM 2.3; 603e UM, 604 UM, 750 UM chapter 2).
pub mod number {
    pub const DSISR: u32 = 18;
    pub const DAR: u32 = 19;
    pub const DEC: u32 = 22;
    pub const SDR1: u32 = 25;
    pub const SRR0: u32 = 26;
    pub const SRR1: u32 = 27;
    /// The time base as `mftb` reads it, also in user mode; `mfspr` reads it too (750GX UM p.111).
    pub const TBL_READ: u32 = 268;
    pub const TBU_READ: u32 = 269;
    pub const SPRG0: u32 = 272;
    pub const SPRG3: u32 = 275;
    pub const EAR: u32 = 282;
    pub const TBL_WRITE: u32 = 284;
    pub const TBU_WRITE: u32 = 285;
    /// The chip's version. Only the MPC8641 has it (MPC8641D RM 2).
    pub const SVR: u32 = 286;
    pub const PVR: u32 = 287;
    pub const IBAT0U: u32 = 528;
    pub const IBAT3L: u32 = 535;
    pub const DBAT0U: u32 = 536;
    pub const DBAT3L: u32 = 543;
    /// User-readable copies of the 750's performance-monitor registers.
    pub const UMMCR0: u32 = 936;
    pub const UPMC4: u32 = 942;
    pub const MMCR0: u32 = 952;
    pub const PMC1: u32 = 953;
    pub const PMC2: u32 = 954;
    pub const SIA: u32 = 955;
    pub const MMCR1: u32 = 956;
    pub const PMC3: u32 = 957;
    pub const PMC4: u32 = 958;
    pub const SDA: u32 = 959;
    pub const DMISS: u32 = 976;
    pub const DCMP: u32 = 977;
    pub const HASH1: u32 = 978;
    pub const HASH2: u32 = 979;
    pub const IMISS: u32 = 980;
    pub const ICMP: u32 = 981;
    pub const RPA: u32 = 982;
    pub const HID0: u32 = 1008;
    pub const HID1: u32 = 1009;
    pub const IABR: u32 = 1010;
    pub const DABR: u32 = 1013;
    pub const L2CR: u32 = 1017;
    pub const ICTC: u32 = 1019;
    pub const THRM1: u32 = 1020;
    pub const THRM3: u32 = 1022;
    pub const PIR: u32 = 1023;
}

use number as n;

/// Whether a core of this kind has SPR `number`, for reading or for writing.
pub fn exists(kind: CoreKind, number: u32) -> bool {
    let core = kind.core();
    match core.family {
        Family::Classic => {}
        Family::Mpc8xx => return spr_8xx::exists(number),
        Family::Ppc405 => return spr_405::exists(number),
        Family::Ppc970 => return spr_970::exists(number),
    }
    let (has, monitor) = (core.registers, core.monitor);
    match number {
        n::DSISR
        | n::DAR
        | n::DEC
        | n::SDR1
        | n::SRR0
        | n::SRR1
        | n::SPRG0..=n::SPRG3
        | n::EAR
        | n::TBL_READ
        | n::TBU_READ
        | n::TBL_WRITE
        | n::TBU_WRITE
        | n::PVR
        | n::IBAT0U..=n::DBAT3L
        | n::HID0
        | n::IABR => true,
        n::HID1 => has.hid1,
        n::DMISS..=n::RPA => kind.software_reload(),
        n::DABR => has.dabr,
        n::PIR => has.pir,
        n::L2CR | n::ICTC | n::THRM1..=n::THRM3 => has.l2_and_thermal,
        n::MMCR0 | n::PMC1 | n::PMC2 | n::SIA => monitor != Monitor::None,
        n::SDA => matches!(monitor, Monitor::Ppc604 | Monitor::Ppc604e),
        n::MMCR1 | n::PMC3 | n::PMC4 => matches!(monitor, Monitor::Ppc604e | Monitor::Ppc750),
        n::UMMCR0..=n::UPMC4 => monitor == Monitor::Ppc750,
        _ => false,
    }
}

/// Whether only the supervisor may use the SPR. Bit 0 of the number as the instruction encodes it says so: the encoding
/// swaps the number's halves (PEM `mtspr`).
fn supervisors(number: u32) -> bool {
    number & 0x10 != 0
}

/// Checks that the core has the register and that the running program may use it.
pub(super) fn check(processor: &Processor, number: u32) -> Result<(), Exception> {
    if supervisors(number) {
        privileged(&processor.registers)?;
    }
    let board = processor.config.board.kind;
    let of_board = match number {
        n::SVR => board.system_version().is_some(),
        n::DABR => board.has_dabr(),
        _ => false,
    };
    if of_board || exists(processor.config.core.kind, number) {
        Ok(())
    } else {
        Err(not_implemented(processor))
    }
}

/// The BAT array, pair and half that an SPR number names.
fn bat(number: u32) -> (bool, usize, bool) {
    let from_first = number - n::IBAT0U;
    let data = from_first >= 8;
    (data, (from_first % 8 / 2) as usize, from_first & 1 != 0)
}

fn plain(r: &mut Registers, number: u32) -> Option<&mut u32> {
    Some(match number {
        n::DSISR => &mut r.dsisr,
        n::DAR => &mut r.dar,
        n::SRR0 => &mut r.srr0,
        n::SRR1 => &mut r.srr1,
        n::SPRG0..=n::SPRG3 => &mut r.sprg[(number - n::SPRG0) as usize],
        n::EAR => &mut r.ear,
        n::HID0 => &mut r.hid0,
        n::HID1 => &mut r.hid1,
        n::IABR => &mut r.iabr,
        n::DABR => &mut r.dabr,
        n::L2CR => &mut r.l2cr,
        n::ICTC => &mut r.ictc,
        n::THRM1..=n::THRM3 => &mut r.thermal[(number - n::THRM1) as usize],
        n::PIR => &mut r.pir,
        _ => return None,
    })
}

/// Reads SDR1, a BAT register or a miss register; `None` if the MMU has no such register.
fn read_translation(mmu: &Mmu, number: u32) -> Option<u32> {
    let miss = || mmu.soft6xx().map(|unit| unit.miss);
    Some(match number {
        n::SDR1 => mmu.front()?.sdr1,
        n::IBAT0U..=n::DBAT3L => {
            let (data, pair, lower) = bat(number);
            let front = mmu.front()?;
            let bats = if data { &front.dbat } else { &front.ibat };
            if lower {
                bats.lower(pair)
            } else {
                bats.upper(pair)
            }
        }
        n::DMISS => miss()?.dmiss,
        n::DCMP => miss()?.dcmp,
        n::HASH1 => miss()?.hash1,
        n::HASH2 => miss()?.hash2,
        n::IMISS => miss()?.imiss,
        n::ICMP => miss()?.icmp,
        n::RPA => miss()?.rpa,
        _ => return None,
    })
}

/// Writes SDR1, a BAT register or RPA; `None` if the MMU has no such register.
fn write_translation(mmu: &mut Mmu, number: u32, value: u32) -> Option<Reaches> {
    match number {
        n::SDR1 => mmu.front_mut()?.sdr1 = value,
        n::RPA => mmu.soft6xx_mut()?.miss.rpa = value,
        n::IBAT0U..=n::DBAT3L => {
            let (data, pair, lower) = bat(number);
            let front = mmu.front_mut()?;
            let bats = if data {
                &mut front.dbat
            } else {
                &mut front.ibat
            };
            if lower {
                bats.set_lower(pair, value);
            } else {
                bats.set_upper(pair, value);
            }
            return Some(Reaches::EVERYTHING);
        }
        _ => return None,
    }
    Some(Reaches::NOTHING)
}

/// Reads SPR `number`.
///
/// # Errors
/// A program exception, if the core has no such register or the program may not use it.
pub fn read(m: &mut Processor, number: u32) -> Result<u32, Exception> {
    check(m, number)?;
    if let Some(value) = spr_8xx::read(m, number) {
        return Ok(value);
    }
    if let Some(value) = spr_405::read(m, number) {
        return Ok(value);
    }
    if let Some(value) = read_translation(&m.mmu, number) {
        return Ok(value);
    }
    Ok(match number {
        n::DEC => m.timers.decrementer(m.cycles()),
        n::TBL_READ => m.time_base() as u32,
        n::TBU_READ => (m.time_base() >> 32) as u32,
        n::PVR => m.config.core.pvr,
        n::SVR => m.config.board.kind.system_version().unwrap_or(0),
        n::UMMCR0..=n::UPMC4 => m.read_performance_monitor(number + 16),
        n::MMCR0..=n::SDA => m.read_performance_monitor(number),
        _ => plain(&mut m.registers, number).map_or(0, |register| *register),
    })
}

/// Writes SPR `number`.
///
/// # Errors
/// A program exception, if the core has no such register or the program may not use it.
pub fn write(m: &mut Processor, number: u32, value: u32) -> Result<(), Exception> {
    check(m, number)?;
    if matches!(number, n::TBL_READ | n::TBU_READ) {
        return Err(not_implemented(m));
    }
    if spr_8xx::write(m, number, value) || spr_405::write(m, number, value) {
        return Ok(());
    }
    if let Some(reaches) = write_translation(&mut m.mmu, number, value) {
        m.forget(reaches);
        return Ok(());
    }
    let cycles = m.cycles();
    match number {
        n::DEC => {
            m.timers.set_decrementer(value, cycles);
            m.look_at_interrupts();
        }
        n::TBL_WRITE | n::TBU_WRITE => {
            m.count_performance();
            if number == n::TBL_WRITE {
                m.timers.set_time_base_lower(value, cycles);
            } else {
                m.timers.set_time_base_upper(value, cycles);
            }
            m.skip_performance();
        }
        n::HID0 => write_hid0(m, value),
        n::L2CR => {
            m.registers.l2cr = value;
            m.memory.uncore.write_l2cr(value);
        }
        n::IABR | n::DABR => {
            if number == n::IABR {
                m.registers.iabr = value;
            } else {
                m.registers.dabr = value;
            }
            m.drop_shortcuts();
        }
        n::UMMCR0..=n::UPMC4 => {
            return Err(not_implemented(m));
        }
        n::MMCR0..=n::SDA => m.write_performance_monitor(number, value),
        // PVR and SVR are read-only, and so are all miss registers except RPA.
        _ => {
            if let Some(register) = plain(&mut m.registers, number) {
                *register = value;
            }
            if number == n::SPRG3 {
                m.note_thread();
            }
        }
    }
    Ok(())
}

fn write_hid0(m: &mut Processor, value: u32) {
    hid0::write(&mut m.memory, value);
    m.registers.hid0 = if m.config.core.kind.core().flash_bits_clear {
        value & !(hid0::ICFI | hid0::DCFI)
    } else {
        value
    };
    m.drop_shortcuts();
}
