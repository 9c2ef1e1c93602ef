//! Guests and users that do everything wrong: nothing panics or hangs, and whatever state they leave can be saved.

use pagewalk_machine::board::Console;
use pagewalk_machine::config::Override;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::x86::registers::{Segment, Table, cr0};
use pagewalk_machine::x86::session::Session;
use pagewalk_machine::x86::{Config, Fatal, Stop};
use proptest::prelude::*;

use super::bench::{Bench, CODE, CODE0, DATA0, GDT, IDT, STACK, WINDOW, config, handler};
use super::files::{executable, header};

/// A machine whose kernel is `code` at 1 MB.
pub fn session(config: &Config, code: &[u8]) -> Session {
    let text = [header(0), code.to_vec()].concat();
    let mut elf = executable(0x10_0000, &text);
    elf[24..28].copy_from_slice(&(0x10_0000 + header(0).len() as u32).to_le_bytes());
    let console = Console::memory();
    Session::with_kernel(config, (&elf, "kernel"), None, None, "", console).unwrap()
}

fn run(session: &mut Session) -> Stop {
    let now = session.machine().instant();
    session.run(Limits {
        cycles: now.cycles + 200_000,
        instructions: now.instructions + 20_000,
    })
}

/// Everything that a session says of its machine.
fn seen(session: &mut Session, stop: &Stop) -> (String, Vec<u8>) {
    let text = format!(
        "{}\n{}\n{:?}",
        session.explain(stop),
        session.report(stop),
        session.counters_of_each(),
    );
    (text, session.save().unwrap())
}

/// A saved state can be restored, the restored machine is in that state, and goes on as the saved one does.
pub fn survives_a_snapshot(session: &mut Session) -> Result<(), TestCaseError> {
    let now = Stop::Limit;
    let saved = seen(session, &now);
    let restored = Session::restore(&saved.1, "s", Console::memory());
    let mut restored = restored.map_err(|error| TestCaseError::fail(error.to_string()))?;
    let again = seen(&mut restored, &now);
    prop_assert_eq!(&again.0, &saved.0);
    prop_assert!(again.1 == saved.1);
    let (a, b) = (run(session), run(&mut restored));
    let (a, b) = (seen(session, &a), seen(&mut restored, &b));
    prop_assert_eq!(a.0, b.0);
    prop_assert!(a.1 == b.1);
    Ok(())
}

/// An access to a device: a port, or an address in memory.
#[derive(Clone, Debug)]
struct Access {
    place: u32,
    memory: bool,
    write: bool,
    /// Bytes.
    size: u8,
    value: u32,
    /// Instructions that do nothing follow.
    wait: u8,
}

const PORTS: [u16; 24] = [
    0x20, 0x21, 0x40, 0x41, 0x42, 0x43, 0x61, 0x70, 0x71, 0xa0, 0xa1, 0x4d0, 0x4d1, 0x3f8, 0x3f9,
    0x3fa, 0x3fb, 0x3fc, 0x3fd, 0x3fe, 0x3ff, 0x60, 0xf4, 0xffff,
];

fn access() -> impl Strategy<Value = Access> {
    let registers = (0u32..0x40).prop_map(|n| n << 4);
    let place = prop_oneof![
        4 => proptest::sample::select(&PORTS[..]).prop_map(|port| (port.into(), false)),
        1 => any::<u16>().prop_filter("resets", |&port| port != 0x64).prop_map(|port| (port.into(), false)),
        4 => registers.prop_map(|offset| (0xfee0_0000 + offset, true)),
        2 => (0u32..0x20).prop_map(|offset| (0xfec0_0000 + offset, true)),
        1 => any::<u32>().prop_map(|place| (place | 0x8000_2000, true)),
    ];
    let value = prop_oneof![
        any::<u8>().prop_map(u32::from),
        any::<u32>(),
        // Interrupt commands: any delivery, no destination that is not there.
        (0u32..0x1000).prop_map(|low| low | 0x000c_0000),
    ];
    let size = proptest::sample::select(&[1u8, 2, 4][..]);
    (place, any::<bool>(), size, value, 0u8..30).prop_map(
        |((place, memory), write, size, value, wait)| Access {
            place,
            memory,
            write,
            size,
            value,
            wait,
        },
    )
}

fn code_of(accesses: &[Access]) -> Vec<u8> {
    let mut code = Vec::new();
    for access in accesses {
        code.push(0xb8);
        code.extend(access.value.to_le_bytes());
        if access.size == 2 {
            code.push(0x66);
        }
        let wide = u8::from(access.size != 1);
        if access.memory {
            // mov [place], eax, or the other way
            code.push(if access.write { 0xa2 } else { 0xa0 } | wide);
            code.extend(access.place.to_le_bytes());
        } else {
            // The size's prefix goes before the access alone.
            let prefix = (access.size == 2).then(|| code.pop().unwrap());
            code.push(0xba);
            code.extend(access.place.to_le_bytes());
            code.extend(prefix);
            code.push(if access.write { 0xee } else { 0xec } | wide);
        }
        code.extend(std::iter::repeat_n(0x90, access.wait.into()));
    }
    code.extend([0xeb, 0xfe]);
    code
}

/// Tables of all zeroes, ones or anything at all; the machine starts at CODE with what registers say.
#[derive(Clone, Debug)]
struct Tables {
    /// Words, which are written again and again from GDT on over 64 KB.
    words: Vec<u32>,
    limits: (u16, u16),
    bases: (u32, u32),
    task: (u32, u32),
    cr0: u32,
    cr3: u32,
    cr4: u32,
    ring: u8,
}

fn tables() -> impl Strategy<Value = Tables> {
    // Descriptors and entries that are often good, and any others.
    let word = prop_oneof![
        any::<u32>(),
        (0u32..0x200).prop_map(|page| page << 12 | 7),
        Just(0xffff),
        Just(0x00cf_9b00),
        Just(0x00cf_f300),
        Just(0x0008_0000 | (CODE & 0xffff)),
        Just(0x0001_ee00),
        Just(0),
    ];
    let limit = prop_oneof![Just(0u16), Just(0xffff), any::<u16>()];
    let base = prop_oneof![3 => Just(GDT), 1 => any::<u32>()];
    let address = prop_oneof![3 => (0u32..0x200).prop_map(|page| page << 12), 1 => any::<u32>()];
    let task = prop_oneof![Just(0u32), Just(0x67), any::<u32>()];
    (
        proptest::collection::vec(word, 1..64),
        (limit.clone(), limit),
        (base, prop_oneof![3 => Just(IDT), 1 => any::<u32>()]),
        (address.clone(), task),
        (any::<u32>(), address, any::<u32>()),
        0u8..4,
    )
        .prop_map(
            |(words, limits, bases, task, (cr0, cr3, cr4), ring)| Tables {
                words,
                limits,
                bases,
                task,
                cr0,
                cr3,
                cr4,
                ring: if ring == 3 { 3 } else { 0 },
            },
        )
}

fn set_up(session: &mut Session, tables: &Tables, code: &[u8], p6: bool) {
    let machine = session.machine_mut();
    let ram = machine.uncore_mut().ram.bytes_mut();
    let all = tables.words.iter().cycle();
    for (place, word) in ram[GDT as usize..][..0x1_0000].chunks_exact_mut(4).zip(all) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    ram[CODE as usize..][..code.len()].copy_from_slice(code);
    let processor = machine.processor_mut();
    let registers = &mut processor.registers;
    let user = tables.ring == 3;
    let access = if user { 0x60 } else { 0 };
    registers.segments = [Segment::new(DATA0, 0, u32::MAX, 0xc093 | access); 8];
    registers.segments[1] = Segment::new(CODE0, 0, u32::MAX, 0xc09b | access);
    registers.cpl = tables.ring;
    registers.gdtr = Table {
        base: tables.bases.0,
        limit: tables.limits.0,
    };
    registers.idtr = Table {
        base: tables.bases.1,
        limit: tables.limits.1,
    };
    registers.tr = Segment::new(0x28, tables.task.0, tables.task.1, 0x8b);
    registers.ldtr = Segment::new(0x30, tables.task.0, tables.task.1, 0x82);
    const OWN: u32 = 0xe005_003f;
    registers.cr0 = tables.cr0 & OWN | cr0::PE | cr0::ET;
    registers.cr3 = tables.cr3;
    registers.cr4 = if p6 { tables.cr4 & 0x94 } else { 0 };
    registers.eip = CODE;
    registers.gpr[4] = STACK;
    processor.modes_changed();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Devices take every value at every register, in every size, on every machine.
    #[test]
    fn devices_take_everything(
        machine in 0usize..3,
        accesses in proptest::collection::vec(access(), 1..60),
    ) {
        let name = ["i486dx-50", "p6-200", "p6-200x2"][machine];
        let mut session = session(&config(name, &[]), &code_of(&accesses));
        session.type_in(b"what is typed");
        let stop = run(&mut session);
        prop_assert!(!session.explain(&stop).is_empty());
        survives_a_snapshot(&mut session)?;
    }

    /// Any code with any page tables, descriptor tables and task segments, with and without the oracle.
    #[test]
    fn tables_may_hold_anything(
        p6: bool,
        tables in tables(),
        code in proptest::collection::vec(any::<u8>(), 16..256),
    ) {
        let (name, settings) = match (p6, code[0] & 1) {
            (false, _) => ("i486dx-50", &[][..]),
            (true, 0) => ("p6-200", &[][..]),
            (true, _) => ("p6-167", &[WINDOW, "bus.depth=8"][..]),
        };
        let config = config(name, settings);
        let mut fast = session(&config, &[0xf4]);
        let mut plain = session(&config, &[0xf4]);
        set_up(&mut fast, &tables, &code, p6);
        set_up(&mut plain, &tables, &code, p6);
        plain.set_oracle(true);
        let (a, b) = (run(&mut fast), run(&mut plain));
        prop_assert_eq!(fast.explain(&a), plain.explain(&b));
        prop_assert_eq!(fast.counters(), plain.counters());
        survives_a_snapshot(&mut fast)?;
    }

    /// Images of noise, and good ones that are cut or changed, are refused, or run.
    #[test]
    fn images_may_be_anything(
        noise in proptest::collection::vec(any::<u8>(), 0..300),
        cut in 0usize..200,
        changes in proptest::collection::vec((0usize..120, any::<u8>()), 0..6),
    ) {
        let config = config("i486dx-50", &[]);
        let good = executable(0x10_0000, &[header(0), vec![0xf4; 40]].concat());
        let mut changed = good.clone();
        for (place, byte) in changes {
            changed[place] = byte;
        }
        changed.truncate(good.len().saturating_sub(cut));
        for kernel in [noise, changed] {
            let given = (&kernel[..], "kernel");
            if let Ok(mut session) =
                Session::with_kernel(&config, given, None, None, "", Console::memory())
            {
                run(&mut session);
            }
        }
    }
}

/// Every key of every machine file with values that make no sense: an error that names the key, or a machine that runs.
#[test]
fn machine_files_may_hold_anything() {
    for name in ["i486dx-50", "p6-200x2"] {
        let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap();
        let (mut table, mut keys) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some(header) = line.strip_prefix('[') {
                table = format!("{}.", header.trim_end_matches(']'));
            } else if let Some((key, _)) = line.split_once('=')
                && !line.starts_with('#')
                && key
                    .trim()
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            {
                keys.push(format!("{table}{}", key.trim()));
            }
        }
        assert!(keys.len() > 40, "{name}: {keys:?}");
        for key in keys {
            for value in [
                "0",
                "1",
                "2",
                "3",
                "7",
                "4096",
                "0x7fffffff",
                "0x80000000",
                "4294967295",
                "18446744073709551615",
                "-1",
                "1.5",
                "0.5",
                "\"\"",
                "nonsense",
                "true",
                "[]",
                "i486",
                "lru",
            ] {
                let setting = format!("{key}={value}");
                let Ok(setting) = Override::parse(&setting) else {
                    continue;
                };
                match Config::from_file(file.as_ref(), &[setting]) {
                    Ok(config) => {
                        // hlt
                        let mut session = session(&config, &[0x40, 0xf4]);
                        let stop = session.run(Limits {
                            cycles: 100_000,
                            ..Limits::NONE
                        });
                        assert!(
                            matches!(stop, Stop::Fatal(Fatal::Asleep { .. }) | Stop::Limit),
                            "{name}: {key}={value}: {stop:?}"
                        );
                    }
                    Err(error) => {
                        let error = error.to_string();
                        let last = key.rsplit('.').next().unwrap();
                        assert!(
                            error.contains(last) || error.contains(&key) || error.contains('`'),
                            "{name}: {key}={value}: {error}"
                        );
                        assert_eq!(error.lines().count(), 1, "{name}: {key}={value}: {error}");
                    }
                }
            }
        }
    }
}

/// A count of four billion ends with the limit, and not before.
#[test]
fn a_huge_count_ends_with_the_limit() {
    // mov ecx, -1; mov edi, 0x20000; xor eax, eax; rep lodsb (and stosb to one page, by a segment of 64 KB)
    for string in [
        &[0xf3, 0xac][..],
        &[0xf3, 0xaa],
        &[0xf3, 0x6c],
        &[0xf3, 0x6e],
    ] {
        let mut code = vec![
            0xb9, 0xff, 0xff, 0xff, 0xff, 0xbf, 0, 0, 2, 0, 0xbe, 0, 0, 2, 0,
        ];
        code.extend(string);
        let mut session = session(&config("i486dx-50", &[]), &code);
        let stop = session.run(Limits {
            cycles: 1_000_000,
            ..Limits::NONE
        });
        let now = session.machine().instant().cycles;
        assert!(now < 1_010_000, "{now}");
        assert!(matches!(stop, Stop::Limit), "{stop:?}");
    }
}

/// Without an interrupt table the first fault shuts the processor down, and the run ends with the reason.
#[test]
fn a_triple_fault_is_told() {
    for name in ["i486dx-50", "p6-200", "p6-200x2"] {
        // lidt [zeroes]; ud2
        let code = [0x0f, 0x01, 0x1d, 0, 0x70, 0, 0, 0x0f, 0x0b];
        let mut session = session(&config(name, &[]), &code);
        let stop = run(&mut session);
        assert!(
            matches!(stop, Stop::Fatal(Fatal::TripleFault { .. })),
            "{name}: {stop:?}"
        );
        let text = session.explain(&stop);
        assert!(
            text.contains("triple fault at 0x00100013"),
            "{name}: {text}"
        );
        assert!(text.contains("#UD, then #GP"), "{name}: {text}");
        assert!(text.contains("idt 00000000+0000"), "{name}: {text}");
    }
}

/// A handler whose first instruction faults completes none, so that no limit of instructions ends the run.
#[test]
fn a_handler_that_faults_itself_ends_the_run() {
    const UD2: [u8; 2] = [0x0f, 0x0b];
    for name in ["i486dx-50", "p6-200", "p6-200x2"] {
        let mut bench = Bench::new(name, &UD2).gate(6, 0);
        bench.put(handler(6), &UD2);
        let stop = bench.machine.run(Limits {
            instructions: 100_000,
            ..Limits::NONE
        });
        let Stop::Fatal(fatal) = stop else {
            panic!("{name}: {stop:?}");
        };
        assert_eq!(
            fatal,
            Fatal::Stuck {
                eip: handler(6),
                vector: 6
            }
        );
        let told = fatal.to_string();
        assert!(told.contains("1000 exceptions came in a row"), "{told}");
    }
}

/// A processor that sleeps while a timer counts, whose interrupt is masked, completes no instruction either: the limit
/// of cycles that follows from one of instructions ends the run.
#[test]
fn a_sleep_without_end_ends_with_the_limit() {
    // mov al, 0xff; out 0x21, al; mov al, 0x34; out 0x43, al; xor al, al; out 0x40, al; out 0x40, al; sti; hlt
    let code = [
        0xb0, 0xff, 0xe6, 0x21, 0xb0, 0x34, 0xe6, 0x43, 0x30, 0xc0, 0xe6, 0x40, 0xe6, 0x40, 0xfb,
        0xf4,
    ];
    let mut bench = Bench::new("i486dx-50", &code);
    let clock = bench.machine.shape().clock;
    let instructions = 1000;
    let cycles = Limits::most_cycles(instructions, clock);
    let stop = bench.machine.run(Limits {
        cycles,
        instructions,
    });
    assert_eq!(stop, Stop::Limit);
    let now = bench.machine.instant();
    assert_eq!((now.cycles, now.instructions), (cycles, 9));
}
