//! A run in pieces is the same run: wherever a limit cuts it, no state is lost and nothing is paid twice.

use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::session::Session;

use super::bench::{Bench, CODE, DATA, STACK, WINDOW, config};
use super::{several, snapshot};

const POWER_OFF: u32 = 0x8000_0f08;

fn word(code: &mut Vec<u8>, opcode: &[u8], value: u32) {
    code.extend(opcode);
    code.extend(value.to_le_bytes());
}

/// Repeated string instructions, one of them over a line's end; addresses that wait for their registers; straight
/// code that is longer than a block; code that changes what comes next.
fn program() -> Vec<u8> {
    let mut code = Vec::new();
    word(&mut code, &[0xbb], 5); // mov ebx, 5
    let top = code.len();
    word(&mut code, &[0xb9], 300); // mov ecx, 300
    word(&mut code, &[0xbf], DATA); // mov edi, DATA
    word(&mut code, &[0xbe], DATA + 0x1003); // mov esi
    code.extend([0xf3, 0xa5]); // rep movsd
    word(&mut code, &[0xb9], 41);
    while code.len() % 32 != 30 {
        code.push(0x90);
    }
    code.extend([0x66, 0x66, 0xf3, 0xab]); // rep stosw, whose prefixes end a line
    word(&mut code, &[0xb9], 77);
    word(&mut code, &[0xbf], DATA);
    code.extend([0xf2, 0xae]); // repne scasb
    // Each address waits for the register that the instruction before wrote.
    word(&mut code, &[0xbf], DATA);
    for _ in 0..45 {
        code.extend([0x89, 0xfe, 0x8b, 0x06]); // mov esi, edi; mov eax, [esi]
    }
    // A chain of loads, each of which has the address of the next.
    code.extend([0x89, 0x36]); // mov [esi], esi
    for _ in 0..45 {
        code.extend([0x8b, 0x36]); // mov esi, [esi]
    }
    // The next instruction is inc edx, or, every second time, dec edx.
    code.extend([0x80, 0x35]); // xor byte [next], 8
    let next = CODE + code.len() as u32 + 5;
    code.extend(next.to_le_bytes());
    code.push(8);
    code.push(0x42);
    // Repeated stores over what follows them: eleven times inc edx.
    word(&mut code, &[0xb9], 11);
    word(&mut code, &[0xb8], 0x4242_4242);
    let over = CODE + code.len() as u32 + 5 + 2;
    word(&mut code, &[0xbf], over);
    code.extend([0xf3, 0xaa]); // rep stosb
    code.extend([0x90; 11]);
    code.push(0x4b); // dec ebx
    let back = top as i32 - (code.len() as i32 + 6);
    code.extend([0x0f, 0x85]);
    code.extend(back.to_le_bytes());
    word(&mut code, &[0xc7, 0x05], POWER_OFF);
    code.extend(42_u32.to_le_bytes());
    code.extend([0xeb, 0xfe]);
    code
}

/// What a run leaves: the clocks of all processors, counters, registers, RAM in a sum.
fn outcome(bench: &Bench) -> (String, u64) {
    let machine = &bench.machine;
    let mut text = String::new();
    for processor in machine.processors() {
        let counters = &processor.account.counters;
        let (now, registers) = (processor.instant(), &processor.registers);
        text += &format!("{now:?} {counters:?} {registers:?}\n");
    }
    let ram = machine.uncore().ram.bytes().iter();
    let sum = ram.fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (text, sum)
}

/// Runs `bench` to its end in pieces: of so many cycles, or of so many instructions.
fn run(bench: &mut Bench, cycles: Option<u64>, instructions: Option<u64>) -> Stop {
    for _ in 0..2_000_000 {
        let now = bench.machine.instant();
        let stop = bench.machine.run(Limits {
            cycles: cycles.map_or(u64::MAX, |length| now.cycles + length),
            instructions: instructions.map_or(u64::MAX, |length| now.instructions + length),
        });
        if stop != Stop::Limit {
            return stop;
        }
    }
    panic!("no end");
}

fn one(name: &str, settings: &[&str], oracle: bool) -> Bench {
    let mut bench = Bench::with(&config(name, settings), &program()).paged(6);
    // The control device, at its own address.
    bench.put_word(super::bench::DIRECTORY + 0x800, 0x5_2000 | 7);
    bench.put_word(0x5_2000, 0x8000_0013);
    bench.registers().gpr[4] = STACK;
    bench.machine.set_oracle(oracle);
    bench
}

#[test]
fn pieces_of_any_length_make_the_whole() {
    for (name, settings) in [
        ("i486dx-50", &[][..]),
        ("p6-200", &[]),
        ("p6-200", &["clocks.load=3"]),
        ("p6-200", &[WINDOW, "clocks.load=3"]),
        ("p6-167", &[WINDOW, "bus.depth=8"]),
    ] {
        let mut whole = one(name, settings, false);
        assert_eq!(run(&mut whole, None, None), Stop::PowerOff { status: 42 });
        // The changed instruction runs in its new form at once: dec, inc, dec, inc, dec; and 11 times 5.
        assert_eq!(whole.registers().gpr[2], 54, "{name}");
        let wanted = outcome(&whole);
        for (cycles, instructions, oracle) in [
            (None, None, true),
            (Some(1), None, false),
            (Some(7), None, false),
            (Some(61), None, true),
            (Some(1009), None, false),
            (None, Some(1), false),
            (None, Some(1), true),
            (None, Some(13), false),
            (None, Some(57), false),
            (Some(97), Some(31), false),
        ] {
            let mut cut = one(name, settings, oracle);
            let stop = run(&mut cut, cycles, instructions);
            let what = format!("{name}: {cycles:?} {instructions:?} {oracle}");
            assert_eq!(stop, Stop::PowerOff { status: 42 }, "{what}");
            assert_eq!(outcome(&cut), wanted, "{what}");
        }
    }
}

#[test]
fn pieces_of_several_processors_make_the_whole() {
    for (processors, settings) in [(2, &[][..]), (4, &[]), (2, &[WINDOW])] {
        let make = || several::bench(processors, settings);
        let mut whole = make();
        assert_eq!(run(&mut whole, None, None), Stop::PowerOff { status: 42 });
        let wanted = outcome(&whole);
        for (cycles, instructions) in [
            (Some(1), None),
            (Some(11), None),
            (Some(301), None),
            (Some(5003), None),
            (None, Some(1)),
            (None, Some(17)),
            (None, Some(400)),
        ] {
            let mut cut = make();
            let stop = run(&mut cut, cycles, instructions);
            let what = format!("{processors}: {cycles:?} {instructions:?}");
            assert_eq!(stop, Stop::PowerOff { status: 42 }, "{what}");
            assert_eq!(outcome(&cut), wanted, "{what}");
        }
    }
}

/// The timer interrupts a loop at the same instructions.
#[test]
fn interrupts_come_where_they_come_in_the_whole() {
    for name in ["i486dx-50", "p6-200"] {
        let mut whole = snapshot::one(name);
        let stop = whole.run(Limits::NONE);
        assert_eq!(stop, Stop::PowerOff { status: 42 });
        let wanted = snapshot::outcome(&whole, &stop);
        for (cycles, instructions) in [(Some(997), None), (None, Some(7)), (None, Some(211))] {
            let mut cut = snapshot::one(name);
            let last = loop {
                let now = cut.machine().instant();
                let stop = cut.run(Limits {
                    cycles: cycles.map_or(u64::MAX, |length| now.cycles + length),
                    instructions: instructions.map_or(u64::MAX, |length| now.instructions + length),
                });
                if stop != Stop::Limit {
                    break stop;
                }
            };
            let what = format!("{name}: {cycles:?} {instructions:?}");
            assert_eq!(snapshot::outcome(&cut, &last), wanted, "{what}");
        }
    }
}

/// A limit in the middle of a repeated instruction, and a snapshot there.
#[test]
fn a_snapshot_in_a_repeated_instruction_continues_it() {
    for name in ["i486dx-50", "p6-200"] {
        let text = [super::files::header(0), program()].concat();
        let start = 0x10_0000 + super::files::header(0).len() as u32;
        // The program is linked for CODE: it changes itself there only.
        let mut elf = super::files::executable(0x10_0000, &text);
        elf[24..28].copy_from_slice(&start.to_le_bytes());
        let config = config(name, &[]);
        let make = || {
            let given = (&elf[..], "kernel");
            Session::with_kernel(&config, given, None, None, "", Console::memory()).unwrap()
        };
        let mut whole = make();
        let stop = whole.run(Limits::NONE);
        assert_eq!(stop, Stop::PowerOff { status: 42 });
        let mut parts = make();
        let mut ends = Vec::new();
        let last = loop {
            let now = parts.machine().instant().cycles;
            let stop = parts.run(Limits {
                cycles: now + 401,
                ..Limits::NONE
            });
            if stop != Stop::Limit {
                break stop;
            }
            ends.push(parts.machine().processor().registers.gpr[1]);
            let saved = parts.save().unwrap();
            parts = Session::restore(&saved, "s", Console::memory()).unwrap();
            assert_eq!(parts.save().unwrap(), saved, "{name}");
        };
        assert!(
            ends.iter().any(|left| (1..300).contains(left)),
            "{name}: no repeated instruction was cut"
        );
        assert_eq!(
            parts.report(&last).to_string(),
            whole.report(&stop).to_string(),
            "{name}"
        );
    }
}
