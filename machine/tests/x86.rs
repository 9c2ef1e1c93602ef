//! Processors and machines of the x86 architecture.

#[path = "x86/bench.rs"]
mod bench;
#[path = "x86/compiled.rs"]
mod compiled;
#[path = "x86/compiled_events.rs"]
mod compiled_events;
#[path = "x86/costs.rs"]
mod costs;
#[path = "support/debugger.rs"]
mod debugger;
#[path = "x86/exceptions.rs"]
mod exceptions;
#[path = "x86/files.rs"]
mod files;
#[path = "x86/gdb.rs"]
mod gdb;
#[path = "x86/hostile.rs"]
mod hostile;
#[path = "x86/instructions.rs"]
mod instructions;
#[path = "x86/joined.rs"]
mod joined;
#[path = "x86/linked.rs"]
mod linked;
#[path = "x86/opcodes.rs"]
mod opcodes;
#[path = "x86/paging.rs"]
mod paging;
#[path = "x86/parts.rs"]
mod parts;
#[path = "x86/pieces.rs"]
mod pieces;
#[path = "x86/profile.rs"]
mod profile;
#[path = "x86/programs.rs"]
mod programs;
#[path = "x86/random_code.rs"]
mod random_code;
#[path = "x86/sanitizer.rs"]
mod sanitizer;
#[path = "x86/segments.rs"]
mod segments;
#[path = "x86/several.rs"]
mod several;
#[path = "x86/snapshot.rs"]
mod snapshot;
#[path = "x86/stopped.rs"]
mod stopped;
#[path = "x86/tlb.rs"]
mod tlb;
#[path = "x86/trace.rs"]
mod trace;
#[path = "x86/wide_paging.rs"]
mod wide_paging;
