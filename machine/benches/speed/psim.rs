//! The programs here beside PSIM, which counts instructions and keeps no account of TLB, caches or cycles.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::host::{best, pairs, timed};
use crate::page::geometric_mean;
use crate::programs::{Bench, compile_bare};
use crate::{MACHINE, here, machine_file};

/// As Linux's emulation of PSIM runs it.
fn on_psim(psim: &OsStr, program: &Path) -> f64 {
    timed(Command::new(psim).args(["-e", "linux"]).arg(program))
}

/// Of each program its speed as a multiple of PSIM's, and the geometric mean.
pub fn measure<'a>(
    psim: &OsStr,
    benches: impl Iterator<Item = &'a Bench>,
    folder: &Path,
) -> Vec<(&'static str, f64)> {
    println!(
        "\n{:<12} {:>14} {:>8} {:>8} {:>12}",
        "program", "instructions", "PSIM", "here", "here/PSIM"
    );
    let mut found = Vec::new();
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
        found.push((bench.name, mips / psim_mips));
    }
    let ratios: Vec<f64> = found.iter().map(|(_, ratio)| *ratio).collect();
    let mean = geometric_mean(&ratios);
    println!("geometric mean {mean:.1} times PSIM's speed\n");
    found.push(("geometric mean", mean));
    found
}
