//! The window against a plain model, which remembers every load and counts micro-operations.

use super::*;
use proptest::prelude::*;

/// A load: the micro-operations up to its end, when its data is there, whether it asked for a line.
struct Load {
    end: u64,
    done: u64,
    fills: bool,
}

/// The loads so far, in the order of the program; they complete in this order.
struct Model {
    loads: Vec<Load>,
    late: [u64; 8],
    entries: u64,
}

impl Model {
    /// When the next micro-operation can be issued, `position` of them after the first.
    fn issue(&self, now: u64, position: u64) -> u64 {
        let full = |load: &&Load| position - load.end >= self.entries;
        let waits = self.loads.iter().filter(full).map(|load| load.done);
        waits.fold(now, u64::max)
    }

    fn ask(&self, now: u64, position: u64, most: usize) -> u64 {
        let mut at = self.issue(now, position);
        let under_way = |at: u64| {
            let waits = |load: &&Load| load.fills && load.done > at;
            self.loads.iter().filter(waits).count()
        };
        while under_way(at) >= most {
            at += 1;
        }
        at
    }
}

proptest! {
    #[test]
    fn instructions_wait_as_in_the_model(
        (entries, most) in (9u64..60, 1usize..6),
        // Slots, the registers of an address, and of a load: the register, its wait, whether it asks for a line.
        code in prop::collection::vec(
            (1u64..8, 0u8..16, 0u8..16, prop::option::of((0u8..8, 1u64..300, any::<bool>()))),
            1..200,
        ),
    ) {
        let mut window = Window::default();
        let mut model = Model { loads: Vec::new(), late: [0; 8], entries };
        let (mut now, mut position, mut loaded) = (0_u64, 0_u64, 0);
        for (slots, base, index, load) in code {
            let register = |number: u8| if number < 8 { number } else { gpr::NONE };
            let address = [register(base), register(index)];
            let needs = [base, index].into_iter().filter(|&number| number < 8);
            let needs = needs.map(|number| model.late[usize::from(number)]).max();
            let wanted = model.issue(now.max(needs.unwrap_or(0)), position);
            now = window.begin(now, address, loaded);
            prop_assert_eq!(now, wanted);
            (now, position, loaded) = (now + slots, position + slots, 0);
            let Some((to, wait, fills)) = load else { continue };
            if fills {
                let wanted = model.ask(now, position, most);
                now = window.ask(now, most);
                prop_assert_eq!(now, wanted);
            }
            let done = now + wait;
            prop_assert_eq!(window.add(now, (done, fills), entries as u32), now);
            model.loads.push(Load { end: position, done, fills });
            model.late[usize::from(to)] = done;
            loaded = 1 << to;
            prop_assert!(window.is_open());
        }
    }

    /// Of any number of loads in one instruction no more are remembered than there are entries.
    #[test]
    fn a_window_stays_as_small_as_it_is(
        entries in 1u32..10,
        waits in prop::collection::vec((1u64..300, any::<bool>()), 1..100),
    ) {
        let config = WindowConfig { entries, misses: 4 };
        let (mut window, mut now) = (Window::default(), 0);
        for (wait, fills) in waits {
            now = window.add(now, (now + wait, fills), entries);
            prop_assert!(window.fits(Some(&config)));
            prop_assert!(!window.fits(None));
        }
    }
}
