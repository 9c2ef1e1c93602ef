//! Machines with several processors: start, interrupts between them, locks, order of memory, TLB invalidation.

mod support;

#[path = "processors/private_l2.rs"]
mod private_l2;

use pagewalk_machine::board::Console;
use pagewalk_machine::machine::{Limits, Stop};
use pagewalk_machine::session::Session;
use support::{Program, machine_file};

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

fn session(program: &Program, machine: &str, processors: u32, settings: &[&str]) -> Session {
    let processors = format!("processors={processors}");
    let all: Vec<&str> = [OPENPIC, &processors]
        .into_iter()
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

#[test]
fn a_released_processor_begins_at_the_reset_vector() {
    let body = "
  slwi 4, 20, 2
  load 5, 0x11000
  mftb 6
  add 5, 5, 4
  stw 6, 0(5)
  mfspr 6, 1023
  stw 6, 32(5)
";
    for processors in [2, 4, 8] {
        let mut session = session(
            &program(processors, body, ""),
            "ppc604-185",
            processors,
            &[],
        );
        finish(&mut session);
        let first = word(&session, 0x11000);
        for number in 0..processors {
            assert_eq!(word(&session, 0x11020 + 4 * number), number, "PIR");
            let apart = word(&session, 0x11000 + 4 * number).abs_diff(first);
            assert!(apart < 500, "time bases are {apart} ticks apart");
        }
        let each = (0..processors as usize).map(|n| counter(&session, n, "instructions"));
        let sum: u64 = each.sum();
        let named = session.counters();
        let total = named
            .iter()
            .find(|(key, _)| key == "instructions")
            .unwrap()
            .1;
        assert_eq!(total, sum);
        assert_eq!(session.machine().instant().instructions, sum);
    }
}

/// A token goes round. Who gets it reads its time base, after it has seen what the one before it read. The least
/// difference of the two, in ticks. Processor 1 begins by setting its time base back by `back` ticks.
fn least_step(machine: &str, processors: u32, lead: u32, back: u32) -> i32 {
    let body = format!(
        "
  load 23, 0x11000
  load 28, 0x7fffffff
  li 25, 500
  cmpwi 20, 1
  bne 2f
  mftb 6
  addi 6, 6, -{back}
  mtspr 284, 6
2:
  mtctr 25
3:
  lwz 26, 0(23)
  cmpw 26, 20
  bne 3b
  isync
  mftb 6
  lwz 7, 32(23)
  cmpwi 7, 0
  beq 4f
  subf 27, 7, 6
  cmpw 27, 28
  bge 4f
  mr 28, 27
4:
  mftb 6
  stw 6, 32(23)
  sync
  addi 26, 26, 1
  cmpwi 26, {processors}
  bne 5f
  li 26, 0
5:
  stw 26, 0(23)
  bdnz 3b
  slwi 27, 20, 2
  addi 27, 27, 0x100
  stwx 28, 23, 27
"
    );
    let program = program(processors, &body, "");
    let mut session = session(&program, machine, processors, &[&format!("lead={lead}")]);
    finish(&mut session);
    let of_each = (0..processors).map(|number| word(&session, 0x11100 + 4 * number) as i32);
    of_each.min().unwrap()
}

/// Nobody reads an earlier time than was read before, but by what a processor may run ahead.
#[test]
fn time_bases_stay_in_step() {
    for (machine, lead) in [("ppc604-185", 1), ("ppc604-185", 100), ("ppc750-400", 100)] {
        let most = i32::try_from(lead).unwrap() / 8 + 8;
        for processors in [2, 4, 8] {
            let least = least_step(machine, processors, lead, 0);
            assert!(
                (-most..1000).contains(&least),
                "{machine}, {processors}: {least} ticks"
            );
        }
        let least = least_step(machine, 2, lead, 200);
        assert!(least < -most, "{machine}: {least} ticks");
    }
}

#[test]
fn a_held_processor_costs_nothing() {
    let alone =
        Program::new("_start:\n caches_on\n li 3, 1000\n mtctr 3\n1: bdnz 1b\n power_off 0\n");
    let run = |processors: u32| {
        let mut session = session(&alone, "ppc604-185", processors, &[]);
        finish(&mut session);
        session
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(one.counters(), four.counters());
    assert_eq!(
        one.machine().instant().cycles,
        four.machine().instant().cycles
    );
    for number in 1..4 {
        assert!(counts(&four).1[number].iter().all(|(_, value)| *value == 0));
    }
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
fn the_machines_with_several_processors_start_them() {
    for (machine, processors) in [
        ("ppc604-185x2", 2),
        ("ppc604-200x4", 4),
        ("ppc604-200x4-l2", 4),
        ("ppc750-400x2", 2),
    ] {
        let program = program(processors, LOCKED, "");
        let run = |oracle: bool| {
            let mut session = session_of(machine, &program);
            session.set_oracle(oracle);
            finish(&mut session);
            assert_eq!(word(&session, 0x10100), 200 * processors, "{machine}");
            counts(&session)
        };
        assert_eq!(run(false), run(true), "{machine}");
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
fn interrupts_wake_a_processor_that_saves_power() {
    let body = "
  load 10, 0xfc000000
  ori 7, 10, 0x1020
  lis 6, 0x2000
  stwbrx 6, 0, 7
  li 5, 0x80
  li 6, 0
  stwbrx 6, 5, 10
  load 6, 0x00060020
  ori 7, 10, 0x10a0
  cmpwi 20, 0
  bne 3f
  stwbrx 6, 0, 7
3:
  li 8, 0
  li 9, 1
  cmpwi 20, 0
  bne 5f
4:
  li 5, 0x40
  li 6, 2
  stwbrx 6, 5, 10
5:
  li 6, 0
  mtmsr 6
  isync
  cmpw 8, 9
  bge 6f
  load 6, 0x00048000
  sync
  mtmsr 6
  isync
  b 5b
6:
  cmpwi 20, 0
  beq 7f
  li 5, 0x40
  li 6, 1
  stwbrx 6, 5, 10
7:
  addi 9, 9, 1
  cmpwi 9, 10
  bgt finish
  cmpwi 20, 0
  beq 4b
  b 5b
";
    let program = program(2, body, "");
    let run = |oracle: bool| {
        let mut session = session(&program, "ppc604-185", 2, &[]);
        session.set_oracle(oracle);
        finish(&mut session);
        for (number, processor) in session.machine().processors().iter().enumerate() {
            assert_eq!(processor.registers.gpr.all()[8], 10, "interrupts taken");
            assert!(counter(&session, number, "idle.cycles") > 0);
        }
        counts(&session)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn all_asleep_is_told() {
    let program = Program::new("_start:\n mfmsr 6\n oris 6, 6, 4\n sync\n mtmsr 6\n isync\n b .\n");
    let mut session = session(&program, "ppc604-185", 2, &[]);
    let stop = session.run(CYCLES);
    let said = session.explain(&stop);
    assert!(said.contains("asleep"), "{said}");
    assert!(said.contains("processor 1 was never started"), "{said}");
    let mut session = session_of("ppc604-200x4", &program);
    let limits = Limits {
        cycles: 100,
        ..CYCLES
    };
    let stop = session.run(limits);
    let said = session.explain(&stop);
    for number in 1..4 {
        let told = format!("processor {number} was never started");
        assert!(said.contains(&told), "{said}");
    }
}

#[test]
fn a_dead_processor_stays_in_reset() {
    let released = Program::new(
        "
_start:
  vector 0x0100, reset
  load 10, 0xfc001090
  li 6, 0
  stwbrx 6, 0, 10
  li 6, 2000
  mtctr 6
1:
  bdnz 1b
  power_off 0
reset:
  load 3, 0x11000
  load 4, 0xfc000090
  lwbrx 4, 0, 4
  slwi 4, 4, 2
  li 5, 1
  stwx 5, 3, 4
  b .
",
    );
    for machine in ["ppc604-200x4", "ppc750-400x2"] {
        let mut session = released.session(machine, &["board.dead-processor=1"]);
        finish(&mut session);
        for number in 1..session.machine().processors().len() {
            let started = number != 1;
            assert_eq!(session.machine().is_held(number), !started);
            let wrote = word(&session, 0x11000 + 4 * number as u32);
            assert_eq!(wrote, u32::from(started), "{machine}, {number}");
        }
    }
}

/// Processor 1 has read a page. Processor 0 maps another frame there and invalidates. What does processor 1 read then?
#[test]
fn tlbie_reaches_the_others_if_it_is_broadcast() {
    let body = "
  paging
  load 23, 0x10080
  load 24, 0x40000000
  cmpwi 20, 0
  bne 5f
  poke 0x00300000, 3
  poke 0x00301000, 4
3:
  lwz 26, 0(23)
  cmpwi 26, 1
  bne 3b
  poke 0x002048c4, 0x00301192
  sync
  tlbie 24
  sync
  tlbsync
  sync
  poke 0x80000f10, 0x300
  li 26, 2
  stw 26, 0(23)
  b finish
5:
  lwz 27, 0(24)
  cmpwi 27, 3
  bne 5b
  li 26, 1
  stw 26, 0(23)
6:
  lwz 26, 0(23)
  cmpwi 26, 2
  bne 6b
  lwz 27, 0(24)
  load 25, 0x10100
  stw 27, 0(25)
";
    let program = program(2, body, "");
    for (settings, seen) in [
        (&[][..], 4),
        (&["tlb.broadcast=false"][..], 3),
        // These have the translation too.
        (&["tlb.l2.entries=64", "walk.walker=group-cache"][..], 4),
    ] {
        let broadcast = !settings.contains(&"tlb.broadcast=false");
        let received = u64::from(broadcast);
        let mut plain = session(&program, "ppc604-185", 2, settings);
        finish(&mut plain);
        assert_eq!(word(&plain, 0x10100), seen, "{settings:?}");
        assert_eq!(counter(&plain, 1, "tlb.received"), received);
        // Its entry, and its miss on that page later.
        assert_eq!(counter(&plain, 1, "tlb.taken"), received);
        let missed = "pollution.tlb.data.taken.kernel.kernel";
        assert_eq!(counter(&plain, 1, missed), received);
        assert_eq!(sum(&plain, "tlb.retried"), 0);
        // Processor 0 frees the frame when the others have acknowledged. One that uses it afterwards is reported.
        for oracle in [false, true] {
            let mut checked = session(&program, "ppc604-185", 2, settings);
            checked.set_oracle(oracle);
            checked.sanitize("all".parse().unwrap());
            let stop = checked.run(CYCLES);
            let said = checked.explain(&stop);
            if broadcast {
                assert_eq!(stop, Stop::PowerOff { status: 0 }, "{said}");
            } else {
                assert!(said.contains("stale translation: 0x40000000"), "{said}");
                assert!(said.contains("\nprocessor 1, cycle"), "{said}");
            }
        }
    }
}

#[test]
fn two_that_send_tlbie_at_once_retry_each_other() {
    let body = "
  li 24, 2000
  mtctr 24
  li 24, 0
3:
  tlbie 24
  tlbsync
  sync
  bdnz 3b
";
    let program = program(2, body, "");
    for (settings, broadcast) in [(&[][..], true), (&["tlb.broadcast=false"][..], false)] {
        let mut both = session(&program, "ppc604-185", 2, settings);
        finish(&mut both);
        for number in 0..2 {
            assert_eq!(counter(&both, number, "tlb.retried") > 0, broadcast);
        }
        assert!(sum(&both, "tlb.retried") <= 2 * 2 * 2000);
    }
}

/// Rounds of a litmus test.
const ROUNDS: u32 = 150;
const RESULTS: u32 = 0x60000;

/// The results r4 and r5 of each processor's code in each round. Its x and y are at 0(13) and 0(14), in lines of their
/// own, zero at first; r3 is 1. Each processor waits a random time before.
fn litmus(machine: &str, lead: &str, threads: &[&str]) -> Vec<Vec<(u32, u32)>> {
    let processors = threads.len() as u32;
    let mut cases = String::new();
    for (number, code) in threads.iter().enumerate() {
        cases += &format!("thread{number}:\n{code}\n  b joined\n");
    }
    let choose: String = (0..processors)
        .map(|number| format!("  cmpwi 20, {number}\n  beq thread{number}\n"))
        .collect();
    let body = format!(
        "
  load 13, 0x20000
  slwi 15, 20, 16
  load 16, {RESULTS}
  add 16, 16, 15
  addi 17, 20, 77
  load 18, 0x41c64e6d
  li 19, 0
round:
  load 23, 0x10080
3:
  lwarx 22, 0, 23
  addi 22, 22, 1
  stwcx. 22, 0, 23
  bne 3b
  addi 19, 19, {processors}
4:
  lwz 22, 0(23)
  cmpw 22, 19
  blt 4b
  mullw 17, 17, 18
  addi 17, 17, 12345
  rlwinm 22, 17, 16, 24, 31
  addi 22, 22, 1
  mtctr 22
5:
  bdnz 5b
  addi 14, 13, 64
  li 3, 1
  li 4, 0
  li 5, 0
{choose}
joined:
  stw 4, 0(16)
  stw 5, 4(16)
  addi 16, 16, 8
  addi 13, 13, 128
  load 22, 0x20000 + 128 * {ROUNDS}
  cmplw 13, 22
  blt round
  b finish
{cases}
"
    );
    let mut session = session(
        &program(processors, &body, ""),
        machine,
        processors,
        &[lead],
    );
    finish(&mut session);
    let of = |round: u32, thread: u32| {
        let place = RESULTS + (thread << 16) + 8 * round;
        (word(&session, place), word(&session, place + 4))
    };
    (0..ROUNDS)
        .map(|round| (0..processors).map(|thread| of(round, thread)).collect())
        .collect()
}

/// Results of all processors in a round that must not be.
type Forbidden = fn(&[(u32, u32)]) -> bool;

/// Message passing, store buffering, load buffering, and independent reads of independent writes. Without a barrier or
/// a dependency the architecture allows these results too. Here they are never seen: accesses are done in the order of
/// turns.
const LITMUS: [(&str, &[&str], Forbidden); 11] = [
    (
        "MP",
        &[
            "stw 3, 0(13)\n sync\n stw 3, 0(14)",
            "lwz 4, 0(14)\n sync\n lwz 5, 0(13)",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP, eieio and an address that depends",
        &[
            "stw 3, 0(13)\n eieio\n stw 3, 0(14)",
            "lwz 4, 0(14)\n xor 6, 4, 4\n lwzx 5, 13, 6",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP, lwsync, which these cores take for sync, and isync behind a branch",
        &[
            "stw 3, 0(13)\n .long 0x7c2004ac\n stw 3, 0(14)",
            "lwz 4, 0(14)\n cmpw 4, 4\n bne 9f\n9: isync\n lwz 5, 0(13)",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP without barriers",
        &["stw 3, 0(13)\n stw 3, 0(14)", "lwz 4, 0(14)\n lwz 5, 0(13)"],
        |r| r[1] == (1, 0),
    ),
    (
        "SB",
        &[
            "stw 3, 0(13)\n sync\n lwz 4, 0(14)",
            "stw 3, 0(14)\n sync\n lwz 4, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (0, 0),
    ),
    (
        "SB without barriers",
        &["stw 3, 0(13)\n lwz 4, 0(14)", "stw 3, 0(14)\n lwz 4, 0(13)"],
        |r| (r[0].0, r[1].0) == (0, 0),
    ),
    (
        "LB",
        &[
            "lwz 4, 0(13)\n sync\n stw 3, 0(14)",
            "lwz 4, 0(14)\n sync\n stw 3, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "LB, data that depends",
        &[
            "lwz 4, 0(13)\n xor 6, 4, 4\n add 6, 6, 3\n stw 6, 0(14)",
            "lwz 4, 0(14)\n xor 6, 4, 4\n add 6, 6, 3\n stw 6, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "LB without barriers",
        &["lwz 4, 0(13)\n stw 3, 0(14)", "lwz 4, 0(14)\n stw 3, 0(13)"],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "IRIW",
        &[
            "stw 3, 0(13)",
            "stw 3, 0(14)",
            "lwz 4, 0(13)\n sync\n lwz 5, 0(14)",
            "lwz 4, 0(14)\n sync\n lwz 5, 0(13)",
        ],
        |r| r[2] == (1, 0) && r[3] == (1, 0),
    ),
    (
        "IRIW, addresses that depend",
        &[
            "stw 3, 0(13)",
            "stw 3, 0(14)",
            "lwz 4, 0(13)\n xor 6, 4, 4\n lwzx 5, 14, 6",
            "lwz 4, 0(14)\n xor 6, 4, 4\n lwzx 5, 13, 6",
        ],
        |r| r[2] == (1, 0) && r[3] == (1, 0),
    ),
];

#[test]
fn nothing_forbidden_is_seen_in_litmus_tests() {
    for machine in MACHINES {
        for lead in ["lead=100", "lead=1"] {
            for (name, threads, forbidden) in LITMUS {
                let rounds = litmus(machine, lead, threads);
                let seen = rounds.iter().any(|round| forbidden(round));
                assert!(!seen, "{machine}, {lead}: {name}");
                if name == "MP" {
                    assert!(rounds.iter().any(|r| r[1] == (0, 0)), "both ways");
                    assert!(rounds.iter().any(|r| r[1] == (1, 1)), "both ways");
                }
            }
        }
    }
}

fn sum(session: &Session, name: &str) -> u64 {
    let processors = session.machine().processors().len();
    (0..processors)
        .map(|number| counter(session, number, name))
        .sum()
}

#[test]
fn what_processors_do_to_each_other_is_counted() {
    let program = program(2, LOCKED, "");
    for (machine, shared) in [("ppc604-185", true), ("ppc603-133", false)] {
        let mut session = session(&program, machine, 2, &[]);
        finish(&mut session);
        let mut oracle = self::session(&program, machine, 2, &[]);
        oracle.set_oracle(true);
        finish(&mut oracle);
        assert_eq!(counts(&session), counts(&oracle), "{machine}");
        let count = |name| sum(&session, name);
        assert_eq!(count("bus.retried"), count("bus.push"), "{machine}");
        for name in ["bus.snoop", "bus.push", "cache.data.taken"] {
            for number in 0..2 {
                assert!(counter(&session, number, name) > 0, "{machine}: {name}");
            }
        }
        assert!(count("bus.kill") > 0 || !shared, "{machine}");
        let missed = count("pollution.cache.data.taken.kernel.kernel");
        assert!(
            missed > 0 && missed <= count("cache.data.taken"),
            "{machine}"
        );
        assert!(count("sync.cycles") > 0 || !shared, "{machine}");
        let (elapsed, cycles) = (session.machine().instant().cycles, count("cycles"));
        let named = session.counters();
        let of = |name: &str| named.iter().find(|(key, _)| key == name).unwrap().1;
        assert_eq!((of("elapsed"), of("cycles")), (elapsed, cycles));
        let report = session.report(&Stop::Limit);
        assert_eq!(report["processors"].as_array().unwrap().len(), 2);
        assert_eq!(
            report["processors"][1]["bus.push"],
            counter(&session, 1, "bus.push")
        );
    }
}

#[test]
fn profile_and_trace_have_every_processor() {
    let program = program(2, LOCKED, "");
    let mut plain = session(&program, "ppc604-185", 2, &[]);
    finish(&mut plain);
    let mut watched = session(&program, "ppc604-185", 2, &[]);
    watched.record_profile(None);
    watched.record_trace("..".parse().unwrap());
    finish(&mut watched);
    assert_eq!(counts(&plain), counts(&watched));
    let cycles: u64 = watched.profile().iter().map(|row| row.cycles).sum();
    assert_eq!(cycles, sum(&plain, "cycles"));
    let trace = watched.trace();
    for pid in [1, 2] {
        let ran = trace["traceEvents"].as_array().unwrap().iter();
        let ran = ran.filter(|event| event["ph"] == "X" && event["pid"] == pid);
        assert!(ran.count() > 0, "processor {pid} of the trace");
    }
}

/// Processor 0 begins a region, processor 1 ends it: it has the counts of both.
#[test]
fn a_region_counts_all_processors() {
    let body = "
  load 23, 0x10080
  cmpwi 20, 0
  bne 5f
  poke 0x80001000, 7
  li 26, 1
  stw 26, 0(23)
  b finish
5:
  lwz 26, 0(23)
  cmpwi 26, 1
  bne 5b
  li 27, 1000
  mtctr 27
6:
  bdnz 6b
  poke 0x80001004, 7
";
    let mut session = session(&program(2, body, ""), "ppc604-185", 2, &[]);
    finish(&mut session);
    let (number, region) = session.regions().next().expect("it ended");
    assert_eq!((number, region.passes), (7, 1));
    let count = |name: &str| region.counters.get(name).unwrap();
    assert!(count("instructions") > 2000, "of both");
    let (elapsed, cycles) = (count("elapsed"), count("cycles"));
    assert!(elapsed > 500 && elapsed < cycles, "{elapsed} of {cycles}");
}

/// `lead` changes the order of accesses within its cycles. Cores with the shared state are hardly touched by that.
/// Without it every poll of a lock takes the line, and with it the order of accesses decides how often.
#[test]
fn the_lead_changes_times_within_bounds() {
    for (machine, percent) in [("ppc604-185", 15), ("ppc603-133", 200)] {
        for processors in [2, 4] {
            let program = program(processors, LOCKED, "");
            let elapsed = |lead: &str| {
                let mut session = session(&program, machine, processors, &[lead]);
                finish(&mut session);
                session.machine().instant().cycles
            };
            let (least, usual) = (elapsed("lead=1"), elapsed("lead=100"));
            let (less, more) = (least.min(usual), least.max(usual));
            println!("{machine}, {processors}: {least} cycles with lead=1, {usual} with 100");
            assert!(
                (more - less) * 100 <= less * percent,
                "{machine}: {least}, {usual}"
            );
        }
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
            "ppc604-133-l2",
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
