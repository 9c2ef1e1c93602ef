//! Machine files: those that ship are right, and wrong ones are refused with file, line, key and
//! what is allowed.

use std::path::{Path, PathBuf};

use pagewalk_machine::config::{ConfigError, CoreKind, MachineConfig, Override};
use pagewalk_machine::{riscv, x86};

fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines")
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(machines().join(format!("{name}.toml"))).unwrap()
}

/// The message for `name` after replacing `from` by `to`, which must occur.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let text = text_of(name);
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "{from} is in the file");
    MachineConfig::from_toml(&changed, "m.toml", &[])
        .unwrap_err()
        .to_string()
}

fn line_of(name: &str, needle: &str) -> usize {
    text_of(name)
        .lines()
        .position(|line| line.contains(needle))
        .unwrap()
        + 1
}

fn with_settings(name: &str, settings: &[&str]) -> Result<MachineConfig, ConfigError> {
    let settings: Vec<Override> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    MachineConfig::from_file(&machines().join(format!("{name}.toml")), &settings)
}

#[test]
fn every_shipped_machine_is_accepted() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(machines()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
            && !x86::Config::is_of_file(&path).unwrap()
            && !riscv::Config::is_of_file(&path).unwrap()
        {
            MachineConfig::from_file(&path, &[]).unwrap();
            names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
    names.sort();
    assert_eq!(
        names,
        [
            "mpc855t-48",
            "ppc405-200",
            "ppc603-133",
            "ppc603-180",
            "ppc604-132",
            "ppc604-133",
            "ppc604-185",
            "ppc604-185x2",
            "ppc604-200",
            "ppc604-200x4",
            "ppc604-200x4-l2",
            "ppc750-400",
            "ppc750-400x2",
            "ppc970-1600"
        ]
    );
}

#[test]
fn every_key_names_its_source() {
    for entry in std::fs::read_dir(machines()).unwrap() {
        let path = entry.unwrap().path();
        for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let key = line.contains(" = ") && !line.starts_with(['#', 'd']);
            assert!(
                !key || line.contains("  # "),
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
}

#[test]
fn the_papers_machines_have_its_memory_and_clocks() {
    for (name, clock, software) in [
        ("ppc603-133", 133_333_333, true),
        ("ppc603-180", 180_000_000, true),
        ("ppc604-133", 133_333_333, false),
        ("ppc604-185", 185_000_000, false),
        ("ppc604-200", 200_000_000, false),
    ] {
        let config = with_settings(name, &[]).unwrap();
        assert_eq!(config.memory.size, 32 << 20, "{name}");
        assert_eq!(config.core.clock, clock, "{name}");
        assert_eq!(config.core.kind.software_reload(), software, "{name}");
        assert_eq!(
            config.tlb.data.sets(),
            if software { 32 } else { 64 },
            "{name}"
        );
    }
}

#[test]
fn an_unknown_key_names_line_choices_and_the_nearest() {
    let message = refusal("ppc604-185", "\nentries = 128", "\nentires = 128");
    let line = line_of("ppc604-185", "entries = 128");
    assert_eq!(
        message,
        format!(
            "m.toml:{line}: unknown key `entires`, expected one of `entries`, `ways`, `replacement` (nearest: `entries`)"
        )
    );
}

#[test]
fn a_missing_key_and_a_wrong_type_name_the_line() {
    let message = refusal("ppc604-185", "\nentries = 128", "\n# entries = 128");
    assert_eq!(
        message,
        format!(
            "m.toml:{}: missing key `entries`",
            line_of("ppc604-185", "[tlb.instruction]")
        )
    );
    let message = refusal("ppc604-185", "clock = 185000000", "clock = \"fast\"");
    let line = line_of("ppc604-185", "clock = 185000000");
    assert_eq!(
        message,
        format!("m.toml:{line}: `fast` is not a whole number from 1000000 to 4000000000")
    );
    let message = refusal("ppc604-185", "kind = \"604e\"", "kind = \"605\"");
    assert!(
        message.contains("unknown name `605`, expected one of `603`, `603e`, `604`, `604e`, `750`"),
        "{message}"
    );
}

#[test]
fn sizes_that_hardware_cannot_have_are_refused() {
    let message = refusal("ppc604-185", "\nentries = 128", "\nentries = 100");
    let line = line_of("ppc604-185", "entries = 128");
    assert_eq!(
        message,
        format!(
            "m.toml:{line}: `tlb.instruction.entries` is 100: allowed are powers of two from 1 to 4096"
        )
    );
    let message = refusal("ppc604-185", "core-to-bus = 3.0", "core-to-bus = 2.7");
    assert!(
        message.ends_with("`bus.core-to-bus` is 2.7: allowed are multiples of 0.5 from 1 to 20"),
        "{message}"
    );
    let message = refusal("ppc604-185", "target-entries = 64", "target-entries = 128");
    assert!(
        message.ends_with("`branch.target-entries` is 128: allowed are powers of two from 2 to 64"),
        "{message}"
    );
    let message = refusal("ppc604-185", "size = 0x0200_0000", "size = 5000");
    assert!(
        message
            .ends_with("`memory.size` is 5000: allowed are multiples of 4096 from 1 MiB to 1 GiB"),
        "{message}"
    );
}

#[test]
fn impossible_combinations_are_refused() {
    let message = refusal("ppc603-133", "\nways = 2 ", "\nways = 4 ");
    let line = line_of("ppc603-133", "ways = 2");
    assert_eq!(
        message,
        format!(
            "m.toml:{line}: `tlb.instruction.ways` is 4: core.kind \"603e\" names a way by the single bit SRR1[WAY]; allowed are 1 and 2"
        )
    );
    let text = text_of("ppc604-185")
        .replace("ways = 4 ", "ways = 32 ")
        .replacen("size = 32768", "size = 512", 1);
    let message = MachineConfig::from_toml(&text, "m.toml", &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.ends_with("`cache.instruction.ways` is 32: 32 ways of 32-byte lines do not fit the size, which is 512"),
        "{message}"
    );
    let message = refusal("ppc750-400", "line = 32", "line = 64");
    assert!(
        message
            .ends_with("`cache.instruction.line` is 64: allowed is cache.data.line, which is 32"),
        "{message}"
    );
    let message = refusal("ppc604-185", "[walk]", "[cache.walk]");
    assert!(message.contains("unknown key `walk`"), "{message}");
}

#[test]
fn a_setting_changes_what_it_names() {
    let config = with_settings(
        "ppc604-185",
        &[
            "tlb.data.entries=32",
            "core.kind=604",
            "bus.core-to-bus=1.5",
            "cache.data.replacement=pseudo-lru",
        ],
    )
    .unwrap();
    assert_eq!(config.tlb.data.entries, 32);
    assert_eq!(config.tlb.instruction.entries, 128);
    assert_eq!(config.core.kind, CoreKind::Ppc604);
    assert_eq!(config.bus.core_cycles(3), 5);
}

#[test]
fn a_wrong_setting_is_named() {
    for (settings, expected) in [
        (
            &["tlb.data.entires=32"][..],
            "--set tlb.data.entires=32: unknown key `entires`, expected one of `entries`, `ways`, `replacement` (nearest: `entries`)",
        ),
        (
            &["tlb.data.entries=48"],
            "--set tlb.data.entries=48: `tlb.data.entries` is 48: allowed are powers of two from 1 to 4096",
        ),
        (
            &["memory.size=0x400000", "tlb.data.entries=1"],
            "--set tlb.data.entries=1: `tlb.data.ways` is 2: allowed are 1 to the entries, which are 1",
        ),
        (
            &["core.clock.rate=3"],
            "--set core.clock.rate=3: `clock` holds a value, not a table of keys",
        ),
        (
            &["core.kind=603"],
            "--set core.kind=603: `walk` does not go with core.kind \"603\", whose TLBs software reloads: remove [walk]",
        ),
    ] {
        assert_eq!(
            with_settings("ppc604-185", settings)
                .unwrap_err()
                .to_string(),
            expected
        );
    }
    assert_eq!(
        with_settings("ppc603-133", &["core.kind=604"])
            .unwrap_err()
            .to_string(),
        "--set core.kind=604: `core.kind` is \"604\", which walks the hash table in hardware: add [walk] with start, access, finish, whole-line, cached"
    );
    for (machine, kind) in [("ppc603-133", "603e"), ("mpc855t-48", "8xx")] {
        assert_eq!(
            with_settings(machine, &["walk.walker=walk-cache"])
                .unwrap_err()
                .to_string(),
            format!(
                "--set walk.walker=walk-cache: `walk` does not go with core.kind \"{kind}\", whose TLBs software reloads"
            )
        );
    }
    // The kind that counts is the one after all settings.
    let text = with_settings("ppc603-133", &["walk.start=1", "core.kind=604"])
        .unwrap_err()
        .to_string();
    assert!(text.contains("missing key"), "{text}");
    assert!(Override::parse("tlb.data.entries").is_err());
    assert!(Override::parse("tlb..entries=3").is_err());
}

#[test]
fn a_value_of_the_wrong_kind_is_told_in_plain_english() {
    for (setting, expected) in [
        ("processors=two", "`two` is not a whole number from 1 to 8"),
        ("processors=-1", "`-1` is not a whole number from 1 to 8"),
        (
            "processors=",
            "an empty value is not a whole number from 1 to 8",
        ),
        (
            "memory.size=1e99",
            "`1e99` is not one of the multiples of 4096 from 1 MiB to 1 GiB",
        ),
        (
            "tlb.data.entries=-2",
            "`-2` is not one of the powers of two from 1 to 4096",
        ),
        (
            "core.pvr=x",
            "`x` is not a whole number from 0 to 4294967295",
        ),
        ("bus.core-to-bus=two", "`two` is not a number"),
        ("walk.cached=inf", "`inf` is not true or false"),
        ("tlb.data=3", "`3` is not a table of keys"),
    ] {
        assert_eq!(
            with_settings("ppc604-185", &[setting])
                .unwrap_err()
                .to_string(),
            format!("--set {setting}: {expected}")
        );
    }
}

/// The dotted paths of all values of a machine file.
fn paths(table: &toml::Table, above: &str) -> Vec<String> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            toml::Value::Table(inner) => paths(inner, &format!("{above}{key}.")),
            _ => vec![format!("{above}{key}")],
        })
        .collect()
}

#[test]
fn no_value_of_any_key_shows_the_reader_s_own_words() {
    for name in ["ppc604-185", "ppc603-133", "mpc855t-48"] {
        let table: toml::Table = toml::from_str(&text_of(name)).unwrap();
        for path in paths(&table, "") {
            for value in [
                "",
                "nan",
                "-inf",
                "1e99",
                "-1",
                "1.5",
                "true",
                "\u{663}",
                "\u{1f4a5}",
                "99999999999999999999",
                "[1]",
                "{a=1}",
                "1979-05-27",
                "''",
            ] {
                let setting = format!("{path}={value}");
                let Err(error) = with_settings(name, &[&setting]) else {
                    continue;
                };
                let message = error.to_string();
                for word in [
                    "invalid type",
                    "invalid value",
                    "variant",
                    "struct ",
                    "floating",
                    "string",
                    "u32",
                    "u64",
                ] {
                    assert!(!message.contains(word), "{message}");
                }
            }
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = MachineConfig::from_file(Path::new("no/such.toml"), &[]).unwrap_err();
    assert!(error.to_string().starts_with("no/such.toml: "), "{error}");
}

/// The 8xx's TLBs have an index of five bits and no ways; its bus, lines and caches are its own; it walks nothing.
#[test]
fn an_8xx_is_none_of_the_others() {
    const NAME: &str = "mpc855t-48";
    let config = with_settings(NAME, &[]).unwrap();
    assert_eq!(config.core.kind, CoreKind::Mpc8xx);
    assert_eq!((config.core.clock, config.tlb.data.sets()), (48_000_000, 1));
    assert!(!config.core.kind.hash_walk() && !config.core.kind.software_reload());
    let lines = |needle: &str| {
        let text = text_of(NAME);
        let found = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(needle));
        found.map(|(number, _)| number + 1).collect::<Vec<_>>()
    };
    for (from, to, line, words) in [
        (
            "entries = 32",
            "entries = 64",
            lines("entries = 32")[0],
            "`tlb.instruction.entries` is 64: allowed are powers of two from 8 to 32",
        ),
        (
            "ways = 32",
            "ways = 4",
            lines("ways = 32")[0],
            "`tlb.instruction.ways` is 4: the TLBs of core.kind \"8xx\" are fully associative; allowed is tlb.instruction.entries, which is 32",
        ),
        (
            "replacement = \"lru\"",
            "replacement = \"pseudo-lru\"",
            lines("replacement = \"lru\"")[0],
            "`cache.instruction.replacement` is not \"lru\", which core.kind \"8xx\" has",
        ),
        (
            "line = 16",
            "line = 32",
            lines("line = 16")[0],
            "`cache.instruction.line` is 32: core.kind \"8xx\" has lines of 16",
        ),
        (
            "width = 4",
            "width = 8",
            lines("width = 4")[0],
            "`bus.width` is 8: the bus of core.kind \"8xx\" has 4 bytes",
        ),
        (
            "[bus]",
            "[walk]\nstart = 1\naccess = 1\nfinish = 1\nwhole-line = true\ncached = true\n\n[bus]",
            lines("[bus]")[0],
            "`walk` does not go with core.kind \"8xx\", whose TLBs software reloads: remove [walk]",
        ),
        (
            "[bus]",
            "[cache.l2]\nsize = 262144\nways = 2\nline = 16\nplace = \"back-side\"\nreplacement = \"lru\"\nfirst-beat = 1\nnext-beat = 1\nmiss = 1\n\n[bus]",
            lines("[bus]")[0],
            "`cache.l2` does not go with core.kind \"8xx\", which has none: remove [cache.l2]",
        ),
    ] {
        assert_eq!(refusal(NAME, from, to), format!("m.toml:{line}: {words}"));
    }
    with_settings(
        NAME,
        &[
            "tlb.data.entries=8",
            "tlb.data.ways=8",
            "tlb.instruction.entries=16",
            "tlb.instruction.ways=16",
        ],
    )
    .unwrap();
}

/// A 405 has one TLB of 64 entries behind fully associative ones; its board, bus, lines and caches are its own.
#[test]
fn a_405_is_none_of_the_others() {
    const NAME: &str = "ppc405-200";
    let config = with_settings(NAME, &[]).unwrap();
    assert_eq!(config.core.kind, CoreKind::Ppc405);
    assert!(!config.core.kind.hash_walk() && !config.core.kind.software_reload());
    for (setting, words) in [
        (
            "tlb.unified.entries=32",
            "`tlb.unified.entries` is 32: core.kind \"405\" has 64",
        ),
        (
            "tlb.data.ways=2",
            "the shadow TLBs of core.kind \"405\" are fully associative; allowed is tlb.data.entries, which is 8",
        ),
        (
            "tlb.data.replacement=fifo",
            "replaced round robin: remove it",
        ),
        (
            "tlb.l2.entries=128",
            "does not go with core.kind \"405\", whose unified TLB is behind",
        ),
        (
            "tlb.data.entries=128",
            "`tlb.data.entries` is 128: allowed are powers of two from 2 to 64",
        ),
        (
            "tlb.unified.data-refill=1001",
            "`tlb.unified.data-refill` is 1001: allowed are 0 to 1000",
        ),
        (
            "tlb.unified.page-size=1024",
            "unknown key `page-size`, expected one of `entries`, `ways`, `instruction-refill`, `data-refill`",
        ),
        ("bat.entries=4", "unknown key `bat`"),
        (
            "walk.walker=hash",
            "`walk` does not go with core.kind \"405\", whose TLBs software reloads",
        ),
        (
            "cache.l2.size=65536",
            "`cache.l2` does not go with core.kind \"405\", which has none",
        ),
        ("cache.data.replacement=pseudo-lru", "is not \"lru\""),
        ("cache.data.line=16", "core.kind \"405\" has lines of 32"),
        (
            "cache.instruction.line=64",
            "core.kind \"405\" has lines of 32",
        ),
        (
            "cache.instruction.ways=3",
            "`cache.instruction.ways` is 3: allowed are powers of two from 1 to 64",
        ),
        (
            "cache.instruction.ways=1",
            "`cache.instruction.ways` is 1: kernels for core.kind \"405\" invalidate a line at the places that a cache \
             of two ways has",
        ),
        (
            "core.pvr=0x00040103",
            "`core.pvr` is 0x00040103: its upper half is none of core.kind \"405\"",
        ),
        (
            "cache.instruction.ways=0",
            "`cache.instruction.ways` is 0: allowed are powers of two from 1 to 64",
        ),
        (
            "memory.size=0x80000000",
            "allowed are multiples of 4096 from 1 MiB to 1 GiB",
        ),
        ("bus.width=4", "the bus of core.kind \"405\" has 8 bytes"),
        (
            "cache.instruction.size=0x80000",
            "ways of 262144 bytes by effective addresses, and has too many places for lines with a memory.size of 134217728",
        ),
        (
            "processors=2",
            "core.kind \"405\" does not snoop; allowed is 1",
        ),
        ("board.kind=fads", "is \"fads\", the board of an 8xx"),
        ("core.kind=604", "walks the hash table in hardware"),
        (
            "latency.float-add={ latency = 1, interval = 1 }",
            "has no floating-point unit",
        ),
    ] {
        let error = with_settings(NAME, &[setting]).unwrap_err().to_string();
        assert!(error.contains(words), "{setting}: {error}");
    }
    for (machine, setting, words) in [
        ("ppc604-133", "board.kind=ppc405gp", "the board of a 405"),
        (
            "ppc603-133",
            "tlb.unified={ entries = 64, instruction-refill = 4, data-refill = 3 }",
            "`tlb.unified` does not go with core.kind \"603e\", as only a 405 or 970 has one",
        ),
        (
            "ppc604-133",
            "tlb.unified.entries=64",
            "`tlb.unified` does not go with core.kind \"604\", as only a 405 or 970 has one",
        ),
        (
            "mpc855t-48",
            "cache.l3.size=65536",
            "`cache.l3` does not go with core.kind \"8xx\", which has none",
        ),
        (
            "ppc603-133",
            "tlb={ unified = { entries = 64 } }",
            "`tlb.unified` does not go with core.kind \"603e\"",
        ),
        ("mpc855t-48", "core.kind=405", "add [tlb.unified]"),
    ] {
        let error = with_settings(machine, &[setting]).unwrap_err().to_string();
        assert!(error.contains(words), "{machine}, {setting}: {error}");
    }
    with_settings(NAME, &["board.kind=ppc405gp", "tlb.unified.data-refill=9"]).unwrap();
    // The kind is the one after all settings, also where a setting has the whole table.
    let core = r#"core={ kind = "604", clock = 133333333, pvr = 0x60103 }"#;
    let error = with_settings("ppc603-133", &[core, "walk.start=1"]).unwrap_err();
    assert!(!error.to_string().contains("603e"), "{error}");
    // A table that is to be removed lacks no key.
    let message = refusal(
        "ppc603-133",
        "[tlb.data]",
        "[walk]\nstart = 1\n\n[tlb.data]",
    );
    let wanted = "`walk` does not go with core.kind \"603e\", whose TLBs software reloads";
    assert!(message.contains(wanted), "{message}");
}

/// A 970 has a TLB behind its ERATs, and its D-cache writes through to an L2 that includes it.
#[test]
fn a_970_is_none_of_the_others() {
    const NAME: &str = "ppc970-1600";
    let config = with_settings(NAME, &[]).unwrap();
    assert_eq!(config.core.kind, CoreKind::Ppc970);
    assert!(config.core.kind.hash_walk() && !config.core.kind.software_reload());
    for (setting, words) in [
        (
            "tlb.unified.ways=3",
            "is 3: allowed are powers of two from 1 to 64",
        ),
        (
            "tlb.unified.entries=8192",
            "`tlb.unified.entries` is 8192: allowed are powers of two from 1 to 4096",
        ),
        (
            "tlb.data.ways=256",
            "`tlb.data.ways` is 256: allowed are powers of two from 1 to 128",
        ),
        (
            "tlb.instruction.entries=256",
            "`tlb.instruction.entries` is 256: allowed are powers of two from 1 to 128",
        ),
        (
            "tlb.data.replacement=fifo",
            "core.kind \"970\", whose ERATs are replaced round robin",
        ),
        (
            "tlb.l2.entries=128",
            "does not go with core.kind \"970\", whose TLB is behind",
        ),
        (
            "walk.walker=wide",
            "`walk.walker` is \"wide\": allowed is \"hash\"",
        ),
        (
            "tlb.unified.ways=2",
            "`tlb.unified.ways` is 2: 1024 entries then have 512 sets, and kernels for core.kind \"970\" empty 256",
        ),
        ("cache.data.line=64", "core.kind \"970\" has lines of 128"),
        ("cache.l2.place=back-side", "is not \"in-line\""),
        (
            "processors=2",
            "core.kind \"970\" does not snoop; allowed is 1",
        ),
        (
            "board.kind=mpc86xx",
            "no kernel for it runs on core.kind \"970\"",
        ),
        ("core.kind=604", "only a 405 or 970 has one"),
        (
            "latency.tlb-load={ latency = 1, interval = 1 }",
            "has no tlbld and tlbli",
        ),
    ] {
        let error = with_settings(NAME, &[setting]).unwrap_err().to_string();
        assert!(error.contains(words), "{setting}: {error}");
    }
    for (machine, setting, words) in [
        (
            "ppc405-200",
            "tlb.unified.ways=4",
            "whose unified TLB is fully associative: remove it",
        ),
        ("ppc604-133", "core.kind=970", "add [tlb.unified]"),
        (
            "ppc405-200",
            "core.kind=970",
            "which walks the hash table in hardware: add [walk]",
        ),
    ] {
        let error = with_settings(machine, &[setting]).unwrap_err().to_string();
        assert!(error.contains(words), "{machine}, {setting}: {error}");
    }
    with_settings(NAME, &["tlb.data.ways=2", "tlb.unified.data-refill=9"]).unwrap();
}

#[test]
fn a_table_can_be_made_by_one_setting_for_each_key() {
    let all = [
        "cache.l3.place=in-line",
        "cache.l3.size=0x100000",
        "cache.l3.ways=1",
        "cache.l3.line=32",
        "cache.l3.replacement=lru",
        "bus.request=3",
        "cache.l3.first-beat=20",
        "cache.l3.next-beat=2",
        "cache.l3.miss=5",
    ];
    let config = with_settings("ppc750-400", &all).unwrap();
    assert_eq!(config.cache.l3.map(|l3| l3.size), Some(0x10_0000));
    let error = with_settings("ppc750-400", &[&all[..1], &all[2..]].concat()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("--set cache.l3.miss=5") && said.contains("missing key `size`"),
        "{said}"
    );
    let wrong = [all[0], "cache.l3.size=\"much\"", all[2]];
    let said = with_settings("ppc750-400", &wrong).unwrap_err().to_string();
    assert!(said.contains("--set cache.l3.size"), "{said}");
}

#[test]
fn a_604_has_a_bus_of_8_bytes() {
    for (setting, said) in [
        ("bus.width=4", "the bus of core.kind \"604\" has 8 bytes"),
        ("bus.width=32", "allowed are powers of two from 4 to 8"),
    ] {
        let error = with_settings("ppc604-133", &[setting]).unwrap_err();
        assert!(error.to_string().contains(said), "{setting}: {error}");
    }
}

#[test]
fn only_board_prep_has_an_openpic() {
    let openpic = "board.interrupt-controller=openpic";
    assert!(with_settings("ppc604-133", &[openpic]).is_ok());
    // The others have a controller of their own, and that of the MPC8641 is for several processors.
    for (board, several) in [("mpc83xx", false), ("mpc86xx", true), ("mpc8xx", false)] {
        let kind = format!("board.kind={board}");
        assert!(with_settings("ppc604-133", &[&kind, openpic]).is_ok());
        let two = with_settings("ppc604-133", &[&kind, openpic, "processors=2"]);
        let message = two.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(message.is_empty(), several, "{board}: {message}");
        assert!(several || message.contains("several need board.kind \"mpc86xx\""));
    }
    let error = with_settings("ppc604-133", &["board.interrupt-controller=apic"]).unwrap_err();
    assert!(
        error.to_string().contains("`i8259` or `openpic`"),
        "{error}"
    );
}

const INPUTS: &str = "\n[inputs]\nmemory.read-delay = [3, 6]  # here\n\"cache.data.forward\" = [\"critical\", \"line\"]\n";

#[test]
fn inputs_are_checked_and_change_nothing() {
    let text = text_of("ppc604-185");
    let plain = text.split("\n[inputs]").next().unwrap();
    let with = MachineConfig::from_toml(&format!("{plain}{INPUTS}"), "m.toml", &[]).unwrap();
    assert_eq!(
        with,
        MachineConfig::from_toml(plain, "m.toml", &[]).unwrap()
    );
    let x86 = std::fs::read_to_string(machines().join("p6-200.toml")).unwrap();
    let x86 = x86.split("\n[inputs]").next().unwrap();
    let with = format!("{x86}\n[inputs]\nbus.request = [0, 2]\n");
    let override_of = [Override::parse("bus.request=1").unwrap()];
    assert!(x86::Config::from_toml(&with, "m.toml", &override_of).is_ok());
}

#[test]
fn wrong_inputs_name_line_key_value_and_what_is_allowed() {
    let text = text_of("ppc604-185");
    let plain = text.split("\n[inputs]").next().unwrap();
    for (from, to, says) in [
        ("read-delay", "read-dealy", "unknown key `read-dealy`"),
        (
            "[3, 6]",
            "[3, 1000000000]",
            "memory.read-delay=1000000000: ",
        ),
        ("[3, 6]", "[3, \"slow\"]", "memory.read-delay=\"slow\": "),
        ("[3, 6]", "[3]", "write a list of 2 to 16 values"),
        ("[3, 6]", "5", "write a list of 2 to 16 values"),
        ("[3, 6]", "[]", "write a list of 2 to 16 values"),
        ("[3, 6]", "[3, 3]", "so that nothing varies"),
        ("[3, 6]", "[90, 99]", "is not between these"),
        ("\"line\"]", "\"lines\"]", "cache.data.forward=\"lines\": "),
    ] {
        let changed = format!("{plain}{}", INPUTS.replacen(from, to, 1));
        let message = MachineConfig::from_toml(&changed, "m.toml", &[])
            .unwrap_err()
            .to_string();
        // The table begins a line after what is before it.
        let number = if from == "\"line\"]" { 3 } else { 2 } + plain.lines().count();
        assert!(message.contains(says), "{message}");
        assert!(
            message.starts_with(&format!("m.toml:{number}: `inputs`, ")),
            "{message}"
        );
    }
    let message = MachineConfig::from_toml(&format!("inputs = 5\n{plain}"), "m.toml", &[])
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "m.toml:1: `inputs` is no table of keys and their values"
    );
    // Each value alone is allowed, both together are not.
    let both =
        format!("{plain}\n[inputs]\ntlb.data.ways = [2, 64]\ntlb.data.entries = [32, 128]\n");
    let message = MachineConfig::from_toml(&both.replace("[32, 128]", "[128, 32]"), "m.toml", &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("`inputs`, the last values of all keys together: "),
        "{message}"
    );
}

#[test]
fn the_tables_key_is_none_of_the_machine() {
    let refused = with_settings("ppc604-185", &["inputs.memory.read-delay=5"]).unwrap_err();
    assert!(
        refused.to_string().contains("unknown key `inputs`"),
        "{refused}"
    );
}
