//! A TLB against a small model: what the ways of each set hold, and which of them the policy replaces.

use pagewalk_machine::account::{Account, Plain};
use pagewalk_machine::config::TlbConfig;
use pagewalk_machine::riscv::pmp::right;
use pagewalk_machine::riscv::tlb::{Entry, Tlb, pte};
use proptest::prelude::*;

/// The mode of all accesses.
const MODE: u8 = 3;

#[derive(Clone, Debug)]
enum Step {
    /// An access to a page in an address space; a miss loads the page.
    Access(u8, u16),
    /// A fence: of a page or all, of a space or all.
    Fence(Option<u8>, Option<u16>),
}

/// The entry of a page: each fourth one is global, pages from 32 on have 2 MB, and pages from 40 on are parts of 4 KB
/// of a page of 2 MB.
fn entry(page: u8, asid: u16) -> Entry {
    let n = u64::from(page);
    let global = if page.is_multiple_of(4) {
        pte::GLOBAL
    } else {
        0
    };
    let (shift, leaf, place) = match page {
        0..32 => (12, 12, n << 12),
        32..40 => (21, 21, n << 21),
        _ => (12, 21, 40 << 21 | (n - 40) << 12),
    };
    Entry {
        page: place,
        frame: (1 << 32) + place,
        shift,
        leaf,
        bits: (pte::VALID | pte::READ | pte::ACCESSED | global) as u8,
        global: global != 0,
        rights: right::ALL,
        asid,
        way: 0,
        suspect: false,
    }
}

/// A policy, as the words of its definition have it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Fifo,
    PseudoLru,
    /// Any entry may have been replaced: the TLB says which.
    Random,
}

#[derive(Clone, Default)]
struct Set {
    ways: Vec<Option<Entry>>,
    /// Ways, loaded first first.
    loaded: Vec<usize>,
    /// When each node of the tree was used last. Way w is leaf `ways` + w; the nodes below node n are 2n and 2n + 1.
    used: Vec<u64>,
    now: u64,
}

impl Set {
    fn new(ways: usize) -> Set {
        Set {
            ways: vec![None; ways],
            used: vec![0; 2 * ways],
            ..Set::default()
        }
    }

    fn use_way(&mut self, way: usize) {
        self.now += 1;
        let mut node = self.ways.len() + way;
        while node > 0 {
            self.used[node] = self.now;
            node /= 2;
        }
    }

    /// The way to which the nodes lead that were not used last.
    fn longest_unused(&self) -> usize {
        let mut node = 1;
        while node < self.ways.len() {
            node = 2 * node + usize::from(self.used[2 * node] > self.used[2 * node + 1]);
        }
        node - self.ways.len()
    }
}

struct Model {
    sets: Vec<Set>,
    policy: Policy,
}

impl Model {
    fn set(&mut self, entry: &Entry) -> &mut Set {
        let count = self.sets.len();
        &mut self.sets[(entry.page >> entry.shift) as usize % count]
    }

    fn same(old: &Entry, new: &Entry) -> bool {
        let global = u64::from(old.bits) & pte::GLOBAL != 0;
        old.page == new.page && (global || old.asid == new.asid)
    }

    /// True if it was there.
    fn look_up(&mut self, new: &Entry) -> bool {
        let set = self.set(new);
        let found = |way: &Option<Entry>| way.is_some_and(|old| Self::same(&old, new));
        let Some(way) = set.ways.iter().position(found) else {
            return false;
        };
        set.use_way(way);
        true
    }

    /// `is_there`: what the TLB holds after it has loaded this page.
    fn load(&mut self, new: Entry, is_there: impl Fn(&Entry) -> bool, evicted: &mut u64) {
        let policy = self.policy;
        let set = self.set(&new);
        let way = set
            .ways
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                *evicted += 1;
                match policy {
                    Policy::Fifo => set.loaded[0],
                    Policy::PseudoLru => set.longest_unused(),
                    Policy::Random => {
                        let gone = |way: &Option<Entry>| way.is_some_and(|old| !is_there(&old));
                        let all = set.ways.iter().filter(|way| gone(way)).count();
                        assert_eq!(all, 1, "one page goes");
                        set.ways.iter().position(gone).unwrap()
                    }
                }
            });
        set.ways[way] = Some(new);
        set.loaded.retain(|&other| other != way);
        set.loaded.push(way);
        set.use_way(way);
    }

    fn fence(&mut self, page: Option<u8>, asid: Option<u16>) -> u64 {
        let mut removed = 0;
        for set in &mut self.sets {
            for (number, way) in set.ways.iter_mut().enumerate() {
                let reached = way.is_some_and(|old| {
                    let global = u64::from(old.bits) & pte::GLOBAL != 0;
                    page.is_none_or(|page| (entry(page, 0).page ^ old.page) >> old.leaf == 0)
                        && asid.is_none_or(|asid| old.asid == asid && !global)
                });
                if reached {
                    *way = None;
                    set.loaded.retain(|&other| other != number);
                    removed += 1;
                }
            }
        }
        removed
    }
}

fn step() -> impl Strategy<Value = Step> {
    let page = || 0..48_u8;
    prop_oneof![
        20 => (page(), 0..3_u16).prop_map(|(page, asid)| Step::Access(page, asid)),
        1 => (proptest::option::of(page()), proptest::option::of(0..3_u16))
            .prop_map(|(page, asid)| Step::Fence(page, asid)),
    ]
}

fn check(entries: u32, ways: u32, policy: Policy, steps: &[Step]) {
    let name = match policy {
        Policy::Fifo => "fifo",
        Policy::PseudoLru => "pseudo-lru",
        Policy::Random => "random",
    };
    let config = TlbConfig {
        entries,
        ways,
        replacement: Some(name.to_owned()),
    };
    let mut tlb = Tlb::new(&config).unwrap();
    let mut model = Model {
        sets: vec![Set::new(ways as usize); (entries / ways) as usize],
        policy,
    };
    let (mut account, mut evicted) = (Account::new(0x1000, 64), 0);
    // A shortcut is of the space that runs: another one drops them.
    let mut running = 0;
    for step in steps {
        match *step {
            Step::Access(page, asid) => {
                let new = entry(page, asid);
                if asid != running {
                    tlb.drop_shortcuts();
                    running = asid;
                }
                let va = new.page | 0x123;
                let quick = tlb.quick(va, right::READ, MODE);
                let found = tlb.look_up(va, asid);
                assert_eq!(found.is_some(), model.look_up(&new), "{step:?}");
                if let Some(pa) = quick {
                    assert_eq!(Some(pa), found.map(|entry| entry.frame | 0x123));
                }
                if let Some(found) = found {
                    assert_eq!((found.page, found.frame), (new.page, new.frame));
                } else {
                    tlb.enter(new, &mut account, Plain::DataTlbEvicted);
                    let is_there = |old: &Entry| tlb.peek(old.page, old.asid).is_some();
                    model.load(new, is_there, &mut evicted);
                }
                tlb.make_shortcut(va, asid, MODE, (right::READ, right::WRITE), |_| right::READ);
                assert_eq!(tlb.quick(va, right::READ, MODE), Some(new.frame | 0x123));
                assert_eq!(tlb.quick(va, right::WRITE, MODE), None);
                assert_eq!(tlb.quick(va, right::READ, MODE ^ 1), None);
            }
            Step::Fence(page, asid) => {
                let va = page.map(|page| entry(page, 0).page);
                assert_eq!(tlb.fence(va, asid), model.fence(page, asid), "{step:?}");
            }
        }
    }
    assert_eq!(
        account.counters.plain[Plain::DataTlbEvicted as usize],
        evicted
    );
}

proptest! {
    #[test]
    fn it_holds_what_its_model_holds(steps in proptest::collection::vec(step(), 1..300)) {
        for (entries, ways) in [(10, 10), (8, 1), (16, 4), (32, 8)] {
            for policy in [Policy::Fifo, Policy::PseudoLru, Policy::Random] {
                check(entries, ways, policy, &steps);
            }
        }
    }
}
