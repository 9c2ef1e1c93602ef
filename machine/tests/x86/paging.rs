//! Paging: faults, A and D bits, what the TLB keeps, large and global pages.

use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::registers::{cr0, cr4};
use pagewalk_machine::x86::tlb::pte;

use super::bench::{Bench, CODE, DATA, DIRECTORY, TABLE, handler};

const ALL: u32 = pte::WRITE | pte::USER;

fn entry(page: u32) -> u32 {
    TABLE + 4 * (page >> 12)
}

/// mov eax, [DATA]
fn load() -> Vec<u8> {
    [&[0xa1][..], &DATA.to_le_bytes()].concat()
}

/// mov [DATA], eax
fn store() -> Vec<u8> {
    [&[0xa3][..], &DATA.to_le_bytes()].concat()
}

/// add [DATA], eax
fn modify() -> Vec<u8> {
    [&[0x01, 0x05][..], &DATA.to_le_bytes()].concat()
}

#[test]
fn error_codes_tell_what_was_wrong() {
    // Code, rights of the page, ring 3, CR0.WP, the error code wanted.
    let cases = [
        (load(), None, false, false, Some(0)),
        (store(), None, false, false, Some(2)),
        (load(), None, true, false, Some(4)),
        (store(), None, true, false, Some(6)),
        (load(), Some(0), true, false, Some(5)),
        (store(), Some(pte::USER), true, false, Some(7)),
        (modify(), Some(pte::USER), true, false, Some(7)),
        (modify(), None, true, false, Some(6)),
        (store(), Some(pte::USER), false, false, None),
        (store(), Some(pte::USER), false, true, Some(3)),
        (load(), Some(pte::USER), true, true, None),
        (store(), Some(ALL), true, true, None),
    ];
    for (code, rights, user, protects, wanted) in cases {
        for name in ["i486dx-50", "p6-200"] {
            let mut bench = Bench::new(name, &code).paged(ALL).gate(14, 0);
            if user {
                bench = bench.user();
            }
            if protects {
                bench.registers().cr0 |= cr0::WP;
                bench.processor().modes_changed();
            }
            let word = rights.map_or(0, |rights| DATA | 1 | rights);
            bench.put_word(entry(DATA), word);
            let Some(wanted) = wanted else {
                assert_eq!(bench.run(1), Stop::Limit);
                continue;
            };
            assert_eq!(bench.run_to_handler(), 14, "{name} {code:x?} {rights:?}");
            assert_eq!(bench.stacked(0), wanted, "{name} {code:x?} {rights:?}");
            assert_eq!(bench.stacked(1), CODE);
            assert_eq!(bench.registers().cr2, DATA);
            assert_eq!(bench.word(entry(DATA)), word, "no bit is set by a fault");
        }
    }
}

#[test]
fn rights_of_both_levels_count() {
    for directory in [1, 3, 5, 7] {
        for table in [1, 3, 5, 7] {
            let mut bench = Bench::new("i486dx-50", &store())
                .paged(ALL)
                .user()
                .gate(14, 0);
            bench.put_word(DIRECTORY, TABLE | directory);
            // Code and stack must go through the same directory entry.
            bench.put_word(entry(DATA), DATA | table);
            let allowed = directory & table & 6 == 6;
            if allowed {
                assert_eq!(bench.run(1), Stop::Limit);
            } else {
                assert_eq!(bench.run_to_handler(), 14, "{directory} {table}");
            }
        }
    }
}

#[test]
fn accessed_and_dirty_are_set_when_first_needed() {
    let code = [load(), store(), store()].concat();
    let mut bench = Bench::new("i486dx-50", &code).paged(ALL);
    assert_eq!(bench.word(DIRECTORY) & pte::ACCESSED, 0);
    bench.run(1);
    assert_eq!(bench.word(DIRECTORY) & pte::ACCESSED, pte::ACCESSED);
    let bits = pte::ACCESSED | pte::DIRTY;
    assert_eq!(bench.word(entry(DATA)) & bits, pte::ACCESSED);
    assert_eq!(bench.word(entry(CODE)) & bits, pte::ACCESSED);
    let walks = bench.counter("hash.search");
    let misses = bench.counter("tlb.data.miss");
    bench.run(1);
    assert_eq!(bench.word(entry(DATA)) & bits, bits);
    assert_eq!(bench.counter("hash.search"), walks + 1, "D needs a walk");
    assert_eq!(bench.counter("tlb.data.miss"), misses, "but is no miss");
    bench.run(1);
    assert_eq!(bench.counter("hash.search"), walks + 1);
}

#[test]
fn a_store_to_a_clean_page_looks_at_the_table_again() {
    let code = [load(), store()].concat();
    let mut bench = Bench::new("i486dx-50", &code).paged(ALL).gate(14, 0);
    bench.run(1);
    // Software takes the page away and does not tell the TLB.
    bench.put_word(entry(DATA), 0);
    assert_eq!(bench.run_to_handler(), 14);
    assert_eq!(bench.stacked(0), 2);
}

#[test]
fn an_entry_stays_until_it_is_invalidated() {
    // load; load; invlpg [DATA]; load
    let invlpg = [&[0x0f, 0x01, 0x3d][..], &DATA.to_le_bytes()].concat();
    let code = [load(), load(), invlpg, load()].concat();
    let mut bench = Bench::new("i486dx-50", &code).paged(ALL);
    bench.put_word(DATA, 1);
    bench.put_word(DATA + 0x1000, 2);
    bench.run(1);
    bench.put_word(entry(DATA), (DATA + 0x1000) | 7);
    bench.run(1);
    assert_eq!(bench.registers().gpr[0], 1, "the TLB has the old page");
    bench.run(2);
    assert_eq!(bench.registers().gpr[0], 2);
}

/// Software may give a page more rights without INVLPG: the worst is one fault, which removes the old entry
/// (SDM volume 3A, 4.10.4.1).
#[test]
fn a_fault_removes_the_entry_of_its_page() {
    for name in ["i486dx-50", "p6-200"] {
        // load; mov eax, 7; store
        let code = [load(), vec![0xb8, 7, 0, 0, 0], store()].concat();
        let mut bench = Bench::new(name, &code).paged(ALL).gate(14, 0);
        // The handler returns: add esp, 4; iret
        bench.put(handler(14), &[0x83, 0xc4, 4, 0xcf]);
        bench.registers().cr0 |= cr0::WP;
        bench.processor().modes_changed();
        bench.put_word(entry(DATA), DATA | 1);
        bench.run(2);
        bench.put_word(entry(DATA), DATA | 3);
        bench.run(4);
        assert_eq!(
            bench.machine.processor().account.counters.exception[14],
            1,
            "{name}"
        );
        assert_eq!(bench.word(DATA), 7, "{name}");
    }
}

#[test]
fn a_load_of_cr3_empties_the_tlb_but_for_global_pages() {
    // mov ecx, cr3; mov cr3, ecx
    let reload = vec![0x0f, 0x20, 0xd9, 0x0f, 0x22, 0xd9];
    let code = [load(), reload, load()].concat();
    for (name, global, kept) in [
        ("i486dx-50", false, false),
        ("i486dx-50", true, false),
        ("p6-200", false, false),
        ("p6-200", true, true),
    ] {
        let mut bench = Bench::new(name, &code).paged(ALL);
        if name == "p6-200" {
            bench.registers().cr4 |= cr4::PGE;
        }
        bench.put_word(DATA, 1);
        bench.put_word(DATA + 0x1000, 2);
        let global = if global { pte::GLOBAL } else { 0 };
        bench.put_word(entry(DATA), DATA | 7 | global);
        bench.run(1);
        bench.put_word(entry(DATA), (DATA + 0x1000) | 7 | global);
        bench.run(3);
        let wanted = if kept { 1 } else { 2 };
        assert_eq!(bench.registers().gpr[0], wanted, "{name} {global:x}");
    }
}

#[test]
fn large_pages() {
    let mut bench = Bench::new("p6-200", &load()).paged(ALL);
    bench.registers().cr4 |= cr4::PSE;
    // 4 MB from 0 at themselves.
    bench.put_word(DIRECTORY, pte::LARGE | 7);
    bench.put_word(DATA, 0x1234);
    assert_eq!(bench.run(1), Stop::Limit);
    assert_eq!(bench.registers().gpr[0], 0x1234);
    assert_eq!(bench.word(DIRECTORY) & pte::ACCESSED, pte::ACCESSED);
    // An i486 takes the bit for none of its own: the entry points to a table at 0.
    let mut bench = Bench::new("i486dx-50", &load()).paged(ALL).gate(14, 0);
    bench.put_word(DIRECTORY, TABLE | pte::LARGE | 7);
    assert_eq!(bench.run(1), Stop::Limit);
}

#[test]
fn an_operand_in_two_pages_faults_before_it_is_written() {
    let at = DATA + 0xffe;
    let code = [&[0xa3][..], &at.to_le_bytes()].concat();
    let mut bench = Bench::new("i486dx-50", &code).paged(ALL).gate(14, 0);
    bench.registers().gpr[0] = u32::MAX;
    bench.put_word(entry(DATA + 0x1000), 0);
    assert_eq!(bench.run_to_handler(), 14);
    assert_eq!(bench.registers().cr2, DATA + 0x1000);
    assert_eq!(bench.word(DATA + 0xffc), 0);
}

#[test]
fn a_store_of_the_float_unit_reports_its_first_absent_byte() {
    const FLD1: [u8; 2] = [0xd9, 0xe8];
    for store in [[0xdd, 0x1d], [0xdb, 0x3d]] {
        for (at, fault) in [
            (DATA + 0x1000, DATA + 0x1000),
            (DATA + 0xffc, DATA + 0x1000),
            (DATA + 0xff9, DATA + 0x1000),
        ] {
            let code = [&FLD1[..], &store, &at.to_le_bytes()].concat();
            let mut bench = Bench::new("i486dx-50", &code).paged(ALL).gate(14, 0);
            bench.put_word(entry(DATA + 0x1000), 0);
            bench.put_word(DATA + 0xffc, 0x5555_5555);
            assert_eq!(bench.run_to_handler(), 14);
            assert_eq!(bench.registers().cr2, fault, "{store:x?} at {at:#x}");
            assert_eq!(bench.word(DATA + 0xffc), 0x5555_5555);
        }
    }
}

#[test]
fn code_in_two_pages_runs_and_faults_at_its_second() {
    // mov eax, 0x12345678 across a page boundary.
    let code = [0xb8, 0x78, 0x56, 0x34, 0x12, 0x40];
    for present in [true, false] {
        let mut bench = Bench::new("i486dx-50", &[]).paged(ALL).gate(14, 0);
        let at = CODE + 0xffe;
        bench.put(at, &code);
        bench.registers().eip = at;
        if !present {
            bench.put_word(entry(CODE + 0x1000), 0);
            assert_eq!(bench.run_to_handler(), 14);
            assert_eq!(bench.registers().cr2, CODE + 0x1000);
            assert_eq!(bench.stacked(1), at);
            continue;
        }
        bench.run(2);
        assert_eq!(bench.registers().gpr[0], 0x1234_5679);
    }
}

#[test]
fn a_walk_costs_what_the_machine_file_says() {
    // Entries in the cache, A and D set: 9 clocks beside the load's own one.
    let code = [load(), load()].concat();
    let mut bench = Bench::new("i486dx-50", &code).paged(ALL | pte::ACCESSED | pte::DIRTY);
    bench.put_word(DIRECTORY, TABLE | 7 | pte::ACCESSED);
    bench.run(1);
    bench.processor().mmu.data.invalidate(DATA);
    let before = bench.machine.instant().cycles;
    bench.run(1);
    assert_eq!(bench.machine.instant().cycles - before, 10);
}
