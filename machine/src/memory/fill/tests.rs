//! Fills that wait for a buffer, against a plain model: a D-cache, an L2 and a bus of their own, and a list of the
//! write-backs under way.

use super::*;
use crate::board::{Board, Console};
use crate::config::{MachineConfig, Override};
use crate::memory::{Uncore, attribute};
use proptest::prelude::*;

/// A 750 whose caches are so small that lines leave both. It waits for whole lines.
fn memory(buffers: usize) -> Memory {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc750-400.toml");
    let buffers = format!("cache.write-back-buffers={buffers}");
    let settings = [
        "cache.data.size=64",
        "cache.data.ways=2",
        "cache.data.forward=line",
        "cache.l2.size=128",
        "cache.l2.ways=1",
        &buffers,
    ];
    let settings = settings.map(|text| Override::parse(text).expect("a setting"));
    let config = MachineConfig::from_file(file.as_ref(), &settings).expect("a machine file");
    let board = Board::new(&config, Console::memory());
    let uncore = Uncore::from_config(&config, board).expect("valid shapes");
    let mut memory = Memory::from_config(&config, uncore).expect("valid shapes");
    memory.timing.fills_wait = true;
    memory.enable_caches();
    memory.uncore.write_l2cr(crate::memory::l2::l2cr::L2E);
    memory
}

proptest! {
    #[test]
    fn a_fill_waits_for_the_buffer_of_its_victim(
        buffers in 0usize..4,
        steps in prop::collection::vec((any::<bool>(), 0u32..12, 0u64..30), 1..200),
    ) {
        let mut memory = memory(buffers);
        let mut account = Account::new(1 << 20, 32);
        let mut data = Cache::new(memory.data.geometry()).expect("a shape");
        data.set_enabled(true);
        let (mut l2, mut bus) = (memory.uncore.l2.clone().expect("an L2"), memory.uncore.bus.clone());
        let (mut under_way, mut now) = (Vec::<u64>::new(), 0);
        for (stores, line, gap) in steps {
            now += gap;
            let pa = 32 * line;
            let mut wanted = 0;
            if !data.access(pa, false) {
                let come = l2.read_line(pa, now, &mut bus, Cause::USER, &mut account).complete();
                wanted = come - now;
                if let Some(out) = data.fill(pa, false).filter(|out| out.dirty) {
                    let written = l2.write_line(out.pa, come, &mut bus, Cause::USER, &mut account);
                    if buffers == 0 {
                        wanted += written.saturating_sub(come);
                    } else {
                        under_way.retain(|&at| at > come);
                        if under_way.len() >= buffers {
                            wanted += under_way.remove(0) - come;
                        }
                        under_way.push(written.max(under_way.last().copied().unwrap_or(0)));
                    }
                }
            }
            let stall = memory.load(pa, attribute::REAL_DATA, now, &mut account);
            prop_assert_eq!(stall, wanted, "line {} at {}", line, now);
            now += stall;
            if stores {
                data.access(pa, true);
                prop_assert_eq!(memory.store(pa, attribute::REAL_DATA, now, &mut account), 0);
            }
        }
    }
}
