//! The translation sanitizer of a PowerPC whose TLBs software loads, and of one with a hash table: a handler of some
//! lines, with a table of one word.

use pagewalk_machine::powerpc::machine::{Fatal, Stop};

use super::{LIMITS, reported};
use crate::support::Program;

/// The handler of a 603: it loads the word into the TLB.
const INTO_TLB: &str = "
        reload:
          mfspr 3, 976
          lis 2, 0x21
          lwz 2, 0(2)
          cmpwi 2, 0
          beq 1f
          mtspr 982, 2
          .long 0x7c001fa4 # tlbld 3
          mfspr 0, 27
          mtcrf 0x80, 0
          rfi
        1: load 1, refused
          mtspr 26, 1
          mfspr 0, 27
          mtcrf 0x80, 0
          rfi
        refuse:
          load 3, refused
          mtspr 26, 3
          rfi";

/// The handler of a 604: it writes the word into the hash table.
const INTO_HASH_TABLE: &str = "
        reload:
        refuse:
          mfspr 3, 18
          andis. 3, 3, 0x4000
          beq 1f
          lis 2, 0x21
          lwz 2, 0(2)
          cmpwi 2, 0
          beq 1f
          lis 3, 0x20
          ori 3, 3, 0x48c0
          stw 2, 4(3)
          lis 2, 0x8000
          ori 2, 2, 0x9180
          stw 2, 0(3)
          rfi
        1: load 3, refused
          mtspr 26, 3
          rfi";

fn handler(machine: &str) -> &'static str {
    if machine == SOFTWARE {
        INTO_TLB
    } else {
        INTO_HASH_TABLE
    }
}

pub const SOFTWARE: &str = "ppc603-133";
pub const HASHED: &str = "ppc604-133";

/// A kernel that has used the page, does `kernel`, and goes to a program that does `user`. Where the table has no word,
/// or the entry permits no store, the program goes on at `refused`.
fn program(machine: &str, kernel: &str, user: &str) -> Program {
    program_with(handler(machine), kernel, user)
}

fn program_with(handler: &str, kernel: &str, user: &str) -> Program {
    Program::new(&format!(
        "_start:
          b begin
        {handler}
        begin:
          caches_on
          vector 0x1100, reload
          vector 0x1200, reload
          vector 0x300, refuse
          poke 0x00210000, 0x00300192
          paging
          load 5, 0x40000000
          lwz 6, 0(5)
          stw 6, 0(5)
          {kernel}
          to_user user
        user:
          {user}
        refused:
          power_off 5"
    ))
}

/// The sanitizer's report, or `None` if the program powered off by itself; it has changed no count.
fn verdict(machine: &str, kernel: &str, user: &str) -> Option<String> {
    reported(&program(machine, kernel, user), machine, &[], "translation")
}

const READS: &str = "lwz 6, 0(5)";
const WRITES: &str = "stw 6, 0(5)";
/// Another frame, only reads, nothing.
const MOVED: &str = "poke 0x00210000, 0x00301192";
const READ_ONLY: &str = "poke 0x00210000, 0x00300193";
const GONE: &str = "poke 0x00210000, 0";

/// What a kernel must do beside `tlbie`: the hash table has the entry too.
const UNHASH: &str = "poke 0x002048c0, 0";

fn flushed(machine: &str, kernel: &str) -> String {
    let unhash = if machine == HASHED { UNHASH } else { "" };
    format!("{kernel}\n {unhash}\n tlbie 5\n sync")
}

#[test]
fn a_change_without_a_flush_is_reported() {
    for machine in [SOFTWARE, HASHED] {
        for (kernel, user, words) in [
            (MOVED, READS, "another page frame"),
            (READ_ONLY, WRITES, "refuses"),
            (GONE, READS, "refuses"),
        ] {
            let report = verdict(machine, kernel, user).expect(words);
            for words in ["stale translation (late)", words, "none since the change"] {
                assert!(report.contains(words), "{words} in\n{report}");
            }
            let from = "word at 0x00210000 = 0x00300192";
            assert!(report.contains(from), "{report}");
        }
    }
}

#[test]
fn what_is_flushed_or_takes_nothing_away_is_silent() {
    for machine in [SOFTWARE, HASHED] {
        let flushed = |kernel: &str| flushed(machine, kernel);
        for (kernel, user) in [
            (flushed(MOVED), READS),
            (flushed(GONE), READS),
            (READ_ONLY.to_owned(), READS),
            (format!("{GONE}\n poke 0x00210000, 0x00300192"), WRITES),
            (GONE.to_owned(), ""),
            // The window.
            (flushed(&format!("{MOVED}\n {READS}")), READS),
        ] {
            assert_eq!(verdict(machine, &kernel, user), None, "{kernel}");
        }
    }
}

#[test]
fn a_flush_of_another_page_is_told() {
    for machine in [SOFTWARE, HASHED] {
        let kernel = format!("{GONE}\n addi 7, 5, 0x1000\n tlbie 7\n sync");
        let report = verdict(machine, &kernel, READS).unwrap();
        assert!(report.contains("another page"), "{report}");
    }
}

#[test]
fn the_last_change_that_took_the_entry_away_is_named() {
    // A bit of the kernel's that the handler gives to no entry.
    const MARKED: &str = "poke 0x00210000, 0x00300592";
    for machine in [SOFTWARE, HASHED] {
        let kernel = format!("{MARKED}\n {GONE}");
        let report = verdict(machine, &kernel, READS).unwrap();
        let change = "from 0x00300592 to 0x00000000";
        assert!(report.contains(change), "{report}");
    }
}

#[test]
fn an_entry_that_stayed_in_the_hash_table_is_reported() {
    let kernel = format!("{MOVED}\n tlbie 5\n sync");
    let report = verdict(HASHED, &kernel, READS).unwrap();
    for words in ["another page frame", "the hash table kept the entry"] {
        assert!(report.contains(words), "{words} in\n{report}");
    }
}

#[test]
fn an_entry_that_was_evicted_from_the_hash_table_is_no_error() {
    assert_eq!(verdict(HASHED, UNHASH, WRITES), None);
}

/// A handler of a 603 that waits for a lock before it reads the table.
#[test]
fn a_lock_that_is_held_is_let_go_in_the_copy() {
    let locks = INTO_TLB.replacen(
        "lis 2, 0x21",
        "lis 2, 0x21\n 9: lwz 1, 0x100(2)\n cmpwi 1, 0\n bne 9b",
        1,
    );
    let held = format!("{MOVED}\n poke 0x00210100, 1");
    let program = program_with(&locks, &held, READS);
    let mut session = program.session(SOFTWARE, &[]);
    session.sanitize("translation".parse().unwrap()).unwrap();
    match session.run(LIMITS) {
        Stop::Fatal(Fatal::Sanitizer { report, .. }) => {
            assert!(report.contains("another page frame"), "{report}");
        }
        stop => panic!("{}", session.explain(&stop)),
    }
}

/// A handler of a 603 that loads more words than are remembered: the first use tells the entry's word.
#[test]
fn an_entry_of_a_long_handler_is_known() {
    let long = INTO_TLB.replacen(
        "lis 2, 0x21",
        "lis 2, 0x21\n li 1, 300\n 9: lwz 0, 0x200(2)\n addi 1, 1, -1\n cmpwi 1, 0\n bne 9b",
        1,
    );
    let program = |kernel: &str| program_with(&long, kernel, READS);
    let report = reported(&program(MOVED), SOFTWARE, &[], "translation").unwrap();
    assert!(report.contains("another page frame"), "{report}");
    let kernel = flushed(SOFTWARE, MOVED);
    assert_eq!(
        reported(&program(&kernel), SOFTWARE, &[], "translation"),
        None
    );
}

/// Stores to other words of a page where a word is watched go by its shortcut; one to the word is seen.
#[test]
fn a_store_to_a_page_that_is_known_is_seen() {
    for machine in [SOFTWARE, HASHED] {
        let others = "poke 0x00210100, 1\n".repeat(3);
        let kernel = format!("{others} {MOVED}\n {others}");
        let report = verdict(machine, &kernel, READS).unwrap();
        assert!(report.contains("from 0x00300192 to 0x00301192"), "{report}");
    }
}
