//! A compiler for hot code: blocks become code of the host.
//!
//! A block is compiled for the state of the pipeline that it is entered in: a [`code::Version`]. Its cost, the state
//! that it leaves, and the costs of each way on are then constants, so that exact accounting takes two additions.
//! Blocks that follow each other are one piece of code, with one account, as far as it is sure where each goes on.
//! Compiled code makes the checks that the interpreter makes ([`crate::powerpc::engine`]): the deadline for each piece
//! of code, the I-cache's tag for each line entered, the predictor's tables for each branch, a line shortcut for each
//! access. Where a check fails it calls the functions of the interpreter ([`calls`]), with the state as the interpreter
//! has it, and goes on. For a load or store whose line has no shortcut it asks the model to make the access, and moves
//! the data itself ([`access`]). An instruction without a template is run by the interpreter's function alone; one that
//! ends its block leaves compiled code.
//!
//! Code that is not hot is not compiled. The run loop looks at one block of [`PERIOD`]; a block that was seen several
//! times is compiled, and gets [`run_compiled`] as its handler. From there on, each way that compiled code goes often
//! is compiled, and the jump to it leads there.
//!
//! Nothing stale runs. A line that is decoded anew takes its versions with it: jumps to them lead to the interpreter
//! again. A new numbering of the pipeline's states takes all versions. A jump to another page makes the same check as
//! the interpreter, that the page has the shortcut of fetches that it had, and notes the same use of its TLB entry.
//! When memory for code is used up, all versions go. With the oracle on, or while an observer counts time by address,
//! or where the debugger has a breakpoint, the checks of a line or page fail, so that no compiled code runs.
//!
//! There is a compiler for hosts with x86-64 and Linux ([`emit`], [`thunks`]); elsewhere, and where the host forbids
//! executable memory, the interpreter runs all code. It is for cores of 32 bits.
//!
//! [`PERIOD`]: crate::engine::compiler::PERIOD
//!
//! The feature `compiler` leaves all of it out where it is off.

#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod access;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod block;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod calls;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod code;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod compared;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod emit;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod hot;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
mod thunks;

#[cfg(not(all(feature = "compiler", target_arch = "x86_64", target_os = "linux")))]
mod absent;

#[cfg(not(all(feature = "compiler", target_arch = "x86_64", target_os = "linux")))]
pub use absent::{Compiler, has_template};
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub(crate) use emit::{A, Address, Binary, C, D, Emitter, Right, register};
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub use hot::Compiler;

#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub use super::templates::has as has_template;
