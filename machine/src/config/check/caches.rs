//! Checks the caches.

use super::Checker;
use super::levels::{self, Before};
use crate::config::{CacheConfig, MachineConfig, shape};

pub(super) fn check(checker: &mut Checker, config: &MachineConfig) {
    let set = &config.cache;
    checker.range("cache.store-queue", set.store_queue.into(), 0, 16);
    checker.range(
        "cache.write-back-buffers",
        set.write_back_buffers.into(),
        0,
        16,
    );
    checker.range("cache.touch-buffers", set.touch_buffers.into(), 0, 16);
    cache(
        checker,
        [
            "cache.instruction.size",
            "cache.instruction.ways",
            "cache.instruction.line",
        ],
        &set.instruction,
    );
    cache(
        checker,
        ["cache.data.size", "cache.data.ways", "cache.data.line"],
        &set.data,
    );
    if set.instruction.blocked.is_some() {
        checker.fail(
            "cache.instruction.blocked",
            "goes with cache.data only: remove it",
        );
    }
    if set.instruction.line != set.data.line {
        checker.fail(
            "cache.instruction.line",
            format!(
                "is {}: allowed is cache.data.line, which is {}",
                set.instruction.line, set.data.line
            ),
        );
    }
    let before = Before {
        line: ("cache.data.line", set.data.line),
        parts: config.memory.kind.is_some(),
        processors: config.processors,
    };
    levels::check(checker, [set.l2.as_ref(), set.l3.as_ref()], &before);
}

pub(crate) fn cache(checker: &mut Checker, paths: [&'static str; 3], cache: &CacheConfig) {
    let rule = shape::cache(cache.size, cache.ways, cache.line, shape::L1_MOST);
    checker.shape(&paths, rule);
}
