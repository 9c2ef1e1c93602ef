//! Random user-level instruction sequences, run here and by QEMU: registers, FPSCR and memory must be the same after
//! each.
//!
//! `PAGEWALK_SEQUENCES` sets how many are run and `PAGEWALK_SEED` where they begin; a difference is
//! reported with the seed that makes it again.

#[path = "differential/generate.rs"]
mod generate;
#[path = "differential/judge.rs"]
mod judge;
#[path = "differential/multiply.rs"]
mod multiply;
#[path = "differential/ours.rs"]
mod ours;
#[path = "differential/random.rs"]
mod random;
#[path = "differential/system.rs"]
mod system;

use generate::{Core, DATA, DATA_SIZE, Generator, Sequence};
use judge::{Answer, Judge};
use pagewalk_machine::powerpc::compiler::has_template;
use pagewalk_machine::powerpc::instruction::{decode, uses};
use random::Random;

/// Sequences of one seed: what one process of QEMU runs.
const BATCH: u64 = 5000;
/// Differences that are reported in full.
const SHOWN: usize = 8;
const SEQUENCES: u64 = 50_000;
const FIRST_SEED: u64 = 1;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text}: a number is wanted"))
    })
}

/// Instructions of one sequence that may be left out because qemu-ppc gets them wrong.
const LEFT_OUT: usize = 24;
const NOP: u32 = 0x6000_0000;

/// The differences that no known error of qemu-ppc explains, each with the number of its sequence. Instructions that
/// qemu-ppc gets wrong are left out, one of each sequence at a time, and the rest is compared again.
fn compare(
    machine: &mut ours::Machine,
    judge: &Judge,
    all: Vec<Sequence>,
    misjudged: &mut u32,
) -> Vec<String> {
    let mut reports = Vec::new();
    let mut open: Vec<(usize, Sequence)> = all.into_iter().enumerate().collect();
    for _ in 0..=LEFT_OUT {
        let sequences: Vec<_> = open.iter().map(|(_, sequence)| sequence.clone()).collect();
        let answers = judge.run(&sequences);
        let mut again = Vec::new();
        for ((n, mut sequence), theirs) in open.into_iter().zip(answers) {
            let differences = machine.run(&sequence).differences(&theirs);
            if differences.is_empty() {
                continue;
            }
            if let Some(index) = machine.misjudged(&sequence) {
                *misjudged += 1;
                sequence.words[index] = NOP;
                again.push((n, sequence));
            } else {
                let differences = differences.join("\n");
                let sequence = sequence.describe();
                reports.push(format!(
                    "sequence {n}: ours, qemu-ppc's\n{differences}\n{sequence}"
                ));
            }
        }
        open = again;
        if open.is_empty() {
            return reports;
        }
    }
    reports.extend(open.iter().map(|(n, sequence)| {
        let sequence = sequence.describe();
        format!("sequence {n}: too many known mistakes\n{sequence}")
    }));
    reports
}

/// If a random r1 points into the driver's signal stack, the signal's frame lies below it.
#[test]
fn a_stack_register_in_the_driver_does_it_no_harm() {
    let judge = Judge::new(Core::Ppc604);
    let mut generator = Generator::new(FIRST_SEED, Core::Ppc604);
    let driver_memory = (0x1000_0000..0x1006_0000_u64).step_by(0x60);
    let all: Vec<_> = driver_memory
        .map(|address| {
            let mut sequence = generator.sequence(1);
            sequence.gpr[1] = address;
            // The trap at its end alone.
            sequence.words.drain(..sequence.words.len() - 1);
            sequence
        })
        .collect();
    for (sequence, answer) in all.iter().zip(judge.run(&all)) {
        assert_eq!(answer.gpr[1], sequence.gpr[1]);
    }
}

/// Code of the host does what the interpreter does, in the same cycles.
fn compare_compiled(
    interpreter: &mut ours::Machine,
    compiling: &mut ours::Machine,
    all: &[Sequence],
) -> Option<String> {
    all.iter().enumerate().find_map(|(n, sequence)| {
        let (interpreted, compiled) = (interpreter.run(sequence), compiling.run(sequence));
        let mut differences = interpreted.differences(&compiled);
        if interpreter.counts() != compiling.counts() {
            let counts = (interpreter.counts(), compiling.counts());
            differences.push(format!("cycles and instructions: {counts:?}"));
        }
        (!differences.is_empty()).then(|| {
            let differences = differences.join("\n");
            let sequence = sequence.describe();
            format!("sequence {n}: interpreted, compiled\n{differences}\n{sequence}")
        })
    })
}

/// Each instruction alone, in blocks of a few, and in long sequences, with random operands.
#[test]
fn random_sequences_end_the_same_when_compiled() {
    for core in [Core::Ppc604, Core::Ppc405] {
        let mut interpreter = ours::Machine::new(core);
        let mut compiling = ours::Machine::compiling(core);
        for batch in 0..number("PAGEWALK_SEQUENCES", SEQUENCES).div_ceil(BATCH) {
            let seed = number("PAGEWALK_SEED", FIRST_SEED) + batch;
            let mut generator = Generator::new(seed, core);
            let all: Vec<_> = (0..BATCH)
                .map(|n| generator.sequence(1 + (n % 24) as u32))
                .collect();
            let report = compare_compiled(&mut interpreter, &mut compiling, &all);
            assert_eq!(report, None, "PAGEWALK_SEED={seed}, {core:?}");
        }
        let compiled = compiling.compiled();
        let expected = cfg!(all(target_arch = "x86_64", target_os = "linux"));
        assert!(!expected || compiled > 1000, "{core:?}: {compiled} blocks");
    }
}

/// The words of all instructions that have a template, without their operands, each with the bits of its operands.
/// Those with a record form stand there twice.
fn templates() -> Vec<(u32, u32)> {
    const SPECIAL_REGISTER: u32 = 0x001f_f800;
    let mut found = Vec::new();
    for primary in 0..64 {
        let (extended, operands) = match primary {
            19 | 31 => (0..0x400, 0x03ff_f800),
            _ => (0..1, 0x03ff_ffff),
        };
        for word in extended
            .flat_map(|extended| [0, 1].map(|record| primary << 26 | extended << 1 | record))
        {
            let (named, operands) = match (primary, word >> 1 & 0x3ff) {
                // mfspr and mtspr: those of LR and CTR.
                (31, 339 | 467) => (
                    [8, 9].map(|spr| word | spr << 16),
                    operands & !SPECIAL_REGISTER,
                ),
                _ => ([word; 2], operands),
            };
            found.extend(named.map(|word| (word, operands)));
        }
    }
    found.retain(|&(word, _)| has_template(&decode(word)));
    found.dedup();
    found
}

/// The templates of instructions are a second text of what they do. Each of them, alone, does what the interpreter's
/// function does, in the same cycles, with random operands in random states.
#[test]
fn each_template_does_what_the_interpreter_does() {
    const STATES: u32 = 20;
    const ROUNDS: u64 = 5;
    /// bdnz to the first of six instructions.
    const BACK: u32 = 0x4200_ffe8;
    let templates = templates();
    let expected = cfg!(all(target_arch = "x86_64", target_os = "linux"));
    assert!(!expected || templates.len() > 120, "{}", templates.len());
    let core = Core::Ppc604;
    let mut interpreter = ours::Machine::new(core);
    let mut compiling = ours::Machine::compiling(core);
    let seed = number("PAGEWALK_SEED", FIRST_SEED);
    let (mut generator, mut random) = (Generator::new(seed, core), Random::new(seed));
    for &(word, operands) in &templates {
        let name = decode(word).opcode.description().mnemonic;
        let loops = name != "mtctr";
        let sequences: Vec<_> = (0..STATES)
            .map(|_| {
                let mut sequence = generator.sequence(1);
                let word = word | random.word() & operands;
                // An access finds its data, mostly: by rA and a small rB or displacement.
                let accesses =
                    decode(word).opcode.description().uses & (uses::LOAD | uses::STORE) != 0;
                let (a, b) = ((word >> 16 & 31) as usize, (word >> 11 & 31) as usize);
                let mut word = word;
                if accesses {
                    // Unaligned accesses of some kinds fault.
                    let aligned = if random.chance(4) { !0 } else { !7 };
                    sequence.gpr[b] = (random.below(64) & aligned).into();
                    sequence.gpr[a] = ((DATA + random.below(DATA_SIZE - 72)) & aligned).into();
                    if word >> 26 != 31 {
                        word &= !0xffc0;
                    }
                }
                let trap = sequence.words.pop();
                // In a loop, so that the block is seen; but mtctr would never let it end. A block that has few
                // templates is left to the interpreter, so that there are some beside this one.
                let last = if loops { BACK } else { NOP };
                sequence.ctr = ROUNDS;
                sequence.words = std::iter::once(word)
                    .chain([NOP; 5])
                    .chain([last])
                    .chain(trap)
                    .collect();
                sequence
            })
            .collect();
        let before = compiling.compiled();
        for sequence in sequences {
            // A place in which a block was compiled is not compiled again when its words change.
            compiling.compile_anew();
            let (theirs, ours) = (
                interpreter.run_twice(&sequence),
                compiling.run_twice(&sequence),
            );
            for (interpreted, compiled) in theirs.iter().zip(&ours) {
                let differences = interpreted.differences(compiled);
                let text = sequence.describe();
                assert_eq!(differences, [""; 0], "PAGEWALK_SEED={seed}: {text}");
            }
            assert_eq!(
                interpreter.counts(),
                compiling.counts(),
                "{name}: cycles, instructions"
            );
        }
        // What faults in the first round is not compiled.
        let made = compiling.compiled() - before;
        assert!(!expected || !loops || made != 0, "{name} is not compiled");
    }
}

fn random_sequences(core: Core) {
    let sequences = number("PAGEWALK_SEQUENCES", SEQUENCES);
    let first = number("PAGEWALK_SEED", FIRST_SEED);
    let judge = Judge::new(core);
    let mut machine = ours::Machine::new(core);
    let mut misjudged = 0;
    for batch in 0..sequences.div_ceil(BATCH) {
        let seed = first + batch;
        let mut generator = Generator::new(seed, core);
        let all: Vec<_> = (0..BATCH)
            .map(|n| generator.sequence(1 + (n % 24) as u32))
            .collect();
        let reports = compare(&mut machine, &judge, all, &mut misjudged);
        assert!(
            reports.is_empty(),
            "PAGEWALK_SEED={seed}, {core:?}: {} of {BATCH} sequences differ, the first of them\n\n{}",
            reports.len(),
            reports[..reports.len().min(SHOWN)].join("\n\n")
        );
        println!("{core:?}, seed {seed}: {BATCH} sequences agree");
    }
    println!(
        "{core:?}: {misjudged} instructions that qemu-ppc is known to get wrong were left out"
    );
}

#[test]
fn random_sequences_end_as_under_qemu() {
    random_sequences(Core::Ppc604);
}

#[test]
fn random_sequences_of_a_405_end_as_under_qemu() {
    random_sequences(Core::Ppc405);
}

/// Results have 64 bits; addresses, carries and compares are those of the lower halves.
#[test]
fn random_sequences_in_32_bit_mode_end_as_under_qemu() {
    random_sequences(Core::Ppc970In32Bits);
}

#[test]
fn random_sequences_of_64_bits_end_as_under_qemu() {
    random_sequences(Core::Ppc970);
}

/// Ours is what the manual says. qemu-ppc's is that too, except for the mistakes that [`multiply::judged`] describes:
/// the random sequences leave out these and no others.
#[test]
fn multiply_accumulate_is_the_manuals() {
    const SEQUENCES_OF_A_FORM: usize = 200;
    let judge = Judge::new(Core::Ppc405);
    let mut machine = ours::Machine::new(Core::Ppc405);
    let mut random = Random::new(FIRST_SEED);
    let mut all = Vec::new();
    for form in multiply::forms() {
        for n in 0..SEQUENCES_OF_A_FORM {
            let (sequence, operands) = multiply::sequence(form, n as u32 & 1, &mut random);
            all.push((form, sequence, operands));
        }
    }
    let sequences: Vec<_> = all
        .iter()
        .map(|(_, sequence, _)| sequence.clone())
        .collect();
    let answers = judge.run(&sequences);
    let mut wrong = std::collections::BTreeSet::new();
    for ((form, sequence, operands), theirs) in all.iter().zip(answers) {
        let outcome = |answer: &Answer| multiply::Outcome {
            rt: answer.gpr[3] as u32,
            so: answer.xer >> 31 == 1,
            ov: answer.xer >> 30 & 1 == 1,
        };
        let manual = multiply::manual(*form, operands);
        let ours = machine.run(sequence);
        assert_eq!(outcome(&ours), manual, "{form:#x}: {operands:x?}");
        let judged = multiply::judged(*form, operands);
        assert_eq!(
            outcome(&theirs),
            judged,
            "qemu-ppc, {form:#x}: {operands:x?}"
        );
        if judged == manual {
            assert_eq!(ours.differences(&theirs), [""; 0], "{form:#x}");
        } else {
            wrong.insert(*form);
        }
    }
    // Of the sums, those of mac..wsu and mac..wuo alone are right in qemu-ppc: 9 of 36.
    assert_eq!(wrong.len(), 27, "{wrong:x?}");
}
