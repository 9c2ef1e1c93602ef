//! Paging with CR4.PAE: three levels of tables with entries of 64 bits.

use pagewalk_machine::board::Console;
use pagewalk_machine::debug::Debugged as _;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::registers::{cr0, cr4};
use pagewalk_machine::x86::session::Session;
use pagewalk_machine::x86::tlb::pte;
use proptest::prelude::*;

use super::bench::{Bench, CODE, DATA, DIRECTORY, TABLE, config};
use super::hostile::{session, survives_a_snapshot};

/// The first table, of four entries.
const POINTERS: u32 = 0x5_2020;
const ALL: u64 = (pte::WRITE | pte::USER) as u64;
const PRESENT: u64 = pte::PRESENT as u64;
const LARGE: u64 = pte::LARGE as u64;
const ACCESSED: u64 = pte::ACCESSED as u64;
const DIRTY: u64 = pte::DIRTY as u64;

/// mov eax, [at]
fn load(at: u32) -> Vec<u8> {
    [&[0xa1][..], &at.to_le_bytes()].concat()
}

/// mov [at], eax
fn store(at: u32) -> Vec<u8> {
    [&[0xa3][..], &at.to_le_bytes()].concat()
}

/// mov eax, value; mov cr<number>, eax
fn to_control(number: u8, value: u32) -> Vec<u8> {
    [
        &[0xb8][..],
        &value.to_le_bytes(),
        &[0x0f, 0x22, 0xc0 | number << 3],
    ]
    .concat()
}

impl Bench {
    fn put_wide(&mut self, at: u32, entry: u64) {
        self.put(at, &entry.to_le_bytes());
    }

    fn wide(&self, at: u32) -> u64 {
        u64::from(self.word(at + 4)) << 32 | u64::from(self.word(at))
    }

    /// With tables for the first 2 MB, every page at its own address; paging is off.
    fn with_wide_tables(mut self) -> Bench {
        self.put_wide(POINTERS, u64::from(DIRECTORY) | PRESENT);
        self.put_wide(DIRECTORY, u64::from(TABLE) | PRESENT | ALL);
        for page in 0..512 {
            self.put_wide(TABLE + 8 * page, u64::from(page) << 12 | PRESENT | ALL);
        }
        self
    }

    /// With paging by these tables, as MOV to CR0 leaves it.
    fn wide_paged(self) -> Bench {
        let mut bench = self.with_wide_tables();
        let directories = [u64::from(DIRECTORY) | PRESENT, 0, 0, 0];
        let registers = bench.registers();
        registers.cr4 |= cr4::PAE;
        registers.cr3 = POINTERS;
        registers.cr0 |= cr0::PG;
        registers.directories = directories;
        bench.processor().modes_changed();
        bench
    }
}

fn entry(page: u32) -> u32 {
    TABLE + 8 * (page >> 12)
}

fn wide(code: &[u8]) -> Bench {
    Bench::new("p6-200", code)
        .wide_paged()
        .gate(14, 0)
        .gate(13, 0)
}

#[test]
fn code_switches_it_on_and_the_first_table_is_read_then() {
    let code = [
        to_control(4, cr4::PAE),
        to_control(3, POINTERS),
        to_control(0, cr0::PE | cr0::PG | cr0::ET),
        load(DATA),
    ]
    .concat();
    let mut bench = Bench::new("p6-200", &code).with_wide_tables();
    bench.put_word(DATA, 0x1234);
    assert_eq!(bench.run(7), Stop::Limit);
    assert_eq!(bench.registers().gpr[0], 0x1234);
    let wanted = [u64::from(DIRECTORY) | PRESENT, 0, 0, 0];
    assert_eq!(bench.registers().directories, wanted);
    // A change of the table in memory is seen by the next load of CR3, and not before.
    let reload = [load(DATA), to_control(3, POINTERS), load(DATA)].concat();
    let mut bench = wide(&reload);
    bench.put_wide(POINTERS, 0);
    assert_eq!(bench.run(1), Stop::Limit);
    assert_eq!(
        bench.run(10),
        Stop::Fatal(pagewalk_machine::x86::Fatal::TripleFault {
            eip: CODE + 13,
            vectors: vec![14, 14, 8, 14],
        })
    );
}

#[test]
fn a_reserved_bit_of_the_first_table_is_refused_with_the_load() {
    for bit in [1, 2, 5, 6, 7, 8, 36, 51, 63] {
        for (present, wanted) in [(PRESENT, true), (0, false)] {
            let mut bench = wide(&[&to_control(3, POINTERS)[..], &[0x90]].concat());
            bench.put_wide(POINTERS + 24, present | 1 << bit);
            if wanted {
                assert_eq!(bench.run_to_handler(), 13, "bit {bit}");
                assert_eq!(bench.stacked(0), 0);
                assert_eq!(bench.registers().directories[3], 0);
            } else {
                assert_eq!(bench.run(3), Stop::Limit, "bit {bit}");
            }
        }
    }
    // Nobody answers there: it reads as ones.
    let mut bench = wide(&to_control(3, 0x7000_0000));
    assert_eq!(bench.run_to_handler(), 13);
    assert_eq!(bench.registers().cr3, POINTERS);
}

#[test]
fn error_codes_tell_what_was_wrong() {
    // What is changed in the entries of directory and table, a store or a load, ring 3, the error code wanted.
    let cases: [(u64, u64, bool, bool, u32); 16] = [
        (0, PRESENT, false, false, 0),
        (0, PRESENT, true, true, 6),
        (PRESENT, 0, false, true, 4),
        (0, ALL, true, true, 7),
        (ALL, 0, false, true, 5),
        (0, 1 << 36, false, false, 9),
        (0, 1 << 63, true, true, 15),
        (1 << 36, 0, false, false, 9),
        (1 << 62, 0, true, false, 11),
        (0, LARGE, false, false, 9),
        // A large page, whose address has bits of a table's.
        (LARGE, 0, false, true, 13),
        (LARGE | u64::from(TABLE) | 1 << 13, 0, false, true, 13),
        (LARGE | u64::from(TABLE) | 1 << 20, 0, true, true, 15),
        (LARGE | u64::from(TABLE) | 1 << 40, 0, true, true, 15),
        // Tables above 4 GB, and where there is no RAM, read as ones.
        (1 << 32, 0, false, true, 13),
        (1 << 30, 0, true, true, 15),
    ];
    for (directory, table, writes, user, wanted) in cases {
        // The second 2 MB have the same table.
        let at = DATA + 0x20_0000;
        let code = if writes { store(at) } else { load(at) };
        let mut bench = wide(&code);
        if user {
            bench = bench.user();
        }
        let own = u64::from(TABLE) | PRESENT | ALL;
        bench.put_wide(DIRECTORY + 8, own ^ directory);
        // The first 2 MB go by another table, for the code.
        for page in 0..512 {
            let entry = bench.wide(TABLE + 8 * page);
            bench.put_wide(TABLE + 0x2000 + 8 * page, entry);
        }
        bench.put_wide(DIRECTORY, own + 0x2000);
        let old = bench.wide(entry(DATA)) ^ table;
        bench.put_wide(entry(DATA), old);
        let what = format!("{directory:#x} {table:#x} {writes} {user}");
        assert_eq!(bench.run_to_handler(), 14, "{what}");
        assert_eq!(bench.stacked(0), wanted, "{what}");
        assert_eq!(bench.stacked(1), CODE, "{what}");
        assert_eq!(bench.registers().cr2, at, "{what}");
        assert_eq!(bench.wide(entry(DATA)), old, "no bit is set by a fault");
        assert_eq!(bench.wide(DIRECTORY + 8), own ^ directory, "{what}");
    }
}

#[test]
fn accessed_and_dirty_are_set_when_first_needed() {
    let code = [load(DATA), store(DATA), store(DATA)].concat();
    let mut bench = wide(&code);
    bench.run(1);
    assert_eq!(bench.wide(DIRECTORY) & ACCESSED, ACCESSED);
    assert_eq!(bench.wide(POINTERS), u64::from(DIRECTORY) | PRESENT);
    let bits = ACCESSED | DIRTY;
    assert_eq!(bench.wide(entry(DATA)) & bits, ACCESSED);
    let walks = bench.counter("hash.search");
    bench.run(1);
    assert_eq!(bench.wide(entry(DATA)) & bits, bits);
    assert_eq!(bench.counter("hash.search"), walks + 1);
    bench.run(1);
    assert_eq!(bench.counter("hash.search"), walks + 1);
}

#[test]
fn large_pages_have_2_mb() {
    // The 2 MB from 0 seen at 0x40200000, by the second entry of the second directory.
    let code = [load(0x4020_0000 + DATA), store(0x4020_0000 + DATA + 4)].concat();
    let mut bench = wide(&code);
    let second = u64::from(DIRECTORY + 0x4000);
    bench.registers().directories[1] = second | PRESENT;
    bench.put_wide(DIRECTORY + 0x4000, 0);
    bench.put_wide(DIRECTORY + 0x4008, LARGE | PRESENT | ALL);
    bench.put_word(DATA, 0x1234);
    assert_eq!(bench.run(2), Stop::Limit);
    assert_eq!(bench.registers().gpr[0], 0x1234);
    assert_eq!(bench.word(DATA + 4), 0x1234);
    let bits = ACCESSED | DIRTY;
    assert_eq!(bench.wide(DIRECTORY + 0x4008) & bits, bits);
    let states = bench.machine.states(0, true);
    let large = states[0]
        .tlbs
        .iter()
        .find(|(name, _)| *name == "data, 2 MB pages");
    let (_, lines) = large.expect("a TLB of pages of 2 MB");
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].page, lines[0].frame), (0x4020_0000, 0));
    assert_eq!(states[0].to_json()["directories"][1], second | PRESENT);
    assert_eq!(
        bench
            .machine
            .processor()
            .read_byte((0x4020_0000 + DATA).into()),
        Some(0x34)
    );
    // The 2 MB before them are not there.
    assert_eq!(
        bench
            .machine
            .processor()
            .read_byte((0x4000_0000 + DATA).into()),
        None
    );
}

#[test]
fn a_page_above_4_gb_has_no_memory() {
    let mut bench = wide(&[load(DATA), store(DATA), load(DATA)].concat());
    let frame = 0xf_1234_5000_u64;
    bench.put_wide(entry(DATA), frame | PRESENT | ALL);
    bench.put_word(DATA, 0x1234);
    assert_eq!(bench.run(1), Stop::Limit);
    assert_eq!(bench.registers().gpr[0], u32::MAX);
    bench.registers().gpr[0] = 0x5678;
    assert_eq!(bench.run(2), Stop::Limit);
    assert_eq!(bench.registers().gpr[0], u32::MAX);
    assert_eq!(bench.word(DATA), 0x1234);
    let states = bench.machine.states(0, true);
    let mut lines = states[0].tlbs.iter().flat_map(|(_, lines)| lines);
    assert!(lines.any(|line| (line.page, line.frame) == (DATA, frame)));
    assert_eq!(bench.machine.processor().read_byte(DATA.into()), None);
}

#[test]
fn a_walk_takes_as_long_as_without() {
    let cycles = |bench: &mut Bench| {
        bench.run(1);
        bench.processor().mmu.data.invalidate(DATA);
        let before = bench.machine.instant().cycles;
        bench.run(1);
        bench.machine.instant().cycles - before
    };
    let code = [load(DATA), load(DATA)].concat();
    let mut wide = wide(&code);
    let mut narrow = Bench::new("p6-200", &code).paged(6);
    assert_eq!(cycles(&mut wide), cycles(&mut narrow));
}

#[test]
fn an_i486_has_none_and_says_so() {
    // mov cr4, eax is no instruction of an i486; its CR3 keeps the address of a page and two flags.
    let mut bench = Bench::new("i486dx-50", &to_control(4, cr4::PAE)).gate(6, 0);
    assert_eq!(bench.run_to_handler(), 6);
    for (name, wanted) in [("i486dx-50", 0x5018), ("p6-200", 0x5ff8)] {
        let mut bench = Bench::new(name, &to_control(3, 0x5fff));
        bench.run(2);
        assert_eq!(bench.registers().cr3, wanted, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Tables of anything: nothing panics, the oracle does the same, and what is left can be saved and restored.
    #[test]
    fn tables_may_hold_anything(
        entries in proptest::collection::vec((0u64..0x200, any::<u64>(), any::<u64>()), 8..64),
        noise in 0u64..4,
        code in proptest::collection::vec(any::<u8>(), 16..200),
        pse: bool,
    ) {
        let mut ends = Vec::new();
        for oracle in [false, true] {
            let mut session: Session = session(&config("p6-200", &[]), &[0xf4]);
            let machine = session.machine_mut();
            let ram = machine.uncore_mut().ram.bytes_mut();
            ram[CODE as usize..][..code.len()].copy_from_slice(&code);
            // Each page of the tables at 0x50000 holds entries that are often good, with some bits turned over.
            for (n, place) in ram[DIRECTORY as usize..][..0x4000].chunks_exact_mut(8).enumerate() {
                let (page, turned, mask) = entries[n % entries.len()];
                let bits = turned & (0..noise).fold(mask, |all, n| all & mask.rotate_left(n as u32 * 7));
                let good = page << 12 | 7 | if page & 0x1ff == 0 { LARGE } else { 0 };
                let entry = if noise == 3 { good } else { good ^ bits };
                place.copy_from_slice(&entry.to_le_bytes());
            }
            let processor = machine.processor_mut();
            let registers = &mut processor.registers;
            registers.cr3 = POINTERS;
            registers.cr4 = cr4::PAE | cr4::PGE | if pse { cr4::PSE } else { 0 };
            registers.directories = [
                u64::from(DIRECTORY) | PRESENT,
                u64::from(DIRECTORY + 0x1000) | PRESENT,
                0xf_0000_0001,
                0,
            ];
            registers.cr0 |= cr0::PG;
            registers.eip = CODE;
            processor.modes_changed();
            session.set_oracle(oracle);
            let stop = session.run(pagewalk_machine::powerpc::machine::Limits {
                cycles: 100_000,
                instructions: 5000,
            });
            ends.push((session.explain(&stop), session.counters()));
            if !oracle {
                survives_a_snapshot(&mut session)?;
                let saved = session.save().unwrap();
                prop_assert!(Session::restore(&saved, "s", Console::memory()).is_ok());
            }
        }
        prop_assert_eq!(&ends[0], &ends[1]);
    }
}

/// A trace tells the size of a table's entries, by which a report cuts the address, and which pages all spaces share.
#[test]
fn a_trace_tells_the_size_of_entries_and_which_pages_are_shared() {
    use pagewalk_machine::account::tlb_events::TlbNote;
    use pagewalk_machine::observe::trace::{Trace, Window};

    // Both pages are in one set.
    let code = [load(DATA), load(DATA + 0x1_0000)].concat();
    for (mut bench, bytes) in [
        (wide(&code), 8),
        (Bench::new("p6-200", &code).paged(6), 4),
        (Bench::new("p6-200", &code).paged(0x106), 4),
    ] {
        let global = bench.word(TABLE) & 0x100 != 0;
        bench.registers().cr4 |= cr4::PGE;
        let processor = bench.processor();
        processor.account.tlb = TlbNote::of_walks();
        processor.observers.trace = Some(Trace::new(Window::default()));
        assert_eq!(bench.run(2), Stop::Limit);
        let observers = &bench.machine.processor().observers;
        let trace = observers.trace.as_ref().unwrap();
        let all: Vec<serde_json::Value> =
            (trace.events(&observers.symbols, 1_000_000, 0..trace.len()))
                .map(|event| event["args"].clone())
                .filter(|args| args["cr3"].is_string())
                .collect();
        assert!(!all.is_empty());
        assert!(
            all.iter().all(|args| args["entry_bytes"] == bytes),
            "{all:?}"
        );
        let space = if global { "shared" } else { "untagged" };
        let mut ways = all.iter().flat_map(|args| args["ways"].as_array().unwrap());
        assert!(ways.any(|way| way["space"] == space), "{all:?}");
    }
}
