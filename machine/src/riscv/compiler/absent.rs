//! A host without a compiler: the interpreter runs all code.

use crate::engine::straight::Straight;
use crate::riscv::op::Op;
use crate::riscv::processor::Processor;
use crate::riscv::trap::Raised;

/// No compiler.
#[derive(Default)]
pub struct Compiler;

impl Compiler {
    pub(in crate::riscv) fn new(_processors: u8) -> Self {
        Compiler
    }

    /// Blocks that were compiled so far.
    #[must_use]
    pub fn made(&self) -> u64 {
        0
    }

    /// No jump is noted.
    #[must_use]
    pub fn links(&self) -> usize {
        0
    }

    /// Nothing was to be compiled, so nothing was refused.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        None
    }
}

impl Processor {
    /// Nothing is compiled, however often it was seen.
    pub(in crate::riscv) fn set_compiled(&mut self, _seen: Option<u32>) {}

    /// The run loop is about to run what is behind `part`.
    ///
    /// # Safety
    /// None is needed here.
    #[inline(always)]
    pub(in crate::riscv) unsafe fn run_compiled(
        &mut self,
        _part: *const Straight<Op>,
    ) -> Option<Result<(), Raised>> {
        None
    }
}
