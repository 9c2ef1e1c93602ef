//! Caches against plain models, known strides with exact miss counts, and cache instructions.

use crate::common;
use crate::common::{account, bus, l1, memory, plain_memory, unit};
use pagewalk_machine::account::{Account, Array, Cause, CauseNames, Event, Plain};
use pagewalk_machine::memory::cache::{DIRTY, VALID};
use pagewalk_machine::memory::{Cache, CacheGeometry, L2Timing, Memory, Replacement, attribute};
use pagewalk_machine::powerpc::hid0;
use proptest::prelude::*;

const CACHED: u8 = attribute::COHERENT;
const THROUGH: u8 = attribute::WRITE_THROUGH | attribute::COHERENT;
const INHIBITED: u8 = attribute::INHIBITED;

/// One line of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line {
    address: u32,
    dirty: bool,
}

/// A set of the model: ways with their lines, and who is next.
#[derive(Clone)]
struct Set {
    ways: Vec<Option<Line>>,
    last_use: Vec<u64>,
    /// Which half was used last, for each node of the tree, by (first way, number of ways) of the node.
    halves: std::collections::BTreeMap<(usize, usize), usize>,
}

struct Model {
    sets: Vec<Set>,
    geometry: CacheGeometry,
    time: u64,
}

impl Model {
    fn new(geometry: CacheGeometry) -> Self {
        let ways = geometry.ways as usize;
        let set = Set {
            ways: vec![None; ways],
            last_use: vec![0; ways],
            halves: Default::default(),
        };
        Self {
            sets: vec![set; (geometry.size / geometry.line / geometry.ways) as usize],
            geometry,
            time: 0,
        }
    }

    fn set(&mut self, address: u32) -> &mut Set {
        let count = self.sets.len();
        &mut self.sets[(address / self.geometry.line) as usize % count]
    }

    fn access(&mut self, address: u32, dirty: bool) -> bool {
        self.time += 1;
        let (time, line) = (self.time, address / self.geometry.line * self.geometry.line);
        let set = self.set(address);
        let Some(way) =
            (0..set.ways.len()).find(|&w| set.ways[w].is_some_and(|l| l.address == line))
        else {
            return false;
        };
        if let Some(line) = &mut set.ways[way] {
            line.dirty |= dirty;
        }
        set.touch(way, time);
        true
    }

    fn fill(&mut self, address: u32, dirty: bool) -> Option<Line> {
        let (time, line) = (self.time, address / self.geometry.line * self.geometry.line);
        let replacement = self.geometry.replacement;
        let set = self.set(address);
        let free = set.ways.iter().position(Option::is_none);
        let way = free.unwrap_or_else(|| match replacement {
            Replacement::Lru => (0..set.ways.len())
                .min_by_key(|&w| set.last_use[w])
                .expect("ways"),
            Replacement::PseudoLru => set.plru(0, set.ways.len()),
            Replacement::Random => unreachable!("no shape has it"),
        });
        let old = set.ways[way].replace(Line {
            address: line,
            dirty,
        });
        set.touch(way, time);
        old
    }

    fn invalidate(&mut self, address: u32) {
        let line = address / self.geometry.line * self.geometry.line;
        for way in &mut self.set(address).ways {
            if way.is_some_and(|l| l.address == line) {
                *way = None;
            }
        }
    }
}

impl Set {
    fn touch(&mut self, way: usize, time: u64) {
        self.last_use[way] = time;
        let (mut first, mut count) = (0, self.ways.len());
        while count > 1 {
            let half = usize::from(way >= first + count / 2);
            self.halves.insert((first, count), half);
            first += half * count / 2;
            count /= 2;
        }
    }

    /// The pseudo-LRU way among `count` ways from `first`: always into the half not used last.
    fn plru(&self, first: usize, count: usize) -> usize {
        if count == 1 {
            return first;
        }
        let half = 1 - self.halves.get(&(first, count)).copied().unwrap_or(1);
        self.plru(first + half * count / 2, count / 2)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Access(u32, bool),
    Invalidate(u32),
    Clean(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let address = (0u32..128).prop_map(|n| n * 16);
    prop_oneof![
        12 => (address.clone(), any::<bool>()).prop_map(|(a, d)| Step::Access(a, d)),
        1 => address.clone().prop_map(Step::Invalidate),
        1 => address.prop_map(Step::Clean),
    ]
}

fn shape() -> impl Strategy<Value = CacheGeometry> {
    (
        0u32..4,
        0u32..4,
        prop_oneof![Just(16u32), Just(32)],
        any::<bool>(),
    )
        .prop_map(|(sets, ways, line, plru)| CacheGeometry {
            size: (1 << sets) * (1 << ways) * line,
            ways: 1 << ways,
            line,
            replacement: if plru {
                Replacement::PseudoLru
            } else {
                Replacement::Lru
            },
        })
}

/// Which lines go when a set of four is filled again and again.
/// The number of a cause that every guest has.
fn cause(name: &str) -> Cause {
    CauseNames::default().find(name).unwrap()
}

#[test]
fn a_random_victim_is_any_way_and_the_same_in_each_run() {
    let run = || {
        let mut cache = Cache::new(CacheGeometry {
            size: 256,
            ways: 4,
            line: 64,
            replacement: Replacement::Random,
        })
        .expect("valid");
        let lines = (0..404_u32).map(|n| n * 64);
        let gone = lines.filter_map(|pa| cache.fill(pa, false));
        gone.map(|out| out.pa / 64).collect::<Vec<_>>()
    };
    let gone = run();
    assert_eq!(gone, run());
    assert_eq!(gone.len(), 400);
    // The line before is as likely to go as each of the others.
    let newest = (4..).zip(&gone).filter(|&(n, &line)| line + 1 == n).count();
    assert!((60..140).contains(&newest), "{newest}");
}

/// Does the cache, if it is enabled, find the line of `pa` by the tag word of its set's most recent line?
fn most_recent(cache: &Cache, pa: u32) -> bool {
    cache.enabled() && cache.mru(pa) & !DIRTY == cache.line_address(pa) | VALID
}

proptest! {
    #![proptest_config(common::cases())]

    #[test]
    fn a_cache_holds_what_the_plain_model_holds(
        geometry in shape(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut cache = Cache::new(geometry).expect("valid");
        let mut model = Model::new(geometry);
        for step in steps {
            match step {
                Step::Access(address, dirty) => {
                    let hit = cache.access(address, dirty);
                    prop_assert_eq!(hit, model.access(address, dirty));
                    if !hit {
                        let mine = cache.fill(address, dirty).map(|out| (out.pa, out.dirty));
                        let theirs = model.fill(address, dirty).map(|out| (out.address, out.dirty));
                        prop_assert_eq!(mine, theirs);
                    }
                }
                Step::Invalidate(address) => {
                    cache.invalidate(address);
                    model.invalidate(address);
                }
                Step::Clean(address) => {
                    cache.clean(address);
                    let line = address / geometry.line * geometry.line;
                    for held in model.set(address).ways.iter_mut().flatten() {
                        held.dirty &= held.address != line;
                    }
                }
            }
            let mut mine: Vec<_> = cache.lines().collect();
            let mut theirs: Vec<_> = model.sets.iter().enumerate().flat_map(|(set, s)| {
                s.ways.iter().enumerate().filter_map(move |(way, line)| {
                    line.map(|l| (set as u32, way as u8, l.address, l.dirty))
                })
            }).collect();
            mine.sort_unstable();
            theirs.sort_unstable();
            if geometry.replacement == Replacement::PseudoLru {
                prop_assert_eq!(mine, theirs);
            } else {
                let strip = |v: Vec<(u32, u8, u32, bool)>| {
                    let mut v: Vec<_> = v.into_iter().map(|(s, _, a, d)| (s, a, d)).collect();
                    v.sort_unstable();
                    v
                };
                prop_assert_eq!(strip(mine), strip(theirs));
            }
        }
    }

    /// Touching element 0 of a set again changes nothing at all: what fast paths rest on.
    #[test]
    fn touching_the_most_recent_line_changes_nothing(
        geometry in shape(),
        addresses in prop::collection::vec((0u32..4096, any::<bool>()), 1..100),
    ) {
        let mut cache = Cache::new(geometry).expect("valid");
        cache.set_enabled(true);
        let state = |cache: &Cache| serde_json::to_string(cache).expect("serializes");
        for (address, dirty) in addresses {
            if !cache.access(address, dirty) {
                cache.fill(address, dirty);
            }
            prop_assert!(most_recent(&cache, address));
            let before = state(&cache);
            prop_assert!(cache.access(address, false));
            prop_assert_eq!(state(&cache), before.clone());
            if cache.is_dirty(address) {
                prop_assert!(cache.access(address, true));
                prop_assert_eq!(state(&cache), before);
            }
        }
    }
}

/// A watched line is a line like any other, but not to a fast path; the mark goes with the line.
#[test]
fn a_watched_line_is_found_by_look_up_alone() {
    let geometry = CacheGeometry {
        size: 128,
        ways: 2,
        line: 32,
        replacement: Replacement::Lru,
    };
    let mut cache = Cache::new(geometry).expect("valid");
    cache.set_enabled(true);
    cache.watch(0x40);
    assert_eq!(cache.lines().count(), 0, "what is not held is not watched");
    cache.fill(0x40, false);
    cache.fill(0x80, true);
    cache.watch(0x44);
    cache.watch(0x84);
    assert!(cache.access(0x40, false) && !most_recent(&cache, 0x40));
    assert!(cache.find(0x80).is_some() && cache.is_dirty(0x80));
    let held: Vec<_> = cache.lines().collect();
    assert_eq!(held, [(0, 0, 0x40, false), (0, 1, 0x80, true)]);
    let out = cache.fill(0xc0, false).expect("two ways are full");
    assert_eq!((out.pa, out.dirty), (0x80, true));
    cache.invalidate(0x40);
    cache.fill(0x40, false);
    assert!(most_recent(&cache, 0x40), "the line was filled anew");
}

fn loads(memory: &mut Memory, account: &mut Account, addresses: impl Iterator<Item = u32>) -> u64 {
    let before = account.counters.total(Event::DataCacheMiss);
    for pa in addresses {
        memory.load(pa, CACHED, 0, account);
    }
    account.counters.total(Event::DataCacheMiss) - before
}

#[test]
fn strides_miss_exactly_as_the_shape_says() {
    // 16 KB, 4 ways, 128 sets of 32-byte lines: a stride of 4 KB stays in one set.
    for (count, stride, again) in [
        (512, 32, 0),  // all of it fits exactly
        (516, 32, 20), // four sets hold 5 lines: LRU misses on each
        (4, 4096, 0),  // one set, full
        (5, 4096, 5),  // one set, one too many
        (128, 128, 0), // every fourth set, 4 lines each
        (160, 128, 160),
    ] {
        let (mut memory, mut account) = (plain_memory(), account());
        let walk = || (0..count).map(move |n| n * stride);
        assert_eq!(loads(&mut memory, &mut account, walk()), u64::from(count));
        for _ in 0..2 {
            assert_eq!(
                loads(&mut memory, &mut account, walk()),
                again,
                "{count} x {stride}"
            );
        }
    }
}

#[test]
fn evicted_modified_lines_are_written_and_clean_ones_are_not() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.store(0, CACHED, 0, &mut account);
    for n in 1..4 {
        memory.load(n * 4096, CACHED, 0, &mut account);
    }
    let writes = |account: &Account| account.counters.plain(Plain::BusWrite);
    assert_eq!(writes(&account), 0);
    memory.load(4 * 4096, CACHED, 0, &mut account);
    assert_eq!(writes(&account), 1);
    memory.load(5 * 4096, CACHED, 0, &mut account);
    assert_eq!(writes(&account), 1);
    assert_eq!(account.counters.total(Event::DataCacheWriteback), 1);
}

#[test]
fn write_through_stores_go_to_the_bus_and_do_not_allocate() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.store(0x100, THROUGH, 0, &mut account);
    assert!(memory.data.find(0x100).is_none());
    assert_eq!(account.counters.plain(Plain::BusWrite), 1);
    memory.load(0x100, THROUGH, 0, &mut account);
    memory.store(0x100, THROUGH, 0, &mut account);
    assert!(!memory.data.is_dirty(0x100));
    assert_eq!(account.counters.plain(Plain::BusWrite), 2);
    // A modified line met by a write-through store is pushed first.
    memory.store(0x200, CACHED, 0, &mut account);
    memory.store(0x200, THROUGH, 0, &mut account);
    assert!(memory.data.find(0x200).is_some() && !memory.data.is_dirty(0x200));
    assert_eq!(account.counters.plain(Plain::BusWrite), 4);
}

#[test]
fn inhibited_accesses_go_past_the_cache_and_purge_an_alias() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.load(0x100, INHIBITED, 0, &mut account);
    assert_eq!(memory.data.lines().count(), 0);
    memory.store(0x100, CACHED, 0, &mut account);
    memory.load(0x104, INHIBITED, 0, &mut account);
    assert!(memory.data.find(0x100).is_none());
    assert_eq!(account.counters.total(Event::DataCacheWriteback), 1);
    assert_eq!(account.counters.total(Event::DataCacheInhibited), 2);
    assert_eq!(account.counters.total(Event::DataCacheMiss), 1);
}

#[test]
fn a_locked_cache_serves_hits_and_fills_nothing() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.load(0x100, CACHED, 0, &mut account);
    hid0::write(&mut memory, hid0::ICE | hid0::DCE | hid0::DLOCK);
    assert_eq!(memory.load(0x100, CACHED, 100, &mut account), 0);
    memory.load(0x2000, CACHED, 0, &mut account);
    memory.store(0x3000, CACHED, 0, &mut account);
    assert_eq!(memory.data.lines().count(), 1);
    assert!(memory.dcbz(0x4000, CACHED, 0, &mut account).is_err());
    hid0::write(&mut memory, hid0::ICE | hid0::DCE);
    memory.load(0x2000, CACHED, 0, &mut account);
    assert_eq!(memory.data.lines().count(), 2);
}

#[test]
fn a_disabled_cache_keeps_its_lines_unseen_and_flash_invalidation_empties_it() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.load(0x100, CACHED, 0, &mut account);
    memory.fetch(0x100, 0, 0, &mut account);
    assert!(
        !most_recent(&memory.data, 0x100),
        "some of it is still to come"
    );
    assert_eq!(memory.load(0x100, CACHED, 100, &mut account), 0);
    assert_eq!(memory.fetch(0x100, 0, 100, &mut account), 0);
    assert!(most_recent(&memory.data, 0x100) && most_recent(&memory.instruction, 0x100));
    hid0::write(&mut memory, 0);
    assert!(!most_recent(&memory.data, 0x100) && !most_recent(&memory.instruction, 0x100));
    assert!(memory.load(0x100, CACHED, 0, &mut account) > 0);
    assert!(memory.fetch(0x100, 0, 0, &mut account) > 0);
    hid0::write(&mut memory, hid0::ICE | hid0::DCE);
    assert_eq!(memory.load(0x100, CACHED, 0, &mut account), 0);
    hid0::write(&mut memory, hid0::ICE | hid0::DCE | hid0::ICFI | hid0::DCFI);
    assert_eq!(
        memory.data.lines().count() + memory.instruction.lines().count(),
        0
    );
}

#[test]
fn cache_instructions_do_what_the_manual_says() {
    let (mut memory, mut account) = (plain_memory(), account());
    let writes = |account: &Account| account.counters.plain(Plain::BusWrite);
    memory.uncore.ram.write_u32(0x11c, 0xdead_beef);
    assert_eq!(memory.dcbz(0x104, CACHED, 0, &mut account), Ok(0));
    assert_eq!(memory.uncore.ram.read_u32(0x11c), Some(0));
    assert!(memory.data.is_dirty(0x100));
    assert_eq!(
        account.counters.plain(Plain::BusRead),
        0,
        "dcbz reads nothing"
    );
    memory.dcbst(0x100, 0, 0, &mut account);
    assert!(memory.data.find(0x100).is_some() && !memory.data.is_dirty(0x100));
    assert_eq!(writes(&account), 1);
    memory.dcbst(0x100, 0, 0, &mut account);
    assert_eq!(writes(&account), 1, "a clean line is not written");
    memory.store(0x100, CACHED, 0, &mut account);
    memory.dcbf(0x100, 0, 0, &mut account);
    assert!(memory.data.find(0x100).is_none());
    assert_eq!(writes(&account), 2);
    memory.store(0x100, CACHED, 0, &mut account);
    memory.dcbi(0x100, 0, 0, &mut account);
    assert!(memory.data.find(0x100).is_none());
    assert_eq!(writes(&account), 2, "dcbi writes nothing");
    for attributes in [THROUGH, INHIBITED] {
        assert!(memory.dcbz(0x100, attributes, 0, &mut account).is_err());
        memory.dcbt(0x100, attributes, 0, &mut account);
        assert!(memory.data.find(0x100).is_none());
    }
    memory.dcbt(0x100, CACHED, 1000, &mut account);
    assert_eq!(memory.load(0x100, CACHED, 2000, &mut account), 0);
    assert!(memory.data.find(0x100).is_some());
}

#[test]
fn icbi_takes_the_line_or_on_the_603_the_whole_set() {
    for (whole, left) in [(false, 3), (true, 0)] {
        let mut timing = unit();
        timing.icbi_whole_set = whole;
        let (mut memory, mut account) = (memory(None, bus(), timing), account());
        for n in 0..4 {
            memory.fetch(n * 4096, 0, 0, &mut account);
        }
        memory.icbi(4096, 0, 0, &mut account);
        assert_eq!(memory.instruction.lines().count(), left);
    }
}

#[test]
fn a_fetch_of_a_line_that_the_data_cache_holds_modified_is_counted() {
    let (mut memory, mut account) = (plain_memory(), account());
    memory.store(0x100, CACHED, 0, &mut account);
    memory.fetch(0x100, 0, 0, &mut account);
    assert_eq!(account.counters.total(Event::InstructionCacheStale), 1);
    memory.store(0x200, CACHED, 0, &mut account);
    memory.dcbst(0x200, 0, 0, &mut account);
    memory.icbi(0x200, 0, 0, &mut account);
    memory.fetch(0x200, 0, 0, &mut account);
    assert_eq!(account.counters.total(Event::InstructionCacheStale), 1);
}

#[test]
fn an_l2_serves_what_the_l1_lost_and_takes_its_modified_lines() {
    let shape = CacheGeometry {
        size: 65536,
        ways: 2,
        ..l1()
    };
    let timing = L2Timing::Backside {
        hit: 6,
        miss: 5,
        beat: 1,
    };
    let (mut memory, mut account) = (memory(Some((shape, timing)), bus(), unit()), account());
    memory.store(0, CACHED, 0, &mut account);
    for n in 1..5 {
        memory.load(n * 4096, CACHED, 1000 * u64::from(n), &mut account);
    }
    assert_eq!(
        account.counters.plain(Plain::BusWrite),
        0,
        "the L2 took the modified line"
    );
    assert_eq!(memory.load(0, CACHED, 10_000, &mut account), 6);
    assert_eq!(account.counters.total(Event::L2Access), 6);
    assert_eq!(account.counters.total(Event::L2Miss), 5);
    memory.dcbf(0, 0, 20_000, &mut account);
    assert_eq!(account.counters.plain(Plain::BusWrite), 1);
}

#[test]
fn a_look_aside_l2_answers_in_place_of_memory() {
    let shape = CacheGeometry {
        size: 65536,
        ways: 1,
        ..l1()
    };
    let timing = L2Timing::LookAside {
        first: 2,
        next: 1,
        beside: None,
    };
    let (mut memory, mut account) = (memory(Some((shape, timing)), bus(), unit()), account());
    // 2:1, a clock to request, then memory's 6-3-3-3: it loses nothing by the L2's look-up.
    assert_eq!(memory.load(0, CACHED, 0, &mut account), 14);
    memory.data.invalidate_all();
    // Or the L2's 2-1-1-1, on the same bus.
    assert_eq!(memory.load(0, CACHED, 1000, &mut account), 6);
    assert_eq!(memory.uncore.bus.free_at(), 1000 + 2 * (1 + 2 + 3 + 1));
    assert_eq!(memory.load(24, CACHED, 1006, &mut account), 6);
    assert_eq!(account.counters.total(Event::L2Access), 2);
    assert_eq!(account.counters.total(Event::L2Miss), 1);
}

#[test]
fn the_pollution_matrix_names_who_evicted_what_another_missed() {
    let (mut memory, mut account) = (plain_memory(), account());
    account.cause = cause("fault");
    memory.load(0, CACHED, 0, &mut account);
    account.cause = cause("idle");
    for n in 1..5 {
        memory.load(n * 4096, CACHED, 0, &mut account);
    }
    account.cause = cause("fault");
    memory.load(0, CACHED, 0, &mut account);
    let matrix = &account.counters.pollution[Array::DataCache as usize];
    assert_eq!(matrix[cause("idle").index()][cause("fault").index()], 1);
    assert_eq!(matrix.iter().flatten().sum::<u64>(), 1);
    assert_eq!(
        account.counters.get("pollution.cache.data.idle.fault"),
        Some(1)
    );
}

#[test]
fn shapes_that_hardware_cannot_have_are_refused() {
    let good = l1();
    for bad in [
        CacheGeometry { line: 24, ..good },
        CacheGeometry { line: 8, ..good },
        CacheGeometry { ways: 0, ..good },
        CacheGeometry {
            size: 12_288,
            ..good
        },
        CacheGeometry { size: 0, ..good },
        CacheGeometry {
            ways: 3,
            size: 12_288,
            ..good
        },
        CacheGeometry {
            ways: 64,
            size: 1024,
            ..good
        },
    ] {
        assert!(Cache::new(bad).is_err(), "{bad:?}");
    }
}
