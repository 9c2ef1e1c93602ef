//! What manuals and compilers say that instructions cost, beside what the machines take: docs/manuals.md is this
//! test's table. `PAGEWALK_WRITE=1 cargo test --profile tests -p pagewalk-machine --test manuals` writes it anew.

mod support;
#[allow(dead_code, reason = "another test file uses the rest of it")]
#[path = "x86/bench.rs"]
mod x86_bench;

use std::fmt::Write as _;
use std::path::Path;

use pagewalk_machine::powerpc::machine::{Limits, Stop};
use support::Program;

/// A sequence, and what it costs on each of [`MACHINES`]: cycles for one repetition; None where no source says.
struct Example {
    what: &'static str,
    body: &'static str,
    documented: [Option<f64>; MACHINES.len()],
    source: &'static str,
    /// Whether the machine files have a key that was set from the same source: then agreement proves little.
    set: bool,
}

const MACHINES: [&str; 5] = [
    "ppc603-133",
    "ppc604-133",
    "ppc750-400",
    "ppc405-200",
    "ppc970-1600",
];

/// Stands for "no source says" in [`known`].
const NONE: f64 = 0.0;

const fn known(cycles: [f64; MACHINES.len()]) -> [Option<f64>; MACHINES.len()] {
    let mut documented = [None; MACHINES.len()];
    let mut machine = 0;
    while machine < cycles.len() {
        if cycles[machine] != NONE {
            documented[machine] = Some(cycles[machine]);
        }
        machine += 1;
    }
    documented
}

const EXAMPLES: &[Example] = &[
    Example {
        what: "add that needs the add before it",
        body: "add 3, 3, 4",
        documented: known([1.0, 1.0, 1.0, 1.0, 2.0]),
        source: "GCC's and PSIM's tables; GCC's 40x.md and power4.md",
        set: true,
    },
    Example {
        what: "two chains of adds",
        body: "add 3, 3, 4\n  add 6, 6, 4",
        documented: known([NONE, 1.0, 1.0, 2.0, 2.0]),
        source: "two integer units: 604 User's Manual p.35, 750GX User's Manual p.23; one instruction issued in a cycle: GCC's 40x.md; two chains of 2 cycles: GCC's power4.md",
        set: false,
    },
    Example {
        what: "load that needs the load before it",
        body: "lwz 5, 0(5)",
        documented: known([2.0, 2.0, 2.0, 2.0, 3.0]),
        source: "750GX User's Manual p.244; GCC; 405 User's Manual C-5; GCC's power4.md less one",
        set: true,
    },
    Example {
        what: "load that needs nothing",
        body: "lwz 7, 0(5)",
        documented: known([1.0, 1.0, 1.0, 1.0, 0.5]),
        source: "750GX User's Manual p.244; GCC; 405 User's Manual C-5; two units: GCC's power4.md",
        set: true,
    },
    Example {
        what: "two chains of adds, a load and a floating-point add",
        body: "add 3, 3, 4\n  add 6, 6, 4\n  lwz 7, 0(5)\n  fadd 1, 2, 3",
        documented: known([NONE, 1.0, NONE, NONE, 2.0]),
        source: "four dispatched and completed in a cycle: 604 User's Manual p.35 and 36; two chains of 2 cycles: GCC's power4.md",
        set: false,
    },
    Example {
        what: "add and load, independent",
        body: "add 3, 3, 4\n  lwz 7, 0(5)",
        documented: known([1.0, 1.0, 1.0, 2.0, NONE]),
        source: "two dispatched and completed in a cycle: 603e User's Manual 6.6.1.3; 750GX p.236; 604 p.35; one instruction issued in a cycle: GCC's 40x.md",
        set: false,
    },
    Example {
        what: "mullw by a number of 16 bits, in a chain",
        body: "mullw 3, 3, 10",
        documented: known([NONE, 3.0, 3.0, NONE, NONE]),
        source: "early end: 604 User's Manual p.35; GCC for the 750",
        set: false,
    },
    Example {
        what: "mullw by a number of 32 bits, in a chain",
        body: "mullw 3, 3, 11",
        documented: known([5.0, 4.0, 4.0, 5.0, 5.0]),
        source: "603e User's Manual, tables 6-1 to 6-6; PSIM; GCC; GCC's 40x.md and power4.md",
        set: true,
    },
    Example {
        what: "divwu, in a chain",
        body: "divwu 3, 3, 4",
        documented: known([37.0, 20.0, 19.0, 35.0, 36.0]),
        source: "603e User's Manual, tables 6-1 to 6-6; PSIM; GCC; 405 User's Manual C-3; GCC's power4.md",
        set: true,
    },
    Example {
        what: "lmw of 8 words",
        body: "lmw 24, 0(8)",
        documented: known([10.0, NONE, 10.0, 8.0, NONE]),
        source: "2 + n: 603e User's Manual, tables 6-1 to 6-6; 750GX p.244; a word in a cycle: 405 User's Manual C-5",
        set: true,
    },
    Example {
        what: "stmw of 8 words",
        body: "stmw 24, 0(8)",
        documented: known([9.0, NONE, NONE, 8.0, NONE]),
        source: "1 + n: 603e User's Manual, tables 6-1 to 6-6; a word in a cycle: 405 User's Manual C-5",
        set: true,
    },
    Example {
        what: "taken branch to a taken branch",
        body: "b 0f\n  nop\n0: b 0f\n  nop\n0:",
        documented: known([NONE, 2.0, NONE, NONE, NONE]),
        source: "the target is fetched in the next cycle: 604 User's Manual p.252",
        set: true,
    },
    Example {
        what: "floating-point add that needs the one before it",
        body: "fadd 1, 1, 3",
        documented: known([3.0, 3.0, 3.0, NONE, 6.0]),
        source: "PSIM; GCC; GCC's power4.md",
        set: true,
    },
    Example {
        what: "two floating-point adds, independent",
        body: "fadd 1, 2, 3\n  fadd 4, 2, 3",
        documented: known([2.0, 2.0, 2.0, NONE, 1.0]),
        source: "one begins in each cycle: PSIM; GCC; two units: GCC's power4.md",
        set: true,
    },
    Example {
        what: "double multiply that needs the one before it",
        body: "fmul 1, 1, 3",
        documented: known([4.0, 3.0, 4.0, NONE, 6.0]),
        source: "PSIM; GCC; GCC's power4.md",
        set: true,
    },
    Example {
        what: "two double multiplies, independent",
        body: "fmul 1, 2, 3\n  fmul 4, 2, 3",
        documented: known([4.0, 2.0, 4.0, NONE, 1.0]),
        source: "one begins every second cycle, on a 604 in each: PSIM; GCC; two units: GCC's power4.md",
        set: true,
    },
    Example {
        what: "double divide",
        body: "fdiv 1, 1, 3",
        documented: known([33.0, 32.0, 31.0, NONE, 33.0]),
        source: "PSIM; GCC; GCC's power4.md",
        set: true,
    },
    Example {
        what: "dcbz of a line in the cache",
        body: "dcbz 0, 8",
        documented: known([10.0, 3.0, 6.0, 2.0, NONE]),
        source: "PSIM; 750GX p.245; 405 User's Manual C-3",
        set: true,
    },
];

/// The loop by which Linux 2 waits, which its boot times as "BogoMIPS": 500,000 rounds a second are one. The ratio to
/// the clock in MHz is published by family, from machines that people had (W. van Dorst, BogoMips mini-HOWTO, as
/// Wikipedia's "BogoMips" quotes it), so that 2 / ratio are the cycles of a round. No key was set from it.
const DELAY_LOOPS: [(&str, &str, f64, &str); 5] = [
    ("603", "ppc603-133", 0.67, "bdnz to itself"),
    ("604", "ppc604-133", 2.0, "bdnz to itself"),
    ("750", "ppc750-400", 2.0, "bdnz to itself"),
    ("i486", "i486dx-50", 0.5, "dec and jns"),
    ("Pentium Pro", "p6-200", 0.99, "dec and jns"),
];

/// Cycles of a round of Linux's delay loop on a machine, from two lengths of it.
fn delay_round(machine: &str) -> f64 {
    const ROUNDS: [u32; 2] = [1000, 2000];
    let cycles = ROUNDS.map(|rounds| {
        if machine.starts_with("ppc") {
            let source = format!(
                "_start:
  caches_on
  load 4, {rounds}
  mtctr 4
  .balign 32
1: bdnz 1b
  power_off 0"
            );
            let mut session =
                Program::on(machine, &source).session(machine, &["memory.size=0x400000"]);
            assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
            session.machine().processor().cycles()
        } else {
            // dec eax; jns to it; two instructions each round.
            let mut bench = x86_bench::Bench::new(machine, &[0x48, 0x79, 0xfd]);
            bench.registers().gpr[0] = u32::MAX >> 1;
            bench.run(u64::from(2 * rounds));
            bench.machine.instant().cycles
        }
    });
    (cycles[1] - cycles[0]) as f64 / f64::from(ROUNDS[1] - ROUNDS[0])
}

/// The table of [`DELAY_LOOPS`].
fn delay_loops() -> String {
    let mut text = String::from(
        "\n## Linux's delay loop\n\n\
        At each boot Linux 2 timed the loop by which it waits, and printed the rounds as BogoMIPS. The ratio of that \
        figure to the clock was collected for each family of processors. No key of a machine file was set from it, \
        so that it judges the loop's two parts: a taken branch and what its processor fetches after it.\n\n\
        | processor | loop | BogoMIPS for each MHz, published | cycles for each round, from it | modelled | |\n\
        | --- | --- | --- | --- | --- | --- |\n",
    );
    for (family, machine, ratio, code) in DELAY_LOOPS {
        let (published, modelled) = (2.0 / ratio, delay_round(machine));
        let off = (modelled / published).ln().abs() > 1.1f64.ln();
        let verdict = if off { "miss" } else { "hit" };
        writeln!(
            text,
            "| {family} | {code} | {ratio} | {published:.2} | {modelled:.2} | {verdict} |"
        )
        .expect("memory");
    }
    text += "\nThe two that miss lack the same part: a fetch that runs ahead of dispatch, with a queue between them, \
        as a state of the pipeline. In the model a taken branch costs no cycle by itself on these two, because their \
        queues hide it where they hold work. In this loop they never do. The 603e's manual says that its branch unit \
        sees a branch when it is fetched (p.1-34), and that two instructions a cycle come into the queue (p.1-9); it \
        has no target cache. Of the 750 it is documented that a target takes a cycle more from the instruction cache \
        than from the target cache (750GX User's Manual p.229). That makes two of the three cycles. No manual at \
        hand gives the third, and none says how many cycles the P6 loses, so that no key was set.\n";
    text
}

/// Whether the sequence needs floating-point registers.
fn is_float(body: &str) -> bool {
    ["fadd", "fmul", "fdiv"]
        .iter()
        .any(|name| body.contains(name))
}

/// Cycles of one repetition: the body stands 24 times in a loop, which runs a thousand times more.
fn measured(machine: &str, body: &str) -> f64 {
    let operands = if is_float(body) {
        "lfd 1, 0(8)\n  lfd 2, 0(8)\n  lfd 3, 0(8)\n  lfd 4, 0(8)"
    } else {
        ""
    };
    let copies = 24;
    let cycles = [1000u32, 2000].map(|rounds| {
        let source = format!(
            "_start:
  mfmsr 9
  ori 9, 9, 0x2000
  mtmsr 9
  isync
  caches_on
  load 5, 0x00100000
  stw 5, 0(5)
  load 8, 0x00101000
  load 4, {rounds}
  mtctr 4
  li 3, 1
  li 6, 0
  li 10, 0x123
  load 11, 0x12345678
  {operands}
  .balign 32
1: {}
  bdnz 1b
  power_off 0",
            format!("{body}\n  ").repeat(copies)
        );
        let mut session = Program::on(machine, &source).session(machine, &["memory.size=0x400000"]);
        assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
        session.machine().processor().cycles()
    });
    (cycles[1] - cycles[0]) as f64 / 1000.0 / copies as f64
}

fn table() -> String {
    let mut page = String::from(
        "# Instruction times: documented and modelled\n\n\
        Generated by `PAGEWALK_WRITE=1 cargo test --profile tests -p pagewalk-machine --test manuals`, which also \
        fails if a figure changes. Each sequence stands 24 times in a loop, with its data in the cache; the \
        figures are cycles for one repetition, the loop's branch included. \"Set\" marks what a key of the machine \
        file was set from: agreement there shows that the pipeline does what the key says. The others follow from \
        units and widths. A miss is more than a tenth off. A 405 has no floating-point unit. The manuals' \
        cycle-by-cycle diagrams are not part of the table.\n\n\
        | sequence | 603: documented | modelled | 604: documented | modelled \
        | 750: documented | modelled | 405: documented | modelled | 970: documented | modelled \
        | set | misses | source |\n\
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut counts = [[0; 2]; 2];
    for example in EXAMPLES {
        let (mut cells, mut missed) = (String::new(), Vec::new());
        for (machine, documented) in MACHINES.into_iter().zip(example.documented) {
            if machine == "ppc405-200" && is_float(example.body) {
                cells += " | |";
                continue;
            }
            let modelled = measured(machine, example.body);
            match documented {
                Some(cycles) => {
                    let off = (modelled / cycles).ln().abs() > 1.1f64.ln();
                    if off {
                        missed.push(&machine[3..6]);
                    }
                    counts[usize::from(example.set)][usize::from(off)] += 1;
                    write!(cells, " {cycles} | {modelled:.2} |").expect("memory");
                }
                None => write!(cells, " | {modelled:.2} |").expect("memory"),
            }
        }
        let set = if example.set { "set" } else { "" };
        writeln!(
            page,
            "| {} |{cells} {set} | {} | {} |",
            example.what,
            missed.join(", "),
            example.source
        )
        .expect("memory");
    }
    let [follows, set] = counts;
    writeln!(
        page,
        "\nOf the figures that follow from units and widths, {} are hits and {} are misses; of those that a key was set from, {} and {}.",
        follows[0], follows[1], set[0], set[1]
    )
    .expect("memory");
    page + &delay_loops()
}

#[test]
fn instruction_times_stand_beside_the_manuals() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manuals.md");
    let page = table();
    if std::env::var_os("PAGEWALK_WRITE").is_some() {
        std::fs::write(&path, &page).expect("docs/manuals.md is written");
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        held == page,
        "docs/manuals.md is not what the machines take; it should be:\n{page}"
    );
}
