//! The list of counters: names, splits, differences.

use pagewalk_machine::account::{Account, Cause, CauseNames, Counters, Event, Names, Plain};
use pagewalk_machine::powerpc::{NAMES, Vector};
use std::collections::BTreeSet;

/// The number of a cause that every guest has.
fn cause(name: &str) -> Cause {
    CauseNames::default().find(name).unwrap()
}

#[test]
fn names_are_unique_and_of_the_documented_form() {
    let named = Counters::default().named(&NAMES, &CauseNames::default());
    let names: BTreeSet<_> = named.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), named.len());
    for name in [
        "cycles",
        "cycles.cause.idle",
        "instructions.user",
        "tlb.instruction.miss.user",
        "tlb.data.miss.kernel",
        "tlb.data.miss.cause.reload",
        "hash.hit.secondary",
        "cache.data.writeback.cause.clear",
        "cache.l2.miss",
        "cache.instruction.stale",
        "bus.cycles",
        "walk.cycles",
        "exception.dtlb-store-miss",
        "pollution.tlb.data.kernel.user",
        "branch.mispredict",
    ] {
        assert!(names.contains(name), "{name}");
    }
    for name in names {
        assert!(
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-'),
            "{name}"
        );
    }
}

#[test]
fn splits_add_up_to_the_total() {
    let mut account = Account::new(1 << 20, 32);
    for (user, cause, n) in [
        (true, Cause::USER, 5),
        (false, Cause::KERNEL, 7),
        (false, cause("copy"), 11),
        (true, cause("copy"), 13),
    ] {
        account.user = user;
        account.cause = cause;
        account.add(Event::DataCacheAccess, n);
    }
    account.add_as(Event::DataCacheAccess, Cause::WALK, 17);
    let get = |name: &str| account.counters.get(name).expect(name);
    assert_eq!(get("cache.data.access"), 53);
    assert_eq!(get("cache.data.access.user"), 35);
    assert_eq!(get("cache.data.access.kernel"), 18);
    assert_eq!(get("cache.data.access.cause.copy"), 24);
    assert_eq!(get("cache.data.access.cause.walk"), 17);
    assert_eq!(get("cache.data.access.cause.idle"), 0);
}

#[test]
fn a_difference_is_what_happened_between() {
    let mut account = Account::new(1 << 20, 32);
    account.add(Event::Cycles, 100);
    account.add_plain(Plain::BusRead, 3);
    let before = account.counters.clone();
    account.add(Event::Cycles, 23);
    account.counters.exception[Vector::Decrementer.counter()] += 1;
    let difference = &account.counters - &before;
    assert_eq!(difference.total(Event::Cycles), 23);
    assert_eq!(difference.plain(Plain::BusRead), 0);
    let named = difference.named(&NAMES, &CauseNames::default());
    assert!(named.contains(&("exception.decrementer".to_owned(), 1)));
    let mut sum = difference.clone();
    sum.accumulate(&difference);
    assert_eq!(sum.total(Event::Cycles), 46);
    assert_eq!(Counters::default().get("no.such.counter"), None);
}

#[test]
fn causes_have_the_numbers_of_the_control_device() {
    let names = CauseNames::default();
    for (number, (cause, name)) in names.all().enumerate() {
        assert_eq!(cause.index(), number);
        assert_eq!(names.numbered(number as u32), Some(cause));
        assert_eq!(names.find(name), Some(cause));
    }
    assert_eq!(names.all().count(), 13);
    assert_eq!(names.numbered(13), None);
    assert_eq!(Cause::from_number(16), None);
}

#[test]
fn a_guest_names_causes() {
    let mut names = CauseNames::with(["copy", "softirq", "copy"].into_iter()).unwrap();
    assert_eq!(names.find("softirq"), Cause::from_number(13));
    names.register(14, "page-cache");
    names.register(3, "miss");
    assert_eq!(
        (names.find("page-cache"), names.find("reload")),
        (Cause::from_number(14), None)
    );
    let refused = [
        (2, "walker"),
        (15, ""),
        (15, "Big"),
        (15, "two words"),
        (15, "a-name-of-17-chars"),
        (16, "many"),
        (15, "idle"),
    ];
    for (n, (number, name)) in refused.into_iter().enumerate() {
        names.register(number, name);
        assert_eq!(names.refused(), n as u64 + 1, "{number} {name}");
    }
    let mut account = Account {
        cause: names.find("softirq").unwrap(),
        ..Account::default()
    };
    account.add(Event::Cycles, 5);
    let named = account.counters.named(&Names::GENERAL, &names);
    assert!(named.contains(&("cycles.cause.softirq".to_owned(), 5)));
    assert!(
        named
            .iter()
            .any(|(name, _)| name == "pollution.tlb.data.softirq.page-cache")
    );
    assert_eq!(CauseNames::with(["a", "b", "c", "d"].into_iter()), Err("d"));
}
