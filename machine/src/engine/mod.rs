//! Decoded code of any instruction set: [`blocks`] keeps it, and [`straight`] runs it for a processor that needs no
//! more than one instruction after another; [`schedule`] remembers the times of its blocks. x86 chains the parts of its
//! blocks (`x86/chain.rs`). PowerPC decodes whole cache lines, because its pipeline gives a block another cost in each
//! state (`powerpc/engine`). `compiler` is what the compilers of hot code share.

pub mod blocks;
#[cfg(all(feature = "compiler", target_arch = "x86_64", target_os = "linux"))]
pub mod compiler;
pub mod schedule;
pub mod straight;
