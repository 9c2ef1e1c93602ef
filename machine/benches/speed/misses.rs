//! What a miss of the L1 and a miss of the TLB cost the host: chases that hit, that miss the L1, and that miss both.

use std::path::Path;

use pagewalk_machine::account::Event;

use crate::host::best;
use crate::{Run, here};

/// Nanoseconds of the host.
pub struct Misses {
    /// Each miss of the D-cache, in a chase without misses of the TLB.
    pub cache: f64,
    /// Each miss of the data TLB beside that: the walk, and the way that the access takes then.
    pub tlb: f64,
}

const ROUNDS: u64 = 20;

/// Bytes and step of the chases. A 604 has 16 KB of D-cache and 128 entries of data TLB.
const HITS: (u32, u32) = (8 << 10, 37 * 32);
const LINES: (u32, u32) = (128 << 10, 37 * 32);
const PAGES: (u32, u32) = (4 << 20, 129 * 32);

fn chase(machine: &Path, program: &Path, (bytes, step): (u32, u32)) -> (f64, u64, u64) {
    let words = [bytes.to_string(), step.to_string()];
    let run = |rounds| here(machine, program, rounds, &words);
    let start = best(|| run(0).time);
    let time = best(|| run(ROUNDS).time);
    let (before, after) = (run(0), run(ROUNDS));
    let of = |event, run: &Run| run.counters.total(event);
    let more = |event| of(event, &after) - of(event, &before);
    (
        time - start,
        more(Event::DataCacheMiss),
        more(Event::DataTlbMiss),
    )
}

pub fn measure(machine: &Path, program: &Path) -> Misses {
    let (hit_time, hit_misses, _) = chase(machine, program, HITS);
    let (line_time, line_misses, line_walks) = chase(machine, program, LINES);
    let (page_time, _, page_walks) = chase(machine, program, PAGES);
    let each = |time: f64, count: u64| time * 1e9 / count as f64;
    Misses {
        cache: each(line_time - hit_time, line_misses - hit_misses),
        tlb: each(page_time - line_time, page_walks - line_walks),
    }
}
