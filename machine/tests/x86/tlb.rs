//! The TLB against a plain list of sets with a tree of bits.

use pagewalk_machine::config::TlbConfig;
use pagewalk_machine::x86::tlb::{Entry, Tlb, pte};
use proptest::prelude::*;

/// Four ways: which pair was used last, and which of each pair (486 hardware manual 3-17).
#[derive(Clone, Default)]
struct Set {
    pages: [Option<(u32, bool)>; 4],
    /// Bit 0: of the pairs; 1 and 2: of each pair. Set when the first half was used last.
    bits: [bool; 3],
}

impl Set {
    fn used(&mut self, way: usize) {
        self.bits[0] = way < 2;
        self.bits[1 + way / 2] = way.is_multiple_of(2);
    }

    fn victim(&self) -> usize {
        if let Some(way) = self.pages.iter().position(Option::is_none) {
            return way;
        }
        let pair = usize::from(self.bits[0]);
        2 * pair + usize::from(self.bits[1 + pair])
    }
}

#[derive(Clone, Debug)]
enum Action {
    Access(u32),
    Invalidate(u32),
    Flush(bool),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        20 => (0u32..60).prop_map(Action::Access),
        2 => (0u32..60).prop_map(Action::Invalidate),
        1 => any::<bool>().prop_map(Action::Flush),
    ]
}

proptest! {
    #[test]
    fn entries_come_and_go_as_in_the_model(actions in proptest::collection::vec(action(), 1..600)) {
        let shape = TlbConfig { entries: 32, ways: 4, replacement: None };
        let mut tlb = Tlb::new(&shape, 12).unwrap();
        let mut model = vec![Set::default(); 8];
        for action in actions {
            match action {
                Action::Access(page) => {
                    let linear = page << 12 | 0x123;
                    let set = &mut model[page as usize % 8];
                    let held = set.pages.iter().position(|held| held.is_some_and(|(p, _)| p == page));
                    let recent = tlb.hit_recent(linear, 0);
                    let found = tlb.look_up(linear).is_some();
                    prop_assert_eq!(found, held.is_some(), "page {}", page);
                    prop_assert!(recent.is_none() || found, "the short way found what is not there");
                    let global = page % 3 == 0;
                    let way = held.unwrap_or_else(|| {
                        let bits = pte::WRITE | pte::USER | if global { pte::GLOBAL } else { 0 };
                        tlb.load(Entry::new(page << 12, (page << 12).into(), bits, false));
                        set.victim()
                    });
                    set.pages[way] = Some((page, global));
                    set.used(way);
                }
                Action::Invalidate(page) => {
                    let set = &mut model[page as usize % 8];
                    let held = set.pages.iter().position(|held| held.is_some_and(|(p, _)| p == page));
                    prop_assert_eq!(tlb.invalidate(page << 12), held.is_some());
                    if let Some(way) = held {
                        set.pages[way] = None;
                    }
                }
                Action::Flush(keep) => {
                    let mut gone = 0;
                    for held in model.iter_mut().flat_map(|set| &mut set.pages) {
                        if held.is_some_and(|(_, global)| !(keep && global)) {
                            *held = None;
                            gone += 1;
                        }
                    }
                    prop_assert_eq!(tlb.flush(keep), gone);
                }
            }
            let count = model.iter().flat_map(|set| &set.pages).flatten().count();
            prop_assert_eq!(tlb.valid().count(), count);
        }
    }

    /// Rights by the table of SDM 4.6: supervisor and user, reads and writes, with and without CR0.WP.
    #[test]
    fn rights(bits in 0u32..8, need in 0u8..4, protects: bool, dirty: bool) {
        let bits = bits & (pte::WRITE | pte::USER) | if dirty { pte::DIRTY } else { 0 };
        let (write, user) = (need & 1 != 0, need & 2 != 0);
        let (w, u) = (bits & pte::WRITE != 0, bits & pte::USER != 0);
        let allowed = match (user, write) {
            (false, false) => true,
            (false, true) => w || !protects,
            (true, false) => u,
            (true, true) => u && w,
        };
        let entry = Entry::new(0x1000, 0x1000, bits, protects);
        prop_assert_eq!(entry.permits(need, protects), allowed);
        prop_assert_eq!(entry.allowed >> need & 1 != 0, allowed && (dirty || !write));
    }
}
