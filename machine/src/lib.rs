//! Machines that account for every cycle, TLB entry, hash-table slot and cache line.
//!
//! `powerpc`, `x86`, `riscv`, `memory` and `pipeline` say what the hardware does; `engine` keeps decoded code;
//! `account` counts and `observe` watches; `board` holds the devices; `computer` puts it all together and runs it.

#![cfg_attr(
    not(all(feature = "compiler", target_arch = "x86_64", target_os = "linux")),
    allow(dead_code, reason = "some parts are for compiled code")
)]

pub mod account;
pub mod board;
pub mod computer;
pub mod config;
pub mod debug;
pub mod engine;
mod float;
pub mod loader;
pub mod memory;
pub mod observe;
pub mod pipeline;
pub mod powerpc;
pub mod replay;
pub mod riscv;
pub mod shim;
pub mod tlb;
pub mod x86;
