//! Chains of dependent instructions on the whole machine: the cycles of a loop over lines and blocks. Stopping a
//! machine within a chain changes nothing.

use crate::support::Program;
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

const CORES: [&str; 3] = ["ppc603-133", "ppc604-133", "ppc750-400"];

/// Little memory, which is quick to save.
const SMALL: &[&str] = &["memory.size=0x400000"];

/// `body`, repeated, from the start of a line. r5 points to a word that holds its own address.
fn repeated(body: &str, rounds: u32) -> Program {
    Program::new(&format!(
        "_start:
  caches_on
  load 5, 0x00100000
  stw 5, 0(5)
  load 4, {rounds}
  mtctr 4
  li 3, 1
  li 6, 0
  .balign 32
1: {body}
  bdnz 1b
  power_off 0"
    ))
}

fn finish(session: &mut Session) -> u64 {
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    session.machine().processor().cycles()
}

#[test]
fn a_loop_of_dependent_instructions_takes_their_latencies() {
    let adds = |count: usize| "\n  add 3, 3, 4".repeat(count);
    let loops = [
        // A line, with its branch. In the second case the branch is alone in the next one.
        (adds(7), [7, 7, 7]),
        (adds(8), [8, 8, 8]),
        // Three lines.
        (adds(23), [23, 23, 23]),
        // A branch that is not taken divides the chain.
        (
            format!("{}\n  cmpwi 6, 1\n  beq 3f{}\n3:", adds(2), adds(3)),
            [5, 5, 5],
        ),
        // So does one that is taken, to the same line.
        (
            format!("{}\n  b 2f\n  nop\n2:{}", adds(2), adds(3)),
            [5, 5, 5],
        ),
        ("mullw 3, 3, 4".to_owned(), [5, 4, 4]),
        ("lwz 5, 0(5)".to_owned(), [2, 2, 2]),
    ];
    for (body, cycles) in loops {
        let programs = [1000, 2000].map(|rounds| repeated(&body, rounds));
        for (machine, cycles) in CORES.into_iter().zip(cycles) {
            let [once, twice] =
                (programs.each_ref()).map(|program| finish(&mut program.session(machine, SMALL)));
            // The access that powers off waits for a clock edge of the bus.
            let off = (twice - once).abs_diff(1000 * cycles);
            assert!(off < 8, "{body} on {machine}: {} cycles", twice - once);
        }
    }
}

/// Multiplies, divides, loads and branches that need one another, over four lines.
const MIXED: &str = "mullw 3, 3, 4
  addi 3, 3, 77
  andi. 7, 3, 0x40
  beq 2f
  divwu 8, 3, 4
  lwz 5, 0(5)
  add 3, 3, 8
2: mulhwu 8, 3, 4
  cmpwi 8, 0x100
  bgt 3f
  mullw 3, 3, 3
  addi 3, 3, 5
3: lwz 5, 0(5)
  addze 3, 3
  mfcr 9
  rlwimi 3, 9, 8, 4, 20
  stw 3, 4(5)
  lwz 9, 4(5)
  add 3, 3, 9";

#[test]
fn stops_and_snapshots_within_a_chain_change_nothing() {
    let program = repeated(MIXED, 300);
    for machine in CORES {
        let mut whole = program.session(machine, SMALL);
        let end = finish(&mut whole);
        let mut parts = program.session(machine, SMALL);
        // The limit is checked before a block, and the last block powers off.
        for (n, cycles) in (0..end - 100).step_by(37).enumerate() {
            let limits = Limits {
                cycles,
                ..Limits::NONE
            };
            assert_eq!(parts.run(limits), Stop::Limit, "{machine} at {cycles}");
            if n % 32 == 0 {
                let saved = parts.save().unwrap();
                parts = Session::restore(&saved, "s", Console::memory()).unwrap();
            }
        }
        finish(&mut parts);
        assert_eq!(parts.counters(), whole.counters(), "{machine}");
    }
}

/// Nor do a profile, or running without fast paths.
#[test]
fn watching_a_chain_changes_nothing() {
    let program = repeated(MIXED, 300);
    for machine in CORES {
        let mut plain = program.session(machine, SMALL);
        finish(&mut plain);
        let mut profiled = program.session(machine, SMALL);
        profiled.record_profile(None);
        finish(&mut profiled);
        assert_eq!(profiled.counters(), plain.counters(), "{machine}");
        let mut oracle = program.session(machine, SMALL);
        oracle.set_oracle(true);
        finish(&mut oracle);
        assert_eq!(oracle.counters(), plain.counters(), "{machine}");
    }
}
