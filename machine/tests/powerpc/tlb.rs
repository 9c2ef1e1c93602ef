//! TLBs against plain models, and known access patterns with exact miss counts.

use crate::common;
use crate::common::{Parts as _, SUPERVISOR, account, hash_mmu, plain_memory, put_pte, soft_mmu};
use pagewalk_machine::account::{Account, Event};
use pagewalk_machine::memory::Memory;
use pagewalk_machine::powerpc::mmu::{
    Access, EntryView, FaultKind, Invalidation, Mmu, Tlb, TlbEntry, TlbGeometry, tlb,
};
use proptest::prelude::*;

/// A TLB as a list of (page, vsid, time of last use) for each set.
struct Model {
    sets: Vec<Vec<(u32, u32, u64)>>,
    ways: usize,
    time: u64,
}

impl Model {
    fn new(sets: usize, ways: usize) -> Self {
        Self {
            sets: vec![Vec::new(); sets],
            ways,
            time: 0,
        }
    }

    /// Touches a page; false if it had to be brought in.
    fn touch(&mut self, page: u32, vsid: u32) -> bool {
        self.time += 1;
        let count = self.sets.len();
        let set = &mut self.sets[page as usize % count];
        if let Some(entry) = set.iter_mut().find(|e| (e.0, e.1) == (page, vsid)) {
            entry.2 = self.time;
            return true;
        }
        if set.len() == self.ways {
            let oldest = (0..set.len()).min_by_key(|&n| set[n].2).expect("ways > 0");
            set.remove(oldest);
        }
        set.push((page, vsid, self.time));
        false
    }

    fn invalidate(&mut self, page: u32) {
        let count = self.sets.len();
        self.sets[page as usize % count].clear();
    }
}

#[derive(Debug, Clone)]
enum Step {
    Touch(u32, u32),
    Invalidate(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0u32..96, 0u32..3).prop_map(|(page, vsid)| Step::Touch(page, vsid)),
        1 => (0u32..96).prop_map(Step::Invalidate),
    ]
}

proptest! {
    #![proptest_config(common::cases())]

    #[test]
    fn a_tlb_is_an_lru_list_for_each_set(
        sets in 0u32..6,
        ways in prop_oneof![Just(1u32), Just(2), Just(4), Just(8)],
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let sets = 1 << sets;
        let mut tlb = Tlb::new(TlbGeometry { entries: sets * ways, ways }).expect("valid");
        let mut model = Model::new(sets as usize, ways as usize);
        for step in steps {
            match step {
                Step::Touch(page, vsid) => {
                    let tag = tlb::tag(vsid, page << 12);
                    let hit = tlb.access(tag).is_some();
                    prop_assert_eq!(hit, model.touch(page, vsid));
                    if !hit {
                        tlb.fill(TlbEntry::new(tag, page << 12 | 2));
                    }
                    prop_assert_eq!(tlb.mru(page << 12).tag(), tag);
                }
                Step::Invalidate(page) => {
                    tlb.invalidate_class(page << 12);
                    model.invalidate(page);
                }
            }
            let mut mine: Vec<_> = tlb.valid_entries().map(|(_, e)| (e.page(), e.vsid())).collect();
            let mut theirs: Vec<_> = model.sets.iter().flatten().map(|e| (e.0, e.1)).collect();
            mine.sort_unstable();
            theirs.sort_unstable();
            prop_assert_eq!(mine, theirs);
        }
    }

    /// Touching element 0 of a set again changes nothing at all: what fast paths rest on.
    #[test]
    fn touching_the_most_recent_entry_changes_nothing(
        pages in prop::collection::vec(0u32..64, 1..100),
    ) {
        let mut tlb = Tlb::new(TlbGeometry { entries: 16, ways: 4 }).expect("valid");
        for page in pages {
            let tag = tlb::tag(5, page << 12);
            if tlb.access(tag).is_none() {
                tlb.fill(TlbEntry::new(tag, 0));
            }
            let before = tlb.entries().to_vec();
            prop_assert!(tlb.access(tag).is_some());
            prop_assert_eq!(tlb.entries().to_vec(), before);
        }
    }

    /// An entry's number is its set's and its way's, whatever was used when.
    #[test]
    fn numbers_tell_nothing_of_use(pages in prop::collection::vec(0u32..64, 1..100)) {
        let mut tlb = Tlb::new(TlbGeometry { entries: 16, ways: 4 }).expect("valid");
        for page in pages {
            let tag = tlb::tag(5, page << 12);
            if tlb.access(tag).is_none() {
                tlb.fill(TlbEntry::new(tag, 0));
            }
        }
        for number in 0..16 {
            let entry = tlb.entry(number).expect("sixteen entries");
            prop_assert_eq!(u32::from(entry.way()), number % 4);
            prop_assert!(!entry.valid() || entry.page() % 4 == number / 4);
        }
        prop_assert_eq!(tlb.entry(16), None);
        let valid = (0..16).filter_map(|number| tlb.entry(number)).filter(|entry| entry.valid());
        prop_assert!(tlb.valid_entries().map(|(_, entry)| entry).eq(valid));
    }

    /// Ways keep their numbers: each set always holds each way number once.
    #[test]
    fn way_numbers_are_a_permutation(steps in prop::collection::vec((0u32..64, 0u8..4, any::<bool>()), 1..200)) {
        let mut tlb = Tlb::new(TlbGeometry { entries: 16, ways: 4 }).expect("valid");
        for (page, way, named) in steps {
            let tag = tlb::tag(1, page << 12);
            if named {
                tlb.write_way(page << 12, way, TlbEntry::new(tag, 0));
                prop_assert_eq!(tlb.mru(page << 12).way(), way);
            } else if tlb.access(tag).is_none() {
                let victim = tlb.victim_way(page << 12);
                tlb.fill(TlbEntry::new(tag, 0));
                prop_assert_eq!(tlb.mru(page << 12).way(), victim);
            }
            for set in tlb.entries().chunks(4) {
                let mut ways: Vec<_> = set.iter().map(TlbEntry::way).collect();
                ways.sort_unstable();
                prop_assert_eq!(ways, vec![0, 1, 2, 3]);
            }
        }
    }
}

/// Maps `pages` pages from EA 0 (VSID 7) to a frame each of the first megabytes.
fn map(memory: &mut Memory, mmu: &mut Mmu, pages: u32) {
    mmu.six().segments.write(0, 7);
    for page in 0..pages {
        put_pte(
            memory,
            7,
            page << 12,
            (page % 256) << 12 | 0x182,
            false,
            page >> 10 & 7,
        );
    }
}

/// Loads from each page once; returns how many data TLB misses that took.
fn walk_over(mmu: &mut Mmu, memory: &mut Memory, pages: u32, account: &mut Account) -> u64 {
    let before = account.counters.total(Event::DataTlbMiss);
    for page in 0..pages {
        mmu.translate(page << 12, Access::Load, SUPERVISOR, memory, 0, account)
            .expect("mapped");
    }
    account.counters.total(Event::DataTlbMiss) - before
}

#[test]
fn a_walk_over_pages_misses_exactly_where_the_tlb_is_too_small() {
    // 128 entries, 2 ways, 64 sets: page n is in set n mod 64. A cyclic walk over N pages puts
    // ceil((N - s) / 64) pages into set s; LRU keeps a set of 2 and misses on all of a set of 3.
    for (pages, first, again) in [
        (127, 127, 0),
        (128, 128, 0),
        (129, 129, 3),
        (130, 130, 6),
        (192, 192, 192),
    ] {
        let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
        map(&mut memory, &mut mmu, pages);
        assert_eq!(walk_over(&mut mmu, &mut memory, pages, &mut account), first);
        for _ in 0..3 {
            assert_eq!(
                walk_over(&mut mmu, &mut memory, pages, &mut account),
                again,
                "{pages} pages"
            );
        }
    }
}

#[test]
fn instruction_and_data_tlbs_are_apart() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    map(&mut memory, &mut mmu, 4);
    for _ in 0..2 {
        mmu.translate(
            0x1000,
            Access::Fetch,
            SUPERVISOR,
            &mut memory,
            0,
            &mut account,
        )
        .expect("mapped");
    }
    assert_eq!(account.counters.total(Event::InstructionTlbMiss), 1);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 0);
    mmu.translate(
        0x1000,
        Access::Load,
        SUPERVISOR,
        &mut memory,
        0,
        &mut account,
    )
    .expect("mapped");
    assert_eq!(account.counters.total(Event::InstructionTlbMiss), 1);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 1);
}

#[test]
fn entries_survive_a_change_of_the_segment_register() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    map(&mut memory, &mut mmu, 1);
    put_pte(&mut memory, 8, 0, 0x0003_3182, false, 0);
    let load = |mmu: &mut Mmu, memory: &mut Memory, account: &mut Account| {
        mmu.translate(0x10, Access::Load, SUPERVISOR, memory, 0, account)
            .expect("mapped")
            .pa
    };
    assert_eq!(load(&mut mmu, &mut memory, &mut account), 0x10);
    mmu.six().segments.write(0, 8);
    assert_eq!(load(&mut mmu, &mut memory, &mut account), 0x3_3010);
    mmu.six().segments.write(0, 7);
    assert_eq!(load(&mut mmu, &mut memory, &mut account), 0x10);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 2);
}

#[test]
fn tlbie_empties_the_congruence_class_of_both_tlbs_and_no_other() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    map(&mut memory, &mut mmu, 128);
    for access in [Access::Load, Access::Fetch] {
        for page in 0..128 {
            mmu.translate(page << 12, access, SUPERVISOR, &mut memory, 0, &mut account)
                .expect("mapped");
        }
    }
    // The class of page 5 also holds page 69; the EA's upper bits and the VSID don't matter.
    let _ = mmu.invalidate(
        Invalidation::Address(0xf000_5abc | 0x0100_0000),
        &mut account,
    );
    let front = mmu.six();
    for tlb in [&front.itlb, &front.dtlb] {
        assert_eq!(tlb.valid_entries().count(), 126);
        assert!(tlb.valid_entries().all(|(set, _)| set != 5));
    }
}

#[test]
fn the_603_names_the_least_recently_used_way_and_tlbld_writes_it() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), soft_mmu(), account());
    mmu.six().segments.write(0, 7);
    let mut miss = |mmu: &mut Mmu, ea: u32| -> Option<u32> {
        match mmu.translate(ea, Access::Load, SUPERVISOR, &mut memory, 0, &mut account) {
            Ok(_) => None,
            Err(fault) => match fault.kind {
                FaultKind::Software(miss) => {
                    assert_eq!(miss.access, Access::Load);
                    mmu.soft().miss.rpa = ea & 0xf_f000 | 2;
                    let _ = mmu.soft().load(ea, miss.srr1, false, &mut account);
                    Some(miss.srr1 >> 17 & 1)
                }
                other => panic!("{other:?}"),
            },
        }
    };
    // 32 sets: pages 3, 35, 67 share set 3.
    let (a, b, c) = (0x3000, 0x23000, 0x43000);
    let first = miss(&mut mmu, a).expect("empty TLB");
    let second = miss(&mut mmu, b).expect("one entry");
    assert_eq!(second, 1 - first);
    assert_eq!(miss(&mut mmu, a), None);
    assert_eq!(miss(&mut mmu, c), Some(second), "b was used before a");
    assert_eq!(miss(&mut mmu, a), None);
    assert_eq!(miss(&mut mmu, b), Some(second), "c was used before a");
    assert_eq!(mmu.six().dtlb.valid_entries().count(), 2);
}

#[test]
fn a_store_to_an_unchanged_page_names_the_way_of_its_entry() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), soft_mmu(), account());
    mmu.six().segments.write(0, 7);
    for (ea, way) in [(0x3000u32, 0u32), (0x23000, 1)] {
        let fault = mmu
            .translate(ea, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
            .expect_err("not loaded yet");
        assert!(matches!(fault.kind, FaultKind::Software(_)));
        mmu.soft().miss.rpa = ea & 0xf_f000 | 2;
        let _ = mmu.soft().load(ea, way << 17, false, &mut account);
    }
    for (ea, way) in [(0x3000u32, 0u32), (0x23000, 1), (0x3000, 0)] {
        let fault = mmu
            .translate(ea, Access::Store, SUPERVISOR, &mut memory, 0, &mut account)
            .expect_err("C = 0");
        let FaultKind::Software(miss) = fault.kind else {
            panic!("{fault:?}");
        };
        assert_eq!(miss.access, Access::Store);
        assert_eq!(miss.srr1, way << 17 | 0x0001_0000);
        assert_eq!(mmu.soft().miss.dmiss, ea);
    }
    // Reloaded with C = 1 into the way named, the entry is not doubled.
    mmu.soft().miss.rpa = 0x3000 | 0x82;
    let _ = mmu.soft().load(0x3000, 0, false, &mut account);
    assert!(
        mmu.translate(
            0x3004,
            Access::Store,
            SUPERVISOR,
            &mut memory,
            0,
            &mut account
        )
        .is_ok()
    );
    assert_eq!(mmu.six().dtlb.valid_entries().count(), 2);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 2);
}

#[test]
fn shapes_that_hardware_cannot_have_are_refused() {
    for (entries, ways) in [(0, 1), (64, 0), (63, 2), (96, 2), (64, 129)] {
        assert!(
            Tlb::new(TlbGeometry { entries, ways }).is_err(),
            "{entries}/{ways}"
        );
    }
}

#[test]
fn the_control_device_finds_entries_by_number() {
    let mut mmu = hash_mmu();
    let geometry = mmu.six().itlb.geometry();
    let (ea, vsid, word1) = (0x0123_4000, 0x00ab_cdef, 0x0765_4092);
    mmu.six()
        .itlb
        .fill(TlbEntry::new(tlb::tag(vsid, ea), word1));
    let empty = EntryView {
        shape: geometry.sets() << 16 | geometry.ways,
        ..EntryView::default()
    };
    let entry = (ea >> 12) % geometry.sets() * geometry.ways;
    assert_eq!(
        mmu.view(true, entry),
        EntryView {
            space: 1 << 31 | vsid,
            page: ea,
            word1,
            ..empty
        }
    );
    assert_eq!(mmu.view(true, entry + 1), empty);
    assert_eq!(mmu.view(false, entry), empty);
    assert_eq!(mmu.view(true, geometry.entries), empty);
}
