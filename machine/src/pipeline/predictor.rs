//! Branch prediction: the 603's static rule, and the history and target tables of the 604 and 750.

use serde::{Deserialize, Serialize};

use crate::config::{BranchConfig, CoreKind};

/// Entries of a target cache at most.
const TARGETS: usize = 64;

/// No branch has this address.
const NO_BRANCH: u32 = 1;

/// Branches that the target cache is known to hold, by their address's low bits: a shortcut past the
/// search through all its entries. It never names a branch that the cache does not hold.
#[derive(Clone, Debug)]
struct Known(Box<[u32; Known::SLOTS]>);

impl Default for Known {
    fn default() -> Self {
        Known(Box::new([NO_BRANCH; Known::SLOTS]))
    }
}

impl Known {
    const SLOTS: usize = 256;

    #[inline(always)]
    fn slot(&mut self, pc: u32) -> &mut u32 {
        &mut self.0[(pc >> 2) as usize % Known::SLOTS]
    }

    fn forget(&mut self, pc: u32) {
        let slot = self.slot(pc);
        if *slot == pc {
            *slot = NO_BRANCH;
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
    next_target: usize,
    #[serde(skip)]
    known: Known,
    taken: u16,
    taken_target_miss: u16,
    mispredict: u16,
    /// The target cache is emptied by exceptions, `rfi`, `icbi` and flash invalidation.
    volatile_targets: bool,
    /// Branches completed.
    pub branches: u64,
    /// Branches predicted wrongly.
    pub mispredicted: u64,
}

impl Predictor {
    pub fn new(config: &BranchConfig, kind: CoreKind) -> Self {
        Predictor {
            // Weakly not taken, as after a reset (604 UM 6.4.4).
            history: vec![1; config.history_entries as usize],
            targets: vec![NO_BRANCH; (config.target_entries as usize).min(TARGETS)],
            next_target: 0,
            known: Known::default(),
            taken: config.taken as u16,
            taken_target_miss: config.taken_target_miss as u16,
            mispredict: config.mispredict as u16,
            volatile_targets: kind == CoreKind::Ppc750,
            branches: 0,
            mispredicted: 0,
        }
    }

    /// Core cycles of a taken branch at `pc` whose direction is not in doubt.
    #[inline]
    pub fn unconditional(&mut self, pc: u32) -> u64 {
        self.branches += 1;
        self.target(pc)
    }

    /// Core cycles of a conditional branch at `pc`. `backward_taken` is the static prediction;
    /// `resolved`: its condition is known before it needs a prediction.
    #[inline]
    pub fn conditional(
        &mut self,
        pc: u32,
        taken: bool,
        statically_taken: bool,
        resolved: bool,
    ) -> u64 {
        self.branches += 1;
        let predicted = if self.history.is_empty() {
            statically_taken
        } else {
            let index = (pc >> 2) as usize & (self.history.len() - 1);
            let counter = &mut self.history[index];
            let predicted = *counter >= 2;
            *counter = if taken {
                (*counter + 1).min(3)
            } else {
                counter.saturating_sub(1)
            };
            predicted
        };
        if predicted != taken && !resolved {
            self.mispredicted += 1;
            if taken {
                self.enter_target(pc);
            }
            return u64::from(self.mispredict);
        }
        if taken { self.target(pc) } else { 0 }
    }

    /// Looks `pc` up in the target cache and enters it on a miss.
    #[inline]
    fn target(&mut self, pc: u32) -> u64 {
        if *self.known.slot(pc) == pc {
            return u64::from(self.taken);
        }
        self.search_target(pc)
    }

    #[inline(never)]
    fn search_target(&mut self, pc: u32) -> u64 {
        if self.targets.is_empty() || self.targets.contains(&pc) {
            *self.known.slot(pc) = pc;
            return u64::from(self.taken);
        }
        self.enter_target(pc);
        u64::from(self.taken_target_miss)
    }

    /// First in, first out: the manuals do not tell the replacement.
    fn enter_target(&mut self, pc: u32) {
        if self.targets.is_empty() || self.targets.contains(&pc) {
            return;
        }
        let old = std::mem::replace(&mut self.targets[self.next_target], pc);
        self.known.forget(old);
        *self.known.slot(pc) = pc;
        self.next_target = (self.next_target + 1) % self.targets.len();
    }

    /// An exception, `rfi`, `icbi`, or a flash invalidation of the I-cache: the 750's target cache
    /// holds instructions and is emptied (MPC7400 UM 6-29); the 604's holds addresses and stays.
    pub fn context_changed(&mut self) {
        if self.volatile_targets {
            self.targets.fill(NO_BRANCH);
            self.next_target = 0;
            self.known.0.fill(NO_BRANCH);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The shortcut past the search changes no cost: a plain queue of branches says the same.
        #[test]
        fn target_cache_is_a_queue(branches in proptest::collection::vec((0u32..40, 0u32..3), 1..2000)) {
            let config = BranchConfig {
                history_entries: 512,
                target_entries: 64,
                taken: 0,
                taken_target_miss: 1,
                mispredict: 3,
            };
            let mut predictor = Predictor::new(&config, CoreKind::Ppc750);
            let mut queue = VecDeque::new();
            for (near, far) in branches {
                // Some share a slot of the shortcut.
                let pc = 0x1000 + 4 * near + 0x400 * far;
                if near == 39 {
                    predictor.context_changed();
                    queue.clear();
                }
                let held = queue.contains(&pc);
                prop_assert_eq!(predictor.unconditional(pc), u64::from(!held));
                if !held {
                    queue.push_back(pc);
                    if queue.len() > 64 {
                        queue.pop_front();
                    }
                }
            }
        }
    }
}
