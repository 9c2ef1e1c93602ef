//! The 8xx's MMU: its TLBs against a plain model, and the effect of each field of its registers.

use crate::common::{SUPERVISOR, USER, account, cases};
use pagewalk_machine::account::{Account, Array, Cause, CauseNames, Event, Plain};
use pagewalk_machine::memory::attribute;
use pagewalk_machine::powerpc::mmu::mpc8xx::number as n;
use pagewalk_machine::powerpc::mmu::{
    Access, FaultKind, Invalidation, Mpc8xx, Mpc8xxFault, Reached, Source, Unit as _,
};
use proptest::prelude::*;

/// Level-one descriptors of the sizes: V and PS.
const SMALL: u32 = 0x1;
const K512: u32 = 0x5;
const M8: u32 = 0xd;
/// Of a level-two descriptor: everybody may do everything, every subpage, changed, valid.
const ALL: u32 = 0x9f1;
const SIXTEEN: u32 = 8;
const SHARED: u32 = 4;

/// Mx_CTR bits.
const DOMAINS: u32 = 0x8000_0000;
const SUBPAGES: u32 = 0x4000_0000;
const INHIBITED: u32 = 0x2000_0000;
const WRITE_THROUGH: u32 = 0x1000_0000;
const RESERVE: u32 = 0x0800_0000;
const WALK_4K: u32 = 0x0400_0000;
const MODES: u32 = 0x0200_0000;

const NO_PTE: u32 = 0x4000_0000;
const GUARDED: u32 = 0x1000_0000;
const PROTECTION: u32 = 0x0800_0000;
const STORE: u32 = 0x0200_0000;

/// A unit in which the page decides for every group.
fn unit() -> Mpc8xx {
    let mut unit = Mpc8xx::new(32, 32);
    write(&mut unit, n::MI_AP, 0x5555_5555);
    write(&mut unit, n::MD_AP, 0x5555_5555);
    unit
}

fn write(unit: &mut Mpc8xx, number: u32, value: u32) {
    let _ = unit.write(number, value, &mut Account::default());
}

fn read(unit: &Mpc8xx, number: u32) -> u32 {
    unit.read(number).expect("a register of the unit")
}

/// Loads an entry of the data TLB.
fn load(unit: &mut Mpc8xx, ea: u32, asid: u32, level_one: u32, level_two: u32) {
    write(unit, n::MD_EPN, ea | 0x200 | asid);
    write(unit, n::MD_TWC, level_one);
    write(unit, n::MD_RPN, level_two);
}

fn load_instruction(unit: &mut Mpc8xx, ea: u32, level_one: u32, level_two: u32) {
    write(unit, n::MI_EPN, ea | 0x200);
    write(unit, n::MI_TWC, level_one);
    write(unit, n::MI_RPN, level_two);
}

/// The result of an access: a physical address, a miss, or the bits of an error.
#[derive(Debug, PartialEq)]
enum Given {
    Hit(u32),
    Miss,
    Error(u32),
}

use Given::{Error, Hit, Miss};

fn touch_as(unit: &mut Mpc8xx, ea: u32, access: Access, msr: u32, account: &mut Account) -> Given {
    match unit.translate(ea, access, msr, account) {
        Ok(translation) => Hit(translation.pa),
        Err(fault) => {
            let FaultKind::Mpc8xx { fault, instruction } = fault.kind else {
                panic!("{fault:?}");
            };
            assert_eq!(instruction, access == Access::Fetch);
            match fault {
                Mpc8xxFault::Miss => Miss,
                Mpc8xxFault::Error { bits, .. } => Error(bits),
            }
        }
    }
}

fn touch(unit: &mut Mpc8xx, ea: u32, access: Access, msr: u32) -> Given {
    touch_as(unit, ea, access, msr, &mut Account::default())
}

/// A TLB as the manual describes it, written down plainly.
struct Model {
    /// First address, bytes, address space or shared.
    entries: Vec<Option<(u32, u32, Option<u32>)>>,
    index: usize,
    reserve: bool,
}

impl Model {
    fn holds(&self, ea: u32, asid: u32) -> bool {
        self.entries.iter().flatten().any(|&(first, bytes, space)| {
            ea >= first && ea - first < bytes && space.is_none_or(|space| space == asid)
        })
    }

    fn replaceable(&self) -> usize {
        let reserved = if self.entries.len() == 8 { 2 } else { 4 };
        self.entries.len() - if self.reserve { reserved } else { 0 }
    }

    fn load(&mut self, first: u32, bytes: u32, space: Option<u32>) {
        self.entries[self.index] = Some((first, bytes, space));
        let last = self.replaceable() - 1;
        self.index = if self.index == 0 || self.index - 1 > last {
            last
        } else {
            self.index - 1
        };
    }

    fn invalidate(&mut self, ea: u32) {
        for entry in &mut self.entries {
            if entry.is_some_and(|(first, bytes, _)| ea >= first && ea - first < bytes) {
                *entry = None;
            }
        }
    }

    fn invalidate_all(&mut self) {
        let count = self.replaceable();
        self.entries[..count].fill(None);
        self.index = 0;
    }
}

#[derive(Debug, Clone)]
enum Step {
    Touch(u32, u32, bool),
    Invalidate(u32),
    InvalidateAll,
    Control(u32, bool),
}

/// Four regions of pages of each size; odd ones of the last three are shared.
fn step() -> impl Strategy<Value = Step> {
    let ea = || {
        (0..4u32, 0..24u32, 0..0x1000u32).prop_map(|(region, page, offset)| {
            let size = [12, 14, 19, 23][region as usize];
            (region << 28 | page << size) + offset
        })
    };
    prop_oneof![
        60 => (ea(), 0..3u32, any::<bool>()).prop_map(|(ea, asid, fetch)| Step::Touch(ea, asid, fetch)),
        2 => ea().prop_map(Step::Invalidate),
        1 => Just(Step::InvalidateAll),
        1 => (0..32u32, any::<bool>()).prop_map(|(index, reserve)| Step::Control(index, reserve)),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn hits_misses_and_the_counter_are_the_models(
        entries in prop_oneof![Just(8u32), Just(16), Just(32)],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut unit = Mpc8xx::new(entries, entries);
        write(&mut unit, n::MI_AP, 0x4000_0000);
        write(&mut unit, n::MD_AP, 0x4000_0000);
        let model = || Model { entries: vec![None; entries as usize], index: 0, reserve: false };
        let mut models = [model(), model()];
        for step in steps {
            match step {
                Step::Touch(ea, asid, fetch) => {
                    write(&mut unit, n::M_CASID, asid);
                    let model = &mut models[usize::from(fetch)];
                    let access = if fetch { Access::Fetch } else { Access::Load };
                    let region = ea >> 28;
                    let size = [12u32, 14, 19, 23][region as usize];
                    let page = ea & !((1 << size) - 1);
                    let shared = region > 0 && page >> size & 1 != 0;
                    // Physical memory is the other way round.
                    let frame = page ^ 0xf000_0000;
                    let hit = model.holds(ea, asid);
                    let given = touch(&mut unit, ea, access, SUPERVISOR);
                    prop_assert_eq!(given == Hit(ea ^ 0xf000_0000), hit);
                    prop_assert_eq!(given == Miss, !hit);
                    if !hit {
                        let level_one = [SMALL, SMALL, K512, M8][region as usize];
                        let level_two = frame | ALL
                            | if region == 1 { SIXTEEN } else { 0 }
                            | if shared { SHARED } else { 0 };
                        let (twc, rpn) = if fetch { (n::MI_TWC, n::MI_RPN) } else { (n::MD_TWC, n::MD_RPN) };
                        write(&mut unit, twc, level_one);
                        write(&mut unit, rpn, level_two);
                        model.load(page, 1 << size, (!shared).then_some(asid));
                        prop_assert_eq!(touch(&mut unit, ea, access, SUPERVISOR), Hit(ea ^ 0xf000_0000));
                    }
                }
                Step::Invalidate(ea) => {
                    let _ = unit.invalidate(Invalidation::Address(ea), &mut Account::default());
                    models.iter_mut().for_each(|model| model.invalidate(ea));
                }
                Step::InvalidateAll => {
                    let _ = unit.invalidate(Invalidation::All, &mut Account::default());
                    models.iter_mut().for_each(Model::invalidate_all);
                }
                Step::Control(index, reserve) => {
                    let value = index << 8 | if reserve { RESERVE } else { 0 };
                    write(&mut unit, n::MI_CTR, value);
                    write(&mut unit, n::MD_CTR, value | WALK_4K);
                    for model in &mut models {
                        model.index = (index % entries) as usize;
                        model.reserve = reserve;
                    }
                }
            }
            for (number, model) in [(n::MD_CTR, &models[0]), (n::MI_CTR, &models[1])] {
                prop_assert_eq!(read(&unit, number) >> 8 & 31, model.index as u32);
                prop_assert_eq!(read(&unit, number) & RESERVE != 0, model.reserve);
            }
        }
    }
}

/// 860 UM table 9-4, by page: mode, then PP, then PowerPC and extended encoding. The extended codes 1x are reserved;
/// Linux uses 11 for large pages that are read-only (`_PAGE_HUGE` with `_PAGE_RO`), so they mean the same as 0x.
/// The number of a cause that every guest has.
fn cause(name: &str) -> Cause {
    CauseNames::default().find(name).unwrap()
}

#[test]
fn a_page_permits_what_its_protection_bits_say() {
    // Reads or executes, writes.
    let (none, read, all) = ((false, false), (true, false), (true, true));
    let table = [
        // Supervisor, user; extended: supervisor, user.
        [all, none, none, none],
        [all, read, read, none],
        [all, all, none, none],
        [read, read, read, none],
    ];
    for (pp, row) in (0..4u32).zip(table) {
        for (extended, columns) in [(0, [row[0], row[1]]), (0x200, [row[2], row[3]])] {
            for (msr, (reads, writes)) in [SUPERVISOR, USER].into_iter().zip(columns) {
                let mut unit = unit();
                let word = 0x5000 | pp << 10 | extended | 0x1f1;
                load(&mut unit, 0x3000, 0, SMALL, word);
                load_instruction(&mut unit, 0x3000, SMALL, word);
                let what = format!("PP {pp} extended {extended:#x} MSR {msr:#x}");
                for (access, allowed, bits) in [
                    (Access::Load, reads, PROTECTION),
                    (Access::Fetch, reads, PROTECTION),
                    (Access::Store, writes, PROTECTION | STORE),
                ] {
                    let expected = if allowed { Hit(0x5004) } else { Error(bits) };
                    assert_eq!(touch(&mut unit, 0x3004, access, msr), expected, "{what}");
                }
            }
        }
    }
}

/// Ks and Kp select the column; as a domain, a group permits every access or none.
#[test]
fn a_group_overrides_the_page() {
    // PP 0: the supervisor's alone.
    let word = 0x5000 | 0x1f1;
    for (group, field, supervisor, user) in [
        (0, 0, true, true),
        (3, 1, true, false),
        (9, 2, false, true),
        (15, 3, false, false),
    ] {
        let mut unit = unit();
        write(&mut unit, n::MD_AP, field << (30 - 2 * group));
        load(&mut unit, 0x3000, 0, SMALL | group << 5, word);
        for (msr, allowed) in [(SUPERVISOR, supervisor), (USER, user)] {
            let given = touch(&mut unit, 0x3000, Access::Load, msr);
            assert_eq!(given == Hit(0x5000), allowed, "group {group}, {given:?}");
        }
        write(&mut unit, n::MD_CTR, DOMAINS | WALK_4K);
        for (msr, allowed) in [(SUPERVISOR, field == 1 || field == 3), (USER, field == 3)] {
            let given = touch(&mut unit, 0x3000, Access::Load, msr);
            let expected = if allowed {
                Hit(0x5000)
            } else {
                Error(PROTECTION)
            };
            assert_eq!(given, expected, "domain {group}");
        }
    }
}

#[test]
fn subpages_have_protection_or_validity_of_their_own() {
    let mut unit = unit();
    write(&mut unit, n::MD_CTR, SUBPAGES | WALK_4K);
    // None, supervisor, users read, everybody.
    load(&mut unit, 0x3000, 0, SMALL, 0x5000 | 0b00_01_10_11 << 4 | 1);
    let columns = [
        (
            SUPERVISOR,
            [[false, false], [true, true], [true, true], [true, true]],
        ),
        (
            USER,
            [[false, false], [false, false], [true, false], [true, true]],
        ),
    ];
    for (msr, subpages) in columns {
        for (ea, [reads, writes]) in (0x3000..).step_by(0x400).zip(subpages) {
            let hit = Hit(ea + 0x2000);
            assert_eq!(touch(&mut unit, ea, Access::Load, msr) == hit, reads);
            assert_eq!(touch(&mut unit, ea, Access::Store, msr) == hit, writes);
        }
    }
    let hit = unit.translate(0x3c00, Access::Load, SUPERVISOR, &mut account());
    assert_eq!(hit.expect("allowed").source, Source::Subpage);
    // Without it the last four bits say which subpages there are.
    write(&mut unit, n::MD_CTR, WALK_4K);
    let _ = unit.invalidate(Invalidation::All, &mut Account::default());
    load(&mut unit, 0x3000, 0, SMALL, 0x5901 | 0b0110 << 4);
    let given: Vec<_> = (0x3000..0x4000)
        .step_by(0x400)
        .map(|ea| touch(&mut unit, ea, Access::Load, USER))
        .collect();
    assert_eq!(given, [Miss, Hit(0x5400), Hit(0x5800), Miss]);
    // Or for whom the entry hits.
    write(&mut unit, n::MD_CTR, MODES | WALK_4K);
    for (bits, supervisor, user) in [(0b1000, true, false), (0b0100, false, true)] {
        let _ = unit.invalidate(Invalidation::All, &mut Account::default());
        load(&mut unit, 0x3000, 0, SMALL, 0x5901 | bits << 4);
        for (msr, hits) in [(SUPERVISOR, supervisor), (USER, user)] {
            let expected = if hits { Hit(0x5c00) } else { Miss };
            assert_eq!(touch(&mut unit, 0x3c00, Access::Load, msr), expected);
        }
    }
}

#[test]
fn a_store_to_an_unchanged_page_invalidates_its_entry() {
    let mut unit = unit();
    let mut account = account();
    load(&mut unit, 0x80_0000, 0, M8, 0x8f1);
    assert_eq!(
        touch_as(&mut unit, 0x81_2344, Access::Load, USER, &mut account),
        Hit(0x1_2344)
    );
    assert_eq!(
        touch_as(&mut unit, 0x81_2344, Access::Store, USER, &mut account),
        Error(STORE)
    );
    assert_eq!(account.counters.total(Event::DataTlbMiss), 0);
    assert_eq!(account.counters.plain(Plain::TlbChangeTrap), 1);
    assert_eq!(
        touch_as(&mut unit, 0x81_2344, Access::Load, USER, &mut account),
        Miss
    );
}

/// Descriptors are loaded unchecked; errors in them appear when the entry is hit.
#[test]
fn an_entry_from_an_invalid_descriptor_is_an_error() {
    for (level_one, level_two) in [(0, ALL), (SMALL, ALL & !1)] {
        let mut unit = unit();
        load(&mut unit, 0x3000, 0, level_one, level_two);
        load_instruction(&mut unit, 0x3000, level_one, level_two);
        for (access, bits) in [
            (Access::Load, NO_PTE),
            (Access::Store, NO_PTE | STORE),
            (Access::Fetch, NO_PTE),
        ] {
            assert_eq!(touch(&mut unit, 0x3000, access, USER), Error(bits));
        }
        // Loaded without EV, the place is empty.
        write(&mut unit, n::MD_CTR, WALK_4K);
        write(&mut unit, n::MD_EPN, 0x3000);
        write(&mut unit, n::MD_RPN, ALL);
        assert_eq!(touch(&mut unit, 0x3000, Access::Load, USER), Miss);
    }
}

#[test]
fn storage_control_comes_from_both_descriptors_and_in_real_mode_from_the_control_register() {
    let mut unit = unit();
    load(&mut unit, 0x3000, 0, SMALL | 0x12, 0x5000 | ALL | 2);
    load_instruction(&mut unit, 0x3000, SMALL | 0x10, 0x5000 | ALL);
    let mut account = account();
    let mut attributes_of = |unit: &mut Mpc8xx, msr| {
        let translation = unit.translate(0x3000, Access::Load, msr, &mut account);
        translation.expect("mapped").attributes
    };
    assert_eq!(
        attributes_of(&mut unit, SUPERVISOR),
        attribute::WRITE_THROUGH | attribute::INHIBITED | attribute::GUARDED
    );
    assert_eq!(
        touch(&mut unit, 0x3000, Access::Fetch, SUPERVISOR),
        Error(GUARDED)
    );
    assert_eq!(attributes_of(&mut unit, 0), attribute::GUARDED);
    write(&mut unit, n::MD_CTR, INHIBITED | WALK_4K);
    assert_eq!(
        attributes_of(&mut unit, 0),
        attribute::INHIBITED | attribute::GUARDED
    );
    write(&mut unit, n::MD_CTR, WRITE_THROUGH | WALK_4K);
    assert_eq!(
        attributes_of(&mut unit, 0),
        attribute::WRITE_THROUGH | attribute::GUARDED
    );
    // The instruction side has no write-through.
    write(&mut unit, n::MI_CTR, WRITE_THROUGH);
    assert_eq!(read(&unit, n::MI_CTR), 0);
}

/// 823e RM 11.5: the register values for a walk of tables of 4 KB pages, and of 1 KB subpages.
#[test]
fn the_walk_registers_give_the_addresses_of_the_descriptors() {
    let mut unit = Mpc8xx::new(32, 32);
    let ea = 0xdead_bbef;
    assert_eq!(read(&unit, n::MD_CTR), WALK_4K, "after reset");
    write(&mut unit, n::M_TWB, 0x0012_3fff);
    write(&mut unit, n::M_CASID, 0x1b);
    assert_eq!(touch(&mut unit, ea, Access::Store, SUPERVISOR), Miss);
    assert_eq!(read(&unit, n::MD_EPN), 0xdead_b800 | 0x200 | 0xb);
    assert_eq!(read(&unit, n::M_TWB), 0x0012_3000 | (ea >> 22) << 2);
    write(&mut unit, n::MD_TWC, 0x0045_6ff3);
    assert_eq!(
        read(&unit, n::MD_TWC),
        0x0045_6000 | (ea >> 12 & 0x3ff) << 2
    );
    write(&mut unit, n::MD_CTR, 0);
    write(&mut unit, n::M_TWB, 0x0012_0000);
    assert_eq!(read(&unit, n::M_TWB), 0x0012_0000 | (ea >> 20) << 2);
    assert_eq!(
        read(&unit, n::MD_TWC),
        0x0045_6000 | (ea >> 10 & 0x3ff) << 2
    );
    // MPC885 RM p.8-10: the table of pages of 512 KB and 8 MB has one descriptor.
    for size in [0x4, 0xc] {
        write(&mut unit, n::MD_TWC, 0x0045_6000 | size | 1);
        assert_eq!(read(&unit, n::MD_TWC), 0x0045_6000);
    }
    // A fetch's goes to the other side, and the walk is by what software copies over.
    assert_eq!(touch(&mut unit, 0x1234, Access::Fetch, SUPERVISOR), Miss);
    assert_eq!(read(&unit, n::MI_EPN), 0x1000 | 0x200 | 0xb);
    assert_eq!(read(&unit, n::MD_EPN), 0xdead_b800 | 0x200 | 0xb);
    // An error leaves it alone.
    load(&mut unit, 0x7000, 0xb, SMALL, ALL & !1);
    write(&mut unit, n::MD_EPN, 0);
    assert_eq!(
        touch(&mut unit, 0x7000, Access::Load, SUPERVISOR),
        Error(NO_PTE)
    );
    assert_eq!(read(&unit, n::MD_EPN), 0);
}

/// How many entries were affected; more than two are not told apart.
fn reaches(reached: Reached) -> usize {
    match reached {
        Reached::Nothing => 0,
        Reached::These(reaches) => reaches.iter().flatten().count(),
        Reached::Everything => usize::MAX,
    }
}

#[test]
fn tlbie_looks_at_no_address_space_and_tlbia_spares_what_is_reserved() {
    let mut unit = unit();
    write(&mut unit, n::MD_CTR, WALK_4K | 31 << 8);
    load(&mut unit, 0x0, 0, M8, ALL);
    write(&mut unit, n::MD_CTR, WALK_4K | RESERVE | 5 << 8);
    for asid in [1, 2] {
        load(&mut unit, 0x4000_3000, asid, SMALL, 0x5000 | ALL);
    }
    let present = |unit: &Mpc8xx| -> Vec<u32> {
        let entries = unit.data.tlb.valid_entries();
        entries.map(|(number, _)| number).collect()
    };
    assert_eq!(present(&unit), [4, 5, 31]);
    assert!(unit.data.tlb.reserved(31) && !unit.data.tlb.reserved(27));
    let gone = unit.invalidate(Invalidation::Address(0x4000_3fff), &mut account());
    assert_eq!((reaches(gone.data), present(&unit)), (2, vec![31]));
    load(&mut unit, 0x4000_3000, 1, SMALL, 0x5000 | ALL);
    let _ = unit.invalidate(Invalidation::All, &mut Account::default());
    assert_eq!(present(&unit), [31]);
    assert_eq!(read(&unit, n::MD_CTR), WALK_4K | RESERVE);
    let gone = unit.invalidate(Invalidation::Address(0x7f_ffff), &mut account());
    assert_eq!((reaches(gone.data), present(&unit)), (1, vec![]));
}

/// The counter goes down from the last entry that is not reserved.
#[test]
fn loads_go_round_below_the_reserved_entries() {
    let mut unit = unit();
    write(&mut unit, n::MD_CTR, WALK_4K | RESERVE | 1 << 8);
    let mut places = Vec::new();
    for page in 0..30 {
        places.push(read(&unit, n::MD_CTR) >> 8 & 31);
        load(&mut unit, page << 12, 0, SMALL, ALL);
    }
    let round: Vec<u32> = [1, 0].into_iter().chain((0..28).rev()).collect();
    assert_eq!(places, round);
}

#[test]
fn the_debug_registers_show_the_entry_that_the_counter_names() {
    let mut unit = unit();
    write(&mut unit, n::MD_CTR, WALK_4K | 7 << 8);
    // Group 3, guarded, 8 MB, write-through; users read; shared, inhibited.
    load(
        &mut unit,
        0xc080_0000,
        5,
        M8 | 0x72,
        0x0100_0000 | 0x5f1 | SHARED | 2,
    );
    write(&mut unit, n::MD_CTR, WALK_4K | 7 << 8);
    assert_eq!(read(&unit, n::MD_CAM), 0, "not read yet");
    write(&mut unit, n::MD_CAM, 0);
    assert_eq!(
        read(&unit, n::MD_CAM),
        0xc080_0000 | 0xf00 | 0xe0 | 0x10 | 5
    );
    assert_eq!(read(&unit, n::MD_RAM0), 0x0100_0000 | 0xe00 | 3 << 5 | 0x1c);
    assert_eq!(
        read(&unit, n::MD_RAM1),
        1 << 14 | 1 << 13 | 0xf << 9 | 1 << 8 | 0xaa
    );
    write(&mut unit, n::MI_CTR, 9 << 8);
    load_instruction(
        &mut unit,
        0x4000_4000,
        SMALL | 0x40,
        0x0001_0000 | 0x1f1 | SIXTEEN,
    );
    write(&mut unit, n::MI_CTR, 9 << 8);
    write(&mut unit, n::MI_CAM, 0);
    assert_eq!(read(&unit, n::MI_CAM), 0x4000_4000 | 1 << 9 | 0xf);
    assert_eq!(read(&unit, n::MI_RAM0), 0x0001_0000 | 1 << 9 | 2 << 4 | 0xf);
    assert_eq!(read(&unit, n::MI_RAM1), 2);
    write(&mut unit, n::MI_CTR, 10 << 8);
    write(&mut unit, n::MI_CAM, 0);
    let shown = [n::MI_CAM, n::MI_RAM0, n::MI_RAM1].map(|number| read(&unit, number));
    assert_eq!(shown, [0; 3], "an entry that is not valid");
}

/// Misses are charged to the access, loads to the handler. The evictor of a page of 8 MB is charged once.
#[test]
fn misses_are_charged_to_who_evicted_the_entry() {
    let mut unit = unit();
    let mut account = account();
    write(&mut unit, n::MD_CTR, WALK_4K);
    let mut miss = |unit: &mut Mpc8xx, ea, charged, level_one| {
        account.cause = charged;
        assert_eq!(
            touch_as(unit, ea, Access::Load, SUPERVISOR, &mut account),
            Miss
        );
        account.cause = cause("reload");
        let _ = unit.write(n::MD_TWC, level_one, &mut account);
        let _ = unit.write(n::MD_RPN, ea | ALL, &mut account);
    };
    miss(&mut unit, 0x80_0000, cause("copy"), M8);
    for page in 0..32 {
        miss(&mut unit, 0x4000_0000 + (page << 12), cause("fault"), SMALL);
    }
    miss(&mut unit, 0x9a_b000, cause("switch"), SMALL);
    let pollution = &account.counters.pollution[Array::DataTlb as usize];
    assert_eq!(
        pollution[cause("fault").index()][cause("switch").index()],
        1
    );
    assert_eq!(pollution.iter().flatten().sum::<u64>(), 1);
    assert_eq!(account.counters.total(Event::DataTlbMiss), 34);
    assert_eq!(
        account
            .counters
            .by_cause(Event::DataTlbMiss, cause("fault")),
        32
    );
    assert_eq!(account.counters.plain(Plain::TlbLoad), 34);
}

#[test]
fn a_hint_and_an_observer_change_nothing() {
    let mut unit = unit();
    load(&mut unit, 0x3000, 0, SMALL, 0x5000 | 0x1f1);
    assert_eq!(unit.peek(0x3456, Access::Load, USER), Some(0x5456));
    assert_eq!(unit.peek(0x3456, Access::Fetch, USER), None);
    assert_eq!(unit.peek(0x3456, Access::Load, 0), Some(0x3456));
    let hint = |msr| unit.translate_hint(0x3456, Access::Load, msr);
    assert_eq!(hint(SUPERVISOR).map(|hit| hit.pa), Some(0x5456));
    assert_eq!(hint(USER), None, "not permitted");
    assert_eq!(unit.read(n::MD_EPN), Some(0x3200));
}
