//! Starting, waking and holding processors.

use super::*;

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
            assert_eq!(session.machine().is_in_reset(number), !started);
            let wrote = word(&session, 0x11000 + 4 * number as u32);
            assert_eq!(wrote, u32::from(started), "{machine}, {number}");
        }
    }
}
