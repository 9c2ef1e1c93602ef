//! Decoded code: straight runs of instructions, kept by physical address until a store changes them.
//!
//! A block ends with a jump, with an instruction that changes what the next one must see, before an instruction that
//! goes on in another page, and after [`INSTRUCTIONS_MOST`] instructions. A modified instruction is seen from the next
//! block on, as an i486 sees it after a jump.

use super::decode::{Mode, decode};
use super::op::{Handler, Op};
use crate::engine::fetch::CodeCauses;

/// Instructions of a block at most.
pub const INSTRUCTIONS_MOST: u8 = 32;

/// Bytes of a block at most.
const BYTES_MOST: u32 = INSTRUCTIONS_MOST as u32 * super::decode::LONGEST as u32;

/// Places for blocks.
const PLACES: usize = 1 << 15;

/// A store looks for code in pieces of this size: bits of a word for each page.
const PIECE_SHIFT: u32 = 6;

/// A run of instructions.
#[derive(Clone, Default)]
pub struct Block {
    pub ops: Box<[Op]>,
    /// Its bytes.
    pub length: u16,
    pub instructions: u8,
    /// The cost category of the code.
    pub cause: u8,
}

#[derive(Clone, Default)]
struct Slot {
    /// Physical address, mode, and that there is a block.
    key: u64,
    block: Block,
}

/// All blocks.
#[derive(Clone, Default)]
pub struct Blocks {
    slots: Vec<Slot>,
    /// For each page of RAM: the pieces that hold decoded code.
    pieces: Vec<u64>,
}

const VALID: u64 = 1 << 33;

fn key(pa: u32, wide: bool) -> u64 {
    VALID | u64::from(wide) << 32 | u64::from(pa)
}

fn place(pa: u32) -> usize {
    (pa ^ pa >> 15) as usize % PLACES
}

impl Blocks {
    /// No blocks, for a machine with so much RAM.
    #[must_use]
    pub fn new(ram: usize) -> Self {
        Blocks {
            slots: vec![Slot::default(); PLACES],
            pieces: vec![0; ram >> 12],
        }
    }

    /// Takes the block at `pa` out; [`Blocks::put`] gives it back.
    #[inline(always)]
    pub fn take(&mut self, pa: u32, wide: bool) -> Option<Block> {
        let slot = &mut self.slots[place(pa)];
        (slot.key == key(pa, wide)).then(|| std::mem::take(&mut slot.block))
    }

    /// Gives a block back that was taken, unless a store has changed its code.
    #[inline(always)]
    pub fn put(&mut self, pa: u32, wide: bool, block: Block) {
        let slot = &mut self.slots[place(pa)];
        if slot.key == key(pa, wide) {
            slot.block = block;
        }
    }

    /// Enters a new block, whose place is marked as taken out.
    pub fn enter(&mut self, pa: u32, wide: bool, length: u16) {
        let slot = &mut self.slots[place(pa)];
        slot.key = key(pa, wide);
        slot.block = Block::default();
        let pieces = &mut self.pieces[(pa >> 12) as usize];
        let (first, last) = (pa & 0xfff, (pa & 0xfff) + u32::from(length) - 1);
        for piece in first >> PIECE_SHIFT..=last >> PIECE_SHIFT {
            *pieces |= 1 << piece;
        }
    }

    /// True if there may be decoded code in these bytes of RAM.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, pa: u32, bytes: u32) -> bool {
        let Some(pieces) = self.pieces.get((pa >> 12) as usize) else {
            return false;
        };
        let (first, last) = (pa & 0xfff, (pa & 0xfff) + bytes - 1);
        (pieces >> (first >> PIECE_SHIFT) | pieces >> (last >> PIECE_SHIFT & 63)) & 1 != 0
    }

    /// These bytes of RAM change: blocks in their pieces are dropped.
    pub fn forget(&mut self, pa: u32, bytes: u32) {
        let page = pa & !0xfff;
        let first = (pa & 0xfff) >> PIECE_SHIFT;
        let last = ((pa & 0xfff) + bytes - 1).min(0xfff) >> PIECE_SHIFT;
        let begin = (first << PIECE_SHIFT).saturating_sub(BYTES_MOST);
        let end = (last + 1) << PIECE_SHIFT;
        for offset in begin..end {
            let pa = page | offset;
            let slot = &mut self.slots[place(pa)];
            if slot.key & !(1 << 32) == key(pa, false) {
                slot.key = 0;
            }
        }
        if let Some(pieces) = self.pieces.get_mut((pa >> 12) as usize) {
            for piece in first..=last {
                *pieces &= !(1 << piece);
            }
        }
    }
}

/// How a block is built.
pub struct Plan<'a> {
    pub mode: Mode,
    /// Bytes of a cache line: each line that the block goes on in is fetched by an op of its own.
    pub line: u32,
    pub fetch: Handler,
    pub causes: &'a CodeCauses,
}

/// The block at `pa`. `code` is RAM from there to the end of the page. `None`: the first instruction goes on in another
/// page.
#[must_use]
pub fn build(pa: u32, code: &[u8], plan: &Plan<'_>) -> Option<Block> {
    let cause = plan.causes.of(pa);
    let mut ops = Vec::new();
    let (mut at, mut number, mut written) = (0_usize, 0, 0);
    let mut line = pa & !(plan.line - 1);
    while number < INSTRUCTIONS_MOST && at < code.len() {
        if at > 0 && plan.causes.of(pa + at as u32) != cause {
            break;
        }
        let Some(decoded) = decode(&code[at..], plan.mode, written) else {
            break;
        };
        let next = at + decoded.length;
        let last = (pa + next as u32 - 1) & !(plan.line - 1);
        while line != last {
            line += plan.line;
            ops.push(Op {
                immediate: line - pa,
                at: at as u16,
                next: at as u16,
                number,
                ..Op::new(plan.fetch)
            });
        }
        ops.push(Op {
            at: at as u16,
            next: next as u16,
            number,
            ..decoded.op
        });
        written = decoded.writes;
        at = next;
        number += 1;
        if decoded.ends {
            break;
        }
    }
    (number > 0).then(|| Block {
        ops: ops.into_boxed_slice(),
        length: at as u16,
        instructions: number,
        cause,
    })
}
