//! Snapshots of machines that a fatal error has stopped, on every machine file, as `tests/stopped.rs` has them for
//! PowerPC machines.

use std::path::Path;

use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::{Config, Fatal, Stop};

use super::bench::config;
use super::hostile::{session, survives_a_snapshot};

/// `lidt` of a table without entries: the next exception is the last.
const NO_HANDLERS: &[u8] = &[0x0f, 0x01, 0x1d, 0, 0x70, 0, 0];

/// Programs that end at once, by what ends them.
const ENDS: &[(&str, &[u8])] = &[
    ("ud2", &[0x0f, 0x0b]),
    ("int 0x30", &[0xcd, 0x30]),
    ("cli; hlt", &[0xfa, 0xf4]),
    ("sti; ud2", &[0xfb, 0x0f, 0x0b]),
    // mov eax, ss; mov ss, eax; ud2
    ("mov ss; ud2", &[0x8c, 0xd0, 0x8e, 0xd0, 0x0f, 0x0b]),
    // push 0x102; popf; nop
    (
        "single step",
        &[0xbc, 0, 0x80, 0, 0, 0x68, 2, 1, 0, 0, 0x9d, 0x90, 0x90],
    ),
    // The stack begins at 0x70: pusha runs into address 0xfffffff0, where there is no RAM but no fault either.
    ("pusha; ud2", &[0xbc, 0x10, 0, 0, 0, 0x60, 0x0f, 0x0b]),
    ("iret to nothing", &[0xbc, 0, 0x70, 0, 0, 0xcf]),
    ("jmp to a bad selector", &[0xea, 0, 0, 0, 0, 0xff, 0xff]),
    // xor edx, edx; div edx
    ("div by zero", &[0x31, 0xd2, 0xf7, 0xf2]),
    // fninit; mov word [0x7100], 0; fldcw [0x7100]; fldz; fld1; fdivrp; fwait, with CR0.NE
    (
        "an exception of the FPU",
        &[
            0x0f, 0x20, 0xc0, 0x83, 0xc8, 0x20, 0x0f, 0x22, 0xc0, 0xdb, 0xe3, 0x66, 0xc7, 0x05, 0,
            0x71, 0, 0, 0, 0, 0xd9, 0x2d, 0, 0x71, 0, 0, 0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, 0x9b,
        ],
    ),
    // Paging with the directory at 0x800000, where there is no RAM.
    (
        "a directory that is nowhere",
        &[
            0xb8, 0, 0, 0x80, 0, 0x0f, 0x22, 0xd8, 0x0f, 0x20, 0xc0, 0x0d, 0, 0, 0, 0x80, 0x0f,
            0x22, 0xc0, 0x90,
        ],
    ),
    // Paging with a 4 KB identity map of the first 4 MB but for its last MB, then: mov ecx, 0x1000; mov edi, 0x2ff000
    // ; rep stosd; the same with pusha at the edge.
    ("rep stos into a hole", &REP_INTO_A_HOLE),
];

/// Fills the page table at 0x6000 for 3 MB, the directory at 0x5000, switches paging on, and stores to both sides of
/// the edge by one instruction.
const REP_INTO_A_HOLE: [u8; 70] = {
    let mut code = [0x90; 70];
    let text: [u8; 65] = [
        0xbf, 0, 0x60, 0, 0, // mov edi, 0x6000
        0xb8, 7, 0, 0, 0, // mov eax, 7
        0xb9, 0, 3, 0, 0,    // mov ecx, 0x300
        0xab, // stosd
        0x05, 0, 0x10, 0, 0, // add eax, 0x1000
        0xe2, 0xf8, // loop to the stosd
        0xc7, 0x05, 0, 0x50, 0, 0, 7, 0x60, 0, 0, // mov dword [0x5000], 0x6007
        0xb8, 0, 0x50, 0, 0, // mov eax, 0x5000
        0x0f, 0x22, 0xd8, // mov cr3, eax
        0x0f, 0x20, 0xc0, // mov eax, cr0
        0x0d, 0, 0, 0, 0x80, // or eax, 0x80000000
        0x0f, 0x22, 0xc0, // mov cr0, eax
        0xb9, 0, 0x10, 0, 0, // mov ecx, 0x1000
        0xbf, 0, 0xf0, 0x2f, 0, // mov edi, 0x2ff000
        0xf3, 0xab, // rep stosd
        0x90,
    ];
    let mut n = 0;
    while n < text.len() {
        code[n] = text[n];
        n += 1;
    }
    code
};

#[test]
fn a_machine_stopped_within_an_instruction_is_restored_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines");
    let mut machines = 0;
    for entry in folder.read_dir().unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|end| end != "toml")
            || Config::from_file(&file, &[]).is_err()
        {
            continue;
        }
        machines += 1;
        let name = file.file_stem().unwrap().to_str().unwrap();
        for (what, end) in ENDS {
            let code = [NO_HANDLERS, end, &[0x0f, 0x0b]].concat();
            let mut session = session(&config(name, &["memory.size=0x400000"]), &code);
            let stop = session.run(Limits {
                cycles: 200_000,
                ..Limits::NONE
            });
            assert!(
                matches!(
                    stop,
                    Stop::Fatal(Fatal::TripleFault { .. } | Fatal::Asleep { .. })
                ),
                "{name}: {what}: {stop:?}"
            );
            for _ in 0..2 {
                survives_a_snapshot(&mut session)
                    .unwrap_or_else(|error| panic!("{name}: {what}: {error}"));
            }
        }
    }
    assert!(machines > 3, "{machines}");
}
