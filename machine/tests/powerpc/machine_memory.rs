//! Memory in machine files: parts and controllers that do not fit each other are refused by name, and what fits runs.

use crate::support;
use crate::support::Program;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::x86;

const PARTS: &str = "
size = 0x0200_0000
kind = \"fpm\"
controller = \"mpc106\"
access = 70
column-access = 20
page-cycle = 45
precharge = 50
cycle = 130
banks = 2
row = 4096
width = 8
page-mode = \"closed\"
read-delay = 3
write-delay = 3
refresh-interval = 15600
refresh-length = 130
write-buffer = 0
overlap = false
";

const L2: &str = "
[cache.l2]
place = \"look-aside\"
size = 262144
ways = 1
line = 32
replacement = \"lru\"
first-beat = 3
next-beat = 1
policy = \"write-back\"
allocate = \"bursts\"
look-up = 2
copy-back = 1
";

/// The machine file `name` with other sections `[memory]` and `[cache.l2]`, and without the bus's times of memory.
fn text(name: &str, memory: &str, l2: &str) -> String {
    let file = support::machine_file(name);
    let text = std::fs::read_to_string(file).unwrap();
    let pattern = ["read-first", "read-next", "write-first", "write-next"];
    let mut section = String::new();
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with('[') {
            line.trim_end().clone_into(&mut section);
        }
        let times = section == "[bus]" && pattern.iter().any(|key| line.starts_with(key));
        let replaced = ["[memory]", "[cache.l2]", "[inputs]"].contains(&section.as_str());
        if !times && !replaced {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    format!("{kept}\n[memory]{memory}\n{l2}")
}

/// A cache behind the L1s.
fn level(name: &str, place: &str, more: &str) -> String {
    format!(
        "[cache.{name}]\nplace = \"{place}\"\nsize = 262144\nways = 1\nline = 32\nreplacement = \"lru\"\n\
         first-beat = 6\nnext-beat = 1\n{more}"
    )
}

fn refusal(name: &str, memory: &str, l2: &str) -> String {
    let text = text(name, memory, l2);
    let error = if x86::Config::is_of(&text) {
        x86::Config::from_toml(&text, "m.toml", &[]).unwrap_err()
    } else {
        MachineConfig::from_toml(&text, "m.toml", &[]).unwrap_err()
    };
    error.to_string()
}

#[test]
fn parts_and_controllers_that_do_not_fit_are_refused() {
    let with = |from: &str, to: &str| {
        assert!(PARTS.contains(from), "{from}");
        PARTS.replace(from, to)
    };
    for (name, memory, l2, said) in [
        (
            "ppc604-133",
            with("\"fpm\"", "\"sdram\"").replace("mpc106", "mpc105"),
            "",
            "`memory.kind` is \"sdram\": memory.controller \"mpc105\" has fpm or edo",
        ),
        (
            "ppc604-133",
            with("mpc106", "440fx"),
            "",
            "`memory.controller` is \"440fx\", which is for the P6's bus: the core has the 60x bus",
        ),
        (
            "ppc405-200",
            with("mpc106", "mpc106"),
            "",
            "`memory.controller` is \"mpc106\", which is for the 60x bus: the core has another bus",
        ),
        (
            "ppc604-133",
            with("overlap = false", "overlap = true"),
            "",
            "`memory.overlap` is true: the data bus of memory.controller \"mpc106\"",
        ),
        (
            "ppc604-133",
            with("write-buffer = 0", "write-buffer = 2"),
            "",
            "`memory.write-buffer` is 2: memory.controller \"mpc106\" has 1 at most",
        ),
        (
            "ppc604-133",
            with("write-buffer = 0", "write-buffer = 2").replace("mpc106", "82660"),
            "",
            "`memory.write-buffer` is 2: memory.controller \"82660\" has 1 at most",
        ),
        (
            "ppc604-133",
            with("page-cycle = 45", "page-cycle = 131"),
            "",
            "`memory.page-cycle` is 131: it is a part of memory.cycle, which is 130",
        ),
        (
            "ppc604-133",
            with("page-cycle = 45", "page-cycle = 1"),
            "",
            "`memory.page-cycle` is 1: the data of a column come 20 ns after its strobe",
        ),
        (
            "ppc604-133",
            with("precharge = 50", "precharge = 130"),
            "",
            "`memory.precharge` is 130: memory.cycle, which is 130, has it and an access",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &L2.replace("look-up = 2", "look-up = 4"),
            "`cache.l2.look-up` is 4: a hit is known by the clock of its first beat, and cache.l2.first-beat is 3",
        ),
        (
            "ppc604-133",
            with("width = 8", "width = 12"),
            "",
            "`memory.width` is 12: allowed are 1, 2 and 4 times bus.width, which is 8",
        ),
        (
            "ppc604-133",
            with("column-access = 20", "column-access = 90"),
            "",
            "`memory.column-access` is 90: it is a part of memory.access, which is 70",
        ),
        (
            "ppc604-133",
            with("access = 70", "access = 140"),
            "",
            "`memory.access` is 140: it is a part of memory.cycle, which is 130",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &L2.replace("copy-back = 1", "copy-back = 2"),
            "`cache.l2.copy-back` is 2: memory.controller \"mpc106\" has 1 at most",
        ),
        (
            "ppc604-185x2",
            PARTS.to_owned(),
            L2,
            "`cache.l2.place` is \"look-aside\", and processors is 2: memory.controller \"mpc106\" runs such a cache for 1 at most",
        ),
        (
            "p6-200x4",
            with("mpc106", "440fx"),
            "",
            "`processors` is 4: memory.controller \"440fx\" goes with 2 at most",
        ),
        (
            "ppc604-133",
            with("row = 4096", "row = 3000"),
            "",
            "`memory.row` is 3000: allowed are powers of two from 512 to 65536",
        ),
        (
            "ppc604-133",
            with("precharge = 50\n", ""),
            "",
            "`memory.precharge` is missing: it is needed beside memory.kind",
        ),
        (
            "ppc604-133",
            "\nsize = 0x0200_0000\n".to_owned(),
            "",
            "`bus.read-first` is missing: add it, or tell the memory's parts by memory.kind",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &L2.replace("look-up = 2\n", ""),
            "`cache.l2.look-up` is missing: cache.l2.place is \"look-aside\"",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &L2.replace("write-back", "write-through"),
            "`cache.l2.copy-back` is for modified lines",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &level("l3", "in-line", "miss = 5\n"),
            "`cache.l3` stands behind an L2: add [cache.l2]",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &format!("{L2}{}", level("l3", "in-line", "miss = 5\n")),
            "`cache.l3` does not go with cache.l2.place \"look-aside\"",
        ),
        (
            "ppc604-185x2",
            PARTS.to_owned(),
            &["l2", "l3"]
                .map(|name| level(name, "in-line", "miss = 5\n"))
                .concat(),
            "`cache.l3.place` of a machine with 2 processors can only be \"look-aside\"",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &format!(
                "{}{}",
                level("l2", "in-line", "miss = 5\n"),
                level("l3", "in-line", "")
            ),
            "`cache.l3.place` is \"in-line\": add cache.l3.miss",
        ),
        (
            "ppc604-133",
            PARTS.to_owned(),
            &format!(
                "{}{}",
                level("l2", "in-line", "miss = 5\n"),
                level("l3", "look-aside", "")
            ),
            "`cache.l3.policy` is missing: cache.l3.place is \"look-aside\"",
        ),
        (
            "p6-200",
            with("mpc106", "440fx"),
            L2,
            "`cache.l2.place` of core.kind \"p6\" can only be \"in-line\"",
        ),
        (
            "p6-200",
            with("mpc106", "440fx"),
            &format!(
                "{}{}",
                level("l2", "in-line", "miss = 5\n"),
                L2.replace("l2", "l3")
            ),
            "`cache.l3.place` is \"look-aside\": memory.controller \"440fx\" has no cache beside it",
        ),
    ] {
        let message = refusal(name, &memory, l2);
        assert!(message.contains(said), "{message}\ninstead of\n{said}");
        assert!(message.contains("m.toml:"), "{message}");
    }
    let whole = text("ppc604-133", PARTS, "").replace("[bus]\n", "[bus]\nread-first = 6\n");
    let message = MachineConfig::from_toml(&whole, "m.toml", &[]).unwrap_err();
    assert!(
        message
            .to_string()
            .contains("`bus.read-first` does not go with memory.kind"),
        "{message}"
    );
    let whole = text("ppc603-133", PARTS, "").replace("[bus]\n", "[bus]\nstreaming = true\n");
    let message = MachineConfig::from_toml(&whole, "m.toml", &[]).unwrap_err();
    let said = "`bus.streaming` is true: core.kind \"603e\" has no data streaming mode";
    assert!(message.to_string().contains(said), "{message}");
    let whole = text("ppc604-133", PARTS, "").replace("[bus]\n", "[bus]\nstreaming = true\n");
    let message = MachineConfig::from_toml(&whole, "m.toml", &[]).unwrap_err();
    let said =
        "`bus.return-path` is 1: with bus.streaming a beat is used as it comes; allowed is 0";
    assert!(message.to_string().contains(said), "{message}");
    let whole = text("ppc604-133", PARTS, "");
    let whole = whole.replace("[cache.data]\n", "[cache.data]\nblocked = true\n");
    let message = MachineConfig::from_toml(&whole, "m.toml", &[]).unwrap_err();
    let said = "`cache.data.blocked` is a key of the 603's D-cache";
    assert!(message.to_string().contains(said), "{message}");
    let whole = text("ppc604-133", PARTS, "").replace("\ndepth = 2", "\ndepth = 3");
    let message = MachineConfig::from_toml(&whole, "m.toml", &[]).unwrap_err();
    let said = "`bus.depth` is 3: memory.controller \"mpc106\" allows 2 at most";
    assert!(message.to_string().contains(said), "{message}");
}

/// 64 KB are written and read twice.
const SOURCE: &str = "
    .globl _start
_start:
    caches_on
    li 7, 2
1:  lis 4, 2
    li 6, 2048
    mtctr 6
2:  lwz 5, 0(4)
    addi 5, 5, 1
    stw 5, 4(4)
    addi 4, 4, 32
    bdnz 2b
    addi 7, 7, -1
    cmpwi 7, 0
    bne 1b
    power_off 0
";

/// The same program on faster and slower parts, with and without an L2: times are ordered as the parts are. The
/// oracle agrees on every one.
#[test]
fn programs_run_on_parts() {
    let program = Program::on("ppc604-133", SOURCE);
    let fast = PARTS.replace("access = 70\n", "access = 50\n");
    let slow = PARTS.replace("page-cycle = 45", "page-cycle = 75");
    let mut all = Vec::new();
    for (memory, l2) in [
        (fast.as_str(), ""),
        (PARTS, ""),
        (slow.as_str(), ""),
        (PARTS, L2),
    ] {
        let config = MachineConfig::from_toml(&text("ppc604-133", memory, l2), "m.toml", &[]);
        let runs = [false, true].map(|oracle| {
            let mut session = program.session_of(config.as_ref().unwrap().clone());
            session.set_oracle(oracle);
            assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
            (session.machine().processor().cycles(), session.counters())
        });
        assert_eq!(runs[0], runs[1]);
        all.push(runs[0].0);
    }
    assert!(all[0] < all[1] && all[1] < all[2], "{all:?}");
    assert!(all[3] < all[1], "{all:?}");
}

/// One processor's three levels, the third in each place: the oracle agrees, and what the third holds comes sooner than
/// from memory.
#[test]
fn programs_run_on_three_levels() {
    let program = Program::on("ppc604-133", SOURCE);
    // 16 KB, less than the program uses.
    let second = level("l2", "in-line", "miss = 5\n").replace("262144", "16384");
    let mut all = Vec::new();
    for third in [
        String::new(),
        level("l3", "in-line", "miss = 9\n"),
        level("l3", "back-side", "miss = 9\n"),
        L2.replace("l2", "l3"),
    ] {
        let text = text("ppc604-133", PARTS, &format!("{second}{third}"));
        let config = MachineConfig::from_toml(&text, "m.toml", &[]).unwrap();
        let runs = [false, true].map(|oracle| {
            let mut session = program.session_of(config.clone());
            session.set_oracle(oracle);
            assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
            (session.machine().processor().cycles(), session.counters())
        });
        assert_eq!(runs[0], runs[1]);
        all.push(runs[0].0);
    }
    assert!(all[1..].iter().all(|&cycles| cycles < all[0]), "{all:?}");
}

/// A fill that blocks the D-cache makes accesses wait that would have hit, and the oracle agrees.
#[test]
fn a_fill_can_block_the_d_cache() {
    let program = Program::on("ppc603-180", SOURCE);
    let cycles = ["false", "true"].map(|blocked| {
        let settings = [
            format!("cache.data.blocked={blocked}"),
            "cache.data.forward=critical".to_owned(),
        ];
        let settings = settings.each_ref().map(String::as_str);
        let runs = [false, true].map(|oracle| {
            let mut session = program.session("ppc603-180", &settings);
            session.set_oracle(oracle);
            assert_eq!(session.run(Limits::NONE), Stop::PowerOff { status: 0 });
            (session.machine().processor().cycles(), session.counters())
        });
        assert_eq!(runs[0], runs[1], "{blocked}");
        runs[0].0
    });
    assert!(cycles[0] < cycles[1], "{cycles:?}");
}
