//! Snapshots that were made up: fields of a good one changed, and the file sealed again with a valid checksum. Whatever
//! comes is refused with a message, or runs: never a panic, and nothing that only a debugger would notice.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::computer::{Limits, Session, Stop};
use crate::config::MachineConfig;
use crate::config::Override;
use crate::memory::Ram;
use crate::observe::sanitizers::SanitizerSet;
use crate::powerpc::loader::{Boot, Chunk};
use crate::powerpc::processor::Processor;

const MACHINES: [(&str, &[&str]); 12] = [
    ("ppc603-133", &[]),
    ("ppc604-133", &[]),
    ("ppc750-400", &[]),
    ("mpc855t-48", &[]),
    ("ppc405-200", &[]),
    ("ppc970-1600", &[]),
    ("ppc604-185x2", &[]),
    ("ppc750-400x2", &[]),
    (
        "ppc604-133",
        &[
            "tlb.l2.entries=64",
            "tlb.l2.replacement=not-mru",
            "tlb.data.replacement=fifo",
            "tlb.instruction.replacement=random",
            "walk.walker=group-cache",
            "walk.options.groups=4",
        ],
    ),
    (
        "ppc604-133",
        &[
            "tlb.data.ways=4",
            "tlb.data.replacement=pseudo-lru",
            "walk.walker=wide",
        ],
    ),
    // Memory of parts, and a look-aside L2.
    ("ppc604-132", &[]),
    // Three levels.
    (
        "ppc604-133",
        &[
            "cache.l2={ place = \"in-line\", size = 4096, ways = 2, line = 32, replacement = \"lru\", first-beat = 9, \
             next-beat = 3, miss = 7 }",
            "cache.l3={ place = \"look-aside\", size = 16384, ways = 2, line = 32, replacement = \"lru\", \
             first-beat = 3, next-beat = 1, policy = \"write-back\", allocate = \"bursts\", look-up = 2, copy-back = 1 }",
        ],
    ),
];

/// Switches the caches on; then loads, stores and calls without end.
fn words(machine: &str) -> Vec<u32> {
    let on = if machine == "mpc855t-48" {
        // lis r3, 0x0200; mtspr IC_CST, r3; mtspr DC_CST, r3
        [0x3c60_0200, 0x7c70_8ba6, 0x7c78_8ba6]
    } else if machine == "ppc405-200" {
        // lis r3, 0x8000; mtspr ICCR, r3; mtspr DCCR, r3
        [0x3c60_8000, 0x7c7b_fba6, 0x7c7a_fba6]
    } else if machine == "ppc970-1600" {
        // They are always on: nop.
        [0x6000_0000; 3]
    } else {
        // lis r3, 0; ori r3, r3, 0xc000; mtspr HID0, r3
        [0x3c60_0000, 0x6063_c000, 0x7c70_fba6]
    };
    let endless = [
        0x4c00_012c, // isync
        0x3c80_0001, // lis r4, 1
        0x84a4_0024, // lwzu r5, 36(r4)
        0x90a4_0004, // stw r5, 4(r4)
        0x5484_033e, // rlwinm r4, r4, 0, 12, 31
        0x4800_0009, // bl to the mullw
        0x4bff_fff0, // b to the lwzu
        0x7ca5_29d6, // mullw r5, r5, r5
        0x4e80_0020, // blr
    ];
    [&on[..], &endless[..]].concat()
}

/// A snapshot amid the loop as a tree of values, without its RAM, and the RAM.
fn good((machine, parts): (&str, &[&str])) -> (Value, Ram) {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let settings: Vec<Override> = ["memory.size=0x100000"]
        .iter()
        .chain(parts)
        .map(|text| Override::parse(text).expect("a setting"))
        .collect();
    let config = MachineConfig::from_file(file.as_ref(), &settings).expect("a machine file");
    let bytes = words(machine)
        .into_iter()
        .flat_map(|word| word.to_be_bytes());
    let boot = Boot {
        chunks: vec![Chunk {
            physical: 0x2000,
            bytes: bytes.collect(),
        }],
        entry: 0x2000,
        ..Boot::default()
    };
    let mut session = Session::<Processor>::new(config, &boot, Console::memory()).expect("it fits");
    let all = SanitizerSet {
        // No translation sanitizer knows a second-level TLB.
        translation: !parts.iter().any(|part| part.starts_with("tlb.l2.")),
        fetch: true,
        ..SanitizerSet::default()
    };
    session.sanitize(all).expect("it has all");
    assert_eq!(session.run(until(9000)), Stop::Limit);
    tree_of(session)
}

/// The session's snapshot as a tree of values, without its RAM, and the RAM.
pub(crate) fn tree_of<C: Saved>(mut session: Session<C>) -> (Value, Ram) {
    let bytes = session.save().expect("it can be saved");
    let mut snapshot = unpack::<C>(&bytes, "s").expect("it can be read");
    let ram = std::mem::take(&mut snapshot.uncore.ram);
    (serde_json::to_value(&snapshot).expect("a tree"), ram)
}

/// The file of such a tree. What has another shape cannot be written down as a snapshot in the first place.
pub(crate) fn sealed<C: Saved>(tree: Value, ram: Ram) -> Option<Vec<u8>> {
    let mut snapshot = serde_json::from_value::<Snapshot<C>>(tree).ok()?;
    snapshot.uncore.ram = ram;
    Some(file_of::<C>(&snapshot).expect("memory"))
}

pub(crate) fn until(cycles: u64) -> Limits {
    Limits {
        cycles,
        ..Limits::NONE
    }
}

/// Changes one part of the tree: `path` says where to go at each container, `how` what to do there.
fn change(tree: &mut Value, path: &[usize], how: u64) {
    let more = |len: usize| len > 0 && !path.is_empty();
    match tree {
        Value::Array(items) if more(items.len()) && !path[0].is_multiple_of(8) => {
            let length = items.len();
            change(&mut items[path[0] / 8 % length], &path[1..], how);
        }
        Value::Object(fields) if more(fields.len()) => {
            let nth = path[0] % fields.len();
            if let Some(field) = fields.values_mut().nth(nth) {
                change(field, &path[1..], how);
            }
        }
        Value::Array(items) => match how % 5 {
            0 => items.clear(),
            1 => drop(items.pop()),
            2 => items.extend(items.last().cloned()),
            3 => items.reverse(),
            _ => items.truncate(items.len() / 2),
        },
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or(0);
            *tree = match how % 9 {
                0 => 0.into(),
                1 => 1.into(),
                2 => old.wrapping_add(1).into(),
                3 => old.wrapping_sub(1).into(),
                4 => u8::MAX.into(),
                5 => u32::MAX.into(),
                6 => u64::MAX.into(),
                7 => (old ^ 1 << (how >> 8 & 31)).into(),
                _ => (how >> 8).into(),
            };
        }
        Value::Bool(bit) => *bit = !*bit,
        Value::String(text) => text.push('!'),
        other => *other = Value::Null,
    }
}

/// Where a tree is changed, and how.
pub(crate) type Changes = Vec<(Vec<usize>, u64)>;

pub(crate) fn changes() -> impl Strategy<Value = Changes> {
    prop::collection::vec(
        (prop::collection::vec(any::<usize>(), 12), any::<u64>()),
        1..3,
    )
}

/// Changes a good snapshot, and its RAM's size to `bytes`: it is refused or runs.
pub(crate) fn is_refused_or_runs<C: Saved>(
    (tree, whole): &(Value, Ram),
    changes: &Changes,
    bytes: Option<usize>,
) -> Result<(), TestCaseError> {
    let mut tree = tree.clone();
    for (path, how) in changes {
        change(&mut tree, path, *how);
    }
    let ram = bytes.map_or_else(|| whole.clone(), Ram::new);
    let Some(file) = sealed::<C>(tree, ram) else {
        return Ok(());
    };
    match Session::<C>::restore(&file, "s", Console::memory()) {
        Err(error) => prop_assert!(error.to_string().starts_with("s: "), "{error}"),
        Ok(mut session) => {
            let now = session.machine().instant().cycles;
            let stop = session.run(until(now + 20_000));
            prop_assert!(!session.explain(&stop).is_empty());
            prop_assert!(!session.dump(0)[0].to_string().is_empty());
            prop_assert!(session.save().is_ok());
        }
    }
    Ok(())
}

/// A snapshot of `tree` as it is can be used.
pub(crate) fn is_taken<C: Saved>((tree, ram): (Value, Ram)) {
    let file = sealed::<C>(tree, ram).expect("the same shape");
    let restored = Session::<C>::restore(&file, "s", Console::memory());
    assert!(restored.is_ok(), "{:?}", restored.err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_snapshots_are_refused_or_run(
        machine in 0..MACHINES.len(),
        changes in changes(),
        ram in prop::option::weighted(0.05, 0..0x20_0000_usize),
    ) {
        static GOOD: LazyLock<Vec<(Value, Ram)>> =
            LazyLock::new(|| MACHINES.into_iter().map(good).collect());
        is_refused_or_runs::<Processor>(&GOOD[machine], &changes, ram)?;
    }
}

#[test]
fn what_was_not_changed_is_taken() {
    for machine in MACHINES {
        is_taken::<Processor>(good(machine));
    }
}

/// A snapshot whose configuration has such a clock is refused, and nothing overflows.
pub(crate) fn is_refused_with_clock<C: Saved>((mut tree, ram): (Value, Ram), clock: u64) {
    *tree.pointer_mut("/config/core/clock").expect("it has one") = clock.into();
    let file = sealed::<C>(tree, ram).expect("the same shape");
    let restored = Session::<C>::restore(&file, "s", Console::memory());
    let error = restored.err().expect("no such clock").to_string();
    assert!(error.contains("core.clock"), "{error}");
}

#[test]
fn a_clock_beyond_all_is_refused() {
    is_refused_with_clock::<Processor>(good(MACHINES[0]), u64::MAX);
}
