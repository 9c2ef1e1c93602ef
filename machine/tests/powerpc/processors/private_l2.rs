//! Processors that have an L2 each.

use super::*;

/// Small, so that lines leave both levels. The I-cache is larger than the L2.
const SMALL: [&str; 3] = [
    "cache.data.size=1024",
    "cache.l2.size=4096",
    "cache.l2.ways=2",
];

const IN_LINE: &str = "cache.l2={ place = \"in-line\", size = 4096, ways = 2, line = 32, replacement = \"lru\", \
                       first-beat = 9, next-beat = 3, miss = 7 }";

/// An L3 that all processors share, larger than their L2s.
const SHARED_L3: &str = "cache.l3={ place = \"look-aside\", size = 16384, ways = 2, line = 32, replacement = \"lru\", \
                         first-beat = 3, next-beat = 1, policy = \"write-back\", allocate = \"bursts\", look-up = 2, \
                         copy-back = 1 }";

/// In-line L2s of processors with MESI and MEI, the back-side L2s of 750s, and in-line L2s before a shared L3.
fn machines() -> [(&'static str, Vec<&'static str>, &'static str); 4] {
    // L2CR[L2E] of a processor that was released; HID0[ABE], so that dcbf and dcbi reach the other.
    let enable = "  load 3, 0x80000000\n  mtspr 1017, 3\n  load 3, 0xc008\n  mtspr 1008, 3\n";
    [
        ("ppc604-200x4-l2", SMALL.to_vec(), ""),
        ("ppc603-133", vec![SMALL[0], IN_LINE], ""),
        ("ppc750-400", SMALL.to_vec(), enable),
        ("ppc604-200x4-l2", [&SMALL[..], &[SHARED_L3]].concat(), ""),
    ]
}

/// Each processor changes and reads lines of 32 KB at random, some of which it shares with the others, and now and then
/// runs the instructions that control caches; then what [`LOCKED`] does.
const CHURN: &str = "
  load 14, 0x20000
  addi 17, 20, 77
  load 18, 0x41c64e6d
  li 25, 3000
  mtctr 25
churn:
  mullw 17, 17, 18
  addi 17, 17, 12345
  rlwinm 15, 17, 16, 17, 29
  rlwinm 16, 17, 4, 28, 31
  cmpwi 16, 6
  blt read
  cmpwi 16, 10
  blt write
  beq 11f
  cmpwi 16, 11
  beq 12f
  cmpwi 16, 12
  beq 13f
  cmpwi 16, 13
  beq 14f
  cmpwi 16, 14
  beq 16f
  icbi 14, 15
  b next
read:
  lwzx 16, 14, 15
  b next
write:
  stwx 16, 14, 15
  b next
11:
  dcbz 14, 15
  b next
12:
  dcbf 14, 15
  b next
13:
  dcbst 14, 15
  b next
14:
  dcbt 14, 15
  b next
16:
  lwarx 16, 14, 15
  lwz 22, 64(14)
  stwcx. 16, 14, 15
next:
  bdnz churn
";

fn churning(enable: &str, processors: u32) -> Program {
    program(processors, &format!("{enable}{CHURN}{LOCKED}"), "")
}

#[test]
fn they_count_the_same_without_fast_paths() {
    for (machine, settings, enable) in machines() {
        for processors in [1, 2, 4] {
            let program = churning(enable, processors);
            let run = |oracle: bool| {
                let mut session = session(&program, machine, processors, &settings);
                session.set_oracle(oracle);
                finish(&mut session);
                assert_eq!(word(&session, 0x10100), 200 * processors, "{machine}");
                for number in 0..processors as usize {
                    let count = |name| counter(&session, number, name);
                    let hits = count("cache.l2.access") - count("cache.l2.miss");
                    assert!(hits > 100, "{machine}, processor {number}: {hits} hits");
                    let several = processors > 1;
                    for name in ["cache.l2.push", "cache.l2.taken"] {
                        assert_eq!(count(name) > 0, several, "{machine}: {name}");
                    }
                    let included = machine != "ppc750-400";
                    let left = count("cache.data.back-invalidated");
                    assert_eq!(left > 0, included, "{machine}");
                }
                counts(&session)
            };
            let fast = run(false);
            assert_eq!(fast, run(true), "{machine}: the oracle");
            assert_eq!(fast, run(false), "{machine}: the same run twice");
        }
    }
}

/// What misses the L2s goes to the L3, and what it answers comes sooner than from memory.
#[test]
fn processors_share_an_l3() {
    for processors in [1, 2] {
        let program = churning("", processors);
        let end = |settings: &[&str]| {
            let mut session = session(&program, "ppc604-200x4-l2", processors, settings);
            finish(&mut session);
            let cycles: u64 = (0..processors as usize)
                .map(|number| counter(&session, number, "cycles"))
                .sum();
            (session, cycles)
        };
        let (without, slow) = end(&SMALL);
        let (with, fast) = end(&[&SMALL[..], &[SHARED_L3]].concat());
        assert!(fast < slow, "{processors}: {fast} {slow}");
        for number in 0..processors as usize {
            let none = ["cache.l3.access", "cache.l3.miss", "cache.l3.writeback"];
            assert!(none.iter().all(|name| counter(&without, number, name) == 0));
            let count = |name| counter(&with, number, name);
            let (access, miss) = (count("cache.l3.access"), count("cache.l3.miss"));
            assert!(miss > 0 && access - miss > 100, "{access} {miss}");
            assert!(access >= count("cache.l2.miss"), "{access}");
            assert!(count("cache.l3.writeback") > 0);
        }
    }
}

#[test]
fn a_snapshot_holds_each_processor_s_own() {
    for (machine, settings, enable) in machines() {
        let program = churning(enable, 3);
        let start = || session(&program, machine, 3, &settings);
        let mut whole = start();
        finish(&mut whole);
        for cycles in [9_000, 60_011] {
            let mut parts = start();
            let limits = Limits { cycles, ..CYCLES };
            assert_eq!(parts.run(limits), Stop::Limit);
            let saved = parts.save().unwrap();
            let mut restored = Session::restore(&saved, "saved", Console::memory()).unwrap();
            assert_eq!(saved, restored.save().unwrap(), "{machine}");
            finish(&mut restored);
            finish(&mut parts);
            assert_eq!(counts(&whole), counts(&parts), "{machine}");
            assert_eq!(counts(&whole), counts(&restored), "{machine}");
        }
    }
}

/// What a processor misses because another took the line from its L2.
#[test]
fn who_took_whose_line_is_counted() {
    for (machine, settings, enable) in machines() {
        let mut session = session(&churning(enable, 2), machine, 2, &settings);
        finish(&mut session);
        let missed = sum(&session, "pollution.cache.l2.taken.kernel.kernel");
        let taken = sum(&session, "cache.l2.taken");
        assert!(
            0 < missed && missed <= taken,
            "{machine}: {missed} of {taken}"
        );
    }
}

/// Each of two processors reads 16 KB over and over: its own L2 holds them, and then the bus is not used.
#[test]
fn what_an_own_l2_holds_needs_no_bus() {
    let body = "
  li 25, 40
3:
  load 14, 0x20000
  li 26, 512
  mtctr 26
4:
  lwz 27, 0(14)
  addi 14, 14, 32
  bdnz 4b
  subi 25, 25, 1
  cmpwi 25, 0
  bne 3b
";
    let run = |machine: &str| {
        let settings = ["cache.data.size=1024"];
        let mut session = session(&program(2, body, ""), machine, 2, &settings);
        finish(&mut session);
        (sum(&session, "bus.read"), sum(&session, "cache.data.miss"))
    };
    let (without, missed) = run("ppc604-200x4");
    assert!(without > 40_000, "{without} reads");
    let (with, missed_too) = run("ppc604-200x4-l2");
    assert!(with < 1_500, "{with} reads");
    assert!(missed.abs_diff(missed_too) < 100, "{missed}, {missed_too}");
}
