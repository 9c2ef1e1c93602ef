//! Each sanitizer reports the error that it looks for, and nothing without it.

#[path = "sanitizers/stale.rs"]
mod stale;
mod support;

use pagewalk_machine::board::Console;
use pagewalk_machine::observe::sanitizers::SanitizerSet;
use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use support::Program;

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    instructions: u64::MAX,
};

/// The sanitizer's report on `body`, or `None` if the program powered off by itself: the same, at the same
/// place and time, whether or not the machine takes shortcuts.
fn verdict(body: &str, sanitizers: &str) -> Option<String> {
    let program = Program::new(&format!("_start:\n{body}\n power_off 5"));
    let [fast, plain] = [false, true].map(|oracle| {
        let mut session = program.session("ppc604-133", &[]);
        session.set_oracle(oracle);
        session
            .sanitize(sanitizers.parse::<SanitizerSet>().unwrap())
            .unwrap();
        let stop = session.run(LIMITS);
        (session.explain(&stop), session.counters(), stop)
    });
    assert_eq!(fast, plain);
    match fast.2 {
        Stop::Fatal(Fatal::Sanitizer { report, .. }) => Some(report),
        Stop::PowerOff { status: 5 } => None,
        _ => panic!("{}", fast.0),
    }
}

const USE_AFTER_FREE: &str = "
  paging
  load 5, 0x40000000
  lwz 6, 0(5)
  poke 0x80000f10, 0x300
  lwz 6, 4(5)
";

#[test]
fn a_translation_used_after_its_frame_was_freed_is_reported() {
    let report = verdict(USE_AFTER_FREE, "translation").unwrap();
    assert_eq!(
        report,
        "stale translation: 0x40000004 (VSID 000123) still reaches page frame 0x300, which was freed"
    );
    assert_eq!(
        verdict(USE_AFTER_FREE, "fetch,vsid"),
        None,
        "the others do not look"
    );
}

/// The page is in use, by a loop of loads or stores, when it is freed.
#[test]
fn a_page_that_was_used_often_before_it_was_freed_is_no_exception() {
    for access in ["lwz 6, 0(5)", "stw 6, 0(5)", "dcbt 0, 5\n lwz 6, 0(5)"] {
        let body = format!(
            "caches_on
             paging
             load 5, 0x40000000
             li 7, 20
             mtctr 7
           1: {access}
             bdnz 1b
             poke 0x80000f10, 0x300
             dcbt 0, 5
             b 2f
           2: {access}"
        );
        let report = verdict(&body, "translation");
        assert!(
            report.is_some_and(|report| report.contains("0x40000000 (VSID 000123)")),
            "{access}"
        );
    }
    // The same of a fetch: `blr` stands on the page.
    let body = "caches_on
        load 5, 0x300000
        load 6, 0x4e800020
        stw 6, 0(5)
        dcbst 0, 5
        sync
        icbi 0, 5
        paging
        load 3, 0x1030
        mtmsr 3
        isync
        load 5, 0x40000000
        li 7, 20
      1: mtctr 5
        bctrl
        addic. 7, 7, -1
        bne 1b
        poke 0x80000f10, 0x300
        mtctr 5
        bctrl";
    assert!(verdict(body, "translation").unwrap().contains("0x40000000"));
}

#[test]
fn a_frame_in_use_again_or_reached_by_the_kernel_is_no_crime() {
    let again = USE_AFTER_FREE.replace("lwz 6, 4(5)", "poke 0x80000f14, 0x300\n lwz 6, 4(5)");
    assert_eq!(verdict(&again, "translation"), None);
    // The kernel clears the page through its own mapping of all RAM, a BAT here.
    let cleared = USE_AFTER_FREE.replace("lwz 6, 4(5)", "load 7, 0x300000\n stw 6, 0(7)");
    assert_eq!(verdict(&cleared, "translation"), None);
    // Nothing is wrong once the PTE and the TLB entry are gone and the page is left alone.
    let flushed = USE_AFTER_FREE.replace("lwz 6, 4(5)", "tlbie 5\n sync");
    assert_eq!(verdict(&flushed, "translation"), None);
}

/// A snapshot remembers the freed frames, even if the sanitizer is switched on again.
#[test]
fn a_frame_freed_before_a_snapshot_is_known_after_it() {
    let body = USE_AFTER_FREE.replace(
        "lwz 6, 4(5)",
        "li 7, 2000\n mtctr 7\n1: bdnz 1b\n lwz 6, 4(5)",
    );
    let program = Program::new(&format!("_start:\n{body}\n power_off 5"));
    let set: SanitizerSet = "translation".parse().unwrap();
    let mut session = program.session("ppc604-133", &["memory.size=0x400000"]);
    session.sanitize(set).unwrap();
    let until = Limits {
        cycles: 2000,
        ..LIMITS
    };
    assert_eq!(session.run(until), Stop::Limit);
    let bytes = session.save().unwrap();
    for again in [false, true] {
        let mut session = Session::restore(&bytes, "s", Console::memory()).unwrap();
        if again {
            session.sanitize(set).unwrap();
        }
        assert!(
            matches!(session.run(LIMITS), Stop::Fatal(Fatal::Sanitizer { .. })),
            "asked for again: {again}"
        );
    }
}

#[test]
fn a_vsid_issued_while_entries_live_is_reported() {
    let in_tlb = "paging\n load 5, 0x40000000\n lwz 6, 0(5)\n poke 0x80000f18, 0x123";
    let report = verdict(in_tlb, "vsid").unwrap();
    assert!(
        report.starts_with("VSID 000123 issued while the data TLB holds it: set 0 way "),
        "{report}"
    );
    let in_table = "paging\n poke 0x80000f18, 0x123";
    assert_eq!(
        verdict(in_table, "vsid").unwrap(),
        "VSID 000123 issued while the hash table holds it: PTEG 291 slot 0, page 0x0000"
    );
    let clean = "paging\n load 5, 0x40000000\n lwz 6, 0(5)\n poke 0x002048c0, 0\n tlbie 5\n poke 0x80000f18, 0x123";
    assert_eq!(verdict(clean, "vsid"), None);
    assert_eq!(verdict("paging\n poke 0x80000f18, 0x124", "vsid"), None);
    assert_eq!(
        verdict(in_tlb, "translation,fetch"),
        None,
        "the others do not look"
    );
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
        verdict(&rewriting(""), "translation,vsid"),
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
fn features_say_who_listens() {
    let program = Program::new(
        "_start: load 5, 0x80000f04\n lwz 6, 0(5)\n load 5, 0x80000f08\n stw 6, 0(5)\n b .",
    );
    for (set, features) in [
        ("fetch", 12),
        ("translation", 13),
        ("entries", 12),
        ("vsid", 14),
        ("all", 15),
    ] {
        let mut session = program.session("ppc603-133", &[]);
        session.sanitize(set.parse().unwrap()).unwrap();
        assert_eq!(
            session.run(LIMITS),
            Stop::PowerOff { status: features },
            "{set}"
        );
    }
    assert_eq!(
        "translate".parse::<SanitizerSet>().unwrap_err(),
        "unknown sanitizer `translate`: allowed are translation, entries, fetch, vsid, all"
    );
}
