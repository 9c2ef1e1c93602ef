//! What a trace and a listener are told on an x86 machine: misses with the steps of their walks and with victims, and
//! exceptions. A PowerPC's are in `tests/powerpc/walks.rs` and `listening.rs`.

use pagewalk_machine::account::tlb_events::TlbNote;
use pagewalk_machine::observe::listener::{Filter, Listener, What};
use pagewalk_machine::observe::trace::{Trace, Window};
use pagewalk_machine::x86::{Fatal, Stop};
use serde_json::{Value, json};

use super::bench::{Bench, DATA, DIRECTORY, TABLE};

const MACHINES: [&str; 2] = ["i486dx-50", "p6-200"];

/// The first page that is loaded from: neither code nor a table is in its set of a TLB.
const FIRST: u32 = DATA + 0x9000;
/// Pages at this distance are in the same set of each TLB.
const APART: u32 = 0x2_0000;
/// So many pages, which is more than a set has ways.
const PAGES: u32 = 6;

/// Loads from pages of one set, the first one twice; then an undefined instruction, whose handler halts.
fn bench(name: &str) -> Bench {
    let mut code = Vec::new();
    for page in (0..PAGES).chain([0]) {
        code.push(0xa1);
        code.extend((FIRST + APART * page).to_le_bytes());
    }
    code.extend([0x0f, 0x0b]);
    Bench::new(name, &code).paged(6).gate(6, 0)
}

fn run(bench: &mut Bench, name: &str) {
    let stop = bench.run(1000);
    let halted = matches!(stop, Stop::Fatal(Fatal::Asleep { .. }));
    assert!(halted, "{name}: {stop:?}");
}

fn counts(bench: &mut Bench) -> (u64, Vec<u64>) {
    let now = bench.machine.instant().cycles;
    let counters = &bench.machine.processor().account.counters;
    let counted = bench.machine.counters();
    assert_eq!(&counted, counters);
    let all = ["tlb.data.miss", "tlb.data.evicted", "cache.data.access"];
    (now, all.map(|name| counters.get(name).unwrap()).to_vec())
}

#[test]
fn a_trace_has_misses_with_their_walks_and_victims() {
    for name in MACHINES {
        let mut plain = bench(name);
        run(&mut plain, name);
        let wanted = counts(&mut plain);
        let mut traced = bench(name);
        let processor = traced.processor();
        processor.account.tlb = TlbNote::of_walks();
        processor.observers.trace = Some(Trace::new(Window::default()));
        run(&mut traced, name);
        assert_eq!(
            counts(&mut traced),
            wanted,
            "{name}: a trace changes nothing"
        );
        let observers = &traced.machine.processor().observers;
        let trace = observers.trace.as_ref().unwrap();
        let all: Vec<Value> = trace
            .events(&observers.symbols, 1_000_000, 0..trace.len())
            .collect();
        let misses: Vec<&Value> = (all.iter())
            .filter(|event| event["name"] == "tlb.data.miss")
            .map(|event| &event["args"])
            .filter(|args| args["function"].is_string())
            .collect();
        let of = |page: u32| format!("{:#010x}", FIRST + APART * page);
        let loads: Vec<&&Value> = (misses.iter())
            .filter(|args| (0..PAGES).any(|page| args["address"] == of(page).as_str()))
            .collect();
        assert_eq!(loads.len() as u32, PAGES + 1, "{name}: {misses:?}");
        let first = loads[0];
        assert_eq!(first["cr3"], format!("{DIRECTORY:#010x}"));
        let steps = first["walk"].as_array().unwrap();
        let reads: Vec<&Value> = steps
            .iter()
            .filter(|step| step["store"].is_null())
            .collect();
        assert_eq!(reads.len(), 2, "{name}: {first}");
        let table = TABLE + 4 * (FIRST >> 12);
        assert_eq!(reads[0]["address"], format!("{DIRECTORY:#010x}"));
        assert_eq!(reads[0]["table"], "level 1");
        assert_eq!(reads[1]["address"], format!("{table:#010x}"));
        assert_eq!(reads[1]["table"], "level 2");
        // The accessed bit of the page is set.
        let stores = steps.iter().filter(|step| step["store"] == true);
        assert!(stores.count() >= 1, "{name}: {first}");
        assert!(first["cycles"].as_u64().unwrap() > 0, "{name}");
        // The first page has lost its entry to one of the others.
        let victims: Vec<&Value> = (loads.iter())
            .filter_map(|args| args.get("victim"))
            .collect();
        assert!(
            victims.iter().any(|page| page["page"] == of(0).as_str()),
            "{name}: {victims:?}"
        );
        let ways = loads[PAGES as usize]["ways"].as_array().unwrap();
        assert!(ways.iter().all(|way| *way != json!(null)), "{name}");
        let exceptions = all.iter().filter(|event| event["name"] == "#UD");
        assert_eq!(exceptions.count(), 1, "{name}");
    }
}

#[test]
fn a_listener_hears_misses_evictions_and_exceptions_and_stops_the_run() {
    for name in MACHINES {
        let mut plain = bench(name);
        run(&mut plain, name);
        let (cycles, wanted) = counts(&mut plain);
        let mut heard = bench(name);
        heard.processor().observers.listener = Some(Listener::new(Filter::default(), 2, 1, 0));
        let mut all = Vec::new();
        loop {
            let stop = heard.run(1000);
            let listener = heard.processor().observers.listener.as_mut().unwrap();
            all.extend(listener.take());
            if stop != Stop::Batch {
                break;
            }
        }
        assert_eq!(counts(&mut heard), (cycles, wanted.clone()), "{name}");
        let data = |fetch: bool| !fetch;
        let misses = all.iter().filter(|event| match event.what {
            What::Miss(miss) => data(miss.fetch),
            _ => false,
        });
        assert_eq!(misses.count() as u64, wanted[0], "{name}");
        let evictions = all.iter().filter(|event| match event.what {
            What::Eviction { load, .. } => data(load.fetch),
            _ => false,
        });
        assert_eq!(evictions.count() as u64, wanted[1], "{name}");
        let exceptions: Vec<_> = (all.iter())
            .filter_map(|event| match event.what {
                What::Exception(which) => Some((which.name, which.counter)),
                _ => None,
            })
            .collect();
        assert_eq!(exceptions, [("#UD", "ud")], "{name}");
    }
}
