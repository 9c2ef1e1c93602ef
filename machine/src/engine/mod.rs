//! Decoded code of any instruction set: [`blocks`] keeps it, and [`straight`] runs it for a processor that needs no
//! more than one instruction after another; [`schedule`] remembers the times of its blocks. x86 chains the parts of its
//! blocks (`x86/chain.rs`). PowerPC decodes whole cache lines, because its pipeline gives a block another cost in each
//! state (`powerpc/engine`).

pub mod blocks;
pub mod schedule;
pub mod straight;
