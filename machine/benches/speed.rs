//! How fast the machine simulates: the same ELF files under `qemu-ppc` and here, with all accounting on. Four programs
//! count in the mean. A fifth, which misses the D-cache all the time, does not. Prints millions of guest instructions a
//! second, and the ratio of the two.
//!
//! The time that counts is what a program, or this thread, had of the host's processors: by the clock, other work on
//! the host would count as well. It scatters all the same on a shared computer. So the two sides run in turn, start-up
//! is subtracted, and the median of the pairs' ratios is what to quote. The page begins with a warning if other
//! programs wanted the host's processors.
//!
//! The machine files are those of `benches/machines/`, which stay as they are when a machine's timing is corrected.
//! Beside the ratios stand millions of guest instructions a second, the host's instructions for each of the guest's,
//! as Valgrind counts them, and what a miss of the L1 and of the TLB costs the host.
//!
//! Some of the programs also run on our kernel, on QEMU's 40p and here.
//!
//! If the environment variable PSIM names that simulator (`sim/ppc` of gdb's sources), the programs also run under it,
//! linked without a C library.
//!
//! The same programs follow for an i486 and a P6 beside `qemu-i386`, built by the host's compiler without a C library,
//! and for a U74 beside `qemu-riscv64`.
//!
//! Then machines with several processors run a program without a kernel: how many instructions a second they simulate
//! in all, beside a machine with one, and what the key `lead` changes. Both run the same number of rounds in all, in
//! turn.
//!
//! `--page FILE` also writes the figures as a page of the documentation; with `x86`, `riscv` or `processors` alone,
//! their part of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::account::Counters;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::powerpc::shim::Program;
use pagewalk_machine::shim::{self, Ending, Hosted};

#[path = "speed/guests.rs"]
mod guests;
#[path = "speed/host.rs"]
mod host;
#[path = "speed/misses.rs"]
mod misses;
#[path = "speed/page.rs"]
mod page;
#[path = "speed/processors.rs"]
mod processors;
#[path = "speed/programs.rs"]
mod programs;
#[path = "speed/psim.rs"]
mod psim;
#[path = "speed/system.rs"]
mod system;

use host::{best, pairs, thread_time, timed};
use page::{Page, Row, geometric_mean};
use programs::{Bench, compile};

const MACHINE: &str = "ppc604-133";

/// qemu-ppc gets this many times as many rounds, so that its start-up does not blur the time.
const QEMU_FACTOR: u64 = 8;

/// The same for qemu-system-ppc, which boots the kernel before.
const SYSTEM_FACTOR: u64 = 32;

/// The host's instructions are counted of this part of the rounds.
const COUNTED: u64 = 10;

fn machine_file(machine: &str) -> PathBuf {
    let name = format!("benches/machines/{machine}.toml");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What is aimed at: the least ratio of each program to qemu-ppc, and of their geometric mean.
const LEAST: [(&str, f64); 4] = [
    ("integer", 1.0 / 1.5),
    ("memory", 1.0 / 5.0),
    ("interpreter", 1.0 / 2.2),
    ("hot-code", 1.0 / 2.5),
];
const LEAST_MEAN: f64 = 1.0 / 2.6;

/// The same of the mean to qemu-system-ppc.
const LEAST_SYSTEM: f64 = 1.0 / 1.2;

/// A run of a program here.
struct Run {
    time: f64,
    instructions: u64,
    cycles: u64,
    counters: Counters,
}

impl Run {
    /// Runs a program to its end.
    fn of<C: Hosted>(mut program: shim::Program<C>) -> Run {
        program.capture();
        let start = thread_time();
        let ending = program.run(Limits::NONE);
        let time = thread_time() - start;
        assert_eq!(ending, Ending::Exited(0));
        let now = program.machine().instant();
        Run {
            time,
            instructions: now.instructions,
            cycles: now.cycles,
            counters: program.machine().counters(),
        }
    }
}

fn on_qemu(program: &Path, rounds: u64) -> f64 {
    let mut command = Command::new("qemu-ppc");
    command.args(["-cpu", "604"]).arg(program);
    timed(command.arg(rounds.to_string()))
}

/// A run here.
fn here(machine: &Path, program: &Path, rounds: u64, words: &[String]) -> Run {
    let config = MachineConfig::from_file(machine, &[]).expect("the machine file is right");
    let elf = std::fs::read(program).expect("it was just compiled");
    let name = program.display().to_string();
    let arguments: Vec<Vec<u8>> = [name.clone(), rounds.to_string()]
        .iter()
        .chain(words)
        .map(|word| word.clone().into_bytes())
        .collect();
    let program = Program::new(&config, &elf, &name, &arguments, &[]);
    Run::of(program.expect("the program can be loaded"))
}

/// A program here beside qemu-ppc.
fn measured(bench: &Bench, folder: &Path) -> Row {
    let machine = machine_file(MACHINE);
    let program = compile(bench, folder);
    let start = here(&machine, &program, 0, &[]);
    let whole = here(&machine, &program, bench.rounds, &[]);
    let start_time = best(|| here(&machine, &program, 0, &[]).time);
    let start_qemu = best(|| on_qemu(&program, 0));
    let (ours, theirs) = pairs(
        || here(&machine, &program, bench.rounds, &[]).time - start_time,
        || (on_qemu(&program, bench.rounds * QEMU_FACTOR) - start_qemu) / QEMU_FACTOR as f64,
    );
    let instructions = (whole.instructions - start.instructions) as f64;
    let counted = bench.rounds / COUNTED;
    let of_host = || {
        let before = host::instructions(&machine, &program, 0)?;
        let after = host::instructions(&machine, &program, counted)?;
        let guest = here(&machine, &program, counted, &[]).instructions - start.instructions;
        Some((after - before) as f64 / guest as f64)
    };
    let row = Row {
        name: bench.name,
        cycles: Some((whole.cycles - start.cycles) as f64 / instructions),
        mips: Some(instructions / ours / 1e6),
        host: of_host(),
        ratio: theirs / ours,
    };
    let aim = LEAST.iter().find(|(name, _)| *name == bench.name);
    println!(
        "{:<12} {:>14} {:>8.2} {:>8.0} {:>8.0} {:>8} {:>12} {}",
        bench.name,
        instructions,
        row.cycles.unwrap_or_default(),
        instructions / theirs / 1e6,
        row.mips.unwrap_or_default(),
        row.host
            .map_or_else(|| "-".to_owned(), |count| format!("{count:.1}")),
        format!("1/{:.1}", 1.0 / row.ratio),
        aim.map_or_else(String::new, |(_, aim)| format!("(aim: 1/{:.1})", 1.0 / aim)),
    );
    row
}

fn main() {
    // `cargo bench` hands over --bench; a word chooses benches by name.
    let mut words = std::env::args().skip(1);
    let (mut chosen, mut page_file) = (Vec::new(), None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--page" => page_file = words.next(),
            option if option.starts_with("--") => {}
            _ => chosen.push(word),
        }
    }
    let mut page = Page::default();
    page.load.look();
    if let Some(warning) = page.load.warning() {
        println!("{warning}\n");
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let benches = programs::all(folder.path());
    println!("machine {MACHINE}; MIPS = millions of guest instructions a second");
    println!(
        "{:<12} {:>14} {:>8} {:>8} {:>8} {:>8} {:>12}",
        "program", "instructions", "cycles/i", "qemu-ppc", "here", "host/i", "here/qemu"
    );
    let mut measured_any = false;
    let mut ratios = Vec::new();
    for bench in &benches {
        if !chosen.is_empty() && !chosen.iter().any(|name| name == bench.name) {
            continue;
        }
        page.load.look();
        let row = measured(bench, folder.path());
        measured_any = true;
        if bench.counts {
            ratios.push(row.ratio);
        }
        page.qemu.push(row);
        if bench.on_kernel {
            let program = folder.path().join(bench.name);
            let found = system::ratio(
                &machine_file(MACHINE),
                &program,
                bench.rounds,
                SYSTEM_FACTOR,
            );
            if let Some(ratio) = found {
                println!(
                    "{:<12} on our kernel: 1/{:.1} of qemu-system-ppc",
                    bench.name,
                    1.0 / ratio
                );
                page.system.push((bench.name, ratio));
            }
        }
    }
    if chosen.is_empty() || chosen.iter().any(|name| name == "misses") {
        let source = programs::sources().join("misses.c");
        let program = programs::build(&source, &folder.path().join("misses"), &[]);
        let found = misses::measure(&machine_file(MACHINE), &program);
        println!(
            "a miss of the L1: {:.0} ns; of the TLB: {:.0} ns more",
            found.cache, found.tlb
        );
        page.misses = Some(found);
        measured_any = true;
    }
    if page.system.len() > 1 {
        let ratios: Vec<f64> = page.system.iter().map(|(_, ratio)| *ratio).collect();
        let mean = geometric_mean(&ratios);
        println!(
            "geometric mean 1/{:.1} of qemu-system-ppc's speed (aim: 1/{:.1})",
            1.0 / mean,
            1.0 / LEAST_SYSTEM
        );
        page.system.push(("geometric mean", mean));
    }
    for guest in guests::GUESTS {
        let named = |word: &str| chosen.iter().any(|name| name == word);
        let wanted = |bench: &&Bench| chosen.is_empty() || named(guest.word) || named(bench.name);
        let benches: Vec<&Bench> = benches.iter().filter(wanted).collect();
        if !benches.is_empty() {
            let rows = guest.beside_qemu(&benches, folder.path(), &mut page.load);
            page.guests.push((guest.qemu(), guest.machine, rows));
        }
    }
    measured_any |= !page.guests.is_empty();
    if chosen.is_empty() || chosen.iter().any(|name| name == "processors") {
        page.several = processors::measure(folder.path());
        measured_any = true;
    }
    if !measured_any {
        eprintln!(
            "no such bench: {}; there are integer, memory, interpreter, hot-code, columns, misses, x86, riscv, \
             processors",
            chosen.join(" ")
        );
        std::process::exit(2);
    }
    let counted = benches.iter().filter(|bench| {
        bench.counts && (chosen.is_empty() || chosen.iter().any(|name| name == bench.name))
    });
    if let Some(psim) = std::env::var_os("PSIM") {
        page.psim = psim::measure(&psim, counted, folder.path());
    }
    if ratios.is_empty() {
        if let Some(path) = page_file {
            page.renew_parts(&path);
        }
        return;
    }
    let mean = Row::mean(&ratios);
    println!(
        "geometric mean without columns 1/{:.1} of qemu-ppc's speed (aim: 1/{:.1})",
        1.0 / mean.ratio,
        1.0 / LEAST_MEAN
    );
    page.qemu.push(mean);
    if let Some(warning) = page.load.warning() {
        println!("\n{warning}");
    }
    if let Some(path) = page_file {
        page.write(&path);
    }
}
