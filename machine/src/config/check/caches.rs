//! Checks the caches.

use super::Checker;
use super::levels::{self, Before};
use crate::config::{CacheConfig, CoreKind, MachineConfig, shape};

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
    cache(checker, CODE, &set.instruction);
    cache(checker, DATA, &set.data);
    if set.instruction.blocked.is_some() {
        checker.fail(
            "cache.instruction.blocked",
            "goes with cache.data only: remove it",
        );
    }
    if set.data.blocked.is_some()
        && !matches!(config.core.kind, CoreKind::Ppc603 | CoreKind::Ppc603e)
    {
        checker.fail("cache.data.blocked", NOT_A_603);
    }
    lines(checker, &set.instruction, &set.data);
    let before = Before {
        line: ("cache.data.line", set.data.line),
        parts: config.memory.kind.is_some(),
        processors: config.processors,
    };
    levels::check(checker, [set.l2.as_ref(), set.l3.as_ref()], &before);
}

/// Of `blocked` in a file of another core.
const NOT_A_603: &str = "is a key of the 603's D-cache: remove it";

/// The keys of a level-one cache's size, ways and line, and the one that only a 603's D-cache has.
pub(crate) type Keys = [&'static str; 4];

/// Those of a cache of code.
pub(crate) const CODE: Keys = [
    "cache.instruction.size",
    "cache.instruction.ways",
    "cache.instruction.line",
    "cache.instruction.blocked",
];
/// Those of a cache of data.
pub(crate) const DATA: Keys = [
    "cache.data.size",
    "cache.data.ways",
    "cache.data.line",
    "cache.data.blocked",
];

pub(crate) fn cache(checker: &mut Checker, keys: Keys, cache: &CacheConfig) {
    let rule = shape::cache(cache.size, cache.ways, cache.line, shape::L1_MOST);
    checker.shape(&keys, rule);
}

/// Checks a level-one cache of a core that is no PowerPC.
pub(crate) fn plain(checker: &mut Checker, keys: Keys, config: &CacheConfig) {
    cache(checker, keys, config);
    if config.blocked.is_some() {
        checker.fail(keys[3], NOT_A_603);
    }
}

/// Both caches have lines of one size.
pub(crate) fn lines(checker: &mut Checker, instruction: &CacheConfig, data: &CacheConfig) {
    if instruction.line != data.line {
        checker.fail(
            "cache.instruction.line",
            format!(
                "is {}: allowed is cache.data.line, which is {}",
                instruction.line, data.line
            ),
        );
    }
}
