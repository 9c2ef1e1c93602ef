//! A compiler for hot code: blocks ([`crate::engine::straight`]) become code of the host.
//!
//! The instructions behind a part of a block, its head or one of its instructions, are compiled for the state of the
//! pipeline that they begin in: a [`code::Version`]. The cycles that they take and the state that they leave are then
//! constants ([`crate::engine::schedule`]), so that an account takes two additions. Compiled code makes the checks that
//! the interpreter makes: the deadline for each block, the I-cache's tag for each line entered, the predictor's tables
//! for each branch, the shortcut of a page and the D-cache's tag for each access. Where a check fails, it calls the
//! interpreter's function with the state that the interpreter would have ([`calls`]), and goes on; so it does for an
//! instruction without a template ([`templates`]). Where a load, a store or a fetch takes longer than its schedule
//! says, the instructions behind it go on by code for the state that the wait has left, if there is some, or by the
//! interpreter. It is left for exceptions, for what is due, and behind instructions that may change the mode.
//!
//! Code that is not hot is not compiled. The run loop looks at one block of [`PERIOD`]; what was seen several times is
//! compiled, and so is what compiled code often goes on to. Jumps between compiled blocks lead to each other. A store
//! that drops a block leaves compiled code, and takes the block's code with it.
//!
//! Compiled code is for one processor that translates by page tables, without oracle, sanitizers, breakpoints, or
//! observers that are told of time. Everything else is the interpreter's.
//!
//! [`PERIOD`]: crate::engine::compiler::PERIOD

#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod block;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod calls;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod code;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod emit;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod hot;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod templates;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod thunks;

#[cfg(not(all(feature = "compiler", target_arch = "x86_64", target_os = "linux")))]
mod absent;

#[cfg(not(all(feature = "compiler", target_arch = "x86_64", target_os = "linux")))]
pub use absent::Compiler;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub use hot::Compiler;
