//! Call stacks of a profile.

use crate::kernel;
use crate::support;
use crate::support::Program;
use pagewalk_machine::account::Event;
use pagewalk_machine::observe::profile::StackRow;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use std::collections::BTreeMap;

/// `outer` calls `inner` twice, which calls `leaf` and ends by a jump to `last`. `leaf` has no frame.
const CALLS: &str = "
  .type _start, @function
_start:
  caches_on
  load 1, 0x00110000
  li 0, 0
  stw 0, 0(1)
  bl outer
  power_off 3
  .size _start, . - _start
  .balign 32
  .type outer, @function
outer:
  mflr 0
  stwu 1, -16(1)
  stw 0, 20(1)
  bl inner
  bl inner
  lwz 0, 20(1)
  mtlr 0
  addi 1, 1, 16
  blr
  .size outer, . - outer
  .balign 32
  .type inner, @function
inner:
  mflr 0
  stwu 1, -16(1)
  stw 0, 20(1)
  bl leaf
  lwz 0, 20(1)
  mtlr 0
  addi 1, 1, 16
  b last
  .size inner, . - inner
  .balign 32
  .type leaf, @function
leaf:
  li 6, 100
  mtctr 6
1: bdnz 1b
  blr
  .size leaf, . - leaf
  .balign 32
  .type last, @function
last:
  li 6, 50
  mtctr 6
1: bdnz 1b
  blr
  .size last, . - last
";

fn cycles(session: &Session) -> u64 {
    session
        .machine()
        .processor()
        .account
        .counters
        .total(Event::Cycles)
}

#[test]
fn calls_jumps_and_returns_are_followed() {
    for machine in ["ppc603-133", "ppc604-185", "ppc750-400"] {
        let mut session = Program::new(CALLS).session(machine, &[]);
        session.record_profile(None);
        assert_eq!(
            session.run(Limits::NONE),
            Stop::PowerOff { status: 3 },
            "{machine}"
        );
        let stacks: BTreeMap<String, u64> = session
            .profile_stacks()
            .into_iter()
            .map(|row| (row.frames.join(";").replace("_[k]", ""), row.instructions))
            .collect();
        let instructions = |stack: &str| stacks.get(stack).copied().unwrap_or(0);
        assert_eq!(
            instructions("_start;outer;inner;leaf"),
            2 * 103,
            "{machine}: {stacks:?}"
        );
        assert_eq!(
            instructions("_start;outer;last"),
            2 * 53,
            "{machine}: {stacks:?}"
        );
        assert_eq!(
            instructions("_start;outer;inner"),
            2 * 8,
            "{machine}: {stacks:?}"
        );
        assert_eq!(instructions("_start;outer"), 9, "{machine}: {stacks:?}");
        assert_eq!(stacks.len(), 5, "{machine}: {stacks:?}");
        let all: u64 = session.profile_stacks().iter().map(|row| row.cycles).sum();
        assert_eq!(all, cycles(&session), "{machine}");
    }
}

#[test]
fn a_kernel_stands_on_the_program_that_it_interrupts() {
    let kernel = kernel::build();
    for machine in ["ppc603-133", "ppc604-133", "mpc855t-48"] {
        let mut session = kernel.session(
            support::config(machine, &[]),
            "quiet -- /bin/tlb-stress iterations=1 warmup=0 processes=2 pages=40",
        );
        session.record_profile(Some(65536));
        assert_eq!(
            session.run(Limits::NONE),
            Stop::PowerOff { status: 0 },
            "{machine}"
        );
        let rows = session.profile_stacks();
        let unnamed: Vec<_> = rows
            .iter()
            .filter(|row| {
                row.frames
                    .iter()
                    .any(|name| name == "(no symbol)_[k]" || name.contains("KERNEL_BASE"))
            })
            .collect();
        assert!(unnamed.is_empty(), "{machine}: {unnamed:?}");
        // A page fault in a function of the program leads to the kernel's function that clears the page.
        let fault = rows.iter().find(|row| {
            let named = |wanted: &str| row.frames.iter().position(|name| name == wanted);
            matches!((named("main"), named("frame_clear_[k]")), (Some(outer), Some(inner)) if outer < inner)
        });
        assert!(fault.is_some(), "{machine}: {}", session.profile_folded());
        let vector = |row: &StackRow| row.frames.iter().any(|name| name.starts_with("vector "));
        assert!(rows.iter().any(vector), "{machine}");
        let deepest = rows.iter().map(|row| row.frames.len()).max().unwrap();
        assert!((5..60).contains(&deepest), "{machine}: {deepest}");
        let by_function: u64 = session.profile().iter().map(|row| row.cycles).sum();
        let by_stack: u64 = rows.iter().map(|row| row.cycles).sum();
        assert_eq!(by_function, by_stack, "{machine}");
    }
}
