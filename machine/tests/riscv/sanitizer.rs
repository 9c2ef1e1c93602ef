//! The translation sanitizer of RISC-V: which uses of a TLB's entry it reports, and which it must not report.

use pagewalk_machine::computer::{Limits, Stop};
use pagewalk_machine::riscv::trap::Fatal;

use pagewalk_machine::riscv::session::Session;
use serde_json::json;

use super::support::{config, elf, session};

/// Registers.
const T0: u32 = 5;
const T1: u32 = 6;
const T2: u32 = 7;
const S2: u32 = 18;
const S3: u32 = 19;

/// A table of gigabytes, tables of 2 MB and of 4 KB, from here on in RAM.
const TABLES: u32 = 0x8010_0000;
/// The virtual page, its word, its frame.
const PAGE: u32 = 0x4000_0000;
const FRAME: u32 = 0x8020_0000;
/// Valid, readable, writable, executable, a user's, A and D.
const GOOD: u32 = 0xdf;
const SATP: u32 = 0x180;

fn lui(rd: u32, value: u32) -> u32 {
    value & 0xffff_f000 | rd << 7 | 0x37
}

fn addi(rd: u32, rs: u32, value: i32) -> u32 {
    (value as u32) << 20 | rs << 15 | rd << 7 | 0x13
}

/// A 32-bit value without its sign: addresses here are below 4 GB.
fn li(rd: u32, value: u32) -> Vec<u32> {
    let low = (value << 20).cast_signed() >> 20;
    let high = value.wrapping_sub(low as u32);
    vec![
        lui(rd, high),
        addi(rd, rd, low),
        0x0200_1013 | rd << 15 | rd << 7, // slli rd, rd, 32
        0x0200_5013 | rd << 15 | rd << 7, // srli rd, rd, 32
    ]
}

fn store(base: u32, value: u32) -> u32 {
    value << 20 | base << 15 | 3 << 12 | 0x23
}

fn load(rd: u32, base: u32) -> u32 {
    base << 15 | 3 << 12 | rd << 7 | 3
}

fn csrw(csr: u32, rs: u32) -> u32 {
    csr << 20 | rs << 15 | 1 << 12 | 0x73
}

const SFENCE: u32 = 0x1200_0073;
const MRET: u32 = 0x3020_0073;
const SRET: u32 = 0x1020_0073;
const WFI: u32 = 0x1050_0073;
const ECALL: u32 = 0x73;

fn pointer(at: u32) -> u32 {
    at >> 12 << 10 | 1
}

fn leaf(frame: u32) -> u32 {
    frame >> 12 << 10 | GOOD
}

fn put(at: u32, value: u32) -> Vec<u32> {
    let mut code = li(T0, at);
    code.extend(li(T1, value));
    code.push(store(T0, T1));
    code
}

/// What runs in supervisor mode and in user mode.
struct Case {
    kernel: Vec<u32>,
    user: Vec<u32>,
}

const WORD: u32 = TABLES + 0x2000;

/// Machine mode makes tables and goes to supervisor mode, which uses the page, does `kernel` and goes to user mode.
fn program(case: &Case) -> Vec<u32> {
    // The code's own gigabyte, for the kernel and for the program, at two addresses.
    let mut code = put(TABLES + 16, 0x8000_0000 >> 12 << 10 | GOOD & !0x10);
    code.extend(put(TABLES + 24, 0x8000_0000 >> 12 << 10 | GOOD));
    code.extend(put(TABLES + 8, pointer(TABLES + 0x1000)));
    code.extend(put(TABLES + 0x1000, pointer(WORD)));
    code.extend(put(WORD, leaf(FRAME)));
    // PMP: everything.
    code.extend(li(T0, u32::MAX));
    code.push(csrw(0x3b0, T0));
    code.push(addi(T0, 0, 0x1f));
    code.push(csrw(0x3a0, T0));
    // satp: Sv39
    code.push(addi(T0, 0, 8));
    code.push(0x03c0_1013 | T0 << 15 | T0 << 7); // slli 60
    code.extend(li(T1, TABLES >> 12));
    code.push(T1 << 20 | T0 << 15 | 6 << 12 | T0 << 7 | 0x33); // or
    code.push(csrw(SATP, T0));
    code.push(SFENCE);
    // mstatus: MPP is supervisor mode, with SUM; mtvec: the halt at the end.
    code.extend(li(T0, 1 << 11 | 1 << 18));
    code.push(csrw(0x300, T0));
    let place = code.len() + 9 + 2;
    let supervisor = 0x8000_0000 + 4 * place as u32;
    let body = |user: u32| {
        let mut code = li(S2, PAGE);
        code.push(addi(S3, 0, 1));
        code.push(store(S2, S3));
        code.extend(&case.kernel);
        // sstatus.SPP is user mode.
        code.extend(li(T0, user));
        code.push(csrw(0x141, T0));
        code.extend(li(T0, 1 << 18));
        code.push(csrw(0x100, T0));
        code.push(SRET);
        code
    };
    let user = supervisor + 4 * body(0).len() as u32;
    let halt = user + 4 * (case.user.len() as u32 + 1);
    code.extend(li(T0, halt));
    code.push(csrw(0x305, T0));
    code.extend(li(T2, supervisor));
    code.push(csrw(0x341, T2));
    code.push(MRET);
    assert_eq!(code.len(), place);
    // A program sees the code 1 GB further up.
    code.extend(body(user + 0x4000_0000));
    code.extend(&case.user);
    code.extend([ECALL, WFI, WFI]);
    code
}

type Counters = Vec<(String, u64)>;

fn run(name: &str, case: &Case, sanitizes: bool) -> (Option<String>, Counters) {
    let (report, session) = run_session(name, case, sanitizes);
    (report, session.counters())
}

fn run_session(name: &str, case: &Case, sanitizes: bool) -> (Option<String>, Session) {
    run_with(name, &[], case, sanitizes)
}

/// The same on a machine with these keys.
fn run_with(name: &str, keys: &[&str], case: &Case, sanitizes: bool) -> (Option<String>, Session) {
    let settings = [&["memory.size=0x800000"], keys].concat();
    let code = program(case);
    let mut session = session(&config(name, &settings), &elf(&code), "sanitizer");
    if sanitizes {
        session.sanitize("translation".parse().unwrap()).unwrap();
    }
    let limits = Limits {
        instructions: 10_000,
        cycles: 10_000_000,
    };
    let report = match session.run(limits) {
        Stop::Fatal(Fatal::Sanitizer { report }) => Some(report),
        Stop::Fatal(Fatal::Asleep { .. }) => None,
        stop => panic!("{name}: {}", session.explain(&stop)),
    };
    (report, session)
}

const CORES: [&str; 2] = ["u74-1500", "c906-1000"];

#[track_caller]
fn is_reported(case: &Case, words: &[&str]) {
    for name in CORES {
        let report = run(name, case, true).0.expect(name);
        for word in words {
            assert!(report.contains(word), "{name}: {word} in\n{report}");
        }
    }
}

#[track_caller]
fn is_silent(case: &Case) {
    for name in CORES {
        let (report, counters) = run(name, case, true);
        assert_eq!(report, None, "{name}");
        assert_eq!(run(name, case, false).1, counters, "{name}");
    }
}

fn reads() -> Vec<u32> {
    let mut code = li(S2, PAGE);
    code.push(load(T0, S2));
    code
}

fn writes() -> Vec<u32> {
    let mut code = li(S2, PAGE);
    code.push(store(S2, T0));
    code
}

#[test]
fn changes_without_a_fence_are_reported() {
    let cases = [
        (put(WORD, 0), reads(), "no longer valid"),
        (
            put(WORD, leaf(FRAME + 0x1000)),
            reads(),
            "another page frame",
        ),
        (put(WORD, leaf(FRAME) & !4), writes(), "no longer gives"),
        (put(WORD, leaf(FRAME) & !0x80), writes(), "will be lost"),
        (put(TABLES + 0x1000, 0), reads(), "no longer valid"),
    ];
    for (kernel, user, words) in cases {
        is_reported(
            &Case { kernel, user },
            &["(late)", words, "none since the change"],
        );
    }
}

#[test]
fn what_takes_nothing_away_is_silent() {
    let fenced = |mut kernel: Vec<u32>| {
        kernel.push(SFENCE);
        kernel
    };
    let cases = [
        (put(WORD, leaf(FRAME + 0x1000)), reads(), true),
        (put(WORD, leaf(FRAME) & !0x80), reads(), false),
        (put(WORD, leaf(FRAME) & !4), reads(), false),
        (put(WORD, leaf(FRAME) | 0x100), writes(), false),
        (
            [put(WORD, 0), put(WORD, leaf(FRAME))].concat(),
            writes(),
            false,
        ),
        (put(WORD, 0), Vec::new(), false),
    ];
    for (kernel, user, fences) in cases {
        let kernel = if fences { fenced(kernel) } else { kernel };
        is_silent(&Case { kernel, user });
    }
}

#[test]
fn a_fence_of_another_page_is_told() {
    let mut kernel = put(WORD, 0);
    kernel.extend(li(T0, PAGE + 0x1000));
    kernel.push(SFENCE | T0 << 15);
    is_reported(
        &Case {
            kernel,
            user: reads(),
        },
        &["page 0x40001000: another page"],
    );
}

#[test]
fn another_table_for_the_same_address_space_is_reported() {
    const OTHER: u32 = TABLES + 0x8000;
    // A second root that has the code and no page.
    let mut kernel = put(OTHER + 16, 0x8000_0000 >> 12 << 10 | GOOD & !0x10);
    kernel.extend(put(OTHER + 24, 0x8000_0000 >> 12 << 10 | GOOD));
    kernel.push(addi(T0, 0, 8));
    kernel.push(0x03c0_1013 | T0 << 15 | T0 << 7);
    kernel.extend(li(T1, OTHER >> 12));
    kernel.push(T1 << 20 | T0 << 15 | 6 << 12 | T0 << 7 | 0x33);
    kernel.push(csrw(SATP, T0));
    let fenced = [kernel.clone(), vec![SFENCE]].concat();
    is_reported(
        &Case {
            kernel,
            user: reads(),
        },
        &["(context)", "another page table was chosen"],
    );
    let case = Case {
        kernel: fenced,
        user: Vec::new(),
    };
    is_silent(&case);
}

/// Takes a global page away, and fences one address space.
fn global() -> Case {
    const GLOBAL: u32 = 0x20;
    let mut kernel = put(WORD, leaf(FRAME) | GLOBAL);
    kernel.push(SFENCE);
    kernel.extend(reads());
    kernel.extend(put(WORD, 0));
    kernel.push(addi(T0, 0, 5));
    kernel.push(SFENCE | T0 << 20);
    Case {
        kernel,
        user: reads(),
    }
}

#[test]
fn a_fence_of_an_address_space_keeps_global_entries() {
    // A machine without numbers takes the fence's for 0.
    let words = [
        "(global)",
        ": it keeps global entries",
        "a fence of all address spaces removes it",
    ];
    is_reported(&global(), &words);
}

#[test]
fn a_program_learns_all_of_an_entry() {
    let (_, session) = run_session("u74-1500", &global(), true);
    let (findings, _) = session.findings();
    let entry = &findings[0]["entry"];
    assert_eq!(entry["global"], json!(true));
    assert_eq!(entry["tlb"], json!("data"));
    assert_eq!(entry["space"], json!(0));
    assert_eq!(entry["root"], json!(format!("{:#x}", TABLES >> 12)));
    assert_eq!(entry["frame"], json!(format!("{FRAME:#x}")));
    assert_eq!(findings[0]["access"]["processor"], json!(0));
    assert_eq!(findings[0]["frame_now"], json!(null));
}

/// What the machine reports with this key of `[tlb.extreme]`, and without it.
fn with_and_without(key: &str, case: &Case) -> [Option<String>; 2] {
    let keys: [&[&str]; 2] = [&[key], &[]];
    keys.map(|keys| run_with("u74-1500", keys, case, true).0)
}

#[test]
fn a_walk_ahead_loads_a_page_that_the_kernel_takes_for_unused() {
    const NEXT: u32 = WORD + 8;
    let case = |word: u32| {
        let mut kernel = put(NEXT, word);
        kernel.push(SFENCE);
        kernel.extend(reads());
        kernel.extend(put(NEXT, 0));
        let mut user = li(S2, PAGE + 0x1000);
        user.push(load(T0, S2));
        Case { kernel, user }
    };
    let next = leaf(FRAME + 0x1000);
    let [ahead, real] = with_and_without("tlb.extreme.ahead=true", &case(next));
    assert_eq!(real, None);
    assert!(ahead.unwrap().contains("no longer valid"));
    // A walk ahead writes nothing: a page that was not used before stays where it is.
    let [fresh, _] = with_and_without("tlb.extreme.ahead=true", &case(next & !0xc0));
    assert_eq!(fresh, None);
}

#[test]
fn an_entry_that_a_real_tlb_has_displaced_is_kept() {
    // A table with a word for each page, of which a program reads more than the TLBs have entries.
    const PAGES: u32 = 600;
    const SECOND: u32 = TABLES + 0x3000;
    let mut kernel = put(TABLES + 0x1008, pointer(SECOND));
    // Each word of both tables is that of the page's frame: T0 runs over them, T2 is their end.
    kernel.extend(li(T0, WORD + 8));
    kernel.extend(li(T1, leaf(FRAME)));
    kernel.extend(li(T2, WORD + 8 * PAGES));
    kernel.push(store(T0, T1));
    kernel.push(addi(T0, T0, 8));
    kernel.push(0xfe72_9ce3); // bne t0, t2, -8
    kernel.push(SFENCE);
    kernel.extend(reads());
    kernel.extend(put(WORD, leaf(FRAME + 0x1000)));
    let mut user = li(S2, PAGE + 0x1000);
    user.extend(li(T2, PAGE + PAGES * 0x1000));
    user.extend(li(T1, 0x1000));
    user.push(load(T0, S2));
    user.push(0x0069_0933); // add s2, s2, t1
    user.push(0xfe79_1ce3); // bne s2, t2, -8
    user.extend(reads());
    let case = Case { kernel, user };
    let settings = [
        "tlb.extreme.keep=until-flushed",
        "tlb.l2.entries=64",
        "tlb.data.replacement=fifo",
    ];
    let (kept, _) = run_with("u74-1500", &settings, &case, true);
    assert!(kept.unwrap().contains("another page frame"));
    assert_eq!(run_with("u74-1500", &settings[1..], &case, true).0, None);
}

#[test]
fn entries_may_leave_at_any_trap() {
    for seed in 1..5 {
        let mut kernel = put(WORD, leaf(FRAME + 0x1000));
        kernel.push(SFENCE);
        let case = Case {
            kernel,
            user: reads(),
        };
        let key = format!("tlb.extreme.evict={seed}");
        assert_eq!(with_and_without(&key, &case), [None, None]);
    }
}
