//! gdb-multiarch attaches to the stub and reads the machine's state.

#[path = "support/debugger.rs"]
mod debugger;
#[path = "support/kernel.rs"]
mod kernel;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use debugger::runner;
use support::{Program, machine_file};

const SOURCE: &str = "
  .type _start, @function
_start:
  caches_on
  paging
  li 3, 0x2000
  mfmsr 4
  or 3, 3, 4
  mtmsr 3
  isync
  load 5, 0x40000000
  load 6, 0x3ff80000
  stw 6, 0(5)
  li 6, 0
  stw 6, 4(5)
  lfd 1, 0(5)
  li 14, 77
middle:
  li 15, 1
  li 15, 2
  li 16, 5
  stw 16, 8(5)
  li 17, 3
  power_off 6
";

/// The output of gdb's `commands` on the program, and the runner's exit status.
fn gdb(machine: &str, commands: &[&str]) -> (String, Option<i32>) {
    let program = Program::new(SOURCE);
    let mut runner = runner(machine, &program.elf());
    runner.args(["--max-instructions", "1000000"]);
    attached(runner, &program.elf(), commands)
}

/// [`debugger::attached`] with the symbols of `elf`.
fn attached(runner: Command, elf: &Path, commands: &[&str]) -> (String, Option<i32>) {
    debugger::attached(runner, &[elf.to_str().unwrap()], commands)
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in\n{text}");
    }
}

#[test]
fn registers_and_memory_are_read_through_the_translation() {
    let (text, status) = gdb(
        "ppc604-185",
        &[
            "break *middle",
            "continue",
            "print /x $pc",
            "print $r14",
            "print $f1",
            "print /x $msr",
            "print /x $sr4",
            "print /x $dbat1u",
            "print /x $sdr1",
            "print /x $hid0",
            "print /x $pvr",
            "x/2xw 0x40000000",
            "x/1xw 0x300000",
            "x/1xw 0x50000000",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "Breakpoint 1, ",
            "$2 = 77",
            "$3 = 1.5",
            "$4 = 0x3030",
            "$5 = 0x20000123",
            "$6 = 0x80001fff",
            "$7 = 0x200000",
            "$8 = 0xc000",
            "$9 = 0x90204",
            "0x40000000:\t0x3ff80000\t0x00000000",
            "0x300000:\t0x3ff80000",
            "Cannot access memory at address 0x50000000",
            "exited with code 06",
        ],
    );
    assert_eq!(status, Some(6), "{text}");
}

/// A 970's registers have their lower halves under the names of other cores, and all bits under names of their own.
/// Who writes a lower half clears the upper one.
#[test]
fn a_970_shows_whole_registers() {
    const SOURCE: &str = "_start:\npaging\nli 14, 5\nsldi 14, 14, 36\nori 14, 14, 9\nmtlr 14\nmtctr 14\nmr 16, 14\n\
        middle: nop\nsrdi 6, 15, 33\nadd 6, 6, 14\nsrdi 16, 16, 36\nadd 6, 6, 16\ncmpwi 6, 9\nbne 1f\n\
        power_off 6\n1: power_off 7";
    let program = Program::on("ppc970-1600", SOURCE);
    let (text, status) = attached(
        runner("ppc970-1600", &program.elf()),
        &program.elf(),
        &[
            "break *middle",
            "continue",
            "print /x $r14",
            "print /x $x14",
            "print /x $xlr",
            "print /x $xctr",
            "print /x $xmsr",
            "print /x $hid4",
            "print /x $xsdr1",
            "print /x $sr4",
            "x/1xw 0x40000000",
            "set $x15 = 0x200000000",
            "print /x $r15",
            "set $r14 = 3",
            "print /x $x14",
            "set $hior = 0x500000",
            "print /x $hior",
            "set $hior = 0",
            "print /x $x16",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "Breakpoint 1, ",
            "$1 = 0x9\n",
            "$2 = 0x5000000009\n",
            "$3 = 0x5000000009\n",
            "$4 = 0x5000000009\n",
            "$5 = 0x1030\n",
            "$6 = 0x0\n",
            "$7 = 0x200000\n",
            "$8 = 0x123\n",
            "0x40000000:\t0x00000000",
            "$9 = 0x0\n",
            "$10 = 0x3\n",
            "$11 = 0x500000\n",
            "$12 = 0x5000000009\n",
            "exited with code 06",
        ],
    );
    assert_eq!(status, Some(6), "{text}");
}

/// The registers of a 405 are there, those of other cores under the same numbers read zero, and memory is read through
/// its TLB.
#[test]
fn a_405_shows_its_own_registers() {
    const SOURCE: &str = "_start:\ncaches_on\npaging\nload 5, 0x40000000\nload 6, 0x1234\nstw 6, 0(5)\nli 7, 5\n\
        mtspr 980, 7\nmiddle: mtspr 945, 7\nnop\npower_off 6";
    let program = Program::on("ppc405-200", SOURCE);
    let (text, status) = attached(
        runner("ppc405-200", &program.elf()),
        &program.elf(),
        &[
            "break *middle",
            "continue",
            "print /x $esr",
            "print /x $imiss",
            "print /x $pvr",
            "print /x $hid0",
            "print /x $sr4",
            "x/1xw 0x40000000",
            "x/1xw 0x80000000",
            "x/1xw 0x50000000",
            "print $dear = 0x77",
            "print $imiss = 1",
            "stepi",
            "print /x $pid",
            "print /x $dear",
            "print /x $esr",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "$1 = 0x5\n",
            "$2 = 0x0\n",
            "$3 = 0x40110145\n",
            "$4 = 0x0\n",
            "$5 = 0x0\n",
            "0x40000000:\t0x00001234",
            "Cannot access memory at address 0x50000000",
            "$8 = 0x5\n",
            "$9 = 0x77\n",
            "$10 = 0x5\n",
            "exited with code 06",
        ],
    );
    assert_eq!(status, Some(6), "{text}");
}

/// The registers of an 8xx's MMU are there, and memory is read through its TLBs.
#[test]
fn an_8xx_shows_its_own_registers() {
    const SOURCE: &str = "_start:\ncaches_on\npaging\nload 5, 0x40000000\nload 6, 0x1234\nstw 6, 0(5)\n\
        middle: mtspr 824, 6\nnop\npower_off 6";
    let program = Program::on("mpc855t-48", SOURCE);
    let (text, status) = attached(
        runner("mpc855t-48", &program.elf()),
        &program.elf(),
        &[
            "break *middle",
            "continue",
            "print /x $md_ctr",
            "print /x $mi_ap",
            "print /x $pvr",
            "print /x $hid0",
            "x/1xw 0x40000000",
            "x/1xw 0x80000000",
            "x/1xw 0x50000000",
            "print $md_ctr = 0x0c001f00",
            "stepi",
            "stepi",
            "print /x $md_cam",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "$1 = 0xc001a00",
            "$2 = 0x40000000",
            "$3 = 0x500000",
            "$4 = 0x0",
            "0x40000000:\t0x00001234",
            "Cannot access memory at address 0x50000000",
            "$6 = 0xff0",
            "exited with code 06",
        ],
    );
    assert_eq!(status, Some(6), "{text}");
}

#[test]
fn single_steps_and_watchpoints_stop_where_they_should() {
    let (text, status) = gdb(
        "ppc604-133",
        &[
            "break *middle",
            "continue",
            "stepi",
            "print $r15",
            "stepi",
            "print $r15",
            "set $r15 = 9",
            "print $r15",
            "kill",
        ],
    );
    contains_all(&text, &["$1 = 1", "$2 = 2", "$3 = 9"]);
    assert_eq!(status, Some(124), "{text}");
    let (text, status) = gdb(
        "ppc604-185",
        &[
            "break *middle",
            "continue",
            "watch *(int *) 0x40000008",
            "continue",
            "print $r16",
            "print $r17",
            "delete",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "Hardware watchpoint 2",
            "New value = 5",
            "$1 = 5",
            "$2 = 0",
            "exited with code 06",
        ],
    );
    assert_eq!(status, Some(6), "{text}");
}

#[test]
fn what_gdb_writes_is_what_the_guest_finds() {
    let (text, status) = gdb(
        "ppc750-400",
        &[
            "break *middle",
            "continue",
            "set {int} 0x40000010 = 0x12345678",
            "x/1xw 0x300010",
            "set $sr5 = 0x20000456",
            "print /x $sr5",
            "set $sprg3 = 0x77",
            "print /x $sprg3",
            "set $f2 = 2.25",
            "print $f2",
            "detach",
        ],
    );
    contains_all(
        &text,
        &[
            "0x300010:\t0x12345678",
            "$1 = 0x20000456",
            "$2 = 0x77",
            "$3 = 2.25",
        ],
    );
    assert_eq!(
        status,
        Some(6),
        "detached, the guest ran to its end: {text}"
    );
}

/// A program under the kernel: its first call writes LR where its caller keeps room for that. The kernel's
/// work in between, and its own accesses, are no hits.
#[test]
fn watchpoints_stop_programs_under_the_kernel() {
    let kernel = kernel::build();
    let folder = tempfile::tempdir().unwrap();
    let initrd = folder.path().join("i.cpio");
    std::fs::write(&initrd, &kernel.initramfs).unwrap();
    for machine in ["ppc603-133", "ppc604-133"] {
        let mut runner = runner(machine, &kernel.built("kernel/vmlinux"));
        runner.arg("--initrd").arg(&initrd);
        runner.args([
            "--append",
            "quiet -- /bin/hello",
            "--max-cycles",
            "1000000000",
        ]);
        let (text, status) = attached(
            runner,
            &kernel.built("user/hello"),
            &[
                "break main",
                "continue",
                "print /x $msr & 0x4000",
                "watch -location *(unsigned *) ($r1 + 4)",
                "continue",
                "print /x $msr & 0x4000",
                "print $pc < 0x20000000",
                "info symbol *(unsigned *) ($r1 + 4)",
                "delete",
                "continue",
            ],
        );
        contains_all(
            &text,
            &[
                "Breakpoint 1, ",
                "$1 = 0x4000",
                "Hardware watchpoint 2: -location",
                "New value = ",
                "$2 = 0x4000",
                "$3 = 1",
                "exited normally",
            ],
        );
        assert_eq!(status, Some(0), "{text}");
    }
}

/// Two processors: each counts in r20 to r22 with its number in r23. Both come to `middle`.
const TWO: &str = "
_start:
  vector 0x0100, reset
  load 10, 0xfc001090
  li 6, 0
  stwbrx 6, 0, 10
  li 23, 0
  b common
reset:
  load 3, common
  mtctr 3
  li 23, 1
  bctr
common:
  li 20, 1
  li 20, 2
  li 20, 3
middle:
  li 21, 7
  li 21, 8
  cmpwi 23, 1
  beq .
  li 4, 500
  mtctr 4
1:
  bdnz 1b
  power_off 5
";

fn of_two(program: &Program) -> Command {
    let mut runner = runner("ppc604-185x2", &program.elf());
    runner.args(["--max-instructions", "1000000"]);
    runner
}

#[test]
fn each_processor_is_a_thread() {
    let program = Program::new(TWO);
    let (text, status) = attached(
        of_two(&program),
        &program.elf(),
        &[
            "info threads",
            "break *middle",
            "continue",
            "print $_thread",
            "print $r23 + 1",
            "continue",
            "print $_thread",
            "print $r23 + 1",
            "info threads",
            "stepi",
            "print $r21",
            "thread 1",
            "print $r21",
            "thread 2",
            "stepi",
            "print $r21",
            "thread 1",
            "print $r21",
            "delete",
            "continue",
        ],
    );
    contains_all(
        &text,
        &[
            "(processor 0)",
            "(processor 1, held in reset)",
            "Breakpoint 1, ",
            "exited with code 05",
        ],
    );
    let value = |n: u32| {
        let start = format!("${n} = ");
        let line = text.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("{start}in\n{text}"));
        line[start.len()..].parse::<u32>().unwrap()
    };
    assert_eq!(value(1), value(2), "the thread is the processor's: {text}");
    assert_eq!(value(3), value(4), "{text}");
    assert_ne!(value(1), value(3), "both stop: {text}");
    assert_eq!(status, Some(5), "{text}");
}

/// Each processor passes `middle`; gdb goes on where the breakpoint is for another thread.
#[test]
fn a_breakpoint_of_one_thread_stops_only_that_one() {
    for wanted in [1, 2] {
        let program = Program::new(TWO);
        let only = format!("break *middle thread {wanted}");
        let (text, status) = attached(
            of_two(&program),
            &program.elf(),
            &[
                &only,
                "continue",
                "print $_thread",
                "print $r23 + 1",
                "continue",
            ],
        );
        assert!(text.contains(&format!("$1 = {wanted}\n")), "{text}");
        assert!(text.contains(&format!("$2 = {wanted}\n")), "{text}");
        assert_eq!(text.matches("hit Breakpoint 1").count(), 1, "{text}");
        assert_eq!(status, Some(5), "{text}");
    }
}

/// A client that speaks the protocol by itself.
struct Client(TcpStream);

impl Client {
    fn ask(&mut self, packet: &str) -> String {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.0, "${packet}#{sum:02x}").unwrap();
        let (mut text, mut byte) = (Vec::new(), [0]);
        while text.last() != Some(&b'#') {
            self.0.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
        }
        let mut check = [0; 2];
        self.0.read_exact(&mut check).unwrap();
        self.0.write_all(b"+").unwrap();
        let text = String::from_utf8(text).unwrap();
        let start = text.find('$').unwrap();
        let (mut plain, mut rest) = (String::new(), text[start + 1..text.len() - 1].bytes());
        while let Some(byte) = rest.next() {
            // A run: the character before it, as often as the next one says.
            let times = if byte == b'*' {
                rest.next().unwrap() - 29
            } else {
                1
            };
            let what = if byte == b'*' {
                plain.pop().unwrap()
            } else {
                byte.into()
            };
            let extra = usize::from(byte == b'*');
            plain.extend(std::iter::repeat_n(what, usize::from(times) + extra));
        }
        plain
    }

    /// A general register of the thread that `Hg` chose.
    fn register(&mut self, number: u32) -> u32 {
        u32::from_str_radix(&self.ask(&format!("p{number:x}")), 16).unwrap()
    }
}

#[test]
fn threads_over_the_protocol() {
    let program = Program::new(TWO);
    let mut runner = of_two(&program).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut messages = BufReader::new(runner.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(' ').next().unwrap();
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let mut client = Client(stream);
    assert_eq!(client.ask("qfThreadInfo"), "m01,02");
    assert_eq!(client.ask("qsThreadInfo"), "l");
    assert_eq!(client.ask("T1"), "OK");
    assert_eq!(client.ask("T2"), "OK");
    assert!(client.ask("T3").starts_with('E'));
    assert!(client.ask("vCont?").contains(";s"));
    // Processor 1 is held in reset, so only processor 0 can run; then it is stepped through its first instructions.
    for _ in 0..3 {
        assert_eq!(client.ask("vCont;s:1"), "T05thread:01;");
    }
    // Until processor 1 runs, the others do.
    assert_eq!(client.ask("vCont;s:2;c"), "T05thread:02;");
    assert_eq!(client.ask("Hg2"), "OK");
    let at = client.register(64);
    assert_eq!(client.ask("Hg1"), "OK");
    let other = (client.register(20), client.register(64));
    // Alone, it goes on; the other stands still.
    for _ in 0..20 {
        assert_eq!(client.ask("vCont;s:2"), "T05thread:02;");
    }
    // A stop chooses its thread.
    assert_eq!(client.register(23), 1);
    assert_eq!(client.ask("Hg1"), "OK");
    assert_eq!((client.register(20), client.register(64)), other);
    assert_eq!(client.ask("Hg2"), "OK");
    assert_ne!(client.register(64), at);
    assert_eq!(client.register(23), 1);
    assert_eq!(client.register(21), 8, "it has come to its end");
    assert_eq!(client.ask("vCont;c"), "W05");
    assert_eq!(runner.wait().unwrap().code(), Some(5));
}

/// Long enough for several checks of the connection.
const LOOP: &str = "
_start:
  caches_on
  load 3, 100000
  mtctr 3
1: addi 4, 4, 1
  addi 5, 5, 1
  addi 6, 6, 1
  addi 7, 7, 1
  bdnz 1b
  power_off 0
";

#[test]
fn to_continue_without_breakpoints_changes_no_count() {
    let program = Program::new(LOOP);
    let counters = |gdb: bool| {
        let path = program.path(if gdb { "gdb.json" } else { "plain.json" });
        let mut runner = Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"));
        runner
            .arg("run")
            .arg("--machine")
            .arg(machine_file("ppc604-185"))
            .arg("--kernel")
            .arg(program.elf())
            .arg("--counters")
            .arg(&path);
        if gdb {
            runner.args(["--gdb", "0"]);
            attached(runner, &program.elf(), &["continue"]);
        } else {
            assert!(runner.status().unwrap().success());
        }
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(counters(true), counters(false));
}
