//! Instructions on their way through the pipeline: in-order dispatch to units with latencies and
//! initiation intervals, in-order completion of a limited width and depth.
//!
//! Time is counted by block, but the pipeline is not drained between blocks: each starts from the state that the last
//! one left ([`Pending`]). A block's cost is the number of cycles from its first dispatch slot to that of the next
//! block.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::micro_op::{Flow, LANES, MicroOp, REGISTERS, UNITS, numbers};
use super::schedule::Schedule;

/// Resources that an instruction may wait for, by number: registers, then the lanes of the units.
const RESOURCES: usize = REGISTERS + UNITS * LANES;
const _: () = assert!(RESOURCES <= u128::BITS as usize);

/// The first lane of a unit.
fn lane_of(unit: u8) -> usize {
    REGISTERS + usize::from(unit) * LANES
}

/// The state of the pipeline when a block could first dispatch: what is unfinished, in cycles from then on. Finished
/// work is left out, so that states with the same future are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pending {
    /// Resources that are not ready yet, in order of their index, and when they will be.
    resources: Vec<(u8, u16)>,
    /// When the instructions in the completion queue complete, the oldest first.
    queue: Vec<u16>,
}

impl Pending {
    /// True if a pipeline whose completion queue has `queue` places can be in this state. A snapshot is checked by
    /// this before use.
    pub(crate) fn fits(&self, queue: u32) -> bool {
        self.queue.len() <= queue as usize
            && self.queue.is_sorted()
            && self.resources.is_sorted_by(|a, b| a.0 < b.0)
            && self
                .resources
                .iter()
                .all(|&(index, _)| usize::from(index) < RESOURCES)
    }

    /// Cycles until nothing is unfinished.
    #[must_use]
    pub fn longest(&self) -> u16 {
        let resources = self.resources.iter().map(|&(_, at)| at);
        resources
            .chain(self.queue.last().copied())
            .max()
            .unwrap_or_default()
    }

    /// Cycles until every instruction has completed.
    #[must_use]
    pub fn completed(&self) -> u16 {
        self.queue.last().copied().unwrap_or_default()
    }

    /// The state after `cycles` in which nothing is dispatched.
    #[must_use]
    pub fn after(&self, cycles: u64) -> Pending {
        let left = |at: u16| match u64::from(at).saturating_sub(cycles) {
            0 => None,
            left => Some(left as u16),
        };
        Pending {
            resources: (self.resources.iter())
                .filter_map(|&(index, at)| Some((index, left(at)?)))
                .collect(),
            queue: self.queue.iter().filter_map(|&at| left(at)).collect(),
        }
    }
}

/// The time of a block in the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles from when the block could first dispatch to when the next one can. A block takes at least one, because
    /// the branch unit takes one branch a cycle, folded or not (750GX UM p.229 to 232: a target's instructions come
    /// in the next cycle).
    pub cycles: u16,
    /// Of a block that ends with a branch: cycles from its dispatch until the condition that it tests is known; 0 if
    /// it is known by then, or if no condition is tested.
    pub doubt: u16,
    /// The state that the block leaves.
    pub left: Pending,
}

/// Room for instructions in the completion queue, before it must grow: as many as a block of most programs has, and
/// what is left of the block before it.
const QUEUE: usize = 32;

/// A straight run of instructions on its way through the pipeline. Cycles count from when the first of
/// them could be dispatched.
pub(super) struct Run {
    /// When each resource is ready or free.
    ready: [u32; RESOURCES],
    /// The resources that have ever been in use, a bit for each.
    used: u128,
    /// When each instruction in the completion queue completes, the oldest first.
    queue: VecDeque<u32>,
    /// The cycle of the last dispatch, and how many were dispatched in it.
    cycle: u32,
    slots: u32,
    /// How many have been fetched.
    fetched: u32,
    /// The first cycle in which what follows can be dispatched.
    next: u32,
    doubt: u32,
}

impl Run {
    pub fn new(before: &Pending) -> Run {
        let (mut ready, mut used) = ([0; RESOURCES], 0);
        for &(index, at) in &before.resources {
            if let Some(resource) = ready.get_mut(usize::from(index)) {
                *resource = u32::from(at);
                used |= 1 << index;
            }
        }
        let mut queue = VecDeque::with_capacity(QUEUE);
        queue.extend(before.queue.iter().map(|&at| u32::from(at)));
        Run {
            ready,
            used,
            queue,
            cycle: 0,
            slots: 0,
            fetched: 0,
            next: 0,
            doubt: 0,
        }
    }

    pub fn issue(&mut self, core: &Schedule, op: &MicroOp) {
        // The block's instructions come from the I-cache, in each cycle as many as the core fetches.
        let there = self.fetched / core.fetch;
        self.fetched += 1;
        let full = self.slots == core.dispatch;
        if let Flow::Branch { condition } = op.flow
            && core.fold_branches
        {
            let cycle = there.max(self.cycle + u32::from(full));
            self.doubt = self.doubt(condition, cycle);
            self.next = self.next.max(there + 1);
            return;
        }
        self.wait_until(there);
        let full = self.slots == core.dispatch;
        if full {
            self.wait_until(self.cycle + 1);
        }
        let class = core.class(op.class);
        // An instruction waits in the dispatch stage for a place in the completion queue and for its
        // unit, and there in the reservation station for its operands. One that synchronizes waits in the dispatch
        // stage until everything before it has completed.
        let synchronizes = op.flow == Flow::Synchronizes;
        if synchronizes {
            self.wait_until(self.completed());
        }
        if self.queue.len() >= core.queue {
            let oldest = self.queue.pop_front();
            self.wait_until(oldest.unwrap_or_default());
        }
        let first = lane_of(class.unit);
        let lanes = first..first + usize::from(class.lanes);
        let lane = lanes.min_by_key(|&lane| self.ready[lane]).unwrap_or(first);
        self.wait_until(self.ready[lane]);
        if let Flow::Branch { condition } = op.flow {
            self.doubt = self.doubt(condition, self.cycle);
        }
        let operands = op.reads.iter().map(|register| self.ready[register]).max();
        let start = self.cycle.max(operands.unwrap_or_default());
        self.ready[lane] = start + class.cost.interval.max(1);
        self.used |= 1 << lane | op.writes.bits();
        let done = start + class.cost.latency.max(1);
        for register in op.writes.iter() {
            self.ready[register] = done;
        }
        self.slots += 1;
        self.complete(core, done);
        // What follows it is fetched when it has completed.
        self.next = if synchronizes {
            self.completed()
        } else {
            self.cycle + 1
        };
    }

    /// Advances dispatch to `cycle`, unless it is further already.
    fn wait_until(&mut self, cycle: u32) {
        if cycle > self.cycle {
            self.cycle = cycle;
            self.slots = 0;
        }
    }

    /// The cycle by which every dispatched instruction has completed.
    fn completed(&self) -> u32 {
        self.queue.back().copied().unwrap_or_default()
    }

    /// An instruction whose result is ready at `done` completes then, or later, after all earlier ones.
    fn complete(&mut self, core: &Schedule, done: u32) {
        let last = self.completed();
        let in_last = self.queue.iter().rev().take_while(|&&at| at == last);
        let at = if done > last {
            done
        } else if in_last.count() < core.complete {
            last
        } else {
            last + 1
        };
        self.queue.push_back(at);
    }

    pub fn end(mut self, core: &Schedule) -> Timing {
        let next = self.next;
        if let Some(unit) = core.interchangeable {
            let first = lane_of(unit);
            self.ready[first..first + LANES].sort_unstable();
            self.used |= ((1 << LANES) - 1) << first;
        }
        let later = |at: u32| match at.saturating_sub(next) {
            0 => None,
            left => Some(left.min(u16::MAX.into()) as u16),
        };
        Timing {
            cycles: next.min(u16::MAX.into()) as u16,
            doubt: self.doubt.min(u16::MAX.into()) as u16,
            left: Pending {
                resources: numbers(self.used)
                    .filter_map(|index| Some((index as u8, later(self.ready[index])?)))
                    .collect(),
                queue: self.queue.into_iter().filter_map(later).collect(),
            },
        }
    }

    /// Cycles from `dispatched` until the condition that a branch tests is known.
    fn doubt(&self, condition: Option<u8>, dispatched: u32) -> u32 {
        condition.map_or(0, |register| {
            self.ready[usize::from(register)].saturating_sub(dispatched)
        })
    }
}
