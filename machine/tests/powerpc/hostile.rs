//! Random inputs: damaged machine files, images, archives and snapshots, and guests of random words in supervisor
//! mode. Each ends with a message or at the limit, never in a panic.

use crate::kernel;
use std::sync::LazyLock;

use crate::support::{Program, config, machine_file};
use crate::words::{SMALL, among, word};
use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    cycles: 200_000,
    instructions: 20_000,
};

const MACHINES: [&str; 4] = ["ppc603-133", "ppc604-133", "ppc750-400", "mpc855t-48"];

/// Counts in a loop with loads and stores, calls and a system call without a handler at the end.
static IMAGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let program = Program::new(
        "_start:
  caches_on
  li 3, 2000
  mtctr 3
  load 4, 0x8000
1: lwzu 5, 4(4)
  stw 3, 0(4)
  bl 2f
  bdnz 1b
  sc
2: mullw 3, 3, 3
  blr",
    );
    std::fs::read(program.elf()).expect("the program has been linked")
});

/// Replaces bytes: positions are taken modulo the length.
fn damaged(bytes: &[u8], hits: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(at, value) in hits {
        let at = at % bytes.len();
        bytes[at] = value;
    }
    bytes
}

/// A few bytes to replace, the first thousand of them being the likeliest place.
fn hits() -> impl Strategy<Value = Vec<(usize, u8)>> {
    let place = prop_oneof![3 => 0..1000usize, 1 => any::<usize>()];
    let value = prop_oneof![Just(0), Just(0xff), Just(0x7f), Just(0x80), any::<u8>()];
    prop::collection::vec((place, value), 1..8)
}

/// Replacements for a key's value.
const VALUES: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "16",
    "32",
    "64",
    "100",
    "1000",
    "1024",
    "65536",
    "0x7fffffff",
    "0xffffffff",
    "18446744073709551615",
    "-1",
    "0.5",
    "nan",
    "true",
    "\"604\"",
    "[]",
];

/// A machine file with some of its lines changed: another value, the line left out, written twice.
fn changed(text: &str, edits: &[(usize, usize, usize)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for &(line, kind, value) in edits {
        let keys: Vec<usize> = (0..lines.len())
            .filter(|&n| kind == 4 && !lines[n].starts_with('#') || lines[n].contains(" = "))
            .collect();
        let line = keys[line % keys.len()];
        match kind {
            0..=2 => {
                let key = lines[line].split('=').next().unwrap_or_default();
                lines[line] = format!("{key}= {}", VALUES[value % VALUES.len()]);
            }
            3 => lines.insert(line, lines[line].clone()),
            _ => {
                lines.remove(line);
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn machine_files_are_refused_or_run(
        machine in prop::sample::select(MACHINES.to_vec()),
        edits in prop::collection::vec((any::<usize>(), 0..5usize, any::<usize>()), 1..4),
    ) {
        let text = std::fs::read_to_string(machine_file(machine)).expect("a machine file");
        let text = changed(&text, &edits);
        match MachineConfig::from_toml(&text, "m.toml", &[]) {
            Err(error) => prop_assert!(error.to_string().starts_with("m.toml:"), "{error}"),
            Ok(config) => {
                let session =
                    Session::with_kernel(config, &IMAGE, "a.elf", None, "", Console::memory());
                let mut session = session.map_err(|error| TestCaseError::fail(error.to_string()))?;
                let stop = session.run(LIMITS);
                prop_assert!(!session.explain(&stop).is_empty());
            }
        }
    }

    #[test]
    fn settings_are_refused_or_taken(path in "[a-z0-9.=-]{0,40}", value in "\\PC{0,20}") {
        for text in [path.clone(), format!("{path}={value}"), format!("tlb.data.entries={value}")] {
            if let Ok(setting) = Override::parse(&text) {
                let _ = MachineConfig::from_file(&machine_file("ppc604-133"), &[setting]);
            }
        }
    }

    #[test]
    fn images_are_refused_or_run(hits in hits()) {
        let image = damaged(&IMAGE, &hits);
        let config = config("ppc604-133", &[SMALL]);
        if let Ok(mut session) =
            Session::with_kernel(config, &image, "a.elf", None, "", Console::memory())
        {
            let stop = session.run(LIMITS);
            prop_assert!(!session.explain(&stop).is_empty());
        }
    }

    #[test]
    fn archives_are_read_as_far_as_they_go(hits in hits(), length in any::<usize>()) {
        let archive = kernel::archive(&[("bin/a", IMAGE.clone()), ("bin/b", IMAGE.clone())]);
        let mut archive = damaged(&archive, &hits);
        archive.truncate(length % (2 * archive.len()));
        let config = config("ppc604-133", &[SMALL]);
        let session =
            Session::with_kernel(config, &IMAGE, "a.elf", Some(&archive), "", Console::memory());
        prop_assert!(session.is_ok());
    }

    /// A run with the oracle ends in the same way.
    #[test]
    fn random_words_run_to_their_end(
        words in prop::collection::vec(word(), 16..400),
        machine in prop::sample::select(MACHINES.to_vec()),
        caches in prop::bool::weighted(0.8),
    ) {
        let mut ends = [false, true].map(|oracle| {
            let mut session = among(&words, machine, caches);
            session.set_oracle(oracle);
            // Not by instructions: the last ones before such a limit are issued one by one.
            let stop = session.run(Limits { cycles: 60_000, ..Limits::NONE });
            let machine = session.machine();
            (session.explain(&stop), machine.instant(), machine.processor().registers.clone(), session.counters())
        }).into_iter();
        let (fast, plain) = (ends.next(), ends.next());
        prop_assert_eq!(fast, plain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// The checksum detects damage that the format would accept as another state.
    #[test]
    fn damaged_snapshots_are_refused_or_mean_the_same(hits in hits(), length in any::<usize>()) {
        static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let config = config("ppc604-133", &[SMALL]);
            let session =
                Session::with_kernel(config, &IMAGE, "a.elf", None, "", Console::memory());
            let mut session = session.expect("it fits");
            assert_eq!(session.run(Limits { cycles: 9000, ..Limits::NONE }), Stop::Limit);
            session.save().expect("it can be saved")
        });
        let refused = |bytes: &[u8]| Session::restore(bytes, "s", Console::memory()).is_err();
        prop_assert!(!refused(&BYTES));
        prop_assert!(refused(&BYTES[..length % BYTES.len()]));
        // Some bytes of a compressed frame have other values that mean the same state.
        let bytes = damaged(&BYTES, &hits);
        let same = |bytes: &[u8]| {
            let restored = Session::restore(bytes, "s", Console::memory());
            restored.is_ok_and(|mut session| session.save().is_ok_and(|saved| saved == *BYTES))
        };
        prop_assert!(refused(&bytes) || same(&bytes));
    }
}

#[test]
fn an_image_that_asks_for_more_than_any_memory_is_refused() {
    // Program headers by the thousand, all of them naming the same bytes of the file.
    let mut image = IMAGE.clone();
    let headers = image.len().next_multiple_of(4);
    let word = |bytes: &[u8], at: usize| {
        u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    };
    let first = word(&image, 28) as usize;
    let mut load = (first..)
        .step_by(32)
        .find(|&at| word(&image, at) == 1)
        .map(|at| image[at..at + 32].to_vec())
        .expect("PT_LOAD");
    let size = headers as u32;
    load[4..8].fill(0);
    load[16..20].copy_from_slice(&size.to_be_bytes());
    load[20..24].copy_from_slice(&0x10_0000_u32.to_be_bytes());
    image.resize(headers, 0);
    image[28..32].copy_from_slice(&size.to_be_bytes());
    image[44..46].copy_from_slice(&40_000_u16.to_be_bytes());
    for _ in 0..40_000 {
        image.extend(&load);
    }
    let session = Session::with_kernel(
        config("ppc604-133", &[]),
        &image,
        "a.elf",
        None,
        "",
        Console::memory(),
    );
    let message = session.err().expect("refused").to_string();
    assert!(
        message.contains("needs more memory than a machine can have, 0x40000000 bytes"),
        "{message}"
    );
}

/// [`Processor::memory`](pagewalk_machine::powerpc::processor::Processor::memory) is anybody's: a line that the
/// I-cache is told to hold has no decoded form.
#[test]
fn lines_put_into_the_instruction_cache_from_outside_are_fetched() {
    let config = config("ppc604-133", &[SMALL]);
    let session = Session::with_kernel(config, &IMAGE, "a.elf", None, "", Console::memory());
    let mut session = session.expect("it fits");
    session.run(Limits {
        cycles: 3000,
        ..LIMITS
    });
    let memory = &mut session.machine_mut().processor_mut().memory;
    memory.instruction.invalidate_all();
    for line in (0..0x10_0000).step_by(32).chain([0xffff_ffe0]) {
        memory.instruction.fill(line, false);
    }
    let stop = session.run(LIMITS);
    assert!(!session.explain(&stop).is_empty());
}

#[test]
#[should_panic(expected = "keep their sizes")]
fn ram_of_another_size_is_not_run() {
    let config = config("ppc604-133", &[SMALL]);
    let session = Session::with_kernel(config, &IMAGE, "a.elf", None, "", Console::memory());
    let mut session = session.expect("it fits");
    session.machine_mut().processor_mut().memory.uncore.ram =
        pagewalk_machine::memory::Ram::new(4096);
    session.run(LIMITS);
}
