//! The command line of `pagewalk-machine`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use pagewalk_machine::computer::Limits;
use pagewalk_machine::config::{ConfigError, MachineConfig, Override};
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::observe::trace::Window;
use pagewalk_machine::powerpc::loader::{Protocol, Target};
use pagewalk_machine::{riscv, x86};

#[derive(Parser)]
#[command(
    version,
    about = "PowerPC, x86 and RISC-V machines that account for every cycle, TLB entry, hash-table slot and cache line"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Runs a kernel, a bare-metal program or a ROM until it powers off.
    Run(Box<Run>),
    /// Runs a static Linux program in user mode, the host standing in for a kernel: the processor is
    /// accounted for, system calls cost nothing. The program opens this computer's files with your rights: run only
    /// what you trust. Nothing is emulated: on a 405 or an 8xx a program ends with a program exception where it loads
    /// or stores a floating-point register, as setjmp of a C library does.
    Program(Program),
    /// Measures what the OSDI 1999 paper states as hardware costs, and prints both.
    Constants(Constants),
}

/// The machine, and what holds for whatever runs on it.
#[derive(Args)]
pub struct OnMachine {
    /// Machine file.
    #[arg(long, value_name = "FILE")]
    pub machine: PathBuf,
    /// Changes a key of the machine file, for example memory.size=0x8000000.
    #[arg(long, value_name = "KEY=VALUE", value_parser = |text: &str| Override::parse(text))]
    pub set: Vec<Override>,
    /// Stops at this cycle.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub max_cycles: Option<u64>,
    /// Stops after this many instructions; without --max-cycles also after 1000 cycles for each of them and an hour of
    /// the machine's time.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub max_instructions: Option<u64>,
    /// Writes counters as JSON; `run` adds the regions of interest and the reason of the stop.
    #[arg(long, value_name = "JSON")]
    pub counters: Option<PathBuf>,
    /// Takes no shortcuts: every access looks up TLB and caches.
    #[arg(long)]
    pub oracle: bool,
    /// Compiles no hot code to this computer's: the interpreter runs everything. Results are the same.
    #[arg(long)]
    pub no_compiler: bool,
}

impl OnMachine {
    /// The machine as its file and the settings describe it.
    pub fn config(&self) -> Result<MachineConfig, ConfigError> {
        MachineConfig::from_file(&self.machine, &self.set)
    }

    /// True if the file is that of an x86 machine.
    pub fn is_x86(&self) -> Result<bool, ConfigError> {
        x86::Config::is_of_file(&self.machine)
    }

    /// True if the file is that of a RISC-V machine.
    pub fn is_riscv(&self) -> Result<bool, ConfigError> {
        riscv::Config::is_of_file(&self.machine)
    }

    /// The RISC-V machine as its file and the settings describe it.
    pub fn riscv_config(&self) -> Result<riscv::Config, ConfigError> {
        riscv::Config::from_file(&self.machine, &self.set)
    }

    /// The x86 machine as its file and the settings describe it.
    pub fn x86_config(&self) -> Result<x86::Config, ConfigError> {
        x86::Config::from_file(&self.machine, &self.set)
    }

    /// How far a machine with a core of this clock may run.
    pub fn limits(&self, clock: u64) -> Limits {
        let most = self
            .max_instructions
            .map(|most| Limits::most_cycles(most, clock));
        Limits {
            cycles: self.max_cycles.or(most).unwrap_or(u64::MAX),
            instructions: self.max_instructions.unwrap_or(u64::MAX),
        }
    }
}

#[derive(Args)]
pub struct Program {
    #[command(flatten)]
    pub on: OnMachine,
    /// Adds a word to the program's environment, which is empty otherwise.
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<OsString>,
    /// The program's ELF file and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "ELF [ARGUMENT]"
    )]
    pub command: Vec<OsString>,
}

impl Program {
    /// The program's file, and its name in messages.
    pub fn file(&self) -> (&Path, String) {
        let path = Path::new(&self.command[0]);
        (path, path.display().to_string())
    }
}

/// Words as the program sees them: any bytes but 0.
pub fn words(given: &[OsString]) -> Vec<Vec<u8>> {
    given.iter().map(|word| word.as_bytes().to_vec()).collect()
}

#[derive(Args)]
pub struct Constants {
    /// Machine files.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub machine: Vec<PathBuf>,
    /// Changes a key of every machine, for example bus.read-first=8.
    #[arg(long, value_name = "KEY=VALUE", value_parser = |text: &str| Override::parse(text))]
    pub set: Vec<Override>,
    /// The bare-metal program that measures, built from machine/guest/constants.S.
    #[arg(long, value_name = "ELF")]
    pub program: PathBuf,
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    pub on: OnMachine,
    /// ELF kernel or bare-metal program.
    #[arg(long, value_name = "ELF", conflicts_with_all = ["rom", "restore"])]
    pub kernel: Option<PathBuf>,
    /// Raw image for the ROM at 0xfff00000.
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["restore", "initrd", "append"])]
    pub rom: Option<PathBuf>,
    /// What the kernel is handed: device-tree, board-information (Linux 2.4 and 2.6 for an 8xx) or residual-data (Linux
    /// 2.1 to 2.6 for PReP machines). By default the image decides if it shows what it reads, otherwise the board.
    #[arg(long, value_name = "PROTOCOL", requires = "kernel")]
    pub protocol: Option<Protocol>,
    /// Firmware of a RISC-V machine, which starts the kernel in supervisor mode: fw_dynamic.bin of OpenSBI.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub firmware: Option<PathBuf>,
    /// Image of the disk of a RISC-V machine. The file is not changed.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub disk: Option<PathBuf>,
    /// initramfs, an uncompressed cpio archive; or another initrd that the kernel can read.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub initrd: Option<PathBuf>,
    /// Kernel command line.
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        requires = "kernel",
        allow_hyphen_values = true
    )]
    pub append: String,
    /// Causes of the kernel's code by names of its functions, for a kernel that has no symbols for that: a TOML file.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub causes: Option<PathBuf>,
    /// Profiles, and writes folded stacks.
    #[arg(long, value_name = "FOLDED")]
    pub profile: Option<PathBuf>,
    /// Profiles, and prints the functions with the most cycles on standard error.
    #[arg(long, value_name = "LINES", num_args = 0..=1, default_missing_value = "40", value_parser = whole::<usize>)]
    pub profile_table: Option<usize>,
    /// Symbols of a program: its path in the guest and its ELF file.
    #[arg(long, value_name = "PATH=ELF", value_parser = path_and_file)]
    pub symbols: Vec<(String, PathBuf)>,
    /// Records events, and writes them for Perfetto.
    #[arg(long, value_name = "JSON")]
    pub trace: Option<PathBuf>,
    /// Cycles that the trace covers: a..b, a.. or ..b.
    #[arg(long, value_name = "A..B", default_value = "0..", requires = "trace")]
    pub trace_window: Window,
    /// Writes the state at the end, and the dumps that the guest asked for: JSON if the name ends in
    /// .json, else text.
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
    /// Writes the guest's console there instead of to standard output.
    #[arg(long, value_name = "FILE")]
    pub console: Option<PathBuf>,
    /// Console input from a file; `-` is standard input, which makes runs differ.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Waits for gdb on this port of the local host; 0 picks a free one.
    #[arg(long, value_name = "PORT", value_parser = whole::<u16>)]
    pub gdb: Option<u16>,
    /// Writes a snapshot at the cycle of --at, then goes on.
    #[arg(long, value_name = "FILE", requires = "at")]
    pub save_snapshot: Option<PathBuf>,
    /// First instant at or after this cycle.
    #[arg(long, value_name = "CYCLE", requires = "save_snapshot", value_parser = whole::<u64>)]
    pub at: Option<u64>,
    /// Goes on from a snapshot of the same machine.
    #[arg(long, value_name = "FILE")]
    pub restore: Option<PathBuf>,
    /// Sanitizers: translation, reuse, fetch, or all.
    #[arg(long, value_name = "LIST")]
    pub sanitize: Option<SanitizerSet>,
    /// Writes the device tree, prints where tree and initramfs go, and runs nothing.
    #[arg(long, value_name = "DTB", requires = "kernel")]
    pub dump_dtb: Option<PathBuf>,
    /// Computer that the tree of --dump-dtb describes.
    #[arg(long = "for", value_name = "COMPUTER", default_value = "pagewalk", value_parser = tree_for)]
    pub target: Target,
}

/// A number on the command line.
fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    text.parse::<u64>()
        .ok()
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| {
            let most = u64::MAX >> (64 - 8 * size_of::<T>());
            format!("write a whole number from 0 to {most}")
        })
}

fn tree_for(text: &str) -> Result<Target, String> {
    match text {
        "pagewalk" => Ok(Target::Pagewalk),
        "qemu-40p" => Ok(Target::Qemu40p),
        _ => Err("allowed are pagewalk and qemu-40p".to_owned()),
    }
}

fn path_and_file(text: &str) -> Result<(String, PathBuf), String> {
    let (path, file) = text
        .split_once('=')
        .ok_or("write it as path=elf, for example /bin/sh=build/sh.elf")?;
    Ok((path.to_owned(), file.into()))
}
