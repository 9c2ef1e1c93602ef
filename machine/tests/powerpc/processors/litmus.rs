//! The order in which processors see each other's accesses.

use super::*;

/// Rounds of a litmus test.
const ROUNDS: u32 = 150;
const RESULTS: u32 = 0x60000;

/// The results r4 and r5 of each processor's code in each round. Its x and y are at 0(13) and 0(14), in lines of their
/// own, zero at first; r3 is 1. Each processor waits a random time before.
fn litmus(machine: &str, lead: &str, threads: &[&str]) -> Vec<Vec<(u32, u32)>> {
    let processors = threads.len() as u32;
    let mut cases = String::new();
    for (number, code) in threads.iter().enumerate() {
        cases += &format!("thread{number}:\n{code}\n  b joined\n");
    }
    let choose: String = (0..processors)
        .map(|number| format!("  cmpwi 20, {number}\n  beq thread{number}\n"))
        .collect();
    let body = format!(
        "
  load 13, 0x20000
  slwi 15, 20, 16
  load 16, {RESULTS}
  add 16, 16, 15
  addi 17, 20, 77
  load 18, 0x41c64e6d
  li 19, 0
round:
  load 23, 0x10080
3:
  lwarx 22, 0, 23
  addi 22, 22, 1
  stwcx. 22, 0, 23
  bne 3b
  addi 19, 19, {processors}
4:
  lwz 22, 0(23)
  cmpw 22, 19
  blt 4b
  mullw 17, 17, 18
  addi 17, 17, 12345
  rlwinm 22, 17, 16, 24, 31
  addi 22, 22, 1
  mtctr 22
5:
  bdnz 5b
  addi 14, 13, 64
  li 3, 1
  li 4, 0
  li 5, 0
{choose}
joined:
  stw 4, 0(16)
  stw 5, 4(16)
  addi 16, 16, 8
  addi 13, 13, 128
  load 22, 0x20000 + 128 * {ROUNDS}
  cmplw 13, 22
  blt round
  b finish
{cases}
"
    );
    let mut session = session(
        &program(processors, &body, ""),
        machine,
        processors,
        &[lead],
    );
    finish(&mut session);
    let of = |round: u32, thread: u32| {
        let place = RESULTS + (thread << 16) + 8 * round;
        (word(&session, place), word(&session, place + 4))
    };
    (0..ROUNDS)
        .map(|round| (0..processors).map(|thread| of(round, thread)).collect())
        .collect()
}

/// Results of all processors in a round that must not be.
type Forbidden = fn(&[(u32, u32)]) -> bool;

/// Message passing, store buffering, load buffering, and independent reads of independent writes. Without a barrier or
/// a dependency the architecture allows these results too. Here they are never seen: accesses are done in the order of
/// turns.
const LITMUS: [(&str, &[&str], Forbidden); 11] = [
    (
        "MP",
        &[
            "stw 3, 0(13)\n sync\n stw 3, 0(14)",
            "lwz 4, 0(14)\n sync\n lwz 5, 0(13)",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP, eieio and an address that depends",
        &[
            "stw 3, 0(13)\n eieio\n stw 3, 0(14)",
            "lwz 4, 0(14)\n xor 6, 4, 4\n lwzx 5, 13, 6",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP, lwsync, which these cores take for sync, and isync behind a branch",
        &[
            "stw 3, 0(13)\n .long 0x7c2004ac\n stw 3, 0(14)",
            "lwz 4, 0(14)\n cmpw 4, 4\n bne 9f\n9: isync\n lwz 5, 0(13)",
        ],
        |r| r[1] == (1, 0),
    ),
    (
        "MP without barriers",
        &["stw 3, 0(13)\n stw 3, 0(14)", "lwz 4, 0(14)\n lwz 5, 0(13)"],
        |r| r[1] == (1, 0),
    ),
    (
        "SB",
        &[
            "stw 3, 0(13)\n sync\n lwz 4, 0(14)",
            "stw 3, 0(14)\n sync\n lwz 4, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (0, 0),
    ),
    (
        "SB without barriers",
        &["stw 3, 0(13)\n lwz 4, 0(14)", "stw 3, 0(14)\n lwz 4, 0(13)"],
        |r| (r[0].0, r[1].0) == (0, 0),
    ),
    (
        "LB",
        &[
            "lwz 4, 0(13)\n sync\n stw 3, 0(14)",
            "lwz 4, 0(14)\n sync\n stw 3, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "LB, data that depends",
        &[
            "lwz 4, 0(13)\n xor 6, 4, 4\n add 6, 6, 3\n stw 6, 0(14)",
            "lwz 4, 0(14)\n xor 6, 4, 4\n add 6, 6, 3\n stw 6, 0(13)",
        ],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "LB without barriers",
        &["lwz 4, 0(13)\n stw 3, 0(14)", "lwz 4, 0(14)\n stw 3, 0(13)"],
        |r| (r[0].0, r[1].0) == (1, 1),
    ),
    (
        "IRIW",
        &[
            "stw 3, 0(13)",
            "stw 3, 0(14)",
            "lwz 4, 0(13)\n sync\n lwz 5, 0(14)",
            "lwz 4, 0(14)\n sync\n lwz 5, 0(13)",
        ],
        |r| r[2] == (1, 0) && r[3] == (1, 0),
    ),
    (
        "IRIW, addresses that depend",
        &[
            "stw 3, 0(13)",
            "stw 3, 0(14)",
            "lwz 4, 0(13)\n xor 6, 4, 4\n lwzx 5, 14, 6",
            "lwz 4, 0(14)\n xor 6, 4, 4\n lwzx 5, 13, 6",
        ],
        |r| r[2] == (1, 0) && r[3] == (1, 0),
    ),
];

#[test]
fn nothing_forbidden_is_seen_in_litmus_tests() {
    for machine in MACHINES {
        for lead in ["lead=100", "lead=1"] {
            for (name, threads, forbidden) in LITMUS {
                let rounds = litmus(machine, lead, threads);
                let seen = rounds.iter().any(|round| forbidden(round));
                assert!(!seen, "{machine}, {lead}: {name}");
                if name == "MP" {
                    assert!(rounds.iter().any(|r| r[1] == (0, 0)), "both ways");
                    assert!(rounds.iter().any(|r| r[1] == (1, 1)), "both ways");
                }
            }
        }
    }
}
