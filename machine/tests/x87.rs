//! The floating-point unit, instruction by instruction, against this computer's own: registers, control, status and tag
//! words, stores and flags must be the same. Transcendental functions may differ by the manuals' accuracy.
//!
//! `PAGEWALK_SEQUENCES` sets how many instructions are run and `PAGEWALK_SEED` where they begin.
#![cfg(target_arch = "x86_64")]

#[path = "x87/behaviour.rs"]
mod behaviour;
#[path = "x87/host.rs"]
mod host;
#[path = "x87/operands.rs"]
mod operands;
#[path = "differential/random.rs"]
mod random;

use std::collections::BTreeMap;

use host::{Case, End};
use operands::Generator;

const CASES: u64 = 200_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: a number is wanted"))
    })
}

/// Runs `cases` instructions that `wanted` chooses by opcode and second byte.
fn agree(cases: u64, wanted: impl Fn(u8, u8) -> bool) {
    let mut generator = Generator::new(number("PAGEWALK_SEED", 1));
    // One difference of each instruction is shown, and how many there are.
    let mut differing: BTreeMap<(u8, u8), (u32, String)> = BTreeMap::new();
    for _ in 0..cases {
        let case = generator.case(&wanted);
        let (ours, theirs) = (host::ours(&case), host::theirs(&case));
        if let Some(difference) = difference(&case, &ours, &theirs) {
            let entry = differing.entry(case.group()).or_insert((0, difference));
            entry.0 += 1;
        }
    }
    let lines: Vec<String> = differing
        .values()
        .map(|(count, difference)| format!("{count} of {difference}"))
        .collect();
    assert!(
        lines.is_empty(),
        "start, ours, theirs\n{}",
        lines.join("\n")
    );
}

fn is_transcendental(case: &Case) -> bool {
    case.opcode == 1 && matches!(case.modrm, 0xf0..=0xf3 | 0xf9 | 0xfb | 0xfe | 0xff)
}

fn difference(case: &Case, ours: &End, theirs: &End) -> Option<String> {
    if operands::underflows_on_amd(case, theirs) {
        return None;
    }
    let (a, b) = if is_transcendental(case) {
        operands::tolerant(case, ours, theirs)
    } else {
        (ours.clone(), theirs.clone())
    };
    (a != b).then(|| format!("{}\n  {a}\n  {b}", case.describe()))
}

#[test]
fn arithmetic_of_registers_is_the_hosts() {
    agree(number("PAGEWALK_SEQUENCES", CASES), |opcode, modrm| {
        modrm >= 0xc0 && !(opcode == 1 && modrm >= 0xf0)
    });
}

#[test]
fn loads_and_stores_are_the_hosts() {
    agree(number("PAGEWALK_SEQUENCES", CASES), |_, modrm| modrm < 0xc0);
}

#[test]
fn remainders_roots_and_scaling_are_the_hosts() {
    agree(number("PAGEWALK_SEQUENCES", CASES), |opcode, modrm| {
        opcode == 1 && matches!(modrm, 0xf4..=0xf8 | 0xfa | 0xfc | 0xfd)
    });
}

/// Remainders and scaling of the least numbers, of infinity and of what lies between, with underflow masked or not.
#[test]
fn the_least_operands_of_remainders_and_scaling_give_what_the_host_gives() {
    let operands = [
        (0x0000, 1),
        (0x8000, 0x3960_8d6f_d5c0_0000),
        (0x0000, 0x7fff_ffff_ffff_ffff),
        (0x0000, 0x8000_0000_0000_0001),
        (0x0001, 0x8000_0000_0000_0001),
        (0x8002, 0xffff_ffff_ffff_ffff),
        (0x0040, 0xc000_0000_0000_0001),
        (0x3fff, 0x8000_0000_0000_0000),
        (0xbfff, 0xc000_0000_0000_0000),
        (0x7ffe, 0xffff_ffff_ffff_ffff),
        (0x7fff, 0x8000_0000_0000_0000),
        (0xffff, 0x8000_0000_0000_0000),
        (0x0000, 0),
    ];
    let mut differences = Vec::new();
    for modrm in [0xf5, 0xf8, 0xfd] {
        for (a, b) in operands.iter().flat_map(|a| operands.map(|b| (*a, b))) {
            for control in 0..48_u16 {
                // All masks but those of underflow and of the denormal operand; precision and rounding.
                let masks = 0x6d | (control & 1) << 1 | (control & 2) << 3;
                let precision = [0, 2, 3][usize::from(control >> 2) % 3] << 8;
                let case = Case::of(modrm, masks | precision | (control / 12) << 10, [a, b]);
                differences.extend(difference(&case, &host::ours(&case), &host::theirs(&case)));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences; start, ours, theirs\n{}",
        differences.len(),
        differences[..differences.len().min(12)].join("\n")
    );
}

#[test]
fn transcendental_functions_are_near_the_hosts() {
    agree(number("PAGEWALK_SEQUENCES", CASES) / 40, |opcode, modrm| {
        opcode == 1 && matches!(modrm, 0xf0..=0xf3 | 0xf9 | 0xfb | 0xfe | 0xff)
    });
}
