//! A number of an address space that a PowerPC's kernel gives to another space, while entries of the last one stand.

use super::reported;
use super::stale::{HASHED, SOFTWARE};
use crate::support::Program;

/// The handler of a 603: SPRG1 names the first table, whose word names the second.
const INTO_TLB: &str = "
        reload:
          mfspr 3, 976
          mfspr 1, 273
          lwz 2, 0(1)
          rlwinm 1, 3, 22, 26, 29
          lwzx 2, 2, 1
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

/// The handler of a 604.
const INTO_HASH_TABLE: &str = "
        reload:
        refuse:
          mfspr 3, 18
          andis. 3, 3, 0x4000
          beq 1f
          mfspr 3, 19
          mfspr 9, 273
          lwz 9, 0(9)
          rlwinm 8, 3, 22, 26, 29
          lwzx 9, 9, 8
          cmpwi 9, 0
          beq 1f
          rlwinm 3, 3, 26, 16, 25
          load 2, 0x002048c0
          xor 2, 2, 3
          stw 9, 4(2)
          load 3, 0x80009180
          stw 3, 0(2)
          rfi
        1: load 3, refused
          mtspr 26, 3
          rfi";

/// The tables of the first space and of the second, as their first words name them.
pub const FIRST: &str = "0x00220000";
const SECOND: &str = "0x00222000";

/// A kernel whose first space has used a page does `kernel`, and goes to a program that does `user`.
fn verdict(machine: &str, kernel: &str, user: &str) -> Option<String> {
    verdict_with(machine, &[], kernel, user)
}

/// The same of a machine with these keys.
pub fn verdict_with(machine: &str, keys: &[&str], kernel: &str, user: &str) -> Option<String> {
    reported(
        &program(machine, kernel, user),
        machine,
        keys,
        "translation",
    )
}

fn program(machine: &str, kernel: &str, user: &str) -> Program {
    let handler = if machine == SOFTWARE {
        INTO_TLB
    } else {
        INTO_HASH_TABLE
    };
    Program::new(&format!(
        "_start:
          b begin
        {handler}
        begin:
          caches_on
          vector 0x1100, reload
          vector 0x1200, reload
          vector 0x300, refuse
          poke {FIRST}, 0x00221000
          poke 0x00221000, 0x00300192
          poke 0x00221004, 0x00301192
          poke {SECOND}, 0x00223000
          poke 0x00223004, 0x00303192
          load 3, {FIRST}
          mtspr 273, 3
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

/// The second space gets the number; `word` is what it has for the page that the first one has used.
fn second(word: &str) -> String {
    format!("poke 0x00223000, {word}\n load 3, {SECOND}\n mtspr 273, 3")
}

/// The second page first, which the TLB does not have.
const READS: &str = "lwz 6, 0x1000(5)\n lwz 6, 0(5)";

#[test]
fn a_number_given_out_again_without_a_flush_is_reported() {
    for machine in [SOFTWARE, HASHED] {
        for (word, why) in [("0x00302192", "another page frame"), ("0", "refuses")] {
            let report = verdict(machine, &second(word), READS).expect(why);
            let root = format!("root {FIRST}");
            for words in [
                "stale translation (context)",
                why,
                "another page table",
                &root,
            ] {
                assert!(report.contains(words), "{machine}: {words} in\n{report}");
            }
        }
    }
}

#[test]
fn a_number_given_out_again_after_a_flush_is_silent() {
    for machine in [SOFTWARE, HASHED] {
        let flush = if machine == HASHED {
            "poke 0x002048c0, 0\n tlbie 5\n sync"
        } else {
            "tlbie 5\n sync"
        };
        let kernel = format!("{}\n {flush}", second("0x00302192"));
        assert_eq!(verdict(machine, &kernel, READS), None, "{machine}");
    }
}

#[test]
fn a_page_that_both_spaces_have_is_silent() {
    for machine in [SOFTWARE, HASHED] {
        let kernel = second("0x00300192");
        assert_eq!(verdict(machine, &kernel, READS), None, "{machine}");
    }
}

/// A kernel whose program calls it twice. The first call switches to a thread with another number, the second to one
/// with the first number, whose table is `table`: at `choose` it chooses the number, does `between`, chooses the
/// thread, and does `then`.
fn switching(machine: &str, table: &str, (between, then): (&str, &str)) -> Option<String> {
    let handler = if machine == SOFTWARE {
        INTO_TLB
    } else {
        INTO_HASH_TABLE
    };
    let program = Program::new(&format!(
        "_start:
          b begin
        {handler}
        call:
          ba called
        called:
          addi 21, 21, 1
          cmpwi 21, 1
          bne 2f
          load 3, 0x777
          mtsr 4, 3
          mtsr 0, 3
          load 3, 0x0b00
          mtspr 275, 3
          rfi
        2:
          load 3, {table}
          mtspr 273, 3
          load 3, 0x0c00
          b choose
        choose:
          mtsr 0, 3
          mtsr 4, 20
          b between
        between:
          {between}
          load 3, 0x0c00
          mtspr 275, 3
          b then
        then:
          {then}
          rfi
        begin:
          caches_on
          vector 0x1100, reload
          vector 0x1200, reload
          vector 0x300, refuse
          vector 0xc00, call
          poke {FIRST}, 0x00221000
          poke 0x00221000, 0x00300192
          poke {SECOND}, 0x00223000
          poke 0x00223000, 0x00302192
          load 3, {FIRST}
          mtspr 273, 3
          load 3, 0x0a00
          mtspr 275, 3
          paging
          mfsr 20, 4
          mfsr 3, 0
          mtsr 0, 3
          load 21, 0
          load 5, 0x40000000
          lwz 6, 0(5)
          to_user user
        user:
          lwz 6, 0(5)
          sc
          sc
          lwz 6, 0(5)
        refused:
          power_off 5"
    ));
    reported(&program, machine, &[], "translation")
}

/// The kernel reads the program's page.
const KERNEL_READS: &str = "mfmsr 3\n ori 3, 3, 0x10\n mtmsr 3\n isync\n lwz 6, 0(5)";
/// Another number for a moment, as for the flush of another space's page.
const FOR_A_MOMENT: &str = "mfsr 3, 0\n load 4, 0x999\n mtsr 0, 4\n mtsr 0, 3";
/// The number again.
const AGAIN: &str = "mfsr 3, 0\n mtsr 0, 3";

#[test]
fn a_space_whose_first_access_hits_an_entry_of_the_one_before_is_reported() {
    for machine in [SOFTWARE, HASHED] {
        for (then, by) in [
            (("", ""), "user mode"),
            ((FOR_A_MOMENT, ""), "user mode"),
            (("", FOR_A_MOMENT), "user mode"),
            (("", AGAIN), "user mode"),
            (("", KERNEL_READS), "kernel mode"),
        ] {
            let report = switching(machine, SECOND, then).expect(machine);
            let line = |name: &str| {
                let mut lines = report.lines().map(str::trim_start);
                lines.find(|line| line.starts_with(name)).unwrap_or("")
            };
            for (line, words) in [
                (report.as_str(), "stale translation (context)"),
                (&report, "another page frame"),
                (line("access"), by),
                (
                    line("change"),
                    "address space number 0x123 for another space",
                ),
                (line("change"), "choose"),
            ] {
                assert!(line.contains(words), "{machine}: {words} in\n{report}");
            }
            assert_eq!(switching(machine, FIRST, then), None, "{machine}");
        }
    }
}

/// A kernel of a 405 whose program calls it twice. The first call switches to a space with the number 6. The second one
/// removes the page's entry of the number `removed`, and gives the number 5 to a space with the table `table`.
fn on_405(removed: u32, table: &str) -> Option<String> {
    let machine = "ppc405-200";
    let program = Program::on(
        machine,
        &format!(
            "_start:
              b begin
            reload:
              mfspr 24, 981
              mfspr 25, 273
              lwz 25, 0(25)
              rlwinm 26, 24, 22, 26, 29
              lwzx 25, 25, 26
              mfspr 26, 945
              tlbwe 25, 26, 1
              rlwinm 24, 24, 0, 0, 19
              ori 24, 24, 0xc0
              tlbwe 24, 26, 0
              rfi
            call:
              ba called
            called:
              addi 21, 21, 1
              cmpwi 21, 1
              bne 2f
              load 3, {SECOND}
              mtspr 273, 3
              li 3, 6
              mtspr 945, 3
              load 3, 0x0b00
              mtspr 275, 3
              rfi
            2:
              li 3, {removed}
              li 4, 0
              tlbwe 4, 3, 0
              load 3, {table}
              mtspr 273, 3
              li 3, 5
              mtspr 945, 3
              load 3, 0x0c00
              mtspr 275, 3
              rfi
            begin:
              caches_on
              vector 0x1100, reload
              vector 0xc00, call
              poke {FIRST}, 0x00221000
              poke 0x00221000, 0x00300300
              poke {SECOND}, 0x00223000
              poke 0x00223000, 0x00302300
              paging
              map 61, 0, 0
              load 3, 0x55555555
              mtspr 944, 3
              li 3, 5
              mtspr 945, 3
              load 3, {FIRST}
              mtspr 273, 3
              load 3, 0x0a00
              mtspr 275, 3
              load 5, 0x40000000
              li 21, 0
              to_user user
            user:
              lwz 6, 0(5)
              sc
              lwz 6, 0(5)
              sc
              lwz 6, 0(5)
              power_off 5"
        ),
    );
    reported(&program, machine, &[], "translation")
}

#[test]
fn a_405_that_removes_an_entry_keeps_that_of_another_number_for_the_page() {
    let report = on_405(6, SECOND).expect("the entry of number 5 stays");
    assert!(report.contains("stale translation (context)"), "{report}");
    assert!(report.contains("another page frame"), "{report}");
    assert_eq!(on_405(5, SECOND), None);
    assert_eq!(on_405(6, FIRST), None);
}
