//! Snapshots of machines that a fatal error has stopped, some of them within an instruction. A restored machine is in
//! the state of the saved one, and what a further run does is the same.

use crate::support::{config, machine_file};
use crate::words::{SMALL, among, word};
use pagewalk_machine::board::Console;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::loader::{Boot, Chunk};
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use proptest::prelude::*;

/// The names of all machine files of this architecture.
fn power_pc() -> Vec<String> {
    let folder = machine_file("x");
    let folder = folder.parent().expect("a folder").read_dir();
    let mut names: Vec<String> = folder
        .expect("the machine files")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .filter(|path| MachineConfig::from_file(path, &[]).is_ok())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Where the programs begin; what is below holds the vectors.
const START: u32 = 0x4000;

/// Address of what nothing answers.
const NOWHERE: u16 = 0x7000;

const fn lis(register: u32, value: u16) -> u32 {
    0x3c00_0000 | register << 21 | value as u32
}

const fn li(register: u32, value: u16) -> u32 {
    0x3800_0000 | register << 21 | value as u32
}

/// `lis 3, 0x7000`.
const AWAY: u32 = lis(3, NOWHERE);
const MTMSR_5: u32 = 0x7ca0_0124;
const RFI: u32 = 0x4c00_0064;

/// Programs that end at once, by what ends them.
const ENDS: &[(&str, &[u32])] = &[
    ("lwz", &[AWAY, 0x8083_0000]),
    ("stw", &[AWAY, 0x9083_0000]),
    ("lmw", &[AWAY, 0xbb83_0000]),
    ("stmw", &[AWAY, 0xbf83_0000]),
    ("lwarx", &[AWAY, 0x7c80_1828]),
    ("lswi", &[AWAY, 0x7c83_84aa]),
    ("bctr", &[AWAY, 0x7c69_03a6, 0x4e80_0420]),
    // addi 4, 4, 1; lwz 5, 0(4); bdnz: some rounds before the end of RAM, in a loop that runs in blocks.
    (
        "a loop",
        &[
            lis(4, 0x000f),
            0x6084_ff00,
            li(5, 1000),
            0x7ca9_03a6,
            0x84c4_0004,
            0x7cc6_3214,
            0x4200_fff8,
        ],
    ),
    // rldicr 3, 3, 12, 51; ld 4, 0(3)
    ("ld above 4 GB", &[AWAY, 0x7863_64c6, 0xe883_0000]),
    // std, stdcx., lwz with an index, dcbz there.
    ("std above 4 GB", &[AWAY, 0x7863_64c6, 0xf883_0000]),
    (
        "ldarx above 4 GB",
        &[AWAY, 0x7863_64c6, 0x7c80_18a8, 0x7c80_19ad],
    ),
    ("lwzx above 4 GB", &[AWAY, 0x7863_64c6, 0x7c83_002e]),
    ("dcbz above 4 GB", &[AWAY, 0x7863_64c6, 0x7c00_1fec]),
    (
        "bctr above 4 GB",
        &[AWAY, 0x7863_64c6, 0x7c69_03a6, 0x4e80_0420],
    ),
    // The same with translation on, and no table.
    (
        "translated",
        &[li(5, 0x10), MTMSR_5, 0x4c00_012c, AWAY, 0x8083_0000],
    ),
    ("little-endian", &[li(5, 1), MTMSR_5]),
    // mtspr SRR0, 3; mtspr SRR1, 5
    (
        "little-endian program",
        &[
            li(3, 0x5000),
            lis(5, 0),
            0x60a5_4001,
            0x7c7a_03a6,
            0x7cbb_03a6,
            RFI,
        ],
    ),
    (
        "program without memory",
        &[
            lis(3, 0x7000),
            lis(5, 0),
            0x60a5_4000,
            0x7c7a_03a6,
            0x7cbb_03a6,
            RFI,
        ],
    ),
    ("no handler", &[0]),
    ("system call", &[0x4400_0002]),
    ("asleep", &[lis(5, 4), MTMSR_5]),
    ("power off", &[lis(30, 0x8000), 0x63de_0f08, 0x93fe_0000]),
];

fn program(machine: &str, words: &[u32], caches: bool) -> Session {
    // Before the program, `ori 0, 0, 0`.
    const NOTHING: u32 = 0x6000_0000;
    let on: &[u32] = match machine {
        _ if !caches => &[],
        "mpc855t-48" => &[0x3c60_0200, 0x7c70_8ba6, 0x7c78_8ba6, 0x4c00_012c],
        "ppc405-200" => &[lis(3, 0x8000), 0x7c7a_fba6, 0x7c7b_fba6, 0x4c00_012c],
        "ppc970-1600" => &[],
        _ => &[lis(3, 0), 0x6063_c000, 0x7c70_fba6, 0x4c00_012c],
    };
    let words = [on, &[NOTHING; 5], words, &[0x4800_0000]].concat();
    let bytes = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let boot = Boot {
        chunks: vec![Chunk {
            physical: START,
            bytes,
        }],
        entry: START,
        ..Boot::default()
    };
    Session::new(config(machine, &[SMALL]), &boot, Console::memory()).expect("it fits")
}

/// Everything that a session says of its machine.
fn seen(session: &mut Session, stop: &Stop) -> (String, Vec<u8>) {
    let text = format!(
        "{}\n{}\n{:?}",
        session.explain(stop),
        session.report(stop),
        session.counters_of_each(),
    );
    (text, session.save().expect("it can be saved"))
}

/// A restored machine is the saved one, and goes on as it does. Returns why the further run ended.
fn survives(session: &mut Session, stop: &Stop, what: &str) -> Result<Stop, TestCaseError> {
    let first = seen(session, stop);
    let mut restored = Session::restore(&first.1, "s", Console::memory())
        .map_err(|error| TestCaseError::fail(format!("{what}: {stop:?}: {error}")))?;
    let again = seen(&mut restored, stop);
    prop_assert_eq!(&again.0, &first.0, "{}: {:?}", what, stop);
    prop_assert!(again.1 == first.1, "{what}: {stop:?}");
    let limits = Limits {
        cycles: session.machine().instant().cycles + 20_000,
        ..Limits::NONE
    };
    let (a, b) = (session.run(limits), restored.run(limits));
    let (a_seen, b_seen) = (seen(session, &a), seen(&mut restored, &b));
    prop_assert_eq!(&a_seen.0, &b_seen.0, "{}: {:?}, then", what, stop);
    prop_assert!(a_seen.1 == b_seen.1, "{what}: {stop:?}, then {a:?}");
    Ok(a)
}

#[test]
fn a_machine_stopped_within_an_instruction_is_restored_as_it_was() {
    let names = power_pc();
    assert!(names.len() > 12, "{names:?}");
    let mut wrong = Vec::new();
    for name in &names {
        let mut ends = [0; 3];
        for (what, words) in ENDS {
            for caches in [false, true] {
                let what = format!("{name}: {what}, caches {caches}");
                let mut session = program(name, words, caches);
                let stop = session.run(Limits {
                    cycles: 100_000,
                    ..Limits::NONE
                });
                match &stop {
                    Stop::Fatal(Fatal::Checkstop { .. }) => ends[0] += 1,
                    Stop::Fatal(Fatal::LittleEndian { .. }) => ends[1] += 1,
                    Stop::Fatal(Fatal::NoHandler { .. }) => ends[2] += 1,
                    _ => {}
                }
                if let Err(error) = survives(&mut session, &stop, &what) {
                    wrong.push(error.to_string());
                }
            }
        }
        // A 405 and a 970 have no little-endian mode here.
        let little = matches!(name.as_str(), "ppc405-200" | "ppc970-1600") || ends[1] > 0;
        assert!(ends[0] > 10 && little && ends[2] > 0, "{name}: {ends:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for random words, which end in any way.
    #[test]
    fn a_machine_stopped_among_random_words_is_restored_as_it_was(
        words in prop::collection::vec(word(), 16..400),
        machine in prop::sample::select(power_pc()),
        caches in prop::bool::weighted(0.8),
        pieces in 1..4u64,
    ) {
        let mut session = among(&words, &machine, caches);
        let mut stop = session.run(Limits { cycles: 20_000, ..Limits::NONE });
        for _ in 0..pieces {
            stop = survives(&mut session, &stop, &machine)?;
        }
    }
}

/// A handler whose first instruction faults completes none, so that no limit of instructions ends the run.
#[test]
fn handlers_that_fault_themselves_end_the_run() {
    // addi 3, 0, 1; lwarx 4, 0, 3, at the entry and at the vector of the alignment exception.
    let unaligned: Vec<u8> = [0x3860_0001_u32, 0x7c80_1828]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    for machine in ["ppc603-133", "ppc604-133", "mpc855t-48", "ppc604-185x2"] {
        let chunk = |physical, bytes: &[u8]| Chunk {
            physical,
            bytes: bytes.to_vec(),
        };
        let boot = Boot {
            chunks: vec![chunk(0x600, &unaligned[4..]), chunk(START, &unaligned)],
            entry: START,
            ..Boot::default()
        };
        let mut session =
            Session::new(config(machine, &[SMALL]), &boot, Console::memory()).expect("it fits");
        let stop = session.run(Limits {
            instructions: 100_000,
            ..Limits::NONE
        });
        let Stop::Fatal(Fatal::Stuck { vector, pc }) = stop else {
            panic!("{machine}: {stop:?}");
        };
        assert_eq!((vector.name(), pc), ("alignment", 0x600), "{machine}");
        let text = session.explain(&stop);
        let begins = "fatal: no instruction completes: 1000 exceptions came in a row";
        assert!(text.starts_with(begins), "{machine}: {text}");
        survives(&mut session, &stop, machine).expect("the same");
    }
}
