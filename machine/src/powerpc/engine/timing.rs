//! A cache of the cycles that blocks take.
//!
//! A block's issue cycles depend on the state of the pipeline: what earlier blocks have left unfinished
//! ([`Pending`]). Programs reach a few hundred states, so each state has a number. An op caches its block's cost and
//! the resulting state for the state in which it was last entered: entering a block is then one comparison.
//!
//! If that fails, a few other costs are searched that the line keeps, then a table; if that fails, too, the schedule
//! computes the cost. All give the same result. With the oracle on, the schedule computes it for each line that is
//! entered.

use rustc_hash::FxHashMap;

use super::line::{Lines, Op};
use crate::pipeline::{Pending, Schedule};
use crate::powerpc::processor::Processor;

/// Number of a state of the pipeline.
pub type State = u16;

/// Nothing is unfinished.
pub const DRAINED: State = 0;

/// No state.
pub const NO_STATE: State = State::MAX;

/// How many states can have numbers. When all are in use, all are dropped.
const STATES: usize = 1 << 14;

/// Entries of the table: 1 << this.
const TABLE: u32 = 17;

/// Waits up to this many cycles are remembered (those of branches).
const WAITS: usize = 4;

/// The cost of a block that is entered in one state of the pipeline.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockTiming {
    /// The state before it.
    pub before: State,
    /// The state that it leaves.
    pub after: State,
    /// Its issue cycles.
    pub cycles: u16,
    /// Cycles that the branch at its end waits for its condition, as far as a byte can tell them.
    pub doubt: u8,
    /// The position of its first op in the line. It stands here so that one copy of 8 bytes sets all.
    pub index: u8,
}

impl BlockTiming {
    /// Not known for any state, of the op at `index`.
    pub const fn none(index: u8) -> BlockTiming {
        BlockTiming {
            before: NO_STATE,
            after: NO_STATE,
            cycles: 0,
            doubt: 0,
            index,
        }
    }
}

/// An entry of the table.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Of the block's first op, and its length.
    key: u64,
    pub(crate) timing: BlockTiming,
}

impl Known {
    const NONE: Known = Known {
        key: 0,
        timing: BlockTiming::none(0),
    };
}

/// A state of the pipeline.
struct Numbered {
    pending: Pending,
    /// Cycles until nothing is unfinished.
    longest: u64,
    /// The states after one, two and more cycles of waiting, or [`NO_STATE`].
    waited: [State; WAITS],
}

/// The numbered states, and the costs of blocks in them.
pub struct Timings {
    states: Vec<Numbered>,
    numbers: FxHashMap<Pending, State>,
    table: Box<[Known; 1 << TABLE]>,
}

impl Default for Timings {
    fn default() -> Self {
        let mut timings = Timings {
            states: Vec::new(),
            numbers: FxHashMap::default(),
            table: empty_table(),
        };
        timings.number(Pending::default());
        timings
    }
}

/// A table of blocks whose cost is not known, made on the heap: its length is in its type, so that no look-up is
/// checked.
fn empty_table() -> Box<[Known; 1 << TABLE]> {
    let table = vec![Known::NONE; 1 << TABLE].into_boxed_slice();
    let table: Result<Box<[Known; 1 << TABLE]>, _> = table.try_into();
    table.unwrap_or_else(|_| unreachable!("it has just been made of that length"))
}

impl Timings {
    /// What is unfinished in `state`.
    pub fn pending(&self, state: State) -> &Pending {
        &self.states[usize::from(state)].pending
    }

    /// The number of the state in which `pending` is unfinished.
    pub fn number(&mut self, pending: Pending) -> State {
        if let Some(&number) = self.numbers.get(&pending) {
            return number;
        }
        let number = self.states.len() as State;
        self.states.push(Numbered {
            pending: pending.clone(),
            longest: pending.longest().into(),
            waited: [NO_STATE; WAITS],
        });
        self.numbers.insert(pending, number);
        number
    }

    pub(crate) fn has_room_for(&self, states: usize) -> bool {
        self.states.len() + states <= STATES
    }

    /// The state that follows `state` if nothing is dispatched for `cycles`, not 0. `None` if it is not remembered.
    #[inline(always)]
    fn remembered(&self, state: State, cycles: u64) -> Option<State> {
        let from = self.states.get(usize::from(state))?;
        if cycles >= from.longest {
            return Some(DRAINED);
        }
        let known = *from.waited.get(cycles as usize - 1)?;
        (known != NO_STATE).then_some(known)
    }

    /// As [`Timings::remembered`], by what is unfinished.
    fn after(&mut self, state: State, cycles: u64) -> State {
        let after = self.number(self.pending(state).after(cycles));
        let waited = &mut self.states[usize::from(state)].waited;
        if let Some(waited) = waited.get_mut(cycles as usize - 1) {
            *waited = after;
        }
        after
    }

    /// The state that follows `state` if nothing is dispatched for `cycles`. There must be room for its number.
    pub(crate) fn after_wait(&mut self, state: State, cycles: u64) -> State {
        if cycles == 0 || state == DRAINED {
            return state;
        }
        match self.remembered(state, cycles) {
            Some(after) => after,
            None => self.after(state, cycles),
        }
    }

    /// Drops the costs of all blocks.
    pub fn forget_blocks(&mut self) {
        self.table.fill(Known::NONE);
    }

    #[inline(always)]
    fn entry(&mut self, key: u64, state: State) -> &mut Known {
        let mixed = key.wrapping_add(u64::from(state) << 40);
        let place = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - TABLE);
        &mut self.table[place as usize]
    }
}

impl Lines {
    /// The table's key for the first `length` instructions of the block at `op`; not 0.
    ///
    /// # Safety
    /// `op` must point into this store.
    #[inline(always)]
    unsafe fn timing_key(&self, op: *const Op, length: u8) -> u64 {
        // SAFETY: the caller's.
        unsafe { self.key(op) | u64::from(length) << 48 }
    }

    /// The cost of the first `length` instructions of the block at `op` in `state`.
    ///
    /// # Safety
    /// `op` must point into this store.
    #[inline(always)]
    pub(crate) unsafe fn time(
        &mut self,
        schedule: &Schedule,
        op: *const Op,
        length: u8,
        state: State,
    ) -> Known {
        // SAFETY: the caller's.
        let key = unsafe { self.timing_key(op, length) };
        let known = *self.timings.entry(key, state);
        if known.key == key && known.timing.before == state {
            return known;
        }
        // SAFETY: the caller's.
        let known = unsafe { self.time_anew(schedule, op, length, state) };
        *self.timings.entry(key, state) = known;
        known
    }

    /// As [`Lines::time`], by the schedule.
    ///
    /// # Safety
    /// As [`Lines::time`].
    #[cold]
    #[inline(never)]
    unsafe fn time_anew(
        &mut self,
        schedule: &Schedule,
        op: *const Op,
        length: u8,
        state: State,
    ) -> Known {
        // SAFETY: the caller's.
        let (key, block) = unsafe { (self.timing_key(op, length), self.micro_ops(op, length)) };
        let time = schedule.time(self.timings.pending(state), block);
        let timing = BlockTiming {
            before: state,
            after: self.timings.number(time.left),
            cycles: time.cycles,
            doubt: time.doubt.min(u8::MAX.into()) as u8,
            // SAFETY: the caller's.
            index: unsafe { (*op).timing.index },
        };
        Known { key, timing }
    }
}

impl Processor {
    /// Stores the block's current cost in `op`.
    ///
    /// # Safety
    /// `op` must point into the decoded lines of this processor, and nothing else refer to it.
    #[inline(always)]
    pub(super) unsafe fn time_block(&mut self, op: *const Op) {
        self.make_room();
        // SAFETY: the caller's.
        unsafe {
            self.keep_cost(op);
            let (length, state) = ((*op).instructions, self.hot.pipeline);
            let known = if self.running.oracle {
                self.lines.time_anew(&self.schedule, op, length, state)
            } else {
                self.lines.time(&self.schedule, op, length, state)
            };
            (*op.cast_mut()).timing = known.timing;
        }
    }

    /// The cost that `op` keeps is about to be replaced: its line keeps it from now on.
    ///
    /// # Safety
    /// As [`Processor::time_block`].
    #[inline(always)]
    unsafe fn keep_cost(&self, op: *const Op) {
        // SAFETY: the caller's.
        unsafe {
            let (old, others) = ((*op).timing, self.lines.others(op));
            if old.before != NO_STATE {
                others.copy_within(..others.len() - 1, 1);
                others[0] = old;
            }
        }
    }

    /// As [`Processor::time_block`], if the line of `op` keeps the cost, and the oracle is off. False: it does not.
    ///
    /// # Safety
    /// As [`Processor::time_block`].
    #[inline(always)]
    pub(super) unsafe fn time_block_by_line(&mut self, op: *const Op) -> bool {
        // SAFETY: the caller's.
        unsafe {
            let (state, index) = (self.hot.pipeline, (*op).timing.index);
            let mut others = self.lines.others(op).iter_mut();
            let held = others.find(|held| held.before == state && held.index == index);
            match held {
                Some(held) if !self.running.oracle => {
                    std::mem::swap(held, &mut (*op.cast_mut()).timing);
                    true
                }
                _ => false,
            }
        }
    }

    /// As [`Processor::time_block`], if the table has the cost, and the oracle is off. False: it has not.
    ///
    /// # Safety
    /// As [`Processor::time_block`].
    #[inline(always)]
    pub(super) unsafe fn time_block_by_table(&mut self, op: *const Op) -> bool {
        // SAFETY: the caller's.
        unsafe {
            let state = self.hot.pipeline;
            let key = self.lines.timing_key(op, (*op).instructions);
            let known = self.lines.timings.entry(key, state);
            let found = known.key == key && known.timing.before == state && !self.running.oracle;
            let timing = known.timing;
            if found {
                self.keep_cost(op);
                (*op.cast_mut()).timing = timing;
            }
            found
        }
    }

    /// Takes back the issue cycles of `op` and the rest of its block, because of an exception, which is about to
    /// drain the pipeline. The earlier instructions of the block remain in it.
    ///
    /// # Safety
    /// `op` must be running.
    pub(super) unsafe fn cut_block(&mut self, op: *const Op) {
        // SAFETY: `begin` has left where the block began, which stands in the line of `op`.
        unsafe {
            let begun = self.hot.block;
            let (length, whole) = ((*op).timing.index - (*begun).timing.index, (*begun).timing);
            let before = self.lines.time(&self.schedule, begun, length, whole.before);
            self.hot.cycles -= u64::from(whole.cycles - before.timing.cycles);
            self.hot.pipeline = before.timing.after;
        }
    }

    /// Nothing is dispatched for `cycles`, while instructions in flight continue.
    #[inline(always)]
    pub(crate) fn wait(&mut self, cycles: u64) {
        if cycles != 0 {
            self.hot.cycles += cycles;
            self.go_on_for(cycles);
        }
    }

    /// Instructions in flight continue for `cycles`, which are already counted.
    #[inline(never)]
    pub(super) fn go_on_for(&mut self, cycles: u64) {
        if cycles != 0 && self.hot.pipeline != DRAINED {
            match self.lines.timings.remembered(self.hot.pipeline, cycles) {
                Some(state) => self.hot.pipeline = state,
                None => self.go_on_anew(cycles),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn go_on_anew(&mut self, cycles: u64) {
        self.make_room();
        self.hot.pipeline = self.lines.timings.after(self.hot.pipeline, cycles);
    }

    /// An exception waits until all earlier instructions have completed.
    pub(crate) fn drain_pipeline(&mut self) {
        let pending = self.lines.timings.pending(self.hot.pipeline);
        self.hot.cycles += u64::from(pending.completed());
        self.hot.pipeline = DRAINED;
        self.make_room();
    }

    /// The pipeline's state before the next block.
    pub(crate) fn pending(&self) -> Pending {
        self.lines.timings.pending(self.hot.pipeline).clone()
    }

    /// Sets the pipeline's state before the next block.
    pub(crate) fn set_pending(&mut self, pending: Pending) {
        self.make_room();
        self.hot.pipeline = self.lines.timings.number(pending);
    }

    /// Makes room for the number of one more state.
    #[inline(always)]
    fn make_room(&mut self) {
        if !self.lines.timings.has_room_for(1) {
            self.renumber();
        }
    }

    /// Makes room for the numbers that a block needs to begin and then wait. Numbers must not be dropped while a
    /// block runs, because it needs that of the state that it began in if it is cut short.
    pub(super) fn make_room_for_a_wait(&mut self) {
        if !self.lines.timings.has_room_for(2) {
            self.renumber();
        }
    }

    #[cold]
    #[inline(never)]
    fn renumber(&mut self) {
        let now = self.pending();
        self.lines.forget_timings();
        self.hot.pipeline = self.lines.timings.number(now);
    }
}
