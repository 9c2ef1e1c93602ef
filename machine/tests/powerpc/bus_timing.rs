//! Bus timing by hand: edges, beats, forwarding, the bus's occupation, posted stores.

use crate::common;
use crate::common::{account, bus, memory, plain_memory, unit};
use pagewalk_machine::account::{Account, Event, Plain};
use pagewalk_machine::memory::{
    Broadcast, Bus, BusTiming, Forward, TouchedLine, Transaction, attribute,
};
use pagewalk_machine::powerpc::hid0;
use proptest::prelude::*;

const CACHED: u8 = attribute::COHERENT;

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
    timing.data_forward = Forward::Line;
    timing.instruction_forward = Forward::Line;
    let mut memory = memory(None, bus(), timing);
    // Three more beats of 3 clocks.
    assert_eq!(memory.load(0, CACHED, 0, &mut account()), 32);
    assert_eq!(memory.fetch(0x1000, 0, 100, &mut account()), 32);
}

#[test]
fn the_second_miss_waits_until_the_bus_is_free() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.load(0, CACHED, 0, &mut account), 14);
    assert_eq!(memory.uncore.bus.free_at(), 34);
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
    // The fill holds the bus until 10034; the victim's write takes 3 + 3 bus clocks and the turnaround.
    assert_eq!(memory.uncore.bus.free_at(), 10_048);
}

#[test]
fn a_touched_line_is_there_when_it_has_come() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(memory.dcbt(0x100, CACHED, 0, &mut account), 0);
    assert!(memory.data.find(0x100).is_none());
    // Its first beat comes at 14, its last one at 32.
    assert_eq!(memory.load(0x104, CACHED, 10, &mut account), 4);
    assert_eq!(memory.load(0x118, CACHED, 14, &mut account), 18);
    assert_eq!(memory.load(0x108, CACHED, 32, &mut account), 0);
    memory.dcbt(0x200, CACHED, 100, &mut account);
    memory.dcbt(0x210, CACHED, 101, &mut account);
    assert_eq!(memory.load(0x200, CACHED, 200, &mut account), 0);
    assert_eq!(account.counters.plain(Plain::BusRead), 2);
    assert_eq!(account.counters.total(Event::DataCacheMiss), 2);
    memory.dcbt(0x300, CACHED, 300, &mut account);
    assert_eq!(memory.store(0x300, CACHED, 310, &mut account), 4);
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
    assert_eq!(memory.dcbst(4 * 4096, 0, 200, &mut account), 0);
    assert_eq!(memory.dcbf(5 * 4096, 0, 202, &mut account), 12);
    assert_eq!(memory.dcbf(5 * 4096, 0, 214, &mut account), 0);
}

#[test]
fn stores_hold_the_core_only_when_the_queue_is_full() {
    let mut timing = unit();
    timing.store_queue = 2;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    // Each single-beat write takes 4 bus clocks: done at 8, 16, 24.
    let mut store = |now| memory.store(0x100, attribute::INHIBITED, now, &mut account);
    assert_eq!(store(0), 0);
    assert_eq!(store(1), 0);
    assert_eq!(store(2), 6, "waits for the first to be done at 8");
    assert_eq!(store(20), 0, "the second was done at 16");
}

#[test]
fn without_a_queue_every_store_waits() {
    let (mut memory, mut account) = (plain_memory(), account());
    assert_eq!(
        memory.store(0x100, attribute::INHIBITED, 0, &mut account),
        8
    );
    assert_eq!(memory.store(0x2000, CACHED, 100, &mut account), 14);
    assert_eq!(memory.store(0x2000, CACHED, 200, &mut account), 0);
}

proptest! {
    #![proptest_config(common::cases())]

    /// Transfers never overlap, begin on an edge at or after their request, and take their clocks.
    #[test]
    fn transfers_are_in_order_and_on_edges(
        ratio_x2 in 2u32..13,
        (request, turnaround, return_path) in (0u32..4, 0u32..4, 0u32..4),
        requests in prop::collection::vec((0u64..60, 0u32..4), 1..60),
    ) {
        let timing = BusTiming { ratio_x2, request, turnaround, return_path, ..bus() };
        let mut mine = Bus::new(timing);
        let mut account = account();
        let r = f64::from(ratio_x2) / 2.0;
        let at = |edge: u64| (edge as f64 * r).floor() as u64;
        let (request, turnaround, back) =
            (u64::from(request), u64::from(turnaround), u64::from(return_path));
        let (mut now, mut free) = (0u64, 0u64);
        for (gap, kind) in requests {
            now += gap;
            let asked = (0u64..).find(|&k| at(k) >= now).expect("an edge");
            let begins = (asked + request).max(free);
            let clocks = [6 + 9, 3 + 3, 6, 3][kind as usize];
            let ends = begins + clocks;
            match kind {
                0 => {
                    let got = mine.read_line(0, now, &mut account);
                    let beats = [0, 1, 2, 3].map(|n| got.beat(n));
                    prop_assert_eq!(beats, [0, 3, 6, 9].map(|n| at(begins + 6 + n + back)));
                    prop_assert_eq!((got.critical(), got.complete()), (beats[0], beats[3]));
                }
                1 => prop_assert_eq!(mine.write_line(0, now, &mut account), at(ends)),
                2 => prop_assert_eq!(mine.read_single(0, now, &mut account), at(ends + back)),
                _ => prop_assert_eq!(mine.address_only(now, &mut account), at(ends)),
            }
            free = if kind == 3 { ends } else { ends + turnaround };
            prop_assert_eq!(mine.free_at(), at(free));
        }
    }

    /// A load is never served before its beat, and exactly then if it comes earlier; nor is one after a store
    /// that missed.
    #[test]
    fn loads_of_a_line_on_its_way_wait_for_their_beat(
        first in 0u32..4,
        store: bool,
        gaps in prop::collection::vec((0u32..4, 0u64..20), 1..20),
    ) {
        let mut timing = unit();
        timing.store_queue = 4;
        let (mut memory, mut account) = (memory(None, bus(), timing), account());
        let mut now = if store {
            memory.store(8 * first, CACHED, 0, &mut account)
        } else {
            memory.load(8 * first, CACHED, 0, &mut account)
        };
        // 2:1, request 1, then 6-3-3-3: the beats come at 14, 20, 26, 32, round from the first on.
        prop_assert_eq!(now, if store { 0 } else { 14 });
        for (word, gap) in gaps {
            now += gap;
            let beat = 14 + 6 * u64::from((word + 4 - first) % 4);
            let stall = memory.load(8 * word, CACHED, now, &mut account);
            prop_assert_eq!(now + stall, now.max(beat));
            now += stall;
        }
        prop_assert_eq!(account.counters.plain(Plain::BusRead), 1);
    }
}

#[test]
fn a_core_that_forwards_the_critical_double_word_alone_waits_for_the_line_then() {
    let mut timing = unit();
    timing.data_forward = Forward::Critical;
    timing.instruction_forward = Forward::Critical;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    assert_eq!(memory.load(0x10, CACHED, 0, &mut account), 14);
    assert_eq!(memory.load(0x14, CACHED, 14, &mut account), 0);
    assert_eq!(memory.load(0x18, CACHED, 14, &mut account), 18);
    assert_eq!(memory.load(0x00, CACHED, 32, &mut account), 0);
    assert_eq!(memory.fetch(0x1008, 0, 100, &mut account), 14);
    assert_eq!(memory.fetch(0x1010, 0, 114, &mut account), 18);
}

#[test]
fn a_load_behind_a_posted_store_miss_waits_for_what_the_core_forwards() {
    for (forward, stall) in [
        (Forward::Line, 27),
        (Forward::Critical, 27),
        (Forward::Beats, 21),
    ] {
        let mut timing = unit();
        timing.store_queue = 4;
        timing.data_forward = forward;
        let (mut memory, mut account) = (memory(None, bus(), timing), account());
        assert_eq!(memory.store(0, CACHED, 0, &mut account), 0);
        // The beats come at 14, 20, 26 and 32.
        assert_eq!(memory.load(16, CACHED, 5, &mut account), stall);
        assert_eq!(memory.load(24, CACHED, 32, &mut account), 0);
    }
}

#[test]
fn a_block_ends_when_its_last_instruction_has_come() {
    let (mut memory, mut account) = (plain_memory(), account());
    // Begun at 14; it takes 2 cycles, but its last instruction is in the third beat, at 26.
    assert_eq!(memory.fetch(0x1000, 0, 0, &mut account), 14);
    assert_eq!(memory.fetch_rest(0x1014, 16, &mut account), 27 - 16);
    assert_eq!(memory.fetch_rest(0x1014, 27, &mut account), 0);
    assert_eq!(memory.fetch_rest(0x101c, 100, &mut account), 0);
}

#[test]
fn stores_to_a_line_on_its_way_wait_in_the_store_queue() {
    let mut timing = unit();
    timing.store_queue = 2;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    assert_eq!(memory.store(0x00, CACHED, 0, &mut account), 0);
    assert_eq!(memory.store(0x08, CACHED, 1, &mut account), 0);
    // The first waits for the beat at 14.
    assert_eq!(memory.store(0x10, CACHED, 2, &mut account), 12);
    assert_eq!(memory.store(0x18, CACHED, 40, &mut account), 0);
    assert!(memory.data.is_dirty(0));
}

#[test]
fn what_a_cache_instruction_does_to_a_line_on_its_way_waits_for_it() {
    let mut timing = unit();
    timing.store_queue = 4;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    memory.store(0, CACHED, 0, &mut account);
    // The line is whole at 32.
    assert_eq!(memory.dcbz(0, CACHED, 10, &mut account), Ok(22));
    memory.store(0x1000, CACHED, 1000, &mut account);
    assert_eq!(memory.dcbf(0x1000, 0, 1001, &mut account), 0);
    // The write follows: asked for at 1032, a clock to request, 3 and 3 for its beats, and the turnaround.
    assert_eq!(memory.uncore.bus.free_at(), 1032 + 2 * 8);
    assert_eq!(memory.drain(1001), 1032 + 2 * 7 - 1001);
}

#[test]
fn a_604_broadcasts_and_a_750_when_it_is_told_to() {
    use Transaction::{DataBlock, InstructionBlock, OrderedAccess, Sync, TlbInvalidate, TlbSync};
    const ALL: [Transaction; 6] = [
        Sync,
        OrderedAccess,
        DataBlock,
        InstructionBlock,
        TlbInvalidate,
        TlbSync,
    ];
    let broadcast = |core, value| {
        let mut timing = unit();
        timing.broadcast = core;
        timing.store_queue = 4;
        ALL.map(|transaction| {
            let (mut memory, mut account) = (memory(None, bus(), timing), account());
            hid0::write(&mut memory, value);
            let stall = memory.broadcast(transaction, 0, &mut account);
            (account.counters.plain(Plain::BusAddress), stall)
        })
    };
    // A clock to request and three of its own; sync alone waits.
    let nothing = [(0, 0); 6];
    assert_eq!(broadcast(Broadcast::Never, hid0::ABE), nothing);
    assert_eq!(
        broadcast(Broadcast::Always, 0),
        [(1, 8), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]
    );
    assert_eq!(broadcast(Broadcast::Enabled, 0), nothing);
    assert_eq!(
        broadcast(Broadcast::Enabled, hid0::ABE),
        [(1, 8), (1, 0), (1, 0), (0, 0), (0, 0), (0, 0)]
    );
}

#[test]
fn a_cache_instruction_is_broadcast_for_coherent_memory() {
    let mut timing = unit();
    timing.broadcast = Broadcast::Always;
    timing.store_queue = 4;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    let sent = |account: &Account| account.counters.plain(Plain::BusAddress);
    memory.dcbst(0, 0, 0, &mut account);
    memory.icbi(0, 0, 0, &mut account);
    assert_eq!(sent(&account), 0);
    memory.dcbst(0, CACHED, 0, &mut account);
    memory.dcbf(0, CACHED, 0, &mut account);
    memory.dcbi(0, CACHED, 0, &mut account);
    memory.icbi(0, CACHED, 0, &mut account);
    memory.dcbz(0, CACHED, 0, &mut account).expect("cached");
    assert_eq!(sent(&account), 5);
    // A line that is held needs no kill; one that is written back needs no clean.
    memory.dcbz(0, CACHED, 0, &mut account).expect("cached");
    memory.dcbst(0, CACHED, 0, &mut account);
    assert_eq!(sent(&account), 5);
    assert_eq!(account.counters.plain(Plain::BusWrite), 1);
}

#[test]
fn a_750_broadcasts_data_cache_instructions_whatever_the_memory_is() {
    let mut timing = unit();
    timing.broadcast = Broadcast::Enabled;
    timing.store_queue = 4;
    let (mut memory, mut account) = (memory(None, bus(), timing), account());
    let sent = |account: &Account| account.counters.plain(Plain::BusAddress);
    memory.dcbst(0, 0, 0, &mut account);
    assert_eq!(sent(&account), 0);
    hid0::write(&mut memory, hid0::ABE);
    memory.dcbst(0, 0, 0, &mut account);
    memory.dcbf(0, 0, 0, &mut account);
    memory.dcbi(0, 0, 0, &mut account);
    assert_eq!(sent(&account), 3);
    memory.icbi(0, CACHED, 0, &mut account);
    assert_eq!(sent(&account), 3);
}
