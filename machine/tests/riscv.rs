//! RISC-V machines: other people's tests of the instruction set and of the privileged architecture, the oracle,
//! snapshots, and what a person may get wrong.

#[path = "riscv/conformance.rs"]
mod conformance;
#[path = "riscv/machine.rs"]
mod machine;
#[path = "riscv/support.rs"]
mod support;
