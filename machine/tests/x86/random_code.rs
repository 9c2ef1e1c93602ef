//! Random bytes as code: nothing panics or hangs, and the oracle does the same as the fast paths.

use pagewalk_machine::x86::Stop;
use proptest::prelude::*;

use super::bench::{Bench, CODE, DATA, WINDOW, config};

/// Bytes that begin common instructions, so that not every run ends at once.
const COMMON: &[u8] = &[
    0x01, 0x03, 0x29, 0x2b, 0x31, 0x39, 0x40, 0x48, 0x50, 0x58, 0x66, 0x69, 0x75, 0x74, 0x80, 0x81,
    0x83, 0x85, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8d, 0xa4, 0xab, 0xc1, 0xd3, 0xe8, 0xeb, 0xf3, 0xf7,
    0xff, 0x0f, 0xa3, 0xb6, 0xbe, 0xaf, 0xc3, 0xe2,
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => proptest::sample::select(COMMON), 2 => any::<u8>()];
    proptest::collection::vec(byte, 64..1500)
}

/// What a run leaves: stop, registers, counters, RAM.
pub fn outcome(bench: &mut Bench, oracle: bool, instructions: u64) -> (Stop, String, u64) {
    bench.machine.set_oracle(oracle);
    let stop = bench.run(instructions);
    let processor = bench.machine.processor();
    let text = format!(
        "{:?} {:?} {:?} {:?}",
        processor.registers,
        processor.instant(),
        processor.account.counters,
        processor.account.counters.exception
    );
    let ram = bench.machine.uncore().ram.bytes();
    let sum = ram.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (stop, text, sum)
}

fn bench(kind: usize, mode: u8, code: &[u8], gpr: [u32; 8]) -> Bench {
    let (name, settings) = [
        ("i486dx-50", &[][..]),
        ("p6-200", &[]),
        ("p6-167", &[WINDOW, "bus.depth=8"]),
    ][kind];
    let mut bench = Bench::with(&config(name, settings), code);
    if mode & 1 != 0 {
        bench = bench.paged(if mode & 4 != 0 { 6 } else { 0x66 });
    }
    if mode & 2 != 0 {
        bench = bench.user();
    }
    for vector in 0..20 {
        // Handlers return at once, so that the next bytes run too.
        bench = bench.gate(vector, 3);
        let coded = matches!(vector, 8 | 10..=14 | 17);
        let skip: &[u8] = if coded {
            &[0x83, 0xc4, 0x04, 0x83, 0x04, 0x24, 0x01, 0xcf]
        } else {
            &[0x83, 0x04, 0x24, 0x01, 0xcf]
        };
        bench.put(super::bench::handler(vector), skip);
    }
    for (n, value) in gpr.into_iter().enumerate() {
        if n != 4 {
            bench.registers().gpr[n] = if value & 1 != 0 {
                DATA + (value & 0xffff)
            } else {
                value
            };
        }
    }
    bench.processor().modes_changed();
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_oracle_agrees(
        kind in 0usize..3,
        mode in 0u8..8,
        code in bytes(),
        gpr: [u32; 8],
    ) {
        let mut fast = bench(kind, mode, &code, gpr);
        let mut plain = bench(kind, mode, &code, gpr);
        let a = outcome(&mut fast, false, 3000);
        let b = outcome(&mut plain, true, 3000);
        prop_assert_eq!(&a.0, &b.0);
        prop_assert_eq!(&a.1, &b.1);
        prop_assert_eq!(a.2, b.2);
    }

    /// A run in parts is the same run, whatever the code does to itself.
    #[test]
    fn parts_make_the_whole(
        kind in 0usize..3,
        mode in 0u8..8,
        code in bytes(),
        gpr: [u32; 8],
        parts in proptest::collection::vec(1u64..200, 1..10),
    ) {
        let (mut whole, mut cut) = (bench(kind, mode, &code, gpr), bench(kind, mode, &code, gpr));
        let total: u64 = parts.iter().sum();
        let a = outcome(&mut whole, false, total);
        let mut b = None;
        for part in parts {
            if matches!(b, None | Some((Stop::Limit, _, _))) {
                b = Some(outcome(&mut cut, false, part));
            }
        }
        let b = b.unwrap();
        // A limit of cycles came first: each part has one of its own.
        let unfinished = |bench: &Bench| bench.machine.instant().instructions < total;
        prop_assume!(a.0 != Stop::Limit || !unfinished(&whole));
        prop_assert_eq!(&a.0, &b.0);
        prop_assert_eq!(&a.1, &b.1);
        prop_assert_eq!(a.2, b.2);
    }
}

/// Code that writes over itself runs anew at once, with and without the oracle.
#[test]
fn modified_code_is_seen() {
    // mov byte [CODE + 16], 0x43 (inc ebx); jmp CODE + 16; at CODE + 16: inc eax; hlt
    let mut code = vec![0xc6, 0x05];
    code.extend((CODE + 16).to_le_bytes());
    code.extend([0x43, 0xeb, 0x07]);
    code.resize(16, 0x90);
    code.extend([0x40, 0xf4]);
    for name in ["i486dx-50", "p6-200"] {
        for oracle in [false, true] {
            let mut bench = Bench::new(name, &code);
            bench.machine.set_oracle(oracle);
            // The first pass decodes the old instruction.
            bench.registers().eip = CODE + 16;
            bench.processor().modes_changed();
            bench.run(1);
            bench.registers().eip = CODE;
            bench.processor().modes_changed();
            bench.run(10);
            let gpr = bench.registers().gpr;
            assert_eq!((gpr[0], gpr[3]), (1, 1), "{name}, oracle {oracle}");
        }
    }
}
