//! Branch prediction: the 603's static rule, and the history and target tables of the 604 and 750.

use serde::{Deserialize, Serialize};

use crate::config::{BranchConfig, CoreKind};

/// Entries of a target cache at most.
const TARGETS: usize = 64;

/// Branch history and targets, and what a branch costs beyond its issue slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predictor {
    /// Two-bit counters, 2 and 3 predict taken; empty: static prediction.
    history: Vec<u8>,
    /// Addresses of branches whose target the cache holds; 1: none.
    targets: Vec<u32>,
    next_target: usize,
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
            targets: vec![1; (config.target_entries as usize).min(TARGETS)],
            next_target: 0,
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
        if self.targets.is_empty() || self.targets.contains(&pc) {
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
        self.targets[self.next_target] = pc;
        self.next_target = (self.next_target + 1) % self.targets.len();
    }

    /// An exception, `rfi`, `icbi`, or a flash invalidation of the I-cache: the 750's target cache
    /// holds instructions and is emptied (MPC7400 UM 6-29); the 604's holds addresses and stays.
    pub fn context_changed(&mut self) {
        if self.volatile_targets {
            self.targets.fill(1);
            self.next_target = 0;
        }
    }
}
