//! Random sequences of instructions, by a program that both this machine and `qemu-riscv64` run: each sequence begins
//! with registers from its block of data and ends by writing them back; the program prints all blocks. All sequences
//! call the same code to read and to write their registers, because qemu's time goes to the translation of new code.
//!
//! `PAGEWALK_SEED` and `PAGEWALK_SEQUENCES` choose others and how many.

use std::process::{Command, Stdio};

use pagewalk_machine::computer::Limits;
use pagewalk_machine::riscv::shim::Program;
use pagewalk_machine::shim::Ending;

use super::support::config;

const CODE: u64 = 0x1_0000;
const DATA: u64 = 0x200_0000;
/// Bytes of a block: 32 registers, 32 of numbers, fcsr; then memory for loads and stores.
const BLOCK: u64 = 1024;
const FLOATS: i32 = 256;
const FCSR: i32 = 512;
const MEMORY: i32 = 528;
/// Sequences of a program: their blocks lie within the megabyte that one call may write.
const BATCH: usize = 1000;
pub const STEPS: usize = 24;

/// Point to the block, and to its memory: no sequence writes them.
const BLOCK_REGISTER: u32 = 31;
const MEMORY_REGISTER: u32 = 30;

/// A generator (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    /// A number that is interesting as an integer.
    pub fn integer(&mut self) -> u64 {
        let number = self.next();
        match self.below(6) {
            0 => number % 17,
            1 => (number % 17).wrapping_neg(),
            2 => 1 << (number % 64),
            3 => i64::from(number as i32).cast_unsigned(),
            4 => self.of(&[0, u64::MAX, 1 << 63, i64::MAX as u64, 1 << 31, 0x7fff_ffff]),
            _ => number,
        }
    }

    /// A number that is interesting in one of the formats.
    fn float(&mut self) -> u64 {
        let number = self.next();
        let single = match self.below(5) {
            0 => self.of(&[
                0,
                1 << 31,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x7f80_0001,
                1,
                0x3f80_0000,
            ]),
            1 => number as u32 & 0x807f_ffff | (100 + number as u32 % 56) << 23,
            2 => number as u32 & 0x807f_ffff,
            _ => number as u32,
        };
        let double = match self.below(5) {
            0 => self.of(&[
                0,
                1 << 63,
                0x7ff << 52,
                0xfff << 52,
                0x7ff8 << 48,
                (0x7ff << 52) | 1,
                1,
                0x3ff << 52,
            ]),
            1 => number & 0x800f_ffff_ffff_ffff | (950 + number % 150) << 52,
            2 => number & 0x800f_ffff_ffff_ffff,
            _ => number,
        };
        match self.below(8) {
            0..=3 => double,
            4 => single.into(),
            _ => u64::from(single) | 0xffff_ffff << 32,
        }
    }

    /// A register that may be written.
    pub fn rd(&mut self) -> u32 {
        self.below(30)
    }
}

pub fn r(opcode: u32, funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub fn i(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: i32) -> u32 {
    (immediate & 0xfff).cast_unsigned() << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

pub fn s(opcode: u32, funct3: u32, rs1: u32, rs2: u32, immediate: i32) -> u32 {
    let immediate = immediate.cast_unsigned();
    (immediate >> 5 & 0x7f) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (immediate & 31) << 7
        | opcode
}

/// From `from` to `to`, within 1 MB; rd becomes the address after it.
pub fn jal(rd: u32, from: usize, to: usize) -> u32 {
    let offset = (to as i32 - from as i32).cast_unsigned();
    assert!(
        offset.wrapping_add(1 << 20) < 1 << 21,
        "{offset:#x} is too far"
    );
    (offset >> 20 & 1) << 31
        | (offset >> 1 & 0x3ff) << 21
        | (offset >> 11 & 1) << 20
        | (offset >> 12 & 0xff) << 12
        | rd << 7
        | 0x6f
}

/// Back to where MEMORY_REGISTER points, which a call has set.
fn back() -> u32 {
    i(0x67, 0, 0, MEMORY_REGISTER, 0)
}

/// rd becomes a number below 2 GB.
fn load_number(rd: u32, number: u64) -> [u32; 2] {
    let low = (number as i32) << 20 >> 20;
    let high = (number as i32).wrapping_sub(low).cast_unsigned();
    [high | rd << 7 | 0x37, i(0x1b, 0, rd, rd, low)]
}

pub fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Zba and Zbb with two registers: sh1add and the like, andn, orn, xnor, min and max, rotations.
const BITS_OF_TWO: [u32; 18] = [
    0x2000_2033,
    0x2000_4033,
    0x2000_6033,
    0x0800_003b,
    0x2000_203b,
    0x2000_403b,
    0x2000_603b,
    0x4000_7033,
    0x4000_6033,
    0x4000_4033,
    0x0a00_4033,
    0x0a00_5033,
    0x0a00_6033,
    0x0a00_7033,
    0x6000_1033,
    0x6000_5033,
    0x6000_103b,
    0x6000_503b,
];

/// Zbb with one: counts, extensions, bytes. Without ctzw: QEMU 7.2 counts on into the upper word where the lower one is
/// zero.
const BITS_OF_ONE: [u32; 10] = [
    0x6000_1013,
    0x6010_1013,
    0x6020_1013,
    0x6000_101b,
    0x6020_101b,
    0x6040_1013,
    0x6050_1013,
    0x0800_403b,
    0x2870_5013,
    0x6b80_5013,
];

/// An instruction, or a few that belong together.
pub fn step(random: &mut Random) -> Vec<u8> {
    let (rd, rs1, rs2) = (random.rd(), random.below(30), random.below(30));
    let floats = [
        random.below(32),
        random.below(32),
        random.below(32),
        random.below(32),
    ];
    let rounding = random.of(&[0, 1, 2, 3, 4, 7, 7]);
    let double = random.below(2);
    match random.below(22) {
        20 => words(&[random.of(&BITS_OF_TWO) | rs2 << 20 | rs1 << 15 | rd << 7]),
        21 => {
            let shifts = [0x6000_5013, 0x0800_101b, 0x6000_501b];
            let shift = random.below(32) << 20 | random.of(&shifts);
            let one = random.of(&BITS_OF_ONE);
            words(&[random.of(&[shift, one]) | rs1 << 15 | rd << 7])
        }
        0..=2 => {
            let opcode = random.of(&[0x33, 0x3b]);
            let funct3 = if opcode == 0x33 {
                random.below(8)
            } else {
                random.of(&[0, 1, 5])
            };
            let other = matches!(funct3, 0 | 5) && random.below(2) == 1;
            words(&[r(
                opcode,
                if other { 0x20 } else { 0 },
                funct3,
                rd,
                rs1,
                rs2,
            )])
        }
        3 | 4 => {
            let opcode = random.of(&[0x33, 0x3b]);
            let funct3 = if opcode == 0x33 {
                random.below(8)
            } else {
                random.of(&[0, 4, 5, 6, 7])
            };
            words(&[r(opcode, 1, funct3, rd, rs1, rs2)])
        }
        5 | 6 => {
            let immediate = random.next() as i32;
            let funct3 = random.below(8);
            let shift = random.below(64).cast_signed();
            let immediate = match funct3 {
                1 => shift,
                5 => shift | random.of(&[0, 0x400]),
                _ => immediate,
            };
            words(&[i(0x13, funct3, rd, rs1, immediate)])
        }
        7 => {
            let funct3 = random.of(&[0, 1, 5]);
            let shift = random.below(32).cast_signed();
            let immediate = match funct3 {
                0 => random.next() as i32,
                1 => shift,
                _ => shift | random.of(&[0, 0x400]),
            };
            words(&[i(0x1b, funct3, rd, rs1, immediate)])
        }
        8 => words(&[random.next() as u32 & 0xffff_f000 | rd << 7 | random.of(&[0x17, 0x37])]),
        9 => {
            let offset = random.below(480).cast_signed();
            let funct3 = random.below(7);
            match random.below(4) {
                0 => words(&[i(
                    0x07,
                    random.of(&[2, 3]),
                    floats[0],
                    MEMORY_REGISTER,
                    offset,
                )]),
                1 => words(&[s(
                    0x27,
                    random.of(&[2, 3]),
                    MEMORY_REGISTER,
                    floats[0],
                    offset,
                )]),
                2 => words(&[i(0x03, funct3, rd, MEMORY_REGISTER, offset)]),
                _ => words(&[s(0x23, funct3 & 3, MEMORY_REGISTER, rs2, offset)]),
            }
        }
        10 => {
            let at = 1 + random.below(29);
            let place = i(
                0x13,
                0,
                at,
                MEMORY_REGISTER,
                (random.below(60) * 8).cast_signed(),
            );
            let width = random.of(&[2, 3]);
            let kind = random.of(&[0x01, 0x00, 0x04, 0x0c, 0x08, 0x10, 0x14, 0x18, 0x1c, 0x02]);
            if kind != 0x02 {
                return words(&[place, r(0x2f, kind << 2, width, rd, at, rs2)]);
            }
            let loaded = if rd == at { 0 } else { rd };
            words(&[
                place,
                r(0x2f, 0x02 << 2, width, loaded, at, 0),
                r(0x2f, 0x03 << 2, width, rd, at, rs2),
            ])
        }
        11 => {
            // A branch over another step.
            let inside = step(random);
            let offset = 4 + inside.len() as u32;
            let bits = (offset >> 5 & 0x3f) << 25 | (offset >> 1 & 15) << 8;
            let branch = bits | rs2 << 20 | rs1 << 15 | random.of(&[0, 1, 4, 5, 6, 7]) << 12 | 0x63;
            [words(&[branch]), inside].concat()
        }
        12 => compressed(random),
        13 => words(&[r(0x73, 0, 2, rd, 0, random.of(&[1, 2, 3]))]),
        14 | 15 => {
            let kind = random.of(&[0x00, 0x04, 0x08, 0x0c]);
            words(&[r(
                0x53,
                kind | double,
                rounding,
                floats[0],
                floats[1],
                floats[2],
            )])
        }
        16 => {
            let opcode = random.of(&[0x43, 0x47, 0x4b, 0x4f]);
            words(&[r(
                opcode,
                floats[3] << 2 | double,
                rounding,
                floats[0],
                floats[1],
                floats[2],
            )])
        }
        17 => {
            let (kind, funct3, to, from) = random.of(&[
                (0x10, 0, 0, 1),
                (0x10, 1, 0, 1),
                (0x10, 2, 0, 1),
                (0x14, 0, 0, 1),
                (0x14, 1, 0, 1),
                (0x50, 0, 1, 1),
                (0x50, 1, 1, 1),
                (0x50, 2, 1, 1),
            ]);
            let rd = if to == 0 { floats[0] } else { rd };
            words(&[r(0x53, kind | double, funct3, rd, floats[from], floats[2])])
        }
        18 => match random.below(3) {
            0 => words(&[r(
                0x53,
                0x60 | double,
                rounding,
                rd,
                floats[1],
                random.below(4),
            )]),
            1 => words(&[r(
                0x53,
                0x68 | double,
                rounding,
                floats[0],
                rs1,
                random.below(4),
            )]),
            _ => words(&[r(
                0x53,
                0x20 | double,
                rounding,
                floats[0],
                floats[1],
                1 - double,
            )]),
        },
        _ => match random.below(4) {
            0 => words(&[r(0x53, 0x70 | double, random.below(2), rd, floats[1], 0)]),
            1 => words(&[r(0x53, 0x78 | double, 0, floats[0], rs1, 0)]),
            _ => words(&[r(0x53, 0x2c | double, rounding, floats[0], floats[1], 0)]),
        },
    }
}

/// An instruction of two bytes, of arithmetic.
fn compressed(random: &mut Random) -> Vec<u8> {
    let rd = 1 + random.below(29);
    let immediate = random.below(64);
    let field = (immediate >> 5) << 12 | (immediate & 31) << 2;
    let low = random.below(8);
    let half = match random.below(6) {
        0 => field | rd << 7 | 1,
        1 => random.of(&[1, 2]) << 13 | field | rd << 7 | 1,
        // c.lui: of x2 it is another instruction, and 0 is reserved.
        2 if rd != 2 && immediate != 0 => 3 << 13 | field | rd << 7 | 1,
        3 => 4 << 13 | random.below(3) << 10 | field | low << 7 | 1,
        4 => {
            let wide = random.below(2);
            let kind = if wide == 0 {
                random.below(4)
            } else {
                random.below(2)
            };
            4 << 13 | wide << 12 | 3 << 10 | low << 7 | kind << 5 | random.below(8) << 2 | 1
        }
        _ => 4 << 13 | random.below(2) << 12 | rd << 7 | (1 + random.below(29)) << 2 | 2,
    };
    (half as u16).to_le_bytes().to_vec()
}

/// Code and data of a program, and where the code of each sequence begins.
pub struct Batch {
    code: Vec<u8>,
    data: Vec<u8>,
    steps: Vec<Vec<u8>>,
}

/// Reads all registers of a sequence from its block.
fn read_registers() -> Vec<u32> {
    let mut code = vec![i(0x03, 3, 1, BLOCK_REGISTER, FCSR), i(0x73, 1, 0, 1, 3)];
    code.extend((0..32).map(|n| i(0x07, 3, n, BLOCK_REGISTER, FLOATS + 8 * n.cast_signed())));
    code.extend((1..30).map(|n| i(0x03, 3, n, BLOCK_REGISTER, 8 * n.cast_signed())));
    code.push(back());
    code
}

/// Writes all registers of a sequence to its block.
fn write_registers() -> Vec<u32> {
    let mut code: Vec<u32> = (1..30)
        .map(|n| s(0x23, 3, BLOCK_REGISTER, n, 8 * n.cast_signed()))
        .collect();
    code.extend((0..32).map(|n| s(0x27, 3, BLOCK_REGISTER, n, FLOATS + 8 * n.cast_signed())));
    code.push(i(0x73, 2, 1, 0, 3));
    code.push(s(0x23, 3, BLOCK_REGISTER, 1, FCSR));
    code.push(back());
    code
}

/// What a sequence begins with.
fn block(random: &mut Random) -> Vec<u8> {
    let mut block = Vec::new();
    for _ in 0..32 {
        block.extend(random.integer().to_le_bytes());
    }
    for _ in 0..32 {
        block.extend(random.float().to_le_bytes());
    }
    block.extend(u64::from(random.below(5) << 5).to_le_bytes());
    while block.len() < BLOCK as usize {
        block.extend(random.integer().to_le_bytes());
    }
    block
}

/// So many sequences of so many steps, all of them run so often.
pub fn batch(random: &mut Random, (sequences, steps): (usize, usize), rounds: i32) -> Batch {
    let mut all = Batch {
        code: Vec::new(),
        data: Vec::new(),
        steps: Vec::new(),
    };
    let (reading, writing) = (words(&read_registers()), words(&write_registers()));
    let (read_at, write_at) = (4, 4 + reading.len());
    let first = write_at + writing.len();
    all.code = [words(&[jal(0, 0, first)]), reading, writing].concat();
    for n in 0..sequences {
        all.data.extend(block(random));
        all.code
            .extend(words(&load_number(BLOCK_REGISTER, DATA + BLOCK * n as u64)));
        let call = jal(MEMORY_REGISTER, all.code.len(), read_at);
        let memory = i(0x13, 0, MEMORY_REGISTER, BLOCK_REGISTER, MEMORY);
        all.code.extend(words(&[call, memory]));
        let steps: Vec<u8> = (0..steps).flat_map(|_| step(random)).collect();
        all.code.extend(&steps);
        all.steps.push(steps);
        let call = jal(MEMORY_REGISTER, all.code.len(), write_at);
        all.code.extend(words(&[call]));
    }
    // The next round, unless the counter behind the blocks has reached the last one.
    let size = all.data.len() as u64;
    all.data.extend(0_u64.to_le_bytes());
    let mut code = load_number(1, DATA + size).to_vec();
    code.extend([
        i(0x03, 3, 2, 1, 0),
        i(0x13, 0, 2, 2, 1),
        s(0x23, 3, 1, 2, 0),
        i(0x13, 0, 3, 0, rounds),
        // beq over the jump
        0x0031_0463,
    ]);
    code.push(jal(0, all.code.len() + 4 * code.len(), first));
    // write(1, data, size), exit(0)
    code.push(i(0x13, 0, 10, 0, 1));
    code.extend(load_number(11, DATA));
    code.extend(load_number(12, size));
    code.extend([
        i(0x13, 0, 17, 0, 64),
        0x73,
        i(0x13, 0, 10, 0, 0),
        i(0x13, 0, 17, 0, 93),
        0x73,
    ]);
    all.code.extend(words(&code));
    all
}

/// A static executable.
pub fn elf(batch: &Batch) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
    for quad in [CODE, 64, 0] {
        file.extend(quad.to_le_bytes());
    }
    // EF_RISCV_RVC and EF_RISCV_FLOAT_ABI_DOUBLE.
    file.extend(5_u32.to_le_bytes());
    for half in [64_u16, 56, 2, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let code_at = 0x1000_u64;
    let data_at = code_at + (batch.code.len() as u64).next_multiple_of(0x1000);
    for (flags, at, address, size) in [
        (5_u32, code_at, CODE, batch.code.len() as u64),
        (6, data_at, DATA, batch.data.len() as u64),
    ] {
        file.extend(1_u32.to_le_bytes());
        file.extend(flags.to_le_bytes());
        for quad in [at, address, address, size, size, 0x1000] {
            file.extend(quad.to_le_bytes());
        }
    }
    file.resize(code_at as usize, 0);
    file.extend(&batch.code);
    file.resize(data_at as usize, 0);
    file.extend(&batch.data);
    file
}

fn judged(path: &std::path::Path) -> Vec<u8> {
    let run = Command::new("qemu-riscv64")
        .arg(path)
        .stderr(Stdio::inherit())
        .output();
    let output = run.expect("qemu-riscv64, which `./bootstrap test` installs");
    assert!(output.status.success(), "qemu-riscv64: {}", output.status);
    output.stdout
}

pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn random_sequences_give_what_qemu_gives() {
    let seed = number("PAGEWALK_SEED", 1);
    let batches = number("PAGEWALK_SEQUENCES", 200_000).div_ceil(BATCH as u64);
    let settings = ["core.misaligned=\"hardware\"", "core.extensions=zba_zbb"];
    let config = config("u74-1500", &settings);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sequences");
    for n in 0..batches {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n) | 1);
        random.next();
        let batch = batch(&mut random, (BATCH, STEPS), 1);
        let elf = elf(&batch);
        std::fs::write(&path, &elf).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let expected = judged(&path);
        assert_ne!(
            expected,
            batch.data[..expected.len()],
            "no sequence has run"
        );
        let mut program = Program::new(&config, &elf, "sequences", &[b"s".to_vec()], &[]).unwrap();
        program.capture();
        let ending = program.run(Limits::NONE);
        assert_eq!(ending, Ending::Exited(0), "seed {seed}, batch {n}");
        let blocks = expected
            .chunks(BLOCK as usize)
            .zip(program.printed().chunks(BLOCK as usize));
        for (m, (expected, found)) in blocks.enumerate() {
            let wrong = expected
                .chunks(8)
                .zip(found.chunks(8))
                .position(|(a, b)| a != b);
            if let Some(place) = wrong {
                let quad =
                    |bytes: &[u8]| u64::from_le_bytes(bytes[8 * place..][..8].try_into().unwrap());
                panic!(
                    "seed {seed}, batch {n}, sequence {m}: place {place} (x, then f from 32, fcsr 64, memory from 66) \
                     is {:016x}, and qemu has {:016x}\n{:02x?}",
                    quad(found),
                    quad(expected),
                    batch.steps[m]
                );
            }
        }
        assert_eq!(expected.len(), program.printed().len());
    }
}

/// Code that runs again takes the times of its blocks from where they are remembered; the oracle issues each
/// instruction anew. All counters are the same, on cores that issue and wait differently, wherever the run is cut.
#[test]
fn the_oracle_counts_the_same_in_random_sequences() {
    let seed = number("PAGEWALK_SEED", 1);
    let extensions = ["core.misaligned=\"hardware\"", "core.extensions=zba_zbb"];
    for (n, (machine, settings)) in [
        ("u74-1500", &[][..]),
        ("u74-1500", &["core.issue=1", "latency.load=9"]),
        ("u74-1500", &["latency.multiply=40", "latency.float=70"]),
        (
            "u74-1500",
            &[
                "cache.data.size=1024",
                "cache.data.ways=1",
                "tlb.data.entries=2",
                "tlb.data.ways=2",
            ],
        ),
        (
            "u74-1500",
            &["cache.instruction.size=2048", "cache.instruction.ways=1"],
        ),
        (
            "u74-1500",
            &[
                "latency.multiply=300",
                "cache.data.size=1024",
                "cache.data.ways=1",
            ],
        ),
        ("c906-1000", &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let config = config(machine, &[&extensions[..], settings].concat());
        let mut random = Random(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(n as u64)
                | 1,
        );
        random.next();
        let elf = elf(&batch(&mut random, (60, STEPS), 12));
        let mut cut = |seen, oracle| {
            let arguments = [b"s".to_vec()];
            let mut program = Program::new(&config, &elf, "sequences", &arguments, &[]).unwrap();
            program.capture();
            program.machine_mut().set_oracle(oracle);
            program.machine_mut().set_compiler(seen);
            let mut instructions = 0;
            loop {
                instructions += 1 + u64::from(random.below(40_000));
                let limits = Limits {
                    instructions,
                    ..Limits::NONE
                };
                match program.run(limits) {
                    Ending::Limit => {}
                    ending => {
                        assert_eq!(
                            ending,
                            Ending::Exited(0),
                            "seed {seed}, {machine}, {settings:?}"
                        );
                        break;
                    }
                }
            }
            let printed = program.printed().to_vec();
            (printed, program.machine().counters())
        };
        let slow = cut(None, true);
        for seen in [None, Some(1), Some(3)] {
            let fast = cut(seen, false);
            assert!(
                fast == slow,
                "seed {seed}, {machine}, {settings:?}, {seen:?}"
            );
        }
    }
}
