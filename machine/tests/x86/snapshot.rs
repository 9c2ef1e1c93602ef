//! Snapshots: a run that is saved and restored again and again counts what it counts without.

use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::session::Session;

use super::bench::{DIRECTORY, IDT, TABLE, WINDOW, config};
use super::files::{executable, header};
use super::several;

const BASE: u32 = 0x10_0000;
const POWER_OFF: u32 = 0x8000_0f08;
/// The vector of interrupt request 0.
const TICK: u32 = 0x20;
const HANDLER: u32 = 0x7000;
const TICKS: u32 = 0x6000;

fn mov(register: u8, value: u32) -> Vec<u8> {
    [&[0xb8 + register][..], &value.to_le_bytes()].concat()
}

/// mov al, value; out port, al
fn out(port: u8, value: u8) -> [u8; 4] {
    [0xb0, value, 0xe6, port]
}

/// Switches paging on, lets the timer interrupt, and loops over memory, calls, branches and the floating-point unit.
fn kernel() -> Vec<u8> {
    let mut text = header(0);
    let start = text.len();
    text.extend(mov(4, 0x9000)); // esp
    text.extend([0x68]); // push IDT; push 0x7ff0000; lidt [esp + 2]
    text.extend(IDT.to_le_bytes());
    text.extend([0x68, 0, 0, 0xff, 0x07, 0x0f, 0x01, 0x5c, 0x24, 0x02]);
    text.extend(mov(0, DIRECTORY));
    text.extend([
        0x0f, 0x22, 0xd8, 0x0f, 0x20, 0xc0, 0x0d, 0, 0, 0, 0x80, 0x0f, 0x22, 0xc0,
    ]);
    for (port, value) in [
        (0x20, 0x11),
        (0x21, TICK as u8),
        (0x21, 4),
        (0x21, 1),
        (0x21, 0xfe),
    ] {
        text.extend(out(port, value)); // the first 8259, with all inputs masked but the timer's
    }
    for (port, value) in [(0x43, 0x34), (0x40, 40), (0x40, 0)] {
        text.extend(out(port, value)); // every 40 ticks of the 8254
    }
    text.extend([0xdb, 0xe3, 0xd9, 0xe8, 0xfb]); // fninit; fld1; sti
    text.extend(mov(1, 6000)); // ecx
    let top = text.len();
    text.extend([
        0x89, 0xcf, 0xc1, 0xe7, 0x05, 0x81, 0xe7, 0xe0, 0xff, 0x01, 0,
    ]); // edi = (ecx << 5) & 0x1ffe0
    text.extend([0x01, 0x8f, 0, 0, 0x15, 0]); // add [edi + 0x150000], ecx
    text.extend([0xd8, 0xc0, 0xe8, 1, 0, 0, 0, 0x90]); // fadd st, st; call the next but one
    text.extend([0x58, 0xf6, 0xc1, 4, 0x74, 1, 0x42]); // pop eax; test cl, 4; jz +1; inc edx
    text.push(0x49); // dec ecx
    let back = top as i32 - (text.len() as i32 + 6);
    text.extend([0x0f, 0x85]);
    text.extend(back.to_le_bytes());
    text.extend([0xc7, 0x05]);
    text.extend(POWER_OFF.to_le_bytes());
    text.extend(42_u32.to_le_bytes());
    text.extend([0xeb, 0xfe]);
    let mut elf = executable(BASE, &text);
    elf[24..28].copy_from_slice(&(BASE + start as u32).to_le_bytes());
    elf
}

/// Counts, ends the interrupt, returns.
fn handler() -> Vec<u8> {
    let mut code = vec![0xff, 0x05];
    code.extend(TICKS.to_le_bytes());
    code.push(0x50);
    code.extend(out(0x20, 0x20));
    code.extend([0x58, 0xcf]);
    code
}

fn with_kernel(machine: &str, settings: &[&str], elf: &[u8]) -> Session {
    let config = config(machine, settings);
    Session::with_kernel(&config, (elf, "kernel"), None, None, "", Console::memory()).unwrap()
}

fn put(session: &mut Session, at: u32, bytes: &[u8]) {
    let at = at as usize;
    session.machine_mut().uncore_mut().ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
}

pub fn one(machine: &str) -> Session {
    one_with(machine, &[])
}

pub fn one_with(machine: &str, settings: &[&str]) -> Session {
    let mut session = with_kernel(machine, settings, &kernel());
    put(&mut session, HANDLER, &handler());
    let low = HANDLER | 0x08 << 16;
    put(&mut session, IDT + 8 * TICK, &low.to_le_bytes());
    put(&mut session, IDT + 8 * TICK + 4, &0x8e00_u32.to_le_bytes());
    for (page, at) in [(0, TABLE), (512, DIRECTORY + 0x800)] {
        // The first 4 MB, and the control device at 0x80000000.
        if page == 0 {
            put(&mut session, DIRECTORY, &(TABLE | 7).to_le_bytes());
            for page in 0..1024 {
                put(&mut session, at + 4 * page, &(page << 12 | 7).to_le_bytes());
            }
        } else {
            put(&mut session, at, &((TABLE + 0x1000) | 7).to_le_bytes());
            put(&mut session, TABLE + 0x1000, &0x8000_0017_u32.to_le_bytes());
        }
    }
    session
}

fn several(machine: &str, others: u32) -> Session {
    let text = [header(0), several::first(others)].concat();
    let mut elf = executable(BASE, &text);
    elf[24..28].copy_from_slice(&(BASE + header(0).len() as u32).to_le_bytes());
    let mut session = with_kernel(machine, &[], &elf);
    put(&mut session, 0x8000, &several::other());
    session
}

const WHOLE: Limits = Limits {
    cycles: 20_000_000,
    ..Limits::NONE
};

/// What a run leaves: the report, the clocks of all processors, and all of RAM in a sum.
pub fn outcome(session: &Session, stop: &Stop) -> (String, Vec<u64>, u64) {
    let machine = session.machine();
    let sum = machine
        .uncore()
        .ram
        .bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let clocks = machine.processors().iter().map(|p| p.instant().cycles);
    (session.report(stop).to_string(), clocks.collect(), sum)
}

#[test]
fn a_run_in_pieces_that_are_saved_and_restored_is_the_same_run() {
    for (name, settings) in [
        ("i486dx-50", &[][..]),
        ("p6-200", &[]),
        ("p6-167", &[WINDOW, "bus.depth=8"]),
        ("p6-200x2", &[]),
        ("p6-200x4", &[]),
    ] {
        let make = || match name {
            "p6-200x2" => several(name, 1),
            "p6-200x4" => several(name, 3),
            _ => one_with(name, settings),
        };
        let mut whole = make();
        let stop = whole.run(WHOLE);
        assert_eq!(
            stop,
            Stop::PowerOff { status: 42 },
            "{name}: {}",
            whole.explain(&stop)
        );
        let cycles = whole.machine().instant().cycles;
        if whole.machine().processors().len() == 1 {
            let ticks = whole.machine().processor().ram_word(TICKS).unwrap();
            assert!(ticks > 10, "{name}: {ticks} ticks");
        }
        let mut parts = make();
        let mut last = Stop::Limit;
        for n in 1..=7 {
            last = parts.run(Limits {
                cycles: cycles * n / 7 + n,
                ..Limits::NONE
            });
            let saved = parts.save().unwrap();
            parts = Session::restore(&saved, "s", Console::memory()).unwrap();
            assert_eq!(
                parts.save().unwrap(),
                saved,
                "{name}: a restored machine is saved as it was"
            );
        }
        assert_eq!(last, stop, "{name}");
        assert_eq!(outcome(&parts, &stop), outcome(&whole, &stop), "{name}");
    }
}

#[test]
fn snapshots_of_other_machines_and_damaged_ones_are_refused() {
    let mut session = one("i486dx-50");
    session.run(Limits {
        cycles: 5000,
        ..Limits::NONE
    });
    let saved = session.save().unwrap();
    let refusal = |bytes: &[u8]| {
        let restored = Session::restore(bytes, "s.snap", Console::memory());
        restored.err().expect("refused").to_string()
    };
    let x86 =
        pagewalk_machine::powerpc::session::Session::restore(&saved, "s.snap", Console::memory());
    let message = x86.err().expect("refused").to_string();
    assert_eq!(
        message,
        "s.snap: is a snapshot of a machine of another architecture: x86"
    );
    let mut other = saved.clone();
    other[8..16].copy_from_slice(b"PowerPC\0");
    assert_eq!(
        refusal(&other),
        "s.snap: is a snapshot of a machine of another architecture: PowerPC"
    );
    assert_eq!(
        refusal(&saved[..5]),
        "s.snap: is not a snapshot of this version of the machine"
    );
    let cut = refusal(&saved[..saved.len() / 2]);
    assert!(
        cut.starts_with("s.snap: the snapshot is damaged: "),
        "{cut}"
    );
    let mut flipped = saved.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    let damaged = refusal(&flipped);
    assert!(
        damaged.starts_with("s.snap: the snapshot is damaged: "),
        "{damaged}"
    );
}
