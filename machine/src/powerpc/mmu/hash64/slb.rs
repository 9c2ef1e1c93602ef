//! The segment lookaside buffer: 64 entries that software loads, each for a segment of 256 MB.

use serde::{Deserialize, Serialize};

/// Entries.
pub const ENTRIES: usize = 64;

/// Bits of an entry's two words (Linux 2.6 asm-ppc64/mmu.h).
pub mod bits {
    /// ESID word: the segment's address.
    pub const ESID: u64 = !0xfff_ffff;
    /// ESID word: valid.
    pub const VALID: u64 = 0x0800_0000;
    /// VSID word: where the VSID begins.
    pub const VSID_SHIFT: u32 = 12;
    /// VSID word: key of supervisor accesses.
    pub const KS: u64 = 0x800;
    /// VSID word: key of user accesses.
    pub const KP: u64 = 0x400;
    /// VSID word: no-execute.
    pub const N: u64 = 0x200;
    /// VSID word: large pages.
    pub const LARGE: u64 = 0x100;
    /// VSID word: class.
    pub const CLASS: u64 = 0x80;
    /// Those of the VSID word that are kept.
    pub const KEPT: u64 = !0x7f;
}

/// An entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlbEntry {
    /// ESID and valid bit.
    esid: u64,
    vsid: u64,
}

impl SlbEntry {
    /// Valid?
    #[must_use]
    pub fn valid(&self) -> bool {
        self.esid & bits::VALID != 0
    }

    /// The segment's first address.
    #[must_use]
    pub fn segment(&self) -> u64 {
        self.esid & bits::ESID
    }

    /// The VSID word.
    #[must_use]
    pub fn vsid_word(&self) -> u64 {
        self.vsid
    }

    /// VSID: 52 bits.
    #[inline]
    #[must_use]
    pub fn vsid(&self) -> u64 {
        self.vsid >> bits::VSID_SHIFT
    }

    /// The segment has large pages.
    #[inline]
    #[must_use]
    pub fn large(&self) -> bool {
        self.vsid & bits::LARGE != 0
    }

    /// Nothing may be fetched from it.
    #[inline]
    #[must_use]
    pub fn no_execute(&self) -> bool {
        self.vsid & bits::N != 0
    }

    /// The key of an access, with which PP is checked.
    #[inline]
    #[must_use]
    pub fn key(&self, user: bool) -> bool {
        self.vsid & if user { bits::KP } else { bits::KS } != 0
    }
}

/// The buffer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slb {
    entries: Vec<SlbEntry>,
}

impl Default for Slb {
    fn default() -> Self {
        Self {
            entries: vec![SlbEntry::default(); ENTRIES],
        }
    }
}

impl Slb {
    pub(super) fn fits(&self) -> bool {
        self.entries.len() == ENTRIES
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &[SlbEntry] {
        &self.entries
    }

    /// The entry that translates `ea`: if several do, which is an error of software, the one with the lowest number.
    #[inline]
    #[must_use]
    pub fn find(&self, ea: u64) -> Option<&SlbEntry> {
        let wanted = ea & bits::ESID | bits::VALID;
        self.entries.iter().find(|entry| entry.esid == wanted)
    }

    /// The entry whose number the low bits of a word give.
    #[must_use]
    pub fn entry(&self, number: u64) -> SlbEntry {
        self.entries[number as usize % ENTRIES]
    }

    /// `slbmte`.
    pub fn write(&mut self, esid: u64, vsid: u64) {
        self.entries[esid as usize % ENTRIES] = SlbEntry {
            esid: esid & (bits::ESID | bits::VALID),
            vsid: vsid & bits::KEPT,
        };
    }

    /// `slbie`: the entries of the segment of `ea` are valid no more.
    pub fn invalidate(&mut self, ea: u64) {
        let wanted = ea & bits::ESID | bits::VALID;
        for entry in &mut self.entries {
            if entry.esid == wanted {
                entry.esid &= !bits::VALID;
            }
        }
    }

    /// `slbia`: all but the first.
    pub fn invalidate_all(&mut self) {
        for entry in &mut self.entries[1..] {
            entry.esid &= !bits::VALID;
        }
    }
}
