//! Block address translation: blocks of 128 KB to 256 MB, checked before segments and pages.

use super::Access;
use serde::{Deserialize, Serialize};

/// The most bits of the effective address that a BAT compares: EA\[0-14\].
const BLOCK: u32 = 0xfffe_0000;

/// A pair of BAT registers, decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    /// EA bits that take part in the comparison; the others are the offset in the block.
    mask: u32,
    /// BEPI under the mask.
    page: u32,
    /// BRPN under the mask.
    real: u32,
    attributes: u8,
    pp: u8,
    supervisor: bool,
    user: bool,
}

impl Block {
    fn decode(upper: u32, lower: u32) -> Self {
        let length = (upper >> 2) & 0x7ff;
        let mask = BLOCK & !(length << 17);
        Self {
            mask,
            page: upper & mask,
            real: lower & mask,
            attributes: (lower >> 3 & 15) as u8,
            pp: (lower & 3) as u8,
            supervisor: upper & 2 != 0,
            user: upper & 1 != 0,
        }
    }
}

/// A block that holds an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatHit {
    /// Physical address.
    pub pa: u32,
    /// Storage control bits.
    pub attributes: u8,
    /// Protection: 0 none, 1 and 3 read only, 2 read and write.
    pub pp: u8,
    /// The EA bits that select the block: every EA with the same bits hits it, too.
    pub mask: u32,
}

impl BatHit {
    /// Does PP permit the access?
    #[inline]
    #[must_use]
    pub fn permits(&self, access: Access) -> bool {
        match self.pp {
            0 => false,
            2 => true,
            _ => !access.is_store(),
        }
    }
}

/// The BATs of one kind, instruction or data.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Bats {
    upper: Vec<u32>,
    lower: Vec<u32>,
    blocks: Vec<Block>,
    /// Bit s: a valid block reaches into segment s, for user or supervisor accesses.
    segments: [u16; 2],
}

impl Bats {
    /// `count` pairs, all invalid.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            upper: vec![0; count],
            lower: vec![0; count],
            blocks: vec![Block::default(); count],
            segments: [0; 2],
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let count = fresh.blocks.len();
        let pairs = self.upper.iter().zip(&self.lower);
        (self.upper.len(), self.lower.len(), self.blocks.len()) == (count, count, count)
            && pairs.zip(&self.blocks).all(|((&upper, &lower), block)| {
                *block == Block::decode(upper, lower) || *block == Block::default()
            })
    }

    /// How many pairs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.upper.len()
    }

    /// Upper register of pair `n`; 0 if there is no such pair.
    #[must_use]
    pub fn upper(&self, n: usize) -> u32 {
        self.upper.get(n).copied().unwrap_or(0)
    }

    /// Lower register of pair `n`; 0 if there is no such pair.
    #[must_use]
    pub fn lower(&self, n: usize) -> u32 {
        self.lower.get(n).copied().unwrap_or(0)
    }

    /// Writes the upper register of pair `n`; nothing if there is no such pair.
    pub fn set_upper(&mut self, n: usize, value: u32) {
        if let Some(upper) = self.upper.get_mut(n) {
            *upper = value;
            self.decode(n);
        }
    }

    /// Writes the lower register of pair `n`; nothing if there is no such pair.
    pub fn set_lower(&mut self, n: usize, value: u32) {
        if let Some(lower) = self.lower.get_mut(n) {
            *lower = value;
            self.decode(n);
        }
    }

    fn decode(&mut self, n: usize) {
        self.blocks[n] = Block::decode(self.upper[n], self.lower[n]);
        self.segments = [0; 2];
        for block in &self.blocks {
            for segment in 0..16u32 {
                let reaches = (segment << 28) & block.mask == block.page & 0xf000_0000;
                self.segments[0] |= u16::from(reaches && block.supervisor) << segment;
                self.segments[1] |= u16::from(reaches && block.user) << segment;
            }
        }
    }

    /// False if no valid block overlaps `ea`'s segment, so that [`Bats::lookup`] would find nothing.
    #[inline]
    #[must_use]
    pub fn reaches(&self, ea: u32, user: bool) -> bool {
        self.segments[usize::from(user)] >> (ea >> 28) & 1 != 0
    }

    /// The block that holds `ea`. Blocks that overlap are a programming error; the first one is taken.
    #[inline]
    #[must_use]
    pub fn lookup(&self, ea: u32, user: bool) -> Option<BatHit> {
        if !self.reaches(ea, user) {
            return None;
        }
        self.blocks
            .iter()
            .find(|block| {
                ea & block.mask == block.page && if user { block.user } else { block.supervisor }
            })
            .map(|block| BatHit {
                pa: block.real | (ea & !block.mask),
                attributes: block.attributes,
                pp: block.pp,
                mask: block.mask,
            })
    }
}
