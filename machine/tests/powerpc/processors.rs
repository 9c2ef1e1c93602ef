//! Machines with several processors. Here: the program that all of them run, locks, snapshots, and machine files; the
//! other subjects have files of their own.

mod litmus;
mod observing;
mod private_l2;
mod starting;
mod time;
mod tlbie;

use crate::support;
use crate::support::{Program, machine_file};
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

const OPENPIC: &str = "board.interrupt-controller=openpic";
/// Machines whose caches have the states MESI and MEI, and one whose processors have an L2 each.
const MACHINES: [&str; 3] = ["ppc604-185", "ppc603-133", "ppc604-200x4-l2"];
const CYCLES: Limits = Limits {
    cycles: 20_000_000,
    instructions: u64::MAX,
};

/// All processors run `body` with their number in r20; the first one waits for the others, and powers off. `body` may
/// jump to what is in `behind`.
fn program(processors: u32, body: &str, behind: &str) -> Program {
    Program::new(&format!(
        "
_start:
  vector 0x0100, reset
  vector 0x0500, external
  load 10, 0xfc001090
  li 6, 0
  stwbrx 6, 0, 10
  b common
reset:
  load 3, common
  mtctr 3
  bctr
common:
  caches_on
  load 21, 0xfc000090
  lwbrx 20, 0, 21
{body}
finish:
  load 21, 0x10000
1:
  lwarx 22, 0, 21
  addi 22, 22, 1
  stwcx. 22, 0, 21
  bne 1b
  sync
  cmpwi 20, 0
  bne .
2:
  lwz 22, 0(21)
  cmpwi 22, {processors}
  bne 2b
  power_off 0
external:
  load 12, 0xfc000000
  li 13, 0xa0
  lwbrx 13, 13, 12
  addi 8, 8, 1
  li 13, 0xb0
  stwbrx 13, 13, 12
  rfi
{behind}
"
    ))
}

/// On a machine file with other settings. An MPC106 runs a look-aside cache for one processor alone. No source tells
/// such a limit of a Falcon.
fn session(program: &Program, machine: &str, processors: u32, settings: &[&str]) -> Session {
    let processors = format!("processors={processors}");
    let controller = machine
        .starts_with("ppc60")
        .then_some("memory.controller=falcon");
    let all: Vec<&str> = [OPENPIC, &processors]
        .into_iter()
        .chain(controller)
        .chain(settings.iter().copied())
        .collect();
    program.session(machine, &all)
}

/// On a machine file that has several processors.
fn session_of(machine: &str, program: &Program) -> Session {
    program.session(machine, &[])
}

fn finish(session: &mut Session) {
    support::finish(session, CYCLES);
}

fn word(session: &Session, address: u32) -> u32 {
    session.machine().uncore().ram.read_u32(address).unwrap()
}

/// Clocks and counters of each processor.
type Counts = (Vec<u64>, Vec<Vec<(String, u64)>>);

fn counts(session: &Session) -> Counts {
    let all = session.machine().processors().iter();
    (
        all.map(|p| p.cycles()).collect(),
        session.counters_of_each(),
    )
}

fn counter(session: &Session, processor: usize, name: &str) -> u64 {
    let counters = &session.counters_of_each()[processor];
    counters.iter().find(|(key, _)| key == name).unwrap().1
}

fn sum(session: &Session, name: &str) -> u64 {
    let processors = session.machine().processors().len();
    (0..processors)
        .map(|number| counter(session, number, name))
        .sum()
}

/// Each processor takes a lock, counts, and lets the lock go, 200 times.
const LOCKED: &str = "
  load 23, 0x10080
  load 24, 0x10100
  li 25, 200
  mtctr 25
3:
  lwz 26, 0(23)
  cmpwi 26, 0
  bne 3b
4:
  lwarx 26, 0, 23
  cmpwi 26, 0
  bne 3b
  li 26, 1
  stwcx. 26, 0, 23
  bne 4b
  isync
  lwz 27, 0(24)
  addi 27, 27, 1
  stw 27, 0(24)
  sync
  li 26, 0
  stw 26, 0(23)
  bdnz 3b
";

#[test]
fn a_lock_of_reservations_excludes() {
    for machine in MACHINES {
        for processors in [2, 4] {
            let program = program(processors, LOCKED, "");
            let run = |settings: &[&str], oracle: bool| {
                let mut session = session(&program, machine, processors, settings);
                session.set_oracle(oracle);
                finish(&mut session);
                assert_eq!(word(&session, 0x10100), 200 * processors, "{machine}");
                counts(&session)
            };
            let fast = run(&[], false);
            assert_eq!(fast, run(&[], false), "the same run twice");
            assert_eq!(fast, run(&[], true), "the oracle");
            run(&["lead=5000"], false);
            run(&["lead=1"], false);
        }
    }
}

#[test]
fn a_snapshot_and_a_limit_in_the_middle_change_nothing() {
    let program = program(3, LOCKED, "");
    let mut whole = session(&program, "ppc604-185", 3, &[]);
    finish(&mut whole);
    for cycles in [4_000, 20_011] {
        let mut parts = session(&program, "ppc604-185", 3, &[]);
        let limits = Limits { cycles, ..CYCLES };
        assert_eq!(parts.run(limits), Stop::Limit);
        assert_eq!(parts.run(limits), Stop::Limit);
        let saved = parts.save().unwrap();
        let mut restored = Session::restore(&saved, "saved", Console::memory()).unwrap();
        finish(&mut restored);
        finish(&mut parts);
        assert_eq!(counts(&whole), counts(&parts));
        assert_eq!(counts(&whole), counts(&restored));
    }
}

#[test]
fn combinations_that_no_machine_has_are_refused() {
    use pagewalk_machine::config::{MachineConfig, Override};
    for (machine, settings, word) in [
        ("ppc604-185", &["processors=0"][..], "1 to 8"),
        ("ppc604-185", &["processors=9"][..], "1 to 8"),
        ("ppc604-185", &["processors=2"][..], "openpic"),
        ("ppc604-185", &["lead=0"][..], "lead"),
        (
            "ppc604-185",
            &["board.dead-processor=1"][..],
            "is 1, and processors is 1",
        ),
        ("ppc604-200x4", &["board.dead-processor=0"][..], "1 to 3"),
        ("ppc604-200x4", &["board.dead-processor=4"][..], "1 to 3"),
        (
            "ppc604-200x4-l2",
            &["cache.l2.place=back-side"][..],
            "allowed are \"in-line\" (each its own) and \"look-aside\" (one for all)",
        ),
        (
            "ppc604-132",
            &["cache.l2.place=in-line"][..],
            "is \"in-line\": add cache.l2.miss",
        ),
        ("mpc855t-48", &["processors=2"][..], "does not snoop"),
        ("ppc750-400", &["tlb.broadcast=true"][..], "tlb.broadcast"),
        ("ppc603-133", &["tlb.broadcast=true"][..], "tlb.broadcast"),
    ] {
        let settings: Vec<_> = settings
            .iter()
            .map(|s| Override::parse(s).unwrap())
            .collect();
        let error = MachineConfig::from_file(&machine_file(machine), &settings).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}
