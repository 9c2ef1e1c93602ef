//! The walkers: what they save, that they find what the plain search finds, and how a machine file names them.

use crate::common::{Parts as _, SUPERVISOR, TABLE, account, cases, plain_memory, put_pte};
use pagewalk_machine::account::{Account, Event, Plain};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::memory::Memory;
use pagewalk_machine::powerpc::mmu::{Access, Invalidation, Mmu};
use proptest::prelude::*;

const VSID: u32 = 0x12_3456;
const EA: u32 = 0x3456_7890;

fn config(settings: &[&str]) -> Result<MachineConfig, String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc604-133.toml");
    let settings: Result<Vec<_>, _> = settings.iter().map(|text| Override::parse(text)).collect();
    MachineConfig::from_file(file.as_ref(), &settings.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())
}

fn mmu(settings: &[&str]) -> Mmu {
    let mut mmu = Mmu::from_config(&config(settings).expect("allowed")).expect("an MMU");
    mmu.six().sdr1 = TABLE;
    mmu.six().segments.write(EA >> 28, VSID);
    mmu
}

/// Loads from `ea` with empty TLBs. Returns the physical address and how many PTEs were read.
fn load(mmu: &mut Mmu, memory: &mut Memory, account: &mut Account, ea: u32) -> (Option<u32>, u64) {
    let _ = mmu.invalidate(Invalidation::All, account);
    load_again(mmu, memory, account, ea)
}

/// As [`load`], with the TLBs and walk caches as they are.
fn load_again(
    mmu: &mut Mmu,
    memory: &mut Memory,
    account: &mut Account,
    ea: u32,
) -> (Option<u32>, u64) {
    let before = account.counters.plain(Plain::HashAccess);
    let result = mmu.translate(ea, Access::Load, SUPERVISOR, memory, 0, account);
    let reads = account.counters.plain(Plain::HashAccess) - before;
    (result.ok().map(|translation| translation.pa), reads)
}

#[test]
fn a_page_searched_for_before_takes_one_access() {
    for slot in 0..16u32 {
        let (mut memory, mut account) = (plain_memory(), account());
        let mut mmu = mmu(&["walk.walker=walk-cache"]);
        put_pte(&mut memory, VSID, EA, 0x0010_0182, slot >= 8, slot % 8);
        let page = Some(0x0010_0890);
        let first = load(&mut mmu, &mut memory, &mut account, EA);
        assert_eq!(first, (page, u64::from(slot) + 1));
        assert_eq!(load(&mut mmu, &mut memory, &mut account, EA), (page, 1));
    }
}

/// An MMU whose data TLB holds one entry, so that other pages push it out.
fn forgetful(settings: &[&str]) -> Mmu {
    mmu(&[settings, &["tlb.data.entries=1", "tlb.data.ways=1"]].concat())
}

#[test]
fn a_wide_walker_reads_its_ptes_together() {
    for (ptes, reads) in [(2, 3), (4, 2), (8, 1)] {
        let (mut memory, mut account) = (plain_memory(), account());
        let ptes = format!("walk.options.ptes={ptes}");
        let mut mmu = mmu(&["walk.walker=wide", &ptes]);
        put_pte(&mut memory, VSID, EA, 0x0010_0182, false, 5);
        let found = load(&mut mmu, &mut memory, &mut account, EA);
        assert_eq!(found, (Some(0x0010_0890), reads));
        // Lines of 32 bytes: the fifth slot is in the second one.
        assert_eq!(account.counters.total(Event::DataCacheMiss), 2);
    }
}

#[test]
fn a_group_cache_keeps_what_the_search_has_read_until_tlbie() {
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = forgetful(&["walk.walker=group-cache", "walk.options.hit=6"]);
    // Two pages of one group, the second with R = 0 and behind the first.
    let other = EA ^ 0x40_0000;
    let place = place(EA, 0);
    for (slot, ea, word1) in [(0, EA, 0x0010_0182), (1, other, 0x0020_0102)] {
        // The group is that of EA; the cache believes what is there.
        let word0 = 0x8000_0000 | VSID << 7 | (ea >> 22 & 0x3f);
        memory.uncore.ram.write_u32(place + slot * 8, word0);
        memory.uncore.ram.write_u32(place + slot * 8 + 4, word1);
    }
    assert_eq!(load_again(&mut mmu, &mut memory, &mut account, EA).1, 1);
    put_pte(&mut memory, VSID, EA ^ 0x1000, 0x0030_0182, false, 0);
    assert_eq!(
        load_again(&mut mmu, &mut memory, &mut account, EA ^ 0x1000).1,
        1
    );
    let cycles = account.counters.plain(Plain::WalkCycles);
    assert_eq!(
        load_again(&mut mmu, &mut memory, &mut account, EA),
        (Some(0x0010_0890), 0)
    );
    // Start 2, hit 6, finish 2.
    assert_eq!(account.counters.plain(Plain::WalkCycles) - cycles, 10);
    let count = |account: &Account, plain| account.counters.plain(plain);
    assert_eq!(count(&account, Plain::WalkCacheAccess), 3);
    assert_eq!(count(&account, Plain::WalkCacheMiss), 2);
    // tlbie, of whatever page, empties it.
    let _ = mmu.invalidate(Invalidation::Address(0x1234_5000), &mut account);
    load_again(&mut mmu, &mut memory, &mut account, EA ^ 0x1000);
    assert_eq!(load_again(&mut mmu, &mut memory, &mut account, EA).1, 1);
}

#[test]
fn a_group_cache_writes_no_bit_into_a_slot_that_is_anothers_now() {
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = forgetful(&["walk.walker=group-cache"]);
    let slot = put_pte(&mut memory, VSID, EA, 0x0010_0102, false, 0);
    let neighbour = EA ^ 0x1000;
    put_pte(&mut memory, VSID, neighbour, 0x0030_0182, false, 0);
    load_again(&mut mmu, &mut memory, &mut account, EA);
    load_again(&mut mmu, &mut memory, &mut account, neighbour);
    // Software evicts the entry without tlbie, since the translation is still right; another page's takes the slot.
    memory.uncore.ram.write_u32(slot, 0x8000_0000 | 0x777 << 7);
    memory.uncore.ram.write_u32(slot + 4, 0x0040_0002);
    let load = load_again(&mut mmu, &mut memory, &mut account, EA);
    assert_eq!(load, (Some(0x0010_0890), 0), "as a TLB entry would");
    let store = mmu.translate(EA, Access::Store, SUPERVISOR, &mut memory, 0, &mut account);
    assert!(
        store.is_err(),
        "C is set in memory, where the entry is gone"
    );
    assert_eq!(memory.uncore.ram.read_u32(slot + 4), Some(0x0040_0002));
}

#[test]
fn an_entry_that_software_has_moved_is_searched_for() {
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = mmu(&["walk.walker=walk-cache"]);
    let old = put_pte(&mut memory, VSID, EA, 0x0010_0182, false, 3);
    assert_eq!(load(&mut mmu, &mut memory, &mut account, EA).1, 4);
    memory.uncore.ram.write_u32(old, 0);
    put_pte(&mut memory, VSID, EA, 0x0020_0182, true, 0);
    let moved = load(&mut mmu, &mut memory, &mut account, EA);
    assert_eq!(moved, (Some(0x0020_0890), 1 + 9));
    assert_eq!(load(&mut mmu, &mut memory, &mut account, EA).1, 1);
}

proptest! {
    #![proptest_config(cases())]
    /// Whatever software does to the table, each walker finds what the plain search finds, with at most one access
    /// more.
    #[test]
    fn walkers_find_what_the_search_finds(
        walker in 0usize..3,
        steps in proptest::collection::vec((0u32..24, 0u32..16, any::<bool>()), 1..60),
    ) {
        let (mut memory, mut account) = (plain_memory(), account());
        let walkers: [&[&str]; 3] = [
            &["walk.walker=walk-cache", "walk.options.entries=8"],
            &["walk.walker=group-cache", "walk.options.groups=4"],
            &["walk.walker=wide", "walk.options.ptes=2"],
        ];
        let mut cached = mmu(walkers[walker]);
        let mut plain = mmu(&[]);
        for (page, slot, put) in steps {
            let ea = EA & 0xf000_0000 | page << 12;
            if put {
                // No page has two entries.
                for slot in 0..16 {
                    let at = place(ea, slot);
                    let held = memory.uncore.ram.read_u32(at).unwrap_or_default();
                    if held & !H == word0(ea) {
                        memory.uncore.ram.write_u32(at, 0);
                    }
                }
                let word1 = (page << 4 | slot) << 12 | 0x182;
                put_pte(&mut memory, VSID, ea, word1, slot >= 8, slot % 8);
            }
            let (found, reads) = load(&mut cached, &mut memory, &mut account, ea);
            let (expected, all) = load(&mut plain, &mut memory, &mut account, ea);
            prop_assert_eq!(found, expected);
            prop_assert!(reads <= all + 1);
        }
    }
}

/// H of a PTE's word 0.
const H: u32 = 0x40;

/// Word 0 of the PTE of `ea` without H.
fn word0(ea: u32) -> u32 {
    0x8000_0000 | VSID << 7 | (ea >> 22 & 0x3f)
}

/// Physical address of a slot of the groups of `ea`: 0 to 7 of the primary one, 8 to 15 of the secondary one.
fn place(ea: u32, slot: u32) -> u32 {
    let hash = (VSID & 0x7ffff) ^ (ea >> 12 & 0xffff);
    let hash = if slot < 8 { hash } else { !hash };
    TABLE + (hash & 1023) * 64 + slot % 8 * 8
}

#[test]
fn a_machine_file_names_walkers_and_their_options() {
    for (settings, words) in [
        (
            &["walk.walker=fast"][..],
            "allowed are hash, wide, walk-cache, group-cache",
        ),
        (&["walk.options.entries=8"], "has no option \"entries\""),
        (
            &["walk.walker=walk-cache", "walk.options.ways=2"],
            "has no option \"ways\": allowed is entries",
        ),
        (
            &["walk.walker=walk-cache", "walk.options.entries=12"],
            "has 12 entries: allowed are powers of two from 1 to 65536",
        ),
        (
            &["walk.walker=wide", "walk.options.ptes=16"],
            "has 16 ptes: allowed are powers of two from 2 to 8",
        ),
        (
            &["walk.walker=group-cache", "walk.options.groups=0"],
            "has 0 groups: allowed are powers of two from 1 to 1024",
        ),
        (
            &["walk.walker=group-cache", "walk.options.hit=2000"],
            "has a hit of 2000 cycles: allowed are 0 to 1000",
        ),
        (
            &["walk.walker=group-cache", "walk.options.entries=8"],
            "has no option \"entries\": allowed is groups, hit",
        ),
    ] {
        let message = config(settings).expect_err("not allowed");
        assert!(message.contains(words), "{message}");
    }
}
