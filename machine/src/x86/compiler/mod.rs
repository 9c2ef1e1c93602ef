//! A compiler for hot code: blocks ([`super::blocks`]) become code of the host.
//!
//! A block costs what its head says, whatever ran before it, so that its account is two additions. Compiled code makes
//! the checks that the interpreter makes ([`super::chain`]): the deadline for each block, the cache's tag for each line
//! that is fetched, the shortcut of a page and the cache's tag for each access. Where a check fails, it calls the
//! interpreter's function with the state that the interpreter would have ([`calls`]), and goes on; so it does for an
//! instruction without a template ([`templates`]). It leaves for an exception, for what is due, and before an
//! instruction that ends its block otherwise than by a jump. Then the interpreter runs the rest of the block.
//!
//! The general registers are in host registers, and the flags of arithmetic are the host's: compiled code keeps a copy
//! of them only where something may read it.
//!
//! Code that is not hot is not compiled. The run loop looks at one block of [`PERIOD`]; a block that was seen
//! several times is compiled, and [`hot::run_compiled`] becomes the chain of its first op. Jumps between compiled
//! blocks lead to each other. A block that a store drops takes its code with it, before anything else of it runs: the
//! store ends compiled code.
//!
//! Compiled code is for a processor that runs flat segments of 32 bits with paging and the cache on, alone and without
//! observers. Everything else is the interpreter's. In what an i486 and a P6 differ, [`shape`] says.
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
mod shape;
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
