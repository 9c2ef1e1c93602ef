//! qemu-i386 as the judge.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Core;
use super::generate::{DATA_SIZE, IMAGE_SIZE, Sequence};

/// The state that a sequence ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Linux's signal number of what ended it.
    pub signal: u32,
    pub eip: u32,
    pub gpr: [u32; 8],
    pub eflags: u32,
    pub image: Vec<u8>,
    pub data: Vec<u8>,
}

const ANSWER_BYTES: usize = 4 * 11 + IMAGE_SIZE + DATA_SIZE as usize;

/// Builds the program that runs sequences under qemu-i386.
pub fn build() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/x86_differential/driver.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("x86-differential-driver");
    let status = Command::new("gcc")
        .args(["-m32", "-march=i486", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args([
            "-ffreestanding",
            "-nostdlib",
            "-static",
            "-fno-pie",
            "-no-pie",
        ])
        .args([
            "-fno-stack-protector",
            "-fcf-protection=none",
            "-mno-mmx",
            "-mno-sse",
        ])
        .args(["-fno-tree-loop-distribute-patterns", "-Wl,--build-id=none"])
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .expect("gcc is installed");
    assert!(status.success(), "{} does not build", source.display());
    program
}

fn request(sequence: &Sequence) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut word = |value: u32| bytes.extend(value.to_le_bytes());
    word(sequence.code.len() as u32);
    sequence.gpr.iter().for_each(|&value| word(value));
    word(sequence.eflags);
    bytes.extend(sequence.image);
    bytes.extend(&sequence.data);
    bytes.extend(&sequence.code);
    bytes
}

fn parse(bytes: &[u8]) -> Answer {
    let word =
        |n: usize| u32::from_le_bytes(bytes[4 * n..4 * n + 4].try_into().expect("four bytes"));
    let (image, data) = bytes[44..].split_at(IMAGE_SIZE);
    Answer {
        signal: word(0),
        eip: word(1),
        gpr: std::array::from_fn(|n| word(2 + n)),
        eflags: word(10),
        image: image.to_vec(),
        data: data.to_vec(),
    }
}

/// Runs all sequences in one process.
pub fn run(program: &Path, core: Core, sequences: &[Sequence]) -> Vec<Answer> {
    let mut child = Command::new("qemu-i386")
        .args(["-cpu", core.qemu()])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("qemu-i386 is installed by ./bootstrap test");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let requests: Vec<u8> = sequences.iter().flat_map(request).collect();
    let mut bytes = Vec::new();
    std::thread::scope(|scope| {
        // If it ends early, its answers tell where.
        scope.spawn(move || input.write_all(&requests));
        output
            .read_to_end(&mut bytes)
            .expect("qemu-i386's output can be read");
    });
    let status = child.wait().expect("qemu-i386 ends");
    let answered = bytes.len() / ANSWER_BYTES;
    if let Some(sequence) = sequences.get(answered) {
        panic!(
            "qemu-i386: {status}, instead of an answer to\n{}",
            sequence.describe()
        );
    }
    assert!(status.success(), "qemu-i386: {status}");
    bytes.chunks_exact(ANSWER_BYTES).map(parse).collect()
}
