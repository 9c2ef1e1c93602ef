//! The TLB's replacement policies against plain models, and how a machine file names them.

use crate::common;
use crate::common::Parts as _;
use pagewalk_machine::config::REPLACEMENTS as NAMES;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::powerpc::mmu::{Mmu, Tlb, TlbEntry, TlbGeometry, tlb};
use proptest::prelude::*;

/// One set as a plain model sees it: the page in each way, and what the policies need to know.
struct Set {
    pages: Vec<Option<u32>>,
    /// Times of the last use and of the load of each way.
    used: Vec<u64>,
    loaded: Vec<u64>,
    /// Pseudo-LRU: for each inner node of the tree, numbered from the root, true if the right half is the older one.
    right: Vec<bool>,
    time: u64,
}

impl Set {
    fn new(ways: usize) -> Self {
        Self {
            pages: vec![None; ways],
            used: vec![0; ways],
            loaded: vec![0; ways],
            right: vec![false; ways],
            time: 0,
        }
    }

    fn touch(&mut self, way: usize) {
        self.time += 1;
        self.used[way] = self.time;
        let (mut low, mut high, mut node) = (0, self.pages.len(), 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            self.right[node] = way < middle;
            (low, high, node) = if way < middle {
                (low, middle, 2 * node)
            } else {
                (middle, high, 2 * node + 1)
            };
        }
    }

    fn oldest(times: &[u64]) -> usize {
        (0..times.len())
            .min_by_key(|&way| times[way])
            .expect("ways")
    }

    fn pointed_at(&self) -> usize {
        let (mut low, mut high, mut node) = (0, self.pages.len(), 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            (low, high, node) = if self.right[node] {
                (middle, high, 2 * node + 1)
            } else {
                (low, middle, 2 * node)
            };
        }
        low
    }

    /// Is `way` a victim that the policy may choose?
    fn may_go(&self, policy: &str, way: usize) -> bool {
        if self.pages.contains(&None) {
            return self.pages[way].is_none();
        }
        match policy {
            "lru" => way == Self::oldest(&self.used),
            "fifo" => way == Self::oldest(&self.loaded),
            "pseudo-lru" => way == self.pointed_at(),
            "not-mru" => self.used[way] != self.time || self.pages.len() == 1,
            _ => true,
        }
    }
}

/// A TLB with this policy.
fn made(policy: &str, entries: u32, ways: u32) -> Tlb {
    let mut tlb = Tlb::new(TlbGeometry { entries, ways }).expect("a shape");
    tlb.set_replacement(policy).expect("a policy");
    tlb
}

fn tag(page: u32) -> u64 {
    tlb::tag(7, page << 12)
}

proptest! {
    #![proptest_config(common::cases())]

    #[test]
    fn a_policy_chooses_as_its_model(
        policy in 0..NAMES.len(),
        ways in (0u32..5).prop_map(|shift| 1 << shift),
        steps in prop::collection::vec((0u32..40, 0u32..30), 1..300),
    ) {
        let (policy, sets) = (NAMES[policy], 2);
        let mut tlb = made(policy, sets * ways, ways);
        let mut model: Vec<Set> = (0..sets).map(|_| Set::new(ways as usize)).collect();
        for (page, what) in steps {
            let set = &mut model[(page % sets) as usize];
            if what == 0 {
                tlb.invalidate_class(page << 12);
                set.pages.fill(None);
                continue;
            }
            let held = set.pages.iter().position(|held| *held == Some(page));
            let hit = tlb.access(tag(page));
            prop_assert_eq!(hit.map(|entry| usize::from(entry.way())), held);
            let way = held.unwrap_or_else(|| {
                tlb.fill(TlbEntry::new(tag(page), page << 12));
                usize::from(tlb.mru(page << 12).way())
            });
            if held.is_none() {
                prop_assert!(set.may_go(policy, way), "{policy}: way {way} of {:?}", set.pages);
                set.pages[way] = Some(page);
                set.loaded[way] = set.time + 1;
            }
            set.touch(way);
            // Noting the most recent entry again changes nothing.
            prop_assert_eq!(usize::from(tlb.recent_way(page << 12)), way);
        }
    }

    /// What the policy names, the next load replaces: the 603 tells software so.
    #[test]
    fn the_victim_that_is_named_goes(
        policy in 0..NAMES.len(),
        pages in prop::collection::vec(0u32..64, 1..100),
    ) {
        let mut tlb = made(NAMES[policy], 32, 4);
        for page in pages {
            if tlb.access(tag(page)).is_none() {
                let way = tlb.victim_way(page << 12);
                let old = tlb.entry(page % 8 * 4 + u32::from(way)).copied().expect("an entry");
                let gone = tlb.write_way(page << 12, way, TlbEntry::new(tag(page), 0));
                prop_assert_eq!(gone, Some(old).filter(TlbEntry::valid));
            }
        }
    }
}

#[test]
fn random_victims_are_every_way_about_as_often() {
    for (policy, ways) in [("random", 8usize), ("not-mru", 8)] {
        let mut tlb = made(policy, ways as u32, ways as u32);
        let mut chosen = vec![0u32; ways];
        for page in 0..8000 {
            tlb.fill(TlbEntry::new(tag(page), 0));
            chosen[usize::from(tlb.mru(page << 12).way())] += 1;
        }
        let rare = chosen.iter().min().expect("ways");
        let often = chosen.iter().max().expect("ways");
        assert!(*rare > 850 && *often < 1150, "{policy}: {chosen:?}");
    }
}

fn config(machine: &str, settings: &[&str]) -> Result<MachineConfig, String> {
    let file = format!("{}/../machines/{machine}.toml", env!("CARGO_MANIFEST_DIR"));
    let settings: Result<Vec<_>, _> = settings.iter().map(|text| Override::parse(text)).collect();
    MachineConfig::from_file(file.as_ref(), &settings.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())
}

#[test]
fn a_machine_file_names_a_policy_for_each_tlb() {
    let settings = ["tlb.data.ways=4", "tlb.data.replacement=fifo"];
    let mut mmu =
        Mmu::from_config(&config("ppc604-133", &settings).expect("allowed")).expect("an MMU");
    let tlb = &mut mmu.six().dtlb;
    for page in [0, 32, 64, 96] {
        tlb.fill(TlbEntry::new(tag(page), 0));
    }
    assert!(tlb.access(tag(0)).is_some());
    let gone = tlb.fill(TlbEntry::new(tag(128), 0)).expect("a full set");
    assert_eq!(gone.page(), 0, "the oldest, although it was used last");
}

#[test]
fn wrong_policies_are_refused() {
    for (machine, setting, words) in [
        (
            "ppc604-133",
            "tlb.data.replacement=oldest",
            "`tlb.data.replacement` is \"oldest\": allowed are lru, pseudo-lru, fifo, random, not-mru",
        ),
        (
            "ppc604-133",
            "tlb.data.replacement=3",
            "not a word in quotes",
        ),
        (
            "mpc855t-48",
            "tlb.instruction.replacement=fifo",
            "software chooses the entry by Mx_CTR",
        ),
    ] {
        let message = config(machine, &[setting]).expect_err("not allowed");
        assert!(message.contains(words), "{message}");
    }
}
