//! The translation sanitizer: which uses of a TLB's entry it reports, and which it must not report.

use pagewalk_machine::x86::registers::{cr0, cr4};
use pagewalk_machine::x86::{Fatal, Stop};

use super::bench::{Bench, CODE, CODE3, DATA, DATA3, DIRECTORY, STACK, TABLE, config};

const PAGE: u32 = DATA >> 12;
/// The word of [`DATA`]'s page, and that of another page.
const WORD: u32 = TABLE + 4 * PAGE;
const ALIAS: u32 = DATA + 0x4000;
const USER: u32 = CODE + 0x400;
const END: u32 = 0x80;
/// A second table that is like the first.
const OTHER: u32 = 0x5_6000;
/// Present, may be written, a user's, accessed, dirty.
const GOOD: u32 = DATA | 0x67;

/// Code as bytes.
#[derive(Clone, Default)]
struct Code(Vec<u8>);

impl Code {
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn with(self, opcode: &[u8], value: u32) -> Self {
        self.bytes(opcode).bytes(&value.to_le_bytes())
    }

    /// mov eax, [address]
    fn read(self, address: u32) -> Self {
        self.with(&[0xa1], address)
    }

    /// mov dword [address], value
    fn write(self, address: u32, value: u32) -> Self {
        self.with(&[0xc7, 0x05], address)
            .bytes(&value.to_le_bytes())
    }

    /// invlpg [address]
    fn flush(self, address: u32) -> Self {
        self.with(&[0x0f, 0x01, 0x3d], address)
    }

    /// mov eax, cr3; mov cr3, eax
    fn flush_all(self) -> Self {
        self.bytes(&[0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8])
    }

    /// mov eax, DATA3; mov ds, eax; iret to ring 3
    fn ends_in_user_mode(self) -> Self {
        let this = self.with(&[0xb8], DATA3.into()).bytes(&[0x8e, 0xd8]);
        let frame = [DATA3.into(), STACK, 2, CODE3.into(), USER];
        frame
            .into_iter()
            .fold(this, |code, word| code.with(&[0x68], word))
            .bytes(&[0xcf])
    }

    /// Writes the whole page at `address`: cld; mov edi, address; mov ecx, 1024; rep stosd
    fn fill(self, address: u32) -> Self {
        self.with(&[0xfc, 0xbf], address)
            .with(&[0xb9], 1024)
            .bytes(&[0xf3, 0xab])
    }
}

/// A kernel that has used the page, does `kernel`, and goes to a program that does `user`.
fn bench(name: &str, kernel: Code, user: Code) -> Bench {
    bench_with(name, &[], kernel, user)
}

/// The same on a machine with these keys.
fn bench_with(name: &str, keys: &[&str], kernel: Code, user: Code) -> Bench {
    let kernel = kernel.ends_in_user_mode();
    let mut bench = Bench::with(&config(name, keys), &kernel.0)
        .paged(6)
        .gate(END, 3)
        .gate(14, 0);
    bench.put(USER, &user.bytes(&[0xcd, END as u8]).0);
    for page in 0..512 {
        bench.put_word(OTHER + 4 * page, page << 12 | 0x67);
    }
    bench.put_word(WORD, GOOD);
    bench.put_word(TABLE + 4 * (ALIAS >> 12), GOOD);
    bench.registers().cr0 |= cr0::WP;
    bench.processor().modes_changed();
    bench
}

fn uses() -> Code {
    Code::default().write(DATA, 1)
}

/// Runs to the end or to a report.
fn checked(mut bench: Bench) -> (Option<String>, Bench) {
    bench.machine.sanitize("translation".parse().unwrap());
    let report = match bench.run(100_000) {
        Stop::Fatal(Fatal::Sanitizer { report }) => Some(report),
        Stop::Fatal(Fatal::Asleep { .. }) => None,
        stop => panic!("{stop:?}"),
    };
    (report, bench)
}

const CORES: [&str; 2] = ["i486dx-50", "p6-200"];

#[track_caller]
fn is_reported(kernel: Code, user: Code, words: &[&str]) {
    for name in CORES {
        let (report, _) = checked(bench(name, kernel.clone(), user.clone()));
        let report = report.expect(name);
        for word in words {
            assert!(report.contains(word), "{name}: {word} in\n{report}");
        }
    }
}

#[track_caller]
fn is_silent(kernel: Code, user: Code) {
    for name in CORES {
        let (report, ran) = checked(bench(name, kernel.clone(), user.clone()));
        assert_eq!(report, None, "{name}");
        // It has changed no count.
        let mut plain = bench(name, kernel.clone(), user.clone());
        plain.run(100_000);
        assert_eq!(plain.machine.counters(), ran.machine.counters(), "{name}");
        assert_eq!(plain.machine.instant(), ran.machine.instant(), "{name}");
    }
}

#[test]
fn a_page_that_is_no_longer_present_is_reported() {
    is_reported(
        uses().write(WORD, 0),
        Code::default().read(DATA),
        &[
            "stale translation (late): a read of 0x00020000",
            "no longer present",
            "table at 0x00051080 = 0x00020067",
            "word 0x00051080 from 0x00020067 to 0x00000000",
            "none since the change",
        ],
    );
}

#[test]
fn a_right_that_was_taken_away_is_reported() {
    is_reported(
        uses().write(WORD, GOOD & !2),
        Code::default().write(DATA, 2),
        &[
            "a write to 0x00020000",
            "rights that the table no longer gives",
        ],
    );
    // A read needs less.
    is_silent(uses().write(WORD, GOOD & !2), Code::default().read(DATA));
    // A read before it does not hide the write.
    is_reported(
        uses().write(WORD, GOOD & !2),
        Code::default().read(DATA).write(DATA, 2),
        &["a write to"],
    );
}

#[test]
fn another_frame_and_other_cache_attributes_are_reported() {
    is_reported(
        uses().write(WORD, GOOD + 0x1000),
        Code::default().read(DATA),
        &["another page frame", "the page is at 0x00021000"],
    );
    is_reported(
        uses().write(WORD, GOOD | 0x10),
        Code::default().read(DATA),
        &["other cache attributes"],
    );
}

#[test]
fn a_write_that_the_table_does_not_learn_of_is_reported() {
    is_reported(
        uses().write(WORD, GOOD & !0x40),
        Code::default().write(DATA, 2),
        &["the write will be lost"],
    );
    is_silent(uses().write(WORD, GOOD & !0x40), Code::default().read(DATA));
    // A alone tells of no write.
    is_silent(
        uses().write(WORD, GOOD & !0x20),
        Code::default().write(DATA, 2),
    );
}

#[test]
fn a_table_that_was_taken_away_is_reported() {
    is_silent(
        uses().write(DIRECTORY, OTHER | 7),
        Code::default().read(DATA),
    );
    is_reported(
        uses()
            .write(OTHER + 4 * PAGE, 0)
            .write(DIRECTORY, OTHER | 7),
        Code::default().read(DATA),
        &["directory at 0x00050000", "word 0x00050000 from"],
    );
}

#[test]
fn flushes_are_silent_and_misses_are_told() {
    let user = || Code::default().read(ALIAS);
    let change = || uses().write(WORD, GOOD & !2).flush(DATA);
    is_silent(change(), user());
    is_silent(
        uses().write(WORD, GOOD + 0x1000).flush_all(),
        Code::default().read(DATA),
    );
    is_reported(
        uses().write(WORD, 0).flush(DATA + 0x1000),
        Code::default().read(DATA),
        &["page 0x00021000: another page"],
    );
    is_reported(
        uses()
            .flush(DATA)
            .write(DATA, 3)
            .write(WORD, 0)
            .flush(ALIAS),
        Code::default().read(DATA),
        &["page 0x00024000: another page"],
    );
}

#[test]
fn what_takes_nothing_away_is_silent() {
    // More rights, and the value that it had.
    let reads = Code::default()
        .write(WORD, GOOD & !0x42)
        .flush(DATA)
        .read(DATA);
    is_silent(reads.write(WORD, GOOD), Code::default().write(DATA, 4));
    is_silent(
        uses().write(WORD, 0).write(WORD, GOOD),
        Code::default().write(DATA, 4),
    );
    // An entry that nobody uses.
    is_silent(uses().write(WORD, 0), Code::default().read(ALIAS));
    // A page that becomes present.
    is_silent(
        Code::default().write(WORD, 0).flush(DATA).write(WORD, GOOD),
        Code::default().write(DATA, 4),
    );
}

#[test]
fn within_the_window_only_a_reuse_is_reported() {
    is_silent(
        uses().write(WORD, 0).read(DATA).flush(DATA),
        Code::default(),
    );
    is_silent(
        uses()
            .write(WORD, GOOD + 0x1000)
            .write(ALIAS, 0)
            .read(DATA)
            .flush(DATA),
        Code::default(),
    );
    is_reported(
        uses().write(WORD, 0).fill(ALIAS).read(DATA),
        Code::default(),
        &["(reuse)", "another use"],
    );
    // A program's writes are no reuse: the page may be shared.
    is_silent(
        uses().fill(ALIAS).write(WORD, 0).read(DATA).flush(DATA),
        Code::default(),
    );
}

#[test]
fn entries_of_large_pages_are_checked_and_a_split_is_none() {
    let prepare = |kernel: Code, user: Code| {
        let mut bench = bench("p6-200", kernel, user);
        bench.put_word(DIRECTORY, 0xe7);
        bench.registers().cr4 |= cr4::PSE;
        bench.processor().modes_changed();
        bench
    };
    let split = uses().write(DIRECTORY, OTHER | 7);
    let (report, _) = checked(prepare(split.clone(), Code::default().write(DATA, 2)));
    assert_eq!(report, None);
    let wrong = uses()
        .write(OTHER + 4 * PAGE, GOOD + 0x1000)
        .write(DIRECTORY, OTHER | 7);
    let (report, _) = checked(prepare(wrong, Code::default().read(DATA)));
    let report = report.unwrap();
    assert!(report.contains("page 0x00000000 of 4096 KB"), "{report}");
    // A flush of one of its pages removes the large one.
    let (report, _) = checked(prepare(split.flush(DATA), Code::default().write(DATA, 2)));
    assert_eq!(report, None);
}

#[test]
fn a_global_entry_is_good_while_its_last_word_is() {
    let prepare = |kernel: Code, user: Code| {
        let mut bench = bench("p6-200", kernel, user);
        // A second directory, which has no word for the second 4 MB.
        bench.put_word(0x5_4000, TABLE | 7);
        bench.put_word(DIRECTORY + 4, 0x5_3007);
        bench.put_word(0x5_3000, GOOD | 0x100);
        bench.registers().cr4 |= cr4::PGE;
        bench.processor().modes_changed();
        bench
    };
    const GLOBAL: u32 = 0x40_0000;
    let switch = |code: Code| code.with(&[0xb8], 0x5_4000).bytes(&[0x0f, 0x22, 0xd8]);
    let kernel = switch(Code::default().read(GLOBAL));
    // A store to another word makes nothing suspect; one of the same value does.
    let touched = kernel.clone().write(0x5_3000, GOOD | 0x100);
    let (report, _) = checked(prepare(touched, Code::default().read(GLOBAL)));
    assert_eq!(report, None);
    let unflushed = kernel.clone().write(0x5_3000, 0);
    let (report, _) = checked(prepare(unflushed, Code::default().read(GLOBAL)));
    let report = report.unwrap();
    assert!(report.contains("(global)"), "{report}");
    assert!(report.contains("a write of CR3 keeps it"), "{report}");
    let (report, _) = checked(prepare(
        kernel.write(0x5_3000, 0).flush_all(),
        Code::default().read(GLOBAL),
    ));
    let report = report.unwrap();
    assert!(report.contains("it keeps global entries"), "{report}");
}

const SECOND: &str = "tlb.l2={ entries = 256, ways = 4, hit = 5, miss = 2 }";

/// A kernel with a second-level TLB that does `kernel`, and a program that reads the page.
fn with_second(settings: &[&str], kernel: Code) -> Bench {
    let config = super::bench::config("p6-200", settings);
    let mut bench = Bench::with(&config, &kernel.ends_in_user_mode().0)
        .paged(6)
        .gate(END, 3)
        .gate(14, 0);
    let user = Code::default().read(DATA).bytes(&[0xcd, END as u8]);
    bench.put(USER, &user.0);
    bench.put_word(WORD, GOOD);
    for page in 0..512 {
        bench.put_word(OTHER + 4 * page, page << 12 | 0x67);
    }
    bench
}

/// Reads pages that take the places of the page's entry in the first level.
fn evicts(code: Code) -> Code {
    (1..=8).fold(code, |code, n| code.read(DATA + n * 0x1_0000))
}

#[test]
fn a_copy_of_an_entry_that_was_right_within_the_window_is_judged_again() {
    let kernel = evicts(uses()).write(WORD, 0).read(DATA);
    let (report, _) = checked(with_second(&[SECOND], kernel.clone()));
    let report = report.unwrap();
    assert!(report.contains("(late): a read of 0x00020000"), "{report}");
    let (report, _) = checked(with_second(&[SECOND], kernel.flush(DATA)));
    assert_eq!(report, None);
}

#[test]
fn an_entry_that_a_walk_cache_made_is_suspect_in_both_levels() {
    let kernel = Code::default()
        .read(ALIAS)
        .write(OTHER + 4 * PAGE, 0)
        .write(DIRECTORY, OTHER | 7)
        .read(DATA);
    let settings = [SECOND, "walk.walker='walk-cache'"];
    let (report, _) = checked(with_second(&settings, evicts(kernel)));
    let report = report.unwrap();
    assert!(report.contains("(late): a read of 0x00020000"), "{report}");
    assert!(report.contains("second-level TLB"), "{report}");
}

#[test]
fn a_second_level_tlb_and_a_walk_cache_are_checked_too() {
    let settings = [
        "tlb.l2={ entries = 64, ways = 4, hit = 5, miss = 2 }",
        "walk.walker='walk-cache'",
    ];
    for setting in settings {
        let config = super::bench::config("p6-200", &[setting]);
        let kernel = uses().write(WORD, 0).ends_in_user_mode();
        let mut bench = Bench::with(&config, &kernel.0)
            .paged(6)
            .gate(END, 3)
            .gate(14, 0);
        bench.put(
            USER,
            &Code::default().read(DATA).bytes(&[0xcd, END as u8]).0,
        );
        bench.put_word(WORD, GOOD);
        let (report, _) = checked(bench);
        assert!(report.unwrap().contains("no longer present"), "{setting}");
    }
}

/// What the machine reports with this key of `[tlb.extreme]`, and without it.
fn with_and_without(key: &str, kernel: &Code, user: &Code) -> [Option<String>; 2] {
    let keys: [&[&str]; 2] = [&[key], &[]];
    keys.map(|keys| checked(bench_with("p6-200", keys, kernel.clone(), user.clone())).0)
}

#[test]
fn an_entry_that_a_real_tlb_has_displaced_is_kept() {
    // Five pages of the same set, of four ways; the kernel has changed the word of the first without a flush.
    let kernel = uses().write(WORD, GOOD & !2);
    let others = (1..6).fold(Code::default(), |code, n| code.read(DATA + n * 0x1_0000));
    let user = others.write(DATA, 2);
    let [kept, real] = with_and_without("tlb.extreme.keep=until-flushed", &kernel, &user);
    assert_eq!(real, None);
    assert!(kept.unwrap().contains("no longer gives"));
}

#[test]
fn a_walk_ahead_loads_a_page_that_the_kernel_takes_for_unused() {
    const NEXT: u32 = WORD + 4;
    let next = (DATA + 0x1000) | 0x67;
    let user = Code::default().read(DATA + 0x1000);
    let kernel = |word: u32| {
        let before = Code::default().write(NEXT, word).flush(DATA + 0x1000);
        before.read(DATA).write(NEXT, 0)
    };
    let [ahead, real] = with_and_without("tlb.extreme.ahead=true", &kernel(next), &user);
    assert_eq!(real, None);
    assert!(ahead.unwrap().contains("no longer present"));
    // A walk ahead writes nothing: a page that was not used before stays where it is.
    let [fresh, _] = with_and_without("tlb.extreme.ahead=true", &kernel(next & !0x60), &user);
    assert_eq!(fresh, None);
}

#[test]
fn entries_may_leave_at_any_exception() {
    for seed in 1..5 {
        let key = format!("tlb.extreme.evict={seed}");
        let kernel = uses().write(WORD, 0).flush(DATA);
        let [with, without] = with_and_without(&key, &kernel, &Code::default().read(ALIAS));
        assert_eq!((with, without), (None, None));
    }
}
