//! Supervisor-level behaviour: a bare-metal program prints how exceptions, BATs, segments, protection and
//! the hash table behave, on this machine and on QEMU's 40p. The texts must be the same, but for what is
//! listed in [`known`].

use pagewalk_machine::account::{CauseNames, Counters};
use pagewalk_machine::board::Console;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::NAMES;
use pagewalk_machine::powerpc::loader::Boot;
use pagewalk_machine::powerpc::machine::{Limits, Machine, Stop};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The processors, as QEMU's `-cpu` and our machine file.
const CPUS: [(&str, &str); 3] = [
    ("603e", "ppc603-180"),
    ("604", "ppc604-185"),
    ("750", "ppc750-400"),
];

/// MSR\[IP\] in the handler: PEM 2.3.1 leaves it unchanged at an exception; QEMU 7.2
/// (target/ppc/excp_helper.c, `powerpc_excp_6xx` and `powerpc_excp_7xx`) keeps ME alone and holds the prefix
/// apart, in `excp_prefix`.
const PREFIX: &str = "MSR[IP] is cleared by QEMU at an exception";
/// A BAT that matches but does not permit: PEM 7.4.4 asks for a protection exception; QEMU 7.2's 603
/// (target/ppc/mmu_common.c, `get_physical_address_wtlb`) takes every negative answer of `get_bat_6xx_tlb`
/// for no match and goes on to segment and page.
const BAT_PROTECTION: &str = "QEMU's 603 takes a BAT protection violation for no match";
/// A fetch from a page that may not be read: PEM table 7-9 gives no access at all with PP = 0 and key 1;
/// QEMU 7.2 (target/ppc/mmu-hash32.c, `ppc_hash32_pp_prot`) allows to execute wherever N and G are 0.
const EXECUTE: &str = "QEMU executes pages that may not be read";
/// A fetch from guarded memory: PEM 7.5.5 and table 7-15 give an ISI with SRR1\[3\]; QEMU 7.2 (the same
/// file, `ppc_hash32_pte_prot`) hands on the segment's N and does not look at G.
const GUARDED: &str = "QEMU executes guarded pages";
/// A store to a resident entry with C = 0: 603e UM table 5-9 gives exception 0x1200, in which software
/// sets C; QEMU 7.2's 603 (target/ppc/mmu_common.c, `pte_update_flags`) sets C in its own TLB.
const CHANGED: &str = "QEMU's 603 takes no exception for a store with C = 0";
/// `icbi` on the 603 is not translated (603e UM 3.7.8); QEMU 7.2 (target/ppc/mem_helper.c, `helper_icbi`)
/// loads from its address, whatever the processor.
const ICBI: &str = "QEMU's 603 translates icbi";

/// Why a line may differ: QEMU is known to be wrong there.
fn known(cpu: &str, section: &str, ours: &str, qemu: &str) -> Option<&'static str> {
    let hash = cpu != "603e";
    match section {
        "== exceptions" if ours.replace(" msr 00001040", " msr 00001000") == qemu => Some(PREFIX),
        "== bats"
            if !hash
                && ours.contains("08000000")
                && ours.replace(" 08000000", " 40000000") == qemu =>
        {
            Some(BAT_PROTECTION)
        }
        "== bats" if !hash && ours.replace(" 0a000000", " 42000000") == qemu => {
            Some(BAT_PROTECTION)
        }
        "== pages"
            if hash && qemu == "fetch: done" && ours.starts_with("fetch: isi srr1 08000000") =>
        {
            Some(EXECUTE)
        }
        "== pages"
            if hash && qemu == "fetch: done" && ours.starts_with("fetch: isi srr1 10000000") =>
        {
            Some(GUARDED)
        }
        "== pages" if !hash && ours == "icbi: done" && qemu.starts_with("icbi: dsi") => Some(ICBI),
        "== hash" if !hash && ours == "r and c 00000180" && qemu == "r and c 00000100" => {
            Some(CHANGED)
        }
        _ => None,
    }
}

/// Builds the program as a ROM image.
fn build(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest/supervisor");
    let (elf, rom) = (folder.join("supervisor.elf"), folder.join("supervisor.bin"));
    let mut gcc = Command::new("powerpc-linux-gnu-gcc");
    gcc.args([
        "-mcpu=603",
        "-msoft-float",
        "-msdata=none",
        "-ffreestanding",
        "-fno-pic",
        "-no-pie",
        "-fno-stack-protector",
        "-fno-jump-tables",
        "-nostdlib",
        "-O1",
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,--build-id=none",
        "-Wl,--no-warnings",
        "-Wl,-z,noexecstack",
    ])
    .arg(format!("-Wl,-T,{}", source.join("guest.ld").display()))
    .arg("-o")
    .arg(&elf);
    for name in [
        "start.S",
        "reload.S",
        "main.c",
        "console.c",
        "mmu.c",
        "exceptions.c",
        "bats.c",
        "pages.c",
        "hash.c",
        "random.c",
    ] {
        gcc.arg(source.join(name));
    }
    assert!(
        gcc.status()
            .expect("powerpc-linux-gnu-gcc is installed")
            .success()
    );
    let objcopy = Command::new("powerpc-linux-gnu-objcopy")
        .args(["-O", "binary", "-R", ".bss"])
        .arg(&elf)
        .arg(&rom)
        .status()
        .expect("powerpc-linux-gnu-objcopy is installed");
    assert!(objcopy.success());
    rom
}

/// What the program prints on our machine, with its counters and cycles.
fn on_this_machine(machine: &str, rom: &[u8], oracle: bool) -> (String, Counters, u64) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{machine}.toml"));
    let config = MachineConfig::from_file(&file, &[]).expect("a machine file");
    let boot = Boot::rom(rom, "supervisor.bin").expect("a ROM image");
    let mut machine = Machine::new(config, &boot, Console::memory()).expect("a machine");
    machine.set_oracle(oracle);
    let stop = machine.run(Limits {
        cycles: 2_000_000_000,
        ..Limits::NONE
    });
    let text = String::from_utf8_lossy(
        machine
            .processor_mut()
            .memory
            .uncore
            .board
            .console()
            .printed(),
    )
    .into_owned();
    assert_eq!(stop, Stop::PowerOff { status: 0 }, "{text}");
    (
        text,
        machine.processor_mut().account.counters.clone(),
        machine.instant().cycles,
    )
}

/// What the program prints on QEMU's 40p. QEMU goes on after the end; it is stopped then.
fn on_qemu(cpu: &str, rom: &Path) -> String {
    let mut qemu = Command::new("qemu-system-ppc")
        .args([
            "-M",
            "40p",
            "-cpu",
            cpu,
            "-m",
            "32",
            "-vga",
            "none",
            "-nographic",
        ])
        .args([
            "-monitor", "none", "-serial", "stdio", "-net", "none", "-bios",
        ])
        .arg(rom)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("qemu-system-ppc is installed");
    let out = qemu.stdout.take().expect("piped");
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            text.push_str(&line);
            text.push('\n');
            if line == "== end" {
                break;
            }
        }
        let _ = send.send(text);
    });
    // A bound for a QEMU that hangs; how long it takes is no result.
    let text = receive.recv_timeout(Duration::from_secs(1200));
    qemu.kill().expect("QEMU can be stopped");
    qemu.wait().expect("QEMU has stopped");
    text.expect("QEMU came to the end")
}

#[test]
fn supervisor_programs_print_what_they_print_on_qemu() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = build(folder.path());
    let rom = std::fs::read(&path).expect("the image");
    for (cpu, machine) in CPUS {
        let (ours, ..) = on_this_machine(machine, &rom, false);
        let qemu = on_qemu(cpu, &path);
        let (ours, qemu): (Vec<_>, Vec<_>) = (ours.lines().collect(), qemu.lines().collect());
        let (mut section, mut reasons, mut wrong) = ("", BTreeSet::new(), Vec::new());
        for (number, (&mine, &theirs)) in ours.iter().zip(&qemu).enumerate() {
            if mine.starts_with("== ") {
                section = mine;
            }
            if mine != theirs {
                match known(cpu, section, mine, theirs) {
                    Some(reason) => {
                        reasons.insert(reason);
                    }
                    None => wrong.push(format!(
                        "{cpu}, line {}, {section}: {mine:?}, QEMU {theirs:?}, after {:?}",
                        number + 1,
                        &ours[number.saturating_sub(6)..number]
                    )),
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(ours.len(), qemu.len(), "{cpu}");
        let listed = if cpu == "603e" {
            BTreeSet::from([PREFIX, BAT_PROTECTION, CHANGED, ICBI])
        } else {
            BTreeSet::from([PREFIX, EXECUTE, GUARDED])
        };
        assert_eq!(reasons, listed, "{cpu}: the list names what does differ");
    }
}

#[test]
fn supervisor_programs_count_the_same_without_fast_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let rom = std::fs::read(build(folder.path())).expect("the image");
    for (_, machine) in CPUS {
        let fast = on_this_machine(machine, &rom, false);
        let plain = on_this_machine(machine, &rom, true);
        assert_eq!(fast.0, plain.0, "{machine}");
        assert_eq!(fast.2, plain.2, "{machine}: cycles");
        for (mine, theirs) in fast
            .1
            .named(&NAMES, &CauseNames::default())
            .into_iter()
            .zip(plain.1.named(&NAMES, &CauseNames::default()))
        {
            assert_eq!(mine, theirs, "{machine}");
        }
    }
}
