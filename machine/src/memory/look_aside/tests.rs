//! A look-aside L2 against a plain model of its lines, and its transfers clock by clock.

use super::*;
use crate::account::Event;
use crate::config::Replacement;
use crate::memory::CacheGeometry;
use crate::memory::parts::tests::{account, timing};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn l2(size: u32, ways: u32, beside: Beside) -> L2 {
    let shape = CacheGeometry {
        size,
        ways,
        line: 32,
        replacement: Replacement::Lru,
    };
    let timing = L2Timing::LookAside {
        first: 3,
        next: 2,
        beside: Some(beside),
    };
    L2::new(shape, timing, &self::timing(0, false)).expect("a valid shape")
}

const BACK: Beside = Beside {
    look_up: 2,
    through: false,
    allocates_writes: true,
};

/// The lines of each set, the one used last first, and whether they are modified.
struct Model {
    sets: BTreeMap<u32, Vec<(u32, bool)>>,
    count: u32,
    ways: usize,
    beside: Beside,
    misses: u64,
    written: u64,
}

impl Model {
    /// Looks for a line; one that is there has been used last from now on.
    fn used(&mut self, line: u32, modify: bool) -> bool {
        let set = self.sets.entry(line / 32 % self.count).or_default();
        let Some(at) = set.iter().position(|&(there, _)| there == line) else {
            return false;
        };
        let (_, modified) = set.remove(at);
        set.insert(0, (line, modified || modify));
        true
    }

    fn put(&mut self, line: u32, modified: bool) {
        let set = self.sets.entry(line / 32 % self.count).or_default();
        set.insert(0, (line, modified));
        if set.len() > self.ways && set.pop().is_some_and(|(_, modified)| modified) {
            self.written += 1;
        }
    }

    fn read(&mut self, line: u32) {
        if !self.used(line, false) {
            self.misses += 1;
            self.put(line, false);
        }
    }

    fn cast_out(&mut self, line: u32) {
        let modify = !self.beside.through;
        if !self.used(line, modify) && self.beside.allocates_writes {
            self.put(line, modify);
        }
    }

    fn store(&mut self, line: u32) {
        self.used(line, !self.beside.through);
    }
}

proptest! {
    #[test]
    fn lines_are_where_the_model_has_them(
        (ways, through, allocates_writes) in (0u32..3, any::<bool>(), any::<bool>()),
        (copy_back, write_buffer, overlap, depth) in (0u32..3, 0u32..3, any::<bool>(), 1u32..4),
        steps in prop::collection::vec((0u32..3, 0u32..64, 0u64..40), 1..300),
    ) {
        let beside = Beside { look_up: 2, through, allocates_writes };
        let mut pace = timing(write_buffer, overlap);
        pace.depth = depth;
        if let crate::memory::MemoryPace::Parts(parts) = &mut pace.memory {
            parts.copy_back = copy_back;
        }
        let (mut l2, mut bus, mut account) = (l2(1024, 1 << ways, beside), Bus::new(pace), account());
        let mut model = Model {
            sets: BTreeMap::new(), count: 32 >> ways, ways: 1 << ways, beside,
            misses: 0, written: 0,
        };
        let (mut now, mut last) = (0, 0);
        let cause = Cause::USER;
        for (kind, line, gap) in steps {
            now += gap;
            let line = 32 * line;
            let (done, least) = match kind {
                0 => {
                    let there = l2.cache.find(line).is_some();
                    model.read(line);
                    let came = l2.read_line(line, now, &mut bus, cause, &mut account);
                    (came.complete(), if there { 1 + 3 + 6 } else { 1 + 2 + 3 + 5 + 9 })
                }
                1 => {
                    model.cast_out(line);
                    (l2.write_line(line, now, &mut bus, cause, &mut account), 4)
                }
                _ => {
                    model.store(line);
                    (l2.write_single::<false>(line, now, &mut bus, &mut account), 2)
                }
            };
            // Data comes in order, and never sooner than the bus and who answers can do it.
            prop_assert!(done > last && done >= now + least, "{kind} {line} at {now}: {done} after {last}");
            last = done;
            let modified = |(line, dirty): &(u32, bool)| (*line, *dirty);
            let all: BTreeMap<u32, bool> = model.sets.values().flatten().map(modified).collect();
            for line in (0..64).map(|number| 32 * number) {
                let held = l2.cache.find(line).map(|_| l2.cache.is_dirty(line));
                prop_assert_eq!(held, all.get(&line).copied());
            }
        }
        let counted = |event| account.counters.total(event);
        prop_assert_eq!(counted(Event::L2Miss), model.misses);
        prop_assert_eq!(counted(Event::L2Writeback), model.written);
    }
}

#[test]
fn memory_is_asked_when_the_look_up_is_over() {
    let (mut l2, mut bus, mut account) = (l2(1024, 1, BACK), Bus::new(timing(0, false)), account());
    // Address at 1, look-up until 3, row strobe at 6, first beat at 11.
    let line = l2.read_line(0, 0, &mut bus, Cause::USER, &mut account);
    assert_eq!((line.critical(), line.complete()), (11, 20));
    // A hit: address at 31, 3-2-2-2.
    let line = l2.read_line(0, 30, &mut bus, Cause::USER, &mut account);
    assert_eq!((line.critical(), line.complete()), (34, 40));
}

#[test]
fn what_the_l1_casts_out_takes_the_bus() {
    let (mut l2, mut bus, mut account) = (l2(1024, 1, BACK), Bus::new(timing(0, false)), account());
    // Address at 1, beats at 4, 6, 8, 10.
    assert_eq!(l2.write_line(0, 0, &mut bus, Cause::USER, &mut account), 10);
    // A read takes its place: address at 11; the modified line goes out from 11 + 2 + 2 on, by 21; memory is strobed at
    // 24, and its first beat comes at 29.
    let line = l2.read_line(1024, 10, &mut bus, Cause::USER, &mut account);
    assert_eq!(line.critical(), 29);
}

#[test]
fn a_write_through_l2_writes_to_memory() {
    let beside = Beside {
        through: true,
        ..BACK
    };
    let (mut l2, mut bus, mut account) =
        (l2(1024, 1, beside), Bus::new(timing(0, false)), account());
    // Address at 1, look-up until 3, row strobe at 5, last beat at 5 + 5 + 9.
    assert_eq!(l2.write_line(0, 0, &mut bus, Cause::USER, &mut account), 19);
    assert!(!l2.cache.is_dirty(0));
}

#[test]
fn what_a_write_through_l2_holds_is_written_at_the_pace_of_both() {
    let beside = Beside {
        through: true,
        allocates_writes: false,
        ..BACK
    };
    let mut bus = Bus::new(timing(1, false));
    let (mut l2, mut account) = (l2(1024, 1, beside), account());
    // A line that it does not hold: address at 1, look-up until 3, the write buffer takes a beat a clock from 5 on.
    assert_eq!(l2.write_line(0, 0, &mut bus, Cause::USER, &mut account), 8);
    l2.read_line(0, 100, &mut bus, Cause::USER, &mut account);
    // One that it holds: its RAMs take a beat every two clocks.
    let done = l2.write_line(0, 200, &mut bus, Cause::USER, &mut account);
    assert_eq!(done, 201 + 2 + 2 + 6);
    assert!(!l2.cache.is_dirty(0));
}
