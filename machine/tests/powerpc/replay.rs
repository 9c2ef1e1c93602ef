//! Traces of other tools, written here as their formats are documented, go through the machines' TLBs and caches.

use std::collections::VecDeque;
use std::path::Path;

use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::replay::{Format, PageRules, Part, Reader, Record, Replay, Replayed, Totals};
use pagewalk_machine::{powerpc, x86};
use proptest::prelude::*;

fn machine_file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{name}.toml"))
}

fn powerpc(name: &str) -> MachineConfig {
    MachineConfig::from_file(&machine_file(name), &[]).unwrap()
}

fn x86(name: &str) -> x86::Config {
    x86::Config::from_file(&machine_file(name), &[]).unwrap()
}

/// The counters by name.
struct Counts(Vec<(String, u64)>);

impl Counts {
    fn get(&self, name: &str) -> u64 {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no counter {name}")).1
    }
}

fn rules(words: &[&str]) -> PageRules {
    PageRules::new(
        words.iter().map(|word| word.parse().unwrap()).collect(),
        None,
    )
}

fn replayed<C: Replayed>(
    config: &C::Config,
    records: &[Record],
    rules: PageRules,
    part: Part,
) -> (Counts, Totals) {
    let mut replay = Replay::<C>::new(config, rules, part).unwrap();
    for record in records {
        replay.take(record).unwrap();
    }
    replay.finish().unwrap();
    (Counts(replay.counters()), replay.totals())
}

fn fetch(address: u64) -> Record {
    Record::Fetch {
        space: 0,
        address,
        size: 4,
    }
}

fn load(address: u64) -> Record {
    Record::Load {
        space: 0,
        address,
        size: 4,
    }
}

fn store(address: u64) -> Record {
    Record::Store {
        space: 0,
        address,
        size: 4,
    }
}

/// A load from each of `pages` pages at `base`, `passes` times, by one instruction.
fn walk(base: u64, pages: u64, passes: u64) -> Vec<Record> {
    let round = (0..pages).flat_map(|page| [fetch(0x1000), load(base + (page << 12))]);
    (0..passes).flat_map(|_| round.clone()).collect()
}

/// Numbers without order.
fn scattered(count: u64, below: u64) -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    })
    .take(count as usize)
}

#[test]
fn a_tlb_counts_what_a_model_of_ten_lines_counts() {
    // A 604's TLB: 64 sets of two ways, least recently used.
    let pages: Vec<u64> = scattered(20_000, 400).collect();
    let mut sets = vec![VecDeque::new(); 64];
    let mut expected = 0;
    for page in &pages {
        let set: &mut VecDeque<u64> = &mut sets[(page % 64) as usize];
        match set.iter().position(|known| known == page) {
            Some(place) => drop(set.remove(place)),
            None => expected += 1,
        }
        set.push_front(*page);
        set.truncate(2);
    }
    let records = pages.iter().flat_map(|page| {
        let address = 0x1000_0000 + (page << 12);
        let access = if page % 3 == 0 { store } else { load };
        [fetch(0x1000_1000), access(address)]
    });
    // The instruction has a TLB of its own.
    let records: Vec<_> = records.collect();
    let (counts, totals) = replayed::<powerpc::Processor>(
        &powerpc("ppc604-185"),
        &records,
        PageRules::default(),
        Part::default(),
    );
    assert_eq!(counts.get("tlb.data.miss"), expected);
    assert_eq!(counts.get("tlb.data.access"), 20_000);
    assert_eq!(counts.get("tlb.instruction.miss"), 1);
    assert_eq!(counts.get("instructions"), 20_000);
    assert_eq!(totals.instructions, 20_000);
    assert_eq!(totals.loads + totals.stores, 20_000);
    // Each miss searches the hash table, where all pages are.
    assert_eq!(counts.get("hash.search"), expected + 1);
    assert_eq!(counts.get("hash.miss"), 0);
}

#[test]
fn pages_that_fit_miss_once() {
    for name in [
        "ppc603-133",
        "ppc604-133",
        "ppc750-400",
        "ppc405-200",
        "mpc855t-48",
        "ppc970-1600",
    ] {
        let records = walk(0x2000_0000, 16, 10);
        let (counts, totals) = replayed::<powerpc::Processor>(
            &powerpc(name),
            &records,
            PageRules::default(),
            Part::default(),
        );
        assert_eq!(counts.get("tlb.data.miss"), 16, "{name}");
        assert_eq!(counts.get("tlb.data.access"), 160, "{name}");
        assert_eq!(totals.loads, 160);
        let software = ["ppc603-133", "ppc405-200", "mpc855t-48"].contains(&name);
        assert_eq!(totals.reloads, if software { 17 } else { 0 }, "{name}");
    }
    for name in ["i486dx-50", "p6-200"] {
        let (counts, _) = replayed::<x86::Processor>(
            &x86(name),
            &walk(0x2000_0000, 16, 10),
            PageRules::default(),
            Part::default(),
        );
        assert_eq!(counts.get("tlb.data.miss"), 16, "{name}");
    }
}

#[test]
fn large_pages_reach_further() {
    // 1024 pages of 4 KB, and one of 4 MB.
    let records = walk(0x2000_0000, 1024, 3);
    let misses = |rules: PageRules| {
        let (counts, _) =
            replayed::<x86::Processor>(&x86("p6-200"), &records, rules, Part::default());
        (counts.get("tlb.data.miss"), counts.get("walk.cycles"))
    };
    let (small, small_cycles) = misses(PageRules::default());
    let (large, large_cycles) = misses(rules(&["0x20000000-0x20400000=4M"]));
    assert_eq!((small, large), (3072, 1));
    assert!(large_cycles < small_cycles / 100);
    let (counts, _) = replayed::<powerpc::Processor>(
        &powerpc("mpc855t-48"),
        &records,
        rules(&["512K"]),
        Part::default(),
    );
    assert_eq!(counts.get("tlb.data.miss"), 8);
    let (counts, _) = replayed::<powerpc::Processor>(
        &powerpc("ppc405-200"),
        &records,
        rules(&["1M"]),
        Part::default(),
    );
    assert_eq!(counts.get("tlb.data.miss"), 4);
}

#[test]
fn a_machine_without_the_page_is_no_machine_for_it() {
    let refused = |name| {
        let replay =
            Replay::<powerpc::Processor>::new(&powerpc(name), rules(&["4M"]), Part::default());
        replay.err().expect("refused")
    };
    assert!(refused("ppc604-133").contains("no pages of 4 MB"));
    let several =
        Replay::<powerpc::Processor>::new(&powerpc("ppc604-185x2"), rules(&[]), Part::default());
    assert!(several.err().expect("refused").contains("one processor"));
}

#[test]
fn the_part_that_counts() {
    let part = Part {
        skip: 5,
        warmup: 16,
        count: 3,
    };
    let (counts, totals) = replayed::<x86::Processor>(
        &x86("p6-200"),
        &walk(0x2000_0000, 16, 10),
        PageRules::default(),
        part,
    );
    assert_eq!((totals.instructions, totals.loads), (3, 3));
    assert_eq!(counts.get("instructions"), 3);
    assert_eq!(counts.get("tlb.data.miss"), 0);
    let mut replay =
        Replay::<x86::Processor>::new(&x86("p6-200"), PageRules::default(), part).unwrap();
    replay.take(&fetch(0)).unwrap();
    assert!(replay.finish().unwrap_err().contains("1 instructions"));
}

#[test]
fn address_spaces_are_apart() {
    let of = |space| {
        let address = 0x1000_0000;
        [
            fetch(0x1000),
            Record::Load {
                space,
                address,
                size: 8,
            },
        ]
    };
    let records: Vec<_> = (0..10).flat_map(|round| of(round % 2)).collect();
    let none = PageRules::default;
    let (tagged, totals) =
        replayed::<powerpc::Processor>(&powerpc("ppc604-133"), &records, none(), Part::default());
    assert_eq!(tagged.get("tlb.data.miss"), 2);
    // The instruction is of space 0, and every second access of space 1.
    assert_eq!(totals.switches, 10 - 1);
    let (flushed, _) =
        replayed::<x86::Processor>(&x86("p6-200"), &records, none(), Part::default());
    assert!(flushed.get("tlb.data.miss") > 6);
}

#[test]
fn an_invalidation_drops_a_translation() {
    let mut records = walk(0x2000_0000, 1, 5);
    records.push(Record::Invalidate {
        space: 0,
        address: 0x2000_0000,
    });
    records.extend(walk(0x2000_0000, 1, 5));
    records.push(Record::Flush);
    records.extend(walk(0x2000_0000, 1, 5));
    let none = PageRules::default;
    let (counts, totals) =
        replayed::<x86::Processor>(&x86("p6-200"), &records, none(), Part::default());
    assert_eq!(counts.get("tlb.data.miss"), 3);
    assert_eq!(totals.invalidations, 2);
    for name in ["ppc603-133", "ppc604-133", "mpc855t-48"] {
        let (counts, _) =
            replayed::<powerpc::Processor>(&powerpc(name), &records, none(), Part::default());
        assert_eq!(counts.get("tlb.data.miss"), 3, "{name}");
    }
}

#[test]
fn memory_ends() {
    let mut replay = Replay::<powerpc::Processor>::new(
        &powerpc("ppc603-133"),
        PageRules::default(),
        Part::default(),
    )
    .unwrap();
    let mut refused = None;
    for record in walk(0x1000_0000, 1 << 18, 1) {
        if let Err(why) = replay.take(&record) {
            refused = Some(why);
            break;
        }
    }
    let refused = refused.expect("RAM is full");
    assert!(refused.contains("memory.size"), "{refused}");
}

// The formats.

/// Feeds `bytes` in pieces of `piece`.
fn read_in(format: Format, bytes: &[u8], piece: usize) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut reader = Reader::new(format);
    for piece in bytes.chunks(piece) {
        reader.feed(piece, &mut |record| {
            records.push(*record);
            Ok(true)
        })?;
    }
    reader.finish()?;
    Ok(records)
}

/// The same in pieces of any length.
fn read(format: Format, bytes: &[u8]) -> Result<Vec<Record>, String> {
    let whole = read_in(format, bytes, bytes.len().max(1));
    for piece in [1, 7, 100, 1000] {
        assert_eq!(read_in(format, bytes, piece), whole, "pieces of {piece}");
    }
    whole
}

/// A record of ChampSim.
fn champsim(cloud: Option<u16>, ip: u64, loads: &[u64], stores: &[u64]) -> Vec<u8> {
    let destinations = if cloud.is_some() { 4 } else { 2 };
    let mut bytes = ip.to_le_bytes().to_vec();
    bytes.extend([1, 0]);
    bytes.resize((10 + destinations + 4_usize).next_multiple_of(8), 6);
    for (addresses, room) in [(stores, destinations), (loads, 4)] {
        let padded = addresses.iter().chain(std::iter::repeat(&0)).take(room);
        bytes.extend(padded.flat_map(|address| address.to_le_bytes()));
    }
    if let Some(space) = cloud {
        bytes.extend(space.to_le_bytes());
        bytes.extend([0; 6]);
    }
    bytes
}

#[test]
fn champsim_records() {
    let mut trace = champsim(None, 0x40_1000, &[0x7fff_0000_0008, 0x600], &[0x6000]);
    assert_eq!(trace.len(), 64);
    trace.extend(champsim(None, 0x40_1004, &[], &[]));
    let (space, size) = (0, 1);
    let expected = [
        Record::Fetch {
            space,
            address: 0x40_1000,
            size,
        },
        Record::Load {
            space,
            address: 0x7fff_0000_0008,
            size,
        },
        Record::Load {
            space,
            address: 0x600,
            size,
        },
        Record::Store {
            space,
            address: 0x6000,
            size,
        },
        Record::Fetch {
            space,
            address: 0x40_1004,
            size,
        },
    ];
    assert_eq!(read(Format::ChampSim, &trace).unwrap(), expected);
    trace.pop();
    let cut = read(Format::ChampSim, &trace).unwrap_err();
    assert!(
        cut.contains("at byte 64") && cut.contains("middle"),
        "{cut}"
    );
    assert_eq!(read(Format::ChampSim, &[]).unwrap_err(), "is empty");
    let wrong = read(Format::ChampSim, &[b'x'; 128]).unwrap_err();
    assert!(wrong.contains("no ChampSim trace"), "{wrong}");
}

#[test]
fn cloudsuite_records() {
    let trace = champsim(Some(7), 0x10, &[0x20], &[0x30, 0x40, 0x50, 0x60]);
    assert_eq!(trace.len(), 96);
    let records = read(Format::CloudSuite, &trace).unwrap();
    assert_eq!(records.len(), 6);
    let (space, size) = (7, 1);
    assert_eq!(
        records[5],
        Record::Store {
            space,
            address: 0x60,
            size
        }
    );
}

fn entry(kind: u16, size: u16, address: u64) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(size.to_le_bytes());
    bytes.extend(address.to_le_bytes());
    bytes
}

#[test]
fn drmemtrace_entries() {
    let entries = [
        entry(25, 0, 5),
        entry(28, 9, 0x240),
        entry(22, 0, 100),
        entry(24, 0, 100),
        entry(47, 3, 0x00c0_ffee),
        entry(10, 3, 0x40_1000),
        entry(0, 8, 0x7fff_0000),
        entry(17, 2, 0x0502),
        entry(24, 0, 200),
        entry(48, 2, 0x40_2000),
        entry(1, 4, 0x10),
        entry(29, 2, 0x40_2000),
        entry(2, 0, 0x9999),
        entry(24, 0, 100),
        entry(16, 1, 0x40_3000),
        entry(26, 0, 0),
    ]
    .concat();
    let fetch = |space, address, size| Record::Fetch {
        space,
        address,
        size,
    };
    let expected = [
        fetch(0, 0x40_1000, 3),
        Record::Load {
            space: 0,
            address: 0x7fff_0000,
            size: 8,
        },
        fetch(0, 0x40_1003, 2),
        fetch(0, 0x40_1005, 5),
        fetch(1, 0x40_2000, 2),
        Record::Store {
            space: 1,
            address: 0x10,
            size: 4,
        },
        Record::Repeat,
        fetch(0, 0x40_3000, 1),
    ];
    assert_eq!(read(Format::Drmemtrace, &entries).unwrap(), expected);
    let cut = read(Format::Drmemtrace, &entries[..entries.len() - 12]).unwrap_err();
    assert!(cut.contains("footer"), "{cut}");
    let cut = read(Format::Drmemtrace, &entries[..entries.len() - 5]).unwrap_err();
    assert!(cut.contains("middle"), "{cut}");
    let headless = read(Format::Drmemtrace, &entries[12..]).unwrap_err();
    assert!(headless.contains("header"), "{headless}");
    for bad in [
        entry(50, 0, 0),
        entry(17, 9, 0),
        entry(0, 0, 1),
        entry(25, 0, 99),
    ] {
        let trace = [entry(25, 0, 5), bad].concat();
        let wrong = read(Format::Drmemtrace, &trace).unwrap_err();
        assert!(wrong.contains("at byte 12"), "{wrong}");
    }
}

#[test]
fn lackey_lines() {
    let text = "==12== Lackey\n==12== \nI  0401ab70,3\n S 1fff000748,8\n M 0421db88,4\nSB 0401ab70\n\
                \u{20}L 10,16\n==12== done\n";
    let fetch = Record::Fetch {
        space: 0,
        address: 0x0401_ab70,
        size: 3,
    };
    let load = |address, size| Record::Load {
        space: 0,
        address,
        size,
    };
    let store = |address, size| Record::Store {
        space: 0,
        address,
        size,
    };
    let expected = [
        fetch,
        store(0x1f_ff00_0748, 8),
        load(0x0421_db88, 4),
        store(0x0421_db88, 4),
        load(0x10, 16),
    ];
    assert_eq!(read(Format::Lackey, text.as_bytes()).unwrap(), expected);
    for bad in [
        "I  0401ab70\n",
        " L xyz,4\n",
        " L +1,4\n",
        " L 10,0\n",
        " L 10,99999\n",
        " L ffffffffffffffff0,4\n",
        "hello\n",
        "\u{1b}[1m\n",
    ] {
        let wrong = read(Format::Lackey, bad.as_bytes()).unwrap_err();
        assert!(
            wrong.contains("line 1") && !wrong.contains('\u{1b}'),
            "{wrong}"
        );
    }
    let long = vec![b'a'; 5000];
    let wrong = read(Format::Lackey, &long).unwrap_err();
    assert!(wrong.contains("too long"), "{wrong}");
    let cut = read(Format::Lackey, b" L 10,1").unwrap_err();
    assert!(cut.contains("middle"), "{cut}");
}

#[test]
fn a_reader_stops_when_no_more_is_wanted() {
    let trace = champsim(None, 0x10, &[], &[]).repeat(10);
    let mut reader = Reader::new(Format::ChampSim);
    let mut seen = 0;
    let more = reader.feed(&trace, &mut |_| {
        seen += 1;
        Ok(seen < 3)
    });
    assert_eq!((more, seen), (Ok(false), 3));
}

#[test]
fn a_long_message_of_valgrind_is_left_out() {
    let text = format!("==1== Command: {}\n S 10,4\n", "x".repeat(5000));
    let expected = [Record::Store {
        space: 0,
        address: 0x10,
        size: 4,
    }];
    assert_eq!(read(Format::Lackey, text.as_bytes()).unwrap(), expected);
}

/// Something like a trace in this format, with mistakes.
fn damaged() -> impl Strategy<Value = (Format, Vec<u8>)> {
    let entries = prop::collection::vec((0_u16..52, any::<u16>(), any::<u64>()), 0..40);
    let entries = entries.prop_map(|entries| {
        let all = entries
            .into_iter()
            .flat_map(|(kind, size, address)| entry(kind, size, address));
        (
            Format::Drmemtrace,
            [entry(25, 0, 4), all.collect()].concat(),
        )
    });
    let addresses = prop::collection::vec(any::<(u64, u64, u64)>(), 0..40);
    let cloud = any::<Option<u16>>();
    let records = (addresses, cloud).prop_map(|(addresses, cloud)| {
        let all = addresses
            .into_iter()
            .flat_map(|(ip, load, store)| champsim(cloud, ip, &[load], &[store]));
        let format = if cloud.is_some() {
            Format::CloudSuite
        } else {
            Format::ChampSim
        };
        (format, all.collect())
    });
    let lines = prop::collection::vec("[ISLM =] [ISLM=] ?[0-9a-f]{0,18},?[0-9]{0,6}\n", 0..40);
    let lines = lines.prop_map(|lines| (Format::Lackey, lines.concat().into_bytes()));
    let plain = prop::collection::vec(any::<u8>(), 0..2000);
    let any_format = prop::sample::select(Format::ALL.map(|(_, format)| format).to_vec());
    let changed = any::<(u16, u8)>();
    let trace = prop_oneof![entries, records, lines, (any_format, plain)];
    (trace, changed).prop_map(|((format, mut bytes), (place, byte))| {
        if let Some(old) = bytes.get_mut(usize::from(place)) {
            *old = byte;
        }
        (format, bytes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_trace_ends_with_a_sentence((format, bytes) in damaged(), piece in 1_usize..600) {
        let config = x86("i486dx-50");
        let mut replay =
            Replay::<x86::Processor>::new(&config, PageRules::default(), Part::default()).unwrap();
        let mut reader = Reader::new(format);
        let mut said = Ok(true);
        for piece in bytes.chunks(piece) {
            let mut take = |record: &Record| replay.take(record).map(|()| true);
            said = reader.feed(piece, &mut take);
            if said.is_err() {
                break;
            }
        }
        let said = said.and_then(|_| reader.finish()).and_then(|()| replay.finish());
        if let Err(why) = said {
            let odd = why.is_empty() || why.contains('\x1b');
            prop_assert!(!odd, "{why}");
        }
        prop_assert!(replay.totals().loads <= bytes.len() as u64);
    }
}
