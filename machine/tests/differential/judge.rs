//! qemu-ppc as the judge.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::generate::{Core, DATA_SIZE, Sequence};

/// The state that a sequence ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Linux's signal number of what ended it.
    pub signal: u32,
    pub pc: u32,
    pub gpr: [u32; 32],
    pub cr: u32,
    pub xer: u32,
    pub lr: u32,
    pub ctr: u32,
    pub fpscr: u32,
    pub fpr: [u64; 32],
    pub data: Vec<u8>,
}

const ANSWER_BYTES: usize = 4 * (2 + 32 + 4 + 1) + 8 * 32 + DATA_SIZE as usize;

/// Builds the program that runs sequences under qemu-ppc.
pub fn build() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/driver.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differential-driver");
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args([
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-ffreestanding",
            "-nostdlib",
            "-static",
        ])
        .args([
            "-mcpu=powerpc",
            "-fno-stack-protector",
            "-fno-pie",
            "-no-pie",
        ])
        .arg("-Wl,--build-id=none")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap test");
    assert!(status.success(), "{} does not build", source.display());
    program
}

fn request(sequence: &Sequence) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut word = |value: u32| bytes.extend(value.to_be_bytes());
    word(sequence.words.len() as u32);
    sequence.gpr.iter().for_each(|&value| word(value));
    for value in [sequence.cr, sequence.xer, sequence.lr, sequence.ctr] {
        word(value);
    }
    for value in sequence.fpr {
        word((value >> 32) as u32);
        word(value as u32);
    }
    bytes.extend(&sequence.data);
    bytes.extend(sequence.words.iter().flat_map(|word| word.to_be_bytes()));
    bytes
}

fn parse(bytes: &[u8]) -> Answer {
    let word =
        |n: usize| u32::from_be_bytes(bytes[4 * n..4 * n + 4].try_into().expect("four bytes"));
    let fpr = |n: usize| u64::from(word(39 + 2 * n)) << 32 | u64::from(word(40 + 2 * n));
    Answer {
        signal: word(0),
        pc: word(1),
        gpr: std::array::from_fn(|n| word(2 + n)),
        cr: word(34),
        xer: word(35),
        lr: word(36),
        ctr: word(37),
        fpscr: word(38),
        fpr: std::array::from_fn(fpr),
        data: bytes[ANSWER_BYTES - DATA_SIZE as usize..].to_vec(),
    }
}

/// Runs all sequences in one process.
pub fn run(core: Core, program: &Path, sequences: &[Sequence]) -> Vec<Answer> {
    let mut child = Command::new("qemu-ppc")
        .args(["-cpu", core.judge()])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("qemu-ppc is installed by ./bootstrap test");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let requests: Vec<u8> = sequences.iter().flat_map(request).collect();
    let mut bytes = Vec::new();
    std::thread::scope(|scope| {
        // If it ends early, its answers tell where.
        scope.spawn(move || input.write_all(&requests));
        output
            .read_to_end(&mut bytes)
            .expect("qemu-ppc's output can be read");
    });
    let status = child.wait().expect("qemu-ppc ends");
    let answered = bytes.len() / ANSWER_BYTES;
    if let Some(sequence) = sequences.get(answered) {
        panic!(
            "qemu-ppc: {status}, instead of an answer to\n{}",
            sequence.describe()
        );
    }
    assert!(status.success(), "qemu-ppc: {status}");
    bytes.chunks_exact(ANSWER_BYTES).map(parse).collect()
}
