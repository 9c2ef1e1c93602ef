//! riscv-tests and riscv-arch-test, built outside of this tree: `PAGEWALK_RISCV_TESTS` and `PAGEWALK_RISCV_ARCH_TESTS`
//! name the folders of the built programs. Without them nothing is tested, and the tests say so.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use object::{Object as _, ObjectSymbol as _};
use pagewalk_machine::computer::{Limits, Stop};
use pagewalk_machine::riscv::Config;
use pagewalk_machine::riscv::session::Session;

use super::support::{config, session};

const MOST: u64 = 3_000_000;
const STEP: u64 = 20_000;

/// Runs a program until it writes its result to `tohost`: 1 if all went well.
fn run(config: &Config, path: &Path, oracle: bool) -> (Option<u64>, Session) {
    let elf = std::fs::read(path).unwrap();
    let tohost = place(&elf, "tohost").expect("tohost");
    let mut session = session(config, &elf, &path.display().to_string());
    session.set_oracle(oracle);
    for instructions in (STEP..MOST).step_by(STEP as usize) {
        let stop = session.run(Limits {
            instructions,
            cycles: u64::MAX,
        });
        let ram = &session.machine().uncore().ram;
        let at = ram.at(tohost, 8).expect("tohost is in RAM");
        let told = ram.get(at).map_or(0, u64::from_le_bytes);
        // Output of characters, which some tests make, has a device's number above.
        if told != 0 {
            return (Some(told), session);
        }
        if stop != Stop::Limit {
            break;
        }
    }
    (None, session)
}

/// Where a program has this symbol.
fn place(elf: &[u8], name: &str) -> Option<u64> {
    let file = object::File::parse(elf).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    Some(symbol.address())
}

/// The programs of the folder that a variable names; none if it is not set.
fn programs(variable: &str) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os(variable) else {
        println!("{variable} is not set: nothing was tested");
        return Vec::new();
    };
    let mut programs: Vec<_> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    programs.sort();
    assert!(!programs.is_empty());
    programs
}

/// QEMU's board, which is asked for its memory (QEMU Machine Protocol).
struct Qemu {
    child: std::process::Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
    file: PathBuf,
}

impl Qemu {
    fn start(program: &Path, file: PathBuf) -> Qemu {
        let mut child = Command::new("qemu-system-riscv64")
            .args(["-machine", "virt", "-cpu", "rv64,h=false", "-m", "128"])
            .args([
                "-display", "none", "-serial", "none", "-qmp", "stdio", "-bios",
            ])
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("qemu-system-riscv64, which `./bootstrap test` installs");
        let words = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut qemu = Qemu {
            child,
            words,
            answers,
            file,
        };
        qemu.ask("{\"execute\": \"qmp_capabilities\"}");
        qemu
    }

    fn ask(&mut self, words: &str) {
        writeln!(self.words, "{words}").unwrap();
        let mut line = String::new();
        while !line.contains("\"return\"") {
            line.clear();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "{words}");
            assert!(!line.contains("\"error\""), "{words}: {line}");
        }
    }

    fn memory(&mut self, at: u64, size: u64) -> Vec<u8> {
        let file = self.file.display();
        self.ask(&format!(
            "{{\"execute\": \"pmemsave\", \"arguments\": {{\"val\": {at}, \"size\": {size}, \"filename\": \"{file}\"}}}}"
        ));
        std::fs::read(&self.file).unwrap()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program leaves between `begin_signature` and `end_signature` here and on QEMU's board.
fn signatures(path: &Path, folder: &Path) -> Result<[Vec<u8>; 2], String> {
    let elf = std::fs::read(path).unwrap();
    let [tohost, begin, end] = ["tohost", "begin_signature", "end_signature"]
        .map(|name| place(&elf, name).ok_or(format!("no symbol {name}")));
    let (tohost, begin, end) = (tohost?, begin?, end?);
    let config = config(
        "u74-1500",
        &["core.misaligned=\"hardware\"", "core.extensions=zba_zbb"],
    );
    let (told, session) = run(&config, path, false);
    told.ok_or("it has not ended here")?;
    let ram = &session.machine().uncore().ram;
    let at = ram
        .at(begin, (end - begin) as u32)
        .ok_or("the signature is not in RAM")?;
    let ours = ram.bytes()[at as usize..][..(end - begin) as usize].to_vec();
    let mut qemu = Qemu::start(path, folder.join("memory"));
    let began = Instant::now();
    while qemu.memory(tohost, 8) == [0; 8] {
        if began.elapsed() > Duration::from_secs(20) {
            return Err("it has not ended on QEMU".to_owned());
        }
    }
    Ok([ours, qemu.memory(begin, end - begin)])
}

/// Programs in which QEMU 7.2 has it otherwise, and why.
const OTHERWISE: [(&str, &str); 5] = [
    ("ctzw", "it counts in all 64 bits; later versions do not"),
    (
        "ebreak",
        "mtval is 0, and no address of the program, so that its handler gives up",
    ),
    ("CFG-reg", "it keeps reserved bits of a region"),
    (
        "NA4-RX-priority-level-2",
        "behind a jump it asks PMP for one instruction alone",
    ),
    (
        "NA4-X-priority-level-2",
        "behind a jump it asks PMP for one instruction alone",
    ),
];

#[test]
fn architecture_tests_leave_what_they_leave_on_qemu() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = Vec::new();
    let all = programs("PAGEWALK_RISCV_ARCH_TESTS");
    for path in &all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let known = OTHERWISE.iter().find(|(word, _)| name.contains(word));
        let why = known.map_or("", |(_, why)| why);
        match signatures(path, folder.path()) {
            Ok([ours, theirs]) if ours == theirs => {}
            Ok(_) if !why.is_empty() => println!("{name}: QEMU has it otherwise: {why}"),
            Ok([ours, theirs]) => {
                let word = ours.iter().zip(&theirs).position(|(a, b)| a != b);
                failed.push(format!("{name}: byte {word:?} of {}", ours.len()));
            }
            Err(message) => failed.push(format!("{name}: {message}")),
        }
    }
    println!("{} programs, {} failed", all.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn riscv_tests_pass() {
    let all = programs("PAGEWALK_RISCV_TESTS");
    let mut failed = Vec::new();
    for path in &all {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Its accesses that are not aligned are done by hardware, or else by a handler that it has not.
        let settings: &[&str] = if name.ends_with("ma_data") {
            &["core.misaligned=\"hardware\""]
        } else {
            &[]
        };
        let config = config("u74-1500", settings);
        let (told, session) = run(&config, path, false);
        if told != Some(1) {
            failed.push(format!("{name}: {told:?}"));
        } else if run(&config, path, true).1.counters() != session.counters() {
            failed.push(format!("{name}: the oracle counts differently"));
        }
    }
    println!("{} programs, {} failed", all.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}
