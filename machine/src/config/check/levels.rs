//! The caches behind the L1s: an L2, and an L3 behind it.

use super::Checker;
use crate::config::{L2Config, L2Place, L2Policy, shape};

/// The keys of a level, in messages.
struct Keys {
    table: &'static str,
    place: &'static str,
    size: &'static str,
    ways: &'static str,
    line: &'static str,
    first_beat: &'static str,
    next_beat: &'static str,
    miss: &'static str,
    policy: &'static str,
    allocate: &'static str,
    look_up: &'static str,
    copy_back: &'static str,
}

macro_rules! keys {
    ($table:literal) => {
        Keys {
            table: $table,
            place: concat!($table, ".place"),
            size: concat!($table, ".size"),
            ways: concat!($table, ".ways"),
            line: concat!($table, ".line"),
            first_beat: concat!($table, ".first-beat"),
            next_beat: concat!($table, ".next-beat"),
            miss: concat!($table, ".miss"),
            policy: concat!($table, ".policy"),
            allocate: concat!($table, ".allocate"),
            look_up: concat!($table, ".look-up"),
            copy_back: concat!($table, ".copy-back"),
        }
    };
}

const L2: Keys = keys!("cache.l2");
const L3: Keys = keys!("cache.l3");

/// What the checks of the levels need of the rest of a machine file.
pub(crate) struct Before<'a> {
    /// The key of the L1's line, and that line in bytes.
    pub line: (&'a str, u32),
    /// The file tells the memory's parts.
    pub parts: bool,
    /// Processors of the machine.
    pub processors: u8,
}

/// Checks L2 and L3.
pub(crate) fn check(checker: &mut Checker, [l2, l3]: [Option<&L2Config>; 2], before: &Before<'_>) {
    if let Some(l2) = l2 {
        level(checker, &L2, l2, before);
    }
    let Some(l3) = l3 else { return };
    level(checker, &L3, l3, before);
    match l2.map(|l2| l2.place) {
        None => checker.fail(L3.table, "stands behind an L2: add [cache.l2]"),
        Some(L2Place::LookAside) => checker.fail(
            L3.table,
            "does not go with cache.l2.place \"look-aside\", which has only memory behind it: remove [cache.l3]",
        ),
        Some(_) => {}
    }
    if l3.place != L2Place::LookAside && before.processors > 1 {
        checker.fail(
            L3.place,
            format!(
                "of a machine with {} processors can only be \"look-aside\", which they share",
                before.processors
            ),
        );
    }
}

/// The key of the place of a level that stands on the processor bus, if one does.
pub(crate) fn look_aside(levels: [Option<&L2Config>; 2]) -> Option<&'static str> {
    let mut places = levels.into_iter().zip([L2.place, L3.place]);
    let beside = |level: Option<&L2Config>| level.is_some_and(|it| it.place == L2Place::LookAside);
    places.find_map(|(level, key)| beside(level).then_some(key))
}

fn level(checker: &mut Checker, keys: &Keys, level: &L2Config, before: &Before<'_>) {
    let paths = [keys.size, keys.ways, keys.line];
    let rule = shape::cache(level.size, level.ways, level.line, shape::CACHE_MOST);
    checker.shape(&paths, rule);
    let (l1_key, l1_line) = before.line;
    if level.line != l1_line {
        checker.fail(
            keys.line,
            format!("is {}: allowed is {l1_key}, which is {l1_line}", level.line),
        );
    }
    checker.range(keys.first_beat, level.first_beat.into(), 1, 1000);
    checker.range(keys.next_beat, level.next_beat.into(), 0, 1000);
    let (place, miss) = (keys.place, keys.miss);
    let add = |place: &str| {
        format!(
            "is \"{place}\": add {miss}, the core cycles from a level-one miss to the bus request"
        )
    };
    match (level.place, level.miss) {
        (L2Place::BackSide | L2Place::InLine, Some(clocks)) => {
            checker.range(miss, clocks.into(), 0, 1000);
        }
        (L2Place::BackSide, None) => checker.fail(place, add("back-side")),
        (L2Place::InLine, None) => checker.fail(place, add("in-line")),
        (L2Place::LookAside, Some(_)) => checker.fail(
            miss,
            format!(
                "does not go with {place} \"look-aside\", which delays no bus request: remove it"
            ),
        ),
        (L2Place::LookAside, None) => {}
    }
    beside(checker, keys, level, before.parts);
}

/// The keys of a cache on the processor bus.
fn beside(checker: &mut Checker, keys: &Keys, level: &L2Config, parts: bool) {
    let place = keys.place;
    let all = [
        (keys.policy, level.policy.is_some()),
        (keys.allocate, level.allocate.is_some()),
        (keys.look_up, level.look_up.is_some()),
        (keys.copy_back, level.copy_back.is_some()),
    ];
    for (path, here) in all {
        match (here, level.place == L2Place::LookAside) {
            (true, false) => checker.fail(
                path,
                format!("goes with {place} \"look-aside\" only: remove it"),
            ),
            (true, true) if !parts => checker.fail(path, "needs memory.kind and its other keys"),
            (false, true) if parts => checker.fail(
                path,
                format!("is missing: {place} is \"look-aside\" and the file has memory.kind"),
            ),
            _ => {}
        }
    }
    if let Some(clocks) = level.look_up {
        checker.range(keys.look_up, clocks.into(), 0, 100);
        if clocks > level.first_beat {
            checker.fail(
                keys.look_up,
                format!(
                    "is {clocks}: a hit is known by the clock of its first beat, and {} is {}",
                    keys.first_beat, level.first_beat
                ),
            );
        }
    }
    if let Some(lines) = level.copy_back {
        let most = crate::config::names::BUFFER_MOST;
        checker.range(keys.copy_back, lines.into(), 0, most.into());
    }
    if level.policy == Some(L2Policy::WriteThrough)
        && level.copy_back.is_some_and(|lines| lines > 0)
    {
        checker.fail(
            keys.copy_back,
            format!(
                "is for modified lines, which {} \"write-through\" has none of: allowed is 0",
                keys.policy
            ),
        );
    }
}
