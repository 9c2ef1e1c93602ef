//! The run loop: from block to block, single instructions, what interrupts them, and the branches that are predicted.

use crate::x86::blocks::{self, Head, Plan, Successor, linked};
use crate::x86::chain::Here;
use crate::x86::config::Kind;
use crate::x86::decode::{self, decode};
use crate::x86::exception::Exception;
use crate::x86::op::Op;
use crate::x86::registers::{eflags, segment};

use super::{NOWHERE, Processor, RESTART};

impl Processor {
    /// Goes to the next instruction: fetches its line if that is another. Returns its physical address, and whether
    /// its code has 32 bits. `None`: it has raised an exception.
    #[inline(always)]
    fn enter_block(&mut self) -> Option<(u32, bool)> {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide, limit) = (cs.base.wrapping_add(eip), cs.big(), cs.limit);
        self.block_eip = eip;
        if eip > limit {
            self.raise(Exception::GENERAL);
            return None;
        }
        let pa = match self.enter(linear) {
            Ok(pa) => pa,
            Err(exception) => {
                self.raise(exception);
                return None;
            }
        };
        self.block_linear = linear;
        self.block_pa = pa;
        Some((pa, wide))
    }

    /// Runs the next instructions.
    #[inline(always)]
    pub(in crate::x86) fn run(&mut self) {
        let Some((pa, wide)) = self.enter_block() else {
            return;
        };
        let limit = self.registers.segment(segment::CS).limit;
        if self.running.oracle || self.single || !blocks::fits(self.block_eip, limit) {
            return self.run_single(pa);
        }
        let mut head = self.blocks.find(pa, wide);
        if head.is_null() {
            head = self.decode_block(pa, wide);
        }
        if self.window.is_open() && !head.is_null() {
            // SAFETY: this is the head of a whole block.
            unsafe { self.run_carefully(head) };
            return;
        }
        self.run_blocks(head);
    }

    /// The physical address of the code at `eip`, if it is in the page of the block that runs, and a fetch of its line
    /// would change nothing but the counts.
    #[inline(always)]
    fn stays_in_page(&self, eip: u32) -> Option<u32> {
        let away = eip.wrapping_sub(self.block_eip);
        let pa = self.block_pa.wrapping_add(away);
        let linear = self.block_linear.wrapping_add(away);
        let stays =
            (linear ^ self.block_linear) & !0xfff == 0 && self.fetches_unchanged::<false>(pa);
        stays.then_some(pa)
    }

    /// The head of the block at `eip`, which follows the one at `head` behind a jump. Null, unless it is linked and
    /// in the same page, fits the segment, and a fetch of its line would change nothing but the counts. Nothing is
    /// changed; [`Processor::go_to`] enters the block.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last, of a core that fetches through its data TLB and cache.
    #[inline(always)]
    pub(in crate::x86) unsafe fn follows_at_once(&self, head: *const Op, eip: u32) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        match self.stays_in_page(eip) {
            // SAFETY: the caller's.
            Some(pa) if blocks::fits(eip, cs.limit) => unsafe {
                linked(head, Successor::Taken, pa, cs.big())
            },
            _ => std::ptr::null(),
        }
    }

    /// Enters the block at `eip`, which [`Processor::follows_at_once`] has found, by a jump, which always fetches.
    #[inline(always)]
    pub(in crate::x86) fn go_to(&mut self, eip: u32) {
        let away = eip.wrapping_sub(self.block_eip);
        self.block_eip = eip;
        self.block_linear = self.block_linear.wrapping_add(away);
        self.block_pa = self.block_pa.wrapping_add(away);
        self.fetches += 1;
        self.fetched = self.block_linear & !(self.line - 1);
    }

    /// The head of the block that follows the one at `head` behind a jump within the segment, which has just been made;
    /// or null if the instruction at EIP must begin otherwise. `INDIRECT`: the jump goes to different places.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(always)]
    pub(in crate::x86) unsafe fn block_behind_jump<const INDIRECT: bool>(
        &mut self,
        head: *const Op,
    ) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide) = (cs.base.wrapping_add(eip), cs.big());
        if !blocks::fits(eip, cs.limit) {
            return std::ptr::null();
        }
        // SAFETY: the caller's.
        unsafe {
            if self.kind == Kind::I486 {
                let next = if INDIRECT {
                    match self.stays_in_page(eip) {
                        Some(pa) => self.blocks.target(eip, pa, wide),
                        None => std::ptr::null(),
                    }
                } else {
                    self.follows_at_once(head, eip)
                };
                if !next.is_null() {
                    self.go_to(eip);
                    return next;
                }
            }
            // A jump always fetches.
            let Some(pa) = self.fetch_at_once::<true>(linear) else {
                return self.next_block_slowly(head, Successor::Taken);
            };
            let next = if INDIRECT {
                self.blocks.target(eip, pa, wide)
            } else {
                linked(head, Successor::Taken, pa, wide)
            };
            if next.is_null() {
                return self.next_block_slowly(head, Successor::Taken);
            }
            self.block_eip = eip;
            self.block_linear = linear;
            self.block_pa = pa;
            next
        }
    }

    /// The head of this successor of the block at `head`, or with `None` of the block that EIP points to; null if the
    /// instruction there must begin otherwise.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(always)]
    pub(in crate::x86) unsafe fn next_block(
        &mut self,
        head: *const Op,
        way: Option<Successor>,
    ) -> *const Op {
        let cs = self.registers.segment(segment::CS);
        let eip = self.registers.eip;
        let (linear, wide) = (cs.base.wrapping_add(eip), cs.big());
        if !blocks::fits(eip, cs.limit) {
            return std::ptr::null();
        }
        // SAFETY: the caller's.
        unsafe {
            let straight = self.block_eip.wrapping_add((*head).at.into());
            let successor = match way {
                Some(successor) => successor,
                None if straight == eip => Successor::Straight,
                None => Successor::Taken,
            };
            let pa = if linear & !(self.line - 1) == self.fetched {
                self.fetched_page | linear & 0xfff
            } else {
                match self.fetch_at_once::<true>(linear) {
                    Some(pa) => pa,
                    None => return self.next_block_slowly(head, successor),
                }
            };
            let next = linked(head, successor, pa, wide);
            if next.is_null() {
                return self.next_block_slowly(head, successor);
            }
            self.block_eip = eip;
            self.block_linear = linear;
            self.block_pa = pa;
            next
        }
    }

    /// The same for a block that is not linked, or whose page has no shortcut; it fits the segment. A line that has
    /// been fetched already is not fetched again.
    ///
    /// # Safety
    /// `head` must be that of the block that was entered last.
    #[inline(never)]
    unsafe fn next_block_slowly(&mut self, head: *const Op, successor: Successor) -> *const Op {
        let Some((pa, wide)) = self.enter_block() else {
            return std::ptr::null();
        };
        // SAFETY: the caller's.
        unsafe {
            let mut next = linked(head, successor, pa, wide);
            if next.is_null() {
                next = self.blocks.find(pa, wide);
                if next.is_null() {
                    return self.decode_block(pa, wide);
                }
                self.blocks.link(head, successor, next);
            }
            next
        }
    }

    /// The head of the block at `pa`, which has been entered.
    pub(in crate::x86) fn block_at(&mut self, pa: u32, wide: bool) -> *const Op {
        let head = self.blocks.find(pa, wide);
        if head.is_null() {
            return self.decode_block(pa, wide);
        }
        head
    }

    /// Decodes the block at `pa` and enters it. Returns its head, or null if its first instruction goes on in another
    /// page, and has been run.
    #[inline(never)]
    fn decode_block(&mut self, pa: u32, wide: bool) -> *const Op {
        match self.build(pa, blocks::INSTRUCTIONS_MOST) {
            Some(block) => self.blocks.enter(pa, wide, &block),
            None => {
                self.run_apart(pa);
                std::ptr::null()
            }
        }
    }

    /// Runs the instruction at `pa` alone.
    #[inline(never)]
    fn run_single(&mut self, pa: u32) {
        match self.build(pa, 1) {
            Some(block) if self.is_within(block[0].at.into()) => self.run_one(&block),
            Some(_) => self.raise(Exception::GENERAL),
            None => self.run_apart(pa),
        }
    }

    #[inline(never)]
    fn build(&self, pa: u32, most: u8) -> Option<Vec<Op>> {
        let page = (pa | 0xfff) as usize + 1;
        let code = self.memory.uncore.ram.bytes().get(pa as usize..page)?;
        let plan = Plan {
            mode: self.mode(),
            line: self.line,
            causes: &self.causes,
            most,
        };
        blocks::build(pa, code, &plan)
    }

    /// Are so many bytes from the block's beginning on within the segment?
    fn is_within(&self, bytes: u32) -> bool {
        let limit = self.registers.segment(segment::CS).limit;
        u64::from(self.block_eip) + u64::from(bytes) <= u64::from(limit) + 1
    }

    /// Runs a block of one instruction, and traps after it if TF says so: not after INT, nor between a load of SS and
    /// the next instruction.
    #[inline(never)]
    fn run_one(&mut self, block: &[Op]) {
        let single = std::mem::take(&mut self.single);
        let traced = self.registers.system & eflags::TF != 0;
        self.software = false;
        if self.noting {
            self.record_begin(block[0].at);
        }
        // SAFETY: this is a whole block.
        let ran = unsafe { self.run_carefully(block.as_ptr()) };
        if self.noting {
            self.record_end();
        }
        if ran {
            self.one_ran(single, traced);
        }
    }

    /// An instruction has run on its own.
    fn one_ran(&mut self, single: bool, traced: bool) {
        if single {
            self.due_at_once();
        }
        if traced && !self.software && !self.inhibited {
            self.trap();
        }
    }

    /// The trap of TF, after an instruction or an element of a repeated one.
    fn trap(&mut self) {
        const SINGLE_STEP: u32 = 1 << 14;
        self.registers.dr[6] |= SINGLE_STEP;
        self.raise_here(Exception::DEBUG);
    }

    /// Goes on with a repeated instruction, if one has stopped between two elements.
    pub(in crate::x86) fn go_on_repeating(&mut self) -> bool {
        let mode = self.mode();
        let Some(op) = self.repeating.take().and_then(|string| string.op(mode)) else {
            return false;
        };
        let single = std::mem::take(&mut self.single);
        let traced = self.registers.system & eflags::TF != 0;
        self.block_eip = self.registers.eip;
        self.registers.eip = self.block_eip.wrapping_add(op.length.into());
        let done = (op.run)(self, &op);
        if done.is_ok() {
            self.instructions += 1;
        }
        if self.noting {
            self.record_end();
        }
        match done {
            Ok(()) => self.one_ran(single, traced),
            Err(exception) => self.interrupted(&op, 0, exception),
        }
        true
    }

    /// `op` has not run to its end. `issued`: the slots of its block so far.
    #[cold]
    #[inline(never)]
    pub(in crate::x86) fn interrupted(&mut self, op: &Op, issued: u16, exception: Exception) {
        self.here = Here::NONE;
        self.time += u64::from(issued);
        self.instructions += u64::from(op.number);
        // A fault or a restart; traps are raised after the instruction.
        self.registers.eip = self.block_eip.wrapping_add(op.at.into());
        if exception != RESTART {
            self.fetched = NOWHERE;
            return self.raise_here(exception);
        }
        if op.number != 0 {
            self.wrote = op.after;
        }
        if self.repeating.is_some() && self.registers.system & eflags::TF != 0 {
            self.trap();
        }
    }

    fn raise(&mut self, exception: Exception) {
        self.registers.eip = self.block_eip;
        if exception != RESTART {
            self.raise_here(exception);
        }
    }

    /// Runs an instruction that lies in two pages, or in no RAM.
    #[inline(never)]
    fn run_apart(&mut self, pa: u32) {
        let mut bytes = [0xff; decode::LONGEST];
        let here = (0x1000 - (pa & 0xfff) as usize).min(bytes.len());
        self.copy_code(pa, &mut bytes[..here]);
        let mode = self.mode();
        let mut decoded = decode(&bytes[..here], mode, 0);
        if decoded.is_none() {
            if !self.is_within(here as u32 + 1) {
                return self.raise(Exception::GENERAL);
            }
            let next = (self.block_linear | 0xfff).wrapping_add(1);
            match self.fetch(next) {
                Ok(second) => self.copy_code(second, &mut bytes[here..]),
                Err(exception) => return self.raise(exception),
            }
            decoded = decode(&bytes, mode, 0);
        }
        let Some(decoded) = decoded else {
            return self.raise(Exception::GENERAL);
        };
        if !self.is_within(decoded.length as u32) {
            return self.raise(Exception::GENERAL);
        }
        let op = Op {
            issued: decoded.op.slots,
            ..decoded.op
        };
        let head = Head {
            pa,
            wide: mode.wide,
            cause: self.causes.of(pa),
            waits: decoded.waits,
            wrote: if decoded.ends { 0 } else { decoded.writes },
            length: decoded.length as u16,
            jumps: decoded.jumps,
        };
        let block = blocks::close(vec![op, op], &head);
        self.run_one(&block);
    }

    fn copy_code(&self, pa: u32, bytes: &mut [u8]) {
        for (n, byte) in (0..).zip(bytes) {
            let at = pa.wrapping_add(n);
            *byte = self.memory.uncore.ram.read_u8(at).unwrap_or(0xff);
        }
    }

    /// P6: a branch to `target` goes there if `taken`.
    #[inline(never)]
    pub(in crate::x86) fn predict(&mut self, op: &Op, taken: bool, target: u32, conditional: bool) {
        let branch = self.block_eip.wrapping_add(op.at.into());
        if !(self.predictor).predicts(branch, target, taken, conditional) {
            self.mispredict();
        }
    }

    /// P6: a return to `target`.
    #[inline(never)]
    pub(in crate::x86) fn predict_return(&mut self, target: u32) {
        if !self.predictor.returns.returns_to(target.into()) {
            self.mispredict();
        }
    }

    fn mispredict(&mut self) {
        self.mispredicted += 1;
        self.close_window();
        let penalty = self.config.branch.as_ref().map_or(0, |b| b.mispredict);
        self.add_cycles(penalty.into());
    }
}
