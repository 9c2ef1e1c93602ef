//! The registers as a stack, and the exceptions that instructions leave in the status word.

use super::extended::Extended;
use super::round::{Computed, Control};
use super::{Fpu, status};

impl Fpu {
    pub(super) fn control(&self) -> Control {
        Control(self.control)
    }

    /// The number of a register, counted from the top of the stack.
    fn number(&self, i: u8) -> usize {
        usize::from(self.top.wrapping_add(i) & 7)
    }

    pub(super) fn is_empty(&self, i: u8) -> bool {
        self.empty >> self.number(i) & 1 != 0
    }

    /// What a register holds, whether it is empty or not.
    pub(super) fn content(&self, i: u8) -> Extended {
        self.registers[self.number(i)]
    }

    /// `None` for an empty register.
    pub(super) fn get(&self, i: u8) -> Option<Extended> {
        (!self.is_empty(i)).then(|| self.content(i))
    }

    pub(super) fn set(&mut self, i: u8, value: Extended) {
        let number = self.number(i);
        self.registers[number] = value;
        self.empty &= !(1 << number);
    }

    pub(super) fn free(&mut self, i: u8) {
        self.empty |= 1 << self.number(i);
    }

    pub(super) fn pop(&mut self) {
        self.free(0);
        self.top = (self.top + 1) & 7;
    }

    pub(super) fn turn(&mut self, by: u8) {
        self.top = self.top.wrapping_add(by) & 7;
    }

    pub(super) fn set_codes(&mut self, mask: u16, codes: u16) {
        self.status = self.status & !mask | codes;
    }

    /// Derives the error summary from flags and masks.
    pub(super) fn summarize(&mut self) {
        let pending = self.control().unmasked(self.status) != 0;
        self.status &= !status::SUMMARY;
        if pending {
            self.status |= status::SUMMARY;
        }
    }

    /// Records exceptions and C1. True if none of `fatal`, which end the instruction without a result, is unmasked.
    fn raise_unless(&mut self, fatal: u16, flags: u16, up: bool) -> bool {
        self.status |= flags;
        self.set_codes(status::C1, if up { status::C1 } else { 0 });
        self.summarize();
        self.control().unmasked(flags & fatal) == 0
    }

    /// Records the exceptions of an instruction that writes a register. False if it must not.
    pub(super) fn raise(&mut self, flags: u16, up: bool) -> bool {
        let before = status::INVALID | status::DENORMAL | status::DIVIDE;
        self.raise_unless(before, flags, up)
    }

    /// May an instruction with these exceptions write its memory operand? It writes none but exact or inexact ones.
    pub(super) fn stores(&self, flags: u16) -> bool {
        self.control().unmasked(flags & !status::PRECISION) == 0
    }

    /// Records the exceptions of such an instruction: what was not stored was not rounded.
    pub(super) fn raise_store(&mut self, flags: u16, up: bool) {
        if self.stores(flags) {
            self.raise(flags, up);
        } else {
            self.raise(flags & !status::PRECISION, false);
        }
    }

    /// Writes a result to a register, unless an exception forbids it. True if it did.
    pub(super) fn deliver(&mut self, i: u8, result: Computed) -> bool {
        let goes_on = self.raise(result.flags, result.up);
        if goes_on {
            self.set(i, result.value);
        }
        goes_on
    }

    /// Pushes a result, unless an exception forbids it.
    pub(super) fn push(&mut self, result: Computed) {
        let result = if self.is_empty(7) || result.flags & status::STACK != 0 {
            result
        } else {
            Computed::overflow()
        };
        // A denormal operand that is not masked is loaded nevertheless.
        if self.raise_unless(status::INVALID, result.flags, result.up) {
            self.turn(7);
            self.set(0, result.value);
        }
    }
}
