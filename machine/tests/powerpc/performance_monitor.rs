//! The performance monitor and the breakpoint registers, as bare-metal programs see them.

use crate::support;
use crate::support::Program;
use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::powerpc::session::Session;

/// Where the programs store their results.
const RESULTS: u32 = 0x0010_0000;

/// `result` stores a register.
const MACROS: &str = "
.macro result register, number
  load 30, 0x00100000
  stw \\register, 4*\\number(30)
.endm
";

fn run(source: &str, machine: &str, oracle: bool) -> Session {
    let program = Program::new(&format!("{MACROS}{source}"));
    let mut session = program.session(machine, &[]);
    session.set_oracle(oracle);
    let limits = Limits {
        cycles: 100_000_000,
        ..Limits::NONE
    };
    support::finish(&mut session, limits);
    session
}

fn results<const N: usize>(session: &Session) -> [u32; N] {
    let ram = &session.machine().processor().memory.uncore.ram;
    std::array::from_fn(|n| ram.read_u32(RESULTS + 4 * n as u32).expect("RAM"))
}

/// 40 lines 4 KB apart are loaded three times: all of them fall into one D-cache set, where each load
/// misses, and their pages into 40 congruence classes of the TLB, which holds them. SELECT and STOP are
/// where counting begins and ends: 252 instructions, 80 loads and one invalidated page apart.
const LOADS: &str = "
.macro walk
  load 8, 0x40000000
  li 9, 40
  mtctr 9
1: lwz 10, 0(8)
  addi 8, 8, 0x1000
  bdnz 1b
.endm
_start:
  caches_on
  li 5, 0
  load 8, 0x80009180
  load 9, 0x00300012
1: xori 6, 5, 0x123
  slwi 6, 6, 6
  addis 6, 6, 0x20
  stw 8, 0(6)
  stw 9, 4(6)
  addi 9, 9, 0x1000
  addi 5, 5, 1
  cmpwi 5, 40
  blt 1b
  paging
  walk
  SELECT
  walk
  subi 8, 8, 0x1000
  tlbie 8
  walk
  STOP
";

#[test]
fn the_604_counts_tlb_misses_cache_misses_instructions_and_cycles() {
    // DTLB misses, D-cache misses; instructions, cycles.
    for (selects, expected) in [((6, 6), [1, 80]), ((2, 8), [252, 80]), ((6, 7), [1, 0])] {
        let (first, second) = selects;
        let select = format!("load 3, {first} << 6 | {second}\n  mtspr 952, 3");
        let stop = "li 3, 0\n  mtspr 952, 3\n  mfspr 4, 953\n  mfspr 5, 954\n  result 4, 0\n  result 5, 1\n  power_off 0";
        let source = LOADS.replace("SELECT", &select).replace("STOP", stop);
        for oracle in [false, true] {
            let session = run(&source, "ppc604-133", oracle);
            assert_eq!(results::<2>(&session), expected, "{selects:?}");
        }
    }
}

#[test]
fn the_750_has_four_counters_and_lets_programs_read_them() {
    // PMC1 cycles, PMC2 ITLB misses, PMC3 DTLB misses, PMC4 instructions.
    let select = "load 3, 6 << 27 | 2 << 22\n  mtspr 956, 3\n  load 3, 1 << 6 | 6\n  mtspr 952, 3";
    // UPMC1, UPMC3, UPMC4.
    let stop = "load 3, 0x80000000\n  mtspr 952, 3\n  mfspr 4, 937\n  mfspr 5, 938\n  mfspr 6, 941\n  mfspr 7, 942\n  result 4, 0\n  result 5, 1\n  result 6, 2\n  result 7, 3\n  power_off 0";
    let source = LOADS.replace("SELECT", select).replace("STOP", stop);
    let [cycles, instruction_tlb, data_tlb, instructions] =
        results(&run(&source, "ppc750-400", false));
    assert_eq!((instruction_tlb, data_tlb), (0, 1));
    // MMCR1 counts from its own mtspr on: three instructions earlier than the others.
    assert_eq!(instructions, 256);
    assert!(cycles > instructions, "every load waits for the bus");
}

/// Every counter that stands for one of the machine's own agrees with it, from reset to the end: here with
/// 40 searches for loads, one for a fetch from a page of the hash table, and three system calls.
#[test]
fn counters_agree_with_the_machines_own() {
    let source = LOADS
        .replace("_start:", "_start:\n  SELECT\n  vector 0xc00, handler")
        .replacen("  SELECT\n  walk", "  walk", 1)
        .replace(
            "STOP",
            "subi 8, 8, 0x1000\n  load 3, 0x4e800020\n  stw 3, 0(8)\n  dcbst 0, 8\n  sync\n  mtctr 8\n  bctrl\n  sc\n  sc\n  sc\n  STOP",
        );
    let stop = "load 3, 0x80000000\n  mtspr 952, 3\n  mfspr 4, 953\n  mfspr 5, 954\n  mfspr 6, 957\n  mfspr 7, 958\n  result 4, 0\n  result 5, 1\n  result 6, 2\n  result 7, 3\n  power_off 0\nhandler:\n  rfi\n";
    let data_of = |whole: &str, fetches: &str| format!("{whole} - {fetches}");
    let searches = data_of("hash.search", "hash.search.instruction");
    let cycles = data_of("walk.cycles", "walk.cycles.instruction");
    for (machine, codes, names) in [
        (
            "ppc604-185",
            [5, 6, 0x11, 0x12],
            [
                "cache.instruction.miss",
                "cache.data.miss",
                "hash.search.instruction",
                "walk.cycles.instruction",
            ],
        ),
        (
            "ppc604-185",
            [6, 7, 0x12, 0x13],
            ["tlb.data.miss", "tlb.instruction.miss", &searches, &cycles],
        ),
        (
            "ppc604-185",
            [7, 8, 0x0b, 0],
            ["branch.mispredict", "", "exception.system-call", ""],
        ),
        (
            "ppc604-185",
            [0, 6, 0x1a, 0],
            ["", "cache.data.miss", "cache.data.writeback", ""],
        ),
        (
            "ppc750-400",
            [6, 5, 5, 6],
            [
                "walk.cycles.instruction",
                "cache.instruction.miss",
                "cache.data.miss",
                &cycles,
            ],
        ),
        (
            "ppc750-400",
            [7, 0x0d, 0x0d, 5],
            [
                "cache.l2.access - cache.l2.miss",
                "cache.data.writeback",
                "cache.l2.access - cache.l2.miss",
                "cache.l2.writeback",
            ],
        ),
    ] {
        let [first, second, third, fourth] = codes;
        let select = format!(
            "load 3, {third} << 27 | {fourth} << 22\n  mtspr 956, 3\n  load 3, {first} << 6 | {second}\n  mtspr 952, 3"
        );
        let source = source.replace("SELECT", &select).replace("STOP", stop);
        let session = run(&source, machine, false);
        let counters = session.counters();
        let value = |name: &str| {
            let (_, value) = counters.iter().find(|(n, _)| n == name).expect(name);
            *value
        };
        for (found, name) in results::<4>(&session).into_iter().zip(names) {
            let expected = match name.split_once(" - ") {
                Some((whole, part)) => value(whole) - value(part),
                None if name.is_empty() => continue,
                None => value(name),
            };
            // Behind the counters' stop there are only stores to one line, which may miss, and their code.
            let slack = if name.starts_with("cache.") { 24 } else { 0 };
            let found = u64::from(found);
            assert!(
                found <= expected && expected <= found + slack,
                "{machine}, {codes:?}, {name}: {found}, the machine has {expected}"
            );
            assert!(
                found > 0 || name.contains("l2") || name.contains("writeback"),
                "{name}"
            );
        }
    }
}

#[test]
fn the_604e_counts_cycles_without_interrupts() {
    // PMC1 cycles, PMC2 those with EE clear; 1000 turns of a loop with EE as it is told.
    let source = |enable: &str| {
        format!(
            "_start:
  caches_on
  load 3, 1 << 6 | 0x15
  mtspr 952, 3
  mfmsr 4
  {enable}
  mtmsr 4
  li 5, 1000
  mtctr 5
1: bdnz 1b
  li 4, 0
  mtmsr 4
  load 3, 0x80000000
  mtspr 952, 3
  mfspr 4, 953
  mfspr 5, 954
  result 4, 0
  result 5, 1
  power_off 0
"
        )
    };
    let [all, without] = results(&run(&source("nop"), "ppc604-185", false));
    assert_eq!(all, without);
    let [all, without] = results(&run(&source("ori 4, 4, 0x8000"), "ppc604-185", false));
    assert!((1000..5000).contains(&(all - without)), "{all} {without}");
}

#[test]
fn counters_freeze_by_state() {
    // Instructions, while in user state: the program there runs 101, sc among them.
    let source = "
_start:
  vector 0xc00, handler
  load 3, user
  mtsrr0 3
  load 3, 0x5000
  mtsrr1 3
  load 3, 0x40000000 | 2 << 6
  mtspr 952, 3
  rfi
user:
.rept 100
  nop
.endr
  sc
handler:
  mfspr 4, 953
  result 4, 0
  power_off 0
";
    for machine in ["ppc604-133", "ppc750-400"] {
        assert_eq!(results(&run(source, machine, false)), [101]);
    }
}

#[test]
fn a_negative_counter_interrupts_once() {
    // PMC1 counts cycles from 3000 below zero; PMC2 begins with it and counts instructions.
    let source = "
_start:
  vector 0xf00, handler
  load 3, 0x80000000 - 3000
  mtspr 953, 3
  li 28, 0
  mfmsr 3
  ori 3, 3, 0x8000
  mtmsr 3
  load 3, 0x04008000 | 0x2000 | 1 << 6 | 2
  mtspr 952, 3
  load 9, 3000
  mtctr 9
1: addi 28, 28, 1
  bdnz 1b
  mfspr 4, 952
  mfspr 5, 954
  mfspr 6, 953
  li 3, 0
  mtspr 952, 3
  result 4, 0
  result 27, 1
  result 26, 2
  result 6, 3
  power_off 0
handler:
  mr 27, 28
  mfspr 26, 955
  rfi
";
    for oracle in [false, true] {
        let [control, at, sampled, cycles] = results(&run(source, "ppc604-133", oracle));
        assert_eq!(
            control,
            0x8000 | 0x2000 | 1 << 6 | 2,
            "ENINT has been cleared"
        );
        assert!(
            (1..3000).contains(&at),
            "the handler has run, in the loop: {at}"
        );
        assert!(
            (0x4000..0x4200).contains(&sampled),
            "SIA is in the loop: {sampled:#x}"
        );
        assert!(cycles > 0x8000_0000);
    }
}

/// An instruction breakpoint stops before its instruction, and lets it run once IABR is clear.
#[test]
fn iabr_traps_before_the_instruction() {
    let source = "
_start:
  caches_on
  vector 0x1300, handler
  li 28, 0
  li 27, 0
  load 3, target + 2
  mtspr 1010, 3
  li 9, 5
  mtctr 9
1: addi 28, 28, 1
  nop
target:
  addi 27, 27, 1
  bdnz 1b
  result 26, 0
  result 25, 1
  result 27, 2
  load 3, target
  sub 26, 26, 3
  result 26, 0
  power_off 0
handler:
  mfsrr0 26
  mr 25, 27
  li 3, 0
  mtspr 1010, 3
  rfi
";
    for machine in ["ppc603-133", "ppc604-133", "ppc750-400"] {
        for oracle in [false, true] {
            // SRR0 is the target; it had not run then, and runs five times in all.
            assert_eq!(
                results(&run(source, machine, oracle)),
                [0, 0, 5],
                "{machine}"
            );
        }
    }
}

#[test]
fn dabr_traps_loads_and_stores_apart() {
    let source = "
_start:
  caches_on
  vector 0x300, handler
  li 20, 0
  load 10, 0x00110000
  li 5, 77
  load 3, 0x00110008 + 1
  mtspr 1013, 3
  stw 5, 8(10)
  lwz 6, 0(10)
  lwz 7, 12(10)
  load 3, 0x00110008 + 2
  mtspr 1013, 3
  lwz 8, 8(10)
  stb 5, 9(10)
  load 3, 0x00110008 + 7
  mtspr 1013, 3
  stw 5, 16(10)
  lwz 9, 8(10)
  result 20, 0
  result 21, 1
  result 22, 2
  result 23, 3
  result 24, 4
  result 8, 5
  result 9, 6
  power_off 0
handler:
  addi 20, 20, 1
  cmpwi 20, 1
  bne 1f
  mfdar 21
  mfdsisr 22
  b 2f
1: mfdar 23
  mfdsisr 24
2: li 3, 0
  mtspr 1013, 3
  rfi
";
    for machine in ["ppc604-133", "ppc750-400"] {
        for oracle in [false, true] {
            let found = results(&run(source, machine, oracle));
            // With TE set and translation off nothing matches. The store was not done a first time,
            // and done when the handler had returned to it: 0x4d over the byte at 9.
            let expected = [
                2,
                0x11_000c,
                0x0040_0000,
                0x11_0009,
                0x0240_0000,
                77,
                0x004d_004d,
            ];
            assert_eq!(found, expected, "{machine}");
        }
    }
}

/// The results of a program whose line SAMPLE has PMC1 become negative after that many cycles, and interrupt then. They
/// are the same without fast paths.
fn sampled_after<const N: usize>(cycles: u32, source: &str, machine: &str) -> [u32; N] {
    let sample = format!(
        "load 3, 0x80000000 - {cycles}; mtspr 953, 3; load 3, 0x04008000 | 1 << 6; mtspr 952, 3"
    );
    let source = source.replace("SAMPLE", &sample);
    let [found, oracle] = [false, true].map(|oracle| results::<N>(&run(&source, machine, oracle)));
    assert_eq!(found, oracle, "{machine}, {cycles}");
    found
}

/// With interrupts off, SIA has where a counter became negative, and the exception comes when they go on. The counter
/// goes on counting, so that the handler sees how long it waited, and no second sample replaces the first.
#[test]
fn a_counter_samples_code_that_runs_with_interrupts_off() {
    let source = "
_start:
  caches_on
  vector 0xf00, handler
  load 10, 0x00110000
  SAMPLE
  li 9, 500
  mtctr 9
first:
  addi 28, 28, 1
  bdnz first
  li 9, 500
  mtctr 9
second:
  dcbst 0, 10
  addi 10, 10, 32
  bdnz second
  li 26, 0
  mfmsr 3
  ori 3, 3, 0x8000
  mtmsr 3
on:
  result 26, 0
  result 27, 1
  result 25, 2
  result 24, 3
  load 3, first
  result 3, 4
  load 3, second
  result 3, 5
  load 3, on
  result 3, 6
  power_off 0
handler:
  mfspr 26, 955
  mfspr 27, 953
  mfsrr0 25
  mfspr 24, 952
  rfi
";
    for machine in ["ppc604-133", "ppc604-185", "ppc750-400"] {
        let mut places = [0; 2];
        for period in (100..1600).step_by(75) {
            let [sampled, counter, at, control, first, second, on] =
                sampled_after(period, source, machine);
            assert_eq!(at, on, "{machine}, {period}: taken as soon as EE is 1");
            assert_eq!(
                control,
                0x8000 | 1 << 6,
                "{machine}, {period}: enabled once"
            );
            assert!(
                counter > 0x8000_0000,
                "{machine}, {period}: it still counts"
            );
            if (first..first + 8).contains(&sampled) {
                places[0] += 1;
            } else if (second..second + 12).contains(&sampled) {
                places[1] += 1;
            } else {
                panic!("{machine}, {period}: {sampled:#x} is in neither loop");
            }
        }
        println!("{machine}: {places:?}");
        assert!(
            places.iter().all(|&samples| samples > 1),
            "{machine}: {places:?}"
        );
    }
}

/// SIA is in the code that took the cycle: here nearly always in the function, not where it returns to.
#[test]
fn a_sample_is_of_the_code_that_took_the_cycle() {
    let source = "
_start:
  caches_on
  load 6, 1000000
  li 7, 3
  SAMPLE
  li 9, 500
  mtctr 9
1: bl function
  bdnz 1b
  mfspr 26, 955
  result 26, 0
  load 3, function
  result 3, 1
  power_off 0
.balign 32
function:
.rept 7
  divw 5, 6, 7
.endr
  blr
";
    for machine in ["ppc604-133", "ppc750-400"] {
        let periods = (1000..5000).step_by(97);
        let within = periods.clone().filter(|period| {
            let [sampled, function] = sampled_after(*period, source, machine);
            (function..function + 32).contains(&sampled)
        });
        let (within, all) = (within.count(), periods.count());
        assert!(within * 10 >= all * 9, "{machine}: {within} of {all}");
    }
}
