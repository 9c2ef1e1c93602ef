//! Profile, trace, regions, dumps, snapshots: their content. They change no count.

mod stale;

use crate::kernel;
use crate::support;
use crate::support::Program;
use pagewalk_machine::account::counters::slot;
use pagewalk_machine::account::{Cause, CauseNames, Event, Plain};
use pagewalk_machine::board::Console;
use pagewalk_machine::observe::trace::Window;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A loop in `work` inside region 7, twice; prints "ok" at the end.
const WORK: &str = "
  .type _start, @function
_start:
  caches_on
  paging
  load 20, 2
again:
  poke 0x80001000, 7
  bl work
  poke 0x80001004, 7
  addic. 20, 20, -1
  bne again
  load 5, 0x800003f8
  li 6, 'o'
  stb 6, 0(5)
  li 6, 'k'
  stb 6, 0(5)
  poke 0x80000f24, 42
  power_off 3
  .size _start, . - _start
  .type work, @function
work:
  load 5, 0x40000000
  li 6, 100
  mtctr 6
1: lwz 7, 0(5)
  addi 7, 7, 1
  stw 7, 0(5)
  bdnz 1b
  blr
  .size work, . - work
";

fn finished(session: &mut Session) {
    let stop = session.run(Limits::NONE);
    assert_eq!(
        stop,
        Stop::PowerOff { status: 3 },
        "{}",
        session.explain(&stop)
    );
}

fn plain(program: &Program) -> Vec<(String, u64)> {
    let mut session = program.session("ppc604-185", &[]);
    finished(&mut session);
    assert_eq!(session.printed(), b"ok");
    session.counters()
}

/// The number of a cause that every guest has.
fn cause(name: &str) -> Cause {
    CauseNames::default().find(name).unwrap()
}

#[test]
fn regions_add_up_their_passes() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &[]);
    finished(&mut session);
    let regions: Vec<_> = session.regions().collect();
    let (number, region) = regions[0];
    assert_eq!((regions.len(), number, region.passes), (1, 7, 2));
    // Four instructions a turn, five around the loop, and the store's own poke of each end.
    let instructions = region.counters.total(Event::Instructions);
    assert!((810..=830).contains(&instructions), "{instructions}");
    assert_eq!(region.counters.total(Event::DataTlbMiss), 1);
    let report = session.report(&Stop::PowerOff { status: 3 });
    assert_eq!(report["stop"]["status"], 3);
    assert_eq!(
        report["regions"][0]["counters"]["instructions"],
        instructions
    );
}

#[test]
fn observers_change_no_count() {
    let program = Program::new(WORK);
    let expected = plain(&program);
    let mut session = program.session("ppc604-185", &[]);
    session.record_profile(None);
    session.record_trace(Window::default());
    finished(&mut session);
    assert_eq!(session.counters(), expected);
    let mut session = program.session("ppc604-185", &[]);
    session.set_oracle(true);
    finished(&mut session);
    assert_eq!(session.counters(), expected);
}

#[test]
fn the_profile_holds_every_cycle_and_instruction() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &[]);
    session.record_profile(None);
    finished(&mut session);
    let rows = session.profile();
    let counters = &session.machine().processor().account.counters;
    let cycles: u64 = rows.iter().map(|row| row.cycles).sum();
    let instructions: u64 = rows.iter().map(|row| row.instructions).sum();
    assert_eq!(cycles, counters.total(Event::Cycles));
    assert_eq!(instructions, counters.total(Event::Instructions));
    let work = rows.iter().find(|row| row.function == "work").unwrap();
    assert_eq!(work.instructions, 2 * (4 + 400 + 1));
    assert!(session.profile_folded().contains(";work_[k] "));
}

/// One block sets the cause twice, which charges the cycles so far. Then an access fails, which takes back the rest
/// of the block.
const TOLD_AND_TAKEN_BACK: &str = "
_start:
  poke 0x600, 0x7e9a02a6
  poke 0x604, 0x3a940004
  poke 0x608, 0x7e9a03a6
  poke 0x60c, 0x4c000064
  sync
  caches_on
  load 10, 0x80000f0c
  load 7, 0x00100001
  li 3, 40
  mtctr 3
  li 3, 9
  b 1f
  .balign 32
1: mfctr 5
  andi. 5, 5, 7
  stw 3, 0(10)
  stw 5, 0(10)
  lwarx 6, 0, 7
  mullw 6, 5, 5
  mullw 6, 6, 5
  bdnz 1b
  power_off 3
";

#[test]
fn the_profile_takes_back_what_an_exception_takes_back() {
    let program = Program::new(TOLD_AND_TAKEN_BACK);
    let mut plain = program.session("ppc604-185", &[]);
    finished(&mut plain);
    let mut session = program.session("ppc604-185", &[]);
    session.record_profile(None);
    finished(&mut session);
    assert_eq!(session.counters(), plain.counters());
    let rows = session.profile();
    let counters = &session.machine().processor().account.counters;
    for (cause, name) in CauseNames::default().all() {
        let of_cause = rows.iter().filter(|row| row.cause == name);
        let (cycles, instructions) = of_cause.fold((0, 0), |(cycles, instructions), row| {
            (cycles + row.cycles, instructions + row.instructions)
        });
        let slot = slot(false, cause);
        let of = |event: Event| counters.split[event as usize][slot];
        assert_eq!(cycles, of(Event::Cycles), "{name}");
        assert_eq!(instructions, of(Event::Instructions), "{name}");
    }
    assert!(counters.total(Event::Instructions) > 40 * 8);
}

#[test]
fn the_trace_shows_functions_regions_and_misses() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &[]);
    session.record_trace(Window::default());
    finished(&mut session);
    let trace = session.trace();
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |phase: &str, name: &str| {
        events
            .iter()
            .filter(|event| event["ph"] == phase && event["name"] == name)
            .count()
    };
    assert!(count("X", "work") >= 2);
    assert_eq!((count("b", "region 7"), count("e", "region 7")), (2, 2));
    assert!(count("i", "cache.data.miss") >= 1);
    let clock = 185e6;
    let end = session.machine().instant().cycles as f64 * 1e6 / clock;
    assert!(
        events
            .iter()
            .all(|event| event["ts"].as_f64().unwrap_or(0.0) <= end)
    );
}

fn misses(trace: &Value, side: &str) -> Vec<Value> {
    let events = trace["traceEvents"].as_array().unwrap();
    let name = format!("tlb.{side}.miss");
    let mut found: Vec<Value> = events.clone();
    found.retain(|event| event["name"] == *name);
    found
}

#[test]
fn a_tlb_miss_in_the_trace_says_where_it_was_and_how_long_it_took() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &[]);
    session.record_trace(Window::default());
    finished(&mut session);
    let trace = session.trace();
    assert_eq!(misses(&trace, "instruction").len(), 0, "BATs map the code");
    let [miss] = misses(&trace, "data").try_into().unwrap();
    let walk = session.machine().processor().account.counters.plain[Plain::WalkCycles as usize];
    assert_eq!(miss["ph"], "X");
    let args = &miss["args"];
    assert_eq!(
        (
            &args["address"],
            &args["side"],
            &args["set"],
            &args["cycles"]
        ),
        (
            &json!("0x40000000"),
            &json!("data"),
            &json!(0),
            &json!(walk)
        )
    );
    assert_eq!((&args["way"], &args["victim"]), (&json!(0), &Value::Null));
}

/// The trace has every miss, with an existing set and way. A replaced entry is of the same set, and its owner is
/// known, because the trace recorded its load.
#[test]
fn tlb_misses_of_a_kernel_name_the_page_that_had_to_go() {
    let kernel = kernel::build();
    for machine in ["ppc603-133", "ppc604-133", "mpc855t-48"] {
        let mut session = kernel.session(
            support::config(machine, &[]),
            "quiet -- /bin/tlb-stress iterations=1 warmup=0 processes=2 pages=100",
        );
        session.record_trace(Window::default());
        let until = Limits {
            cycles: 8_000_000,
            ..Limits::NONE
        };
        assert_eq!(session.run(until), Stop::Limit, "{machine}");
        let trace = session.trace();
        let counters = &session.machine().processor().account.counters;
        let geometry = *session.machine().processor().mmu.geometry();
        let in_hardware = machine == "ppc604-133";
        let mut contexts = BTreeSet::new();
        for (side, event, tlb) in [
            (
                "instruction",
                Event::InstructionTlbMiss,
                geometry.instruction,
            ),
            ("data", Event::DataTlbMiss, geometry.data),
        ] {
            let found = misses(&trace, side);
            assert_eq!(
                found.len() as u64,
                counters.total(event),
                "{machine} {side}"
            );
            let sets = if machine.starts_with("mpc") {
                1
            } else {
                u64::from(tlb.sets())
            };
            let set_of = |address: &Value| {
                let digits = address.as_str().unwrap().strip_prefix("0x").unwrap();
                (u64::from_str_radix(digits, 16).unwrap() >> 12) % sets
            };
            for miss in &found {
                let args = &miss["args"];
                assert_eq!(args["set"], set_of(&args["address"]), "{miss}");
                assert!(!in_hardware || args["cycles"].as_u64() > Some(0), "{miss}");
                let Some(way) = args["way"].as_u64() else {
                    continue;
                };
                assert!(way < u64::from(tlb.entries) / sets, "{miss}");
                assert!(args["cycles"].as_u64() > Some(0), "{miss}");
                let victim = &args["victim"];
                if !victim.is_null() {
                    assert_eq!(args["set"], set_of(&victim["page"]), "{miss}");
                    contexts.insert((side, victim["context"].as_u64().unwrap()));
                }
            }
        }
        assert!(contexts.len() > 1, "{machine}: {contexts:?}");
    }
}

#[test]
fn a_dump_shows_what_translates() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &[]);
    finished(&mut session);
    let dump = &session.dumps()[0];
    assert_eq!(dump.label, 42);
    assert_eq!(
        (dump.segments[4].vsid, dump.segments[4].user_key),
        (0x123, true)
    );
    let bat = &dump.data_bats[1];
    assert_eq!(
        (bat.number, bat.effective, bat.physical, bat.size),
        (1, 0x8000_0000, 0x8000_0000, 256 << 20)
    );
    let entry = &dump.data_tlb[0];
    assert_eq!(
        (entry.vsid, entry.page_index, entry.physical),
        (0x123, 0, 0x30_0000)
    );
    let table = dump.hash_table.as_ref().unwrap();
    assert_eq!(
        (table.physical, table.groups, table.used),
        (0x20_0000, 1024, 1)
    );
    assert_eq!(
        (
            table.occupancy[0x123],
            table.histogram[0],
            table.histogram[1]
        ),
        (1, 1023, 1)
    );
    let pte = &table.entries[0];
    assert_eq!(
        (pte.group, pte.slot, pte.page_index, pte.changed),
        (0x123, 0, 0, true)
    );
    assert!(
        dump.data_cache
            .iter()
            .any(|line| line.physical == 0x30_0000 && line.modified)
    );
    let text = dump.to_string();
    for line in [
        "state 42 at cycle ",
        "   4 vsid 000123 --p-",
        "hash table at 00200000: 1024 PTEGs, 1 of 8192 PTEs valid",
        " 00300000 M",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert_eq!(dump.to_json()["hash_table"]["used"], 1);
}

#[test]
fn a_restored_snapshot_goes_on_the_same() {
    let program = Program::new(WORK);
    let small = "memory.size=0x400000";
    for (machine, settings) in [
        ("ppc604-185", &[small][..]),
        ("ppc603-133", &[small]),
        ("ppc750-400", &[small]),
        (
            "ppc604-185",
            &[
                small,
                "tlb.l2.entries=8",
                "tlb.data.replacement=fifo",
                "tlb.instruction.replacement=random",
                "walk.walker=group-cache",
            ],
        ),
    ] {
        // The 603 cannot reload the page; it works in RAM that a BAT maps.
        let source = WORK.replace("0x40000000", "0x00300000");
        let program603 = Program::new(&source);
        let program = if machine == "ppc603-133" {
            &program603
        } else {
            &program
        };
        let mut whole = program.session(machine, settings);
        finished(&mut whole);
        let end = whole.machine().instant().cycles;
        for at in [0, end / 7, end / 3, end / 2, end - 40] {
            let mut first = program.session(machine, settings);
            assert_eq!(
                first.run(Limits {
                    cycles: at,
                    ..Limits::NONE
                }),
                Stop::Limit
            );
            let bytes = first.save().unwrap();
            let mut second = Session::restore(&bytes, "s", Console::memory()).unwrap();
            assert_eq!(second.machine().instant(), first.machine().instant());
            finished(&mut first);
            finished(&mut second);
            assert_eq!(
                first.counters(),
                whole.counters(),
                "{machine} stopped at {at}"
            );
            assert_eq!(
                second.counters(),
                whole.counters(),
                "{machine} restored at {at}"
            );
            assert_eq!(second.printed(), b"ok");
            assert_eq!(second.dump(0), whole.dump(0));
            let regions = |session: &Session| {
                session
                    .regions()
                    .map(|(n, region)| (n, region.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(regions(&second), regions(&whole));
        }
    }
}

/// Waiting input in the UART and behind it, an interrupt and a decrementer exception that wait for MSR[EE], and
/// running counters of the performance monitor.
#[test]
fn what_waits_in_a_snapshot_waits_in_its_restored_machine() {
    const SELECT: &str = "load 3, 1 << 6 | 2\n  mtspr 952, 3";
    const READ: &str = "mfspr 7, 953\n  mfspr 8, 954";
    let source = format!(
        "_start:
  caches_on
  vector 0x500, external
  vector 0x900, decrementer
  li 20, 0
  li 21, 0
  {SELECT}
  load 5, 0x80000020
  li 6, 0x11
  stb 6, 0(5)
  li 6, 8
  stb 6, 1(5)
  li 6, 4
  stb 6, 1(5)
  li 6, 1
  stb 6, 1(5)
  li 6, 0xef
  stb 6, 1(5)
  load 5, 0x800003f8
  li 6, 1
  stb 6, 1(5)
  li 3, 10
  mtdec 3
  load 3, 20000
  mtctr 3
waiting:
  bdnz waiting
  mfmsr 3
  ori 3, 3, 0x8000
  mtmsr 3
  isync
1: cmpwi 20, 30
  blt 1b
  {READ}
  load 9, 0x00100000
  stw 21, 0(9)
  stw 7, 4(9)
  stw 8, 8(9)
  power_off 3
external:
  lbz 6, 5(5)
  andi. 6, 6, 1
  beq 2f
  lbz 6, 0(5)
  stb 6, 0(5)
  addi 20, 20, 1
  b .-24
2: load 6, 0x80000020
  li 7, 0x20
  stb 7, 0(6)
  rfi
decrementer:
  addi 21, 21, 1
  load 3, 0x7fffffff
  mtdec 3
  rfi"
    );
    let program = Program::new(&source);
    let without_monitor = Program::new(&source.replace(SELECT, "").replace(READ, ""));
    let input = b"thirty bytes of console input.";
    assert_eq!(input.len(), 30);
    for machine in ["ppc603-133", "ppc604-185", "ppc750-400"] {
        let program = match machine {
            "ppc603-133" => &without_monitor,
            _ => &program,
        };
        let mut first = program.session(machine, &["memory.size=0x400000"]);
        first.type_in(input);
        let until = Limits {
            cycles: 6000,
            ..Limits::NONE
        };
        let stop = first.run(until);
        assert_eq!(stop, Stop::Limit, "{machine}: {}", first.explain(&stop));
        assert!(
            first.machine().processor().decrementer() > 0x8000_0000,
            "it has expired"
        );
        assert_eq!(first.printed(), b"", "nothing has been taken in yet");
        let bytes = first.save().unwrap();
        let mut second = Session::restore(&bytes, "s", Console::memory()).unwrap();
        finished(&mut first);
        finished(&mut second);
        assert_eq!(second.printed(), input);
        assert_eq!(second.machine().instant(), first.machine().instant());
        assert_eq!(second.counters(), first.counters(), "{machine}");
        let found = |session: &Session| {
            let ram = &session.machine().processor().memory.uncore.ram;
            [0, 4, 8].map(|at| ram.read_u32(0x10_0000 + at).unwrap())
        };
        assert_eq!(found(&first)[0], 1, "decrementer exceptions");
        assert_eq!(found(&second), found(&first), "{machine}");
    }
}

/// The kernel under all sanitizers, whose knowledge of frames and VSIDs a snapshot holds.
#[test]
fn a_kernel_goes_on_the_same_under_sanitizers() {
    let kernel = kernel::build();
    for machine in ["ppc603-133", "ppc604-133"] {
        let mut whole = kernel.session(
            support::config(machine, &[]),
            "quiet -- /bin/tlb-stress iterations=1 warmup=0 processes=2 pages=40",
        );
        whole.sanitize("all".parse().unwrap()).unwrap();
        let mut saved = Vec::new();
        for at in [1_000_000, 3_000_000] {
            let until = Limits {
                cycles: at,
                ..Limits::NONE
            };
            assert_eq!(whole.run(until), Stop::Limit, "{machine} at {at}");
            saved.push(whole.save().unwrap());
        }
        assert_eq!(whole.run(Limits::NONE), Stop::PowerOff { status: 0 });
        for bytes in saved {
            let mut session = Session::restore(&bytes, "s", Console::memory()).unwrap();
            // Asked for again, as on the command line, they keep what they know.
            session.sanitize("all".parse().unwrap()).unwrap();
            assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
            assert_eq!(session.counters(), whole.counters(), "{machine}");
            assert_eq!(session.printed(), whole.printed(), "{machine}");
        }
    }
}

#[test]
fn damaged_snapshots_are_refused() {
    let program = Program::new(WORK);
    let mut session = program.session("ppc604-185", &["memory.size=0x400000"]);
    let bytes = session.save().unwrap();
    let refusal = |bytes: &[u8]| {
        Session::restore(bytes, "s.snap", Console::memory())
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        refusal(b"hello"),
        "s.snap: is not a snapshot of this version of the machine"
    );
    // Another version's, and one cut off where its version stands.
    let mut other = bytes.clone();
    other[20] ^= 1;
    for other in [&other[..], &bytes[..28]] {
        assert_eq!(
            refusal(other),
            "s.snap: is not a snapshot of this version of the machine"
        );
    }
    for length in [32, 48, bytes.len() / 2, bytes.len() - 1] {
        let message = refusal(&bytes[..length]);
        assert!(
            message.starts_with("s.snap: the snapshot is damaged: "),
            "{message}"
        );
    }
}

/// A store that changes the cause and a trap after it are in one block. The store charges the rest of the block to
/// the old cause; the trap must take that back.
#[test]
fn an_exception_behind_a_change_of_cause_charges_nobody_for_what_did_not_run() {
    let program = Program::new(
        "
_start:
  caches_on
  load 6, handler
  load 5, 0x700
  sub 6, 6, 5
  load 3, 0x48000000
  or 3, 3, 6
  stw 3, 0(5)
  dcbst 0, 5
  sync
  icbi 0, 5
  isync
  load 4, 0x80000f0c
  li 5, 8
  b 1f
.balign 32
1: stw 5, 0(4)
  trap
  divwu 7, 7, 5
  divwu 7, 7, 5
  stw 7, 0(4)
  lwz 7, 0(1)
handler:
  power_off 0
",
    );
    for machine in ["ppc603-133", "ppc604-133"] {
        let mut session = program.session(machine, &[]);
        assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
        let counters = &session.machine().processor().account.counters;
        let charged =
            |event| [Cause::KERNEL, cause("clear")].map(|cause| counters.by_cause(event, cause));
        let [before, after] = charged(Event::Cycles);
        assert_eq!(before + after, session.machine().processor().cycles());
        let [before, after] = charged(Event::Instructions);
        assert_eq!(before + after, session.machine().instant().instructions);
        // Once the trap has been taken: the branch in the vector and power_off's six instructions.
        assert_eq!(after, 7);
        // The vector's store, dcbst and icbi; the cause; power_off.
        assert_eq!(charged(Event::DataCacheAccess).iter().sum::<u64>(), 5);
    }
}
