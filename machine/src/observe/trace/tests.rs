use super::*;
use crate::account::tlb_events::{Layout, Tables, TlbMiss};
use crate::loader::{Symbol, SymbolTable};

#[test]
fn windows_are_read_or_refused() {
    assert_eq!("3..7".parse(), Ok(Window(3..7)));
    assert_eq!("3..".parse(), Ok(Window(3..u64::MAX)));
    assert_eq!("..7".parse(), Ok(Window(0..7)));
    for text in ["7", "7..3", "a..b", "..0"] {
        assert!(text.parse::<Window>().is_err(), "{text}");
    }
}

#[test]
fn blocks_of_one_function_are_one_slice_and_the_window_bounds_all() {
    let symbol = |name: &str, address| Symbol {
        address,
        size: 0x10,
        name: name.to_owned(),
    };
    let symbols = Symbolizer::new(SymbolTable::new(vec![
        symbol("a", 0x100),
        symbol("b", 0x110),
    ]));
    let mut trace = Trace::new(Window(10..100));
    let counters = Counters::default();
    let mut ran = |pc, from, until| {
        trace.ran(&symbols, (pc, false, Cause::KERNEL), from, until, &counters);
    };
    ran(0x100, 0, 9);
    ran(0x100, 9, 12);
    ran(0x104, 12, 20);
    ran(0x110, 20, 30);
    ran(0x100, 99, 105);
    ran(0x100, 105, 110);
    let which = Interruption {
        name: "system-call",
        counter: "system-call",
    };
    trace.exception(which, 0x118, 30);
    trace.exception(which, 0x118, 100);
    let json = trace.to_json(&symbols, 1_000_000);
    let events: Vec<_> = json["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| {
            (
                event["name"].as_str().unwrap(),
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64(),
            )
        })
        .collect();
    assert_eq!(
        events,
        [
            ("a", 10.0, Some(10.0)),
            ("b", 20.0, Some(10.0)),
            ("a", 99.0, Some(6.0)),
            ("system-call", 30.0, None),
        ]
    );
}

/// Page tables of which nothing is known.
struct Nowhere;

impl Layout for Nowhere {
    fn describe(&self, _: [u64; 4], _: u32, _: &mut Value) {}

    fn may_read(&self, _: [u64; 4], _: u32, _: &Step) -> bool {
        false
    }

    fn levels(&self, _: [u64; 4], _: u32, steps: &[Step]) -> Vec<Option<u32>> {
        vec![None; steps.len()]
    }
}

#[test]
fn beyond_the_limit_of_steps_misses_come_without_them() {
    let symbols = Symbolizer::default();
    let mut trace = Trace::new(Window::default());
    let miss = |trace: &mut Trace| {
        let mut note = TlbNote::of_walks();
        note.miss = Some(TlbMiss {
            fetch: false,
            ea: 0x1000,
            set: 1,
            walk: Some(9),
            user: true,
            cause: Cause::USER,
            tables: Tables {
                layout: &Nowhere,
                numbers: [0; 4],
            },
        });
        let walk = note.walk.as_mut().unwrap();
        walk.begin([None, None].into_iter());
        trace.tlb(&mut note, &symbols, 0x100, 7);
    };
    miss(&mut trace);
    trace.steps = STEPS_MOST - 1;
    miss(&mut trace);
    let events: Vec<Value> = trace.events(&symbols, 1_000_000, 0..9).collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["args"]["ways"], json!([null, null]));
    assert_eq!(events[1]["args"].get("walk"), None);
    assert_eq!(
        trace.limits(),
        ["1 TLB misses come without the steps of their walk: a trace holds 4000000 steps at most"]
    );
}
