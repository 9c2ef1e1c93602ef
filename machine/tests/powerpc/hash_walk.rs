//! The hardware's hash-table walk: accesses counted slot by slot, R and C, its time.

use crate::common;
use crate::common::{
    Parts as _, RAM, SUPERVISOR, TABLE, USER, account, bus, hash_mmu, l1, memory, mmu,
    plain_memory, put_pte, unit, walker,
};
use pagewalk_machine::account::{Account, Array, Cause, CauseNames, Event, Plain};
use pagewalk_machine::board::{Board, Console};
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::memory::{
    BusTiming, CacheGeometry, Forward, L2Timing, Memory, MemoryPace, Pattern, Uncore,
};
use pagewalk_machine::powerpc::hid0;
use pagewalk_machine::powerpc::mmu::{
    Access, FaultKind, Invalidation, Mmu, Reload, WalkTiming, hash,
};
use proptest::prelude::*;

const VSID: u32 = 0x12_3456;
const EA: u32 = 0x3456_7890;

fn ready() -> (Memory, Mmu, Account) {
    let mut mmu = hash_mmu();
    mmu.six().segments.write(EA >> 28, VSID);
    (plain_memory(), mmu, account())
}

/// The number of a cause that every guest has.
fn cause(name: &str) -> Cause {
    CauseNames::default().find(name).unwrap()
}

#[test]
fn each_slot_costs_one_access_more_up_to_sixteen() {
    for accesses in 1..=16u32 {
        let (mut memory, mut mmu, mut account) = ready();
        let slot = accesses - 1;
        put_pte(&mut memory, VSID, EA, 0x0010_0182, slot >= 8, slot % 8);
        let found = mmu
            .translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
            .expect("mapped");
        assert_eq!(found.pa, 0x0010_0890);
        let counters = &account.counters;
        assert_eq!(counters.plain(Plain::HashAccess), u64::from(accesses));
        assert_eq!(counters.plain(Plain::HashSearch), 1);
        assert_eq!(
            counters.plain(Plain::HashHitPrimary),
            u64::from(accesses <= 8)
        );
        assert_eq!(
            counters.plain(Plain::HashHitSecondary),
            u64::from(accesses > 8)
        );
        // Four PTEs are in a line of 32 bytes.
        assert_eq!(
            counters.by_cause(Event::DataCacheMiss, Cause::WALK),
            u64::from(accesses.div_ceil(4))
        );
        assert_eq!(
            counters.by_cause(Event::DataCacheAccess, Cause::WALK),
            u64::from(accesses)
        );
        assert_eq!(counters.plain(Plain::WalkCycles), found.cycles);
    }
}

#[test]
fn a_search_without_a_match_takes_sixteen_accesses_and_faults() {
    for (access, bits) in [(Access::Load, 0x4000_0000), (Access::Store, 0x4200_0000)] {
        let (mut memory, mut mmu, mut account) = ready();
        // Near misses: wrong VSID, wrong API, wrong H.
        put_pte(&mut memory, VSID ^ 0x80_0000, EA, 0x182, false, 0);
        put_pte(&mut memory, VSID, EA, 0x182, true, 1);
        let primary = hash::groups(TABLE, VSID, EA).0;
        let secondary_word = memory
            .uncore
            .ram
            .read_u32(hash::groups(TABLE, VSID, EA).1 + 8)
            .expect("RAM");
        memory.uncore.ram.write_u32(primary + 16, secondary_word);
        memory
            .uncore
            .ram
            .write_u32(hash::groups(TABLE, VSID, EA).1 + 8, secondary_word & !0x40);
        let fault = mmu
            .translate(EA, access, SUPERVISOR, &mut memory, 0, &mut account)
            .expect_err("not mapped");
        assert_eq!(fault.kind, FaultKind::Dsi { dsisr: bits });
        assert_eq!(account.counters.plain(Plain::HashAccess), 16);
        assert_eq!(account.counters.plain(Plain::HashMiss), 1);
        assert!(fault.cycles > 0);
        assert_eq!(mmu.six().dtlb.valid_entries().count(), 0);
    }
    let (mut memory, mut mmu, mut account) = ready();
    let fault = mmu
        .translate(EA, Access::Fetch, SUPERVISOR, &mut memory, 0, &mut account)
        .expect_err("not mapped");
    assert_eq!(fault.kind, FaultKind::Isi { srr1: 0x4000_0000 });
}

#[test]
fn a_table_outside_ram_is_a_machine_check() {
    let (mut memory, mut mmu, mut account) = ready();
    mmu.six().sdr1 = RAM as u32;
    let fault = mmu
        .translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
        .expect_err("no memory there");
    assert!(matches!(fault.kind, FaultKind::MachineCheck { pa } if pa >= RAM as u32));
}

#[test]
fn loads_set_r_and_stores_set_c_as_byte_writes() {
    let (mut memory, mut mmu, mut account) = ready();
    let pte = put_pte(&mut memory, VSID, EA, 0x0010_0002, false, 0);
    let word1 = |memory: &Memory| memory.uncore.ram.read_u32(pte + 4).expect("RAM");
    let mut go = |memory: &mut Memory, access| {
        mmu.translate(EA, access, SUPERVISOR, memory, 0, &mut account)
            .expect("mapped");
        (
            account.counters.plain(Plain::HashSearch),
            account
                .counters
                .by_cause(Event::DataCacheAccess, Cause::WALK),
        )
    };
    assert_eq!(go(&mut memory, Access::Load), (1, 2));
    assert_eq!(word1(&memory), 0x0010_0102);
    assert_eq!(go(&mut memory, Access::Load), (1, 2));
    // The first store finds the PTE again and sets C; later ones need nothing.
    assert_eq!(go(&mut memory, Access::Store), (2, 4));
    assert_eq!(word1(&memory), 0x0010_0182);
    assert_eq!(go(&mut memory, Access::Store), (2, 4));
    assert_eq!(account.counters.total(Event::DataTlbMiss), 1);
    assert_eq!(account.counters.plain(Plain::HashReferenced), 1);
    assert_eq!(account.counters.plain(Plain::HashChanged), 1);
}

#[test]
fn a_store_that_is_not_permitted_leaves_c_alone() {
    let (mut memory, mut mmu, mut account) = ready();
    mmu.six().segments.write(EA >> 28, VSID | 0x2000_0000);
    let pte = put_pte(&mut memory, VSID, EA, 0x0010_0001, false, 0);
    let fault = mmu
        .translate(EA, Access::Store, USER, &mut memory, 0, &mut account)
        .expect_err("read only");
    assert_eq!(fault.kind, FaultKind::Dsi { dsisr: 0x0a00_0000 });
    assert_eq!(memory.uncore.ram.read_u32(pte + 4), Some(0x0010_0101));
}

#[test]
fn a_store_whose_pte_is_gone_faults_though_its_entry_is_there() {
    let (mut memory, mut mmu, mut account) = ready();
    let pte = put_pte(&mut memory, VSID, EA, 0x0010_0002, false, 0);
    mmu.translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
        .expect("mapped");
    memory.uncore.ram.write_u32(pte, 0);
    let fault = mmu
        .translate(EA, Access::Store, SUPERVISOR, &mut memory, 0, &mut account)
        .expect_err("no PTE to set C in");
    assert_eq!(fault.kind, FaultKind::Dsi { dsisr: 0x4200_0000 });
    mmu.translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
        .expect("a stale entry still serves loads");
}

/// Walk time of a 750GX with the bus of the manual's example; the PTE's line may be in L1 or L2.
fn walk_750gx(ratio_x2: u32, first: u32, next: u32, in_l1: bool, in_l2: bool) -> u64 {
    let bus = BusTiming {
        ratio_x2,
        request: 1,
        return_path: 4,
        memory: MemoryPace::Constant(Pattern {
            read_first: first,
            read_next: next,
            write_first: 3,
            write_next: 1,
        }),
        ..bus()
    };
    let shape = CacheGeometry {
        size: 1 << 20,
        ways: 4,
        ..l1()
    };
    let l2 = L2Timing::Backside {
        hit: 6,
        miss: 5,
        beat: 0,
    };
    let mut memory = memory(Some((shape, l2)), bus, unit());
    let mut account = account();
    let mut mmu = hash_mmu();
    mmu.six().segments.write(EA >> 28, VSID);
    let pte = put_pte(&mut memory, VSID, EA, 0x0010_0182, false, 0);
    if in_l1 || in_l2 {
        memory.load(pte, 0, 0, &mut account);
    }
    if !in_l1 {
        memory.data.invalidate_all();
    }
    let now = 100 * u64::from(ratio_x2);
    mmu.translate(EA, Access::Load, SUPERVISOR, &mut memory, now, &mut account)
        .expect("mapped")
        .cycles
}

#[test]
fn walk_times_are_calibrated_by_the_750gx_manual() {
    // IBM PowerPC 750GX/GL User's Manual p.236, table 6-3: the first PTE of the primary PTEG matches. These are no
    // more than a calibration: the walk's parts, the L2's look-up and the bus's return path were set by them.
    assert_eq!(walk_750gx(5, 6, 3, true, true), 7);
    assert_eq!(walk_750gx(5, 6, 3, false, true), 13);
    assert_eq!(walk_750gx(5, 6, 3, false, false), 62);
    assert_eq!(walk_750gx(8, 5, 2, false, false), 77);
}

#[test]
fn a_walker_around_the_cache_leaves_no_line_behind() {
    let timing = WalkTiming {
        cached: false,
        forward: Forward::Critical,
        ..walker()
    };
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = mmu(128, 2, Reload::Hash(timing));
    mmu.six().segments.write(EA >> 28, VSID);
    put_pte(&mut memory, VSID, EA, 0x0010_0002, true, 7);
    mmu.translate(EA, Access::Store, SUPERVISOR, &mut memory, 0, &mut account)
        .expect("mapped");
    assert_eq!(memory.data.lines().count(), 0);
    assert_eq!(account.counters.plain(Plain::HashAccess), 16 + 16);
    assert_eq!(account.counters.total(Event::DataCacheMiss), 0);
    // Sixteen reads and R; then the search for C again: sixteen reads and C.
    assert_eq!(
        account
            .counters
            .by_cause(Event::DataCacheInhibited, Cause::WALK),
        34
    );
}

#[test]
fn a_locked_cache_keeps_walks_out() {
    let (mut memory, mut mmu, mut account) = ready();
    hid0::write(&mut memory, hid0::ICE | hid0::DCE | hid0::DLOCK);
    put_pte(&mut memory, VSID, EA, 0x0010_0182, false, 3);
    mmu.translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
        .expect("mapped");
    assert_eq!(memory.data.lines().count(), 0);
    assert_eq!(
        account.counters.by_cause(Event::DataCacheMiss, Cause::WALK),
        4
    );
}

#[test]
fn a_walks_lines_pollute_and_the_tlb_entry_is_charged_to_the_access() {
    let (mut memory, mut mmu, mut account) = ready();
    let pte = put_pte(&mut memory, VSID, EA, 0x0010_0182, false, 0);
    for n in 1..=4u32 {
        memory.load((pte & 0xfff) + n * 4096, 0, 0, &mut account);
    }
    mmu.translate(EA, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
        .expect("mapped");
    memory.load((pte & 0xfff) + 4096, 0, 0, &mut account);
    let polluted = |array: Array, by: Cause, of: Cause| {
        account.counters.pollution[array as usize][by.index()][of.index()]
    };
    assert_eq!(polluted(Array::DataCache, Cause::WALK, Cause::KERNEL), 1);
    // Three pages of one class: the third evicts the first, whose next miss is charged.
    account.cause = cause("copy");
    for ea in [EA, EA + 0x4_0000, EA + 0x8_0000, EA] {
        put_pte(&mut memory, VSID, ea, 0x0010_0182, false, 0);
        mmu.translate(ea, Access::Load, SUPERVISOR, &mut memory, 0, &mut account)
            .expect("mapped");
    }
    assert_eq!(
        account.counters.pollution[Array::DataTlb as usize][cause("copy").index()]
            [cause("copy").index()],
        1
    );
}

proptest! {
    #![proptest_config(common::cases())]

    /// PTEG addresses against the manual's formula, bit string by bit string.
    #[test]
    fn pteg_addresses_follow_the_manual(
        origin in 0u32..0x1_0000, mask_bits in 0u32..10, vsid in 0u32..1 << 24, ea: u32,
    ) {
        let mask = (1u32 << mask_bits) - 1;
        let bits = |value: u32, width: u32| format!("{value:0width$b}", width = width as usize);
        let sdr1 = origin << 16 | mask;
        let page = bits(ea >> 12 & 0xffff, 16);
        let vsid_low = &bits(vsid, 24)[5..];
        let hash: String = vsid_low
            .chars()
            .zip(format!("000{page}").chars())
            .map(|(a, b)| if a == b { '0' } else { '1' })
            .collect();
        let complement: String = hash.chars().map(|c| if c == '0' { '1' } else { '0' }).collect();
        let address = |hash: &str| {
            let origin = bits(origin, 16);
            let upper: String = origin[7..]
                .chars()
                .zip(hash[..9].chars().zip(bits(mask, 9).chars()))
                .map(|(o, (h, m))| if o == '1' || (h == '1' && m == '1') { '1' } else { '0' })
                .collect();
            u32::from_str_radix(&format!("{}{upper}{}000000", &origin[..7], &hash[9..]), 2).expect("binary")
        };
        prop_assert_eq!(hash::groups(sdr1, vsid, ea), (address(&hash), address(&complement)));
    }

    /// Any PTE in any slot is found after as many accesses as its position says, and its page is reached.
    #[test]
    fn what_is_in_the_table_is_found(vsid in 0u32..1 << 24, ea: u32, frame in 0u32..1024, slot in 0u32..16) {
        let (mut memory, mut account) = (plain_memory(), account());
        let mut mmu = hash_mmu();
        mmu.six().segments.write(ea >> 28, vsid);
        put_pte(&mut memory, vsid, ea, frame << 12 | 0x182, slot >= 8, slot % 8);
        let found = mmu.translate(ea, Access::Store, SUPERVISOR, &mut memory, 0, &mut account);
        prop_assert_eq!(found.expect("mapped").pa, frame << 12 | (ea & 0xfff));
        prop_assert_eq!(account.counters.plain(Plain::HashAccess), u64::from(slot + 1));
        prop_assert_eq!(mmu.peek(ea, Access::Load, SUPERVISOR, &memory), Some(frame << 12 | (ea & 0xfff)));
    }
}

/// Cycles of a search that reads all sixteen PTEs, the last of which matches, on a machine of the repository without an
/// L2, and with memory that gives the first beat of a read after `first` clocks and another each `next`; with the
/// table's lines in no cache, or in the L1.
fn worst_search(machine: &str, (first, next): (u32, u32), cold: bool) -> u64 {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut config = MachineConfig::from_file(file.as_ref(), &[]).expect("a machine file");
    config.cache.l2 = None;
    let memory = serde_json::json!({ "size": config.memory.size });
    config.memory = serde_json::from_value(memory).expect("a memory of constant time");
    let bus = &mut config.bus;
    (
        bus.read_first,
        bus.read_next,
        bus.write_first,
        bus.write_next,
    ) = (Some(first), Some(next), Some(3), Some(1));
    bus.depth = None;
    let uncore = Uncore::from_config(&config, Board::new(&config, Console::memory()));
    let mut memory = Memory::from_config(&config, uncore.expect("an uncore")).expect("a memory");
    let mut mmu = Mmu::from_config(&config).expect("an MMU");
    memory.enable_caches();
    mmu.six().sdr1 = TABLE;
    mmu.six().segments.write(EA >> 28, VSID);
    let mut account = account();
    put_pte(&mut memory, VSID, EA, 0x0010_0182, true, 7);
    let mut cycles = 0;
    for n in 0..if cold { 1 } else { 2 } {
        let _ = mmu.invalidate(Invalidation::All, &mut account);
        cycles = mmu
            .translate(
                EA,
                Access::Load,
                SUPERVISOR,
                &mut memory,
                6000 * (n + 1),
                &mut account,
            )
            .expect("mapped")
            .cycles;
    }
    cycles
}

#[test]
fn worst_searches_of_the_604_take_what_its_figures_add_up_to() {
    // Warm: start 2, sixteen accesses of 3, finish 2. Cold: four lines, from the first edge on. The 604 waits for
    // the critical double word, then for the whole line, and needs three more accesses and an edge until it asks
    // for the next; the 604e waits for each beat, and is done with a line 3 cycles after the last. A beat is used
    // a clock of the bus after it came.
    for (machine, memory, edge, line) in [
        ("ppc604-133", (6, 3), 0, 34 + 3 * 3 + 1),
        ("ppc604-185", (6, 3), 1, 51 + 3),
        ("ppc604-200", (5, 2), 1, 39 + 3),
    ] {
        assert_eq!(worst_search(machine, memory, false), 52, "{machine}");
        // No edge is waited for behind the last line.
        let cold = 2 + edge + 4 * line - u64::from(edge == 0) + 2;
        assert_eq!(worst_search(machine, memory, true), cold, "{machine}");
    }
}
