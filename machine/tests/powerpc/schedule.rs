//! The cycles of blocks in the pipeline, from the latencies of the cores' manuals: chains of dependent instructions
//! over blocks and lines, loops, and full completion queues.

use crate::support::config;
use pagewalk_machine::pipeline::{Pending, Schedule};
use pagewalk_machine::powerpc::instruction::decode;
use pagewalk_machine::powerpc::timing::{micro_op, schedule};
use proptest::prelude::*;

const CORES: [&str; 3] = ["ppc603-133", "ppc604-133", "ppc750-400"];

/// The pipeline of a machine, and its state.
struct Core {
    schedule: Schedule,
    pending: Pending,
    doubt: u16,
}

impl Core {
    fn new(machine: &str) -> Core {
        Core {
            schedule: schedule(&config(machine, &[])),
            pending: Pending::default(),
            doubt: 0,
        }
    }

    /// Cycles of a block that comes next.
    fn run(&mut self, block: &[u32]) -> u16 {
        let words = block.iter().map(|&word| micro_op(&decode(word)));
        let timing = self.schedule.time(&self.pending, words);
        self.pending = timing.left;
        self.doubt = timing.doubt;
        timing.cycles
    }

    /// Cycles of a block that is run again and again.
    fn steady(&mut self, block: &[u32]) -> u16 {
        let rounds = |core: &mut Core| (0..60).map(|_| core.run(block)).sum::<u16>();
        rounds(self);
        let cycles = rounds(self);
        assert_eq!(cycles % 60, 0, "{block:08x?}");
        cycles / 60
    }
}

fn register_form(opcode: u32, t: u32, a: u32, b: u32) -> u32 {
    31 << 26 | t << 21 | a << 16 | b << 11 | opcode << 1
}

fn add(t: u32, a: u32, b: u32) -> u32 {
    register_form(266, t, a, b)
}

fn mullw(t: u32, a: u32, b: u32) -> u32 {
    register_form(235, t, a, b)
}

fn divw(t: u32, a: u32, b: u32) -> u32 {
    register_form(491, t, a, b)
}

fn lwz(t: u32, a: u32) -> u32 {
    32 << 26 | t << 21 | a << 16
}

/// `fadd t, t, b`
fn fadd(t: u32, b: u32) -> u32 {
    63 << 26 | t << 21 | t << 16 | b << 11 | 21 << 1
}

fn cmpwi(a: u32) -> u32 {
    11 << 26 | a << 16
}

/// A 603 folds a branch, but has fetched it: two instructions and a branch take two cycles, where a 750 fetches four
/// in one.
#[test]
fn a_block_takes_the_cycles_in_which_it_is_fetched() {
    let block = [add(5, 3, 4), add(6, 3, 4), BDNZ];
    for (machine, cycles) in CORES.into_iter().zip([2, 1, 1]) {
        assert_eq!(Core::new(machine).steady(&block), cycles, "{machine}");
    }
}

const BDNZ: u32 = 0x4200_fff0;
const BEQ: u32 = 0x4182_0010;
const ISYNC: u32 = 0x4c00_012c;

/// A line of adds, each of which needs the one before.
fn chain() -> Vec<u32> {
    vec![add(3, 3, 4); 8]
}

/// The last of eight is dispatched a cycle before it begins, if there is another unit to wait in.
#[test]
fn a_chain_of_adds_takes_a_cycle_for_each() {
    for (machine, first) in CORES.into_iter().zip([7, 7, 7]) {
        let mut core = Core::new(machine);
        let lines = [(); 4].map(|()| core.run(&chain()));
        assert_eq!(lines, [first, 8, 8, 8], "{machine}");
    }
}

/// As many at a time as there are integer units.
#[test]
fn adds_that_need_nothing_take_what_the_units_take() {
    let line: Vec<u32> = (10..18).map(|t| add(t, 4, 5)).collect();
    for (machine, cycles) in CORES.into_iter().zip([4, 4, 4]) {
        assert_eq!(Core::new(machine).steady(&line), cycles, "{machine}");
    }
}

/// Loops of one block, which is one instruction that needs its own last result, and a branch.
#[test]
fn a_loop_takes_the_latency_of_its_chain() {
    let loops = [
        ("add", add(3, 3, 4), [1, 1, 1]),
        ("mullw", mullw(3, 3, 4), [5, 4, 4]),
        ("divw", divw(3, 3, 4), [37, 20, 19]),
        ("lwz", lwz(3, 3), [2, 2, 2]),
        ("fadd", fadd(1, 2), [3, 3, 3]),
    ];
    for (name, instruction, cycles) in loops {
        for (machine, cycles) in CORES.into_iter().zip(cycles) {
            let taken = Core::new(machine).steady(&[instruction, BDNZ]);
            assert_eq!(taken, cycles, "{name} on {machine}");
        }
    }
}

/// A chain that runs through three lines, with a load beside it, takes its latencies: 3 multiplies and 3 adds.
#[test]
fn a_chain_over_three_lines_takes_its_latencies() {
    let line = [mullw(3, 3, 4), add(3, 3, 4), lwz(11, 5)];
    for (machine, cycles) in CORES.into_iter().zip([3 * 6, 3 * 5, 3 * 5]) {
        let mut core = Core::new(machine);
        let mut round = || -> u16 { (0..3).map(|_| core.run(&line)).sum() };
        round();
        assert_eq!([round(), round()], [cycles, cycles], "{machine}");
    }
}

/// Blocks that need a divide's result are dispatched while there is a unit to wait in.
#[test]
fn what_needs_a_divide_waits_for_it_in_the_units() {
    let blocks = [divw(5, 3, 4), add(6, 5, 5), add(7, 6, 6), add(8, 7, 7)];
    for (machine, cycles) in [
        ("ppc604-133", [1, 1, 1, 19]),
        ("ppc750-400", [1, 1, 18, 1]),
        ("ppc603-133", [1, 1, 36, 1]),
        // Divides have a unit of their own, and the only integer unit is held from the second block on.
        ("mpc855t-48", [1, 1, 6, 1]),
    ] {
        let mut core = Core::new(machine);
        assert_eq!(blocks.map(|block| core.run(&[block])), cycles, "{machine}");
    }
}

/// Behind a divide of 20 cycles the 604 dispatches two adds a cycle until 16 instructions are in flight,
/// and goes on when the divide completes, with three of them.
#[test]
fn the_completion_queue_holds_dispatch_up() {
    let adds: Vec<u32> = (0..4).map(|t| add(10 + t, 3, 4)).collect();
    let mut core = Core::new("ppc604-133");
    assert_eq!(core.run(&[divw(5, 3, 4)]), 1);
    // The 16th add waits, with 15 and the divide before it.
    assert_eq!([(); 5].map(|()| core.run(&adds)), [2, 2, 2, 14, 2]);
}

/// An isync begins when everything has completed, and leaves nothing unfinished.
#[test]
fn an_isync_waits_for_what_is_under_way() {
    for (machine, cycles) in CORES.into_iter().zip([38, 21, 21]) {
        let mut core = Core::new(machine);
        assert_eq!(core.run(&[divw(5, 3, 4), ISYNC]), cycles, "{machine}");
        assert_eq!(core.pending, Pending::default(), "{machine}");
    }
}

/// Instructions whose name ends with a point write CR0, with or without a bit that says so.
#[test]
fn what_records_holds_the_branch_behind_it_in_doubt() {
    let immediate = |opcode: u32| opcode << 26 | 3 << 21 | 5 << 16 | 1;
    let stwcx = register_form(150, 3, 0, 4) | 1;
    for word in [
        immediate(28),
        immediate(29),
        immediate(13),
        add(5, 3, 3) | 1,
        stwcx,
    ] {
        for machine in CORES {
            let mut core = Core::new(machine);
            core.run(&[word, BEQ]);
            assert_ne!(core.doubt, 0, "{word:08x} on {machine}");
        }
    }
}

/// Is a condition known to the branch that tests it? Compares take 1, 3 and 2 cycles; before them stands a
/// load of 2 cycles, or nothing.
#[test]
fn a_branch_is_in_doubt_until_its_condition_is_known() {
    for (machine, compare) in CORES.into_iter().zip([1, 3, 2]) {
        let mut core = Core::new(machine);
        core.run(&[cmpwi(3), BEQ]);
        assert_eq!(core.doubt, compare, "{machine}");
        core.run(&[cmpwi(3)]);
        core.run(&[BEQ]);
        assert_eq!(core.doubt, compare - 1, "{machine}");
        core.run(&[ISYNC]);
        core.run(&[lwz(3, 4)]);
        core.run(&[cmpwi(3), BEQ]);
        assert_eq!(core.doubt, compare + 1, "{machine}");
        core.run(&[BDNZ]);
        assert_eq!(core.doubt, 0, "{machine}");
    }
}

fn instruction() -> impl Strategy<Value = u32> {
    let register = || 3u32..9;
    prop_oneof![
        (register(), register(), register()).prop_map(|(t, a, b)| add(t, a, b)),
        (register(), register(), register()).prop_map(|(t, a, b)| mullw(t, a, b)),
        (register(), register(), register()).prop_map(|(t, a, b)| divw(t, a, b)),
        (register(), register()).prop_map(|(t, a)| lwz(t, a)),
        (register(), register()).prop_map(|(t, b)| fadd(t, b)),
        register().prop_map(cmpwi),
        Just(BEQ),
    ]
}

proptest! {
    /// Waiting reduces the unfinished work, by at most its own length, however the wait is divided.
    #[test]
    fn waits_add_up(
        machine in 0..CORES.len(),
        blocks in prop::collection::vec(prop::collection::vec(instruction(), 1..8), 1..8),
        waits in (0u64..50, 0u64..50),
    ) {
        let mut core = Core::new(CORES[machine]);
        for block in &blocks {
            core.run(block);
        }
        let pending = &core.pending;
        let (first, second) = waits;
        prop_assert_eq!(pending.after(first).after(second), pending.after(first + second));
        prop_assert_eq!(&pending.after(0), pending);
        let longest = u64::from(pending.longest());
        prop_assert_eq!(pending.after(longest), Pending::default());
        if longest > 0 {
            prop_assert_ne!(pending.after(longest - 1), Pending::default());
        }
    }
}
