//! What observers tell of several processors: counters, profile, trace, regions of interest.

use super::*;
use pagewalk_machine::powerpc::dump::StateDump;

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

/// The guest asks for a dump, and begins and ends a region: there is one of each processor, which names it.
#[test]
fn a_dump_shows_all_processors_and_names_them() {
    let body = "
  mtsr 5, 20
  load 23, 0x20000
  slwi 24, 20, 12
  stwx 20, 23, 24
  load 23, 0x10080
  cmpwi 20, 0
  bne 5f
4:
  lwz 26, 0(23)
  cmpwi 26, 1
  bne 4b
  poke 0x80001000, 7
  poke 0x80001004, 7
  poke 0x80000f24, 42
  b finish
5:
  li 26, 1
  stw 26, 0(23)
";
    let program = program(2, body, "");
    for machine in MACHINES {
        let mut plain = session(&program, machine, 2, &[]);
        plain.dump_at_region(7);
        finish(&mut plain);
        let mut looked = session(&program, machine, 2, &[]);
        looked.dump_at_region(7);
        for cycles in (1..).map(|n: u64| 500 * n) {
            let until = Limits { cycles, ..CYCLES };
            if looked.run(until) != Stop::Limit {
                break;
            }
            assert_eq!(looked.dump(0).len(), 2);
        }
        assert_eq!(counts(&plain), counts(&looked), "{machine}");
        assert_eq!(plain.dumps(), looked.dumps(), "{machine}");
        assert_eq!(plain.region_states(), looked.region_states(), "{machine}");
        let asked = [plain.region_states(), plain.dumps()].concat();
        let labels: Vec<_> = (asked.iter())
            .map(|dump| (dump.label, dump.processor))
            .collect();
        let both = |label| [(label, Some(0)), (label, Some(1))];
        assert_eq!(labels, [both(7), both(7), both(42)].concat(), "{machine}");
        let last = plain.dump(5);
        for dump in asked.iter().chain(&last) {
            let number = dump.processor.unwrap();
            assert_eq!(dump.segments[5].vsid, u32::from(number), "{machine}");
            assert_eq!(dump.to_json()["processor"], number);
            let heading = format!("state {} of processor {number} at cycle ", dump.label);
            assert!(dump.to_string().starts_with(&heading), "{dump}");
        }
        for dump in plain.dumps().iter().chain(&last) {
            let lines = dump.data_cache.iter().map(|line| line.physical);
            let own: Vec<_> = lines.filter(|line| line >> 16 == 2).collect();
            let number = u32::from(dump.processor.unwrap());
            assert_eq!(own, [0x2_0000 + 0x1000 * number], "{machine}");
        }
        let l2 = |dump: &StateDump| dump.l2_cache.len();
        assert!(l2(&last[0]) > 0, "{machine}");
    }
}

/// After any number of passes those of the last one are shown, and the dumps that the guest asks for have all their
/// room. The guest waits for the end of its turn, when the states are taken.
#[test]
fn a_region_shows_its_last_pass() {
    let body = "
  cmpwi 20, 0
  bne finish
  li 26, 50
  mtctr 26
4:
  mfctr 26
  mtsr 5, 26
  poke 0x80001000, 7
  li 27, 100
5:
  addi 27, 27, -1
  cmpwi 27, 0
  bne 5b
  addi 26, 26, 0x100
  mtsr 5, 26
  poke 0x80001004, 7
  li 27, 100
6:
  addi 27, 27, -1
  cmpwi 27, 0
  bne 6b
  bdnz 4b
  poke 0x80001004, 7
  poke 0x80001000, 7
  poke 0x80001000, 8
  poke 0x80000f24, 7
";
    for (processors, machine) in [(1, "ppc604-133"), (3, "ppc604-185"), (4, "ppc604-185")] {
        let mut session = session(&program(processors, body, ""), machine, processors, &[]);
        let count = processors as usize;
        session.dump_at_region(7);
        finish(&mut session);
        assert_eq!(session.dumps().len(), count, "{count} processors");
        assert_eq!(session.warnings(), [""; 0]);
        let (begun, ended) = session.region_states().split_at(count);
        assert_eq!(ended.len(), count);
        let number = |at: usize| (count > 1).then_some(at as u8);
        for (at, state) in begun.iter().chain(ended).enumerate() {
            assert_eq!(state.processor, number(at % count));
            assert_eq!(state.label, 7);
        }
        assert_eq!(begun[0].segments[5].vsid, 1, "{count} processors");
        assert_eq!(ended[0].segments[5].vsid, 0x101, "{count} processors");
    }
}

#[test]
fn the_most_dumps_are_of_whole_machines() {
    let body = "
  cmpwi 20, 0
  bne finish
  load 23, 0x80000f24
  li 26, 30
  mtctr 26
4:
  stw 26, 0(23)
  bdnz 4b
";
    let mut session = session(&program(3, body, ""), "ppc604-185", 3, &[]);
    finish(&mut session);
    assert_eq!(session.dumps().len(), 63);
    let warnings = session.warnings().join(", ");
    assert!(
        warnings.contains("27 state dumps were not written: 64 are the most"),
        "{warnings}"
    );
}
