//! Transfers to and from parts with a write buffer, clock by clock.

use super::*;
use crate::account::Account;
use crate::memory::{Bus, BusTiming, MemoryPace};

/// 70 ns FPM behind a controller of three clocks, on a bus of 66 MHz at 1:1.
pub fn timing(write_buffer: u32, overlap: bool) -> BusTiming {
    BusTiming {
        ratio_x2: 2,
        request: 1,
        turnaround: 1,
        return_path: 0,
        depth: 1,
        streaming: false,
        memory: MemoryPace::Parts(PartsTiming {
            dram: DramTiming {
                access: 5,
                column_access: 2,
                page_cycle: 3,
                precharge: 4,
                cycle: 9,
                banks: 1,
                row: 4096,
                group: 1,
                open_page: false,
                refresh_interval: 100_000,
                refresh_length: 9,
            },
            read_delay: 3,
            write_delay: 2,
            write_buffer,
            copy_back: 1,
            overlap,
            line: 32,
        }),
        address_only: 3,
        beat: 8,
        line: 32,
    }
}

pub fn account() -> Account {
    Account::new(1 << 20, 32)
}

#[test]
fn a_read_waits_for_precharge() {
    let mut pace = timing(0, false);
    if let MemoryPace::Parts(parts) = &mut pace.memory {
        parts.dram.precharge = 8;
    }
    let (mut bus, mut account) = (Bus::new(pace), account());
    // Asked at 10: address at 11, row strobe at 14, beats at 19, 22, 25, 28.
    let line = bus.read_line(0, 10, &mut account);
    assert_eq!([0, 1, 2, 3].map(|n| line.beat(n)), [19, 22, 25, 28]);
    // Asked at once: address at 29; the row strobe could come at 32, and comes with the end of precharge at 36.
    assert_eq!(bus.read_line(4096, 28, &mut account).complete(), 50);
    // What needs no memory does not wait for precharge, which ends at 58.
    assert_eq!(bus.address_only(48, &mut account), 54);
}

#[test]
fn a_write_takes_what_the_parts_take() {
    let (mut bus, mut account) = (Bus::new(timing(0, false)), account());
    // Address at 11, row strobe at 13, the last beat at 13 + 5 + 9.
    assert_eq!(bus.write_line(0, 10, &mut account), 27);
    // The next read: address at 29, strobe at 32, after precharge at 31.
    assert_eq!(bus.read_line(0, 28, &mut account).critical(), 37);
}

#[test]
fn a_posted_write_is_written_when_the_parts_are_free() {
    let (mut bus, mut account) = (Bus::new(timing(1, true)), account());
    // Address at 11, beats at 13 to 16.
    assert_eq!(bus.write_line(0, 10, &mut account), 16);
    // A read whose address comes at 18 finds the write under way since 16, with its last beat at 16 + 2 + 5 + 9 and
    // precharge until 36.
    let line = bus.read_line(4096, 17, &mut account);
    assert_eq!(line.critical(), 36 + 5);
    // The second of two writes waits until the first one's place is free.
    let (mut bus, mut account) = (Bus::new(timing(1, true)), self::account());
    assert_eq!(bus.write_line(0, 10, &mut account), 16);
    assert_eq!(bus.write_line(64, 16, &mut account), 32 + 3);
}

#[test]
fn a_read_of_a_posted_line_comes_after_its_write() {
    let mut pace = timing(4, true);
    pace.depth = 2;
    let (mut bus, mut account) = (Bus::new(pace), account());
    let first = bus.read_line(0, 0, &mut account).complete();
    let written = bus.write_line(8192, 1, &mut account);
    assert!(written > first);
    let other = bus.read_line(8192, 2, &mut account).critical();
    // The write's last beat comes 16 clocks after it was taken, and precharge 4 later.
    assert!(other >= written + 16 + 4);
}

/// Of two transactions at a time the second's address does not wait for the first's data, and its data comes in order.
#[test]
fn addresses_run_ahead_of_data() {
    let mut pace = timing(0, false);
    let (mut slow, mut account) = (Bus::new(pace), account());
    pace.depth = 2;
    let mut fast = Bus::new(pace);
    let both = [&mut slow, &mut fast].map(|bus| {
        let first = bus.read_beside_for_test(0, &mut account);
        let second = bus.read_beside_for_test(0, &mut account);
        (first, second)
    });
    // 2-1-1-1 from clock 1 on: beats at 3 to 6; a dead clock; then without pipelining an address at 7 and a first beat
    // at 9, with it the first beat at 8.
    assert_eq!(both, [((3, 6), (9, 12)), ((3, 6), (8, 11))]);
}

impl Bus {
    fn read_beside_for_test(&mut self, now: u64, account: &mut Account) -> (u64, u64) {
        let clock = u64::from(self.timing().ratio_x2);
        let answer = super::super::bus::Answer::new(2 * clock, clock, self.timing());
        let line = self.read_burst(now, &answer, account);
        (line.critical(), line.complete())
    }
}
