//! What the fast paths leave out, join, or find again: flags that nothing reads, and pages whose TLB entry was not the
//! one used last in its set. The oracle must see the same, wherever a run is cut.

use super::bench::{Bench, TABLE, handler};
use super::random_code::outcome;

const MACHINES: [&str; 2] = ["i486dx-50", "p6-200"];
const PROGRAM: u32 = 0x6_0000;
const LOG: u32 = 0x10_0000;
/// No page is there.
const NOWHERE: u32 = 0xdead_0000;

/// Instructions of EAX to EDX that make flags: with their chains, that is by shifts, by INC and the like.
const MAKERS: &[&[u8]] = &[
    &[0x01, 0xd8],                   // add eax, ebx
    &[0x29, 0xd8],                   // sub eax, ebx
    &[0x31, 0xd8],                   // xor eax, ebx
    &[0x83, 0xe0, 0x7f],             // and eax, 0x7f
    &[0x0d, 0x01, 0x00, 0x00, 0x80], // or eax, 0x80000001
    &[0x40],                         // inc eax
    &[0x48],                         // dec eax
    &[0xc1, 0xe0, 0x03],             // shl eax, 3
    &[0xd1, 0xe8],                   // shr eax, 1
    &[0xc1, 0xf8, 0x02],             // sar eax, 2
    &[0xc1, 0xc0, 0x05],             // rol eax, 5
    &[0xd1, 0xc8],                   // ror eax, 1
    &[0xf7, 0xd8],                   // neg eax
    &[0xc1, 0xe0, 0x20],             // shl eax, 32: changes nothing
];

/// What comes behind: it leaves the flags, reads them, or is where the program can be left.
const BETWEEN: &[&[u8]] = &[
    &[],
    &[0x89, 0xc1],                                     // mov ecx, eax
    &[0x8d, 0x0c, 0x40],                               // lea ecx, [eax + 2 * eax]
    &[0x0f, 0x92, 0xc1],                               // setc cl
    &[0x8b, 0x0d, 0x00, 0x00, 0xad, 0xde],             // mov ecx, [NOWHERE]
    &[0x8b, 0x0d, 0x00, 0x00, 0x10, 0x00],             // mov ecx, [LOG]
    &[0x75, 0x00],                                     // jne, to the next instruction
    &[0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90], // over the end of a line
];

/// What then gives flags anew, or not all of them.
const LAST: &[&[u8]] = &[
    &[0x01, 0xda],       // add edx, ebx
    &[0x11, 0xda],       // adc edx, ebx
    &[0x39, 0xda],       // cmp edx, ebx
    &[0x85, 0xd2],       // test edx, edx
    &[0x42],             // inc edx
    &[0xc1, 0xe2, 0x00], // shl edx, 0
    &[0xc1, 0xea, 0x01], // shr edx, 1
    &[0xd3, 0xe2],       // shl edx, cl
    &[0xf7, 0xd2],       // not edx
];

/// All combinations, each with its flags written to the log. A page fault logs its flags too, and goes on.
fn program(name: &str) -> Bench {
    let mut code = Vec::new();
    for maker in MAKERS {
        for between in BETWEEN {
            for last in LAST {
                for part in [maker, between, last] {
                    code.extend_from_slice(part);
                }
                code.extend([0x55, 0x9c, 0x5d, 0x89, 0x2f, 0x83, 0xc7, 4, 0x5d]); // log by EBP and EDI
            }
        }
    }
    code.push(0xf4);
    let mut bench = Bench::new(name, &[]).paged(6).gate(14, 0);
    bench.put(PROGRAM, &code);
    // add esp, 4; push ebp; mov ebp, [esp + 12]; mov [edi], ebp; jmp rest
    let first = [0x83, 0xc4, 4, 0x55, 0x8b, 0x6c, 0x24, 12, 0x89, 0x2f, 0xe9];
    bench.put(handler(14), &first);
    let rest = PROGRAM - 0x100;
    let from = handler(14) + first.len() as u32 + 4;
    bench.put(
        handler(14) + first.len() as u32,
        &rest.wrapping_sub(from).to_le_bytes(),
    );
    // add edi, 4; pop ebp; add dword [esp], 6; iretd
    bench.put(rest, &[0x83, 0xc7, 4, 0x5d, 0x83, 0x04, 0x24, 6, 0xcf]);
    let registers = bench.registers();
    registers.eip = PROGRAM;
    registers.gpr[..4].copy_from_slice(&[0x8000_0003, NOWHERE, 0x7fff_ffff, 0x1234_5679]);
    registers.gpr[7] = LOG + 64;
    bench
}

#[test]
fn nobody_misses_the_flags_that_are_not_made() {
    let count = (MAKERS.len() * BETWEEN.len() * LAST.len()) as u32;
    for name in MACHINES {
        let (mut fast, mut plain) = (program(name), program(name));
        assert_eq!(
            outcome(&mut fast, false, 100_000),
            outcome(&mut plain, true, 100_000),
            "{name}"
        );
        let logged = (fast.registers().gpr[7] - LOG - 64) / 4;
        assert_eq!(logged, count + count / BETWEEN.len() as u32, "{name}");
    }
}

/// The same with the run cut behind every few instructions, where flags are in sight.
#[test]
fn a_cut_shows_all_flags() {
    for name in MACHINES {
        for step in [1, 2, 3, 5] {
            let (mut fast, mut plain) = (program(name), program(name));
            plain.machine.set_oracle(true);
            for _ in 0..1500 / step {
                let [a, b] = [&mut fast, &mut plain].map(|bench| {
                    let stop = bench.run(step);
                    let now = bench.machine.instant();
                    format!(
                        "{stop:?} {:x} {:?} {now:?}",
                        bench.flags(),
                        bench.registers().gpr
                    )
                });
                assert_eq!(a, b, "{name}");
            }
        }
    }
}

/// Random accesses to pages that share sets of the TLB with each other and with the code, of all kinds and rights.
fn walk(name: &str, user: bool, seed: u32) -> Bench {
    let mut state = seed;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let page = |n: u32| LOG + (n % 5) * 0x1000 + (n / 5) * 0x8000;
    let mut code = Vec::new();
    for _ in 0..1500 {
        let at = page(random(25)) + random(8) * 4 * random(120) + u32::from(random(9) == 0);
        let opcode: &[u8] = match random(8) {
            0 | 1 => &[0x8b, 0x0d], // mov ecx, [at]
            2 => &[0x03, 0x15],     // add edx, [at]
            3 | 4 => &[0x89, 0x05], // mov [at], eax
            5 => &[0x01, 0x15],     // add [at], edx
            6 => &[0x39, 0x0d],     // cmp [at], ecx
            _ => &[0xff, 0x35],     // push dword [at]
        };
        code.extend(opcode);
        code.extend(at.to_le_bytes());
        match random(12) {
            0 => code.extend([0x75, 0x00]), // jne, to the next instruction
            1 => code.extend([0xeb, 0x00]), // jmp
            2 => code.extend([0x40; 3]),    // inc eax
            3 => code.push(0x59),           // pop ecx
            _ => {}
        }
    }
    code.push(0xf4);
    let mut bench = Bench::new(name, &[]).paged(6).gate(14, 0).gate(13, 0);
    if user {
        bench = bench.user();
    }
    // P with all combinations of W, U, PWT and PCD; A and D are set in some.
    for n in 0..25 {
        let bits = match random(6) {
            0 => 4 | random(2) << 3 | random(2) << 4,
            1 => 2 | 0x60,
            2 => 6 | 0x20,
            _ => 6,
        };
        bench.put_word(TABLE + (page(n) >> 12) * 4, page(n) | 1 | bits);
    }
    bench.put(PROGRAM, &code);
    // add esp, 4; add dword [esp], 6; iretd
    bench.put(handler(14), &[0x83, 0xc4, 4, 0x83, 0x04, 0x24, 6, 0xcf]);
    bench.registers().eip = PROGRAM;
    bench
}

#[test]
fn pages_that_share_a_set_of_the_tlb_are_found_again() {
    for name in MACHINES {
        for (user, seed) in [(false, 1), (true, 2), (true, 3)] {
            let (mut fast, mut plain) = (walk(name, user, seed), walk(name, user, seed));
            let a = outcome(&mut fast, false, 10_000);
            assert_eq!(a, outcome(&mut plain, true, 10_000), "{name} {user} {seed}");
            // The TLB of a P6 holds all of the pages.
            let least = if name == "i486dx-50" { 300 } else { 20 };
            assert!(
                fast.counter("tlb.data.miss") > least,
                "{name} {user} {seed}"
            );
            let mut cut = walk(name, user, seed);
            for _ in 0..1000 {
                cut.run(7);
            }
            let rest = outcome(&mut cut, false, 10_000);
            assert_eq!((&a.1, a.2), (&rest.1, rest.2), "{name} {user} {seed}");
        }
    }
}
