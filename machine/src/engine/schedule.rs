//! When instructions are issued, and the times of whole blocks, which are remembered.
//!
//! The time of a block depends on its instructions and on the state of the pipeline at its beginning: which registers
//! are not ready yet, and what is left of the cycle. The number of a state and the block's head find the time of each
//! instruction. Where an instruction takes longer, because it waits for memory, the instructions behind it have a
//! schedule of their own, for the state that the wait has left.

use rustc_hash::FxHashMap;

use super::straight::Instruction;

/// The cycle of the last issue, and what that left of the cycle, as the processor has it; 0: all of it.
pub type Issued = (u64, u8);

/// Registers at most, and whatever else an instruction can wait for.
pub const REGISTERS: usize = 128;

/// The cycle from which each register's value can be used.
pub type Ready = [u64; REGISTERS];

/// An instruction that is issued in order, when its operands are there and a pipe is free.
pub trait Scheduled: Instruction {
    /// What instructions cost.
    type Costs;

    /// The number of a register that nothing reads.
    const SINK: u8;

    /// Issues it behind what was issued before.
    fn issue(&self, costs: &Self::Costs, before: Issued, ready: &mut Ready) -> Issued;

    /// It changes registers and nothing else, and reads neither the program counter nor a clock.
    fn is_plain(&self) -> bool;
}

/// A state of the pipeline: what is left of the cycle, and the registers that are not ready, with the cycles until they
/// are.
type Pending = (u8, Vec<(u8, u64)>);

/// The number of a state.
pub type Number = u16;

/// The number of the state in which everything is ready and the cycle is free.
pub const IDLE: Number = 0;

/// A state that has not been looked at, or that waits to be.
const UNKNOWN: Number = Number::MAX;

/// States at most. When there are more, all is forgotten.
const STATES: usize = 4096;

/// Sets for blocks, and states of a block that have a schedule at a time.
const SETS: usize = 1 << 13;
const WAYS: usize = 4;

/// A block keeps its set until other blocks have wanted that so often.
const PATIENCE: u8 = 32;

/// [`Set::credit`] of a new block.
const CREDIT: u8 = 16;
/// The most credit of a block. A run by a schedule without a look at the registers earns 1.
const CREDIT_MOST: u8 = 64;
/// A new schedule costs so much credit.
const MAKING: u8 = 4;
/// A look at the registers costs so much credit.
const LOOKING: u8 = 1;

/// So many cycles later a state is found without looking at the registers.
const LATER: usize = 16;

struct State {
    pending: Pending,
    /// The states after so many cycles in which nothing is issued.
    later: [Number; LATER],
}

/// An instruction of a block that is not plain: it may see the time, take longer, or end the block. Cycles count from
/// the beginning of the block.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its issue, and that of the instruction before it.
    issued: (u32, u8),
    before: (u32, u8),
    /// Cycles from its issue until every register is ready: those that wait for what came before the block, and those
    /// that an instruction of the block up to this one writes.
    longest: u32,
    /// Which instruction of the block it is, from 1 on.
    number: u8,
    /// Bytes of the block before it.
    at: u8,
}

impl Step {
    /// Its issue in a block that began at `cycle`.
    #[inline(always)]
    #[must_use]
    pub fn issued(&self, cycle: u64) -> Issued {
        (cycle + u64::from(self.issued.0), self.issued.1)
    }

    /// That of the instruction before it.
    #[inline(always)]
    #[must_use]
    pub fn before(&self, cycle: u64) -> Issued {
        (cycle + u64::from(self.before.0), self.before.1)
    }

    /// Cycles from its issue until every register is ready.
    #[inline(always)]
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest.into()
    }

    /// Which instruction of the block it is, from 1 on.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> usize {
        self.number.into()
    }

    /// Bytes of the block before it.
    #[inline(always)]
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at.into()
    }
}

/// A block's times from a state on.
pub struct Schedule {
    pub steps: Box<[Step]>,
    /// Instructions, and bytes.
    pub count: usize,
    pub bytes: u64,
    /// The last issue, in cycles from the beginning of the block.
    pub last: Issued,
    /// The state at the block's end.
    pub end: Number,
    /// The registers that are not ready at the block's end, and the cycles from the block's beginning until each is.
    late: Box<[(u8, u64)]>,
}

/// A schedule in use, and where it was.
pub struct Taken {
    set: usize,
    way: usize,
    head: u32,
    state: Number,
    /// [`Schedules::age`] when it was taken: it goes back if no set was emptied since.
    age: u64,
    pub schedule: Box<Schedule>,
}

/// The schedules of a block, or of what is behind an instruction of a block, by the number of the state.
type Set = [Option<(Number, Box<Schedule>)>; WAYS];

/// The block, or the instruction of a block, that a set belongs to. Owners are kept apart from the sets, so that all
/// owners fit into the host's caches.
#[derive(Clone, Copy, Default)]
struct Owner {
    /// The address of the block's head, or of that instruction, as far as 32 bits tell it. All lie near each other.
    head: u32,
    /// How many schedules have been made: where the next one goes.
    made: u8,
    /// How often other blocks wanted the set since its block was run last.
    wanted: u8,
    /// What its schedules saved, less what they cost.
    credit: u8,
    /// So many times the block is run without one, because they cost more than they saved.
    pause: u8,
}

/// The schedules of blocks, and the state of the pipeline as far as it is known.
pub struct Schedules {
    states: Vec<State>,
    numbers: FxHashMap<Pending, Number>,
    sets: Box<[Set]>,
    owners: Box<[Owner; SETS]>,
    /// [`super::blocks::Blocks::resets`], by which the heads are known.
    resets: u64,
    /// How often all sets were emptied.
    age: u64,
    /// The state at a cycle.
    known: Number,
    at: u64,
}

impl Default for Schedules {
    fn default() -> Schedules {
        let mut schedules = Schedules {
            states: Vec::new(),
            numbers: FxHashMap::default(),
            sets: (0..SETS).map(|_| Set::default()).collect(),
            owners: Box::new([Owner::default(); SETS]),
            resets: 0,
            age: 0,
            known: UNKNOWN,
            at: 0,
        };
        schedules.number(Pending::default());
        schedules
    }
}

impl Owner {
    /// What it has cost. If that is more than it has saved, it pauses.
    fn costs(&mut self, credit: u8) {
        self.credit = self.credit.saturating_sub(credit);
        if self.credit == 0 {
            (self.credit, self.pause) = (CREDIT, u8::MAX);
        }
    }
}

impl Schedules {
    /// Instructions are issued apart from blocks: the registers must be looked at.
    #[inline(always)]
    pub fn lose(&mut self) {
        self.known = UNKNOWN;
    }

    /// At this cycle, in which nothing has been issued, everything is ready.
    #[inline(always)]
    pub fn idle(&mut self, cycle: u64) {
        (self.known, self.at) = (IDLE, cycle);
    }

    /// How often all states and schedules were forgotten.
    #[inline(always)]
    pub fn age(&self) -> u64 {
        self.age
    }

    /// Can there be so many states more before all are forgotten?
    pub fn have_room_for(&self, states: usize) -> bool {
        self.states.len() + states <= STATES
    }

    /// At this cycle the pipeline is in this state.
    #[inline(always)]
    pub fn now_in(&mut self, state: Number, cycle: u64) {
        (self.known, self.at) = (state, cycle);
    }

    /// What a state has left of the cycle ([`Issued`]).
    #[inline(always)]
    pub fn used(&self, state: Number) -> u8 {
        self.states[usize::from(state)].pending.0
    }

    /// The registers that are not ready in a state, with the cycles until they are.
    #[inline(always)]
    pub fn waits(&self, state: Number) -> &[(u8, u64)] {
        &self.states[usize::from(state)].pending.1
    }

    /// The state after so many cycles in which nothing is issued.
    pub fn after(&mut self, state: Number, cycles: u64) -> Number {
        if cycles == 0 {
            return state;
        }
        let left = |&(register, left): &(u8, u64)| Some((register, left.checked_sub(cycles)?));
        let waits = self.waits(state).iter().filter_map(left);
        let waits = waits.filter(|&(_, left)| left != 0).collect();
        self.number((0, waits))
    }

    fn number(&mut self, pending: Pending) -> Number {
        if let Some(&number) = self.numbers.get(&pending) {
            return number;
        }
        if self.states.len() == STATES {
            self.states.clear();
            self.numbers.clear();
            self.known = UNKNOWN;
            self.forget();
            self.number(Pending::default());
            return self.number(pending);
        }
        let number = self.states.len() as Number;
        self.states.push(State {
            pending: pending.clone(),
            later: [UNKNOWN; LATER],
        });
        self.numbers.insert(pending, number);
        number
    }

    fn forget(&mut self) {
        self.age += 1;
        self.sets.fill_with(Set::default);
        self.owners.fill(Owner::default());
    }

    /// The number of the state that the pipeline is in.
    #[inline(always)]
    pub fn state(&mut self, (cycle, used): Issued, ready: &Ready, sink: u8) -> Number {
        if let Some(state) = self.states.get(usize::from(self.known)) {
            if cycle == self.at && used == state.pending.0 {
                return self.known;
            }
            let after = cycle.wrapping_sub(self.at) as usize;
            if used == 0
                && let Some(&later) = state.later.get(after)
                && later != UNKNOWN
            {
                return later;
            }
        }
        self.look((cycle, used), ready, sink)
    }

    /// As [`Schedules::state`], by a look at the registers.
    #[inline(never)]
    fn look(&mut self, (cycle, used): Issued, ready: &Ready, sink: u8) -> Number {
        let late = late(ready, cycle, sink).into_iter();
        let number = self.number((used, late.map(|(n, at)| (n, at - cycle)).collect()));
        let after = cycle.wrapping_sub(self.at) as usize;
        if used == 0
            && let Some(state) = self.states.get_mut(usize::from(self.known))
            && let Some(later) = state.later.get_mut(after)
        {
            *later = number;
        }
        number
    }

    /// Takes the schedule of the block of `head`, or of the instructions behind another part of a block, from this
    /// state of the pipeline on, if there is one. `ops`: these instructions.
    #[inline(always)]
    pub fn take<'a, Op: Scheduled + 'a>(
        &mut self,
        (head, resets): (usize, u64),
        (issued, ready): (Issued, &Ready),
        costs: &Op::Costs,
        ops: impl Iterator<Item = &'a Op>,
    ) -> Option<Taken> {
        if resets != self.resets {
            self.resets = resets;
            self.forget();
        }
        let looks = self.known == UNKNOWN;
        let (place, head) = (place(head), head as u32);
        let owner = &mut self.owners[place];
        if owner.head != head {
            // Another block's. It goes if it is not run any more.
            owner.wanted = owner.wanted.saturating_add(1);
            if owner.made == 0 || owner.wanted > PATIENCE {
                if owner.made != 0 {
                    self.sets[place] = Set::default();
                }
                *owner = Owner {
                    head,
                    credit: CREDIT,
                    ..Owner::default()
                };
            }
            return None;
        }
        owner.wanted = 0;
        if owner.pause != 0 {
            owner.pause -= 1;
            return None;
        }
        let state = self.state(issued, ready, Op::SINK);
        let age = self.age;
        let held = self.sets[place].iter_mut().enumerate();
        let found = held
            .filter(|(_, way)| way.as_ref().is_some_and(|(number, _)| *number == state))
            .find_map(|(way, held)| Some((way, held.take()?.1)));
        let owner = &mut self.owners[place];
        let (way, schedule) = match found {
            Some(found) => {
                if looks {
                    owner.costs(LOOKING);
                } else {
                    owner.credit = CREDIT_MOST.min(owner.credit + 1);
                }
                found
            }
            None => {
                let way = usize::from(owner.made) % WAYS;
                owner.made = (owner.made % WAYS as u8) + 1;
                owner.costs(MAKING);
                (way, self.schedule(state, ops, costs))
            }
        };
        Some(Taken {
            set: place,
            way,
            head,
            state,
            age,
            schedule,
        })
    }

    /// Puts a schedule back, unless its block has lost its set meanwhile, or the states have got other numbers. A block
    /// that has made none since it got the set back must not hold one: the next owner would find it there.
    #[inline(always)]
    pub fn put(&mut self, taken: Taken) {
        let owner = &self.owners[taken.set];
        if taken.age == self.age && taken.head == owner.head && owner.made != 0 {
            self.sets[taken.set][taken.way] = Some((taken.state, taken.schedule));
        }
    }

    /// The times of a block from this state on.
    #[inline(never)]
    pub fn schedule<'a, Op: Scheduled + 'a>(
        &mut self,
        state: Number,
        ops: impl Iterator<Item = &'a Op>,
        costs: &Op::Costs,
    ) -> Box<Schedule> {
        let (used, pending) = self.states[usize::from(state)].pending.clone();
        let mut ready: Ready = [0; REGISTERS];
        for &(number, left) in &pending {
            ready[usize::from(number)] = left;
        }
        // A register that an instruction gives an earlier time keeps its old one until the block ends.
        let latest = ready.iter().max().copied().unwrap_or_default();
        let (mut issued, mut bytes, mut count, mut steps) = ((0, used), 0, 0, Vec::new());
        for op in ops {
            let before = issued;
            issued = op.issue(costs, issued, &mut ready);
            count += 1;
            if !op.is_plain() {
                let last = ready.iter().max().max(Some(&latest)).copied();
                let short = |(cycle, used): Issued| (cycle as u32, used);
                steps.push(Step {
                    issued: short(issued),
                    before: short(before),
                    longest: last.map_or(0, |at| at.saturating_sub(issued.0)) as u32,
                    number: count as u8,
                    at: bytes as u8,
                });
            }
            bytes += u64::from(op.length());
        }
        let (end, used) = issued;
        let at_end = late(&ready, end, Op::SINK);
        // A register that was late may have been given an earlier time.
        let now = pending.iter().map(|&(n, _)| (n, ready[usize::from(n)]));
        let earlier = now.filter(|&(_, at)| at <= end);
        Box::new(Schedule {
            steps: steps.into(),
            count,
            bytes,
            last: issued,
            late: at_end.iter().copied().chain(earlier).collect(),
            end: self.number((
                used,
                at_end.into_iter().map(|(n, at)| (n, at - end)).collect(),
            )),
        })
    }

    /// A block has been run by its schedule, which began at `cycle`.
    #[inline(always)]
    pub fn ends(&mut self, schedule: &Schedule, cycle: u64, ready: &mut Ready) {
        for &(number, at) in &schedule.late {
            ready[usize::from(number) % REGISTERS] = cycle + at;
        }
        (self.known, self.at) = (schedule.end, cycle + schedule.last.0);
    }
}

/// Which set a head has. Heads are some 32 bytes apart.
#[inline(always)]
fn place(head: usize) -> usize {
    (head >> 5 ^ head >> 18) % SETS
}

/// The registers that are not ready at `cycle`, and when they are, without the one that nothing reads.
fn late(ready: &Ready, cycle: u64, sink: u8) -> Vec<(u8, u64)> {
    (0..)
        .zip(ready)
        .filter(|&(number, &at)| at > cycle && number != sink)
        .map(|(number, &at)| (number, at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes register `rd` so many cycles after its issue, and needs another register. One is issued in a cycle.
    #[derive(Clone, Copy, Debug)]
    struct Toy {
        rd: u8,
        rs: u8,
        latency: u8,
        plain: bool,
    }

    const SINK: u8 = 7;

    impl Instruction for Toy {
        const LONGEST: u32 = 1;

        fn length(&self) -> u32 {
            1
        }

        fn ends(&self) -> bool {
            false
        }
    }

    impl Scheduled for Toy {
        type Costs = ();

        const SINK: u8 = SINK;

        fn issue(&self, (): &(), (cycle, used): Issued, ready: &mut Ready) -> Issued {
            let next = cycle + u64::from(used != 0);
            let at = next.max(ready[usize::from(self.rs)]);
            ready[usize::from(self.rd)] = at + u64::from(self.latency);
            (at, 1)
        }

        fn is_plain(&self) -> bool {
            self.plain
        }
    }

    fn toy() -> impl Strategy<Value = Toy> {
        (0..=SINK, 0..SINK, 1..9_u8, any::<bool>()).prop_map(|(rd, rs, latency, plain)| Toy {
            rd,
            rs,
            latency,
            plain,
        })
    }

    /// What will be seen of a pipeline.
    fn seen((cycle, used): Issued, ready: &Ready) -> (Issued, Vec<(u8, u64)>) {
        ((cycle, used), late(ready, cycle, SINK))
    }

    /// A part of a block is run while the block's schedule is out, and has the same place.
    #[test]
    fn a_schedule_that_comes_back_is_found_under_its_key() {
        let (long, short) = ([op(1), op(2)], [op(3)]);
        let mut schedules = Schedules::default();
        let ready = [0; REGISTERS];
        let (one, other) = ((32, 0), (64, 0));
        let idle = ((0, 0), &ready);
        assert!(schedules.take(one, idle, &(), long.iter()).is_none());
        let taken = schedules.take(one, idle, &(), long.iter()).unwrap();
        assert!(schedules.take(other, idle, &(), short.iter()).is_none());
        let within = schedules.take(other, idle, &(), short.iter()).unwrap();
        assert_eq!((taken.schedule.count, within.schedule.count), (2, 1));
        schedules.put(within);
        schedules.put(taken);
        // A block that wants the set of `one`, again and again.
        let rival = (SETS << 5, 0);
        assert_eq!(place(rival.0), place(one.0));
        let taken = schedules.take(one, idle, &(), long.iter()).unwrap();
        for _ in 0..=PATIENCE {
            assert!(schedules.take(rival, idle, &(), short.iter()).is_none());
        }
        let within = schedules.take(rival, idle, &(), short.iter()).unwrap();
        schedules.put(within);
        schedules.put(taken);
        assert!(schedules.take(one, idle, &(), long.iter()).is_none());
        let within = schedules.take(rival, idle, &(), short.iter()).unwrap();
        assert_eq!(within.schedule.count, 1);
        // The states get other numbers while it is out.
        schedules.forget();
        schedules.put(within);
        assert!(schedules.take(rival, idle, &(), short.iter()).is_none());
    }

    fn op(rd: u8) -> Toy {
        Toy {
            rd,
            rs: 0,
            latency: 1,
            plain: true,
        }
    }

    proptest! {
        /// Blocks that run by schedules, with waits between them, leave the pipeline as instructions one by one do.
        #[test]
        fn a_schedule_has_the_times_of_its_instructions(
            blocks in prop::collection::vec(prop::collection::vec(toy(), 1..6), 1..4),
            runs in prop::collection::vec((0..4_usize, 0..40_u64), 1..200),
        ) {
            let mut schedules = Schedules::default();
            let (mut at, mut ready) = ((100, 0), [0; REGISTERS]);
            let (mut known, mut known_ready) = (at, ready);
            for (n, wait) in runs {
                let n = n % blocks.len();
                let begin = known.0;
                let taken = schedules.take(
                    ((n + 1) << 10, 0), (known, &known_ready), &(), blocks[n].iter(),
                );
                let mut steps = taken.iter().flat_map(|taken| taken.schedule.steps.iter());
                for (number, op) in (1..).zip(&blocks[n]) {
                    let before = at;
                    at = op.issue(&(), at, &mut ready);
                    if !op.plain && let Some(step) = steps.next() {
                        prop_assert_eq!((step.issued(begin), step.before(begin)), (at, before));
                        prop_assert_eq!((step.number(), step.at()), (number, number as u64 - 1));
                        let last = late(&ready, at.0, SINK).into_iter().map(|(_, at)| at).max();
                        prop_assert!(at.0 + step.longest() >= last.unwrap_or_default());
                        // What was late at the beginning is entered as late until the end.
                        let entered = late(&known_ready, at.0, SINK).into_iter().map(|(_, at)| at).max();
                        prop_assert!(at.0 + step.longest() >= entered.unwrap_or_default());
                    }
                }
                match taken {
                    Some(taken) => {
                        let schedule = &taken.schedule;
                        known = (begin + schedule.last.0, schedule.last.1);
                        schedules.ends(schedule, begin, &mut known_ready);
                        prop_assert_eq!((schedule.count, schedule.bytes), (blocks[n].len(), blocks[n].len() as u64));
                        schedules.put(taken);
                    }
                    None => {
                        for op in &blocks[n] {
                            known = op.issue(&(), known, &mut known_ready);
                        }
                        schedules.lose();
                    }
                }
                prop_assert_eq!(seen(known, &known_ready), seen(at, &ready));
                if wait < 20 {
                    at = (at.0 + wait, if wait == 0 { at.1 } else { 0 });
                    known = at;
                }
            }
        }
    }
}
