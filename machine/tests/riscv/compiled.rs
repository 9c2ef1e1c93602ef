//! Compiled code beside the interpreter and the oracle: programs under page tables that call, jump by registers, loop,
//! change their code, fault, and are interrupted by a timer, wherever the run is cut.

use pagewalk_machine::computer::{Limits, Stop, snapshot};
use pagewalk_machine::riscv::Config;
use pagewalk_machine::riscv::session::Session;
use pagewalk_machine::riscv::shim::Program;
use pagewalk_machine::shim::Ending;

use super::differential::{self, Random, batch, i, jal, r, s, step, words};
use super::extensions::{csrw, li};
use super::support::{config, elf, session};

const START: u64 = 0x8000_0000;
/// From the beginning of RAM: tables of 1 GB, of 2 MB and of 4 KB; the program; its data, at which x31 points; its
/// memory, at which x30 points; the frames of the small pages.
const ROOT: usize = 0x1000;
const MIDDLE: usize = 0x2000;
const LEAVES: usize = 0x3000;
const CODE: usize = 0x1_0000;
const DATA: usize = 0x3_0000;
const MEMORY: usize = 0x3_2000;
const FRAMES: usize = 0x4_0000;
const END: usize = 0x6_0000;
/// Small pages begin here, and there are so many. The last ones are read-only, without a D bit, and absent.
const SMALL: u64 = 0x4000_0000;
const PAGES: u32 = 20;

/// A program, and what it is run with.
struct Case {
    elf: Vec<u8>,
    config: Config,
}

fn lui(rd: u32, value: u32) -> u32 {
    value & 0xffff_f000 | rd << 7 | 0x37
}

fn csr(kind: u32, rd: u32, number: u32, rs1: u32) -> u32 {
    number << 20 | rs1 << 15 | kind << 12 | rd << 7 | 0x73
}

/// A branch, by the number of its condition.
fn b(kind: u32, rs1: u32, rs2: u32, away: i32) -> u32 {
    let away = away.cast_unsigned();
    (away >> 12 & 1) << 31
        | (away >> 5 & 63) << 25
        | rs2 << 20
        | rs1 << 15
        | kind << 12
        | (away >> 1 & 15) << 8
        | (away >> 11 & 1) << 7
        | 0x63
}

/// What machine mode does: it gives control to the program, takes its traps, and ends the run at ebreak.
fn firmware(supervisor: bool, period: i32) -> Vec<u32> {
    const MTIMECMP: u32 = 0x200_4000;
    const SAVED: u64 = START + 0x700;
    let mut handler = vec![
        csr(1, 5, 0x340, 5), // csrrw t0, mscratch, t0
        s(0x23, 3, 5, 6, 0),
        s(0x23, 3, 5, 7, 8),
        csr(2, 6, 0x342, 0), // csrr t1, mcause
        b(4, 6, 0, 40),      // bltz t1, the timer
        i(0x13, 0, 6, 6, -3),
        b(0, 6, 0, 52),      // beqz t1, the end
        csr(2, 6, 0x341, 0), // csrr t1, mepc
        i(0x13, 0, 6, 6, 4),
        csr(1, 0, 0x341, 6),
        i(0x03, 3, 6, 5, 0), // back
        i(0x03, 3, 7, 5, 8),
        csr(1, 5, 0x340, 5),
        0x3020_0073,
        lui(6, MTIMECMP), // the timer
        i(0x03, 3, 7, 6, 0),
        i(0x13, 0, 7, 7, period),
        s(0x23, 3, 6, 7, 0),
        jal(0, 72, 40),
    ];
    handler.extend(li(5, 0x10_0000)); // the end
    handler.extend(li(6, 0x5555));
    handler.extend([s(0x23, 2, 5, 6, 0), 0x6f]);
    let mode = if supervisor { 1 << 11 } else { 0 };
    let root = (START + ROOT as u64) >> 12;
    let mut code = vec![jal(0, 0, 4 + 4 * handler.len())];
    code.extend(handler);
    for (number, value) in [
        (0x305, START + 4),
        (0x340, SAVED),
        (0x3b0, u64::MAX >> 10),
        (0x3a0, 0x1f),
        (0x180, 8 << 60 | root),
        (0x306, 7),
        (0x106, 7),
        (0x304, 0x80),
        (0x341, START + CODE as u64),
        (0x300, 3 << 13 | mode),
    ] {
        code.extend(csrw(number, value));
    }
    code.extend(li(6, MTIMECMP.into()));
    code.extend([i(0x13, 0, 5, 0, period), s(0x23, 3, 6, 5, 0)]);
    code.extend(li(31, START + DATA as u64));
    code.extend(li(30, START + MEMORY as u64));
    code.push(0x3020_0073);
    code
}

/// Pieces of a program, one of many kinds, with a counter of their own in the data at `place`.
fn piece(random: &mut Random, place: i32) -> Vec<u8> {
    const X31: u32 = 31;
    let mut body = Vec::new();
    for _ in 0..1 + random.below(9) {
        body.extend(step(random));
    }
    let length = body.len();
    match random.below(12) {
        0..=2 => {
            // A loop: a counter in memory.
            let rounds = 2 + random.below(7) as i32;
            let begin = [i(0x13, 0, 1, 0, rounds), s(0x23, 3, X31, 1, place)];
            let end = [
                i(0x03, 3, 1, X31, place),
                i(0x13, 0, 1, 1, -1),
                s(0x23, 3, X31, 1, place),
                // beqz ra, 8
                0x0000_8463,
            ];
            let back = jal(0, length + 16, 0);
            [words(&begin), body, words(&end), words(&[back])].concat()
        }
        3 | 4 => {
            // A call of the body, which stands behind a jump over it. It keeps its return address in memory.
            let head = [jal(1, 0, 8), jal(0, 4, length + 20)];
            let enter = [s(0x23, 3, X31, 1, place)];
            let leave = [i(0x03, 3, 1, X31, place), i(0x67, 0, 0, 1, 0)];
            [words(&head), words(&enter), body, words(&leave)].concat()
        }
        5 | 6 => {
            // A jump, or a call, by a register, over the body or to it.
            let away = random.of(&[12, 12 + length as i32]);
            let register = random.of(&[5, 6, 10, 1]);
            let link = random.of(&[0, 0, 1, 5]);
            let jump = [
                register << 7 | 0x17,
                i(0x13, 0, register, register, away),
                i(0x67, 0, link, register, 0),
            ];
            [words(&jump), body].concat()
        }
        7 => {
            // The immediate of an instruction changes, with a fence or without one.
            let fence = random.of(&[0x100f, 0x13]);
            let change = [
                6 << 7 | 0x17, // auipc t1, 0
                i(0x03, 2, 7, 6, 24),
                lui(28, 0x10_0000),
                r(0x33, 0, 0, 7, 7, 28),
                s(0x23, 2, 6, 7, 24),
                fence,
                i(0x13, 0, 29, 29, random.below(100) as i32),
            ];
            [words(&change), body].concat()
        }
        8 | 9 => {
            // Accesses to the small pages: good ones, and some that fault or are not aligned.
            let mut code = Vec::new();
            for _ in 0..1 + random.below(4) {
                let at = SMALL as u32 + 0x1000 * random.below(PAGES);
                let near = random.of(&[0, 8, 16, 64, 128, 1020]) + random.of(&[0, 0, 0, 0, 2, 1]);
                let instruction = if random.below(2) == 0 {
                    i(0x03, random.below(7), random.rd(), 9, near)
                } else {
                    s(0x23, random.below(4), 9, random.below(30), near)
                };
                code.extend([lui(9, at), instruction]);
            }
            [words(&code), body].concat()
        }
        10 => {
            // Time, and a call of the firmware.
            let counter = random.of(&[0xc00, 0xc01, 0xc02]);
            let what = random.of(&[csr(2, 12, counter, 0), csr(2, 12, counter, 0), 0x73, 0]);
            [words(&[what]), body].concat()
        }
        _ => body,
    }
}

/// A program of rounds.
fn case(seed: u64) -> Case {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    random.next();
    let supervisor = random.below(3) == 0;
    let period = random.of(&[0x7ff, 50, 3]);
    let mut image = vec![0_u8; END];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    let code = words(&firmware(supervisor, period));
    assert!(code.len() < 0x700);
    put(0, &code);
    let rounds = 20 + random.below(40) as i32;
    let mut code = words(&[i(0x13, 0, 1, 0, rounds), s(0x23, 3, 31, 1, 0)]);
    let top = code.len();
    for n in 0..6 + random.below(20) {
        code.extend(piece(&mut random, 8 + 8 * n.cast_signed()));
        if random.below(12) == 0 {
            // On to the next page.
            let end = (code.len() | 0xfff) + 1 - 2 * random.below(8) as usize;
            while code.len() < end {
                code.extend(1_u16.to_le_bytes());
            }
        }
    }
    let end = [
        i(0x03, 3, 1, 31, 0),
        i(0x13, 0, 1, 1, -1),
        s(0x23, 3, 31, 1, 0),
        // beqz ra, 8
        0x0000_8463,
    ];
    code.extend(words(&end));
    let back = jal(0, code.len(), top);
    code.extend(words(&[back, 0x0010_0073]));
    assert!(code.len() < DATA - CODE, "{}", code.len());
    put(CODE, &code);
    for n in 0..0x800 {
        put(MEMORY + 8 * n, &random.integer().to_le_bytes());
    }
    let entry = |at: usize, bits: u64| (((START + at as u64) >> 12 << 10) | bits).to_le_bytes();
    let all = 0xcf | if supervisor { 0 } else { 0x10 };
    put(ROOT + 8, &entry(MIDDLE, 1));
    put(ROOT + 16, &entry(0, all));
    put(MIDDLE, &entry(LEAVES, 1));
    for page in 0..PAGES as usize {
        let bits = match page as u32 {
            17 => all & !4,
            18 => all & !0x80,
            19 => 0,
            _ => all,
        };
        put(LEAVES + 8 * page, &entry(FRAMES + 0x1000 * page, bits));
    }
    let settings = random.of(&[
        &[][..],
        &["core.misaligned=\"hardware\""],
        &["core.issue=1", "latency.load=9"],
        &["cache.data.size=1024", "cache.data.ways=1"],
        &["tlb.data.entries=2", "tlb.data.ways=2"],
        &["cache.instruction.size=2048", "cache.instruction.ways=1"],
        &[
            "tlb.instruction.entries=1",
            "tlb.instruction.ways=1",
            "branch.targets=1",
        ],
        &["tlb.data.replacement=\"fifo\"", "branch.entries=2"],
        &["core.extensions=zba_zbb", "latency.multiply=40"],
    ]);
    let machine = random.of(&["u74-1500", "u74-1500", "u74-1500", "c906-1000"]);
    let image: Vec<u32> = image
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    Case {
        elf: elf(&image),
        config: config(machine, &[settings, &["memory.size=0x400000"]].concat()),
    }
}

const LIMIT: u64 = 60_000;

/// What a run leaves: how it ends, all counters, and RAM.
fn outcome(
    session: &Session,
    stop: Stop<pagewalk_machine::riscv::Trap, pagewalk_machine::riscv::Fatal>,
) -> String {
    let ram = session.machine().uncore().ram.bytes();
    let sum = ram[..END]
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    format!("{stop:?} {sum:x} {:?}", session.counters())
}

impl Case {
    fn session(&self, seen: Option<u32>) -> Session {
        let mut session = session(&self.config, &self.elf, "program");
        session.set_compiler(seen);
        session
    }

    fn run(&self, seen: Option<u32>, oracle: bool) -> (String, u64) {
        let mut session = self.session(seen);
        session.set_oracle(oracle);
        let stop = session.run(Limits {
            instructions: LIMIT,
            ..Limits::NONE
        });
        let links = session.machine().processor().compiler.links();
        (outcome(&session, stop), links as u64)
    }

    /// Runs in parts, cut at random places; now and then the machine goes on from a snapshot.
    fn cut(&self, random: &mut Random) -> String {
        let mut session = self.session(Some(1));
        loop {
            let now = session.machine().instant();
            let stop = session.run(Limits {
                cycles: now.cycles + 1 + u64::from(random.below(6000)),
                instructions: (now.instructions + 150 + u64::from(random.below(3000))).min(LIMIT),
            });
            let now = session.machine().instant();
            if stop != Stop::Limit || now.instructions >= LIMIT {
                return outcome(&session, stop);
            }
            if random.below(20) == 0 {
                let bytes = session.save().unwrap();
                assert_eq!(snapshot::architecture(&bytes), Some("RISC-V"));
                let console = pagewalk_machine::board::Console::memory();
                session = Session::restore(&bytes, "snapshot", console).unwrap();
                session.set_compiler(Some(1));
            }
        }
    }
}

#[test]
fn programs_run_as_by_the_interpreter_and_the_oracle() {
    let seeds = differential::number("PAGEWALK_SEEDS", 120);
    let first = differential::number("PAGEWALK_SEED", 1);
    let mut linked = 0;
    for seed in first..first + seeds {
        let case = case(seed);
        let (wanted, _) = case.run(None, true);
        for seen in [None, Some(1), Some(3)] {
            let (found, links) = case.run(seen, false);
            linked += links;
            assert!(
                found == wanted,
                "seed {seed}, {seen:?}\n{}",
                differences(&wanted, &found)
            );
        }
        let found = case.cut(&mut Random(seed | 1));
        assert!(
            found == wanted,
            "seed {seed}, cut\n{}",
            differences(&wanted, &found)
        );
    }
    if compiles() {
        assert!(linked > 5 * seeds, "{linked}");
    }
}

/// Each step alone, on random operands, between code that reads and writes all registers: the registers, memory,
/// counters and cycles that the interpreter gives.
#[test]
fn each_template_does_what_the_interpreter_does() {
    let settings = ["core.misaligned=\"hardware\"", "core.extensions=zba_zbb"];
    let config = config("u74-1500", &settings);
    let mut made = 0;
    for n in 1..=differential::number("PAGEWALK_BATCHES", 12) {
        let mut random = Random(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        let batch = batch(&mut random, (150, 1), 4);
        let elf = differential::elf(&batch);
        let mut run = |seen| {
            let arguments = [b"s".to_vec()];
            let mut program = Program::new(&config, &elf, "steps", &arguments, &[]).unwrap();
            program.capture();
            program.machine_mut().set_compiler(seen);
            assert_eq!(program.run(Limits::NONE), Ending::Exited(0));
            made += program.machine().processor().compiler.made();
            (program.printed().to_vec(), program.machine().counters())
        };
        let (wanted, found) = (run(None), run(Some(1)));
        assert!(wanted == found, "batch {n}");
    }
    assert!(!compiles() || made > 12 * 100, "{made}");
}

/// A guest that changes its code in each round has it compiled a few times only.
#[test]
fn code_that_changes_again_and_again_is_not_compiled_again_and_again() {
    let mut case = case(1);
    let mut code = words(&[i(0x13, 0, 10, 0, 0), lui(11, 0x4000)]);
    let top = code.len();
    code.extend(words(&[
        6 << 7 | 0x17, // auipc t1, 0
        i(0x03, 2, 7, 6, 24),
        lui(28, 0x10_0000),
        r(0x33, 0, 0, 7, 7, 28),
        s(0x23, 2, 6, 7, 24),
        0x100f,
        i(0x13, 0, 29, 29, 1),
        i(0x13, 0, 10, 10, 1),
        b(4, 10, 11, -4 * 8),
        0x0010_0073,
    ]));
    assert_eq!(top, 8);
    let at = 0x78 + CODE;
    case.elf[at..at + code.len()].copy_from_slice(&code);
    for seen in [Some(1), Some(3)] {
        let (wanted, _) = case.run(None, true);
        let mut session = case.session(seen);
        let stop = session.run(Limits {
            instructions: LIMIT,
            ..Limits::NONE
        });
        assert_eq!(outcome(&session, stop), wanted);
        let made = session.machine().processor().compiler.made();
        assert!(made < 200, "{made}");
    }
}

/// The words in which two outcomes differ.
fn differences(wanted: &str, found: &str) -> String {
    let words = |text: &str| -> Vec<String> { text.split("), (").map(str::to_owned).collect() };
    let both = words(wanted).into_iter().zip(words(found));
    let differ: Vec<_> = both
        .filter(|(one, other)| one != other)
        .map(|(one, other)| format!("{one} | {other}"))
        .take(12)
        .collect();
    differ.join("\n")
}

fn compiles() -> bool {
    cfg!(all(
        feature = "compiler",
        target_arch = "x86_64",
        target_os = "linux"
    ))
}
