//! qemu-system-ppc64's bare 970 as judge of 32-bit mode: user-mode emulation of a 970 has the 64-bit mode alone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Of system.S.
const START: u64 = 0x2000;
const LEFT: u64 = 0x01ff_0000;
const REQUESTS: u64 = 0x0200_0000;
pub const STRIDE: usize = 4096;

/// How often the number of open requests is looked at before the emulator is taken to hang, if it does not change.
const PATIENCE: u32 = 3000;
const BETWEEN: Duration = Duration::from_millis(20);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn succeed(command: &mut Command) {
    let status = command.status();
    let status = status.expect("the tools are installed by ./bootstrap test");
    assert!(status.success(), "{command:?}: {status}");
}

/// Assembles the program that runs sequences.
pub fn build() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/system.S");
    let (object, image) = (
        file("differential-system.o"),
        file("differential-system.bin"),
    );
    let assembler = &mut Command::new("powerpc-linux-gnu-as");
    succeed(
        assembler
            .args(["-a64", "-mregnames", "-o"])
            .args([&object, &source]),
    );
    let linker = &mut Command::new("powerpc-linux-gnu-ld");
    linker.args(["-m", "elf64ppc", "-Ttext=0", "--oformat", "binary", "-o"]);
    succeed(linker.args([&image, &object]));
    image
}

/// The emulator, and its monitor on its standard input and output.
struct Emulator {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Emulator {
    fn start(image: &Path, requests: &Path) -> Emulator {
        let load = |file: &Path, address: u64| {
            let file = file.display();
            format!("loader,file={file},addr={address:#x},force-raw=on")
        };
        let mut child = Command::new("qemu-system-ppc64")
            .args([
                "-M",
                "none",
                "-cpu",
                "970fx",
                "-m",
                "64M",
                "-nodefaults",
                "-nographic",
            ])
            .args(["-qmp", "stdio", "-device", &load(image, 0)])
            .args(["-device", &load(requests, LEFT)])
            .args(["-device", &format!("loader,addr={START:#x},cpu-num=0")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("qemu-system-ppc64 is installed by ./bootstrap test");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut emulator = Emulator {
            child,
            input,
            output,
        };
        emulator.ask(&json!({ "execute": "qmp_capabilities" }));
        emulator
    }

    /// The answer to a command of the monitor.
    fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.input, "{command}").expect("it reads its monitor");
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            let read = read.expect("its monitor can be read");
            assert!(read != 0, "qemu-system-ppc64 ended before it answered");
            let mut said: Value = serde_json::from_str(&line).expect("JSON, a line each");
            assert!(said.get("error").is_none(), "{command}: {said}");
            if let Some(answer) = said.get_mut("return") {
                return answer.take();
            }
        }
    }

    /// How many requests are open.
    fn left(&mut self) -> u64 {
        let look = json!({ "command-line": format!("xp /1gx {LEFT:#x}") });
        let said = self.ask(&json!({ "execute": "human-monitor-command", "arguments": look }));
        let said = said.as_str().expect("text").trim();
        let number = said.rsplit("0x").next().expect("a number");
        u64::from_str_radix(number, 16).unwrap_or_else(|_| panic!("{said}: a number is wanted"))
    }
}

/// The answers to requests, or how many of them were answered before the emulator hung.
pub fn run(image: &Path, requests: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, usize> {
    let count = requests.len();
    let mut memory = vec![0; (REQUESTS - LEFT) as usize];
    memory[..8].copy_from_slice(&(count as u64).to_be_bytes());
    for request in requests {
        assert!(request.len() <= STRIDE);
        memory.extend(request);
        memory.resize(memory.len().next_multiple_of(STRIDE), 0);
    }
    let (asked, given) = (
        file("differential-requests.bin"),
        file("differential-answers.bin"),
    );
    std::fs::write(&asked, &memory).expect("the requests can be written");
    let mut emulator = Emulator::start(image, &asked);
    let (mut before, mut looks) = (0, 0);
    loop {
        let left = emulator.left();
        if left == 0 {
            break;
        }
        looks = if left == before { looks + 1 } else { 0 };
        before = left;
        if looks == PATIENCE {
            let _ = emulator.child.kill();
            let _ = emulator.child.wait();
            return Err(count - left as usize);
        }
        std::thread::sleep(BETWEEN);
    }
    let save =
        json!({ "val": REQUESTS, "size": count * STRIDE, "filename": given.display().to_string() });
    emulator.ask(&json!({ "execute": "pmemsave", "arguments": save }));
    // Nothing more is asked of it: it may have ended by itself.
    let _ = emulator.child.kill();
    emulator.child.wait().expect("it ends");
    let answers = std::fs::read(&given).expect("the answers can be read");
    Ok(answers.chunks_exact(STRIDE).map(<[u8]>::to_vec).collect())
}
