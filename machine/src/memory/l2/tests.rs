//! An L2 and an L3 behind it against a plain model of their lines.

use super::*;
use crate::config::Replacement;
use crate::memory::parts::tests::{account, timing};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn shape(lines: u32, ways: u32) -> CacheGeometry {
    CacheGeometry {
        size: 32 * lines,
        ways,
        line: 32,
        replacement: Replacement::Lru,
    }
}

/// A level: the lines of each set, the one used last first, and whether they are modified.
struct Lines {
    sets: BTreeMap<u32, Vec<(u32, bool)>>,
    count: u32,
    ways: usize,
    /// Nothing in it is modified.
    through: bool,
    /// A line that is written to it and not there gets a place.
    allocates_writes: bool,
    misses: u64,
    written: u64,
}

impl Lines {
    fn new(lines: u32, ways: u32, (through, allocates_writes): (bool, bool)) -> Self {
        Lines {
            sets: BTreeMap::new(),
            count: lines / ways,
            ways: ways as usize,
            through,
            allocates_writes,
            misses: 0,
            written: 0,
        }
    }

    fn used(&mut self, line: u32, modify: bool) -> bool {
        let set = self.sets.entry(line % self.count).or_default();
        let Some(at) = set.iter().position(|&(there, _)| there == line) else {
            return false;
        };
        let (_, modified) = set.remove(at);
        set.insert(0, (line, modified || modify));
        true
    }

    /// Gives a line a place; returns a modified one that had it.
    fn put(&mut self, line: u32, modified: bool) -> Option<u32> {
        let set = self.sets.entry(line % self.count).or_default();
        set.insert(0, (line, modified));
        let out = if set.len() > self.ways {
            set.pop()
        } else {
            None
        };
        let out = out.filter(|&(_, modified)| modified).map(|(line, _)| line);
        self.written += u64::from(out.is_some());
        out
    }
}

/// A read goes to the first level that has the line, and gives it a place in those before; what is modified and loses
/// its place is written to the next one.
fn read(levels: &mut [Lines], line: u32) {
    let [level, behind @ ..] = levels else { return };
    if level.used(line, false) {
        return;
    }
    level.misses += 1;
    read(behind, line);
    if let Some(out) = level.put(line, false) {
        write(behind, out);
    }
}

fn write(levels: &mut [Lines], line: u32) {
    let [level, behind @ ..] = levels else { return };
    let modify = !level.through;
    if level.used(line, modify) || !level.allocates_writes {
        return;
    }
    if let Some(out) = level.put(line, modify) {
        write(behind, out);
    }
}

/// The places that a level can have: the times are not looked at, but that what is farther takes longer.
fn place(number: u32, beside: Beside) -> L2Timing {
    match number {
        0 => L2Timing::Backside {
            hit: 6,
            miss: 4,
            beat: 1,
        },
        1 => L2Timing::InLine {
            hit: 6,
            miss: 4,
            beat: 1,
        },
        _ => L2Timing::LookAside {
            first: 3,
            next: 1,
            beside: Some(beside),
        },
    }
}

proptest! {
    #[test]
    fn three_levels_hold_what_the_model_holds(
        (second, third) in (0u32..2, 0u32..3),
        (ways, third_ways) in (0u32..3, 0u32..3),
        (through, allocates_writes, copy_back, depth) in (any::<bool>(), any::<bool>(), 0u32..3, 1u32..4),
        steps in prop::collection::vec((any::<bool>(), 0u32..100, 0u64..100), 1..400),
    ) {
        let beside = Beside { look_up: 2, through, allocates_writes };
        let mut pace = timing(1, false);
        pace.depth = depth;
        if let crate::memory::MemoryPace::Parts(parts) = &mut pace.memory {
            parts.copy_back = copy_back;
        }
        let mut l2 = L2::new(shape(16, 1 << ways), place(second, beside), &pace).expect("a shape");
        l2.cache.set_enabled(true);
        let mut bus = Bus::new(pace);
        let l3 = L2::third(shape(32, 1 << third_ways), place(third, beside), &pace).expect("a shape");
        bus.stand_before_memory(l3);
        let fresh = bus.clone();
        let (keeps, alone) = ((false, true), (through, allocates_writes));
        let mut model = [
            Lines::new(16, 1 << ways, keeps),
            Lines::new(32, 1 << third_ways, if third == 2 { alone } else { keeps }),
        ];
        let (mut now, mut account) = (0, account());
        for (writes, line, gap) in steps {
            now += gap;
            if writes {
                write(&mut model, line);
                l2.write_line(32 * line, now, &mut bus, Cause::USER, &mut account);
            } else {
                read(&mut model, line);
                let came = l2.read_line(32 * line, now, &mut bus, Cause::USER, &mut account);
                prop_assert!(came.critical() >= now + 6);
            }
            let third = bus.third().expect("an L3");
            for (level, held) in model.iter().zip([&l2.cache, &third.cache]) {
                let all: BTreeMap<u32, bool> = level.sets.values().flatten().copied().collect();
                for line in 0..100 {
                    let there = held.find(32 * line).map(|_| held.is_dirty(32 * line));
                    prop_assert_eq!(there, all.get(&line).copied(), "line {}", line);
                }
            }
            prop_assert!(bus.fits(&fresh, 1 << 20));
        }
        let [second, third] = &model;
        let counted = |event| account.counters.total(event);
        prop_assert_eq!(counted(Event::L2Miss), second.misses);
        prop_assert_eq!(counted(Event::L2Writeback), second.written);
        let plain = |event| account.counters.plain(event);
        prop_assert_eq!(plain(Plain::L3Access), second.misses);
        prop_assert_eq!(plain(Plain::L3Miss), third.misses);
        prop_assert_eq!(plain(Plain::L3Writeback), third.written);
    }
}

/// What each level answers in, on a bus of one core cycle a clock.
#[test]
fn the_first_level_that_has_a_line_answers() {
    let beside = Beside {
        look_up: 2,
        through: false,
        allocates_writes: true,
    };
    let mut l2 = L2::new(shape(16, 1), place(1, beside), &timing(0, false)).expect("a shape");
    let (mut bus, mut account) = (Bus::new(timing(0, false)), account());
    bus.stand_before_memory(
        L2::third(shape(32, 1), place(2, beside), &timing(0, false)).expect("a shape"),
    );
    let mut first_beat = |line: u32, now: u64| {
        let came = l2.read_line(32 * line, now, &mut bus, Cause::USER, &mut account);
        came.critical() - now
    };
    // Behind the L2's look-up of 4 and a clock of the request: the L3's look-up of 2, then the parts' 3 and 5.
    assert_eq!(first_beat(0, 0), 4 + 1 + 2 + 3 + 5);
    assert_eq!(first_beat(0, 100), 6);
    // Line 16 takes its place in the L2, not in the L3.
    assert_eq!(first_beat(16, 200), 4 + 1 + 2 + 3 + 5);
    assert_eq!(first_beat(0, 300), 4 + 1 + 3);
}
