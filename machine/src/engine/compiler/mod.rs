//! What the compilers of hot code share, whatever they compile: memory for code ([`memory`]), the host's assembler
//! ([`assembler`]), and whether compiled code pays ([`pays`]). Their host is x86-64 with Linux.

pub mod assembler;
pub mod memory;
pub mod pays;
