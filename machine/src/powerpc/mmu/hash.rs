//! The hashed page table: where a page's PTE can be, and what it looks like (PEM 7.6). The search of it is
//! [`super::walker::hashed`].

use super::walker::Found;
use crate::memory::Ram;

/// V bit of a PTE's word 0.
pub const V: u32 = 0x8000_0000;
/// H bit of a PTE's word 0: the PTE is in its secondary PTEG.
pub const H: u32 = 0x40;
/// R bit of a PTE's word 1.
pub const R: u32 = 0x100;
/// C bit of a PTE's word 1.
pub const C: u32 = 0x80;
/// PTEs of a PTEG.
pub const PTEG_SLOTS: u32 = 8;
/// Bytes of a PTEG.
pub const PTEG_BYTES: u32 = 64;

/// The primary hash of `ea` in `segment`: 19 bits.
#[must_use]
pub fn hash(segment: u32, ea: u32) -> u32 {
    (segment & 0x7_ffff) ^ (ea >> 12 & 0xffff)
}

/// Physical addresses of the primary and secondary PTEG of `ea` in `segment` (PEM 7.6.1.3).
#[must_use]
pub fn groups(sdr1: u32, segment: u32, ea: u32) -> (u32, u32) {
    let hash = hash(segment, ea);
    (group(sdr1, hash), group(sdr1, !hash & 0x7_ffff))
}

fn group(sdr1: u32, hash: u32) -> u32 {
    // HTABORG[7-15] ORed with the hash's upper nine bits under HTABMASK; its lower ten count PTEGs.
    (sdr1 & 0xffff_0000) | ((hash >> 10 & sdr1 & 0x1ff) << 16) | ((hash & 0x3ff) << 6)
}

/// The PTEs of the PTEG at `group`, each as its two words, big-endian. `None` where there is no memory.
#[inline(always)]
#[must_use]
pub fn slots(group: u32, ram: &Ram) -> Option<&[[[u8; 4]; 2]; PTEG_SLOTS as usize]> {
    let (ptes, _) = ram.bytes().get(group as usize..)?.as_chunks().0.as_chunks();
    ptes.first_chunk()
}

/// Word 0 of a valid PTE for `ea` in `segment`.
#[must_use]
pub fn word0(segment: u32, ea: u32, secondary: bool) -> u32 {
    V | (segment & 0x00ff_ffff) << 7 | if secondary { H } else { 0 } | (ea >> 22 & 0x3f)
}

/// Finds the PTE for `ea` in `segment` without an access: nothing is counted or changed.
#[must_use]
pub fn peek(sdr1: u32, segment: u32, ea: u32, ram: &Ram) -> Option<Found> {
    let (primary, secondary) = groups(sdr1, segment, ea);
    [(primary, false), (secondary, true)]
        .into_iter()
        .flat_map(|(group, second)| (0..PTEG_SLOTS).map(move |slot| (group + slot * 8, second)))
        .find_map(|(pa, second)| {
            let pte = ram.read_u64(pa)?;
            ((pte >> 32) as u32 == word0(segment, ea, second)).then_some(Found {
                pa,
                word1: pte as u32,
            })
        })
}
