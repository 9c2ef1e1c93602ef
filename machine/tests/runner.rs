//! The command `pagewalk-machine`: exit statuses, messages, files.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::{Program, machine_file};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"))
        .arg("run")
        .args(arguments)
        .output()
        .unwrap()
}

fn on(machine: &str, program: &Program, more: &[&str]) -> Output {
    let machine = machine_file(machine);
    let elf = program.elf();
    let mut arguments = vec![
        "--machine",
        machine.to_str().unwrap(),
        "--kernel",
        elf.to_str().unwrap(),
    ];
    arguments.extend(more);
    run(&arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_guests_status_and_console_come_through() {
    let program = Program::new(
        "_start: load 5, 0x800003f8\n li 6, 'h'\n stb 6, 0(5)\n li 6, 'i'\n stb 6, 0(5)\n power_off 17",
    );
    let output = on("ppc603-133", &program, &[]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(17), "hi")
    );
    let console = program.path("console");
    let output = on(
        "ppc603-133",
        &program,
        &["--console", console.to_str().unwrap()],
    );
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(17), "")
    );
    assert_eq!(std::fs::read(console).unwrap(), b"hi");
}

#[test]
fn input_from_a_file_is_read() {
    let program = Program::new(
        "_start: load 5, 0x800003f8
        1: lbz 6, 5(5)
           andi. 6, 6, 1
           beq 2f
           lbz 6, 0(5)
           addi 6, 6, 1
           stb 6, 0(5)
           b 1b
        2: power_off 0",
    );
    let input = program.path("input");
    std::fs::write(&input, "HAL").unwrap();
    let output = on(
        "ppc604-133",
        &program,
        &["--input", input.to_str().unwrap()],
    );
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), "IBM")
    );
}

#[test]
fn limits_end_with_124() {
    // Out of the cache, where folded branches are dispatched nowhere and still take their cycle.
    let program = Program::new("_start: b 1f\n.balign 32\n1: caches_on\n2: b 2b");
    let limits = [["--max-cycles", "5000"], ["--max-instructions", "5000"]];
    let machines = ["ppc603-133", "ppc604-185", "ppc750-400"];
    for (machine, limit) in machines
        .iter()
        .flat_map(|m| limits.iter().map(move |l| (m, l)))
    {
        let output = on(machine, &program, limit);
        assert_eq!(output.status.code(), Some(124));
        let message = text(&output.stderr);
        let cycles = message.split("reached after ").nth(1).unwrap_or_default();
        let cycles: u64 = cycles
            .split(' ')
            .next()
            .unwrap_or_default()
            .parse()
            .unwrap();
        assert!((4000..10_000).contains(&cycles), "{machine}: {message}");
        assert!(message.contains("at 0x00004030 <_start+0x30>"), "{message}");
    }
}

#[test]
fn a_guest_that_cannot_go_on_ends_with_125_and_registers() {
    for (source, expected) in [
        // No device there, machine checks disabled.
        (
            "_start: load 5, 0x90000000\n bl f\nf: lwz 6, 0(5)",
            "checkstop at 0x0000400c <f>: no device answers physical address 0x90000000",
        ),
        // Nowhere: no RAM, and no handler.
        (
            "_start: load 5, 0x70000000\n mtctr 5\n bctr",
            "checkstop at 0x70000000 <0x70000000>: no device answers physical address 0x70000000",
        ),
        // An illegal instruction, and zeroes at its vector.
        ("_start: .long 0", "exception program (vector 0x0700)"),
        // Zeroes at the vector, where a system call goes.
        (
            "_start: sc",
            "exception system-call (vector 0x0c00), with SRR0 at 0x00004004 <",
        ),
        // A machine check that is enabled, but has no handler.
        (
            "_start: li 3, 0x1000\n mtmsr 3\n load 5, 0x90000000\n lwz 6, 0(5)",
            "exception machine-check (vector 0x0200), with SRR0 at 0x00004010 <_start+0x10>, has no handler: there is no instruction that could run at 0x00000200",
        ),
        // Little-endian.
        ("_start: li 3, 1\n mtmsr 3\n isync", "little-endian"),
    ] {
        let program = Program::new(source);
        for machine in ["ppc603-180", "ppc604-200", "ppc750-400"] {
            let output = on(machine, &program, &["--max-cycles", "10000000"]);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(125), "{source}: {message}");
            assert!(message.contains("pagewalk-machine: fatal: "), "{message}");
            assert!(message.contains(expected), "{source}: {message}");
            assert!(message.contains("\nr24  "), "{message}");
        }
    }
}

#[test]
fn bad_input_ends_with_126_and_says_what_is_allowed() {
    let program = Program::new("_start: power_off 0");
    let machine = machine_file("ppc604-185");
    let machine = machine.to_str().unwrap();
    let elf = program.elf();
    let elf = elf.to_str().unwrap();
    let text_file = program.path("a.s");
    let text_file = text_file.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["--machine", "no.toml", "--kernel", elf][..],
            "no.toml: No such file",
        ),
        (
            &["--machine", machine, "--kernel", "no.elf"],
            "no.elf: No such file",
        ),
        (
            &["--machine", machine, "--kernel", text_file],
            "is not an ELF file; allowed is a static ELF executable",
        ),
        (
            &["--machine", machine],
            "nothing to run: give --kernel, --rom or --restore",
        ),
        (&["--machine", text_file, "--kernel", elf], "a.s:"),
        (
            &[
                "--machine",
                machine,
                "--kernel",
                elf,
                "--set",
                "tlb.data.entires=3",
            ],
            "nearest: `entries`",
        ),
        (
            &["--machine", machine, "--kernel", elf, "--set", "tlb"],
            "write it as key=value",
        ),
        (
            &["--machine", machine, "--kernel", elf, "--sanitize", "stack"],
            "allowed are translation, reuse, fetch, all",
        ),
        (
            &[
                "--machine",
                machine,
                "--kernel",
                elf,
                "--trace",
                "t",
                "--trace-window",
                "9..1",
            ],
            "empty window",
        ),
        (
            &[
                "--machine",
                machine,
                "--kernel",
                elf,
                "--max-cycles",
                "many",
            ],
            "write a whole number from 0 to 18446744073709551615",
        ),
        (
            &[
                "--machine",
                machine,
                "--kernel",
                elf,
                "--counters",
                "no/where.json",
            ],
            "no/where.json: No such file",
        ),
        (
            &["--machine", machine, "--restore", elf],
            "is not a snapshot",
        ),
        (
            &["--machine", machine, "--kernel", elf, "--frobnicate"],
            "unexpected argument",
        ),
        (
            &["--machine", machine, "--kernel", elf, "--symbols", "x"],
            "write it as path=elf",
        ),
    ] {
        let output = run(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!message.contains("panicked"), "{message}");
    }
}

#[test]
fn results_go_to_their_files() {
    let program = Program::new("_start: poke 0x80000f24, 1\n power_off 0");
    let path = |name: &str| program.path(name).to_str().unwrap().to_owned();
    let (counters, profile, trace) = (path("c.json"), path("p.folded"), path("t.json"));
    let (dump, text_dump) = (path("d.json"), path("d.txt"));
    let output = on(
        "ppc603-133",
        &program,
        &[
            "--counters",
            &counters,
            "--profile",
            &profile,
            "--trace",
            &trace,
            "--dump",
            &dump,
            "--profile-table",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("_start"));
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let report = json(&counters);
    assert_eq!(report["clock_hz"], 133_333_333);
    assert_eq!(report["stop"]["kind"], "power-off");
    assert!(report["counters"]["cycles"].as_u64().unwrap() > 0);
    assert!(
        std::fs::read_to_string(&profile)
            .unwrap()
            .starts_with("kernel;_start_[k] ")
    );
    assert!(!json(&trace)["traceEvents"].as_array().unwrap().is_empty());
    assert_eq!(
        json(&dump).as_array().unwrap().len(),
        2,
        "the guest's dump and the one at the end"
    );
    on("ppc603-133", &program, &["--dump", &text_dump]);
    assert!(
        std::fs::read_to_string(&text_dump)
            .unwrap()
            .contains("segment registers")
    );
}

#[test]
fn a_rom_starts_at_its_reset_vector() {
    let program = Program::new("_start: power_off 9");
    let raw = program.path("code");
    let status = Command::new("powerpc-linux-gnu-objcopy")
        .args(["-O", "binary", "-j", ".text"])
        .arg(program.elf())
        .arg(&raw)
        .status();
    assert!(status.unwrap().success());
    let mut rom = vec![0; 0x100];
    rom.extend(std::fs::read(&raw).unwrap());
    std::fs::write(program.path("rom"), rom).unwrap();
    let machine = machine_file("ppc750-400");
    let output = run(&[
        "--machine",
        machine.to_str().unwrap(),
        "--rom",
        program.path("rom").to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
}

#[test]
fn snapshots_save_and_restore_from_the_command_line() {
    let program = Program::new(
        "_start: load 3, 100000\n mtctr 3\n1: bdnz 1b\n load 5, 0x800003f8\n li 6, '.'\n stb 6, 0(5)\n power_off 4",
    );
    let path = |name: &str| program.path(name).to_str().unwrap().to_owned();
    let (snapshot, first, second) = (path("s.snap"), path("1.json"), path("2.json"));
    let output = on(
        "ppc604-185",
        &program,
        &[
            "--save-snapshot",
            &snapshot,
            "--at",
            "50000",
            "--counters",
            &first,
        ],
    );
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let machine = machine_file("ppc604-185");
    let machine = machine.to_str().unwrap();
    let output = run(&[
        "--machine",
        machine,
        "--restore",
        &snapshot,
        "--counters",
        &second,
    ]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(
        std::fs::read(&first).unwrap(),
        std::fs::read(&second).unwrap()
    );
    let output = run(&[
        "--machine",
        machine,
        "--set",
        "tlb.data.entries=64",
        "--restore",
        &snapshot,
    ]);
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("was saved on a machine with other keys"));
    let output = on(
        "ppc604-185",
        &program,
        &["--save-snapshot", &snapshot, "--at", "99999999"],
    );
    assert_eq!(
        output.status.code(),
        Some(4),
        "the guest ended before the instant"
    );
}

#[test]
fn the_tree_for_another_machine_is_written_with_its_places() {
    let program = Program::new("_start: power_off 0");
    let tree = program.path("t.dtb");
    let output = on(
        "ppc604-185",
        &program,
        &["--dump-dtb", tree.to_str().unwrap(), "--for", "qemu-40p"],
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "entry 0x00004000\ntree 0x01fff000\n");
    assert!(
        std::fs::read(Path::new(&tree))
            .unwrap()
            .starts_with(&[0xd0, 0x0d, 0xfe, 0xed])
    );
    // A kernel that is handed another structure has no tree to write.
    let none = program.path("none.dtb");
    let output = on(
        "ppc604-185",
        &program,
        &[
            "--protocol",
            "residual-data",
            "--dump-dtb",
            none.to_str().unwrap(),
        ],
    );
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("is handed no device tree"));
    assert!(!Path::new(&none).exists());
}

#[test]
fn an_endless_file_is_refused() {
    let machine = machine_file("ppc604-133");
    let machine = machine.to_str().unwrap();
    for arguments in [
        ["--machine", "/dev/zero", "--kernel", "/dev/null"],
        ["--machine", machine, "--kernel", "/dev/zero"],
        ["--machine", machine, "--rom", "/dev/zero"],
    ] {
        let output = run(&arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{message}");
        assert!(message.contains("/dev/zero: "), "{message}");
        assert!(message.contains(" bytes"), "{message}");
    }
}

/// Begins and ends more regions than there is room for, and asks for more dumps, contexts and programs.
#[test]
fn what_a_guest_asks_for_without_end_has_a_limit_and_a_warning() {
    let program = Program::new(
        "_start: caches_on
           load 5, 0x80001000
           load 6, 0x80000f00
           load 7, 0x10000
           load 8, 5000
           mtctr 8
           li 8, 0
        1: addi 8, 8, 1
           stw 8, 0(5)
           stw 8, 4(5)
           stw 8, 0x1c(6)
           stw 8, 0x24(6)
           stw 8, 0(7)
           oris 9, 8, 0x4141
           stw 9, 0(7)
           stw 7, 0x20(6)
           bdnz 1b
           power_off 0",
    );
    let output = on("ppc604-133", &program, &["--set", "memory.size=0x100000"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    for warning in [
        "3976 regions were not counted: 1024 numbers are the most",
        "4936 state dumps were not written: 64 are the most",
        "programs or contexts go without a name: 4096 programs and 262144 contexts are the most",
    ] {
        assert!(message.contains(warning), "{message}");
    }
}
