//! Names of functions of firmware, and who is charged with its time.

use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Cpu as _, Limits, Stop};
use pagewalk_machine::riscv::names::functions;
use pagewalk_machine::riscv::session::{Given, Session};

use super::support::config;

#[test]
fn calls_tell_where_functions_begin() {
    // c.nop; jal ra, 8; nop; ret; jal ra, -10; jal ra, far away
    let words = [0x0080_00ef_u32, 0x13, 0x8067, 0xff7f_f0ef, 0x7fff_f0ef];
    let mut code = vec![1, 0];
    code.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let found = functions(&code);
    let ranges: Vec<_> = found.iter().map(|one| (one.address, one.size)).collect();
    assert_eq!(ranges, [(0, 4), (4, 6), (10, 12)]);
    assert_eq!(found[2].name, "firmware+0xa");
    assert!(functions(&[]).is_empty());
    assert_eq!(functions(&[1]).len(), 1);
    // addi sp, sp, -16; ret; addi sp, sp, -128; j .; addi sp, sp, -16: the first is where the code begins.
    let halves = [0x1141_u16, 0x8082, 0x7119, 0xa001, 0x1141];
    let code: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let starts: Vec<_> = functions(&code).iter().map(|one| one.address).collect();
    assert_eq!(starts, [0, 4, 8]);
}

/// A function is called twice, and calls another one: the time of a call is the machine's from its first instruction
/// until its caller runs on.
#[test]
fn calls_of_a_function_have_their_time() {
    let code = [
        0x0140_00ef_u32, // jal ra, 0x14
        0x0100_00ef,     // jal ra, 0x14
        0x0010_02b7,     // lui t0, 0x100: the test device
        0x0240_006f,     // j 0x30
        0x0000_0013,     // nop
        0x0000_8413,     // 0x14: mv s0, ra
        0x00c0_00ef,     // jal ra, 0x24
        0x0004_0067,     // jr s0
        0x0000_0013,     // nop
        0xb000_2573,     // 0x24: csrr a0, mcycle
        0x0000_8067,     // ret
        0x0000_0013,     // nop
        0x0000_5337,     // 0x30: lui t1, 5
        0x5553_0313,     // addi t1, t1, 0x555
        0x0062_a023,     // sw t1, (t0)
    ];
    let firmware: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut session = below_a_linux(&firmware);
    let queries = [
        "call by caller, function where function == firmware+0x14 histogram cycles",
        "call by caller where function == firmware+0x24 and cycles >= 1 histogram cycles",
        "call where function == firmware+0x0",
    ];
    let queries = queries.map(|text| text.parse().unwrap()).into();
    session.tally(queries, None).unwrap();
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let mut counted = session.tallied().unwrap().into_iter().map(|(rows, _)| rows);
    let (outer, inner) = (counted.next().unwrap(), counted.next().unwrap());
    assert_eq!(outer[0].group, ["firmware+0x0", "firmware+0x14"]);
    assert_eq!(inner[0].group, ["firmware+0x14"]);
    assert_eq!((outer[0].count, inner[0].count), (2, 2));
    assert!(
        0 < inner[0].sum && inner[0].sum < outer[0].sum,
        "{outer:?} {inner:?}"
    );
    let all = session.counters();
    // A count of calls changes no counter.
    let mut alone = below_a_linux(&firmware);
    assert_eq!(alone.run(Limits::NONE), Stop::PowerOff { status: 0 });
    assert_eq!(alone.counters(), all);
    let cycles = all.iter().find(|(name, _)| name == "cycles").unwrap().1;
    assert!(outer[0].sum < cycles);
    // Nobody calls the code that the machine begins with.
    assert!(counted.next().unwrap().is_empty());
}

/// jal from one address to another, with ra.
fn jal(from: i32, to: i32) -> u32 {
    let far = (to - from) as u32;
    let high = (far >> 20 & 1) << 31 | (far >> 1 & 0x3ff) << 21;
    high | (far >> 11 & 1) << 20 | (far >> 12 & 0xff) << 12 | 0x0ef
}

/// A function that is jumped to returns to the caller of the one that jumps, which runs long before it jumps again. An
/// exception comes before its first instruction, and its handler runs that again.
#[test]
fn a_call_by_a_jump_ends_at_its_return() {
    let code = [
        0x0000_0297,     // auipc t0, 0
        0x0382_8293,     // addi t0, t0, 0x38
        0x3052_9073,     // csrw mtvec, t0
        jal(0x0c, 0x28), //
        0x4000_0313,     // li t1, 1024
        0xfff3_0313,     // 1: addi t1, t1, -1
        0xfe03_1ee3,     // bnez t1, 1b
        jal(0x1c, 0x28), //
        jal(0x20, 0x2c), //
        0x0280_006f,     // j 0x4c
        0x0040_006f,     // 0x28: j 0x2c
        0x0000_0073,     // 0x2c: ecall
        0xb000_2573,     // csrr a0, mcycle
        0x0000_8067,     // ret
        0x3410_23f3,     // 0x38: csrr t2, mepc
        0x0093_83b3,     // add t2, t2, s1: 0 at first
        0x0040_0493,     // li s1, 4
        0x3413_9073,     // csrw mepc, t2
        0x3020_0073,     // mret
        0x0010_02b7,     // 0x4c: lui t0, 0x100: the test device
        0x0080_006f,     // j 0x58
        jal(0x54, 0x38), // never reached: a function begins there
        0x0000_5337,     // 0x58: lui t1, 5
        0x5553_0313,     // addi t1, t1, 0x555
        0x0062_a023,     // sw t1, (t0)
    ];
    let firmware: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut session = below_a_linux(&firmware);
    let queries = [
        "call by caller where function == firmware+0x2c histogram cycles",
        "call by caller where function == firmware+0x28 histogram cycles",
        "call where function == firmware+0x38",
    ];
    let queries = queries.map(|text| text.parse().unwrap()).into();
    session.tally(queries, None).unwrap();
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let tallied = session.tallied().unwrap();
    let rows = |n: usize| {
        let mut rows: Vec<_> = (tallied[n].0.iter())
            .map(|row| (row.group[0].clone(), row.count))
            .collect();
        rows.sort();
        rows
    };
    let named = |name: &str, count| (name.to_owned(), count);
    let jumped = [named("firmware+0x0", 1), named("firmware+0x28", 2)];
    assert_eq!(rows(0), jumped);
    assert_eq!(rows(1), [named("firmware+0x0", 2)]);
    // The loop between the calls takes longer than 1024 cycles.
    let sum: u64 = tallied[0].0.iter().map(|row| row.sum).sum();
    assert!(0 < sum && sum < 1024, "{:?}", tallied[0].0);
    // What an exception leads to is not called.
    assert!(tallied[2].0.is_empty());
    let mut alone = below_a_linux(&firmware);
    assert_eq!(alone.run(Limits::NONE), Stop::PowerOff { status: 0 });
    assert_eq!(alone.counters(), session.counters());
    for query in [
        "call where function == nosuch",
        "call where function == firmware+0x28 and caller == nosuch",
    ] {
        let error = alone.tally(vec![query.parse().unwrap()], None).unwrap_err();
        assert!(error.contains("has a function \"nosuch\""), "{error}");
    }
}

/// In machine mode above firmware, where a Linux has functions at the same lower 32 bits.
#[test]
fn firmwares_time_has_its_functions_names() {
    let code = [
        0x0080_00ef_u32, // jal ra, 8
        0x0000_006f,     // j .
        0x4000_0593,     // li a1, 1024
        0xfff5_8593,     // 1: addi a1, a1, -1
        0xfe05_9ee3,     // bnez a1, 1b
        0x0010_02b7,     // lui t0, 0x100: the test device
        0x0000_5337,     // lui t1, 5
        0x5553_0313,     // addi t1, t1, 0x555
        0x0062_a023,     // sw t1, (t0)
    ];
    let firmware: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut session = below_a_linux(&firmware);
    session.record_profile(None);
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let rows = session.profile();
    assert_eq!(
        rows[0].function,
        "firmware+0x8",
        "{}",
        session.profile_table(5)
    );
    assert!(rows.iter().all(|row| row.function.starts_with("firmware+")));
}

/// A Linux whose functions' physical addresses begin at 0, where firmware is, does not name what firmware does.
#[test]
fn physical_addresses_of_linux_name_no_firmware() {
    let code = [
        0x0080_00ef_u32, // jal ra, 8
        0x0000_006f,     // j .
        0x0010_02b7,     // lui t0, 0x100: the test device
        0x0000_5337,     // lui t1, 5
        0x5553_0313,     // addi t1, t1, 0x555
        0x0062_a023,     // sw t1, (t0)
    ];
    let firmware: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut session = with_linux(&linux_with_symbols(), &firmware);
    session.record_profile(None);
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let names: Vec<_> = session
        .profile()
        .into_iter()
        .map(|row| row.function)
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("firmware+")));
    // The kernel's own addresses have its names.
    let symbols = &session.machine().processor().observers().symbols;
    assert_eq!(symbols.describe(0x8000_000c, false), "entry");
}

/// An ELF file of a Linux with the functions `early` and `entry`, which is loaded at address 0.
fn linux_with_symbols() -> Vec<u8> {
    const BASE: u64 = 0xffff_ffff_8000_0000;
    let names = b"\0early\0entry\0";
    let symbols = [(0, 0, 0), (1, BASE + 8, 4), (7, BASE + 12, 16)];
    let text = [0_u8; 64];
    let (text_at, names_at, symbols_at, sections_at) = (120, 184, 200, 272);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let halves = |file: &mut Vec<u8>, all: &[u16]| {
        file.extend(all.iter().flat_map(|half| half.to_le_bytes()));
    };
    let words = |file: &mut Vec<u8>, all: &[u32]| {
        file.extend(all.iter().flat_map(|word| word.to_le_bytes()));
    };
    let quads = |file: &mut Vec<u8>, all: &[u64]| {
        file.extend(all.iter().flat_map(|quad| quad.to_le_bytes()));
    };
    halves(&mut file, &[2, 243]);
    words(&mut file, &[1]);
    quads(&mut file, &[BASE, 64, sections_at]);
    words(&mut file, &[0]);
    halves(&mut file, &[64, 56, 1, 64, 4, 3]);
    words(&mut file, &[1, 7]);
    quads(&mut file, &[text_at, BASE, 0, 64, 64, 4096]);
    file.extend(text);
    file.extend(names);
    file.resize(symbols_at as usize, 0);
    for (name, address, size) in symbols {
        words(&mut file, &[name]);
        // STB_GLOBAL, STT_FUNC, in section 1.
        halves(&mut file, if name == 0 { &[0, 0] } else { &[0x12, 1] });
        quads(&mut file, &[address, size]);
    }
    for (kind, flags, address, at, size, link, one) in [
        (0, 0, 0, 0, 0, 0, 0),
        (1, 6, BASE, text_at, 64, 0, 0),
        (2, 0, 0, symbols_at, 72, 3, 24),
        (3, 0, 0, names_at, names.len() as u64, 0, 0),
    ] {
        words(&mut file, &[0, kind]);
        quads(&mut file, &[flags, address, at, size]);
        words(&mut file, &[link, u32::from(link != 0)]);
        quads(&mut file, &[1, one]);
    }
    file
}

/// A machine with this firmware, which does not start its Linux.
fn below_a_linux(firmware: &[u8]) -> Session {
    let mut linux = vec![0; 64];
    linux[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
    linux[0x38..0x3c].copy_from_slice(b"RSC\x05");
    with_linux(&linux, firmware)
}

fn with_linux(linux: &[u8], firmware: &[u8]) -> Session {
    let given = Given {
        firmware: Some((firmware, "fw")),
        ..Given::default()
    };
    let config = config("u74-1500", &[]);
    let console = Console::memory();
    Session::with_riscv_kernel(&config, (linux, "k"), &given, console).unwrap()
}
