//! Translation as the architecture says it: BATs, segments, protection, and what each failure reports.

use crate::common;
use crate::common::{
    Parts as _, SUPERVISOR, USER, account, hash_mmu, mmu, plain_memory, put_pte, soft_mmu, walker,
};
use pagewalk_machine::account::Event;
use pagewalk_machine::memory::attribute;
use pagewalk_machine::powerpc::mmu::{
    Access, DirectStore, FaultKind, Mmu, MmuGeometry, Reload, Source, TlbGeometry,
};
use pagewalk_machine::powerpc::{Exception, msr};
use proptest::prelude::*;

const ALL: [Access; 3] = [Access::Fetch, Access::Load, Access::Store];

#[test]
fn real_mode_is_the_identity_with_the_manuals_attributes() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    for (access, bits) in [
        (Access::Fetch, 0b0001),
        (Access::Load, 0b0011),
        (Access::Store, 0b0011),
    ] {
        let found = mmu
            .translate(0xdead_beef, access, 0, &mut memory, 0, &mut account)
            .expect("no translation");
        assert_eq!(
            (found.pa, found.attributes, found.source),
            (0xdead_beef, bits, Source::Real)
        );
    }
    // IR and DR act apart.
    assert!(
        mmu.translate(0x100, Access::Fetch, msr::DR, &mut memory, 0, &mut account)
            .is_ok()
    );
    assert!(
        mmu.translate(0x100, Access::Load, msr::DR, &mut memory, 0, &mut account)
            .is_err()
    );
    assert!(
        mmu.translate(0x100, Access::Load, msr::IR, &mut memory, 0, &mut account)
            .is_ok()
    );
    assert!(
        mmu.translate(0x100, Access::Fetch, msr::IR, &mut memory, 0, &mut account)
            .is_err()
    );
}

/// PEM table 7-9, written out: (PP, key) to (load, store).
const PAGE_PROTECTION: [(u32, bool, bool, bool); 8] = [
    (0, false, true, true),
    (1, false, true, true),
    (2, false, true, true),
    (3, false, true, false),
    (0, true, false, false),
    (1, true, true, false),
    (2, true, true, true),
    (3, true, true, false),
];

#[test]
fn page_protection_is_the_manuals_table() {
    for (pp, key, load, store) in PAGE_PROTECTION {
        for user in [false, true] {
            let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
            // Only the key that the mode selects is set: Ks for supervisor, Kp for user.
            let keys = match (key, user) {
                (false, _) => {
                    if user {
                        0x4000_0000
                    } else {
                        0x2000_0000
                    }
                }
                (true, false) => 0x4000_0000,
                (true, true) => 0x2000_0000,
            };
            mmu.six().segments.write(2, keys | 0x77);
            put_pte(&mut memory, 0x77, 0x2000_0000, 0x0010_0180 | pp, false, 0);
            let mode = if user { USER } else { SUPERVISOR };
            for access in ALL {
                let got = mmu.translate(0x2000_0000, access, mode, &mut memory, 0, &mut account);
                let allowed = if access == Access::Store { store } else { load };
                match got {
                    Ok(_) => assert!(allowed, "pp {pp} key {key} {access:?}"),
                    Err(fault) => {
                        assert!(!allowed, "pp {pp} key {key} {access:?}");
                        let expected = match access {
                            Access::Fetch => FaultKind::Isi { srr1: 0x0800_0000 },
                            Access::Load => FaultKind::Dsi { dsisr: 0x0800_0000 },
                            Access::Store => FaultKind::Dsi { dsisr: 0x0a00_0000 },
                        };
                        assert_eq!(fault.kind, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_is_fetched_from_guarded_or_no_execute_memory() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    let isi = FaultKind::Isi { srr1: 0x1000_0000 };
    mmu.six().segments.write(0, 5);
    put_pte(&mut memory, 5, 0x1000, 0x0010_0182 | 0x08, false, 0);
    put_pte(&mut memory, 5, 0x2000, 0x0010_0182, false, 0);
    let mut fetch = |mmu: &mut Mmu, ea| {
        mmu.translate(ea, Access::Fetch, SUPERVISOR, &mut memory, 0, &mut account)
            .map_err(|fault| fault.kind)
    };
    assert_eq!(fetch(&mut mmu, 0x1000), Err(isi), "G");
    assert!(fetch(&mut mmu, 0x2000).is_ok());
    mmu.six().segments.write(0, 5 | 0x1000_0000);
    assert_eq!(
        fetch(&mut mmu, 0x2000),
        Err(isi),
        "N, though an entry is there"
    );
    mmu.six().segments.write(0, 0x8000_0000);
    assert_eq!(fetch(&mut mmu, 0x2000), Err(isi), "T");
}

#[test]
fn a_direct_store_segment_reports_what_the_core_says() {
    for (what, bits) in [
        (DirectStore::Error, 0x8000_0000u32),
        (DirectStore::Unsupported, 0x0400_0000),
    ] {
        let tlb = TlbGeometry {
            entries: 64,
            ways: 2,
        };
        let mut mmu = Mmu::new(MmuGeometry {
            instruction: tlb,
            data: tlb,
            bats: 4,
            reload: Reload::Hash(walker()),
            direct_store: what,
        })
        .expect("valid");
        let (mut memory, mut account) = (plain_memory(), account());
        mmu.six().segments.write(8, 0x8000_0000);
        for (access, dsisr) in [(Access::Load, bits), (Access::Store, bits | 0x0200_0000)] {
            let fault = mmu
                .translate(
                    0x8000_0000,
                    access,
                    SUPERVISOR,
                    &mut memory,
                    0,
                    &mut account,
                )
                .expect_err("T = 1");
            assert_eq!(fault.kind, FaultKind::Dsi { dsisr });
        }
    }
}

#[test]
fn a_bat_is_asked_before_segment_and_page() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    mmu.six().segments.write(0xc, 0x8000_0000);
    mmu.six().dbat.set_upper(1, 0xc000_0000 | 0x7 << 2 | 2);
    mmu.six().dbat.set_lower(1, 0x0010_0000 | 0x12);
    let found = mmu
        .translate(
            0xc00f_1234,
            Access::Store,
            SUPERVISOR,
            &mut memory,
            0,
            &mut account,
        )
        .expect("in the block");
    // 1 MB block: EA[12-31] is the offset.
    assert_eq!(
        (found.pa, found.attributes, found.source),
        (0x001f_1234, attribute::COHERENT, Source::Bat)
    );
    assert_eq!(account.counters.total(Event::DataTlbMiss), 0);
    assert!(
        mmu.translate(
            0xc010_0000,
            Access::Load,
            SUPERVISOR,
            &mut memory,
            0,
            &mut account
        )
        .is_err()
    );
    assert!(
        mmu.translate(
            0xc00f_1234,
            Access::Load,
            USER,
            &mut memory,
            0,
            &mut account
        )
        .is_err(),
        "Vp = 0"
    );
    assert!(
        mmu.translate(
            0xc00f_1234,
            Access::Fetch,
            SUPERVISOR,
            &mut memory,
            0,
            &mut account
        )
        .is_err()
    );
    for (pp, load, store) in [
        (0, false, false),
        (1, true, false),
        (2, true, true),
        (3, true, false),
    ] {
        mmu.six().dbat.set_lower(1, 0x0010_0000 | pp);
        for (access, allowed) in [(Access::Load, load), (Access::Store, store)] {
            let got = mmu.translate(
                0xc000_0000,
                access,
                SUPERVISOR,
                &mut memory,
                0,
                &mut account,
            );
            assert_eq!(got.is_ok(), allowed, "pp {pp} {access:?}");
            if let Err(fault) = got {
                let dsisr = if access == Access::Store {
                    0x0a00_0000
                } else {
                    0x0800_0000
                };
                assert_eq!(fault.kind, FaultKind::Dsi { dsisr });
            }
        }
    }
}

proptest! {
    #![proptest_config(common::cases())]

    /// BAT lookups against the manual's comparison, spelled out bit range by bit range.
    #[test]
    fn bats_match_as_the_manual_says(length in 0u32..12, block in 0u32..1 << 15, real in 0u32..1 << 15,
                                    valid in 0u32..4, ea: u32, near: bool, user: bool) {
        let units = (1u32 << length) - 1;
        let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
        let bepi = block & !units;
        let brpn = real & !units;
        mmu.six().dbat.set_upper(3, bepi << 17 | units << 2 | valid);
        mmu.six().dbat.set_lower(3, brpn << 17 | 2);
        mmu.six().segments.write(ea >> 28, 0x8000_0000);
        let ea = if near { bepi << 17 | (ea & (units << 17 | 0x1_ffff)) } else { ea };
        mmu.six().segments.write(ea >> 28, 0x8000_0000);
        let valid = if user { valid & 1 != 0 } else { valid & 2 != 0 };
        let inside = (ea >> 17) & !units == bepi;
        let mode = if user { USER } else { SUPERVISOR };
        let got = mmu.translate(ea, Access::Load, mode, &mut memory, 0, &mut account);
        if valid && inside {
            let offset = ea & (units << 17 | 0x1_ffff);
            prop_assert_eq!(got.expect("in the block").pa, brpn << 17 | offset);
        } else {
            prop_assert!(got.is_err());
        }
    }
}

#[test]
fn a_603_miss_sets_the_registers_of_the_manual() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), soft_mmu(), account());
    let (vsid, ea) = (0x00ab_cdefu32, 0x5432_1678u32);
    mmu.six().segments.write(5, 0x2000_0000 | vsid);
    let page_index = ea >> 12 & 0xffff;
    let hash = (vsid & 0x7_ffff) ^ page_index;
    let primary = common::TABLE + (hash % 1024) * 64;
    let secondary = common::TABLE + ((hash ^ 0x7_ffff) % 1024) * 64;
    let compare = 0x8000_0000 | vsid << 7 | page_index >> 10;
    for (access, vector, bits) in [
        (Access::Fetch, 0x1000, 0x0004_0000),
        (Access::Load, 0x1100, 0),
        (Access::Store, 0x1200, 0x0001_0000),
    ] {
        for (mode, key) in [(SUPERVISOR, 0), (USER, 0x0008_0000)] {
            mmu.soft().miss = Default::default();
            let fault = mmu
                .translate(ea, access, mode, &mut memory, 0, &mut account)
                .expect_err("empty TLB");
            let FaultKind::Software(miss) = fault.kind else {
                panic!("{fault:?}");
            };
            let exception = Exception::of_fault(fault.kind, ea);
            assert_eq!(exception.vector().offset(), vector);
            assert_eq!(miss.srr1 & !0x0002_0000, bits | key);
            assert_eq!(
                (mmu.soft().miss.hash1, mmu.soft().miss.hash2),
                (primary, secondary)
            );
            let (address, word0) = if access == Access::Fetch {
                (mmu.soft().miss.imiss, mmu.soft().miss.icmp)
            } else {
                (mmu.soft().miss.dmiss, mmu.soft().miss.dcmp)
            };
            assert_eq!((address, word0), (ea, compare));
        }
    }
    assert_eq!(account.counters.total(Event::DataTlbMiss), 4);
    assert_eq!(account.counters.total(Event::InstructionTlbMiss), 2);
}

#[test]
fn the_original_603_reports_no_key() {
    let (mut memory, mut account) = (plain_memory(), account());
    let mut mmu = mmu(64, 2, Reload::Software { key: false });
    mmu.six().segments.write(0, 0x2000_0000);
    let fault = mmu
        .translate(0, Access::Load, USER, &mut memory, 0, &mut account)
        .expect_err("empty TLB");
    assert!(matches!(fault.kind, FaultKind::Software(miss) if miss.srr1 & 0x0008_0000 == 0));
}

#[test]
fn what_tlbld_loads_translates_with_the_bits_of_rpa() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), soft_mmu(), account());
    mmu.six().segments.write(3, 0x4000_0123);
    let ea = 0x3fed_c000;
    for (load, access) in [(false, Access::Load), (true, Access::Fetch)] {
        assert!(
            mmu.translate(ea, access, SUPERVISOR, &mut memory, 0, &mut account)
                .is_err()
        );
        mmu.soft().miss.rpa = 0x0012_3000 | 0x180 | 0x10 | 0x1;
        if load {
            let _ = mmu.soft().load(ea, 0, true, &mut account);
        } else {
            let _ = mmu.soft().load(ea, 0, false, &mut account);
        }
        let found = mmu
            .translate(ea | 0xabc, access, SUPERVISOR, &mut memory, 0, &mut account)
            .expect("loaded");
        assert_eq!(
            (found.pa, found.attributes),
            (0x0012_3abc, attribute::COHERENT)
        );
    }
    // Ks = 1 and PP = 1: read only for the supervisor.
    let fault = mmu
        .translate(ea, Access::Store, SUPERVISOR, &mut memory, 0, &mut account)
        .expect_err("read only");
    assert_eq!(fault.kind, FaultKind::Dsi { dsisr: 0x0a00_0000 });
}

#[test]
fn hints_never_fault_and_never_walk() {
    let (mut memory, mut mmu, mut account) = (plain_memory(), hash_mmu(), account());
    mmu.six().segments.write(0, 5);
    put_pte(&mut memory, 5, 0x1000, 0x0010_0181, false, 0);
    assert_eq!(mmu.translate_hint(0x1000, Access::Load, SUPERVISOR), None);
    mmu.translate(
        0x1000,
        Access::Load,
        SUPERVISOR,
        &mut memory,
        0,
        &mut account,
    )
    .expect("mapped");
    let found = mmu
        .translate_hint(0x1010, Access::Load, SUPERVISOR)
        .expect("resident");
    assert_eq!(found.pa, 0x0010_0010);
    mmu.six().segments.write(0, 5 | 0x4000_0000);
    assert_eq!(mmu.translate_hint(0x1010, Access::Store, SUPERVISOR), None);
}
