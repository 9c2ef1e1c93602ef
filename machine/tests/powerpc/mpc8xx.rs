//! The 8xx core by bare-metal programs: its exceptions, registers, missing instructions, caches and clocks.

use crate::support;
use crate::support::{Program, config, counter, gpr};
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::loader::{Target, device_tree};
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "mpc855t-48";

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

fn session(source: &str) -> Session {
    Program::on(MACHINE, source).session(MACHINE, &[])
}

/// Runs a program that ends with status 0.
fn run(source: &str) -> Session {
    let mut session = session(source);
    support::finish(&mut session, LIMITS);
    session
}

/// A handler that leaves its vector in r20, SRR0 in r21, SRR1 in r22, DAR in r23, DSISR in r24, and ends the
/// program.
fn handlers(vectors: &[u32]) -> (String, String) {
    let install: String = vectors
        .iter()
        .map(|vector| format!("vector {vector:#x}, handler_{vector:x}\n"))
        .collect();
    let code = vectors
        .iter()
        .map(|vector| {
            format!(
                "handler_{vector:x}:\nload 20, {vector:#x}\nmfspr 21, 26\nmfspr 22, 27\nmfspr 23, 19\n\
                 mfspr 24, 18\npower_off 0\n"
            )
        })
        .collect();
    (install, code)
}

const VECTORS: [u32; 6] = [0x700, 0x1000, 0x1100, 0x1200, 0x1300, 0x1400];

/// Runs `source` with all handlers; `cause:` stands at the instruction that raises. Returns the session and whether
/// SRR0 is there.
fn raising(source: &str) -> (Session, bool) {
    let (install, code) = handlers(&VECTORS);
    let text = format!("_start:\n{install}{source}\nb .\n{code}\n.data\n.long cause\n");
    let program = Program::on(MACHINE, &text);
    let elf = std::fs::read(program.elf()).unwrap();
    let image = pagewalk_machine::loader::ElfImage::parse(&elf, "a.elf").unwrap();
    let cause = image.symbols.by_name("cause").unwrap().address;
    let mut session = program.session(MACHINE, &[]);
    assert_eq!(session.run(LIMITS), Stop::PowerOff { status: 0 });
    let there = gpr(&session, 21) == cause;
    (session, there)
}

/// 860 UM 7.1.3.1: instructions that the core lacks are for software to emulate, whether or not floating point is
/// enabled.
#[test]
fn what_the_core_lacks_is_for_software_to_emulate() {
    for lacked in [
        "fadd 1, 2, 3",
        "lfd 1, 0(10)",
        "stfs 1, 0(10)",
        "mffs 1",
        ".long 0x7c6004a6 + 0",
        ".long 0x7c8401a4",
        ".long 0x7c0027a4",
        ".long 0x7c601a6c",
        ".long 0",
        "mfspr 3, 1008",
        "mtspr 25, 3",
        "mtspr 528, 3",
        "mfspr 3, 561",
        "mtspr 268, 3",
    ] {
        let source =
            format!("load 3, 0x3002\nmtmsr 3\nload 10, 0x8000\ncause: {lacked}\n.globl cause");
        let (session, there) = raising(&source);
        assert_eq!((gpr(&session, 20), there), (0x1000, true), "{lacked}");
        assert_eq!(gpr(&session, 22), 0x3002, "{lacked}");
        assert_eq!(counter(&session, "exception.software-emulation"), 1);
    }
}

#[test]
fn the_supervisors_registers_are_privileged() {
    for denied in [
        "mfspr 3, 792",
        "mtspr 790, 3",
        "mtspr 81, 3",
        "mfspr 3, 560",
        "tlbia",
        "mtspr 1008, 3",
    ] {
        let source = format!(
            "load 3, cause\nmtsrr0 3\nload 3, 0x5002\nmtsrr1 3\nrfi\n.globl cause\ncause: {denied}"
        );
        let (session, there) = raising(&source);
        assert_eq!((gpr(&session, 20), there), (0x700, true), "{denied}");
        assert_eq!(gpr(&session, 22), 0x0004_5002, "{denied}");
    }
}

/// `prepare` maps RAM and devices for both sides; each case does the rest.
fn translated(prepare: &str, cause: &str) -> (Session, bool) {
    raising(&format!(
        "paging\n{prepare}\nload 10, 0x60000123\nload 29, 0x40000000\n.globl cause\ncause: {cause}"
    ))
}

#[test]
fn misses_and_errors_have_their_vectors_and_registers() {
    const NO_CHANGE: &str = "map 0x60000000, 1, 0x003008f5";
    const INVALID: &str = "map 0x60000000, 0, 0x003009f5";
    const READ_ONLY: &str = "map 0x60000000, 1, 0x00300df5";
    for (prepare, cause, vector, dsisr) in [
        ("", "lbz 3, 0(10)", 0x1200, None),
        ("", "stb 3, 0(10)", 0x1200, None),
        (INVALID, "lbz 3, 0(10)", 0x1400, Some(0x4000_0000)),
        (INVALID, "stb 3, 0(10)", 0x1400, Some(0x4200_0000)),
        (READ_ONLY, "stb 3, 0(10)", 0x1400, Some(0x0a00_0000)),
        (NO_CHANGE, "stb 3, 0(10)", 0x1400, Some(0x0200_0000)),
        (NO_CHANGE, "dcbz 0, 10", 0x1400, Some(0x0200_0000)),
        (INVALID, "icbi 0, 10", 0x1400, Some(0x4000_0000)),
    ] {
        let (session, there) = translated(prepare, cause);
        assert_eq!(
            (gpr(&session, 20), there),
            (vector, true),
            "{prepare}: {cause}"
        );
        assert_eq!(gpr(&session, 22), 0x1030);
        if let Some(dsisr) = dsisr {
            assert_eq!(gpr(&session, 24), dsisr, "{prepare}: {cause}");
            assert_eq!(gpr(&session, 23), 0x6000_0123, "{prepare}: {cause}");
        }
    }
    // Fetches: SRR0 is where they go.
    for (prepare, vector, srr1) in [
        ("", 0x1100, 0x1030),
        (INVALID, 0x1300, 0x4000_1030),
        ("map 0x60000000, 0x11, 0x003009f5", 0x1300, 0x1000_1030),
        ("map 0x60000000, 1, 0x003003f5", 0x1300, 0x0800_1030),
    ] {
        let (session, _) = translated(prepare, "mtctr 10\nbctr");
        assert_eq!(
            (gpr(&session, 20), gpr(&session, 21), gpr(&session, 22)),
            (vector, 0x6000_0120, srr1),
            "{prepare}"
        );
    }
    let (session, _) = translated("", "lbz 3, 0(10)");
    assert_eq!(counter(&session, "exception.dtlb-miss"), 1);
    assert_eq!(counter(&session, "tlb.data.miss.kernel"), 1);
    let (session, _) = translated("", "mtctr 10\nbctr");
    assert_eq!(counter(&session, "exception.itlb-miss"), 1);
    assert_eq!(counter(&session, "tlb.instruction.miss.kernel"), 1);
}

#[test]
fn dcbz_clears_a_line_of_sixteen_bytes() {
    let session = run(
        "_start:\ncaches_on\nload 10, 0x8000\nli 3, -1\nli 4, 16\nmtctr 4\nsubi 5, 10, 4\n1: stwu 3, 4(5)\n\
         bdnz 1b\naddi 6, 10, 20\ndcbz 0, 6\naddi 6, 10, 0x1010\ndcbz 0, 6\npower_off 0",
    );
    let words: Vec<u32> = (0..16)
        .map(|n| {
            session
                .machine()
                .processor()
                .memory
                .uncore
                .ram
                .read_u32(0x8000 + 4 * n)
                .unwrap()
        })
        .collect();
    let expected: Vec<u32> = (0..16)
        .map(|n| if (4..8).contains(&n) { 0 } else { u32::MAX })
        .collect();
    assert_eq!(words, expected);
    assert_eq!(counter(&session, "cache.data.establish"), 1);
}

/// EIE, EID and NRI change MSR[EE] and MSR[RI], and an interrupt that waits is taken at once.
#[test]
fn interrupts_are_enabled_by_registers() {
    let session = run(
        "_start:\nvector 0x900, tick\nmtspr 80, 3\nmfmsr 20\nmtspr 81, 3\nmfmsr 21\nmtspr 82, 3\nmfmsr 22\n\
         li 4, -1\nmtdec 4\nli 4, 5\nmtdec 4\nli 5, 200\nmtctr 5\n1: bdnz 1b\nli 25, 1\nmtspr 80, 3\nli 26, 1\n\
         power_off 9\ntick: mfspr 23, 27\nmfspr 24, 26\npower_off 0",
    );
    assert_eq!(
        [20, 21, 22, 23].map(|number| gpr(&session, number)),
        [0x8002, 2, 0, 0x8002]
    );
    assert_eq!((gpr(&session, 25), gpr(&session, 26)), (1, 0));
}

/// The time base counts once in 16 clocks.
#[test]
fn the_time_base_counts_sixteenths_of_the_clock() {
    let session = run(
        "_start:\nload 30, 0x80001008\nlwz 20, 0(30)\nmftb 21\nli 4, 1600\nmtctr 4\n1: bdnz 1b\nlwz 22, 0(30)\n\
         mftb 23\npower_off 0",
    );
    let cycles = gpr(&session, 22) - gpr(&session, 20);
    let ticks = gpr(&session, 23) - gpr(&session, 21);
    assert!(
        cycles > 1600 && ticks.abs_diff(cycles / 16) <= 1,
        "{cycles} {ticks}"
    );
}

#[test]
fn the_caches_take_commands_and_tell_their_state() {
    let session = run(
        "_start:\nmfspr 14, 568\ncaches_on\nmfspr 15, 560\nmfspr 16, 568\nload 10, 0x8000\nlwz 3, 0(10)\n\
         lis 3, 0x0100\nmtspr 568, 3\nmfspr 17, 568\nstw 3, 0(10)\nlis 3, 0x0300\nmtspr 568, 3\nmfspr 18, 568\n\
         stw 3, 0(10)\nlis 3, 0x0400\nmtspr 568, 3\nmfspr 19, 568\nlwz 3, 0(10)\nlis 3, 0x0600\nmtspr 560, 3\n\
         mfspr 20, 560\nmfspr 21, 560\npower_off 0",
    );
    assert_eq!(
        [14, 15, 16, 17, 18, 19, 20, 21].map(|number| gpr(&session, number)),
        [
            0,
            0x8000_0000,
            0x8000_0000,
            0xc000_0000,
            0x8000_0000,
            0,
            0x8010_0000,
            0x8000_0000
        ]
    );
    // The second store alone has made the line modified.
    let lines: Vec<_> = session.machine().processor().memory.data.lines().collect();
    assert!(matches!(lines[..], [(0, _, 0x8000, true)]), "{lines:?}");
    assert_eq!(
        counter(&session, "cache.data.inhibited"),
        1,
        "the load with the cache off"
    );
}

/// The kernel learns these from the machine file alone: lines of 16 bytes, 32 entries in one set, time base.
#[test]
fn the_device_tree_tells_lines_tlb_and_clocks() {
    let tree = device_tree(&config(MACHINE, &[]), Target::Pagewalk, "", None).unwrap();
    let property = |name: &str, value: u32| {
        // A property's name stands in the strings block, its value behind its length and the name's place there.
        let strings = u32::from_be_bytes(tree[12..16].try_into().unwrap()) as usize;
        let needle = format!("{name}\0");
        let at = tree[strings..]
            .windows(needle.len())
            .position(|window| window == needle.as_bytes())
            .unwrap() as u32;
        let entry = [3, 4, at, value].map(u32::to_be_bytes).concat();
        assert!(
            tree.windows(entry.len()).any(|window| window == entry),
            "{name} = {value}"
        );
    };
    for (name, value) in [
        ("d-cache-line-size", 16),
        ("i-cache-line-size", 16),
        ("d-cache-size", 4096),
        ("tlb-size", 32),
        ("tlb-sets", 1),
        ("clock-frequency", 48_000_000),
        ("timebase-frequency", 3_000_000),
        ("cpu-version", 0x0050_0000),
    ] {
        property(name, value);
    }
    let compatible = b"PowerPC,8xx\0";
    assert!(
        tree.windows(compatible.len())
            .any(|window| window == compatible)
    );
}

/// A vector without a handler is reported, by its offset on this core.
#[test]
fn a_missing_handler_stops_the_machine() {
    let mut session = session("_start:\n.long 0");
    let stop = session.run(LIMITS);
    assert!(
        matches!(stop, Stop::Fatal(Fatal::NoHandler { .. })),
        "{stop:?}"
    );
    let words = session.explain(&stop);
    assert!(
        words.contains("software-emulation (vector 0x1000)"),
        "{words}"
    );
}

/// The control device and a dump show the entries, and a snapshot holds them.
#[test]
fn dumps_views_and_snapshots_show_the_entries() {
    const SOURCE: &str = "_start:\ncaches_on\npaging\nload 29, 0x40000000\nlwz 3, 0(29)\n\
        poke 0x80000f2c, 31\nlwz 14, 0(30)\nlwz 15, 4(30)\nlwz 16, 8(30)\nlwz 17, 12(30)\nlwz 18, 16(30)\n\
        poke 0x80000f2c, 0x8000001b\nlwz 19, 4(30)\nlwz 20, 8(30)\npoke 0x80000f2c, 40\nlwz 21, 4(30)\n\
        poke 0x80000f24, 5\nlwz 3, 4(29)\npower_off 0";
    let whole = run(SOURCE);
    assert_eq!(
        [14, 15, 16, 17, 18, 19, 20, 21].map(|number| gpr(&whole, number)),
        [
            1 << 16 | 32,
            0xc000_0000,
            0,
            0x9fd,
            0xd,
            0x8000_0000,
            0x4000_0000,
            0
        ]
    );
    let dump = whole.dumps().first().unwrap();
    assert_eq!(dump.casid, Some(0));
    assert!(dump.segments.is_empty() && dump.data_tlb.is_empty() && dump.hash_table.is_none());
    let rows: Vec<_> = dump
        .data_entries
        .iter()
        .map(|row| {
            (
                row.number,
                row.reserved,
                row.effective,
                row.size.bytes(),
                row.shared,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (27, false, 0x4000_0000, 4096, true),
            (30, true, 0x8000_0000, 8 << 20, true),
            (31, true, 0, 8 << 20, true)
        ]
    );
    let text = dump.to_string();
    assert!(
        text.contains("  31* 00000000 -> 00000000 8192K shared VC ---- group 0 PP 9f"),
        "{text}"
    );
    assert_eq!(dump.to_json()["data_entries"][0]["size"], "4K");
    // Stopped half way, and gone on with in another machine.
    let mut first = session(SOURCE);
    assert_eq!(
        first.run(Limits {
            cycles: 240,
            ..Limits::NONE
        }),
        Stop::Limit
    );
    let saved = first.save().unwrap();
    let mut second = Session::restore(&saved, "s.snap", Console::memory()).unwrap();
    assert_eq!(second.run(LIMITS), Stop::PowerOff { status: 0 });
    let differing: Vec<_> = second
        .counters()
        .into_iter()
        .zip(whole.counters())
        .filter(|(mine, theirs)| mine != theirs)
        .collect();
    assert_eq!(differing, []);
    assert_eq!(
        second.machine().instant().cycles,
        whole.machine().instant().cycles
    );
}

/// The cost of a DTLB miss beyond that of a hit, with the two descriptors and the handler in caches or in memory
/// (docs/memory.md). The figures follow from the machine file's bus, pipeline and exception costs.
#[test]
fn a_miss_costs_what_its_parts_cost() {
    const SOURCE: &str = "
.macro measure result
  bl measured
  mr \\result, 3
.endm
_start:
  caches_on
  vector 0x1200, dtlb_miss
  paging
  load 3, 0x00200000
  mtspr 796, 3
  load 4, 0x00201001
  stw 4, 0x600(3)
  load 5, 0x00201000
  load 4, 0x003009f1
  stw 4, 0(5)
  addi 3, 3, 0x600
  mr 8, 3
  mr 9, 5
  load 10, 0x60000000
  load 30, 0x80001008
  measure 14
  measure 14
  tlbie 10
  measure 15
  dcbf 0, 8
  dcbf 0, 9
  sync
  tlbie 10
  measure 16
  dcbf 0, 8
  dcbf 0, 9
  li 11, 0x1200
  icbi 0, 11
  addi 11, 11, 16
  icbi 0, 11
  addi 11, 11, 16
  icbi 0, 11
  sync
  isync
  tlbie 10
  measure 17
  power_off 0
.balign 16
measured:
  lwz 20, 0(30)
  lwz 3, 0(10)
  lwz 21, 0(30)
  subf 3, 20, 21
  blr
dtlb_miss:
  mtspr 799, 3
  mfspr 3, 796
  lwz 3, 0(3)
  mtspr 797, 3
  mfspr 3, 797
  lwz 3, 0(3)
  mtspr 798, 3
  mfspr 3, 799
  rfi
";
    let session = run(SOURCE);
    let [hit, cached, descriptors, memory] = [14, 15, 16, 17].map(|number| gpr(&session, number));
    assert_eq!(
        (cached - hit, descriptors - cached, memory - descriptors),
        (30, 12, 13)
    );
}

#[test]
fn development_registers_keep_what_is_written_and_immr_names_the_devices() {
    let session = run("_start:
           load 3, 0x12345678
           mtspr 144, 3
           mtspr 149, 3
           mtspr 148, 3
           mtspr 159, 3
           mtspr 638, 3
           mfspr 20, 144
           mfspr 21, 149
           mfspr 22, 148
           mfspr 23, 159
           mfspr 24, 638
           power_off 0");
    let read = [20, 21, 22, 23].map(|n| gpr(&session, n));
    assert_eq!(read, [0x1234_5678, 0x1234_5678, 0, 0x1234_5678]);
    assert_eq!(gpr(&session, 24) >> 16, 0xff00);
}
