//! The states of lines in several D-caches and own L2s, which evict them, against a small model.

use proptest::prelude::*;

use super::fixture::{Machine, PROCESSORS};
use super::*;
use crate::config::{MachineConfig, Override};
use crate::memory::attribute;
use Had::{Exclusive, Modified, Not, Shared};

const LINES: u32 = 9;
const M: u8 = attribute::COHERENT;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Load,
    Store,
    Reserve,
    Fetch,
    Touch,
    Zero,
    Flush,
    Clean,
    Kill,
    StoreThrough,
    StoreUncached,
    LoadUncached,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop_oneof![
        6 => Just(Load), 6 => Just(Store), 2 => Just(Reserve), 2 => Just(Fetch), 2 => Just(Touch),
        1 => Just(Zero), 1 => Just(Flush), 1 => Just(Clean), 1 => Just(Kill), 1 => Just(StoreThrough),
        1 => Just(StoreUncached), 1 => Just(LoadUncached),
    ]
}

/// What kind of machine it is.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The D-cache has no shared state.
    mei: bool,
    /// The L2 is in-line, and includes the D-cache; else it is back-side.
    inclusive: bool,
    /// Ways of the L2, which has four lines. The D-cache has two.
    ways: usize,
}

/// A cache: sets of lines, the one used last first.
#[derive(Clone, Debug)]
struct Lines {
    ways: usize,
    sets: Vec<Vec<(u32, Had)>>,
}

impl Lines {
    fn new(lines: usize, ways: usize) -> Self {
        Lines {
            ways,
            sets: vec![Vec::new(); lines / ways],
        }
    }

    fn set(&mut self, line: u32) -> &mut Vec<(u32, Had)> {
        let sets = self.sets.len();
        &mut self.sets[line as usize % sets]
    }

    fn state(&mut self, line: u32) -> Had {
        let mut found = self.set(line).iter().filter(|held| held.0 == line);
        found.next().map_or(Not, |held| held.1)
    }

    fn put(&mut self, line: u32, state: Had) {
        for held in self.set(line) {
            if held.0 == line {
                held.1 = state;
            }
        }
    }

    fn take(&mut self, line: u32) -> Had {
        let state = self.state(line);
        self.set(line).retain(|held| held.0 != line);
        state
    }

    /// Makes the line the one used last; returns its state.
    fn use_it(&mut self, line: u32) -> Had {
        let state = self.take(line);
        if state != Not {
            self.set(line).insert(0, (line, state));
        }
        state
    }

    /// Gives the line a place; returns the line that had it.
    fn fill(&mut self, line: u32, state: Had) -> Option<(u32, Had)> {
        let ways = self.ways;
        let set = self.set(line);
        set.insert(0, (line, state));
        if set.len() > ways { set.pop() } else { None }
    }
}

struct Model {
    kind: Kind,
    first: Vec<Lines>,
    second: Vec<Lines>,
    reserved: [Option<u32>; PROCESSORS],
}

impl Model {
    fn others(me: usize) -> impl Iterator<Item = usize> {
        (0..PROCESSORS).filter(move |&other| other != me)
    }

    fn invalidate(&mut self, me: usize, line: u32) {
        for other in Self::others(me) {
            self.first[other].take(line);
            self.second[other].take(line);
        }
    }

    fn take(&mut self, me: usize, line: u32) {
        self.invalidate(me, line);
        for other in Self::others(me) {
            self.reserved[other] = self.reserved[other].filter(|&reserved| reserved != line);
        }
    }

    fn read(&mut self, me: usize, line: u32) -> bool {
        let mut kept = Self::others(me).any(|other| self.reserved[other] == Some(line));
        if self.kind.mei {
            self.invalidate(me, line);
            return kept;
        }
        for other in Self::others(me) {
            for cache in [&mut self.first[other], &mut self.second[other]] {
                kept |= cache.state(line) != Not;
                cache.put(line, Shared);
            }
        }
        kept
    }

    fn place_second(&mut self, me: usize, line: u32, state: Had) {
        if let Some((out, _)) = self.second[me].fill(line, state)
            && self.kind.inclusive
        {
            self.first[me].take(out);
        }
    }

    fn cast_out(&mut self, me: usize, line: u32) {
        if self.second[me].use_it(line) == Not {
            self.place_second(me, line, Modified);
        }
        self.second[me].put(line, Modified);
    }

    fn place_first(&mut self, me: usize, line: u32, state: Had) {
        if let Some((out, Modified)) = self.first[me].fill(line, state) {
            self.cast_out(me, out);
        }
    }

    /// Through the L2; is the line shared?
    fn request(&mut self, me: usize, line: u32, own: bool, seen: bool) -> bool {
        let state = self.second[me].use_it(line);
        if state != Not {
            if state == Shared && own {
                self.take(me, line);
                self.second[me].put(line, Exclusive);
            }
            return state == Shared && !own;
        }
        let mut kept = false;
        if own {
            self.take(me, line);
        } else if seen {
            kept = self.read(me, line);
        }
        self.place_second(me, line, if kept { Shared } else { Exclusive });
        kept
    }

    fn load(&mut self, me: usize, line: u32) {
        if self.first[me].use_it(line) == Not {
            let shared = self.request(me, line, false, true);
            self.place_first(me, line, if shared { Shared } else { Exclusive });
        }
    }

    fn stored(&mut self, me: usize, line: u32, held: Had) {
        if held == Shared {
            self.take(me, line);
            if self.second[me].state(line) == Shared {
                self.second[me].put(line, Exclusive);
            }
        }
        self.first[me].put(line, Modified);
    }

    fn has(&mut self, who: usize, line: u32) -> bool {
        self.first[who].state(line) != Not
            || self.second[who].state(line) != Not
            || self.reserved[who] == Some(line)
    }

    fn step(&mut self, me: usize, line: u32, what: Operation) {
        match what {
            Operation::Load => self.load(me, line),
            Operation::Reserve => {
                self.load(me, line);
                self.reserved[me] = Some(line);
            }
            Operation::Store => match self.first[me].use_it(line) {
                Not => {
                    self.request(me, line, true, true);
                    self.place_first(me, line, Modified);
                }
                held => self.stored(me, line, held),
            },
            Operation::Fetch => {
                self.request(me, line, false, true);
            }
            Operation::Touch => {
                let elsewhere = Self::others(me).any(|other| self.has(other, line));
                if self.first[me].use_it(line) == Not
                    && !elsewhere
                    && self.second[me].state(line) != Shared
                {
                    self.request(me, line, false, false);
                    self.place_first(me, line, Exclusive);
                }
            }
            Operation::Zero => self.zero(me, line),
            Operation::Flush => {
                let levels = (self.first[me].take(line), self.second[me].take(line));
                if levels.0.max(levels.1) != Modified {
                    self.invalidate(me, line);
                }
            }
            Operation::Clean => {
                let levels = (self.first[me].state(line), self.second[me].state(line));
                let clean = levels.0.max(levels.1) != Modified;
                let all = 0..PROCESSORS;
                for who in all.filter(|&who| who == me || clean) {
                    for cache in [&mut self.first[who], &mut self.second[who]] {
                        if cache.state(line) == Modified {
                            cache.put(line, Exclusive);
                        }
                    }
                }
            }
            Operation::Kill | Operation::StoreUncached => {
                self.first[me].take(line);
                self.second[me].take(line);
                self.take(me, line);
            }
            Operation::StoreThrough => {
                if self.first[me].use_it(line) == Modified {
                    self.first[me].put(line, Exclusive);
                    self.cast_out(me, line);
                }
                self.take(me, line);
            }
            Operation::LoadUncached => {
                self.first[me].take(line);
                self.second[me].take(line);
                self.read(me, line);
            }
        }
    }

    fn zero(&mut self, me: usize, line: u32) {
        let held = self.first[me].use_it(line);
        if held != Not {
            return self.stored(me, line, held);
        }
        let second = self.second[me].state(line);
        if !(self.kind.inclusive && second >= Exclusive) {
            self.take(me, line);
        }
        if second == Shared {
            self.second[me].put(line, Exclusive);
        }
        if self.kind.inclusive && self.second[me].use_it(line) == Not {
            self.place_second(me, line, Exclusive);
        }
        self.place_first(me, line, Modified);
    }
}

/// Processors of this kind.
fn machine_of(kind: Kind) -> Machine {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../machines/ppc604-200x4-l2.toml"
    );
    let ways = format!("cache.l2.ways={}", kind.ways);
    let place = if kind.inclusive {
        "in-line"
    } else {
        "back-side"
    };
    let settings = [
        "cache.data.size=64",
        "cache.data.ways=2",
        "cache.l2.size=128",
        &ways,
    ];
    let settings = settings.map(|text| Override::parse(text).expect("a setting"));
    let mut config = MachineConfig::from_file(file.as_ref(), &settings).expect("a machine file");
    let l2 = config.cache.l2.as_mut().expect("an L2");
    l2.place = serde_json::from_value(place.into()).expect("a place");
    // Each access takes the same time, so that a wait is a sum that a reader can check.
    let memory = serde_json::json!({ "size": config.memory.size });
    config.memory = serde_json::from_value(memory).expect("a memory of constant time");
    let bus = &mut config.bus;
    (
        bus.read_first,
        bus.read_next,
        bus.write_first,
        bus.write_next,
    ) = (Some(5), Some(2), Some(3), Some(1));
    bus.depth = None;
    Machine::new(&config, kind.mei)
}

fn address(line: u32) -> u32 {
    0x4000 + 32 * line
}

impl Machine {
    /// Does it, and returns the cycles for which the processor waits.
    fn step(&mut self, me: usize, line: u32, what: Operation) -> u64 {
        self.select(me);
        let (now, pa) = (self.now, address(line));
        let (memory, account) = (&mut self.all[me], &mut self.account);
        let uncached = M | attribute::INHIBITED;
        let stall = match what {
            Operation::Load => memory.load(pa, M, now, account),
            Operation::Store => memory.store(pa, M, now, account),
            Operation::Reserve => {
                self.reservations[me] = Some(pa);
                memory.load(pa, M, now, account)
            }
            Operation::Fetch => {
                memory.instruction.invalidate(pa);
                memory.fetch(pa, attribute::REAL_FETCH, now, account)
            }
            Operation::Touch => {
                let stall = memory.dcbt(pa, M, now, account);
                memory.settle(now + 1000, account);
                stall
            }
            Operation::Zero => memory.dcbz(pa, M, now, account).expect("cached"),
            Operation::Flush => memory.dcbf(pa, M, now, account),
            Operation::Clean => memory.dcbst(pa, M, now, account),
            Operation::Kill => memory.dcbi(pa, M, now, account),
            Operation::StoreThrough => memory.store(pa, M | attribute::WRITE_THROUGH, now, account),
            Operation::StoreUncached => memory.store(pa, uncached, now, account),
            Operation::LoadUncached => memory.load(pa, uncached, now, account),
        };
        // At an edge of the bus.
        self.now = (now + stall + 2000).next_multiple_of(3);
        stall
    }

    /// How a processor's two levels hold a line.
    fn states(&self, number: usize, line: u32) -> [Had; 2] {
        let (memory, pa) = (&self.all[self.current], address(line));
        let uncore = &memory.uncore;
        let (data, l2) = if number == self.current {
            (&memory.data, &uncore.l2)
        } else {
            (&uncore.peers[number].data, &uncore.peers[number].l2)
        };
        [data, &l2.as_ref().expect("its own L2").cache].map(|cache| cache.held(pa))
    }

    fn reserved(&self, number: usize) -> Option<u32> {
        if number == self.current {
            self.reservations[number]
        } else {
            self.all[self.current].uncore.peers[number].reservation
        }
    }

    fn count(&self, event: Plain) -> u64 {
        self.account.counters.plain(event)
    }
}

/// What holds for every line, whatever the model says.
fn coherent(machine: &Machine, inclusive: bool, line: u32) -> Result<(), TestCaseError> {
    let all: Vec<[Had; 2]> = (0..PROCESSORS).map(|n| machine.states(n, line)).collect();
    for (number, &[first, second]) in all.iter().enumerate() {
        let held = first.max(second);
        for other in (0..PROCESSORS).filter(|&other| other != number) {
            let alone = all[other] == [Not; 2];
            prop_assert!(held < Exclusive || alone, "{line}: {all:?}");
            let reserved = machine.reserved(other) == Some(address(line));
            prop_assert!(held < Exclusive || !reserved, "{line} is reserved: {all:?}");
        }
        prop_assert!(
            !inclusive || first == Not || second != Not,
            "{line}: {all:?}"
        );
        prop_assert!(first < Exclusive || second != Shared, "{line}: {all:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// A million steps.
    #[test]
    fn two_levels_have_the_states_of_the_model(
        mei: bool,
        inclusive: bool,
        one_way: bool,
        steps in prop::collection::vec((0..PROCESSORS, 0..LINES, operation()), 1000),
    ) {
        let kind = Kind { mei, inclusive, ways: if one_way { 1 } else { 2 } };
        let mut machine = machine_of(kind);
        let mut model = Model {
            kind,
            first: vec![Lines::new(2, 2); PROCESSORS],
            second: vec![Lines::new(4, kind.ways); PROCESSORS],
            reserved: [None; PROCESSORS],
        };
        for (me, line, what) in steps {
            model.step(me, line, what);
            machine.step(me, line, what);
            for line in 0..LINES {
                for number in 0..PROCESSORS {
                    let states = [model.first[number].state(line), model.second[number].state(line)];
                    let held = machine.states(number, line);
                    prop_assert_eq!(held, states, "{:?} of {}: {} at {}", what, me, line, number);
                    let reserved = model.reserved[number].map(address);
                    prop_assert_eq!(machine.reserved(number), reserved);
                }
                coherent(&machine, inclusive, line)?;
            }
        }
    }
}

const IN_LINE: Kind = Kind {
    mei: false,
    inclusive: true,
    ways: 1,
};

/// Times of ppc604-200x4-l2, but for memory, which gives 5-2-2-2: three core cycles are a bus clock.
#[test]
fn a_line_of_the_own_l2_needs_no_bus() {
    let mut machine = machine_of(IN_LINE);
    // Nine cycles in the L2, a clock to request, five to the first beat, one back.
    assert_eq!(machine.step(0, 0, Operation::Load), 9 + 3 * (1 + 5 + 1));
    machine.step(0, 2, Operation::Load);
    let before = machine.count(Plain::BusCycles);
    machine.all[0].data.invalidate_all();
    assert_eq!(machine.step(0, 0, Operation::Load), 12);
    machine.all[0].data.invalidate_all();
    assert_eq!(machine.step(0, 0, Operation::Store), 0, "posted");
    assert_eq!(machine.states(0, 0), [Modified, Exclusive]);
    machine.all[0].data.invalidate_all();
    machine.step(0, 0, Operation::Zero);
    assert_eq!(machine.count(Plain::BusCycles), before);
    assert_eq!(machine.count(Plain::BusAddress), 0);
}

#[test]
fn a_line_that_leaves_an_in_line_l2_leaves_the_data_cache() {
    let mut machine = machine_of(IN_LINE);
    machine.step(0, 0, Operation::Store);
    machine.step(0, 4, Operation::Load);
    assert_eq!(machine.states(0, 0), [Not; 2]);
    assert_eq!(machine.count(Plain::BackInvalidated), 1);
    assert_eq!(
        machine.count(Plain::BusWrite),
        1,
        "with what the D-cache had"
    );
    let back_side = Kind {
        inclusive: false,
        ..IN_LINE
    };
    let mut machine = machine_of(back_side);
    machine.step(0, 0, Operation::Store);
    machine.step(0, 4, Operation::Load);
    assert_eq!(machine.states(0, 0), [Modified, Not]);
}

#[test]
fn a_touched_line_that_leaves_an_in_line_l2_does_not_come() {
    let mut machine = machine_of(IN_LINE);
    let (memory, account) = (&mut machine.all[0], &mut machine.account);
    memory.dcbt(address(0), M, 0, account);
    memory.load(address(4), M, 1, account);
    memory.settle(1000, account);
    assert_eq!(machine.states(0, 0), [Not; 2]);
    assert_eq!(machine.states(0, 4), [Exclusive; 2]);
}

/// What a read costs, beside one of a line that nobody has.
#[test]
fn snoops_find_both_levels_and_cost_what_is_documented() {
    let plain = 9 + 3 * (1 + 5 + 1);
    // The address tenure that is lost: a clock to request, three for it.
    let retried = 3 * (1 + 3);
    // The push, 3-1-1-1 and a clock to request; the read follows a dead clock after it.
    let pushed = 3 * (1 + 3 + 3);
    for (done, waited, push, second_push) in [
        (&[][..], plain, 0, 0),
        (&[Operation::Load], plain + retried, 0, 0),
        (&[Operation::Store], plain + retried + pushed, 1, 0),
    ] {
        let mut machine = machine_of(IN_LINE);
        for &what in done {
            machine.step(1, 0, what);
        }
        assert_eq!(machine.step(0, 0, Operation::Load), waited, "{done:?}");
        machine.select(1);
        assert_eq!(machine.count(Plain::BusPush), push, "{done:?}");
        assert_eq!(machine.count(Plain::L2Push), second_push, "{done:?}");
    }
    // Only the L2 holds it modified.
    let mut machine = machine_of(IN_LINE);
    for line in [0, 2, 1] {
        machine.step(1, line, Operation::Store);
    }
    assert_eq!(machine.states(1, 0), [Not, Modified]);
    assert_eq!(machine.step(0, 0, Operation::Store), 0);
    machine.select(1);
    assert_eq!(machine.states(1, 0), [Not; 2]);
    assert_eq!(machine.count(Plain::L2Push), 1);
    assert_eq!(machine.count(Plain::L2Taken), 1);
    assert_eq!(machine.count(Plain::LineTaken), 0);
    // A shared line is no reason for a retry.
    machine.step(0, 1, Operation::Load);
    machine.step(1, 1, Operation::Load);
    let retries = machine.count(Plain::BusRetried);
    machine.step(2, 1, Operation::Load);
    assert_eq!(machine.count(Plain::BusRetried), retries);
}

#[test]
fn a_reset_empties_the_own_l2() {
    let mut machine = machine_of(IN_LINE);
    machine.step(1, 0, Operation::Store);
    machine.all[1].reset_l2();
    assert_eq!(machine.states(1, 0), [Modified, Not]);
    machine.step(0, 1, Operation::Load);
    machine.all[0].reset_l2();
    machine.select(1);
    machine.step(1, 1, Operation::Load);
    assert_eq!(machine.states(0, 1), [Shared, Not], "the D-cache answers");
}
