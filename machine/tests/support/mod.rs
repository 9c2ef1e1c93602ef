//! Bare-metal programs for tests, assembled by the cross toolchain.

#![allow(dead_code, reason = "every test file uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

/// Macros that every program has: `load` (a 32-bit constant), `poke` (a word to a fixed address,
/// through r30 and r31), `to_user` (goes on at an address in user mode, through r3), `power_off`, and
/// `paging`, which maps RAM and devices by BATs and one page by the hash table: EA 0x40000000, VSID
/// 0x123, frame 0x300.
pub const MACROS: &str = "
.macro load register, value
  lis \\register, (\\value)@h
  ori \\register, \\register, (\\value)@l
.endm
.macro poke address, value
  load 30, \\address
  load 31, \\value
  stw 31, 0(30)
.endm
.macro to_user address
  load 3, \\address
  mtspr 26, 3
  load 3, 0x5030
  mtspr 27, 3
  rfi
.endm
.macro power_off status
  poke 0x80000f08, \\status
  b .
.endm
";

/// [`MACROS`]' `caches_on` and `paging` for cores with HID0, BATs and a hash table.
const MACROS_6XX: &str = "
.macro paging
  load 3, 0x1fff
  li 4, 0x12
  mtspr 529, 4
  mtspr 528, 3
  mtspr 537, 4
  mtspr 536, 3
  load 3, 0x80001fff
  load 4, 0x8000002a
  mtspr 539, 4
  mtspr 538, 3
  load 3, 0x00200000
  mtspr 25, 3
  load 3, 0x20000123
  mtsr 4, 3
  poke 0x002048c0, 0x80009180
  poke 0x002048c4, 0x00300192
  sync
  load 3, 0x1030
  mtmsr 3
  isync
.endm
.macro caches_on
  load 3, 0xc000
  mtspr 1008, 3
  isync
.endm
";

/// The same for the MPC8xx: RAM and devices are mapped by reserved entries of 8 MB, the page by another one.
const MACROS_8XX: &str = "
.macro map effective, level_one, level_two
  load 3, (\\effective) + 0x200
  mtspr 787, 3
  mtspr 795, 3
  load 3, \\level_one
  mtspr 789, 3
  mtspr 797, 3
  load 3, \\level_two
  mtspr 790, 3
  mtspr 798, 3
.endm
.macro paging
  tlbia
  load 3, 0x40000000
  mtspr 786, 3
  mtspr 794, 3
  load 3, 0x04001f00
  mtspr 784, 3
  mtspr 792, 3
  map 0, 0x0d, 0x000009fd
  map 0x80000000, 0x1d, 0x800009ff
  load 3, 0x0c001b00
  mtspr 784, 3
  mtspr 792, 3
  map 0x40000000, 0x01, 0x003009f5
  load 3, 0x1030
  mtmsr 3
  isync
.endm
.macro caches_on
  lis 3, 0x0c00
  mtspr 560, 3
  mtspr 568, 3
  lis 3, 0x0200
  mtspr 560, 3
  mtspr 568, 3
  isync
.endm
";

/// The same for the 405: entries of 16 MB in its TLB map RAM and devices.
const MACROS_405: &str = "
.macro map number, high, low
  li 4, \\number
  load 3, \\low
  tlbwe 3, 4, 1
  load 3, \\high
  tlbwe 3, 4, 0
.endm
.macro paging
  tlbia
  map 63, 0x000003c0, 0x00000300
  map 62, 0x800003c0, 0x80000305
  map 61, 0x400000c0, 0x00300300
  load 3, 0x1030
  mtmsr 3
  isync
.endm
.macro caches_on
  iccci 0, 0
  lis 3, 0x8000
  mtspr 1018, 3
  mtspr 1019, 3
  isync
.endm
";

/// The same for the 970: large pages in the hash table map RAM and devices. `narrow` leaves the 64-bit mode in which
/// exceptions begin; it uses r31.
const MACROS_970: &str = "
.macro segment esid, vsid
  load 4, \\esid
  clrldi 4, 4, 32
  load 3, \\vsid
  slbmte 3, 4
.endm
.macro pte address, first, second
  poke \\address, 0
  poke (\\address) + 4, \\first
  poke (\\address) + 8, 0
  poke (\\address) + 12, \\second
.endm
.macro narrow
  mfmsr 31
  clrldi 31, 31, 1
  mtmsrd 31
  isync
.endm
.macro paging
  segment 0x08000000, 0x00010100
  segment 0x88000008, 0x00018100
  segment 0x48000004, 0x00123000
  load 3, 0x00200000
  mtspr 25, 3
  pte 0x00200800, 0x00010005, 0x00000192
  pte 0x00200c00, 0x00018005, 0x800001aa
  pte 0x00209180, 0x00123001, 0x00300192
  ptesync
  load 3, 0x1030
  mtmsr 3
  isync
.endm
.macro caches_on
.endm
";

/// For programs with handlers: `vector` copies the first 32 words of one to its place, by [`INSTALL`]; it uses
/// r3 to r5 and CTR.
const VECTOR: &str = "
.macro vector address, handler
  load 3, \\handler
  load 4, \\address
  bl install
.endm
";

/// Copies 32 words from r3 to r4: stands behind every program that uses `vector`.
const INSTALL: &str = "
install:
  li 5, 32
  mtctr 5
  subi 3, 3, 4
  subi 4, 4, 4
1: lwzu 5, 4(3)
  stwu 5, 4(4)
  dcbst 0, 4
  sync
  icbi 0, 4
  bdnz 1b
  isync
  blr
";

/// A scratch directory with a program in it.
pub struct Program {
    directory: tempfile::TempDir,
}

impl Program {
    /// Assembles `source`, which defines `_start`, and links it at 0x4000.
    pub fn new(source: &str) -> Self {
        Self::assemble("-m604", MACROS_6XX, source)
    }

    /// As [`Program::new`], for this machine.
    pub fn on(machine: &str, source: &str) -> Self {
        if machine.starts_with("mpc8") {
            Self::assemble("-m860", MACROS_8XX, source)
        } else if machine.starts_with("ppc405") {
            Self::assemble("-m405", MACROS_405, source)
        } else if machine.starts_with("ppc970") {
            Self::assemble("-many", MACROS_970, source)
        } else {
            Self::new(source)
        }
    }

    fn assemble(core: &str, macros: &str, source: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let install = if source.contains("vector ") {
            INSTALL
        } else {
            ""
        };
        std::fs::write(
            path.join("a.s"),
            format!("{MACROS}{macros}{VECTOR}\n.globl _start\n{source}\n{install}\n"),
        )
        .unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program)
                .args(arguments)
                .current_dir(path)
                .output();
            let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        };
        run("powerpc-linux-gnu-as", &[core, "-o", "a.o", "a.s"]);
        run(
            "powerpc-linux-gnu-ld",
            &[
                "-z",
                "max-page-size=4096",
                "-Ttext=0x4000",
                "-o",
                "a.elf",
                "a.o",
            ],
        );
        Program { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn elf(&self) -> PathBuf {
        self.path("a.elf")
    }

    /// A machine about to run the program.
    pub fn session(&self, machine: &str, settings: &[&str]) -> Session {
        self.session_of(config(machine, settings))
    }

    /// The same of a machine that is no file.
    pub fn session_of(&self, config: MachineConfig) -> Session {
        let elf = std::fs::read(self.elf()).unwrap();
        Session::with_kernel(config, &elf, "a.elf", None, "", Console::memory()).unwrap()
    }
}

/// Runs to the end, which must be a power-off with status 0.
pub fn finish(session: &mut Session, limits: Limits) {
    let stop = session.run(limits);
    let explained = session.explain(&stop);
    assert_eq!(stop, Stop::PowerOff { status: 0 }, "{explained}");
}

pub fn machine_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{name}.toml"))
}

pub fn config(name: &str, settings: &[&str]) -> MachineConfig {
    let settings: Vec<_> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    MachineConfig::from_file(&machine_file(name), &settings).unwrap()
}

/// A general-purpose register of the only processor.
pub fn gpr(session: &Session, number: u32) -> u32 {
    let registers = &session.machine().processor().registers;
    registers.gpr.get(Register::new(number))
}

/// The count of an event by its name.
pub fn counter(session: &Session, name: &str) -> u64 {
    let counters = session.counters();
    let found = counters.iter().find(|(counter, _)| counter == name);
    found.expect("a counter").1
}
