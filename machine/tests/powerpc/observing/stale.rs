//! What the translation sanitizer remembers, and what it says when that is too much.

use pagewalk_machine::memory::Ram;
use pagewalk_machine::observe::stale::{
    FILLS_MOST, Flush, Key, Origin, Rules, Side, Stale, THREADS_MOST, Truth, Use, Verdict,
    WORDS_MOST, Who,
};

const RULES: Rules = Rules {
    grain: 2,
    big_endian: false,
    gives: Some(|_, _, now| now != 0),
    levels: &["table"],
    global: "",
};

fn stale() -> Stale {
    Stale::new(RULES, true)
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

/// A thread takes a page away, and goes back to user mode without a flush; then the page's frame is read as a table.
#[test]
fn reuse_alone_does_not_report_a_flush_that_is_late() {
    const WORD: u32 = 0x40;
    const FRAME: u32 = 0x3000;
    for late in [true, false] {
        let mut stale = Stale::new(RULES, late);
        let mut ram = Ram::new(0x10000);
        ram.bytes_mut()[WORD as usize] = 1;
        let mut origin = Origin::new(0);
        origin.push(WORD, 1);
        stale.filled(key(7), Who::default(), origin, FRAME.into(), false);
        stale.storing((WORD, 4), &ram, false, Who::default);
        ram.bytes_mut()[WORD as usize] = 0;
        stale.returned(0);
        let used = |stale: &mut Stale| {
            let access = Use {
                key: key(7),
                address: 0x7000,
                frame: FRAME.into(),
                access: "a read of",
            };
            let gone = Truth::Other {
                root: 0,
                now: "has gone",
                frame: None,
                gone: true,
                change: None,
            };
            stale.judge(access, Who::default(), &gone, &ram)
        };
        assert_eq!(used(&mut stale) == Verdict::Stop, late);
        stale.transferred(FRAME);
        assert_eq!(used(&mut stale) == Verdict::Stop, !late);
        assert_eq!(stale.findings().len(), 1);
    }
}
