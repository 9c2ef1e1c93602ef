//! The 970's state from outside: dumps, the VSID sanitizer, snapshots.

use crate::support;
use crate::support::Program;
use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::dump::{HashTable, StateDump};
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::mmu::HashBase;
use pagewalk_machine::powerpc::mmu::hash64::{Page, table};
use pagewalk_machine::powerpc::session::Session;

const MACHINE: &str = "ppc970-1600";

const LIMITS: Limits = Limits {
    cycles: 1_000_000,
    ..Limits::NONE
};

/// Runs a program that ends with status 0.
fn run(source: &str) -> Session {
    let mut session = Program::on(MACHINE, source).session(MACHINE, &[]);
    support::finish(&mut session, LIMITS);
    session
}

fn dump(session: &Session) -> StateDump {
    let processor = session.machine().processor();
    StateDump::take(
        1,
        processor.cycles(),
        &processor.registers,
        &processor.mmu,
        &processor.memory,
    )
}

/// As text and as JSON.
#[test]
fn dumps_show_the_tables() {
    let session = run("_start:\npaging\nload 10, 0x40000000\nlwz 5, 0(10)\npower_off 0\n");
    let dump = dump(&session);
    let wide = dump.wide.as_ref().expect("it has them");
    assert_eq!(wide.slb.len(), 3);
    assert!(wide.slb[0].large && !wide.slb[1].large);
    assert_eq!(
        (wide.slb[1].effective, wide.slb[1].vsid),
        (0x4000_0000, 0x123)
    );
    let shown = dump.to_string();
    for line in [
        "segment lookaside buffer, 3 valid; SDR1 0000000000200000",
        "   4 0000000040000000 vsid 0000000000123 ----",
        " vsid 0000000000123 page 0000 -> 00300000 --C --M- pp 2",
        "0000000040000000 -> 00300000 -C --M- pp 2",
        "hash table at 00200000: 2048 PTEGs, 3 of 16384 PTEs valid",
        "  PTEGs by valid PTEs: 0:2045 1:3 2:0",
        "    291.0 - vsid 000123 page 0000 -> 00300000 RC --M- pp 2",
        "     16.0 - vsid 000010 page 0000 -> 00000000 RCL --M- pp 2",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let json = dump.to_json();
    let tlb = json["wide"]["tlb"].as_array().expect("rows");
    assert!(tlb.iter().any(|row| row["vsid"] == 0x123));
    assert_eq!(json["hash_table"]["used"], 3);
    assert_eq!(json["hash_table"]["histogram"][1], 3);
    assert_eq!(json["hash_table"]["occupancy"][291], 1);
}

/// Of each PTE the dump tells the page, from its VSID, AVPN and group.
#[test]
fn a_dump_recovers_pages_from_their_places() {
    const BASE: u64 = 0x20_0000;
    let mut session = run("_start:\npower_off 0\n");
    let memory = &mut session.machine_mut().processor_mut().memory;
    // 2048 groups, and 8192.
    for size in [0, 2] {
        let sdr1 = BASE | size;
        for (vsid, ea, large) in [
            (0x123_u64, 0x4000_0000_u64, false),
            (0x0fff_ffff, 0x4fff_f000, false),
            (0x7_ffff_ffff_f123, 0x4abc_d000, false),
            (0x100_0040, 0xcd00_0000, true),
            (0x9, 0x0f00_0000, true),
        ] {
            let page = Page { ea, vsid, large };
            for (group, secondary) in table::Place::of(sdr1).groups(&page) {
                let at = group as usize + 7 * 16;
                let ram = memory.uncore.ram.bytes_mut();
                ram[at..at + 8].copy_from_slice(&page.first(secondary).to_be_bytes());
                ram[at + 8..at + 16].copy_from_slice(&0x0030_0196_u64.to_be_bytes());
                let found = HashTable::read(HashBase::DoubleWords(sdr1), memory);
                let found = found.expect("it lies in RAM");
                let row = &found.entries[0];
                assert_eq!(found.used, 1);
                assert_eq!(
                    (row.vsid, row.page_index, row.large, row.secondary, row.slot),
                    (vsid, page.index(), large, secondary, 7)
                );
                assert!(row.referenced && row.changed && row.no_execute);
                assert_eq!((row.physical, row.wimg, row.pp), (0x30_0000, 2, 2));
                memory.uncore.ram.bytes_mut()[at..at + 16].fill(0);
            }
        }
    }
}

/// No table: beyond RAM, not aligned to its size, or larger than any.
#[test]
fn a_table_that_does_not_lie_in_ram_is_not_shown() {
    let session = run("_start:\npower_off 0\n");
    let memory = &session.machine().processor().memory;
    for sdr1 in [
        0x1c,
        0x1f,
        0xffff_ffff_ffff_ffff,
        0x1_0000_0000,
        0x2000_0000,
        0x0004_0003,
    ] {
        assert_eq!(
            HashTable::read(HashBase::DoubleWords(sdr1), memory),
            None,
            "{sdr1:#x}"
        );
    }
}

/// Whole registers, both modes, an ERAT entry that outlives its SLB entry, a large page, a reservation, HID5, and a
/// decrementer that interrupts.
const WORK: &str = "
_start:
  vector 0x900, decrementer
  paging
  load 10, 0x40000000
  lwz 5, 0(10)
  segment 0x48000004, 0x00124000
  li 3, 0x80
  mtspr 1014, 3
  li 14, -3
  sldi 14, 14, 33
  mtlr 14
  li 15, 7
  rldimi 15, 15, 40, 0
  mtctr 15
  mtsprg 0, 14
  li 20, 0
  li 21, 500
  load 11, 0x00300000
  load 3, 200
  mtdec 3
  load 3, 0x9030
  mtmsr 3
1:
  addc 14, 14, 15
  adde 16, 14, 15
  ldarx 6, 0, 11
  add 6, 6, 14
  stdcx. 6, 0, 11
  std 14, 8(11)
  lwz 7, 4(10)
  dcbz 0, 11
  mulld 15, 15, 14
  addi 11, 11, 32
  subi 21, 21, 1
  mtcrf 1, 21
  cmpwi 21, 0
  bgt 1b
  mfsprg 17, 0
  mflr 18
  mfctr 19
  power_off 0
decrementer:
  mtsprg 1, 3
  addi 20, 20, 1
  li 3, 300
  mtdec 3
  mfsprg 3, 1
  rfid
  .space 128
";

#[test]
fn a_restored_snapshot_goes_on_the_same() {
    let small = ["memory.size=0x800000"];
    let program = Program::on(MACHINE, WORK);
    let mut whole = program.session(MACHINE, &small);
    support::finish(&mut whole, LIMITS);
    let registers = |session: &Session| session.machine().processor().registers.clone();
    let value = |number| registers(&whole).gpr.all_whole()[number];
    assert!(value(20) > 1, "{} interrupts", value(20));
    assert_eq!(value(17), value(18));
    let end = whole.machine().instant().cycles;
    for at in [0, end / 9, end / 3, end / 2, 3 * end / 4, 9 * end / 10] {
        let mut first = program.session(MACHINE, &small);
        let limits = Limits {
            cycles: at,
            ..Limits::NONE
        };
        assert_eq!(first.run(limits), Stop::Limit);
        let bytes = first.save().unwrap();
        let mut second = Session::restore(&bytes, "s", Console::memory()).unwrap();
        assert_eq!(dump(&second), dump(&first), "at {at}");
        assert_eq!(registers(&second), registers(&first), "at {at}");
        support::finish(&mut second, LIMITS);
        assert_eq!(second.counters(), whole.counters(), "restored at {at}");
        assert_eq!(registers(&second), registers(&whole), "restored at {at}");
        assert_eq!(dump(&second), dump(&whole), "restored at {at}");
    }
}
