//! Parts that a machine file adds to an x86 machine's MMU, or names in place of those that it has: replacement, a
//! second-level TLB, a walk cache. Those of PowerPC are in `tests/replacement.rs`, `second_tlb.rs` and `walk_cache.rs`.

use pagewalk_machine::config::{REPLACEMENTS, TlbConfig};
use pagewalk_machine::x86::tlb::{Entry, Tlb, pte};
use pagewalk_machine::x86::{Fatal, Stop};
use proptest::prelude::*;

use super::bench::{Bench, DATA, DIRECTORY, TABLE, config};

const MACHINES: [&str; 2] = ["i486dx-50", "p6-200"];
const FIRST: u32 = DATA + 0x9000;
/// Pages at this distance are in the same set of each TLB.
const APART: u32 = 0x2_0000;

/// A page that a way holds, when it was loaded, and when it was used last.
type Way = Option<(u32, u32, u32)>;

fn may_go(policy: &str, set: &[Way; 4], way: usize) -> bool {
    if set.iter().any(Option::is_none) {
        return set[way].is_none();
    }
    let held = |way: usize| set[way].unwrap_or_default();
    match policy {
        "lru" => (0..4).all(|other| held(way).2 <= held(other).2),
        "fifo" => (0..4).all(|other| held(way).1 <= held(other).1),
        "not-mru" => (0..4).any(|other| held(way).2 < held(other).2),
        _ => true,
    }
}

proptest! {
    #[test]
    fn a_policy_chooses_as_its_model(
        policy in prop::sample::select(REPLACEMENTS),
        steps in prop::collection::vec((0u32..20, 0u32..12), 1..300),
    ) {
        let shape = TlbConfig { entries: 8, ways: 4, replacement: Some(policy.to_owned()) };
        let mut tlb = Tlb::new(&shape, 12).unwrap();
        let mut model: [[Way; 4]; 2] = Default::default();
        for (time, (page, what)) in (1..).zip(steps) {
            let (set, linear) = (&mut model[page as usize % 2], page << 12);
            let held = set.iter().position(|way| way.is_some_and(|way| way.0 == page));
            if what == 0 {
                prop_assert_eq!(tlb.invalidate(linear), held.is_some());
                if let Some(way) = held {
                    set[way] = None;
                }
                continue;
            }
            // A second look at the entry that was used last changes nothing.
            let found = tlb.look_up(linear).map(|entry| usize::from(entry.way()));
            prop_assert_eq!(tlb.look_up(linear).map(|entry| usize::from(entry.way())), found);
            prop_assert_eq!(found, held, "{}", policy);
            let new = Entry::new(linear, linear.into(), pte::WRITE | pte::USER, false);
            if held.is_none() {
                tlb.load(new);
            } else if what == 1 {
                // A walk that sets D loads the entry again, which is a use.
                prop_assert!(tlb.load(new).is_none());
            }
            let way = usize::from(tlb.recent(linear).way());
            let loaded = match held {
                Some(held) => {
                    prop_assert_eq!(way, held);
                    set[way].unwrap_or_default().1
                }
                None => {
                    prop_assert!(may_go(policy, set, way), "{policy}: way {way} of {set:?}");
                    time
                }
            };
            set[way] = Some((page, loaded, time));
        }
    }
}

/// Loads from `pages` pages of one set, then from all of them again; in between `between` runs.
fn loads(name: &str, settings: &[&str], pages: u32, between: &[u8]) -> Bench {
    let mut code = Vec::new();
    for again in [false, true] {
        for page in 0..pages {
            code.push(0xa1);
            code.extend((FIRST + APART * page).to_le_bytes());
        }
        if !again {
            code.extend(between);
        }
    }
    code.push(0xf4);
    Bench::with(&config(name, settings), &code).paged(0x66)
}

fn run(bench: &mut Bench) {
    let stop = bench.run(1000);
    let halted = matches!(stop, Stop::Fatal(Fatal::Asleep { .. }));
    assert!(halted, "{stop:?}");
}

const SECOND: [&str; 4] = [
    "tlb.l2.entries=64",
    "tlb.l2.ways=16",
    "tlb.l2.hit=5",
    "tlb.l2.miss=3",
];

/// MOV EAX, CR3; MOV CR3, EAX.
const RELOAD: [u8; 6] = [0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8];

#[test]
fn a_second_level_saves_walks_until_cr3_is_loaded() {
    for name in MACHINES {
        let count = |settings: &[&str], between: &[u8]| {
            let mut bench = loads(name, settings, 6, between);
            run(&mut bench);
            let names = [
                "hash.search",
                "tlb.data.miss",
                "tlb.l2.access",
                "tlb.l2.miss",
                "tlb.l2.cycles",
            ];
            names.map(|name| bench.counter(name))
        };
        let without = count(&[], &[]);
        let with = count(&SECOND, &[]);
        let misses = with[2];
        assert_eq!(without[2..], [0; 3], "{name}");
        assert_eq!(with[1], without[1], "{name}: the first level is the same");
        assert!(
            with[1] > 6,
            "{name}: six pages are more than a set has ways"
        );
        assert_eq!(
            with[0], with[3],
            "{name}: what both levels miss is walked for"
        );
        assert!(with[0] < without[0], "{name}: {with:?}, {without:?}");
        assert_eq!(with[4], 3 * with[3] + 5 * (misses - with[3]), "{name}");
        let emptied = count(&SECOND, &RELOAD);
        assert!(emptied[0] >= with[0] + 6, "{name}: {emptied:?}, {with:?}");
    }
}

/// A row of the pollution matrix: misses on what an access of the kernel has evicted.
#[test]
fn the_pollution_matrix_has_what_was_evicted_and_missed_again() {
    for name in MACHINES {
        let again = |pages, between: &[u8]| {
            let mut bench = loads(name, &[], pages, between);
            run(&mut bench);
            ["pollution.tlb.data.kernel.kernel", "tlb.data.evicted"].map(|name| bench.counter(name))
        };
        let [missed, evicted] = again(6, &[]);
        assert!(
            0 < missed && missed <= evicted,
            "{name}: {missed} of {evicted}"
        );
        // Three pages fit their set; a load of CR3 empties it, and evicts nothing.
        assert_eq!(again(3, &[])[0], 0, "{name}");
        assert_eq!(again(3, &RELOAD)[0], 0, "{name}");
    }
}

#[test]
fn invlpg_reaches_the_second_level() {
    for name in MACHINES {
        // INVLPG of the first page, whose entry is in the second level alone by then.
        let mut invalidate = vec![0x0f, 0x01, 0x3d];
        invalidate.extend(FIRST.to_le_bytes());
        let walks = |between: &[u8]| {
            let mut bench = loads(name, &SECOND, 6, between);
            run(&mut bench);
            bench.counter("hash.search")
        };
        assert_eq!(walks(&invalidate), walks(&[]) + 1, "{name}");
    }
}

#[test]
fn a_walk_cache_saves_the_read_of_the_directory() {
    for name in MACHINES {
        let cache = [
            "walk.walker=walk-cache",
            "walk.options.hit=2",
            "walk.options.entries=4",
        ];
        let count = |settings: &[&str], between: &[u8]| {
            let mut bench = loads(name, settings, 6, between);
            run(&mut bench);
            let names = [
                "hash.search",
                "walk.cache.access",
                "walk.cache.miss",
                "walk.cycles",
            ];
            names.map(|name| bench.counter(name))
        };
        let (without, with) = (count(&[], &[]), count(&cache, &[]));
        assert_eq!(without[1..3], [0, 0], "{name}");
        assert_eq!(
            with[..3],
            [without[0], without[0], 1],
            "{name}: one entry maps all pages"
        );
        assert!(with[3] < without[3], "{name}: {with:?}, {without:?}");
        assert_eq!(
            count(&cache, &RELOAD)[2],
            2,
            "{name}: a load of CR3 empties it"
        );
    }
}

/// An entry of the directory that has changed is used only after INVLPG, of any page.
#[test]
fn a_walk_cache_keeps_an_old_entry_until_it_is_told() {
    const SECOND_TABLE: u32 = TABLE + 0x1000;
    for (invlpg, wanted) in [(false, 1), (true, 2)] {
        // The directory gets another table, which maps the page at FIRST to DATA.
        let mut code = vec![0xa1];
        code.extend(DATA.to_le_bytes());
        code.extend([0xc7, 0x05]);
        code.extend(DIRECTORY.to_le_bytes());
        code.extend((SECOND_TABLE | 0x67).to_le_bytes());
        if invlpg {
            code.extend([0x0f, 0x01, 0x3d]);
            code.extend(DATA.to_le_bytes());
        }
        code.push(0xa1);
        code.extend(FIRST.to_le_bytes());
        code.push(0xf4);
        for oracle in [false, true] {
            let machine = config("p6-200", &["walk.walker=walk-cache"]);
            let mut bench = Bench::with(&machine, &code).paged(0x66);
            for page in 0..512 {
                bench.put_word(SECOND_TABLE + 4 * page, page << 12 | 0x67);
            }
            bench.put_word(SECOND_TABLE + 4 * (FIRST >> 12), DATA | 0x67);
            bench.put_word(FIRST, 1);
            bench.put_word(DATA, 2);
            bench.machine.set_oracle(oracle);
            run(&mut bench);
            assert_eq!(bench.registers().gpr[0], wanted, "{invlpg} {oracle}");
        }
    }
}

#[test]
fn shortcuts_change_no_count_with_any_part() {
    let walks = ["walk.walker=walk-cache"];
    let policies =
        ["lru", "fifo", "random", "not-mru"].map(|policy| format!("tlb.l2.replacement={policy}"));
    for name in MACHINES {
        for policy in &policies {
            let tlb = if name == "p6-200" {
                "tlb.data"
            } else {
                "tlb.unified"
            };
            let first = policy.replace("tlb.l2", tlb);
            let settings = [&SECOND[..], &walks, &[policy, &first]].concat();
            let mut all = [false, true].map(|oracle| {
                let mut bench = loads(name, &settings, 9, &[]);
                bench.machine.set_oracle(oracle);
                run(&mut bench);
                (bench.machine.counters(), bench.machine.instant().cycles)
            });
            let [fast, slow] = &mut all;
            assert_eq!(fast, slow, "{name} {policy}");
        }
    }
}
