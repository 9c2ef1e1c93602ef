//! The second-level TLB: against a plain model, its times and counts, and how a machine file adds it.

use crate::common::{Parts as _, SUPERVISOR, TABLE, account, cases, plain_memory, put_pte};
use pagewalk_machine::account::{Account, Event, Plain};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::memory::Memory;
use pagewalk_machine::powerpc::mmu::{Access, FaultKind, Invalidation, Mmu};
use proptest::prelude::*;

const VSID: u32 = 7;

fn config(machine: &str, settings: &[&str]) -> Result<MachineConfig, String> {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let settings: Result<Vec<_>, _> = settings.iter().map(|text| Override::parse(text)).collect();
    MachineConfig::from_file(file.as_ref(), &settings.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())
}

/// An MMU whose first level has eight sets of one, and which maps segment 0.
fn mmu(machine: &str, settings: &[&str]) -> Mmu {
    let small = [
        "tlb.data.entries=8",
        "tlb.data.ways=1",
        "tlb.instruction.entries=8",
        "tlb.instruction.ways=1",
    ];
    let settings = [&small[..], settings].concat();
    let config = config(machine, &settings).expect("allowed");
    let mut mmu = Mmu::from_config(&config).expect("an MMU");
    mmu.six().sdr1 = TABLE;
    mmu.six().segments.write(0, VSID);
    mmu
}

const SECOND: [&str; 4] = [
    "tlb.l2.entries=32",
    "tlb.l2.ways=2",
    "tlb.l2.hit=5",
    "tlb.l2.miss=3",
];

fn map(memory: &mut Memory, pages: u32) {
    for page in 0..pages {
        put_pte(memory, VSID, page << 12, page << 12 | 0x102, false, 0);
    }
}

/// The physical address of `ea`, and the cycles that the translation took.
fn load(mmu: &mut Mmu, memory: &mut Memory, account: &mut Account, ea: u32) -> (u32, u64) {
    let done = mmu.translate(ea, Access::Load, SUPERVISOR, memory, 0, account);
    let done = done.expect("mapped");
    (done.pa, done.cycles)
}

#[test]
fn a_hit_takes_its_cycles_and_no_walk() {
    let (mut memory, mut account) = (plain_memory(), account());
    map(&mut memory, 16);
    let mut mmu = mmu("ppc604-133", &SECOND);
    let first = load(&mut mmu, &mut memory, &mut account, 0x123);
    assert_eq!(first.0, 0x123);
    assert_eq!(first.1, account.counters.plain(Plain::WalkCycles) + 3);
    load(&mut mmu, &mut memory, &mut account, 0x8000);
    let walks = account.counters.plain(Plain::HashSearch);
    assert_eq!(load(&mut mmu, &mut memory, &mut account, 0x124), (0x124, 5));
    assert_eq!(account.counters.plain(Plain::HashSearch), walks);
    let counts = [
        Plain::SecondTlbAccess,
        Plain::SecondTlbMiss,
        Plain::SecondTlbEvicted,
        Plain::SecondTlbCycles,
        Plain::DataTlbEvicted,
    ];
    let counts = counts.map(|plain| account.counters.plain(plain));
    assert_eq!(counts, [3, 2, 0, 3 + 3 + 5, 2]);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 3);
}

#[test]
fn fetches_and_loads_share_it() {
    let (mut memory, mut account) = (plain_memory(), account());
    map(&mut memory, 1);
    let mut mmu = mmu("ppc604-133", &SECOND);
    load(&mut mmu, &mut memory, &mut account, 0);
    let fetched = mmu.translate(0, Access::Fetch, SUPERVISOR, &mut memory, 0, &mut account);
    assert_eq!(fetched.expect("mapped").cycles, 5);
}

#[test]
fn a_store_sets_c_on_both_levels() {
    let (mut memory, mut account) = (plain_memory(), account());
    map(&mut memory, 16);
    let mut mmu = mmu("ppc604-133", &SECOND);
    let mut store = |mmu: &mut Mmu, ea: u32| {
        let done = mmu.translate(ea, Access::Store, SUPERVISOR, &mut memory, 0, &mut account);
        done.expect("mapped");
        account.counters.plain(Plain::HashChanged)
    };
    assert_eq!(store(&mut mmu, 0), 1);
    assert_eq!(store(&mut mmu, 0x8000), 2);
    assert_eq!(store(&mut mmu, 0), 2, "the entry that came back has C set");
}

#[test]
fn what_tlbld_loads_comes_back_without_an_exception() {
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = mmu("ppc603-133", &SECOND);
    for (ea, missed) in [(0u32, true), (0x8000, true), (0, false), (0x8000, false)] {
        let done = mmu.translate(ea, Access::Load, SUPERVISOR, &mut memory, 0, &mut account);
        match done {
            Err(fault) => {
                let FaultKind::Software(miss) = fault.kind else {
                    panic!("{fault:?}");
                };
                assert!(missed);
                assert_eq!(fault.cycles, 3);
                mmu.soft().miss.rpa = (0x5000 + ea) | 2;
                let _ = mmu.soft().load(ea, miss.srr1, false, &mut account);
            }
            Ok(translation) => {
                assert!(!missed);
                assert_eq!((translation.pa, translation.cycles), (0x5000 + ea, 5));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases())]
    /// Loads, `tlbie` and changes of the table: each translation is that of the first level, of the second, or of the
    /// table, as plain lists of pages say. `tlbie` of any page removes what a first-level set could hold of it.
    #[test]
    fn both_levels_are_lists_of_pages(
        entries in (1u32..7).prop_map(|shift| 1 << shift),
        steps in prop::collection::vec((0u32..48, 0u32..12), 1..200),
    ) {
        let (mut memory, mut account) = (plain_memory(), account());
        map(&mut memory, 48);
        let size = format!("tlb.l2.entries={entries}");
        let mut mmu = mmu("ppc604-133", &[&size, "tlb.l2.ways=2", "tlb.l2.hit=5"]);
        let sets = entries / 2;
        let mut first = [None; 8];
        // Most recently used first.
        let mut second: Vec<Vec<u32>> = vec![Vec::new(); sets as usize];
        for (page, what) in steps {
            if what == 0 {
                let _ = mmu.invalidate(Invalidation::Address(page << 12), &mut account);
                first[page as usize % 8] = None;
                for set in &mut second {
                    set.retain(|held| held % 8 != page % 8 && (sets >= 8 || held % sets != page % sets));
                }
                continue;
            }
            let misses = account.counters.plain(Plain::SecondTlbMiss);
            let looks = account.counters.plain(Plain::SecondTlbAccess);
            let (pa, _) = load(&mut mmu, &mut memory, &mut account, page << 12);
            prop_assert_eq!(pa, page << 12);
            let held = first[page as usize % 8].replace(page) == Some(page);
            let looked = account.counters.plain(Plain::SecondTlbAccess) - looks;
            prop_assert_eq!(looked, u64::from(!held));
            if held {
                continue;
            }
            let set = &mut second[(page % sets) as usize];
            let known = set.iter().position(|held| *held == page);
            let missed = account.counters.plain(Plain::SecondTlbMiss) - misses;
            prop_assert_eq!(missed, u64::from(known.is_none()));
            if let Some(place) = known {
                set.remove(place);
            }
            set.insert(0, page);
            set.truncate(2);
        }
    }
}

#[test]
fn a_loop_over_the_first_levels_classes_empties_it() {
    let (mut memory, mut account) = (plain_memory(), account());
    map(&mut memory, 48);
    let mut mmu = mmu("ppc604-133", &["tlb.l2.entries=256"]);
    for page in 0..48 {
        load(&mut mmu, &mut memory, &mut account, page << 12);
    }
    let held = |mmu: &mut Mmu| {
        let second = mmu.six().second.as_ref().expect("a second level");
        second.tlb.valid_entries().count()
    };
    assert_eq!(held(&mut mmu), 48);
    for class in 0..8 {
        let _ = mmu.invalidate(Invalidation::Address(class << 12), &mut account);
    }
    assert_eq!(held(&mut mmu), 0);
}

#[test]
fn wrong_combinations_are_refused() {
    for (machine, setting, words) in [
        (
            "ppc604-133",
            "tlb.l2.entries=100",
            "`tlb.l2.entries` is 100: allowed are powers of two",
        ),
        ("ppc604-133", "tlb.l2.ways=1024", "`tlb.l2.ways` is 1024"),
        (
            "ppc604-133",
            "tlb.l2.hit=1001",
            "`tlb.l2.hit` is 1001: allowed are 0 to 1000",
        ),
        ("ppc604-133", "tlb.l2.miss=1001", "`tlb.l2.miss` is 1001"),
        (
            "ppc604-133",
            "tlb.l2.replacement=best",
            "`tlb.l2.replacement` is \"best\"",
        ),
        ("ppc604-133", "tlb.l2.size=64", "unknown key `size`"),
        (
            "mpc855t-48",
            "tlb.l2.entries=64",
            "`tlb.l2` does not go with core.kind \"8xx\"",
        ),
    ] {
        let message = config(machine, &[setting]).expect_err("not allowed");
        assert!(message.contains(words), "{message}");
    }
}
