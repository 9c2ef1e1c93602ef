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

#[test]
fn transcendental_functions_are_near_the_hosts() {
    agree(number("PAGEWALK_SEQUENCES", CASES) / 40, |opcode, modrm| {
        opcode == 1 && matches!(modrm, 0xf0..=0xf3 | 0xf9 | 0xfb | 0xfe | 0xff)
    });
}
