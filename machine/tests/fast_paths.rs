//! The engine's fast paths, interpreted and compiled to the host's code at once, against the always-probe oracle:
//! cycles, instructions, every counter and the output are the same for every program. And two equal runs have equal
//! results.

mod support;

#[path = "fast_paths/compiled.rs"]
mod compiled;
#[path = "fast_paths/devices.rs"]
mod devices;
#[path = "support/kernel.rs"]
mod kernel;
#[path = "fast_paths/programs.rs"]
mod programs;
#[path = "fast_paths/walks.rs"]
mod walks;
#[path = "fast_paths/walks_405.rs"]
mod walks_405;
#[path = "fast_paths/walks_8xx.rs"]
mod walks_8xx;
#[path = "fast_paths/walks_970.rs"]
mod walks_970;

use pagewalk_machine::powerpc::machine::{Fatal, Limits, Stop};
use pagewalk_machine::powerpc::registers::Register;
use pagewalk_machine::powerpc::session::Session;
use programs::{GUESTS, Guest, Needs};
use proptest::prelude::*;
use support::{Program, config};

/// The results of a run that must not depend on how it was simulated.
#[derive(Debug, PartialEq)]
struct Outcome {
    stop: Stop,
    cycles: u64,
    instructions: u64,
    checksum: u32,
    printed: String,
    counters: Vec<(String, u64)>,
}

const LIMITS: Limits = Limits {
    cycles: 4_000_000_000,
    ..Limits::NONE
};

/// Compiles all code at once, unless `oracle` is set.
fn run(mut session: Session, oracle: bool) -> Outcome {
    session.set_oracle(oracle);
    session.set_compiler(Some(1));
    let stop = session.run(LIMITS);
    outcome(&session, stop)
}

/// As [`run`], without a compiler.
fn interpret(mut session: Session) -> Outcome {
    session.set_compiler(None);
    let stop = session.run(LIMITS);
    outcome(&session, stop)
}

/// As [`run`], with every sanitizer on that it has: each report and the cycle it came at. The run goes on after it.
fn run_sanitized(mut session: Session, oracle: bool) -> (Outcome, Vec<(u64, String)>) {
    session.set_oracle(oracle);
    session.set_compiler(Some(1));
    if session.sanitize("all".parse().unwrap()).is_err() {
        session.sanitize("fetch".parse().unwrap()).unwrap();
    }
    let mut reports = Vec::new();
    loop {
        let stop = session.run(LIMITS);
        if !matches!(stop, Stop::Fatal(Fatal::Sanitizer { .. })) {
            return (outcome(&session, stop), reports);
        }
        reports.push((
            session.machine().processor().cycles(),
            session.explain(&stop),
        ));
    }
}

/// As [`run`], in parts: each ends `slice` after the last one, which is of cycles or of instructions.
fn run_in_parts(mut session: Session, oracle: bool, slices: &[Limits]) -> Outcome {
    session.set_oracle(oracle);
    session.set_compiler(Some(1));
    for slice in slices.iter().cycle() {
        let now = session.machine().instant();
        let stop = session.run(Limits {
            cycles: now.cycles.saturating_add(slice.cycles),
            instructions: now.instructions.saturating_add(slice.instructions),
        });
        if stop != Stop::Limit {
            return outcome(&session, stop);
        }
    }
    unreachable!("there are slices")
}

fn outcome(session: &Session, stop: Stop) -> Outcome {
    let machine = session.machine();
    Outcome {
        cycles: machine.instant().cycles,
        instructions: machine.instant().instructions,
        checksum: machine.processor().registers.gpr.get(Register::new(29)),
        printed: String::from_utf8_lossy(session.printed()).into_owned(),
        counters: session.counters(),
        stop,
    }
}

/// Names the counters that differ, for a readable failure.
fn assert_same(what: &str, one: &Outcome, other: &Outcome) {
    let differing: Vec<_> = one
        .counters
        .iter()
        .zip(&other.counters)
        .filter(|(mine, theirs)| mine != theirs)
        .collect();
    assert!(differing.is_empty(), "{what}: {differing:?}");
    assert_eq!(one, other, "{what}");
}

/// The machines that can run `guest`.
fn machines(guest: &Guest) -> &'static [&'static str] {
    const ALL: [&str; 6] = [
        "ppc604-133",
        "ppc750-400",
        "ppc603-133",
        "mpc855t-48",
        "ppc405-200",
        "ppc970-1600",
    ];
    match guest.needs {
        // The 970's I-cache holds all of its code.
        Needs::Nothing if guest.name.starts_with("code beyond the cache") => &ALL[..5],
        Needs::Nothing => &ALL,
        Needs::Decrementer => &ALL[..4],
        Needs::Hid0OrFloat => &ALL[..3],
        Needs::HashWalk => &ALL[..2],
    }
}

#[test]
fn bare_metal_programs_count_the_same_without_fast_paths() {
    for guest in GUESTS {
        for machine in machines(guest) {
            let program = Program::on(machine, guest.source);
            let what = format!("{} on {machine}", guest.name);
            let fast = run(program.session(machine, &[]), false);
            assert_eq!(fast.stop, Stop::PowerOff { status: 0 }, "{what}");
            let plain = run(program.session(machine, &[]), true);
            assert_same(&what, &fast, &plain);
            assert_same(&what, &interpret(program.session(machine, &[])), &plain);
            let (sanitized, reports) = run_sanitized(program.session(machine, &[]), false);
            assert_eq!(reports, [], "{what}");
            assert_same(&what, &fast, &sanitized);
        }
    }
}

/// Shapes that stress the shortcuts' indices: one way, many ways, few entries.
#[test]
fn other_geometries_count_the_same_without_fast_paths() {
    const IN_LINE: &str = "cache.l2={ place = \"in-line\", size = 1024, ways = 2, line = 32, replacement = \"lru\", \
                           first-beat = 9, next-beat = 3, miss = 7 }";
    let shapes: [&[&str]; 5] = [
        &["cache.data.ways=1", "cache.instruction.ways=1"],
        &["tlb.data.entries=4", "tlb.instruction.entries=4"],
        &["tlb.data.entries=8", "tlb.data.ways=8"],
        &["cache.data.size=1024", "cache.instruction.size=1024"],
        &[IN_LINE, "cache.data.size=2048"],
    ];
    for guest in GUESTS {
        let program = Program::new(guest.source);
        for shape in shapes {
            let what = format!("{} with {shape:?}", guest.name);
            let fast = run(program.session("ppc604-133", shape), false);
            let plain = run(program.session("ppc604-133", shape), true);
            assert_same(&what, &fast, &plain);
            assert_same(
                &what,
                &interpret(program.session("ppc604-133", shape)),
                &plain,
            );
        }
    }
}

proptest! {
    // A case assembles a program and runs it twenty times.
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_count_the_same_without_fast_paths(
        steps in prop::collection::vec(walks::step(), 20..400),
    ) {
        let program = Program::new(&walks::program(&steps));
        let shapes: [(&str, &[&str]); 8] = [
            ("ppc604-133", &[]),
            ("ppc750-400", &[]),
            ("ppc604-133", &["tlb.data.entries=4", "tlb.instruction.entries=4"]),
            ("ppc604-133", &["tlb.data.ways=4", "tlb.instruction.ways=1"]),
            ("ppc604-133", &["cache.data.ways=1", "cache.instruction.size=1024"]),
            ("ppc604-133", &[
                "tlb.data.entries=16", "tlb.data.ways=4", "tlb.data.replacement=fifo",
                "tlb.instruction.entries=16", "tlb.instruction.ways=4", "tlb.instruction.replacement=random",
                "tlb.l2.entries=16", "tlb.l2.ways=2", "walk.walker=group-cache",
            ]),
            ("ppc604-133", &[
                "tlb.data.entries=16", "tlb.data.ways=4", "tlb.data.replacement=pseudo-lru",
                "tlb.instruction.entries=8", "tlb.instruction.ways=8", "tlb.instruction.replacement=not-mru",
                "tlb.l2.entries=32", "tlb.l2.replacement=random", "walk.walker=walk-cache",
            ]),
            ("ppc604-133", &[
                "tlb.data.entries=4", "tlb.data.ways=4", "tlb.data.replacement=not-mru",
                "tlb.instruction.entries=4", "tlb.instruction.ways=2", "tlb.instruction.replacement=pseudo-lru",
                "walk.walker=wide",
            ]),
        ];
        for (machine, shape) in shapes {
            let what = format!("{machine} with {shape:?}");
            let fast = run(program.session(machine, shape), false);
            prop_assert_eq!(&fast.stop, &Stop::PowerOff { status: 0 }, "{}", what);
            assert_same(&what, &fast, &run(program.session(machine, shape), true));
            assert_same(&what, &fast, &interpret(program.session(machine, shape)));
            // Stale pages and stale code abound: every report is the same, and none changes the run.
            let (sanitized, reports) = run_sanitized(program.session(machine, shape), false);
            assert_same(&what, &fast, &sanitized);
            let (plain, expected) = run_sanitized(program.session(machine, shape), true);
            assert_same(&what, &fast, &plain);
            prop_assert_eq!(reports, expected, "{}", what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_of_the_8xx_count_the_same_without_fast_paths(
        steps in prop::collection::vec(walks_8xx::step(), 20..400),
    ) {
        const MACHINE: &str = "mpc855t-48";
        let program = Program::on(MACHINE, &walks_8xx::program(&steps));
        let shapes: [&[&str]; 3] = [
            &[],
            &["tlb.data.entries=8", "tlb.data.ways=8", "tlb.instruction.entries=8", "tlb.instruction.ways=8"],
            &["cache.data.ways=1", "cache.instruction.size=1024"],
        ];
        for shape in shapes {
            let what = format!("{MACHINE} with {shape:?}");
            let fast = run(program.session(MACHINE, shape), false);
            prop_assert_eq!(&fast.stop, &Stop::PowerOff { status: 0 }, "{}", what);
            assert_same(&what, &fast, &run(program.session(MACHINE, shape), true));
            assert_same(&what, &fast, &interpret(program.session(MACHINE, shape)));
            let (sanitized, reports) = run_sanitized(program.session(MACHINE, shape), false);
            assert_same(&what, &fast, &sanitized);
            let (plain, expected) = run_sanitized(program.session(MACHINE, shape), true);
            assert_same(&what, &fast, &plain);
            prop_assert_eq!(reports, expected, "{}", what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_of_the_405_count_the_same_without_fast_paths(
        steps in prop::collection::vec(walks_405::step(), 20..400),
    ) {
        const MACHINE: &str = "ppc405-200";
        let program = Program::on(MACHINE, &walks_405::program(&steps));
        let shapes: [&[&str]; 3] = [
            &[],
            &["tlb.data.entries=2", "tlb.data.ways=2", "tlb.instruction.entries=2", "tlb.instruction.ways=2"],
            &["cache.data.ways=1", "cache.instruction.size=1024", "tlb.unified.data-refill=9"],
        ];
        for shape in shapes {
            let what = format!("{MACHINE} with {shape:?}");
            let fast = run(program.session(MACHINE, shape), false);
            prop_assert_eq!(&fast.stop, &Stop::PowerOff { status: 0 }, "{}", what);
            assert_same(&what, &fast, &run(program.session(MACHINE, shape), true));
            assert_same(&what, &fast, &interpret(program.session(MACHINE, shape)));
            let (sanitized, reports) = run_sanitized(program.session(MACHINE, shape), false);
            assert_same(&what, &fast, &sanitized);
            let (plain, expected) = run_sanitized(program.session(MACHINE, shape), true);
            assert_same(&what, &fast, &plain);
            prop_assert_eq!(reports, expected, "{}", what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_of_the_970_count_the_same_without_fast_paths(
        steps in prop::collection::vec(walks_970::step(), 20..400),
    ) {
        const MACHINE: &str = "ppc970-1600";
        let program = Program::on(MACHINE, &walks_970::program(&steps));
        let shapes: [&[&str]; 3] = [
            &[],
            &[
                "tlb.data.entries=4", "tlb.data.ways=4", "tlb.instruction.entries=2", "tlb.instruction.ways=1",
                "tlb.unified.entries=8", "tlb.unified.ways=2",
            ],
            &["cache.data.size=2048", "cache.instruction.size=1024", "cache.l2.size=8192"],
        ];
        for shape in shapes {
            let what = format!("{MACHINE} with {shape:?}");
            let fast = run(program.session(MACHINE, shape), false);
            prop_assert_eq!(&fast.stop, &Stop::PowerOff { status: 0 }, "{}", what);
            assert_same(&what, &fast, &run(program.session(MACHINE, shape), true));
            assert_same(&what, &fast, &interpret(program.session(MACHINE, shape)));
            let (sanitized, reports) = run_sanitized(program.session(MACHINE, shape), false);
            assert_same(&what, &fast, &sanitized);
            let (plain, expected) = run_sanitized(program.session(MACHINE, shape), true);
            assert_same(&what, &fast, &plain);
            prop_assert_eq!(reports, expected, "{}", what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    /// Fast paths and oracle begin at the same instruction to go one by one to a limit. A limit of cycles changes
    /// nothing.
    #[test]
    fn runs_in_parts_count_the_same_without_fast_paths(
        steps in prop::collection::vec(walks::step(), 20..200),
        steps_8xx in prop::collection::vec(walks_8xx::step(), 20..200),
        steps_405 in prop::collection::vec(walks_405::step(), 20..200),
        steps_970 in prop::collection::vec(walks_970::step(), 20..200),
        slices in prop::collection::vec(1..3_000_u64, 1..8),
    ) {
        let by_instructions: Vec<_> =
            slices.iter().map(|&instructions| Limits { instructions, ..Limits::NONE }).collect();
        let by_cycles: Vec<_> = slices.iter().map(|&cycles| Limits { cycles, ..Limits::NONE }).collect();
        for machine in ["ppc604-133", "ppc750-400", "mpc855t-48", "ppc405-200", "ppc970-1600"] {
            let program = match machine {
                "mpc855t-48" => Program::on(machine, &walks_8xx::program(&steps_8xx)),
                "ppc405-200" => Program::on(machine, &walks_405::program(&steps_405)),
                "ppc970-1600" => Program::on(machine, &walks_970::program(&steps_970)),
                _ => Program::on(machine, &walks::program(&steps)),
            };
            let parts = |oracle, slices| run_in_parts(program.session(machine, &[]), oracle, slices);
            let what = format!("{machine}, by instructions");
            assert_same(&what, &parts(false, &by_instructions), &parts(true, &by_instructions));
            let what = format!("{machine}, by cycles");
            let whole = run(program.session(machine, &[]), false);
            assert_same(&what, &parts(false, &by_cycles), &whole);
            assert_same(&what, &parts(true, &by_cycles), &whole);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 400, ..ProptestConfig::default() })]

    /// What devices answer follows the time, and their timers interrupt.
    #[test]
    fn random_device_accesses_count_the_same_without_fast_paths(
        paged in any::<bool>(),
        steps in prop::collection::vec(devices::step(), 10..120),
        slice in 1..3_000_u64,
    ) {
        let until = Limits { cycles: 3_000_000, ..Limits::NONE };
        for &(machine, shape, board) in devices::MACHINES {
            let program = Program::on(machine, &devices::program(board, paged, &steps));
            let what = format!("{machine} with {shape:?}");
            let run = |oracle: bool| {
                let mut session = program.session(machine, shape);
                session.set_oracle(oracle);
                session.set_compiler(Some(1));
                let stop = session.run(until);
                (outcome(&session, stop), session.counters_of_each())
            };
            let (fast, plain) = (run(false), run(true));
            assert_same(&what, &fast.0, &plain.0);
            prop_assert_eq!(fast.1, plain.1, "{}", what);
            if fast.0.stop != Stop::Limit {
                let slices = [Limits { cycles: slice, ..Limits::NONE }];
                let parts = run_in_parts(program.session(machine, shape), false, &slices);
                assert_same(&what, &fast.0, &parts);
                let slices = [Limits { instructions: slice, ..Limits::NONE }];
                let parts = |oracle| run_in_parts(program.session(machine, shape), oracle, &slices);
                assert_same(&what, &parts(false), &parts(true));
            }
        }
    }
}

/// The programs of random device accesses are interrupted by each timer.
#[test]
fn devices_interrupt() {
    use devices::Step::{Clock, Decrementer, Doze, SetOpenpic, SetTimer, Transmitter, Uart};
    let steps = [
        SetTimer(0, 2, 60),
        Decrementer(10),
        SetOpenpic(2, 500),
        Transmitter(true),
        Clock(10, 39, true),
        Transmitter(false),
        Uart(5, 29),
        Doze(500),
    ];
    for &(machine, shape, board) in devices::MACHINES {
        let program = Program::on(machine, &devices::program(board, false, &steps));
        let fast = run(program.session(machine, shape), false);
        assert_eq!(
            fast.stop,
            Stop::PowerOff { status: 0 },
            "{machine} with {shape:?}"
        );
        for interrupt in ["exception.external", "exception.decrementer"] {
            let counter = fast.counters.iter().find(|(name, _)| name == interrupt);
            assert!(
                counter.unwrap().1 >= 5,
                "{machine} with {shape:?}: {counter:?}"
            );
        }
    }
}

/// A kernel, its processes, a software reload or a hash table under pressure.
#[test]
fn the_kernel_counts_the_same_without_fast_paths() {
    let kernel = kernel::build();
    const PARTS: &[&str] = &[
        "tlb.l2.entries=128",
        "tlb.data.ways=2",
        "tlb.data.replacement=random",
        "tlb.instruction.replacement=fifo",
    ];
    for (machine, parts) in [
        ("ppc603-133", &[][..]),
        ("ppc603-133", PARTS),
        ("ppc604-133", &[]),
        (
            "ppc604-133",
            &["walk.walker=group-cache", "tlb.l2.entries=64"],
        ),
        ("mpc855t-48", &[]),
    ] {
        // The oracle with sanitizers is slow. Fewer pages of fewer processes still are more than a TLB holds.
        for (program, sanitized_program) in [
            ("/bin/hello", "/bin/hello"),
            (
                "/bin/tlb-stress iterations=1 warmup=0 processes=3 pages=200",
                "/bin/tlb-stress iterations=1 warmup=0 processes=2 pages=80",
            ),
        ] {
            let session_of = |options: &str, program: &str| {
                kernel.session(
                    config(machine, parts),
                    &format!("quiet {options} -- {program}"),
                )
            };
            let session = |options: &str| session_of(options, program);
            let what = format!("{program} on {machine} with {parts:?}");
            let fast = run(session(""), false);
            assert_eq!(
                fast.stop,
                Stop::PowerOff { status: 0 },
                "{what}: {}",
                fast.printed
            );
            assert_same(&what, &fast, &run(session(""), true));
            let mut profiled = session("");
            profiled.record_profile(None);
            assert_same(&what, &fast, &run(profiled, false));
            // The oracle with sanitizers is slow: the plain machines show that they move no count.
            if !parts.is_empty() {
                continue;
            }
            // A kernel that is listened to says more, one that checks itself looks at the TLB: both run longer.
            let checked = || session_of("check=on", sanitized_program);
            let (sanitized, reports) = run_sanitized(checked(), false);
            assert_eq!(reports, [], "{what}");
            assert_same(&what, &sanitized, &run_sanitized(checked(), true).0);
        }
    }
}

/// The cost of the programs on each machine. A change here is a change of the model: it must be intended, and the
/// commit says why. A failure prints the new table.
#[test]
fn costs_are_those_on_record() {
    const COUNTED: [&str; 6] = [
        "tlb.data.miss",
        "cache.data.miss",
        "cache.instruction.miss",
        "bus.read",
        "branch",
        "branch.mispredict",
    ];
    let mut table = format!(
        "machine, program: cycles, instructions, r29, {}\n",
        COUNTED.join(", ")
    );
    for guest in GUESTS {
        for machine in machines(guest) {
            let program = Program::on(machine, guest.source);
            let outcome = run(program.session(machine, &[]), false);
            let counts = COUNTED.map(|name| {
                let found = outcome.counters.iter().find(|(counter, _)| counter == name);
                found.expect("a counter").1.to_string()
            });
            table += &format!(
                "{machine}, {}: {}, {}, {:08x}, {}\n",
                guest.name,
                outcome.cycles,
                outcome.instructions,
                outcome.checksum,
                counts.join(", ")
            );
        }
    }
    let record = include_str!("fast_paths/costs.txt");
    assert!(table == record, "the costs are now\n{table}");
}

#[test]
fn the_same_run_twice_is_the_same() {
    for guest in GUESTS {
        let program = Program::new(guest.source);
        let first = run(program.session("ppc604-133", &[]), false);
        let second = run(program.session("ppc604-133", &[]), false);
        assert_same(guest.name, &first, &second);
    }
}
