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
//! The same programs follow for an i486 and a P6 beside `qemu-i386`, built by the host's compiler without a C library.
//!
//! Then machines with several processors run a program without a kernel: how many instructions a second they simulate
//! in all, beside a machine with one, and what the key `lead` changes. Both run the same number of rounds in all, in
//! turn.
//!
//! `--page FILE` also writes the figures as a page of the documentation; with `x86` or `processors` alone, their part
//! of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::account::Counters;
use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use pagewalk_machine::powerpc::shim::Program;
use pagewalk_machine::shim::Ending;
use pagewalk_machine::x86;

#[path = "speed/host.rs"]
mod host;
#[path = "speed/misses.rs"]
mod misses;
#[path = "speed/system.rs"]
mod system;

use host::{Load, PAIRS, best, pairs, thread_time, timed};

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

struct Bench {
    name: &'static str,
    /// C source, in `benches/programs/` or generated.
    source: PathBuf,
    rounds: u64,
    /// Counts in the geometric mean.
    counts: bool,
    /// Also runs on our kernel, here and on QEMU's 40p.
    on_kernel: bool,
}

/// What is aimed at: the least ratio of each program to qemu-ppc, and of their geometric mean.
const LEAST: [(&str, f64); 4] = [
    ("integer", 1.0 / 1.5),
    ("memory", 1.0 / 5.0),
    ("interpreter", 1.0 / 2.2),
    ("hot-code", 1.0 / 2.5),
];
const LEAST_MEAN: f64 = 1.0 / 2.6;

/// The same of the mean to qemu-system-ppc, and of an i486's to qemu-i386.
const LEAST_SYSTEM: f64 = 1.0 / 1.2;
const LEAST_MEAN_X86: f64 = 1.0 / 3.0;

/// Machines of the same programs, and what each is aimed at. A P6 keeps instructions running while loads wait, which no
/// i486 does.
const MACHINES_X86: [(&str, Option<f64>); 2] =
    [("i486dx-50", Some(LEAST_MEAN_X86)), ("p6-200", None)];

/// A program on a machine: its cycles an instruction, millions of instructions a second, the host's instructions for
/// each, and its speed as a fraction of QEMU's. A mean has the last alone.
struct Row {
    name: &'static str,
    cycles: Option<f64>,
    mips: Option<f64>,
    host: Option<f64>,
    ratio: f64,
}

impl Row {
    fn mean(ratios: &[f64]) -> Self {
        Self {
            name: "geometric mean without columns",
            cycles: None,
            mips: None,
            host: None,
            ratio: geometric_mean(ratios),
        }
    }

    /// A row of a page, with or without the host's instructions.
    fn line(&self, host: bool) -> String {
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(String::new, |value| format!("{value:.digits$}"))
        };
        let host = if host {
            format!(" {} |", shown(self.host, 1))
        } else {
            String::new()
        };
        format!(
            "| {} | {} | {} |{host} 1/{:.1} |\n",
            self.name,
            shown(self.cycles, 2),
            shown(self.mips, 0),
            1.0 / self.ratio
        )
    }
}

type Rows = Vec<Row>;

/// A run of a program here.
struct Run {
    time: f64,
    instructions: u64,
    cycles: u64,
    counters: Counters,
}

/// Functions of the program with much code.
const FUNCTIONS: u32 = 1600;

/// C source of a program that calls, in random order, so many functions that they fill several hundred KB.
fn hot_code() -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n");
    for n in 0..FUNCTIONS {
        text += &format!(
            "static unsigned f{n}(unsigned a, unsigned *m)\n{{\n\tunsigned b = m[{}];\n",
            n % 61
        );
        for k in 0..10 {
            let (x, y) = (n * 7 + k * 13, (n + k) % 23 + 3);
            text += &format!(
                "\ta = (a << {} | a >> {}) + b * {};\n\tif (a & {})\n\t\tb ^= a + {x};\n",
                y % 31 + 1,
                31 - y % 31,
                x % 97 + 3,
                1 << (k + n % 7),
            );
        }
        text += &format!("\tm[{}] = b;\n\treturn a;\n}}\n", (n + 17) % 61);
    }
    text += "static unsigned (*const table[])(unsigned, unsigned *) = {\n";
    for n in 0..FUNCTIONS {
        text += &format!("\tf{n},\n");
    }
    text += &format!(
        "}};\n\nint main(int argc, char **argv)\n{{\n\
         \tunsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;\n\
         \tunsigned m[64] = {{1, 2, 3}}, seed = 1, a = 1;\n\
         \tfor (unsigned long n = 0; n < rounds * 1000; n++) {{\n\
         \t\tseed = seed * 1103515245 + 12345;\n\
         \t\ta = table[(seed >> 8) % {FUNCTIONS}](a, m);\n\
         \t}}\n\tprintf(\"%08x\\n\", a);\n\treturn 0;\n}}\n"
    );
    text
}

fn compile(bench: &Bench, folder: &Path) -> PathBuf {
    build(&bench.source, &folder.join(bench.name), &[])
}

/// The program without a C library, its argument built in.
fn compile_bare(bench: &Bench, folder: &Path, rounds: u64) -> PathBuf {
    let bare = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs/bare.c");
    let rounds = format!("-DROUNDS=\"{rounds}\"");
    let flags = [
        "-nostdlib",
        "-fno-builtin",
        &rounds,
        &bare.display().to_string(),
        "-lgcc",
    ];
    build(
        &bench.source,
        &folder.join(format!("{}-bare", bench.name)),
        &flags,
    )
}

fn build(source: &Path, program: &Path, flags: &[&str]) -> PathBuf {
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args([
            "-O2",
            "-static",
            "-mcpu=powerpc",
            "-fno-inline",
            "-Wl,-z,max-page-size=4096",
            "-o",
        ])
        .arg(program)
        .arg(source)
        .args(flags)
        .status()
        .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap run");
    assert!(status.success(), "{} does not compile", source.display());
    program.to_owned()
}

/// The program for an i386 without a C library, its argument built in.
fn compile_i386(bench: &Bench, folder: &Path, rounds: u64) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs");
    let program = folder.join(format!("{}-i386-{rounds}", bench.name));
    let status = Command::new("gcc")
        .args([
            "-m32",
            "-march=i486",
            "-O2",
            "-static",
            "-nostdlib",
            "-ffreestanding",
        ])
        .args([
            "-fno-pic",
            "-no-pie",
            "-fno-stack-protector",
            "-fno-builtin",
            "-fno-inline",
        ])
        .args(["-Wl,-z,max-page-size=4096", "-isystem"])
        .arg(sources.join("bare"))
        .arg(format!("-DROUNDS=\"{rounds}\""))
        .arg("-o")
        .arg(&program)
        .arg(&bench.source)
        .arg(sources.join("bare.c"))
        .status()
        .expect("gcc is installed by ./bootstrap run");
    assert!(status.success(), "{} does not compile", bench.name);
    program
}

/// A run on an x86 machine.
fn here_i386(machine: &str, program: &Path) -> Run {
    let config =
        x86::Config::from_file(&machine_file(machine), &[]).expect("the machine file is right");
    let elf = std::fs::read(program).expect("it was just compiled");
    let name = program.display().to_string();
    let arguments = [name.clone().into_bytes()];
    let mut program = x86::shim::Program::new(&config, &elf, &name, &arguments, &[])
        .expect("the program can be loaded");
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

/// The programs on an x86 machine beside qemu-i386, and the geometric mean of those that count.
fn on_x86(
    (machine, aim): (&'static str, Option<f64>),
    benches: &[&Bench],
    folder: &Path,
    load: &mut Load,
) -> Rows {
    println!("\nmachine {machine}");
    println!(
        "{:<12} {:>14} {:>8} {:>9} {:>8} {:>12}",
        "program", "instructions", "cycles/i", "qemu-i386", "here", "here/qemu"
    );
    let (mut rows, mut ratios) = (Vec::new(), Vec::new());
    for &bench in benches {
        load.look();
        let nothing = compile_i386(bench, folder, 0);
        let program = compile_i386(bench, folder, bench.rounds);
        let longer = compile_i386(bench, folder, bench.rounds * QEMU_FACTOR);
        let start = here_i386(machine, &nothing);
        let whole = here_i386(machine, &program);
        let start_time = best(|| here_i386(machine, &nothing).time);
        let instructions = whole.instructions - start.instructions;
        let on_qemu =
            |program: &Path| timed(Command::new("qemu-i386").args(["-cpu", "486"]).arg(program));
        let start_qemu = best(|| on_qemu(&nothing));
        let (ours, theirs) = pairs(
            || here_i386(machine, &program).time - start_time,
            || (on_qemu(&longer) - start_qemu) / QEMU_FACTOR as f64,
        );
        let mips = instructions as f64 / ours / 1e6;
        let qemu = instructions as f64 / theirs / 1e6;
        let ratio = theirs / ours;
        let each = (whole.cycles - start.cycles) as f64 / instructions as f64;
        println!(
            "{:<12} {instructions:>14} {each:>8.2} {qemu:>9.0} {mips:>8.0} {:>12}",
            bench.name,
            format!("1/{:.1}", 1.0 / ratio)
        );
        rows.push(Row {
            name: bench.name,
            cycles: Some(each),
            mips: Some(mips),
            host: None,
            ratio,
        });
        if bench.counts {
            ratios.push(ratio);
        }
    }
    if !ratios.is_empty() {
        let mean = Row::mean(&ratios);
        let aim = aim.map_or_else(String::new, |aim| format!(" (aim: 1/{:.0})", 1.0 / aim));
        println!(
            "geometric mean without columns 1/{:.1} of qemu-i386's speed{aim}",
            1.0 / mean.ratio
        );
        rows.push(mean);
    }
    rows
}

fn on_qemu(program: &Path, rounds: u64) -> f64 {
    let mut command = Command::new("qemu-ppc");
    command.args(["-cpu", "604"]).arg(program);
    timed(command.arg(rounds.to_string()))
}

/// As Linux's emulation of PSIM runs it.
fn on_psim(psim: &OsStr, program: &Path) -> f64 {
    timed(Command::new(psim).args(["-e", "linux"]).arg(program))
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
    let mut program =
        Program::new(&config, &elf, &name, &arguments, &[]).expect("the program can be loaded");
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

/// A machine with several processors, how fast it is beside one with one, and its time with `lead` 1 beside the
/// default.
struct Several {
    machine: &'static str,
    processors: u32,
    speed: f64,
    lead: f64,
}

/// The aim for machines with several processors: the least speed beside one's.
const LEAST_OF_SEVERAL: f64 = 0.7;

/// Machines, and the numbers of their processors that are measured.
const SEVERAL: [(&str, &[u32]); 4] = [
    ("ppc604-185", &[2, 4, 8]),
    ("ppc603-133", &[2, 4]),
    ("ppc604-200x4-l2", &[2, 4]),
    ("ppc750-400x2", &[2]),
];

/// Rounds of work of all processors together. Eight divides it.
const ROUNDS_OF_SEVERAL: u32 = 8000;

fn several(folder: &Path) -> Vec<Several> {
    println!(
        "\n{:<16} {:>10} {:>8} {:>8} {:>14}",
        "machine", "processors", "MIPS", "to one", "lead 1/default"
    );
    let programs: Vec<(u32, Vec<u8>)> = [1, 2, 4, 8]
        .map(|processors| (processors, in_turns_program(folder, processors)))
        .into();
    let elf = |processors: u32| {
        let program = programs.iter().find(|(count, _)| *count == processors);
        &program.expect("it was assembled").1
    };
    let mut rows = Vec::new();
    for (machine, counts) in SEVERAL {
        for &processors in counts {
            let mut pairs: Vec<(f64, f64)> = (0..PAIRS)
                .map(|_| {
                    let (one, _) = in_turns(elf(1), machine, 1, &[]);
                    let (mips, _) = in_turns(elf(processors), machine, processors, &[]);
                    (mips / one, mips)
                })
                .collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (speed, mips) = pairs[PAIRS / 2];
            let (_, cycles) = in_turns(elf(processors), machine, processors, &[]);
            let (_, least) = in_turns(elf(processors), machine, processors, &["lead=1"]);
            let lead = least as f64 / cycles as f64;
            println!("{machine:<16} {processors:>10} {mips:>8.0} {speed:>8.2} {lead:>14.3}");
            rows.push(Several {
                machine,
                processors,
                speed,
                lead,
            });
        }
    }
    println!("aim: {LEAST_OF_SEVERAL} of one processor's speed");
    rows
}

/// The program of which each of so many processors does its part.
fn in_turns_program(folder: &Path, processors: u32) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs/processors.S");
    let program = folder.join(format!("processors-{processors}"));
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-nostdlib", "-static", "-mcpu=604", "-o"])
        .arg(&program)
        .arg(format!("-DWORK={}", ROUNDS_OF_SEVERAL / processors))
        .args(["-Wl,-Ttext=0x4000,-N,--no-warn-rwx-segments,--build-id=none"])
        .arg(&source)
        .status()
        .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap run");
    assert!(status.success(), "{} does not assemble", source.display());
    std::fs::read(&program).expect("it was just assembled")
}

/// Millions of instructions a second of all processors, and the cycles that passed.
fn in_turns(elf: &[u8], machine: &str, processors: u32, settings: &[&str]) -> (f64, u64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{machine}.toml"));
    let processors = format!("processors={processors}");
    let settings: Vec<Override> = ["board.interrupt-controller=openpic", &processors]
        .iter()
        .chain(settings)
        .map(|text| Override::parse(text).expect("a key and a value"))
        .collect();
    let config = MachineConfig::from_file(&file, &settings).expect("the machine file is right");
    let console = Console::memory();
    let mut session = Session::with_kernel(config, elf, "processors", None, "", console)
        .expect("the program can be loaded");
    let start = thread_time();
    let stop = session.run(Limits::NONE);
    assert_eq!(stop, Stop::PowerOff { status: 0 });
    let time = thread_time() - start;
    let now = session.machine().instant();
    (now.instructions as f64 / time / 1e6, now.cycles)
}

/// PSIM counts instructions and keeps no account of TLB, caches or cycles.
fn compare_with_psim<'a>(
    psim: &OsStr,
    benches: impl Iterator<Item = &'a Bench>,
    folder: &Path,
    page: &mut Page,
) {
    println!(
        "\n{:<12} {:>14} {:>8} {:>8} {:>12}",
        "program", "instructions", "PSIM", "here", "here/PSIM"
    );
    let mut ratios = Vec::new();
    for bench in benches {
        let start = compile_bare(bench, folder, 0);
        let machine = machine_file(MACHINE);
        let first = here(&machine, &start, 0, &[]);
        let start_time = best(|| here(&machine, &start, 0, &[]).time);
        let psim_start = best(|| on_psim(psim, &start));
        let program = compile_bare(bench, folder, bench.rounds);
        let whole = here(&machine, &program, 0, &[]);
        let instructions = (whole.instructions - first.instructions) as f64;
        let (ours, theirs) = pairs(
            || here(&machine, &program, 0, &[]).time - start_time,
            || on_psim(psim, &program) - psim_start,
        );
        let mips = instructions / ours / 1e6;
        let psim_mips = instructions / theirs / 1e6;
        println!(
            "{:<12} {instructions:>14} {psim_mips:>8.0} {mips:>8.0} {:>12.1}",
            bench.name,
            mips / psim_mips
        );
        page.psim.push((bench.name, mips / psim_mips));
        ratios.push(mips / psim_mips);
    }
    let mean = geometric_mean(&ratios);
    println!("geometric mean {mean:.1} times PSIM's speed\n");
    page.psim.push(("geometric mean", mean));
}

/// The figures as a page of the documentation.
#[derive(Default)]
struct Page {
    qemu: Rows,
    /// Program, and its speed on our kernel as a fraction of qemu-system-ppc's.
    system: Vec<(&'static str, f64)>,
    misses: Option<misses::Misses>,
    /// The same of x86 machines and qemu-i386, by machine.
    x86: Vec<(&'static str, Rows)>,
    /// Program, and its speed as a multiple of PSIM's.
    psim: Vec<(&'static str, f64)>,
    several: Vec<Several>,
    load: Load,
}

/// Begin the other parts of the page.
const X86_HEADING: &str = "\n## An i486 and a P6 beside qemu-i386\n\n";
const SEVERAL_HEADING: &str = "\n## Several processors\n\n";

impl Page {
    fn write(&self, path: &str) {
        let warning = self
            .load
            .warning()
            .map_or_else(String::new, |warning| format!("{warning}\n\n"));
        let mut text = format!(
            "# The machine's speed: figures\n\n{warning}\
             Generated by `make bench` on {}, from machine sources {}, on a host with {} processors, \
             of which {:.1} other threads wanted one on average. What the programs are: [speed.md](speed.md).\n\n\
             | program | cycles an instruction | million instructions a second | host's instructions for each | \
             here/qemu-ppc |\n| --- | --- | --- | --- | --- |\n",
            today(),
            env!("PAGEWALK_VERSION"),
            std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            self.load.others(),
        );
        for row in &self.qemu {
            text += &row.line(true);
        }
        if let Some(misses) = &self.misses {
            text += &format!(
                "\nA miss of the L1 takes {:.0} ns of the host, and a miss of the TLB {:.0} ns more.\n",
                misses.cache, misses.tlb
            );
        }
        if !self.system.is_empty() {
            text += "\nThe same program on our kernel, from the same initial RAM file system, here and on QEMU's \
                     40p:\n\n\
                     | program | here/qemu-system-ppc |\n| --- | --- |\n";
            for (name, ratio) in &self.system {
                text += &format!("| {name} | 1/{:.1} |\n", 1.0 / ratio);
            }
        }
        if !self.psim.is_empty() {
            text += "\n| program | here/PSIM |\n| --- | --- |\n";
            for (name, ratio) in &self.psim {
                text += &format!("| {name} | {ratio:.1} |\n");
            }
        }
        text += &self.part_of_x86();
        text += &self.part_of_several();
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Replaces the parts of a page that have been measured.
    fn renew_parts(&self, path: &str) {
        let mut text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        if !self.x86.is_empty() {
            text = renewed(&text, X86_HEADING, &self.part_of_x86());
        }
        if !self.several.is_empty() {
            text = renewed(&text, SEVERAL_HEADING, &self.part_of_several());
        }
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn part_of_x86(&self) -> String {
        let mut text = format!(
            "{X86_HEADING}Measured on {}, from machine sources {}.\n\n\
             | machine | program | cycles an instruction | million instructions a second | here/qemu-i386 |\n\
             | --- | --- | --- | --- | --- |\n",
            today(),
            env!("PAGEWALK_VERSION"),
        );
        for (machine, rows) in &self.x86 {
            for row in rows {
                text += &format!("| {machine} {}", row.line(false));
            }
        }
        text
    }

    fn part_of_several(&self) -> String {
        let mut text = format!(
            "{SEVERAL_HEADING}Measured on {}, from machine sources {}.\n\n\
             | machine | processors | speed beside one processor | time with `lead` 1 beside the default |\n\
             | --- | --- | --- | --- |\n",
            today(),
            env!("PAGEWALK_VERSION"),
        );
        for row in &self.several {
            text += &format!(
                "| {} | {} | {:.2} | {:.3} |\n",
                row.machine, row.processors, row.speed, row.lead
            );
        }
        text
    }
}

/// A page whose part with this heading is `part`. A new one comes before the last part.
fn renewed(page: &str, heading: &str, part: &str) -> String {
    let (before, behind) = match page.split_once(heading) {
        Some((before, old)) => {
            let behind = old.find("\n## ").map_or("", |at| &old[at..]);
            (before, behind)
        }
        None => page.split_at(page.find(SEVERAL_HEADING).unwrap_or(page.len())),
    };
    format!("{before}{part}{behind}")
}

fn today() -> String {
    let done = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let done = done.expect("there is a program `date`");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
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
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs");
    page.load.look();
    if let Some(warning) = page.load.warning() {
        println!("{warning}\n");
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let generated = folder.path().join("hot-code.c");
    std::fs::write(&generated, hot_code()).expect("the scratch directory can be written");
    let benches = [
        Bench {
            name: "integer",
            source: sources.join("integer.c"),
            rounds: 1000,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "memory",
            source: sources.join("memory.c"),
            rounds: 60,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "interpreter",
            source: sources.join("interpreter.c"),
            rounds: 150,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "hot-code",
            source: generated,
            rounds: 800,
            counts: true,
            on_kernel: false,
        },
        Bench {
            name: "columns",
            source: sources.join("columns.c"),
            rounds: 50,
            counts: false,
            on_kernel: false,
        },
    ];
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
        let source = sources.join("misses.c");
        let program = build(&source, &folder.path().join("misses"), &[]);
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
    let of_x86 = benches.iter().filter(|bench| {
        let named = |word: &str| chosen.iter().any(|name| name == word);
        chosen.is_empty() || named("x86") || named(bench.name)
    });
    let of_x86: Vec<&Bench> = of_x86.collect();
    if !of_x86.is_empty() {
        page.x86 = MACHINES_X86
            .map(|machine| {
                let rows = on_x86(machine, &of_x86, folder.path(), &mut page.load);
                (machine.0, rows)
            })
            .into();
    }
    measured_any |= !page.x86.is_empty();
    if chosen.is_empty() || chosen.iter().any(|name| name == "processors") {
        page.several = several(folder.path());
        measured_any = true;
    }
    if !measured_any {
        eprintln!(
            "no such bench: {}; there are integer, memory, interpreter, hot-code, columns, misses, x86, processors",
            chosen.join(" ")
        );
        std::process::exit(2);
    }
    let counted = benches.iter().filter(|bench| {
        bench.counts && (chosen.is_empty() || chosen.iter().any(|name| name == bench.name))
    });
    if let Some(psim) = std::env::var_os("PSIM") {
        compare_with_psim(&psim, counted, folder.path(), &mut page);
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
