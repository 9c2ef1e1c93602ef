//! Decoded code of x86: how blocks are built, of which [`crate::engine::blocks`] keeps those that have run.
//!
//! A block is a row of ops: its head, its instructions, each behind the fetches of lines that it needs, and, unless its
//! last instruction's chain ends it, its end. The head has
//!
//! - the block's physical address in `immediate`, and that its code has 32 bits in `rm`,
//! - its bytes in `at`, its slots in `slots`, its instructions in `number`,
//! - the code's cause in `extra`,
//! - the registers that its first instruction's address waits for in `after`, those that its last one wrote in `reg`,
//! - how often it was seen to be hot, and [`COMPILED`], in `issued`,
//! - links to the heads of the blocks that follow it, as distances in bytes: after a jump in `displacement`, straight
//!   on in `base`, `index`, `scale` and `segment`.
//!
//! A fetch has the offset of a byte of its line in `immediate`, and otherwise what the instruction behind it has.

use super::chain;
use super::chain::Chain;
use super::config::Kind;
use super::decode::{FlagsUse, Mode, decode};
use super::op::{END, FETCH, HEAD, Op, WithJump};
use crate::account::CodeCauses;
use crate::engine::blocks::Part;
pub use crate::engine::blocks::{Successor, linked};

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

/// Of a head whose block is no longer valid: no address of RAM.
const DEAD: u32 = u32::MAX;

/// Of a head, in `issued`: the block has been compiled.
pub const COMPILED: u16 = 1 << 15;

/// All blocks.
pub type Blocks = crate::engine::blocks::Blocks<Op>;

impl Part for Op {
    const BYTES_MOST: u32 = BYTES_MOST;

    /// A head whose block is no longer valid has no address of RAM.
    #[inline(always)]
    fn heads(&self, pa: u32, wide: bool) -> bool {
        self.length == HEAD && self.begins_at(pa, wide)
    }

    #[inline(always)]
    fn begins_at(&self, pa: u32, wide: bool) -> bool {
        self.immediate == pa && self.rm == u8::from(wide)
    }

    fn bytes(&self) -> u32 {
        self.at.into()
    }

    fn drop_block(&mut self) {
        self.immediate = DEAD;
    }

    fn is_kept(&self) -> bool {
        self.issued & COMPILED != 0
    }

    #[inline(always)]
    fn away(&self, successor: Successor) -> i32 {
        match successor {
            Successor::Taken => self.displacement.cast_signed(),
            Successor::Straight => {
                i32::from_ne_bytes([self.base, self.index, self.scale, self.segment])
            }
        }
    }

    fn set_away(&mut self, successor: Successor, away: i32) {
        match successor {
            Successor::Taken => self.displacement = away.cast_unsigned(),
            Successor::Straight => {
                [self.base, self.index, self.scale, self.segment] = away.to_ne_bytes();
            }
        }
    }
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
