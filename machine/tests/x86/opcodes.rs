//! Every opcode against the tables of an independent decoder, iced-x86, which says of each instruction which processors
//! have it. What a core has runs here, or docs/x86.md names it as missing; what a core lacks raises #UD.

use std::collections::BTreeMap;

use iced_x86::{Code, CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, Register};
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::registers::{Registers, segment};

use super::bench::{Bench, CODE, DATA, STACK};

const INVALID_OPCODE: u8 = 6;

const I486: &[CpuidFeature] = &[
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::FPU,
    CpuidFeature::FPU287,
    CpuidFeature::FPU387,
    CpuidFeature::MOV_TR,
];

const PENTIUM_PRO: &[CpuidFeature] = &[
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::FPU,
    CpuidFeature::FPU287,
    CpuidFeature::FPU387,
    CpuidFeature::CPUID,
    CpuidFeature::CX8,
    CpuidFeature::CMOV,
    CpuidFeature::TSC,
    CpuidFeature::MSR,
    CpuidFeature::RDPMC,
    CpuidFeature::SMM,
    CpuidFeature::MULTIBYTENOP,
];

/// Instructions of later processors that are told from older ones by a prefix, which these cores ignore.
const OLD: u32 = DecoderOptions::NO_PAUSE
    | DecoderOptions::NO_WBNOINVD
    | DecoderOptions::NO_MPFX_0FBC
    | DecoderOptions::NO_MPFX_0FBD;

/// A core, and how the decoder knows it.
struct Core {
    machine: &'static str,
    /// Its name in docs/x86.md.
    name: &'static str,
    features: &'static [CpuidFeature],
    options: u32,
}

const CORES: [Core; 2] = [
    Core {
        machine: "i486dx-50",
        name: "i486",
        features: I486,
        options: OLD | DecoderOptions::MOV_TR,
    },
    Core {
        machine: "p6-200",
        name: "P6",
        features: PENTIUM_PRO,
        options: OLD | DecoderOptions::FORCE_RESERVED_NOP,
    },
];

/// The opcodes that docs/x86.md names as missing from this core.
fn missing(core: &str) -> Vec<String> {
    let page = include_str!("../../../docs/x86.md");
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| opcode |"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let own = cells.filter(|cells| cells[3].split(' ').any(|name| name == core));
    own.map(|cells| cells[1].to_owned()).collect()
}

/// What becomes of one instruction: `None` without #UD, or whether it ended as it should otherwise.
struct Runner {
    bench: Bench,
    machine: &'static str,
    registers: Registers,
}

impl Runner {
    fn new(machine: &'static str, wide: bool) -> Self {
        let mut bench = Bench::new(machine, &[]);
        bench.machine.set_hosted(true);
        bench.machine.set_oracle(true);
        let registers = bench.registers();
        registers.gpr = [0; 16];
        registers.gpr[..8].fill(DATA);
        registers.gpr[1] = 2;
        registers.gpr[4] = STACK;
        if !wide {
            registers.segments[usize::from(segment::CS)].access &= !0x4000;
        }
        let registers = registers.clone();
        Runner {
            bench,
            machine,
            registers,
        }
    }

    /// Runs the instruction that `bytes` begin with. True if it raises #UD. If it did nothing but go on, EIP.
    fn run(&mut self, bytes: &[u8]) -> (bool, Option<u32>) {
        self.bench.put(CODE, bytes);
        self.bench.machine.processor_mut().registers = self.registers.clone();
        self.bench.processor().modes_changed();
        match self.bench.run(1) {
            Stop::Exception(raised) => (raised.vector == INVALID_OPCODE, None),
            Stop::Limit => (false, Some(self.bench.registers().eip)),
            _ => {
                // It halts, or has reset the board.
                let big = self.registers.segments[usize::from(segment::CS)].big();
                *self = Runner::new(self.machine, big);
                (false, None)
            }
        }
    }
}

/// The opcode without prefixes.
fn opcode(two: bool, byte: u8) -> String {
    if two {
        format!("0F {byte:02X}")
    } else {
        format!("{byte:02X}")
    }
}

/// Does a core with these features have the instruction?
fn has(features: &[CpuidFeature], instruction: &Instruction) -> bool {
    let code = instruction.code();
    let own = code
        .cpuid_features()
        .iter()
        .all(|feature| features.contains(feature));
    // Those that are there to be invalid.
    let invalid = matches!(
        code,
        Code::INVALID
            | Code::Ud0
            | Code::Ud0_r16_rm16
            | Code::Ud0_r32_rm32
            | Code::Ud1_r16_rm16
            | Code::Ud1_r32_rm32
            | Code::Ud2
    );
    // The decoder's tables have CR4 for every core that has CR0.
    let control = (0..instruction.op_count()).any(|n| instruction.op_register(n) == Register::CR4);
    own && !invalid && (!control || features.contains(&CpuidFeature::CPUID))
}

#[test]
fn each_opcode_runs_or_is_named_as_missing_or_is_invalid() {
    const PREFIXES: [&[u8]; 7] = [
        &[],
        &[0x66],
        &[0x67],
        &[0xf2],
        &[0xf3],
        &[0xf0],
        &[0x66, 0xf0],
    ];
    const IS_PREFIX: [u8; 12] = [
        0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
    ];
    for core in CORES {
        let missing = missing(core.name);
        let mut seen = vec![false; missing.len()];
        let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
        let (mut valid, mut invalid) = (0, 0);
        for wide in [true, false] {
            let mut runner = Runner::new(core.machine, wide);
            for (two, first) in [false, true]
                .into_iter()
                .flat_map(|two| (0..=255).map(move |n| (two, n)))
            {
                if !two && IS_PREFIX.contains(&first) {
                    continue;
                }
                let name = opcode(two, first);
                for (prefix, modrm) in PREFIXES
                    .iter()
                    .flat_map(|p| (0..=255_u8).map(move |n| (p, n)))
                {
                    let mut bytes = prefix.to_vec();
                    if two {
                        bytes.push(0x0f);
                    }
                    bytes.extend([first, modrm]);
                    // An address of DATA, an immediate of 2.
                    bytes.extend([0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
                    let bits = if wide { 32 } else { 16 };
                    let mut decoder = Decoder::with_ip(bits, &bytes, CODE.into(), core.options);
                    let instruction = decoder.decode();
                    let wanted = has(core.features, &instruction);
                    if wanted && let Some(n) = missing.iter().position(|other| *other == name) {
                        seen[n] = true;
                        continue;
                    }
                    if instruction.code() == Code::Int_imm8 && modrm == INVALID_OPCODE {
                        continue;
                    }
                    let (undefined, eip) = runner.run(&bytes);
                    let next = CODE + instruction.len() as u32;
                    let goes_on = instruction.flow_control() == FlowControl::Next;
                    let whole = !goes_on || eip.is_none_or(|eip| eip == next);
                    *(if wanted { &mut valid } else { &mut invalid }) += 1;
                    if wanted == undefined || wanted && !whole {
                        let what = format!(
                            "{bytes:02x?} ({bits} bits, {:?}, {:?}): {}",
                            instruction.code(),
                            instruction.code().cpuid_features(),
                            if wanted && undefined {
                                "invalid here"
                            } else if wanted {
                                "other length"
                            } else {
                                "runs here"
                            }
                        );
                        wrong.entry(name.clone()).or_insert((0, what)).0 += 1;
                    }
                }
            }
        }
        let lines: Vec<_> = wrong
            .iter()
            .map(|(name, (n, what))| format!("{name}: {n}, such as {what}"))
            .collect();
        assert!(wrong.is_empty(), "{}:\n{}", core.name, lines.join("\n"));
        assert!(
            valid > 500_000 && invalid > 100_000,
            "{}: {valid}, {invalid}",
            core.name
        );
        assert!(
            seen.iter().all(|&seen| seen),
            "{}: {missing:?} {seen:?}",
            core.name
        );
    }
}
