//! How instructions follow each other fast.
//!
//! Each [`Op`] has two ways to run: alone, which is all that the architecture defines ([`Op::run`]), and as a link of a
//! chain ([`Op::chain`]), which runs it and then calls the next op of its block. The end of a block finds the next one,
//! by a link that the block keeps, or among all blocks, and returns its head. What follows from a whole block is done
//! once for it: its slots and instructions are counted at its end, and one comparison at its beginning tells that
//! nothing is due before its end, unless something takes longer than it says. What may take longer compares again
//! behind it. If something is due, the rest of the block runs one instruction after another, each behind a check
//! ([`Processor::run_carefully`]). All ways give the same counts: with the oracle on, there is only the last one.

mod block;

use std::marker::PhantomData;
use std::ptr;

use super::access::{Double, Width};
use super::blocks::Successor;
use super::clocks;
use super::config::Kind;
use super::exception::Exception;
use super::execute::{AtOnce, Memory, Source, branch, stack};
use super::op::{Op, Operation, Ways, WithJump};
use super::processor::Processor;

/// Runs an op and those that follow it in its block. Returns the head of the next block, which has been entered, or
/// null: then the next instruction is where EIP points to.
///
/// # Safety
/// The op must be part of a block of this processor's, which ends with an [`super::op::END`].
pub type Chain = unsafe fn(&mut Processor, *const Op) -> *const Op;

/// The op that runs. Its slots are not yet in [`Processor::time`].
#[derive(Clone, Copy)]
pub(super) struct Here(*const Op);

// SAFETY: it is used only while its processor runs, and between two turns it is the one of no instruction.
unsafe impl Send for Here {}

/// Of a processor that runs no instruction.
static NOTHING: Op = Op::new(no_instruction, no_chain);

impl Here {
    pub(super) const NONE: Here = Here(&raw const NOTHING);

    /// An op of a block.
    pub(super) fn at(op: *const Op) -> Here {
        Here(op)
    }

    /// The op that runs.
    #[inline(always)]
    pub(super) fn op<'a>(self) -> &'a Op {
        // SAFETY: it points to an op of a block that runs, or to `NOTHING`.
        unsafe { &*self.0 }
    }
}

fn no_instruction(_: &mut Processor, _: &Op) -> Result<(), Exception> {
    Ok(())
}

/// # Safety
/// Nothing is required: it reads nothing.
unsafe fn no_chain(_: &mut Processor, _: *const Op) -> *const Op {
    ptr::null()
}

/// The ways to run an operation.
pub(super) fn ways<F: Operation>(_: PhantomData<F>) -> Ways {
    Ways {
        run: F::run,
        chain: chained::<F>,
        plain_chain: chained_plainly::<F>,
        jumps: false,
    }
}

/// The same for one that always ends its block. `INDIRECT`: it goes to different places.
pub(super) fn jump_ways<F: Operation, const INDIRECT: bool>(_: PhantomData<F>) -> Ways {
    Ways {
        run: F::run,
        chain: chained_to_end::<F, INDIRECT>,
        plain_chain: chained_to_end::<F, INDIRECT>,
        jumps: true,
    }
}

/// The same for a conditional jump.
pub(super) fn conditional_ways<W: Width, const CONDITION: u8>() -> Ways {
    Ways {
        run: branch::jump_if::<W, CONDITION>,
        chain: chained_jump_if::<W, CONDITION>,
        plain_chain: chained_jump_if::<W, CONDITION>,
        jumps: true,
    }
}

/// The chains of an operation and a conditional jump behind it. `Q`: see [`at_once`].
pub(super) fn joined<Q: Operation, F: Operation>(_: PhantomData<Q>, _: PhantomData<F>) -> WithJump {
    with_jump::<Q, F>
}

/// The chain of an operation whose source is memory. `Q` is the same operation with a source that answers with an
/// exception where reading it would be more than counting the access (`AtOnce`); then `F` runs.
pub(super) fn at_once<Q: Operation, F: Operation>(_: PhantomData<Q>, _: PhantomData<F>) -> Chain {
    chained_at_once::<Q, F>
}

/// The chain of an operation whose flags are dead: another operation replaces them before anything reads them.
pub(super) fn quiet<F: Operation>(_: PhantomData<F>) -> Chain {
    chained_quietly::<F>
}

/// See [`WithJump`]. Compilers hardly use the other conditions.
fn with_jump<Q: Operation, F: Operation>(condition: u8) -> Option<Chain> {
    Some(match condition & 15 {
        2 => chained_with_jump::<Q, F, 2>,
        3 => chained_with_jump::<Q, F, 3>,
        4 => chained_with_jump::<Q, F, 4>,
        5 => chained_with_jump::<Q, F, 5>,
        6 => chained_with_jump::<Q, F, 6>,
        7 => chained_with_jump::<Q, F, 7>,
        8 => chained_with_jump::<Q, F, 8>,
        9 => chained_with_jump::<Q, F, 9>,
        12 => chained_with_jump::<Q, F, 12>,
        13 => chained_with_jump::<Q, F, 13>,
        14 => chained_with_jump::<Q, F, 14>,
        15 => chained_with_jump::<Q, F, 15>,
        _ => return None,
    })
}

/// # Safety
/// As [`Chain`].
unsafe fn chained<F: Operation>(p: &mut Processor, op: *const Op) -> *const Op {
    p.here = Here(op);
    // SAFETY: the caller's.
    unsafe {
        match F::run(p, &*op) {
            Ok(()) if p.time < p.due => go_on(p, op),
            Ok(()) => p.run_on(op.add(1), true),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// The chain of an operation that ends a block.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_to_end<F: Operation, const INDIRECT: bool>(
    p: &mut Processor,
    op: *const Op,
) -> *const Op {
    p.here = Here(op);
    // SAFETY: the caller's.
    unsafe {
        match F::run(p, &*op) {
            Ok(()) if INDIRECT => end(p, Way::Indirect),
            Ok(()) => end(p, Way::Taken),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// For conditional jumps.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_jump_if<W: Width, const CONDITION: u8>(
    p: &mut Processor,
    op: *const Op,
) -> *const Op {
    // SAFETY: the caller's.
    unsafe { jump_if::<W, CONDITION>(p, op) }
}

/// A conditional jump. It neither looks at the time, nor does anything but the end of a block follow it.
///
/// # Safety
/// As [`Chain`].
#[inline(always)]
unsafe fn jump_if<W: Width, const CONDITION: u8>(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        if p.kind == Kind::I486 {
            if !p.registers.flags.condition(CONDITION) {
                p.branches += 1;
                return end(p, Way::Straight);
            }
            let (head, eip) = (p.head, branch::direct::<W>(p, &*op));
            let time = p.time + u64::from(head.op().slots) + clocks::TAKEN;
            let instructions = p.instructions + u64::from(head.op().number);
            if time < p.running.deadline && instructions < p.alarm {
                let next = p.follows_at_once(head.0, eip);
                if !next.is_null() {
                    // As `finish` and `Processor::jump` do.
                    p.branches += 1;
                    p.here = Here::NONE;
                    p.time = time;
                    p.instructions = instructions;
                    p.wrote = head.op().reg;
                    p.go_to(eip);
                    return next;
                }
            }
        }
        jump_if_slowly::<W, CONDITION>(p, op)
    }
}

/// The same in its usual form.
///
/// # Safety
/// As [`Chain`].
#[inline(never)]
unsafe fn jump_if_slowly<W: Width, const CONDITION: u8>(
    p: &mut Processor,
    op: *const Op,
) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        match branch::jumps_if::<W, CONDITION>(p, &*op) {
            Ok(true) => end(p, Way::Taken),
            Ok(false) => end(p, Way::Straight),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// For an operation and the conditional jump behind it. `Q` looks at no time and takes none.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_with_jump<Q: Operation, F: Operation, const CONDITION: u8>(
    p: &mut Processor,
    op: *const Op,
) -> *const Op {
    // SAFETY: the caller's: the jump is the last instruction of the block.
    unsafe {
        match Q::run(p, &*op) {
            Ok(()) => jump_if::<Double, CONDITION>(p, op.add(1)),
            Err(_) => slowly::<F>(p, op),
        }
    }
}

/// For operations whose source is memory.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_at_once<Q: Operation, F: Operation>(
    p: &mut Processor,
    op: *const Op,
) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        match Q::run(p, &*op) {
            Ok(()) => go_on(p, op),
            Err(_) => slowly::<F>(p, op),
        }
    }
}

/// [`chained`] apart from what runs at once.
///
/// # Safety
/// As [`Chain`].
#[inline(never)]
unsafe fn slowly<F: Operation>(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe { chained::<F>(p, op) }
}

/// For JMP to a target in memory.
///
/// # Safety
/// As [`Chain`].
pub(super) unsafe fn jump_to_memory(p: &mut Processor, op: *const Op) -> *const Op {
    /// # Safety
    /// As [`Chain`].
    #[inline(never)]
    unsafe fn slowly(p: &mut Processor, op: *const Op) -> *const Op {
        p.here = Here(op);
        // SAFETY: the caller's.
        unsafe {
            match branch::jump_to::<Double, Memory>(p, &*op) {
                Ok(()) => end(p, Way::Indirect),
                Err(exception) => p.break_off(op, exception),
            }
        }
    }
    // SAFETY: the caller's.
    unsafe {
        let Ok(target) = AtOnce::get::<Double>(p, &*op) else {
            return slowly(p, op);
        };
        match p.jump_indirect(&*op, target) {
            Ok(()) => end(p, Way::Indirect),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// For RET.
///
/// # Safety
/// As [`Chain`].
pub(super) unsafe fn back(p: &mut Processor, op: *const Op) -> *const Op {
    /// # Safety
    /// As [`Chain`].
    #[inline(never)]
    unsafe fn slowly(p: &mut Processor, op: *const Op) -> *const Op {
        p.here = Here(op);
        // SAFETY: the caller's.
        unsafe {
            match branch::back::<Double>(p, &*op) {
                Ok(()) => end(p, Way::Indirect),
                Err(exception) => p.break_off(op, exception),
            }
        }
    }
    // SAFETY: the caller's.
    unsafe {
        let Some(target) = p.top_at_once::<Double>() else {
            return slowly(p, op);
        };
        match branch::back_to::<Double>(p, &*op, target) {
            Ok(()) => end(p, Way::Indirect),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// For POP to a register.
///
/// # Safety
/// As [`Chain`].
pub(super) unsafe fn pop(p: &mut Processor, op: *const Op) -> *const Op {
    /// # Safety
    /// As [`Chain`].
    #[inline(never)]
    unsafe fn slowly(p: &mut Processor, op: *const Op) -> *const Op {
        // SAFETY: the caller's.
        unsafe { chained::<Pop>(p, op) }
    }
    struct Pop;
    impl Operation for Pop {
        #[inline(always)]
        fn run(p: &mut Processor, op: &Op) -> Result<(), Exception> {
            stack::pop::<Double>(p, op)
        }
    }
    // SAFETY: the caller's.
    unsafe {
        let Some(value) = p.top_at_once::<Double>() else {
            return slowly(p, op);
        };
        p.drop_stack(Double::BYTES);
        p.set_register::<Double>((*op).rm, value);
        go_on(p, op)
    }
}

/// For operations that neither raise an exception nor take longer than they say, nor look at the time.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_plainly<F: Operation>(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        match F::run(p, &*op) {
            Ok(()) => go_on(p, op),
            Err(exception) => {
                p.here = Here(op);
                p.break_off(op, exception)
            }
        }
    }
}

/// The chain of an operation with dead flags: `blocks::build` has seen that another instruction of the line makes
/// them anew before the chain can be left.
///
/// # Safety
/// As [`Chain`].
unsafe fn chained_quietly<F: Operation>(p: &mut Processor, op: *const Op) -> *const Op {
    let flags = p.registers.flags;
    // SAFETY: the caller's.
    unsafe {
        match F::run(p, &*op) {
            Ok(()) => {
                p.registers.flags = flags;
                go_on(p, op)
            }
            Err(exception) => {
                p.here = Here(op);
                p.break_off(op, exception)
            }
        }
    }
}

/// Runs what follows `op`.
///
/// # Safety
/// As [`Chain`].
#[inline(always)]
unsafe fn go_on(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's: `op` is not the end of its block.
    unsafe {
        let next = op.add(1);
        ((*next).chain)(p, next)
    }
}

/// A fetch of the line that the next instruction needs. `SPLIT`: the core has a TLB and a cache for fetches alone.
///
/// # Safety
/// As [`Chain`].
pub(super) unsafe fn fetch<const SPLIT: bool>(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        if p.fetches_at_once::<SPLIT>((*op).immediate) {
            go_on(p, op)
        } else {
            fetch_slowly(p, op)
        }
    }
}

/// # Safety
/// As [`Chain`].
#[inline(never)]
unsafe fn fetch_slowly(p: &mut Processor, op: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe {
        p.here = Here(op);
        match p.fetch_line_of((*op).immediate) {
            Ok(()) if p.time < p.due => go_on(p, op),
            // The instruction has begun.
            Ok(()) => p.run_on(op.add(1), false),
            Err(exception) => p.break_off(op, exception),
        }
    }
}

/// The same alone.
pub(super) fn fetch_line(p: &mut Processor, op: &Op) -> Result<(), Exception> {
    p.fetch_line_of(op.immediate)
}

/// The end of a block that no jump ends.
///
/// # Safety
/// As [`Chain`].
pub(super) unsafe fn end_of_block(p: &mut Processor, _: *const Op) -> *const Op {
    // SAFETY: the caller's.
    unsafe { end(p, Way::Any) }
}

/// How a block is left.
#[derive(Clone, Copy)]
enum Way {
    /// Its last instruction has not jumped.
    Straight,
    /// It has jumped where it always jumps to.
    Taken,
    /// It has jumped.
    Indirect,
    /// The processor goes on where EIP points to.
    Any,
}

/// The end of the block that runs.
///
/// # Safety
/// A block must be running.
#[inline(always)]
unsafe fn end(p: &mut Processor, way: Way) -> *const Op {
    let head = p.head;
    p.finish(head.op());
    if p.time >= p.running.deadline || p.instructions >= p.alarm {
        return ptr::null();
    }
    // SAFETY: the caller's.
    unsafe {
        match way {
            Way::Straight => p.next_block(head.0, Some(Successor::Straight)),
            Way::Taken => p.block_behind_jump::<false>(head.0),
            Way::Indirect => p.block_behind_jump::<true>(head.0),
            Way::Any => p.next_block(head.0, None),
        }
    }
}
