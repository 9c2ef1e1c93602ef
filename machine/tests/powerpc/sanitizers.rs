//! Each sanitizer reports the error that it looks for, and nothing without it.

mod extreme;
mod spaces;
mod stale;

use crate::support::Program;
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    instructions: u64::MAX,
};

/// The report of these sanitizers on a program, or `None` if it powers off by itself: the same, at the same place and
/// time, whether or not the machine takes shortcuts. Without a report the counters are those of a run without
/// sanitizers.
fn reported(program: &Program, machine: &str, keys: &[&str], sanitizers: &str) -> Option<String> {
    let run = |oracle: bool, sanitizers: &str| {
        let mut session = program.session(machine, keys);
        session.set_oracle(oracle);
        if !sanitizers.is_empty() {
            let set = sanitizers.parse::<SanitizerSet>().unwrap();
            session.sanitize(set).unwrap();
        }
        let stop = session.run(LIMITS);
        (session.explain(&stop), session.counters(), stop)
    };
    let fast = run(false, sanitizers);
    assert_eq!(fast, run(true, sanitizers));
    match fast.2 {
        Stop::Fatal(Fatal::Sanitizer { report, .. }) => Some(report),
        Stop::PowerOff { status: 5 } => {
            assert_eq!(run(false, "").1, fast.1);
            None
        }
        _ => panic!("{}", fast.0),
    }
}

/// [`reported`] of `body` on a 604.
fn verdict(body: &str, sanitizers: &str) -> Option<String> {
    let program = Program::new(&format!("_start:\n{body}\n power_off 5"));
    reported(&program, "ppc604-133", &[], sanitizers)
}

/// Calls `function`, makes it `li 3, 2`, does `between`, and calls it again.
fn rewriting(between: &str) -> String {
    format!(
        "caches_on
         bl function
         lis 5, function@ha
         addi 5, 5, function@l
         load 6, 0x38600002
         stw 6, 0(5)
         {between}
         bl function
         b done
         .balign 32
       function: li 3, 1
         blr
         .balign 32
       done:"
    )
}

#[test]
fn a_stale_fetch_is_reported() {
    let report = verdict(&rewriting(""), "fetch").unwrap();
    assert!(
        report.starts_with("stale fetch: the instruction cache holds line 0x0000"),
        "{report}"
    );
    assert!(
        verdict(&rewriting("dcbst 0, 5\n sync"), "fetch").is_some(),
        "icbi is missing"
    );
    assert_eq!(
        verdict(&rewriting("dcbst 0, 5\n sync\n icbi 0, 5\n isync"), "fetch"),
        None
    );
    assert_eq!(
        verdict(&rewriting(""), "translation"),
        None,
        "the others do not look"
    );
}

/// The function is called often, and its line written often, before one of these is an error.
#[test]
fn a_stale_fetch_in_a_loop_is_reported() {
    let body = "caches_on
         lis 5, function@ha
         addi 5, 5, function@l
         load 6, 0x38600002
         li 7, 20
       1: stw 6, 4(5)
         stw 6, 0(5)
         dcbst 0, 5
         sync
         icbi 0, 5
         isync
         bl function
         bl function
         addi 6, 6, 1
         addic. 7, 7, -1
         bne 1b
         {between}
         stw 6, 0(5)
         bl function
         b done
         .balign 32
       function: li 3, 1
         li 3, 1
         blr
         .balign 32
       done:";
    let report = verdict(&body.replace("{between}", ""), "fetch").unwrap();
    assert!(report.starts_with("stale fetch: "), "{report}");
    let report = verdict(&body.replace("{between}", "icbi 0, 5\n isync"), "fetch").unwrap();
    assert!(report.starts_with("incoherent fetch: "), "{report}");
    // The written words equal those in the I-cache, so there is nothing to report.
    assert_eq!(
        verdict(&body.replace("{between}", "subi 6, 6, 1"), "fetch"),
        None
    );
}

#[test]
fn an_incoherent_fetch_is_reported() {
    let report = verdict(&rewriting("icbi 0, 5\n isync"), "fetch").unwrap();
    assert!(
        report.starts_with("incoherent fetch: the data cache holds line 0x0000"),
        "{report}"
    );
    assert!(
        report.ends_with("modified; no dcbst came between"),
        "{report}"
    );
}

/// Code on a stack shares its line with data, as the compiler's trampolines do. A write before the address where a
/// fetch begins does not change that fetch.
#[test]
fn data_before_the_code_of_its_line_is_no_crime() {
    let program = |before: &str, call: &str| {
        format!(
            "caches_on
             load 5, 0x8000
             load 6, 0x38600002
             stw 6, 16(5)
             load 6, 0x4e800020
             stw 6, 4(5)
             stw 6, 20(5)
             dcbst 0, 5
             sync
             icbi 0, 5
             isync
             {before}
             {call}"
        )
    };
    let at = |offset: u32| format!("addi 7, 5, {offset}\n mtctr 7\n bctrl\n");
    // Written before the line is filled, and again while the I-cache holds it.
    let twice = at(16) + "stw 7, 0(5)\n" + &at(16);
    assert_eq!(verdict(&program("stw 7, 0(5)", &twice), "fetch"), None);
    // Memory, and the line filled from it, do not have the new instruction.
    let nop = "load 6, 0x60000000\n stw 6, 0(5)";
    let report = verdict(&program(nop, &at(0)), "fetch").unwrap();
    assert!(report.starts_with("incoherent fetch: "), "{report}");
    let report = verdict(&program(nop, &(at(16) + &at(0))), "fetch").unwrap();
    assert!(report.starts_with("stale fetch: "), "{report}");
    // The old words are written again, so there is no difference.
    let same = "lwz 6, 16(5)\n stw 6, 16(5)";
    assert_eq!(verdict(&program(same, &at(16)), "fetch"), None);
}

#[test]
fn an_unknown_sanitizer_is_refused_with_the_names_of_those_there_are() {
    assert_eq!(
        "translate".parse::<SanitizerSet>().unwrap_err(),
        "unknown sanitizer `translate`: allowed are translation, reuse, fetch, all"
    );
    let program = Program::new("_start: power_off 5");
    let mut session = program.session("ppc604-133", &["tlb.l2.entries=64"]);
    let refused = session.sanitize("all".parse().unwrap()).unwrap_err();
    assert!(refused.contains("leave out the keys tlb.l2"), "{refused}");
}
