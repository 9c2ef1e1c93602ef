//! Machines with several processors, beside one processor.

use std::path::Path;
use std::process::Command;

use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

use crate::host::{PAIRS, thread_time};
use crate::programs::sources;

/// A machine with several processors, how fast it is beside one with one, and its time with `lead` 1 beside the
/// default.
pub struct Several {
    pub machine: &'static str,
    pub processors: u32,
    pub speed: f64,
    pub lead: f64,
}

/// The aim for machines with several processors: the least speed beside one's.
const LEAST: f64 = 0.7;

/// Machines, and the numbers of their processors that are measured. The 604s have the states MESI, the others MEI. On
/// ppc604-200x4-l2 each processor has an L2; on the others all share one beside the memory.
const MACHINES: [(&str, &[u32]); 4] = [
    ("ppc604-185", &[2, 4, 8]),
    ("ppc603-133", &[2, 4]),
    ("ppc604-200x4-l2", &[2, 4]),
    ("ppc750-400x2", &[2]),
];

/// Rounds of work of all processors together. Eight divides it.
const ROUNDS: u32 = 8000;

/// All of them.
pub fn measure(folder: &Path) -> Vec<Several> {
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
    for (machine, counts) in MACHINES {
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
    println!("aim: {LEAST} of one processor's speed");
    rows
}

/// The program of which each of so many processors does its part.
fn in_turns_program(folder: &Path, processors: u32) -> Vec<u8> {
    let source = sources().join("processors.S");
    let program = folder.join(format!("processors-{processors}"));
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-nostdlib", "-static", "-mcpu=604", "-o"])
        .arg(&program)
        .arg(format!("-DWORK={}", ROUNDS / processors))
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
    // The controllers of these files run a look-aside L2 for one processor alone. The benchmark takes a Falcon, for
    // which no source tells such a limit.
    let controller = machine
        .starts_with("ppc60")
        .then_some("memory.controller=falcon");
    let settings: Vec<Override> = ["board.interrupt-controller=openpic", &processors]
        .iter()
        .copied()
        .chain(controller)
        .chain(settings.iter().copied())
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
