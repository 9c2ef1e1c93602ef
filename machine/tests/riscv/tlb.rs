//! A TLB against a small model: lists of what each set holds, in the order of loading.

use pagewalk_machine::account::{Account, Plain};
use pagewalk_machine::config::TlbConfig;
use pagewalk_machine::riscv::pmp::right;
use pagewalk_machine::riscv::tlb::{Entry, Tlb, pte};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// An access to a page in an address space; a miss loads the page.
    Access(u8, u16),
    /// A fence: of a page or all, of a space or all.
    Fence(Option<u8>, Option<u16>),
}

/// The entry of a page: each fourth one is global, and pages from 32 on have 2 MB.
fn entry(page: u8, asid: u16) -> Entry {
    let n = u64::from(page);
    let global = if page.is_multiple_of(4) {
        pte::GLOBAL
    } else {
        0
    };
    let large = page >= 32;
    let (shift, place) = if large { (21, n << 21) } else { (12, n << 12) };
    Entry {
        page: place,
        frame: (1 << 32) + place,
        shift,
        bits: (pte::VALID | pte::READ | pte::ACCESSED | global) as u8,
        global: global != 0,
        rights: right::ALL,
        asid,
        way: 0,
        suspect: false,
    }
}

struct Model {
    /// What each set holds, loaded first first.
    sets: Vec<Vec<Entry>>,
    ways: usize,
}

impl Model {
    fn set(&mut self, entry: &Entry) -> &mut Vec<Entry> {
        let count = self.sets.len();
        &mut self.sets[(entry.page >> entry.shift) as usize % count]
    }

    fn same(old: &Entry, new: &Entry) -> bool {
        let global = u64::from(old.bits) & pte::GLOBAL != 0;
        old.page == new.page && (global || old.asid == new.asid)
    }

    /// True if it was there.
    fn access(&mut self, new: Entry, evicted: &mut u64) -> bool {
        let ways = self.ways;
        let set = self.set(&new);
        if set.iter().any(|old| Self::same(old, &new)) {
            return true;
        }
        if set.len() == ways {
            *evicted += 1;
            set.remove(0);
        }
        set.push(new);
        false
    }

    fn fence(&mut self, page: Option<u8>, asid: Option<u16>) -> u64 {
        let mut removed = 0;
        for set in &mut self.sets {
            set.retain(|old| {
                let global = u64::from(old.bits) & pte::GLOBAL != 0;
                let reached = page.is_none_or(|page| entry(page, 0).page == old.page)
                    && asid.is_none_or(|asid| old.asid == asid && !global);
                removed += u64::from(reached);
                !reached
            });
        }
        removed
    }
}

fn step() -> impl Strategy<Value = Step> {
    let page = || 0..40_u8;
    prop_oneof![
        20 => (page(), 0..3_u16).prop_map(|(page, asid)| Step::Access(page, asid)),
        1 => (proptest::option::of(page()), proptest::option::of(0..3_u16))
            .prop_map(|(page, asid)| Step::Fence(page, asid)),
    ]
}

fn check(entries: u32, ways: u32, steps: &[Step]) {
    let config = TlbConfig {
        entries,
        ways,
        replacement: Some("fifo".to_owned()),
    };
    let mut tlb = Tlb::new(&config).unwrap();
    let mut model = Model {
        sets: vec![Vec::new(); (entries / ways) as usize],
        ways: ways as usize,
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
                let quick = tlb.quick(va, right::READ);
                let found = tlb.look_up(va, asid);
                assert_eq!(found.is_some(), model.access(new, &mut evicted), "{step:?}");
                if let Some(pa) = quick {
                    assert_eq!(Some(pa), found.map(|entry| entry.frame | 0x123));
                }
                if let Some(found) = found {
                    assert_eq!((found.page, found.frame), (new.page, new.frame));
                } else {
                    tlb.enter(new, &mut account, Plain::DataTlbEvicted);
                }
                tlb.make_shortcut(va, asid, |_| right::READ);
                assert_eq!(tlb.quick(va, right::READ), Some(new.frame | 0x123));
                assert_eq!(tlb.quick(va, right::WRITE), None);
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
        for (entries, ways) in [(10, 10), (8, 1), (16, 4)] {
            check(entries, ways, &steps);
        }
    }
}
