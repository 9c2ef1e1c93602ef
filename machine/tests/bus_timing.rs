//! Bus timing by hand: edges, beats, forwarding, the bus's occupation, posted stores.

mod common;

use common::{account, bus, memory, plain_memory, unit};
use pagewalk_machine::memory::{Bus, BusTiming, Forward, TouchedLine, wimg};
use pagewalk_machine::observe::{Event, Plain};
use proptest::prelude::*;

const CACHED: u8 = wimg::M;

#[test]
fn a_load_miss_waits_for_the_critical_double_word_from_a_bus_edge_on() {
    // 2:1, request 1, first beat 6: 7 bus clocks, 14 core cycles; an odd cycle waits for its edge.
    for (now, stall) in [(0, 14), (1, 15), (2, 14)] {
        assert_eq!(plain_memory().load(0, CACHED, now, &mut account()), stall);
    }
}

#[test]
fn a_core_that_does_not_forward_waits_for_the_whole_line() {
    let mut timing = unit();
    timing.data_forward = Forward::Whole;
    timing.instruction_forward = Forward::Whole;
    let mut memory = memory(None, bus(), timing);
    // Three more beats of 3 clocks.
    assert_eq!(memory.load(0, CACHED, 0, &mut account()), 32);
    assert_eq!(memory.fetch(0x1000, 0, 100, &mut account()), 32);
}

#[test]
fn the_second_miss_waits_until_the_bus_is_free() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.load(0, CACHED, 0, &mut account), 14);
    assert_eq!(memory.bus.free_at(), 32);
    assert_eq!(memory.load(0x1000, CACHED, 14, &mut account), 18 + 14);
    assert_eq!(account.counters.plain(Plain::BusWait), 18);
    assert_eq!(account.counters.plain(Plain::BusCycles), 64);
    assert_eq!(account.counters.total(Event::MemoryStall), 46);
}

#[test]
fn a_write_back_follows_its_fill_and_holds_up_only_what_comes_next() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.store(0, CACHED, 0, &mut account);
    for n in 1..4 {
        memory.load(n * 4096, CACHED, u64::from(n) * 1000, &mut account);
    }
    assert_eq!(memory.load(4 * 4096, CACHED, 10_000, &mut account), 14);
    // Fill until 10032; the victim's write takes 1 + 3 + 3 = 7 bus clocks more.
    assert_eq!(memory.bus.free_at(), 10_046);
}

#[test]
fn a_touched_line_is_there_when_it_has_come() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.dcbt(0x100, CACHED, 0, &mut account), 0);
    assert!(memory.data.find(0x100).is_none());
    // The whole line has come at 32.
    assert_eq!(memory.load(0x104, CACHED, 10, &mut account), 22);
    assert_eq!(memory.load(0x108, CACHED, 32, &mut account), 0);
    memory.dcbt(0x200, CACHED, 100, &mut account);
    memory.dcbt(0x210, CACHED, 101, &mut account);
    assert_eq!(memory.load(0x200, CACHED, 200, &mut account), 0);
    assert_eq!(account.counters.plain(Plain::BusRead), 2);
    assert_eq!(account.counters.total(Event::DataCacheMiss), 2);
    memory.dcbt(0x300, CACHED, 300, &mut account);
    assert_eq!(memory.store(0x300, CACHED, 310, &mut account), 22);
    assert!(memory.data.is_dirty(0x300));
}

#[test]
fn touches_hold_the_core_when_their_buffers_are_full() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.dcbt(0x100, CACHED, 0, &mut account), 0);
    assert_eq!(memory.dcbt(0x200, CACHED, 1, &mut account), 0);
    assert_eq!(memory.dcbt(0x300, CACHED, 2, &mut account), 30);
    assert_eq!(memory.load(0x100, CACHED, 32, &mut account), 0);
    // Without buffers a touch does nothing.
    let mut timing = unit();
    timing.touch_buffers = 0;
    let mut without = common::memory(None, bus(), timing);
    assert_eq!(without.dcbt(0x100, CACHED, 0, &mut account), 0);
    assert_eq!(without.load(0x100, CACHED, 1000, &mut account), 14);
}

#[test]
fn a_buffer_keeps_a_touched_line_until_it_is_wanted_or_the_next_touch_comes() {
    let mut timing = unit();
    timing.touch_buffers = 1;
    timing.touched_line = TouchedLine::Buffer;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    memory.dcbt(0x100, CACHED, 0, &mut account);
    memory.load(0x2000, CACHED, 100, &mut account);
    assert!(memory.data.find(0x100).is_none());
    assert_eq!(memory.load(0x100, CACHED, 200, &mut account), 0);
    assert!(memory.data.find(0x100).is_some());
    memory.dcbt(0x200, CACHED, 1000, &mut account);
    memory.dcbt(0x300, CACHED, 1100, &mut account);
    assert_eq!(memory.load(0x200, CACHED, 1200, &mut account), 14);
    assert_eq!(memory.load(0x300, CACHED, 1300, &mut account), 0);
}

#[test]
fn lines_put_out_hold_the_core_when_the_buffers_are_full() {
    let (mut memory, mut account) = (plain_memory(), account());
    for n in 0..4 {
        assert_eq!(memory.dcbz(n * 4096, CACHED, 0, &mut account), Ok(0));
    }
    // Each takes 7 bus clocks; one waits in the buffer.
    assert_eq!(memory.dcbz(4 * 4096, CACHED, 100, &mut account), Ok(0));
    assert_eq!(memory.dcbz(5 * 4096, CACHED, 101, &mut account), Ok(13));
    assert_eq!(memory.dcbst(4 * 4096, 200, &mut account), 0);
    assert_eq!(memory.dcbf(5 * 4096, 202, &mut account), 12);
    assert_eq!(memory.dcbf(5 * 4096, 214, &mut account), 0);
}

#[test]
fn stores_hold_the_core_only_when_the_queue_is_full() {
    let mut timing = unit();
    timing.store_queue = 2;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    // Each single-beat write takes 4 bus clocks: done at 8, 16, 24.
    let mut store = |now| memory.store(0x100, wimg::I, now, &mut account);
    assert_eq!(store(0), 0);
    assert_eq!(store(1), 0);
    assert_eq!(store(2), 6, "waits for the first to be done at 8");
    assert_eq!(store(20), 0, "the second was done at 16");
}

#[test]
fn without_a_queue_every_store_waits() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.store(0x100, wimg::I, 0, &mut account), 8);
    assert_eq!(memory.store(0x2000, CACHED, 100, &mut account), 14);
    assert_eq!(memory.store(0x2000, CACHED, 200, &mut account), 0);
}

proptest! {
    #![proptest_config(common::cases())]

    /// Transfers never overlap, begin on an edge at or after their request, and take their clocks.
    #[test]
    fn transfers_are_in_order_and_on_edges(
        ratio_x2 in 2u32..13,
        requests in prop::collection::vec((0u64..60, 0u32..3), 1..60),
    ) {
        let timing = BusTiming { ratio_x2, ..bus() };
        let mut mine = Bus::new(timing);
        let mut account = account();
        let r = f64::from(ratio_x2) / 2.0;
        let (mut now, mut free_edge) = (0u64, 0u64);
        for (gap, kind) in requests {
            now += gap;
            let edge = (0u64..).find(|&k| (k as f64 * r).floor() as u64 >= now && k >= free_edge).expect("an edge");
            let (to_first, clocks) = match kind {
                0 => (7, 7 + 9),
                1 => (4, 4 + 3),
                _ => (7, 7),
            };
            let at = |edge: u64| (edge as f64 * r).floor() as u64;
            match kind {
                0 => {
                    let got = mine.read_line(now, 32, &mut account);
                    prop_assert_eq!((got.critical, got.complete), (at(edge + to_first), at(edge + clocks)));
                }
                1 => prop_assert_eq!(mine.write_line(now, 32, &mut account), at(edge + clocks)),
                _ => prop_assert_eq!(mine.read_single(now, &mut account), at(edge + clocks)),
            }
            free_edge = edge + clocks;
            prop_assert_eq!(mine.free_at(), at(free_edge));
        }
    }
}
