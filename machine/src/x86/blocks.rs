//! Decoded code: straight runs of instructions, kept by physical address until a store changes them.
//!
//! A block is a row of ops: its head, its instructions, each behind the fetches of lines that it needs, and, unless its
//! last instruction's chain ends it, its end. The head has
//!
//! - the block's physical address in `immediate`, and that its code has 32 bits in `rm`,
//! - its bytes in `at`, its slots in `slots`, its instructions in `number`,
//! - the code's cause in `extra`,
//! - the registers that its first instruction's address waits for in `after`, those that its last one wrote in `reg`,
//! - links to the heads of the blocks that follow it, as distances in bytes: after a jump in `displacement`, straight
//!   on in `base`, `index`, `scale` and `segment`.
//!
//! A fetch has the offset of a byte of its line in `immediate`, and otherwise what the instruction behind it has.

use super::chain;
use super::chain::Chain;
use super::config::Kind;
use super::decode::{FlagsUse, Mode, decode};
use super::op::{END, FETCH, HEAD, Op, WithJump};
use crate::engine::fetch::CodeCauses;

/// Instructions of a block at most.
pub const INSTRUCTIONS_MOST: u8 = 32;

/// Bytes of a block at most.
const BYTES_MOST: u32 = INSTRUCTIONS_MOST as u32 * super::decode::LONGEST as u32;

/// Does every block that begins at `eip` end within a segment with this limit? Only such blocks run as blocks: they
/// check no limit. Others run one instruction after another.
#[inline(always)]
#[must_use]
pub fn fits(eip: u32, limit: u32) -> bool {
    u64::from(eip) + u64::from(BYTES_MOST) - 1 <= u64::from(limit)
}

/// Places for blocks.
const PLACES: usize = 1 << 19;

/// Ops of all blocks at most. When they are used up, all blocks are dropped.
const OPS: usize = 1 << 19;

/// Targets of jumps that go to different places.
const TARGETS: usize = 1 << 10;

/// A store looks for code in pieces of this size: bits of a word for each page.
const PIECE_SHIFT: u32 = 6;

/// Of a head whose block is no longer valid: no address of RAM.
const DEAD: u32 = u32::MAX;

/// All blocks.
pub struct Blocks {
    /// What [`key`] gives of a block, and from [`HEAD_SHIFT`] on the place of its head among the ops.
    slots: Box<[u64]>,
    /// The ops of all blocks, one block after another. An op that has been entered stays as it is until
    /// [`Blocks::enter`] begins anew.
    ops: Vec<Op>,
    /// Where jumps that go to different places went: by EIP, the place of the block's head among the ops, or of another
    /// op.
    targets: Box<[u32; TARGETS]>,
    /// For each page of RAM: the pieces that hold decoded code.
    pieces: Box<[u64]>,
    /// The pieces that an I-cache may hold.
    fetched: Box<[u64]>,
    /// Both together: what a store looks at.
    either: Box<[u64]>,
}

const VALID: u64 = 1 << 33;
const HEAD_SHIFT: u32 = 34;
const KEY: u64 = (1 << HEAD_SHIFT) - 1;

fn key(pa: u32, wide: bool) -> u64 {
    VALID | u64::from(wide) << 32 | u64::from(pa)
}

fn place(pa: u32) -> usize {
    (pa ^ pa >> 19) as usize % PLACES
}

impl Blocks {
    /// No blocks, for a machine with so much RAM.
    #[must_use]
    pub fn new(ram: usize) -> Self {
        Blocks {
            slots: vec![0; PLACES].into_boxed_slice(),
            ops: Vec::with_capacity(OPS),
            targets: Box::new([0; TARGETS]),
            pieces: vec![0; ram >> 12].into_boxed_slice(),
            fetched: vec![0; ram >> 12].into_boxed_slice(),
            either: vec![0; ram >> 12].into_boxed_slice(),
        }
    }

    /// The head of the block at `pa`, or null. Its ops are good until the next call of [`Blocks::enter`].
    #[inline(always)]
    #[must_use]
    pub fn find(&self, pa: u32, wide: bool) -> *const Op {
        let slot = self.slots[place(pa)];
        match self.ops.get((slot >> HEAD_SHIFT) as usize) {
            Some(head) if slot & KEY == key(pa, wide) => head,
            _ => std::ptr::null(),
        }
    }

    /// [`Blocks::find`] for a jump to `eip`. The host can go on with what it finds before it knows `pa`.
    #[inline(always)]
    #[must_use]
    pub fn target(&mut self, eip: u32, pa: u32, wide: bool) -> *const Op {
        let place = self.targets[eip as usize % TARGETS] as usize;
        match self.ops.get(place) {
            // A head whose block is no longer valid has no address of RAM.
            Some(head)
                if head.immediate == pa && (head.length, head.rm) == (HEAD, u8::from(wide)) =>
            {
                head
            }
            _ => self.target_anew(eip, pa, wide),
        }
    }

    #[inline(never)]
    fn target_anew(&mut self, eip: u32, pa: u32, wide: bool) -> *const Op {
        let head = self.find(pa, wide);
        if !head.is_null() {
            let place = self.slots[place(pa)] >> HEAD_SHIFT;
            self.targets[eip as usize % TARGETS] = place as u32;
        }
        head
    }

    /// Enters a new block, and returns its head.
    pub fn enter(&mut self, pa: u32, wide: bool, block: &[Op]) -> *const Op {
        if self.ops.len() + block.len() > OPS {
            self.slots.fill(0);
            self.pieces.fill(0);
            self.either.copy_from_slice(&self.fetched);
            self.ops.clear();
        }
        let head = self.ops.len();
        self.ops.extend_from_slice(block);
        self.drop_block(place(pa));
        self.slots[place(pa)] = key(pa, wide) | (head as u64) << HEAD_SHIFT;
        let length = block.first().map_or(1, |head| u32::from(head.at));
        let (first, last) = (pa & 0xfff, (pa & 0xfff) + length - 1);
        for piece in first >> PIECE_SHIFT..=last >> PIECE_SHIFT {
            let page = (pa >> 12) as usize;
            mark(&mut self.pieces, page, piece);
            mark(&mut self.either, page, piece);
        }
        &raw const self.ops[head]
    }

    /// The block in this place is no longer found, nor do links lead to it.
    fn drop_block(&mut self, place: usize) {
        let slot = std::mem::take(&mut self.slots[place]);
        if slot & VALID != 0
            && let Some(head) = self.ops.get_mut((slot >> HEAD_SHIFT) as usize)
        {
            head.immediate = DEAD;
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
            if self.slots[place(pa)] & KEY & !(1 << 32) == key(pa, false) {
                self.drop_block(place(pa));
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

/// Which way a block is left.
#[derive(Clone, Copy)]
pub enum Link {
    Taken,
    Straight,
}

/// The head of the block that this link of the one at `head` leads to, or null if that is not the one at `pa`.
///
/// # Safety
/// `head` must be the head of one of a processor's [`Blocks`].
#[inline(always)]
#[must_use]
pub unsafe fn linked(head: *const Op, link: Link, pa: u32, wide: bool) -> *const Op {
    // SAFETY: a link leads to a head, even if that is dead. One that has not been made leads to the head that has it.
    unsafe {
        let this = &*head;
        let away = match link {
            Link::Taken => this.displacement,
            Link::Straight => u32::from_ne_bytes([this.base, this.index, this.scale, this.segment]),
        };
        let next = head.wrapping_byte_offset(away.cast_signed() as isize);
        if (*next).immediate == pa && (*next).rm == u8::from(wide) {
            next
        } else {
            std::ptr::null()
        }
    }
}

impl Blocks {
    /// Lets this link of the block at `head` lead to the one at `next`.
    ///
    /// # Safety
    /// Both must be heads of these blocks.
    pub unsafe fn link(&mut self, head: *const Op, link: Link, next: *const Op) {
        let ops = self.ops.as_mut_ptr();
        // SAFETY: the caller's. There are less than 2 GB of ops.
        unsafe {
            let away = (next.byte_offset_from(head) as i32).cast_unsigned();
            let head = &mut *ops.add(head.offset_from_unsigned(ops));
            match link {
                Link::Taken => head.displacement = away,
                Link::Straight => {
                    [head.base, head.index, head.scale, head.segment] = away.to_ne_bytes();
                }
            }
        }
    }
}

/// The block at `pa`. `code` is RAM from there to the end of the page. `None`: the first instruction goes on in another
/// page.
#[must_use]
pub fn build(pa: u32, code: &[u8], plan: &Plan<'_>) -> Option<Vec<Op>> {
    let cause = plan.causes.of(pa);
    let mut ops = Vec::with_capacity(2 * usize::from(plan.most) + 2);
    let (mut at, mut number, mut written, mut waits) = (0_usize, 0, 0, 0);
    let mut issued = 0_u16;
    let mut line = pa & !(plan.line - 1);
    let fetch = match plan.mode.kind {
        Kind::I486 => chain::fetch::<false>,
        Kind::P6 => chain::fetch::<true>,
    };
    let mut jumps = false;
    let mut joins: Option<WithJump> = None;
    // The last instruction that makes flags, if nothing has been able to read them, with its chain that makes none.
    let mut unread: Option<(usize, Chain)> = None;
    ops.push(Op::new(chain::fetch_line, fetch));
    while number < plan.most && at < code.len() {
        if at > 0 && plan.causes.of(pa + at as u32) != cause {
            break;
        }
        let Some(decoded) = decode(&code[at..], plan.mode, written) else {
            break;
        };
        let Some(with) = issued.checked_add(decoded.op.slots) else {
            break;
        };
        let op = Op {
            at: at as u16,
            number,
            after: written,
            ..decoded.op
        };
        let next = at + decoded.length;
        // The lines of its first and its last byte are fetched before it runs.
        for at in [at, next - 1] {
            let here = (pa + at as u32) & !(plan.line - 1);
            if here != line {
                line = here;
                joins = None;
                unread = None;
                ops.push(Op {
                    immediate: at as u32,
                    issued,
                    length: FETCH,
                    at: op.at,
                    number,
                    after: written,
                    ..Op::new(chain::fetch_line, fetch)
                });
            }
        }
        issued = with;
        // A comparison and the jump behind it run as one link of the chain.
        if let (Some(joins), Some(condition)) = (joins, decoded.condition)
            && let Some(chain) = joins(condition)
            && let Some(comparison) = ops.last_mut()
        {
            comparison.chain = chain;
        }
        joins = decoded.with_jump;
        if let (FlagsUse::Replaces, Some((op, chain))) = (decoded.flags, unread) {
            ops[op].chain = chain;
        }
        if decoded.flags != FlagsUse::Leaves {
            unread = decoded.quiet.map(|chain| (ops.len(), chain));
        }
        ops.push(Op { issued, ..op });
        if number == 0 {
            waits = decoded.waits;
        }
        // Behind a jump nothing waits, and what changes the mode takes longer than a wait.
        written = if decoded.ends { 0 } else { decoded.writes };
        at = next;
        number += 1;
        jumps = decoded.jumps;
        if decoded.ends {
            break;
        }
    }
    let head = Head {
        pa,
        wide: plan.mode.wide,
        cause,
        waits,
        length: at as u16,
        wrote: written,
        jumps,
    };
    (number > 0).then(|| close(ops, &head))
}

/// What is known of a block beside its ops.
pub struct Head {
    pub pa: u32,
    pub wide: bool,
    /// The cost category of the code.
    pub cause: u8,
    /// Registers that the address of its first instruction waits for, and those that its last one wrote.
    pub waits: u8,
    pub wrote: u8,
    /// Its bytes.
    pub length: u16,
    /// Its last instruction's chain ends it.
    pub jumps: bool,
}

/// A block of the ops behind the first one, which becomes the head.
#[must_use]
pub fn close(mut ops: Vec<Op>, head: &Head) -> Vec<Op> {
    let (slots, number) = ops.last().map_or((0, 0), |op| (op.issued, op.number + 1));
    ops[0] = Op {
        immediate: head.pa,
        rm: head.wide.into(),
        reg: head.wrote,
        at: head.length,
        slots,
        number,
        length: HEAD,
        extra: head.cause,
        after: head.waits,
        base: 0,
        index: 0,
        ..Op::new(chain::fetch_line, chain::end_of_block)
    };
    if !head.jumps {
        ops.push(Op {
            length: END,
            ..Op::new(chain::fetch_line, chain::end_of_block)
        });
    }
    ops
}
