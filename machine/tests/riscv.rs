//! RISC-V machines: random instructions against QEMU, other people's tests of the instruction set and of the privileged
//! architecture, TLBs against a model, the oracle, snapshots, and what a person may get wrong.

#[path = "riscv/compiled.rs"]
mod compiled;
#[path = "riscv/conformance.rs"]
mod conformance;
#[path = "support/debugger.rs"]
mod debugger;
#[path = "riscv/differential.rs"]
mod differential;
#[path = "riscv/extensions.rs"]
mod extensions;
#[path = "riscv/machine.rs"]
mod machine;
#[path = "riscv/names.rs"]
mod names;
#[path = "riscv/sanitizer.rs"]
mod sanitizer;
#[path = "riscv/support.rs"]
mod support;
#[path = "riscv/tlb.rs"]
mod tlb;
#[path = "riscv/translation.rs"]
mod translation;
