//! A host without a compiler: the interpreter runs all code.

use crate::powerpc::engine::line::Op;
use crate::powerpc::instruction::Instruction;
use crate::powerpc::processor::Processor;

/// No instruction has a template.
#[must_use]
pub fn has_template(_: &Instruction) -> bool {
    false
}

/// No compiler.
#[derive(Default)]
pub struct Compiler;

impl Compiler {
    pub(crate) fn new(_processors: u8, _lead: u32) -> Self {
        Compiler
    }

    /// Nothing is compiled, however often it was seen.
    pub fn set(&mut self, _seen: Option<u32>) {}

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

    pub(crate) fn check(&mut self, _tags: *const u32, _predictor: [usize; 3]) {}
}

impl Processor {
    /// The run loop is about to run `op`.
    ///
    /// # Safety
    /// None is needed here.
    #[inline(always)]
    pub(crate) unsafe fn look_for_hot_code(&mut self, _op: *const Op) {}
}
