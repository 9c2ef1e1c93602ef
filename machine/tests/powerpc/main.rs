//! The PowerPC machines: their cores, translation, memory, boards, files and observers, in one program, because each
//! program compiles the engine anew.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/kernel.rs"]
mod kernel;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/words.rs"]
mod words;

mod board;
mod bus_timing;
mod cache;
mod causes;
mod chains;
mod contexts;
mod counters;
mod fads;
mod float_status;
mod hash_walk;
mod hostile;
mod images;
mod linux_boards;
mod listening;
mod machine_files;
mod machine_keys;
mod machine_memory;
mod mpc8xx;
mod mpc8xx_mmu;
mod observing;
mod openpic;
mod openpic_boot;
mod performance_monitor;
mod power;
mod ppc405;
mod ppc405_mmu;
mod ppc405_snapshot;
mod ppc405_synonyms;
mod ppc970;
mod ppc970_mmu;
mod ppc970_state;
mod prep;
mod processors;
mod replacement;
mod replay;
mod sanitizers;
mod schedule;
mod second_tlb;
mod stacks;
mod stopped;
mod supervisor;
mod tlb;
mod translation;
mod walk_cache;
mod walks;
