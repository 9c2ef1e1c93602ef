//! The walk cache: what it saves, that it finds what the plain search finds, and how a machine file names it.

mod common;

use common::{Parts as _, SUPERVISOR, TABLE, account, cases, plain_memory, put_pte};
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::memory::Memory;
use pagewalk_machine::mmu::{Access, Invalidation, Mmu};
use pagewalk_machine::observe::{Account, Plain};
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
    /// Whatever software does to the table, a walk cache finds what the plain search finds, with at most one access
    /// more.
    #[test]
    fn a_walk_cache_finds_what_the_search_finds(
        steps in proptest::collection::vec((0u32..24, 0u32..16, any::<bool>()), 1..60),
    ) {
        let (mut memory, mut account) = (plain_memory(), account());
        let mut cached = mmu(&["walk.walker=walk-cache", "walk.options.entries=8"]);
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
        (&["walk.walker=fast"][..], "allowed are hash, walk-cache"),
        (&["walk.options.entries=8"], "has no option \"entries\""),
        (
            &["walk.walker=walk-cache", "walk.options.ways=2"],
            "has no option \"ways\": allowed is entries",
        ),
        (
            &["walk.walker=walk-cache", "walk.options.entries=12"],
            "has 12 entries: allowed are powers of two up to 65536",
        ),
    ] {
        let message = config(settings).expect_err("not allowed");
        assert!(message.contains(words), "{message}");
    }
}
