//! Address spaces of a kernel that does not write CONTEXT: they are told by the segment registers, or by the table's
//! base of an 8xx, and named by the programs that begin in them.

use crate::support;
use crate::support::Program;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::powerpc::session::Session;

/// Puts `{space}` into the MMU twice: the kernel's own, then another; then runs a program there, and one in a third.
fn source(set: &str) -> String {
    format!(
        "
_start:
  vector 0x0c00, called
  li 3, 0x1000
  {set}
  nop
  lis 3, 5
  {set}
  nop
  load 4, user
  li 5, 0x4000
again:
  mtspr 26, 4
  mtspr 27, 5
  rfi
called:
  lis 3, 6
  {set}
  load 4, other
  load 5, again
  mtctr 5
  li 5, 0x4000
  addi 20, 20, 1
  cmpwi 20, 2
  bnectr
  lis 3, 5
  {set}
  load 3, 0x80000f08
  li 4, 0
  stw 4, 0(3)
  b .
  .org 0x200
  .globl user
user: nop
  sc
  .org 0x300
other: nop
  nop
  sc
"
    )
}

fn run(machine: &str, kind: &str, set: &str, profile: bool) -> (Session, u64) {
    let program = Program::on(machine, &source(set));
    let mut session = program.session(machine, &[kind]);
    if profile {
        session.record_profile(None);
        let mut elf = std::fs::read(program.elf()).unwrap();
        elf[24..28].copy_from_slice(&0x4200_u32.to_be_bytes());
        session.add_symbols("bin/user", &elf).unwrap();
    }
    let limits = Limits {
        cycles: 1_000_000,
        ..Limits::NONE
    };
    support::finish(&mut session, limits);
    let cycles = session.machine().instant().cycles;
    (session, cycles)
}

#[test]
fn address_spaces_are_told_by_the_mmu_and_named_by_entry_points() {
    for (machine, kind, set, second, third) in [
        (
            "ppc604-133",
            "board.kind=mpc83xx",
            "mtsr 0, 3",
            0x5_0000,
            0x6_0000,
        ),
        (
            "ppc603-133",
            "board.kind=mpc86xx",
            "mtsr 0, 3",
            0x5_0000,
            0x6_0000,
        ),
        (
            "mpc855t-48",
            "board.kind=mpc8xx",
            "mtspr 796, 3",
            0x50,
            0x60,
        ),
    ] {
        let (session, cycles) = run(machine, kind, set, true);
        let folded = session.profile_folded();
        let has = |text: &str| folded.lines().any(|line| line.starts_with(text));
        assert!(has("kernel;_start_[k] "), "{machine}: {folded}");
        assert!(
            has(&format!("context {second};_start_[k]")),
            "{machine}: {folded}"
        );
        let of_user = |kernel: bool| {
            folded
                .lines()
                .any(|line| line.starts_with("/bin/user;") && line.contains("_[k] ") == kernel)
        };
        assert!(of_user(false), "{machine}: {folded}");
        assert!(
            has(&format!("context {third};(no symbol) ")),
            "{machine}: {folded}"
        );
        assert!(of_user(true), "it is known afterwards: {folded}");
        let (_, plain) = run(machine, kind, set, false);
        assert_eq!(plain, cycles, "{machine}: observing changes nothing");
    }
}

/// A program's functions have their names in messages too, whether a profile is recorded or not.
#[test]
fn the_end_of_a_run_names_the_programs_function() {
    let source = "
_start:
  lis 3, 5
  mtsr 0, 3
  load 4, user
  li 5, 0x4000
  mtspr 26, 4
  mtspr 27, 5
  rfi
  .org 0x200
  .globl user
user:
  lis 3, 0xb000
  lwz 4, 0(3)
";
    let program = Program::on("ppc604-133", source);
    let mut session = program.session("ppc604-133", &["board.kind=mpc83xx"]);
    let mut elf = std::fs::read(program.elf()).unwrap();
    elf[24..28].copy_from_slice(&0x4200_u32.to_be_bytes());
    session.add_symbols("bin/user", &elf).unwrap();
    let stop = session.run(Limits {
        cycles: 1_000_000,
        ..Limits::NONE
    });
    let told = session.explain(&stop);
    assert!(
        told.contains("no device answers, at 0x00004204 <user+0x4>"),
        "{told}"
    );
}

/// On board `prep` only CONTEXT tells address spaces.
#[test]
fn on_prep_the_mmu_tells_nothing() {
    let (session, _) = run("ppc604-133", "board.kind=prep", "mtsr 0, 3", true);
    let folded = session.profile_folded();
    assert!(!folded.contains("context"), "{folded}");
}

/// A guest that writes CONTEXT is believed from then on.
#[test]
fn context_goes_before_the_mmu() {
    let set = "poke 0x80000f1c, 7\n mtsr 0, 3";
    let (session, _) = run("ppc604-133", "board.kind=mpc83xx", set, true);
    let folded = session.profile_folded();
    assert!(
        folded.contains("context 7;") && !folded.contains("/bin/user"),
        "{folded}"
    );
}
