//! A host without a compiler: the interpreter runs all code.

use crate::x86::op::Op;
use crate::x86::processor::Processor;

/// No compiler.
#[derive(Default)]
pub struct Compiler;

impl Compiler {
    pub(in crate::x86) fn new(_processors: u8) -> Self {
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
    pub(in crate::x86) fn set_compiled(&mut self, _seen: Option<u32>) {}

    /// The run loop is about to run the block at `head`.
    #[inline(always)]
    pub(in crate::x86) fn look_for_hot_code(&mut self, _head: *const Op) {}
}
