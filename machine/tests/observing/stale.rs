//! What the translation sanitizer remembers, and what it says when that is too much.

use pagewalk_machine::observe::stale::{
    FILLS_MOST, Flush, Key, Origin, Rules, Side, Stale, THREADS_MOST, WORDS_MOST, Who,
};

fn stale() -> Stale {
    Stale::new(Rules {
        grain: 2,
        big_endian: false,
        gives: Some(|_, _, _| true),
        levels: &["table"],
        global: "",
    })
}

fn fill(stale: &mut Stale, page: u32, words: u32) {
    let mut origin = Origin::new(0);
    for n in 0..words {
        origin.push(4 * (page * words + n), 0);
    }
    stale.filled(key(page), Who::default(), origin, 0, false);
}

fn key(page: u32) -> Key {
    Key {
        page: u64::from(page) << 12,
        shift: 12,
        space: 0,
        side: Side::Data,
    }
}

#[test]
fn words_are_watched_as_long_as_entries_come_from_them() {
    let mut stale = stale();
    fill(&mut stale, 0, 2);
    fill(&mut stale, 1, 2);
    assert_eq!(stale.watched_words(), 4);
    stale.flushed(Who::default(), Flush::Page(0x800, None));
    assert_eq!(stale.watched_words(), 2);
    // Another entry of the same page, of other words.
    let mut origin = Origin::new(0);
    origin.push(0x4000, 0);
    stale.filled(key(1), Who::default(), origin, 0, false);
    assert_eq!(stale.watched_words(), 1);
    stale.flushed(Who::default(), Flush::All);
    assert_eq!(stale.watched_words(), 0);
}

#[test]
fn entries_that_others_have_replaced_are_forgotten() {
    let mut stale = stale();
    let mut page = 0;
    while !stale.wants_sweep(0) {
        fill(&mut stale, page, 1);
        page += 1;
    }
    stale.sweep(0, vec![key(3), key(5), key(page)]);
    assert_eq!(stale.watched_words(), 2);
    assert!(!stale.wants_sweep(0));
    assert_eq!(stale.limits(), None);
}

#[test]
fn a_run_says_what_it_forgot() {
    let mut full = stale();
    for page in 0..=FILLS_MOST as u32 {
        fill(&mut full, page, 1);
    }
    let said = full.limits().unwrap();
    let entries = format!("{FILLS_MOST} entries were forgotten");
    assert!(said.contains(&entries), "{said}");
    assert!(said.contains("may have missed"), "{said}");
    assert_eq!(full.watched_words(), 1);

    let mut full = stale();
    for thread in 0..=THREADS_MOST as u64 {
        full.returned(thread);
    }
    let said = full.limits().unwrap();
    assert!(said.contains("threads were forgotten"), "{said}");

    // Of many processors, as one has not so many entries.
    let mut full = stale();
    for n in 0..=WORDS_MOST as u32 / 4 {
        let mut origin = Origin::new(0);
        for word in 0..4 {
            origin.push(16 * n + 4 * word, 0);
        }
        let who = Who {
            processor: (n >> 15) as u8,
            ..Who::default()
        };
        full.filled(key(n), who, origin, 0, false);
    }
    let said = full.limits().unwrap();
    assert!(
        said.contains("4 words of page tables were not watched"),
        "{said}"
    );
}
