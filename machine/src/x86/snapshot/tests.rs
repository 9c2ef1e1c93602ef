//! Snapshots of x86 machines that were made up, as those of the PowerPC machines are.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::board::Console;
use crate::computer::Stop;
use crate::computer::snapshot::tests::{
    changes, is_refused_or_runs, is_refused_with_clock, is_taken, tree_of, until,
};
use crate::config::Override;
use crate::memory::Ram;
use crate::x86::session::Session;
use crate::x86::{Machine, multiboot};

/// The machine, and what begins its program.
const MACHINES: [(&str, &[u8]); 5] = [
    ("i486dx-50", &PAGED),
    ("p6-200", &PAGED),
    ("p6-200", &WIDE),
    ("p6-200", &[]),
    ("p6-200x2", &PAGED),
];

const DESCRIPTORS: u32 = 0x800;
const CODE: u32 = 0x2000;
const STACK: u32 = 0x8000;

/// Switches caches and paging on, with the directory at 0x3000.
const PAGED: [u8; 24] = [
    0xb8, 0x00, 0x30, 0x00, 0x00, // mov eax, 0x3000
    0x0f, 0x22, 0xd8, // mov cr3, eax
    0x0f, 0x20, 0xc0, // mov eax, cr0
    0x25, 0xff, 0xff, 0xff, 0x9f, // and eax, 0x9fffffff
    0x0d, 0x00, 0x00, 0x00, 0x80, // or eax, 0x80000000
    0x0f, 0x22, 0xc0, // mov cr0, eax
];

/// The same with PAE, and the four entries of the first level at 0x5000.
const WIDE: [u8; 32] = [
    0xb8, 0x20, 0x00, 0x00, 0x00, // mov eax, 0x20
    0x0f, 0x22, 0xe0, // mov cr4, eax
    0xb8, 0x00, 0x50, 0x00, 0x00, // mov eax, 0x5000
    0x0f, 0x22, 0xd8, // mov cr3, eax
    0x0f, 0x20, 0xc0, // mov eax, cr0
    0x25, 0xff, 0xff, 0xff, 0x9f, // and eax, 0x9fffffff
    0x0d, 0x00, 0x00, 0x00, 0x80, // or eax, 0x80000000
    0x0f, 0x22, 0xc0, // mov cr0, eax
];

/// Loads, stores, floating point, a repeated instruction and calls without end.
const ENDLESS: [u8; 53] = [
    0xbe, 0x00, 0x00, 0x01, 0x00, // mov esi, 0x10000
    0x8b, 0x06, // 1: mov eax, [esi]
    0x01, 0x46, 0x04, // add [esi + 4], eax
    0x83, 0xc6, 0x24, // add esi, 36
    0x81, 0xe6, 0xfc, 0xff, 0x0f, 0x00, // and esi, 0xffffc
    0x81, 0xce, 0x00, 0x00, 0x01, 0x00, // or esi, 0x10000
    0xd9, 0xe8, // fld1
    0xdd, 0xd8, // fstp st(0)
    0x89, 0xf7, // mov edi, esi
    0xb9, 0x09, 0x00, 0x00, 0x00, // mov ecx, 9
    0xf3, 0xab, // rep stosd
    0xe8, 0x05, 0x00, 0x00, 0x00, // call 2f
    0x90, // nop
    0xeb, 0xd7, // jmp 1b
    0x90, 0x90, // nop
    0x0f, 0xaf, 0xc0, // 2: imul eax, eax
    0xc3, // ret
    0xf4, // hlt
];

/// A snapshot amid the loop as a tree of values, without its RAM, and the RAM.
fn good((machine, paging): (&str, &[u8])) -> (Value, Ram) {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let small = Override::parse("memory.size=0x200000").expect("a setting");
    let config = Config::from_file(file.as_ref(), &[small]).expect("a machine file");
    let mut machine = Machine::build(&config, Console::memory(), &[]).expect("it can be built");
    let bytes = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let table: Vec<u32> = (0..512).map(|page| page << 12 | 7).collect();
    let ram = machine.uncore_mut().ram.bytes_mut();
    for (at, bytes) in [
        (DESCRIPTORS, multiboot::flat_descriptors()),
        (CODE, [paging, &ENDLESS].concat()),
        (0x3000, bytes(&[0x4007])),
        (0x4000, bytes(&table)),
        (0x5000, bytes(&[0x6001])),
        // A page of 2 MB.
        (0x6000, bytes(&[0xe3])),
    ] {
        ram[at as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let processor = machine.processor_mut();
    processor.enter_flat(DESCRIPTORS, CODE);
    processor.registers.gpr[usize::from(gpr::ESP)] = STACK;
    let mut session = Session {
        machine,
        causes: Vec::new(),
        notes: Vec::new(),
    };
    let all = crate::observe::sanitizers::SanitizerSet {
        translation: true,
        ..Default::default()
    };
    session.sanitize(all).expect("it has this one");
    assert_eq!(session.run(until(9000)), Stop::Limit);
    tree_of(session)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_snapshots_are_refused_or_run(
        machine in 0..MACHINES.len(),
        changes in changes(),
        ram in prop::option::weighted(0.05, 0..0x40_0000_usize),
    ) {
        static GOOD: LazyLock<Vec<(Value, Ram)>> = LazyLock::new(|| MACHINES.into_iter().map(good).collect());
        is_refused_or_runs::<Processor>(&GOOD[machine], &changes, ram)?;
    }
}

#[test]
fn what_was_not_changed_is_taken() {
    for machine in MACHINES {
        is_taken::<Processor>(good(machine));
    }
}

#[test]
fn a_clock_beyond_all_is_refused() {
    is_refused_with_clock::<Processor>(good(MACHINES[0]), u64::MAX);
}
