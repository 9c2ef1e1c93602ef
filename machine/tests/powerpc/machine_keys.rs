//! Every key of every machine file has an effect: with another allowed value of a key, a program that uses everything
//! gives other counts, at its end or earlier.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Program, machine_file};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::{riscv, x86};
use programs::source;
use toml::Value;

/// Keys without an effect in some machine files, and why. The files are named by `core.kind` or by their own name. An
/// exemption that is not needed fails the test.
const EXEMPT: &[(&[&str], &str, &str)] = &[
    (EVERY, "description", "a name, for lists of machines"),
    (
        EVERY,
        "board.kind",
        "it chooses devices, and this program knows those of one board",
    ),
    (
        EVERY,
        "board.interrupt-controller",
        "several processors must have an OpenPIC: the_interrupt_controller_counts shows it on machines with one",
    ),
    (
        &["8xx", "405", "970"],
        "core.kind",
        "no other core has its MMU: nothing else goes with the other keys",
    ),
    (&["8xx"], "cache.instruction.line", "16 bytes on this core"),
    (&["405"], "cache.instruction.line", "32 bytes on this core"),
    (&["970"], "cache.instruction.line", "128 bytes on this core"),
    (&["970"], "cache.data.line", "128 bytes on this core"),
    (&["970"], "cache.l2.line", "128 bytes on this core"),
    (&["970"], "cache.l2.place", "the core's L2 is in-line"),
    (&["970"], "cache.instruction.replacement", "it has one way"),
    (&["970"], "latency.dcbi.latency", "the core has no dcbi"),
    (&["970"], "latency.dcbi.interval", "the core has no dcbi"),
    (&["8xx"], "cache.data.line", "16 bytes on this core"),
    (&["405"], "cache.data.line", "32 bytes on this core"),
    (
        &["8xx", "405"],
        "cache.instruction.replacement",
        "LRU on this core",
    ),
    (
        &["8xx", "405"],
        "cache.data.replacement",
        "LRU on this core",
    ),
    (&["8xx"], "bus.width", "4 bytes on this core"),
    (&["405"], "bus.width", "8 bytes on this core"),
    (&["604", "604e"], "bus.width", "8 bytes on these cores"),
    (&["405"], "tlb.unified.entries", "64 on this core"),
    (
        &["405"],
        "pipeline.fetch",
        "one instruction is dispatched in a cycle, and no branch is folded",
    ),
    (
        &["603e"],
        "branch.target-entries",
        "there is no such cache, and what it would save, branch.taken and branch.taken-target-miss, is nothing",
    ),
    (
        &["603e", "8xx", "405", "970"],
        "branch.taken-target-miss",
        "the core has no target cache",
    ),
    (
        &["ppc750-400", "ppc604-200x4-l2"],
        "cache.l2.place",
        "a look-aside cache has no cache.l2.miss, and a setting takes no key away",
    ),
    (
        LOOK_ASIDE,
        "cache.l2.place",
        "the keys of a look-aside cache go with no other place, and a setting takes no key away",
    ),
    (
        &["ppc604-200x4-l2"],
        "cache.l2.replacement",
        "it has one way",
    ),
    (LOOK_ASIDE, "cache.l2.replacement", "it has one way"),
    (
        LOOK_ASIDE,
        "cache.l2.policy",
        "memory/look_aside/tests.rs shows it",
    ),
    (
        LOOK_ASIDE,
        "cache.l2.allocate",
        "memory/look_aside/tests.rs shows it",
    ),
    (
        &["ppc604-133"],
        "cache.l2.copy-back",
        "a write-through cache has no modified lines",
    ),
    (
        PARTS_FILES,
        "memory.page-mode",
        "memory/dram/tests.rs shows it",
    ),
    (
        PARTS_FILES,
        "memory.kind",
        "it says which controllers and times go with the parts",
    ),
    (
        PARTS_FILES,
        "memory.controller",
        "it says what the other keys may be",
    ),
    (
        PARTS_FILES,
        "memory.column-access",
        "a controller that closes each row opens one for each access",
    ),
    (
        &["ppc604-132"],
        "memory.row",
        "one bank, whose row is closed after each access",
    ),
    (
        MPC106,
        "memory.row",
        "a bank is precharged before the row strobe of the next access",
    ),
    (
        MPC106,
        "memory.banks",
        "a bank is precharged before the row strobe of the next access",
    ),
    (MPC106, "memory.overlap", "the controller has no other"),
    (
        &["ppc603-133"],
        "memory.overlap",
        "the controller has no other",
    ),
    (
        &["ppc603-133"],
        "memory.write-buffer",
        "the controller has none",
    ),
];

/// Files whose second-level cache stands beside the memory.
const LOOK_ASIDE: &[&str] = &[
    "ppc603-133",
    "ppc603-180",
    "ppc604-132",
    "ppc604-133",
    "ppc604-185",
    "ppc604-200",
];

/// Files that name the parts of the memory.
const PARTS_FILES: &[&str] = &[
    "ppc603-133",
    "ppc603-180",
    "ppc604-132",
    "ppc604-133",
    "ppc604-185",
    "ppc604-185x2",
    "ppc604-200",
    "ppc604-200x4",
    "ppc604-200x4-l2",
];

/// Files whose memory hangs on an MPC106, with parts of 60 ns.
const MPC106: &[&str] = &[
    "ppc603-180",
    "ppc604-185",
    "ppc604-185x2",
    "ppc604-200",
    "ppc604-200x4",
    "ppc604-200x4-l2",
];

const EVERY: &[&str] = &["603e", "604", "604e", "750", "8xx", "405", "970"];

/// Keys that must be set together with a key, to the same value.
fn partners(kind: &str, key: &str) -> &'static [&'static str] {
    match (kind, key) {
        ("8xx" | "405", "tlb.instruction.entries" | "tlb.instruction.ways") => {
            &["tlb.instruction.entries", "tlb.instruction.ways"]
        }
        ("8xx" | "405" | "970", "tlb.data.entries" | "tlb.data.ways") => {
            &["tlb.data.entries", "tlb.data.ways"]
        }
        (_, "cache.instruction.line" | "cache.data.line" | "cache.l2.line") => {
            &["cache.instruction.line", "cache.data.line", "cache.l2.line"]
        }
        _ => &[],
    }
}

/// All counts of a run, and its cycles.
type Counts = (u64, Vec<(String, u64)>);

/// The cycles at which runs are compared. Most keys have shown their effect long before the end.
const COMPARED: [u64; 6] = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000];

/// The counts of a run at each of the cycles `COMPARED`, until its end.
fn course(
    program: &Program,
    machine: &str,
    settings: &[&str],
) -> impl Iterator<Item = Counts> + use<> {
    let mut session = program.session(machine, settings);
    let mut ended = false;
    COMPARED.into_iter().map_while(move |cycles| {
        if ended {
            return None;
        }
        let limits = Limits {
            cycles,
            ..Limits::NONE
        };
        ended = session.run(limits) != Stop::Limit;
        Some((session.machine().processor().cycles(), session.counters()))
    })
}

/// All counts of a whole run.
fn counts(program: &Program, machine: &str, settings: &[&str]) -> Counts {
    course(program, machine, settings).last().unwrap()
}

/// Whether a run's counts differ from these at some time. It ends there.
fn differs(plain: &[Counts], program: &Program, machine: &str, settings: &[&str]) -> bool {
    !course(program, machine, settings).eq(plain.iter().cloned())
}

/// Dotted paths and values of all keys of a table.
fn keys(table: &toml::Table, path: &str, found: &mut BTreeMap<String, Value>) {
    for (key, value) in table {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        match value {
            Value::Table(inner) => keys(inner, &path, found),
            value => {
                found.insert(path, value.clone());
            }
        }
    }
}

/// Other values that a key may have: some of them are refused.
fn others(value: &Value) -> Vec<String> {
    let words = [
        "lru",
        "pseudo-lru",
        "line",
        "critical",
        "beats",
        "cache",
        "buffer",
        "603",
        "603e",
        "604",
        "604e",
        "750",
        "fifo",
        "random",
        "hash",
        "wide",
    ];
    let candidates: Vec<String> = match value {
        Value::Integer(n) => [n / 2, n * 2, n + 1, n - 1, n / 4, n + 64, 0]
            .map(|n| n.to_string())
            .into(),
        Value::Float(x) => vec![format!("{:?}", x + 1.0)],
        Value::Boolean(on) => vec![(!on).to_string()],
        Value::String(word) if word.ends_with("-side") => vec!["look-aside".to_owned()],
        Value::String(word) if word.starts_with("look") => vec!["back-side".to_owned()],
        _ => words.map(str::to_owned).into(),
    };
    candidates
}

fn accepted(machine: &str, settings: &[String]) -> bool {
    let settings: Vec<Override> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    MachineConfig::from_file(&machine_file(machine), &settings).is_ok()
}

fn exempt(machine: &str, kind: &str, key: &str) -> bool {
    EXEMPT
        .iter()
        .any(|(files, of, _)| *of == key && (files.contains(&kind) || files.contains(&machine)))
}

/// The settings that give `key` another value.
fn settings(table: &toml::Table, kind: &str, key: &str, value: &str) -> Vec<String> {
    let mut all = BTreeMap::new();
    keys(table, "", &mut all);
    let mut settings = vec![format!("{key}={value}")];
    let also = partners(kind, key)
        .iter()
        .filter(|other| **other != key && all.contains_key(**other));
    settings.extend(also.map(|other| format!("{other}={value}")));
    if key == "cache.l2.place" {
        settings.push("cache.l2.miss=9".to_owned());
    }
    if key == "bus.return-path" && all.contains_key("bus.streaming") {
        settings.push("bus.streaming=false".to_owned());
    }
    settings
}

/// The files of machines with one processor leave the key out, which means the pair of 8259s.
#[test]
fn the_interrupt_controller_counts() {
    for (machine, kind) in [
        ("ppc603-133", "603e"),
        ("ppc604-185", "604e"),
        ("ppc750-400", "750"),
    ] {
        let program = Program::on(machine, &source(kind));
        let plain = counts(&program, machine, &[]);
        let set = |value: &str| {
            let setting = format!("board.interrupt-controller={value}");
            counts(&program, machine, &[&setting])
        };
        assert_eq!(set("i8259"), plain, "{machine}");
        assert_ne!(set("openpic"), plain, "{machine}");
    }
}

#[test]
fn keys_of_what_a_core_lacks_are_refused() {
    for (machine, key, lacks) in [
        ("mpc855t-48", "float-add", "floating-point unit"),
        ("mpc855t-48", "move-to-segment", "segment registers"),
        ("mpc855t-48", "tlb-load", "tlbld and tlbli"),
        ("ppc405-200", "float-add", "floating-point unit"),
        ("ppc405-200", "move-to-segment", "segment registers"),
        ("ppc405-200", "slb", "64-bit instructions"),
        ("ppc750-400", "float-square-root", "64-bit instructions"),
        ("ppc970-1600", "tlb-load", "tlbld and tlbli"),
        ("ppc604-185", "tlb-load", "tlbld and tlbli"),
        ("ppc750-400", "tlb-load", "tlbld and tlbli"),
    ] {
        let settings =
            [Override::parse(&format!("latency.{key}={{ latency = 1, interval = 1 }}")).unwrap()];
        let refused = MachineConfig::from_file(&machine_file(machine), &settings)
            .err()
            .map(|error| error.to_string());
        let said = refused.unwrap_or_default();
        assert!(
            said.contains(&format!("latency.{key}")) && said.contains(&format!("has no {lacks}")),
            "{machine}: {key}: {said}"
        );
    }
}

/// Parts that no core has are in no machine file that ships.
const PARTS: &[(&str, &[&str])] = &[
    (
        "ppc604-133",
        &[
            "tlb.instruction.replacement=fifo",
            "tlb.data.entries=16",
            "tlb.data.replacement=fifo",
            "tlb.l2.entries=128",
            "tlb.l2.ways=2",
            "tlb.l2.hit=3",
            "tlb.l2.miss=2",
            "tlb.l2.replacement=lru",
            "walk.walker=walk-cache",
            "walk.options.entries=16",
        ],
    ),
    (
        "ppc750-400",
        &[
            "tlb.data.entries=16",
            "tlb.data.ways=4",
            "tlb.data.replacement=not-mru",
            "walk.walker=group-cache",
            "walk.options.groups=16",
            "walk.options.hit=2",
        ],
    ),
    ("ppc604-185", &["walk.walker=wide", "walk.options.ptes=4"]),
    (
        "ppc603-133",
        &[
            "tlb.data.entries=16",
            "tlb.instruction.replacement=random",
            "tlb.data.replacement=random",
            "tlb.l2.entries=64",
            "tlb.l2.hit=3",
            "tlb.l2.miss=2",
        ],
    ),
];

#[test]
fn every_key_of_a_part_counts() {
    for (machine, parts) in PARTS {
        let table: toml::Table = std::fs::read_to_string(machine_file(machine))
            .unwrap()
            .parse()
            .unwrap();
        let program = Program::on(machine, &source(table["core"]["kind"].as_str().unwrap()));
        let plain: Vec<Counts> = course(&program, machine, parts).collect();
        assert!(differs(&plain, &program, machine, &[]), "{machine}");
        for part in *parts {
            let (key, value) = part.split_once('=').unwrap();
            let value = match value.parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::String(value.to_owned()),
            };
            let counted = others(&value).into_iter().any(|other| {
                // Without the old walker's options, which a new one does not have.
                let options = key == "walk.walker";
                let kept = parts
                    .iter()
                    .filter(|part| !options || !part.starts_with("walk."));
                let mut settings: Vec<String> = kept.map(|part| (*part).to_owned()).collect();
                settings.push(format!("{key}={other}"));
                let texts: Vec<&str> = settings.iter().map(String::as_str).collect();
                accepted(machine, &settings) && differs(&plain, &program, machine, &texts)
            });
            assert!(counted, "{machine}: {key} counts for nothing");
        }
    }
}

/// The keys of a machine file that count for nothing, and those that count although they are exempt.
fn keys_without_effect(machine: &str) -> (Vec<String>, Vec<String>) {
    let (mut dead, mut not_needed) = (Vec::new(), Vec::new());
    let mut table: toml::Table = std::fs::read_to_string(machine_file(machine))
        .unwrap()
        .parse()
        .unwrap();
    // It holds values of other keys, and is no part of the machine.
    table.remove("inputs").expect("a table of inputs");
    let kind = table["core"]["kind"].as_str().unwrap();
    let program = Program::on(machine, &source(kind));
    let plain: Vec<Counts> = course(&program, machine, &[]).collect();
    let end = plain.last().unwrap();
    assert!(
        end.0 < 3_000_000,
        "{machine}: the program does not end: {end:?}"
    );
    let mut all = BTreeMap::new();
    keys(&table, "", &mut all);
    for (key, value) in &all {
        let others = others(value)
            .into_iter()
            .map(|other| settings(&table, kind, key, &other));
        let exempt = exempt(machine, kind, key);
        // A key without an effect would take a whole run for each value.
        let values = if exempt { 1 } else { usize::MAX };
        let counted = others
            .filter(|settings| accepted(machine, settings))
            .take(values)
            .any(|settings| {
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                differs(&plain, &program, machine, &settings)
            });
        match (counted, exempt) {
            (false, false) => dead.push(format!("{machine}: {key}")),
            (true, true) => not_needed.push(format!("{machine}: {key}")),
            _ => {}
        }
    }
    (dead, not_needed)
}

/// The core and the keys of a machine file.
fn core_and_keys(machine: &str) -> (String, Vec<String>) {
    let text = std::fs::read_to_string(machine_file(machine)).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let mut all = BTreeMap::new();
    keys(&table, "", &mut all);
    let names = all.into_keys().filter(|key| !key.starts_with("inputs."));
    let core = table["core"]["kind"].as_str().unwrap().to_owned();
    (core, names.collect())
}

#[test]
fn every_key_of_every_machine_file_counts() {
    let folder = machine_file("x").parent().unwrap().to_owned();
    let mut machines: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            Some(
                entry
                    .unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".toml")?
                    .to_owned(),
            )
        })
        .filter(|name| !x86::Config::is_of_file(&machine_file(name)).unwrap())
        .filter(|name| !riscv::Config::is_of_file(&machine_file(name)).unwrap())
        .collect();
    machines.sort();
    // Several machines may have the same core and the same keys, with other values. The test tries the first of them.
    // With PAGEWALK_ALL_MACHINES it tries all, which takes long.
    if std::env::var_os("PAGEWALK_ALL_MACHINES").is_none() {
        let mut tried = BTreeSet::new();
        machines.retain(|machine| tried.insert(core_and_keys(machine)));
    }
    // Each thread takes the next machine.
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<(Vec<String>, Vec<String>)> = std::thread::scope(|scope| {
        let work = || {
            let mut found = (Vec::new(), Vec::new());
            while let Some(machine) = machines.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (dead, not_needed) = keys_without_effect(machine);
                found.0.extend(dead);
                found.1.extend(not_needed);
            }
            found
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let (dead, not_needed): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    let (dead, not_needed) = (dead.concat(), not_needed.concat());
    assert!(
        dead.is_empty() && not_needed.is_empty(),
        "these count for nothing: {dead:#?}; these count, and need no exemption: {not_needed:#?}"
    );
}
