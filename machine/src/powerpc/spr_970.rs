//! The special-purpose registers of the 970. Those that have 64 bits keep their upper halves in [`Wide`].
//!
//! Not there, though the chip has them: ACCR, CTRL, VRSAVE, DABRX, ASR, and the registers of performance monitor, trace
//! and SCOM. IABR and DABR compare the lower half of an address.
//!
//! Sources: Linux 2.6 asm-ppc64/processor.h for the numbers, Xen's hid4 and hid5 for the bits.

use super::exception::Exception;
use super::registers::Wide;
use super::spr::{self, number as n};
use crate::powerpc::processor::Processor;

/// Numbers of the 970's own registers.
pub mod number {
    pub const HIOR: u32 = 311;
    pub const HID4: u32 = 1012;
    pub const HID5: u32 = 1014;
}

/// Bits of HID4.
pub mod hid4 {
    /// Data accesses without translation bypass the caches.
    pub const REAL_INHIBITED: u64 = 1 << 40;
    /// Writing a one empties the L1 D-cache.
    pub const FLASH_INVALIDATE: u64 = 1 << 35;
    /// No large pages: L of SLB entries is ignored.
    pub const NO_LARGE_PAGES: u64 = 1 << 2;
}

/// Bits of HID5.
pub mod hid5 {
    /// `dcbz` is for 32 bytes.
    pub const DCBZ_SIZE: u64 = 1 << 7;
    /// Such a `dcbz` is illegal.
    pub const DCBZ_ILLEGAL: u64 = 1 << 6;
}

/// Does the 970 have SPR `number`?
pub fn exists(number: u32) -> bool {
    matches!(
        number,
        n::DSISR | n::DAR | n::DEC | n::SDR1 | n::SRR0 | n::SRR1 | n::SPRG0
            ..=n::SPRG3
                | n::TBL_READ
                | n::TBU_READ
                | n::TBL_WRITE
                | n::TBU_WRITE
                | n::PVR
                | n::IABR
                | n::DABR
                | n::PIR
                | number::HIOR
    ) || hid(number).is_some()
}

/// Place of HID0, HID1, HID4 or HID5 in [`Wide::hid`].
fn hid(number: u32) -> Option<usize> {
    Some(match number {
        n::HID0 => 0,
        n::HID1 => 1,
        number::HID4 => 2,
        number::HID5 => 3,
        _ => return None,
    })
}

/// The upper half of a register that other cores have, too.
fn upper(wide: &mut Wide, number: u32) -> Option<&mut u32> {
    Some(match number {
        n::DAR => &mut wide.dar,
        n::SRR0 => &mut wide.srr0,
        n::SRR1 => &mut wide.srr1,
        n::SPRG0..=n::SPRG3 => &mut wide.sprg[(number - n::SPRG0) as usize],
        _ => return None,
    })
}

/// Reads SPR `number`.
///
/// # Errors
/// As [`spr::read`].
pub fn read(m: &mut Processor, number: u32) -> Result<u64, Exception> {
    let low = spr::read(m, number)?;
    if let Some(place) = hid(number) {
        return Ok(m.registers.wide.hid[place]);
    }
    match number {
        number::HIOR => return Ok(m.registers.wide.hior),
        n::TBL_READ => return Ok(m.time_base()),
        n::SDR1 => return Ok(m.mmu.hash64().map_or(0, |unit| unit.sdr1)),
        _ => {}
    }
    let high = upper(&mut m.registers.wide, number).map_or(0, |half| *half);
    Ok(u64::from(high) << 32 | u64::from(low))
}

/// Writes SPR `number`.
///
/// # Errors
/// As [`spr::write`].
pub fn write(m: &mut Processor, number: u32, value: u64) -> Result<(), Exception> {
    spr::check(m, number)?;
    if let Some(place) = hid(number) {
        m.registers.wide.hid[place] = value;
        if number == number::HID4 {
            write_hid4(m, value);
        }
        return Ok(());
    }
    match number {
        number::HIOR => m.registers.wide.hior = value & !0xf_ffff,
        n::SDR1 => {
            if let Some(unit) = m.mmu.hash64_mut() {
                unit.sdr1 = value;
            }
        }
        _ => {
            spr::write(m, number, value as u32)?;
            if let Some(half) = upper(&mut m.registers.wide, number) {
                *half = (value >> 32) as u32;
            }
        }
    }
    Ok(())
}

fn write_hid4(m: &mut Processor, value: u64) {
    if let Some(unit) = m.mmu.hash64_mut() {
        let reaches = unit.set_hid4(value);
        m.forget(reaches);
    }
    if value & hid4::FLASH_INVALIDATE != 0 {
        m.memory.forget_touches();
        m.memory.data.invalidate_all();
    }
}
