//! The programs on an i486 and a P6, beside qemu-i386.

use std::path::Path;
use std::process::Command;

use pagewalk_machine::x86;

use crate::host::{Load, best, pairs, timed};
use crate::page::{Row, Rows};
use crate::programs::{Bench, compile_i386};
use crate::{QEMU_FACTOR, Run, machine_file};

/// What is aimed at: the least geometric mean of the ratios of an i486 to qemu-i386.
const LEAST_MEAN: f64 = 1.0 / 3.0;

/// Machines of the same programs, and what each is aimed at. A P6 keeps instructions running while loads wait, which no
/// i486 does.
pub const MACHINES: [(&str, Option<f64>); 2] = [("i486dx-50", Some(LEAST_MEAN)), ("p6-200", None)];

/// A run on an x86 machine.
fn here(machine: &str, program: &Path) -> Run {
    let config =
        x86::Config::from_file(&machine_file(machine), &[]).expect("the machine file is right");
    let elf = std::fs::read(program).expect("it was just compiled");
    let name = program.display().to_string();
    let arguments = [name.clone().into_bytes()];
    let program = x86::shim::Program::new(&config, &elf, &name, &arguments, &[]);
    Run::of(program.expect("the program can be loaded"))
}

/// The programs on an x86 machine beside qemu-i386, and the geometric mean of those that count.
pub fn beside_qemu(
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
        let start = here(machine, &nothing);
        let whole = here(machine, &program);
        let start_time = best(|| here(machine, &nothing).time);
        let instructions = whole.instructions - start.instructions;
        let on_qemu =
            |program: &Path| timed(Command::new("qemu-i386").args(["-cpu", "486"]).arg(program));
        let start_qemu = best(|| on_qemu(&nothing));
        let (ours, theirs) = pairs(
            || here(machine, &program).time - start_time,
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
