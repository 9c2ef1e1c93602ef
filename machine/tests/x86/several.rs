//! Several P6: start by INIT and start-up IPIs, locked operations, coherence, the order of turns.

use pagewalk_machine::config::Override;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::config::Config;

use super::bench::{Bench, CODE, WINDOW, config};

const APIC: u32 = 0xfee0_0000;
const ENABLE: u32 = APIC + 0xf0;
const COMMAND: u32 = APIC + 0x300;
const POWER_OFF: u32 = 0x8000_0f08;
/// What all count, and how many are done.
const SUM: u32 = 0x9000;
const DONE: u32 = 0x9040;
const ROUNDS: u32 = 500;

/// mov dword [address], value
fn store(address: u32, value: u32) -> Vec<u8> {
    let mut code = vec![0xc7, 0x05];
    code.extend(address.to_le_bytes());
    code.extend(value.to_le_bytes());
    code
}

/// The first processor: starts the others, counts as they do, waits until they are done, powers off.
pub fn first(others: u32) -> Vec<u8> {
    let mut code = store(ENABLE, 0x1ff);
    code.extend(store(COMMAND, 0x000c_4500));
    code.extend([0xb9, 0xe8, 3, 0, 0, 0xe2, 0xfe]); // mov ecx, 1000; loop
    code.extend(store(COMMAND, 0x000c_4608));
    code.push(0xb9); // mov ecx, ROUNDS
    code.extend(ROUNDS.to_le_bytes());
    code.extend([0xf0, 0xff, 0x05]); // lock inc dword [SUM]
    code.extend(SUM.to_le_bytes());
    code.extend([0xe2, 0xf7]); // loop
    code.extend([0x81, 0x3d]); // cmp dword [DONE], others
    code.extend(DONE.to_le_bytes());
    code.extend(others.to_le_bytes());
    code.extend([0x75, 0xf4]); // jne
    code.extend(store(POWER_OFF, 42));
    code.extend([0xeb, 0xfe]);
    code
}

/// The others, in real mode at 0x8000.
pub fn other() -> Vec<u8> {
    let mut code = vec![0x31, 0xc0, 0x8e, 0xd8, 0xb9]; // xor ax, ax; mov ds, ax; mov cx, ROUNDS
    code.extend((ROUNDS as u16).to_le_bytes());
    code.extend([0x66, 0xf0, 0xff, 0x06]); // lock inc dword [SUM]
    code.extend((SUM as u16).to_le_bytes());
    code.extend([0xe2, 0xf8]); // loop
    code.extend([0x66, 0xf0, 0xff, 0x06]); // lock inc dword [DONE]
    code.extend((DONE as u16).to_le_bytes());
    code.extend([0xfa, 0xf4]); // cli; hlt
    code
}

pub fn bench(processors: u32, settings: &[&str]) -> Bench {
    let config = config(&format!("p6-200x{processors}"), settings);
    let mut bench = Bench::with(&config, &first(processors - 1));
    bench.put(0x8000, &other());
    bench
}

#[test]
fn processors_start_and_lose_no_count() {
    for processors in [2, 4] {
        for lead in ["lead=1", "lead=100", "lead=5000"] {
            let mut bench = bench(processors, &[lead]);
            for number in 1..processors as usize {
                assert!(bench.machine.is_in_reset(number));
            }
            assert_eq!(
                bench.run(1_000_000),
                Stop::PowerOff { status: 42 },
                "{lead}"
            );
            assert_eq!(bench.word(SUM), ROUNDS * processors, "{lead}");
            for (number, processor) in bench.machine.processors().iter().enumerate() {
                assert!(!bench.machine.is_in_reset(number));
                assert!(processor.instant().instructions > u64::from(ROUNDS));
            }
        }
    }
}

#[test]
fn lines_go_from_one_processor_to_the_other() {
    let mut bench = bench(2, &[]);
    assert_eq!(bench.run(1_000_000), Stop::PowerOff { status: 42 });
    let counters = bench.machine.counters();
    for name in ["cache.data.taken", "bus.snoop", "bus.push"] {
        assert!(counters.get(name).unwrap() > 10, "{name}");
    }
}

#[test]
fn the_same_run_is_the_same_and_the_oracle_agrees() {
    let outcome = |oracle: bool, settings: &[&str]| {
        let mut bench = bench(4, settings);
        bench.machine.set_oracle(oracle);
        let stop = bench.run(1_000_000);
        (stop, bench.machine.instant(), bench.machine.counters())
    };
    for settings in [&[][..], &[WINDOW]] {
        let plain = outcome(false, settings);
        assert_eq!(plain, outcome(false, settings));
        assert_eq!(plain, outcome(true, settings));
    }
}

#[test]
fn a_machine_whose_processors_all_halt_ends() {
    let mut bench = bench(2, &[]);
    // hlt at once: the other is never started.
    bench.put(CODE, &[0xf4]);
    let stop = bench.run(1000);
    assert!(matches!(stop, Stop::Fatal(_)), "{stop:?}");
}

#[test]
fn a_dump_shows_all_processors_and_names_them() {
    let mut code = store(0x8000_0f24, 9);
    code.extend(store(POWER_OFF, 42));
    let mut bench = Bench::with(&config("p6-200x2", &[]), &code);
    assert_eq!(bench.run(1000), Stop::PowerOff { status: 42 });
    let asked = bench.machine.processor().observers.dumps.clone();
    let last = bench.machine.states(3, true);
    assert_eq!((asked.len(), last.len()), (2, 2));
    for (number, dump) in (asked.iter().zip(0..))
        .chain(last.iter().zip(0..))
        .map(|(d, n)| (n, d))
    {
        assert_eq!(dump.processor, Some(number));
        assert_eq!(dump.to_json()["processor"], number);
        let heading = format!("dump {} of processor {number} at cycle ", dump.label);
        assert!(dump.to_string().starts_with(&heading), "{dump}");
    }
    let mut one = Bench::with(&config("p6-200", &[]), &code);
    assert_eq!(one.run(1000), Stop::PowerOff { status: 42 });
    let alone = &one.machine.processor().observers.dumps[0];
    assert!(alone.to_string().starts_with("dump 9 at cycle "), "{alone}");
    assert!(alone.to_json().get("processor").is_none());
}

#[test]
fn a_lead_of_no_cycle_is_refused() {
    let file = format!("{}/../machines/p6-200x2.toml", env!("CARGO_MANIFEST_DIR"));
    let none = Override::parse("lead=0").unwrap();
    let error = Config::from_file(file.as_ref(), &[none]).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("lead") && words.contains("1 to "), "{words}");
}
