//! The programs on machines of other architectures than PowerPC, beside QEMU's user mode.

use std::path::Path;
use std::process::Command;

use pagewalk_machine::shim::{Hosted, Program};
use pagewalk_machine::{riscv, x86};

use crate::host::{Load, best, pairs, timed};
use crate::page::{Row, Rows};
use crate::programs::{Bench, compile_i386, compile_riscv};
use crate::{QEMU_FACTOR, Run, machine_file};

/// A machine, and how programs get there and to QEMU.
pub struct Guest {
    pub machine: &'static str,
    /// The argument that chooses all machines of its architecture.
    pub word: &'static str,
    qemu: &'static [&'static str],
    /// What is aimed at: the least geometric mean of the ratios to QEMU. A P6 keeps instructions running while loads
    /// wait, which no i486 does.
    aim: Option<f64>,
    /// Compiles a program for so many rounds. Returns its file and its arguments.
    compile: fn(&Bench, &Path, u64) -> Vec<String>,
    run: fn(&Path, &[String]) -> Run,
}

/// All of them.
pub const GUESTS: [Guest; 3] = [
    Guest {
        machine: "i486dx-50",
        word: "x86",
        qemu: &["qemu-i386", "-cpu", "486"],
        aim: Some(1.0 / 3.0),
        compile: compile_i386,
        run: on_x86,
    },
    Guest {
        machine: "p6-200",
        word: "x86",
        qemu: &["qemu-i386", "-cpu", "486"],
        aim: None,
        compile: compile_i386,
        run: on_x86,
    },
    Guest {
        machine: "u74-1500",
        word: "riscv",
        qemu: &["qemu-riscv64"],
        aim: Some(1.0 / 3.0),
        compile: compile_riscv,
        run: on_riscv,
    },
];

fn on_x86(machine: &Path, words: &[String]) -> Run {
    let config = x86::Config::from_file(machine, &[]).expect("the machine file is right");
    here::<x86::Processor>(&config, words)
}

fn on_riscv(machine: &Path, words: &[String]) -> Run {
    let config = riscv::Config::from_file(machine, &[]).expect("the machine file is right");
    here::<riscv::Processor>(&config, words)
}

fn here<C: Hosted>(config: &C::Config, words: &[String]) -> Run {
    let elf = std::fs::read(&words[0]).expect("it was just compiled");
    let arguments: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
    let program = Program::<C>::new(config, &elf, &words[0], &arguments, &[]);
    Run::of(program.expect("the program can be loaded"))
}

impl Guest {
    /// QEMU's program for it.
    pub fn qemu(&self) -> &'static str {
        self.qemu[0]
    }

    /// The programs beside QEMU, and the geometric mean of those that count.
    pub fn beside_qemu(&self, benches: &[&Bench], folder: &Path, load: &mut Load) -> Rows {
        let (machine, qemu) = (machine_file(self.machine), self.qemu());
        println!("\nmachine {}", self.machine);
        println!(
            "{:<12} {:>14} {:>8} {qemu:>12} {:>8} {:>12}",
            "program", "instructions", "cycles/i", "here", "here/qemu"
        );
        let (mut rows, mut ratios) = (Vec::new(), Vec::new());
        for &bench in benches {
            load.look();
            let nothing = (self.compile)(bench, folder, 0);
            let program = (self.compile)(bench, folder, bench.rounds);
            let longer = (self.compile)(bench, folder, bench.rounds * QEMU_FACTOR);
            let start = (self.run)(&machine, &nothing);
            let whole = (self.run)(&machine, &program);
            let start_time = best(|| (self.run)(&machine, &nothing).time);
            let instructions = whole.instructions - start.instructions;
            let on_qemu =
                |words: &[String]| timed(Command::new(qemu).args(&self.qemu[1..]).args(words));
            let start_qemu = best(|| on_qemu(&nothing));
            let (ours, theirs) = pairs(
                || (self.run)(&machine, &program).time - start_time,
                || (on_qemu(&longer) - start_qemu) / QEMU_FACTOR as f64,
            );
            let mips = instructions as f64 / ours / 1e6;
            let ratio = theirs / ours;
            let each = (whole.cycles - start.cycles) as f64 / instructions as f64;
            println!(
                "{:<12} {instructions:>14} {each:>8.2} {:>12.0} {mips:>8.0} {:>12}",
                bench.name,
                instructions as f64 / theirs / 1e6,
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
            let aim = self.aim;
            let aim = aim.map_or_else(String::new, |aim| format!(" (aim: 1/{:.0})", 1.0 / aim));
            println!(
                "geometric mean without columns 1/{:.1} of {qemu}'s speed{aim}",
                1.0 / mean.ratio
            );
            rows.push(mean);
        }
        rows
    }
}
