//! How a block runs from its head on: as a chain, or one instruction after another where something may be due.

use std::ptr;

#[cfg(doc)]
use super::Chain;
use super::Here;
use crate::x86::exception::Exception;
use crate::x86::op::{END, FETCH, Op};
use crate::x86::processor::{Processor, RESTART};

impl Processor {
    /// Runs the block at `head`, which has been entered, and those that follow it, until something else is due.
    #[inline(always)]
    pub(in crate::x86) fn run_blocks(&mut self, mut head: *const Op) {
        while !head.is_null() {
            // SAFETY: heads come from `Blocks`, whose ops stay where they are until `Blocks::enter` begins anew, which
            // happens only between two blocks; and the blocks go to another processor only between turns.
            head = unsafe { self.run_block(head) };
        }
    }

    /// Runs the block at `head`, which has been entered. Returns the next one's.
    ///
    /// # Safety
    /// `head` must be the head of a block.
    #[inline(always)]
    unsafe fn run_block(&mut self, head: *const Op) -> *const Op {
        self.head = Here(head);
        // SAFETY: the caller's.
        let (first, head) = unsafe { (head.add(1), &*head) };
        if u32::from(head.extra) != self.head_cause {
            self.code_runs(head.extra, self.block_eip);
        }
        self.registers.eip = self.block_eip.wrapping_add(head.at.into());
        self.due = self.running.deadline.saturating_sub(head.slots.into());
        let wait = self.address_wait(head);
        // SAFETY: the caller's.
        unsafe {
            if self.time + wait >= self.due || wait != 0 && (*first).length == FETCH {
                self.run_rest(first, false, wait);
                return ptr::null();
            }
            self.time += wait;
            self.look_for_hot_code(self.head.0);
            ((*first).chain)(self, first)
        }
    }

    /// Runs the block at `head`, which has been entered, one instruction after another. Returns whether it ran to its
    /// end.
    ///
    /// # Safety
    /// `head` must be the head of a whole block.
    pub(in crate::x86) unsafe fn run_carefully(&mut self, head: *const Op) -> bool {
        self.head = Here(head);
        // SAFETY: the caller's.
        let (first, head) = unsafe { (head.add(1), &*head) };
        if u32::from(head.extra) != self.head_cause {
            self.code_runs(head.extra, self.block_eip);
        }
        self.registers.eip = self.block_eip.wrapping_add(head.at.into());
        let wait = self.address_wait(head);
        // SAFETY: the caller's.
        unsafe { self.run_rest(first, false, wait) }
    }

    /// How many slots the first instruction's address waits for what the block before wrote last.
    #[inline(always)]
    fn address_wait(&self, head: &Op) -> u64 {
        if self.wrote & head.after != 0 {
            self.wait.into()
        } else {
            0
        }
    }

    /// Runs the rest of a block, from `op` on, one instruction after another.
    ///
    /// # Safety
    /// As [`Chain`].
    #[cold]
    #[inline(never)]
    pub(in crate::x86) unsafe fn run_on(&mut self, op: *const Op, check: bool) -> *const Op {
        // SAFETY: the caller's.
        unsafe { self.run_rest(op, check, 0) };
        ptr::null()
    }

    /// The same, and returns whether it came to the end. `check`: something may be due before `op`. `wait`: for how
    /// many slots its address waits for a register.
    ///
    /// # Safety
    /// As [`Chain`].
    #[inline(never)]
    unsafe fn run_rest(&mut self, mut op: *const Op, mut check: bool, mut wait: u64) -> bool {
        loop {
            // SAFETY: the caller's; the end of the block returns.
            let this = unsafe { &*op };
            if this.length == END {
                break;
            }
            let fetches = this.length == FETCH;
            let before = if fetches { 0 } else { this.slots };
            let before = this.issued - before;
            // What is due comes at the next instruction, wherever a block begins.
            if check && self.time + u64::from(before) >= self.running.deadline {
                self.interrupted(this, before, RESTART);
                return false;
            }
            if !fetches {
                if self.window.is_open() {
                    let loaded = if this.number == 0 {
                        self.wrote
                    } else {
                        this.after
                    };
                    self.look_at_window(this, before, loaded);
                }
                self.time += std::mem::take(&mut wait);
            }
            self.here = Here(op);
            if let Err(exception) = (this.run)(self, this) {
                self.interrupted(this, this.issued, exception);
                return false;
            }
            if !fetches && this.number + 1 == self.head.op().number {
                break;
            }
            check = !fetches;
            // SAFETY: `op` is not the last one.
            op = unsafe { op.add(1) };
        }
        let head = self.head.op();
        self.finish(head);
        true
    }

    /// # Safety
    /// As [`Chain`].
    #[cold]
    #[inline(never)]
    pub(in crate::x86) unsafe fn break_off(
        &mut self,
        op: *const Op,
        exception: Exception,
    ) -> *const Op {
        // SAFETY: the caller's.
        let op = unsafe { &*op };
        self.interrupted(op, op.issued, exception);
        ptr::null()
    }

    /// The block with this head has ended.
    #[inline(always)]
    pub(super) fn finish(&mut self, head: &Op) {
        self.here = Here::NONE;
        self.time += u64::from(head.slots);
        self.instructions += u64::from(head.number);
        self.wrote = head.reg;
    }

    /// The rest of the block that runs goes on one instruction after another, and the next block does.
    pub(in crate::x86) fn run_on_carefully(&mut self) {
        self.due = 0;
        // Behind its last instruction no chain looks at `due`.
        if self.here.op().number + 1 >= self.head.op().number {
            self.running.deadline = 0;
        }
    }

    /// Makes the processor look for events before the next instruction.
    #[inline(always)]
    pub(in crate::x86) fn due_at_once(&mut self) {
        self.running.deadline = 0;
        self.due = 0;
    }
}
