//! Decoded code: straight runs of instructions, kept by physical address until a store changes them.
//!
//! A block ends with a jump, with an instruction that changes what the next one must see, before an instruction that
//! goes on in another page, and after [`INSTRUCTIONS_MOST`] instructions. A modified instruction is seen at once: the
//! rest of a block that is written to while it runs is decoded anew.

use super::decode::{Mode, decode};
use super::op::{FIRST_LINE, LAST_LINE, Op};
use crate::engine::fetch::CodeCauses;

/// Instructions of a block at most.
pub const INSTRUCTIONS_MOST: u8 = 32;

/// Bytes of a block at most.
const BYTES_MOST: u32 = INSTRUCTIONS_MOST as u32 * super::decode::LONGEST as u32;

/// Places for blocks.
const PLACES: usize = 1 << 17;

/// Ops of all blocks at most. When they are used up, all blocks are dropped.
const OPS: usize = 1 << 19;

/// A store looks for code in pieces of this size: bits of a word for each page.
const PIECE_SHIFT: u32 = 6;

/// A run of instructions.
#[derive(Clone)]
pub struct Block {
    pub ops: Vec<Op>,
    pub head: Head,
}

/// What is known of a block beside its ops.
#[derive(Clone, Copy, Default)]
pub struct Head {
    /// Its bytes.
    pub length: u16,
    pub instructions: u8,
    /// The cost category of the code.
    pub cause: u8,
    /// Registers that its first instruction's address waits for, and those that its last one wrote.
    pub waits: u8,
    pub wrote: u8,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Physical address, mode, and that there is a block.
    key: u64,
    /// Where its ops are.
    first: u32,
    count: u32,
    head: Head,
}

/// All blocks.
pub struct Blocks {
    slots: Box<[Slot]>,
    /// The ops of all blocks, one block after another. An op that has been entered stays as it is until
    /// [`Blocks::enter`] begins anew.
    ops: Vec<Op>,
    /// For each page of RAM: the pieces that hold decoded code.
    pieces: Box<[u64]>,
    /// The pieces that an I-cache may hold.
    fetched: Box<[u64]>,
    /// Both together: what a store looks at.
    either: Box<[u64]>,
}

const VALID: u64 = 1 << 33;

fn key(pa: u32, wide: bool) -> u64 {
    VALID | u64::from(wide) << 32 | u64::from(pa)
}

fn place(pa: u32) -> usize {
    (pa ^ pa >> 17) as usize % PLACES
}

impl Blocks {
    /// No blocks, for a machine with so much RAM.
    #[must_use]
    pub fn new(ram: usize) -> Self {
        Blocks {
            slots: vec![Slot::default(); PLACES].into_boxed_slice(),
            ops: Vec::with_capacity(OPS),
            pieces: vec![0; ram >> 12].into_boxed_slice(),
            fetched: vec![0; ram >> 12].into_boxed_slice(),
            either: vec![0; ram >> 12].into_boxed_slice(),
        }
    }

    /// The block at `pa`. Its ops are good until the next call of [`Blocks::enter`].
    #[inline(always)]
    #[must_use]
    pub fn find(&self, pa: u32, wide: bool) -> Option<(*const [Op], Head)> {
        let slot = &self.slots[place(pa)];
        if slot.key != key(pa, wide) {
            return None;
        }
        let first = slot.first as usize;
        let ops = self.ops.get(first..first + slot.count as usize)?;
        Some((ops, slot.head))
    }

    /// Enters a new block.
    pub fn enter(&mut self, pa: u32, wide: bool, block: &Block) {
        if self.ops.len() + block.ops.len() > OPS {
            self.slots.fill(Slot::default());
            self.pieces.fill(0);
            self.either.copy_from_slice(&self.fetched);
            self.ops.clear();
        }
        let first = self.ops.len();
        self.ops.extend_from_slice(&block.ops);
        self.slots[place(pa)] = Slot {
            key: key(pa, wide),
            first: first as u32,
            count: block.ops.len() as u32,
            head: block.head,
        };
        let length = u32::from(block.head.length);
        let (first, last) = (pa & 0xfff, (pa & 0xfff) + length - 1);
        for piece in first >> PIECE_SHIFT..=last >> PIECE_SHIFT {
            let page = (pa >> 12) as usize;
            mark(&mut self.pieces, page, piece);
            mark(&mut self.either, page, piece);
        }
    }

    /// The line at `pa` goes into an I-cache.
    #[inline(always)]
    pub fn mark_fetched(&mut self, pa: u32) {
        let (page, piece) = ((pa >> 12) as usize, (pa & 0xfff) >> PIECE_SHIFT);
        mark(&mut self.fetched, page, piece);
        mark(&mut self.either, page, piece);
    }

    /// For each page of RAM: the pieces that an I-cache may hold.
    #[must_use]
    pub fn fetched(&self) -> &[u64] {
        &self.fetched
    }

    /// Puts back what [`Blocks::fetched`] gave. False if it is of another RAM.
    #[must_use]
    pub fn set_fetched(&mut self, fetched: &[u64]) -> bool {
        if fetched.len() != self.fetched.len() {
            return false;
        }
        self.fetched.copy_from_slice(fetched);
        for (either, (pieces, fetched)) in
            (self.either.iter_mut()).zip(self.pieces.iter().zip(fetched))
        {
            *either = pieces | fetched;
        }
        true
    }

    /// True if these bytes of RAM may be decoded code, or in an I-cache.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, pa: u32, bytes: u32) -> bool {
        let either = self.either.get((pa >> 12) as usize);
        either.is_some_and(|&either| marked(either, pa, bytes))
    }

    /// True if these bytes of RAM may be in an I-cache.
    #[must_use]
    pub fn may_be_cached(&self, pa: u32, bytes: u32) -> bool {
        let fetched = self.fetched.get((pa >> 12) as usize);
        fetched.is_some_and(|&fetched| marked(fetched, pa, bytes))
    }

    /// These bytes of RAM change: blocks in their pieces are dropped.
    pub fn forget(&mut self, pa: u32, bytes: u32) {
        let pieces = self.pieces.get((pa >> 12) as usize);
        if !pieces.is_some_and(|&pieces| marked(pieces, pa, bytes)) {
            return;
        }
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
        let page = (pa >> 12) as usize;
        let all = (self.pieces.get_mut(page)).zip(self.either.get_mut(page));
        if let (Some((pieces, either)), Some(fetched)) = (all, self.fetched.get(page)) {
            for piece in first..=last {
                *pieces &= !(1 << piece);
            }
            *either = *pieces | fetched;
        }
    }
}

/// Marks a piece of a page.
#[inline(always)]
fn mark(pieces: &mut [u64], page: usize, piece: u32) {
    if let Some(pieces) = pieces.get_mut(page) {
        *pieces |= 1 << piece;
    }
}

/// Is one of the pieces of these bytes, which are in one page, marked?
#[inline(always)]
fn marked(pieces: u64, pa: u32, bytes: u32) -> bool {
    let (first, last) = (pa & 0xfff, (pa & 0xfff) + bytes - 1);
    (pieces >> (first >> PIECE_SHIFT) | pieces >> (last >> PIECE_SHIFT & 63)) & 1 != 0
}

/// How a block is built.
pub struct Plan<'a> {
    pub mode: Mode,
    /// Bytes of a cache line.
    pub line: u32,
    pub causes: &'a CodeCauses,
    /// Instructions at most.
    pub most: u8,
}

/// The block at `pa`. `code` is RAM from there to the end of the page. `None`: the first instruction goes on in another
/// page.
#[must_use]
pub fn build(pa: u32, code: &[u8], plan: &Plan<'_>) -> Option<Block> {
    let cause = plan.causes.of(pa);
    let mut ops = Vec::with_capacity(plan.most.into());
    let (mut at, mut number, mut written, mut waits) = (0_usize, 0, 0, 0);
    let mut line = pa & !(plan.line - 1);
    while number < plan.most && at < code.len() {
        if at > 0 && plan.causes.of(pa + at as u32) != cause {
            break;
        }
        let Some(decoded) = decode(&code[at..], plan.mode, written) else {
            break;
        };
        let next = at + decoded.length;
        let (first, last) = (pa + at as u32, pa + next as u32 - 1);
        let mut lines = 0;
        for (at, bit) in [(first, FIRST_LINE), (last, LAST_LINE)] {
            if at & !(plan.line - 1) != line {
                line = at & !(plan.line - 1);
                lines |= bit;
            }
        }
        ops.push(Op {
            at: at as u16,
            next: next as u16,
            number,
            after: written,
            lines,
            ..decoded.op
        });
        if number == 0 {
            waits = decoded.waits;
        }
        // Behind a jump nothing waits, and what changes the mode takes longer than a wait.
        written = if decoded.ends { 0 } else { decoded.writes };
        at = next;
        number += 1;
        if decoded.ends {
            break;
        }
    }
    (number > 0).then_some(Block {
        ops,
        head: Head {
            length: at as u16,
            instructions: number,
            cause,
            waits,
            wrote: written,
        },
    })
}
