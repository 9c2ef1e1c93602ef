//! The 405's I-cache, whose index has a bit of the effective address above a page: a line can be in two places, and
//! `icbi` empties one. With and without fast paths, over a snapshot, and under the fetch sanitizer.

use crate::support;
use crate::support::Program;
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc405-200";

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

/// A function at physical 0x300000, which two pages map: r5 and r9 point to it. It is called through both, changed
/// through one, and called again after `between`.
fn program(second: u32, between: &str) -> String {
    format!(
        "_start:
         paging
         map 60, {:#x}, 0x00300300
         isync
         load 5, 0x40000000
         load 9, {second:#x}
         load 6, 0x38600001
         stw 6, 0(5)
         load 6, 0x4e800020
         stw 6, 4(5)
         dcbst 0, 5
         sync
         icbi 0, 5
         icbi 0, 9
         isync
         mtctr 5
         bctrl
         mr 20, 3
         mtctr 9
         bctrl
         mr 21, 3
         load 6, 0x38600002
         stw 6, 0(5)
         dcbst 0, 5
         sync
         {between}
         isync
         mtctr 5
         bctrl
         mr 22, 3
         mtctr 9
         bctrl
         mr 23, 3
         poke 0x80000f24, 5
         power_off 0",
        second | 0xc0
    )
}

fn session(second: u32, between: &str) -> Session {
    Program::on(MACHINE, &program(second, between)).session(MACHINE, &[])
}

/// What the four calls gave.
fn results(session: &Session) -> [u32; 4] {
    let registers = &session.machine().processor().registers;
    [20, 21, 22, 23].map(|number| registers.gpr.get(Register::new(number)))
}

fn finished(second: u32, between: &str) -> Session {
    let [fast, plain] = [false, true].map(|oracle| {
        let mut session = session(second, between);
        session.set_oracle(oracle);
        support::finish(&mut session, LIMITS);
        session
    });
    assert_eq!(fast.counters(), plain.counters());
    assert_eq!(results(&fast), results(&plain));
    fast
}

const SAME_INDEX: u32 = 0x5000_0000;
const OTHER_INDEX: u32 = 0x5000_1000;

#[test]
fn icbi_empties_one_of_two_places() {
    for (second, between, results_) in [
        // Pages with the same bit of the index share a line.
        (SAME_INDEX, "icbi 0, 5", [1, 1, 2, 2]),
        (SAME_INDEX, "icbi 0, 9", [1, 1, 2, 2]),
        (OTHER_INDEX, "icbi 0, 5\nicbi 0, 9", [1, 1, 2, 2]),
        (OTHER_INDEX, "icbi 0, 5", [1, 1, 2, 1]),
        (OTHER_INDEX, "icbi 0, 9", [1, 1, 1, 2]),
        (OTHER_INDEX, "", [1, 1, 1, 1]),
        (OTHER_INDEX, "iccci 0, 0", [1, 1, 2, 2]),
    ] {
        assert_eq!(
            results(&finished(second, between)),
            results_,
            "{second:#x} {between}"
        );
    }
}

#[test]
fn a_dump_shows_both_places() {
    for (second, sets) in [(SAME_INDEX, vec![0]), (OTHER_INDEX, vec![0, 128])] {
        let session = finished(second, "icbi 0, 5\nicbi 0, 9");
        let lines = &session.dumps().first().unwrap().instruction_cache;
        let function: Vec<u32> = lines
            .iter()
            .filter(|line| line.physical == 0x30_0000)
            .map(|line| line.set)
            .collect();
        assert_eq!(function, sets);
    }
}

/// The sanitizer finds what a kernel forgets.
#[test]
fn a_forgotten_place_is_a_stale_fetch() {
    for (between, found) in [
        ("icbi 0, 5\nicbi 0, 9", false),
        ("icbi 0, 5", true),
        ("icbi 0, 9", true),
    ] {
        let reports = [false, true].map(|oracle| {
            let mut session = session(OTHER_INDEX, between);
            session.set_oracle(oracle);
            session.sanitize("fetch".parse().unwrap()).unwrap();
            match session.run(LIMITS) {
                Stop::Fatal(Fatal::Sanitizer { report, .. }) => Some(report),
                Stop::PowerOff { status: 0 } => None,
                other => panic!("{}", session.explain(&other)),
            }
        });
        assert_eq!(reports[0], reports[1]);
        assert_eq!(reports[0].is_some(), found, "{between}: {reports:?}");
        if let Some(report) = &reports[0] {
            assert!(
                report.starts_with("stale fetch: the instruction cache holds line 0x00300000"),
                "{report}"
            );
        }
    }
}

/// Stopped at any place, and gone on with in another machine.
#[test]
fn a_snapshot_holds_both_places() {
    let whole = finished(OTHER_INDEX, "icbi 0, 5");
    for cycles in (100..1500).step_by(150) {
        let mut first = session(OTHER_INDEX, "icbi 0, 5");
        let stop = first.run(Limits {
            cycles,
            ..Limits::NONE
        });
        if stop != Stop::Limit {
            break;
        }
        let saved = first.save().unwrap();
        let mut second = Session::restore(&saved, "s.snap", Console::memory()).unwrap();
        assert_eq!(second.run(LIMITS), Stop::PowerOff { status: 0 });
        assert_eq!(second.counters(), whole.counters());
        assert_eq!(results(&second), results(&whole));
    }
}
