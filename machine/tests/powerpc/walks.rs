//! The steps of walks in a trace: what each access found, in hardware and in a handler. Recording changes no count.

use crate::kernel;
use crate::support;
use crate::support::Program;
use pagewalk_machine::account::{Event, Plain};
use pagewalk_machine::observe::trace::Window;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;
use serde_json::{Value, json};

/// One load from a page that the hash table has.
const LOAD: &str = "
_start:
  caches_on
  paging
  load 5, 0x40000000
  lwz 7, 0(5)
  power_off 3
";

const MACHINES: [&str; 3] = ["ppc603-133", "ppc604-133", "mpc855t-48"];

fn misses(session: &Session) -> Vec<Value> {
    let mut events = session.trace_events(0..session.trace_len());
    events.retain(|event| {
        event["name"]
            .as_str()
            .is_some_and(|name| name.ends_with(".miss") && name.starts_with("tlb."))
    });
    events
}

fn booted(machine: &str) -> Session {
    let kernel = kernel::build();
    kernel.session(
        support::config(machine, &[]),
        "quiet -- /bin/tlb-stress iterations=1 warmup=0 processes=2 pages=40",
    )
}

#[test]
fn a_search_of_the_hash_table_is_told_slot_by_slot() {
    let mut session = Program::new(LOAD).session("ppc604-185", &[]);
    session.record_translation(Window::default());
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 3 });
    let [miss] = misses(&session).try_into().unwrap();
    let args = &miss["args"];
    assert_eq!(
        (&args["segment"], &args["vsid"], &args["page_index"]),
        (&json!(4), &json!("0x000123"), &json!("0x0000"))
    );
    // The table is at 0x200000, and the hash of page 0 of VSID 0x123 is 0x123.
    assert_eq!(
        (&args["hash"], &args["primary"], &args["secondary"]),
        (
            &json!("0x00123"),
            &json!("0x002048c0"),
            &json!("0x0020b700")
        )
    );
    assert_eq!(args["ways"], json!([null, null]));
    let steps = args["walk"].as_array().unwrap();
    let read = &steps[0];
    assert_eq!(
        (
            &read["table"],
            &read["slot"],
            &read["found"],
            &read["address"]
        ),
        (
            &json!("primary"),
            &json!(0),
            &json!("match"),
            &json!("0x002048c0")
        )
    );
    // The PTE has R clear or set; if clear, the walk's second access sets it.
    assert!(steps.len() <= 2);
    let took: u64 = steps
        .iter()
        .map(|step| step["took"].as_u64().unwrap())
        .sum();
    assert!(
        0 < took && took < args["cycles"].as_u64().unwrap(),
        "{miss}"
    );
}

#[test]
fn each_walk_of_a_kernel_has_its_steps() {
    for machine in MACHINES {
        let mut session = booted(machine);
        session.record_translation(Window::default());
        assert_eq!(
            session.run(Limits::NONE),
            Stop::PowerOff { status: 0 },
            "{machine}"
        );
        let found = misses(&session);
        let counters = &session.machine().processor().account.counters;
        let counted =
            counters.total(Event::InstructionTlbMiss) + counters.total(Event::DataTlbMiss);
        assert_eq!(found.len() as u64, counted, "{machine}");
        assert!(session.trace_limits().is_empty(), "{machine}");
        let (mut reads, mut complete, mut loaded) = (0, 0, 0);
        for miss in &found {
            let args = &miss["args"];
            let steps = args["walk"].as_array().unwrap();
            let tables: Vec<&str> = steps
                .iter()
                .filter_map(|step| step["table"].as_str())
                .collect();
            let ways = args["ways"].as_array().unwrap();
            if let Some(way) = args["way"].as_u64() {
                // The entry that was there is the one that had to go.
                let before = &ways[way as usize];
                assert!(
                    args["victim"].is_null() || args["victim"]["space"] == before["space"],
                    "{miss}"
                );
                let levels = tables.contains(&"level 1") && tables.contains(&"level 2");
                let matched = steps.iter().any(|step| step["found"] == "match");
                complete += u64::from(levels || matched);
                loaded += 1;
                assert!(machine != "ppc604-133" || matched, "{miss}");
            }
            reads += steps.iter().filter(|step| step["bytes"] == 8).count() as u64;
            let mut clock = 0;
            for step in steps {
                let at = step["at"].as_u64().unwrap();
                assert!(at >= clock, "{miss}");
                clock = at;
            }
        }
        // Searches that only set C belong to no miss.
        assert!(reads <= counters.plain[Plain::HashAccess as usize]);
        assert_eq!(reads > 0, machine == "ppc604-133");
        // The rest use an entry that the 603's handler has prepared.
        assert!(
            4 * complete > 3 * loaded,
            "{machine}: {complete} of {loaded}"
        );
    }
}

#[test]
fn recording_walks_changes_no_count() {
    for machine in MACHINES {
        let mut plain = booted(machine);
        assert_eq!(
            plain.run(Limits::NONE),
            Stop::PowerOff { status: 0 },
            "{machine}"
        );
        assert_eq!(plain.trace_len(), 0);
        for oracle in [false, true] {
            let mut session = booted(machine);
            session.record_translation(Window::default());
            session.record_profile(None);
            session.set_oracle(oracle);
            assert_eq!(
                session.run(Limits::NONE),
                Stop::PowerOff { status: 0 },
                "{machine}"
            );
            assert_eq!(session.counters(), plain.counters(), "{machine} {oracle}");
            assert_eq!(session.printed(), plain.printed(), "{machine}");
        }
    }
}

#[test]
fn a_trace_of_translation_has_nothing_else() {
    let mut session = booted("ppc604-133");
    session.record_translation(Window::default());
    assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
    let events = session.trace_events(0..session.trace_len());
    let mut flushes = 0;
    for event in &events {
        let name = event["name"].as_str().unwrap();
        if event["args"]["cause"] == "flush" && event["ph"] == "X" && !name.starts_with("tlb.") {
            flushes += 1;
            continue;
        }
        let known = ["tlb.", "context ", "region "];
        assert!(known.iter().any(|known| name.starts_with(known)), "{event}");
    }
    assert!(flushes > 0);
}
