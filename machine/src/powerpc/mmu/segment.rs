//! The sixteen segment registers.

use serde::{Deserialize, Serialize};

/// Direct-store segment.
pub const T: u32 = 0x8000_0000;
/// Key of supervisor accesses.
pub const KS: u32 = 0x4000_0000;
/// Key of user accesses.
pub const KP: u32 = 0x2000_0000;
/// No-execute.
pub const N: u32 = 0x1000_0000;
/// Virtual segment identifier.
pub const VSID: u32 = 0x00ff_ffff;

/// The key of an access, with which PP is checked.
#[inline]
#[must_use]
pub fn key(segment: u32, user: bool) -> bool {
    segment & if user { KP } else { KS } != 0
}

/// The segment registers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Segments {
    registers: [u32; 16],
}

impl Segments {
    /// The register that translates `ea` (selected by its four most significant bits).
    #[inline]
    #[must_use]
    pub fn get(&self, ea: u32) -> u32 {
        self.registers[(ea >> 28) as usize]
    }

    /// `mfsr`: register `number` (modulo 16).
    #[inline]
    #[must_use]
    pub fn read(&self, number: u32) -> u32 {
        self.registers[(number & 15) as usize]
    }

    /// `mtsr`. TLB entries do not change, because they hold their VSID.
    #[inline]
    pub fn write(&mut self, number: u32, value: u32) {
        self.registers[(number & 15) as usize] = value;
    }

    /// All registers.
    #[must_use]
    pub fn all(&self) -> &[u32; 16] {
        &self.registers
    }
}
