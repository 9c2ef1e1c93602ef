//! Programs that only compiled code can get wrong, each under every way to run it.

use pagewalk_machine::powerpc::machine::{Limits, Stop};
use pagewalk_machine::powerpc::session::Session;

use super::support::Program;
use super::{LIMITS, assert_same, interpret, outcome, run, run_in_parts};

/// A jump to the counter, in the invalid form that counts: the target is the counter that has been decremented.
const COUNTED_JUMP: &str = "
_start:
  caches_on
  li 29, 0
  li 27, 2000
1: load 4, 2f + 4
  mtctr 4
  .long 0x4e000420
  power_off 1
2: addi 29, 29, 1
  addi 29, 29, 2
  subi 27, 27, 1
  cmpwi 27, 0
  bne 1b
  power_off 0
";

/// A page whose code ends in a jump to the next page, which lies in one frame and then in another. The frames are in
/// different sets of an I-cache whose ways are larger than a page. The jump is made in several states of the pipeline.
const MOVED_PAGE: &str = "
_start:
  caches_on
  li 29, 0
  poke 0x00300ff8, 0x60000000
  poke 0x00300ffc, 0x48000004
  load 10, 0x00300fe0
  dcbst 0, 10
  poke 0x00302000, 0x3bbd0001
  poke 0x00302004, 0x4e800020
  load 10, 0x00302000
  dcbst 0, 10
  poke 0x00305000, 0x3bbd0002
  poke 0x00305004, 0x4e800020
  load 10, 0x00305000
  dcbst 0, 10
  sync
  poke 0x00204880, 0x80009180
  poke 0x00204884, 0x00302192
  paging
  load 20, 0x40000ff8
  load 21, 0x40001000
  load 22, 0x00204884
  load 23, 0x00302192
  load 24, 0x00305192
  load 8, 123456
  li 9, 7
  li 27, 60
1: li 26, 40
2: mtctr 20
  bctrl
  subi 26, 26, 1
  cmpwi 26, 0
  bne 2b
  xor 23, 23, 24
  xor 24, 24, 23
  xor 23, 23, 24
  stw 23, 0(22)
  sync
  tlbie 21
  tlbsync
  sync
  isync
  mtctr 20
  divwu 7, 8, 9
  bctrl
  mtctr 20
  divwu 7, 8, 9
  mullw 6, 7, 9
  bctrl
  mtctr 20
  bctrl
  subi 27, 27, 1
  cmpwi 27, 0
  bne 1b
  power_off 0
";

/// A routine whose first instruction is written anew 65,536 times: so often that how often it was decoded is the number
/// again that it had when it was compiled. Then loads miss so often that compiled code is given up.
const WRITTEN_ANEW: &str = "
_start:
  caches_on
  li 29, 0
  load 4, 200000
  mtctr 4
1: bl routine
  bdnz 1b
  load 10, routine
  load 11, 0x38630000
  load 27, 65536
2: addi 11, 11, 1
  rlwinm 11, 11, 0, 18, 16
  stw 11, 0(10)
  dcbst 0, 10
  sync
  icbi 0, 10
  isync
  bl routine
  .rept 120
  addi 12, 12, 1
  .endr
  subi 27, 27, 1
  cmpwi 27, 0
  bne 2b
  load 13, 0x00100000
  load 4, 50000
  mtctr 4
  li 14, 0
3: add 15, 13, 14
  lwz 6, 0(15)
  lwz 6, 32(15)
  lwz 6, 64(15)
  lwz 6, 96(15)
  lwz 6, 128(15)
  lwz 6, 160(15)
  lwz 6, 192(15)
  lwz 6, 224(15)
  addi 14, 14, 4128
  rlwinm 14, 14, 0, 11, 26
  bdnz 3b
  li 3, 0
  load 4, 1000
  mtctr 4
4: bl routine
  bdnz 4b
  add 29, 29, 3
  power_off 0
.balign 32
routine:
  b 5f
  nop
5: blr
";

/// A routine of four lines that are one piece of code: loads that miss, comparisons that a branch reads, that `mfcr`
/// reads lines later, and that nothing reads, a branch that is hardly ever taken, and a jump. Now and then the first
/// instruction of the second or the third line is written anew, or code elsewhere takes the place of the lines in the
/// I-cache.
const LINES: &str = "
_start:
  caches_on
  li 29, 0
  load 13, 0x00100000
  li 14, 0
  load 10, second
  load 15, third
  load 11, 0x3bbd0001
  load 27, 6000
1: bl routine
  mfcr 5
  rlwinm 5, 5, 4, 28, 31
  add 29, 29, 5
  andi. 6, 27, 63
  bne 2f
  xori 11, 11, 2
  stw 11, 0(10)
  dcbst 0, 10
  sync
  icbi 0, 10
  isync
  xor 10, 10, 15
  xor 15, 15, 10
  xor 10, 10, 15
2: andi. 6, 27, 31
  bne 3f
  bl away
  bl further
3: subi 27, 27, 1
  cmpwi 27, 0
  bne 1b
  power_off 0
.balign 4096
routine:
  addi 14, 14, 4128
  rlwinm 14, 14, 0, 11, 26
  lwzx 8, 13, 14
  cmplwi 1, 14, 0x4000
  cmpw 2, 14, 27
  addi 8, 8, 3
  cmpwi 27, 77
  nop
second:
  addi 29, 29, 1
  stwx 8, 13, 14
  beq 5f
  add 29, 29, 8
  bgt 1, 4f
  addi 29, 29, 5
4: add. 7, 8, 27
  b third
5: addi 29, 29, 77
  b third
.balign 32
third:
  addi 29, 29, 1
  cmplw 0, 7, 29
  subf. 7, 8, 29
  rlwinm 7, 7, 2, 12, 29
  lwzx 9, 13, 7
  mr 1, 9
  add 8, 8, 1
  nop
  cmpwi 0, 8, 100
  xor 29, 29, 8
  blr
.balign 16384
.space 4096
away:
  .rept 32
  nop
  .endr
  blr
.balign 16384
.space 4096
further:
  .rept 32
  nop
  .endr
  blr
";

/// Returns, one behind another, that are not taken but for one: the code of each is long.
const RETURNS: &str = "
_start:
  caches_on
  li 29, 0
  load 27, 3000
1: andi. 5, 27, 31
  bl returns
  addi 29, 29, 1
  bl jumps
  subi 27, 27, 1
  cmpwi 27, 0
  bne 1b
  power_off 0
.balign 32
returns:
  .rept 31
  cmpwi 1, 5, 31
  beqlr 1
  .endr
  .rept 64
  bgtlr 1
  .endr
  cmpwi 5, 7
  beqlr
  addi 29, 29, 2
  blr
.balign 32
jumps:
  mtctr 27
  .rept 64
  bdzlr
  .endr
  mflr 6
  mtctr 6
  .rept 64
  bgtctr 1
  .endr
  blr
";

/// A loop of two pieces of code, long enough that the checks of its jumps fail many times, as each does when the sums
/// of compiled code are added to the account.
const TAKING_TURNS: &str = "
_start:
  caches_on
  li 29, 0
  load 4, 1500000
  mtctr 4
1: addi 29, 29, 1
  b 2f
.balign 64
2: addi 29, 29, 2
  bdnz 1b
  power_off 0
";

/// Compiles what is hot, as a user's run does.
fn run_hot(mut session: Session) -> super::Outcome {
    let stop = session.run(LIMITS);
    outcome(&session, stop)
}

fn assert_all_same(source: &str, machines: &[&str]) {
    let program = Program::new(source);
    for machine in machines {
        let session = || program.session(machine, &[]);
        let plain = run(session(), true);
        assert_eq!(plain.stop, Stop::PowerOff { status: 0 }, "{machine}");
        assert_same(machine, &interpret(session()), &plain);
        assert_same(machine, &run(session(), false), &plain);
        assert_same(machine, &run_hot(session()), &plain);
    }
}

#[test]
fn a_jump_to_the_counter_that_counts_goes_where_the_interpreter_does() {
    assert_all_same(
        COUNTED_JUMP,
        &["ppc603-133", "ppc604-133", "ppc604-185", "ppc750-400"],
    );
}

#[test]
fn a_jump_to_another_page_follows_its_translation() {
    assert_all_same(MOVED_PAGE, &["ppc604-133", "ppc604-185", "ppc750-400"]);
}

#[test]
fn lines_of_one_piece_of_code_may_be_written_anew_and_evicted() {
    assert_all_same(LINES, &["ppc603-133", "ppc604-133", "ppc750-400"]);
    let program = Program::new(LINES);
    let parts: Vec<Limits> = [1, 7, 40, 97, 450]
        .map(|cycles| Limits {
            cycles,
            ..Limits::NONE
        })
        .into();
    for machine in ["ppc603-133", "ppc604-133"] {
        let session = || program.session(machine, &[]);
        assert_same(
            machine,
            &run_in_parts(session(), false, &parts),
            &run(session(), true),
        );
    }
}

/// Instructions on registers, with places for a target and two sources.
const ON_REGISTERS: [&str; 32] = [
    "add {d}, {a}, {b}",
    "subf {d}, {a}, {b}",
    "mullw {d}, {a}, {b}",
    "mulli {d}, {a}, 77",
    "neg {d}, {a}",
    "mulhw {d}, {a}, {b}",
    "mulhwu {d}, {a}, {b}",
    "divw {d}, {a}, {b}",
    "divwu {d}, {a}, {b}",
    "addic {d}, {a}, -7",
    "addc {d}, {a}, {b}",
    "subfic {d}, {a}, 99",
    "subfc {d}, {a}, {b}",
    "adde {d}, {a}, {b}",
    "subfe. {d}, {a}, {b}",
    "addze {d}, {a}",
    "and {d}, {a}, {b}",
    "or. {d}, {a}, {b}",
    "xor {d}, {a}, {b}",
    "nand {d}, {a}, {b}",
    "andc {d}, {a}, {b}",
    "xori {d}, {a}, 0x8421",
    "andi. {d}, {a}, 0xff1",
    "extsb {d}, {a}",
    "extsh {d}, {a}",
    "cntlzw {d}, {a}",
    "rlwinm {d}, {a}, 5, 3, 28",
    "rlwimi {d}, {a}, 7, 2, 20",
    "rlwnm {d}, {a}, {b}, 1, 30",
    "slw {d}, {a}, {b}",
    "srw {d}, {a}, {b}",
    "srawi {d}, {a}, 3",
];

/// Each pair of instructions of which the second one reads what the first one has just given, in a register that
/// compiled code holds in a host register and in one that it does not.
#[test]
fn an_instruction_reads_what_the_one_before_it_gave() {
    let mut source = "
_start:
  caches_on
  li 29, 0
  load 21, 0x89abcdef
  load 22, 0x00012345
  li 27, 12
1: nop
"
    .to_owned();
    let fill = |text: &str, (target, a, b): (u32, u32, u32)| {
        let text = text.replace("{d}", &target.to_string());
        text.replace("{a}", &a.to_string())
            .replace("{b}", &b.to_string())
    };
    for (first, second) in
        (ON_REGISTERS.iter()).flat_map(|first| ON_REGISTERS.map(|second| (first, second)))
    {
        for given in [20, 9] {
            for (a, b) in [(given, 22), (21, given)] {
                let (first, second) = (fill(first, (given, 21, 22)), fill(second, (23, a, b)));
                source += &format!(
                    ".balign 32\n  {first}\n  {second}\n  xor 29, 29, 23\n  mfcr 24\n  add 29, 29, 24\n"
                );
                source += "  addi 22, 22, 1\n  add 21, 21, 29\n";
            }
        }
    }
    source += "
  addi 22, 22, 5
  subi 27, 27, 1
  cmpwi 27, 0
  beq 2f
  b 1b
2: power_off 0
";
    assert_all_same(&source, &["ppc604-133"]);
}

#[test]
fn code_of_many_returns_has_room() {
    assert_all_same(RETURNS, &["ppc603-133", "ppc604-133", "ppc750-400"]);
}

#[test]
fn code_written_65536_times_runs_as_it_was_written() {
    assert_all_same(WRITTEN_ANEW, &["ppc604-133"]);
}

#[test]
fn jumps_are_noted_once_however_often_their_checks_fail() {
    let program = Program::new(TAKING_TURNS);
    let mut session = program.session("ppc604-133", &[]);
    let stop = session.run(LIMITS);
    assert_eq!(stop, Stop::PowerOff { status: 0 });
    let compiler = &session.machine().processor().compiler;
    let (links, made) = (compiler.links(), compiler.made());
    assert!(links as u64 <= 8 * made, "{links} links, {made} versions");
    let plain = run(program.session("ppc604-133", &[]), true);
    assert_same("hot", &outcome(&session, stop), &plain);
}
