//! QEMU as judge: qemu-ppc, qemu-ppc64, and qemu-system-ppc64 for a 970 in 32-bit mode (system.rs).

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::generate::{Core, DATA_SIZE, Sequence};
use super::system;

/// The state that a sequence ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Linux's signal number of what ended it.
    pub signal: u32,
    pub pc: u32,
    pub gpr: [u64; 32],
    pub cr: u32,
    pub xer: u32,
    pub lr: u64,
    pub ctr: u64,
    pub fpscr: u32,
    pub fpr: [u64; 32],
    pub data: Vec<u8>,
}

/// An emulator, and the program that runs sequences under it.
pub struct Judge {
    program: PathBuf,
    core: Core,
    /// Registers have 64 bits in requests and answers.
    wide: bool,
}

impl Judge {
    /// Builds the program.
    pub fn new(core: Core) -> Judge {
        let wide = core.doubles();
        if core == Core::Ppc970In32Bits {
            let program = system::build();
            return Judge {
                program,
                core,
                wide,
            };
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/driver.c");
        // Tests run side by side, so each has its own.
        let name = format!("differential-driver-{core:?}");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let target: &[&str] = if wide {
            &["-m64", "-mcpu=970", "-mno-altivec"]
        } else {
            &["-mcpu=powerpc"]
        };
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
            .args(target)
            .args(["-fno-stack-protector", "-fno-pie", "-no-pie"])
            .arg("-Wl,--build-id=none")
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .status()
            .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap test");
        assert!(status.success(), "{} does not build", source.display());
        Judge {
            program,
            core,
            wide,
        }
    }

    /// Bytes of a register.
    fn register(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn answer_bytes(&self) -> usize {
        self.register() * (2 + 32 + 4 + 1) + 8 * 32 + DATA_SIZE as usize
    }

    fn request(&self, sequence: &Sequence) -> Vec<u8> {
        let mut bytes = Vec::new();
        let wide = self.wide;
        let mut register = |value: u64| {
            if wide {
                bytes.extend(value.to_be_bytes());
            } else {
                bytes.extend((value as u32).to_be_bytes());
            }
        };
        register(sequence.words.len() as u64);
        sequence.gpr.iter().for_each(|&value| register(value));
        register(sequence.cr.into());
        register(sequence.xer.into());
        register(sequence.lr);
        register(sequence.ctr);
        bytes.extend(sequence.fpr.iter().flat_map(|value| value.to_be_bytes()));
        bytes.extend(&sequence.data);
        bytes.extend(sequence.words.iter().flat_map(|word| word.to_be_bytes()));
        bytes
    }

    fn parse(&self, bytes: &[u8]) -> Answer {
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let size = self.register();
        let register = |n: usize| number(&bytes[size * n..][..size]);
        let floats = &bytes[size * 39..];
        Answer {
            signal: register(0) as u32,
            pc: register(1) as u32,
            gpr: std::array::from_fn(|n| register(2 + n)),
            cr: register(34) as u32,
            xer: register(35) as u32,
            lr: register(36),
            ctr: register(37),
            fpscr: register(38) as u32,
            // A 405 has none, whatever the emulator's signal frame holds in their places.
            fpr: std::array::from_fn(|n| {
                if self.core == Core::Ppc405 {
                    0
                } else {
                    number(&floats[8 * n..][..8])
                }
            }),
            data: bytes[self.answer_bytes() - DATA_SIZE as usize..].to_vec(),
        }
    }

    /// Runs all sequences in one process.
    pub fn run(&self, sequences: &[Sequence]) -> Vec<Answer> {
        if self.core == Core::Ppc970In32Bits {
            return self.run_system(sequences);
        }
        let (emulator, cpu) = self.core.judge();
        let mut child = Command::new(emulator)
            .args(["-cpu", cpu])
            .arg(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("qemu-ppc and qemu-ppc64 are installed by ./bootstrap test");
        let mut input = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        let requests: Vec<u8> = sequences
            .iter()
            .flat_map(|sequence| self.request(sequence))
            .collect();
        let mut bytes = Vec::new();
        std::thread::scope(|scope| {
            // If it ends early, its answers tell where.
            scope.spawn(move || input.write_all(&requests));
            output
                .read_to_end(&mut bytes)
                .expect("its output can be read");
        });
        let status = child.wait().expect("it ends");
        let answered = bytes.len() / self.answer_bytes();
        if let Some(sequence) = sequences.get(answered) {
            panic!(
                "{emulator}: {status}, instead of an answer to\n{}",
                sequence.describe()
            );
        }
        assert!(status.success(), "{emulator}: {status}");
        bytes
            .chunks_exact(self.answer_bytes())
            .map(|answer| self.parse(answer))
            .collect()
    }

    fn run_system(&self, sequences: &[Sequence]) -> Vec<Answer> {
        let requests: Vec<_> = sequences.iter().map(|one| self.request(one)).collect();
        let answers = system::run(&self.program, &requests).unwrap_or_else(|answered| {
            let sequence = sequences[answered].describe();
            panic!("qemu-system-ppc64 does not end\n{sequence}")
        });
        let parse = |bytes: &Vec<u8>| {
            let mut answer = self.parse(&bytes[..self.answer_bytes()]);
            let (vector, srr1) = (word(bytes), word(&bytes[4..]));
            answer.signal = signal(vector, srr1);
            answer
        };
        answers.iter().map(parse).collect()
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The signal that Linux makes of an exception.
fn signal(vector: u32, srr1: u32) -> u32 {
    match vector {
        0x700 if srr1 & 0x2_0000 != 0 => 5,
        0x700 if srr1 & 0x10_0000 != 0 => 8,
        0x700 => 4,
        0x600 => 7,
        _ => 11,
    }
}
