//! Extensions and habits of MMUs that a machine file switches on: each beside the machine without it.

use pagewalk_machine::computer::Limits;
use pagewalk_machine::config::Override;
use pagewalk_machine::riscv::{Config, Stop};

use super::support::{config, elf, root, session};

pub(super) const T0: u32 = 5;
pub(super) const T1: u32 = 6;
const T2: u32 = 7;
/// Counts exceptions.
const S4: u32 = 20;

pub(super) const START: u32 = 0x8000_0000;
/// Tables of gigabytes, of 2 MB and of 4 KB; the virtual page; its frame; words that processors wait for.
pub(super) const TABLES: u32 = START + 0x10_0000;
pub(super) const PAGE: u32 = 0x4000_0000;
pub(super) const FRAME: u32 = START + 0x20_0000;
const FLAGS: u32 = START + 0x1000;
/// V, R, W, X, A and D.
const GOOD: u64 = 0xcf;

pub(super) const MSTATUS: u32 = 0x300;
pub(super) const SFENCE: u32 = 0x1200_0073;
/// sinval.vma zero, zero.
const SINVAL: u32 = 0x1600_0073;

/// A value of 64 bits, by its halves.
pub(super) fn li(rd: u32, value: u64) -> Vec<u32> {
    let half = |rd: u32, value: u32| {
        let low = (value << 20).cast_signed() >> 20;
        let high = value.wrapping_sub(low as u32);
        [
            high & 0xffff_f000 | rd << 7 | 0x37,
            (low as u32) << 20 | rd << 15 | rd << 7 | 0x13,
        ]
    };
    let (left, right) = (0x0200_1013, 0x0200_5013);
    let by_32 = |rd: u32, word: u32| word | rd << 15 | rd << 7;
    let mut code = half(rd, (value >> 32) as u32).to_vec();
    code.push(by_32(rd, left));
    code.extend(half(T2, value as u32));
    let or = T2 << 20 | rd << 15 | 6 << 12 | rd << 7 | 0x33;
    code.extend([by_32(T2, left), by_32(T2, right), or]);
    code
}

pub(super) fn csrw(csr: u32, value: u64) -> Vec<u32> {
    let mut code = li(T0, value);
    code.push(csr << 20 | T0 << 15 | 1 << 12 | 0x73);
    code
}

pub(super) fn put(at: u32, value: u64) -> Vec<u32> {
    let mut code = li(T0, at.into());
    code.extend(li(T1, value));
    code.push(T1 << 20 | T0 << 15 | 3 << 12 | 0x23);
    code
}

/// A load in supervisor mode.
pub(super) fn load(at: u32) -> Vec<u32> {
    let mut code = li(T1, at.into());
    code.extend(csrw(MSTATUS, 1 << 17 | 1 << 11));
    // ld t1, 0(t1); csrw mstatus, zero
    code.extend([0x0003_3303, MSTATUS << 20 | 1 << 12 | 0x73]);
    code
}

pub(super) fn leaf(value: u64) -> Vec<u32> {
    put(TABLES + 0x2000, value)
}

pub(super) fn word(frame: u32) -> u64 {
    u64::from(frame >> 12 << 10) | GOOD
}

/// Waits until the word there is not zero.
fn wait(at: u32) -> Vec<u32> {
    let mut code = li(T0, at.into());
    // 1: ld t1, 0(t0); beqz t1, 1b
    code.extend([0x0002_b303, 0xfe03_0ee3]);
    code
}

/// What processor 0 does before and after the tables are made, and what processor 1 does; how many exceptions there
/// were on the one that ends the run. The oracle must count the same.
pub(super) fn faults(config: &Config, steps: &[Vec<u32>], second: Option<&[Vec<u32>]>) -> u32 {
    match ends(config, steps, second) {
        Stop::PowerOff { status } => status,
        other => panic!("{other:?}"),
    }
}

/// The same, and how the run ends.
fn ends(config: &Config, steps: &[Vec<u32>], second: Option<&[Vec<u32>]>) -> Stop {
    let root = |table: u32| u64::from(table >> 12 << 10) | 1;
    let end = || {
        let mut code = li(T0, 0x10_0000);
        // slli s4, s4, 16; li t1, 0x3333; or t1, t1, s4; sw t1, (t0); j .
        code.push(16 << 20 | S4 << 15 | 1 << 12 | S4 << 7 | 0x13);
        code.extend(li(T1, 0x3333));
        code.extend([
            S4 << 20 | T1 << 15 | 6 << 12 | T1 << 7 | 0x33,
            0x0062_a023,
            0x6f,
        ]);
        code
    };
    // The next instruction.
    let handler = [
        0x001a_0a13, // addi s4, s4, 1
        0x3410_22f3, // csrr t0, mepc
        0x0042_8293, // addi t0, t0, 4
        0x3412_9073, // csrw mepc, t0
        0x0000_22b7, // lui t0, 2
        0x8002_8293, // addi t0, t0, -2048
        0x3002_a073, // csrs mstatus, t0
        0x3020_0073, // mret
    ];
    let mut common = csrw(0x305, (START + 4).into());
    common.extend(csrw(0x3b0, u64::MAX >> 10));
    common.extend(csrw(0x3a0, 0x1f));
    common.extend(csrw(0x180, 8 << 60 | 1 << 44 | u64::from(TABLES >> 12)));
    let mut first = [
        put(TABLES + 8, root(TABLES + 0x1000)),
        put(TABLES + 0x1000, root(TABLES + 0x2000)),
    ]
    .concat();
    first.extend(steps.concat());
    let first = [first, if second.is_none() { end() } else { vec![0x6f] }].concat();
    // Processor 0 goes on; others jump over what it does.
    let mut code = vec![jump(4 * (handler.len() as u32 + 1))];
    code.extend(handler);
    code.extend(common);
    // beqz a0, 8; j second
    code.extend([0x0005_0463, jump(4 * first.len() as u32 + 4)]);
    code.extend(first);
    code.extend(second.unwrap_or_default().concat());
    code.extend(end());
    let limits = Limits {
        instructions: 100_000,
        ..Limits::NONE
    };
    let [fast, oracle] = [false, true].map(|oracle| {
        let mut session = session(config, &elf(&code), "program");
        session.set_oracle(oracle);
        (session.run(limits), session.counters())
    });
    assert_eq!(fast, oracle);
    fast.0
}

/// j, forwards.
fn jump(bytes: u32) -> u32 {
    (bytes >> 1 & 0x3ff) << 21 | (bytes >> 11 & 1) << 20 | (bytes >> 12 & 0xff) << 12 | 0x6f
}

pub(super) fn u74(settings: &[&str]) -> Config {
    config("u74-1500", settings)
}

#[test]
fn a_fence_ignores_bits_that_no_address_space_has() {
    // sfence.vma zero, t0
    let fence = [li(T0, 1), vec![SFENCE | T0 << 20]].concat();
    let steps = |fence| [leaf(word(FRAME)), load(PAGE), leaf(0), fence, load(PAGE)];
    assert_eq!(faults(&u74(&[]), &steps(fence.clone()), None), 1);
    // With them it reaches the address space of this number alone, which has none.
    let other = [li(T0, 2), vec![SFENCE | T0 << 20]].concat();
    let wide = u74(&["tlb.asid-bits=16"]);
    assert_eq!(faults(&wide, &steps(other), None), 0);
    assert_eq!(faults(&wide, &steps(fence), None), 1);
}

#[test]
fn sixteen_equal_entries_are_one_page() {
    let entry = word(FRAME + 0x8000) | 1 << 63;
    let mut steps: Vec<_> = (0..16)
        .map(|n| put(TABLES + 0x2000 + 8 * n, entry))
        .collect();
    steps.push(load(PAGE + 0x3000));
    // The table is no longer looked at for the rest of the page.
    steps.push(put(TABLES + 0x2000 + 8 * 5, 0));
    steps.push(load(PAGE + 0x5000));
    assert_eq!(faults(&u74(&["core.extensions=svnapot"]), &steps, None), 0);
    assert_eq!(faults(&u74(&[]), &steps, None), 2);
}

#[test]
fn an_entry_that_is_not_valid_may_be_kept() {
    let fence = || vec![SFENCE];
    let steps = [
        leaf(0),
        load(PAGE),
        leaf(word(FRAME)),
        load(PAGE),
        fence(),
        load(PAGE),
    ];
    assert_eq!(faults(&u74(&[]), &steps, None), 1);
    assert_eq!(faults(&u74(&["tlb.keeps-invalid=true"]), &steps, None), 2);
}

#[test]
fn walks_set_bits_where_software_asks_for_it() {
    let clean = word(FRAME) & !0xc0;
    let steps = [leaf(clean), load(PAGE)];
    let asked = [csrw(0x30a, 1 << 61), leaf(clean), load(PAGE)];
    let with = u74(&["core.extensions=svadu"]);
    assert_eq!(faults(&with, &steps, None), 1);
    assert_eq!(faults(&with, &asked, None), 0);
    assert_eq!(faults(&u74(&[]), &asked, None), 1);
}

#[test]
fn fences_in_parts_are_there_with_their_extension() {
    let steps = [
        leaf(word(FRAME)),
        load(PAGE),
        leaf(0),
        // sfence.w.inval, sinval.vma, sfence.inval.ir
        vec![0x1800_0073, SINVAL, 0x1810_0073],
        load(PAGE),
    ];
    assert_eq!(
        faults(&u74(&["core.extensions=svinval_svnapot"]), &steps, None),
        1
    );
    assert_eq!(faults(&u74(&[]), &steps, None), 3);
}

#[test]
fn instructions_for_bits_are_there_with_their_extensions() {
    // sh1add, add.uw, slli.uw; andn, clz, rev8, zext.h, rori
    let addresses = vec![0x2000_2033, 0x0800_003b, 0x0800_101b];
    let bits = vec![
        0x4000_7033,
        0x6000_1013,
        0x6b80_5013,
        0x0800_403b,
        0x6000_5013,
    ];
    let steps = [addresses, bits];
    for (extensions, traps) in [("zba_zbb", 0), ("zba", 5), ("zbb", 3), ("", 8)] {
        let config = u74(&[&format!("core.extensions=\"{extensions}\"")]);
        assert_eq!(faults(&config, &steps, None), traps, "{extensions}");
    }
    // ctzw t1, t0 of a word without a bit; addi t1, t1, -32; beqz t1, 8; an instruction that is none
    let count = 0x6010_101b | T0 << 15 | T1 << 7;
    let steps = [li(T0, 1 << 44), vec![count, 0xfe03_0313, 0x0003_0463, 0]];
    let config = u74(&["core.extensions=zbb"]);
    assert_eq!(faults(&config, &steps, None), 0);
}

/// csrr t0, time; addi t0, t0, 4; csrw stimecmp, t0
const SOON: [u32; 3] = [0xc010_22f3, 0x0042_8293, 0x14d2_9073];

#[test]
fn the_timer_of_supervisor_mode_rings() {
    let begin = [csrw(0x30a, 1 << 63), csrw(0x14d, u64::MAX), SOON.to_vec()];
    // 1: csrr t0, mip; andi t0, t0, 32; beqz t0, 1b
    let wait = vec![0x3440_22f3, 0x0202_f293, 0xfe02_8ce3];
    let steps = [begin.concat(), wait];
    assert_eq!(faults(&u74(&["core.extensions=sstc"]), &steps, None), 0);
    // Without it a write of stimecmp is no instruction.
    let without = [csrw(0x30a, 1 << 63), csrw(0x14d, 5)];
    assert_eq!(faults(&u74(&[]), &without, None), 1);
}

#[test]
fn a_processor_sleeps_until_its_own_timer_rings() {
    let begin = [csrw(0x30a, 1 << 63), csrw(0x304, 1 << 5), SOON.to_vec()];
    // wfi; csrr t0, mip; andi t0, t0, 32; bnez t0, 8; j .
    let sleep = vec![0x1050_0073, 0x3440_22f3, 0x0202_f293, 0x0002_9463, 0x6f];
    let steps = [begin.concat(), sleep, put(FLAGS, 1)];
    assert_eq!(faults(&u74(&["core.extensions=sstc"]), &steps, None), 0);
    let two = config("u74-1500x4", &["core.extensions=sstc", "processors=2"]);
    assert_eq!(faults(&two, &steps, Some(&[wait(FLAGS)])), 0);
}

#[test]
fn entries_may_say_how_memory_is_cached() {
    let typed = |kind: u64| [leaf(word(FRAME) | kind << 61), load(PAGE), vec![SFENCE]].concat();
    let steps = [typed(0), typed(1), typed(2), typed(3)];
    let asked = [vec![csrw(0x30a, 1 << 62)], steps.to_vec()].concat();
    let with = u74(&["core.extensions=svpbmt"]);
    assert_eq!(faults(&with, &steps, None), 3);
    assert_eq!(faults(&with, &asked, None), 1);
    assert_eq!(faults(&u74(&[]), &asked, None), 3);
}

#[test]
fn protection_has_a_granularity() {
    // The first region is open; pmpaddr1 with all ones, read back; bne t0, t1 with the value that is expected.
    let reads = |expected: u64| {
        let mut code = csrw(0x3b1, u64::MAX >> 10);
        code.extend(li(T1, expected));
        // csrr t0, pmpaddr1; beq t0, t1, 8; an instruction that is none
        code.extend([0x3b10_22f3, 0x0062_8463, 0]);
        code
    };
    let all = u64::MAX >> 10;
    let coarse = u74(&["core.pmp-granularity=4096"]);
    assert_eq!(faults(&u74(&[]), &[reads(all)], None), 0);
    assert_eq!(faults(&coarse, &[reads(all & !1023)], None), 0);
    assert_eq!(faults(&coarse, &[reads(all)], None), 1);
    // A region of four bytes, which cannot be had: pmpcfg0 keeps what it had.
    let four = [csrw(0x3a0, 0x171f), csrw(0x3b1, 0)].concat();
    let kept = [four, vec![0x3a00_22f3, 0x0082_d293]].concat();
    // srli t0, t0, 8; beqz t0, 8; an instruction that is none
    let steps = [kept, vec![0x0002_8463, 0]];
    assert_eq!(faults(&coarse, &steps, None), 0);
    assert_eq!(faults(&u74(&[]), &steps, None), 1);
}

#[test]
fn a_broadcast_fence_reaches_the_other_processors() {
    let first = [
        leaf(word(FRAME)),
        put(FLAGS, 1),
        wait(FLAGS + 8),
        leaf(0),
        vec![SFENCE],
        put(FLAGS + 16, 1),
    ];
    let second = [
        wait(FLAGS),
        load(PAGE),
        put(FLAGS + 8, 1),
        wait(FLAGS + 16),
        load(PAGE),
    ];
    let with = config("c910-1850x4", &["processors=2"]);
    let without = config("c910-1850x4", &["processors=2", "tlb.broadcast=false"]);
    assert_eq!(faults(&with, &first, Some(&second)), 1);
    assert_eq!(faults(&without, &first, Some(&second)), 0);
}

#[test]
fn the_device_tree_names_the_extensions() {
    let (string, all) = u74(&["core.extensions=svinval_svvptc"]).core.isa();
    assert_eq!(string, "rv64imafdc_svinval_svvptc");
    assert!(all.ends_with(&["zihpm", "svinval", "svvptc"].map(str::to_owned)));
}

#[test]
fn what_no_core_has_is_refused() {
    let refused = |settings: &[&str]| {
        let path = root().join("machines/u74-1500.toml");
        let settings: Vec<_> = settings
            .iter()
            .map(|text| Override::parse(text).unwrap())
            .collect();
        Config::from_file(&path, &settings).unwrap_err().to_string()
    };
    let unknown = refused(&["core.extensions=svfast"]);
    assert!(
        unknown.contains("svfast") && unknown.contains("svinval"),
        "{unknown}"
    );
    let both = refused(&["core.extensions=svvptc", "tlb.keeps-invalid=true"]);
    assert!(both.contains("tlb.keeps-invalid"), "{both}");
    let mixed = refused(&["core.kind=p6"]);
    assert!(mixed.contains("core.kind"), "{mixed}");
    let dead = refused(&["board.dead-processor=1"]);
    assert!(dead.contains("needs several"), "{dead}");
}

#[test]
fn a_processor_may_stay_in_reset() {
    // Processor 0 waits for a flag that the other one never writes.
    let first = [put(FLAGS + 8, 1), wait(FLAGS)];
    let two = |settings: &[&str]| config("u74-1500x4", &[&["processors=2"], settings].concat());
    assert_eq!(faults(&two(&[]), &first, Some(&[put(FLAGS, 1)])), 0);
    let dead = two(&["board.dead-processor=1"]);
    let ended = ends(&dead, &first, Some(&[put(FLAGS, 1)]));
    assert!(!matches!(ended, Stop::PowerOff { .. }), "{ended:?}");
}

/// Adds a CSR to the count of exceptions.
fn add(csr: u32) -> Vec<u32> {
    let read = csr << 20 | 2 << 12 | T0 << 7 | 0x73;
    vec![read, T0 << 20 | S4 << 15 | S4 << 7 | 0x33]
}

const EVENT: u32 = 0x323;
const INHIBIT: u32 = 0x320;
const COUNTER: u32 = 0xb03;

/// What the first counter of events shows after `work`.
fn counts(event: u64, work: Vec<u32>) -> u32 {
    let steps = [leaf(word(FRAME)), csrw(EVENT, event), work, add(COUNTER)];
    faults(&u74(&[]), &steps, None)
}

#[test]
fn events_are_counted_by_the_numbers_of_a_u74() {
    let twice = || [load(PAGE), vec![SFENCE], load(PAGE), load(PAGE)].concat();
    for (event, expected) in [(0x1002, 2), (0x2002, 2), (0x802, 0), (0x3002, 4)] {
        assert_eq!(counts(event, twice()), expected, "{event:#x}");
    }
    // 1: addi t1, t1, -1; bnez t1, 1b
    let times = |n| [li(T1, n), vec![0xfff3_0313, 0xfe03_1ee3]].concat();
    assert_eq!(counts(0x4000, times(50)), 50);
    // Two bits of predictors learn the loop, and its end comes as a surprise.
    assert!((1..4).contains(&counts(0x2001, times(50))));
    assert_eq!(counts(0x4001, times(50)), 0);
    // auipc t1, 0; jalr zero, 8(t1)
    assert_eq!(counts(0x1_0000, vec![0x0000_0317, 0x0083_0067]), 1);
    // ld t1, 0(t0) of five lines, then of the same again
    let lines =
        || (0..5).flat_map(|n| [li(T0, (FRAME + 64 * n).into()), vec![0x0002_b303]].concat());
    assert_eq!(counts(0x202, lines().chain(lines()).collect()), 5);
}

#[test]
fn a_counter_stands_still_and_goes_on() {
    let still = [csrw(INHIBIT, 8), load(PAGE), vec![SFENCE]].concat();
    assert_eq!(counts(0x1002, still.clone()), 0);
    let on = [load(PAGE), vec![SFENCE], still, load(PAGE), vec![SFENCE]].concat();
    assert_eq!(
        counts(0x1002, [on, csrw(INHIBIT, 0), load(PAGE)].concat()),
        2
    );
    // What is written to a counter stays its beginning, and it has 40 bits.
    assert_eq!(counts(0x1002, [csrw(COUNTER, 7), load(PAGE)].concat()), 8);
    assert_eq!(
        counts(0x1002, [csrw(COUNTER, u64::MAX), load(PAGE)].concat()),
        0
    );
    // mcycle stands still, too: two reads are equal. csrr t0; csrr t1; beq t0, t1, 8; an instruction that is none
    let read = |rd: u32| 0xb00 << 20 | 2 << 12 | rd << 7 | 0x73;
    let equal = vec![read(T0), read(T1), 0x0062_8463, 0];
    let steps = |inhibit| [csrw(INHIBIT, inhibit), equal.clone()];
    assert_eq!(faults(&u74(&[]), &steps(5), None), 0);
    assert_eq!(faults(&u74(&[]), &steps(0), None), 1);
}

#[test]
fn a_store_to_an_interrupt_file_asks_its_processor() {
    let select = |register, value| [csrw(0x350, register), csrw(0x351, value)].concat();
    // sw t1, (t0)
    let store = |number| [li(T0, 0x2400_0000), li(T1, number), vec![0x0062_a023]].concat();
    let (mtopi, mtopei) = (0xfb0, 0x35c);
    let steps = [
        select(0x70, 1),
        select(0xc0, 1 << 5 | 1 << 40),
        csrw(0x304, 1 << 11),
        store(40),
        store(5),
        // The first of the file's interrupts; mtopi has 11 in its upper half and 1 in its lower one.
        add(mtopei),
        add(mtopi),
        csrw(mtopei, 0),
        add(mtopei),
        csrw(mtopei, 0),
        add(mtopei),
        add(mtopi),
    ];
    let with = u74(&["core.extensions=ssaia"]);
    assert_eq!(faults(&with, &steps, None), 5 + 1 + 40);
    // Without the extension there is no such CSR, and there is none for half a register of a file.
    let none = [csrw(0x350, 0), csrw(0x150, 0)];
    assert_eq!(faults(&u74(&[]), &none, None), 2);
    assert_eq!(faults(&with, &[select(0x81, 0), select(0x100, 0)], None), 2);
}

#[test]
fn an_event_that_is_not_counted_is_none() {
    let shows = |event, machine: &str| {
        let steps = [csrw(EVENT, event), add(EVENT)];
        faults(&config(machine, &["processors=1"]), &steps, None)
    };
    assert_eq!(shows(0x3f02, "u74-1500"), 0x3f02);
    // Of class 0 only branches and jumps, of an unknown class nothing.
    assert_eq!(shows(0x4100, "u74-1500"), 0x4000);
    assert_eq!(shows(0x4103, "u74-1500"), 0);
    assert_eq!(shows(0x3f02, "c906-1000"), 0);
    // The third counter of two.
    let steps = [csrw(0x325, 0x1002), add(0x325), csrw(0xb05, 3), add(0xb05)];
    assert_eq!(faults(&u74(&[]), &steps, None), 0);
    assert_eq!(
        faults(&u74(&["core.event-counters=3"]), &steps, None),
        0x1005
    );
}
