//! Checks the caches.

use super::Checker;
use crate::config::{CacheConfig, L2Config, L2Place, L2Policy, MachineConfig, shape};

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
    if let Some(l2) = &set.l2 {
        let parts = config.memory.kind.is_some();
        l2_cache(checker, l2, ("cache.data.line", set.data.line), parts);
    }
}

pub(crate) fn cache(checker: &mut Checker, paths: [&'static str; 3], cache: &CacheConfig) {
    let rule = shape::cache(cache.size, cache.ways, cache.line, shape::L1_MOST);
    checker.shape(&paths, rule);
}

/// `l1_key` names the line of the cache before it, in bytes, in messages.
/// `parts`: the file tells the memory's parts.
pub(crate) fn l2_cache(
    checker: &mut Checker,
    l2: &L2Config,
    (l1_key, l1_line): (&str, u32),
    parts: bool,
) {
    let paths = ["cache.l2.size", "cache.l2.ways", "cache.l2.line"];
    let rule = shape::cache(l2.size, l2.ways, l2.line, shape::CACHE_MOST);
    checker.shape(&paths, rule);
    if l2.line != l1_line {
        checker.fail(
            "cache.l2.line",
            format!("is {}: allowed is {l1_key}, which is {l1_line}", l2.line),
        );
    }
    checker.range("cache.l2.first-beat", l2.first_beat.into(), 1, 1000);
    checker.range("cache.l2.next-beat", l2.next_beat.into(), 0, 1000);
    match (l2.place, l2.miss) {
        (L2Place::BackSide | L2Place::InLine, Some(miss)) => {
            checker.range("cache.l2.miss", miss.into(), 0, 1000);
        }
        (L2Place::BackSide, None) => checker.fail(
            "cache.l2.place",
            "is \"back-side\": add cache.l2.miss, the core cycles from a level-one miss to the bus request",
        ),
        (L2Place::InLine, None) => checker.fail(
            "cache.l2.place",
            "is \"in-line\": add cache.l2.miss, the core cycles from a level-one miss to the bus request",
        ),
        (L2Place::LookAside, Some(_)) => checker.fail(
            "cache.l2.miss",
            "does not go with cache.l2.place \"look-aside\", which delays no bus request: remove it",
        ),
        (L2Place::LookAside, None) => {}
    }
    let beside = [
        ("cache.l2.policy", l2.policy.is_some()),
        ("cache.l2.allocate", l2.allocate.is_some()),
        ("cache.l2.look-up", l2.look_up.is_some()),
        ("cache.l2.copy-back", l2.copy_back.is_some()),
    ];
    for (path, here) in beside {
        match (here, l2.place == L2Place::LookAside) {
            (true, false) => checker.fail(
                path,
                "goes with cache.l2.place \"look-aside\" only: remove it",
            ),
            (true, true) if !parts => checker.fail(path, "needs memory.kind and its other keys"),
            (false, true) if parts => checker.fail(
                path,
                "is missing: cache.l2.place is \"look-aside\" and the file has memory.kind",
            ),
            _ => {}
        }
    }
    if let Some(clocks) = l2.look_up {
        checker.range("cache.l2.look-up", clocks.into(), 0, 100);
    }
    if let Some(lines) = l2.copy_back {
        checker.range(
            "cache.l2.copy-back",
            lines.into(),
            0,
            crate::config::names::BUFFER_MOST.into(),
        );
    }
    if l2.policy == Some(L2Policy::WriteThrough) && l2.copy_back.is_some_and(|lines| lines > 0) {
        checker.fail(
            "cache.l2.copy-back",
            "is for modified lines, which cache.l2.policy \"write-through\" has none of: allowed is 0",
        );
    }
}
