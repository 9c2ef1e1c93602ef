//! Branch prediction: the 603's static rule, and the history and target tables of the 604 and 750.

use serde::{Deserialize, Serialize};

use super::returns::train;
use crate::config::MachineConfig;

/// No branch has this address.
const NO_BRANCH: u32 = 1;

/// The counter of a branch that has always been taken.
const SUREST: u8 = 3;

/// Finds an entry of the target cache by the low bits of its branch's address, without a search. A hit here is always
/// right; a miss says nothing.
#[derive(Clone, Debug)]
struct Known(Box<[(u32, u32); Known::SLOTS]>);

impl Default for Known {
    fn default() -> Self {
        Known(Box::new([(NO_BRANCH, 0); Known::SLOTS]))
    }
}

impl Known {
    const SLOTS: usize = 256;

    #[inline(always)]
    fn get(&self, pc: u32) -> (u32, u32) {
        self.0[(pc >> 2) as usize % Known::SLOTS]
    }

    #[inline(always)]
    fn slot(&mut self, pc: u32) -> &mut (u32, u32) {
        &mut self.0[(pc >> 2) as usize % Known::SLOTS]
    }

    fn forget(&mut self, pc: u32) {
        let slot = self.slot(pc);
        if slot.0 == pc {
            slot.0 = NO_BRANCH;
        }
    }
}

/// Tells without a search that the target cache does not hold a branch: by the low bits of its address, how many of the
/// cache's branches have these. `None`: not counted yet.
#[derive(Clone, Debug, Default)]
struct Counted(Option<Box<[u16; Counted::CLASSES]>>);

impl Counted {
    const CLASSES: usize = 1024;

    fn class(pc: u32) -> usize {
        (pc >> 2) as usize % Counted::CLASSES
    }

    /// True if one of `targets` may be `pc`.
    #[inline(always)]
    fn may_have(&mut self, pc: u32, targets: &[u32]) -> bool {
        let counts = self.0.get_or_insert_with(|| {
            let mut counts = Box::new([0; Counted::CLASSES]);
            for &branch in targets {
                counts[Counted::class(branch)] += 1;
            }
            counts
        });
        counts[Counted::class(pc)] != 0
    }

    /// The cache is empty: it holds [`NO_BRANCH`] so many times.
    fn clear(&mut self, entries: usize) {
        if let Some(counts) = &mut self.0 {
            counts.fill(0);
            counts[Counted::class(NO_BRANCH)] = entries as u16;
        }
    }

    /// `new` has taken the place of `old`.
    #[inline(always)]
    fn replace(&mut self, old: u32, new: u32) {
        if let Some(counts) = &mut self.0 {
            counts[Counted::class(old)] -= 1;
            counts[Counted::class(new)] += 1;
        }
    }
}

/// Branch history and targets, and what a branch costs beyond its issue slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predictor {
    /// Two-bit counters, 2 and 3 predict taken; empty: static prediction.
    history: Vec<u8>,
    /// Addresses of branches whose target the cache holds, or [`NO_BRANCH`].
    targets: Vec<u32>,
    /// The last target of each branch that goes to LR or CTR. Other branches always go to the same place, which is
    /// not kept.
    registers: Vec<u32>,
    next_target: usize,
    #[serde(skip)]
    known: Known,
    #[serde(skip)]
    counted: Counted,
    taken: u16,
    taken_target_miss: u16,
    mispredict: u16,
    /// The part of that penalty that a compare dispatched with the branch takes.
    compare: u16,
    /// The target cache is emptied by exceptions, `rfi`, `icbi` and flash invalidation.
    volatile_targets: bool,
    /// Branches completed.
    pub branches: u64,
    /// Branches predicted wrongly.
    pub mispredicted: u64,
}

/// Where the predictor keeps what it knows of a branch.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// The branch's counter, if there is a history.
    pub history: Option<*const u8>,
    /// Holds the branch's address if its target is at hand without a search; if there is a target cache.
    pub known: Option<*const u32>,
    /// Then: the place of its last target in `registers`.
    pub entry: Option<*const u32>,
    pub registers: *const u32,
}

impl Predictor {
    /// The counter of a branch that has always been taken.
    pub(crate) const SUREST: u8 = SUREST;

    pub fn new(machine: &MachineConfig) -> Self {
        let config = &machine.branch;
        Predictor {
            // Weakly not taken, as after a reset (604 UM 6.4.4).
            history: vec![1; config.history_entries as usize],
            targets: vec![NO_BRANCH; config.target_entries as usize],
            registers: vec![0; config.target_entries as usize],
            next_target: 0,
            known: Known::default(),
            counted: Counted::default(),
            taken: config.taken as u16,
            taken_target_miss: config.taken_target_miss as u16,
            mispredict: config.mispredict as u16,
            compare: machine.latency.compare.latency as u16,
            volatile_targets: machine.core.kind.core().volatile_targets,
            branches: 0,
            mispredicted: 0,
        }
    }

    /// True if this state is possible for a machine with the same configuration as `fresh`. Checked before a snapshot
    /// is used.
    pub(crate) fn fits(&self, fresh: &Self) -> bool {
        let costs = |p: &Self| [p.taken, p.taken_target_miss, p.mispredict, p.compare];
        let lengths = |p: &Self| [p.history.len(), p.targets.len(), p.registers.len()];
        costs(self) == costs(fresh)
            && lengths(self) == lengths(fresh)
            && self.volatile_targets == fresh.volatile_targets
            && self.history.iter().all(|&counter| counter < 4)
            && self.next_target < self.targets.len().max(1)
            && self.branches.max(self.mispredicted) < crate::config::LATEST
    }

    /// True if a conditional branch at `pc` will be predicted rightly, and its history cannot become surer. Such a
    /// branch costs nothing, and only [`Predictor::branches`] counts it, if it is not taken or its target is
    /// [`at_once`](Predictor::target_at_once).
    #[inline(always)]
    pub fn is_sure(
        &self,
        pc: u32,
        taken: bool,
        statically_taken: bool,
        doubt: impl FnOnce() -> u8,
    ) -> bool {
        match self.history.get(self.counter(pc)) {
            Some(&counter) => counter == if taken { SUREST } else { 0 },
            None => statically_taken == taken || doubt() == 0,
        }
    }

    /// True if a branch at `pc`, which is taken and always goes to the same place, costs nothing for its target.
    #[inline(always)]
    pub fn target_at_once(&self, pc: u32) -> bool {
        self.taken == 0 && (self.known.get(pc).0 == pc || self.targets.is_empty())
    }

    /// The same of a branch through LR or CTR that goes to `target`: it went there the last time.
    #[inline(always)]
    pub fn register_at_once(&self, pc: u32, target: u32) -> bool {
        let (branch, entry) = self.known.get(pc);
        let same = || self.registers.get(entry as usize) == Some(&target);
        self.taken == 0 && (branch == pc && same() || self.targets.is_empty())
    }

    /// Where compiled code finds what this knows of a branch at `pc`.
    pub(crate) fn places(&self, pc: u32) -> Places {
        let history = self.history.get(self.counter(pc));
        let known = &self.known.0[(pc >> 2) as usize % Known::SLOTS];
        let kept = !self.targets.is_empty();
        Places {
            history: history.map(|counter| &raw const *counter),
            known: kept.then_some(&raw const known.0),
            entry: kept.then_some(&raw const known.1),
            registers: self.registers.as_ptr(),
        }
    }

    /// Where its tables are: code that was compiled with other ones must not run.
    pub(crate) fn tables(&self) -> [usize; 3] {
        [
            self.history.as_ptr() as usize,
            self.known.0.as_ptr() as usize,
            self.registers.as_ptr() as usize,
        ]
    }

    /// The costs of a branch that is taken, whose target is or is not at hand.
    pub(crate) fn taken_costs(&self) -> (u64, u64) {
        (self.taken.into(), self.taken_target_miss.into())
    }

    /// The place of the counter of a branch at `pc` in the history; past its end if it is empty.
    #[inline(always)]
    fn counter(&self, pc: u32) -> usize {
        (pc >> 2) as usize & self.history.len().wrapping_sub(1)
    }

    /// Core cycles of an unconditional branch at `pc`.
    #[inline]
    pub fn unconditional(&mut self, pc: u32) -> u64 {
        self.branches += 1;
        self.target(pc)
    }

    /// As [`Predictor::unconditional`], of a branch to `target` through LR or CTR. The target cache helps if the
    /// branch went there the last time. Otherwise the target is fetched after decoding, as for a branch that the
    /// cache does not hold.
    #[inline]
    pub fn to_register(&mut self, pc: u32, target: u32) -> u64 {
        self.branches += 1;
        self.register_target(pc, target)
    }

    /// Core cycles of a conditional branch at `pc`. `statically_taken` is the static prediction; `doubt`:
    /// cycles from its dispatch until its condition is known, which needs no prediction if it is already.
    #[inline]
    pub fn conditional(&mut self, pc: u32, taken: bool, statically_taken: bool, doubt: u8) -> u64 {
        if self.mispredicts(pc, taken, statically_taken, doubt) {
            if taken {
                self.find_or_enter(pc);
            }
            return self.misprediction(doubt);
        }
        if taken { self.target(pc) } else { 0 }
    }

    /// As [`Predictor::conditional`], for a branch to `target` through LR or CTR.
    #[inline]
    pub fn conditional_to_register(
        &mut self,
        pc: u32,
        taken: bool,
        statically_taken: bool,
        doubt: u8,
        target: u32,
    ) -> u64 {
        let mispredicted = self.mispredicts(pc, taken, statically_taken, doubt);
        let cost = if taken {
            self.register_target(pc, target)
        } else {
            0
        };
        if mispredicted {
            self.misprediction(doubt)
        } else {
            cost
        }
    }

    /// A wrong prediction is detected when the condition is known. The machine file's penalty is for a compare
    /// dispatched with the branch; if that compare itself waits, the wait is added.
    pub(crate) fn misprediction(&self, doubt: u8) -> u64 {
        u64::from(self.mispredict) + u64::from(u16::from(doubt).saturating_sub(self.compare))
    }

    /// Counts a conditional branch and trains its history. True if it is predicted wrongly.
    #[inline]
    fn mispredicts(&mut self, pc: u32, taken: bool, statically_taken: bool, doubt: u8) -> bool {
        self.branches += 1;
        let place = self.counter(pc);
        let predicted = match self.history.get_mut(place) {
            None => statically_taken,
            Some(counter) => train(counter, taken),
        };
        let wrong = predicted != taken && doubt != 0;
        self.mispredicted += u64::from(wrong);
        wrong
    }

    /// Looks `pc` up in the target cache and enters it on a miss.
    #[inline]
    fn target(&mut self, pc: u32) -> u64 {
        if self.known.slot(pc).0 == pc || self.targets.is_empty() {
            return u64::from(self.taken);
        }
        match self.find_or_enter(pc) {
            Some(_) => u64::from(self.taken),
            None => u64::from(self.taken_target_miss),
        }
    }

    /// Looks `pc` up for a branch to `target`, and records both.
    #[inline]
    fn register_target(&mut self, pc: u32, target: u32) -> u64 {
        if self.targets.is_empty() {
            return u64::from(self.taken);
        }
        let slot = *self.known.slot(pc);
        let found = if slot.0 == pc {
            Some(slot.1 as usize)
        } else {
            self.find_or_enter(pc)
        };
        let entry = found.unwrap_or_else(|| self.known.slot(pc).1 as usize);
        let held = std::mem::replace(&mut self.registers[entry], target);
        if found.is_some() && held == target {
            u64::from(self.taken)
        } else {
            u64::from(self.taken_target_miss)
        }
    }

    /// Looks `pc` up and enters it if it is missing. Replacement is first in, first out, because the manuals do not
    /// name it.
    #[inline(never)]
    fn find_or_enter(&mut self, pc: u32) -> Option<usize> {
        if self.targets.is_empty() {
            return None;
        }
        // Most look-ups that reach this fail.
        let found = if self.counted.may_have(pc, &self.targets) {
            self.targets.iter().position(|&branch| branch == pc)
        } else {
            None
        };
        let entry = found.unwrap_or(self.next_target);
        if found.is_none() {
            let old = std::mem::replace(&mut self.targets[entry], pc);
            self.known.forget(old);
            self.counted.replace(old, pc);
            self.next_target += 1;
            if self.next_target == self.targets.len() {
                self.next_target = 0;
            }
        }
        *self.known.slot(pc) = (pc, entry as u32);
        found
    }

    /// An exception, `rfi`, `icbi`, or a flash invalidation of the I-cache: the 750's target cache
    /// holds instructions and is emptied (MPC7400 UM 6-29); the 604's holds addresses and stays.
    pub fn context_changed(&mut self) {
        if self.volatile_targets {
            self.targets.fill(NO_BRANCH);
            self.next_target = 0;
            self.counted.clear(self.targets.len());
            self.known.0.fill((NO_BRANCH, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::config::CoreKind;
    use proptest::prelude::*;

    fn machine(kind: CoreKind) -> MachineConfig {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc604-133.toml");
        let mut machine = MachineConfig::from_file(file.as_ref(), &[]).unwrap();
        machine.core.kind = kind;
        machine
    }

    proptest! {
        /// The shortcut changes no cost: a plain queue of branches, with the last targets of branches to registers,
        /// gives the same.
        #[test]
        fn target_cache_is_a_queue(
            branches in proptest::collection::vec((0u32..40, 0u32..3, 0u32..4), 1..2000),
        ) {
            let mut predictor = Predictor::new(&machine(CoreKind::Ppc750));
            let mut queue: VecDeque<(u32, u32)> = VecDeque::new();
            for (near, far, target) in branches {
                // Some share a slot of the shortcut.
                let pc = 0x1000 + 4 * near + 0x400 * far;
                if near == 39 {
                    predictor.context_changed();
                    queue.clear();
                }
                let to_register = near % 2 == 0;
                let target = if to_register { 0x8000 + 4 * target } else { 0 };
                let held = queue.iter_mut().find(|(branch, _)| *branch == pc);
                let hit = held.as_ref().is_some_and(|(_, old)| *old == target);
                let cost = if to_register {
                    predictor.to_register(pc, target)
                } else {
                    predictor.unconditional(pc)
                };
                prop_assert_eq!(cost, u64::from(!hit));
                match held {
                    Some((_, old)) => *old = target,
                    None => queue.push_back((pc, target)),
                }
                if queue.len() > 64 {
                    queue.pop_front();
                }
            }
        }
    }

    /// A conditional return: its direction is predictable, its target depends on the caller.
    #[test]
    fn a_changed_target_costs_a_target_miss() {
        let mut predictor = Predictor::new(&machine(CoreKind::Ppc604));
        let mut go = |target| predictor.conditional_to_register(0x100, true, false, 3, target);
        assert_eq!([go(0x200), go(0x200), go(0x200)], [3, 0, 0]);
        assert_eq!([go(0x300), go(0x300), go(0x200)], [1, 0, 1]);
        assert_eq!((predictor.branches, predictor.mispredicted), (6, 1));
    }

    /// The 603 has no target cache: a taken branch's target is computed as it is fetched.
    #[test]
    fn without_a_target_cache_a_changed_target_costs_nothing() {
        let mut machine = machine(CoreKind::Ppc603);
        machine.branch.history_entries = 0;
        machine.branch.target_entries = 0;
        let mut predictor = Predictor::new(&machine);
        assert_eq!(predictor.to_register(0x100, 0x200), 0);
        assert_eq!(predictor.to_register(0x100, 0x300), 0);
    }
}
